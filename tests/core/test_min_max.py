"""Min-max losses and errors: exact for two groups, by relaxation for more; and the methods of Samadi et al."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from evenspan import GroupFrame, GroupMoments, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError
from evenspan.reconstruction.group_errors import (
    errors,
    group_matrices,
    kept,
    losses,
)
from evenspan.reconstruction.joint_range import pick
from evenspan.reconstruction.min_max import MinMaxFairPCA, solve_min_max
from evenspan.reconstruction.multi_criteria import criteria_offsets
from evenspan.reconstruction.relaxation import relax
from evenspan.reconstruction.samadi import (
    operator_errors,
    operator_rank,
    round_by_lp,
    run,
    samadi,
    square_root_map,
    truncate,
)

from .samples import angle, draw

TIE = np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])])


def draw_matrices(rng, d, kind):
    """Two covariance matrices: generic, of very different scale, or degenerate by ties, copies and low rank."""
    if kind == "generic":
        return np.array([A @ A.T / d for A in rng.normal(size=(2, d, d)) * np.array([1.0, 3.0])[:, None, None]])
    if kind == "scale":
        return draw_matrices(rng, d, "generic") * np.array([1.0, 10.0 ** rng.uniform(-3, 3)])[:, None, None]
    if kind == "diagonal":
        return np.array([np.diag(1.0 + rng.integers(0, 4, size=d)) for _ in range(2)])
    if kind == "rotated":
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        return np.array([Q * (rng.integers(0, 5, size=d) + 0.5) @ Q.T for _ in range(2)])
    if kind == "blocks":
        A = draw_matrices(rng, d // 2, "generic")
        return np.array([block_diag(S, T, np.eye(d - 2 * (d // 2))) for S, T in zip(A, A, strict=True)])
    X, Y = rng.normal(size=(d // 2 + 1, d)), rng.normal(size=(3, d))
    X[:, 1], Y[:, 1] = X[:, 0], Y[:, 0]  # duplicated columns, fewer rows than columns
    return np.array([X.T @ X / len(X), Y.T @ Y / 3])


KINDS = ["generic", "scale", "diagonal", "rotated", "blocks", "copies"]


@pytest.fixture(scope="module")
def pair_matrices():
    sample = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
    return group_matrices(GroupMoments.from_data(sample.X, sample.groups), "group")


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


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_value_is_that_of_the_semidefinite_programme(kind):
    rng = np.random.default_rng(100 + KINDS.index(kind))
    for k in (1, 3):
        S = draw_matrices(rng, 6, kind)
        for objective in ("loss", "error"):
            relaxation = relax(S, k, criteria_offsets(S, k, objective))
            _, certificate = solve_min_max(*S, k, objective)
            assert relaxation.value == pytest.approx(certificate.primal, abs=1e-8 * np.trace(S[0] + S[1]))
            assert relaxation.bound <= certificate.primal + 1e-9 * np.trace(S[0] + S[1])


def test_tied_eigenvalues_are_mixed_until_the_losses_are_equal():
    V, certificate = solve_min_max(*TIE, 1)
    np.testing.assert_allclose(losses(TIE, V), [1.8, 1.8], atol=1e-12)
    np.testing.assert_allclose(np.abs(V[:, 0]), [0.0, np.sqrt(0.6), np.sqrt(0.4)], atol=1e-9)
    assert certificate.weights == pytest.approx((0.6, 0.4))
    # What a solver without mixing returns: the eigenvector on one side of the tie.
    np.testing.assert_allclose(losses(TIE, np.eye(3)[:, 2:]), [3.0, 0.0])


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


def test_errors_need_not_be_equal_and_then_one_group_decides():
    S = np.array([10.0 * np.diag([3.0, 2.0, 1.0]), np.diag([0.1, 0.2, 0.3])])
    V, certificate = solve_min_max(*S, 1, "error")
    assert certificate.weights == (1.0, 0.0)
    assert errors(S, V) == pytest.approx([30.0, 0.5])
    assert certificate.gap == pytest.approx(0.0, abs=1e-12)


def test_identical_groups_are_served_by_pca(pair_matrices):
    S = np.array([pair_matrices[0]] * 2)
    V, certificate = solve_min_max(*S, 2)
    assert certificate.primal == pytest.approx(0.0, abs=1e-12)
    assert angle(V, np.linalg.eigh(S[0])[1][:, -2:]) < 1e-6


def test_swapping_groups_swaps_the_weights_and_rotating_changes_nothing(pair_matrices):
    S, Q = pair_matrices, np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    V, certificate = solve_min_max(*S, 2)
    W, swapped = solve_min_max(*S[::-1], 2)
    _, rotated = solve_min_max(*(Q @ S @ Q.T), 2)
    assert swapped.weights[::-1] == pytest.approx(certificate.weights, abs=1e-6)
    assert angle(V, W) < 1e-5
    assert rotated.primal == pytest.approx(certificate.primal, rel=1e-9)
    _, larger = solve_min_max(S[0], 4.0 * S[1], 2)
    assert abs(larger.weights[0] - certificate.weights[0]) > 0.01  # loss is not free of scale
    # A further feature without variance helps nobody.
    _, padded = solve_min_max(*np.pad(S, ((0, 0), (0, 1), (0, 1))), 2)
    assert padded.primal == pytest.approx(certificate.primal, rel=1e-9)


def test_the_mixture_of_a_cluster_has_the_wanted_trace():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=6))
    for s in (1, 3, 5):
        for share in (0.0, 0.3, 0.77, 1.0):
            wanted = (1 - share) * values[:s].sum() + share * values[-s:].sum()
            C = pick(values, np.eye(6), s, wanted)
            assert np.abs(C.T @ C - np.eye(s)).max() < 1e-14
            assert np.trace(C.T @ (values[:, None] * C)) == pytest.approx(wanted)


# -- relaxation and operators ----------------------------------------------------------------------------------------


def test_rounding_by_lp_leaves_few_fractions_and_the_operator_has_the_value():
    rng = np.random.default_rng(5)
    S = np.array([A @ A.T / 7 for A in rng.normal(size=(3, 7, 7)) * np.array([1.0, 2.0, 1.5])[:, None, None]])
    a = criteria_offsets(S, 3, "loss")
    X, weights, P, relaxation = samadi(S, 3, a)
    assert ((weights > 1e-9) & (weights < 1 - 1e-9)).sum() <= 3
    assert operator_rank(P) <= 3 + 2
    np.testing.assert_allclose(
        operator_errors(S, P), np.trace(S, axis1=1, axis2=2) - (S * X).sum(axis=(1, 2)), rtol=1e-9
    )
    assert (a - (S * X).sum(axis=(1, 2))).max() <= relaxation.value + 1e-6
    # From a spread-out X the programme still finds a corner.
    weights, _ = round_by_lp(S, 3, a, 3 / 7 * np.eye(7))
    assert ((weights > 1e-9) & (weights < 1 - 1e-9)).sum() <= 3


def test_the_square_root_map_makes_the_squared_error_linear():
    rng = np.random.default_rng(6)
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = Q * np.array([1.0, 0.9, 0.5, 0.1, 0.0]) @ Q.T
    A = rng.normal(size=(40, 5))
    P = square_root_map(X)
    S = A.T @ A / 40
    literal = np.linalg.norm(A - A @ P) ** 2 / 40
    assert literal == pytest.approx(np.trace(S) - np.vdot(S, X), rel=1e-12)
    assert operator_errors(S[None], P)[0] == pytest.approx(literal, rel=1e-12)
    assert literal != pytest.approx(np.trace(S) - np.vdot(S, P), rel=1e-3)  # the short formula is for projectors
    assert angle(truncate(P, 2), Q[:, :2]) < 1e-7


# -- multiplicative weights ------------------------------------------------------------------------------------------


def test_weights_in_a_batch_are_those_of_one_rate_alone_and_the_bound_holds(pair_matrices):
    rates = (0.1, 1.0, 4.25)
    _, certificate = solve_min_max(*pair_matrices, 2)
    for rate, found in zip(rates, run(pair_matrices, 2, rates, iterations=150), strict=True):
        # The iteration as it is written, for one rate.
        w, total, values, bound = np.full(2, 0.5), np.zeros((5, 5)), [], -np.inf
        for _ in range(150):
            V = np.linalg.eigh(np.tensordot(w, pair_matrices, axes=1))[1][:, -2:]
            z = losses(pair_matrices, V)
            total += V @ V.T / 150
            values.append(z.max())
            bound = max(bound, w @ z)
            last, w = w, w * np.exp(rate * (z - z.max()))
            w = w / w.sum()
        np.testing.assert_allclose(found.average, total, atol=1e-8)
        np.testing.assert_allclose(found.weights, last, atol=1e-8)
        assert found.value == pytest.approx(min(values))
        assert found.bound == pytest.approx(bound)
        assert found.bound <= certificate.primal * (1 + 1e-12)
        assert found.value >= certificate.dual * (1 - 1e-12)
        assert np.trace(found.average) == pytest.approx(2.0)
        assert losses(pair_matrices, found.best).max() == pytest.approx(found.value)


def test_scaled_weights_do_not_depend_on_the_unit(pair_matrices):
    (small,) = run(pair_matrices, 2, [0.7], iterations=40, scale=True)
    (large,) = run(1e4 * pair_matrices, 2, [0.7], iterations=40, scale=True)
    np.testing.assert_allclose(small.average, large.average, atol=1e-9)
    (unscaled,) = run(1e4 * pair_matrices, 2, [0.7], iterations=40)
    assert np.abs(unscaled.average - small.average).max() > 1e-3  # and does not overflow


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


def test_the_worst_error_of_three_groups_is_certified_and_pca_misses_it(sample):
    fitted = MinMaxFairPCA(2, objective="error", center="group").fit(sample.X, sensitive_features=sample.groups)
    assert -1e-9 < fitted.certificate_.gap < 0.05 * fitted.objective_
    matrices = group_matrices(GroupMoments.from_data(sample.X, sample.groups), "group")
    assert errors(matrices, fitted.components_.T).max() == pytest.approx(fitted.objective_)
    control = errors(matrices, StandardPCA(2).fit(sample.X).components_.T)
    assert control.max() > 1.02 * fitted.objective_
    assert kept(matrices, fitted.components_.T).sum() > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "variance"}, "objective"),
        ({"center": "none"}, "center"),
    ],
)
def test_settings_that_mean_nothing_are_refused(pair, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        MinMaxFairPCA(2, **settings).fit(pair.X, sensitive_features=pair.groups)


def test_samples_that_cannot_be_balanced_are_refused(pair):
    with pytest.raises(ComponentsError, match="4"):
        MinMaxFairPCA(5, center="group").fit(pair.X, sensitive_features=pair.groups)
    with pytest.raises(GroupError, match="one group"):
        MinMaxFairPCA(2, center="group").fit(pair.X, sensitive_features=np.full(len(pair.X), "a"))
