"""The sum penalty with a bound on f'Xf, by a search for the one multiplier of that bound."""

import numpy as np

from .fantope import CHECK_EVERY, FantopeAnswer, SplittingState, solve_fantope


def solve_bounded(
    A: np.ndarray,
    k: int,
    *,
    Q: np.ndarray,
    phi: tuple[float, float],
    mu: float,
    f: np.ndarray,
    c: float,
    tol: float = 1e-6,
    max_iter: int = 20_000,
) -> FantopeAnswer:
    r"""Solve the program of ``solve_fantope`` with ``penalty="sum"`` and the linear constraint.

    For any :math:`y \ge 0` the program without constraint and with :math:`A - y f f^\top` in place of A has, increased
    by cy, a value that no feasible X passes. What its solution keeps, :math:`f^\top X f`, falls with y, roughly as a
    power of it. Between a solution that keeps too much and one that does not, the combination that keeps c is
    feasible; the objective is concave, so that combination is no worse than the two on average.

    A splitting with the constraint in it gets there too, but for a c far below what the free solution keeps it takes a
    hundred times the steps.

    Parameters
    ----------
    A, k, Q, phi, mu, f, c, tol, max_iter
        As in ``solve_fantope``, c above 0.

    Returns
    -------
    FantopeAnswer
    """
    rest = {"Q": Q, "phi": phi, "mu": mu, "penalty": "sum"}
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
            gain, loss = float((A * X).sum(axis=None)), mu * _spread(X, Q, phi)
            if best is None or gain - loss > best[0]:
                best = gain - loss, X, abs(gain) + loss
        gap = np.inf if best is None else (bound - best[0]) / max(best[2], np.finfo(float).tiny)
        if gap <= tol or steps >= max_iter:
            break
        y = _next_multiplier(ends, c, unit / float(f @ f))
    if best is None:
        best = found.value, found.X
    return FantopeAnswer(best[1], best[0], bound, gap, steps, "solved" if gap <= tol else "stopped at max_iter", state)


def _spread(X, Q, phi):
    """The sum of the squared spectral norms: largest eigenvalues of X (phi I +- Q) X."""
    square = X @ X
    inner = X @ Q @ X
    return sum(
        max(float(np.linalg.eigvalsh(shift * square + sign * inner)[-1]), 0.0)
        for shift, sign in zip(phi, (1, -1), strict=True)
    )


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
