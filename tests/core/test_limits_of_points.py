"""What estimators that see the points once got wrong far from ordinary data, each as the case that showed it."""

import numpy as np
import pytest
from scipy import sparse

from evenspan import (
    RLACE,
    FairKernelKMeans,
    FairKernelPCA,
    FairSpectralClustering,
    KernelKMeans,
    MMDFairPCA,
    StreamingFairPCA,
)
from evenspan.core import inputs
from evenspan.core.errors import DataError, FairError, FeatureTypeError, LimitError

from .every import TRANSFORMERS, fit, make
from .samples import draw

# Searches are cut short here.
pytestmark = pytest.mark.filterwarnings("ignore::evenspan.representation.erasure.IncompleteErasureWarning")


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


@pytest.mark.filterwarnings("ignore::evenspan.core.errors.SurplusComponentsWarning")
def test_a_block_far_from_the_running_mean_has_no_negative_variance():
    s = draw(counts=(16, 6))
    X = s.X.copy()
    X[20, 1] = 1e12
    for order in range(5):
        rows = np.random.default_rng(order).permutation(len(X))
        model = StreamingFairPCA(1, 1, n_blocks=2, block_size=7).fit(X[rows], sensitive_features=s.groups[rows])
        assert model.certificate_.dual >= model.certificate_.primal


@pytest.mark.parametrize("name", ["StreamingFairPCA", "FairMultipleKernelKMeans", "KernelKMeans"])
def test_both_infinities_are_named(name):
    s = draw(counts=(60, 40))
    X = s.X.astype(np.float16)
    X[3, 1], X[5, 1] = np.inf, -np.inf
    with pytest.raises(DataError, match=r"NaN or inf.* 1 \(2\)"):
        fit(make(name), X, s.groups)


@pytest.mark.filterwarnings("ignore::evenspan.representation.mmd_fair_pca.UnmetToleranceWarning")
def test_a_bandwidth_in_the_unit_of_the_features():
    s, far = draw(counts=(60, 40)), 1e4
    scaled = make("MMDFairPCA", bandwidth=far).fit(far * s.X, sensitive_features=s.groups)
    plain = make("MMDFairPCA", bandwidth=1.0).fit(s.X, sensitive_features=s.groups)
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
@pytest.mark.parametrize("spare", [0, 1, 6])
def test_swaps_of_clusters_of_one_point_end(kernel, spare):
    X = np.random.default_rng(1).normal(size=(12, 3))
    model = FairKernelKMeans(12 - spare, 1.0, kernel=kernel, swaps=True).fit(X, sensitive_features=np.arange(12) % 2)
    assert model.counts_.sizes.min() == 1
    assert model.n_swaps_ <= 12 * 12


@pytest.mark.parametrize("name", ["INLP", "RLACE", "MMDFairPCA", "FairKernelPCA", "KernelKMeans", "FairKernelKMeans"])
@pytest.mark.parametrize(("entry", "error"), [("twelve", FeatureTypeError), (np.nan, DataError), (np.inf, DataError)])
def test_entries_that_are_no_numbers_are_named(name, entry, error):
    X = np.arange(60.0).reshape(20, 3).astype(object)
    X[4, 1] = entry
    with pytest.raises(error) as told:
        fit(make(name), X, np.arange(20) % 2)
    assert len(str(told.value).split()) > 8


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


def test_matrices_of_all_rows_are_asked_for_first(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**30)
    X, groups = np.zeros((20_000, 2)), np.arange(20_000) % 2
    X[:, 0] = np.arange(20_000)
    for model, remedy in (
        (FairKernelPCA(2), "n_landmarks"),
        (KernelKMeans(2), "kernel='linear'"),
        (FairSpectralClustering(2, solver="null_space", n_neighbors=2), "lanczos"),
    ):
        with pytest.raises(LimitError, match=remedy):
            fit(model, X, groups)


def test_a_sparse_table_is_a_typed_refusal_where_points_are_needed():
    X = sparse.random_array((20, 4), density=0.5, rng=np.random.default_rng(0)).tocsr()
    for name in sorted({"INLP", "RLACE", "MMDFairPCA", "FairKernelPCA"} & set(TRANSFORMERS)):
        with pytest.raises(FairError, match="dense data is required"):
            fit(make(name), X, np.arange(20) % 2)
