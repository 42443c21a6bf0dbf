"""Figures of fair clustering: every method, reading, group and cell is drawn where it belongs, and nothing else."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import BarContainer
from matplotlib.text import Text

from compendium import protocol
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
PATHS = pd.DataFrame(
    [(seed, w, "MNCE", 0.3 * w + 0.01 * seed) for seed in (0, 1) for w in (1.0, 2.0, 3.0)],
    columns=["split", "weight", "metric", "value"],
)
READINGS = pd.DataFrame(
    [("SC", "as fixed", 0.1), ("SC", "other", 0.05), ("KKM", "as fixed", 0.02)],
    columns=["method", "reading", "deviation"],
)
WEIGHTS = pd.DataFrame(
    # the mean of the last is below its smallest by a rounding, and drawn all the same
    [("FMKKM", 1, 0.5, 0.4, 0.7), ("FMKKM", 2, 0.5, 0.4, 0.7), ("FMKKM-f", 1, np.nextafter(0.1, 0), 0.1, 0.1)],
    columns=["method", "kernel", "mean", "smallest", "largest"],
)
BOUND = pd.DataFrame(
    [(1.0, 2.0, 30.0, 32.0, 8.0, 0.9), (0.0, 1.0, 10.0, 11.0, 4.0, 0.2)],
    columns=["weight", "empirical", "excess", "bound", "largest possible", "MNCE"],
)
STARTS = pd.DataFrame(product(("relaxed", "random"), (0.0, 5.0), range(3)), columns=["start", "weight", "split"])
COUNTS = {"unfair": np.array([[5, 0, 1], [0, 7, 2], [1, 1, 9]]), "fair": np.array([[2, 3, 1], [3, 3, 3], [4, 4, 3]])}

#: How each figure is made; titles of its panels or labels of its axes, names in its legend, and numbers of lines drawn
#: in the first panel.
DRAWN = {
    "judged": (lambda: figures.judged(SUMMARY, ["ACC"], PRINTED), ["ACC"], ["printed", "ours"], [0.95, 0.5, 0.9]),
    "judged alone": (lambda: figures.judged(SUMMARY, ["ACC", "NMI"]), ["ACC", "NMI"], [], [0.5, 0.9]),
    "without classes": (
        lambda: figures.quality_and_fairness(SUMMARY, "MNCE", []), ["Without classes quality is unknown."], [], [],
    ),
    "search_paths": (lambda: figures.search_paths(PATHS, ["MNCE"]), ["MNCE"], ["tried", "kept"], [1.0, 2.0, 3.0]),
    "readings": (lambda: figures.readings(READINGS), ["SC: other"], ["as fixed before", "other reading"], [0.1, 0.02]),
    "kernel_weights": (
        lambda: figures.kernel_weights(WEIGHTS, ["one", "two"]), ["2 two"], ["FMKKM", "FMKKM-f"], [0.5, 0.1],
    ),
    "quality_and_fairness": (
        lambda: figures.quality_and_fairness(SUMMARY, "MNCE", ["ACC", "NMI"]), ["ACC", "NMI"], ["KKM", "FKKM"],
        [0.5, 0.9],
    ),
    "over_weight": (
        lambda: figures.over_weight(SPREAD, ["ACC", "MNCE", "NMI"], {"FKKM": 2.0}), ["ACC", "MNCE", "NMI"],
        ["FKKM", "VFC"], [0.0, 0.1, 2.0, 50.0],  # SC has no weight
    ),
    "against": (
        lambda: figures.against(SPREAD, "MNCE", ["ACC"]), ["MNCE", "ACC"], ["FKKM", "VFC", "SC"],
        [0.53, 0.55, 0.51, 0.57, 0.6],
    ),
    "bound": (
        lambda: figures.bound(BOUND, 1.0), ["fairness weight λ", "MNCE"],
        ["the bound, sum of both", "R(λ)", "empirical term", "largest value that is possible", "λ of the rule"],
        [0.0, 1.0],
    ),
    "starts": (
        lambda: figures.starts(STARTS.assign(value=STARTS["split"] + STARTS["weight"]), "value", "below the best"),
        ["λ = 0", "λ = 5", "relaxed", "random"], [], [0.0, 1.0, 2.0],
    ),
    "cluster_bars": (lambda: figures.cluster_bars(COUNTS, ["a", "b", "c"]), ["unfair", "fair"], ["a", "b", "c"], []),
    "heat_maps": (lambda: figures.heat_maps({"K": (np.eye(4), [0.5]), "F": (np.eye(4), [])}), ["K", "F"], [], [1.5]),
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


def test_bars_stack_the_groups_of_every_cluster_with_fillings_of_their_own():
    for panel, table in zip(figures.cluster_bars(COUNTS, ["a", "b", "c"]).axes, COUNTS.values(), strict=True):
        boxes = [box for box in panel.containers if isinstance(box, BarContainer)]
        order = np.argsort(-table.sum(axis=0), kind="stable")
        np.testing.assert_array_equal([[bar.get_height() for bar in box] for box in boxes], table[:, order])
        np.testing.assert_array_equal([bar.get_y() for bar in boxes[2]], table[:2, order].sum(axis=0))
        assert len({(box[0].get_hatch(), box[0].get_facecolor()) for box in boxes}) == 3


def test_verdicts_have_a_cell_for_every_printed_number(monkeypatch):
    """Printed and ours with the verdict; another setting has none."""
    rows = pd.DataFrame(
        [
            ("zhou2024_table1_single_kernel/001", "KKM", "0.948", "0.95", "0.01", "close", "within 2 %", "0.5"),
            ("zhou2024_table1_single_kernel/002", "FKKM", "1", "1", "0", "exact", "", "0"),
        ],
        columns=["cell", "method", "published", "ours", "ours_std", "verdict", "reason", "control"],
    ).assign(
        dataset="Jaffe",
        metric="ACC",
        evidence="discriminating",
        control_data="",
        published_std="",
        deviation_digits="2",
    )
    monkeypatch.setattr(figures, "judged_numbers", lambda _: rows)
    shown = figures.verdicts(protocol.study("zhou2024-table"), caption="Printed and ours").data
    assert "Of 2 printed numbers: 2 discriminating (1 exact, 1 close), 100 % agree" in shown
    assert "a wrong method would in 25 %" in shown
    assert "0.948<br>0.950 ± 0.010<br>" in shown
    assert shown.index("<td>KKM") < shown.index("<td>FKKM")
    assert (
        "Nothing is printed"
        in figures.verdicts(protocol.study("zhou2024-table", dataset="made"), caption="Printed and ours").data
    )
