"""What tables, figures and claims read from the rows of the experiments: counts of equal numbers, ratios, exponents."""

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.min_max import solve_min_max

from ... import paths
from ...claim_rules import Source
from ...data import entry, group_moments
from ...records import in_order
from .protocol import HALF_DIGIT, PRINTED, PUBLISHED, TABLES, Columns, judged, leading, matrices, printed

#: What a cell is called: sex, centring, method, start, order.
SEPARATOR = " | "
FACTORS = ["sensitive column", "centring", "method", "start", "order"]
SUMMED, SCALING = "summed over r", "scaling"
#: The printed methods and ours, in the order of tables and figures.
EXACT = "min-max loss (certified)"
TIMED = (*PUBLISHED, "JevdPCA (orthogonal)", EXACT)


# -- Tables 2 to 5 -----------------------------------------------------------------------------------------------------


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """How many printed numbers each method of ours gives again to the printed digits, for each printed column."""
    found = []
    for dataset, part in rows[rows["metric"].isin(PRINTED)].groupby("dataset", sort=False):
        wide = part.pivot(index="k", columns=["method", "metric"], values="value")
        theirs = printed(dataset)
        for method in wide.columns.get_level_values("method").unique():
            for column in PUBLISHED:
                off = (wide[method] - theirs[column]).abs()
                for metric in PRINTED:
                    equal = int((off[metric] <= HALF_DIGIT).sum(axis=0))
                    found.append((dataset, method, column, metric, equal, int(theirs.shape[0])))
    return pd.DataFrame(found, columns=["dataset", "method", "printed column", "metric", "equal", "numbers"])


# -- what rounded numbers leave possible -------------------------------------------------------------------------------


