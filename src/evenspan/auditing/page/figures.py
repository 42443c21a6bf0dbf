"""The figures of a report: the library's displays on the numbers of the tables, and two plain plots.

Methods and groups look as everywhere (``evenspan.displays``): a marker beside each colour, so that nothing has to be
told by colour alone. Figures are as wide as can be read on a phone.
"""

import io
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
from ...displays.method_looks import group_looks, looks
from ...displays.style import settings
from ..evaluation import HELD_OUT, TRAINING
from ..fitting import PCA
from ..recommend import CONCERNS
from .blocks import listed, plain
from .evidence import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run import Audit

WIDTH = 5.2
#: More groups than these are not drawn one by one: those with the smallest and the largest errors are.
MOST_GROUPS = 16
#: More features than these make the joint range slow: its boundary takes hundreds of eigenvalue problems.
MOST_FEATURES = 200
#: How far from a line, in its own extents, a method may be and still be in the frame.
REACH = 3.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure, its title, what it shows, and its content in words."""

    figure: "Figure"
    title: str
    caption: str
    alt: str

    @cached_property
    def svg(self) -> bytes:
        """The figure as SVG, the same on every run; text stays text."""
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        buffer = io.BytesIO()
        with mpl.rc_context(settings()), warnings.catch_warnings():
            # The reader's fonts have the letters that this one lacks.
            warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
            FigureCanvasSVG(self.figure).print_svg(buffer, metadata={"Date": None})
        return buffer.getvalue()


def of_attribute(audit: "Audit", attribute: str) -> dict[str, Drawn]:
    """The figures of one attribute by name."""
    import matplotlib as mpl

    view = View(audit, attribute)
    with mpl.rc_context(settings()):
        found = {"groups": _groups(view), "effects": _effects(view)}
        if len(audit.sizes) > 1:
            found["over-k"] = _over_k(view)
        if view.frontier is not None:
            if view.frontier.joint is not None and audit.sample.d <= MOST_FEATURES:
                found["possible"] = _possible(view)
            found["frontier"] = _frontier(view)
    return found


def _figure(height: float, rows: int = 1):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, squeeze=False)[:, 0]


def _legend(figure: "Figure", axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize="small")


def _name(label: object) -> str:
    """A name of the user's in one line, not too long, never read as a formula or left out of a legend."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(label)).split()) or "(empty)"
    text = text if len(text) <= 24 else text[:23] + "…"
    return (f" {text}" if text.startswith("_") else text).replace("$", r"\$")


def _few(view: View) -> list[str]:
    """The groups that a figure draws: all, or of very many those at both ends."""
    order = sorted(view.labels, key=lambda label: view.row("error", group=label)["value"])
    half = MOST_GROUPS // 2
    return view.labels if len(order) <= MOST_GROUPS else order[:half] + order[-half:]


def _groups(view: View) -> Drawn:
    names, labels = list(dict.fromkeys([PCA, *view.recommended])), _few(view)
    lines = []
    for name in names:
        rows = [("group", label, view.row("error", name, group=label)) for label in labels]
        rows.append(("all rows", "all rows", view.row("average error", name)))
        lines += [(name, kind, label, row["value"], row["low"], row["high"]) for kind, label, row in rows]
    frame = pd.DataFrame(lines, columns=["estimator", "kind", "group", "value", "low", "high"])
    figure, (axes,) = _figure(3.4)
    GroupGapDisplay(frame, metric="error").plot(axes, legend=False)
    axes.set_title("")
    axes.set_xticks(range(len(labels) + 1), [_name(label) for label in (*labels, "all rows")])
    if sum(map(len, labels)) > 24 or len(labels) > 5:
        axes.tick_params(axis="x", rotation=90 if len(labels) > 5 else 30)
    if len(names) > 1:
        _legend(figure, axes)
    order = sorted(labels, key=lambda label: view.row("error", group=label)["value"])
    ends = " to ".join(f"{plain(view.row('error', group=one)['value'])} ({one})" for one in (order[0], order[-1]))
    alt = f"Marks with intervals for {len(labels)} groups and all rows under {listed(names)}. PCA leaves {ends}."
    caption = f"Reconstruction error of the groups of {view.attribute} with k = {view.k}, on held-out rows."
    return Drawn(figure, f"Errors of the groups of {view.attribute}", f"{caption} Lines are 95 % intervals.", alt)


