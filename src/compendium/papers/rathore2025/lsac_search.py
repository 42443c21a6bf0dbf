"""Which table is Table 4 of Rathore and Manwani (2025)? What is searched, and how a table is recognised.

Standard PCA has no setting of its own, so its 33 printed numbers are a fingerprint of the table. Sets of 12 to 14
columns are compared with it exhaustively for every rule about rows: 12 is the least that leaves an error at r = 11. The
min-max method of the second column confirms: it was given rows that nobody centred. Controls are random rows and random
columns. A public file of the rows that were found, known only later, confirms them from outside.

Every column is a number or a code of words. Columns that differ only by an affine map (fulltime and parttime, ugpa and
gpa, male and sex) give the same numbers in standard PCA, so one of them is here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.min_max import solve_min_max

from ...data import entry, jevd_tables
from ...records import tidy, whole
from .protocol import HALF_DIGIT, PRINTED, TABLES
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
FILLS = ("mean", "median", "zero")
#: How a rule for rows ends, or how it goes on.
COMPLETE, COMPLETE_HERE, PART = "; complete rows", "; rows complete in these columns", "; train share "
EVERYBODY = "everybody"
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

    def rules(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Every rule for rows: who is kept, and what is done about gaps."""
        gaps = self.table.isna().any(axis=None)
        for who, kept in self.races.items():
            rows = self.table[kept & self.table[self.sex].notna()]
            if not gaps:
                yield who, rows
                continue
            yield f"{who}{COMPLETE}", rows.dropna()
            for fill in FILLS:
                yield f"{who}; gaps filled with the {fill}", filled(rows, fill)

    def rows(self, rule: str, names: tuple[str, ...]) -> pd.DataFrame:
        """The rows of a rule, with some columns; a rule that goes on with a train share gives the train part."""
        rule, part, split = rule.partition(PART)
        who, _, gaps = rule.partition("; ")
        rows = self.table[self.races[who] & self.table[self.sex].notna()]
        if gaps.startswith("gaps filled"):
            rows = filled(rows, gaps.rpartition(" ")[2])
        rows = rows[list(names)].dropna() if f"; {gaps}" == COMPLETE_HERE else rows.dropna()[list(names)]
        if part:
            share, seed = split.split(", seed ")
            rows, _ = train_test_split(rows, train_size=float(share), random_state=int(seed))
        return rows


def filled(rows: pd.DataFrame, fill: str) -> pd.DataFrame:
    """The rows with every gap filled by the mean or median of its column, or by zero."""
    return rows.fillna(0.0 if fill == "zero" else rows.agg(fill))


def moments_of(table: pd.DataFrame, sex: str) -> GroupMoments:
    """Moments of a table by sex, with the names of its columns."""
    return GroupMoments.from_data(table, table[sex].to_numpy())


def pool_of(file: str) -> Pool:
    """The pool of one of the three files."""
    return {"lsac": _lsac, "lsac_clean": _clean, "lsac_bar": _bar}[file]()


def _lsac() -> Pool:
    found = entry("lsac")
    table = jevd_tables.read_lsac(found, found.files[0].name)
    return Pool(*_indicators(table.rename(columns={"race": "race (1, 2, 3)"}), "race (1, 2, 3)"), _races(table["race"]))


def _clean() -> Pool:
    found = entry("lsac_bw")
    clean, cited = (file.name for file in found.files)
    table = jevd_tables.read_clean(found, clean)
    race = pd.Series(jevd_tables.race_codes(found, table, jevd_tables.read_lsac(found, cited)))
    table = table.rename(columns={"race": "white"}).assign(**{"race (1, 2, 3)": race})
    return Pool(*_indicators(table, "race (1, 2, 3)"), _races(race))


def _indicators(table: pd.DataFrame, race: str) -> tuple[pd.DataFrame, str]:
    codes = {"white": 1, "black": 2, "other": 3}
    indicators = {name: (table[race] == code).astype(float) for name, code in codes.items()}
    return table.assign(**indicators), "male" if "male" in table else "sex"


