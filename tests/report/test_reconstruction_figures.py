"""Figures of the reconstruction experiments: every method is drawn, with its own mark, and nothing else."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import reconstruction_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_errors_by_k_has_a_line_for_each_method_group_and_sample():
    keys = itertools.product(("PCA", "RFPCA"), ("in-sample", "out-of-sample"), (2, 4, 6), ("group 0", "group 1"))
    rows = pd.DataFrame(keys, columns=["method", "protocol", "k", "metric"]).assign(value=lambda r: 10.0 / r["k"])
    fig = figures.errors_by_k(rows)
    assert [len(panel.lines) for panel in fig.axes] == [4, 4]
    assert [line.get_linestyle() for line in fig.axes[0].lines] == ["-", "--", "-", "--"]
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [5.0, 2.5, 10 / 6])


def test_pareto_draws_the_frontier_as_a_line_and_leaves_failures_out():
    rows = [
        ("RFPCA", 2.0, 1.0),
        ("CFPCA-Mean Con.", np.nan, np.nan),
        ("certified frontier", 2.0, 0.5),
        ("certified frontier", 1.0, 1.0),
    ]
    fig = figures.pareto(pd.DataFrame(rows, columns=["method", "ARE", "ABDiff"]))
    (panel,) = fig.axes
    np.testing.assert_allclose(panel.lines[0].get_xdata(), [1.0, 2.0])
    assert [len(marks.get_xdata()) for marks in panel.lines[1:]] == [1, 0]


def test_toy_directions_have_the_angles_given():
    rows = [("PCA", "", 0.0), ("FairPCA (exact)", "", 45.0), ("RFPCA (exact)", 0.1, 30.0), ("RFPCA (exact)", 1.0, 40.0)]
    X = np.random.default_rng(0).normal(size=(20, 2))
    fig = figures.toy_directions(X, np.repeat([0, 1], 10), pd.DataFrame(rows, columns=["method", "parameter", "angle"]))
    ends = [
        np.array([line.get_xdata()[-1], line.get_ydata()[-1]])
        for line in fig.axes[0].lines
        if len(line.get_xdata()) == 2
    ]
    assert np.degrees([np.arctan2(y, x) for x, y in ends]).round(6).tolist() == [30.0, 40.0, 0.0, 45.0]


def test_radius_band_and_descent_excess():
    band = pd.DataFrame({"alpha": [0.0, 1.0], "mean": [2.0, 1.0], "std": [0.1, 0.2]})
    assert len(figures.radius_band({"full run": band, "this build": band}).axes[0].lines) == 2
    found = pd.DataFrame(
        {"dataset": ["a", "a", "b"], "lambda": [0.0, 1.0, 0.0], "best": [-1e-15, 0.1, 0.2], "worst": 0.3}
    )
    fig = figures.descent_excess(found)
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [1e-12, 0.1])


def test_a_page_without_numbers_says_so():
    rows = pd.DataFrame(
        {"method": ["RFPCA"], "metric": ["ARE"], "source": ["this build"], "mean": [np.nan], "std": [np.nan]}
    )
    (text,) = figures.judged(rows, ["ARE"]).axes[0].texts
    assert "No number" in text.get_text()
    assert len(figures.judged(rows.assign(mean=1.0, std=0.1), ["ARE"]).axes) == 1


def test_ours_against_published_lie_on_the_diagonal_if_equal():
    cells = pd.DataFrame({"metric": ["ARE", "ABDiff"], "method": "PCA", "published": [1.0, 2.0], "ours": [1.0, 2.0]})
    fig = figures.table_scatter(cells)
    for panel in fig.axes:
        (point,) = panel.lines[0].get_xydata()
        assert point[0] == point[1]
