"""What is possible at all, with every method in it: pairs of errors of two groups, or average against worst error."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...displays.method_looks import handles, looks
from .figures import _figure, shown, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTAINABLE, EDGE, EQUAL = "#dfe9f2", "#222222", "#a8232b"
#: How far from a line, in its own extents, a method may be and still be in the frame.
REACH = 3.0


@styled
def attainable_pairs(
    polygon: np.ndarray,
    edge: np.ndarray,
    points: Mapping[str, tuple[float, float]],
    labels: tuple[str, str],
    best: str,
) -> "Figure":
    """All pairs of errors that projections of k components can reach: the whole set, and its lower left edge, closer.

    Parameters
    ----------
    polygon : ndarray of shape (m, 2)
        Boundary of the set, in order.
    edge : ndarray of shape (m, 2)
        The part of the boundary on which no error can fall without the other's rising.
    points : mapping of str to (float, float)
        Errors of the two groups on the fitting part, by method.
    labels : tuple of str
        The two groups.
    best : str
        The recommended method; it gets a ring.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fig, panels = _figure(1, 2, 5.0)
    dress = looks(points)
    for panel in panels:
        panel.fill(*polygon.T, color=ATTAINABLE, zorder=0)
        panel.plot(*np.vstack([polygon, polygon[:1]]).T, color="#7f9cb5", linewidth=1.1)
        panel.plot(*edge.T, color=EDGE, linewidth=2.2)
        panel.axline((0.0, 0.0), slope=1.0, color=EQUAL, linestyle="--", linewidth=1.2)
        for name, point in points.items():
            _mark(panel, dress[name], point, name == best)
        panel.set_xlabel(f"error of group {shown(labels[0])}")
    panels[0].set_ylabel(f"error of group {shown(labels[1])}")
    panels[0].set_title("all that is possible")
    panels[1].set_title("closer")
    _frame(panels[0], polygon, 0.04)
    _frame(panels[1], np.vstack([edge, *inside(edge, points).values()]), 0.25)
    keys = [
        Patch(color=ATTAINABLE, label="possible"),
        Line2D([], [], color=EDGE, linewidth=2.2, label="least errors, certified"),
        Line2D([], [], color=EQUAL, linestyle="--", label="equal errors"),
    ]
    fig.legend(handles=[*keys, *handles(dress.values())], loc="outside lower center", ncols=3, fontsize="small")
    return fig


@styled
def average_and(name: str, line: np.ndarray, points: Mapping[str, tuple[float, float]], best: str) -> "Figure":
    """What a smaller gap, or worst group, costs all rows together: what was reached, what is out of reach, the methods.

    Parameters
    ----------
    name : str
        What is to be small.
    line : ndarray of shape (m, 3)
        Average error, the other number, and what that is at least for every projection of no larger average error.
    points : mapping of str to (float, float)
        The same two numbers by method, on the fitting part.
    best : str
        The recommended method; it gets a ring.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fig, panel = _figure(height=4.6)
    dress = looks(points)
    x, y, bound = line.T
    _frame(panel, np.vstack([line[:, :2], *inside(line[:, :2], points).values()]), 0.08, equal=False)
    floor, right = panel.get_ylim()[0], panel.get_xlim()[1]
    panel.fill_between(np.r_[x, right], floor, np.r_[bound, bound[-1]], color="#ececec", linewidth=0, zorder=0)
    panel.axvspan(panel.get_xlim()[0], x[0], color="#ececec", linewidth=0, zorder=0)
    panel.plot(x, y, color=EDGE, linewidth=2.0, marker="." if len(x) < 3 else "")
    for method, point in points.items():
        _mark(panel, dress[method], point, method == best)
    panel.set(xlabel="average error", ylabel=name)
    keys = [
        Line2D([], [], color=EDGE, linewidth=2.0, label="reached by projections"),
        Patch(color="#ececec", label="out of reach, certified"),
    ]
    fig.legend(handles=[*keys, *handles(dress.values())], loc="outside lower center", ncols=3, fontsize="small")
    return fig


def inside(line: np.ndarray, points: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points that are near a line: within ``REACH`` times its extent of it, and of one hundredth of its values.

    A frame around all of them would make a short line a dot where one method is far away from it.
    """
    low, high = line.min(axis=0), line.max(axis=0)
    room = REACH * np.maximum(high - low, 0.01 * np.abs(high))
    return {
        name: point
        for name, point in points.items()
        if (np.asarray(point) >= low - room).all() and (np.asarray(point) <= high + room).all()
    }


def _mark(panel, look, point, ringed: bool) -> None:
    panel.plot(*point, linestyle="", markersize=look.size, zorder=4, **look.mark())
    if ringed:
        panel.plot(*point, "o", markersize=19, markerfacecolor="none", color=EDGE, zorder=5)


def _frame(panel, points: np.ndarray, share: float, *, equal: bool = True) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    sides = np.maximum(high - low, 1e-6 * np.maximum(np.abs(high), np.finfo(float).tiny))
    room = share * (np.full(2, sides.max(axis=0)) if equal else sides)
    panel.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
