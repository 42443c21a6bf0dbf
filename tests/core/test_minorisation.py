"""Sparse and outlier-robust fair PCA: the exact optimum without a penalty, ascent, zeros, bounds, few far rows."""

from itertools import combinations

import numpy as np
import pytest

from evenspan import GroupMoments, MinMaxFairPCA, OutlierRobustFairPCA, SparseFairPCA, StandardPCA
from evenspan.core.estimator import NotConvergedWarning
from evenspan.reconstruction.group_errors import errors, group_matrices, kept, losses
from evenspan.reconstruction.min_max import solve
from evenspan.reconstruction.minorisation import (
    best_features,
    best_of_surrogate,
    minorise_maximise,
    variances_kept,
    with_zeros,
)
from evenspan.reconstruction.outlier_robust import lengths_kept

from .samples import draw

K, D = 2, 6


@pytest.fixture(scope="module")
def sample():
    return draw(counts=(150, 70), names=("woman", "man"), d=D, seed=0)


@pytest.fixture(scope="module")
def matrices(sample):
    return group_matrices(GroupMoments.from_data(sample.X, sample.groups))


def traces(S):
    return np.trace(S, axis1=1, axis2=2)


def pca(S):
    return np.linalg.eigh(S.sum(axis=0))[1][:, -K:]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("groups", [2, 3])
def test_without_a_penalty_the_exact_optimum_is_met_from_the_components_of_pca(seed, groups):
    rng = np.random.default_rng(seed)
    S = np.array([A @ A.T for A in rng.normal(size=(groups, D, D))]) * (1.0 + np.arange(groups))[:, None, None]
    V, path, _ = minorise_maximise(variances_kept(S, traces(S)), pca(S), tol=1e-9, max_iter=5000)
    best = solve(S, K, "error")[1]
    assert errors(S, pca(S)).max() > 1.001 * best.primal  # the control
    assert errors(S, V).max() >= best.dual - 1e-9
    if groups == 2:
        assert errors(S, V).max() == pytest.approx(best.primal, rel=1e-5)
    np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-12)
    assert np.diff(path).min() > 0


def test_the_surrogate_lies_below_and_touches(matrices, sample):
    rng = np.random.default_rng(1)
    codes = np.unique(sample.groups, return_inverse=True)[1]
    rows = sample.X - sample.X.mean(axis=0)
    U = np.linalg.qr(rng.normal(size=(D, K)))[0]
    for tangents in (variances_kept(matrices, traces(matrices)), lengths_kept(rows, codes, np.bincount(codes))):
        values, slopes = tangents(U)
        step = 1e-6 * rng.normal(size=U.shape)
        rise = (tangents(U + step)[0] - tangents(U - step)[0]) / 2
        np.testing.assert_allclose(np.einsum("gdk,dk->g", slopes, step), rise, rtol=1e-6)
        for _ in range(50):
            W = np.linalg.qr(rng.normal(size=(D, K)))[0]
            below = values + np.einsum("gdk,dk->g", slopes, W - U)
            assert (tangents(W)[0] >= below - 1e-12).all()
    means = [np.linalg.norm(rows[codes == g] @ U, axis=1).mean() for g in (0, 1)]
    np.testing.assert_allclose(values, means, rtol=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 0.05, 0.3])
def test_the_bound_of_a_surrogate_holds_over_the_spectral_ball(penalty):
    rng = np.random.default_rng(2)
    B, c = rng.normal(size=(2, D, K)), rng.normal(size=2)
    dual = (np.full(2, 0.5), np.zeros((D, K)))
    V, value, bound, _ = best_of_surrogate(B, c, penalty, dual, np.inf, 1e-10)  # nothing is gained yet

    def surrogate(W):
        return (np.einsum("gdk,...dk->...g", B, W) - c).min(axis=-1) - penalty * np.abs(W).sum(axis=(-2, -1))

    tried = rng.normal(size=(5000, D, K))
    tried /= np.linalg.norm(tried, ord=2, axis=(1, 2))[:, None, None]
    near = np.linalg.qr(V + 1e-3 * rng.normal(size=(5000, D, K)))[0]
    near *= np.sign(np.einsum("ndk,dk->nk", near, V))[:, None]
    assert max(surrogate(tried).max(), surrogate(near).max()) <= value + 1e-9
    assert value == pytest.approx(surrogate(V))
    assert value <= bound <= value + 1e-8