def _effects(view: View) -> Drawn:
    concerns = [name for name in view.answers if view.row(CONCERNS[name].effect) is not None]
    look, told = looks(view.methods), []
    figure, panels = _figure(0.5 + len(concerns) * (0.75 + 0.2 * len(view.methods)), len(concerns))
    for axes, concern in zip(panels, concerns, strict=True):
        metric = CONCERNS[concern].effect
        for at, method in enumerate(view.methods):
            row = view.row(metric, method)
            if row is not None:
                axes.plot([row["low"], row["high"]], [at, at], color=look[method].colour, linewidth=1.6)
                axes.plot(row["value"], at, linestyle="", markersize=7, **look[method].mark())
        null = view.row(metric)["noise_q95"]
        axes.axvline(null, color="#555555", linestyle="--", linewidth=1.1)
        axes.set(title=f"{concern}: {metric}", ylim=(len(view.methods) - 0.4, -0.6))
        axes.set_yticks(range(len(view.methods)), view.methods, fontsize="small")
        best = min(view.methods, key=lambda one: np.inf if (r := view.row(metric, one)) is None else r["value"])
        told.append(f"the {metric} is {plain(view.row(metric)['value'])} under PCA and smallest under {best} "
                    f"({plain(view.row(metric, best)['value'])})")  # fmt: skip
    alt = f"A mark with its interval for each of {len(view.methods)} methods: {'; '.join(told)}."
    caption = (
        f"The effect of every method for {view.attribute} with k = {view.k}, on held-out rows, with 95 % intervals. "
        "The dashed line is the 95 % null quantile under PCA."
    )
    return Drawn(figure, f"Effects of the methods for {view.attribute}", caption, alt)


def _over_k(view: View) -> Drawn:
    from matplotlib.ticker import MaxNLocator

    rows = view.rows[(view.rows["method"] == PCA) & (view.rows["part"] == HELD_OUT) & (view.rows["metric"] == "error")]
    figure, (axes,) = _figure(3.4)
    dress, labels = group_looks(view.labels), _few(view)
    for label in labels:
        line, look = rows[rows["group"] == label].sort_values("k"), dress[label]
        axes.fill_between(line["k"], line["low"], line["high"], color=look.colour, alpha=0.13, linewidth=0)
        style = {"color": look.colour, "marker": look.marker, "linestyle": look.linestyle, "label": _name(label)}
        axes.plot(line["k"], line["value"], **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="number of components k", ylabel="error")
    _legend(figure, axes)
    ends = rows[rows["k"].isin([rows["k"].min(), rows["k"].max()])].groupby("k")["value"].agg(["min", "max"])
    alt = f"A line for each of {len(labels)} groups. " + " ".join(
        f"With k = {k} the errors go from {plain(low)} to {plain(high)}." for k, low, high in ends.itertuples()
    )
    caption = f"Error of each group of {view.attribute} under PCA on held-out rows, by the number of components."
    return Drawn(figure, f"PCA over k for {view.attribute}", f"{caption} Bands are 95 % intervals.", alt)


def _possible(view: View) -> Drawn:
    points = {
        method: tuple(float(view.row("error", method, TRAINING, label)["value"]) for label in view.labels)
        for method in view.methods
    }
    figure, (axes,) = _figure(4.6)
    JointRangeDisplay(view.frontier.joint, points, labels=tuple(map(_name, view.labels))).plot(axes, legend=False)
    _legend(figure, axes)
    told = [
        f"{plain(error)} for {label}, where no projection leaves less than {plain(own)}"
        for error, label, own in zip(points[PCA], view.labels, view.frontier.own, strict=True)
    ]
    alt = f"A region of pairs of errors with {len(points)} methods in it. PCA leaves {listed(told)}."
    caption = (
        f"All pairs of errors that projections with k = {view.k} can leave the two groups of {view.attribute}, on the "
        "training set. Nothing lies below and to the left of the heavy line, certified. LEACE is no projection and may "
        "lie outside."
    )
    return Drawn(figure, f"What is possible for {view.attribute}", caption, alt)


def _frontier(view: View) -> Drawn:
    name = "error gap" if "error gap" in view.frontier.curves else "worst error"
    curve = view.frontier.curves[name]
    points = {
        method: tuple(float(view.row(metric, method, TRAINING)["value"]) for metric in ("average error", name))
        for method in view.methods
    }
    near = {method: point for method, point in points.items() if _near(curve.points, point)}
    far = [method for method in points if method not in near]
    figure, (axes,) = _figure(4.2)
    FrontierDisplay(curve, near, against="gap" if name == "error gap" else "worst").plot(axes, legend=False)
    _legend(figure, axes)
    (x, y), (end, least) = curve.points[0], curve.points[-1]
    alt = (
        f"A line from PCA (average error {plain(x)}, {name} {plain(y)}) to the smallest {name}, {plain(least)} at an "
        f"average error of {plain(end)}, with {listed(near)} on or above it."
    )
    caption = (
        f"What a smaller {name} between the groups of {view.attribute} costs at least, with k = {view.k}, on the "
        "training set. The shaded part is certified to be out of reach of every projection."
    )
    caption += f" Too far away for the frame: {listed(far)}." if far else ""
    return Drawn(figure, f"Average error and {name}, {view.attribute}", caption, alt)


def _near(line: np.ndarray, point: tuple[float, float]) -> bool:
    """Whether a point is within ``REACH`` times the extent of a line of it, and of one hundredth of its values."""
    low, high = line.min(axis=0), line.max(axis=0)
    room = REACH * np.maximum(high - low, 0.01 * np.abs(high))
    return bool((np.asarray(point) >= low - room).all() and (np.asarray(point) <= high + room).all())
