"""The search for the LSAC table of Rathore and Manwani (2025): a fingerprint, sets of columns, bounds.

Standard PCA has no setting of its own, so its 33 printed numbers are a fingerprint of the table. Sets of 12 to 14
columns are compared with it exhaustively for every rule about rows: 12 is the least that leaves an error at r = 11.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.min_max import solve_min_max

from .. import paths
from . import rathore2025_lsac_pools as pools
from .rathore2025_protocol import COLUMNS, HALF_DIGIT, PRINTED

SEED = 20254
TABLE = "rathore2025_table4_lsac"
LARGEST = 11
SIZES = (12, 13, 14)
BEST = 10
#: Bounds within which sets are decomposed: total variance (relative, beyond what the printed pairs of R.E. and V.E.
#: allow), squared distance of the means, sum of the squared eigenvalues. Up to so many sets there is no bound.
TOTAL_SLACK, GAP_SLACK, SQUARES_SLACK = 0.02, 0.1, 8.0
ALL_UP_TO = 20_000
SHARES, SPLIT_SEEDS = (0.7, 0.75, 0.8, 0.9), (0, 1, 42)
DRAWS = 500


def printed(method: str) -> np.ndarray:
    """The printed R.E., V.E. and MMD^2 of a method, shape (11, 3)."""
    frame = pd.read_csv(paths.data("paper", f"{TABLE}.csv"))
    wide = frame[frame["method"] == method].pivot(index="k", columns="metric", values="value")
    return wide[list(PRINTED)].to_numpy()


def equal(values: np.ndarray, method: str) -> np.ndarray:
    """How many of our values (..., 11, 3) have the printed digits."""
    return (np.abs(values - printed(method)) <= HALF_DIGIT).sum(axis=(-2, -1))


def deviation(values: np.ndarray, method: str) -> np.ndarray:
    """Sum of the absolute log ratios of our values to the printed ones."""
    return np.abs(np.log(np.maximum(values, 1e-6) / printed(method))).sum(axis=(-2, -1))


def metrics(V: np.ndarray, S: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The three metrics of the first 1 to 11 columns of orthonormal bases V (..., d, d), shape (..., 11, 3)."""
    total = np.trace(S, axis1=-2, axis2=-1)[..., None]
    kept = np.cumsum(np.einsum("...di,...de,...ei->...i", V, S, V, optimize=True), axis=-1)[..., :LARGEST]
    means = np.cumsum(np.einsum("...d,...di->...i", gap, V) ** 2, axis=-1)[..., :LARGEST]
    return np.stack([total - kept, kept / total, means], axis=-1)


def pca(moments: GroupMoments) -> np.ndarray:
    """The three metrics of standard PCA, shape (11, 3)."""
    S = moments.scatter / moments.n
    return metrics(np.linalg.eigh(S)[1][:, ::-1], S, moments.means[0] - moments.means[1])


def minmax(moments: GroupMoments) -> np.ndarray:
    """The smallest worst loss about the *origin* for every r, its answers judged on centred rows, shape (11, 3)."""
    first, second = group_matrices(moments, "none")
    S, gap = moments.scatter / moments.n, moments.means[0] - moments.means[1]
    found = []
    for k in range(1, LARGEST + 1):
        V, _ = solve_min_max(first, second, k)
        kept = np.trace(V.T @ S @ V)
        found.append((np.trace(S) - kept, kept / np.trace(S), ((gap @ V) ** 2).sum(axis=0)))
    return np.array(found)


def total_range() -> tuple[float, float]:
    """Between which bounds the total variance must lie, by the printed pairs of R.E. and V.E. of standard PCA."""
    R, E, _ = printed("StandardPCA").T
    some = E < 1.0 - HALF_DIGIT  # 1.00 may mean that there is no error at all
    return float(((R - 0.005) / (1.005 - E)).max(axis=0)), float(((R + 0.005) / (0.995 - E))[some].min(axis=0))


@dataclass(frozen=True)
class Candidate:
    """Columns and a rule for rows, with the numbers of standard PCA and how near the printed ones they are."""

    names: tuple[str, ...]
    rule: str
    values: np.ndarray

    @property
    def score(self) -> tuple[int, float]:
        """Numbers equal, and minus the deviation: larger is better. Rounded, as PCA cannot tell codings apart."""
        return int(equal(self.values, "StandardPCA")), -round(float(deviation(self.values, "StandardPCA")), 9)

    def __str__(self):
        return f"{', '.join(self.names)} | {self.rule}"


def best_of(candidates: Sequence[Candidate], number: int) -> list[Candidate]:
    """The best ones, each set of columns and rule once; equal ones by their names."""
    once = {str(candidate): candidate for candidate in candidates}
    by_name = sorted(once.values(), key=str)
    return sorted(by_name, key=lambda candidate: candidate.score, reverse=True)[:number]


