"""From what is passed to a kernel matrix: centring, unit length, precision, symmetry, and warnings that are true."""

import warnings

import numpy as np
import pandas as pd
import pytest

from evenspan.clustering.base_kernels import CentralPointWarning
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernels import (
    BlockGram,
    DenseGram,
    FactorGram,
    KernelWarning,
    extreme_eigenvalues,
    passed,
    read_only,
    symmetric_kernel,
)
from evenspan.core import limits
from evenspan.core.errors import ConfigurationError, DataError, LimitError

from .clustering_samples import crossed, scattered


def gram(X, **options):
    return FairKernelKMeans(3, **options)._gram(np.asarray(X))


def whole(found) -> np.ndarray:
    return found.product(np.eye(found.n))


def centred(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def unit(K):
    return K / np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))


RESCALED = {
    (False, False): lambda K: K,
    (True, False): centred,
    (False, True): unit,
    (True, True): lambda K: unit(centred(K)),
}


@pytest.mark.parametrize(("center", "normalize"), RESCALED)
def test_centring_and_unit_length_are_the_matrices_of_the_formula(center, normalize):
    X = crossed().X
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    formula = RESCALED[center, normalize]
    options = {"center": center, "normalize": normalize}
    rbf = gram(X, kernel="rbf", gamma=0.03, **options)
    assert isinstance(rbf, DenseGram)
    np.testing.assert_allclose(whole(rbf), formula(np.exp(-0.03 * squares)), atol=1e-12)
    polynomial = gram(X, kernel="polynomial", gamma=0.5, degree=2, coef0=1.5, **options)
    expected = formula((0.5 * X @ X.T + 1.5) ** 2)
    np.testing.assert_allclose(whole(polynomial), expected, atol=1e-11 * np.abs(expected).max())
    given = gram(np.exp(-0.03 * squares), kernel="precomputed", **options)
    np.testing.assert_allclose(whole(given), whole(rbf), atol=1e-12)
    expected = centred(formula(X @ X.T)) if not center else formula(X @ X.T)  # a linear kernel is about the mean
    for storage, kind in (("auto", FactorGram), ("factor", FactorGram), ("dense", DenseGram)):
        linear = gram(X, kernel="linear", storage=storage, **options)
        assert isinstance(linear, kind)
        np.testing.assert_allclose(whole(linear), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_blocks_are_the_dense_matrix(kernel, dtype):
    X = crossed().X
    blocks = gram(X, kernel=kernel, storage="blocks", dtype=dtype)
    dense = gram(X, kernel=kernel, storage="dense", dtype=dtype)
    assert isinstance(blocks, BlockGram)
    assert dense.K.dtype == blocks.X.dtype == np.dtype(dtype)
    scale = np.abs(dense.K).max() * (1e-12 if dtype == "float64" else 1e-5)
    np.testing.assert_allclose(whole(blocks), dense.K, atol=scale)
    np.testing.assert_allclose(whole(dense), whole(gram(X, kernel=kernel, storage="dense")), atol=scale)


def test_scale_and_auto_are_those_of_scikit_learn():
    X = crossed().X
    for gamma, expected in (("scale", 1.0 / (4 * X.var(axis=None))), ("auto", 0.25), (0.7, 0.7)):
        model = FairKernelKMeans(3, gamma=gamma)
        model._gram(X)
        assert model.gamma_ == pytest.approx(expected, rel=1e-12)


def test_points_far_from_zero_keep_their_digits():
    X = crossed().X
    far = gram(X + 1e7, kernel="rbf", gamma=0.03)
    np.testing.assert_allclose(whole(far), whole(gram(X, kernel="rbf", gamma=0.03)), atol=1e-6)
    single = gram((X + 1e4), kernel="rbf", gamma=0.03, dtype="float32", storage="blocks")
    assert np.abs(whole(single) - whole(gram(X, kernel="rbf", gamma=0.03))).max() < 0.05


def test_passed_arrays_are_not_changed():
    K = scattered(40)[0]
    kept = K.copy()
    for center in (True, False):
        for normalize in (True, False):
            gram(K, kernel="precomputed", center=center, normalize=normalize)
            gram(K, kernel="linear", center=center, normalize=normalize)
    np.testing.assert_array_equal(K, kept)


def test_kernel_that_is_not_symmetric_is_replaced_by_its_symmetric_part_with_a_warning():
    K = scattered(40)[0]
    skew = np.triu(np.full((40, 40), 1e-3), 1)
    with pytest.warns(KernelWarning, match="not symmetric.*0.001"):
        found = symmetric_kernel(K + skew)
    np.testing.assert_allclose(found, K + 0.5 * (skew + skew.T), rtol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    nearly = K + 1e-13 * skew
    np.testing.assert_array_equal(symmetric_kernel(nearly), symmetric_kernel(nearly).T)  # rounding: no warning
    assert symmetric_kernel(K, np.float64) is K
    big = np.eye(1100)
    big[1090, 2] = 0.5  # far from the diagonal, in a later block
    with pytest.warns(KernelWarning, match=r"differ by up to 0\.5"):
        symmetric_kernel(big)
    with pytest.warns(KernelWarning, match="the callable kernel is not symmetric"):
        found = gram(crossed().X, kernel=lambda a, b: a @ b.T + 1e-3 * (a[:, :1] - b[:, 0]))
    np.testing.assert_allclose(found.K, crossed().X @ crossed().X.T, atol=1e-12)


@pytest.mark.parametrize("bad", [np.ones((3, 4)), np.ones(5), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])])
def test_matrices_that_are_no_kernel_are_refused(bad):
    with pytest.raises(DataError, match="the precomputed kernel has"):
        symmetric_kernel(bad)


