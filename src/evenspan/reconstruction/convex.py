"""PCA with bounds on mean and covariance gaps, through the convex relaxation of Olfat and Aswani."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.answer import Certificate, Scope, ky_fan_certificate
from ..core.errors import ConfigurationError, FairWarning
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.linalg import complement, top_eigenspace
from ..core.moments import GroupMoments
from ..core.options import COMPONENTS, flag, number, one_of, option, parameterised, whole
from .fantope import CHECK_EVERY, FantopeAnswer, Penalty, SplittingState, solve_fantope
from .group_errors import ReconstructionEstimator, require_two_groups
from .joint_range import JointRange


def solve_bounded(
    A: np.ndarray,
    k: int,
    *,
    f: np.ndarray,
    c: float,
    Q: np.ndarray,
    phi: float | tuple[float, float],
    mu: float,
    penalty: Penalty,
    tol: float = 1e-6,
    max_iter: int = 20_000,
) -> FantopeAnswer:
    """The penalised program of ``solve_fantope`` under f'Xf <= c, for c > 0, by the multiplier of this constraint.

    A splitting with the constraint in it gets there too, but for a small c it takes a hundred times the steps.
    """
    # For any y >= 0 the program without constraint and with A - y f f' in place of A has, increased by cy, a value that
    # no feasible X passes. What its solution keeps, f'Xf, falls with y, roughly as a power of it. Between a solution
    # that keeps too much and one that does not, the combination that keeps c is feasible; the objective is concave, so
    # that combination is no worse than the two on average.
    rest = {"Q": Q, "phi": phi, "mu": mu, "penalty": penalty}
    y, state, unit, steps, bound, best, ends = 0.0, None, 1.0, 0, np.inf, None, {}
    while True:
        H = A - y * np.outer(f, f)
        if state is not None:  # its multipliers are in units of the largest entry of the objective
            ratio = unit / float(np.abs(H).max(axis=None))
            state = SplittingState(state.splits, [ratio * Y for Y in state.multipliers], ratio * state.rho)
        left = max(max_iter - steps, CHECK_EVERY)
        found = solve_fantope(H, k, **rest, tol=0.3 * tol, max_iter=left, state=state)
        state, unit, steps = found.state, float(np.abs(H).max(axis=None)), steps + found.iterations
        bound = min(bound, found.bound + y * c)
        kept = float(f @ found.X @ f)
        ends[kept > c] = (y, kept, found.X)
        if False in ends:
            X = ends[False][2]
            if True in ends:
                (_, less, inside), (_, more, outside) = ends[False], ends[True]
                X = inside + (c - less) / (more - less) * (outside - inside)
            gain, loss = float((A * X).sum(axis=None)), mu * _spread(X, Q, phi, penalty)
            if best is None or gain - loss > best[0]:
                best = gain - loss, X, abs(gain) + loss
        gap = np.inf if best is None else (bound - best[0]) / max(best[2], np.finfo(float).tiny)
        if gap <= tol or steps >= max_iter:
            break
        y = _next_multiplier(ends, c, unit / float(f @ f))
    if best is None:
        best = found.value, found.X
    return FantopeAnswer(best[1], best[0], bound, gap, steps, "solved" if gap <= tol else "stopped at max_iter", state)


def _spread(X, Q, phi, penalty):
    """The larger of the squared spectral norms, or their sum: largest eigenvalues of X (phi I +- Q) X."""
    square, inner = X @ X, X @ Q @ X
    signed = zip(phi if isinstance(phi, tuple) else (phi, phi), (1, -1), strict=True)
    squares = [max(float(np.linalg.eigvalsh(shift * square + sign * inner)[-1]), 0.0) for shift, sign in signed]
    return sum(squares) if penalty == "sum" else max(squares)


def _next_multiplier(ends, c, first):
    """Where the power law through both ends keeps c, though never close to an end; larger while no end is feasible."""
    low, kept, _ = ends[True]
    if False not in ends:
        return max(10.0 * low, first)
    high, less, _ = ends[False]
    if low == 0:
        return 0.1 * high
    share = np.log(kept / c) / np.log(kept / max(less, 1e-6 * c))
    return low * (high / low) ** float(np.clip(share, 0.1, 0.9))


class CollapsedRelaxationWarning(FairWarning):
    """The relaxed answer is far from a projector, so that the components extracted from it are nearly arbitrary."""


@dataclass(frozen=True, eq=False)
class ConvexAnswer:
    """The relaxed X, its k leading eigenvectors V, all eigenvalues, and how the program ended.

    The certificate is about the value of X in the relaxation. ``state`` starts the next program of a grid.
    """

    X: np.ndarray
    V: np.ndarray
    eigenvalues: np.ndarray
    certificate: Certificate
    status: str
    iterations: int = 0
    state: SplittingState | None = None


def solve_convex(
    moments: GroupMoments,
    k: int,
    *,
    delta: float,
    mu: float = 0.0,
    covariance: bool = False,
    penalty: Penalty = "largest",
    tol: float = 1e-6,
    max_iter: int = 20_000,
    state: SplittingState | None = None,
) -> ConvexAnswer:
    """Solve the program of ``ConvexFairPCA`` on (standardised) moments of two groups; ``status`` says how it ended.

    ``state`` is the end of a program that differs in ``delta`` or ``mu`` only.
    """
    if (mu > 0) != bool(covariance):
        raise ConfigurationError(
            f"mu={mu!r} with covariance={covariance!r}; the weight of the covariance penalty is above 0 with "
            "covariance=True and 0 without."
        )
    require_two_groups(moments, "ConvexFairPCA", "Use MinMaxFairPCA or RobustFairPCA for more than two.")
    S = moments.scatter / moments.n
    norm = float(np.sqrt(moments.n * np.trace(S)))
    A, f = S / norm, moments.means[1] - moments.means[0]
    size = float(np.linalg.norm(f))
    if size <= 1e-12 * np.sqrt(np.trace(S)):
        f, size = np.zeros_like(f), 0.0  # equal means: every subspace satisfies the constraint
    if covariance:
        covariances = moments.scatters / moments.counts[:, None, None]
        Q = covariances[1] - covariances[0]
        # Equal covariances: the sum is zero for every X; the larger one still counts the 1/2 in its shift.
        covariance = penalty == "largest" or float(np.linalg.norm(Q, ord=2)) > 1e-12 * float(np.linalg.norm(S, ord=2))
    if not covariance:
        return _mean_exact(A, f, size, k, delta)
    spread = {"phi": _shifts(Q, penalty), "mu": mu, "penalty": penalty, "tol": tol, "max_iter": max_iter}
    N = complement(f[:, None]) if size and delta == 0 else np.eye(len(A))
    if size and delta > 0:
        found = solve_bounded(A, k, f=f, c=delta**2, Q=Q, **spread)
    else:
        found = solve_fantope(N.T @ A @ N, k, Q=N.T @ Q @ N, **spread, state=state)
    X = N @ found.X @ N.T
    problem = "<A, X> - mu t over the fantope with the mean constraint"
    beyond = max(float(f @ X @ f) - delta**2, 0.0) / size**2 if size and delta > 0 else 0.0
    certificate = Certificate(problem, found.value, found.bound, feasibility=beyond, evaluations=found.iterations)
    status = "solved" if found.status == "solved" else f"{found.status} with relative gap {found.relative_gap:.1e}"
    values, V = top_eigenspace(X, len(X))
    return ConvexAnswer(X, V[:, :k], values, certificate, status, found.iterations, found.state)


#: Where X is a projector, the components are the answer to the program.
WHOLE: Scope = "whole problem"


def _mean_exact(A, f, size, k, delta) -> ConvexAnswer:
    """The mean constraint alone, which an eigenspace or one multiplier solves."""
    if size and delta == 0:
        N = complement(f[:, None])
        _, inner = top_eigenspace(N.T @ A @ N, k)
        # tr X f f' = 0 forces X f = 0 for a positive semidefinite X, so nothing outside N is feasible.
        certificate = ky_fan_certificate(N.T @ A @ N, inner, "<A, X> over the fantope, X f = 0", scope=WHOLE)
        return _of_projector(N @ inner, certificate)
    _, V = top_eigenspace(A, k)
    if float(np.linalg.norm(V.T @ f)) <= delta:
        return _of_projector(V, ky_fan_certificate(A, V, "<A, X> over the fantope", scope=WHOLE))
    return _one_multiplier(A, f / size, k, (delta / size) ** 2)


def _one_multiplier(A: np.ndarray, unit: np.ndarray, k: int, share: float) -> ConvexAnswer:
    r"""Leading eigenvectors of :math:`A - \nu e e^\top`, at the :math:`\nu` where they keep the given share of e."""
    # In the joint range of A and ee' they lie in the direction (1, -nu). Any such direction bounds all feasible values.
    size = float(np.abs(A).max(axis=None))
    joint = JointRange(A / size, np.outer(unit, unit), k)
    found, at = joint.crossing(np.array([0.0, -1.0]), share - 1.0, -np.pi / 2, 0.0)
    V, cos, sin = found.basis(at), float(np.cos(found.angle)), float(np.sin(found.angle))
    certificate = Certificate(
        "<A, X> over the fantope with the mean constraint",
        float(np.trace(V.T @ A @ V)),
        size * float(joint.traces[0] - (found.value - sin * (1.0 - share)) / cos),
        feasibility=max(float(((V.T @ unit) ** 2).sum(axis=0)) - share, 0.0),
        evaluations=joint.evaluations,
        scope=WHOLE,
    )
    return _of_projector(V, certificate)


def _of_projector(V: np.ndarray, certificate: Certificate) -> ConvexAnswer:
    d, k = V.shape
    return ConvexAnswer(V @ V.T, V, np.repeat([1.0, 0.0], [k, d - k]), certificate, "exact")


def _shifts(Q: np.ndarray, penalty: Penalty) -> float | tuple[float, float]:
    """What is added to Q and to -Q in the penalty."""
    if penalty == "largest":
        return float(np.linalg.norm(Q, ord=2)) + 0.5
    values = np.linalg.eigvalsh(Q)
    return max(-float(values[0]), 0.0), max(float(values[-1]), 0.0)


@parameterised
class ConvexFairPCA(ReconstructionEstimator):
    r"""PCA with a bound on the mean gap of two groups, and a penalty on their covariance gap, by relaxation.

    .. math::

        \max_{0 \preceq X \preceq I,\; \operatorname{tr} X = k}
        \frac{\langle S, X \rangle}{\sqrt{n \operatorname{tr} S}} - \mu t
        \quad \text{subject to} \quad f^\top X f \le \delta^2, \qquad
        t I \succeq X (\varphi I \pm Q) X

    with S the covariance of all rows, f and Q the differences of the two groups' means and covariances, and
    :math:`\varphi = \lVert Q \rVert_2 + 1/2`. The components are the k leading eigenvectors of X.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d - 1, which None stands for.
    delta : float, default 0.0
        Largest distance of the two group means after projection, in standardised units. Larger values allow more.
    mu : float, default 0.0
        Weight of the covariance penalty; above 0 with ``covariance=True``. Large values flatten X (see Guarantees).
    covariance : bool, default False
        Whether the term in t is there.
    combine : {"largest", "sum"}, default "largest"
        "sum" is the earlier form of the penalty, as called for the tables of Kleindessner et al. (2023): with
        :math:`\lambda^\pm` the extreme eigenvalues of Q (0 where of the wrong sign), :math:`t` is
        :math:`\lVert X (Q - \lambda^- I) X \rVert_2 + \lVert X (\lambda^+ I - Q) X \rVert_2`.
    tol, max_iter : float, default 1e-6, and int, default 20000
        Relative gap to which programs without closed form are solved, and the most steps for it.
    standardize : bool, default False
        Divide every feature by its population standard deviation first, which is part of the published method.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows, the leading eigenvectors of X; what ``transform`` subtracts.
    fractional_, eigenvalues_ : ndarray of shape (d, d) and (d,)
        X and its eigenvalues, decreasing: k ones and then zeros where the relaxation is tight.
    mean_distance_ : float
        Distance of the two group means after projection on the components.
    group_errors_, group_losses_ : ndarray of shape (2,)
        Mean squared reconstruction error and loss of each group, about the overall mean.
    certificate_, subspace_ : Certificate and FairSubspace
        Value of X and an upper bound on the relaxation: the whole problem where X is a projector, with ``covariance``
        a step, since the components are another answer than X. The answer by itself.
    group_labels_, group_counts_ : ndarray of shape (2,)
        The groups seen in ``fit``.
    converged_, n_iter_ : bool and int
        Whether the program was solved to ``tol``, in how many steps; eigenvalue problems where the answer is exact.

    Guarantees
    ----------
    On the training sample. With the linear constraint alone X is a projector, exact by an eigenspace and at most one
    multiplier, and the distance of the projected means is at most delta. With the penalty only X is
    certified: its components need not meet the constraint. The penalty is lowered by making X fractional, up to
    :math:`(k/d) I`, where the components say nothing; ``CollapsedRelaxationWarning`` tells when the k-th eigenvalue is
    below 0.9.

    Complexity
    ----------
    About 15 eigendecompositions of order d for the mean constraint; up to three a step, for tens to hundreds of steps,
    for the rest. Fewer rows than features: in the span of the rows, of order n for d.

    References
    ----------
    M. Olfat and A. Aswani (2019), Convex formulations for fair principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 1, 0], [1, -1, 1], [-1, 1, 0], [-3, -1, 1]])
    >>> fitted = ConvexFairPCA(1).fit(X, sensitive_features=["a", "a", "b", "b"])
    >>> round(fitted.mean_distance_, 6)
    0.0
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    delta: float = option(number(0), default=0.0)
    mu: float = option(number(0), default=0.0)
    covariance: bool = option(flag(), default=False)
    combine: str = option(one_of("largest", "sum"), default="largest")
    tol: float = option(number(0, low_open=True), default=1e-6)
    max_iter: int = option(whole(1), default=20_000)
    standardize: bool = option(flag(), default=False)

    def _lifted(self, learnt, Q, rest):
        X, values = Q @ learnt["fractional_"] @ Q.T, np.append(learnt["eigenvalues_"], np.zeros(rest.shape[1]))
        return learnt | {"fractional_": X, "eigenvalues_": values}

    def _solve(self, matrices, moments, k):
        names = ("delta", "mu", "covariance", "tol", "max_iter")
        asked = {name: getattr(self, name) for name in names}
        answer = solve_convex(moments, k, penalty=self.combine, **asked)
        solved = answer.status in ("exact", "solved")
        if not solved:
            warn_caller(
                f"the relaxation was not solved to tol={self.tol:g}: {answer.status}. Raise max_iter or tol; with a "
                "very small delta use delta=0.",
                NotConvergedWarning,
            )
        smallest = float(answer.eigenvalues[k - 1])
        if smallest < 0.9:
            warn_caller(
                f"eigenvalue {k} of the relaxed answer is {smallest:.3f}, not 1: it is far from a projector of rank "
                f"{k}, and the components taken from it are nearly arbitrary. Lower mu.",
                CollapsedRelaxationWarning,
            )
        learnt = {
            "fractional_": answer.X,
            "eigenvalues_": answer.eigenvalues,
            "converged_": solved,
            "n_iter_": max(int(answer.certificate.evaluations or 1), 1),
            "mean_distance_": float(np.linalg.norm((moments.means[1] - moments.means[0]) @ answer.V)),
        }
        return answer.V, answer.certificate, learnt
