"""What features may be in size, wide tables, labels that hold separators."""

import numpy as np
import pytest

from evenspan import (
    JEVDPCA,
    RLACE,
    ConvexFairPCA,
    DisparityFairPCA,
    FairKernelPCA,
    GroupMoments,
    JointRange,
    KernelKMeans,
    MinMaxFairPCA,
    RobustFairPCA,
    StandardPCA,
)
from evenspan.core import inputs
from evenspan.core.errors import DataError, LimitError

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


@pytest.mark.parametrize(
    "model",
    [
        MinMaxFairPCA(2),
        DisparityFairPCA(2),
        ConvexFairPCA(2, delta=0.5),
        RobustFairPCA(2),
        JEVDPCA(2, center="none"),
    ],
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


def test_moments_that_do_not_fit_are_not_begun(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**30)
    with pytest.raises(LimitError, match=r"moments of 5 group\(s\) of 5,000 features would need 1.3 GiB"):
        GroupMoments.from_data(np.zeros((5, 5000)), list("abcde"))


@pytest.mark.filterwarnings("ignore::UserWarning")  # the game is cut short
def test_rlace_erases_nothing_beside_the_rows_of_a_wide_table():
    X = np.random.default_rng(0).normal(size=(24, 60))
    played = RLACE(2, rank=1, max_iter=200, evaluate_every=100).fit(X, sensitive_features=np.arange(24) % 2)
    erased = np.linalg.svd(np.eye(60) - played.projection_)[0][:, :1]
    span = np.linalg.qr((X - X.mean(axis=0))[:-1].T)[0]
    assert np.linalg.norm(span.T @ erased) > 0.95  # of a direction drawn among all 60 about 0.62