def possible_totals(column: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The least and the largest total variance for each rounded R.E. and V.E.: R.E. = total (1 - V.E.)."""
    error, share = column["R.E."], column["V.E."]
    least = (error - HALF_DIGIT).clip(lower=0.0) / (1.0 - (share - HALF_DIGIT))
    room = 1.0 - (share + HALF_DIGIT)  # none where a share of 1.00 may mean that there is no error at all
    return least, ((error + HALF_DIGIT) / room.where(room > 0)).fillna(np.inf)


def implied_totals(source: Source = printed) -> pd.DataFrame:
    """Total variance that the rounded R.E. and V.E. of each column leave possible: the intersection over all rows.

    R.E. = total (1 - V.E.) on centred data with orthonormal U. ``low_k`` and ``high_k`` are the rows with the bounds.
    """
    rows = []
    for dataset, table in TABLES.items():
        cells = source(dataset)
        for method in PUBLISHED:
            least, most = possible_totals(cells[method])
            low, high = float(least.max(axis=0)), float(most.min(axis=0))
            rows.append((table.title, method, low, int(least.idxmax()), high, int(most.idxmin()), low <= high))
    return pd.DataFrame(rows, columns=["dataset", "method", "low", "low_k", "high", "high_k", "possible"])


def impossible(source: Source = printed) -> pd.DataFrame:
    """Numbers that no orthonormal projection of one data set can have, beyond what rounding explains.

    No projection leaves less error or keeps more variance than PCA; MMD^2 is at most
    the squared distance of the group means; and it cannot fall where columns are only added, as in StandardPCA and, U
    being the same for all r, JevdPCA.
    """
    found = []
    for name, table in TABLES.items():
        wide, (one, other) = source(name), group_moments(name).means
        ceiling = float(((one - other) ** 2).sum(axis=0)) if entry(name).matches_paper else np.inf
        for method in PUBLISHED:
            mine, best = wide[method], wide["StandardPCA"]
            limits = {
                "R.E. below StandardPCA": (-mine["R.E."], -best["R.E."], HALF_DIGIT),
                "V.E. above StandardPCA": (mine["V.E."], best["V.E."], HALF_DIGIT),
                "MMD^2 above the distance of the means": (mine["MMD^2"], ceiling, 0.0),
            }
            if method in ("StandardPCA", "JevdPCA"):
                limits["MMD^2 falls"] = (-mine["MMD^2"], -mine["MMD^2"].shift(), HALF_DIGIT)
            for what, (value, bound, also) in limits.items():
                odd = value - HALF_DIGIT - also > bound - 1e-9  # rounding of binary sums
                cells = {"dataset": table.title, "method": method, "r": wide.index, "what": what, "value": value.abs()}
                found.append(pd.DataFrame(cells | {"limit": abs(bound)})[odd])
    return pd.concat(found, ignore_index=True)


# -- where columns come from -------------------------------------------------------------------------------------------


def best_candidates(rows: pd.DataFrame, column: str, most: int = 5) -> pd.DataFrame:
    """The candidates that give most numbers of a printed column again, for each data set."""
    names = [f"{metric} as in {column}" for metric in PRINTED]
    some = rows[rows["metric"].isin([*names, f"rows as in {column}"])].drop_duplicates(["dataset", "method", "metric"])
    wide = some.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    wide["numbers"] = [3 * TABLES[name].largest for name in wide["dataset"]]
    wide["equal"] = wide[names].sum(axis=1)
    wide = wide.sort_values(["dataset", "equal", "method"], ascending=[True, False, True], kind="stable")
    return wide.groupby("dataset", sort=False).head(most).reset_index(drop=True).rename_axis(columns=None)


# -- what makes distances small ----------------------------------------------------------------------------------------


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each cell and data set: its factors and what was measured."""
    some = rows.drop_duplicates(["dataset", "method", "metric"])
    wide = some.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    factors = wide["method"].str.split(SEPARATOR, expand=True, regex=False)
    factors.columns = FACTORS
    return pd.concat([wide[["dataset"]], factors, wide.drop(columns=["dataset", "method"])], axis=1)


def what_is_left(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean advantage in MMD^2 over PCA with the sensitive column among the features and without it, cell by cell."""
    found = cells(rows)
    index = ["dataset", *FACTORS[1:]]
    wide = found.pivot(index=index, columns="sensitive column", values="mean advantage in MMD^2")
    return wide.rename(columns={"in": "with", "out": "without"})[["with", "without"]].reset_index()


# -- Table 1 -----------------------------------------------------------------------------------------------------------


def printed_times() -> pd.DataFrame:
    """The printed seconds: methods by data sets, the latter by our names."""
    frame = pd.read_csv(paths.data("paper", "rathore2025_table1_times.csv"))
    wide = frame.pivot(index="method", columns="dataset", values="value")
    return wide[[one.title for one in TABLES.values()]].set_axis(list(TABLES), axis=1)


def our_times(rows: pd.DataFrame, metric: str = "training time") -> pd.DataFrame:
    """Our seconds, mean over the repetitions: methods by data sets."""
    some = rows[(rows["protocol"] == SUMMED) & (rows["metric"] == metric)]
    wide = some.pivot_table(index="method", columns="dataset", values="value", aggfunc="mean")
    return wide.reindex(index=[m for m in TIMED if m in wide.index], columns=[n for n in TABLES if n in wide])


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Times as multiples of StandardPCA's on the same data: printed, and ours beside it."""
    parts = []
    for source, wide in (("printed", printed_times()), ("ours", our_times(rows))):
        if "StandardPCA" in wide.index:
            parts.append((wide / wide.loc["StandardPCA"]).stack().rename(source))
    found = pd.concat(parts, axis=1).rename_axis(["method", "dataset"]).reset_index()
    found = found.reindex(columns=["method", "dataset", "printed", "ours"])
    return _in_order(found, "dataset", "method")


def _in_order(found: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Sorted by columns of names, in the order of tables, and of numbers."""
    return in_order(found, (*TABLES, "eigh", *TIMED), columns)


def same_order(rows: pd.DataFrame) -> pd.DataFrame:
    """For each data set: the printed methods from fast to slow, ours, and how many of the six pairs agree."""
    theirs, mine = printed_times(), our_times(rows).reindex(index=list(PUBLISHED))
    found = []
    for dataset in mine.dropna(axis=1):
        one, other = theirs[dataset].sort_values(), mine[dataset].sort_values()
        ahead = [(a, b) for i, a in enumerate(one.index) for b in one.index[i + 1 :]]
        agree = sum(bool(other[a] < other[b]) for a, b in ahead)
        found.append((dataset, ", ".join(one.index), ", ".join(other.index), agree, len(ahead)))
    return pd.DataFrame(found, columns=["dataset", "printed", "ours", "pairs that agree", "pairs"])


def curves(rows: pd.DataFrame, metric: str = "seconds", over: str = "median") -> pd.DataFrame:
    """A metric of the scaling study, by default its median over the repetitions: ``method``, ``d`` and the metric."""
    some = rows[(rows["protocol"] == SCALING) & (rows["metric"] == metric)]
    some = some.assign(d=some["dataset"].str.removeprefix("synthetic-d").astype(int))
    return _in_order(some.groupby(["method", "d"])["value"].agg(over).rename(metric).reset_index(), "method", "d")


def completed(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds without the sizes at which a method did not converge on every pair: breaking off early is not fast."""
    ended = curves(rows, "converged", "min")
    found = curves(rows).merge(ended[ended["converged"] < 1.0], on=["method", "d"], how="left")
    return found[found["converged"].isna()].drop(columns="converged").reset_index(drop=True)


def exponents(found: pd.DataFrame) -> pd.Series:
    """Slope of log time over log d by least squares, over the upper half of the sizes of each method of ``curves``."""

    def slope(line: pd.DataFrame) -> float:
        upper = line.sort_values("d").iloc[len(line) // 2 :]
        return float(np.polyfit(np.log(upper["d"]), np.log(upper.iloc[:, -1]), 1)[0]) if len(upper) > 1 else np.nan

    return pd.Series({method: slope(line) for method, line in found.groupby("method", sort=False)}, name="exponent")


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """For every method of the scaling study: exponents of a run and of a step, largest d, how many pairs converge."""
    whole, step = exponents(completed(rows)), exponents(curves(rows, "seconds per step"))
    ended = rows[(rows["protocol"] == SCALING) & (rows["metric"] == "converged")].groupby("method")["value"]
    told = ended.agg(lambda v: f"{v.sum():.0f} of {len(v)}")
    largest = curves(rows).groupby("method")["d"].max()
    table = pd.DataFrame(
        {"exponent": whole, "exponent of a step": step, "largest d": largest.astype("Int64"), "converged": told}
    )
    order = ("eigh", *TIMED, "JevdPCA (from U = I)")
    table = table.reindex([method for method in order if method in table.index]).round(2)
    return table.rename_axis("method").reset_index()


# -- which table is Table 4 --------------------------------------------------------------------------------------------

#: The table that a search found, and the public file of the same rows.
FOUND, PUBLIC_FILE = "lsac_bw", "lsac_arff"


def pca(moments: GroupMoments) -> np.ndarray:
    """The three metrics of standard PCA for every r of Table 4: it has no setting, so they tell the table."""
    return _metrics(moments, leading(moments.scatter))


def minmax(moments: GroupMoments) -> np.ndarray:
    """Those of the smallest worst loss about the *origin*, judged on centred rows: it sees codes, as PCA does not."""
    S = matrices(moments, "none")
    return _metrics(moments, lambda k: solve_min_max(*S, k)[0])


def _metrics(moments: GroupMoments, columns: Columns) -> np.ndarray:
    return np.array([list(judged(moments, columns(k)).values()) for k in range(1, TABLES[FOUND].largest + 1)])


def equal(values: np.ndarray, method: str) -> int:
    """How many of these numbers, a row for every r, have the digits that Table 4 prints for a method."""
    return int((np.abs(values - printed(FOUND)[method][list(PRINTED)].to_numpy()) <= HALF_DIGIT).sum(axis=None))


def public_file() -> pd.DataFrame:
    """The table that was found and the public file of the same rows, by their moments, and two controls.

    The last column is the largest difference of a group's mean or covariance from that of the table that was found.
    """
    known, lines = group_moments(FOUND), []
    for name in (FOUND, PUBLIC_FILE, "lsac_clean", "lsac_bar"):
        own = group_moments(name)
        covariances = [one.scatters / one.counts[:, None, None] for one in (own, known)]
        away = max(np.abs(own.means - known.means).max(), np.abs(np.subtract(*covariances)).max())
        lines.append(
            {
                "table": entry(name).title,
                "rows": int(own.n),
                "PCA numbers equal": equal(pca(own), "StandardPCA"),
                "min-max numbers equal": equal(minmax(own), "FairPCA_SDP_LP"),
                "difference of moments": f"{away:.1g}",
            }
        )
    return pd.DataFrame(lines)