def searched(file: str) -> pd.DataFrame:
    """All rules for rows and all sets of columns of one file: counts, the ten best, train parts, controls."""
    pool, best = pools.pool(file), []
    counts = {"sets of columns": 0, "sets decomposed": 0, "rules for rows": 0}
    for rule, rows in pool.rules():
        if rows[pool.sex].nunique() == 2:
            tried, computed, found = decomposed(pools.moments_of(rows, pool.sex), pool.sex, rule)
            counts["sets of columns"] += tried
            counts["sets decomposed"] += computed
            counts["rules for rows"] += 1
            best = best_of([*best, *found], 4 * BEST)
    others = [again for again in (own_gaps(pool, candidate) for candidate in best) if again]
    others += train_parts(pool, best[0])
    counts["other rows for the best"] = len(others)
    found = [row(file, "", None, 0, name, value) for name, value in counts.items()]
    seen = [(one, pool.rows(one.rule, one.names)) for one in best_of([*best, *others], BEST)]
    seen = [(one, len(rows), minmax(pools.moments_of(rows, pool.sex))) for one, rows in seen]
    # Among those that PCA cannot tell apart, the min-max method decides: it saw the codes.
    seen.sort(key=lambda s: (s[0].score, equal(s[2], "FairPCA_SDP_LP")), reverse=True)
    for place, (candidate, size, confirmed) in enumerate(seen, 1):
        facts = {
            "rows": size,
            "PCA numbers equal": equal(candidate.values, "StandardPCA"),
            "min-max numbers equal": equal(confirmed, "FairPCA_SDP_LP"),
            "PCA deviation": deviation(candidate.values, "StandardPCA"),
            "min-max deviation": deviation(confirmed, "FairPCA_SDP_LP"),
        }
        found += [row(file, str(candidate), len(candidate.names), place, name, value) for name, value in facts.items()]
    return frame(found + controls(file, pool, seen[0][0]))


