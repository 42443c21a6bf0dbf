"""Least-squares erasure: the theorem clause by clause, PCA as the control, and the least map by other routes."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from evenspan import FairPCA, GroupMoments, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError, SurplusComponentsWarning
from evenspan.representation.leace import LEACE, _certify, make_eraser, shrunk

from .samples import Sample, angle, draw, group_gap, size, two_attributes

rng0 = np.random.default_rng(3)
DEFICIENT = draw(d=5)
SAMPLES = {
    "three groups": draw(),
    "two groups": draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0),
    "dependent and constant features": Sample(
        np.hstack([DEFICIENT.X, DEFICIENT.X @ rng0.normal(size=(5, 3)), np.full((380, 1), 4.0)]), DEFICIENT.groups
    ),
    "fewer rows than features": Sample(
        rng0.normal(size=(9, 20)) + np.arange(9)[:, None] % 3, np.array(list("abcabcabb"))
    ),
}  # fmt: skip
every_sample = pytest.mark.parametrize("s", SAMPLES.values(), ids=SAMPLES.keys())


def indicators(groups) -> np.ndarray:
    groups = np.asarray(groups)
    return (groups[:, None] == np.unique(groups)[None]).astype(float)


def centred(X) -> np.ndarray:
    return X - np.mean(X, axis=0)


def as_printed(X, groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P, the covariance root and u of the closed form, with the whitening matrix formed."""
    C, S = centred(X).T @ centred(indicators(groups)) / len(X), np.cov(X.T, ddof=0)
    values, vectors = np.linalg.eigh(S)
    kept = values > values[-1] * len(S) * 2.3e-16
    root = (vectors[:, kept] * np.sqrt(values[kept])) @ vectors[:, kept].T
    W = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    u, s, _ = np.linalg.svd(W @ C, full_matrices=False)
    u = u[:, s > 1e-7 * s[0]]
    return np.eye(len(S)) - root @ u @ u.T @ W, root, u


def fitted(s: Sample, k=None, **options) -> LEACE:
    return LEACE(k, **options).fit(s.X, sensitive_features=s.groups)


@every_sample
def test_no_affine_score_is_correlated_with_a_group(s):
    Z = centred(indicators(s.groups))
    control = StandardPCA(2).fit(s.X).transform(s.X)
    for k in (None, 1, 2):
        T = fitted(s, k).transform(s.X)
        assert group_gap(T, s.groups) <= 1e-10 * size(s.X)
        slope = np.linalg.pinv(centred(T), rcond=1e-9) @ Z
        assert np.abs(centred(T) @ slope).max() <= 1e-8
    assert group_gap(control, s.groups) > 0.2 * size(s.X)
    assert np.abs(centred(control) @ np.linalg.lstsq(centred(control), Z, rcond=None)[0]).max() > 0.2


@pytest.mark.parametrize("name", ["three groups", "two groups"])
def test_a_logistic_regression_predicts_a_constant(name):
    s = SAMPLES[name]
    erased, control = fitted(s, 3).transform(s.X), StandardPCA(3).fit(s.X).transform(s.X)

    def slope(T):
        model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(T / np.std(T, axis=0), s.groups)
        return float(np.abs(model.coef_).max())

    assert slope(erased) < 1e-5
    assert slope(control) > 0.3


@every_sample
def test_the_closed_form_as_printed(s):
    model = fitted(s)
    P, root, u = as_printed(s.X, s.groups)
    np.testing.assert_allclose(model.erasure_, P, atol=1e-9)
    np.testing.assert_allclose(model.erasure_ @ model.erasure_, model.erasure_, atol=1e-11)
    d, r = len(P), len(np.unique(s.groups)) - 1
    assert model.rank_removed_ == r
    assert np.linalg.matrix_rank(model.erasure_, tol=1e-8) == d - r
    expected = root @ (np.eye(d) - u @ u.T) @ root
    erased = model.transform(s.X)
    np.testing.assert_allclose(np.cov(erased.T, ddof=0), expected, atol=1e-10 * np.trace(expected))
    np.testing.assert_allclose(np.mean(erased, axis=0), np.mean(s.X, axis=0), atol=1e-11)
    np.testing.assert_allclose(model.explained_variance_, np.var(erased, axis=0, ddof=1), atol=1e-10 * size(s.X) ** 2)


