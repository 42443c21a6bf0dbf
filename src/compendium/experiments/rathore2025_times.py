"""Table 1 of Rathore and Manwani (2025): training times, and how they grow with the number of features.

What the printed seconds include is not stated. Ours are summed over all r of a table, each fit starting from the data
points: one pass for the group moments, then the solver. Seconds of different machines cannot be compared; ratios of
methods that are timed in turn on the same data can.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.disparity import Family, search_reference
from evenspan.reconstruction.group_errors import square_root_map
from evenspan.reconstruction.jevd import order_columns, orthonormal_columns
from evenspan.reconstruction.joint_diagonalisation import joint_diagonalise
from evenspan.reconstruction.min_max import offsets, solve_min_max
from evenspan.reconstruction.multi_criteria import relax, round_by_lp

from ..data import load, whole_moments
from .rathore2025_divergence import synthetic_pair
from .rathore2025_protocol import COLUMNS, TABLES, matrices, table
from .rathore2025_speed import SCALING, SUMMED, claims

SEED = 2025
REPETITIONS = 3
#: Features of the random pairs; the semidefinite programme goes as far as its interior-point solver does.
DIMENSIONS = (10, 20, 40, 60, 80, 120, 160, 240, 320, 480)
PROGRAMME_DIMENSIONS = (5, 10, 15, 20, 30, 40, 50, 60)
EMBEDDED_DIMENSIONS = (10, 20, 40, 80, 160)
#: In every build of the book the semidefinite programme is solved up to this many features only.
EMBEDDED_PROGRAMME = 21
LEFT_OUT = (
    f"left out of the embedded profile: the semidefinite programme takes too long above {EMBEDDED_PROGRAMME} features"
)

#: A solver takes the group matrices, the shares of the groups and r; steps of it can be timed through ``lap``.
Lap = Callable[[str], None]
Solver = Callable[[np.ndarray, np.ndarray, int, Lap], object]


def sdp_and_lp(S: np.ndarray, shares: np.ndarray, k: int, lap: Lap) -> tuple[np.ndarray, float]:
    """FairPCA_SDP_LP as published: relaxation, rounding, operator. Returns the operator and the relaxation's value."""
    a = offsets(S, k, "loss")
    lap("own PCA of the groups")
    relaxed = relax(S, k, a)
    lap("SDP")
    weights, vectors = round_by_lp(S, k, a, relaxed.X)
    lap("LP")
    P = square_root_map((vectors * weights) @ vectors.T)
    lap("operator")
    return P, relaxed.value


def columns_of(mode: str) -> Solver:
    """Joint diagonalisation from the pooled eigenvectors, and k of its columns; anew for every k, as printed."""

    def solve(S, shares, k, lap):
        found = joint_diagonalise(S, mode, init="pooled", weights=shares)
        lap("diagonalisation")
        V = orthonormal_columns(found.U[:, order_columns(found.U, S, shares, k, "pooled")])
        lap("columns")
        return V

    return solve


SOLVERS: Mapping[str, Solver] = {
    "covFairPCA": lambda S, shares, k, lap: search_reference(Family(S, shares, k), True),
    "FairPCA_SDP_LP": sdp_and_lp,
    "JevdPCA": columns_of("paper"),
    "StandardPCA": lambda S, shares, k, lap: top_eigenspace(np.tensordot(shares, S, axes=1), k),
    "JevdPCA (orthogonal)": columns_of("orthogonal"),
    "min-max loss (certified)": lambda S, shares, k, lap: solve_min_max(*S, k, "loss"),
}


def tasks() -> list[dict]:
    """One unit of work for each data set, and one for the random pairs."""
    return [*({"dataset": name} for name in TABLES), {"study": SCALING}]


def run_task(dataset: str | None = None, study: str | None = None) -> pd.DataFrame:
    """Times of all methods: from the points of a data set, or of random pairs of matrices."""
    if study == SCALING:
        return scaling(DIMENSIONS, PROGRAMME_DIMENSIONS, REPETITIONS)
    data = load(dataset)
    return _frame(_summed(dataset, lambda: GroupMoments.from_data(data.X, data.groups), REPETITIONS))


def run(table: int) -> pd.DataFrame:
    """The solvers alone, from shipped moments, once; and a shorter scaling study."""
    if table != 1:
        raise ValueError(f"table={table}; this experiment is Table 1.")
    found = []
    for dataset in TABLES:
        moments = whole_moments(dataset)
        found += _summed(dataset, lambda given=moments: given, 1, shipped=True)
    small = tuple(d for d in PROGRAMME_DIMENSIONS if d <= EMBEDDED_PROGRAMME)
    return pd.concat([_frame(found), scaling(EMBEDDED_DIMENSIONS, small, 1)], ignore_index=True)


