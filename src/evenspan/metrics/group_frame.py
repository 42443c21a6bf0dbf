"""GroupFrame: metrics of a representation by group, as fairlearn's MetricFrame has them of predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError
from ..core.groups import label_text, positions
from ..core.moments import GroupMoments
from .bootstrap import BLOCK, block_sums, generator, multiplicities, quantiles, resampled
from .group_input import (
    column_layout,
    input_moments,
    merged_cells,
    named_answers,
    named_metrics,
    regrouped,
    resampling_options,
)
from .linear_map import GROUP_METRICS, one_group

DEFAULT = ("error", "loss", "explained variance", "mean distance")
#: Named metrics that are functions of sums over blocks, so that a sample needs no moments.
SUMMED = ("error", "mean distance", "count")

Compare = Literal["between_groups", "to_overall"]


class GroupFrame:
    r"""Metrics of one or several fitted representations, for every group and for all rows.

    What fairlearn's ``MetricFrame`` is for predictions, without a target: names and meanings of the members are the
    same, the differences are listed under Notes. Everything is computed from group moments, so that rows are needed
    once at most. The named metrics, with c the point that the map subtracts and k its components:

    - ``"error"``: mean squared distance between a row and its reconstruction,
      :math:`e_g = \frac1{n_g} \sum_{i \in g} \lVert x_i - \hat x_i \rVert^2`;
    - ``"loss"``: the error less the smallest that k directions through c could have for the group on the same rows;
    - ``"relative error"``: the error over the mean squared distance of the group's rows from c;
    - ``"explained variance"``: share kept of the group's variance about its own mean;
    - ``"mean distance"``: length of the mean of the group's coordinates, its distance from c in the representation;
    - ``"count"``: rows, or the sum of their weights.

    Parameters
    ----------
    estimator : fitted linear estimator, FairSubspace, or dict of them
        What is judged; a dict judges several side by side, under its keys.
    X : array-like, DataFrame or sparse matrix of shape (n, d), optional
        Rows to judge on. Either these or ``moments``.
    moments : GroupMoments, optional
        Moments of the rows to judge on. For intervals they have the attribute "block", made by ``assign_blocks``.
    sensitive_features : array-like, Series, DataFrame, dict of arrays; or str, list of str
        With X: the groups of the rows; each combination of several columns that occurs is a group. With moments: which
        of their attributes make the groups, all that are not used otherwise unless given.
    control_features : like sensitive_features, optional
        Groups are compared within each combination of these, never across.
    sample_weight : array-like of shape (n,), optional
        Frequency weights, with X only.
    metrics : str, callable, sequence or dict of them
        Names from above, or functions ``metric(moments of one group, subspace) -> float``; all rows together are given
        to them as one group as well. For LEACE, which does not project, ``subspace`` is a map with ``V``, ``B`` and
        ``mean``.
    n_boot : int, optional
        Samples drawn for intervals; goes with ``ci_quantiles``.
    ci_quantiles : sequence of float, optional
        Quantiles of the samples to return, each between 0 and 1: ``[0.025, 0.975]`` for intervals of 95 per cent.
    n_blocks : int, optional
        Blocks that the rows of X are dealt to. Unless given 100, or as many as there are rows, or fewer, down to 20,
        where moments in so many blocks would take more than 256 MB.
    random_state : None, int or Generator
        Seed of the blocks and the samples.

    Guarantees
    ----------
    ``by_group["error"]`` is ``metrics.group_errors`` of the same moments. Intervals are percentiles over samples of
    blocks of rows (``metrics.bootstrap``): they say how the numbers vary with the rows judged on, for the map as it was
    fitted, and nothing about another fit.

    Complexity
    ----------
    Moments of n rows: O(n d^2). A sample of m blocks: O(m G k) for "error", "mean distance" and "count", and O(m G d^2)
    plus the metrics for others; "loss" solves an eigenvalue problem for each group in each sample.

    Notes
    -----
    Different from ``MetricFrame`` of fairlearn 0.15: there is no target; metrics see moments and return one number,
    so there is no ``errors`` argument; combinations of attributes that do not occur have no row instead of nan; an
    attribute without a name is called ``group``, as elsewhere here; a group that is absent from more than one sample in
    twenty is an error, not a quantile of the rest; blocks of rows are drawn instead of rows. A difference between
    groups is never negative, so its interval does not contain 0 even where the groups do not differ.

    References
    ----------
    H. Weerts et al. (2023), Fairlearn: Assessing and improving fairness of AI systems.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    >>> frame = GroupFrame(estimator=StandardPCA(2).fit(X), X=X, sensitive_features=sex, metrics="error")
    >>> frame.by_group.round(1)
    group
    f    1.8
    m    6.0
    Name: error, dtype: float64
    >>> round(frame.difference(), 1), round(frame.ratio(), 2)
    (4.3, 0.29)
    """

    def __init__(
        self,
        *,
        estimator,
        X=None,
        moments=None,
        sensitive_features=None,
        control_features=None,
        sample_weight=None,
        metrics=DEFAULT,
        n_boot=None,
        ci_quantiles=None,
        n_blocks=None,
        random_state=None,
    ):
        self._n_boot, self._ci_quantiles = resampling_options(n_boot, ci_quantiles)
        self._answers, self._metrics = named_answers(estimator), named_metrics(metrics)
        self._layout = column_layout(estimator, metrics)
        rng = generator(random_state)
        blocked, self._control, self._sensitive = input_moments(
            X, moments, sensitive_features, control_features, sample_weight,
            fitted=estimator, blocks=None if self._n_boot is None else (n_blocks, rng),
        )  # fmt: skip
        cells = regrouped(blocked, (*self._control, *self._sensitive))
        self._groups = Groups.of(cells, self._control)
        columns = [
            Column(name, metric, answer) for answer in self._answers.values() for name, metric in self._metrics.items()
        ]
        self._by_group, self._overall = values(cells, self._groups, columns)
        self._by_group_ci = []
        if self._n_boot is not None:
            self._samples = sampled(blocked, self._groups, columns, self._n_boot, rng)
            # At once: a group in too few blocks is told here, not when the intervals are asked for.
            self._by_group_ci = quantiles(self._samples[0], self._ci_quantiles, self._groups.labels)

    # -- values ---------------------------------------------------------------------------------------------------

    @property
    def by_group(self) -> pd.DataFrame | pd.Series:
        """Metrics of every group: a Series for a single name or function, else a DataFrame with a column for each."""
        return self._rows(self._by_group)

    @property
    def overall(self) -> pd.DataFrame | pd.Series | float:
        """Metrics of all rows together, for each combination of control features if there are any."""
        return self._levels(self._overall)

    def group_min(self):
        """Smallest value over the groups.

        Returns
        -------
        float, Series or DataFrame
            As ``overall``.
        """
        return self._levels(self._groups.smallest(self._by_group))

    def group_max(self):
        """Largest value over the groups.

        Returns
        -------
        float, Series or DataFrame
            As ``overall``.
        """
        return self._levels(self._groups.largest(self._by_group))

    def difference(self, method: Compare = "between_groups"):
        """Largest absolute difference.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            Between two groups, or between a group and all rows.

        Returns
        -------
        float, Series or DataFrame
            As ``overall``.
        """
        return self._levels(self._groups.difference(self._by_group, self._overall, _compare(method)))

    def ratio(self, method: Compare = "between_groups"):
        """Smallest ratio.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            Of the smallest to the largest group; or of a group to all rows or the reverse, whichever is below 1.

        Returns
        -------
        float, Series or DataFrame
            As ``overall``.
        """
        return self._levels(self._groups.ratio(self._by_group, self._overall, _compare(method)))

    # -- intervals ------------------------------------------------------------------------------------------------

    @property
    def by_group_ci(self) -> list:
        """Quantiles of ``by_group``, in the order of ``ci_quantiles``."""
        self._drawn()
        return [self._rows(values) for values in self._by_group_ci]

    @property
    def overall_ci(self) -> list:
        """Quantiles of ``overall``, in the order of ``ci_quantiles``."""
        return self._level_quantiles(self._drawn()[1])

    def group_min_ci(self) -> list:
        """Quantiles of ``group_min()``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        return self._level_quantiles(self._groups.smallest(self._drawn()[0]))

    def group_max_ci(self) -> list:
        """Quantiles of ``group_max()``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        return self._level_quantiles(self._groups.largest(self._drawn()[0]))

    def difference_ci(self, method: Compare = "between_groups") -> list:
        """Quantiles of ``difference(method)``.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            As in ``difference``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        return self._level_quantiles(self._groups.difference(*self._drawn(), _compare(method)))

    def ratio_ci(self, method: Compare = "between_groups") -> list:
        """Quantiles of ``ratio(method)``.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            As in ``ratio``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        return self._level_quantiles(self._groups.ratio(*self._drawn(), _compare(method)))

    # -- how it was made, and arrays to frames --------------------------------------------------------------------

    @property
    def sensitive_levels(self) -> list[str]:
        """Names of the sensitive features, as in the index of ``by_group``."""
        return list(self._sensitive)

    @property
    def control_levels(self) -> list[str] | None:
        """Names of the control features, as in the index of ``by_group``; None without any."""
        return list(self._control) or None

    @property
    def n_boot(self) -> int | None:
        """Number of samples drawn."""
        return self._n_boot

    @property
    def ci_quantiles(self) -> list[float] | None:
        """Quantiles asked for."""
        return None if self._ci_quantiles is None else list(self._ci_quantiles)

    def tidy(self) -> pd.DataFrame:
        """One row for each estimator, metric and group.

        Returns
        -------
        DataFrame
            Columns ``estimator``, ``metric``, one for each feature, ``value`` and ``q0.025`` or the like for each
            quantile. The estimator is "" where one was given by itself.
        """
        parts = []
        for j, (answer, metric) in enumerate((str(a), m) for a in self._answers for m in self._metrics):
            part = self._index(self._groups.labels).to_frame(index=False)
            part.insert(0, "metric", metric)
            part.insert(0, "estimator", answer)
            part["value"] = self._by_group[:, j]
            for q, quantile in zip(self._ci_quantiles or (), self._by_group_ci, strict=True):
                part[f"q{q:g}"] = quantile[:, j]
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Values for every group and for all rows in every sample."""
        if self._n_boot is None:
            raise ConfigurationError(
                "no samples were drawn, so there are no intervals. Pass n_boot and ci_quantiles, for instance "
                "n_boot=1000, ci_quantiles=[0.025, 0.975]."
            )
        return self._samples

    def _level_quantiles(self, samples: np.ndarray) -> list:
        labels = self._groups.levels if self._control else ["all rows"]
        return [self._levels(values) for values in quantiles(samples, self._ci_quantiles, labels)]

    def _index(self, labels: np.ndarray) -> pd.Index:
        return label_index(labels, (self._control or self._sensitive)[0])

    def _rows(self, values: np.ndarray) -> pd.DataFrame | pd.Series:
        frame = pd.DataFrame(values, index=self._index(self._groups.labels), columns=self._layout)
        return frame.iloc[:, 0] if self._layout.name == "single" else frame

    def _levels(self, values: np.ndarray) -> pd.DataFrame | pd.Series | float:
        if self._control:
            frame = pd.DataFrame(values, index=self._index(self._groups.levels), columns=self._layout)
            return frame.iloc[:, 0] if self._layout.name == "single" else frame
        return float(values[0, 0]) if self._layout.name == "single" else pd.Series(values[0], index=self._layout)


