"""Fair kernel k-means with several kernels: the weights against explicit matrices, and the alternation."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from evenspan.clustering import center_and_normalise
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans, fairness_part, kernel_weights
from evenspan.core.errors import ConfigurationError

from .clustering_samples import crossed, fair_matrix, indicator, plain_sweeps, scattered, trace_objective

S = crossed()


def stack_of(X) -> np.ndarray:
    """Four kernels that know different things: groups, sites, both, and nothing."""
    stack = []
    for p, Z in enumerate((X[:, :2], X[:, 2:], X, np.random.default_rng(9).normal(size=X.shape))):
        squares = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
        stack.append(np.exp(-squares / (2.0 * (1 + p) * Z.var(axis=0).sum(axis=0))))
    return np.array(stack)


STACK = stack_of(S.X)


def several(n=60, count=3, seed=2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernels of different size without structure, groups and labels to start from."""
    stack = np.array([(1.0 + p) * scattered(n, 2 + p, 4, seed=p)[0] for p in range(count)])
    return stack, *scattered(n, 2, 4, seed=seed)[1:]


def fitted(stack, groups, c=3, weight=1.0, **options) -> FairMultipleKernelKMeans:
    options = {"kernels": "precomputed", "max_iter": 60, **options}
    return FairMultipleKernelKMeans(c, weight, **options).fit(stack, sensitive_features=groups)


def remainders(stack, codes, labels, c, weight) -> np.ndarray:
    """h_p from the matrices of the formula: Tr(K~_p (I - Y (Y^T Y)^-1 Y^T))."""
    Y, alpha = indicator(labels, c), weight * float(np.bincount(codes).max())
    rest = np.eye(len(Y)) - Y @ np.linalg.inv(Y.T @ Y) @ Y.T
    return np.array([np.trace(fair_matrix(K, codes, weight, alpha) @ rest) for K in stack])


@pytest.mark.parametrize("weight", [0.0, 0.02, 20.0])
def test_weights_are_the_minimiser_and_the_certificate_is_of_the_final_kernel(weight):
    kept, model = STACK.copy(), fitted(STACK, S.codes, weight=weight)
    np.testing.assert_array_equal(STACK, kept)
    gamma, h = model.kernel_weights_, remainders(STACK, S.codes, model.labels_, 3, weight)
    np.testing.assert_allclose(gamma, (1.0 / h) / (1.0 / h).sum(axis=0), rtol=1e-9)
    value = float((gamma**2 * h).sum(axis=0))
    assert model.objective_ == model.history_[-1] == pytest.approx(value, rel=1e-10)
    others = np.random.default_rng(0).dirichlet(np.ones(4), size=2000)
    assert ((others**2 * h).sum(axis=1) >= value * (1 - 1e-12)).all()
    assert float((h / 16).sum(axis=0)) > value  # equal weights are worse
    K = fair_matrix(np.einsum("p,pnm->nm", gamma**2, STACK), S.codes, weight * float((gamma**2).sum(axis=0)))
    assert model.certificate_.primal == pytest.approx(trace_objective(K, model.labels_, 3), rel=1e-9)
    assert model.certificate_.gap >= -1e-9 * abs(model.certificate_.primal)
    # at rest: the plain sweep on the final kernel moves nothing
    assert model.converged_
    assert plain_sweeps(K, model.labels_, 3).moves == ()


