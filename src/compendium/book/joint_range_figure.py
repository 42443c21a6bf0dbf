"""The field in one figure: all pairs of group errors that projections can reach, and where each method stands."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenspan.displays.method_looks import looks
from evenspan.displays.style import INK
from evenspan.reconstruction import JointRange


def joint_range(
    joint: JointRange,
    points: dict[str, tuple[float, float]],
    *,
    labels: tuple[str, str],
    edge: np.ndarray | None = None,
) -> Figure:
    """The attainable pairs of errors with a point for each method: the whole set (left) and its frontier (right).

    Parameters
    ----------
    joint : JointRange
        The set.
    points : dict of str to (float, float)
        Errors of the two groups by method.
    labels : tuple of str
        Names of the two groups.
    edge : ndarray of shape (m, 2), optional
        The part of the boundary on which no error can fall without the other's rising; by default that of weights
        that are not negative.

    Returns
    -------
    Figure
    """
    polygon = joint.boundary(360)
    edge = lower_left(joint) if edge is None else edge
    own = looks(points, others=True)
    fig, (whole, near) = plt.subplots(1, 2, figsize=(10.4, 5.2), layout="constrained")
    for panel in (whole, near):
        panel.fill(*polygon.T, color="#dfe9f2", zorder=0)
        panel.plot(*np.vstack([polygon, polygon[:1]]).T, color="#7f9cb5", linewidth=1.1)
        panel.plot(*edge.T, color=INK, linewidth=2.2)
        _equal_lines(panel, joint)
        for number, (name, point) in enumerate(points.items()):
            # Open marks of falling size: methods that give the same answer stay visible one inside the other.
            drawn = own[name].open() | {"markersize": max(14 - number, 5), "markeredgewidth": 1.9}
            panel.plot(*point, zorder=4, linestyle="none", **drawn)
        panel.set_xlabel(f"error of group {labels[0]}")
    whole.set_ylabel(f"error of group {labels[1]}")
    whole.set_title("All attainable pairs of errors")
    near.set_title("The frontier, closer")
    _frame(whole, polygon, 0.04)
    _frame(near, edge, 0.3)
    handles = [
        Patch(color="#dfe9f2", label="attainable"),
        Line2D([], [], color=INK, linewidth=2.2, label="certified frontier"),
        Line2D([], [], color="#a8232b", linestyle="--", label="equal errors"),
        Line2D([], [], color="#8a5a00", linestyle=":", linewidth=2, label="equal losses"),
    ]
    fig.legend(
        handles=handles + near.get_legend_handles_labels()[0], loc="outside lower center", ncols=4, fontsize="small"
    )
    return fig


def lower_left(joint: JointRange, n: int = 91) -> np.ndarray:
    """The frontier (m, 2): boundary points for weights from all on the first group to all on the second."""
    supports = [joint.support(float(angle)) for angle in np.linspace(0.0, np.pi / 2, n)]
    return np.array([end for found in supports for end in found.ends])


def _equal_lines(panel: Axes, joint: JointRange) -> None:
    own = np.array([joint.support(0.0).value, joint.support(np.pi / 2).value])
    panel.axline((0.0, 0.0), slope=1.0, color="#a8232b", linestyle="--", linewidth=1.2)
    panel.axline(tuple(own), slope=1.0, color="#8a5a00", linestyle=":", linewidth=1.6)


def _frame(panel: Axes, points: np.ndarray, share: float) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    room = share * max(high - low)
    panel.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
