"""Where the printed numbers of Rathore and Manwani (2025) come from: candidates laid beside every printed column.

A candidate is a method with everything stated that the paper leaves open. Each is computed for all r and compared with
each of the four printed columns, digit by digit. Beside that, each printed row is compared with *all* sets of r
eigenvectors of one matrix, whatever their order: a general eigen-solver returns eigenvectors in no particular order.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd

from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.disparity import Family, search_reference, search_safe
from evenspan.reconstruction.joint_diagonalisation import joint_diagonalise
from evenspan.reconstruction.min_max import solve_min_max

from . import rathore2025_protocol as protocol
from .rathore2025_protocol import CENTRINGS, HALF_DIGIT, PRINTED, PUBLISHED, TABLES
from .rathore2025_tables import Fitted, leading, orthonormal

SEED = 20251
#: Sets of eigenvectors are enumerated up to this many features: 2^21 sets.
LARGEST_D = 21
#: Principal components turned at random, by about so many radians: how many rows of a table chance alone explains.
ANGLES = (0.01, 0.03, 0.1, 0.3)
BASES_PER_ANGLE = 5
SETS = "sets of eigenvectors"
RANDOM = "random basis"


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in TABLES]


def run_task(dataset: str) -> pd.DataFrame:
    """Candidates and sets of eigenvectors from the data points."""
    return explained(dataset, protocol.from_points(dataset))


def run(dataset: str) -> pd.DataFrame:
    """The same from shipped moments."""
    return explained(dataset, protocol.from_shipped(dataset))


def explained(dataset: str, moments: GroupMoments) -> pd.DataFrame:
    """For every candidate and printed column: how many numbers come out, and how many rows with all three metrics."""
    found = []
    for name, answer in candidates(moments):
        values = np.array([list(judged.values()) for judged in _judged(dataset, moments, answer)])
        for column, equal in _equal(dataset, values):
            found += _rows(dataset, name, column, equal)
    if moments.d <= LARGEST_D:
        for name, V in bases(moments):
            for column in ("JevdPCA",) if name.startswith(RANDOM) else PUBLISHED:
                sets = matching_sets(dataset, moments, V, column)
                counts = {f"rows that a set explains: {column}": sum(n > 0 for n in sets)}
                counts |= {f"{SETS} that explain a row: {column}": sum(sets)}
                found += protocol.rows(dataset, name, None, counts)
    return protocol.frame(found).astype({"k": "Int64"})


def _judged(dataset: str, moments: GroupMoments, answer: Fitted) -> list[dict[str, float]]:
    nothing = dict.fromkeys(PRINTED, np.nan)
    ranks = range(1, protocol.table(dataset).largest + 1)
    return [nothing if isinstance(W := answer(k), str) else protocol.judged(moments, W) for k in ranks]


def _equal(dataset: str, values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """For each printed column, which of our values (R, 3) come out with the printed digits."""
    theirs = protocol.printed(dataset)
    for column in PUBLISHED:
        yield column, np.abs(values - theirs[column][list(PRINTED)].to_numpy()) <= HALF_DIGIT


def _rows(dataset: str, name: str, column: str, equal: np.ndarray) -> list[tuple]:
    counts = {f"{metric} as in {column}": int(n) for metric, n in zip(PRINTED, equal.sum(axis=0), strict=True)}
    counts[f"rows as in {column}"] = int(equal.all(axis=1).sum(axis=0))
    return protocol.rows(dataset, name, None, counts)


def candidates(moments: GroupMoments) -> Iterator[tuple[str, Fitted]]:
    """All candidates: a name that states every choice, and the columns for every k."""
    shares = moments.counts / moments.n
    for centring in CENTRINGS:
        S = protocol.matrices(moments, centring)
        pooled = protocol.pooled(moments, S)
        about = {"global": "the overall mean", "group": "group means", "none": "the origin"}[centring]
        for whose, H in (("all rows", pooled), ("women", S[0]), ("men", S[1]), ("equal weights", S.mean(axis=0))):
            yield f"PCA of {whose} about {about}", leading(H)
        # Sums over the rows of a group instead of means: the larger group counts for more.
        for weighting, T in (("means", S), ("sums", S * shares[:, None, None])):
            for objective in ("loss", "error"):
                yield f"min-max {objective}, {weighting} about {about}", _min_max(T, objective)
        for constrained, search in product((True, False), (search_reference, search_safe)):
            kind = "c-FPCA" if constrained else "u-FPCA"
            how = "golden section" if search is search_reference else "safe search"
            yield f"{kind}, {how}, about {about}", _disparity(S, shares, constrained, search)
        starts = {
            "the identity": "identity",
            "pooled eigenvectors": "pooled",
            "eigenvectors of the women": top_eigenspace(S[0], len(S[0]))[1],
            "eigenvectors of the men": top_eigenspace(S[1], len(S[1]))[1],
        }
        for mode, (start, init) in product(("paper", "orthogonal"), starts.items()):
            if mode == "orthogonal" and start == "the identity":
                continue
            found = joint_diagonalise(S, mode, init=init, weights=shares, undefined="skip")
            if found.status == "diverged":
                continue
            for order in ("pooled", "as_is"):
                name = f"JEVD ({mode}) from {start}, {order} order, about {about}"
                yield name, lambda k, U=found.U, T=S, order=order: orthonormal(U, T, shares, k, order)
            if mode == "paper":
                yield f"JEVD (paper) from {start}, raw columns, about {about}", _raw(found.U, pooled)


def _min_max(S: np.ndarray, objective: str) -> Fitted:
    return lambda k: solve_min_max(*S, k, objective)[0]


def _disparity(S: np.ndarray, shares: np.ndarray, constrained: bool, search: Callable) -> Fitted:
    return lambda k: search(Family(S, shares, k), constrained)[0]


def _raw(U: np.ndarray, pooled: np.ndarray) -> Fitted:
    variances = np.einsum("dj,de,ej->j", U, pooled, U) / (U**2).sum(axis=0)
    order = np.argsort(-variances, kind="stable")
    return lambda k: U[:, order[:k]]


def bases(moments: GroupMoments) -> Iterator[tuple[str, np.ndarray]]:
    """Orthonormal bases whose sets of columns are tried, and random ones as a control."""
    for centring, about in (("global", "the overall mean"), ("group", "group means"), ("none", "the origin")):
        S = protocol.matrices(moments, centring)
        pooled = protocol.pooled(moments, S)
        for whose, H in (("all rows", pooled), ("women", S[0]), ("men", S[1])):
            yield f"eigenvectors of {whose} about {about}", top_eigenspace(H, moments.d)[1]
    rng = np.random.default_rng(SEED)
    for angle, place in product(ANGLES, range(BASES_PER_ANGLE)):
        yield f"{RANDOM} {place + 1}, turned by {angle}", _turned(moments, rng, angle)


def _turned(moments: GroupMoments, rng: np.random.Generator, angle: float) -> np.ndarray:
    """The eigenvectors of all rows, each turned by about ``angle`` towards the others: variances remain much alike."""
    A = rng.normal(size=(moments.d, moments.d)) * angle / np.sqrt(2.0 * moments.d)
    half = 0.5 * (A - A.T)
    eye = np.eye(moments.d)
    return top_eigenspace(moments.scatter, moments.d)[1] @ np.linalg.solve(eye + half, eye - half)


def matching_sets(dataset: str, moments: GroupMoments, V: np.ndarray, column: str) -> list[int]:
    """For every printed row, how many sets of r columns of V give all three of its numbers to the printed digits."""
    theirs = protocol.printed(dataset)[column]
    return [len(explaining_sets(moments, V, k, theirs.loc[k])) for k in theirs.index]


def explaining_sets(moments: GroupMoments, V: np.ndarray, k: int, row: Mapping[str, float]) -> list[tuple[int, ...]]:
    """The sets of k columns of the orthonormal V that give the printed R.E., V.E. and MMD^2 of a row.

    Found by building sets from both ends of the enumeration: the first half of the columns against the second.
    """
    C = moments.scatter / moments.n
    kept = np.einsum("dj,de,ej->j", V, C, V)
    gaps = ((moments.means[0] - moments.means[1]) @ V) ** 2
    total = float(np.trace(C))
    middle = len(kept) // 2
    left, right = (_halves(kept[part], gaps[part]) for part in (slice(None, middle), slice(middle, None)))
    wanted = total - row["R.E."]
    found = []
    order = np.argsort(right["kept"], kind="stable")
    ascending = right["kept"][order]
    possible = (left["size"] <= k) & (k - left["size"] <= len(kept) - middle)
    for code, size, value, gap in zip(*(left[name][possible] for name in ("code", "size", "kept", "gap")), strict=True):
        # A little more than needed; the conditions below decide.
        low, high = np.searchsorted(ascending, [wanted - value - 2 * HALF_DIGIT, wanted - value + 2 * HALF_DIGIT])
        inside = order[low:high]
        sums, mmd = value + right["kept"][inside], gap + right["gap"][inside]
        good = (
            (right["size"][inside] == k - size)
            & (np.abs(total - sums - row["R.E."]) <= HALF_DIGIT)
            & (np.abs(sums / total - row["V.E."]) <= HALF_DIGIT)
            & (np.abs(mmd - row["MMD^2"]) <= HALF_DIGIT)
        )
        for other in right["code"][inside[good]]:
            bits = int(code) | (int(other) << middle)
            found.append(tuple(j for j in range(len(kept)) if bits >> j & 1))
    return sorted(found)


def general_order(H: np.ndarray, k: int) -> tuple[int, ...]:
    """Which eigenvectors of H, numbered by falling eigenvalue, a general eigen-solver returns as its first k.

    H is shifted first, as the paper shifts the matrix of a group: by the mean of its k largest eigenvalues. The order
    depends on the shift, and it may differ between machines and libraries.
    """
    values = np.linalg.eigvalsh(H)
    returned, _ = np.linalg.eig(H - values[-k:].mean(axis=0) * np.eye(len(H)))
    places = np.argsort(np.argsort(-returned.real, kind="stable"), kind="stable")
    return tuple(int(place) for place in places[:k])


def _halves(kept: np.ndarray, gaps: np.ndarray) -> dict[str, np.ndarray]:
    """All subsets of some columns: their code, size, kept variance and squared gap."""
    code = np.arange(2 ** len(kept))
    member = (code[:, None] >> np.arange(len(kept))) & 1
    return {"code": code, "size": member.sum(axis=1), "kept": member @ kept, "gap": member @ gaps}


def best_candidates(rows: pd.DataFrame, column: str, most: int = 5) -> pd.DataFrame:
    """The candidates that give most numbers of a printed column again, for each data set."""
    names = [f"{metric} as in {column}" for metric in PRINTED]
    some = rows[rows["metric"].isin([*names, f"rows as in {column}"])].drop_duplicates(["dataset", "method", "metric"])
    wide = some.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    wide["numbers"] = [3 * protocol.table(name).largest for name in wide["dataset"]]
    wide["equal"] = wide[names].sum(axis=1)
    wide = wide.sort_values(["dataset", "equal", "method"], ascending=[True, False, True], kind="stable")
    return wide.groupby("dataset", sort=False).head(most).reset_index(drop=True).rename_axis(columns=None)


def explained_by_sets(rows: pd.DataFrame) -> pd.DataFrame:
    """How many printed rows some set of basis vectors explains, by basis and printed column; of random bases the most.

    Nothing where no sets were tried because there are more than ``LARGEST_D`` features.
    """
    some = rows[rows["metric"].str.startswith("rows that a set explains: ")]
    turned = some["method"].str.extract(f"{RANDOM} \\d+, (.*)", expand=False)
    control = f"most of {BASES_PER_ANGLE} bases of principal components at random " + turned
    some = some.assign(
        basis=control.fillna(some["method"]), column=some["metric"].str.removeprefix("rows that a set explains: ")
    )
    wide = some.pivot_table(index="basis", columns="column", values="value", aggfunc="max", sort=False)
    return wide.reindex(columns=["JevdPCA", *(c for c in PUBLISHED if c != "JevdPCA")]).astype("Int64").reset_index()


__all__ = ["SEED", "run", "run_task", "tasks"]
