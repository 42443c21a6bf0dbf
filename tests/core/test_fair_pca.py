"""Fair PCA: the theorem clause by clause, with PCA as the control; and what all methods of equal means share."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space

from evenspan import LEACE, FairKernelPCA, FairPCA, GroupMoments, NullItOutPCA, StandardPCA
from evenspan.core.errors import ConfigurationError, GroupError, SingleGroupWarning

from .samples import Sample, angle, draw, group_gap, size

THREE = draw()
PAIR = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
FEW = Sample(np.random.default_rng(0).normal(size=(9, 20)) + np.arange(9)[:, None] % 3, np.array(list("abcabcabb")))
OPTIONS = ({}, {"center": "none"}, {"standardize": True}, {"match": "covariance"})
# Covariance matching needs more rows than FEW has: directions without data agree perfectly between groups.
CASES = [(s, o) for s in (THREE, PAIR, FEW) for o in OPTIONS if s is not FEW or "match" not in o]
AGE = THREE.X[:, 1] * 0.3 + np.random.default_rng(5).normal(size=380) + 40
AGED = pd.DataFrame({"group": THREE.groups, "age": AGE})
Y = (THREE.X[:, 0] + (THREE.groups == "azure") + np.random.default_rng(0).normal(size=380) > 0.5).astype(int)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 380)
ROWS = np.repeat(np.arange(380), WEIGHTS)


def fitted(s: Sample, k=2, **options) -> FairPCA:
    return FairPCA(k, **options).fit(s.X, sensitive_features=s.groups)


def same(a, b, limit=1e-7) -> bool:
    return angle(a.components_.T, b.components_.T) < limit


def indicator(groups) -> np.ndarray:
    Z = (np.asarray(groups)[:, None] == np.unique(groups)[None]).astype(float)
    return Z - Z.mean(axis=0)


@pytest.mark.parametrize(("s", "options"), CASES, ids=lambda v: str(v) if isinstance(v, dict) else f"{len(v.X)} rows")
def test_group_means_coincide_where_those_of_pca_do_not(s, options):
    plain = {name: value for name, value in options.items() if name != "match"}
    scaled = s.X / s.X.std(axis=0) if "standardize" in options else s.X
    for k in (1, 3):
        model = fitted(s, k, **options)
        control = StandardPCA(k, **plain).fit(s.X).transform(s.X)
        assert group_gap(model.transform(s.X), s.groups) <= 1e-12 * size(scaled)
        assert group_gap(control, s.groups) > 0.2 * size(scaled)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
        assert model.constraint_rank_ == len(s.labels) - 1
        assert model.certificate_.is_optimal()


@pytest.mark.parametrize("center", ["overall", "none"])
@pytest.mark.parametrize("s", [THREE, PAIR, FEW], ids=["three", "two", "few rows"])
def test_algorithm_1_as_printed_and_no_feasible_projection_keeps_more(s, center):
    X = s.X - s.X.mean(axis=0) if center == "overall" else s.X
    R, S = null_space(indicator(s.groups).T @ s.X), X.T @ X
    model = fitted(s, 3, center=center)
    assert angle(model.components_.T, R @ np.linalg.eigh(R.T @ S @ R)[1][:, ::-1][:, :3]) < 1e-7
    along = np.diag(model.components_ @ S @ model.components_.T)
    assert model.certificate_.primal == pytest.approx(along.sum(axis=0), rel=1e-12)
    assert (np.diff(along) <= 1e-9 * along[0]).all(), "components come by decreasing eigenvalue"
    rng, best = np.random.default_rng(0), R.T @ model.components_.T
    for i in range(60):
        A, _ = np.linalg.qr((best if i % 2 else 0 * best) + 10.0 ** -(i % 8) * rng.normal(size=best.shape))
        assert np.trace((R @ A).T @ S @ (R @ A)) <= along.sum(axis=0) * (1 + 1e-12)


def test_many_features_are_solved_by_krylov_spaces_as_well():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(900, 400)) * np.geomspace(10, 0.1, 400), np.arange(900) % 3
    X[groups == 1] += 1.0
    for s in (Sample(X, groups), Sample(X[:, ::-1], groups)):
        model, R = fitted(s), null_space(indicator(groups).T @ s.X)
        assert angle(model.components_.T, R @ np.linalg.eigh(R.T @ np.cov(s.X.T) @ R)[1][:, -2:]) < 1e-7
        assert model.certificate_.is_optimal()


def test_the_certificate_notices_a_basis_that_is_not_fair(monkeypatch):
    assert fitted(THREE).certificate_.feasibility < 1e-12
    monkeypatch.setattr("evenspan.representation.fair_pca.fair_basis", lambda constraints, size: np.eye(6))
    assert fitted(THREE).certificate_.feasibility > 1e-2
    assert not fitted(THREE).certificate_.is_optimal()


def test_equal_means_give_pca_and_a_small_gap_is_not_rounding():
    centred = PAIR.X - PAIR.X.mean(axis=0)
    mirrored, groups = np.vstack([centred, -centred]), np.tile(PAIR.groups, 2)
    for offset, options in ((0.0, {}), (1e6, {}), (1e6, {"standardize": True}), (3.7, {"center": "none"})):
        model = FairPCA(2, **options).fit(mirrored + offset, sensitive_features=groups)
        assert model.constraint_rank_ == 0
        assert same(model, StandardPCA(2, **options).fit(mirrored + offset))
    direction = np.array([1, 2, 0, -1, 1]) / np.sqrt(7)
    tilted = mirrored + 1e-7 * np.outer(groups == "man", direction)
    model = FairPCA(2).fit(tilted, sensitive_features=groups)
    assert model.constraint_rank_ == 1
    assert np.abs(model.components_ @ direction).max() < 1e-6
    assert np.abs(StandardPCA(2).fit(tilted).components_ @ direction).max() > 0.1


def by_definition(X, columns, k, kept) -> np.ndarray:
    """Covariance matching as specified, without our helpers: least sums of squared differences of covariances."""
    R = null_space(np.hstack([indicator(column) for column in columns]).T @ X)
    B = 0
    for column in columns:
        covs = [np.cov((X[column == label] @ R).T) for label in np.unique(column)]
        B = B + sum((a - b) @ (a - b) for a, b in itertools.combinations(covs, 2))
    Q = R @ np.linalg.eigh(B)[1][:, :kept]
    Z = X - X.mean(axis=0)
    return Q @ np.linalg.eigh(Q.T @ Z.T @ Z @ Q)[1][:, ::-1][:, :k]


@pytest.mark.parametrize("fraction", [0.3, 0.5, 1.0])
def test_covariance_matching_is_the_specified_construction(fraction, crossed):
    two = THREE.groups != "beige"
    for X, groups, columns in (
        (THREE.X, THREE.groups, [THREE.groups]),
        (THREE.X[two], THREE.groups[two], [THREE.groups[two]]),
        (*crossed, list(crossed[1].T)),
    ):
        model = FairPCA(2, match="covariance", covariance_fraction=fraction).fit(X, sensitive_features=groups)
        kept = min(max(2, int(fraction * X.shape[1])), X.shape[1] - model.constraint_rank_)
        assert angle(model.components_.T, by_definition(X, columns, 2, kept)) < 1e-6
        assert model.certificate_.is_optimal()


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_the_second_block_of_the_tradeoff_is_scaled_pca(options):
    fair, standard = fitted(THREE, **options), StandardPCA(2, **options).fit(THREE.X)
    for tradeoff in (0, 0.5, 1.0):
        model = fitted(THREE, tradeoff=tradeoff, **options)
        T = model.transform(THREE.X)
        np.testing.assert_allclose(T[:, :2], fair.transform(THREE.X), atol=1e-12)
        np.testing.assert_allclose(T[:, 2:], tradeoff * standard.transform(THREE.X), atol=1e-10)
        np.testing.assert_allclose(model.inverse_transform(T), fair.inverse_transform(T[:, :2]), atol=1e-12)


def test_standardised_features_are_centred():
    for method in (StandardPCA(2, center="none", standardize=True), FairPCA(2, center="none", standardize=True)):
        with pytest.raises(ConfigurationError, match="standardised features are centred"):
            method.fit(PAIR.X, sensitive_features=PAIR.groups)


# -- all methods of equal means --------------------------------------------------------------------------------------


def kernel(k, **options) -> FairKernelPCA:
    return FairKernelPCA(k, kernel="linear", **options)


def null(k, **options) -> NullItOutPCA:
    return NullItOutPCA(k, 0, **options)


@pytest.mark.parametrize("method", [FairPCA, LEACE, null, kernel])
def test_attributes_by_themselves_or_combined_and_one_group(method, crossed):
    X, groups = crossed
    cells = np.array(["/".join(row) for row in groups.tolist()])
    marginal, joint = (method(2, attributes=a).fit(X, sensitive_features=groups) for a in ("marginal", "intersection"))
    T = marginal.transform(X)
    assert max(group_gap(T, groups[:, j]) for j in (0, 1)) < 1e-10 * size(X) < 0.05 * size(X) < group_gap(T, cells)
    assert group_gap(joint.transform(X), cells) < 1e-10 * size(X)
    with pytest.warns(SingleGroupWarning, match=r"one group only \('all'\)"):
        model = method(2, on_single_group="warn").fit(X, sensitive_features=["all"] * len(X))
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(StandardPCA(2).fit(X).transform(X)), atol=1e-9)
    with pytest.raises(GroupError, match=r"one group only \('all'\).*on_single_group='warn'"):
        method(2).fit(X, sensitive_features=["all"] * len(X))


@pytest.mark.parametrize("method", [FairPCA, LEACE, kernel])
def test_quantities_become_uncorrelated_and_a_weight_is_a_number_of_repetitions(method):
    far = AGED.assign(age=1e-9 * AGE + 1e-3)  # the unit of the age means nothing, nor where zero lies
    for X, seen, tol in ((THREE.X, AGED, 1e-9), (THREE.X + 1e4, far, 1e-6)):
        model = method(2, numeric_attributes="age").fit(X, sensitive_features=seen, sample_weight=WEIGHTS)
        T = model.transform(X[ROWS])
        assert np.abs(np.corrcoef(T.T, AGE[ROWS])[2, :2]).max() < tol
        assert group_gap(T, THREE.groups[ROWS]) < tol * size(T)
        repeated = method(2, numeric_attributes=[1]).fit(X[ROWS], sensitive_features=seen.iloc[ROWS])
        np.testing.assert_allclose(np.abs(repeated.transform(X[ROWS])), np.abs(T), atol=1e-5)
    without = method(2).fit(THREE.X[ROWS], sensitive_features=THREE.groups[ROWS]).transform(THREE.X[ROWS])
    assert np.abs(np.corrcoef(without.T, AGE[ROWS])[2, :2]).max() > 1e-3
    moments = GroupMoments.from_data(THREE.X, THREE.groups)
    if hasattr(method, "fit_moments"):
        with pytest.raises(ConfigurationError, match="the data themselves"):
            method(2, numeric_attributes=["age"]).fit_moments(moments)


def test_an_indicator_as_a_quantity_is_a_group_and_a_constant_removes_nothing():
    as_quantity = FairPCA(2, numeric_attributes=[0]).fit(PAIR.X, sensitive_features=(PAIR.groups == "man") * 2.5 - 1)
    assert same(as_quantity, fitted(PAIR))
    constant = FairPCA(2, numeric_attributes=[0]).fit(PAIR.X, sensitive_features=np.full((220, 1), 0.1))
    assert same(constant, StandardPCA(2).fit(PAIR.X))


@pytest.mark.parametrize(
    "options", [{"method": FairKernelPCA}, {"n_landmarks": 30, "method": kernel}, *OPTIONS], ids=str
)
def test_equal_opportunity_holds_among_the_favourable_only(options):
    options = dict(options)
    method, positive = options.pop("method", FairPCA), Y == 1
    model = method(2, criterion="equal_opportunity", positive_label="granted", **options)
    model.fit(THREE.X, np.where(positive, "granted", "denied").tolist(), sensitive_features=THREE.groups)
    T = model.transform(THREE.X)
    assert group_gap(T[positive], THREE.groups[positive]) < 1e-11 * size(THREE.X)
    assert group_gap(T, THREE.groups) > 1e-3 * size(THREE.X)
    alone = method(2, **options).fit(THREE.X[positive], sensitive_features=THREE.groups[positive])
    np.testing.assert_allclose(np.abs(T), np.abs(alone.transform(THREE.X)), atol=1e-8)


def test_a_combination_without_favourable_rows_matters_only_for_intersection(crossed):
    X, groups = crossed
    y = (np.random.default_rng(0).random(len(X)) < 0.6).astype(int)
    y[(groups == ["b", "x"]).all(axis=1)] = 0
    model = FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=groups)
    assert same(model, FairPCA(2).fit(X[y == 1], sensitive_features=groups[y == 1]))
    with pytest.raises(GroupError, match=r"attribute0=b, attribute1=x' has no row with y == 1"):
        FairPCA(2, criterion="equal_opportunity", attributes="intersection").fit(X, y, sensitive_features=groups)