@every_sample
def test_no_other_erasing_map_moves_the_points_less(s):
    model = fitted(s)
    moved = float(np.mean(np.sum((model.transform(s.X) - s.X) ** 2, axis=1)))
    assert model.displacement_ == pytest.approx(moved, rel=1e-9)
    assert model.certificate_.is_optimal(1e-8)
    X, C = centred(s.X), centred(s.X).T @ centred(indicators(s.groups))
    basis = np.linalg.svd(C, full_matrices=True)[0]
    R = basis[:, model.rank_removed_ :]
    orthogonal = float(np.mean(np.sum((X - X @ R @ R.T) ** 2, axis=1)))
    assert orthogonal > (1 + 1e-3) * moved
    # The orthogonal map is feasible, so its displacement must not pass the bound; nor that of random feasible maps.
    rng = np.random.default_rng(0)
    for _ in range(20):
        P = model.erasure_ + 0.1 * rng.normal(size=(len(C), R.shape[1])) @ R.T
        np.testing.assert_allclose(P @ C, 0.0, atol=1e-9 * np.linalg.norm(C))
        assert np.mean(np.sum((X - X @ P.T) ** 2, axis=1)) >= model.certificate_.dual * (1 - 1e-9)


def test_the_least_map_by_numerical_optimisation():
    s = SAMPLES["two groups"]
    X, z = centred(s.X), centred(indicators(s.groups))[:, 0]
    c = X.T @ z
    R = np.linalg.svd(c[:, None])[0][:, 1:]  # P = K R' for free K

    def loss(flat):
        E = np.eye(5) - flat.reshape(5, 4) @ R.T
        D = X @ E.T
        return float(np.mean(np.sum(D**2, axis=1))), (-2 * (D.T @ X @ R) / len(X)).ravel()

    best = optimize.minimize(loss, R.ravel(), jac=True, method="BFGS", options={"gtol": 1e-10})
    model = fitted(s)
    assert model.displacement_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.erasure_, best.x.reshape(5, 4) @ R.T, atol=1e-5)


def test_the_orthogonal_map_is_that_of_fair_pca_and_keeps_less_variance():
    s = draw()
    fair = FairPCA(4).fit(s.X, sensitive_features=s.groups)
    orthogonal = fitted(s, shrinkage=1.0)
    np.testing.assert_allclose(orthogonal.erasure_, fair.components_.T @ fair.components_, atol=1e-10)
    assert orthogonal.certificate_.feasibility < 1e-12
    assert orthogonal.certificate_.gap > 0.01 * orthogonal.displacement_
    for k in (1, 2, 3):
        kept = FairPCA(k).fit(s.X, sensitive_features=s.groups).explained_variance_.sum(axis=0)
        np.testing.assert_allclose(fitted(s, k, shrinkage=1.0).explained_variance_.sum(axis=0), kept, rtol=1e-10)
        assert fitted(s, k).explained_variance_.sum(axis=0) > (1 + 1e-4) * kept


