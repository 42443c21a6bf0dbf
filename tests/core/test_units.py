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
    MMDFairPCA,
    RobustFairPCA,
    StandardPCA,
    StreamingFairPCA,
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
        ConvexFairPCA(2, delta=0.5, standardize=False),
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
    with pytest.raises(LimitError, match=r"moments of 2 group\(s\) of 5,000 features would need 1.5 GiB"):
        GroupMoments.from_data(np.zeros((2, 5000)), ["a", "b"])


@pytest.mark.parametrize(
    ("far", "dtype", "rtol"), [(1e7, "float64", 1e-8), (1e10, "float64", 1e-4), (3e3, "float32", 1e-3)]
)
def test_a_stream_far_from_zero_knows_its_variance(far, dtype, rtol):
    s = draw(counts=(60, 40))
    X = (s.X + far).astype(dtype)
    for block in (None, 25):
        model = StreamingFairPCA(2, 1, n_blocks=4, block_size=block).fit(X, sensitive_features=s.groups)
        last = X.astype(float) if block is None else X[75:].astype(float)
        about = X.astype(float).mean(axis=0) if block is None else model.mean_
        expected = float(((last - about) ** 2).sum(axis=1).mean(axis=0))
        assert model.certificate_.dual == pytest.approx(expected, rel=rtol)
        assert model.certificate_.gap > 0


@pytest.mark.filterwarnings("ignore::UserWarning")  # the game is cut short
def test_wide_tables_are_worked_on_in_the_span_of_their_rows():
    """Points with 60 features and turned into 4: MMD finds the same; RLACE erases nothing beside the rows."""
    rng = np.random.default_rng(0)
    Z, groups = rng.normal(size=(24, 4)) * [3.0, 2.0, 1.0, 1.0], np.arange(24) % 2
    Z[:, 1] += 3.0 * groups
    turn = np.linalg.qr(rng.normal(size=(60, 4)))[0]
    narrow = MMDFairPCA(2, tol=0.05).fit(Z, sensitive_features=groups)
    wide = MMDFairPCA(2, tol=0.05).fit(Z @ turn.T, sensitive_features=groups)
    assert wide.converged_
    assert wide.bandwidth_ == pytest.approx(narrow.bandwidth_)
    assert wide.certificate_.dual == pytest.approx(narrow.certificate_.dual)
    assert wide.certificate_.primal == pytest.approx(narrow.certificate_.primal, rel=1e-2)
    X = rng.normal(size=(24, 60))
    played = RLACE(2, rank=1, max_iter=200, evaluate_every=100).fit(X, sensitive_features=groups)
    erased = np.linalg.svd(np.eye(60) - played.projection_)[0][:, :1]
    span = np.linalg.qr((X - X.mean(axis=0))[:-1].T)[0]
    assert np.linalg.norm(span.T @ erased) > 0.95  # of a direction drawn among all 60 about 0.62
