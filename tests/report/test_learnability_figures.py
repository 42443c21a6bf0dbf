"""Figures of learnability: every size and method where it belongs, hollow where there is no logarithm."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import learnability_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_errors_have_a_panel_for_each_measure_and_population():
    keys = itertools.product(("A", "B"), ("both", "given"), ("eps_f", "eps_o"), (10, 100, 1000))
    curves = pd.DataFrame(keys, columns=["generator", "experiment", "metric", "size"])
    curves["quantile"] = 5.0 / curves["size"]
    curves.loc[(curves["experiment"] == "given") & (curves["metric"] == "eps_f"), "quantile"] = 1e-16
    curves.loc[(curves["generator"] == "B") & (curves["metric"] == "eps_o") & (curves["size"] == 1000), "quantile"] = -1
    slopes = pd.DataFrame(
        [("A", "both", "eps_f", "all", -1.0, -1.1, -0.9), ("A", "both", "eps_f", "from 300 rows", -9.0, -9.0, -9.0)],
        columns=["generator", "experiment", "metric", "sizes", "slope", "low", "high"],
    )
    fig = figures.errors(curves, slopes)
    assert [panel.get_title() for panel in fig.axes] == ["eps_f, A", "eps_f, B", "eps_o, A", "eps_o, B"]
    first = fig.axes[0]
    assert (first.get_xscale(), first.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in first.texts] == ["slope -1.00 [-1.10, -0.90]"]
    line, full, hollow, *given = first.lines
    np.testing.assert_allclose(line.get_ydata(), [0.5, 0.05, 0.005])
    assert (len(full.get_xdata()), len(hollow.get_xdata())) == (3, 0)
    assert (len(given[1].get_xdata()), len(given[2].get_xdata())) == (0, 3)
    assert given[2].get_markerfacecolor() == "white"
    assert max(given[2].get_ydata()) < 0.005
    assert len(fig.axes[3].lines[2].get_xdata()) == 1
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["both", "given"]


def test_rows_needed_have_a_panel_for_each_factor():
    keys = itertools.product(("d", "m", "p", "k", "gap"), ("eps_f", "eps_o"), (1.0, 2.0))
    needs = pd.DataFrame(keys, columns=["factor", "metric", "against"])
    needs = needs.assign(rows=100.0 * needs["against"], low=90.0, high=500.0)
    fig = figures.rows_needed(needs, {"eps_f": 0.2, "eps_o": 0.1})
    drawn = [panel for panel in fig.axes if panel.axison]
    assert [panel.get_title() for panel in drawn] == ["d", "m", "p", "k", "gap"]
    assert drawn[0].containers[0].lines[0].get_ydata().tolist() == [100.0, 200.0]
    assert [tick.get_text() for tick in drawn[0].get_xticklabels()] == ["1", "2"]
    assert fig.legends[0].get_texts()[0].get_text() == "until eps_f is 0.2"


def test_strips_mark_every_run():
    rows = pd.DataFrame({"method": ["carry"] * 3 + ["skip"], "value": [0.3, 0.1, 0.2, 0.9]})
    (panel,) = figures.strips(rows, "sine").axes
    assert [len(line.get_xdata()) for line in panel.lines] == [3, 1]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["carry", "skip"]
    assert panel.collections[0].get_segments()[0][0][0] == 0.2
    assert panel.get_xlabel() == "sine"


def test_shifts_and_blocks_have_a_line_for_each_method():
    keys = itertools.product(("about zero", "about the group means"), ("eps_f", "gap"), (0.0, 1.0, 3.0))
    rows = pd.DataFrame(keys, columns=["method", "metric", "parameter"]).assign(median=0.5)
    fig = figures.by_shift(rows, {"eps_f": "left", "gap": "gap left"})
    assert [panel.get_ylabel() for panel in fig.axes] == ["left", "gap left"]
    for panel in fig.axes:
        assert [line.get_xdata().tolist() for line in panel.lines] == [[0.0, 1.0, 3.0]] * 2
        assert len({(line.get_fillstyle(), line.get_markerfacecolor()) for line in panel.lines}) == 2
    blocks = rows.rename(columns={"parameter": "block"}).assign(smallest=0.4, largest=0.6)
    fig = figures.over_blocks(blocks, ("gap", "eps_f"))
    assert [panel.get_title() for panel in fig.axes] == ["gap", "eps_f"]
    assert all(len(panel.lines) == 2 and len(panel.collections) == 2 for panel in fig.axes)
    assert fig.axes[0].get_xlabel() == "block of the second phase"
