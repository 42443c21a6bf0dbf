"""All figures of an audit by name, each with its title, its caption and words for those who do not see it."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import figures
from .blocks import listed, plain, svg
from .evidence import SIDE_BY_SIDE, View, value_of
from .figures import FITTING, HELD_OUT, chosen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run import Audit

READERS = {"linear AUC": "a linear classifier", "kernel AUC": "a classifier with a kernel"}
_RING = "The ring is the recommended method."


def slug(attribute: str, taken: set[str]) -> str:
    """A name for files: lower-case letters, digits and hyphens, not yet taken."""
    plain_name = re.sub(r"[^a-z0-9]+", "-", attribute.lower()).strip("-")[:40] or "attribute"
    name, number = plain_name, 2
    while name in taken:
        name, number = f"{plain_name}-{number}", number + 1
    taken.add(name)
    return name


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure, its title, what it shows, and its content in words."""

    figure: "Figure"
    title: str
    caption: str
    alt: str

    @cached_property
    def svg(self) -> bytes:
        """The figure as SVG, drawn once: drawing takes longer than all that the figure is made from."""
        return svg(self.figure)


def by_attribute(audit: "Audit") -> dict[str, dict[str, Drawn]]:
    """The figures of every attribute of an audit."""
    return {attribute: of_attribute(View(audit, attribute)) for attribute in audit.sample.attributes}


def named(found: dict[str, dict[str, Drawn]]) -> dict[str, Drawn]:
    """Figures of attributes, in the order of the report, under names that serve as file names."""
    taken: set[str] = set()
    stems = {attribute: slug(attribute, taken) for attribute in found}
    return {f"{stems[one]}-{name}": drawn for one, drawings in found.items() for name, drawn in drawings.items()}


def gallery(audit: "Audit") -> dict[str, Drawn]:
    """Every figure of an audit by name, newly made."""
    return named(by_attribute(audit))


def of_attribute(view: View) -> dict[str, Drawn]:
    """The figures of one attribute."""
    found = {"pca-groups": _pca_groups(view)}
    if len(view.sizes) > 1:
        found["pca-over-k"] = _pca_over_k(view)
    found["methods"] = _methods(view)
    if len(view.sizes) > 1:
        found["methods-over-k"] = _methods_over_k(view)
    if chosen(view.rows, part=HELD_OUT, k=view.k)["metric"].isin(list(READERS)).any():
        found["predictability"] = _predictability(view)
    found |= _possible(view)
    found["held-out"] = _held_out(view)
    return found


def _pca_groups(view: View) -> Drawn:
    pca = view.rows[view.rows["method"] == "PCA"]
    metrics = {"error": "error", "loss": "loss: error beyond the group's own best"}
    average = float(view.at("average error")["value"])
    values = chosen(pca, metric="error", part=HELD_OUT, k=view.k).sort_values("value")
    first, last = values.iloc[0], values.iloc[-1]
    alt = (
        f"Dots with intervals for {len(values)} groups of {view.attribute}. The error goes from "
        f"{plain(first['value'])} ({first['group']}) to {plain(last['value'])} ({last['group']}); the average of all "
        f"rows is {plain(average)}."
    )
    caption = (
        f"Errors and losses of the groups of {view.attribute} under standard PCA with k = {view.k}, with 95% "
        "intervals. Filled marks: held-out rows; hollow marks: rows that PCA was fitted to."
    )
    fig = figures.groups_under_pca(pca, metrics, k=view.k, labels=view.labels, overall=average)
    return Drawn(fig, f"Standard PCA and {view.attribute}", caption, alt)


