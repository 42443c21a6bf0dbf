"""Fair PCA: the theorem clause by clause, with PCA as the control that must fail, and optimality by other routes."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space
from sklearn.linear_model import LogisticRegression

from evenspan import FairPCA, GroupMoments, StandardPCA
from evenspan.core.errors import ConfigurationError, GroupError, SingleGroupWarning, SurplusComponentsWarning

from .samples import Sample, angle, draw, group_gap, size

THREE = draw()
PAIR = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
FEW = Sample(np.random.default_rng(0).normal(size=(9, 20)) + np.arange(9)[:, None] % 3, np.array(list("abcabcabb")))
OPTIONS = (
    {},
    {"center": "none"},
    {"standardize": True},
    {"match": "covariance"},
)
# Covariance matching needs more rows than FEW has: directions without data agree perfectly between groups.
CASES = [(s, o) for s in (THREE, PAIR, FEW) for o in OPTIONS if s is not FEW or "match" not in o]
AGE = THREE.X[:, 1] * 0.3 + np.random.default_rng(5).normal(size=380) + 40
AGED = pd.DataFrame({"group": THREE.groups, "age": AGE})
Y = (THREE.X[:, 0] + (THREE.groups == "azure") + np.random.default_rng(0).normal(size=380) > 0.5).astype(int)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 380)
ROWS = np.repeat(np.arange(380), WEIGHTS)


def fitted(s: Sample, k=2, **options) -> FairPCA:
    return FairPCA(k, **options).fit(s.X, sensitive_features=s.groups)


def same(a: FairPCA, b: FairPCA, limit=1e-7) -> bool:
    return angle(a.components_.T, b.components_.T) < limit


def indicator(groups) -> np.ndarray:
    Z = (np.asarray(groups)[:, None] == np.unique(groups)[None]).astype(float)
    return Z - Z.mean(axis=0)


@pytest.mark.parametrize(("s", "options"), CASES, ids=lambda v: str(v) if isinstance(v, dict) else f"{len(v.X)} rows")
def test_group_means_coincide_where_those_of_pca_do_not(s, options):
    plain = {name: value for name, value in options.items() if name != "match"}
    scaled = s.X / s.X.std(axis=0) if "standardize" in options else s.X
    for k in (1, 2, 3):
        model = fitted(s, k, **options)
        control = StandardPCA(k, **plain).fit(s.X).transform(s.X)
        assert group_gap(model.transform(s.X), s.groups) <= 1e-12 * size(scaled)
        assert group_gap(control, s.groups) > 0.2 * size(scaled)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
        assert model.constraint_rank_ == len(s.labels) - 1
        assert model.certificate_.is_optimal()
    moments = FairPCA(3, **options).fit_moments(GroupMoments.from_data(s.X, s.groups))
    np.testing.assert_allclose(moments.transform(s.X), model.transform(s.X), atol=1e-11)


@pytest.mark.parametrize("center", ["overall", "none"])
@pytest.mark.parametrize("s", [THREE, PAIR, FEW], ids=["three", "two", "few rows"])
def test_algorithm_1_as_printed_and_no_feasible_projection_keeps_more(s, center):
    X = s.X - s.X.mean(axis=0) if center == "overall" else s.X
    R, S = null_space(indicator(s.groups).T @ s.X), X.T @ X
    model = fitted(s, 3, center=center)
    assert angle(model.components_.T, R @ np.linalg.eigh(R.T @ S @ R)[1][:, ::-1][:, :3]) < 1e-7
    along = np.diag(model.components_ @ S @ model.components_.T)
    assert model.certificate_.primal == pytest.approx(along.sum(axis=0), rel=1e-12)
    values, r = np.linalg.eigvalsh(S)[::-1], len(s.labels) - 1
    assert (np.diff(along) <= 1e-9 * values[0]).all(), "components come by decreasing eigenvalue"
    assert (along <= values[:3] * (1 + 1e-12)).all()
    assert (along >= values[r : r + 3] - 1e-12 * values[0]).all(), "eigenvalues interlace"
    rng, best = np.random.default_rng(0), R.T @ model.components_.T
    for i in range(60):
        A, _ = np.linalg.qr((best if i % 2 else 0 * best) + 10.0 ** -(i % 8) * rng.normal(size=best.shape))
        assert np.trace((R @ A).T @ S @ (R @ A)) <= along.sum(axis=0) * (1 + 1e-12)


def test_a_logistic_regression_finds_nothing():
    for s in (THREE, PAIR):
        share, found = np.unique(s.groups, return_counts=True)[1].max() / len(s.X), {}
        for name, T in {"fair": fitted(s).transform(s.X), "pca": StandardPCA(2).fit_transform(s.X)}.items():
            T = (T - T.mean(axis=0)) / T.std(axis=0)
            probe = LogisticRegression(C=1e6, tol=1e-10, max_iter=5000).fit(T, s.groups)
            found[name] = np.abs(probe.coef_).max(), probe.score(T, s.groups)
        assert found["fair"][0] < 1e-4 < 0.5 < found["pca"][0]
        assert found["fair"][1] == pytest.approx(share)
        assert found["pca"][1] > share + 0.05


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


def test_attributes_by_themselves_or_combined(crossed):
    X, groups = crossed
    cells = np.array(["/".join(row) for row in groups.tolist()])
    marginal, joint = (FairPCA(2, attributes=a).fit(X, sensitive_features=groups) for a in ("marginal", "intersection"))
    assert (marginal.constraint_rank_, joint.constraint_rank_) == (3, 5)
    for j in (0, 1):
        assert group_gap(marginal.transform(X), groups[:, j]) < 1e-12 * size(X)
    assert group_gap(marginal.transform(X), cells) > 0.05 * size(X)
    assert group_gap(joint.transform(X), cells) < 1e-12 * size(X)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_quantities_become_uncorrelated_and_groups_stay_equal(options):
    options = options | {"numeric_attributes": ["age"]}
    model = FairPCA(2, **options).fit(THREE.X, sensitive_features=AGED, sample_weight=WEIGHTS)
    T, age = model.transform(THREE.X[ROWS]), AGE[ROWS]
    assert np.abs(np.corrcoef(T.T, age)[2, :2]).max() < 1e-9
    assert group_gap(T, THREE.groups[ROWS]) < 1e-10 * size(T)
    assert model.constraint_rank_ == 3
    repeated = FairPCA(2, **options).fit(THREE.X[ROWS], sensitive_features=AGED.iloc[ROWS])
    assert same(model, repeated), "a weight is a number of repetitions"
    without = fitted(Sample(THREE.X[ROWS], THREE.groups[ROWS])).transform(THREE.X[ROWS])
    assert np.abs(np.corrcoef(without.T, age)[2, :2]).max() > 1e-3
    with pytest.raises(ConfigurationError, match="needs the data themselves"):
        FairPCA(2, **options).fit_moments(GroupMoments.from_data(THREE.X, THREE.groups))


def test_an_indicator_as_a_quantity_is_a_group_and_a_constant_removes_nothing():
    as_quantity = FairPCA(2, numeric_attributes=[0]).fit(PAIR.X, sensitive_features=(PAIR.groups == "man") * 2.5 - 1)
    assert same(as_quantity, fitted(PAIR))
    constant = FairPCA(2, numeric_attributes=[0]).fit(PAIR.X, sensitive_features=np.full((220, 1), 0.1))
    assert same(constant, StandardPCA(2).fit(PAIR.X))
    far = FairPCA(2, numeric_attributes=["age"]).fit(THREE.X + 1e4, sensitive_features=AGED.assign(age=AGE + 1e6))
    T = far.transform(THREE.X + 1e4)
    assert np.abs(np.corrcoef(T.T, AGE)[2, :2]).max() < 1e-6


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equal_opportunity_holds_among_the_favourable_only(options):
    positive, named = Y == 1, np.where(Y == 1, "granted", "denied")
    model = FairPCA(2, criterion="equal_opportunity", positive_label="granted", **options)
    model.fit(THREE.X, named.tolist(), sensitive_features=THREE.groups)
    T = model.transform(THREE.X)
    assert group_gap(T[positive], THREE.groups[positive]) < 1e-12 * size(THREE.X)
    assert group_gap(T, THREE.groups) > 0.02 * size(THREE.X)
    parity = fitted(THREE, **options).transform(THREE.X)
    assert group_gap(parity[positive], THREE.groups[positive]) > 0.02 * size(THREE.X)
    alone = fitted(Sample(THREE.X[positive], THREE.groups[positive]), **options)
    np.testing.assert_allclose(T, alone.transform(THREE.X), atol=1e-9)
    moments = GroupMoments.from_data(THREE.X[positive], THREE.groups[positive])
    assert same(FairPCA(2, criterion="equal_opportunity", **options).fit_moments(moments), model)


def test_a_combination_without_favourable_rows_matters_only_for_intersection(crossed):
    X, groups = crossed
    y = (np.random.default_rng(0).random(len(X)) < 0.6).astype(int)
    y[(groups == ["b", "x"]).all(axis=1)] = 0
    model = FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=groups)
    assert same(model, FairPCA(2).fit(X[y == 1], sensitive_features=groups[y == 1]))
    with pytest.raises(GroupError, match=r"attribute0=b, attribute1=x' has no row with y == 1"):
        FairPCA(2, criterion="equal_opportunity", attributes="intersection").fit(X, y, sensitive_features=groups)


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


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.85])
def test_covariance_matching_is_the_specified_construction(fraction, crossed):
    X, groups = crossed
    for data, given, columns in (
        (THREE.X, THREE.groups, [THREE.groups]),
        (THREE.X[THREE.groups != "beige"], THREE.groups[THREE.groups != "beige"], None),
        (X, groups, list(groups.T)),
    ):
        columns = columns or [given]
        model = FairPCA(2, match="covariance", covariance_fraction=fraction).fit(data, sensitive_features=given)
        d = data.shape[1]
        kept = min(max(2, int(fraction * d)), d - model.constraint_rank_)
        assert angle(model.components_.T, by_definition(data, columns, 2, kept)) < 1e-6
        assert ("disagree least" in model.certificate_.problem) == (kept < d - model.constraint_rank_)
        assert model.certificate_.is_optimal()


def test_smaller_fractions_trade_variance_for_closer_covariances():
    kept, apart = [], []
    for fraction in (0.01, 0.5, 1.0):
        model = fitted(THREE, match="covariance", covariance_fraction=fraction)
        T = model.transform(THREE.X)
        covs = [np.cov(T[THREE.groups == label].T) for label in THREE.labels]
        kept.append(model.explained_variance_.sum(axis=0))
        apart.append(max(np.linalg.norm(a - b, 2) for a, b in itertools.combinations(covs, 2)))
    assert kept[0] < 0.9 * kept[-1]
    assert apart[0] < 0.7 * apart[-1]
    assert np.array_equal(model.components_, fitted(THREE).components_), "the whole space is no restriction"


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_the_second_block_of_the_tradeoff_is_scaled_pca(options):
    fair, standard = fitted(THREE, **options), StandardPCA(2, **options).fit(THREE.X)
    for tradeoff, power in ((0, 1), (0.5, 3), (1.0, 0.5)):
        model = fitted(THREE, tradeoff=tradeoff, tradeoff_power=power, **options)
        T = model.transform(THREE.X)
        np.testing.assert_allclose(T[:, :2], fair.transform(THREE.X), atol=1e-12)
        np.testing.assert_allclose(T[:, 2:], tradeoff**power * standard.transform(THREE.X), atol=1e-10)
        np.testing.assert_allclose(model.inverse_transform(T), fair.inverse_transform(T[:, :2]), atol=1e-12)
    favourable = FairPCA(2, criterion="equal_opportunity", tradeoff=1.0).fit(
        THREE.X, Y, sensitive_features=THREE.groups
    )
    assert angle(favourable.standard_subspace_.V, StandardPCA(2).fit(THREE.X[Y == 1]).components_.T) < 1e-7


def test_one_group_is_pca_when_asked_for():
    with pytest.warns(SingleGroupWarning, match=r"one group only \('all', 380 row\(s\).*fair PCA is standard PCA"):
        model = FairPCA(2, on_single_group="warn").fit(THREE.X, sensitive_features=["all"] * 380)
    assert same(model, StandardPCA(2).fit(THREE.X))


def test_a_fit_leaves_nothing_of_the_data_behind():
    before = set(vars(fitted(THREE)))
    model = FairPCA(2, numeric_attributes=["age"]).fit(THREE.X, sensitive_features=AGED)
    assert set(vars(model)) == before
    assert not [name for name in before if name.startswith("_") and name != "_sklearn_output_config"]


def test_directions_without_data_agree_perfectly_and_that_is_told():
    wide = np.c_[THREE.X[:15], np.zeros((15, 10))]
    with pytest.warns(SurplusComponentsWarning, match="2 of 2 components carry no variance"):
        FairPCA(2, match="covariance").fit(wide, sensitive_features=np.resize(["a", "b"], 15))


@pytest.mark.parametrize("method", [StandardPCA, FairPCA])
def test_where_moments_are_taken_about_is_one_of_the_words_and_not_the_origin_of_standardised_features(method):
    for options, words in (
        ({"center": False}, "center=False; needed is 'overall' or 'none'"),
        ({"center": "origin"}, "center='origin'"),
        ({"center": "none", "standardize": True}, "standardised features are centred"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            method(2, **options).fit(PAIR.X, sensitive_features=PAIR.groups)
