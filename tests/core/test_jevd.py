"""JEVD-PCA: what joint eigenvectors are worth to the worst served group, and what is said when there are none."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from compendium.papers.rathore2025.methods import order_columns
from evenspan import JEVDPCA, GroupMoments, MinMaxFairPCA, StandardPCA
from evenspan.core.errors import ConfigurationError
from evenspan.reconstruction import JointDiagonalisationWarning, joint_criterion
from evenspan.reconstruction.group_errors import group_matrices, losses
from evenspan.reconstruction.jevd import distance_from_fair, orthonormal_columns
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import solve_multi_criteria
from evenspan.reconstruction.samadi import run

from .samples import angle, draw

DIAGONAL = np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])])


def rows_of(matrices):
    """Rows, mean zero in every group, with these diagonal second moments."""
    parts = [np.diag(np.sqrt(3.0 * np.diag(M))) for M in matrices]
    return np.vstack([sign * part for part in parts for sign in (1.0, -1.0)]), np.repeat(["a", "b"], 6)


def standardised_apart(sample):
    """Every group standardised on its own."""
    X = sample.X.copy()
    for label in sample.labels:
        rows = sample.groups == label
        X[rows] = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
    return X


# -- the paper's theorem --------------------------------------------------------------------------------------------


def test_theorem_4_1_does_not_hold():
    assert joint_criterion(np.eye(3), DIAGONAL) == 0.0
    of_columns = np.array([losses(DIAGONAL, np.eye(3)[:, [j]]) for j in range(3)])
    np.testing.assert_allclose(of_columns, [[0.0, 5.0], [1.0, 3.0], [3.0, 0.0]], atol=1e-12)
    assert (of_columns[:, 0] != of_columns[:, 1]).all()
    assert of_columns.max(axis=1).min() == pytest.approx(3.0)
    V, certificate = solve_min_max(*DIAGONAL, 1)
    np.testing.assert_allclose(losses(DIAGONAL, V), [1.8, 1.8], atol=1e-8)
    assert certificate.dual == pytest.approx(1.8)
    assert (np.abs(V) > 0.1).sum(axis=0) == 2  # the fair direction is no joint eigenvector
    # Nor are the traces over the whole basis equal, with the paper's matrices.
    shifted = DIAGONAL - np.array([3.0, 5.0])[:, None, None] * np.eye(3)
    np.testing.assert_allclose(-np.trace(shifted, axis1=1, axis2=2), [4.0, 8.0])


@pytest.mark.parametrize("mode", ["orthogonal", "paper"])
def test_the_counterexample_through_the_estimator(mode):
    X, groups = rows_of(DIAGONAL)
    fitted = JEVDPCA(1, mode=mode, init="identity", center="group").fit(X, sensitive_features=groups)
    assert fitted.criterion_ <= 1e-20
    assert fitted.status_ == "converged"
    assert fitted.chosen_.tolist() == [2]
    assert fitted.group_losses_.max() == pytest.approx(3.0)
    assert fitted.group_losses_.min() < 2.0
    assert fitted.certificate_.gap == pytest.approx(3.0 - 1.8)


# -- the certificate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["orthogonal", "paper"])
@pytest.mark.parametrize("centring", ["group", "overall"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_distance_from_fair_pca_is_certified(pair, mode, centring, k):
    fitted = JEVDPCA(k, mode=mode, center=centring).fit(pair.X, sensitive_features=pair.groups)
    fair = MinMaxFairPCA(k, center=centring)
    fair.fit(pair.X, sensitive_features=pair.groups)
    assert fitted.certificate_.primal == pytest.approx(fitted.group_losses_.max())
    assert fitted.certificate_.dual == pytest.approx(fair.certificate_.dual, rel=1e-7)
    assert fitted.certificate_.gap > max(fair.certificate_.gap, 1e-3 * fitted.certificate_.primal)
    # Losses are equal at the optimum and not here.
    assert np.ptp(fair.group_losses_) < 1e-6 * fair.group_losses_.max() < np.ptp(fitted.group_losses_)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("mode", ["orthogonal", "paper"])
def test_three_groups_have_a_bound_too(sample, mode):
    fitted = JEVDPCA(2, mode=mode, center="group").fit(sample.X, sensitive_features=sample.groups)
    assert fitted.group_losses_.shape == (3,)
    assert fitted.group_labels_.tolist() == ["azure", "beige", "crimson"]
    certificate = fitted.certificate_
    assert 0.0 < certificate.dual < certificate.primal
    matrices = group_matrices(GroupMoments.from_data(sample.X, sample.groups), "group")
    rng = np.random.default_rng(0)
    for _ in range(300):
        V = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        assert losses(matrices, V).max() >= certificate.dual
    best = MinMaxFairPCA(2, center="group").fit(sample.X, sensitive_features=sample.groups)
    assert certificate.dual <= best.certificate_.primal < certificate.primal


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_for_three_groups_lies_between_what_weights_reach_and_the_best_projector(sample, k):
    fitted = JEVDPCA(k, center="group").fit(sample.X, sensitive_features=sample.groups)
    matrices = group_matrices(GroupMoments.from_data(sample.X, sample.groups), "group")
    weaker = max(found.bound for found in run(matrices, k, (0.3, 3.0), iterations=100, scale=True))
    assert weaker <= fitted.certificate_.dual <= solve_multi_criteria(matrices, k)[1].primal


def test_a_fair_projection_has_no_distance():
    matrices = group_matrices(GroupMoments.from_data(*two_groups()), "group")
    V, _ = solve_min_max(*matrices, 2)
    assert distance_from_fair(matrices, V).is_optimal(1e-6)


def two_groups():
    s = draw(counts=(150, 70), d=5, seed=0)
    return s.X, s.groups


def test_equal_groups_are_pca(pair):
    X = np.vstack([pair.X, pair.X])
    groups = np.repeat(["one", "two"], len(pair.X))
    fitted = JEVDPCA(2, center="group").fit(X, sensitive_features=groups)
    assert angle(fitted.components_.T, StandardPCA(2).fit(X).components_.T) < 1e-7
    assert fitted.criterion_ <= 1e-20 * np.square(X).sum(axis=None)
    assert abs(fitted.certificate_.gap) < 1e-9


# -- centring -------------------------------------------------------------------------------------------------------


def test_centring_names_the_point_that_moments_are_about(pair):
    moments = GroupMoments.from_data(pair.X, pair.groups)
    origin = group_matrices(moments, "none")
    for M, label in zip(origin, pair.labels, strict=True):
        rows = pair.rows(label)
        np.testing.assert_allclose(M, rows.T @ rows / len(rows), rtol=1e-12, atol=1e-12)
    names = ("group", "overall", "none")
    bases = []
    for centring in names:
        fitted = JEVDPCA(2, center=centring).fit(pair.X + 1.0, sensitive_features=pair.groups)
        matrices = group_matrices(GroupMoments.from_data(pair.X + 1.0, pair.groups), centring)
        np.testing.assert_allclose(fitted.group_losses_, losses(matrices, fitted.components_.T), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fitted.mean_, pair.X.mean(axis=0) + 1.0)
        bases.append(fitted.components_.T)
    assert min(angle(bases[i], bases[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.01
    np.testing.assert_allclose(JEVDPCA(2, center="none").fit(pair.X, sensitive_features=pair.groups)
                               .transform(pair.X).mean(axis=0), 0.0, atol=1e-12)  # fmt: skip


def test_a_column_that_names_the_group_is_chosen_last_about_group_means(pair):
    X = np.column_stack([pair.X, pair.groups == "man"])
    fitted = JEVDPCA(5, center="group").fit(X, sensitive_features=pair.groups)
    assert np.abs(fitted.components_[:, 5]).max() < 1e-9
    about_all = JEVDPCA(5, center="overall").fit(X, sensitive_features=pair.groups)
    assert np.abs(about_all.components_[:, 5]).max() > 0.01


# -- columns --------------------------------------------------------------------------------------------------------


def test_orders():
    matrices = np.array([np.diag([9.0, 1.0, 4.0, 0.0]), np.diag([0.0, 7.0, 4.0, 1.0])])
    U = np.diag([1.0, 5.0, -2.0, 1.0])  # of lengths that must not matter
    shares = np.array([0.9, 0.1])
    assert order_columns(U, matrices, shares, 3, "pooled").tolist() == [0, 2, 1]
    assert order_columns(U, matrices, shares, 3, "average").tolist() == [0, 1, 2]
    assert order_columns(U, matrices, shares, 3, "as_is").tolist() == [0, 1, 2]
    # Alone: losses (0, 7), (8, 0), (5, 3), (9, 6). With the third: (4, 7), (7, 0) and (9, 6).
    assert order_columns(U, matrices, shares, 2, "maxmin").tolist() == [2, 0]


@pytest.mark.parametrize("seed", range(5))
def test_every_greedy_column_is_the_best_of_those_left(seed):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(3, 9, 7))
    matrices = factors.transpose(0, 2, 1) @ factors / 9
    U = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    chosen = order_columns(U, matrices, np.full(3, 1 / 3), 4, "maxmin").tolist()
    for j in range(4):
        left = [c for c in range(7) if c not in chosen[:j]]
        worst = [losses(matrices, U[:, [*chosen[:j], c]]).max() for c in left]
        assert chosen[j] == left[int(np.argmin(worst))]


def test_more_components_keep_the_first(sample):
    fitted = [JEVDPCA(k, center="group").fit(sample.X, sensitive_features=sample.groups) for k in (1, 3, 5)]
    for few, many in itertools.pairwise(fitted):
        assert np.array_equal(many.chosen_[: len(few.chosen_)], few.chosen_)
        np.testing.assert_allclose(few.components_, many.components_[: len(few.components_)], atol=1e-12)
        np.testing.assert_array_equal(few.joint_basis_, many.joint_basis_)


def test_dependent_columns_are_refused():
    columns = np.array([[1.0, 3.0], [1.0, 3.0], [0.0, 1e-12]])
    with pytest.raises(ConfigurationError, match=r"2 chosen columns.*dependent.*mode='orthogonal'"):
        orthonormal_columns(columns)
    columns[2, 1] = 1e-3
    V = orthonormal_columns(columns)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
    assert angle(V, np.linalg.qr(columns)[0]) < 1e-9


# -- what is said ---------------------------------------------------------------------------------------------------


def test_what_a_fit_reports(pair):
    fitted = JEVDPCA(2, mode="paper", center="group").fit(pair.X, sensitive_features=pair.groups)
    assert fitted.status_ == "converged"
    assert fitted.joint_basis_.shape == (5, 5)
    assert len(fitted.criterion_path_) == fitted.n_iter_ + 1
    assert fitted.criterion_ == pytest.approx(fitted.criterion_path_[-1])
    matrices = group_matrices(GroupMoments.from_data(pair.X, pair.groups), "group")
    assert joint_criterion(fitted.joint_basis_, matrices) == pytest.approx(fitted.criterion_, rel=1e-9)
    np.testing.assert_allclose(fitted.column_norms_, np.linalg.norm(fitted.joint_basis_, axis=0))
    assert fitted.column_norms_.max() > 1.01
    assert fitted.orthogonality_ < 1e-3
    orthogonal = JEVDPCA(2, center="group").fit(pair.X, sensitive_features=pair.groups)
    np.testing.assert_allclose(orthogonal.column_norms_, 1.0, atol=1e-12)
    assert orthogonal.criterion_ < fitted.criterion_ * (1 + 1e-9)


@pytest.mark.parametrize("mode", ["orthogonal", "paper"])
@pytest.mark.parametrize("counts", [(150, 70), (200, 120, 60)])
def test_the_pooled_start_weighs_groups_by_their_shares(mode, counts):
    s = draw(counts=counts)
    moments = GroupMoments.from_data(s.X, s.groups)
    matrices = group_matrices(moments, "group")
    pooled = np.tensordot(moments.counts / moments.n, matrices, axes=1)
    start = JEVDPCA(2, mode=mode, center="group").fit_moments(moments).criterion_path_[0]
    assert start == pytest.approx(joint_criterion(np.linalg.eigh(pooled)[1], matrices), rel=1e-9)
    # The control: with equal weights it starts elsewhere.
    assert start != pytest.approx(joint_criterion(np.linalg.eigh(matrices.mean(axis=0))[1], matrices), rel=1e-3)


@pytest.mark.parametrize("init", ["identity", "pooled"])
def test_groups_standardised_apart(pair, init):
    X = standardised_apart(pair)
    printed = JEVDPCA(2, mode="paper", init=init, center="group")
    if init == "identity":
        with pytest.warns(JointDiagonalisationWarning, match=r"zero by zero at 10 pair.*of the start.*orthogonal"):
            printed.fit(X, sensitive_features=pair.groups)
        assert printed.status_ == "undefined step"
        assert np.array_equal(printed.joint_basis_, np.eye(5))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JointDiagonalisationWarning)
            printed.fit(X, sensitive_features=pair.groups)
    assert np.isfinite(printed.components_).all()
    assert np.isfinite([printed.certificate_.primal, printed.certificate_.dual]).all()
    assert printed.certificate_.gap > 0
    orthogonal = JEVDPCA(2, init=init, center="group").fit(X, sensitive_features=pair.groups)
    assert orthogonal.status_ == "converged"


def test_divergence_and_unfinished_work_are_warned_of():
    s = draw(counts=(150, 70), d=6, seed=0)
    seen = {}
    for seed in range(40):
        factors = np.random.default_rng(seed).integers(-2, 3, size=(2, 12, 10))
        factors = factors - factors.mean(axis=1, keepdims=True)
        fitted = JEVDPCA(2, mode="paper", init="identity", center="group")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.fit(np.vstack(factors), sensitive_features=np.repeat(["a", "b"], 12))
        seen.setdefault(fitted.status_, str(caught[0].message) if caught else "")
        assert bool(caught) == (fitted.status_ != "converged")
        assert np.isfinite(fitted.components_).all()
        assert fitted.certificate_.gap >= -1e-9
    assert "diverged after" in seen["diverged"]
    assert "smallest criterion" in seen["diverged"]
    with pytest.warns(JointDiagonalisationWarning, match=r"last of 1 steps.*Raise max_iter"):
        JEVDPCA(2, max_iter=1, center="group").fit(s.X, sensitive_features=s.groups)


# -- inputs ---------------------------------------------------------------------------------------------------------


def test_frames_labels_and_moments_give_the_same(pair):
    frame = pd.DataFrame(pair.X, columns=list("abcde"))
    plain = JEVDPCA(2, center="group").fit(pair.X, sensitive_features=pair.groups)
    framed = JEVDPCA(2, center="group").fit(frame, sensitive_features=pd.Series(pair.groups, name="sex"))
    coded = JEVDPCA(2, center="group").fit(pair.X, sensitive_features=(pair.groups == "woman").astype(int))
    summed = JEVDPCA(2, center="group").fit_moments(GroupMoments.from_data(pair.X, pair.groups))
    for other in (framed, coded, summed):
        assert angle(other.components_.T, plain.components_.T) < 1e-7
    assert framed.feature_names_in_.tolist() == list("abcde")
    assert framed.get_feature_names_out().tolist() == ["jevdpca0", "jevdpca1"]
    assert framed.transform(frame).shape == (220, 2)