def _pca_over_k(view: View) -> Drawn:
    pca = view.rows[view.rows["method"] == "PCA"]
    first, last = view.sizes[0], view.sizes[-1]
    gaps = [value_of(pca, metric="error gap", part=HELD_OUT, k=k, group="") for k in (first, last)]
    alt = (
        f"One line for each group of {view.attribute}, falling with the number of components. The largest less the "
        f"smallest error is {plain(gaps[0]['value'])} with k = {first} and {plain(gaps[1]['value'])} with k = {last}."
    )
    caption = (
        f"Error of each group of {view.attribute} under standard PCA on held-out rows, by number of components. "
        "Bands are 95% intervals."
    )
    fig = figures.groups_over_k(pca, "error", "error", labels=view.labels, at=view.k)
    return Drawn(fig, f"Standard PCA and {view.attribute} over k", caption, alt)


def _methods(view: View) -> Drawn:
    head = SIDE_BY_SIDE.get(view.metric, view.metric)
    values = chosen(view.rows, metric=view.metric, part=HELD_OUT, k=view.k, group="").sort_values("value")
    first, last = values.iloc[0], values.iloc[-1]
    alt = (
        f"One mark with two intervals for each of {len(values)} methods. The {head} goes from {plain(first['value'])} "
        f"({first['method']}) to {plain(last['value'])} ({last['method']}). PCA has "
        f"{plain(view.at(view.metric)['value'])}."
    )
    caption = (
        f"Every method for {view.attribute} with k = {view.k} on held-out rows: further left the {head} is smaller, "
        f"further down all rows together lose less. Lines are 95% intervals. {_RING}"
    )
    fig = figures.gap_and_price(
        view.rows, view.metric, "average error", k=view.k, words=(head, "average error"), best=view.best
    )
    return Drawn(fig, f"Methods for {view.attribute}", caption, alt)


def _methods_over_k(view: View) -> Drawn:
    names = list(dict.fromkeys([view.metric, "average error"]))
    metrics = {name: SIDE_BY_SIDE.get(name, name) for name in names}
    alt = (
        f"Two panels with a line for each method, for k from {view.sizes[0]} to {view.sizes[-1]}: "
        f"{metrics[view.metric]} and average error. The numbers are in the table below."
    )
    caption = f"Every method for {view.attribute} on held-out rows, over the number of components."
    return Drawn(figures.methods_over_k(view.rows, metrics), f"Methods for {view.attribute} over k", caption, alt)


def _predictability(view: View) -> Drawn:
    said = []
    for metric, reader in READERS.items():
        values = chosen(view.rows, metric=metric, part=HELD_OUT, k=view.k, group="").sort_values("value")
        if len(values):
            low, high = values.iloc[0], values.iloc[-1]
            said.append(
                f"for {reader} the AUC goes from {low['value']:.2f} ({low['method']}) to {high['value']:.2f} "
                f"({high['method']})"
            )
    alt = f"A dot with its interval for each method in two panels: {' and '.join(said)}. A line marks guessing at 0.5."
    caption = (
        f"How well {view.attribute} can be predicted from the {view.k} components of each method, on held-out rows. "
        "Classifiers are fitted to rows of the fitting part. Lines are 95% intervals."
    )
    fig = figures.predictability(view.rows, READERS, k=view.k)
    return Drawn(fig, f"Predictability of {view.attribute}", caption, alt)


def _held_out(view: View) -> Drawn:
    head = SIDE_BY_SIDE.get(view.metric, view.metric)
    pairs = {part: view.at(view.metric, view.best, part) for part in (FITTING, HELD_OUT)}
    alt = (
        f"Two dots for each method. The {head} of {view.best} is {plain(pairs[FITTING]['value'])} on the rows it was "
        f"fitted to and {plain(pairs[HELD_OUT]['value'])} on held-out rows."
    )
    caption = (
        f"The {head} for {view.attribute} with k = {view.k}: hollow marks are the rows that a method was fitted to, "
        "filled ones rows that it never saw. Lines are 95% intervals."
    )
    fig = figures.fitted_and_held_out(view.rows, view.metric, head, k=view.k)
    return Drawn(fig, f"Fitted and held out, {view.attribute}", caption, alt)


