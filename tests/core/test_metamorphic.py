"""What must not change the answer, for every linear estimator from one table. A new method adds a row."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from evenspan import (
    INLP,
    JEVDPCA,
    LEACE,
    ConvexFairPCA,
    DisparityFairPCA,
    FairPCA,
    GroupMoments,
    MinMaxFairPCA,
    NullItOutPCA,
    RobustFairPCA,
    StandardPCA,
    StreamingFairPCA,
)
from evenspan.core.estimator import SubspaceEstimator

from .samples import angle, draw, group_gap, size, two_attributes

ALL = frozenset({"unit", "rotate", "shift", "duplicate", "moments"})


@dataclass(frozen=True)
class Method:
    """An estimator with the data it is for, and which changes leave its answer alone."""

    make: type[SubspaceEstimator]
    options: dict = field(default_factory=dict)
    groups: int = 3
    attributes: int = 1
    target: bool = False
    supports: frozenset = ALL

    def fit(self, X, groups, y) -> np.ndarray:
        estimator = self.make(2, **self.options)
        return estimator.fit(X, y if self.target else None, sensitive_features=groups).components_.T

    def fit_moments(self, moments) -> np.ndarray:
        return self.make(2, **self.options).fit_moments(moments).components_.T


METHODS = {
    "PCA": Method(StandardPCA),
    "PCA about zero": Method(StandardPCA, {"center": False}, supports=ALL - {"shift"}),
    # Standard deviations belong to the axes.
    "PCA standardised": Method(StandardPCA, {"standardize": True}, supports=ALL - {"rotate"}),
    "Fair PCA": Method(FairPCA),
    "Fair PCA about zero": Method(FairPCA, {"center": False}, supports=ALL - {"shift"}),
    "Fair PCA standardised": Method(FairPCA, {"standardize": True}, supports=ALL - {"rotate"}),
    "Fair PCA with trade-off": Method(FairPCA, {"tradeoff": 0.5}),
    "Fair PCA, marginal": Method(FairPCA, {"attributes": "marginal"}, attributes=2),
    "Fair PCA, intersection": Method(FairPCA, {"attributes": "intersection"}, attributes=2),
    # The divisors n_g - 1 change by different factors.
    "Fair PCA-S": Method(FairPCA, {"match": "covariance"}, supports=ALL - {"duplicate"}),
    "Fair PCA-S, marginal": Method(FairPCA, {"match": "covariance"}, attributes=2, supports=ALL - {"duplicate"}),
    # Constant features are a property of the axes.
    "Fair PCA without constants": Method(FairPCA, {"drop_constant": True}, supports=ALL - {"rotate"}),
    "Fair PCA, equal opportunity": Method(
        FairPCA, {"criterion": "equal_opportunity"}, target=True, supports=ALL - {"moments"}
    ),
    "Min-max loss": Method(MinMaxFairPCA, groups=2),
    "Min-max error": Method(MinMaxFairPCA, {"objective": "error", "centring": "fitted"}, groups=2),
    "Min-max loss standardised": Method(MinMaxFairPCA, {"standardize": True}, groups=2, supports=ALL - {"rotate"}),
    "Min-max loss by weights": Method(MinMaxFairPCA, {"solver": "mw", "max_iter": 50}),
    # The radius of a ball shrinks with the number of rows, and has the unit of the features squared.
    "RFPCA": Method(RobustFairPCA, {"alpha": 0.2}, groups=2, supports=ALL - {"unit", "duplicate"}),
    "RFPCA without radius": Method(RobustFairPCA, {"alpha": 0.0, "penalty": 0.4}, groups=2),
    # Random starts are not rotated along; neither are standard deviations.
    "RFPCA by descent": Method(
        RobustFairPCA,
        {"solver": "subgradient", "restarts": 2, "max_iter": 200, "standardize": True, "penalty": 0.2},
        supports=ALL - {"rotate", "duplicate"},
    ),
    "CFPCA": Method(ConvexFairPCA, {"delta": 0.1}, groups=2, supports=ALL - {"rotate"}),
    "u-FPCA": Method(DisparityFairPCA, groups=2),
    "c-FPCA": Method(DisparityFairPCA, {"constrained": True}, groups=2),
    "JEVD-PCA": Method(JEVDPCA),
    "JEVD-PCA by largest loss": Method(JEVDPCA, {"order": "maxmin", "centring": "global"}),
    "JEVD-PCA about zero": Method(JEVDPCA, {"centring": "none"}, supports=ALL - {"shift"}),
    "JEVD-PCA standardised": Method(JEVDPCA, {"standardize": True}, groups=2, supports=ALL - {"rotate"}),
    "JEVD-PCA as printed": Method(JEVDPCA, {"mode": "paper", "order": "average"}, groups=2),
    "LEACE": Method(LEACE),
    "LEACE, marginal": Method(LEACE, {"attributes": "marginal"}, attributes=2),
    "LEACE, intersection": Method(LEACE, {"attributes": "intersection"}, attributes=2),
    # The shrinkage depends on the number of rows.
    "LEACE with shrinkage": Method(LEACE, {"shrinkage": "auto"}, supports=ALL - {"duplicate"}),
    # The divisors n_g - 1 change by different factors.
    "Null it out": Method(NullItOutPCA, {"n_gap_directions": 1}, groups=2, supports=ALL - {"duplicate"}),
    "Null it out, second moments": Method(
        NullItOutPCA, {"n_gap_directions": 1, "gap": "second_moment", "constraint": "covariance"}
    ),
    "Null it out, means only": Method(NullItOutPCA, {"constraint": "mean"}),
    "Null it out about zero": Method(
        NullItOutPCA,
        {"n_gap_directions": 1, "gap": "second_moment", "center": False},
        groups=2,
        supports=ALL - {"shift"},
    ),
    "Null it out, two attributes": Method(NullItOutPCA, {"n_gap_directions": 0}, attributes=2),
    "Null it out, softly": Method(NullItOutPCA, {"strength": 0.5}, groups=2, supports=ALL - {"duplicate"}),
    # Every block is a pass, and there are so many that nothing is left of the random start.
    "FNPM": Method(StreamingFairPCA, {"n_gap_directions": 1, "n_blocks": 500}, groups=2),
    "FNPM, covariances": Method(
        StreamingFairPCA,
        {"n_gap_directions": 1, "n_blocks": 500, "center": "group"},
        groups=2,
        supports=ALL - {"duplicate"},
    ),
    "FNPM, three groups": Method(
        StreamingFairPCA, {"n_gap_directions": 1, "n_blocks": 1000, "constraint": "covariance"}
    ),
    # Its classifiers are penalised, and see points.
    "INLP": Method(INLP, groups=2, supports=frozenset({"rotate", "shift"})),
    # Unit vectors are not rotated along.
    "JEVD-PCA from the identity": Method(JEVDPCA, {"init": "identity"}, supports=ALL - {"rotate"}),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def supporting(change):
    chosen = {name: method for name, method in METHODS.items() if change in method.supports}
    return pytest.mark.parametrize("method", chosen.values(), ids=chosen.keys())


def data_for(method: Method, seed=1):
    """Features, groups and a target."""
    if method.attributes == 1:
        s = draw(counts=(200, 120, 60)[: method.groups], seed=seed)
        X, groups = s.X, s.groups
    else:
        X, groups = two_attributes(seed=seed)
    return X, groups, (np.random.default_rng(seed).random(len(X)) < 0.6).astype(int)


@every_method
def test_the_order_of_the_rows(method):
    X, groups, y = data_for(method)
    order = np.random.default_rng(0).permutation(len(X))
    assert angle(method.fit(X, groups, y), method.fit(X[order], groups[order], y[order])) < 1e-7


@every_method
@pytest.mark.parametrize("names", [["z", "y", "x", "w", "v"], [9, -4, 7, 0, 1]], ids=["reversed", "numbers"])
def test_the_names_of_the_groups(method, names):
    X, groups, y = data_for(method)
    table = groups if method.attributes > 1 else groups[:, None]
    old = np.unique(table).tolist()
    renamed = np.array([[names[old.index(value)] for value in row] for row in table.tolist()])
    assert angle(method.fit(X, groups, y), method.fit(X, renamed, y)) < 1e-7


@every_method
def test_but_other_groups_give_another_answer(method):
    X, groups, y = data_for(method)
    shuffled = np.random.default_rng(0).permutation(groups)
    moved = angle(method.fit(X, groups, y), method.fit(X, shuffled, y))
    assert (moved > 1e-2) == (method.make is not StandardPCA)


@supporting("unit")
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_all_features(method, factor):
    X, groups, y = data_for(method)
    assert angle(method.fit(X, groups, y), method.fit(factor * X, groups, y)) < 1e-7


@supporting("rotate")
def test_rotated_features_give_the_rotated_answer(method):
    X, groups, y = data_for(method)
    Q = ortho_group.rvs(X.shape[1], random_state=0)
    V, W = method.fit(X, groups, y), method.fit(X @ Q, groups, y)
    assert angle(Q.T @ V, W) < 1e-7
    assert angle(V, W) > 0.1


@supporting("shift")
def test_the_origin(method):
    X, groups, y = data_for(method)
    moved = X + 1e4 * np.random.default_rng(0).normal(size=X.shape[1])
    assert angle(method.fit(X, groups, y), method.fit(moved, groups, y)) < 1e-7


@supporting("duplicate")
def test_everything_twice(method):
    X, groups, y = data_for(method)
    twice = np.tile(np.arange(len(X)), 2)
    assert angle(method.fit(X, groups, y), method.fit(X[twice], groups[twice], y[twice])) < 1e-7


@supporting("moments")
def test_split_and_merged_moments(method):
    X, groups, y = data_for(method)
    order = np.argsort(groups if method.attributes == 1 else groups[:, 0], kind="stable")  # some parts lack a group
    parts = [GroupMoments.from_data(X[part], groups[part]) for part in np.array_split(order, 5)]
    assert any(part.G < GroupMoments.from_data(X, groups).G for part in parts)
    merged = parts[3] + (parts[0] + parts[4]) + (parts[2] + parts[1])
    assert angle(method.fit(X, groups, y), method.fit_moments(merged)) < 1e-7


@every_method
def test_a_repeated_fit_is_the_same_to_the_last_bit(method):
    X, groups, y = data_for(method)
    assert np.array_equal(method.fit(X, groups, y), method.fit(X.copy(order="F"), groups.copy(), y))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 4),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 10_000),
    st.booleans(),
    st.sampled_from(["mean", "covariance"]),
)
def test_the_theorem_for_arbitrary_groups(G, k, spare, seed, center, match):
    d = G - 1 + k + spare
    rng = np.random.default_rng(seed)
    counts = rng.integers(d + 2, 40, G)
    codes = np.repeat(np.arange(G), counts)
    X = rng.normal(size=(len(codes), d)) @ rng.normal(size=(d, d)) + 3.0 * rng.normal(size=(G, d))[codes]
    model = FairPCA(k, center=center, match=match).fit(X, sensitive_features=codes)
    assert group_gap(model.transform(X), codes) <= 1e-11 * size(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
    assert model.certificate_.is_optimal()
    assert model.constraint_rank_ == G - 1
    with pytest.raises(ValueError, match=f"at most {d - G + 1} are possible"):
        FairPCA(d - G + 2, center=center, match=match).fit(X, sensitive_features=codes)
