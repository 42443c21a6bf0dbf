"""Which table is Table 4 of Rathore and Manwani (2025)? What is searched, and how a table is recognised.

Standard PCA has no setting of its own, so its 33 printed numbers are a fingerprint of the table. Sets of 12 to 14
columns are compared with it exhaustively for every rule about rows: 12 is the least that leaves an error at r = 11. The
min-max method of the second column confirms: it was given rows that nobody centred. Controls are random rows and random
columns. A public file of the rows that were found, known only later, confirms them from outside.

Every column is a number or a code of words. Columns that differ only by an affine map (fulltime and parttime, ugpa and
gpa, male and sex) give the same numbers in standard PCA, so one of them is here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.min_max import solve_min_max

from ...data import entry, raw
from ...records import tidy
from .protocol import HALF_DIGIT, PRINTED, TABLES, all_sets, matrices, pooled, possible_totals, subset_sums
from .protocol import printed as printed_table

FOUND = "lsac_bw"
#: The public file with the rows of the table that was found.
PUBLIC_FILE = "lsac_arff"
FILES = ("lsac", "lsac_clean", "lsac_bar")
#: Text columns of bar_pass_prediction.csv whose levels are coded by 0, 1, ... in the order of the alphabet.
CODED = ("bar1", "bar2", "bar", "race1", "race2")
#: Its columns without a use: a key, the same as another up to an affine map or a grouping of it, and columns so nearly
#: constant (a variance below 0.005) that no printed digit depends on them.
LEFT_OUT = (
    *("ID", "sex", "gender", "parttime", "gpa", "indxgrp", "indxgrp2"),
    *("grad", "Dropout", "hisp", "dnn_bar_pass_prediction"),
)
RACES = {1: "white", 2: "black", 3: "other"}
EVERYBODY = "everybody"
#: How a rule for rows ends where columns have gaps, or how it goes on.
COMPLETE, FILLED, COMPLETE_HERE = "; complete rows", "; gaps filled with the ", "; rows complete in these columns"
FILLS, PART = ("mean", "median", "zero"), "; train share "
SEED = 20254
LARGEST = TABLES[FOUND].largest
SIZES = (12, 13, 14)
BEST = 10
#: Bounds within which sets are decomposed: total variance (relative, beyond what the printed pairs of R.E. and V.E.
#: allow), squared distance of the means, sum of the squared eigenvalues. Up to so many sets there is no bound.
TOTAL_SLACK, GAP_SLACK, SQUARES_SLACK = 0.02, 0.1, 8.0
ALL_UP_TO = 20_000
SHARES, SPLIT_SEEDS = (0.7, 0.75, 0.8, 0.9), (0, 1, 42)
DRAWS = 500


# -- columns and rows --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """Columns of one file, the one that tells sex, and which rows each rule for race keeps."""

    table: pd.DataFrame
    sex: str
    races: dict[str, np.ndarray]

    def rules(self) -> list[str]:
        """Every rule for rows: who is kept, and what is done about gaps."""
        ends = (COMPLETE, *(FILLED + fill for fill in FILLS)) if self.table.isna().any(axis=None) else ("",)
        return [who + end for who, end in product(self.races, ends)]

    def rows(self, rule: str, names: Iterable[str] = ()) -> pd.DataFrame:
        """The rows of a rule with some columns or all; a rule that goes on with a train share gives the train part."""
        names = list(names) or list(self.table)
        rule, part, split = rule.partition(PART)
        rows = self.table[self.races[rule.partition(";")[0]] & self.table[self.sex].notna()]
        if FILLED in rule:
            fill = rule.rpartition(" ")[2]
            rows = rows.fillna(0.0 if fill == "zero" else rows.agg(fill))
        rows = rows[names].dropna() if rule.endswith(COMPLETE_HERE) else rows.dropna()[names]
        if part:
            share, seed = split.split(", seed ")
            rows, _ = train_test_split(rows, train_size=float(share), random_state=int(seed))
        return rows

    def moments(self, rule: str, names: Iterable[str] = ()) -> GroupMoments:
        """Moments of these rows by sex."""
        return moments_of(self.rows(rule, names), self.sex)


def moments_of(table: pd.DataFrame, sex: str) -> GroupMoments:
    """Moments of a table by sex, with the names of its columns."""
    return GroupMoments.from_data(table, table[sex].to_numpy())


def pool_of(file: str) -> Pool:
    """The pool of one of the three files."""
    if file == "lsac_bar":
        return _bar()
    found = entry({"lsac": "lsac", "lsac_clean": FOUND}[file])
    if file == "lsac":
        table = raw.read_lsac(found).rename(columns={"race": "race (1, 2, 3)"})
    else:
        table = raw.read_clean(found)
        codes = raw.race_codes(table, raw.read_lsac(found, 1))
        table = table.rename(columns={"race": "white"}).assign(**{"race (1, 2, 3)": codes})
    race = table["race (1, 2, 3)"]
    table = table.assign(**{name: (race == code).astype(float) for code, name in RACES.items()})
    return Pool(table, "male" if "male" in table else "sex", _races(race))


def _bar() -> Pool:
    table = raw.read_csv(entry("lsac_bar"))
    races = _races(table["race2"].map({"b white": 1, "a black": 2, "c other": 3}))
    for name in ("asian", "hisp", "other"):
        races[f"all but {name}"] = (table["race1"] != name).to_numpy()
    races["full-time"] = (table["fulltime"] == 1).to_numpy()
    coded = {name: table[name].astype("category").cat.codes.astype(float) for name in CODED}
    coded = {name: codes.where(table[name].notna()) for name, codes in coded.items()}
    white = (table["race1"] == "white").astype(float)
    return Pool(table.assign(**coded, white=white).drop(columns=list(LEFT_OUT)).astype(float), "male", races)


def _races(race: pd.Series) -> dict[str, np.ndarray]:
    """All non-empty sets of the three races: white, black, other."""
    found = {EVERYBODY: np.ones(len(race), bool)}
    for mask in range(1, 7):
        some = [code for code in RACES if mask >> (code - 1) & 1]
        found[" and ".join(RACES[code] for code in some)] = race.isin(some).to_numpy()
    return found


# -- the fingerprint ---------------------------------------------------------------------------------------------------


def printed(method: str) -> np.ndarray:
    """The printed R.E., V.E. and MMD^2 of a method, shape (11, 3)."""
    return printed_table(FOUND)[method][list(PRINTED)].to_numpy()


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


def covariance_and_gap(moments: GroupMoments) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of all rows and the difference of the means."""
    return moments.scatter / moments.n, moments.means[0] - moments.means[1]