def decomposed(moments: GroupMoments, sex: str, rule: str) -> tuple[int, int, list[Candidate]]:
    """Sets of columns there are, sets whose PCA was computed, and the best of these."""
    S, gap = moments.scatter / moments.n, moments.means[0] - moments.means[1]
    tried, sets = column_sets(S, gap, moments.feature_names.index(sex))
    computed, found = 0, []
    for index in sets:
        computed += len(index)
        for part in np.array_split(index, len(index) // 10_000 + 1) if len(index) else ():
            values = pca_of(S, gap, part)
            order = np.lexsort((deviation(values, "StandardPCA"), -equal(values, "StandardPCA")))[: 4 * BEST]
            found += [Candidate(tuple(moments.feature_names[j] for j in part[i]), rule, values[i]) for i in order]
    return tried, computed, best_of(found, 4 * BEST)


def pca_of(S: np.ndarray, gap: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The metrics of standard PCA for many sets of columns (N, size) at once, shape (N, 11, 3)."""
    blocks = S[index[:, :, None], index[:, None, :]]
    return metrics(np.linalg.eigh(blocks)[1][:, :, ::-1], blocks, gap[index])


def column_sets(S: np.ndarray, gap: np.ndarray, sex: int) -> tuple[int, list[np.ndarray]]:
    """All sets of 12 to 14 columns with the one of sex: how many, and those within the bounds as indices by size."""
    variances, gaps = np.diag(S), gap**2
    free = [j for j in range(len(S)) if j != sex and variances[j] > 0]
    tried = sum(comb(len(free), size - 1) for size in SIZES)
    fixed, low, high, squares, least, most = [sex], -np.inf, np.inf, np.inf, -np.inf, np.inf
    if tried > ALL_UP_TO:
        low, high = total_range()
        low, high, squares = low * (1 - TOTAL_SLACK), high * (1 + TOTAL_SLACK), SQUARES_SLACK
        least, most = (printed("StandardPCA")[-1, 2] + sign * GAP_SLACK for sign in (-1, 1))
        fixed, free = forced(variances, gaps, sex, free, high, least)
    total, distance, size = (
        sums(x[free], x[fixed].sum(axis=0)) for x in (variances, gaps, np.ones(len(S), dtype=np.float32))
    )
    inside = (total >= low) & (total <= high) & (distance >= least) & (distance <= most)
    found = []
    for wanted in SIZES:
        masks = np.flatnonzero(inside & (size == wanted))
        if not len(masks):
            continue
        chosen = np.nonzero(masks[:, None] >> np.arange(len(free)) & 1)[1].reshape(len(masks), wanted - len(fixed))
        index = np.hstack([np.array(free, dtype=int)[chosen], np.tile(fixed, (len(masks), 1))])
        index = index[np.abs(excess(S, index)) <= squares] if np.isfinite(squares) else index
        found.append(np.sort(index, axis=1))
    return tried, found


def forced(variances, gaps, sex: int, free: list[int], high: float, least: float) -> tuple[list[int], list[int]]:
    """Columns without which the means are not far enough apart, and the others that still fit into the total."""
    fixed, before = [sex], None
    while before != (len(fixed), len(free)):
        before = len(fixed), len(free)
        free = [j for j in free if variances[[*fixed, j]].sum(axis=0) <= high]
        needed = [j for j in free if gaps[[*fixed, *free]].sum(axis=0) - gaps[j] < least]
        fixed, free = fixed + needed, [j for j in free if j not in needed]
    return fixed, free


def sums(values: np.ndarray, start: float) -> np.ndarray:
    """Start plus the sum of every subset, shape (2^m,), in the order of the subsets as binary numbers."""
    found = np.array([start], dtype=np.float32)
    for value in values:
        found = np.concatenate([found, found + np.float32(value)])
    return found


def excess(S: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Sum of the squared eigenvalues of a set of columns less what the printed errors make of its total."""
    errors = printed("StandardPCA")[:, 0]
    squared, total = S**2, np.diag(S)[index].sum(axis=1)
    parts = np.array_split(index, len(index) // 50_000 + 1)
    seen = [squared[part[:, :, None], part[:, None, :]].sum(axis=(1, 2)) for part in parts]
    return np.concatenate(seen) - (total - errors[0]) ** 2 - (np.diff(errors) ** 2).sum(axis=0)


def own_gaps(pool: pools.Pool, candidate: Candidate) -> Candidate | None:
    """The same columns with all rows that have no gap in these, instead of in any."""
    if not candidate.rule.endswith(pools.COMPLETE):
        return None
    rule = candidate.rule.removesuffix(pools.COMPLETE) + pools.COMPLETE_HERE
    return Candidate(candidate.names, rule, pca(pools.moments_of(pool.rows(rule, candidate.names), pool.sex)))


def train_parts(pool: pools.Pool, candidate: Candidate) -> list[Candidate]:
    """The same columns on train parts of the rows, as scikit-learn draws them."""
    found = []
    for share, seed in product(SHARES, SPLIT_SEEDS):
        rule = f"{candidate.rule}{pools.PART}{share}, seed {seed}"
        found.append(
            Candidate(candidate.names, rule, pca(pools.moments_of(pool.rows(rule, candidate.names), pool.sex)))
        )
    return found


def controls(file: str, pool: pools.Pool, best: Candidate) -> list[tuple]:
    """How many numbers of PCA come out by chance: as many rows drawn from everybody, and twelve columns drawn."""
    rng = np.random.default_rng(SEED)
    rows = pool.rows(best.rule, best.names)
    everybody = pool.rows(pools.EVERYBODY + best.rule[len(best.rule.partition(";")[0]) :], best.names)
    draws = []
    for _ in range(DRAWS):
        drawn = everybody.iloc[rng.permutation(len(everybody))[: len(rows)]]
        draws.append(equal(pca(pools.moments_of(drawn, pool.sex)), "StandardPCA"))
    moments = pools.moments_of(pool.rows(best.rule, tuple(pool.table)), pool.sex)
    S, gap, sex = (
        moments.scatter / moments.n,
        moments.means[0] - moments.means[1],
        moments.feature_names.index(pool.sex),
    )
    others = [j for j in range(moments.d) if j != sex and S[j, j] > 0]
    index = np.array([[sex, *rng.permutation(others)[: SIZES[0] - 1]] for _ in range(DRAWS)])
    values = pca_of(S, gap, index)
    other = np.abs(values - best.values).max(axis=(1, 2)) > HALF_DIGIT  # what was found is drawn from a small pool too
    chance = {"random rows": np.array(draws), "random columns": equal(values[other], "StandardPCA")}
    found = []
    for name, numbers in chance.items():
        facts = {"draws": len(numbers), "most numbers equal": numbers.max(axis=0), "mean": numbers.mean(axis=0)}
        found += [row(file, name, None, 0, fact, value) for fact, value in facts.items()]
    return found


def row(dataset: str, method: str, k: int | None, place: int, name: str, value, reason: str = "") -> tuple:
    """One tidy row; `split` is the place in the order of the search."""
    return (dataset, method, k, place, "search" if dataset in pools.FILES else "released", name, float(value), reason)


def frame(rows: Sequence[tuple]) -> pd.DataFrame:
    """Tidy rows as a data frame."""
    return pd.DataFrame(rows, columns=COLUMNS).astype({"k": "Int64"})
