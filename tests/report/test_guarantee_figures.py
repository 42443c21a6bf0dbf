"""Figures of guarantees: a point and an interval for every method and sample; series that can be told apart."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import figures, guarantee_figures
from evenspan.displays import style


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def found():
    rows = [
        ("PCA", "mean gap", "in sample", 2.0, 1.5, 3.0),
        ("PCA", "mean gap", "held-out", 2.2, 1.6, 2.6),
        ("LEACE", "mean gap", "held-out", 0.3, 0.1, 0.4),
        ("LEACE", "mean gap", "in sample", 0.0, 0.0, 0.0),
        ("PCA", "MMD^2", "held-out", 0.2, 0.1, 0.3),
    ]
    return pd.DataFrame(rows, columns=["method", "metric", "protocol", "mean", "low", "high"])


def intervals(panel):
    """Per sample: markers and the ends of the intervals drawn."""
    return [
        (bars[0].get_xdata().astype(float), bars[0].get_ydata(), bars[2][0].get_segments()) for bars in panel.containers
    ]


def test_a_panel_for_each_promise_with_means_and_intervals(found):
    fig = guarantee_figures.promises(found, {"equal means": "mean gap", "equal distributions": "MMD^2"})
    assert [panel.get_title(loc="left") or panel.get_title() for panel in fig.axes] == [
        "equal means",
        "equal distributions",
    ]
    assert [panel.get_xlabel() for panel in fig.axes] == ["mean gap", "MMD²"]
    assert [tick.get_text() for tick in fig.axes[0].get_yticklabels()] == ["PCA", "LEACE"]
    (inside, y_in, bars_in), (out, y_out, bars_out) = intervals(fig.axes[0])
    np.testing.assert_allclose(inside, [2.0, 0.0])
    np.testing.assert_allclose(out, [2.2, 0.3])
    np.testing.assert_allclose([segment[:, 0] for segment in bars_in], [[1.5, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose([segment[:, 0] for segment in bars_out], [[1.6, 2.6], [0.1, 0.4]])
    assert (np.abs(np.subtract(y_in, y_out)) > 0.1).all(), "the two samples do not cover each other"
    np.testing.assert_array_equal(np.round(np.add(y_in, y_out) / 2), [0, 1])
    assert fig.axes[0].get_ylim()[0] > fig.axes[0].get_ylim()[1], "the first method is on top"
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["in sample", "held-out"]


def test_what_was_not_measured_is_a_gap_and_chance_a_line(found):
    fig = guarantee_figures.promises(found, {"a": "mean gap", "b": "MMD^2"}, chance={"MMD^2": 0.05})
    (inside, *_), (out, *_) = intervals(fig.axes[1])
    assert np.isnan(inside).all()
    np.testing.assert_allclose(out, [0.2, np.nan])
    lines = [[line.get_xdata() for line in panel.lines if line.get_linestyle() == "--"] for panel in fig.axes]
    assert lines == [[], [[0.05, 0.05]]]
    colours = {bars[0].get_color() for bars in fig.axes[0].containers}
    assert len(colours) == 2


def test_looks_repeat_after_49_and_neighbours_share_nothing():
    n = len(style.COLOURS) * len(style.MARKERS)
    assert n == 49
    pairs = list(itertools.islice(style.looks(), 2 * n))
    assert len(set(pairs[:n])) == n
    assert set(pairs) == set(pairs[:n])
    assert all(one[0] != other[0] and one[1] != other[1] for one, other in itertools.pairwise(pairs[: n // 7]))
    assert pairs[:7] == list(zip(style.COLOURS, style.MARKERS, strict=True))


def test_time_ratios_of_nine_methods_can_be_told_apart():
    names = [
        "PCA",
        "FPCA (0, 0.01)",
        "MbF-PCA (10^-3)",
        "INLP",
        "RLACE",
        "LEACE",
        "Fair PCA",
        "Fair Kernel PCA",
        "Fair PCA-S",
    ]
    rows = [(name, 336, d, 2.0 + i, 1.0 + i, 5.0 + i) for i, name in enumerate(names) for d in (100, 20, 60)]
    fig = figures.time_ratios(pd.DataFrame(rows, columns=["method", "n", "d", "median", "smallest", "largest"]))
    (panel,) = fig.axes
    assert len({(bars[0].get_color(), bars[0].get_marker()) for bars in panel.containers}) == 9
    assert [text.get_text() for text in fig.legends[0].get_texts()] == names
    for i, bars in enumerate(panel.containers):
        assert list(bars[0].get_xdata()) == [20, 60, 100]
        assert list(bars[0].get_ydata()) == [2.0 + i] * 3
        np.testing.assert_allclose([segment[:, 1] for segment in bars[2][0].get_segments()], [[1.0 + i, 5.0 + i]] * 3)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(
    ("largest", "ticks"), [(8.0, ["0.5", "1", "2", "5", "10"]), (900.0, ["1", "10", "100", "1000"])]
)
def test_ticks_of_time_ratios_are_as_fine_as_their_range_allows(largest, ticks):
    rows = [("PCA", n, d, 1.0, 0.9, largest) for n in (336, 20_000) for d in (20, 60)]
    fig = figures.time_ratios(pd.DataFrame(rows, columns=["method", "n", "d", "median", "smallest", "largest"]))
    assert [panel.get_title(loc="left") or panel.get_title() for panel in fig.axes] == [
        "n = 336 rows",
        "n = 20,000 rows",
    ]
    assert [tick.get_text() for tick in fig.axes[0].get_yticklabels()] == ticks
    assert [tick.get_text() for tick in fig.axes[0].get_xticklabels()] == ["20", "60"]
