"""Min-max losses and errors: exact for two groups, by relaxation for more."""

from itertools import pairwise

import numpy as np
import pytest

from evenspan import GroupFrame, GroupMoments, StandardPCA
from evenspan.reconstruction.group_errors import (
    errors,
    group_matrices,
    losses,
)
from evenspan.reconstruction.min_max import MinMaxFairPCA, solve_min_max, solve_nested
from evenspan.reconstruction.multi_criteria import criteria_offsets

from .samples import draw

TIE = np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])])


def draw_matrices(rng, d, kind):
    """Two covariance matrices: generic, or degenerate by ties, copies and low rank."""
    if kind == "generic":
        return np.array([A @ A.T / d for A in rng.normal(size=(2, d, d)) * np.array([1.0, 3.0])[:, None, None]])
    if kind == "rotated":
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        return np.array([Q * (rng.integers(0, 5, size=d) + 0.5) @ Q.T for _ in range(2)])
    X, Y = rng.normal(size=(d // 2 + 1, d)), rng.normal(size=(3, d))
    X[:, 1], Y[:, 1] = X[:, 0], Y[:, 0]  # duplicated columns, fewer rows than columns
    return np.array([X.T @ X / len(X), Y.T @ Y / 3])


KINDS = ["generic", "rotated", "copies"]


@pytest.fixture(scope="module")
def pair_matrices():
    sample = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
    return group_matrices(GroupMoments.from_data(sample.X, sample.groups), "group")


# -- nested ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [2, 3])
def test_nested_components_are_each_the_best_beside_those_before(groups):
    rng, d = np.random.default_rng(groups), 4
    S = np.array([A @ A.T for A in rng.normal(size=(groups, d, d)) * np.linspace(1.0, 2.0, groups)[:, None, None]])
    V, certificates = solve_nested(S, 3, "error")
    directions = rng.normal(size=(d, 20_000))
    for j, certificate in enumerate(certificates):
        left = directions - V[:, :j] @ (V[:, :j].T @ directions)
        left /= np.linalg.norm(left, axis=0)
        tried = errors(S, V[:, :j])[:, None] - np.einsum("dn,gde,en->gn", left, S, left, optimize=True)
        reached = errors(S, V[:, : j + 1]).max()
        assert certificate.primal == pytest.approx(reached)
        assert certificate.dual - 1e-9 <= reached <= tried.max(axis=0).min() + 1e-9
        assert groups > 2 or certificate.is_optimal(1e-6)
    same, _ = solve_nested(np.array([S[0], S[0]]), 3, "error")
    np.testing.assert_allclose(np.abs(same.T @ np.linalg.eigh(S[0])[1][:, :0:-1]), np.eye(3), atol=1e-6)  # PCA


def test_an_estimator_of_nested_components_states_their_price():
    sample = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
    fits = [MinMaxFairPCA(k, nested=True).fit(sample.X, sensitive_features=sample.groups) for k in (1, 2, 3)]
    for small, large in pairwise(fits):
        np.testing.assert_allclose(small.components_, large.components_[: len(small.components_)], atol=1e-9)
    joint = MinMaxFairPCA(3).fit(sample.X, sensitive_features=sample.groups)
    assert fits[-1].converged_
    assert fits[-1].certificate_.dual == pytest.approx(joint.objective_)
    assert fits[-1].certificate_.gap == pytest.approx(fits[-1].objective_ - joint.objective_)
    assert joint.objective_ < fits[-1].objective_ == pytest.approx(fits[-1].group_losses_.max())


# -- exact -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["loss", "error"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_closes_on_generic_and_degenerate_pairs(kind, objective):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(15):
        d = int(rng.integers(3, 14))
        k = int(rng.integers(1, d))
        S = draw_matrices(rng, d, kind)
        V, certificate = solve_min_max(*S, k, objective)
        size = 1e-4 * max(np.trace(S[0]), np.trace(S[1]))
        assert -1e-10 * size <= certificate.gap <= 1e-8 * max(certificate.primal, size)
        assert np.abs(V.T @ V - np.eye(k)).max() < 1e-12
        reached = (losses if objective == "loss" else errors)(S, V)
        assert certificate.primal == pytest.approx(reached.max(), abs=1e-9 * size)
        assert certificate.evaluations <= 60  # at most what halving the interval takes
        if objective == "loss":
            assert reached.min() >= -1e-9 * size  # no projector beats a group's own
            assert abs(reached[0] - reached[1]) <= 1e-7 * max(reached.max(), size)


def test_tied_eigenvalues_are_mixed_until_the_losses_are_equal():
    V, certificate = solve_min_max(*TIE, 1)
    np.testing.assert_allclose(losses(TIE, V), [1.8, 1.8], atol=1e-12)
    np.testing.assert_allclose(np.abs(V[:, 0]), [0.0, np.sqrt(0.6), np.sqrt(0.4)], atol=1e-9)
    assert certificate.weights == pytest.approx((0.6, 0.4))
    # What a solver without mixing returns: the eigenvector on one side of the tie.
    np.testing.assert_allclose(losses(TIE, np.eye(3)[:, 2:]), [3.0, 0.0])


@pytest.mark.parametrize("kind", ["fast", "tied", "low rank"])
def test_in_many_dimensions_the_span_of_few_eigenvectors_is_enough(kind):
    rng, d, k = np.random.default_rng(4), 310, 3
    S = np.array([X.T @ X / 400 for X in rng.normal(size=(2, 400, d)) * np.exp(-np.arange(d) / rng.uniform(3, 9, d))])
    if kind == "tied":
        S = np.array([np.diag(np.roll(np.repeat(np.arange(31.0), 10), shift)) for shift in (0, 95)])
    if kind == "low rank":
        S = np.array([X.T @ X for X in rng.normal(size=(2, 2, d))])
    for objective in ("loss", "error"):
        V, certificate = solve_min_max(*S, k, objective)
        reached = (losses if objective == "loss" else errors)(S, V)
        assert certificate.is_optimal(1e-10)
        assert certificate.primal == pytest.approx(reached.max(), rel=1e-9)
        # The bound is one, and nearly: by the leading eigenvalues at the weights.
        mixed = np.tensordot(certificate.weights, S, axes=1)
        dual = np.dot(certificate.weights, criteria_offsets(S, k, objective)) - np.linalg.eigvalsh(mixed)[-k:].sum()
        assert certificate.dual == pytest.approx(dual, rel=1e-10)
        assert certificate.evaluations <= 12 * (1 + (kind != "fast"))


def test_no_direction_of_the_plane_is_better():
    S = np.array([[[4.0, 0.3], [0.3, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])
    angles = np.linspace(0.0, np.pi, 200_001)
    directions = np.array([np.cos(angles), np.sin(angles)])
    for objective in ("loss", "error"):
        _, certificate = solve_min_max(*S, 1, objective)
        kept_by = np.einsum("dn,gde,en->gn", directions, S, directions)
        worst = (criteria_offsets(S, 1, objective)[:, None] - kept_by).max(axis=0)
        assert certificate.primal <= worst.min() + 1e-9
        assert certificate.primal == pytest.approx(worst.min(), rel=1e-4)


# -- estimator -------------------------------------------------------------------------------------------------------


def test_the_worst_off_group_loses_least_and_pca_fails_at_it(pair, pair_matrices):
    fitted = MinMaxFairPCA(2, center="group").fit(pair.X, sensitive_features=pair.groups)
    control = StandardPCA(2).fit(pair.X)
    assert fitted.group_losses_[0] == pytest.approx(fitted.group_losses_[1], rel=1e-7)
    assert fitted.objective_ == pytest.approx(fitted.group_losses_.max())
    assert fitted.certificate_.is_optimal(1e-8)
    unequal = losses(pair_matrices, control.components_.T)
    assert unequal.max() > 1.05 * fitted.objective_
    rows = pair.rows("woman") - pair.X.mean(axis=0)
    direct = np.linalg.norm(rows - rows @ fitted.components_.T @ fitted.components_) ** 2 / len(rows)
    assert fitted.group_errors_[list(fitted.group_labels_).index("woman")] == pytest.approx(direct)
    frame = GroupFrame(estimator=fitted, X=pair.X, sensitive_features=pair.groups, metrics="error")
    np.testing.assert_allclose(np.ravel(frame.by_group), fitted.group_errors_)  # one quantity, one name
