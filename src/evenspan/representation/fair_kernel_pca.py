"""Fair kernel PCA (Kleindessner et al. 2023): fair PCA of the coordinates that a kernel gives to points."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ..core.accumulator import row_weights
from ..core.errors import ConfigurationError, DataError
from ..core.estimator import numeric_table
from ..core.inputs import require_generator, require_memory, warn_caller
from ..core.kernels import KernelWarning, resolve_kernel
from ..core.linalg import signs_of, top_eigenspace
from ..core.options import ATTRIBUTES, SINGLE_GROUP, Options, none, number, one_of, option, parameterised, whole
from .constraints import favourable_rows, split_attributes
from .fair_pca import FairPCA

#: Eigenvalues of a kernel matrix below this, relative to its Frobenius norm, count as zero.
RANK_CUT = 1e-10


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


@parameterised
class FairKernelPCA(Options, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Kernel PCA among the projections that give all groups the same mean.

    With the kernel matrix :math:`K` and centred group indicators as the columns of :math:`Z`,

    .. math::

        \max_A \operatorname{tr} A^\top K^2 A
        \quad \text{subject to} \quad A^\top K A = I_k, \quad Z^\top K A = 0 .

    With the coordinates :math:`K^{1/2}` of the sample in its own span this is fair PCA, and so it is computed. For two
    groups :math:`Kz` is a multiple of the witness function of their maximum mean discrepancy: it is taken out of the
    feature space, and PCA is done with what is left.

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
        answer exactly.

    Attributes
    ----------
    dual_coef_, offset_ : ndarray of shape (m, k) and (k,), with ``tradeoff`` 2k
        Coefficients A of the directions with respect to the anchors, which are the fitted rows or the landmarks, and
        what is subtracted: the output is the kernel values with the anchors times A, less the offset.
    X_fit_, kernel_, gamma_ : ndarray of shape (m, d), Kernel, float or None
        The anchors (with a precomputed kernel their positions), and the kernel with all its parameters fixed.
    eigenvalues_ : ndarray of shape (k,)
        Sum of squared coordinates of the fitted rows along each direction, decreasing.
    constraint_rank_, certificate_, group_labels_, group_counts_ : as in ``FairPCA``
        With landmarks or ``match="covariance"`` the certificate is about the last step, in what these leave.

    Guarantees
    ----------
    On the training sample the group means of the output coincide to rounding, for landmarks too, and no other k
    orthonormal directions with that property keep more, up to eigenvalues below 1e-10 of the norm of the kernel matrix,
    which count as zero. On new data the gap is of the order of one over the square root of the group sizes.

    Complexity
    ----------
    O(n^2 d + n^3) time and O(n^2) memory, as two eigendecompositions of K. With m landmarks O(n m (d + m) + m^3) time
    and O(n m) memory.

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

    n_components: int = 2
    _: KW_ONLY
    kernel: str | Callable = "rbf"
    gamma: float | str = "scale"
    kernel_params: dict | None = None
    center: str = option("overall", one_of("overall", "none"))
    match: str = option("mean", one_of("mean", "covariance"))
    covariance_fraction: float = option(0.5, number(0, 1, low_open=True))
    tradeoff: float | None = option(None, number(0, 1) | none("no second block"))
    criterion: str = option("demographic_parity", one_of("demographic_parity", "equal_opportunity"))
    positive_label: object = 1
    attributes: str = option("marginal", ATTRIBUTES)
    numeric_attributes: Sequence = ()
    on_single_group: str = option("raise", SINGLE_GROUP)
    n_landmarks: int | None = option(None, whole(1) | none("the matrix of all rows"))
    random_state: int | np.random.Generator | None = 0

    # Lets a Pipeline or a search route the groups without a call to set_fit_request.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None):
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
        X = numeric_table(self, X, dtype=np.float64, order="C")
        n = len(X)
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and X.shape != (n, n):
            raise DataError(
                f"kernel='precomputed' and X has shape {X.shape}; needed is the square kernel matrix of the fitting "
                "sample. Pass it, or choose another kernel."
            )
        weights = row_weights(sample_weight, n)
        if self.criterion == "equal_opportunity":
            groups, _ = split_attributes(sensitive_features, self.numeric_attributes)
            _, weights = favourable_rows(y, self.positive_label, groups, n, self.attributes, sample_weight)
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
        self.gamma_ = self.kernel_.gamma
        require_memory(
            8 * (4 * len(anchors) ** 2 + n * len(anchors)),
            f"fair kernel PCA of {n} rows with {len(anchors)} anchors",
            "n_landmarks=1000 represents rows by kernel values with so many of them, and needs less.",
        )
        B = kernel_coordinates(self.kernel_.matrix(X, anchors))
        self.X_fit_ = self.kernel_.anchors(X, anchors)
        T = self.kernel_.block(X, self.X_fit_) @ B
        shared = inspect.signature(FairPCA).parameters.keys() & self.get_params(deep=False).keys()
        fair = FairPCA(**{name: getattr(self, name) for name in shared})
        fair.fit(T, y, sensitive_features=sensitive_features, sample_weight=sample_weight)

        dual, offsets = [], []
        for subspace, weight in ((fair.subspace_, 1.0), (fair.standard_subspace_, self.tradeoff)):
            if subspace is not None:
                offset = subspace.mean @ subspace.V
                signs = weight * signs_of(T[anchors] @ subspace.V - offset)  # the anchors decide
                dual.append(B @ (subspace.V * signs))
                offsets.append(offset * signs)
        self.dual_coef_, self.offset_ = np.hstack(dual), np.hstack(offsets)
        self.eigenvalues_ = weights @ fair.subspace_.apply(T) ** 2
        for name in ("constraint_rank_", "certificate_", "group_labels_", "group_counts_"):
            setattr(self, name, getattr(fair, name))
        if len(anchors) < len(rows):
            self.certificate_ = replace(self.certificate_, scope="last step")
        return self

    def transform(self, X):
        """Coordinates of X along the fitted directions; groups are not needed.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Points with the features of the training sample, or their kernel values with all of its rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, 2k) with ``tradeoff``
        """
        check_is_fitted(self)
        X = numeric_table(self, X, dtype=np.float64, order="C", reset=False)
        parts = [self.kernel_.block(X[rows], self.X_fit_) @ self.dual_coef_ for rows in gen_batches(len(X), 1024)]
        return np.vstack(parts) - self.offset_

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
