"""What features may be in size, wide tables, labels that hold separators."""

import numpy as np
import pytest
from sklearn.base import clone

from evenspan import (
    JEVDPCA,
    ConvexFairPCA,
    DisparityFairPCA,
    FairKernelPCA,
    FairPCA,
    GroupMoments,
    JointRange,
    KernelKMeans,
    MinMaxFairPCA,
    RobustFairPCA,
    StandardPCA,
)
from evenspan.core import inputs
from evenspan.core.errors import DataError, GroupError, LimitError
from evenspan.core.inputs import require_range

from .samples import angle, draw

TINY = draw(counts=(40, 25), seed=4)


FITTED = {
    "moments": lambda X: GroupMoments.from_data(X, TINY.groups),
    "batches": lambda X: GroupMoments.from_batches([(X[:30], TINY.groups[:30]), (X[30:], TINY.groups[30:])]),
    "joint range": lambda X: JointRange.from_moments(GroupMoments.from_data(X, TINY.groups), 1),
    "linear": lambda X: StandardPCA(1).fit(X),
    "kernel": lambda X: FairKernelPCA(1).fit(X, sensitive_features=TINY.groups),
    "clusters": lambda X: KernelKMeans(2, random_state=0).fit(X),
}


@pytest.mark.parametrize("way", FITTED)
@pytest.mark.parametrize("factor", [1e31, 1e-32])
def test_features_beyond_the_contract_are_refused_and_named(way, factor):
    X = TINY.X.copy()
    X[:, 1] = (X[:, 1] - X[:, 1].mean()) * factor
    with pytest.raises(DataError, match=r"column\(s\) 1 of X hold .* up to 1e\+30, .* at least 1e-30"):
        FITTED[way](X)


def test_a_constant_column_that_rounding_left_less_than_no_variance_is_constant():
    """As where the rows of a fold are taken away from the sum of all."""
    mean, squares = np.array([[0.1, 1.0]]), np.array([[-1e-18, 5.0]])
    require_range(np.array([5.0]), mean, squares, None, None)
    with pytest.raises(DataError, match=r"column\(s\) 1 of X hold NaN"):
        require_range(np.array([5.0]), mean, np.array([[0.0, np.nan]]), None, None)


@pytest.mark.parametrize("way", FITTED)
@pytest.mark.parametrize("value", [0.1, 3e-25])
def test_a_constant_feature_of_any_size_is_within_the_contract(way, value):
    FITTED[way](np.column_stack([TINY.X[:, :3], np.full(len(TINY.X), value)]))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize(
    "model", [FairPCA(1, standardize=True), RobustFairPCA(1, standardize=True), ConvexFairPCA(1)], ids=str
)
def test_the_unit_of_the_features_does_not_matter_to_standardised_ones(model, scale):
    X = np.column_stack([TINY.X[:, :3], np.full(len(TINY.X), 3.0)])
    plain, other = (clone(model).fit(Y, sensitive_features=TINY.groups) for Y in (X, scale * X))
    np.testing.assert_allclose(other.components_, plain.components_, atol=1e-8)
    assert other.subspace_.scale[3] == 1.0


@pytest.mark.parametrize(
    "model",
    [MinMaxFairPCA(2), DisparityFairPCA(2), ConvexFairPCA(2, delta=0.5), RobustFairPCA(2), JEVDPCA(2, center="none")],
    ids=str,
)
def test_a_wide_table_is_solved_in_the_span_of_its_rows(model):
    """Rows of ten features, turned into a space of forty: the answer is the turned one, and so is what was learnt."""
    rng = np.random.default_rng(5)
    X, groups = rng.normal(size=(24, 10)) * np.linspace(0.3, 2.0, 10) + 0.3, np.arange(24) % 2
    Q = np.linalg.qr(rng.normal(size=(40, 10)))[0]
    small, wide = (type(model)(**model.get_params()).fit(Y, sensitive_features=groups) for Y in (X, X @ Q.T))
    if not isinstance(model, JEVDPCA):
        assert wide.certificate_.primal == pytest.approx(small.certificate_.primal, rel=1e-9)
    assert wide.certificate_.dual == pytest.approx(small.certificate_.dual, rel=1e-9)
    assert wide.components_.shape == (len(small.components_), 40)
    assert angle(wide.components_.T, Q @ small.components_.T) < 1e-6
    np.testing.assert_allclose(wide.group_errors_, small.group_errors_, rtol=1e-8)


@pytest.mark.parametrize("labels", [[["a"], ["b", "c"], ["a"]], "ab"])
def test_rows_of_different_lengths_are_named(labels):
    with pytest.raises(GroupError if labels != "ab" else DataError, match="rows of one length"):
        GroupMoments.from_data([[1.0], [2.0, 3.0]] if labels == "ab" else np.eye(3), labels)


def test_moments_that_do_not_fit_are_not_begun(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**30)
    with pytest.raises(LimitError, match=r"moments of 2 group\(s\) of 5,000 features would need 1.5 GiB"):
        GroupMoments.from_data(np.zeros((2, 5000)), ["a", "b"])
