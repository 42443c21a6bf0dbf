"""The figures of a report: the library's displays on the numbers of the tables, and two plain plots.

Nothing has to be told by colour alone. Figures are as wide as can be read on a phone; on a wider screen the report
shows the same ones as wide as its tables.
"""

import io
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
from ...displays.method_styles import styles_of
from ...displays.style import settings
from ..fitting import PCA
from ..groups import TRAINING
from ..recommend import CONCERNS
from ..writing import file_names
from .blocks import plain
from .evidence import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, WIDE = 5.2, 11.6
#: Marks nearer to each other than this share of both axes are drawn as one.
APART = 0.025
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
        return self._svg(WIDTH)

    @cached_property
    def wide(self) -> bytes:
        """The same for a wide screen."""
        return self._svg(WIDE)

    def _svg(self, width: float) -> bytes:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        buffer, own = io.BytesIO(), self.figure.get_figwidth()
        with mpl.rc_context(settings()), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's fonts have it
            self.figure.set_figwidth(width)
            FigureCanvasSVG(self.figure).print_svg(buffer, metadata={"Date": None})
            self.figure.set_figwidth(own)
        return buffer.getvalue()


def draw(audit) -> dict[str, Drawn]:
    """The figures of an audit, under names that serve as file names."""
    import matplotlib as mpl

    found, stems = {}, file_names(audit.sample.attributes)
    with mpl.rc_context(settings()):
        for attribute, stem in stems.items():
            view = View(audit, attribute)
            frontier, makers = view.found.frontier, [_groups, _effects]
            if frontier is not None:
                few = frontier.joint is not None and audit.sample.d <= MOST_FEATURES
                makers += [_possible, _frontier] if few else [_frontier]
            found |= {f"{stem}-{one.kind}": one for one in (make(view) for make in makers)}
    return found


def _figure(height: float, rows: int = 1):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, squeeze=False)[:, 0]


def _legend(figure: "Figure", axes) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")


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
    rows = [view.row("error", name, group=label) | {"kind": "group"} for name in names for label in labels]
    rows += [view.row("average error", name) | {"kind": "all rows", "group": "all rows"} for name in names]
    frame = pd.DataFrame(rows).rename(columns={"method": "estimator"})
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
    return Drawn("groups", view.name, figure, f"Under PCA the errors go from {ends}.")


def _effects(view: View) -> Drawn:
    concerns = [name for name in view.answers if view.row(CONCERNS[name].effect) is not None]
    look, told = styles_of(view.methods + view.given), []
    figure, panels = _figure(0.5 + len(concerns) * (0.75 + 0.2 * len(look)), len(concerns))
    for axes, concern in zip(panels, concerns, strict=True):
        metric = CONCERNS[concern].effect
        rows = {method: row for method in look if (row := view.row(metric, method)) is not None}
        for method, row in rows.items():
            at = list(look).index(method)
            axes.plot([row["low"], row["high"]], [at, at], color=look[method].colour, linewidth=1.6)
            axes.plot(row["value"], at, linestyle="", markersize=7, **look[method].mark())
        axes.axvline(rows[PCA]["noise_q95"], color="#555555", linestyle="--", linewidth=1.1)
        axes.set(title=f"{concern}: {metric}", ylim=(len(look) - 0.4, -0.6))
        axes.set_yticks(range(len(look)), list(look), fontsize="small")
        best = min(rows, key=lambda method: rows[method]["value"])
        pca, least = (plain(rows[method]["value"]) for method in (PCA, best))
        told.append(f"The {metric} is {pca} under PCA, smallest under {best}: {least}.")
    return Drawn("effects", view.name, figure, " ".join(told))


def _points(view: View, wanted: list[tuple[str, str]]) -> dict[str, tuple[float, ...]]:
    """Some metrics of groups on the training set, by method."""
    return {one: tuple(view.row(metric, one, TRAINING, g)["value"] for metric, g in wanted) for one in view.methods}


def _shared(points: dict[str, tuple[float, ...]], line: np.ndarray) -> dict[str, list[str]]:
    """The methods of each mark, by the first of them: marks that would lie on each other become one."""
    every = np.vstack([line, *points.values()])
    near, found = APART * np.ptp(every, axis=0), {}
    for name, point in points.items():
        first = next((one for one in found if (np.abs(np.subtract(points[one], point)) <= near).all()), name)
        found.setdefault(first, []).append(name)
    return found


def _called(display, shared: dict[str, list[str]], figure: "Figure", axes) -> None:
    """Name all methods of each mark in the legend."""
    for mark, names in zip(display.lines_, shared.values(), strict=True):
        mark.set_label(", ".join(names))
    _legend(figure, axes)


def _possible(view: View) -> Drawn:
    frontier, groups = view.found.frontier, [("error", label) for label in view.labels]
    points, (figure, (axes,)) = _points(view, groups), _figure(4.6)
    shared = _shared(points, frontier.joint.boundary(60))
    shown = {name: points[name] for name in shared}
    display = JointRangeDisplay(frontier.joint, shown, labels=tuple(map(_name, view.labels)))
    _called(display.plot(axes, legend=False), shared, figure, axes)
    told = zip(view.labels, points[PCA], frontier.own, strict=True)
    alt = " ".join(f"PCA leaves {label} {plain(pca)}, at least {plain(own)} is left." for label, pca, own in told)
    return Drawn("possible", view.name, figure, alt)


def _frontier(view: View) -> Drawn:
    curves = view.found.frontier.curves
    name, against = ("error gap", "gap") if "error gap" in curves else ("worst error", "worst")
    curve = curves[name]
    points = _points(view, [("average error", ""), (name, "")])
    near = {method: point for method, point in points.items() if _near(curve.points, point)}
    figure, (axes,) = _figure(4.2)
    shared = _shared(near, curve.points)
    display = FrontierDisplay(curve, {name: near[name] for name in shared}, against=against)
    _called(display.plot(axes, legend=False), shared, figure, axes)
    (x, y), (end, least) = curve.points[0], curve.points[-1]
    alt = f"From PCA ({plain(x)}, {name} {plain(y)}) to the smallest {name}: {plain(least)} at {plain(end)}."
    far = [method for method in points if method not in near]
    return Drawn("frontier", view.name, figure, alt, f" Too far away for the frame: {', '.join(far)}." if far else "")


def _near(line: np.ndarray, point: tuple[float, float]) -> bool:
    """Whether a point is within ``REACH`` times the extent of a line of it, and of one hundredth of its values."""
    low, high = line.min(axis=0), line.max(axis=0)
    room = REACH * np.maximum(high - low, 0.01 * np.abs(high))
    return bool((np.asarray(point) >= low - room).all() and (np.asarray(point) <= high + room).all())
