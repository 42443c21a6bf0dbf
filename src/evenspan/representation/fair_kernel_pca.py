"""Fair kernel PCA (Kleindessner et al. 2023): fair PCA in the feature space of a kernel."""

import inspect
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.errors import ConfigurationError, DataError
from ..core.estimator import require_generator, validated
from ..core.groups import encode_groups
from ..core.inputs import feature_names, require_finite, require_numeric_columns
from ..core.kernels import resolve_kernel
from ..core.moments import GroupMoments
from ..core.running import row_weights
from .constraints import favourable_rows, split_attributes
from .fair_pca import FairPCA
from .kernel_space import landmark_directions, leading_directions, unit_columns


class FairKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Kernel PCA among the projections that give all groups the same mean.

    With the kernel matrix :math:`K` and centred group indicators as the columns of :math:`Z`,

    .. math::

        \max_A \operatorname{tr} A^\top K^2 A
        \quad \text{subject to} \quad A^\top K A = I_k, \quad Z^\top K A = 0 .

    This is plain kernel PCA of the deflated matrix :math:`K - KZ (Z^\top K Z)^+ Z^\top K`. For two groups,
    :math:`Kz` is a multiple of the witness function of their maximum mean discrepancy (MMD), so that the method takes
    the witness out of the feature space and does PCA with what is left.

    Parameters
    ----------
    n_components : int, default 2
        The number of components k, at most the rank of the deflated kernel matrix.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default "rbf"
        A callable gets two tables of points and returns their kernel values (n, m). With "precomputed", X is the
        kernel matrix, in ``transform`` the values between new points and all rows that ``fit`` was given.
    gamma : {"scale", "auto"} or float, default "scale"
        The factor in "rbf", "polynomial" and "sigmoid". "scale" is 1 / (d v), where v is the variance of all entries
        of the fitted rows pooled; "auto" is 1 / d. Larger tells closer points apart.
    degree : int, default 3
        The power of "polynomial".
    coef0 : float, default 1.0
        The constant of "polynomial" and "sigmoid".
    center : bool, default True
        Centre in feature space. False, as the authors do, takes second moments about zero.
    match : {"mean", "covariance"}, default "mean"
        "covariance" keeps only the directions of the feature space (as far as the data span it) in which the group
        covariances disagree least, then the most variance among those.
    covariance_fraction : float, default 0.5
        With ``match="covariance"``: the share of the directions to keep, in (0, 1].
    tradeoff : float in [0, 1], optional
        Append the k coordinates of standard kernel PCA, multiplied by ``tradeoff ** tradeoff_power``; the output then
        has 2k columns, and only the first k carry the guarantee.
    tradeoff_power : float, default 1
        1 is the paper, 3 is the authors' program.
    criterion : {"demographic_parity", "equal_opportunity"}, default "demographic_parity"
        "equal_opportunity" fits everything, ``gamma`` too, on the rows with ``y == positive_label`` only.
    positive_label : default 1
        The favourable value of y.
    attributes : {"marginal", "intersection"}, default "marginal"
        With several attributes: equal means for the groups of each attribute by itself, or for each combination of
        values.
    numeric_attributes : sequence of column names or positions, default ()
        Columns of ``sensitive_features`` that are quantities, not groups: every output becomes uncorrelated with them.
    n_landmarks : int, optional
        Represent points by their kernel values with so many random rows of the fitting sample, and never form the
        kernel matrix of all rows. More is closer to the full answer; all rows give it exactly.
    random_state : int, default 0
        Decides which rows are landmarks.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do when there is one group only; with "warn" the answer is standard kernel PCA.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, k)
        Coefficients A of the directions with respect to ``X_fit_``.
    X_fit_ : ndarray of shape (m, d)
        The fitted rows with positive weight, or the landmarks among them; their positions with a precomputed kernel.
    eigenvalues_ : ndarray of shape (k,)
        Sum of squared coordinates of the fitted rows along each direction, decreasing.
    gamma_ : float or None
        The factor used.
    rank_ : int
        The largest possible k: how many eigenvalues of the deflated kernel matrix exceed 1e-10 times its norm.
    constraint_rank_ : int
        How many directions the constraints remove.
    certificate_ : Certificate
        Objective, upper bound and constraint residual. The bound is the sum of the k largest eigenvalues of the
        deflated matrix, computed apart from the directions. With landmarks or ``match="covariance"`` it is about the
        directions that these leave.
    directions_, standard_directions_ : KernelDirections
        The answer, and standard kernel PCA on the same rows (None without ``tradeoff``).
    tradeoff_weight_ : float or None
        What the coordinates of standard kernel PCA are multiplied by.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups of the fitting sample.

    Guarantees
    ----------
    On the fitting sample the group means of the output coincide to rounding, for landmarks too, and no other k
    orthonormal directions with that property keep more. Means that differ by less than 1e-10 of the size of the data in
    feature space count as equal. Nothing is promised about functions of the output that are not linear, and on new data
    the gap is of the order of one over the square root of the group sizes.

    Complexity
    ----------
    O(n^2 d + n^3) time and O(n^2) memory, less than one full eigendecomposition of K for small k. With m landmarks
    O(n m (d + m) + m^3) time and O(G m^2) memory beyond the data and one block.

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

    # Lets a Pipeline or a search route the groups without a call to set_fit_request.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    def __init__(
        self,
        n_components=2,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        center=True,
        match="mean",
        covariance_fraction=0.5,
        tradeoff=None,
        tradeoff_power=1,
        criterion="demographic_parity",
        positive_label=1,
        attributes="marginal",
        numeric_attributes=(),
        n_landmarks=None,
        random_state=0,
        on_single_group="raise",
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.match = match
        self.covariance_fraction = covariance_fraction
        self.tradeoff = tradeoff
        self.tradeoff_power = tradeoff_power
        self.criterion = criterion
        self.positive_label = positive_label
        self.attributes = attributes
        self.numeric_attributes = numeric_attributes
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.on_single_group = on_single_group

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None):
        """Fit to data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features, or the kernel matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,), optional
            Needed with ``criterion="equal_opportunity"`` only.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row: strings, booleans or whole numbers; p columns are p attributes.
        sample_weight : array-like of shape (n,), optional
            Non-negative frequency weights.

        Returns
        -------
        self
        """
        # Fair PCA with the same options: it checks them, and does the work in the feature space of landmarks.
        shared = inspect.signature(FairPCA).parameters.keys() & self.get_params(deep=False).keys()
        linear = FairPCA(**{name: getattr(self, name) for name in shared})
        linear._require_options()
        names = feature_names(X)
        X = self._table(X, reset=True, ensure_all_finite=False)
        # A missing, infinite or too large entry shows in the sum of squares of its column.
        with np.errstate(over="ignore", invalid="ignore"):
            require_finite(np.einsum("nd,nd->d", X, X)[None], np.zeros((1, 1, 1)), X, names)
        n, d = X.shape
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and n != d:
            raise DataError(
                f"kernel='precomputed' and X has shape {X.shape}; needed is the square kernel matrix of the fitting "
                "sample. Pass it, or choose another kernel."
            )
        groups, quantities = split_attributes(sensitive_features, self.numeric_attributes)
        weights = row_weights(sample_weight, n)
        if self.criterion == "equal_opportunity":
            marginal = self.attributes == "marginal"
            groups, weights = favourable_rows(
                y, self.positive_label, groups, n, marginal=marginal, sample_weight=weights
            )
        weights = np.ones(n) if weights is None else weights
        counted = GroupMoments.from_data(np.zeros((n, 1)), groups, weights)
        linear._require_groups(counted.cells() if self.attributes == "intersection" else counted)
        self.group_labels_, self.group_counts_ = counted.labels, counted.counts
        self.tradeoff_weight_ = None if self.tradeoff is None else self.tradeoff**self.tradeoff_power

        rows = np.flatnonzero(weights)
        labels, codes = encode_groups(groups, n)
        weights, codes = weights[rows], codes[rows]
        self._kernel = resolve_kernel(
            self.kernel, X[rows], weights, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        self.gamma_ = self._kernel.gamma
        quantities = unit_columns(np.zeros((len(rows), 0)) if quantities is None else quantities[rows], weights)
        if self.n_landmarks is None and self.match == "mean":
            anchors = rows
            Z = np.hstack([unit_columns(indicators(labels, codes, self.attributes), weights), quantities])
            K = self._kernel.matrix(X, rows)
            options = {"center": self.center, "d": d}
            found = leading_directions(K, weights, Z, self.n_components, **options)
            self.directions_, self.rank_, self.constraint_rank_ = found
            self.standard_directions_ = None
            if self.tradeoff is not None:
                self.standard_directions_, *_ = leading_directions(K, weights, Z[:, :0], self.n_components, **options)
        else:
            anchors = self._landmarks(rows)
            sample = (rows, labels[codes], weights, quantities)
            found = landmark_directions(self._kernel, X, anchors, sample, linear)
            self.directions_, self.standard_directions_, self.rank_ = found
            self.constraint_rank_ = linear.constraint_rank_
        self.X_fit_ = self._kernel.anchors(X, anchors)
        self.dual_coef_ = self.directions_.coef
        self.eigenvalues_ = self.directions_.eigenvalues
        self.certificate_ = self.directions_.certificate
        return self

    def transform(self, X):
        """Coordinates of X along the fitted directions; groups are not needed.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Points with the features of the fitting sample, or their kernel values with all of its rows.

        Returns
        -------
        ndarray of shape (n, k), or (n, 2k) with ``tradeoff``
        """
        check_is_fitted(self)
        X = self._table(X, reset=False)
        T = np.empty((len(X), self._n_features_out))
        k = self.dual_coef_.shape[1]
        for part, block in self._kernel.blocks(X, self.X_fit_):
            T[part, :k] = self.directions_.apply(block)
            if self.standard_directions_ is not None:
                T[part, k:] = self.tradeoff_weight_ * self.standard_directions_.apply(block)
        return T

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1] * (1 if self.standard_directions_ is None else 2)

    def _landmarks(self, rows: np.ndarray) -> np.ndarray:
        if self.n_landmarks is None:
            return rows
        m = self.n_landmarks
        if not isinstance(m, Integral) or isinstance(m, bool) or not 1 <= m <= len(rows):
            raise ConfigurationError(
                f"n_landmarks={m!r}; needed is None or a whole number from 1 to {len(rows)}, the fitted rows."
            )
        return np.sort(require_generator(self.random_state).choice(rows, size=m, replace=False))

    def _table(self, X, *, reset: bool, **checks) -> np.ndarray:
        require_numeric_columns(X)
        return validated(self, X, dtype=np.float64, reset=reset, **checks)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def indicators(labels: np.ndarray, codes: np.ndarray, attributes: str) -> np.ndarray:
    """Indicator columns (n, sum of group counts) of the groups of each attribute, or of their combinations."""
    names = labels.dtype.names
    if names is None or attributes == "intersection":
        parts = [codes]
    else:
        parts = [np.unique(labels[name], return_inverse=True)[1][codes] for name in names]
    return np.hstack([(part[:, None] == np.arange(part.max() + 1)).astype(np.float64) for part in parts])
