"""What the explorer of the joint range works on: moments of two groups, the points of all methods, and their looks.

The page computes in the browser, from the moments alone, the set of attainable pairs of errors and the optimum of each
criterion. What takes other solvers, the points of the methods, is computed here with the settings of the comparison
(``evenspan.methods``), fitted to all rows. Numbers are written with all of their digits.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ConfigurationError, FairError, FairWarning
from evenspan.core.groups import label_text
from evenspan.core.linalg import symmetrise
from evenspan.core.moments import GroupMoments
from evenspan.displays.method_looks import looks
from evenspan.methods import METHODS
from evenspan.reconstruction.group_errors import group_matrices

from .. import records
from ..data import group_moments
from ..data.registry import entry
from ..papers.across import tables as across_tables
from ..papers.across.protocol import DATASETS, whole

#: Features up to which the boundary takes a second or two on a processor four times slower than a desk computer's.
MOST_FEATURES = 60
#: Components up to which the methods are fitted.
MOST_COMPONENTS = 10
#: Below this share of the largest eigenvalue a direction of the data is taken to be empty.
EMPTY = 1e-9
#: Versions of a source that the comparison leaves out, but that another chapter shows.
FURTHER = ("german_credit", "taiwan_credit")
LEFT_OUT: Mapping[str, str] = {
    "adult": f"has more than {MOST_FEATURES} features, so that a phone would need several seconds for each set",
    "lsac, lsac_clean, lsac_bar, lsac_arff": "are other versions of lsac_bw",
    "lfw_24x24": "has 576 features",
}


def names() -> tuple[str, ...]:
    """The data sets of the page: two groups, and not too many features."""
    found = [name for name in DATASETS if name not in LEFT_OUT]
    return (*found, *FURTHER)


def moments(name: str) -> GroupMoments:
    """Standardised moments of all rows of a data set, as the comparison prepares them.

    Raises
    ------
    ConfigurationError
        The data set is not on the page.
    """
    if name not in names():
        why = LEFT_OUT.get(name, "is not one of the tables that are compared")
        raise ConfigurationError(f"{name!r} {why}; the explorer has {', '.join(names())}.")
    return whole(name) if name in DATASETS else group_moments(name).standardised()


def most_components(found: GroupMoments) -> int:
    """The largest k of the page: below the rank of the data, because there nothing is left to be shared."""
    values = np.linalg.eigvalsh(found.scatter)
    rank = int((values > EMPTY * values[-1]).sum(axis=0))
    return min(MOST_COMPONENTS, rank - 1)


def method_points(found: GroupMoments, sizes: Iterable[int], chosen: Iterable[str] | None = None) -> pd.DataFrame:
    """Errors of both groups under every method that moments determine.

    Parameters
    ----------
    found : GroupMoments
        Of two groups, standardised.
    sizes : iterable of int
        Numbers of components.
    chosen : iterable of str, optional
        Names of methods; by default all.

    Returns
    -------
    DataFrame
        Columns ``k, method, error_0, error_1, projection, reason``. An oblique map is no projection, so that the set
        does not bind it. A method without answer has errors that are not numbers, and the reason.
    """
    rows, matrices = [], np.array([symmetrise(M) for M in group_matrices(found)])
    for k in sizes:
        for name in _methods() if chosen is None else chosen:
            try:
                with warnings.catch_warnings(action="ignore", category=FairWarning):
                    fitted = METHODS[name].make(k, 0).fit_moments(found)
            except FairError as error:
                rows.append((k, name, np.nan, np.nan, True, str(error)))
                continue
            back = fitted.subspace_.V @ fitted.components_
            rest = np.eye(found.d) - back
            offset = rest @ (found.mean - fitted.mean_)  # zero for methods that subtract the overall mean
            errors = np.einsum("ij,gjk,ik->g", rest, matrices, rest, optimize=True) + offset @ offset
            straight = bool(np.abs(back - back.T).max() < 1e-8)
            rows.append((k, name, float(errors[0]), float(errors[1]), straight, ""))
    return pd.DataFrame(rows, columns=["k", "method", "error_0", "error_1", "projection", "reason"])


def data_set(name: str, chosen: Iterable[str] | None = None) -> dict:
    """Everything the page knows about one data set, as values that JSON can hold."""
    found, about = moments(name), entry(name)
    lower = np.tril_indices(found.d)
    most = most_components(found)
    points = method_points(found, range(1, most + 1), chosen)
    labels = [label_text(label) for label in found.labels]
    return {
        "name": name,
        "title": re.split(r" \(|,", about.title)[0] if name not in FURTHER else about.title,
        "about": DATASETS[name].groups if name in DATASETS else "",
        "groups": [about.group_names.get(label, label) for label in labels],
        "labels": labels,
        "counts": found.counts.tolist(),
        "d": found.d,
        "most": most,
        "matrices": [symmetrise(M)[lower].tolist() for M in group_matrices(found)],
        "points": {
            str(k): [
                [row.method, _rounded(row.error_0), _rounded(row.error_1), *([row.reason] if row.reason else [])]
                for row in some.itertuples()
            ]
            for k, some in points.groupby("k")
        },
    }


def data() -> dict:
    """The data of the page: looks of the methods, and every data set."""
    return records.computed_once("explorer") or {
        "methods": method_marks(),
        "sets": [data_set(name) for name in names()],
    }


def method_marks() -> list[dict]:
    """Colour, outline and size of every method of moments, as everywhere in the book, and where it is derived."""
    found = looks(_methods())
    return [
        {
            "name": name,
            "equalises": METHODS[name].equalises,
            "colour": look.colour,
            "size": look.size,
            "path": outline(look.marker),
            "oblique": name == "LEACE",
            "page": f"{across_tables.CHAPTERS[name]}.html",
        }
        for name, look in found.items()
    ]


def outline(marker) -> str:
    """A marker of matplotlib as the path of an SVG drawing, one unit wide, upright where y grows downwards.

    Examples
    --------
    >>> outline("s")
    'M-0.5 0.5L0.5 0.5L0.5 -0.5L-0.5 -0.5Z'
    """
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform())
    letters = {path.MOVETO: "M", path.LINETO: "L", path.CURVE3: "Q", path.CURVE4: "C", path.CLOSEPOLY: "Z"}
    parts = []
    for corners, code in path.iter_segments(simplify=False, curves=True):
        pairs = corners.reshape(-1, 2) * (1.0, -1.0)
        numbers = (f"{round(float(x), 4) + 0.0:g}" for x in pairs.flat)
        parts.append(letters[code] + ("" if code == path.CLOSEPOLY else " ".join(numbers)))
    return "".join(parts)


def page(found: dict) -> HTML:
    """The explorer as a part of a page: an empty place that its scripts fill, and the data beside it."""
    # Inside a script element nothing but its own end mark means anything to a browser.
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    scripts = "".join(f'<script defer src="_static/explorer/{name}.mjs"></script>\n' for name in SCRIPTS)
    return HTML(
        '<div class="explorer" data-explorer>\n'
        "<noscript><p>This part of the page computes as you choose, and needs scripts, which are switched off here. "
        "The last figure of the page shows the state in which it opens.</p></noscript>\n</div>\n"
        f'<script type="application/json" id="explorer-moments">{text}</script>\n{scripts}'
    )


#: Scripts of the page in the order in which they need one another, in ``book/_static/explorer``.
SCRIPTS = ("eigen", "range", "criteria", "optimum", "plot", "parts", "page")


def _methods() -> list[str]:
    return [name for name, method in METHODS.items() if not method.points]


def _rounded(value: float) -> float | None:
    return float(f"{value:.12g}") if np.isfinite(value) else None