def test_a_penalty_gives_zeros_and_a_bound(sample):
    fits = {
        penalty: SparseFairPCA(K, penalty=penalty, objective="error").fit(sample.X, sensitive_features=sample.groups)
        for penalty in (0.0, 3.0, 8.0)
    }
    exact = MinMaxFairPCA(K, objective="error").fit(sample.X, sensitive_features=sample.groups)
    assert fits[0.0].certificate_.is_optimal(1e-6)
    assert exact.objective_ == pytest.approx(fits[0.0].objective_, rel=1e-6)
    zeros = [int((fit.components_ == 0).sum()) for fit in fits.values()]
    assert zeros[0] == 0 < zeros[1] < zeros[2]
    for penalty, fit in fits.items():
        V = fit.components_.T
        np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-12)
        reached = fit.group_errors_.max() + penalty * np.abs(V).sum()
        assert fit.certificate_.primal == pytest.approx(reached)
        assert fit.certificate_.dual <= reached + 1e-6
        assert fit.converged_
    # No orthonormal basis drawn near the answer or anywhere has a smaller penalised objective.
    S, V, rng = (
        group_matrices(GroupMoments.from_data(sample.X, sample.groups)),
        fits[3.0].components_.T,
        np.random.default_rng(3),
    )
    near = np.linalg.qr(V + 1e-2 * rng.normal(size=(5000, D, K)))[0]
    held = np.einsum("ndk,gde,nek->ng", near, S, near, optimize=True)
    tried = (traces(S) - held).max(axis=1) + 3.0 * np.abs(near).sum(axis=(1, 2))
    assert tried.min() >= fits[3.0].certificate_.primal - 1e-6


def test_a_component_that_costs_more_than_it_keeps_is_a_feature():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [3.0, 1.0, 0.02, 0.01]
    fitted = SparseFairPCA(3, penalty=0.5, objective="error").fit(X, sensitive_features=np.arange(60) % 2)
    assert fitted.converged_
    np.testing.assert_array_equal(np.abs(fitted.components_).sum(axis=0), [1, 1, 1, 0])


def test_what_is_left_to_gain_is_said(sample):
    with pytest.warns(NotConvergedWarning, match="raise max_iter or tol"):
        fitted = SparseFairPCA(K, penalty=0.3, max_iter=1).fit(sample.X, sensitive_features=sample.groups)
    assert not fitted.converged_


@pytest.mark.parametrize("standardize", [False, True])
def test_along_a_path_of_penalties_zeros_grow_and_no_features_are_better(standardize):
    X = np.random.default_rng(0).normal(size=(400, 6)) * [3, 2, 2, 1, 1, 0.5]
    groups, k, zeros = np.arange(400) % 2, 3, []
    moments = GroupMoments.from_data(X, groups)
    S = group_matrices(moments.standardised() if standardize else moments)
    for penalty in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 50.0):
        fitted = SparseFairPCA(k, penalty=penalty, standardize=standardize).fit_moments(moments)
        best = min(losses(S, np.eye(6)[:, list(chosen)]).max() for chosen in combinations(range(6), k))
        assert fitted.converged_
        assert fitted.certificate_.primal <= best + penalty * k + 1e-9
        zeros.append(int((fitted.components_ == 0).sum()))
    assert (np.diff(zeros) >= 0).all()
    assert zeros[0] < zeros[2] < zeros[-1] == k * 5  # k features at last


@pytest.mark.parametrize("groups", [2, 3])
def test_the_best_features_are_found(groups):
    rng = np.random.default_rng(groups)
    S = np.array([A @ A.T for A in rng.normal(size=(groups, 8, 8))])
    offsets = rng.random(groups)
    tried = [np.eye(8)[:, list(chosen)] for chosen in combinations(range(8), 3)]
    best = max((kept(S, V) - offsets).min() for V in tried)
    assert (kept(S, best_features(S, offsets, 3)) - offsets).min() == pytest.approx(best)


def test_zeros_that_leave_no_orthonormal_columns_are_given_up():
    V = np.linalg.qr(np.eye(4)[:, :2] + 0.01 * np.random.default_rng(0).normal(size=(4, 2)))[0]
    support = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)  # one shared loading
    found = with_zeros(V, support)
    np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-12)
    assert np.abs(found - V).max() < 0.05
    assert 2 <= (found == 0).sum() < 4


def test_few_far_rows_do_not_decide(sample):
    X, far = sample.X.copy(), np.flatnonzero(sample.groups == "man")[:3]
    X[:, -1] *= 0.01
    X[far] = 0.0
    X[far, -1] = 25.0

    def share(method):
        return float(np.abs(method.fit(X, sensitive_features=sample.groups).components_[:, -1]).max())

    robust = OutlierRobustFairPCA(K)
    assert share(robust) < 0.3 < 0.9 < share(MinMaxFairPCA(K, objective="error"))  # the control
    assert robust.certificate_.primal == pytest.approx(robust.group_lengths_.min())
    assert robust.certificate_.primal <= robust.certificate_.dual
    rows = np.delete(X - robust.mean_, far, axis=0)
    codes = (np.delete(sample.groups, far) == "man").astype(int)
    lengths = lengths_kept(rows, codes, np.bincount(codes))
    spoilt = StandardPCA(K).fit(X).components_.T
    assert lengths(robust.components_.T)[0].min() > 1.02 * lengths(spoilt)[0].min()


def test_lengths_that_are_all_equal_meet_the_bound():
    angles = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    X = np.column_stack([3.0 * np.cos(angles), 3.0 * np.sin(angles), np.tile([0.1, -0.1], 20)])
    fitted = OutlierRobustFairPCA(2).fit(X, sensitive_features=np.tile(["a", "a", "b", "b"], 10))
    assert fitted.certificate_.gap < 1e-9
    assert fitted.objective_ == pytest.approx(3.0)
