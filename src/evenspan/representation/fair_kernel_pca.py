"""Fair kernel PCA (Kleindessner et al. 2023): kernel PCA of what is left of a kernel without the gaps of the groups."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Self

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import ArpackError
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..core.accumulator import row_weights
from ..core.answer import Certificate
from ..core.errors import ConfigurationError, DataError
from ..core.estimator import FairTransformer, numeric_table
from ..core.groups import encode_groups
from ..core.inputs import require_generator, require_memory, warn_caller
from ..core.kernels import Kernel, KernelWarning, resolve_kernel
from ..core.linalg import leading_eigenpairs, signs_of, span, top_eigenspace
from ..core.moments import GroupMoments
from ..core.options import (
    ATTRIBUTES,
    DIMENSIONS,
    GAMMA,
    KERNEL,
    QUANTITIES,
    SEED,
    SINGLE_GROUP,
    Option,
    anything,
    none,
    number,
    one_of,
    option,
    parameterised,
    whole,
)
from .constraints import centred_columns, codes_by_attribute, favourable_rows, require_groups, split_attributes
from .fair_pca import NOTHING, FairPCA

#: Eigenvalues below this, relative to the Frobenius norm of a kernel matrix or to its trace, count as zero.
RANK_CUT = 1e-10
#: Up to so many rows the matrix is decomposed whole.
FEW = 20


def is_semidefinite(K: np.ndarray) -> bool:
    """Whether the symmetric K, raised by what counts as zero, has a Cholesky factorisation."""
    M = np.array(K, order="F")
    M[np.diag_indices(len(M))] += RANK_CUT * np.linalg.norm(K)
    return lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)[1] == 0


def leading_directions(
    K: np.ndarray, Z: np.ndarray, s: np.ndarray, k: int, center: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, Certificate] | None:
    """The k best directions among those with Z'KA = 0: coefficients A (n, k), products KA (n, k), and a certificate.

    K (n, n) is positive semidefinite, Z (n, r) is centred, and s (n,) holds the roots of the row weights. None where
    an eigenvalue of Z'KZ, or one of the k that are kept, is too near to zero for it.
    """
    # With a basis Z for which Z'KZ = I the points without the mean differences have the kernel matrix K - WW'.
    size, given = float(s**2 @ K.diagonal()), Z
    gaps, basis = np.linalg.eigh(Z.T @ (K @ Z))
    if (gaps <= RANK_CUT * size).any():
        return None
    Z = Z @ (basis / np.sqrt(gaps))
    W = K @ Z

    # Its kernel PCA: eigenvectors Q, of rows times s, less their mean. No matrix is formed.
    s, unit = s[:, None], s[:, None] / np.linalg.norm(s) * (center == "overall")

    def centred(V: np.ndarray) -> np.ndarray:
        return V - unit * (unit.T @ V)

    def product(V: np.ndarray) -> np.ndarray:
        V = s * centred(V)
        return centred(s * (K @ V - W @ (W.T @ V)))

    try:
        values, Q = leading_eigenpairs(product, len(K), k, rng, dense=FEW)
    except ArpackError:
        return None
    if values[-1] <= RANK_CUT * size:
        return None
    A = (s * Q - Z @ (W.T @ (s * Q))) / np.sqrt(values)

    # What is proved: lengths, equal means, and k eigenvalues within the residuals; not that none is larger.
    E = K @ A
    T = centred(s * E)
    reached, rest = float((T**2).sum(axis=None)), float(np.linalg.norm(np.sqrt(values) * T - values * Q))
    violation = float(np.abs(given.T @ E).max(initial=0.0)) / np.sqrt(size)
    violation = max(violation, float(np.abs(A.T @ E - np.eye(k)).max()))
    problem = "trace of A'K^2A over A'KA = I with equal group means, near the eigenvectors found"
    return A, E, Certificate(problem, reached, reached + k * rest, violation)


def kernel_coordinates(K: np.ndarray) -> np.ndarray:
    r"""The matrix B (m, r), such that a point with kernel values k (m,) with the anchors has the coordinates B'k.

    With :math:`K = U \Lambda U^\top` of rank r, :math:`B = U \Lambda^{-1/2}`: the anchors have the coordinates
    :math:`K B`, whose inner products are K, in the span of the anchors; of other points it is the projection.
    """
    values, vectors = top_eigenspace(K, len(K))
    size = float(np.linalg.norm(values))
    if values[-1] < -RANK_CUT * size:
        warn_caller(
            f"the kernel matrix has a negative eigenvalue ({values[-1] / size:.3g} of its norm): no feature space has "
            "it, and another answer may keep more. Use a positive semidefinite kernel, such as 'rbf'.",
            KernelWarning,
        )
    kept = values > RANK_CUT * size
    if not kept.any():
        raise DataError("the kernel matrix has no positive eigenvalue. Check the kernel and the data.")
    return vectors[:, kept] / np.sqrt(values[kept])


class KernelMap(FairTransformer):
    """Base of the methods that map rows by kernel values with anchors, once or several times in turn."""

    @abstractmethod
    def _maps(self) -> Iterable[tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]]:
        """Kernel, anchors, coefficients and offset of each map."""

    def transform(self, X) -> np.ndarray:
        """Coordinates of X along the fitted directions; groups are not needed.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Points with the features of the training sample, or their kernel values with all of its rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, 2k) where there is a ``tradeoff``
        """
        check_is_fitted(self)
        return self._given(self._mapped(numeric_table(self, X, dtype=np.float64, order="C", reset=False)))

    def _mapped(self, T: np.ndarray) -> np.ndarray:
        for kernel, anchors, A, offset in self._maps():
            T = np.vstack([kernel.block(T[rows], anchors) @ A - offset for rows in gen_batches(len(T), 1024)])
        return T


#: Parameters of a kernel by name, and of how many rows the kernel matrix is.
PARAMS = Option(lambda value: isinstance(value, Mapping), "a dict of numbers") | none("the defaults")
LANDMARKS = whole(1) | none("the matrix of all rows")


@parameterised
class FairKernelPCA(KernelMap):
    r"""Kernel PCA among the projections that give all groups the same mean.

    With the kernel matrix :math:`K` and centred group indicators as the columns of :math:`Z`,

    .. math::

        \max_A \operatorname{tr} A^\top K^2 A
        \quad \text{subject to} \quad A^\top K A = I_k, \quad Z^\top K A = 0 .

    It is kernel PCA of the Schur complement :math:`K - K Z (Z^\top K Z)^+ Z^\top K`, which is the kernel matrix of the
    points without the mean differences. For two groups :math:`Kz` is a multiple of the witness function of their
    maximum mean discrepancy: it is taken out of the feature space, and PCA is done with what is left.

    Parameters
    ----------
    n_components : int, default 2
        The number of components k, at most the rank of the kernel matrix less that of the constraints.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default "rbf"
        A callable gets two tables of points and returns their kernel values (n, m). With "precomputed", X is the
        kernel matrix, in ``transform`` the values between new points and all rows that ``fit`` was given.
    gamma, kernel_params : {"scale", "auto"} or float, default "scale", and dict, optional
        The factor in "rbf", "polynomial" and "sigmoid", larger where close points are to be told apart: "scale" is
        1 / (d v) with the variance v of all entries of the fitted rows pooled, "auto" 1 / d. And ``degree`` (3) and
        ``coef0`` (1) of "polynomial", ``coef0`` of "sigmoid".
    center, match, covariance_fraction, tradeoff, criterion, positive_label : as in ``FairPCA``
        The same in feature space, as far as the data span it; with ``criterion="equal_opportunity"`` ``gamma`` and
        anchors are of favourable rows.
    attributes, numeric_attributes, on_single_group : as in ``FairPCA``
        What is compared, and the quantities that every output becomes uncorrelated with.
    n_landmarks, random_state : int, optional, and int, Generator or None, default 0
        Represent points by their kernel values with so many random rows of the training sample; all rows give the full
        answer exactly. The generator draws the landmarks, or the vector from which Lanczos steps start.

    Attributes
    ----------
    dual_coef_, offset_ : ndarray of shape (m, k) and (k,), with ``tradeoff`` 2k
        Coefficients A of the directions with respect to the anchors, which are the fitted rows or the landmarks, and
        what is subtracted: the output is the kernel values with the anchors times A, less the offset.
    X_fit_, kernel_, gamma_ : ndarray of shape (m, d), Kernel, float or None
        The anchors (with a precomputed kernel their positions), and the kernel with all its parameters fixed.
    eigenvalues_ : ndarray of shape (k,)
        Sum of squared coordinates of the fitted rows along each direction, decreasing.
    rank_removed_, group_labels_, group_counts_ : as in ``FairPCA``
        The number of directions that the constraints remove, and the groups.
    certificate_ : Certificate
        Of the last step. After Lanczos steps its bound is what k eigenvalues within the residuals can add up to, and in
        coordinates the largest sum of k eigenvalues there.

    Guarantees
    ----------
    On the training sample the group means of the output coincide to rounding, for landmarks too, and the directions are
    eigenvectors of the Schur complement. That no other k orthonormal directions with equal means keep more is not
    proved: Lanczos steps can overlook an eigenvector, though from a random start they hardly do. A kernel that is not
    positive semidefinite, landmarks and ``match="covariance"`` take coordinates of the points in their own span, where
    eigenvalues of K below 1e-10 of its norm count as zero, and where the best directions are proved to be found. On new
    data the gap is of the order of one over the square root of the group sizes.

    Complexity
    ----------
    O(n^2 (d + p)) time for p products of K with a vector, some dozens as a rule, and no memory of order n^2 but K. A
    kernel that is not known to be positive semidefinite is tried first by a Cholesky factorisation of a copy, O(n^3)
    time. In coordinates O(n^3) time, as two eigendecompositions of K; with m landmarks O(n m (d + m) + m^3) time and
    O(n m) memory.

    References
    ----------
    Kleindessner, Donini, Russell and Zafar (2023), the section on fair kernel PCA, whose generalised eigenvalue
    problem has the same solutions. Gretton et al. (2012), A kernel two-sample test, for the witness function.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) + np.outer(sex == "m", [3, 1, 0, 0])
    >>> T = FairKernelPCA(2).fit_transform(X, sensitive_features=sex)
    >>> bool(np.allclose(T[sex == "f"].mean(axis=0), T[sex == "m"].mean(axis=0)))
    True
    """

    n_components: int = option(DIMENSIONS, default=2)
    _: KW_ONLY
    kernel: str | Callable = option(KERNEL, default="rbf")
    gamma: float | str = option(GAMMA, default="scale")
    kernel_params: dict | None = option(PARAMS, default=None)
    center: str = option(one_of("overall", "none"), default="overall")
    match: str = option(one_of("mean", "covariance"), default="mean")
    covariance_fraction: float = option(number(0, 1, low_open=True), default=0.5)
    tradeoff: float | None = option(number(0, 1) | none("no second block"), default=None)
    criterion: str = option(one_of("demographic_parity", "equal_opportunity"), default="demographic_parity")
    positive_label: object = option(anything("a value of y"), default=1)
    attributes: str = option(ATTRIBUTES, default="marginal")
    numeric_attributes: Collection = option(QUANTITIES, default=())
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    n_landmarks: int | None = option(LANDMARKS, default=None)
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features, or the kernel matrix (n, n) with ``kernel="precomputed"``.
        y, sensitive_features, sample_weight : as in ``FairPCA.fit``
            The target, for ``criterion="equal_opportunity"`` only; the groups, and frequency weights.

        Returns
        -------
        self
        """
        self._check_options()
        rng = require_generator(self.random_state)
        X = self._seen(numeric_table(self, X, order="C")).astype(np.float64, copy=False)
        n = len(X)
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and X.shape != (n, n):
            raise DataError(
                f"kernel='precomputed' and X has shape {X.shape}; needed is the square kernel matrix of the fitting "
                "sample. Pass it, or choose another kernel."
            )
        groups, quantities = split_attributes(sensitive_features, self.numeric_attributes)
        weights = row_weights(sample_weight, n)
        if self.criterion == "equal_opportunity":
            groups, weights = favourable_rows(y, self.positive_label, groups, n, self.attributes, sample_weight)
        weights = np.ones(n) if weights is None else weights
        rows = anchors = np.flatnonzero(weights)
        if not len(rows):
            raise DataError("all weights are zero; needed is at least one row with a positive weight.")
        if self.n_landmarks is not None:
            if self.n_landmarks > len(rows):
                raise ConfigurationError(f"n_landmarks={self.n_landmarks}; the sample has {len(rows)} fitted rows.")
            anchors = np.sort(rng.choice(rows, size=self.n_landmarks, replace=False))
        self.kernel_ = resolve_kernel(self.kernel, X, weights, gamma=self.gamma, params=self.kernel_params)
        if self.kernel_.name == "linear" and self.center == "overall":
            # Far from zero products keep no digits of what is to be compared.
            self.kernel_ = replace(self.kernel_, origin=np.average(X, axis=0, weights=weights))
        self.gamma_, self.X_fit_ = self.kernel_.gamma, self.kernel_.anchors(X, anchors)
        # Landmarks, directions chosen by covariance, and a kernel matrix that is indefinite take coordinates.
        m, k, positive = len(anchors), self.n_components, self.kernel_.is_positive
        counted = isinstance(k, Integral) and not isinstance(k, bool) and 1 <= k <= len(rows)
        lanczos = counted and self.match == "mean" and m == len(rows)
        require_memory(
            8 * ((1 if lanczos and positive else 4) * m**2 + (m < n) * n * m),
            f"fair kernel PCA of {n} rows with {m} anchors",
            "n_landmarks=1000 represents rows by kernel values with so many of them, and needs less.",
        )
        if positive:
            K = self.kernel_.block(self.X_fit_, self.X_fit_)
        else:
            K = self.kernel_.matrix(X, None if m == n else anchors)
        found = None
        if lanczos and (positive or is_semidefinite(K)):
            found = self._by_lanczos(K, groups, quantities, weights, rng)
        if found is None:
            B = kernel_coordinates(K)
            T = (K if m == n else self.kernel_.block(X, self.X_fit_)) @ B
            shared = inspect.signature(FairPCA).parameters.keys() & self.get_params(deep=False).keys()
            fair = FairPCA(**{name: getattr(self, name) for name in shared})
            fair.fit(T, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
            V = np.hstack([one.V for one in (fair.subspace_, fair.standard_subspace_) if one is not None])
            found = B @ V, T[rows] @ V, fair.subspace_.mean @ V
            self.certificate_ = replace(fair.certificate_, scope="last step")
            for name in ("rank_removed_", "group_labels_", "group_counts_"):
                setattr(self, name, getattr(fair, name))

        A, E, offset = found
        self.eigenvalues_ = weights[rows] @ (E - offset)[:, :k] ** 2
        signs = signs_of((E - offset)[np.searchsorted(rows, anchors)])  # the anchors decide
        signs[k:] *= self.tradeoff or 0.0
        self.dual_coef_, self.offset_ = A * signs, offset * signs
        return self

    def _by_lanczos(self, K, groups, quantities, weights, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Coefficients A of both blocks, products KA and their offset; None where that takes coordinates."""
        n, rows = len(weights), np.flatnonzero(weights)
        moments, (labels, codes) = GroupMoments.from_data(np.zeros((n, 1)), groups, weights), encode_groups(groups, n)
        columns = [np.eye(part.max() + 1)[part] for part in codes_by_attribute(labels, codes, self.attributes)]
        columns = np.hstack(columns if quantities is None else [*columns, quantities])
        s = np.sqrt(weights[rows])
        Z = s[:, None] * span(centred_columns(columns, weights)[rows] / s[:, None])
        constraints = [Z] if self.tradeoff is None else [Z, Z[:, :0]]
        blocks = [leading_directions(K, one, s, self.n_components, self.center, rng) for one in constraints]
        if any(block is None for block in blocks):
            return None
        if quantities is None:
            labels = moments.cells().labels if self.attributes == "intersection" else labels
            require_groups(labels, self.on_single_group, NOTHING)
        self.rank_removed_, self.certificate_ = Z.shape[1], blocks[0][2]
        self.group_labels_, self.group_counts_ = moments.labels, moments.counts
        A, E = (np.hstack([block[i] for block in blocks]) for i in (0, 1))
        return A, E, (s**2 / (s @ s)) @ E * (self.center == "overall")

    def _maps(self):
        return [(self.kernel_, self.X_fit_, self.dual_coef_, self.offset_)]

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
