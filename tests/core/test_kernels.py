"""Kernels: their formulas, what gamma becomes, blocks, and what they refuse."""

import numpy as np
import pytest

from evenspan.core.errors import ConfigurationError, DataError
from evenspan.core.kernels import KERNELS, resolve_kernel

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4)) * [1.0, 2.0, 0.5, 3.0] + [1.0, 0.0, -2.0, 4.0]
Y = RNG.normal(size=(15, 4))
ROWS = np.arange(40)


def resolved(kernel="rbf", data=X, weights=None, gamma="scale", **params):
    return resolve_kernel(kernel, data, weights, gamma=gamma, params=params)


def by_hand(name, gamma, degree, coef0):
    def value(x, y):
        if name == "rbf":
            return np.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
        product = sum(a * b for a, b in zip(x, y, strict=True))
        if name == "linear":
            return product
        return (gamma * product + coef0) ** degree if name == "polynomial" else np.tanh(gamma * product + coef0)

    return np.array([[value(x, y) for y in X] for x in Y])


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
@pytest.mark.parametrize(("degree", "coef0"), [(3, 1.0), (2, 0.25)])
def test_every_kernel_is_its_formula(name, degree, coef0):
    known = {"polynomial": {"degree": degree, "coef0": coef0}, "sigmoid": {"coef0": coef0}}.get(name, {})
    kernel = resolved(name, gamma=0.3, **known)
    expected = by_hand(name, 0.3, degree, coef0)
    np.testing.assert_allclose(kernel.block(Y, kernel.anchors(X, ROWS)), expected, rtol=1e-12, atol=1e-13)
    K = kernel.matrix(X, ROWS)
    assert np.array_equal(K, K.T)
    assert kernel.is_positive == (name != "sigmoid")
    if kernel.is_positive:
        assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.linalg.norm(K)


def test_a_polynomial_with_a_negative_constant_need_not_be_positive():
    kernel = resolved("polynomial", coef0=-1.0, gamma=0.1, degree=2)
    assert not kernel.is_positive
    K = kernel.matrix(X / 10, ROWS)
    assert np.linalg.eigvalsh(K)[0] < -1e-6 * np.linalg.norm(K)


def test_scale_is_the_variance_of_all_entries_pooled():
    assert resolved().gamma == pytest.approx(1.0 / (4 * np.var(X, axis=None)), rel=1e-14)
    columnwise = 1.0 / np.var(X, axis=0).sum(axis=0)
    assert abs(resolved().gamma / columnwise - 1) > 0.2, "the columns' own means differ, which counts"
    assert resolved(gamma="auto").gamma == 0.25
    assert resolved(gamma=2).gamma == 2.0
    assert resolved("linear").gamma is None


def test_a_weight_is_a_number_of_repetitions():
    weights = RNG.integers(1, 5, size=40)
    repeated = resolved(data=np.repeat(X, weights, axis=0))
    assert resolved(weights=weights.astype(float)).gamma == pytest.approx(repeated.gamma, rel=1e-13)


@pytest.mark.parametrize("shift", [1e4, 1e7])
def test_distances_far_from_zero_keep_their_digits(shift):
    moved = np.round(X * 64) / 64 + shift
    near, far = resolved(data=moved - shift, gamma=0.2), resolved(data=moved, gamma=0.2)
    np.testing.assert_allclose(far.matrix(moved, ROWS), near.matrix(moved - shift, ROWS), rtol=1e-7, atol=1e-12)


def test_a_function_gets_tables_and_precomputed_values_are_picked():
    def laplace(A, B):
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))

    kernel = resolved(laplace)
    K = kernel.matrix(X, ROWS)
    np.testing.assert_array_equal(K, laplace(X, X))
    assert not kernel.is_positive
    given = resolved("precomputed", data=K)
    some = np.array([3, 1, 30])
    assert np.array_equal(given.anchors(K, some), some)
    np.testing.assert_array_equal(given.matrix(K, some), K[np.ix_(some, some)])
    np.testing.assert_array_equal(given.block(K[:5], some), K[:5, some])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "poly"}, ["kernel='poly'", "polynomial", "precomputed", "function"]),
        ({"kernel": None}, ["kernel=None", "rbf"]),
        ({"gamma": "wide"}, ["gamma='wide'", "'scale', 'auto'", "above 0"]),
        ({"gamma": 0}, ["gamma=0", "above 0"]),
        ({"gamma": -1.0}, ["gamma=-1.0"]),
        ({"gamma": np.inf}, ["gamma=inf"]),
        ({"gamma": np.nan}, ["gamma=nan"]),
        ({"gamma": True}, ["gamma=True"]),
        ({"gamma": None}, ["gamma=None"]),
        ({"kernel": "polynomial", "power": 2}, ["kernel_params={'power': 2}", "'coef0', 'degree'"]),
        ({"kernel": "rbf", "degree": 2}, ["kernel_params", "'rbf'"]),
        ({"data": np.full((5, 3), 7.5)}, ["all entries", "7.5", "gamma='scale'", "gamma='auto'"]),
        ({"data": np.zeros((5, 3))}, ["all entries", "equal 0"]),
    ],
    ids=str,
)
def test_what_is_refused_is_said(options, words):
    with pytest.raises(ConfigurationError) as told:
        resolved(**options)
    for word in words:
        assert word in str(told.value)


def test_constant_data_have_a_kernel_when_gamma_is_given():
    data = np.full((5, 3), 7.5)
    np.testing.assert_array_equal(resolved(data=data, gamma="auto").matrix(data, np.arange(5)), np.ones((5, 5)))


def test_kernel_values_that_cannot_be_used():
    with pytest.raises(DataError, match=r"shape \(40,\).*needed is \(40, 40\).*two tables"):
        resolved(lambda A, B: np.ones(len(A))).matrix(X, ROWS)
    with pytest.raises(DataError, match=r"callable kernel is not symmetric.*up to.*K \+ K.T"):
        resolved(lambda A, B: A[:, :1] + 2 * B[:, 0]).matrix(X, ROWS)
    with (
        np.errstate(all="ignore"),
        pytest.raises(DataError, match=r"polynomial kernel has NaN or infinite.*smaller gamma or degree"),
    ):
        resolved("polynomial", gamma=1.0, degree=300).matrix(X * 1e3, ROWS)
