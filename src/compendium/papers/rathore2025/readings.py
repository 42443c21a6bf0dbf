"""What tables, figures and claims read from the rows of the experiments: counts of equal numbers, ratios, exponents."""

from itertools import product

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.min_max import solve_min_max

from ...claim_rules import Source
from ...data import entry, group_moments
from ...records import in_order, paper_table
from .protocol import HALF_DIGIT, PRINTED, PUBLISHED, TABLES, evaluate, leading, matrices, printed

#: What a cell is called: sex, centring, method, start, order.
SEPARATOR = " | "
FACTORS = ["sensitive column", "centring", "method", "start", "order"]
SUMMED, SCALING = "summed over r", "scaling"
#: The printed methods and ours, in the order of tables and figures.
EXACT = "min-max loss (certified)"
TIMED = (*PUBLISHED, "JevdPCA (orthogonal)", EXACT)
ORDER = (*TABLES, "eigh", *TIMED)


def implied_totals(source: Source = printed) -> pd.DataFrame:
    """The total variances that the rounded R.E. = total (1 - V.E.) of each column leave possible, from and to."""
    rows = []
    for dataset, table in TABLES.items():
        cells = source(dataset)
        for method in PUBLISHED:
            error, share = cells[method, "R.E."], cells[method, "V.E."]
            low = ((error - HALF_DIGIT).clip(lower=0.0) / (1.0 - (share - HALF_DIGIT))).max()
            room = 1.0 - (share + HALF_DIGIT)  # none where a share of 1.00 may mean that there is no error at all
            high = ((error + HALF_DIGIT) / room.where(room > 0)).fillna(np.inf).min()
            rows.append((table.title, method, low, high, low <= high))
    return pd.DataFrame(rows, columns=["dataset", "method", "low", "high", "possible"])


def impossible(source: Source = printed) -> pd.DataFrame:
    """Numbers that no orthonormal projection of one data set can have, beyond what rounding explains.

    MMD^2 cannot fall where columns are only added, as in StandardPCA and, U being the same for all r, JevdPCA."""
    found = []
    for (name, table), method in product(TABLES.items(), PUBLISHED):
        wide, (one, other) = source(name), group_moments(name).means
        ceiling = ((one - other) ** 2).sum() if entry(name).matches_paper else np.inf
        error, share, mmd = (wide[method, metric] for metric in PRINTED)
        nested = method in ("StandardPCA", "JevdPCA")
        for what, value, limit, sign, rounded in (
            ("R.E. below StandardPCA", error, wide["StandardPCA", "R.E."], -1, 2),
            ("V.E. above StandardPCA", share, wide["StandardPCA", "V.E."], 1, 2),
            ("MMD^2 above the distance of the means", mmd, ceiling, 1, 1),
            ("MMD^2 falls", mmd, mmd.shift() if nested else -np.inf, -1, 2),
        ):
            odd = sign * (value - limit) > rounded * HALF_DIGIT - 1e-9
            cells = {"dataset": table.title, "method": method, "r": wide.index, "what": what, "value": value}
            found.append(pd.DataFrame(cells | {"limit": limit})[odd])
    return pd.concat(found, ignore_index=True)


def best_candidates(rows: pd.DataFrame, column: str, most: int = 5) -> pd.DataFrame:
    """The candidates that give most numbers of a printed column again, for each data set."""
    names = [f"{metric} as in {column}" for metric in PRINTED]
    some = rows[rows["metric"].isin([*names, f"rows as in {column}"])].drop_duplicates(["dataset", "method", "metric"])
    wide = some.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    wide["numbers"] = [3 * TABLES[name].largest for name in wide["dataset"]]
    wide["equal"] = wide[names].sum(axis=1)
    wide = wide.sort_values(["dataset", "equal", "method"], ascending=[True, False, True], kind="stable")
    return wide.groupby("dataset", sort=False).head(most).reset_index(drop=True).rename_axis(columns=None)


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


def printed_times() -> pd.DataFrame:
    """The printed seconds: methods by data sets, the latter by our names."""
    frame = paper_table("rathore2025_table1_times")
    wide = frame.pivot(index="method", columns="dataset", values="value")
    return wide[[one.title for one in TABLES.values()]].set_axis(list(TABLES), axis=1)


def our_times(rows: pd.DataFrame, metric: str = "training time") -> pd.DataFrame:
    """Our seconds, mean over the repetitions: methods by data sets."""
    some = rows[(rows["protocol"] == SUMMED) & (rows["metric"] == metric)]
    wide = some.pivot_table(index="method", columns="dataset", values="value", aggfunc="mean")
    return wide.reindex(index=[m for m in TIMED if m in wide.index], columns=[n for n in TABLES if n in wide])


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Times as multiples of StandardPCA's on the same data: printed, and ours beside it; none without ours."""
    both = {"printed": printed_times(), "ours": our_times(rows)}
    pca = {source: wide.reindex(["StandardPCA"]).iloc[0] for source, wide in both.items()}
    found = pd.concat({source: (wide / pca[source]).stack() for source, wide in both.items()}, axis=1)
    found = found if found["ours"].notna().any() else found.iloc[:0]
    return in_order(found.rename_axis(["method", "dataset"]).reset_index(), ORDER, ("dataset", "method"))


def curves(rows: pd.DataFrame, metric: str = "seconds", over: str = "median") -> pd.DataFrame:
    """A metric of the scaling study, by default its median over the repetitions: ``method``, ``d`` and the metric."""
    some = rows[(rows["protocol"] == SCALING) & (rows["metric"] == metric)]
    some = some.assign(d=some["dataset"].str.removeprefix("synthetic-d").astype(int))
    return in_order(
        some.groupby(["method", "d"])["value"].agg(over).rename(metric).reset_index(), ORDER, ("method", "d")
    )


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


#: The table that a search found, and the public file of the same rows.
FOUND, PUBLIC_FILE = "lsac_bw", "lsac_arff"


def fingerprints(moments: GroupMoments) -> dict[str, np.ndarray]:
    """The three metrics for every r of Table 4, of PCA and of the smallest worst loss about the origin."""
    S, pca = matrices(moments, "none"), leading(moments.scatter)
    columns = {"StandardPCA": pca, "FairPCA_SDP_LP": lambda k: solve_min_max(*S, k)[0]}
    ranks = range(1, TABLES[FOUND].largest + 1)
    return {name: np.array([list(evaluate(moments, of(k)).values()) for k in ranks]) for name, of in columns.items()}


def public_file() -> pd.DataFrame:
    """How many numbers of Table 4 the table that was found, the public file of its rows, and two controls give.

    Last the largest difference of a group's mean or covariance from that of the table that was found."""
    theirs, known, lines = printed(FOUND), group_moments(FOUND), []
    for name in (FOUND, PUBLIC_FILE, "lsac_clean", "lsac_bar"):
        own = group_moments(name)
        line = {"table": entry(name).title, "rows": int(own.n)}
        for column, values in fingerprints(own).items():
            off = np.abs(values - theirs[column][list(PRINTED)].to_numpy())
            line[f"equal to {column}"] = int((off <= HALF_DIGIT).sum())
        covariances = [one.scatters / one.counts[:, None, None] for one in (own, known)]
        away = max(np.abs(own.means - known.means).max(), np.abs(np.subtract(*covariances)).max())
        lines.append(line | {"difference of moments": f"{away:.1g}"})
    return pd.DataFrame(lines)