@pytest.mark.parametrize("weight", [0.0, 0.5, 10.0])
def test_rounds_are_one_plain_sweep_on_the_weighted_fair_kernel_and_new_weights(weight):
    stack, codes, labels = several()
    alpha = weight * float(np.bincount(codes).max())
    fair = np.array([fair_matrix(K, codes, weight, alpha) for K in stack])
    gamma, history, start = np.full(3, 1.0 / 3.0), [], labels
    for rounds in range(1, 6):
        labels = plain_sweeps(np.einsum("p,pnm->nm", gamma**2, fair), labels, 4, max_sweeps=1).labels
        h = remainders(stack, codes, labels, 4, weight)
        gamma = (1.0 / h) / (1.0 / h).sum(axis=0)
        history.append(float((gamma**2 * h).sum(axis=0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fitted(stack, codes, 4, weight, init=start, max_iter=rounds, tol=0.0)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.kernel_weights_, gamma, rtol=1e-9)
        np.testing.assert_allclose(model.history_, history[: len(model.history_)], rtol=1e-9)
    assert not np.array_equal(start, labels)
    whole = fitted(stack, codes, 4, weight, init=start)
    assert (np.diff(whole.history_) <= 1e-12 * whole.history_[0]).all()
    assert len(whole.history_) == whole.n_iter_ >= 2


@pytest.mark.parametrize("weight", [0.0, 30.0])
def test_one_kernel_has_weight_one_and_gives_the_labels_of_one_kernel(weight):
    K = STACK[2]
    many = fitted(K[None], S.groups, weight=weight)
    one = FairKernelKMeans(3, weight, kernel="precomputed", max_iter=60).fit(K, sensitive_features=S.groups)
    np.testing.assert_array_equal(many.kernel_weights_, [1.0])
    np.testing.assert_array_equal(many.initial_labels_, one.initial_labels_)
    np.testing.assert_array_equal(many.labels_, one.labels_)
    alpha = 40.0 * weight
    expected = float(np.trace(K)) + alpha * 80 - weight * 80 - (one.objective_ + 3 * alpha)
    assert many.objective_ == pytest.approx(expected, rel=1e-10)
    assert many.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-10)
    assert many.certificate_.dual == pytest.approx(one.certificate_.dual, rel=1e-9)
    equal = fitted(np.array([K, K, K]), S.groups, weight=weight)
    np.testing.assert_allclose(equal.kernel_weights_, np.full(3, 1.0 / 3.0), rtol=1e-12)
    np.testing.assert_array_equal(equal.labels_, many.labels_)


def test_shift_makes_weights_nearly_equal_and_the_ablation_does_not():
    spread = {}
    for weight in (0.0, 1.0, 100.0):
        for weights_from in ("shifted", "unshifted"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = fitted(STACK, S.codes, weight=weight, weights_from=weights_from)
            spread[weight, weights_from] = float(np.ptp(model.kernel_weights_, axis=0))
            if weights_from == "unshifted":
                h = remainders(STACK, S.codes, model.labels_, 3, 0.0)
                np.testing.assert_allclose(model.kernel_weights_, (1 / h) / (1 / h).sum(axis=0), rtol=1e-9)
            elif weight:
                # h_p = within_p + w with the same w for all p and 0 <= within_p <= n for unit diagonals, so
                # gamma_p / gamma_q <= (n + w) / w
                common = fairness_part(model.counts_, weight)
                assert 1.0 < model.kernel_weights_.max() / model.kernel_weights_.min() <= (80.0 + common) / common
    assert spread[0.0, "shifted"] == pytest.approx(spread[0.0, "unshifted"], rel=1e-9)
    assert spread[1.0, "shifted"] < 0.1 * spread[1.0, "unshifted"]
    assert spread[100.0, "shifted"] < 0.001 < 0.05 < spread[100.0, "unshifted"]


@pytest.mark.parametrize(
    ("h", "size", "weights"),
    [
        ([1.0, 2.0, 4.0], 0.0, np.array([4.0, 2.0, 1.0]) / 7.0),
        ([0.0, 2.0, 0.0], 0.0, [0.5, 0.0, 0.5]),
        ([-1e-17, 2.0], 0.0, [1.0, 0.0]),
        ([0.0, 0.0], 0.0, [0.5, 0.5]),
        ([1e-15, -3e-15, 2e-15], 80.0, np.full(3, 1.0 / 3.0)),  # rounding, judged by the traces
        ([1.0, 3.0], 80.0, [0.75, 0.25]),
    ],
)
def test_kernels_that_are_fitted_exactly_share_all_the_weight(h, size, weights):
    np.testing.assert_allclose(kernel_weights(np.array(h), size=size), weights, atol=1e-12)


def test_scale_order_and_precision_of_the_kernels_change_no_label():
    start, order = np.random.default_rng(0).integers(3, size=80), [2, 0, 3, 1]
    model = fitted(STACK, S.groups, weight=0.3, init=start)
    for stack, weight, places, rtol in (
        (5.0 * STACK, 1.5, slice(None), 1e-9),
        (STACK[order], 0.3, order, 1e-9),
        (STACK.astype(np.float32), 0.3, slice(None), 1e-4),
    ):
        other = fitted(stack, S.groups, weight=weight, init=start)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_allclose(other.kernel_weights_, model.kernel_weights_[places], rtol=rtol)
    assert np.shares_memory(model._stack(STACK), STACK)  # a stack is not copied without need
    assert model._stack(STACK.astype(np.float32)).dtype == np.float32


def test_kernels_of_the_rows_are_centred_and_scaled_so_that_units_do_not_matter():
    def larger(A, B):
        return 100.0 * polynomial_kernel(A, B, gamma=1.0 / S.X.var(axis=None) / S.X.shape[1], coef0=1.0)

    stack = [linear_kernel(S.X), larger(S.X, S.X), rbf_kernel(S.X, gamma=1.0 / S.X.var(axis=None) / S.X.shape[1])]
    given = fitted(np.array([center_and_normalise(K) for K in stack]), S.codes)
    for X, kernels in ((S.X, ("linear", "polynomial", "rbf")), (S.X, ["linear", larger, "rbf"])):
        model = fitted(X, S.codes, kernels=kernels)
        np.testing.assert_array_equal(model.labels_, given.labels_)
        np.testing.assert_allclose(model.kernel_weights_, given.kernel_weights_, rtol=1e-9)
    small = fitted(1e-6 * S.X, S.codes, kernels=("linear", "polynomial", "rbf"))
    np.testing.assert_allclose(small.kernel_weights_, given.kernel_weights_, rtol=1e-6)
    unscaled = fitted(
        np.array(stack), S.codes
    )  # the control: sizes of kernels do matter where they are taken as they are
    assert np.abs(unscaled.kernel_weights_ - given.kernel_weights_).max() > 0.05
    for kernels in ("rbf", (), ("precomputed",), (3,)):
        with pytest.raises(ConfigurationError, match="kernels="):
            fitted(S.X, S.codes, kernels=kernels)
