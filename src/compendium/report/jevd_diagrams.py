"""Diagrams of the derivation of joint diagonalisation: losses in the plane, the criterion by step, sets of columns."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenspan.displays.method_looks import looks
from evenspan.displays.style import COLOURS, INK, MARKERS
from evenspan.reconstruction import JointRange

from .joint_range_figure import lower_left

#: Colour of the line of equal losses.
EQUAL = "#8a5a00"


def losses_plane(
    matrices: np.ndarray, k: int, points: dict[str, tuple[float, float]], *, labels: tuple[str, str], near: bool = False
) -> Figure:
    """All pairs of group losses that projections of rank k reach, the certified frontier, and a mark for each point.

    Parameters
    ----------
    matrices : ndarray of shape (2, d, d)
    k : int
    points : dict of str to (float, float)
        Losses of the two groups by name.
    labels : tuple of str
        Names of the two groups.
    near : bool
        Frame the frontier and the points; by default the whole set.
    """
    joint = JointRange(*matrices, k)
    own = np.array([joint.support(0.0).value, joint.support(np.pi / 2).value])
    region, edge = joint.boundary(360) - own, lower_left(joint) - own
    fig, panel = plt.subplots(figsize=(6.6, 5.0), layout="constrained")
    panel.fill(*region.T, color="#dfe9f2", zorder=0)
    panel.plot(*np.vstack([region, region[:1]]).T, color="#7f9cb5", linewidth=1.1)
    panel.plot(*edge.T, color=INK, linewidth=2.2)
    panel.axline((0.0, 0.0), slope=1.0, color=EQUAL, linestyle=":", linewidth=1.8)
    own = looks(points, others=True)
    for number, (name, point) in enumerate(points.items()):
        drawn = own[name].open() | {"markersize": 13 - number, "markeredgewidth": 2.0}
        panel.plot(*point, zorder=4, linestyle="none", clip_on=False, **drawn)
    shown = np.vstack([edge, list(points.values())]) if near else region
    room = 0.06 * np.ptp(shown, axis=0).max()
    low, high = shown.min(axis=0) - room, shown.max(axis=0) + room
    panel.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    panel.set(xlabel=f"loss of {labels[0]}", ylabel=f"loss of {labels[1]}")
    handles = [
        Patch(color="#dfe9f2", label="attainable"),
        Line2D([], [], color=INK, linewidth=2.2, label="certified frontier"),
        Line2D([], [], color=EQUAL, linestyle=":", linewidth=1.8, label="equal losses"),
    ]
    fig.legend(
        handles=handles + panel.get_legend_handles_labels()[0], loc="outside lower center", ncols=3, fontsize="small"
    )
    return fig


def criterion_paths(paths: dict[str, dict[str, np.ndarray]]) -> Figure:
    """The criterion at every step relative to the start: a colour for each data set, a dash for each kind of start.

    Parameters
    ----------
    paths : dict of str to dict of str to ndarray
        The criterion at the start and after every step, by data set and start.
    """
    fig, panel = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    starts = list(dict.fromkeys(start for runs in paths.values() for start in runs))
    dashes = dict(zip(starts, ("-", "--", ":"), strict=False))
    handles = []
    for (dataset, runs), colour, marker in zip(paths.items(), COLOURS, MARKERS, strict=False):
        for start, path in runs.items():
            path = np.asarray(path, dtype=float)
            panel.plot(
                np.arange(len(path)), path / path[0], dashes[start], color=colour, marker=marker, markersize=5.5,
                markevery=max(len(path) // 8, 1), linewidth=1.5,
            )  # fmt: skip
        handles.append(Line2D([], [], color=colour, marker=marker, label=dataset))
    handles += [Line2D([], [], color=INK, linestyle=dashes[start], label=f"from {start}") for start in starts]
    panel.axhline(1.0, color="#888888", linewidth=1)
    panel.set(yscale="log", xlabel="step", ylabel="criterion C, relative to the start")
    panel.set_xscale("symlog", linthresh=1.0)
    panel.set_xlim(left=-0.1)
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize="small")
    return fig


def subset_map(chosen: dict[int, tuple[int, ...]], d: int, *, xlabel: str) -> Figure:
    """Which columns a basis consists of, one line for each number of dimensions: a filled mark for each that is in it.

    Parameters
    ----------
    chosen : dict of int to tuple of int
        Positions by number of dimensions.
    d : int
        How many positions there are.
    xlabel : str
    """
    fig, panel = plt.subplots(figsize=(6.6, 0.32 * len(chosen) + 1.4), layout="constrained")
    for k, members in chosen.items():
        panel.plot(range(1, d + 1), [k] * d, "o", color="#cccccc", markerfacecolor="none", markersize=8)
        inside = [j + 1 for j in members]
        leading = [j for j in inside if j <= k]
        panel.plot(leading, [k] * len(leading), "o", color=COLOURS[0], markersize=9)
        other = [j for j in inside if j > k]
        panel.plot(other, [k] * len(other), "s", color=COLOURS[1], markersize=9)
    panel.axline((0.5, 0.5), slope=1.0, color=INK, linewidth=1)
    panel.set(xlabel=xlabel, ylabel="dimensions", xlim=(0.4, d + 0.6), ylim=(max(chosen) + 0.6, min(chosen) - 0.6))
    panel.set_xticks(range(1, d + 1))
    panel.set_yticks(list(chosen))
    panel.grid(False)
    handles = [
        Line2D([], [], color=COLOURS[0], marker="o", linestyle="none", label="one of the first"),
        Line2D([], [], color=COLOURS[1], marker="s", linestyle="none", label="from further back"),
        Line2D([], [], color="#cccccc", marker="o", markerfacecolor="none", linestyle="none", label="left out"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize="small")
    return fig