def _possible(view: View) -> dict[str, Drawn]:
    """The frontier at the recommended number of components, with the methods in it, all on the fitting part."""
    at_k = view.frontier[view.frontier["k"] == view.k]
    found = {}
    polygon = at_k[(at_k["curve"] == "joint range") & (at_k["label"] != "PCA")][["x", "y"]].to_numpy(dtype=float)
    if len(polygon):
        found["possible"] = _pairs(view, at_k, polygon)
    for curve in dict.fromkeys([view.metric, "worst error"]):
        rows = at_k[at_k["curve"] == curve]
        if len(rows):
            found[f"frontier-{curve.replace(' ', '-')}"] = _curve(view, curve, rows)
    return found


def _pairs(view: View, at_k: pd.DataFrame, polygon: np.ndarray) -> Drawn:
    own = at_k[at_k["curve"] == "own best"]
    labels = tuple(own["label"].astype(str))
    errors = chosen(view.rows, metric="error", part=FITTING, k=view.k).pivot(
        index="method", columns="group", values="value"
    )
    order = [name for name in view.rows["method"].unique() if name in errors.index]
    points = {name: tuple(errors.loc[name, list(labels)].astype(float)) for name in order}
    fig = figures.attainable_pairs(polygon, lower_edge(polygon), points, labels, view.best)
    low = own["x"].to_numpy(dtype=float)
    alt = (
        f"A region of pairs of errors and {len(points)} methods in it. No projection leaves {labels[0]} less than "
        f"{plain(low[0])} or {labels[1]} less than {plain(low[1])}; PCA has {plain(points['PCA'][0])} and "
        f"{plain(points['PCA'][1])}, {view.best} {plain(points[view.best][0])} and {plain(points[view.best][1])}."
    )
    caption = (
        f"All pairs of errors that projections with k = {view.k} can leave the two groups of {view.attribute}, on the "
        f"rows that the methods were fitted to. The heavy line is certified: nothing lies below and to the left of it. "
        f"{_RING} LEACE is no projection and may lie outside.{_outside(lower_edge(polygon), points, 'the right panel')}"
    )
    return Drawn(fig, f"What is possible for {view.attribute}", caption, alt)


def _curve(view: View, curve: str, rows: pd.DataFrame) -> Drawn:
    pairs = {
        name: (view.at("average error", name, FITTING), view.at(curve, name, FITTING))
        for name in view.rows["method"].unique()
    }
    points = {
        name: (float(x["value"]), float(y["value"]))
        for name, (x, y) in pairs.items()
        if x is not None and y is not None
    }
    line = rows[["x", "y", "bound"]].to_numpy(dtype=float)
    fig = figures.average_and(curve, line, points, view.best)
    end = rows.iloc[-1]
    alt = (
        f"A falling line from PCA ({plain(line[0, 0])}, {plain(line[0, 1])}) to the smallest {curve} that was reached, "
        f"{plain(end['y'])} at an average error of {plain(end['x'])}, and {len(points)} methods on or above it: "
        f"{listed(points)}."
    )
    caption = (
        f"What a smaller {curve} between the groups of {view.attribute} costs at least, with k = {view.k}, on the rows "
        "that the methods were fitted to. The line was reached by projections; the shaded part below it is certified "
        f"to be out of reach of every projection. {_RING}{_outside(line[:, :2], points, 'the frame')}"
    )
    return Drawn(fig, f"Average error and {curve}, {view.attribute}", caption, alt)


def _outside(line: np.ndarray, points: dict[str, tuple[float, float]], what: str) -> str:
    far = [name for name in points if name not in figures.inside(line, points)]
    return f" Too far away for {what}: {listed(far)}." if far else ""


def lower_edge(polygon: np.ndarray) -> np.ndarray:
    """Of a closed boundary in counter-clockwise order the points from the leftmost one down to the lowest one."""
    start = int(np.lexsort((polygon[:, 1], polygon[:, 0]))[0])
    turned = np.roll(polygon, -start, axis=0)
    stop = int(np.lexsort((turned[:, 0], turned[:, 1]))[0])
    return turned[: stop + 1]
