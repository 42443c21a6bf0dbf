"""Algorithm 1 of Rathore and Manwani (2025) as printed, on every data set whose moments are at hand.

The criterion has a positive minimum on real pairs, because they do not commute; the printed stop test never fires. What
the iteration does instead depends on the start, on the scaling and on the centring, and is recorded here.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd

from evenspan.core.errors import RegistryError, ResultError
from evenspan.core.linalg import symmetrise
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import best_kept
from evenspan.reconstruction.joint_diagonalisation import joint_diagonalise
from evenspan.reconstruction.joint_jacobi import jacobi_diagonalise

from ..data import whole_moments
from .claim_rules import Answer, rule
from .rathore2025_protocol import TABLES, matrices
from .vu2022_protocol import DATASETS, UNSCALED

#: The data sets of the paper, and the tables of Vu et al. (2022): two groups each.
OWN = tuple(TABLES)
OTHERS = tuple(name for name in DATASETS if name not in UNSCALED)
CENTRINGS = ("global", "group", "none")
STARTS = ("identity", "pooled")
DISTANCE = "|U'U - I|"
#: The printed matrices differ from the plain ones by a multiple of I, so that their steps differ by rounding only.
STEPS = 3


def moments_of(dataset: str) -> GroupMoments | None:
    """Moments of all rows, or None where none are shipped in this checkout."""
    try:
        return whole_moments(dataset)
    except (RegistryError, ResultError):
        return None


def settings() -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Data set, scaling and centring with the pair of group matrices; standardised features are centred already."""
    for dataset in (*OWN, *OTHERS):
        moments = moments_of(dataset)
        if moments is None:
            continue
        for scaling, seen in (("raw", moments), ("standardised", moments.standardised())):
            for centring in CENTRINGS[: 3 if scaling == "raw" else 2]:
                yield dataset, scaling, centring, np.array([symmetrise(S) for S in matrices(seen, centring)])


@cache
def divergence() -> pd.DataFrame:
    """How Algorithm 1 ends, from U = I as printed and from the pooled eigenvectors; the orthonormal version beside it.

    Columns: ``dataset``, ``scaling``, ``centring``, ``start``, ``status``, ``steps``, ``C / C_0`` (of the U that is
    returned, relative to the start), ``shortest`` and ``longest`` column, ``cosine`` (largest between two columns),
    ``orthogonal`` (status of the orthonormal version), ``above Jacobi`` (its criterion against that of Jacobi's
    rotations, relative), ``C / Jacobi`` (that of Algorithm 1; it could be below 1, as U need not be orthonormal).
    """
    rows = []
    for dataset, scaling, centring, S in settings():
        orthogonal, jacobi = joint_diagonalise(S), jacobi_diagonalise(S)
        floor = np.finfo(float).eps * float(np.vdot(S, S))
        for start in STARTS:
            found = joint_diagonalise(S, "paper", init=start)
            norms = found.column_norms
            rows.append(
                {
                    "dataset": dataset,
                    "scaling": scaling,
                    "centring": centring,
                    "start": start,
                    "status": found.status,
                    "steps": found.n_iter,
                    "C / C_0": found.criterion / found.path[0],
                    "shortest": float(norms.min(axis=0)),
                    "longest": float(norms.max(axis=0)),
                    "cosine": found.orthogonality,
                    "orthogonal": orthogonal.status,
                    "above Jacobi": (orthogonal.criterion - jacobi.criterion) / max(jacobi.criterion, floor),
                    "C / Jacobi": found.criterion / max(jacobi.criterion, floor),
                }
            )
    return pd.DataFrame(rows)


def outcomes() -> pd.DataFrame:
    """How often Algorithm 1 ends in which way, by start, scaling and centring; the orthonormal version beside it."""
    found = divergence()
    table = found.groupby(["start", "scaling", "centring", "status"], sort=False).size().unstack("status", fill_value=0)
    table["data sets"] = table.sum(axis=1)
    kept = found.groupby(["start", "scaling", "centring"], sort=False)["orthogonal"]
    table["orthonormal version converged"] = kept.apply(lambda status: int((status == "converged").sum(axis=0)))
    return table.rename_axis(columns=None).reset_index()


