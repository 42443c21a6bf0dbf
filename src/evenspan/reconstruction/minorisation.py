r"""Sparse fair PCA by minorisation-maximisation, which serves :mod:`evenspan.reconstruction.outlier_robust` too.

What the columns of V keep of group g is a convex function :math:`v_g(V)`, which lies above its tangents. At the
orthonormal :math:`V_t`, with slopes :math:`B_g` and :math:`c_g = \langle B_g, V_t \rangle - v_g(V_t)`,

.. math::
    \min_g v_g(V) - \lambda \lVert V \rVert_1
        \;\ge\; \min_g \langle B_g, V \rangle - c_g - \lambda \lVert V \rVert_1 ,

with equality at :math:`V_t`: whatever raises the right side raises the left. Its maximum over the matrices of spectral
norm at most 1, the convex hull of the orthonormal ones, has the dual

.. math::
    \min_{\mu,\, Y} \; \Bigl\lVert \sum_g \mu_g B_g - Y \Bigr\rVert_* - \sum_g \mu_g c_g ,
    \qquad \mu \ge 0,\ \sum_g \mu_g = 1,\ |Y_{ij}| \le \lambda .

Where the matrix in the norm has rank k, its orthonormal polar factor is the maximiser: the relaxation is tight. With
one group and no penalty a step is one of orthogonal iteration.

At a large penalty a component may cost more than it keeps, and the maximiser over the hull is then none of the
orthonormal matrices. On these :math:`\tfrac{\rho}{2} \lVert V \rVert_F^2` is constant, so adding it to every
:math:`v_g` changes nothing but the tangents: the slopes become :math:`B_g + \rho V_t`, and a larger :math:`\rho` makes
shorter steps. As :math:`\lVert Y \rVert \le \lambda \sqrt{dk}`, the rank is k for :math:`\rho > \lambda \sqrt{dk}`.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ..core.answer import Certificate
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.linalg import top_eigenspace
from ..core.options import COMPONENTS, flag, number, one_of, option, parameterised, whole
from .fantope import clip_to_sum
from .group_errors import ReconstructionEstimator, kept
from .min_max import solve
from .multi_criteria import criteria_offsets

#: Of V (d, k): what it keeps of every group (G,), and the slopes (G, d, k) there.
Tangents = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
#: A step ends when it has at most this share of what it has gained still to gain.
SHARE = 0.1
STEPS = 1000  # of the dual, at most, for one surrogate


def variances_kept(matrices: np.ndarray, offsets: np.ndarray) -> Tangents:
    """Tangents of tr V'S_gV - a_g."""

    def tangents(V):
        slopes = matrices @ V
        return np.einsum("gdk,dk->g", slopes, V) - offsets, 2.0 * slopes

    return tangents


def best_of_surrogate(B, c, penalty: float, dual, reached: float, tol: float):
    """A maximiser V of the surrogate and its value, a bound on all values, and the dual point (mu, Y).

    Projected gradients of the dual with momentum, from ``dual`` on; the polar factor at each point is a candidate. They
    end when the bound is within ``tol`` of the value, or within a share of what was gained on ``reached``.
    """

    def at(mu, Y):
        left, values, right = np.linalg.svd(np.tensordot(mu, B, axes=1) - Y, full_matrices=False)
        V = left @ right
        return float(values.sum(axis=0) - mu @ c), V, np.einsum("gdk,dk->g", B, V) - c

    # The weights are measured in units of the slopes, so that one step length serves both.
    unit = float(np.linalg.norm(B, axis=(1, 2)).max(axis=0))
    (mu, Y), (far, Z), momentum, curvature = dual, dual, 1.0, 1.0
    best, value, bound = None, -np.inf, np.inf
    for _ in range(STEPS):
        f, V, slope = at(far, Z)
        bound = min(bound, f)
        primal = float(slope.min(axis=0) - penalty * np.abs(V).sum())
        if primal > value:
            best, value = V, primal
        if bound - value <= max(tol, SHARE * (value - reached)):
            break
        while True:
            to = clip_to_sum(far - slope / (curvature * unit), 1), np.clip(Z + V * unit / curvature, -penalty, penalty)
            moved, turned = to[0] - far, to[1] - Z
            change = slope @ moved - np.vdot(V, turned)
            change += 0.5 * curvature * (unit * moved @ moved + np.vdot(turned, turned) / unit)
            lower = at(*to)[0]
            if lower <= f + change + 1e-14 * abs(f):
                break
            curvature *= 2.0
        bound, curvature = min(bound, lower), 0.9 * curvature
        uphill = slope @ (to[0] - mu) - np.vdot(V, to[1] - Y) > 0
        following = 1.0 if uphill else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        weight = 0.0 if uphill else (momentum - 1.0) / following
        far = clip_to_sum(to[0] + weight * (to[0] - mu), 1)
        Z = np.clip(to[1] + weight * (to[1] - Y), -penalty, penalty)
        (mu, Y), momentum = to, following
    return best, value, bound, (mu, Y)


