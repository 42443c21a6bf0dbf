"""All pairs of errors of two groups that projections can reach, with every estimator in the same figure."""

from typing import Self

import numpy as np
import pandas as pd

from ..reconstruction import JointRange
from .common import Judged, RangeDisplay, drawing, key, marks, texts

ATTAINABLE, OUTLINE, EDGE, EQUAL, LOSSES = "#dfe9f2", "#7f9cb5", "#222222", "#a8232b", "#8a5a00"


class JointRangeDisplay(RangeDisplay):
    """The errors of two groups against each other: attainable pairs, their lower left edge, and estimators as marks.

    Make it with ``from_estimator``, which draws at once. LEACE, which does not project, is drawn too
    and may lie outside.

    Parameters
    ----------
    joint : JointRange
        The set.
    points : dict of str to (float, float)
        Errors of the two groups by estimator.
    labels : tuple of str
        The two groups.

    Attributes
    ----------
    frame_ : DataFrame
        What is drawn: ``kind`` ("boundary", "edge" or "estimator"), ``name``, ``first`` and ``second``, the errors.
    ax_ : Axes
        Axes of matplotlib that it was drawn on.
    figure_ : Figure
        Their figure.
    lines_ : list of Line2D
        The mark of every estimator.
    edge_ : Line2D
        The pairs at which no error can fall without the other's rising.

    Guarantees
    ----------
    Every vertex of the boundary is reached by a projection, and no projection lies outside the supporting lines there
    (three features or more: the whole set is reached).

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    >>> display = JointRangeDisplay.from_estimator(StandardPCA(2).fit(X), X, sensitive_features=sex)
    >>> display.frame_.query("kind == 'estimator'")[["name", "first", "second"]].round(1).values.tolist()
    [['PCA', 1.8, 6.0]]
    """

    def __init__(self, joint: JointRange, points: dict[str, tuple[float, float]], *, labels: tuple[str, str]):
        self.joint = joint
        self.points = points
        self.labels = labels
        self._boundary = joint.boundary(180)
        supports = [joint.support(float(angle)) for angle in np.linspace(0.0, np.pi / 2, 61)]
        self._edge = np.array([end for found in supports for end in found.ends])
        rows = [("boundary", "", *pair) for pair in self._boundary] + [("edge", "", *pair) for pair in self._edge]
        rows += [("estimator", name, *map(float, pair)) for name, pair in points.items()]
        self.frame_ = pd.DataFrame(rows, columns=["kind", "name", "first", "second"])

    @classmethod
    def _drawn(cls, judged: Judged, ax, **kwargs) -> "JointRangeDisplay":
        judged.require_two("the joint range")
        points = {name: tuple(map(float, pair)) for name, pair in judged.errors.items()}
        joint = JointRange(*judged.second_moments, judged.k)
        return cls(joint, points, labels=tuple(texts(judged.seen.labels))).plot(ax, **kwargs)

    def plot(self, ax=None, *, zoom=False, legend=True) -> Self:
        """Draw, on the axes given or new ones; ``zoom`` shows the neighbourhood of the estimators only."""
        pairs = np.array(list(self.points.values()))
        best = np.array([self.joint.support(0.0).value, self.joint.support(np.pi / 2).value])
        with drawing(ax) as axes:
            axes.fill(*self._boundary.T, color=ATTAINABLE, zorder=0, label="attainable")
            axes.plot(*np.vstack([self._boundary, self._boundary[:1]]).T, color=OUTLINE, linewidth=1.1)
            (self.edge_,) = axes.plot(*self._edge.T, color=EDGE, linewidth=2.2, label="least errors, certified")
            axes.axline((0.0, 0.0), slope=1.0, color=EQUAL, linestyle="--", linewidth=1.2, label="equal errors")
            axes.axline(tuple(best), slope=1.0, color=LOSSES, linestyle=":", linewidth=1.6, label="equal losses")
            self.lines_ = marks(axes, self.points)
            shown = pairs if zoom else np.vstack([self._boundary, pairs])
            low, high = shown.min(axis=0), shown.max(axis=0)
            least = 0.05 * np.ptp(self._boundary, axis=0).max(axis=0)  # around a single estimator, or several alike
            room = (0.3 if zoom else 0.08) * max(*(high - low), least)
            axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
            axes.set(xlabel=f"error of {self.labels[0]}", ylabel=f"error of {self.labels[1]}")
            if legend:
                key(axes)
        self.ax_, self.figure_ = axes, axes.figure
        return self