def _races(race: pd.Series) -> dict[str, np.ndarray]:
    """All non-empty sets of the three races: white, black, other."""
    names = {1: "white", 2: "black", 3: "other"}
    found = {EVERYBODY: np.ones(len(race), bool)}
    for mask in range(1, 7):
        members = [code for code in names if mask >> (code - 1) & 1]
        found[" and ".join(names[code] for code in members)] = race.isin(members).to_numpy()
    return found


def _bar() -> Pool:
    found = entry("lsac_bar")
    table = jevd_tables.read(found, jevd_tables.BAR_COLUMNS, others=True)
    race = table["race2"].map({"b white": 1, "a black": 2, "c other": 3})
    races = _races(race)
    for name in ("asian", "hisp", "other"):
        races[f"all but {name}"] = (table["race1"] != name).to_numpy()
    races["full-time"] = (table["fulltime"] == 1).to_numpy()
    coded = {name: table[name].astype("category").cat.codes.astype(float) for name in CODED}
    coded = {name: codes.where(table[name].notna()) for name, codes in coded.items()}
    white = (table["race1"] == "white").astype(float)
    numbers = table.assign(**coded, white=white).drop(columns=list(LEFT_OUT)).astype(float)
    return Pool(numbers, "male", races)


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


def searched(file: str, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
    """All rules for rows and all sets of columns of one file: counts, the ten best, train parts, controls."""
    pool, best = pool_of(file), []
    counts = {"sets of columns": 0, "sets decomposed": 0, "rules for rows": 0}
    for rule, rows in pool.rules():
        if rows[pool.sex].nunique() == 2:
            tried, computed, found = decomposed(moments_of(rows, pool.sex), pool.sex, rule, sizes)
            counts["sets of columns"] += tried
            counts["sets decomposed"] += computed
            counts["rules for rows"] += 1
            best = best_of([*best, *found], 4 * BEST)
    others = [again for again in (own_gaps(pool, candidate) for candidate in best) if again]
    others += train_parts(pool, best[0])
    counts["other rows for the best"] = len(others)
    found = [row(file, "", None, 0, name, value) for name, value in counts.items()]
    seen = [(one, pool.rows(one.rule, one.names)) for one in best_of([*best, *others], BEST)]
    seen = [(one, len(rows), minmax(moments_of(rows, pool.sex))) for one, rows in seen]
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


def decomposed(moments: GroupMoments, sex: str, rule: str, sizes: Sequence[int]) -> tuple[int, int, list[Candidate]]:
    """Sets of columns there are, sets whose PCA was computed, and the best of these."""
    S, gap = moments.scatter / moments.n, moments.means[0] - moments.means[1]
    tried, sets = column_sets(S, gap, moments.feature_names.index(sex), sizes)
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


def column_sets(S: np.ndarray, gap: np.ndarray, sex: int, sizes: Sequence[int] = SIZES) -> tuple[int, list[np.ndarray]]:
    """All sets of 12 to 14 columns with the one of sex: how many, and those within the bounds as indices by size."""
    variances, gaps = np.diag(S), gap**2
    free = [j for j in range(len(S)) if j != sex and variances[j] > 0]
    tried = sum(comb(len(free), size - 1) for size in sizes)
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
    for wanted in sizes:
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


def own_gaps(pool: Pool, candidate: Candidate) -> Candidate | None:
    """The same columns with all rows that have no gap in these, instead of in any."""
    if not candidate.rule.endswith(COMPLETE):
        return None
    rule = candidate.rule.removesuffix(COMPLETE) + COMPLETE_HERE
    return Candidate(candidate.names, rule, pca(moments_of(pool.rows(rule, candidate.names), pool.sex)))


def train_parts(pool: Pool, candidate: Candidate) -> list[Candidate]:
    """The same columns on train parts of the rows, as scikit-learn draws them."""
    found = []
    for share, seed in product(SHARES, SPLIT_SEEDS):
        rule = f"{candidate.rule}{PART}{share}, seed {seed}"
        found.append(Candidate(candidate.names, rule, pca(moments_of(pool.rows(rule, candidate.names), pool.sex))))
    return found


def controls(file: str, pool: Pool, best: Candidate) -> list[tuple]:
    """How many numbers of PCA come out by chance: as many rows drawn from everybody, and twelve columns drawn."""
    rng = np.random.default_rng(SEED)
    rows = pool.rows(best.rule, best.names)
    everybody = pool.rows(EVERYBODY + best.rule[len(best.rule.partition(";")[0]) :], best.names)
    draws = []
    for _ in range(DRAWS):
        drawn = everybody.iloc[rng.permutation(len(everybody))[: len(rows)]]
        draws.append(equal(pca(moments_of(drawn, pool.sex)), "StandardPCA"))
    moments = moments_of(pool.rows(best.rule, tuple(pool.table)), pool.sex)
    S, gap = moments.scatter / moments.n, moments.means[0] - moments.means[1]
    sex = moments.feature_names.index(pool.sex)
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
    return (dataset, method, k, place, "search" if dataset in FILES else "released", name, float(value), reason)


def frame(rows: Sequence[tuple]) -> pd.DataFrame:
    """Tidy rows as a data frame."""
    columns = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]
    return whole(pd.DataFrame(rows, columns=columns))


