"""Fair kernel PCA (Kleindessner et al. 2023): fair PCA in the feature space of a kernel."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.accumulator import row_weights
from ..core.answer import BLOCK, Certificate
from ..core.containers import to_numpy
from ..core.errors import ConfigurationError, DataError, FairWarning, NotSolvedError
from ..core.estimator import require_components, require_generator, validated, warn_caller
from ..core.groups import encode_groups
from ..core.inputs import feature_names, require_numeric_columns, require_points
from ..core.kernels import RANK_CUT, Kernel, of_ordinary_size, require_digits, resolve_kernel
from ..core.limits import require_memory
from ..core.linalg import signs_of, symmetrise, top_eigenspace
from ..core.moments import GroupMoments
from ..core.options import Option, Options, whole
from ..core.units import multiplied
from .constraints import fair_basis, favourable_rows, indicators, mean_constraints, split_attributes, unit_columns
from .fair_pca import FairPCA


class IndefiniteKernelWarning(FairWarning):
    """A kernel matrix has negative eigenvalues: no feature space belongs to it."""


@dataclass(frozen=True, eq=False)
class KernelDirections:
    """Directions in feature space as combinations of anchors; they can apply themselves and nothing else."""

    coef: np.ndarray  # (m, k) coefficients A of orthonormal directions, A'KA = I for the kernel matrix K of the anchors
    offset: np.ndarray  # (k,) subtracted from the coordinates: those of the mean, or zero
    eigenvalues: np.ndarray  # (k,) the objective along each direction
    certificate: Certificate

    def apply(self, block: np.ndarray) -> np.ndarray:
        """Coordinates (n, k) of points from their kernel values (n, m) with the anchors."""
        return block @ self.coef - self.offset

    def multiplied(self, exponent: int) -> "KernelDirections":
        """Those of a kernel that is ``4**exponent`` times as large, whose coordinates are ``2**exponent`` times so."""
        return KernelDirections(
            multiplied(self.coef, exponent, -1),
            multiplied(self.offset, exponent),
            multiplied(self.eigenvalues, exponent, 2),
            multiplied(self.certificate, exponent),
        )


def witnesses(K: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns B (n, r) with B'KB = I, such that Z'Ka = 0 where (KB)'a = 0; and KB.

    With one centred indicator z, Kz is, up to its length, the witness function of the maximum mean discrepancy of the
    two groups, evaluated on the sample.
    """
    nothing = np.zeros((len(K), 0))
    size = float(np.linalg.norm(K))
    if Z.shape[1] == 0 or not Z.any() or size == 0:
        return nothing, nothing
    # An orthonormal basis first: dependent columns must not be told apart by rounding in their products.
    Q, T, _ = linalg.qr(Z, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(T))
    Q = Q[:, : int((pivots > RANK_CUT * pivots[0]).sum(axis=0))]
    values, vectors = linalg.eigh(symmetrise(Q.T @ K @ Q))
    if values[0] < -RANK_CUT * size:
        raise DataError(
            "in this kernel the squared distance between group means is negative "
            f"({values[0] / size:.3g} of the norm of the matrix), so that equal means say nothing. Use a positive "
            "semidefinite kernel, such as 'rbf'."
        )
    if values[0] > 1e-8 * size:
        B = (Q @ vectors) / np.sqrt(values)
        return B, K @ B
    # Means that are almost equal: products know their distance to half the digits only, coordinates to all of them.
    spectrum, U = top_eigenspace(K, len(K))
    kept = spectrum > RANK_CUT * size
    roots, U = np.sqrt(spectrum[kept]), U[:, kept]
    P, lengths, _ = linalg.svd(roots[:, None] * (U.T @ Q), full_matrices=False, check_finite=False)
    P = P[:, lengths > 1e-10 * np.sqrt(size)]
    return (U / roots) @ P, (U * roots) @ P


