"""Figures of the tables of clusterings: every method and reading is drawn, with its spread, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import clustering_table_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_judged_shows_print_beside_ours_or_says_that_nothing_is_stored():
    rows = pd.DataFrame(
        [
            ("KKM", "ACC", "full run", 0.9, 0.1),
            ("FKKM", "ACC", "full run", 1.0, 0.0),
            ("KKM", "seconds", "full run", 3, 0),
        ],
        columns=["method", "metric", "source", "mean", "std"],
    )
    printed = pd.DataFrame({"method": ["KKM"], "metric": ["ACC"], "mean": [0.95]})
    fig = figures.judged(rows, ["ACC"], printed)
    assert len(fig.axes) == 1
    points = [line.get_xdata() for line in fig.axes[0].lines if len(line.get_xdata()) == 2]
    assert any(np.isclose(x[0], 0.95) for x in points)
    nothing = figures.judged(rows.assign(mean=np.nan), ["ACC"])
    assert "has not been stored" in nothing.axes[0].texts[0].get_text()


def test_search_paths_mark_the_weight_that_was_kept():
    rows = [(seed, w, "MNCE", 0.3 * w + 0.01 * seed) for seed in (0, 1) for w in (1.0, 2.0, 3.0)]
    fig = figures.search_paths(pd.DataFrame(rows, columns=["split", "weight", "metric", "value"]), ["MNCE"])
    lines = fig.axes[0].lines
    assert len(lines) == 6
    kept = [line for line in lines if line.get_markersize() == 8]
    assert [line.get_xdata().tolist() for line in kept] == [[3.0], [3.0]]


def test_readings_have_a_line_each_and_the_first_of_a_method_is_filled():
    rows = pd.DataFrame(
        [("SC", "as fixed", 0.1), ("SC", "other", 0.05), ("KKM", "as fixed", 0.02)],
        columns=["method", "reading", "deviation"],
    )
    fig = figures.readings(rows)
    fixed, other = fig.axes[0].lines
    np.testing.assert_allclose(fixed.get_xdata(), [0.1, 0.02])
    np.testing.assert_allclose(other.get_xdata(), [0.05])
    assert len(fig.axes[0].get_yticklabels()) == 3


def test_kernel_weights_show_range_and_equal_weights():
    rows = [(m, p, 0.5, 0.4, 0.7) for m in ("FMKKM", "FMKKM-f") for p in (1, 2)]
    fig = figures.kernel_weights(
        pd.DataFrame(rows, columns=["method", "kernel", "mean", "smallest", "largest"]), ["one", "two"]
    )
    panel = fig.axes[0]
    assert len(panel.containers) == 2
    np.testing.assert_allclose(panel.lines[0].get_xdata(), [0.5, 0.5])
    ends = panel.containers[0].lines[2][0].get_segments()[0][:, 0]
    np.testing.assert_allclose(sorted(ends), [0.4, 0.7])
    same = pd.DataFrame(
        {"method": "FMKKM", "kernel": [1], "mean": [np.nextafter(0.1, 0)], "smallest": 0.1, "largest": 0.1}
    )
    figures.kernel_weights(same, ["one"])  # a mean that rounding puts below the smallest is drawn all the same


def test_quality_and_fairness_has_one_point_a_method():
    rows = [(m, metric, v, 0.01) for m, v in (("KKM", 0.5), ("FKKM", 0.9)) for metric in ("ACC", "NMI", "MNCE")]
    rows = pd.DataFrame(rows, columns=["method", "metric", "mean", "std"])
    fig = figures.quality_and_fairness(rows, "MNCE", ["ACC", "NMI"])
    assert [len(panel.containers) for panel in fig.axes] == [2, 2]


@pytest.mark.parametrize("draw", [figures.readings, lambda rows: figures.search_paths(rows, ["MNCE"]),
                                  lambda rows: figures.kernel_weights(rows, ["one"])])  # fmt: skip
def test_without_rows_a_figure_says_so(draw):
    assert "has not been stored" in draw(pd.DataFrame()).axes[0].texts[0].get_text()


def test_verdicts_have_a_cell_for_every_printed_number(monkeypatch):
    """Printed and ours with the verdict; a build that judges the same clusterings differently says so."""
    rows = pd.DataFrame(
        {
            "cell": ["zhou2024_table1_single_kernel/001", "zhou2024_table1_single_kernel/002", "other/001"],
            "dataset": ["Jaffe", "Jaffe", "Jaffe"],
            "method": ["KKM", "FKKM", "KKM"],
            "metric": "ACC",
            "published": ["0.948", "1", "9"],
            "ours": ["0.95", "1", "9"],
            "ours_std": ["0.01", "0", "0"],
            "build": ["0.95", "0.875", "9"],
            "verdict": ["close", "exact", "exact"],
            "reason": ["within 2 %", "", ""],
            "evidence": "discriminating",
            "control": ["0.5", "0", "0"],
            "control_data": "",
        }
    )
    monkeypatch.setattr(figures, "ledger", lambda **given: rows)
    shown = figures.verdicts("zhou2024-table", dataset="jaffe", caption="Printed and ours").data
    assert "Of 2 printed numbers: 2 discriminating (1 exact, 1 close), 100 % agree" in shown
    assert "a wrong method would in 25 %" in shown
    assert "0.948 | 0.950 ± 0.010<br>" in shown
    assert "(this build: 0.875)" in shown
    assert shown.index("<td>KKM") < shown.index("<td>FKKM")
