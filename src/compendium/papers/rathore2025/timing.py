"""What the experiment on running times times: the programme as published, stopwatches, and random pairs that grow."""

import time
import warnings
from collections.abc import Callable, Iterable

import numpy as np

from evenspan.core.linalg import symmetrise
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import criteria_offsets

from ..vu2022.samadi import round_by_lp, square_root_map
from .algorithm_1 import DIAGONALISERS
from .protocol import orthonormal


def sdp_and_lp(S: np.ndarray, shares: np.ndarray, k: int, lap: Callable[[str], None]) -> tuple[np.ndarray, float]:
    """FairPCA_SDP_LP as published, with a lap at each step: the operator and the relaxation's value."""
    a = criteria_offsets(S, k, "loss")
    lap("own PCA of the groups")
    X = semidefinite_programme(S, k, a)
    lap("SDP")
    weights, vectors = round_by_lp(S, k, a, X)
    lap("LP")
    P = square_root_map((vectors * weights) @ vectors.T)
    lap("operator")
    return P, float((a - (S * X).sum(axis=(1, 2))).max(axis=0))


def semidefinite_programme(S: np.ndarray, k: int, a: np.ndarray) -> np.ndarray:
    """The fractional X (d, d) by a general solver: interior points up to 60 features, beyond them of first order."""
    import cvxpy  # a second to load, and theorems need only the pairs of this file

    d = S.shape[1]
    T = S / _scale(S)
    X, z = cvxpy.Variable((d, d), symmetric=True), cvxpy.Variable()
    losses = [z >= own / _scale(S) - cvxpy.sum(cvxpy.multiply(M, X)) for own, M in zip(a, T, strict=True)]
    problem = cvxpy.Problem(cvxpy.Minimize(z), [*losses, X >> 0, np.eye(d) - X >> 0, cvxpy.trace(X) <= k])
    with warnings.catch_warnings():
        # Announces an inaccurate status; how far the value is from the optimum is measured.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        if d <= 60:
            problem.solve(solver="CLARABEL")
        else:
            problem.solve(solver="SCS", eps_abs=1e-7, eps_rel=1e-7, max_iters=50_000)
    values, vectors = np.linalg.eigh(symmetrise(X.value))
    values = np.clip(values, 0.0, 1.0)
    return (vectors * (values * min(1.0, k / values.sum(axis=0)))) @ vectors.T


def columns_of(mode: str) -> Callable:
    """Joint diagonalisation from the pooled eigenvectors, and k of its columns; anew for every k, as printed."""

    def solve(S, shares, k, lap):
        found = DIAGONALISERS[mode](S, init="pooled", weights=shares)
        lap("diagonalisation")
        V = orthonormal(found.U, S, shares, k)
        lap("columns")
        return V

    return solve


class Watch:
    """Adds up the seconds of named laps."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.at = time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.at
        self.at = now


def growth_steps(S: np.ndarray, mode: str, eigh: float) -> dict[str, float]:
    """Steps of the joint diagonalisation, and what one of them costs, in seconds and in eigendecompositions."""
    diagonalise = DIAGONALISERS[mode]
    found = diagonalise(S)
    one, more = ({"max_iter": steps, "rtol": 0.0} for steps in (1, 5))
    # The start is an eigendecomposition too, and no step: only what is added by further steps counts.
    added = diagonalise(S, **more).n_iter - 1
    spent = shortest(lambda: diagonalise(S, **more)) - shortest(lambda: diagonalise(S, **one))
    values = {"steps": found.n_iter, "converged": float(found.status == "converged")}
    if added > 0 and spent > 0:
        values |= {"seconds per step": spent / added, "step / eigh": spent / added / eigh}
    return values


def shortest(work: Callable[[], object], attempts: int = 5, enough: float = 0.5) -> float:
    """Shortest of several timings in seconds; after the second no further one once ``enough`` seconds were spent."""
    timings = []
    while len(timings) < attempts and (sum(timings) < enough or len(timings) < 2):
        start = time.perf_counter()
        work()
        timings.append(time.perf_counter() - start)
    return min(timings)


def off_the_optimum(S: np.ndarray, ranks: Iterable[int], values: list[float]) -> float:
    """Largest difference of the programme's value and the exact optimum over all r, relative to the data's scale."""
    exact = [solve_min_max(*S, k, "loss")[1].primal for k in ranks]
    return float(np.abs(np.subtract(values, exact)).max() / _scale(S))


def _scale(S: np.ndarray) -> float:
    return np.trace(S, axis1=1, axis2=2).max() / S.shape[1]


def synthetic_pair(d: int, rng: np.random.Generator, turn: float = 0.1) -> np.ndarray:
    """Two covariances with well separated eigenvalues whose eigenvectors are turned a little against each other."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = rng.normal(size=(d, d)) * turn / np.sqrt(d)
    skew = A - A.T
    turned = np.linalg.solve(np.eye(d) - skew / 2, np.eye(d) + skew / 2)  # Cayley: orthogonal
    values = np.geomspace(1.0, 100.0, d) * rng.uniform(0.9, 1.1, size=(2, d))
    values[1] = values[1] * rng.uniform(0.5, 2.0, size=d)
    bases = np.stack([Q, Q @ turned])
    return np.array([symmetrise(S) for S in np.einsum("gde,ge,gfe->gdf", bases, values, bases)])
