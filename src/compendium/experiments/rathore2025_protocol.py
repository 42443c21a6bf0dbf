"""The protocol shared by the experiments on Rathore and Manwani (2025): data sets, group matrices and the judge.

The paper states neither preprocessing nor split. Its StandardPCA column says what they were: raw values, centred, not
scaled, all rows for fitting and judging, and the sensitive column among the features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import errors, group_matrices, losses

from .. import paths
from ..data import load, whole_moments
from ..data.moments_store import moments_of

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]
#: The printed columns, and the printed metrics.
PUBLISHED = ("covFairPCA", "FairPCA_SDP_LP", "JevdPCA", "StandardPCA")
PRINTED = ("R.E.", "V.E.", "MMD^2")
#: What is judged on all rows, which are also those fitted on: the paper does not say, so its `split` is blank.
RELEASED = "released"
#: Half a unit of the last printed digit, as the rule "exact" has it, with room for rounding of binary sums.
HALF_DIGIT = 0.005 + 1e-9
CENTRINGS = {"global": "fitted", "group": "group", "none": "none"}


@dataclass(frozen=True)
class Table:
    """One data set of the paper: its printed name and table, how far r runs, and the columns that tell sex."""

    title: str
    stem: str
    largest: int
    sensitive: tuple[str, ...]
    women: str


#: Our name of a data set -> what the paper prints of it.
TABLES: Mapping[str, Table] = {
    "diabetes": Table("Diabetes", "rathore2025_table2_diabetes", 19, ("Sex",), "0"),
    "obesity": Table("Obesity", "rathore2025_table3_obesity", 14, ("Gender_Female", "Gender_Male"), "Female"),
    "lsac_bw": Table("LSAC", "rathore2025_table4_lsac", 11, ("male",), "0"),
    "npha": Table("NPHA", "rathore2025_table5_npha", 10, ("Gender",), "2"),
}


def table(dataset: str) -> Table:
    """What the paper prints of a data set."""
    if dataset not in TABLES:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(TABLES)}.")
    return TABLES[dataset]


def printed(dataset: str) -> pd.DataFrame:
    """The printed numbers of a data set: one line for each k, columns ``(method, metric)``."""
    frame = pd.read_csv(paths.data("paper", f"{table(dataset).stem}.csv"))
    return frame.pivot(index="k", columns=["method", "metric"], values="value")


def from_points(dataset: str) -> GroupMoments:
    """The moments of a table from its raw data, women first."""
    table(dataset)
    return women_first(dataset, moments_of(load(dataset)))


def from_shipped(dataset: str) -> GroupMoments:
    """The same from shipped moments."""
    table(dataset)
    return women_first(dataset, whole_moments(dataset))


def women_first(dataset: str, moments: GroupMoments) -> GroupMoments:
    """The same moments with the women as group 0 and the men as group 1, whatever the labels of the data set."""
    labels = [str(label) for label in moments.labels]
    if table(dataset).women not in labels:
        raise ConfigurationError(f"{dataset} has the groups {labels}; needed is {table(dataset).women!r} for women.")
    first = labels.index(table(dataset).women)
    order = [first, 1 - first]
    parts = (moments.counts[order], moments.means[order], moments.scatters[order])
    return GroupMoments(np.array([0, 1]), *parts, moments.feature_names)


def without_sex(dataset: str, moments: GroupMoments) -> GroupMoments:
    """The moments of the features that do not tell the group."""
    kept = [name for name in moments.feature_names if name not in table(dataset).sensitive]
    return moments.select(kept)


def matrices(moments: GroupMoments, centring: str) -> np.ndarray:
    """The group matrices about the overall mean ("global"), each group's mean ("group") or the origin ("none")."""
    if centring not in CENTRINGS:
        raise ConfigurationError(f"centring={centring!r}; needed is one of {', '.join(CENTRINGS)}.")
    return group_matrices(moments, CENTRINGS[centring])


def pooled(moments: GroupMoments, S: np.ndarray) -> np.ndarray:
    """The matrix of all rows: the group matrices weighted by the shares of the groups."""
    return np.tensordot(moments.counts / moments.n, S, axes=1)


def judged(moments: GroupMoments, W: np.ndarray) -> dict[str, float]:
    """The three printed metrics of the columns of W, by their definitions: W need not be orthonormal.

    R.E. is the mean of |x - WW'x|^2 over all centred rows, V.E. the variance of W'x over that of x, MMD^2 the squared
    distance of the two groups' means of W'x.
    """
    per_group = metrics.operator_errors(moments, W @ W.T, mean=moments.mean, centring="fitted")
    seen = moments.project(W)
    return {
        "R.E.": float(moments.counts @ per_group / moments.n),
        "V.E.": float(np.trace(seen.scatter) / np.trace(moments.scatter)),
        "MMD^2": metrics.mean_gap(moments, W) ** 2,
    }


def fairness(dataset: str, moments: GroupMoments, V: np.ndarray) -> dict[str, float]:
    """What the paper defines fairness by and does not report: error and loss of each group about the overall mean."""
    S = matrices(moments, "global")
    found = {}
    for name, values in (("error", errors(S, V)), ("loss", losses(S, V))):
        found |= {f"{name} of {who}": float(value) for who, value in zip(("women", "men"), values, strict=True)}
        found |= {f"worst {name}": float(values.max(axis=0)), f"{name} gap": float(np.ptp(values, axis=0))}
    return found


def rows(dataset: str, method: str, k: int, values: Mapping[str, float], reason: str = "") -> list[tuple]:
    """Tidy rows of one answer."""
    return [(dataset, method, k, 0, RELEASED, name, value, reason) for name, value in values.items()]


def missing(dataset: str, method: str, k: int, names: Sequence[str], reason: str) -> list[tuple]:
    """Tidy rows that say why there is no answer."""
    return [(dataset, method, k, 0, RELEASED, name, np.nan, reason) for name in names]


def frame(found: Sequence[tuple]) -> pd.DataFrame:
    """Tidy rows as a data frame."""
    return pd.DataFrame(found, columns=COLUMNS)
