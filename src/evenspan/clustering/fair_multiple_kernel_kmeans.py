"""Fair kernel k-means with several kernels, whose weights are found together with the clusters."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from typing import Self

import numpy as np
from sklearn.utils import gen_batches

from ..core.cluster_counts import ClusterCounts
from ..core.errors import DataError
from ..core.estimator import NotConvergedWarning, numeric_table
from ..core.inputs import require_generator, require_memory, warn_caller
from ..core.kernels import FUNCTIONS, resolve_kernel
from ..core.options import CLUSTERS, SEED, SINGLE_GROUP, Option, number, one_of, option, parameterised, whole
from .bounds import certified, deflated_bound
from .estimator import FairClusterer, require_clusters
from .kernel_kmeans import START, clustered_trace, starting_point
from .kernels import DenseGram, center_and_normalise, checked_kernel, indicator, warn_if_indefinite
from .row_update import row_updates
from .weight_rule import WEIGHT_OR_RULE, WeightRule, settle

#: Entries of a part of the kernels that stays in cache while all of them are summed.
IN_CACHE = 2**15


def _is_kernel(value) -> bool:
    return callable(value) or (isinstance(value, str) and value in FUNCTIONS)


#: What can be mixed.
MIXED = one_of("precomputed") | Option(
    lambda value: isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_kernel, value)),
    f"a list or tuple of functions and of some of {', '.join(map(repr, FUNCTIONS))}",
)


@parameterised
class FairMultipleKernelKMeans(FairClusterer):
    r"""Fair kernel k-means on a weighted sum of kernels, the weights being found with the clusters.

    .. math::

        \min_{Y, \gamma} \; \sum_p \gamma_p^2 \, h_p(Y), \qquad
        h_p(Y) = \operatorname{tr} \tilde K_p \bigl(I - Y (Y^\top Y)^{-1} Y^\top\bigr), \qquad
        \gamma \ge 0, \; \mathbf 1^\top \gamma = 1,

    with :math:`\tilde K_p = K_p + \alpha I - \lambda G G^\top` and :math:`\alpha = \lambda \max_j |G_j|`. One pass of
    the row update for Y and the exact minimiser :math:`\gamma_p \propto 1 / h_p` alternate. Here the shift matters,
    unlike for one kernel: it adds :math:`\alpha (n - c)` to every :math:`h_p` and so makes the weights nearly equal.

    Parameters
    ----------
    n_clusters, fairness_weight : as in ``FairKernelKMeans``
        With weight 0 it is the method without fairness ("FMKKM-f").
    kernels : list or tuple of str and callable, or "precomputed", default ("linear", "polynomial", "rbf")
        Kernels of the rows of X, as ``FairKernelKMeans`` has them, with ``gamma="scale"``. Each matrix is centred and
        then scaled to a unit diagonal (``center_and_normalise``), so that the unit of X and the size of a kernel do not
        matter. Or "precomputed": X is a stack of kernel matrices (m, n, n), which is taken as it is.
    weights_from : {"shifted", "unshifted"}, default "shifted"
        "unshifted" weighs the kernels by :math:`\operatorname{tr} K_p (I - Y (Y^\top Y)^{-1} Y^\top)`, without shift
        and fairness term. The two steps then have different objectives, and their alternation need not descend.
    init, max_iter, tol, random_state, on_single_group : as in ``FairKernelKMeans``
        The relaxed start is that of the sum of the kernels; rounds take the place of passes.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_, initial_labels_ : as in ``FairKernelKMeans``
    kernel_weights_ : ndarray of shape (m,)
        The weights, non-negative with sum 1.
    objective_, fairness_weight_ : float
        The minimised sum, and the weight of fairness used.
    history_, n_iter_ : ndarray, int
        The objective after each round, and the number of rounds.
    search_ : list of dict
        With a rule: weight, MNCE, balance, objective and rounds of every weight tried.
    converged_ : bool
        Whether the last round moved no point.
    certificate_ : Certificate
        The trace that the clusters reach on the final weighted kernel, and an upper bound from its eigenvalues: how far
        the clusters can be from the best for these kernel weights, the last step. Other weights are left out.

    Guarantees
    ----------
    With "shifted" the objective never rises from round to round, and the kernel weights are the exact minimiser for the
    final clusters. With one kernel the weights are 1 and each round is one pass of `FairKernelKMeans`.

    Complexity
    ----------
    O(m n^2) memory; a round costs O(m n^2 c).

    References
    ----------
    Zhou, Li and Du (2024), Fair Kernel K-Means: from Single Kernel to Multiple Kernel, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import FairMultipleKernelKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) * 0.2 + rng.integers(2, size=(60, 2)) * [2.0, 3.0]
    >>> groups = np.where(X[:, 1] > 1.5, "up", "down")
    >>> model = FairMultipleKernelKMeans(2, 2.0).fit(X, sensitive_features=groups)
    >>> model.kernel_weights_.shape
    (3,)
    """

    n_clusters: int = option(CLUSTERS, default=8)
    fairness_weight: float | str | WeightRule = option(WEIGHT_OR_RULE, default="auto")
    _: KW_ONLY
    kernels: str | Sequence[str | Callable] = option(MIXED, default=("linear", "polynomial", "rbf"))
    weights_from: str = option(one_of("shifted", "unshifted"), default="shifted")
    init: str | np.ndarray = option(START, default="relaxed")
    max_iter: int = option(whole(1), default=300)
    tol: float = option(number(0.0), default=1e-10)
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        self._check_options()
        rng = require_generator(self.random_state)
        stack = self._stack(X)
        n = stack[0].shape[0]
        c, codes = require_clusters(self.n_clusters, n), self._groups(sensitive_features, n)
        equal = np.full(len(stack), 1.0 / len(stack))
        start = starting_point(DenseGram(weighted(stack, equal)), self.init, c, rng)

        def solve(weight: float) -> tuple[tuple, ClusterCounts, dict]:
            found = labels, _, history, _ = self._alternate(stack, codes, start, c, weight)
            return found, self._counts(labels, codes, c), {"objective": history[-1], "n_rounds": len(history)}

        (labels, gamma, history, converged), self.fairness_weight_, self.search_ = settle(self.fairness_weight, solve)
        self._store_labels(labels, codes, c)
        self.initial_labels_, self.kernel_weights_, self.history_ = start, gamma, np.array(history)
        self.objective_, self.n_iter_, self.converged_ = history[-1], len(history), converged
        # of the final kernel, whose fairness term has the sum of the squared weights as a factor
        gram = DenseGram(weighted(stack, gamma))
        weight = self.fairness_weight_ * float((gamma**2).sum(axis=0))
        value = clustered_trace(gram, self.labels_, c) - weight * self.counts_.regulariser
        problem = "trace of the weighted kernel less the weighted regulariser, over all clusterings"
        found = certified(problem, value, deflated_bound(gram, codes, weight, c, rng), gram, weight)
        self.certificate_ = replace(found, scope="last step")
        if not converged:
            warn_caller(f"points still moved in round {self.n_iter_}, the last. Raise max_iter.", NotConvergedWarning)
        return self

    def _stack(self, X) -> np.ndarray:
        """The kernel matrices (m, n, n), checked."""
        if self.kernels != "precomputed":
            X = numeric_table(self, X).astype(np.float64, copy=False)
            m, n = len(self.kernels), len(X)
            require_memory((2 * m + 3) * 8 * n**2, f"{m} kernel matrices of {n} rows", "Use fewer rows or kernels.")
            return np.stack([self._normalised(resolve_kernel(kernel, X, gamma="scale"), X) for kernel in self.kernels])
        X = np.asarray(X)
        if X.ndim != 3 or X.shape[1] != X.shape[2] or not X.size:
            raise DataError(
                f"kernels='precomputed' and X has shape {X.shape}; needed is a stack of kernel matrices (m, n, n). For "
                "one matrix pass X[None]."
            )
        self.n_features_in_ = X.shape[1]
        # an indefinite kernel, whose h_p can be negative and then takes all the weight, is warned of
        checked = [checked_kernel(K, f"kernel {p} of the stack") for p, K in enumerate(X)]
        return X if all(np.may_share_memory(K, X) for K in checked) else np.stack(checked)

    def _normalised(self, kernel, X) -> np.ndarray:
        K = center_and_normalise(kernel.matrix(X), copy=False)
        if not kernel.is_positive:
            warn_if_indefinite(K, f"the {kernel.name} kernel")
        return K

    def _alternate(self, stack, codes, labels, n_clusters: int, weight: float) -> tuple:
        """Labels, kernel weights, the objective after each round, and whether the last one moved nothing."""
        gamma, history, moved = np.full(len(stack), 1.0 / len(stack)), [], 1
        traces = np.trace(stack, axis1=1, axis2=2, dtype=np.float64)
        shift = weight * float(np.bincount(codes).max(axis=0)) * len(codes)
        for rounds in range(1, self.max_iter + 1):
            # the squared weights scale the fairness term of every kernel alike
            gram, scale = DenseGram(weighted(stack, gamma)), float((gamma**2).sum(axis=0))
            found = row_updates(gram, codes, labels, n_clusters, weight * scale, max_sweeps=1)
            labels, moved = found.labels, found.n_moves
            Y = indicator(labels, n_clusters) / np.sqrt(np.bincount(labels, minlength=n_clusters))
            within = traces - np.array([np.einsum("nk,nk->", Y, DenseGram(K).product(Y)) for K in stack])
            h = within + fairness_part(self._counts(labels, codes, n_clusters), weight)
            gamma = kernel_weights(h if self.weights_from == "shifted" else within, float(traces.max(axis=0)) + shift)
            history.append(float((gamma**2 * h).sum(axis=0)))
            steady = rounds >= 2 and abs(history[-1] - history[-2]) < self.tol * abs(history[-1])
            if (rounds >= 3 and steady) or (moved == 0 and steady):
                break
        return labels, gamma, tuple(history), moved == 0


def weighted(stack: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    r"""The kernel :math:`\sum_p \gamma_p^2 K_p`."""
    total = np.zeros(stack[0].shape, dtype=stack[0].dtype)
    for part in gen_batches(len(total), max(1, IN_CACHE // len(total))):
        for K, share in zip(stack, gamma, strict=True):
            if share:
                total[part] += stack.dtype.type(share**2) * K[part]
    return total


def fairness_part(counts: ClusterCounts, weight: float) -> float:
    r"""What shift and fairness term add to every :math:`h_p`: :math:`\alpha (n - c) - \lambda (n - F)`."""
    alpha = weight * float(counts.group_sizes.max(axis=0))
    return alpha * (counts.n - len(counts.clusters)) - weight * (counts.n - counts.regulariser)


def kernel_weights(h: np.ndarray, size: float = 0.0) -> np.ndarray:
    r"""The minimiser of :math:`\sum_p \gamma_p^2 h_p` on the simplex, :math:`\gamma_p \propto 1 / h_p`.

    Kernels that the clusters fit exactly have :math:`h_p = 0`, up to a tiny part of ``size``, the size of the traces
    whose difference h is; they share all the weight.
    """
    fitted = h <= max(1e-13 * max(size, float(np.abs(h).max(axis=0))), 1e-300)
    if fitted.any():
        return fitted / fitted.sum(axis=0)
    gamma = h.min(axis=0) / h
    return gamma / gamma.sum(axis=0)