class Watch:
    """Adds up the seconds of named laps."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.at = time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.at
        self.at = now


def _summed(dataset: str, measure: Callable[[], GroupMoments], repetitions: int, *, shipped: bool = False) -> list:
    """Rows of one data set: seconds summed over r for moments, solver and both, and for the steps of a solver."""
    ranks, known = range(1, table(dataset).largest + 1), measure()
    S, shares = matrices(known, "global"), known.counts / known.n
    found = _checked(dataset, S, shares)
    for method, solve in SOLVERS.items():
        if shipped and method == "FairPCA_SDP_LP" and known.d > EMBEDDED_PROGRAMME:
            found.append((dataset, method, 0, SUMMED, "solver", np.nan, LEFT_OUT))
            continue
        solve(S, shares, 1, _unheard)  # what is imported or set up at the first call is no one's training
        for repetition in range(repetitions):
            watch, answers = Watch(), []
            for k in ranks:
                moments = measure()
                watch("moments")
                answers.append(solve(matrices(moments, "global"), moments.counts / moments.n, k, watch))
                watch("rest")
            steps = {name: value for name, value in watch.seconds.items() if name not in ("moments", "rest")}
            solver = sum(steps.values()) + watch.seconds["rest"]
            values = {"solver": solver} | {f"solver, {name}": value for name, value in steps.items()}
            if not shipped:
                values |= {"moments": watch.seconds["moments"], "training time": solver + watch.seconds["moments"]}
            if method == "FairPCA_SDP_LP":
                values["relaxation against exact optimum"] = _off(S, ranks, [value for _, value in answers])
            found += [(dataset, method, repetition, SUMMED, metric, value, "") for metric, value in values.items()]
    return found


def _off(S: np.ndarray, ranks: Iterable[int], values: list[float]) -> float:
    """Largest difference of the programme's value and the exact optimum over all r, relative to the data's scale."""
    exact = np.array([solve_min_max(*S, k, "loss")[1].primal for k in ranks])
    scale = float(np.trace(S, axis1=1, axis2=2).max(axis=0)) / S.shape[1]
    return float(np.abs(np.array(values) - exact).max(axis=0)) / scale


def _checked(dataset: str, S: np.ndarray, shares: np.ndarray) -> list:
    """What the times are times of: how Algorithm 1 ends."""
    rows = []
    for method, mode in (("JevdPCA", "paper"), ("JevdPCA (orthogonal)", "orthogonal")):
        found = joint_diagonalise(S, mode, init="pooled", weights=shares)
        values = {"steps": found.n_iter, "converged": float(found.status == "converged")}
        rows += [(dataset, method, 0, SUMMED, metric, value, "") for metric, value in values.items()]
    return rows


def scaling(dimensions, programme, repetitions: int) -> pd.DataFrame:
    """Seconds on random pairs against d, k = d / 5; also per step, and as multiples of one eigendecomposition."""
    rows = []
    for d in sorted({*dimensions, *programme}):
        k = max(1, d // 5)
        for repetition in range(repetitions):
            S, shares = synthetic_pair(d, np.random.default_rng((SEED, d, repetition))), np.array([0.5, 0.5])
            eigh = shortest(partial(top_eigenspace, S[0], 1))
            values = {"eigh": {"seconds": eigh}} if d in dimensions else {}
            for method, solve in SOLVERS.items():
                if d in (programme if method == "FairPCA_SDP_LP" else dimensions):
                    seconds = shortest(partial(solve, S, shares, k, _unheard))
                    values[method] = {"seconds": seconds, "time / eigh": seconds / eigh}
            for method, mode in (("JevdPCA", "paper"), ("JevdPCA (orthogonal)", "orthogonal")):
                if method in values:
                    values[method] |= _steps(S, mode, eigh)
            if "JevdPCA" in values:
                printed = joint_diagonalise(S, "paper", init="identity")
                values["JevdPCA (from U = I)"] = {"converged": float(printed.status == "converged")}
            rows += [
                (f"synthetic-d{d}", method, repetition, SCALING, metric, value, "")
                for method, found in values.items()
                for metric, value in found.items()
            ]
    return _frame(rows)


def _steps(S: np.ndarray, mode: str, eigh: float) -> dict[str, float]:
    found = joint_diagonalise(S, mode)
    one, more = ({"mode": mode, "max_iter": steps, "rtol": 0.0} for steps in (1, 5))
    # The start is an eigendecomposition too, and no step: only what is added by further steps counts.
    added = joint_diagonalise(S, **more).n_iter - 1
    spent = shortest(lambda: joint_diagonalise(S, **more)) - shortest(lambda: joint_diagonalise(S, **one))
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


def _unheard(name: str) -> None:
    """For times as a whole: laps are not asked for."""


def _frame(rows: list) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "k"])
    frame.insert(2, "k", pd.array([None] * len(frame), dtype="Int64"))  # Table 1 is not for one k
    return frame


__all__ = ["SEED", "SOLVERS", "claims", "run", "run_task", "scaling", "tasks"]
