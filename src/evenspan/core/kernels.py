"""Kernels: a frozen value that knows its parameters and computes blocks of kernel matrices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from .errors import ConfigurationError, DataError, FairWarning
from .inputs import SMALLEST, warn_caller
from .linalg import require_symmetric
from .options import GAMMA

FUNCTIONS = {"rbf": rbf_kernel, "polynomial": polynomial_kernel, "sigmoid": sigmoid_kernel, "linear": linear_kernel}
KERNELS = (*FUNCTIONS, "precomputed")

#: The median of so many distances between points is exact; of more it is that of ``DRAWN`` points.
PAIRS, DRAWN = 2**24, 2000


class KernelWarning(FairWarning):
    """A kernel matrix is not positive semidefinite: the message says what still holds."""


@dataclass(frozen=True, eq=False)
class Kernel:
    r"""A kernel with all its parameters fixed.

    .. math::

        e^{-\gamma \|x - y\|^2}, \quad (\gamma\, x^\top y + c)^p, \quad \tanh(\gamma\, x^\top y + c), \quad x^\top y .

    Parameters
    ----------
    name : str
        One of ``KERNELS``, or "callable".
    params : mapping
        ``gamma``, ``degree`` (p) and ``coef0`` (c), as scikit-learn's functions take them.
    origin : ndarray of shape (d,) or float
        Subtracted from all points first: differences of points far from zero keep their digits.
    function : callable, optional
        For "callable": ``function(X, Y)`` gives the block of shape (n, m).
    """

    name: str
    params: Mapping[str, float] = field(default_factory=dict)
    origin: np.ndarray | float = 0.0
    function: Callable | None = None

    @property
    def gamma(self) -> float | None:
        return self.params.get("gamma")

    @property
    def is_positive(self) -> bool:
        """Whether every kernel matrix is known to be positive semidefinite."""
        degree, constant = self.params.get("degree", 3), self.params.get("coef0", 1.0)
        power = degree >= 0 and degree == int(degree) and constant >= 0  # a sum of products of kernels
        return self.name in ("rbf", "linear") or (self.name == "polynomial" and power)

    def anchors(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """What ``block`` needs to know of some rows of the training sample: the points, or their positions in it."""
        return rows if self.name == "precomputed" else X[rows]

    def block(self, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Kernel values (n, m) between the rows of X and the anchors."""
        if self.name == "precomputed":
            return X[:, anchors]
        if self.name == "callable":
            values = np.asarray(self.function(X, anchors), dtype=np.float64)
            if values.shape != (len(X), len(anchors)):
                raise DataError(
                    f"the kernel function returned shape {values.shape} for {len(X)} and {len(anchors)} points; "
                    f"needed is {(len(X), len(anchors))}. It is called with two tables of points, not with two points."
                )
        else:
            values = FUNCTIONS[self.name](X - self.origin, anchors - self.origin, **self.params)
        if not np.isfinite(values).all():
            raise DataError(
                f"the {self.name} kernel has NaN or infinite values on these data. Rescale the features, or choose a "
                "smaller gamma or degree."
            )
        return values

    def matrix(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The symmetric kernel matrix of some rows of the training sample, or of all: X itself where it was given."""
        if rows is not None or self.name != "precomputed":
            rows = np.arange(len(X)) if rows is None else rows
            X = self.block(X[rows], self.anchors(X, rows))
        return require_symmetric(X, f"the {self.name} kernel")


def resolve_kernel(kernel, X: np.ndarray, weights: np.ndarray | None = None, *, gamma, params=None) -> Kernel:
    """The kernel with its parameters checked, and ``gamma`` computed from the rows of X, each with its weight."""
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ConfigurationError(
            f"kernel={kernel!r}; needed is one of {', '.join(KERNELS)}, or a function of two tables of points."
        )
    params = {} if params is None else dict(params)
    known = {"polynomial": {"degree", "coef0"}, "sigmoid": {"coef0"}}.get(kernel, set())
    if not params.keys() <= known or not all(isinstance(value, Real) for value in params.values()):
        raise ConfigurationError(
            f"kernel_params={params} with kernel={kernel!r}; needed are numbers for some of {sorted(known)}."
        )
    if kernel in ("linear", "precomputed"):
        return Kernel(kernel)
    mean = np.average(X, axis=0, weights=weights)
    # Distances do not depend on where zero lies, and keep their digits about the mean; inner products do.
    return Kernel(kernel, {"gamma": resolve_gamma(gamma, X, weights)} | params, mean if kernel == "rbf" else 0.0)


def resolve_gamma(gamma, X: np.ndarray, weights: np.ndarray | None = None) -> float:
    """``gamma`` as a number: "scale" is 1 / (d v), v being the variance of all entries of X pooled; "auto" is 1 / d."""
    d = X.shape[1]
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / d
    if isinstance(gamma, str) and gamma == "scale":
        centre = np.average(X, axis=0, weights=weights)
        variance = float(np.average((X - centre) ** 2, axis=0, weights=weights).mean(axis=0) + np.var(centre, axis=0))
        if variance <= max((1e-12 * float(np.abs(centre).max(initial=0.0))) ** 2, SMALLEST**2):
            raise ConfigurationError(
                f"all entries of the fitted rows equal {centre[0]:.6g}, so gamma='scale', which is 1 / (features times "
                "their variance), does not exist. Give gamma as a number, or gamma='auto'."
            )
        return 1.0 / (d * variance)
    return float(GAMMA.require("gamma", gamma))


def median_bandwidth(E: np.ndarray) -> float:
    r"""The bandwidth :math:`\sigma = \sqrt{\operatorname{median}_{i<j} \lVert e_i - e_j \rVert^2 / 2}`.

    Parameters
    ----------
    E : ndarray of shape (n, k)
        An embedding. The published tables use standard PCA of the training part.

    Returns
    -------
    float

    Notes
    -----
    The median is exact up to 16 million distances (5,793 points); of more points 2,000 are drawn, always the same. If
    more than half of the distances are zero, the mean of the others takes the place of the median, with a warning.

    References
    ----------
    Lee et al. (2022), as used for the table of Kleindessner et al. (2023).

    Examples
    --------
    >>> import numpy as np
    >>> median_bandwidth(np.array([[0.0], [2.0]]))
    1.4142135623730951
    """
    if len(E) < 2:
        raise DataError(f"a bandwidth needs at least 2 points; there are {len(E)}.")
    if len(E) * (len(E) - 1) // 2 > PAIRS:
        E = np.random.default_rng(0).choice(E, DRAWN, replace=False)
    squares = pdist(E, "sqeuclidean")
    middle = float(np.median(squares, axis=0))
    if middle == 0.0:
        if not squares.any():
            raise DataError("all points are equal, so no bandwidth exists. Give one explicitly.")
        middle = float(squares[squares > 0].mean(axis=0))
        warn_caller("more than half of the distances are zero; the bandwidth uses the mean of the others.")
    return float(np.sqrt(middle / 2.0))
