"""Least-squares concept erasure in closed form (Belrose et al. 2023): no affine score predicts the group."""

from collections.abc import Collection
from dataclasses import KW_ONLY, replace
from typing import Self

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.validation import check_is_fitted

from ..core.answer import Answer, Certificate, FairSubspace, affine
from ..core.errors import ConfigurationError, DataError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.inputs import warn_of_order
from ..core.linalg import span, symmetrise, top_eigenspace
from ..core.moments import GroupMoments, degrees
from ..core.options import ATTRIBUTES, COMPONENTS, QUANTITIES, SINGLE_GROUP, none, one_of, option, parameterised
from .constraints import (
    mean_constraints,
    quantity_constraints,
    require_groups,
    split_attributes,
    target_columns,
)

#: Sine of the smallest angle between what is erased and what is kept, both whitened, below which they share a
#: direction: the displacement grows with its inverse square.
MEET = 1e-6


def make_eraser(S: np.ndarray, C: np.ndarray, kept: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    r"""Thin F and G (d, r) with G'F = I: the projector P = I - FG' removes the columns of C (d, r) and moves least.

    With :math:`S = L L^\top`, U an orthonormal basis of the span of :math:`L^+ C`: :math:`P = I - L U U^\top L^+`. To
    map ``kept`` :math:`= L K` to itself, the second U becomes :math:`A (U^\top A)^{-1}` with :math:`A = U - K K^+ U`.
    """
    d, r = C.shape
    if r == 0:
        return np.zeros((d, 0)), np.zeros((d, 0))
    tol = d * np.finfo(float).eps * float(np.diag(S).max(axis=0))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(S.T, lower=1, tol=tol)
    order = pivots - 1
    for j in range(1, d):
        factor[:j, j] = 0.0
    L = factor[:, :rank]  # rows in the order of the pivots; no copy, as d may be large
    Y = linalg.solve_triangular(L[:rank], C[order[:rank]], lower=True, check_finite=False)
    U, _ = np.linalg.qr(Y)
    A = U
    if kept is not None:
        K = linalg.solve_triangular(L[:rank], kept[order[:rank]], lower=True, check_finite=False)
        A = clear_of(U, np.linalg.qr(K)[0])
    if rank == d:
        G = linalg.solve_triangular(L, A, lower=True, trans="T", check_finite=False)
    else:
        Q, T = linalg.qr(L, mode="economic", check_finite=False)
        G = Q @ linalg.solve_triangular(T, A, trans="T", check_finite=False)
    back = np.argsort(order)
    G = G[back]
    if kept is not None:
        G = G - kept @ np.linalg.lstsq(kept, G, rcond=None)[0]  # the same of what is kept
    # L U again, but inside the span of C to the last digit: what of C rounding put outside the range of S goes as well.
    F = C @ np.linalg.lstsq(G.T @ C, G.T @ (L @ U)[back], rcond=None)[0]
    return F, G @ np.linalg.inv(F.T @ G)


def clear_of(U: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Orthonormal basis (m, r) of what is left of the orthonormal columns of U (m, r) without the span of K (m, s)."""
    A = U - K @ (K.T @ U)
    A, sines, _ = np.linalg.svd(A - K @ (K.T @ A), full_matrices=False)
    if sines.size and sines[-1] <= MEET:
        raise DataError(
            f"what is to be kept and what is to be erased share a direction: the covariances with the target span "
            f"{K.shape[1]} and those with the groups {U.shape[1]} of {len(U)} dimensions, and the smallest angle "
            f"between them has sine {sines[-1]:.1e}, needed is more than {MEET:g}. Keep less of the target (merge "
            "classes, or leave out what the groups determine), erase fewer attributes, or set keep=None."
        )
    return A


@parameterised
class LEACE(SubspaceEstimator):
    r"""The affine map that makes every affine predictor of the group useless and moves the points least.

    .. math::

        \min_{P} \; \mathbb{E} \lVert P (x - \mu) - (x - \mu) \rVert^2
        \quad \text{subject to} \quad P \, \Sigma_{xz} = 0,
        \qquad P = I - \Sigma^{1/2} u u^\top \Sigma^{+1/2} ,

    with z the indicators of the groups and u an orthonormal basis of the span of :math:`\Sigma^{+1/2} \Sigma_{xz}`.
    P is oblique, unlike the projector of fair PCA with the same null space. With ``keep`` there is a second constraint,
    :math:`P \, \Sigma_{xy} = \Sigma_{xy}` for a target y, and the least map is (SPLINCE)

    .. math:: P = I - \Sigma^{1/2} u (v^\top u)^{-1} v^\top \Sigma^{+1/2} ,

    with v spanning what is left of u without the span of :math:`\Sigma^{+1/2} \Sigma_{xy}`.

    Parameters
    ----------
    n_components : int, optional
        None returns the erased points with all d features; k returns the k principal coordinates of the erased points.
        At most d less the rank removed.
    keep : None, "classes" or "values", default None
        Keep the covariance with a target, y of ``fit``, exactly: with an indicator of each class, or with numbers as
        they are. DataError where the target and the groups share a direction.
    attributes, numeric_attributes, on_single_group : as in ``FairPCA``
        What z is; with "warn" nothing is erased where there is one group only.

    Attributes
    ----------
    proj_left_, proj_right_ : ndarray of shape (d, r) and (r, d)
        The thin factors of I - P, which is their product: all that is kept of the map.
    erasure_, components_ : ndarray of shape (d, d) and (k, d)
        P, and the map: ``transform(X) = (X - mean_) @ components_.T``, plus ``mean_`` if n_components is None. Rows are
        the principal axes of the erased points, times P: not orthonormal. P itself if n_components is None.
    axes_ : ndarray of shape (d, k) or None
        The principal axes, orthonormal; None, for the identity, if n_components is None.
    rank_removed_, displacement_ : int, float
        Rank of I - P (as a rule one less than the number of groups, and one for each quantity), and the mean squared
        distance between points and erased points, on the training sample.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (k,)
        Variance of the erased points along each axis, and as a share of the total variance of the data.
    certificate_ : Certificate
        The displacement of the erasure against a lower bound on that of any map that meets the constraint, and the
        relative size of the cross-covariance that is left. With n_components it is about that step alone: the axes
        are chosen after it.
    subspace_, mean_, group_labels_, group_counts_ : as in ``StandardPCA``
        The axes by themselves, for erased points; the mean, which the map keeps, and the groups of the training sample.

    Guarantees
    ----------
    On the training sample every affine score of the output is uncorrelated with the group, so the best affine
    predictor of the group, for any convex loss, is a constant. The mean, and with ``keep`` the covariance with the
    target, stay as they are. No other affine map with these properties moves the points less in mean square.

    Complexity
    ----------
    O(n d^2) time and O(d^2 + G d) memory for the moments; then a Cholesky factor of order d beside them, and for
    n_components one eigendecomposition and its check. ``transform`` needs O(n d r) or O(n d k) time, and the model
    O(d (r + k)) memory. Sparse points come out dense unless n_components is given.

    References
    ----------
    N. Belrose et al. (2023), LEACE: Perfect linear concept erasure in closed form, section 4; F. Holstege, S. Ravfogel
    and B. Wouters (2025), Preserving task-relevant information under linear concept removal (``keep``).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) + np.outer(sex == "m", [3, 1, 0, 0])
    >>> T = LEACE().fit_transform(X, sensitive_features=sex)
    >>> bool(np.allclose(T[sex == "f"].mean(axis=0), T[sex == "m"].mean(axis=0)))
    True
    """

    n_components: int | None = option(COMPONENTS, default=None)
    _: KW_ONLY
    keep: str | None = option(one_of("classes", "values") | none("no target"), default=None)
    attributes: str = option(ATTRIBUTES, default="marginal")
    numeric_attributes: Collection = option(QUANTITIES, default=())
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    _scatters = "total"

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None) -> Self:
        X = self._table(X, reset=True)
        self._check_options()
        groups, quantities = split_attributes(sensitive_features, self.numeric_attributes)
        moments = self._moments(X, groups, sample_weight)
        warn_of_order(X, y=y if self.keep else None)
        target = target_columns(y, self.keep, X.shape[0])
        parts = (quantity_constraints(X, part, sample_weight) for part in (quantities, target))
        return self._solved(moments, *parts)

    def _answer(
        self, moments: GroupMoments, quantities: np.ndarray | None = None, kept: np.ndarray | None = None
    ) -> Answer:
        if (kept is None) != (self.keep is None) or (quantities is None and len(self.numeric_attributes)):
            raise ConfigurationError(
                "keep and numeric_attributes need the data themselves: group moments hold no products of features with "
                "a target or a quantity. Call fit(X, y, sensitive_features=...) instead."
            )
        groups = moments.cells() if self.attributes == "intersection" else moments
        if not len(self.numeric_attributes):
            require_groups(groups.labels, self.on_single_group, "there is nothing for LEACE to erase")
        d, n, size = groups.d, groups.n, groups.size
        C = mean_constraints(groups)
        C = span(C if quantities is None else np.hstack([C, quantities]), atol=1e-12 * size)
        B = None if kept is None else span(kept, atol=1e-12 * size)
        F, G = make_eraser(groups.scatter, C, B)
        F, G = F / np.sqrt(n), G * np.sqrt(n)  # as of the covariance S, of which there is no copy beside the factor
        S = groups.scatter / n
        Y, certificate = S @ G, _certify(F, G, S, C, B)
        V, variances = np.zeros((d, 0)), np.diag(S) - 2.0 * (F * Y).sum(axis=1) + (F @ (Y.T @ G) * F).sum(axis=1)
        if self.n_components is not None:
            FY = F @ Y.T
            erased = symmetrise(S - FY - FY.T + FY @ G @ F.T)
            certificate = replace(certificate, scope="last step")  # the erasure, before axes are chosen
            k = require_components(self.n_components, d - C.shape[1], d, f" less {C.shape[1]} erased")
            _, V = top_eigenspace(erased, k)
            variances = np.einsum("dk,dk->k", V, erased @ V)
        subspace = FairSubspace(V, groups.mean, certificate)
        learnt = {
            "proj_left_": F,
            "proj_right_": np.ascontiguousarray(G.T),
            "rank_removed_": C.shape[1],
            "displacement_": subspace.certificate.primal,
            "explained_variance_": np.maximum(variances, 0.0) * (n / degrees(n)),
        }
        return Answer(subspace, learnt)

    def _store(self, answer: Answer, moments: GroupMoments):
        for name, value in answer.learnt.items():
            setattr(self, name, value)
        self.axes_ = None if self.n_components is None else answer.subspace.V
        self.mean_, self.certificate_ = answer.subspace.mean, answer.subspace.certificate
        self.group_labels_, self.group_counts_ = moments.labels, moments.counts
        overall = float(np.trace(moments.scatter) / degrees(moments.n))
        whole = overall if overall > 0 else np.inf
        self.explained_variance_ratio_ = self.explained_variance_ / whole
        if self.axes_ is not None:
            self._warn_surplus(overall)
        return self

    @property
    def erasure_(self) -> np.ndarray:
        """P (d, d), multiplied out."""
        return np.eye(len(self.mean_)) - self.proj_left_ @ self.proj_right_

    @property
    def components_(self) -> np.ndarray:
        """The principal axes times P, as rows (k, d); P itself if n_components is None."""
        if self.axes_ is None:
            return self.erasure_
        return self.axes_.T - (self.axes_.T @ self.proj_left_) @ self.proj_right_

    @property
    def subspace_(self) -> FairSubspace:
        """The axes by themselves, for erased points."""
        axes = np.eye(len(self.mean_)) if self.axes_ is None else self.axes_
        return FairSubspace(axes, self.mean_, self.certificate_)

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_) if self.axes_ is None else self.axes_.shape[1]

    def transform(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = self._finite_table(X)
        if self.axes_ is not None:
            return self._given(affine(X, self.components_.T, self.mean_))
        X = X.toarray() if sparse.issparse(X) else X  # what is erased is taken from every entry
        erased = affine(X, self.proj_right_.T, self.mean_) @ self.proj_left_.T
        return self._given(np.subtract(X, erased, out=erased))

    def inverse_transform(self, T) -> np.ndarray:
        if self.axes_ is not None:
            return super().inverse_transform(T)
        return self._given(self._coordinates(T))


def _certify(F, G, S: np.ndarray, C: np.ndarray, kept: np.ndarray | None) -> Certificate:
    r"""A lower bound on the displacement of every map that removes C (and keeps ``kept``), for E = I - P and any N.

    :math:`\operatorname{tr} E S E^\top \ge 2 \operatorname{tr} E S N^\top - \operatorname{tr} N S N^\top`, where for
    :math:`N = F G^\top` the first term does not depend on E: :math:`S G` is in the span of C, and of what is kept.
    """
    problem = "mean squared displacement over all affine maps that leave no cross-covariance with the groups"
    if kept is not None:
        problem += " and keep that with the target"
    if not C.shape[1]:
        return Certificate(problem, 0.0, 0.0, sense="min", scope="whole problem")
    kept = C[:, :0] if kept is None else kept
    unit = F / np.linalg.norm(F)  # of the length of what is kept, whatever the unit of the features
    known = np.hstack([unit, kept])
    M = np.linalg.lstsq(known, S @ G, rcond=None)[0]
    residual = np.linalg.norm(S @ G - known @ M) / np.linalg.norm(known @ M)
    left = np.linalg.norm(C - F @ (G.T @ C)) / np.linalg.norm(C)
    spoilt = np.linalg.norm(F @ (G.T @ kept))
    primal = float(np.trace((F.T @ F) @ (G.T @ (S @ G))))
    dual = 2.0 * float(np.trace(F.T @ unit @ M[: C.shape[1]])) - primal
    missed = float(max(residual, left, spoilt))
    return Certificate(problem, primal, dual, missed, sense="min", scope="whole problem")