def _compare(method: str) -> str:
    if method not in ("between_groups", "to_overall"):
        raise ConfigurationError(f"method={method!r}; needed is 'between_groups' or 'to_overall'.")
    return method


def label_index(labels: np.ndarray, name: str) -> pd.Index:
    """Labels of groups as the index of a frame: one level for each of several attributes."""
    if labels.dtype.names:
        return pd.MultiIndex.from_tuples(labels.tolist(), names=labels.dtype.names)
    return pd.Index(labels.tolist(), name=name)


# -- values as plain arrays: rows are the groups (R), levels the values of the control features (L), then columns (c) --


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

    @classmethod
    def of(cls, moments: GroupMoments, control: tuple[str, ...]) -> "Groups":
        """How the groups of these moments fall into levels of the control features."""
        labels = moments.labels
        if not control:
            return cls(labels, np.zeros(len(labels), dtype=np.intp), None)
        fields = labels[list(control)] if len(control) > 1 else labels[control[0]]
        if len(control) > 1:  # packed, so that the levels can be compared
            fields = np.array(fields.tolist(), dtype=[(name, labels.dtype[name]) for name in control])
        levels, level = np.unique(fields, return_inverse=True)
        return cls(labels, level, levels)

    @property
    def L(self) -> int:
        """Number of levels."""
        return 1 if self.levels is None else len(self.levels)

    def smallest(self, by_group: np.ndarray) -> np.ndarray:
        """Smallest value (..., L, c) over the groups of every level; groups without value are left out."""
        return self._reduced(np.fmin, by_group)

    def largest(self, by_group: np.ndarray) -> np.ndarray:
        """Largest value (..., L, c) over the groups of every level; groups without value are left out."""
        return self._reduced(np.fmax, by_group)

    def difference(self, by_group: np.ndarray, overall: np.ndarray, method: Compare) -> np.ndarray:
        """Largest absolute difference (..., L, c) between two groups, or of a group from the whole."""
        if method == "between_groups":
            return self.largest(by_group) - self.smallest(by_group)
        return self.largest(np.abs(by_group - overall[..., self.level, :]))

    def ratio(self, by_group: np.ndarray, overall: np.ndarray, method: Compare) -> np.ndarray:
        """Smallest ratio (..., L, c) between two groups, or between a group and the whole, the one that is below 1."""
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is nan and x / 0 infinite, as for fairlearn
            if method == "between_groups":
                return self.smallest(by_group) / self.largest(by_group)
            quotient = by_group / overall[..., self.level, :]
            return self.smallest(np.where(quotient > 1.0, 1.0 / quotient, quotient))

    def _reduced(self, pick: np.ufunc, by_group: np.ndarray) -> np.ndarray:
        parts = [pick.reduce(by_group[..., self.level == level, :], axis=-2) for level in range(self.L)]
        return np.stack(parts, axis=-2)


def values(moments: GroupMoments, groups: Groups, columns: list[Column]) -> tuple[np.ndarray, np.ndarray]:
    """Every column for every group (R, c) and for all rows of every level (L, c); nan for groups without rows."""
    row = positions(moments.labels, groups.labels)
    by_group = np.full((len(groups.labels), len(columns)), np.nan)
    overall = np.full((groups.L, len(columns)), np.nan)
    present, at = np.unique(groups.level[row], return_inverse=True)
    pooled = merged_cells(moments, at, present)
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
        if id(answer) not in sums:
            sums[id(answer)] = block_sums(moments, answer)
        by_group[:, :, j], overall[:, :, j] = _from_sums(columns[j].metric, sums[id(answer)], groups, draws)
    slow = [j for j in range(len(columns)) if j not in quick]
    if slow:
        for b, sample in enumerate(resampled(moments, draws)):
            by_group[b][:, slow], overall[b][:, slow] = values(sample, groups, [columns[j] for j in slow])
    return by_group, overall


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