def minorise_maximise(
    tangents: Tangents, V: np.ndarray, penalty: float = 0.0, *, tol: float = 1e-6, max_iter: int = 1000
) -> tuple[np.ndarray, list[float], float]:
    """From the orthonormal V (d, k) to a stationary point; the objective after each step, and what is left to gain.

    The objective, the least that is kept of a group less ``penalty`` times the absolute entries of V, never falls.
    """

    def objective(V):
        values, slopes = tangents(V)
        return float(values.min(axis=0) - penalty * np.abs(V).sum()), values, slopes

    reached, values, slopes = objective(V)
    path, left, rho, enough = [reached], np.inf, 0.0, 1.01 * penalty * np.sqrt(V.size)
    dual = np.full(len(values), 1.0 / len(values)), np.zeros_like(V)
    for _ in range(max_iter):
        B = slopes + rho * V
        offsets = np.einsum("gdk,dk->g", B, V) - values
        new, value, bound, dual = best_of_surrogate(B, offsets, penalty, dual, reached, 0.3 * tol)
        left = bound - reached
        stuck = value - reached <= (1e-3 * tol if penalty > 0 else 0.0)
        if left <= tol or (stuck and rho >= enough):
            break
        if stuck:  # from the slopes of the group that is served worst alone, and shorter steps
            worst = values == values.min()
            Y = np.where(V == 0, np.clip(slopes[worst][0], -penalty, penalty), penalty * np.sign(V))
            rho, dual = min(2.0 * max(rho, penalty), enough), (worst / worst.sum(axis=0), Y)
            continue
        V = new
        reached, values, slopes = objective(V)
        path.append(reached)
    if penalty > 0 and left <= tol:
        V = with_zeros(V, np.abs(dual[1]) >= penalty)
    return V, path, left


