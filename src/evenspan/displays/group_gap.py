"""What every group gets from one or several representations, side by side, with intervals."""

from typing import Self

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError
from ..metrics import GroupFrame
from .common import drawing, key, named, plain
from .method_styles import group_styles, styles_of
from .style import INK


class GroupGapDisplay:
    """One metric for every group and estimator, and for all rows together: marks with intervals.

    Make it with ``from_estimator``, which draws at once.

    Parameters
    ----------
    frame : DataFrame
        Columns ``estimator``, ``kind`` ("group" or "all rows"), ``group``, ``value``, ``low``, ``high`` (nan without
        intervals).
    metric : str
        What is shown, for the axis.

    Attributes
    ----------
    frame_ : DataFrame
        What is drawn.
    ax_ : Axes
        Axes of matplotlib that it was drawn on.
    figure_ : Figure
        Their figure.
    lines_ : list of Line2D
        The marks, one entry for each estimator, or for each group (and all rows) where there is one estimator.
    intervals_ : list of LineCollection
        The intervals, in the same order; empty without any.

    See Also
    --------
    evenspan.GroupFrame : The same numbers as data frames.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    >>> display = GroupGapDisplay.from_estimator(StandardPCA(2).fit(X), X, sensitive_features=sex, n_boot=None)
    >>> display.frame_[["group", "value"]].round(1)
          group  value
    0         f    1.8
    1         m    6.0
    2  all rows    3.5
    """

    def __init__(self, frame: pd.DataFrame, *, metric: str = "error"):
        self.frame_ = frame
        self.metric = metric

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X=None,
        *,
        moments=None,
        sensitive_features=None,
        metric="error",
        n_boot=1000,
        level=0.95,
        sample_weight=None,
        random_state=0,
        ax=None,
        **kwargs,
    ) -> Self:
        """Judge fitted estimators and draw.

        Parameters
        ----------
        estimator : fitted linear estimator, FairSubspace, or dict of them
            What is judged.
        X : array-like or DataFrame of shape (n, d), optional
            Rows to judge on. Either these or ``moments``.
        moments : GroupMoments, optional
            Moments to judge on; with the attribute "block" for intervals.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame; or str, list of str
            Groups of the rows; with moments which of their attributes make the groups, all but "block" unless given.
        metric : str or callable
            A named metric of ``GroupFrame``, or a function ``metric(moments of one group, subspace)``.
        n_boot : int or None
            Samples for the intervals; None draws none.
        level : float
            Share of the samples inside an interval.
        sample_weight : array-like of shape (n,), optional
            Frequency weights of the rows.
        random_state : None, int or Generator
            Seed of the samples.
        ax : Axes, optional
            Axes of matplotlib to draw on; those of a new figure unless given.
        **kwargs : dict
            For ``plot``.

        Returns
        -------
        GroupGapDisplay
            Drawn.
        """
        sample = {"X": X, "moments": moments, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
        frame = _frame(estimator, metric, n_boot, level, random_state=random_state, **sample)
        shown = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
        return cls(frame, metric=shown).plot(ax, **kwargs)

    def plot(self, ax=None, *, overall=True, legend=True) -> Self:
        """Draw, on the axes given or new ones: with a mark for all rows unless told, and names of the estimators."""
        frame = self.frame_ if overall else self.frame_[self.frame_["kind"] == "group"]
        names = frame["estimator"].drop_duplicates().tolist()
        groups = frame.loc[frame["kind"] == "group", "group"].drop_duplicates().tolist()
        places = frame.drop_duplicates(["kind", "group"])["group"].tolist()
        with drawing(ax) as axes:
            self.lines_, self.intervals_ = [], []
            if len(names) == 1:
                own = group_styles(groups)
                for at, (_, row) in enumerate(frame.iterrows()):
                    dress = {"color": INK, "marker": "_", "markeredgewidth": 2.5, "markersize": 16}
                    if row["kind"] == "group":
                        dress = {"color": own[row["group"]].colour, "marker": own[row["group"]].marker}
                    self._series(axes, row.to_frame().T.infer_objects(), np.array([at]), dress)
            else:
                for i, (name, look) in enumerate(styles_of(names).items()):
                    shift = 0.7 * ((i + 0.5) / len(names) - 0.5)
                    rows = frame[frame["estimator"] == name]
                    self._series(axes, rows, np.arange(len(places)) + shift, look.mark() | {"label": plain(name)})
            if overall:
                axes.axvline(len(groups) - 0.5, color="#bbbbbb", linewidth=0.8, zorder=1)
            axes.set_xticks(range(len(places)), [plain(place) for place in places])
            if sum(len(str(place)) for place in places) > 60:
                axes.tick_params(axis="x", rotation=30)
            axes.set(xlim=(-0.6, len(places) - 0.4), xlabel="group", ylabel=plain(self.metric))
            axes.grid(axis="x", visible=False)
            if legend and len(names) > 1:
                key(axes)
            elif len(names) == 1 and names[0]:
                axes.set_title(plain(names[0]))
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _series(self, axes, rows: pd.DataFrame, x: np.ndarray, dress: dict) -> None:
        if rows["low"].notna().all():
            bars = axes.vlines(x, rows["low"], rows["high"], color=dress["color"], linewidth=1.8, zorder=2)
            self.intervals_.append(bars)
        (line,) = axes.plot(x, rows["value"], linestyle="none", **({"markersize": 8} | dress | {"zorder": 3}))
        self.lines_.append(line)


def _frame(estimator, metric, n_boot, level, **sample) -> pd.DataFrame:
    if not isinstance(metric, str) and not callable(metric):
        raise ConfigurationError(f"metric={metric!r}; a display shows one: needed is a name or a function.")
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"level={level!r}; needed is a share between 0 and 1, for instance 0.95.")
    quantiles = None if n_boot is None else [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    fitted = named(estimator)
    found = GroupFrame(estimator=fitted, metrics=metric, n_boot=n_boot, ci_quantiles=quantiles, **sample)
    groups = [_group(found.sensitive_levels, label) for label in found.by_group.index]
    low, high = found.interval() if n_boot is not None else (found.by_group * np.nan,) * 2
    all_low, all_high = found.interval("overall") if n_boot is not None else (found.overall * np.nan,) * 2
    rows = []
    for name in fitted:
        parts = zip(groups, found.by_group[name], low[name], high[name], strict=True)
        rows += [(name, "group", *part) for part in parts]
        rows.append((name, "all rows", "all rows", found.overall[name], all_low[name], all_high[name]))
    return pd.DataFrame(rows, columns=["estimator", "kind", "group", "value", "low", "high"])


def _group(names: list[str], label) -> str:
    if not isinstance(label, tuple):
        return str(label)
    return ", ".join(f"{name}={value}" for name, value in zip(names, label, strict=True))
