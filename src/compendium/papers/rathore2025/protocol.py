"""The protocol shared by the experiments on Rathore and Manwani (2025): data sets, group matrices, evaluation.

As the printed StandardPCA says: raw values, centred, not scaled, all rows for both, the sensitive column a feature.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import errors, group_matrices, losses

from ...data import group_moments
from ...records import paper_table
from .algorithm_1 import orthonormal_columns
from .methods import order_columns

#: The printed columns, and the printed metrics.
PUBLISHED = ("covFairPCA", "FairPCA_SDP_LP", "JevdPCA", "StandardPCA")
PRINTED = ("R.E.", "V.E.", "MMD^2")
#: What is evaluated on all rows, which are also those fitted on: the paper does not say, so its `split` is blank.
RELEASED = "released"
#: Half a unit of the last printed digit, as the rule "exact" has it, with room for rounding of binary sums.
HALF_DIGIT = 0.005 + 1e-9


@dataclass(frozen=True)
class Table:
    """One data set of the paper: its printed name and table, how far r runs, and the columns that tell sex."""

    title: str
    stem: str
    largest: int
    sensitive: tuple[str, ...]
    women: str


TABLES: Mapping[str, Table] = {
    "diabetes": Table("Diabetes", "rathore2025_table2_diabetes", 19, ("Sex",), "0"),
    "obesity": Table("Obesity", "rathore2025_table3_obesity", 14, ("Gender_Female", "Gender_Male"), "Female"),
    "lsac_bw": Table("LSAC", "rathore2025_table4_lsac", 11, ("male",), "0"),
    "npha": Table("NPHA", "rathore2025_table5_npha", 10, ("Gender",), "2"),
}
#: Data sets whose rows and features the paper states, and the public file of a data set, where it is another table.
COUNTED, PUBLIC_FILES = ("lsac_bw", "npha", "obesity"), {"lsac_bw": "lsac"}
#: The printed name of a data set -> ours.
NAMES = {table.title: name for name, table in TABLES.items()}


def printed(dataset: str) -> pd.DataFrame:
    """The printed numbers of a data set: one line for each k, columns ``(method, metric)``; none of another one."""
    if dataset not in TABLES:
        return pd.DataFrame(columns=pd.MultiIndex.from_product([PUBLISHED, PRINTED])).rename_axis("k")
    frame = paper_table(TABLES[dataset].stem)
    return frame.pivot(index="k", columns=["method", "metric"], values="value")


def moments(dataset: str, groups: str = "") -> GroupMoments:
    """The moments of all rows of a table: women first; of another one, or one's own, in the order of its labels."""
    found = group_moments(dataset, groups)
    if len(found.labels) != 2:
        labels = ", ".join(map(str, found.labels))
        raise ConfigurationError(f"{dataset} has the groups {labels}; needed are two. Take another data set or column.")
    if dataset not in TABLES:
        return found
    first = [str(label) for label in found.labels].index(TABLES[dataset].women)
    parts = (of_group[[first, 1 - first]] for of_group in (found.counts, found.means, found.scatters))
    return GroupMoments(np.array([0, 1]), *parts, found.feature_names)


def counts(dataset: str, found: GroupMoments) -> dict[str, int]:
    """Rows and columns of the public file of a table; one-hot columns are called column_level and count as one."""
    counted = group_moments(PUBLIC_FILES[dataset]) if dataset in PUBLIC_FILES else found
    return {"rows": int(counted.n), "columns": len({name.partition("_")[0] for name in counted.feature_names})}


def ranks(dataset: str, found: GroupMoments, max_k: int = 0) -> range:
    """The numbers of components of a table: up to ``max_k``, or as many as are printed or ten, if so many can be."""
    most = max_k or min(TABLES[dataset].largest if dataset in TABLES else 10, found.d - 1)
    if not 1 <= most < found.d:
        raise ConfigurationError(f"max_k={max_k}; {dataset} has {found.d} features, so that 1 to {found.d - 1} can be.")
    return range(1, most + 1)


def without_sex(dataset: str, moments: GroupMoments) -> GroupMoments:
    """The moments of the features that do not tell the group."""
    sensitive = TABLES[dataset].sensitive if dataset in TABLES else ()
    return moments.select([name for name in moments.feature_names if name not in sensitive])


def uncentred(moments: GroupMoments) -> GroupMoments:
    """What a method sees of rows that nobody centred: second moments about the origin, and a mean of zero."""
    about_zero = moments.scatters + np.einsum("g,gd,ge->gde", moments.counts, moments.means, moments.means)
    nothing = np.zeros_like(moments.means)
    return GroupMoments(moments.labels, moments.counts, nothing, about_zero, moments.feature_names)