def with_zeros(V: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The orthonormal columns near V that are zero outside the ``support``, by alternating projections."""
    while True:
        W = V
        for _ in range(1000):
            left, _, right = np.linalg.svd(np.where(support, W, 0.0), full_matrices=False)
            W = left @ right
            beside = np.where(support, 0.0, np.abs(W))
            if beside.max() <= 1e-13:
                return np.where(support, W, 0.0)
        support = support | (beside == beside.max())  # columns that share one loading only cannot be orthogonal


def best_features(matrices: np.ndarray, offsets: np.ndarray, k: int) -> np.ndarray:
    """The k unit vectors (d, k) that keep most of the group of which they keep least."""
    own = np.einsum("gdd->gd", matrices)
    unit, (G, d) = own.max(), own.shape
    # One is chosen or not, k in all, and the last variable lies below what they keep of every group.
    table = np.block([[np.ones((1, d)), np.zeros((1, 1))], [own / unit, -np.ones((G, 1))]])
    found = milp(
        -np.eye(d + 1)[d],
        integrality=np.append(np.ones(d), 0),
        bounds=Bounds(np.append(np.zeros(d), -np.inf), np.append(np.ones(d), np.inf)),
        constraints=LinearConstraint(table, np.append(k, offsets / unit), np.append(k, np.full(G, np.inf))),
        options={"mip_rel_gap": 0.0, "node_limit": 10_000},
    )
    chosen = own.min(axis=0) if found.x is None else found.x[:d]
    return np.eye(d)[:, np.sort(np.argsort(-chosen, kind="stable")[:k])]


def ascend(tangents: Tangents, starts, size: float, penalty: float, tol: float, max_iter: int):
    """The best stationary point over the starts; a warning where more than ``tol`` of ``size`` is left to gain."""
    V, path, left = max(
        (minorise_maximise(tangents, V, penalty, tol=tol * size, max_iter=max_iter) for V in starts),
        key=lambda run: run[1][-1],
    )
    converged = left <= tol * size
    if not converged:
        warn_caller(
            f"{len(path) - 1} steps ended where the next could gain {left:.3g}, and needed is {tol * size:.3g}: raise "
            "max_iter or tol.",
            NotConvergedWarning,
        )
    return V, {"n_iter_": len(path) - 1, "converged_": converged}


@parameterised
class SparseFairPCA(ReconstructionEstimator):
    r"""PCA for the group that is served worst, from few features.

    .. math::
        \min_{V^\top V = I} \; \max_g \; \bigl(a_g - \operatorname{tr} V^\top M_g V\bigr)
            + \lambda \sum_{ij} \lvert V_{ij} \rvert ,

    with the second moments :math:`M_g` and offsets :math:`a_g` of :class:`MinMaxFairPCA`, whose problem it is at
    :math:`\lambda = 0`.

    Parameters
    ----------
    n_components : int or None, default 2
        The rank k, at most d - 1, which None stands for.
    penalty : float, default 0.05
        The price of an absolute loading, in units of variance: the larger, the fewer loadings pay for themselves. At a
        price that is large enough every component is a feature.
    objective : {"loss", "error"}, default "loss"
        What is balanced, as in :class:`MinMaxFairPCA`.
    center : {"overall", "group"}, default "overall"
        The point about which errors are taken.
    standardize : bool, default False
        Divide every feature by its population standard deviation first; the penalty depends on the units.
    tol : float, default 1e-6
        A step that can gain no more than this share of the largest variance of a group is the last one.
    max_iter : int, default 1000
        Largest number of steps from each of three starts: the components of PCA, those of ``MinMaxFairPCA``, and the k
        features that keep most of the group of which they keep least.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows with entries that are exactly zero; what ``transform`` subtracts.
    group_losses_, group_errors_ : ndarray of shape (G,)
        Losses about the point that ``center`` names; mean squared errors about ``mean_``, as ``GroupFrame`` has them.
    objective_ : float
        The largest loss or error, without the price of the loadings.
    certificate_, subspace_ : Certificate and FairSubspace
        The penalised objective and a lower bound; the answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``.
    converged_, n_iter_ : bool and int
        Whether the last step could gain no more than ``tol``; steps from the best start.

    Guarantees
    ----------
    The penalised objective falls with every step, to a stationary point: a local optimum, which may depend on the
    start. It is at most that of any k features taken for components (where there are many, of those that a search of
    10,000 nodes finds). The bound is the certified optimum without a penalty plus :math:`\lambda k`, what the loadings
    of any k orthonormal columns cost at least. It is met at :math:`\lambda = 0`, and its gap grows with the penalty.

    Complexity
    ----------
    O(G d^2 k) a step, and tens to hundreds of singular value decompositions (d, k) for its dual; beside one exact fit.

    References
    ----------
    Babu & Stoica (2023), whose abstract states the approach; the dual with the penalty is worked out here.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 6)) * [3, 2, 1, 1, 1, 1]
    >>> fitted = SparseFairPCA(2, penalty=1.0).fit(X, sensitive_features=np.arange(200) % 2)
    >>> int((fitted.components_ != 0).sum())
    2
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    penalty: float = option(number(0), default=0.05)
    objective: str = option(one_of("loss", "error"), default="loss")
    center: str = option(one_of("overall", "group"), default="overall")
    standardize: bool = option(flag(), default=False)
    tol: float = option(number(0, low_open=True), default=1e-6)
    max_iter: int = option(whole(1), default=1000)

    def _moves_with_the_axes(self):
        return False  # the price of a direction depends on the features

    def _ordered(self, V, scatter):
        return V[:, np.argsort(-np.einsum("dk,dk->k", V, scatter @ V), kind="stable")]  # another basis has no zeros

    def _solve(self, matrices, moments, k):
        offsets = criteria_offsets(matrices, k, self.objective)
        exact, bound = solve(matrices, k, self.objective)
        starts = exact, top_eigenspace(moments.scatter, k)[1], best_features(matrices, offsets, k)
        size = float(np.trace(matrices, axis1=1, axis2=2).max(axis=0))
        V, learnt = ascend(variances_kept(matrices, offsets), starts, size, self.penalty, self.tol, self.max_iter)
        worst, price = float((offsets - kept(matrices, V)).max(axis=0)), self.penalty * float(np.abs(V).sum())
        problem = f"largest {self.objective} of the groups and price of the loadings over projectors of rank {k}"
        certificate = Certificate(problem, worst + price, bound.dual + self.penalty * k, 0.0, "min", scope="bound")
        return V, certificate, learnt | {"objective_": worst}
