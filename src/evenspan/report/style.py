"""One look for all figures: colours that survive colour blindness, a marker for each series, an opaque background."""

from collections.abc import Iterator
from itertools import count

import matplotlib as mpl
from matplotlib_inline.backend_inline import set_matplotlib_formats

#: Colours of Okabe and Ito (2008), readable with every common colour blindness; the yellow is left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#222222"

SETTINGS = {
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "evenspan",
    "text.color": INK,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
}


def looks() -> Iterator[tuple[str, str]]:
    """Pairs of colour and marker without end; the first 49 are different."""
    for i in count():
        yield COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def use() -> None:
    """Apply the look in a notebook; the same figure then gives the same bytes on every run."""
    mpl.rcParams.update(SETTINGS)
    set_matplotlib_formats("svg", metadata={"Date": None})
