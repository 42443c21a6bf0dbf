"""Erasure with the group at hand: the least change that makes means, or means and covariances, of all groups equal."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.validation import check_is_fitted

from ..core.answer import BLOCK, Answer, Certificate, FairSubspace, by_blocks
from ..core.containers import like, to_numpy
from ..core.errors import ConfigurationError, GroupError
from ..core.estimator import NotConvergedWarning, SubspaceEstimator, warn_caller
from ..core.groups import encode_groups, label_text
from ..core.linalg import eigenpairs, symmetrise
from ..core.moments import GroupMoments
from ..core.options import Option, number, one_of, whole
from .constraints import (
    GROUP_OPTIONS,
    Quantities,
    indicators,
    quantity_constraints,
    require_groups,
    split_attributes,
    split_features,
)


def regression_on_groups(
    moments: GroupMoments, attributes: str, quantities: Quantities | None = None
) -> tuple[np.ndarray, np.ndarray, Certificate]:
    r"""The least-squares regression of x on z: coefficients B (m, d), the mean of z (m,), and its certificate.

    z holds the indicators of the groups, then the quantities. The moments give :math:`\Sigma_{zx}` and
    :math:`\Sigma_{zz}`, and :math:`B = \Sigma_{zz}^{+} \Sigma_{zx}`. A change D of the points that takes all their
    covariance with z away has :math:`\mathbb{E}\, z D^\top = \Sigma_{zx}`, so by
    :math:`\mathbb{E} \lVert D - B^\top z \rVert^2 \ge 0` (z centred)

    .. math:: \mathbb{E} \lVert D \rVert^2 \ge 2 \operatorname{tr} B^\top \Sigma_{zx}
        - \operatorname{tr} B^\top \Sigma_{zz} B .
    """
    shares = moments.counts / moments.n
    Z, gaps = indicators(moments.labels, np.arange(moments.G), attributes), moments.means - moments.mean
    mean = shares @ Z
    Z = Z - mean
    zz, zx = Z.T @ (shares[:, None] * Z), Z.T @ (shares[:, None] * gaps)
    if quantities is not None:
        own = quantities.moments
        both = Z.T @ (shares[:, None] * (own.means - own.mean))
        mean, zz = np.hstack([mean, own.mean]), np.block([[zz, both], [both.T, own.scatter / own.n]])
        zx = np.vstack([zx, (quantities.columns * np.sqrt(np.diag(own.scatter))).T / own.n])
    # By correlations, so that the unit of a quantity does not decide the rank.
    scale = np.sqrt(np.diag(zz))
    scale = np.where(scale > 1e-12 * np.hypot(mean, scale), scale, np.inf)
    zx = np.where(np.isfinite(scale)[:, None], zx, 0.0)
    B = linalg.pinvh(zz / np.outer(scale, scale), rtol=1e-10) @ (zx / scale[:, None]) / scale[:, None]
    moved = float(np.vdot(B, zz @ B))
    left = float(np.linalg.norm(zx - zz @ B)) / max(float(np.linalg.norm(zx)), np.finfo(float).tiny)
    problem = "mean squared displacement over all changes of the points that leave no covariance with the groups"
    return B, mean, Certificate(problem, moved, 2.0 * float(np.vdot(B, zx)) - moved, left, sense="min")


def rank_of(S: np.ndarray) -> int:
    """The rank of a covariance, decided by correlations: the units of the features say nothing about it."""
    deviations = np.sqrt(np.diag(S))
    scale = np.where(deviations > 0, deviations, np.inf)
    values = np.linalg.eigvalsh(symmetrise(S / np.outer(scale, scale)))
    return int((values > len(S) * np.finfo(float).eps * values[-1]).sum(axis=0)) if values[-1] > 0 else 0


def roots(moments: GroupMoments) -> tuple[np.ndarray, np.ndarray]:
    """Basis W (d, m) of the space in which rows vary within groups, and Cholesky factors (G, m, m) of W'S_g W / n_g."""
    S, W, factors = moments.scatters.sum(axis=0) / moments.n, np.eye(moments.d), []
    m = rank_of(S)
    if m < moments.d:
        W = eigenpairs(symmetrise(S))[1][:, moments.d - m :]
    for label, count, scatter in zip(moments.labels, moments.counts, moments.scatters, strict=True):
        own = symmetrise(W.T @ scatter @ W) / count
        rank = rank_of(own) if m else 0
        if rank < m:
            raise GroupError(
                f"group {label_text(label)!r} has {count:g} row(s) that vary in {rank} of the {m} dimensions in which "
                f"the groups do, and no map of its rows gives it a covariance of rank {m}; match='covariance' needs "
                f"{m} in each group. Merge or drop the group, reduce the features first (StandardPCA), or set "
                "match='mean'."
            )
        factors.append(np.linalg.cholesky(own))
    return W, np.array(factors).reshape(moments.G, m, m)


