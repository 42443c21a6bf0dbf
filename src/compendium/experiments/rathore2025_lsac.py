"""Which table is Table 4 of Rathore and Manwani (2025)? A recorded search over the columns and rows of three files.

The paper names a file that cannot give its numbers and says nothing about columns and rows. Standard PCA has no setting
of its own, so its 33 printed numbers are a fingerprint of the table: sets of 12 to 14 columns are compared with it
exhaustively, for every rule about rows. The min-max method of the second column confirms: it was given rows that nobody
centred (see ``minmax``). Controls are random rows and random columns. A public file of the rows that were found, known
only later, confirms them from outside (``public_file``).
"""

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices

from ..data import entry, load, whole_moments
from ..data.moments_store import moments_of
from . import rathore2025_lsac_pools as pools
from .rathore2025_lsac_search import LARGEST, equal, frame, minmax, pca, printed, row, searched
from .rathore2025_protocol import HALF_DIGIT, PRINTED

FOUND = "lsac_bw"
#: The public file with the rows of the table that was found.
PUBLIC_FILE = "lsac_arff"


def tasks() -> list[dict]:
    """One unit of work for each file that is searched, and one for the table that was found."""
    return [{"dataset": name} for name in (*pools.FILES, FOUND)]


def run_task(dataset: str) -> pd.DataFrame:
    """The search in one file from its data points, or what the table that was found explains."""
    if dataset == FOUND:
        return explained(moments_of(load(FOUND)))
    if dataset not in pools.FILES:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join((*pools.FILES, FOUND))}.")
    return searched(dataset)


def run(table: int) -> pd.DataFrame:
    """What the table that was found explains, from its shipped moments; the search itself needs the raw files."""
    if table != 4:
        raise ConfigurationError(f"table={table}; this experiment is about Table 4.")
    return explained(whole_moments(FOUND))


def explained(moments: GroupMoments) -> pd.DataFrame:
    """The two columns that the table gives, other codings of it, and whether eigenvectors give a third column."""
    found = []
    for method, values in (("StandardPCA", pca(moments)), ("FairPCA_SDP_LP", minmax(moments))):
        for k, numbers in enumerate(values, 1):
            found += [row(FOUND, method, k, 0, name, value) for name, value in zip(PRINTED, numbers, strict=True)]
        found.append(row(FOUND, method, None, 0, "numbers equal", equal(values, method)))
    for said, other in codings(moments):
        confirmed = minmax(other)
        found.append(row(FOUND, said, None, 0, "min-max numbers equal", equal(confirmed, "FairPCA_SDP_LP")))
        found.append(row(FOUND, said, None, 0, "PCA numbers equal", equal(pca(other), "StandardPCA")))
    return frame(found + [one for said, S in sources(moments) for one in eigenvector_sets(moments, said, S)])


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


def eigenvector_sets(moments: GroupMoments, said: str, source: np.ndarray) -> list[tuple]:
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
        found.append(row(FOUND, said, k, 0, "sets that agree", agree))
        found += [
            row(FOUND, said, k, 0, f"nearest {name}", v) for name, v in zip(PRINTED, values[nearest], strict=True)
        ]
        found.append(row(FOUND, said, k, 0, "nearest deviation", away.min(axis=0), f"eigenvectors {names}"))
    return found


# -- reading ------------------------------------------------------------------------------------------------------


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """How many of the 33 printed numbers of a method the table gives."""
    seen = rows[(rows["metric"] == "numbers equal") & (rows["dataset"] == FOUND)].drop_duplicates("method")
    numbers = {"printed": 3 * LARGEST, "equal": seen["value"].astype(int).to_numpy()}
    return pd.DataFrame({"method": seen["method"].to_numpy(), **numbers})


