"""How candidates for the columns that are not identified are evaluated and counted, beside columns that nobody printed.

A candidate is a whole procedure with one setting for all rows of all tables; nothing is chosen row by row. The lists of
candidates stand in ``candidates.ipynb``.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments

from ...records import tidy
from . import protocol
from .protocol import HALF_DIGIT, PRINTED, PUBLISHED, TABLES

ABOUT = {"global": "the overall mean", "group": "group means", "none": "the origin"}
#: The columns with numbers that are not reproduced, and the scope in which all tables count together.
OPEN, TOGETHER = PUBLISHED[:3], "all tables"
#: How many candidates of a list are stored for each column, beside the best of each metric.
KEPT = 10
#: A lead gives this share of a column, and more than the most of any permuted column by that share of its numbers.
LEAD, AHEAD = 0.9, 0.25
EVERY, MOST = "every candidate", "most equal"
#: Columns that nobody printed: one with its rows permuted, or StandardPCA with the differences from it permuted.
PERMUTED = ("rows permuted", "differences permuted")
#: R.E. may be that of other rows, the total less what is kept, or the error and a constant.
OF_ROWS = ("all rows", "uncentred rows", "rows centred by group", "women", "men", "groups with equal weights")
CONSTANTS = (
    *("the squared overall mean", "the squared offset of the women", "the squared offset of the men"),
    *("the variance between groups", "a quarter of the squared gap"),
    *("the mean square of the sensitive column", "its squared mean", "its variance"),
)
READINGS = (
    *(f"R.E. of {one}" for one in OF_ROWS),
    "R.E. as total less kept",
    *(f"R.E. plus {one}" for one in CONSTANTS),
)
#: Names, and values (candidates, k, metrics): what is read of one basis.
Batch = tuple[Sequence[str], np.ndarray]


class Seen:
    """What candidates see of a table: group matrices about each centre, and the rows that they are evaluated on."""

    def __init__(self, moments: GroupMoments, ranks: Sequence[int], sensitive: Sequence[str] = ()):
        self.ranks, self.d = list(ranks), moments.d
        self.counts, self.shares = moments.counts, moments.counts / moments.n
        self.S = {about: protocol.matrices(moments, about) for about in ABOUT}
        pooled = self.pooled = {about: protocol.pooled(moments, S) for about, S in self.S.items()}
        self.C, self.gap, m = moments.scatter / moments.n, np.subtract(*moments.means), moments.mean
        self.sensitive = [moments.position(name) for name in sensitive]
        groups = self.S["global"]
        self.rows = np.stack([pooled["global"], pooled["none"], pooled["group"], *groups, groups.mean(axis=0)])
        square, mean = pooled["none"].diagonal()[self.sensitive].sum(axis=0), m[self.sensitive]
        apart, between = ((moments.means - m) ** 2).sum(axis=1), float(self.gap @ self.gap)
        parts = m @ m, *apart, self.shares.prod() * between, between / 4, square, mean @ mean, square - mean @ mean
        self.constants = np.array(parts)

    def read(self, words: str, P: np.ndarray, reconstructs: np.ndarray | None = None, *, few: bool = False) -> Batch:
        """All readings, or two, of WW' for every k (k, d, d), where R.E. may be that of another operator."""
        rest = np.eye(self.d) - (P if reconstructs is None else reconstructs)
        lost = self.rows.reshape(len(OF_ROWS), -1) @ (rest @ rest).reshape(len(P), -1).T
        kept, total = P.reshape(len(P), -1) @ self.C.ravel(), np.trace(self.C)
        error = np.vstack([lost, total - kept, lost[0] + self.constants[:, None]])
        others = (np.broadcast_to(one, error.shape) for one in (kept / total, (P @ self.gap) @ self.gap))
        chosen = (0, len(OF_ROWS)) if few else range(len(READINGS))
        return [f"{words}; {READINGS[i]}" for i in chosen], np.stack([error, *others], axis=-1)[[*chosen]]

    def lengths(self, words: str, columns: list[np.ndarray], *, raw=False, slanted=True, few=False) -> Iterator[Batch]:
        """What columns W_k (d, k) give at unit length, as they are, orthonormalised, and with another R.E."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a column of zeros has no unit length, and gives nothing
            unit = [W / np.linalg.norm(W, axis=0) for W in columns]
        P = squares(unit)
        yield self.read(f"{words}, unit columns", P, few=few)
        if raw:
            yield self.read(f"{words}, columns as they are", squares(columns), few=few)
        if slanted:
            Q = squares([np.linalg.qr(W)[0] for W in unit])
            yield self.read(f"{words}, orthonormalised", Q, few=few)
            yield self.read(f"{words}, unit columns, error by their pseudo-inverse", P, Q, few=few)


def squares(columns: Sequence[np.ndarray]) -> np.ndarray:
    """WW' of every W."""
    return np.stack([W @ W.T for W in columns])


