"""Reading a GroupFrame: by group, overall, extremes, differences, ratios, and their intervals, as frames."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError
from . import group_values
from .bootstrap import quantiles
from .group_values import Groups

Compare = Literal["between_groups", "to_overall"]


class GroupResults:
    """Values for every group and for all rows, with samples of both; ``GroupFrame`` computes them."""

    _answers: Mapping[str, object]
    _metrics: Mapping[str, str | Callable]
    _layout: pd.Index
    _groups: Groups
    _control: tuple[str, ...]
    _sensitive: tuple[str, ...]
    _by_group: np.ndarray
    _overall: np.ndarray
    _n_boot: int | None
    _ci_quantiles: tuple[float, ...] | None

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
        return self._levels(group_values.extremes(self._by_group, self._groups)[0])

    def group_max(self):
        """Largest value over the groups.

        Returns
        -------
        float, Series or DataFrame
            As ``overall``.
        """
        return self._levels(group_values.extremes(self._by_group, self._groups)[1])

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
        return self._levels(self._compared(group_values.difference, method, self._by_group, self._overall))

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
        return self._levels(self._compared(group_values.ratio, method, self._by_group, self._overall))

    # -- intervals ------------------------------------------------------------------------------------------------

    @property
    def by_group_ci(self) -> list:
        """Quantiles of ``by_group``, in the order of ``ci_quantiles``."""
        self._require_samples()
        return [self._rows(values) for values in self._by_group_ci]

    @property
    def overall_ci(self) -> list:
        """Quantiles of ``overall``, in the order of ``ci_quantiles``."""
        self._require_samples()
        return self._level_quantiles(self._overall_samples)

    def group_min_ci(self) -> list:
        """Quantiles of ``group_min()``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        self._require_samples()
        return self._level_quantiles(group_values.extremes(self._group_samples, self._groups)[0])

    def group_max_ci(self) -> list:
        """Quantiles of ``group_max()``.

        Returns
        -------
        list
            One entry for each of ``ci_quantiles``.
        """
        self._require_samples()
        return self._level_quantiles(group_values.extremes(self._group_samples, self._groups)[1])

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
        self._require_samples()
        return self._level_quantiles(
            self._compared(group_values.difference, method, self._group_samples, self._overall_samples)
        )

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
        self._require_samples()
        return self._level_quantiles(
            self._compared(group_values.ratio, method, self._group_samples, self._overall_samples)
        )

    # -- how it was made ------------------------------------------------------------------------------------------

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
        names = [(str(a), m) for a in self._answers for m in self._metrics]
        index = self._index(self._groups.labels)
        parts = []
        for j, (answer, metric) in enumerate(names):
            part = index.to_frame(index=False)
            part.insert(0, "metric", metric)
            part.insert(0, "estimator", answer)
            part["value"] = self._by_group[:, j]
            for q, values in zip(self._ci_quantiles or (), getattr(self, "_by_group_ci", ()), strict=True):
                part[f"q{q:g}"] = values[:, j]
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    # -- arrays to frames -----------------------------------------------------------------------------------------

    def _compared(self, compare: Callable, method: str, by_group: np.ndarray, overall: np.ndarray) -> np.ndarray:
        if method not in ("between_groups", "to_overall"):
            raise ConfigurationError(f"method={method!r}; needed is 'between_groups' or 'to_overall'.")
        return compare(by_group, overall, self._groups, method)

    def _require_samples(self) -> None:
        if self._n_boot is None:
            raise ConfigurationError(
                "no samples were drawn, so there are no intervals. Pass n_boot and ci_quantiles, for instance "
                "n_boot=1000, ci_quantiles=[0.025, 0.975]."
            )

    def _level_quantiles(self, samples: np.ndarray) -> list:
        labels = self._groups.levels if self._control else ["all rows"]
        return [self._levels(values) for values in quantiles(samples, self._ci_quantiles, labels)]

    def _index(self, labels: np.ndarray) -> pd.Index:
        if labels.dtype.names:
            return pd.MultiIndex.from_tuples(labels.tolist(), names=labels.dtype.names)
        return pd.Index(labels.tolist(), name=(self._control or self._sensitive)[0])

    def _rows(self, values: np.ndarray) -> pd.DataFrame | pd.Series:
        frame = pd.DataFrame(values, index=self._index(self._groups.labels), columns=self._layout)
        return frame.iloc[:, 0] if self._layout.name == "single" else frame

    def _levels(self, values: np.ndarray) -> pd.DataFrame | pd.Series | float:
        if self._control:
            frame = pd.DataFrame(values, index=self._index(self._groups.levels), columns=self._layout)
            return frame.iloc[:, 0] if self._layout.name == "single" else frame
        return float(values[0, 0]) if self._layout.name == "single" else pd.Series(values[0], index=self._layout)