def test_negative_eigenvalues_are_told():
    K = scattered(40)[0]
    values, vectors = np.linalg.eigh(K)
    indefinite = K - (values[0] + 0.01 * values[-1]) * np.outer(vectors[:, 0], vectors[:, 0])
    indefinite = 0.5 * (indefinite + indefinite.T)
    with pytest.warns(KernelWarning, match="not positive semidefinite"):
        gram(indefinite, kernel="precomputed")
    with pytest.warns(KernelWarning, match="the sigmoid kernel is not positive semidefinite"):
        gram(crossed().X, kernel="sigmoid", gamma=0.5, coef0=-1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gram(K - (values[0] - 1e-12 * values[-1]) * np.outer(vectors[:, 0], vectors[:, 0]), kernel="precomputed")
        gram(crossed().X @ crossed().X.T, kernel="precomputed")  # singular, with zeros of either sign
        gram((crossed().X @ crossed().X.T).astype(np.float32), kernel="precomputed", dtype="float32")


@pytest.fixture
def checks(monkeypatch):
    """The matrices whose eigenvalues have been looked at."""
    seen = []
    name = "evenspan.clustering.kernels.extreme_eigenvalues"
    monkeypatch.setattr(name, lambda K: seen.append(K) or extreme_eigenvalues(K))
    return seen


def test_a_kernel_that_nobody_can_write_to_is_checked_once(checks):
    K, *_ = scattered(40)
    own, view = read_only(K.copy()), K[:]
    view.flags.writeable = False  # but K can be written to
    for given, number in ((own, 1), (K, 2), (view, 2), (own.copy(), 2)):
        checks.clear()
        found = [gram(given, kernel="precomputed") for _ in range(2)]
        assert len(checks) == number
        np.testing.assert_array_equal(whole(found[0]), whole(found[1]))
    assert passed(own)
    checks.clear()
    gram(own, kernel="precomputed", dtype="float32")  # another matrix
    assert len(checks) == 1


def test_a_stack_that_nobody_can_write_to_is_checked_once(checks):
    K, *_ = scattered(40)
    stack, model = read_only(np.stack([K, K @ K])), FairMultipleKernelKMeans(3, kernels="precomputed")
    assert model._stack(stack) is model._stack(stack) is stack
    assert len(checks) == 2


def test_what_was_warned_of_is_warned_of_again():
    K, *_ = scattered(40)
    skew, shifted = K.copy(), read_only(K - 0.5 * np.trace(K) / 40 * np.eye(40))
    skew[0, 1] += 1.0
    for given, told in ((read_only(skew), "not symmetric"), (shifted, "not positive semidefinite")):
        for _ in range(2):
            with pytest.warns(KernelWarning, match=told):
                gram(given, kernel="precomputed")


def test_extreme_eigenvalues_of_small_and_large_matrices():
    for n in (50, 700):
        values = np.linspace(-3.0, 5.0, n)
        Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
        found = extreme_eigenvalues((Q * values) @ Q.T)
        np.testing.assert_allclose(found, (-3.0, 5.0), rtol=0.02)


def test_a_factor_with_a_point_at_the_centre_warns_and_leaves_it():
    X = np.vstack([crossed().X, crossed().X.mean(axis=0)])
    with pytest.warns(CentralPointWarning, match="1 point"):
        found = gram(X, kernel="linear", center=True, normalize=True)
    assert not found.Z[80].any()
    np.testing.assert_allclose(found.diagonal[:80], 1.0)
    with pytest.warns(CentralPointWarning, match="1 point"):
        gram(X, kernel="linear", center=True, normalize=True, storage="dense")
    with pytest.raises(DataError, match="1 diagonal entries"):
        gram(np.diag([1.0, 0.0, 2.0]), kernel="precomputed", normalize=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "precomputed", "storage": "blocks"}, "precomputed"),
        ({"kernel": "precomputed", "storage": "factor"}, "precomputed"),
        ({"kernel": "rbf", "storage": "factor"}, "Nystroem"),
        ({"kernel": "rbf", "storage": "blocks", "center": True}, "center or normalize"),
        ({"kernel": "rbf", "storage": "blocks", "normalize": True}, "center or normalize"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ConfigurationError, match=words):
        gram(np.eye(6) + 0.1, **options)