def searches(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each file: what was tried, the best of it, and what chance gives."""
    rows = rows[rows["protocol"] == "search"]
    lines = []
    for name in pools.FILES:
        own = rows[rows["dataset"] == name]
        if own.empty:
            continue
        counts = own[(own["method"] == "") & (own["k"].isna())].set_index("metric")["value"]
        first = own[own["split"] == 1].set_index("metric")["value"]
        chance = own[own["metric"] == "most numbers equal"].set_index("method")["value"]
        line = {"file": name} | {metric: int(value) for metric, value in counts.items()}
        line |= {f"best: {metric}": int(first[metric]) for metric in ("PCA numbers equal", "min-max numbers equal")}
        lines.append(line | {f"most by {what}": int(value) for what, value in chance.items()})
    return pd.DataFrame(lines)


def nearest(rows: pd.DataFrame, number: int = 3) -> pd.DataFrame:
    """The best choices of columns and rows of each file, best first."""
    rows = rows[(rows["protocol"] == "search") & rows["split"].between(1, number)]
    keys = ["dataset", "split", "method"]
    wide = rows.pivot(index=keys, columns="metric", values="value").reset_index()
    parts = wide["method"].str.partition(" | ") if len(wide) else pd.DataFrame({0: [], 2: []})
    wide = wide.assign(columns=parts[0], **{"rows kept": parts[2]})
    order = wide["dataset"].map({name: place for place, name in enumerate(pools.FILES)})
    wide = wide.assign(order=order).sort_values(["order", "split"], ignore_index=True)
    whole = ["rows", "PCA numbers equal", "min-max numbers equal"]
    names = ["dataset", "split", "columns", "rows kept", *whole, "PCA deviation", "min-max deviation"]
    wide = wide.rename_axis(columns=None).reindex(columns=names).astype(dict.fromkeys(whole, int))
    return wide.rename(columns={"dataset": "file", "split": "place"})


def public_file() -> pd.DataFrame:
    """The table that was found and the public file of the same rows, by shipped moments, and two controls.

    The last column is the largest difference of a group's mean or covariance from that of the table that was found.
    """
    found, lines = _by_group(whole_moments(FOUND)), []
    for name in (FOUND, PUBLIC_FILE, "lsac_clean", "lsac_bar"):
        own = whole_moments(name)
        away = max(abs(ours - theirs).max(axis=None) for ours, theirs in zip(_by_group(own), found, strict=True))
        lines.append(
            {
                "table": entry(name).title,
                "rows": int(own.n),
                "PCA numbers equal": int(equal(pca(own), "StandardPCA")),
                "min-max numbers equal": int(equal(minmax(own), "FairPCA_SDP_LP")),
                "difference of moments": f"{away:.1g}",
            }
        )
    return pd.DataFrame(lines)


def _by_group(moments: GroupMoments) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of the groups."""
    return moments.means, moments.scatters / moments.counts[:, None, None]


def coded(rows: pd.DataFrame) -> pd.DataFrame:
    """What other codes of the columns with two values leave of the 33 numbers of the min-max method."""
    seen = rows[rows["method"].str.contains(" coded ") & (rows["metric"] == "min-max numbers equal")]
    seen = seen.drop_duplicates("method")
    return pd.DataFrame({"coding": seen["method"].to_numpy(), "min-max numbers equal": seen["value"].astype(int)})


def eigenvectors(rows: pd.DataFrame) -> pd.DataFrame:
    """For each matrix: for how many r a set of its eigenvectors gives JevdPCA, and how near the nearest sets come."""
    rows = rows[rows["method"].str.startswith("eigenvectors of ")].drop_duplicates(["method", "k", "metric"])
    wide = rows.pivot(index=["method", "k"], columns="metric", values="value").reset_index()
    wide["agrees"] = wide["sets that agree"] > 0
    found = wide.groupby("method", sort=False).agg(
        **{"r with a set that agrees": ("agrees", "sum"), "sum of the deviations": ("nearest deviation", "sum")}
    )
    return found.sort_values("sum of the deviations").reset_index().rename(columns={"method": "sets of"})


claims = {}
