"""One look for all figures: colours that survive colour blindness, a marker for each series, an opaque background.

Methods and groups have looks of their own in :mod:`evenspan.displays.method_styles`; the colours here are for series of
other kinds.
"""

import sys
from collections.abc import Iterator
from itertools import count

#: For series that are neither methods nor groups: blue, vermilion and green of Okabe and Ito (2008), and others that
#: tests tell from these; their sky blue, purple and yellow have less than 3:1 against white, or nearly so.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#8A0F6E", "#7A6CFF", "#6B2D0A", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Inches across a column of the book: the page scales a wider figure down, and its text with it.
COLUMN = 7.8
INK = "#222222"
TICKS = "#555555"
#: Where a number comes from, the same in every figure: colour and marker, the printed ones hollow.
SOURCES = {"published": (COLOURS[1], "D"), "ours": (COLOURS[0], "o")}

SETTINGS = {
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "figure.figsize": (COLUMN, 4.8),
    # Matplotlib sets text in the first; the others are as wide, or nearly so, where a reader's computer lacks it.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Geneva"],
    "font.size": 10,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "savefig.pad_inches": 0.04,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "evenspan",
    "text.color": INK,
    "xtick.color": TICKS,
    "ytick.color": TICKS,
}


def colour_marker_pairs() -> Iterator[tuple[str, str]]:
    """Pairs of colour and marker without end, for series that are neither methods nor groups; 49 are different."""
    for i in count():
        yield COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def settings() -> dict:
    """Settings of matplotlib, for ``rc_context`` where a figure is drawn outside a notebook."""
    import matplotlib as mpl

    return SETTINGS | {"axes.prop_cycle": mpl.cycler(color=COLOURS)}


def use() -> None:
    """Apply the look; the same figure then gives the same bytes on every run. A notebook shows figures as drawings."""
    import matplotlib as mpl

    mpl.rcParams.update(settings())
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})