def test_kernel_values_that_overflow_are_refused():
    X = 1e12 * crossed().X
    with pytest.raises(DataError, match="NaN or infinite"), np.errstate(over="ignore"):
        gram(X, kernel="polynomial", degree=14, gamma=1.0)


def test_a_matrix_too_large_for_the_memory_is_refused_beforehand(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: 2**30)
    X = np.tile(crossed().X, (150, 1))
    with pytest.raises(LimitError, match="storage='blocks'"):
        gram(X, kernel="rbf")
    monkeypatch.setattr(limits, "free_memory", lambda: 2**40)
    X = crossed().X
    gram(X, kernel="rbf", dtype="float32")
    gram(X, kernel="rbf", storage="blocks")
    gram(X, kernel="linear")


def test_only_a_precomputed_kernel_is_pairwise():
    assert FairKernelKMeans(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not FairKernelKMeans(kernel="rbf").__sklearn_tags__().input_tags.pairwise
    assert not FairKernelKMeans(kernel=lambda a, b: a @ b.T).__sklearn_tags__().input_tags.pairwise


def test_frames_and_single_precision_features():
    sample = crossed()
    frame = pd.DataFrame(sample.X, columns=list("wxyz"))
    options = {"kernel": "linear", "center": True, "random_state": 0}
    found = FairKernelKMeans(3, 1.0, **options).fit(frame, sensitive_features=sample.groups)
    np.testing.assert_array_equal(
        found.labels_, FairKernelKMeans(3, 1.0, **options).fit_predict(sample.X, sensitive_features=sample.groups)
    )
    assert list(found.feature_names_in_) == list("wxyz")
    single = FairKernelKMeans(3, 1.0, **options).fit(sample.X.astype(np.float32), sensitive_features=sample.groups)
    np.testing.assert_array_equal(single.labels_, found.labels_)
