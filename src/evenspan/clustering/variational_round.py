"""One round of variational fair clustering: costs of k-means, and the updates that bound costs and unfairness."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ..core.errors import DataError


class KMeansCosts:
    """Squared distances of points (n, d), dense or sparse, to the means of the clusters.

    Dense points are moved to their mean, so that distances keep their digits; centres are then about ``origin``.
    """

    def __init__(self, X):
        self.origin = np.zeros(X.shape[1]) if sparse.issparse(X) else X.mean(axis=0)
        self.X = X if sparse.issparse(X) else X - self.origin
        self.squares = row_norms(self.X, squared=True)

    def seeds(self, c: int, rng: np.random.Generator) -> np.ndarray:
        """The centres (c, d) of k-means++."""
        centres, _ = kmeans_plusplus(self.X, c, random_state=int(rng.integers(2**31)))
        centres = centres.toarray() if sparse.issparse(centres) else centres
        different = len(np.unique(centres, axis=0))
        if different < c:
            raise DataError(
                f"k-means++ found {different} different seeds, and n_clusters={c}: there are too few different "
                f"points. Ask for at most {different} clusters."
            )
        return centres

    def update(self, labels: np.ndarray, c: int) -> np.ndarray:
        """The centres (c, d) of hard clusters, none of them empty."""
        member = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(c, len(labels)))
        return safe_sparse_dot(member, self.X, dense_output=True) / np.bincount(labels, minlength=c)[:, None]

    def costs(self, centres: np.ndarray) -> np.ndarray:
        """What it costs to assign each point to each cluster, shape (c, n)."""
        products = (self.X @ centres.T).T
        return np.maximum(row_norms(centres, squared=True)[:, None] + self.squares - 2.0 * products, 0.0)


#: The constant of the authors' program.
LIPSCHITZ = 2.0
#: Doublings of L within one update after which the energy counts as converged.
MAX_DOUBLINGS = 1000


@dataclass(frozen=True)
class BoundResult:
    """Soft assignments, and how they were reached."""

    #: Soft assignments (c, n), whose columns are on the simplex; the energy of the start and after every update, which
    #: never rises; and the fairness error of S.
    S: np.ndarray
    history: tuple[float, ...]
    fairness: float
    #: The largest L that was needed, and how often it was doubled because the energy would have risen.
    lipschitz: float
    n_doublings: int
    #: Whether the relative change of the energy fell below the tolerance.
    converged: bool


def fairness_error(log_mass: np.ndarray, shares: np.ndarray) -> float:
    r"""Sum over clusters of the divergence :math:`\mathrm{KL}(u \| P_k)` of the overall shares u (G,) from theirs.

    ``log_mass`` (G, c) is the logarithm of mass or count; where there is none the error is infinite.
    """
    log_shares = log_mass - np.logaddexp.reduce(log_mass, axis=0)
    return float((shares[:, None] * (np.log(shares)[:, None] - log_shares)).sum(axis=None))


def fairness_gradient(log_mass: np.ndarray, shares: np.ndarray) -> np.ndarray:
    r"""Derivative of the fairness error by the assignment of a sample: a table of groups and clusters.

    :math:`b_{gk} = 1 / (1^\top s_k) - u_g / (V_g^\top s_k)`, the same for all samples of a group.
    """
    # exp(600) is far beyond any step that L leaves in place.
    total = np.logaddexp.reduce(log_mass, axis=0)
    return np.exp(np.minimum(-total, 600.0)) - np.exp(np.minimum(np.log(shares)[:, None] - log_mass, 600.0))


def bound_updates(
    costs: np.ndarray,
    indicators: np.ndarray,
    weight: float,
    lipschitz: float = LIPSCHITZ,
    *,
    tol: float = 1e-5,
    max_iter: int = 10_000,
) -> BoundResult:
    """Minimise clustering costs plus weighted fairness error over soft assignments, from a softmax of the costs.

    ``lipschitz`` is the first and least L; the end is where the energy changes relatively by at most ``tol``.
    """
    # One update multiplies s_pk by exp(-(a_pk + weight b_gk) / L) for p in group g and scales its sum to one, b being
    # the gradient. So S is always the softmax of a multiple of the costs plus a table of groups and clusters, and these
    # few numbers are what is updated. L is doubled while the energy would rise, and halved again where it would not.
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
