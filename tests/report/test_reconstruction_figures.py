"""Figures of the reconstruction experiments: every method is drawn, where its numbers are, and nothing else."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.papers.vu2022 import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def components() -> pd.DataFrame:
    keys = itertools.product(("PCA", "RFPCA"), ("in-sample", "out-of-sample"), (2, 4, 6), ("group 0", "group 1"))
    return pd.DataFrame(keys, columns=["method", "protocol", "k", "metric"]).assign(value=lambda r: 10.0 / r["k"])


POINTS = pd.DataFrame(
    [("RFPCA", 2.0, 1.0), ("CFPCA-Mean Con.", np.nan, np.nan), ("certified frontier", 2.0, 0.5),
     ("certified frontier", 1.0, 1.0)], columns=["method", "ARE", "ABDiff"],
)  # fmt: skip
BAND = pd.DataFrame({"alpha": [0.0, 1.0], "mean": [2.0, 1.0], "std": [0.1, 0.2]})
EXCESS = pd.DataFrame({"dataset": ["a", "a", "b"], "lambda": [0.0, 1.0, 0.0], "best": [-1e-15, 0.1, 0.2], "worst": 0.3})
CELLS = pd.DataFrame({"metric": ["ARE", "ABDiff"], "method": "PCA", "published": [1.0, 2.0], "ours": [1.5, 2.0]})


@pytest.mark.parametrize(
    ("draw", "lines", "first"),
    [
        (lambda: figures.errors_by_k(components()), [4, 4], [[2, 5.0], [4, 2.5], [6, 10 / 6]]),
        (lambda: figures.pareto(POINTS), [3], [[1.0, 1.0], [2.0, 0.5]]),  # failures are left out
        (lambda: figures.radius_band(BAND), [1], [[0.0, 2.0], [1.0, 1.0]]),
        (lambda: figures.descent_excess(EXCESS), [2, 2], [[0.0, 1e-12], [1.0, 0.1]]),
        (lambda: figures.table_scatter(CELLS), [2, 2], [[1.0, 1.5]]),
    ],
)
def test_figures_have_a_line_for_each_method_and_its_numbers(draw, lines, first):
    axes = draw().axes
    assert [len(panel.lines) for panel in axes] == lines
    np.testing.assert_allclose(axes[0].lines[0].get_xydata(), first)


def test_toy_directions_have_the_angles_given():
    rows = [("PCA", "", 0.0), ("FairPCA (exact)", "", 45.0), ("RFPCA (exact)", 0.1, 30.0), ("RFPCA (exact)", 1.0, 40.0)]
    X = np.random.default_rng(0).normal(size=(20, 2))
    fig = figures.toy_directions(X, np.repeat([0, 1], 10), pd.DataFrame(rows, columns=["method", "parameter", "angle"]))
    ends = [line.get_xydata()[-1] for line in fig.axes[0].lines if len(line.get_xdata()) == 2]
    assert np.degrees([np.arctan2(y, x) for x, y in ends]).round(6).tolist() == [30.0, 40.0, 0.0, 45.0]


def test_a_page_without_numbers_says_so():
    rows = pd.DataFrame({"method": ["RFPCA"], "metric": ["ARE"], "source": ["ours"], "mean": [np.nan], "std": [np.nan]})
    (text,) = figures.judged(rows, ["ARE"]).axes[0].texts
    assert "No number" in text.get_text()
    assert len(figures.judged(rows.assign(mean=1.0, std=0.1), ["ARE"]).axes) == 1
