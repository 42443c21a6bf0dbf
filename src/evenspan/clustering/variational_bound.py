"""The bound updates of variational fair clustering: soft assignments for fixed costs, by a falling energy."""

from dataclasses import dataclass

import numpy as np

#: Doublings of L within one update after which the energy counts as being at rest.
MAX_DOUBLINGS = 1000


@dataclass(frozen=True)
class BoundResult:
    """Soft assignments, and how they were reached.

    Parameters
    ----------
    S : ndarray of shape (c, n)
        Soft assignments; columns are on the simplex.
    history : tuple of float
        The energy of the start and after every update; it never rises.
    fairness : float
        The fairness error of S.
    lipschitz : float
        The largest L that was needed.
    n_doublings : int
        How often L was doubled because the energy would have risen.
    converged : bool
        Whether the relative change of the energy fell below the tolerance.
    """

    S: np.ndarray
    history: tuple[float, ...]
    fairness: float
    lipschitz: float
    n_doublings: int
    converged: bool


def one_hot(codes: np.ndarray, G: int) -> np.ndarray:
    """Indicator columns (n, G) of the groups."""
    return (codes[:, None] == np.arange(G)).astype(np.float64)


def fairness_error(log_mass: np.ndarray, shares: np.ndarray) -> float:
    r"""Sum over clusters of the divergence :math:`\mathrm{KL}(u \| P_k)` of the overall shares from theirs.

    Parameters
    ----------
    log_mass : ndarray of shape (G, c)
        Logarithm of the mass, or count, of each group in each cluster; minus infinity where there is none.
    shares : ndarray of shape (G,)
        The overall shares u.

    Returns
    -------
    float
        At least 0; infinite if a group is missing from a cluster.
    """
    log_shares = log_mass - np.logaddexp.reduce(log_mass, axis=0)
    return float((shares[:, None] * (np.log(shares)[:, None] - log_shares)).sum(axis=None))


def fairness_gradient(log_mass: np.ndarray, shares: np.ndarray) -> np.ndarray:
    r"""Derivative of the fairness error by the assignment of a sample: a table of groups and clusters.

    :math:`b_{gk} = 1 / (1^\top s_k) - u_g / (V_g^\top s_k)`, the same for all samples of a group.

    Parameters
    ----------
    log_mass : ndarray of shape (G, c)
        Logarithm of the mass of each group in each cluster.
    shares : ndarray of shape (G,)
        The overall shares u.

    Returns
    -------
    ndarray of shape (G, c)
    """
    # exp(600) is far beyond any step that L leaves in place.
    total = np.logaddexp.reduce(log_mass, axis=0)
    return np.exp(np.minimum(-total, 600.0)) - np.exp(np.minimum(np.log(shares)[:, None] - log_mass, 600.0))


def bound_updates(
    costs: np.ndarray,
    indicators: np.ndarray,
    weight: float,
    lipschitz: float,
    *,
    tol: float = 1e-5,
    max_iter: int = 10_000,
) -> BoundResult:
    r"""Minimise clustering costs plus weighted fairness error over soft assignments, from a softmax of the costs.

    One update is

    .. math:: s_{pk} \leftarrow s_{pk} \, e^{-(a_{pk} + \lambda b_{g_p k}) / L} \,\Big/\, \textstyle\sum_{k'} (\ldots) ,

    b being ``fairness_gradient`` at the current S. As b depends on a sample through its group only, S is at all times
    the softmax of a multiple of the costs plus a table of groups and clusters, and these few numbers are what is
    updated.

    Parameters
    ----------
    costs : ndarray of shape (c, n)
        What it costs to assign a sample to a cluster, :math:`a_{pk}`.
    indicators : ndarray of shape (n, G)
        Indicator columns of the groups.
    weight : float
        The weight of the fairness error.
    lipschitz : float
        L of the first update. A larger one makes smaller steps. It is doubled as long as the energy would rise, and
        later halved again, down to this value, as far as the energy allows.
    tol : float
        Stop when the energy changes relatively by at most this (times this L over the current one).
    max_iter : int
        Most updates.

    Returns
    -------
    BoundResult
    """
    counts = indicators.sum(axis=0)
    shares, codes = counts / counts.sum(axis=0), indicators.argmax(axis=1)
    table = np.zeros((len(shares), len(costs)))  # what the groups add to the costs
    exponent, added = np.empty_like(costs), np.empty_like(costs)

    def state(multiple, table, S):
        # Fills S, and gives the rest of what is known at it.
        np.multiply(costs, -multiple, out=exponent)
        if weight > 0:
            np.subtract(exponent, np.take(table.T, codes, axis=1, out=added, mode="clip"), out=exponent)
        np.subtract(exponent, exponent.max(axis=0), out=exponent)
        np.exp(exponent, out=S)
        total = S.sum(axis=0)
        S /= total
        energy = float(np.vdot(S, costs))
        if weight == 0:
            return None, 0.0, energy
        log_mass = _log_mass(S, exponent, total, indicators)
        fairness = fairness_error(log_mass, shares)
        return log_mass, fairness, energy + weight * fairness

    S, spare = np.empty_like(costs), np.empty_like(costs)
    multiple, step, used, doublings, patience, waited = 1.0, lipschitz, lipschitz, 0, 1, 0
    log_mass, fairness, energy = state(multiple, table, S)
    history = [energy]
    for round_ in range(1, max_iter + 1):
        gradient = weight * fairness_gradient(log_mass, shares) if weight > 0 else 0.0
        tried = step > lipschitz and waited >= patience
        if tried:
            step, waited = max(lipschitz, 0.5 * step), 0
        for attempt in range(MAX_DOUBLINGS + 1):
            trial = multiple + 1.0 / step, table + gradient / step
            new = state(*trial, spare)
            if new[2] <= energy + 1e-13 * abs(energy):
                break
            if attempt == MAX_DOUBLINGS:
                return BoundResult(S, tuple(history), fairness, used, doublings, True)
            step, doublings = 2.0 * step, doublings + 1
        if tried:
            patience = min(2 * patience, 64) if attempt else 1  # a smaller L that fails is not tried again at once
        change = abs(energy - new[2])
        S, spare = spare, S
        (multiple, table), (log_mass, fairness, energy) = trial, new
        history.append(energy)
        used, waited = max(used, step), waited + 1
        # A small step changes little: the change is judged as if it had been made with the first L.
        if round_ >= 2 and change * (step / lipschitz) <= tol * abs(energy):
            if step == lipschitz or attempt:
                return BoundResult(S, tuple(history), fairness, used, doublings, True)
            patience = waited = 1  # it may rest only because L is larger than it has to be by now
    return BoundResult(S, tuple(history), fairness, used, doublings, False)


def _log_mass(S, exponent, total, indicators) -> np.ndarray:
    """Logarithm (G, c) of the mass of each group in each cluster, also where the mass itself is too small a number."""
    mass = (S @ indicators).T
    if mass.min() > 1e-250:
        return np.log(mass)
    log_s = exponent - np.log(total)
    members = [np.flatnonzero(column) for column in indicators.T]
    return np.array([np.logaddexp.reduce(log_s[:, rows], axis=1) for rows in members])
