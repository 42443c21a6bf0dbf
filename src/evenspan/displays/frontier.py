"""What it costs all rows to narrow the gap, or to spare the worst group, with every estimator in the same figure."""

from typing import Self

import numpy as np
import pandas as pd

from ..core.errors import GroupError
from ..core.options import one_of
from ..reconstruction import JointRange
from ..reconstruction.frontier_curves import Curve, Hull, gap_curve
from .common import Judged, RangeDisplay, drawing, key, marks

OUT_OF_REACH, EDGE = "#ececec", "#222222"
AXES = {"gap": "largest less smallest error of a group", "worst": "largest error of a group"}


class FrontierDisplay(RangeDisplay):
    """Average error against the gap, or the worst error, of groups: what projections reach, and what none can.

    Make it with ``from_estimator``, which draws at once. The grey region is out of reach, certified:
    no projection onto k directions lies in it. LEACE, which does not project, is drawn too and may.

    Parameters
    ----------
    curve : Curve
        Points of the line, and lines that no projection passes.
    points : dict of str to (float, float)
        Average error and gap, or worst error, by estimator.
    against : {"gap", "worst"}
        What stands on the second axis. ``from_estimator`` takes the gap for two groups and the
        worst error for more, unless told.

    Attributes
    ----------
    frame_ : DataFrame
        What is drawn: ``kind`` ("reached by projections" or "estimator"), ``name``, ``average``, ``other``, and
        ``bound``, what ``other`` is at least for any projection with no larger average error.
    ax_ : Axes
        Axes of matplotlib that it was drawn on.
    figure_ : Figure
        Their figure.
    line_ : Line2D
        Pairs that projections reach.
    lines_ : list of Line2D
        The mark of every estimator.

    Guarantees
    ----------
    For two groups and the gap every vertex of the line is reached by a projection, and none does better. For the worst
    error the vertices are reached, and how far from the best possible they can be is the distance to the grey region.

    Complexity
    ----------
    About 100 eigenvalue problems of order d for two groups and the gap, a few hundred for the worst error.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    >>> display = FrontierDisplay.from_estimator(StandardPCA(2).fit(X), X, sensitive_features=sex)
    >>> [round(value, 1) for value in display.points["PCA"]]
    [3.5, 4.3]
    """

    def __init__(self, curve: Curve, points: dict[str, tuple[float, float]], *, against: str = "gap"):
        self.curve = curve
        self.points = points
        self.against = against
        rows = [("reached by projections", "", *pair) for pair in curve.points.tolist()]
        rows += [("estimator", name, *pair) for name, pair in points.items()]
        self.frame_ = pd.DataFrame(rows, columns=["kind", "name", "average", "other"])
        self.frame_["bound"] = curve.least(self.frame_["average"].to_numpy())

    @classmethod
    def _drawn(cls, judged: Judged, ax, *, against: str | None = None, **kwargs) -> "FrontierDisplay":
        seen, matrices, nothing = judged.seen, judged.second_moments, np.zeros(judged.seen.G)
        against = ("gap" if seen.G == 2 else "worst") if against is None else against
        if one_of(*AXES).require("against", against) == "gap":
            judged.require_two("the frontier of the gap")
        if seen.G < 2:
            raise GroupError("there is one group only; a frontier is between several. Pass the group of every row.")
        shares = seen.counts / seen.n
        curve = (
            gap_curve(JointRange(*matrices, judged.k), shares, "error gap", nothing)
            if against == "gap"
            else Hull(matrices, shares, judged.k).worst_curve("worst error", nothing)
        )
        points = {
            name: (float(shares @ e), float(np.ptp(e, axis=0) if against == "gap" else e.max(axis=0)))
            for name, e in judged.errors.items()
        }
        return cls(curve, points, against=against).plot(ax, **kwargs)

    def plot(self, ax=None, *, legend=True) -> Self:
        """Draw, on the axes given or new ones, with a legend unless told."""
        x, y = self.curve.points.T
        drawn = self.frame_[["average", "other"]].to_numpy()
        low, high = drawn.min(axis=0), drawn.max(axis=0)
        room = 0.08 * np.maximum(high - low, 1e-3 * np.maximum(np.abs(high), np.finfo(float).tiny))
        with drawing(ax) as axes:
            bottom, right = max(low[1] - room[1], 0.0), high[0] + room[0]
            xs = np.unique(np.r_[np.linspace(x[0], right, 200), x])
            floor = np.clip(self.curve.least(xs), bottom, high[1] + room[1])  # infinite left of PCA
            region = {"color": OUT_OF_REACH, "linewidth": 0, "zorder": 0}
            axes.fill_between(xs, bottom, floor, label="out of reach, certified", **region)
            axes.axvspan(low[0] - room[0], x[0], **region)
            marker = "." if len(x) == 1 else ""
            (self.line_,) = axes.plot(x, y, color=EDGE, linewidth=2.0, marker=marker, label="reached by projections")
            self.lines_ = marks(axes, self.points, clip_on=False)
            axes.set(xlim=(low[0] - room[0], right), ylim=(bottom, high[1] + room[1]))
            axes.set(xlabel="average error of all rows", ylabel=AXES[self.against])
            if legend:
                key(axes)
        self.ax_, self.figure_ = axes, axes.figure
        return self