def women(moments: GroupMoments) -> GroupMoments:
    """The first group alone, about the mean of all rows."""
    scatter = matrices(moments, "global")[:1] * moments.counts[0]
    return GroupMoments(moments.labels[:1], moments.counts[:1], moments.mean[None], scatter, moments.feature_names)


def matrices(moments: GroupMoments, centring: str) -> np.ndarray:
    """The group matrices about the overall mean ("global"), each group's mean ("group") or the origin ("none")."""
    return group_matrices(moments, "overall" if centring == "global" else centring)


def pooled(moments: GroupMoments, S: np.ndarray) -> np.ndarray:
    """The matrix of all rows: the group matrices weighted by the shares of the groups."""
    return np.tensordot(moments.counts / moments.n, S, axes=1)


def evaluate(moments: GroupMoments, W: np.ndarray) -> dict[str, float]:
    """The three printed metrics of the columns of W, by their definitions: W need not be orthonormal.

    R.E. is the mean of |x - WW'x|^2 over all centred rows, V.E. the variance of W'x over that of x."""
    per_group = metrics.operator_errors(moments, W @ W.T, mean=moments.mean, centring="fitted")
    seen = moments.project(W)
    return {
        "R.E.": float(moments.counts @ per_group / moments.n),
        "V.E.": float(np.trace(seen.scatter) / np.trace(moments.scatter)),
        "MMD^2": metrics.mean_gap(moments, W) ** 2,
    }


def fairness(moments: GroupMoments, V: np.ndarray) -> dict[str, float]:
    """What the paper defines fairness by and does not report: error and loss of each group about the overall mean."""
    S = matrices(moments, "global")
    found = {}
    for name, values in (("error", errors(S, V)), ("loss", losses(S, V))):
        found |= {f"{name} of {who}": float(value) for who, value in zip(("women", "men"), values, strict=True)}
        found |= {f"worst {name}": float(values.max(axis=0)), f"{name} gap": float(np.ptp(values, axis=0))}
    return found


#: A method that was fitted once gives its columns (d, k) for every k, or the reason why there are none.
Columns = Callable[[int], np.ndarray]


def leading(H: np.ndarray) -> Columns:
    """The leading eigenvectors of a symmetric matrix."""
    _, V = top_eigenspace(H, len(H))
    return lambda k: V[:, :k]


def orthonormal(U: np.ndarray, S: np.ndarray, shares: np.ndarray, k: int, order: str = "pooled") -> np.ndarray:
    """The first k columns in the given order, of unit length, made orthonormal."""
    return orthonormal_columns(U[:, order_columns(U, S, shares, k, order)])


#: Sets of eigenvectors are enumerated up to this many features: 2^21 sets.
LARGEST_D = 21


def subset_sums(values, dtype=np.float64) -> np.ndarray:
    """The sum of every subset, shape (2^m,): bit j of its number says whether value j is in it."""
    found = np.zeros(2 ** len(values), dtype)
    for j, value in enumerate(np.asarray(values, dtype)):
        np.add(found[: 2**j], value, out=found[2**j : 2 ** (j + 1)])
    return found


def all_sets(moments: GroupMoments, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (2^d,) and metrics (3, 2^d) of all sets of columns of the orthonormal V, numbered by their bits."""
    S = moments.scatter / moments.n
    kept = subset_sums(np.einsum("di,de,ei->i", V, S, V))
    gaps = subset_sums(((moments.means[0] - moments.means[1]) @ V) ** 2)
    total = np.trace(S)
    return subset_sums(np.ones(V.shape[1]), dtype=np.int8), np.stack([total - kept, kept / total, gaps])


def matching_sets(dataset: str, moments: GroupMoments, V: np.ndarray, column: str) -> list[int]:
    """For every printed row, how many sets of r columns of V give all three of its numbers to the printed digits."""
    theirs, every = printed(dataset)[column], all_sets(moments, V)
    return [len(_equal(every, k, theirs.loc[k])) for k in theirs.index]


def explaining_sets(moments: GroupMoments, V: np.ndarray, k: int, row: Mapping[str, float]) -> list[tuple[int, ...]]:
    """The sets of k columns of the orthonormal V that give the printed R.E., V.E. and MMD^2 of a row."""
    found = _equal(all_sets(moments, V), k, row).tolist()
    return sorted(tuple(j for j in range(V.shape[1]) if number >> j & 1) for number in found)


def _equal(every: tuple[np.ndarray, np.ndarray], k: int, row: Mapping[str, float]) -> np.ndarray:
    """Numbers of the sets of size k with the metrics of a row."""
    sizes, values = every
    found = np.flatnonzero(sizes == k)
    for metric, of_sets in zip(PRINTED, values, strict=True):
        found = found[np.abs(of_sets[found] - row[metric]) <= HALF_DIGIT]
    return found
