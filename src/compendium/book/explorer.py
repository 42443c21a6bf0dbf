"""What the explorer of the joint range shows: the boundary of the set and the points of all methods, computed ahead."""

import json
import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.markers import MarkerStyle

from evenspan import JointRange
from evenspan.core.groups import label_text
from evenspan.core.moments import GroupMoments
from evenspan.methods import METHODS
from evenspan.metrics.linear_map import map_errors

from ..data import group_moments
from ..data.registry import entry
from ..method_styles import styles_of
from ..papers.across.protocol import DATASETS, Parts, fit_all, whole
from ..papers.across.tables import CHAPTERS

MOST_COMPONENTS = 10
#: Directions of the boundary, counter-clockwise from the lower left: the frontier by one degree.
ANGLES = np.deg2rad([*range(-90, 0, 3), *range(90), *range(90, 180, 3), *range(180, 270, 10)])
#: Tables with many more features, and versions of a source that the comparison leaves out, but another chapter shows.
LEFT_OUT, FURTHER = ("adult", "lfw_24x24"), ("german_credit", "taiwan_credit")


def names() -> tuple[str, ...]:
    """The data sets of the page."""
    return (*(name for name in DATASETS if name not in LEFT_OUT), *FURTHER)


def moments(name: str) -> GroupMoments:
    """Standardised moments of all rows of a data set, as the comparison prepares them."""
    return whole(name) if name in DATASETS else group_moments(name).standardised()


def method_points(found: GroupMoments, sizes: Iterable[int], chosen: Iterable[str] | None = None) -> pd.DataFrame:
    """Errors of both groups under methods of moments (by default all), or the reason why there are none."""
    rows, sizes = [], tuple(sizes)
    for name in chosen or [name for name, method in METHODS.items() if not method.points]:
        for k, fit in fit_all(name, sizes, Parts(found, found), 0).items():
            errors = [None, None] if fit.answer is None else map(_rounded, map_errors(found, fit.answer))
            rows.append((k, name, *errors, fit.reason))
    return pd.DataFrame(rows, columns=["k", "method", "error_0", "error_1", "reason"], dtype=object)


def data_set(name: str, chosen: Iterable[str] | None = None) -> dict:
    """Everything the page knows about one data set, as values that JSON can hold."""
    found, about = moments(name), entry(name)
    # Below the rank, because there nothing is left to be shared.
    sizes = range(1, min(MOST_COMPONENTS, np.linalg.matrix_rank(found.scatter, 1e-9, hermitian=True) - 1) + 1)
    labels = [label_text(label) for label in found.labels]
    points = method_points(found, sizes, chosen)
    return {
        "name": name,
        "title": about.title if name in FURTHER else re.split(r" \(|,", about.title)[0],
        "groups": [about.group_names.get(label, f"group {label}") for label in labels],
        "counts": found.counts.tolist(),
        "boundary": {str(k): boundary(JointRange.from_moments(found, k)) for k in sizes},
        "points": {str(k): some.drop(columns="k").to_numpy().tolist() for k, some in points.groupby("k")},
    }


def boundary(joint: JointRange) -> list[tuple[float, float]]:
    """Points of the boundary, counter-clockwise, of a straight piece both ends."""
    ends = (end for angle in ANGLES for end in joint.support(float(angle)).ends)
    return list(dict.fromkeys((_rounded(x), _rounded(y)) for x, y in ends))


def data() -> dict:
    """The data of the page: looks of the methods, and every data set."""
    return {"methods": marks(), "sets": [data_set(name) for name in names()]}


def marks() -> list[dict]:
    """Colour and outline of every method of moments, as everywhere in the book, and the chapter that derives it."""
    found = styles_of([name for name, method in METHODS.items() if not method.points])
    rows = [(name, look.colour, outline(look.marker), f"{CHAPTERS[name]}.html") for name, look in found.items()]
    return [dict(zip(("name", "colour", "path", "page"), row, strict=True)) for row in rows]


def outline(marker) -> str:
    """A marker of matplotlib as the path of an SVG drawing, one unit wide, upright where y grows downwards."""
    style, drawn = MarkerStyle(marker), ""
    path = style.get_path().transformed(style.get_transform())
    letters = {path.MOVETO: "M", path.LINETO: "L", path.CURVE3: "Q", path.CURVE4: "C"}
    for corners, code in path.iter_segments(simplify=False):
        drawn += letters.get(code, "Z")
        drawn += " ".join(f"{x:.4g}" for x in (corners.reshape(-1, 2) * (1, -1)).flat) if code in letters else ""
    return drawn


def page(found: dict) -> HTML:
    """The explorer as a part of a page: an empty place that its script fills, and the data beside it."""
    # Inside a script element nothing but its own end mark means anything to a browser.
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return HTML(
        '<div class="explorer" data-explorer><noscript><p>This part of the page needs scripts, which are switched off '
        "here. The last figure of the page shows the state in which it opens.</p></noscript></div>\n"
        f'<script type="application/json" id="explorer-json">{text}</script>\n'
        '<script defer src="_static/explorer.mjs"></script>'
    )


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")
