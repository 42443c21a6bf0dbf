"""The figures of a report: the library's displays on the numbers of the tables, and two plain plots.

Methods and groups look as everywhere (``evenspan.displays``): a marker beside each colour, so that nothing has to be
told by colour alone. Figures are as wide as can be read on a phone.
"""

import base64
import io
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
from ...displays.method_looks import looks
from ...displays.style import settings
from ..evaluation import TRAINING
from ..fitting import PCA
from ..recommend import CONCERNS
from ..writing import file_names
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
    """A figure of one attribute, and its numbers in words; the report has its caption."""

    kind: str
    attribute: str
    figure: "Figure"
    alt: str
    note: str = ""  # more for the caption

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

    @property
    def address(self) -> str:
        """The figure as the address of an image."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode('ascii')}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height on a screen."""
        width, height = self.figure.get_size_inches()
        return round(96 * width), round(96 * height)


def draw(audit: "Audit") -> dict[str, Drawn]:
    """The figures of an audit, under names that serve as file names."""
    import matplotlib as mpl

    found, stems = {}, file_names(audit.sample.attributes)
    with mpl.rc_context(settings()):
        for attribute in audit.sample.attributes:
            view = View(audit, attribute)
            drawn = [_groups(view), _effects(view)]
            if view.frontier is not None:
                if view.frontier.joint is not None and audit.sample.d <= MOST_FEATURES:
                    drawn.append(_possible(view))
                drawn.append(_frontier(view))
            found |= {f"{stems[attribute]}-{one.kind}": one for one in drawn}
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
    errors = frame[(frame["estimator"] == PCA) & (frame["kind"] == "group")].sort_values("value")
    ends = " to ".join(f"{plain(value)} ({group})" for group, value in errors[["group", "value"]].to_numpy()[[0, -1]])
    return Drawn("groups", view.attribute, figure, f"Under PCA the errors go from {ends}.")


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
        values = {one: row["value"] for one in view.methods if (row := view.row(metric, one)) is not None}
        best = min(values, key=values.get)
        told.append(f"The {metric} is {plain(values[PCA])} under PCA, smallest under {best}: {plain(values[best])}.")
    return Drawn("effects", view.attribute, figure, " ".join(told))


def _possible(view: View) -> Drawn:
    points = {
        method: tuple(float(view.row("error", method, TRAINING, label)["value"]) for label in view.labels)
        for method in view.methods
    }
    figure, (axes,) = _figure(4.6)
    JointRangeDisplay(view.frontier.joint, points, labels=tuple(map(_name, view.labels))).plot(axes, legend=False)
    _legend(figure, axes)
    told = zip(view.labels, points[PCA], view.frontier.own, strict=True)
    alt = " ".join(f"PCA leaves {label} {plain(pca)}, at least {plain(own)} is left." for label, pca, own in told)
    return Drawn("possible", view.attribute, figure, alt)


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
    alt = f"From PCA ({plain(x)}, {name} {plain(y)}) to the smallest {name}: {plain(least)} at {plain(end)}."
    note = f" Too far away for the frame: {listed(far)}." if far else ""
    return Drawn("frontier", view.attribute, figure, alt, note)


def _near(line: np.ndarray, point: tuple[float, float]) -> bool:
    """Whether a point is within ``REACH`` times the extent of a line of it, and of one hundredth of its values."""
    low, high = line.min(axis=0), line.max(axis=0)
    room = REACH * np.maximum(high - low, 0.01 * np.abs(high))
    return bool((np.asarray(point) >= low - room).all() and (np.asarray(point) <= high + room).all())