def leading_pairs(H: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All eigenvalues of the symmetric H in decreasing order, and the k leading ones with their eigenvectors.

    The eigenvalues come from a computation without vectors, which costs a third. The vectors of large matrices come
    from Lanczos iterations, which may miss a repeated eigenvalue; their sum beside that of all eigenvalues shows it.
    """
    n = len(H)
    values = linalg.eigvalsh(H, driver="evd", check_finite=False)[::-1]
    if n >= 500 and 20 * k <= n:
        try:
            # The start is fixed, so that equal data give equal answers; it may not be constant, which centring removes.
            theta, vectors = eigsh(H, k, which="LA", v0=np.random.default_rng(0).normal(size=n))
        except ArpackError:
            theta = np.full(k, -np.inf)
        if theta.sum(axis=0) >= values[:k].sum(axis=0) - 1e-11 * np.abs(values).max(initial=0.0):
            order = np.argsort(-theta, kind="stable")
            return values, theta[order], vectors[:, order]
    return values, *top_eigenspace(H, k)


def leading_directions(
    K: np.ndarray, weights: np.ndarray, Z: np.ndarray, k, *, center: bool, d: int
) -> tuple[KernelDirections, int, int]:
    r"""The k best directions with equal coordinates at all means that Z compares; rank left, rank of the constraints.

    With weights :math:`w` and feature vectors :math:`\sqrt{w_i}\varphi(x_i)` as rows of :math:`\Phi`, the directions
    :math:`u` with :math:`Z^\top \Phi u = 0` are those orthogonal to :math:`\Phi^\top B`, whose columns are
    orthonormal. Projecting these out of every row of :math:`\Phi` leaves the Gram matrix

    .. math:: K_{\text{fair}} = \Phi (I - \Phi^\top B B^\top \Phi) \Phi^\top = K - (KB)(KB)^\top ,

    and plain PCA of the rows that are left has its directions among the admissible ones: if
    :math:`K_{\text{fair}} q = \mu q` they are :math:`\Phi^\top a` with :math:`a = (q - B (KB)^\top q) / \sqrt\mu`,
    and :math:`Ka = \sqrt\mu\, q`, :math:`a^\top K a = 1`.
    """
    K, exponent = of_ordinary_size(K)
    p = weights / weights.sum(axis=0)
    roots = np.sqrt(weights)
    means = K @ p if center else np.zeros(len(K))
    K, before = (K - means[:, None] - means[None] + p @ means if center else K.copy()), K
    if center:
        require_digits(before, K)
    K *= np.outer(roots, roots)
    B, W = witnesses(K, Z)
    size = float(np.linalg.norm(K))
    H = K - W @ W.T
    # The rank is not known before; a size that is impossible is refused below, in terms of it.
    values, mu, q = leading_pairs(H, min(k, len(H)) if isinstance(k, Integral) and k > 0 else 1)
    rank = int((values > RANK_CUT * size).sum(axis=0))
    why = f", {len(K)} rows; the kernel matrix has rank {rank} after {B.shape[1]} constraint(s)"
    k = require_components(k, rank, d, why)
    warn_if_indefinite(float(values[-1]), size)
    coef = (q - B @ (W.T @ q)) / np.sqrt(mu)
    E = K @ coef
    gap = float(np.abs(Z.T @ E).max(initial=0.0))
    # The lengths of all directions weighed by what they carry: coefficients of small ones are long, and rounded.
    lengths = np.abs(coef.T @ E - np.eye(k)) * np.sqrt(np.outer(mu, mu)) / mu[0]
    primal = float(np.einsum("nk,nk->", q, H @ q))
    problem = "sum of squared coordinates over orthonormal directions in feature space"
    problem += " with equal group means" if B.shape[1] else ""
    feasibility = max(gap / float(np.sqrt(size)), float(lengths.max(initial=0.0)))
    certificate = Certificate(problem, primal, float(values[:k].sum(axis=0)), feasibility)
    if certificate.gap < -1e-9 * abs(certificate.dual):
        raise NotSolvedError(
            f"the directions found reach more than the bound allows ({primal / certificate.dual:.6g} times it): the "
            "kernel matrix is too badly conditioned. Standardise or centre the features, or choose another gamma or "
            "degree."
        )
    if mu[0] < 1e-8 * size and gap > 1e-7 * np.sqrt(mu[0]):
        raise NotSolvedError(
            f"the best direction with equal means carries {mu[0] / size:.3g} of the kernel matrix, which is too little "
            "to tell it from rounding. Centre the features, compare fewer groups, or choose another kernel."
        )
    signs = signs_of(E / roots[:, None])
    coef = coef * roots[:, None]
    coef = (coef - np.outer(p, coef.sum(axis=0)) if center else coef) * signs
    return KernelDirections(coef, means @ coef, mu, certificate).multiplied(exponent), rank, B.shape[1]


def landmark_directions(
    kernel: Kernel, X: np.ndarray, landmarks: np.ndarray, sample: tuple, linear: FairPCA
) -> tuple[KernelDirections, KernelDirections | None, int]:
    """Fair PCA of the features that the kernel values with the landmarks span; the standard ones; the rank.

    ``sample`` holds the rows of X that are fitted, their labels and weights, and the numeric constraints (their
    columns as from ``unit_columns``). With all rows as landmarks nothing is approximated.
    """
    rows, labels, weights, Z = sample
    K, exponent = of_ordinary_size(kernel.matrix(X, landmarks))
    if linear.center == "overall":
        means = K.mean(axis=0)
        require_digits(K, K - means[:, None] - means + means.mean(axis=0))
    values, vectors = top_eigenspace(K, len(K))
    size = float(np.linalg.norm(values))
    warn_if_indefinite(float(values[-1]), size)
    kept = values > RANK_CUT * size
    basis = vectors[:, kept] / np.sqrt(values[kept])
    if not kept.any():
        raise DataError("the kernel matrix of the landmarks has no positive eigenvalue. Check the kernel and the data.")
    anchors, scaled = kernel.anchors(X, landmarks), np.ldexp(basis, -2 * exponent)
    products = np.zeros((basis.shape[1], Z.shape[1]))

    def batches():
        for part, block in kernel.blocks(X[rows], anchors):
            F = block @ scaled
            products[:] += F.T @ (np.sqrt(weights[part])[:, None] * Z[part])
            yield F, labels[part], weights[part]

    moments = GroupMoments.from_batches(batches())
    groups = moments.cells() if linear.attributes == "intersection" else moments
    total = groups.second_moment
    constraints = np.hstack([mean_constraints(groups), products])
    R = fair_basis(constraints, float(np.sqrt(np.trace(total))))
    fair = linalg.eigvalsh(symmetrise(R.T @ (groups.scatter if linear.center == "overall" else total) @ R))
    rank = int((fair > RANK_CUT * np.linalg.norm(total)).sum(axis=0))
    why = f", {len(landmarks)} landmarks; their features have rank {rank} after {moments.d - R.shape[1]} constraint(s)"
    require_components(linear.n_components, rank, X.shape[1], why)
    linear._store(linear._answer(moments, products), moments)

    def directions(subspace):
        S = (moments.scatter if linear.center == "overall" else moments.second_moment) @ subspace.V
        coef, offset = basis @ subspace.V, subspace.mean @ subspace.V
        signs = signs_of(K @ coef - offset)
        eigenvalues = np.einsum("dk,dk->k", subspace.V, S)
        found = KernelDirections(coef * signs, offset * signs, eigenvalues, subspace.certificate)
        return found.multiplied(exponent)

    standard = None if linear.standard_subspace_ is None else directions(linear.standard_subspace_)
    return directions(linear.subspace_), standard, rank


def warn_if_indefinite(smallest: float, size: float) -> None:
    """Say what an indefinite kernel leaves valid."""
    if smallest < -RANK_CUT * size:
        warn_caller(
            f"the kernel matrix has a negative eigenvalue ({smallest / size:.3g} of its norm), so no feature space "
            "belongs to it. Group means of the output still coincide, and only directions of positive eigenvalue are "
            "taken; that no other answer keeps more does not hold. Use a positive semidefinite kernel, such as 'rbf'.",
            IndefiniteKernelWarning,
        )


class FairKernelPCA(Options, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
    center : {"overall", "none"}, default "overall"
        Centre in feature space. False, as the authors do, takes second moments about zero. The linear kernel is
        then that of the centred points, so that it does not matter where zero lies.
    match, covariance_fraction, tradeoff, tradeoff_power, criterion, positive_label : as in ``FairPCA``
        The same in feature space, as far as the data span it. With ``tradeoff`` the k coordinates of standard
        kernel PCA are appended; with ``criterion="equal_opportunity"`` even ``gamma`` is that of the favourable rows.
    attributes, numeric_attributes : as in ``FairPCA``
        What is compared, and the quantities that every output becomes uncorrelated with.
    n_landmarks : int, optional
        Represent points by their kernel values with so many random rows of the fitting sample, and never form the
        kernel matrix of all rows. More is closer to the full answer; all rows give it exactly.
    random_state : int, default 0
        Decides which rows are landmarks.
    on_single_group : {"raise", "warn"}, default "raise"
        With one group only; "warn" gives standard kernel PCA.

    Attributes
    ----------
    dual_coef_, X_fit_ : ndarray of shape (m, k) and (m, d)
        Coefficients A of the directions with respect to the fitted rows with positive weight, or to the landmarks among
        them (with a precomputed kernel their positions).
    eigenvalues_ : ndarray of shape (k,)
        Sum of squared coordinates of the fitted rows along each direction, decreasing.
    kernel_, gamma_ : Kernel, float or None
        The kernel with all its parameters fixed, and its factor.
    rank_, constraint_rank_ : int
        The largest possible k, which is how many eigenvalues of the deflated kernel matrix exceed 1e-10 times its norm,
        and how many directions the constraints remove.
    certificate_ : Certificate
        Objective, constraint residual and upper bound: the sum of the k largest eigenvalues of the deflated matrix,
        computed apart from the directions. With landmarks or ``match="covariance"`` it is about what these leave.
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
    _options: ClassVar[Mapping[str, Option]] = {
        **{name: FairPCA._options[name] for name in FairPCA._options if name != "standardize"},
        "n_landmarks": whole(1).or_none("the matrix of all rows"),
    }

    def __init__(
        self,
        n_components=2,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        center="overall",
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
        self._check_options()
        require_generator(self.random_state)  # also where all rows are used and nothing is drawn
        # Fair PCA with the same options looks at the groups, and does the work in the feature space of landmarks.
        shared = inspect.signature(FairPCA).parameters.keys() & self.get_params(deep=False).keys()
        linear = FairPCA(**{name: getattr(self, name) for name in shared})
        names = feature_names(X)
        require_numeric_columns(X)
        X = validated(self, to_numpy(X), dtype=np.float64, reset=True, ensure_all_finite=False)
        require_points(X, names)
        n, d = X.shape
        if isinstance(self.kernel, str) and self.kernel == "precomputed" and n != d:
            raise DataError(
                f"kernel='precomputed' and X has shape {X.shape}; needed is the square kernel matrix of the fitting "
                "sample. Pass it, or choose another kernel."
            )
        groups, quantities = split_attributes(sensitive_features, self.numeric_attributes)
        weights, marginal = row_weights(sample_weight, n), self.attributes == "marginal"
        if self.criterion == "equal_opportunity":
            label = self.positive_label
            groups, weights = favourable_rows(y, label, groups, n, marginal=marginal, sample_weight=weights)
        weights = np.ones(n) if weights is None else weights
        counted = GroupMoments.from_data(np.zeros((n, 1)), groups, weights)
        linear._require_comparable(counted.cells() if self.attributes == "intersection" else counted)
        self.group_labels_, self.group_counts_ = counted.labels, counted.counts
        self.tradeoff_weight_ = None if self.tradeoff is None else self.tradeoff**self.tradeoff_power

        rows = np.flatnonzero(weights)
        labels, codes = encode_groups(groups, n)
        weights, codes = weights[rows], codes[rows]
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        self.kernel_ = resolve_kernel(self.kernel, X[rows], weights, **options)
        if self.kernel_.name == "linear":
            # Centring the kernel matrix of points far from zero leaves no digits of what is to be compared.
            origin = np.average(X[rows], axis=0, weights=weights) if self.center == "overall" else None
            self.kernel_ = replace(self.kernel_, origin=origin)
        self.gamma_ = self.kernel_.gamma
        quantities = unit_columns(np.zeros((len(rows), 0)) if quantities is None else quantities[rows], weights)
        if self.n_landmarks is None and self.match == "mean":
            anchors = rows
            require_memory(
                5 * 8 * len(rows) ** 2,
                f"fair kernel PCA of {len(rows)} rows, with five matrices of that size,",
                "n_landmarks=1000 represents them by kernel values with so many rows, and needs no such matrix.",
            )
            Z = np.hstack([unit_columns(indicators(labels, codes, self.attributes), weights), quantities])
            K = self.kernel_.matrix(X, rows)
            options = {"center": self.center == "overall", "d": d}
            found = leading_directions(K, weights, Z, self.n_components, **options)
            self.directions_, self.rank_, self.constraint_rank_ = found
            self.standard_directions_ = None
            if self.tradeoff is not None:
                self.standard_directions_ = leading_directions(K, weights, Z[:, :0], self.n_components, **options)[0]
        else:
            anchors = self._landmarks(rows)
            sample = (rows, labels[codes], weights, quantities)
            found = landmark_directions(self.kernel_, X, anchors, sample, linear)
            self.directions_, self.standard_directions_, self.rank_ = found
            self.constraint_rank_ = linear.constraint_rank_
        self.X_fit_ = self.kernel_.anchors(X, anchors)
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
        require_numeric_columns(X)
        X = validated(self, to_numpy(X), dtype="numeric", reset=False)
        T, k = np.empty((len(X), self._n_features_out)), self.dual_coef_.shape[1]
        # No converted copy of X; in rows one after the other, so that its order in memory changes no bit.
        step = len(X) if X.dtype == np.float64 and X.flags.c_contiguous else max(BLOCK // X.shape[1], 1)
        for start in range(0, len(X), step):
            out = T[start : start + step]
            rows = np.ascontiguousarray(X[start : start + step], dtype=np.float64)
            for part, block in self.kernel_.blocks(rows, self.X_fit_):
                out[part, :k] = self.directions_.apply(block)
                if self.standard_directions_ is not None:
                    out[part, k:] = self.tradeoff_weight_ * self.standard_directions_.apply(block)
        return T

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1] * (1 if self.standard_directions_ is None else 2)

    def _landmarks(self, rows: np.ndarray) -> np.ndarray:
        if self.n_landmarks is None:
            return rows
        if self.n_landmarks > len(rows):
            raise ConfigurationError(f"n_landmarks={self.n_landmarks}; needed are at most the {len(rows)} fitted rows.")
        return np.sort(require_generator(self.random_state).choice(rows, size=self.n_landmarks, replace=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