def pca(moments: GroupMoments) -> np.ndarray:
    """The three metrics of standard PCA, shape (11, 3)."""
    return pca_of(*covariance_and_gap(moments), np.arange(moments.d)[None])[0]


def pca_of(S: np.ndarray, gap: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The metrics of standard PCA for many sets of columns (N, size) at once, shape (N, 11, 3)."""
    blocks = S[index[:, :, None], index[:, None, :]]
    return metrics(np.linalg.eigh(blocks)[1][:, :, ::-1], blocks, gap[index])


def minmax(moments: GroupMoments) -> np.ndarray:
    """The smallest worst loss about the *origin* for every r, its answers judged on centred rows, shape (11, 3)."""
    (S, gap), found = covariance_and_gap(moments), []
    for k in range(1, LARGEST + 1):
        V, _ = solve_min_max(*matrices(moments, "none"), k)
        kept = np.trace(V.T @ S @ V)
        found.append((np.trace(S) - kept, kept / np.trace(S), ((gap @ V) ** 2).sum(axis=0)))
    return np.array(found)


# -- the search --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """Columns and a rule for rows, with the numbers of standard PCA and how near the printed ones they are."""

    names: tuple[str, ...]
    rule: str
    values: np.ndarray

    @cached_property
    def score(self) -> tuple[int, float]:
        """Numbers equal, and minus the deviation: larger is better. Rounded, as PCA cannot tell codings apart."""
        return int(equal(self.values, "StandardPCA")), -round(float(deviation(self.values, "StandardPCA")), 9)

    def __str__(self):
        return f"{', '.join(self.names)} | {self.rule}"


def best_of(candidates: Iterable[Candidate], number: int) -> list[Candidate]:
    """The best ones, each set of columns and rule once; equal ones by their names."""
    by_name = sorted({str(one): one for one in candidates}.items())
    return sorted((one for _, one in by_name), key=lambda one: one.score, reverse=True)[:number]


def searched(file: str, sizes: Sequence[int] = SIZES) -> list[dict]:
    """All rules for rows and all sets of columns of one file: counts, the ten best, other rows for them, controls."""
    pool, best = pool_of(file), []
    counts = {"sets of columns": 0, "sets decomposed": 0, "rules for rows": 0}
    for rule in pool.rules():
        rows = pool.rows(rule)
        if rows[pool.sex].nunique() == 2:
            tried, computed, found = decomposed(moments_of(rows, pool.sex), pool.sex, rule, sizes)
            counts["sets of columns"] += tried
            counts["sets decomposed"] += computed
            counts["rules for rows"] += 1
            best = best_of([*best, *found], 4 * BEST)
    # The same columns with all rows that have no gap in these, instead of in any; and train parts of scikit-learn.
    other = [(one, one.rule.removesuffix(COMPLETE) + COMPLETE_HERE) for one in best if one.rule.endswith(COMPLETE)]
    parts = product(SHARES, SPLIT_SEEDS)
    other += [(best[0], f"{best[0].rule}{PART}{share}, seed {seed}") for share, seed in parts]
    other = [Candidate(one.names, rule, pca(pool.moments(rule, one.names))) for one, rule in other]
    counts["other rows for the best"] = len(other)
    key = {"dataset": file, "protocol": "search"}
    found = tidy(counts, method="", **key)
    seen = [(one, pool.moments(one.rule, one.names)) for one in best_of([*best, *other], BEST)]
    seen = [(one, int(moments.n), minmax(moments)) for one, moments in seen]
    # Among those that PCA cannot tell apart, the min-max method decides: it saw the codes.
    seen.sort(key=lambda s: (s[0].score, equal(s[2], "FairPCA_SDP_LP")), reverse=True)
    for place, (one, size, confirmed) in enumerate(seen, 1):
        facts = {
            "rows": size,
            "PCA numbers equal": equal(one.values, "StandardPCA"),
            "min-max numbers equal": equal(confirmed, "FairPCA_SDP_LP"),
            "PCA deviation": deviation(one.values, "StandardPCA"),
            "min-max deviation": deviation(confirmed, "FairPCA_SDP_LP"),
        }
        found += tidy(facts, method=str(one), k=len(one.names), split=place, **key)
    for name, numbers in controls(pool, seen[0][0]).items():
        facts = {"draws": len(numbers), "most numbers equal": numbers.max(axis=0), "mean": numbers.mean(axis=0)}
        found += tidy(facts, method=name, **key)
    return found


def decomposed(moments: GroupMoments, sex: str, rule: str, sizes: Sequence[int]) -> tuple[int, int, list[Candidate]]:
    """Sets of columns there are, sets whose PCA was computed, and the best of these."""
    S, gap = covariance_and_gap(moments)
    tried, sets = column_sets(S, gap, moments.feature_names.index(sex), sizes)
    found = []
    for index in sets:
        for part in np.array_split(index, len(index) // 10_000 + 1) if len(index) else ():
            values = pca_of(S, gap, part)
            order = np.lexsort((deviation(values, "StandardPCA"), -equal(values, "StandardPCA")))[: 4 * BEST]
            found += [Candidate(tuple(moments.feature_names[j] for j in part[i]), rule, values[i]) for i in order]
    return tried, sum(map(len, sets)), best_of(found, 4 * BEST)


def column_sets(S: np.ndarray, gap: np.ndarray, sex: int, sizes: Sequence[int] = SIZES) -> tuple[int, list[np.ndarray]]:
    """All sets of 12 to 14 columns with the one of sex: how many, and those within the bounds as indices by size."""
    variances, gaps = np.diag(S), gap**2
    fixed, free = [sex], [j for j in range(len(S)) if j != sex and variances[j] > 0]
    tried, bounded = sum(comb(len(free), size - 1) for size in sizes), False
    low, high, least, most = -np.inf, np.inf, -np.inf, np.inf
    if tried > ALL_UP_TO:
        bounded, (low, high) = True, total_range()
        low, high = low * (1 - TOTAL_SLACK), high * (1 + TOTAL_SLACK)
        least, most = (printed("StandardPCA")[-1, 2] + sign * GAP_SLACK for sign in (-1, 1))
        fixed, free = forced(variances, gaps, sex, free, high, least)
    total, distance, size = (
        subset_sums(x[free], x[fixed].sum(axis=0), np.float32) for x in (variances, gaps, np.ones(len(S)))
    )
    inside = (total >= low) & (total <= high) & (distance >= least) & (distance <= most)
    found = []
    for wanted in sizes:
        masks = np.flatnonzero(inside & (size == wanted))
        if not len(masks):
            continue
        chosen = np.nonzero(masks[:, None] >> np.arange(len(free)) & 1)[1].reshape(len(masks), wanted - len(fixed))
        index = np.hstack([np.array(free, dtype=int)[chosen], np.tile(fixed, (len(masks), 1))])
        found.append(np.sort(index[np.abs(excess(S, index)) <= SQUARES_SLACK] if bounded else index, axis=1))
    return tried, found


def total_range() -> tuple[float, float]:
    """Between which bounds the total variance must lie, by the printed pairs of R.E. and V.E. of standard PCA."""
    least, most = possible_totals(pd.DataFrame(printed("StandardPCA"), columns=PRINTED))
    return float(least.max(axis=0)), float(most.min(axis=0))


def forced(variances, gaps, sex: int, free: list[int], high: float, least: float) -> tuple[list[int], list[int]]:
    """Columns without which the means are not far enough apart, and the others that still fit into the total."""
    fixed, before = [sex], None
    while before != (len(fixed), len(free)):
        before = len(fixed), len(free)
        free = [j for j in free if variances[[*fixed, j]].sum(axis=0) <= high]
        needed = [j for j in free if gaps[[*fixed, *free]].sum(axis=0) - gaps[j] < least]
        fixed, free = fixed + needed, [j for j in free if j not in needed]
    return fixed, free


def excess(S: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Sum of the squared eigenvalues of a set of columns less what the printed errors make of its total."""
    errors = printed("StandardPCA")[:, 0]
    squared, total = S**2, np.diag(S)[index].sum(axis=1)
    parts = np.array_split(index, len(index) // 50_000 + 1)
    seen = [squared[part[:, :, None], part[:, None, :]].sum(axis=(1, 2)) for part in parts]
    return np.concatenate(seen) - (total - errors[0]) ** 2 - (np.diff(errors) ** 2).sum(axis=0)


def controls(pool: Pool, best: Candidate) -> dict[str, np.ndarray]:
    """How many numbers of PCA come out by chance: as many rows drawn from everybody, and twelve columns drawn."""
    rng, draws = np.random.default_rng(SEED), []
    size = len(pool.rows(best.rule, best.names))
    everybody = pool.rows(EVERYBODY + best.rule[len(best.rule.partition(";")[0]) :], best.names)
    for _ in range(DRAWS):
        drawn = everybody.iloc[rng.permutation(len(everybody))[:size]]
        draws.append(equal(pca(moments_of(drawn, pool.sex)), "StandardPCA"))
    moments = pool.moments(best.rule)
    S, gap = covariance_and_gap(moments)
    sex = moments.feature_names.index(pool.sex)
    others = [j for j in range(moments.d) if j != sex and S[j, j] > 0]
    values = pca_of(S, gap, np.array([[sex, *rng.permutation(others)[: SIZES[0] - 1]] for _ in range(DRAWS)]))
    other = np.abs(values - best.values).max(axis=(1, 2)) > HALF_DIGIT  # what was found is drawn from a small pool too
    return {"random rows": np.array(draws), "random columns": equal(values[other], "StandardPCA")}


# -- the table that was found ------------------------------------------------------------------------------------------


def codings(moments: GroupMoments) -> Iterator[tuple[str, GroupMoments]]:
    """Other codes of the columns with two values: nothing to PCA, but the origin of rows that are not centred."""
    for name, codes in {"race": (0, 1), "male": (0, 1), "fulltime": (1, 2), "pass_bar": (0, 1)}.items():
        for low, high in ((0, 1), (1, 0), (1, 2), (2, 1)):
            if (low, high) == codes:
                continue
            j, means, signs = moments.feature_names.index(name), moments.means.copy(), np.ones(moments.d)
            signs[j] = high - low
            means[:, j] = low + signs[j] * (means[:, j] - codes[0])
            scatters = moments.scatters * np.outer(signs, signs)
            other = GroupMoments(moments.labels, moments.counts, means, scatters, moments.feature_names)
            yield f"{name} coded {low}, {high} instead of {codes[0]}, {codes[1]}", other


def sources(moments: GroupMoments) -> Iterator[tuple[str, np.ndarray]]:
    """The matrices whose eigenvectors are tried for the JevdPCA column."""
    for centring, said in (("none", "the origin"), ("global", "the overall mean"), ("group", "their own mean")):
        S = matrices(moments, centring)
        for who, H in {"women": S[0], "men": S[1], "all": pooled(moments, S)}.items():
            yield f"eigenvectors of {who} about {said}", H


def eigenvector_sets(moments: GroupMoments, said: str, source: np.ndarray) -> list[dict]:
    """For every r: how many sets of r eigenvectors give all three printed numbers of JevdPCA, and the nearest set."""
    sizes, values = all_sets(moments, np.linalg.eigh(source)[1][:, ::-1])
    found = []
    for k, theirs in enumerate(printed("JevdPCA"), 1):
        of_size = np.flatnonzero(sizes == k)
        some = values[:, of_size].T
        agree = (np.abs(some - theirs) <= HALF_DIGIT).all(axis=1).sum(axis=0)
        away = np.abs(np.log(np.maximum(some, 1e-6) / theirs)).sum(axis=1)
        nearest = of_size[away.argmin()]
        names = ", ".join(str(j) for j in range(moments.d) if nearest >> j & 1)
        facts = {"sets that agree": agree, "nearest deviation": (away.min(axis=0), f"eigenvectors {names}")}
        facts |= {f"nearest {name}": value for name, value in zip(PRINTED, values[:, nearest], strict=True)}
        found += tidy(facts, dataset=FOUND, method=said, k=k, protocol="released")
    return found