@every_sample
def test_components_are_principal_coordinates_of_the_erased_points(s):
    k = 2
    model, whole = fitted(s, k), fitted(s)
    control = StandardPCA(k).fit(whole.transform(s.X))
    assert angle(model.axes_, control.components_.T) < 1e-7
    np.testing.assert_allclose(model.explained_variance_, control.explained_variance_, rtol=1e-9)
    T = model.transform(s.X)
    np.testing.assert_allclose(T, centred(s.X) @ model.components_.T, atol=1e-10)
    np.testing.assert_allclose(np.var(T, axis=0, ddof=1), model.explained_variance_, rtol=1e-9)
    total = np.sum(np.var(s.X, axis=0, ddof=1))
    np.testing.assert_allclose(model.explained_variance_ratio_ * total, model.explained_variance_, rtol=1e-9)
    assert model.axes_certificate_.is_optimal()
    back = model.inverse_transform(T)
    lost = np.sum((back - whole.transform(s.X)) ** 2, axis=None) / (len(s.X) - 1)
    assert lost == pytest.approx(
        whole.explained_variance_.sum(axis=0) - model.explained_variance_.sum(axis=0), rel=1e-8
    )
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(s.X)), whole.transform(s.X), atol=1e-11)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
def test_shrinkage_keeps_the_guarantee_and_gives_up_the_least_displacement(k, shrinkage):
    s = SAMPLES["fewer rows than features"]
    model, exact = fitted(s, k, shrinkage=shrinkage), fitted(s, k)
    T = model.transform(s.X)
    assert group_gap(T, s.groups) <= 1e-10 * size(s.X)
    spread = model.axes_.T @ model.erasure_ @ np.cov(s.X.T) @ model.erasure_.T @ model.axes_
    np.testing.assert_allclose(np.diag(spread), model.explained_variance_, atol=1e-9)
    assert model.certificate_.feasibility < 1e-10
    assert model.certificate_.dual == pytest.approx(exact.displacement_, rel=1e-8)
    assert (model.displacement_ > (1 + 1e-6) * exact.displacement_) == (shrinkage != 0.0)


def test_the_estimated_share_comes_closer_to_the_truth_than_no_shrinkage():
    rng = np.random.default_rng(0)
    truth = np.diag(np.linspace(0.5, 3.0, 30))
    X = rng.normal(size=(40, 30)) @ np.sqrt(truth)
    S = np.cov(X.T, ddof=0)
    near = shrunk(S, 40, "auto")
    assert np.linalg.norm(near - truth) < 0.7 * np.linalg.norm(S - truth)
    assert np.trace(near) == pytest.approx(np.trace(S))
    np.testing.assert_allclose(shrunk(np.eye(3), 5, "auto"), np.eye(3))


def test_a_bound_from_the_wrong_multiplier_is_not_taken_for_one():
    s = draw()
    S, C = np.cov(s.X.T, ddof=0), np.linalg.qr((s.rows(s.labels[0]).mean(axis=0) - s.X.mean(axis=0))[:, None])[0]
    least, orthogonal = make_eraser(S, C), make_eraser(np.eye(len(S)), C)
    right = _certify(least, least, S, C, least.displacement(S))
    assert right.feasibility < 1e-10
    assert right.is_optimal()
    wrong = _certify(orthogonal, orthogonal, S, C, orthogonal.displacement(S))
    assert wrong.feasibility > 0.01
    assert not wrong.is_optimal()


@pytest.mark.parametrize("n", [60, 1000])
def test_the_estimated_share_is_near_the_best_one(n):
    rng = np.random.default_rng(1)
    truth = np.diag(np.linspace(0.5, 3.0, 30))
    S = np.cov((rng.normal(size=(n, 30)) @ np.sqrt(truth)).T, ddof=0)
    towards = S - np.trace(S) / 30 * np.eye(30)
    best = np.vdot(towards, S - truth) / np.vdot(towards, towards)  # least squares, knowing the truth
    share = 1.0 - shrunk(S, n, "auto")[0, 1] / S[0, 1]
    assert share == pytest.approx(best, abs=0.08)
    assert (share < 0.3) == (n == 1000)


def test_two_attributes_marginally_and_by_combination():
    X, groups = two_attributes()
    marginal = LEACE().fit(X, sensitive_features=groups)
    assert marginal.rank_removed_ == 3
    T = marginal.transform(X)
    cells = np.array(["/".join(row) for row in groups.tolist()])
    for j in (0, 1):
        assert group_gap(T, groups[:, j]) < 1e-10 * size(X)
    assert group_gap(T, cells) > 0.1 * size(X)
    crossed = LEACE(attributes="intersection").fit(X, sensitive_features=groups)
    assert crossed.rank_removed_ == 5
    assert group_gap(crossed.transform(X), cells) < 1e-10 * size(X)
    assert crossed.displacement_ > marginal.displacement_


