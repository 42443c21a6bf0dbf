"""What it costs all rows to narrow the gap, or to spare the worst group, with every estimator in the same figure."""

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, GroupError
from ..metrics.linear_map import second_moments
from ..reconstruction import JointRange
from ..reconstruction.frontier_curves import Curve, Hull, gap_curve
from .common import drawing, dressed, errors_by_name, key, named, plain, require_two, seen_groups

OUT_OF_REACH, EDGE = "#ececec", "#222222"
AXES = {"gap": "largest less smallest error of a group", "worst": "largest error of a group"}


class FrontierDisplay:
    """Average error against the gap, or the worst error, of groups: what projections reach, and what none can.

    Make it with ``from_estimator`` or ``from_moments``; both draw at once. The grey region is out of reach, certified:
    no projection onto k directions lies in it. LEACE, which does not project, is drawn too and may.

    Parameters
    ----------
    curve : Curve
        Points of the line, and lines that no projection passes.
    points : dict of str to (float, float)
        Average error and gap, or worst error, by estimator.
    against : {"gap", "worst"}
        What stands on the second axis.

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
    def from_estimator(cls, estimator, X, *, sensitive_features, against=None, sample_weight=None, ax=None, **kwargs):
        """Judge fitted estimators on rows, find the frontier of these rows, and draw.

        Parameters
        ----------
        estimator : fitted linear estimator, FairSubspace, or dict of them
            All with the same number of components, mean and scale.
        X : array-like or DataFrame of shape (n, d)
            Rows to judge on.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Groups of the rows.
        against : {"gap", "worst"}, optional
            The gap for two groups and the worst error for more, unless given.
        sample_weight : array-like of shape (n,), optional
            Frequency weights.
        ax : Axes, optional
            Axes of matplotlib to draw on; those of a new figure unless given.
        **kwargs : dict
            For ``plot``.

        Returns
        -------
        FrontierDisplay
            Drawn.
        """
        return cls._made(estimator, X, None, sensitive_features, against, sample_weight).plot(ax, **kwargs)

    @classmethod
    def from_moments(cls, estimator, moments, *, sensitive_features=None, against=None, ax=None, **kwargs):
        """Judge fitted estimators on group moments, find their frontier, and draw.

        Parameters
        ----------
        estimator : fitted linear estimator, FairSubspace, or dict of them
            All with the same number of components, mean and scale.
        moments : GroupMoments
            Moments to judge on.
        sensitive_features : str or list of str, optional
            The attributes of the moments that make the groups; all but "block" unless given.
        against : {"gap", "worst"}, optional
            As in ``from_estimator``.
        ax : Axes, optional
            Axes of matplotlib to draw on; those of a new figure unless given.
        **kwargs : dict
            For ``plot``.

        Returns
        -------
        FrontierDisplay
            Drawn.
        """
        return cls._made(estimator, None, moments, sensitive_features, against, None).plot(ax, **kwargs)

    @classmethod
    def _made(cls, estimator, X, moments, sensitive_features, against, sample_weight) -> "FrontierDisplay":
        fitted = named(estimator)
        seen, k = seen_groups(fitted, X, moments, sensitive_features, sample_weight)
        against = ("gap" if seen.G == 2 else "worst") if against is None else against
        if against not in AXES:
            raise ConfigurationError(f"against={against!r}; needed is 'gap' or 'worst'.")
        if against == "gap":
            require_two(seen, "the frontier of the gap")
        if seen.G < 2:
            raise GroupError("there is one group only; a frontier is between several. Pass the group of every row.")
        shares = seen.counts / seen.n
        matrices, nothing = second_moments(seen), np.zeros(seen.G)
        curve = (
            gap_curve(JointRange(*matrices, k), shares, "error gap", nothing)
            if against == "gap"
            else Hull(matrices, shares, k).worst_curve("worst error", nothing)
        )
        found = errors_by_name(fitted, X, moments, sensitive_features, sample_weight)
        points = {
            name: (float(shares @ e), float(np.ptp(e, axis=0) if against == "gap" else e.max(axis=0)))
            for name, e in found.items()
        }
        return cls(curve, points, against=against)

    def plot(self, ax=None, *, legend=True):
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; those of a new figure unless given.
        legend : bool
            Whether to name the line, the region and the estimators.

        Returns
        -------
        FrontierDisplay
            Itself, with ``ax_``, ``figure_``, ``line_`` and ``lines_``.
        """
        own = dressed(self.points)
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
            self.lines_ = []
            for number, (name, point) in enumerate(self.points.items()):
                # Open marks of falling size: estimators with the same answer stay visible one inside the other.
                dress = own[name].open() | {"markersize": max(13 - number, 5), "markeredgewidth": 1.8}
                dress |= {"label": plain(name), "clip_on": False}
                (line,) = axes.plot(*point, linestyle="none", zorder=4, **dress)
                self.lines_.append(line)
            axes.set(xlim=(low[0] - room[0], right), ylim=(bottom, high[1] + room[1]))
            axes.set(xlabel="average error of all rows", ylabel=AXES[self.against])
            if legend:
                key(axes)
        self.ax_, self.figure_ = axes, axes.figure
        return self
