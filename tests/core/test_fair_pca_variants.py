"""Variants of Fair PCA: several attributes, quantities, weights, equal opportunity, covariance matching, trade-off."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space

from evenspan import FairPCA, GroupMoments, StandardPCA

from .samples import angle, draw, group_gap, size


def loadings(model) -> np.ndarray:
    return model.components_.T


def joined(groups) -> np.ndarray:
    return np.array(["".join(row) for row in groups])


# -- several attributes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
def test_marginal_and_intersection_promise_different_things(center, crossed):
    X, groups = crossed
    frame = pd.DataFrame(groups, columns=["colour", "shape"])
    embeddings = {}
    for attributes, rank in (("marginal", 3), ("intersection", 5)):
        model = FairPCA(3, attributes=attributes, center=center).fit(X, sensitive_features=frame)
        assert model.constraint_rank_ == rank
        assert model.certificate_.is_optimal()
        embeddings[attributes] = model.transform(X)
    embeddings["pca"] = StandardPCA(3).fit_transform(X)
    one_attribute = FairPCA(3, center=center).fit(X, sensitive_features=groups[:, 0])
    embeddings["colour only"] = one_attribute.transform(X)
    exact = {"marginal": (True, True, False), "intersection": (True, True, True), "pca": (False, False, False),
             "colour only": (True, False, False)}  # fmt: skip
    for name, T in embeddings.items():
        gaps = [group_gap(T, labels) / size(X) for labels in (groups[:, 0], groups[:, 1], joined(groups))]
        for gap, equal in zip(gaps, exact[name], strict=True):
            assert gap < 1e-12 if equal else gap > 0.05, (name, gaps)


def test_each_way_of_giving_the_groups_means_the_same(crossed):
    X, groups = crossed
    frame = pd.DataFrame(groups, columns=["colour", "shape"])
    for attributes in ("marginal", "intersection"):
        first = FairPCA(2, attributes=attributes).fit(X, sensitive_features=frame)
        for other in (groups, groups.tolist(), groups[:, ::-1], frame.astype("category")):
            again = FairPCA(2, attributes=attributes).fit(X, sensitive_features=other)
            assert angle(loadings(first), loadings(again)) < 1e-7
    cells = FairPCA(2).fit(X, sensitive_features=joined(groups))
    assert angle(loadings(first), loadings(cells)) < 1e-7


def test_marginal_constraints_by_stacked_indicators(crossed):
    X, groups = crossed
    Z = np.hstack([(column[:, None] == np.unique(column)) * 1.0 for column in groups.T])
    Y = X - np.mean(X, axis=0)
    R = null_space((Z - np.mean(Z, axis=0)).T @ Y)
    _, vectors = np.linalg.eigh(R.T @ Y.T @ Y @ R)
    model = FairPCA(3).fit(X, sensitive_features=groups)
    assert angle(loadings(model), R @ vectors[:, ::-1][:, :3]) < 1e-7


# -- quantities ---------------------------------------------------------------------------------------------------


def with_ages(s, seed=0):
    """Ages that go up with the features, so that there is a correlation to remove."""
    rng = np.random.default_rng(seed)
    return 40.0 + 5.0 * s.X @ np.linspace(1, -1, s.X.shape[1]) + rng.normal(size=len(s.X))


def correlations(T, z) -> np.ndarray:
    return np.array([np.corrcoef(t, z)[0, 1] for t in T.T])


@pytest.mark.parametrize("name", ["age", 1, np.int64(1)])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_quantities_are_made_uncorrelated_and_groups_equal(name, standardize, shift, sample):
    age = with_ages(sample) + shift
    X = sample.X + shift
    frame = pd.DataFrame({"group": sample.groups, "age": age})
    model = FairPCA(2, numeric_attributes=[name], standardize=standardize).fit(X, sensitive_features=frame)
    T = model.transform(X)
    assert np.abs(correlations(T, age)).max() < 1e-9
    assert group_gap(T, sample.groups) < 1e-12 * size(X)
    assert model.constraint_rank_ == 3
    assert model.certificate_.is_optimal()
    groups_only = FairPCA(2, standardize=standardize).fit(X, sensitive_features=sample.groups).transform(X)
    assert np.abs(correlations(groups_only, age)).max() > 0.1
    ages_only = FairPCA(2, numeric_attributes=[0], standardize=standardize).fit(X, sensitive_features=age[:, None])
    assert ages_only.constraint_rank_ == 1
    assert np.abs(correlations(ages_only.transform(X), age)).max() < 1e-9
    assert group_gap(ages_only.transform(X), sample.groups) > 0.01 * size(sample.X)


def test_an_indicator_as_a_quantity_is_a_group(pair):
    indicator = (pair.groups == "man") * 2.5 - 1
    numeric = FairPCA(2, numeric_attributes=[0]).fit(pair.X, sensitive_features=indicator)
    assert angle(loadings(numeric), loadings(FairPCA(2).fit(pair.X, sensitive_features=pair.groups))) < 1e-7


def test_a_constant_quantity_removes_nothing(sample):
    constant = FairPCA(2, numeric_attributes=[0]).fit(sample.X, sensitive_features=np.full((380, 1), 0.1))
    assert constant.constraint_rank_ == 0
    assert angle(loadings(constant), loadings(StandardPCA(2).fit(sample.X))) < 1e-7


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series])
def test_quantities_with_weights(container, sample):
    age = with_ages(sample)
    weights = np.random.default_rng(0).integers(0, 4, 380)
    table = pd.DataFrame({"group": sample.groups, "age": age})
    weighted = FairPCA(2, numeric_attributes=["age"]).fit(
        sample.X, sensitive_features=table, sample_weight=container(weights)
    )
    rows = np.repeat(np.arange(380), weights)
    repeated = FairPCA(2, numeric_attributes=["age"]).fit(sample.X[rows], sensitive_features=table.iloc[rows])
    assert angle(loadings(weighted), loadings(repeated)) < 1e-7
    T = weighted.transform(sample.X[rows])
    assert np.abs(correlations(T, age[rows])).max() < 1e-9
    assert np.abs(correlations(weighted.transform(sample.X), age)).max() > 1e-3


# -- weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}, {"match": "covariance"},
                                     {"tradeoff": 0.5}], ids=str)  # fmt: skip
def test_a_weight_is_a_number_of_repetitions(options, sample):
    weights = np.random.default_rng(0).integers(0, 4, 380)
    rows = np.repeat(np.arange(380), weights)
    weighted = FairPCA(2, **options).fit(sample.X, sensitive_features=sample.groups, sample_weight=weights)
    repeated = FairPCA(2, **options).fit(sample.X[rows], sensitive_features=sample.groups[rows])
    assert angle(loadings(weighted), loadings(repeated)) < 1e-7
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(sample.X), repeated.transform(sample.X), atol=1e-9)
    unweighted = FairPCA(2, **options).fit(sample.X, sensitive_features=sample.groups)
    assert angle(loadings(weighted), loadings(unweighted)) > 1e-3
    standard = StandardPCA(2).fit(sample.X, sample_weight=weights)
    assert angle(loadings(standard), loadings(StandardPCA(2).fit(sample.X[rows]))) < 1e-7


def test_a_group_of_tiny_weight_is_still_a_group(sample):
    weights = np.where(sample.groups == "beige", 1e-14, 1.0)
    model = FairPCA(2).fit(sample.X, sensitive_features=sample.groups, sample_weight=weights)
    assert model.constraint_rank_ == 2
    assert group_gap(model.transform(sample.X), sample.groups) < 1e-8 * size(sample.X)


# -- F7: equal opportunity ----------------------------------------------------------------------------------------


def outcome(s, seed=0) -> np.ndarray:
    """A binary target that depends on features and group."""
    rng = np.random.default_rng(seed)
    return (s.X[:, 0] + (s.groups == s.labels[0]) + rng.normal(size=len(s.X)) > 0.5).astype(int)


@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}, {"match": "covariance"}], ids=str)
def test_equal_opportunity_holds_among_the_favourable_only(options, sample):
    y = outcome(sample)
    positive = y == 1
    model = FairPCA(2, criterion="equal_opportunity", **options).fit(sample.X, y, sensitive_features=sample.groups)
    T = model.transform(sample.X)
    assert group_gap(T[positive], sample.groups[positive]) < 1e-12 * size(sample.X)
    assert group_gap(T, sample.groups) > 0.02 * size(sample.X)
    assert group_gap(T[~positive], sample.groups[~positive]) > 0.02 * size(sample.X)
    parity = FairPCA(2, **options).fit(sample.X, y, sensitive_features=sample.groups).transform(sample.X)
    assert group_gap(parity[positive], sample.groups[positive]) > 0.02 * size(sample.X)
    on_the_rows = FairPCA(2, **options).fit(sample.X[positive], sensitive_features=sample.groups[positive])
    assert angle(loadings(model), loadings(on_the_rows)) < 1e-7
    np.testing.assert_allclose(model.transform(sample.X), on_the_rows.transform(sample.X), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, on_the_rows.explained_variance_, rtol=1e-9)


@pytest.mark.parametrize(("values", "label"), [(["denied", "granted"], "granted"), ([1, 0], 0), ([False, True], True)])
def test_the_favourable_label_can_be_anything(values, label, sample):
    y = outcome(sample)
    named = np.array(values)[y if values[1] == label else 1 - y]
    model = FairPCA(2, criterion="equal_opportunity", positive_label=label)
    model.fit(sample.X, named.tolist(), sensitive_features=sample.groups)
    positive = named == label
    assert group_gap(model.transform(sample.X)[positive], sample.groups[positive]) < 1e-12 * size(sample.X)


def test_equal_opportunity_with_weights_and_quantities(sample):
    y, age = outcome(sample), with_ages(sample)
    weights = np.random.default_rng(0).integers(1, 4, 380)
    table = pd.DataFrame({"group": sample.groups, "age": age})
    options = {"numeric_attributes": ["age"]}
    model = FairPCA(2, criterion="equal_opportunity", **options)
    model.fit(sample.X, y, sensitive_features=table, sample_weight=weights.tolist())
    rows = np.repeat(np.arange(380), weights * y)
    by_hand = FairPCA(2, **options).fit(sample.X[rows], sensitive_features=table.iloc[rows])
    assert angle(loadings(model), loadings(by_hand)) < 1e-7


def test_a_combination_without_favourable_rows_matters_only_for_intersection(crossed):
    X, groups = crossed
    y = (np.random.default_rng(0).random(len(X)) < 0.6).astype(int)
    y[(groups == ["b", "x"]).all(axis=1)] = 0
    positive = y == 1
    model = FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=groups)
    T = model.transform(X)[positive]
    for j in (0, 1):
        assert group_gap(T, groups[positive, j]) < 1e-12 * size(X)
    by_hand = FairPCA(2).fit(X[positive], sensitive_features=groups[positive])
    assert angle(loadings(model), loadings(by_hand)) < 1e-7
    with pytest.raises(ValueError, match=r"attribute0=b, attribute1=x' has no row with y == 1"):
        FairPCA(2, criterion="equal_opportunity", attributes="intersection").fit(X, y, sensitive_features=groups)


# -- F5: covariance matching ----------------------------------------------------------------------------------------


def covariances(X, groups) -> list[np.ndarray]:
    return [np.cov(X[groups == label].T) for label in np.unique(groups)]


def spread_difference(T, groups) -> float:
    """Largest spectral norm of a difference of two group covariances."""
    pairs = itertools.combinations(covariances(T, groups), 2)
    return max(np.linalg.norm(np.atleast_2d(a - b), 2) for a, b in pairs)


def section_1_7(X, groups, k, kept) -> tuple[np.ndarray, float]:
    """The variant as specified, without our helpers: the loadings and the largest disagreement selected."""
    Y = X - np.mean(X, axis=0)
    means = np.array([np.mean(X[groups == label], axis=0) for label in np.unique(groups)])
    R = null_space(means[1:] - means[0])
    covs = [R.T @ C @ R for C in covariances(X, groups)]
    if len(covs) == 2:
        values, vectors = np.linalg.eigh(covs[0] - covs[1])
    else:
        values, vectors = np.linalg.eigh(sum((a - b) @ (a - b) for a, b in itertools.combinations(covs, 2)))
    chosen = np.argsort(np.abs(values))[:kept]
    Q = R @ vectors[:, chosen]
    _, A = np.linalg.eigh(Q.T @ Y.T @ Y @ Q)
    return Q @ A[:, ::-1][:, :k], float(np.abs(values)[chosen].max())


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.85])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("G", [2, 3])
def test_covariance_matching_is_the_specified_construction(fraction, k, G):
    s = draw(counts=(200, 120, 60)[:G], names=("crimson", "azure", "beige")[:G], d=6)
    model = FairPCA(k, match="covariance", covariance_fraction=fraction).fit(s.X, sensitive_features=s.groups)
    kept = min(max(k, int(fraction * 6)), 6 - G + 1)
    expected, worst = section_1_7(s.X, s.groups, k, kept)
    assert angle(loadings(model), expected) < 1e-7
    T = model.transform(s.X)
    assert group_gap(T, s.groups) < 1e-12 * size(s.X)
    bound = worst if G == 2 else np.sqrt(worst)
    assert spread_difference(T, s.groups) <= bound * (1 + 1e-9)
    assert model.certificate_.is_optimal()
    assert ("disagree least" in model.certificate_.problem) == (kept < 6 - G + 1)


@pytest.mark.parametrize("G", [2, 3])
def test_smaller_fractions_trade_variance_for_closer_covariances(G):
    s = draw(counts=(200, 120, 60)[:G], names=("crimson", "azure", "beige")[:G], d=6)
    kept, spread = [], []
    for fraction in (0.01, 0.4, 0.5, 0.67, 1.0):
        model = FairPCA(2, match="covariance", covariance_fraction=fraction).fit(s.X, sensitive_features=s.groups)
        kept.append(model.explained_variance_.sum(axis=0))
        spread.append(spread_difference(model.transform(s.X), s.groups))
    assert (np.diff(kept) >= -1e-12 * kept[-1]).all()
    assert kept[0] < 0.9 * kept[-1]
    plain = FairPCA(2).fit(s.X, sensitive_features=s.groups)
    assert np.array_equal(model.components_, plain.components_), "the whole space is no restriction"
    assert spread[0] < 0.7 * spread[-1]


def test_the_illustration_of_the_paper():
    rng = np.random.default_rng(0)
    mixing = np.eye(10)
    mixing[:3, :3] = [[1, 0, 10], [1, 10, 10], [0, 10, 0]]
    X = np.vstack([rng.normal(size=(500, 10)), rng.normal(size=(500, 10)) @ mixing])
    groups = np.repeat([0, 1], 500)
    errors, gaps = {}, {}
    for match in ("mean", "covariance"):
        model = FairPCA(2, match=match, center=False).fit(X, sensitive_features=groups)
        T = model.transform(X)
        errors[match] = np.linalg.norm(X - T @ model.components_)
        a, b = covariances(T, groups)
        gaps[match] = np.linalg.norm(a - b)
        assert group_gap(T, groups) < 1e-12 * size(X)
    assert gaps["covariance"] < 0.02 * gaps["mean"]
    assert errors["covariance"] > errors["mean"]


def test_covariances_of_several_attributes_add_up(crossed):
    X, groups = crossed
    Y = X - np.mean(X, axis=0)
    Z = np.hstack([(column[:, None] == np.unique(column)) * 1.0 for column in groups.T])
    R = null_space((Z - np.mean(Z, axis=0)).T @ Y)
    B = np.zeros((5, 5))
    for column in groups.T:
        for a, b in itertools.combinations(covariances(X, column), 2):
            B += np.linalg.matrix_power(R.T @ (a - b) @ R, 2)
    _, vectors = np.linalg.eigh(B)
    Q = R @ vectors[:, :3]
    _, A = np.linalg.eigh(Q.T @ Y.T @ Y @ Q)
    model = FairPCA(2, match="covariance", covariance_fraction=0.4).fit(X, sensitive_features=groups)
    assert angle(loadings(model), Q @ A[:, ::-1][:, :2]) < 1e-6
    cells = FairPCA(2, match="covariance", attributes="intersection").fit(X, sensitive_features=groups)
    by_hand = FairPCA(2, match="covariance").fit(X, sensitive_features=joined(groups))
    assert angle(loadings(cells), loadings(by_hand)) < 1e-7


def test_two_groups_given_as_one_of_two_attributes_keep_their_directions(pair):
    # The second attribute splits every group at random and evenly enough to change little; with itself twice, nothing.
    twice = np.c_[pair.groups, pair.groups]
    once = FairPCA(2, match="covariance").fit(pair.X, sensitive_features=pair.groups)
    assert angle(loadings(once), loadings(FairPCA(2, match="covariance").fit(pair.X, sensitive_features=twice))) < 1e-6


def test_directions_without_data_agree_perfectly_and_are_chosen():
    s = draw(counts=(9, 6), names=("a", "b"), d=6)
    wide = np.c_[s.X, np.zeros((15, 10))]
    with pytest.warns(UserWarning, match="2 of 2 components carry no variance"):
        FairPCA(2, match="covariance").fit(wide, sensitive_features=s.groups)
    clean = FairPCA(2, match="covariance", drop_constant=True).fit(wide, sensitive_features=s.groups)
    assert clean.explained_variance_ratio_.sum(axis=0) > 0.02


# -- constant features ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.1, 1e7 / 3])
def test_constant_features_can_be_left_out(value, sample):
    X = np.insert(sample.X, [0, 3, 6], value, axis=1)
    constant = [0, 4, 8]
    for options in ({}, {"match": "covariance"}, {"match": "covariance", "standardize": True}):
        model = FairPCA(2, drop_constant=True, **options).fit(X, sensitive_features=sample.groups)
        small = FairPCA(2, **options).fit(sample.X, sensitive_features=sample.groups)
        assert np.abs(model.components_[:, constant]).max() < 1e-12
        assert angle(np.delete(loadings(model), constant, axis=0), loadings(small)) < 1e-7
        np.testing.assert_allclose(model.explained_variance_, small.explained_variance_, rtol=1e-9)
    kept = FairPCA(1, match="covariance").fit(X, sensitive_features=sample.groups)
    small = FairPCA(1, match="covariance").fit(sample.X, sensitive_features=sample.groups)
    assert angle(np.delete(loadings(kept), constant, axis=0), loadings(small)) > 0.1, "they take up places otherwise"


def test_a_feature_that_varies_by_rounding_only_is_constant(sample):
    noise = 1e-15 * np.random.default_rng(0).integers(-1, 2, 380)
    X = np.c_[sample.X, 1e9 / 3 * (1 + noise)]
    assert len(np.unique(X[:, 6])) > 1
    model = FairPCA(2, drop_constant=True).fit(X, sensitive_features=sample.groups)
    assert not model.components_[:, 6].any()
    assert angle(loadings(model)[:6], loadings(FairPCA(2).fit(sample.X, sensitive_features=sample.groups))) < 1e-7


def test_a_small_feature_is_not_a_constant_one(sample):
    X = sample.X.copy()
    X[:, 2] *= 1e-14
    plain = FairPCA(2).fit(X, sensitive_features=sample.groups)
    dropping = FairPCA(2, drop_constant=True).fit(X, sensitive_features=sample.groups)
    assert dropping.constraint_rank_ == plain.constraint_rank_ == 2


# -- F9: trade-off --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, 3, 0.5])
@pytest.mark.parametrize("tradeoff", [0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}], ids=str)
def test_the_second_block_is_scaled_pca(power, tradeoff, options, sample):
    model = FairPCA(2, tradeoff=tradeoff, tradeoff_power=power, **options)
    T = model.fit(sample.X, sensitive_features=sample.groups).transform(sample.X)
    fair = FairPCA(2, **options).fit(sample.X, sensitive_features=sample.groups)
    standard = StandardPCA(2, **options).fit(sample.X)
    assert T.shape == (380, 4)
    np.testing.assert_allclose(T[:, :2], fair.transform(sample.X), atol=1e-12)
    np.testing.assert_allclose(T[:, 2:], tradeoff**power * standard.transform(sample.X), atol=1e-10)
    assert np.array_equal(model.components_, fair.components_)
    np.testing.assert_allclose(model.inverse_transform(T), fair.inverse_transform(fair.transform(sample.X)), atol=1e-12)
    assert group_gap(T[:, :2], sample.groups) < 1e-12 * size(sample.X)
    whole = group_gap(T, sample.groups)
    assert whole < 1e-12 * size(sample.X) if tradeoff == 0 else whole > 1e-5 * size(sample.X)
    if tradeoff == 1:
        residual = np.linalg.lstsq(T, standard.transform(sample.X), rcond=None)[1]
        assert residual.max(initial=0.0) < 1e-15 * len(sample.X) * size(sample.X) ** 2
    assert fair.standard_subspace_ is None
    assert angle(model.standard_subspace_.V, loadings(standard)) < 1e-7


def test_the_second_block_of_equal_opportunity_is_pca_of_the_favourable(sample):
    y = outcome(sample)
    model = FairPCA(2, criterion="equal_opportunity", tradeoff=1.0).fit(sample.X, y, sensitive_features=sample.groups)
    assert angle(model.standard_subspace_.V, loadings(StandardPCA(2).fit(sample.X[y == 1]))) < 1e-7


# -- one group ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}, {"match": "covariance"}], ids=str)
def test_one_group_is_pca_when_asked_for(options, sample):
    with pytest.warns(UserWarning, match=r"one group only \('all', 380 row\(s\).*fair PCA is standard PCA"):
        model = FairPCA(2, on_single_group="warn", **options).fit(sample.X, sensitive_features=["all"] * 380)
    standard = {name: value for name, value in options.items() if name != "match"}
    if "match" not in options:
        assert angle(loadings(model), loadings(StandardPCA(2, **standard).fit(sample.X))) < 1e-7
    assert model.constraint_rank_ == 0


def test_moments_of_favourable_rows_are_what_fit_uses(sample):
    y = outcome(sample)
    moments = GroupMoments.from_data(sample.X[y == 1], sample.groups[y == 1])
    model = FairPCA(2, criterion="equal_opportunity").fit_moments(moments)
    direct = FairPCA(2, criterion="equal_opportunity").fit(sample.X, y, sensitive_features=sample.groups)
    assert angle(loadings(model), loadings(direct)) < 1e-7
