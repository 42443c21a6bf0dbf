"""Tensors of any library of the array API standard; run by test_array_api.py, in a process with SCIPY_ARRAY_API=1."""

import importlib

import numpy as np
import pytest
import sklearn

from evenspan import ArrayStream, FairPCA, GroupFrame, GroupMoments
from evenspan.core.errors import DataError

from .every import ALL, CLUSTERERS, PLAIN, TRANSFORMERS, fit, make
from .samples import draw, group_gap, size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

LIBRARIES = ["array_api_strict", "torch"]
S = draw(counts=(120, 80), names=("f", "m"))
X = S.X + 100.0  # far from zero: sums of products about zero would lose digits
#: Kernels and clusters are computed by NumPy.
NUMPY_ONLY = {"FairKernelPCA"}


@pytest.fixture(params=LIBRARIES)
def library(request):
    why = f"{request.param} is not installed; it is too large for the locked environment"
    return (
        importlib.import_module(request.param) if request.param != "torch" else pytest.importorskip("torch", reason=why)
    )


@pytest.fixture
def dispatch():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def numpy(T) -> np.ndarray:
    return np.from_dlpack(T)


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_array(library, weighted):
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    expected = GroupMoments.from_data(X, S.groups, weights)
    batches = [(library.asarray(X[a : a + 60]), S.groups[a : a + 60]) for a in range(0, 200, 60)]
    found = [GroupMoments.from_data(library.asarray(X), S.groups, weights)]
    if not weighted:
        found += [GroupMoments.from_batches(one) for one in (batches, ArrayStream(library.asarray(X), S.groups))]
    for one in found:
        assert type(one.means) is type(one.scatters) is np.ndarray
        np.testing.assert_allclose(one.means, expected.means, rtol=1e-14)
        np.testing.assert_allclose(one.scatters, expected.scatters, atol=1e-13 * expected.scatters.max())


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_what_comes_out_is_of_the_kind_and_precision_that_went_in(library, precision, name):
    tensor = library.asarray(X, dtype=getattr(library, precision))
    plain = numpy(tensor)
    fitted, expected = fit(make(name), tensor, S.groups), fit(make(name), plain, S.groups)
    T, wanted = fitted.transform(tensor), fitted.transform(plain)
    if name in NUMPY_ONLY:
        assert type(T) is np.ndarray
        return
    assert type(T) is type(tensor)
    assert (T.dtype, T.device) == (tensor.dtype, tensor.device)
    close = {"rtol": 0, "atol": (1e-12 if precision == "float64" else 1e-6) * np.abs(wanted).max()}
    np.testing.assert_allclose(numpy(T), wanted, **close)
    spread = float(np.abs(wanted - wanted.mean(axis=0)).max())
    if name != "MinMaxFairPCA":  # whose minimiser is less sharp than its value
        np.testing.assert_allclose(wanted, expected.transform(plain), rtol=0, atol=1e-6 * spread)
    back = fitted.inverse_transform(T)
    assert (type(back), back.dtype) == (type(tensor), tensor.dtype)
    np.testing.assert_allclose(
        numpy(back), fitted.inverse_transform(numpy(T)), rtol=1e-12 if precision == "float64" else 1e-6
    )


@pytest.mark.usefixtures("dispatch")
def test_options_with_more_columns_and_erasure(library):
    tensor = library.asarray(X)
    traded = FairPCA(2, tradeoff=0.5, standardize=True).fit(tensor, sensitive_features=S.groups)
    np.testing.assert_allclose(numpy(traded.transform(tensor)), traded.transform(X), atol=1e-12)
    model = ALL["LEACE"]()
    T = model.fit(tensor, sensitive_features=S.groups).transform(tensor)
    assert type(T) is type(tensor)
    assert group_gap(numpy(T), S.groups) < 1e-10 * size(X) < 1e-3 * size(X) < group_gap(X, S.groups)
    np.testing.assert_array_equal(numpy(model.inverse_transform(T)), numpy(T))
    frame = GroupFrame(estimator=traded.subspace_, X=tensor, sensitive_features=S.groups)
    wanted = GroupFrame(estimator=traded.subspace_, X=X, sensitive_features=S.groups)
    np.testing.assert_allclose(frame.by_group, wanted.by_group, rtol=1e-10)


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("name", CLUSTERERS)
def test_clusters_of_tensors_are_those_of_arrays(library, name):
    model, expected = (fit(make(name), one, S.groups) for one in (library.asarray(X), X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)


@pytest.mark.parametrize("name", ["FairPCA", "LEACE", "INLP", "FairKernelPCA", "KernelKMeans"])
def test_without_dispatch_tensors_become_arrays(library, name):
    fitted, expected = (fit(make(name), one, S.groups) for one in (library.asarray(X), X))
    if name in PLAIN:
        np.testing.assert_array_equal(fitted.labels_, expected.labels_)
        return
    T = fitted.transform(library.asarray(X))
    assert type(T) is np.ndarray
    np.testing.assert_array_equal(T, expected.transform(X))


@pytest.mark.usefixtures("dispatch")
def test_bad_entries_and_kinds_are_refused(library):
    broken = X.copy()
    broken[3:5, 2] = np.nan
    for call in (
        lambda tensor: GroupMoments.from_data(tensor, S.groups),
        lambda tensor: FairPCA(2).fit(tensor, sensitive_features=S.groups),
    ):
        with pytest.raises(DataError, match=r"NaN or inf.*2 \(2\)"):
            call(library.asarray(broken))
    with pytest.raises(DataError, match="complex"):
        GroupMoments.from_data(library.asarray(X + 1j), S.groups)


@pytest.mark.usefixtures("dispatch")
def test_half_precision_is_summed_in_double():
    torch = pytest.importorskip("torch", reason="torch is not installed; it is too large for the locked environment")
    tensor = torch.asarray(S.X).to(torch.bfloat16)
    exact = np.asarray(tensor.to(torch.float64))
    found, expected = (GroupMoments.from_data(one, S.groups) for one in (tensor, exact))
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-12)
    T = FairPCA(2).fit(tensor, sensitive_features=S.groups).transform(tensor)
    assert T.dtype == torch.bfloat16