def targets(wide: pd.DataFrame, column: str, draws: int, seed: Sequence[int]) -> np.ndarray:
    """A printed column (k, metrics), and its controls: (1 + 2 draws + 3, k, metrics).

    Its rows permuted; StandardPCA and the differences from it permuted; the columns of the other methods."""
    rng = np.random.default_rng(seed)
    theirs, pca, *others = (wide[name][list(PRINTED)].to_numpy() for name in (column, PUBLISHED[-1], *_others(column)))
    orders = [rng.permutation(len(theirs)) for _ in range(draws)]
    return np.stack([theirs, *(theirs[p] for p in orders), *(pca + (theirs - pca)[p] for p in orders), *others])


def _others(column: str) -> list[str]:
    return [name for name in PUBLISHED if name != column]


def counted(candidates: Callable[[Seen], Iterator[Batch]], names: Sequence[str], draws: int, seed: int) -> list[dict]:
    """For each open column of each table, and of all together: candidates with most equal numbers, and the controls."""
    found: dict[str, np.ndarray] = {}
    for place, name in enumerate(names):
        wide = protocol.printed(name)
        goals = np.stack([targets(wide, column, draws, (seed, place, i)) for i, column in enumerate(OPEN)])
        seen = Seen(protocol.moments(name), wide.index, TABLES[name].sensitive)
        for words, values in candidates(seen):
            equal = (np.abs(values[:, None, None] - goals) <= HALF_DIGIT).sum(axis=-2, dtype=np.uint8)
            for one, count in zip(words, equal, strict=True):
                found.setdefault(one, np.zeros((len(names), *count.shape), np.uint8))[place] = count
    every, words = np.stack([*found.values()]), [*found]
    rows = []
    for place, column in enumerate(OPEN):
        scopes = dict(zip(names, np.moveaxis(every[:, :, place], 1, 0).astype(int), strict=True))
        for scope, equal in (scopes | {TOGETHER: sum(scopes.values())}).items():
            rows += _best(words, equal, draws, column, {"dataset": scope, "protocol": column})
    return rows


def _best(words: list[str], equal: np.ndarray, draws: int, column: str, key: dict) -> list[dict]:
    """Rows for one column: counts of the best candidates, of how many, and of the best against each control."""
    totals, own = equal.sum(axis=2), equal[:, 0]
    best = [*np.argsort(-totals[:, 0], kind="stable")[:KEPT], *own.argmax(axis=0)]
    rows = []
    for i in dict.fromkeys(best):
        counts = dict(zip(PRINTED, own[i], strict=True)) | {"most of another column": totals[i, 1 + 2 * draws :].max()}
        rows += tidy(counts, method=words[i], **key)
    most = totals.max(axis=0)
    values = {"candidates": len(words), MOST: most[0]}
    permuted = dict(zip(PERMUTED, np.split(most[1 : 1 + 2 * draws], 2), strict=True))
    for control, of in permuted.items():
        values |= {f"{control}: most": of.max(), f"{control}: mean": of.mean()}
    values |= {f"as printed for {name}": n for name, n in zip(_others(column), most[1 + 2 * draws :], strict=True)}
    return rows + tidy(values, method=EVERY, **key)


# -- what is read of the stored rows ----------------------------------------------------------------------------------


def best(rows: pd.DataFrame, column: str, scope: str) -> pd.DataFrame:
    """The candidates with most equal numbers of a column; of those of a list that have the same counts the first."""
    some = rows[(rows["protocol"] == column) & (rows["dataset"] == scope) & (rows["method"] != EVERY)]
    wide = some.pivot(index=["task", "method"], columns="metric", values="value").astype(int)
    wide["equal"] = wide[list(PRINTED)].sum(axis=1)
    wide["numbers"] = len(PRINTED) * sum(table.largest for name, table in TABLES.items() if scope in (name, TOGETHER))
    wide = wide.reset_index().rename_axis(columns=None).sort_values("equal", ascending=False, kind="stable")
    return wide.drop_duplicates(wide.columns.drop("method")).head(KEPT).reset_index(drop=True)


def controls(rows: pd.DataFrame, column: str, scope: str) -> pd.DataFrame:
    """How many candidates each list has, and how many numbers its best give of the column and of the controls."""
    some = rows[(rows["protocol"] == column) & (rows["dataset"] == scope) & (rows["method"] == EVERY)]
    return some.pivot(index="task", columns="metric", values="value").rename_axis(columns=None)


def leads(rows: pd.DataFrame) -> pd.DataFrame:
    """Candidates that the rule of the notebook calls a lead: one line for each, with its column and scope."""
    found = []
    for column, scope in rows[["protocol", "dataset"]].drop_duplicates().itertuples(index=False):
        some, control = best(rows, column, scope), controls(rows, column, scope)
        chance = control[[f"{one}: most" for one in PERMUTED]].max(axis=1).reindex(some["task"]).to_numpy()
        numbers, equal = some["numbers"], some["equal"]
        lead = (
            (equal >= LEAD * numbers) & (equal - chance >= AHEAD * numbers) & (equal > some["most of another column"])
        )
        found.append(some[lead].assign(column=column, scope=scope))
    return pd.concat(found, ignore_index=True)