def test_moments_weights_and_frames():
    s = draw()
    weights = np.random.default_rng(0).integers(1, 4, len(s.X))
    rows = np.repeat(np.arange(len(s.X)), weights)
    weighted = LEACE(2).fit(s.X, sensitive_features=s.groups, sample_weight=weights)
    repeated = LEACE(2).fit(s.X[rows], sensitive_features=s.groups[rows])
    np.testing.assert_allclose(weighted.erasure_, repeated.erasure_, atol=1e-11)
    parts = [GroupMoments.from_data(s.X[a::3], s.groups[a::3]) for a in range(3)]
    merged = LEACE(2).fit_moments(parts[2] + parts[0] + parts[1])
    np.testing.assert_allclose(merged.erasure_, fitted(s, 2).erasure_, atol=1e-11)
    frame = pd.DataFrame(s.X, columns=list("abcdef"))
    out = LEACE().set_output(transform="pandas").fit(frame, sensitive_features=s.groups).transform(frame)
    assert out.columns.tolist() == [f"leace{j}" for j in range(6)]
    np.testing.assert_allclose(out.to_numpy(), fitted(s).transform(s.X), atol=1e-11)


def test_every_affine_change_of_the_features_changes_the_erased_points_alike():
    s = draw()
    B = np.random.default_rng(0).normal(size=(6, 6))
    expected = fitted(s).transform(s.X) @ B + 7.0
    moved = LEACE().fit(s.X @ B + 7.0, sensitive_features=s.groups).transform(s.X @ B + 7.0)
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    orthogonal = LEACE(shrinkage=1.0)
    one = orthogonal.fit(s.X, sensitive_features=s.groups).transform(s.X) @ B
    assert np.abs(orthogonal.fit(s.X @ B, sensitive_features=s.groups).transform(s.X @ B) - one).max() > 0.1


def test_features_of_very_different_size():
    s = draw()
    units = 10.0 ** np.arange(-3, 3)
    T = LEACE().fit(s.X * units, sensitive_features=s.groups).transform(s.X * units)
    np.testing.assert_allclose(T / units, fitted(s).transform(s.X), atol=1e-7)


def test_equal_means_leave_everything_in_place():
    s = draw()
    X = np.vstack([s.X, -s.X])
    model = LEACE().fit(X, sensitive_features=np.tile(s.groups, 2))
    np.testing.assert_array_equal(model.erasure_, np.eye(6))
    assert model.rank_removed_ == 0
    assert model.displacement_ == 0.0
    assert model.certificate_.is_optimal()
    np.testing.assert_allclose(model.transform(X), X, atol=1e-14)


def test_an_eraser_of_nothing_and_of_everything():
    S = np.diag([4.0, 1.0, 0.25])
    np.testing.assert_array_equal(make_eraser(S, np.zeros((3, 0))).matrix(), np.eye(3))
    everything = make_eraser(S, np.eye(3))
    np.testing.assert_allclose(everything.matrix(), 0.0, atol=1e-14)
    assert everything.displacement(S) == pytest.approx(5.25)


def test_refusals():
    s = draw()
    with pytest.raises(ComponentsError, match="at most 4 are possible: 6 feature"):
        fitted(s, 5)
    with pytest.raises(ConfigurationError, match=r"shrinkage=1\.5; needed is a number"):
        fitted(s, shrinkage=1.5)
    with pytest.raises(ConfigurationError, match="attributes='both'"):
        fitted(s, attributes="both")
    with pytest.raises(ConfigurationError, match="on_single_group='ignore'"):
        fitted(s, on_single_group="ignore")
    one = np.full(len(s.X), "all")
    with pytest.raises(GroupError, match=r"one group only \('all', 380 row\(s\), one class\)"):
        LEACE().fit(s.X, sensitive_features=one)
    with pytest.warns(UserWarning, match="nothing for LEACE to erase"):
        model = LEACE(on_single_group="warn").fit(s.X, sensitive_features=one)
    np.testing.assert_array_equal(model.erasure_, np.eye(6))
    few = SAMPLES["fewer rows than features"]
    with pytest.warns(SurplusComponentsWarning, match="4 of 10 components carry no variance"):
        fitted(few, 10)