def aligned(L: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The orthogonal O (m, m) that brings L O nearest to R, and a root Q of L'T L = Q Q', T being the map to R R'."""
    U, lengths, Vt = np.linalg.svd(L.T @ R)
    return U @ Vt, U * np.sqrt(lengths)


def barycentre(factors: np.ndarray, shares: np.ndarray, tol: float, max_iter: int) -> tuple[np.ndarray, int, float]:
    r"""A root R of the covariance that is nearest to those of all groups on average, the steps taken, and the bound.

    .. math:: \min_{R} \sum_g w_g \min_{O_g^\top O_g = I} \lVert L_g O_g - R \rVert_F^2 , \qquad S_g = L_g L_g^\top .

    In turn every root is aligned with R and R is their mean, which on :math:`K = R R^\top` is the fixed-point iteration
    of Alvarez-Esteban et al. (2016), eq. (7). Roots in place of covariances: their condition is that of the data.

    The bound: let positive definite :math:`A_g` have :math:`\sum_g w_g A_g^{-1} = I`. Whatever y is made of x,
    :math:`2 x^\top y \le x^\top A_g x + y^\top A_g^{-1} y`, so if all groups of y have the same covariance

    .. math:: \sum_g w_g \mathbb{E} \lVert x - y \rVert^2 \ge \sum_g w_g \operatorname{tr} (I - A_g) S_g .

    At the answer the maps :math:`T_g` from :math:`S_g` to K are such; before, :math:`M^{1/2} T_g M^{1/2}` with M the
    mean of their inverses.
    """
    R = np.linalg.cholesky(symmetrise(np.einsum("g,gij,gkj->ik", shares, factors, factors)))
    total, bound = float(shares @ (factors**2).sum(axis=(1, 2))), -np.inf
    for step in range(1, max_iter + 1):
        turned = [aligned(L, R) for L in factors]
        mean = sum(w * L @ turn for w, L, (turn, _) in zip(shares, factors, turned, strict=True))
        # M takes R to the mean of the turned roots.
        values, vectors = eigenpairs(symmetrise(linalg.solve(R.T, mean.T, check_finite=False)))
        root = (vectors * np.sqrt(np.maximum(values, np.finfo(float).tiny))) @ vectors.T
        met, taken = 0.0, 0.0
        for w, L, (_, Q) in zip(shares, factors, turned, strict=True):
            met += w * float((Q**2).sum(axis=None))
            inside = linalg.solve_triangular(L, root @ L, lower=True, check_finite=False)
            taken += w * float(((Q.T @ inside) ** 2).sum(axis=None))
        bound = max(bound, total - taken)
        if total + float((R**2).sum(axis=None)) - 2.0 * met - bound <= tol * total:
            return R, step, bound
        R = mean
    return R, max_iter, bound


def transport_maps(moments: GroupMoments, tol: float, max_iter: int) -> tuple[np.ndarray, int, Certificate]:
    """The maps T_g (G, d, d) that give all groups one covariance, the steps taken, and the certificate.

    In the space in which rows vary T = R O'L^{-1} with L O nearest to R, so that T S T' = R R' whatever R is; in its
    complement, where no group varies, T is the identity.
    """
    shares, (W, factors) = moments.counts / moments.n, roots(moments)
    R, steps, bound = barycentre(factors, shares, tol, max_iter)
    gaps = moments.means - moments.mean
    moved = between = float(shares @ (gaps**2).sum(axis=1))
    maps, left, K = np.empty_like(moments.scatters), 0.0, R @ R.T
    size = max(float(np.linalg.norm(K)), np.finfo(float).tiny)
    for g, L in enumerate(factors):
        image = R @ aligned(L, R)[0].T
        moved += shares[g] * float(np.linalg.norm(image - L) ** 2)
        T = linalg.solve_triangular(L, image.T, lower=True, trans="T", check_finite=False).T
        maps[g] = np.eye(moments.d) + W @ (T - np.eye(len(K))) @ W.T
        left = max(left, float(np.linalg.norm(T @ L @ (T @ L).T - K)) / size)
    problem = "mean squared displacement over all changes of the points that give the groups one mean and covariance"
    return maps, steps, Certificate(problem, moved, between + bound, left, sense="min")


class OracleLEACE(SubspaceEstimator):
    r"""The least change of the points that makes the groups equal, when the group of every point may be looked at.

    .. math::

        \min_{x'} \; \mathbb{E} \lVert x' - x \rVert^2 \quad \text{subject to} \quad
        \operatorname{Cov}(x', z) = 0, \qquad
        x' = x - \Sigma_{xz} \Sigma_{zz}^{+} (z - \mathbb{E} z) ,

    over every random :math:`x'`, with z the indicators of the groups and the quantities: what regression on z leaves.
    With ``match="covariance"`` (quadratic erasure) all groups must have the same covariance as well, and

    .. math:: x' = m + T_g (x - m_g), \qquad T_g S_g T_g = K, \qquad
        K = \arg\min_K \sum_g \tfrac{n_g}{n} \big( \operatorname{tr} S_g + \operatorname{tr} K
        - 2 \operatorname{tr} (S_g^{1/2} K S_g^{1/2})^{1/2} \big) ,

    the symmetric transport maps to the barycentre of the group covariances :math:`S_g`.

    Parameters
    ----------
    match : {"mean", "covariance"}, default "mean"
        What is made equal; "covariance" is means and covariances.
    attributes : {"marginal", "intersection"}, default "marginal"
        As in ``LEACE``; "covariance" with several attributes needs "intersection".
    numeric_attributes : sequence of column names or positions, default ()
        Columns of ``sensitive_features`` that are quantities, in ``fit`` and in ``transform``; not with "covariance".
    tol, max_iter : float, int, default 1e-10, 1000
        The barycentre is found when the certificate's gap is at most ``tol`` times the variance within groups.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do when there is one group only; with "warn" nothing is erased.

    Attributes
    ----------
    coefficients_, concept_mean_ : ndarray of shape (m, d) and (m,), or None
        Regression of the features on z, and the mean of z: all that is kept of ``match="mean"``.
    maps_, group_means_ : ndarray of shape (G, d, d) and (G, d), or None
        The maps :math:`T_g` and means of ``match="covariance"``.
    displacement_ : float
        The mean squared distance between points and erased points, on the fitting sample.
    mean_ : ndarray of shape (d,)
        The mean, which the map keeps.
    certificate_ : Certificate
        The displacement against a lower bound on that of any change that meets the constraints, and how well it does.
    converged_, n_iter_ : bool, int
        Whether the gap came below ``tol``, and the steps that it took; 1 for ``match="mean"``.
    group_labels_, group_counts_ : as in ``StandardPCA``
        The groups of the fitting sample; any other in ``transform`` is an error.

    Guarantees
    ----------
    On the fitting sample the output has no covariance with the group (and all groups have one covariance), and no other
    change of the points with that property moves them less in mean square; with "mean" never more than ``LEACE``. The
    output is made with the group, so nothing is promised of readers that are not linear (or quadratic): what was added
    to the points of a group can tell them from others, better than before.

    Complexity
    ----------
    O(n d^2) for the moments; then O(G d) memory, and O(n d) for ``transform``. With "covariance" O(G d^3) a step,
    O(G d^2) memory, and O(n d^2) for ``transform``. Sparse points come out dense.

    References
    ----------
    N. Belrose (2023), Least-squares concept erasure with oracle concept labels, theorem 1; P. C. Alvarez-Esteban, E.
    del Barrio, J. A. Cuesta-Albertos and C. Matran (2016), A fixed-point approach to barycenters in Wasserstein space,
    eq. (7); M. Gelbrich (1990), On a formula for the L2 Wasserstein metric (the bound for given covariances).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * (1 + (sex == "m"))[:, None] + np.outer(sex == "m", [3, 1, 0, 0])
    >>> T = OracleLEACE(match="covariance").fit_transform(X, sensitive_features=sex)
    >>> bool(np.allclose(np.cov(T[sex == "f"].T, ddof=0), np.cov(T[sex == "m"].T, ddof=0)))
    True
    """

    __metadata_request__transform = {"sensitive_features": True}  # noqa: RUF012

    _options: ClassVar[Mapping[str, Option]] = {
        "match": one_of("mean", "covariance"),
        **GROUP_OPTIONS,
        "tol": number(0, low_open=True),
        "max_iter": whole(1),
    }

    _units: ClassVar[Mapping[str, int]] = {"coefficients_": 1, "group_means_": 1, "displacement_": 2}

    def __init__(
        self,
        *,
        match="mean",
        attributes="marginal",
        numeric_attributes=(),
        tol=1e-10,
        max_iter=1000,
        on_single_group="raise",
    ):
        self.match = match
        self.attributes = attributes
        self.numeric_attributes = numeric_attributes
        self.tol = tol
        self.max_iter = max_iter
        self.on_single_group = on_single_group

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None):
        X = self._table(X, reset=True)
        self._check_options()
        groups, values = split_attributes(sensitive_features, self.numeric_attributes)
        moments, quantities = self._moments(X, groups, sample_weight), None
        if values is not None:
            own = GroupMoments.from_data(values, groups, sample_weight)
            quantities = Quantities(own, quantity_constraints(X, values, sample_weight))
        return self._store(self._solved(moments, quantities), moments)

    def fit_moments(self, moments: GroupMoments):
        """Fit to group moments; ``numeric_attributes`` are features of them, which are taken out.

        Parameters
        ----------
        moments : GroupMoments
            The moments of the fitting sample. Name the quantities as ``transform`` will have them.

        Returns
        -------
        self
        """
        self._require_moments(moments)
        self._check_options()
        quantities = None
        if len(self.numeric_attributes):
            moments, quantities = split_features(moments, self.numeric_attributes)
        self._set_features(moments.d, moments.feature_names)
        return self._store(self._solved(moments, quantities), moments)

    def fit_transform(self, X, y=None, *, sensitive_features, sample_weight=None):
        """Fit to data and erase them: ``fit``, then ``transform`` with the same groups.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : as in ``fit``
            The fitting sample.

        Returns
        -------
        ndarray of shape (n, d)
        """
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = self.fit(X, y, sensitive_features=sensitive_features, **given)
        return fitted.transform(X, sensitive_features=sensitive_features)

    def _answer(self, moments: GroupMoments, quantities: Quantities | None = None) -> Answer:
        if quantities is None:
            groups = moments.cells() if self.attributes == "intersection" else moments
            require_groups(groups, self.on_single_group, "there is nothing for OracleLEACE to erase")
        learnt = dict.fromkeys(("coefficients_", "concept_mean_", "maps_", "group_means_"))
        learnt |= {"converged_": True, "n_iter_": 1}
        if self.match == "mean":
            learnt["coefficients_"], learnt["concept_mean_"], certificate = regression_on_groups(
                moments, self.attributes, quantities
            )
        else:
            several = len(moments.attributes) > 1 and self.attributes == "marginal"
            if several or quantities is not None:
                raise ConfigurationError(
                    f"match='covariance' with {'several attributes' if several else 'numeric_attributes'}; it compares "
                    "groups. Set attributes='intersection', and cut quantities into groups, or set match='mean'."
                )
            learnt["maps_"], learnt["n_iter_"], certificate = transport_maps(moments, self.tol, self.max_iter)
            learnt["group_means_"] = moments.means
            total = float(np.trace(moments.scatters.sum(axis=0))) / moments.n
            learnt["converged_"] = certificate.gap <= (self.tol + 1e-14) * total  # as computed from the maps
            if not learnt["converged_"]:
                warn_caller(
                    f"the barycentre of the covariances was not found in max_iter={self.max_iter} steps: the gap is "
                    f"{certificate.gap:.1e} of a displacement of {certificate.primal:.1e}. Means and covariances are "
                    "equal all the same; for the least displacement raise max_iter or tol.",
                    NotConvergedWarning,
                )
        learnt["displacement_"] = certificate.primal
        return Answer(FairSubspace(np.eye(moments.d), moments.mean, certificate), learnt)

    def _store(self, answer: Answer, moments: GroupMoments):
        for name, value in answer.learnt.items():
            setattr(self, name, value)
        self.mean_, self.certificate_ = answer.subspace.mean, answer.subspace.certificate
        self.group_labels_, self.group_counts_ = moments.labels, moments.counts
        return self

    def transform(self, X, *, sensitive_features):
        """The points with their group erased.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Points with the features of the fitting sample.
        sensitive_features : as in ``fit``
            The group of each of these points; every one must have been in the fitting sample.

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        X = self._finite_table(X)
        T = X.toarray() if sparse.issparse(X) else to_numpy(X)
        return like(X, self._erased(np.array(T, dtype=np.float64), sensitive_features))

    def _erased(self, T: np.ndarray, sensitive_features) -> np.ndarray:
        """The rows of T (n, d), which are overwritten, with their group erased."""
        groups, values = split_attributes(sensitive_features, self.numeric_attributes)
        labels, codes = encode_groups(groups, len(T))
        Z = self._indicators(labels)
        if self.maps_ is None:
            m = Z.shape[1]
            change = (Z - self.concept_mean_[:m]) @ self.coefficients_[:m]
            step = max(1, BLOCK // T.shape[1])
            for start in range(0, len(T), step):
                T[start : start + step] -= change[codes[start : start + step]]
            if values is not None:
                T -= (values - self.concept_mean_[m:]) @ self.coefficients_[m:]
            return T
        for code, g in enumerate(Z.argmax(axis=1)):
            T[codes == code] = (T[codes == code] - self.group_means_[g]) @ self.maps_[g].T + self.mean_
        return T

    def _indicators(self, labels: np.ndarray) -> np.ndarray:
        """Rows (G, m) of z for groups: those of ``transform`` in the places of those of ``fit``."""
        names, fitted = labels.dtype.names, self.group_labels_.dtype.names
        if set(names or ()) != set(fitted or ()):
            raise GroupError(
                f"sensitive_features has the attributes {list(names or ['group'])}, and fit had "
                f"{list(fitted or ['group'])}. Pass the same columns."
            )
        apart = fitted is not None and self.attributes == "marginal"
        pairs = [(labels[a], np.unique(self.group_labels_[a])) for a in fitted] if apart else []
        parts = []
        for given, known in pairs or [(labels if fitted is None else labels[list(fitted)], self.group_labels_)]:
            places = {label: at for at, label in enumerate(known.tolist())}
            strange = [label for label in given.tolist() if label not in places]
            if strange:
                raise GroupError(
                    f"group {strange[0]!r} was not in the fitting sample, whose groups were "
                    f"{', '.join(map(label_text, known[:6]))}{', ...' if len(known) > 6 else ''}: what to take from it "
                    "is not known. Fit to a sample with rows of every group."
                )
            parts.append(np.eye(len(known))[[places[label] for label in given.tolist()]])
        return np.hstack(parts)

    def inverse_transform(self, T):
        """The erased points themselves: nothing is put back.

        Parameters
        ----------
        T : array-like of shape (n, d)
            Erased points.

        Returns
        -------
        ndarray of shape (n, d)
        """
        T = self._coordinates(T)
        return by_blocks(lambda rows: rows, T.shape[1], T)

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_)
