"""Fair PCA and null-it-out PCA: the theorems, with PCA as the control; and what all methods of equal means share."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space
from scipy.stats import ortho_group

from evenspan import LEACE, FairKernelPCA, FairPCA, GroupMoments, NullItOutPCA, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError, SingleGroupWarning
from evenspan.representation.null_it_out import balancing_directions, gap_eigenspace, nullified_basis

from .samples import Sample, angle, draw, group_gap, size

THREE = draw()
PAIR = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
RNG = np.random.default_rng(0)
MANY = Sample(
    RNG.normal(size=(900, 400)) * np.geomspace(0.1, 10, 400) + np.arange(900)[:, None] % 3, np.arange(900) % 3
)
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
    model, control = fitted(s, 3, **options), StandardPCA(3, **plain).fit(s.X).transform(s.X)
    assert group_gap(model.transform(s.X), s.groups) <= 1e-12 * size(scaled)
    assert group_gap(control, s.groups) > 0.2 * size(scaled)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    assert model.rank_removed_ == len(s.labels) - 1
    assert model.certificate_.is_optimal()


@pytest.mark.parametrize("center", ["overall", "none"])
@pytest.mark.parametrize("s", [THREE, PAIR, FEW, MANY], ids=["three", "two", "few rows", "many features"])
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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_scatter_is_enough_where_only_means_are_matched(options):
    columns = pd.DataFrame({"group": THREE.groups, "other": np.arange(380) % 2})
    one, each = (GroupMoments.from_data(THREE.X, columns, scatters=kept) for kept in ("total", "group"))
    if "match" in options:
        with pytest.raises(DataError, match=r"hold one scatter.*scatters=\"group\""):
            FairPCA(1, covariance_fraction=0.2, **options).fit_moments(one)
        return
    for tell in ({}, {"attributes": "intersection", "on_single_group": "warn"}, {"tradeoff": 0.5}):
        fits = [FairPCA(1, **options, **tell).fit_moments(moments) for moments in (one, each)]
        assert same(*fits, limit=1e-7)
        assert fits[0].certificate_.primal == pytest.approx(fits[1].certificate_.primal, rel=1e-12)


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
        assert model.rank_removed_ == 0
        assert same(model, StandardPCA(2, **options).fit(mirrored + offset))
    direction = np.array([1, 2, 0, -1, 1]) / np.sqrt(7)
    tilted = mirrored + 1e-7 * np.outer(groups == "man", direction)
    model = FairPCA(2).fit(tilted, sensitive_features=groups)
    assert model.rank_removed_ == 1
    assert np.abs(model.components_ @ direction).max() < 1e-6
    assert np.abs(StandardPCA(2).fit(tilted).components_ @ direction).max() > 0.1


def by_definition(X, columns, k, kept) -> np.ndarray:
    """Covariance matching as specified, without our helpers: least sums of squared differences of covariances."""
    R = null_space(np.hstack([indicator(column) for column in columns]).T @ X)
    B = 0
    for column in columns:
        covs = [np.cov((X[column == label] @ R).T) for label in np.unique(column)]
        B = B + sum((a - b) @ (a - b) for a, b in combinations(covs, 2))
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
        kept = min(max(2, int(fraction * X.shape[1])), X.shape[1] - model.rank_removed_)
        assert angle(model.components_.T, by_definition(X, columns, 2, kept)) < 1e-6
        assert model.certificate_.is_optimal()


def test_the_second_block_of_the_tradeoff_is_scaled_pca():
    for options in OPTIONS[:3]:
        fair, standard = fitted(THREE, **options), StandardPCA(2, **options).fit(THREE.X)
        model = fitted(THREE, tradeoff=0.5, **options)
        T = model.transform(THREE.X)
        np.testing.assert_allclose(T[:, :2], fair.transform(THREE.X), atol=1e-12)
        np.testing.assert_allclose(T[:, 2:], 0.5 * standard.transform(THREE.X), atol=1e-10)
        np.testing.assert_allclose(model.inverse_transform(T), fair.inverse_transform(T[:, :2]), atol=1e-12)
        np.testing.assert_allclose(fair.transform(model.inverse_transform(T)), T[:, :2], atol=1e-10)


# -- null it out ------------------------------------------------------------------------------------------------------

SIX = draw(counts=(150, 70), names=("woman", "man"), d=6, seed=3)
X, GROUPS = np.hstack([SIX.X, np.random.default_rng(3).normal(size=(220, 1))]), SIX.groups  # 7 features


def norm(M):
    return float(np.linalg.norm(M, 2))


def nulled(k=2, m=2, data=X, groups=GROUPS, **options):
    return NullItOutPCA(k, m, **options).fit(data, sensitive_features=groups)


def neighbours(P, number=100):
    rng = np.random.default_rng(0)
    for _ in range(number):
        yield np.linalg.qr(P + rng.choice([0.01, 0.3, 3.0]) * rng.normal(size=P.shape))[0]


@pytest.mark.parametrize("gap", ["covariance", "second_moment"])
def test_means_coincide_and_of_the_gap_only_the_next_eigenvalue_is_left(gap):
    second, first = (X[label == GROUPS] for label in ("woman", "man"))
    Q = np.cov(second.T) - np.cov(first.T)  # from the rows, by another route than the moments
    if gap == "second_moment":
        Q = np.subtract(*((part - X.mean(axis=0)).T @ (part - X.mean(axis=0)) / len(part) for part in (second, first)))
    sizes = np.sort(np.abs(np.linalg.eigvalsh(Q)))[::-1]
    for m in (1, 2, 4):
        model = nulled(2, m, gap=gap)
        assert group_gap(model.transform(X), GROUPS) <= 1e-12 * size(X)
        assert norm(model.components_ @ Q @ model.components_.T) <= sizes[m] * (1 + 1e-12)
        assert norm(Q - model.gap_directions_.T @ model.gap_directions_ @ Q) == pytest.approx(sizes[m], rel=1e-10)
    pca = StandardPCA(2).fit(X).components_
    assert norm(pca @ Q @ pca.T) > 1.5 * sizes[4]
    assert group_gap(X @ pca.T, GROUPS) > 0.1 * size(X)


def test_balancing_leaves_least_of_the_gap_and_keeps_the_direction_of_more_variance():
    turn, spectrum = ortho_group.rvs(8, random_state=0), np.array([5.0, 4.5, 2.0, 0.3, 0.2, -1.2, -4.0, -6.0])
    Q, S = turn.T @ np.diag(spectrum) @ turn, np.cov(np.random.default_rng(4).normal(size=(40, 8)), rowvar=False)

    def left(P):
        return norm((np.eye(8) - P @ P.T) @ Q @ (np.eye(8) - P @ P.T))

    for m in (1, 2, 3, 4):  # at last one excess is without a partner
        paired = balancing_directions(Q, S, m, 1.0)[1]
        np.testing.assert_allclose(paired.T @ paired, np.eye(m), atol=1e-12)
        bound = max(spectrum[m], -spectrum[-m - 1])
        assert left(paired) == pytest.approx(bound, rel=1e-10)
        assert m > 3 or left(gap_eigenspace(Q, m, 1.0)[1]) > 1.1 * left(paired)  # twice as many are needed
        assert all(left(other) >= bound * (1 - 1e-12) for other in neighbours(paired))
    Q, S = np.diag([4.0, -1.0]), np.array([[2.0, -0.8], [-0.8, 1.0]])
    _, gone = balancing_directions(Q, S, 1, 1.0)
    kept = np.array([-gone[1, 0], gone[0, 0]])
    assert abs(kept @ Q @ kept) < 1e-12
    assert kept @ S @ kept > 1.5 * (kept * [1.0, -1.0] @ S @ (kept * [1.0, -1.0]))


@pytest.mark.parametrize("constraint", ["all", "covariance", "mean", "vanilla"])
@pytest.mark.parametrize("center", ["overall", "none"])
def test_no_projection_without_the_removed_directions_captures_more(constraint, center):
    model = nulled(constraint=constraint, center=center)
    Y, U, V = X - X.mean(axis=0) if center == "overall" else X, model.nullified_.T, model.components_.T
    captured = np.linalg.norm(Y @ V) ** 2
    assert model.certificate_.is_optimal()
    assert captured == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert U.shape[1] == {"all": 3, "covariance": 2, "mean": 1, "vanilla": 0}[constraint]
    np.testing.assert_allclose(np.hstack([U, V]).T @ np.hstack([U, V]), np.eye(U.shape[1] + 2), atol=1e-12)
    for other in neighbours(V):
        feasible = np.linalg.qr(other - U @ (U.T @ other))[0]
        assert np.linalg.norm(Y @ feasible) ** 2 <= captured * (1 + 1e-12)
    limit = {"vanilla": StandardPCA(2, center=center), "mean": FairPCA(2, center=center)}.get(constraint)
    assert limit is None or angle(limit.fit(X, sensitive_features=GROUPS).components_.T, V) < 1e-7
    chain = [nulled(2, m, center=center).certificate_.primal for m in (0, 1, 2, 3, 4)]
    assert all(a > b for a, b in pairwise(chain))  # every direction costs variance


def test_what_is_no_gap_is_not_removed_and_what_was_removed_does_not_come_back():
    Y = np.random.default_rng(0).normal(size=(60, 4)) * [4, 3, 2, 1]
    Y, groups = Y - Y.mean(axis=0), np.repeat(["a", "b"], 60)
    assert nulled(2, 2, np.vstack([Y, Y + np.array([1, 1, 0, 0])]), groups).nullified_.shape == (1, 4)
    same = nulled(2, 2, np.vstack([Y, Y]), groups)
    assert same.nullified_.shape == (0, 4)
    assert angle(same.components_.T, StandardPCA(2).fit(Y).components_.T) < 1e-7
    flat = np.hstack([np.vstack([Y, 3 * Y])[:, :3], np.zeros((120, 3))])
    with pytest.warns(UserWarning, match="carry no variance"):
        model = nulled(2, 2, flat, groups, constraint="covariance")
    assert norm(model.nullified_ @ model.components_.T) < 1e-12
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 3)))[0]
    U = nullified_basis([P], (P @ np.ones(3) + 1e-7 * np.arange(50))[:, None])  # a short rest of the mean gap
    assert np.abs(U.T @ U - np.eye(4)).max() < 1e-14
    assert nullified_basis([P], (P @ np.ones(3))[:, None]).shape == (50, 3)


def test_what_is_refused_is_said():
    for options, error, words in (
        ({"k": 4, "m": 3}, ComponentsError, "at most 3: there are 7 dimension"),
        ({"m": 7}, ComponentsError, "at most 6"),
        ({"m": -1}, ConfigurationError, "n_gap_directions=-1"),
        ({"groups": np.where(np.arange(220) == 0, "alone", "other")}, GroupError, "'alone' has 1 sample"),
    ):
        with pytest.raises(error, match=words):
            nulled(**options)
    for method in (StandardPCA, FairPCA):
        with pytest.raises(ConfigurationError, match="standardised features are centred"):
            method(2, center="none", standardize=True).fit(PAIR.X, sensitive_features=PAIR.groups)
    with pytest.raises(ConfigurationError, match="the data themselves"):
        LEACE(2, numeric_attributes=["age"]).fit_moments(GroupMoments.from_data(PAIR.X, PAIR.groups))


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
    with pytest.warns(SingleGroupWarning, match=r"one group only \('all'"):
        model = method(2, on_single_group="warn").fit(X, sensitive_features=["all"] * len(X))
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(StandardPCA(2).fit(X).transform(X)), atol=1e-9)


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
    constant = method(2, numeric_attributes=[0]).fit(PAIR.X, sensitive_features=np.full((220, 1), 0.1))
    plain = StandardPCA(2).fit_transform(PAIR.X)
    np.testing.assert_allclose(np.abs(constant.transform(PAIR.X)), np.abs(plain), atol=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equal_opportunity_holds_among_the_favourable_only(options):
    positive = Y == 1
    model = FairPCA(2, criterion="equal_opportunity", positive_label="granted", **options)
    model.fit(THREE.X, np.where(positive, "granted", "denied").tolist(), sensitive_features=THREE.groups)
    T, alone = model.transform(THREE.X), fitted(Sample(THREE.X[positive], THREE.groups[positive]), **options)
    assert group_gap(T[positive], THREE.groups[positive]) < 1e-12 * size(THREE.X) < 0.02 * group_gap(T, THREE.groups)
    np.testing.assert_allclose(T, alone.transform(THREE.X), atol=1e-9)


def test_a_combination_without_favourable_rows_matters_only_for_intersection(crossed):
    X, groups = crossed
    y = (np.random.default_rng(0).random(len(X)) < 0.6).astype(int)
    y[(groups == ["b", "x"]).all(axis=1)] = 0
    model = FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=groups)
    assert same(model, FairPCA(2).fit(X[y == 1], sensitive_features=groups[y == 1]))
    with pytest.raises(GroupError, match=r"attribute0=b, attribute1=x' has no row with y == 1"):
        FairPCA(2, criterion="equal_opportunity", attributes="intersection").fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize("model", [FairPCA, LEACE, NullItOutPCA], ids=lambda model: model.__name__)
def test_cells_are_told_apart_by_values_and_not_by_text(model):
    rng, n = np.random.default_rng(0), 200
    table = pd.DataFrame({"r": np.tile(["a, s=b", "a"], n // 2), "s": np.repeat(["c", "b, s=c"], n // 2)})
    assert (table["r"] + ", s=" + table["s"]).nunique() == 3  # the control: two of four share a plain text
    codes = table.groupby(["r", "s"]).ngroup().to_numpy()
    X = rng.normal(size=(n, 8)) + rng.normal(size=(4, 8))[codes]
    options = {"n_gap_directions": 0} if model is NullItOutPCA else {}
    fitted = model(2, attributes="intersection", **options).fit(X, sensitive_features=table)
    T = fitted.transform(X)
    assert group_gap(T, codes) < 1e-9 * size(T)
    assert GroupMoments.from_data(X, table).cells().labels.tolist()[0] == "r='a, s=b', s='b, s=c'"
