"""Figures of trade-offs: a marker for every parameter value of every method, in its panel, and nothing else."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import tradeoff_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def points():
    keys = itertools.product(("logistic regression", "kernel SVM"), ("adult", "bank"), ("Fair PCA", "reductions"), (0.2, 0.0, 0.1))  # noqa: E501  # fmt: skip
    found = pd.DataFrame(keys, columns=["classifier", "dataset", "method", "parameter"]).assign(size="all", weight="")
    found["accuracy"], found["gap"] = 0.8 + found["parameter"], found["parameter"] ** 2
    still = found.drop_duplicates(["classifier", "dataset"]).assign(method="constant", accuracy=0.7, gap=0.0)
    return pd.concat([found, still], ignore_index=True)


def test_a_panel_for_each_classifier_and_data_set_and_a_marker_for_each_value(points):
    fig = figures.tradeoff(points, "gap", ("constant",))
    assert len(fig.axes) == 4
    for panel in fig.axes:
        assert sorted(len(line.get_xdata()) for line in panel.lines) == [1, 3, 3]
        assert len({line.get_marker() for line in panel.lines}) == 3
        np.testing.assert_allclose(panel.lines[0].get_xdata(), [0.0, 0.01, 0.04])
        np.testing.assert_allclose(panel.lines[0].get_ydata(), [0.8, 0.9, 1.0])
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["Fair PCA", "reductions", "constant"]
    assert fig.axes[2].get_xlabel() == "gap on the test part"


def test_powers_have_their_own_marks_and_tell_lambda(points):
    some = points[points["method"] == "Fair PCA"]
    both = pd.concat([some.assign(weight="lambda"), some.assign(weight="lambda^3", gap=some["gap"] / 2)])
    fig = figures.powers(both[both["classifier"] == "kernel SVM"], "gap")
    assert len(fig.axes) == 2
    for panel in fig.axes:
        assert [line.get_xdata()[-1] for line in panel.lines] == pytest.approx([0.02, 0.04])
        assert [text.get_text() for text in panel.texts] == ["0.1", "0.1"]
    assert [text.get_text()[:2] for text in fig.legends[0].get_texts()] == ["λ³", "λ "]


def test_times_are_drawn_with_their_range_on_logarithmic_axes():
    rows = [("Fair PCA", n, 2.0, 1.5, 4.0) for n in (1000, 5000)] + [("reductions", n, 40.0, 30.0, 60.0) for n in (1000, 5000)]  # noqa: E501  # fmt: skip
    found = pd.DataFrame(rows, columns=["method", "n", "mean", "smallest", "largest"])
    (panel,) = figures.times(found, "no fairness").axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["Fair PCA", "reductions"]
    assert panel.get_ylabel() == "fitting time / no fairness"
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1,000", "5,000"]