def orthonormality() -> pd.DataFrame:
    """|U'U - I| of what Algorithm 1 returns on the data sets of the paper and on a random pair, by start.

    ``one step`` is the largest difference of (I + V)'(I + V) and I + V'V for the first V, relative to the largest entry
    of V'V, and ``longer by`` the largest of these: by so much the square of a column's length grows in one step.
    """
    rows = []
    for name, S in _pairs():
        for start in STARTS:
            found = joint_diagonalise(S, "paper", init=start)
            norms = found.column_norms
            distance = float(np.linalg.norm(found.U.T @ found.U - np.eye(len(norms))))
            measured = (found.status, found.n_iter, float(norms.min(axis=0)), float(norms.max(axis=0)), distance)
            rows.append((name, start, *measured, *_first_step(S, start)))
    columns = ["dataset", "start", "status", "steps", "shortest", "longest", DISTANCE, "one step", "longer by"]
    return pd.DataFrame(rows, columns=columns)


def _pairs() -> Iterator[tuple[str, np.ndarray]]:
    for dataset in OWN:
        moments = moments_of(dataset)
        if moments is not None:
            yield dataset, np.array([symmetrise(S) for S in matrices(moments, "global")])
    yield "synthetic", synthetic_pair(12, np.random.default_rng(2025))


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


def _first_step(S: np.ndarray, start: str) -> tuple[float, float]:
    """The first step B = I + V, as it was taken: B'B against I + V'V. NaN where there is no step."""
    U = pooled_start(S) if start == "pooled" else np.eye(S.shape[1])
    taken = joint_diagonalise(S, "paper", init=U, max_iter=1)
    if taken.status not in ("converged", "not converged") or not taken.n_iter:
        return np.nan, np.nan
    B = U.T @ taken.U
    V = B - np.eye(len(B))
    squares = V.T @ V
    largest = float(np.abs(np.diag(squares)).max(axis=0))
    return float(np.abs(B.T @ B - np.eye(len(B)) - squares).max()) / largest, largest


def pooled_start(S: np.ndarray) -> np.ndarray:
    """Eigenvectors of the mean of the matrices: a start that is handed over, so that signs cannot differ."""
    return np.linalg.eigh(S.mean(axis=0))[1][:, ::-1]


def shift_invariance(ranks: tuple[int, ...] = (1, 2, 5, 10)) -> pd.DataFrame:
    """How far the printed matrices M_s of rank r lead away from what the unshifted matrices give, from the same start.

    The shift, the mean of the r largest eigenvalues, differs between the groups and between ranks. Compared are U after
    some steps of Algorithm 1, entry by entry, and the criterion of the orthonormal version at its end.
    """
    rows = []
    for name, S in _pairs():
        start = pooled_start(S)
        plain, best = _few_steps(S, start), joint_diagonalise(S, init=start).criterion
        for r in ranks:
            if r < S.shape[1]:
                shifted = S - (best_kept(S, r) / r)[:, None, None] * np.eye(S.shape[1])
                off = float(np.abs(_few_steps(shifted, start) - plain).max())
                change = abs(joint_diagonalise(shifted, init=start).criterion - best) / best
                rows.append((name, r, off, change))
    return pd.DataFrame(rows, columns=["dataset", "r", "largest change of U", "relative change of C"])


def _few_steps(S: np.ndarray, start: np.ndarray) -> np.ndarray:
    return joint_diagonalise(S, "paper", init=start, max_iter=STEPS, rtol=0.0).U


def constraint_kept() -> Answer:
    """R05: the matrix that Algorithm 1 returns satisfies U'U = I."""
    found = orthonormality()
    ended = found["status"].isin(["converged", "not converged"])
    done = found[ended]
    broken = done[DISTANCE] > rule("R05", "orthonormal")
    titles = {name: table.title for name, table in TABLES.items()} | {"synthetic": "a random pair"}
    starts = {"identity": "I", "pooled": "the pooled eigenvectors"}
    told = "; ".join(
        f"{titles[row['dataset']]} from {starts[row['start']]} {row[DISTANCE]:.2g}" for _, row in done.iterrows()
    )
    without = ", ".join(
        f"{titles[row['dataset']]} from {starts[row['start']]} ({row['status']})" for _, row in found[~ended].iterrows()
    )
    answer = "does not hold" if broken.all() else "holds in part" if broken.any() else "holds"
    return Answer(
        answer if len(done) else "not computable",
        f"|U'U - I| where Algorithm 1 returns something: {told}. One step gives I + V'V (relative difference at most "
        f"{found['one step'].max():.1g})." + (f" Nothing to return: {without}." if without else ""),
    )