# -- the table that was found ------------------------------------------------------------------------------------------


def codings(moments: GroupMoments) -> list[tuple[str, GroupMoments]]:
    """Other codes of the columns with two values: nothing to PCA, but the origin of rows that are not centred."""
    found = []
    for name, codes in {"race": (0, 1), "male": (0, 1), "fulltime": (1, 2), "pass_bar": (0, 1)}.items():
        for low, high in ((0, 1), (1, 0), (1, 2), (2, 1)):
            if (low, high) != codes:
                j, means, signs = moments.feature_names.index(name), moments.means.copy(), np.ones(moments.d)
                signs[j] = high - low
                means[:, j] = low + signs[j] * (means[:, j] - codes[0])
                scatters = moments.scatters * np.outer(signs, signs)
                other = GroupMoments(moments.labels, moments.counts, means, scatters, moments.feature_names)
                found.append((f"{name} coded {low}, {high} instead of {codes[0]}, {codes[1]}", other))
    return found


def sources(moments: GroupMoments) -> list[tuple[str, np.ndarray]]:
    """The matrices whose eigenvectors are tried for the JevdPCA column."""
    found = []
    for centring, said in (("none", "the origin"), ("fitted", "the overall mean"), ("group", "their own mean")):
        women, men = group_matrices(moments, centring)
        share = moments.counts[0] / moments.n
        for who, S in {"women": women, "men": men, "all": share * women + (1 - share) * men}.items():
            found.append((f"eigenvectors of {who} about {said}", S))
    return found


def eigenvector_sets(moments: GroupMoments, said: str, source: np.ndarray) -> list[dict]:
    """For every r: how many sets of r eigenvectors give all three printed numbers of JevdPCA, and the nearest set."""
    S, gap = moments.scatter / moments.n, moments.means[0] - moments.means[1]
    V = np.linalg.eigh(source)[1][:, ::-1]
    members = np.arange(2**moments.d)[:, None] >> np.arange(moments.d) & 1
    kept, means = members @ np.einsum("di,de,ei->i", V, S, V), members @ (gap @ V) ** 2
    values = np.stack([np.trace(S) - kept, kept / np.trace(S), means], axis=1)
    found = []
    for k, theirs in enumerate(printed("JevdPCA"), 1):
        of_size = np.flatnonzero(members.sum(axis=1) == k)
        agree = (np.abs(values[of_size] - theirs) <= HALF_DIGIT).all(axis=1).sum(axis=0)
        away = np.abs(np.log(np.maximum(values[of_size], 1e-6) / theirs)).sum(axis=1)
        nearest = of_size[away.argmin()]
        names = ", ".join(str(j) for j in np.flatnonzero(members[nearest]))
        facts = {"sets that agree": agree}
        facts |= {f"nearest {name}": value for name, value in zip(PRINTED, values[nearest], strict=True)}
        key = {"dataset": FOUND, "method": said, "k": k, "protocol": "released"}
        found += tidy(facts, **key)
        found += [tidy({"nearest deviation": away.min(axis=0)}, **key)[0] | {"reason": f"eigenvectors {names}"}]
    return found
