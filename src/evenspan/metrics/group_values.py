"""Values of several metrics for every group, over all rows of a level, and in samples of blocks; as plain arrays.

Rows are the groups (R), levels the values of the control features (L; one without), columns metrics and maps (c).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError
from ..core.groups import label_text, positions
from ..core.moments import GroupMoments
from ..core.running import merge, zeros
from .bootstrap import BLOCK, block_sums, multiplicities
from .group_metrics import GROUP_METRICS, one_group
from .resampling import resampled

#: Named metrics that are functions of sums over blocks, so that a sample needs no moments.
SUMMED = ("error", "mean distance", "count")


@dataclass(frozen=True, eq=False)
class Column:
    """One metric of one map."""

    name: str
    metric: str | Callable
    answer: object


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups as they are shown: labels (R,), the level of each (R,), labels of the levels (L,) or None."""

    labels: np.ndarray
    level: np.ndarray
    levels: np.ndarray | None

    @property
    def L(self) -> int:
        """Number of levels."""
        return 1 if self.levels is None else len(self.levels)


def regrouped(moments: GroupMoments, names: tuple[str, ...]) -> GroupMoments:
    """The moments grouped by some of the attributes; cells that agree in them are merged."""
    if names == moments.attributes or moments.labels.dtype.names is None:  # one attribute keeps no name
        return moments
    if len(names) == 1:
        return moments.marginal(names[0])
    fields = np.empty(moments.G, dtype=[(name, moments.labels.dtype[name]) for name in names])
    for name in names:
        fields[name] = moments.labels[name]
    labels, at = np.unique(fields, return_inverse=True)
    return GroupMoments(labels, *_summed(moments, at, len(labels)), moments.feature_names)


def groups_of(moments: GroupMoments, control: tuple[str, ...]) -> Groups:
    """How the groups of these moments fall into levels of the control features."""
    labels = moments.labels
    if not control:
        return Groups(labels, np.zeros(len(labels), dtype=np.intp), None)
    fields = labels[list(control)] if len(control) > 1 else labels[control[0]]
    if len(control) > 1:  # packed, so that the levels can be compared
        fields = np.array(fields.tolist(), dtype=[(name, labels.dtype[name]) for name in control])
    levels, level = np.unique(fields, return_inverse=True)
    return Groups(labels, level, levels)


def values(moments: GroupMoments, groups: Groups, columns: list[Column]) -> tuple[np.ndarray, np.ndarray]:
    """Every column for every group (R, c) and for all rows of every level (L, c); nan for groups without rows."""
    row = positions(moments.labels, groups.labels)
    by_group = np.full((len(groups.labels), len(columns)), np.nan)
    overall = np.full((groups.L, len(columns)), np.nan)
    present, at = np.unique(groups.level[row], return_inverse=True)
    pooled = GroupMoments(present, *_summed(moments, at, len(present)), moments.feature_names)
    for j, column in enumerate(columns):
        by_group[row, j] = _evaluate(column, moments)
        overall[present, j] = _evaluate(column, pooled)
    return by_group, overall


def sampled(moments: GroupMoments, groups: Groups, columns: list[Column], n_boot: int, random_state):
    """The same in samples of blocks: (n_boot, R, c) and (n_boot, L, c)."""
    m = len(np.unique(moments.labels[BLOCK]))
    draws = multiplicities(m, n_boot, random_state)
    by_group = np.full((n_boot, len(groups.labels), len(columns)), np.nan)
    overall = np.full((n_boot, groups.L, len(columns)), np.nan)
    quick = [j for j, column in enumerate(columns) if column.metric in SUMMED]
    sums = {}
    for j in quick:
        answer = columns[j].answer
        found = sums.setdefault(id(answer), None) or block_sums(moments, answer)
        sums[id(answer)] = found
        by_group[:, :, j], overall[:, :, j] = _from_sums(columns[j].metric, found, groups, draws)
    slow = [j for j in range(len(columns)) if j not in quick]
    if slow:
        for b, sample in enumerate(resampled(moments, draws)):
            by_group[b][:, slow], overall[b][:, slow] = values(sample, groups, [columns[j] for j in slow])
    return by_group, overall


def extremes(by_group: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value over the groups of every level, (..., L, c); groups without value are left out."""
    parts = [by_group[..., groups.level == level, :] for level in range(groups.L)]
    low, high = ([pick.reduce(part, axis=-2) for part in parts] for pick in (np.fmin, np.fmax))
    return np.stack(low, axis=-2), np.stack(high, axis=-2)


def difference(by_group: np.ndarray, overall: np.ndarray, groups: Groups, method: str) -> np.ndarray:
    """Largest absolute difference (..., L, c) between two groups, or of a group from the whole."""
    if method == "between_groups":
        low, high = extremes(by_group, groups)
        return high - low
    return extremes(np.abs(by_group - overall[..., groups.level, :]), groups)[1]


def ratio(by_group: np.ndarray, overall: np.ndarray, groups: Groups, method: str) -> np.ndarray:
    """Smallest ratio (..., L, c) between two groups, or between a group and the whole, the one that is below 1."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is nan and x / 0 infinite, as for fairlearn
        if method == "between_groups":
            low, high = extremes(by_group, groups)
            return low / high
        quotient = by_group / overall[..., groups.level, :]
        return extremes(np.where(quotient > 1.0, 1.0 / quotient, quotient), groups)[0]


def _evaluate(column: Column, moments: GroupMoments) -> np.ndarray:
    if isinstance(column.metric, str):
        return GROUP_METRICS[column.metric](moments, column.answer)
    found = []
    for g in range(moments.G):
        value = column.metric(one_group(moments, g), column.answer)
        if np.ndim(value) != 0 or not np.issubdtype(np.asarray(value).dtype, np.number):
            raise DataError(
                f"metric {column.name!r} returned a {type(value).__name__} of shape {np.shape(value)} for group "
                f"{label_text(moments.labels[g])!r}; needed is one number for each group."
            )
        found.append(float(value))
    return np.array(found)


def _from_sums(metric: str, sums, groups: Groups, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    member = (groups.level[:, None] == np.arange(groups.L)).astype(np.float64)  # (R, L)
    if metric == "count":
        counts = (draws @ sums.counts).astype(np.float64)
        return np.where(counts > 0, counts, np.nan), counts @ member
    whole = sums.merged(np.arange(groups.L), member)
    if metric == "error":
        return sums.group_errors(draws), whole.group_errors(draws)
    return np.linalg.norm(sums.group_means(draws), axis=2), np.linalg.norm(whole.group_means(draws), axis=2)


def _summed(moments: GroupMoments, at: np.ndarray, G: int) -> tuple:
    total = zeros(G, moments.d)
    merge(total, at, (moments.counts, moments.means, moments.scatters))
    return total
