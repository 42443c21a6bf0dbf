"""Figures of fair clustering: every method, reading, group and cell is drawn where it belongs, and nothing else."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from compendium.papers.zhou2024 import figures

KEYS = product(("FKKM", "VFC"), (2.0, 0.0, 0.1, 50.0), ("ACC", "MNCE"))
SPREAD = pd.DataFrame(
    [
        *((*key, 0.5 + place / 100, 0.4, 0.7) for place, key in enumerate(KEYS)),
        *(("SC", np.nan, metric, 0.6, 0.6, 0.6) for metric in ("ACC", "MNCE")),
    ],
    columns=["method", "weight", "metric", "median", "smallest", "largest"],
)
SUMMARY = pd.DataFrame(
    [(m, metric, v, 0.01) for m, v in (("KKM", 0.5), ("FKKM", 0.9)) for metric in ("ACC", "NMI", "MNCE")],
    columns=["method", "metric", "mean", "std"],
)
PRINTED = pd.DataFrame({"method": ["KKM"], "metric": ["ACC"], "mean": [0.95]})
WEIGHTS = pd.DataFrame(
    # the mean of the last is below its smallest by a rounding, and drawn all the same
    [("FMKKM", 1, 0.5, 0.4, 0.7), ("FMKKM", 2, 0.5, 0.4, 0.7), ("FMKKM-f", 1, np.nextafter(0.1, 0), 0.1, 0.1)],
    columns=["method", "kernel", "mean", "smallest", "largest"],
)
#: How each figure is made; titles of its panels or labels of its axes, names in its legend, and numbers of lines drawn
#: in the first panel.
DRAWN = {
    "judged": (lambda: figures.judged(SUMMARY, ["ACC"], PRINTED), ["ACC"], ["printed", "ours"], [0.95, 0.5, 0.9]),
    "judged alone": (lambda: figures.judged(SUMMARY, ["ACC", "NMI"]), ["ACC", "NMI"], [], [0.5, 0.9]),
    "kernel_weights": (
        lambda: figures.kernel_weights(WEIGHTS, ["one", "two"]), ["2 two"], ["FMKKM", "FMKKM-f"], [0.5, 0.1],
    ),
    "against": (
        lambda: figures.against(SPREAD, "MNCE", ["ACC"]), ["MNCE", "ACC"], ["FKKM", "VFC", "SC"],
        [0.53, 0.55, 0.51, 0.57, 0.6],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_has_its_labels_its_legend_and_its_numbers(name):
    draw, words, entries, numbers = DRAWN[name]
    fig = draw()
    fig.canvas.draw()
    panels = [panel for panel in fig.axes if panel.get_visible()]
    said = {text.get_text() for panel in panels for text in panel.findobj(Text)}
    assert set(words) <= said
    assert [text.get_text() for legend in fig.legends for text in legend.get_texts()] == entries
    drawn = np.concatenate([line.get_xdata() for panel in panels[:1] for line in panel.lines] or [[]]).astype(float)
    for number in numbers:
        assert np.isclose(drawn, number).any(), number
