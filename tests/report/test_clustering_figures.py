"""Figures of fair clustering: every method, group and cell is drawn where it belongs, and told apart without colour."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.container import BarContainer

from compendium.report import clustering_figures as figures
from compendium.report.clustering_figures import Picture


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def spread():
    keys = itertools.product(("FKKM", "VFC"), (2.0, 0.0, 0.1, 50.0), ("ACC", "MNCE"))
    rows = [(*key, 0.5 + place / 100, 0.4, 0.7) for place, key in enumerate(keys)]
    rows += [("SC", np.nan, metric, 0.6, 0.6, 0.6) for metric in ("ACC", "MNCE")]
    return pd.DataFrame(rows, columns=["method", "weight", "metric", "median", "smallest", "largest"])


def title(panel):
    return panel.get_title(loc="left") or panel.get_title()


def test_curves_over_the_weight_have_a_place_for_zero_and_mark_the_rule(spread):
    fig = figures.over_weight(spread, ["ACC", "MNCE", "NMI"], {"FKKM": 2.0, "unknown": 7.0})
    fig.canvas.draw()
    panels = [panel for panel in fig.axes if panel.get_visible()]
    assert [title(panel) for panel in panels] == ["ACC", "MNCE", "NMI"]
    for panel in panels[:2]:
        first, second, rule = panel.lines
        assert first.get_xdata().tolist() == second.get_xdata().tolist() == [0.0, 0.1, 2.0, 50.0]
        assert first.get_marker() != second.get_marker()
        assert list(rule.get_xdata()) == [2.0, 2.0]
        assert (rule.get_color(), rule.get_marker()) == (first.get_color(), first.get_marker())
        assert first.get_linestyle() != second.get_linestyle()
        assert len(panel.collections) == 2, "a band for each method"
        assert panel.transData.transform((0.0, 0.5))[0] < panel.transData.transform((0.1, 0.5))[0]
    # in the order of the weights
    np.testing.assert_allclose(panels[0].lines[0].get_ydata(), [0.52, 0.54, 0.5, 0.56])
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["FKKM", "VFC"], "SC has no weight"


def test_quality_against_fairness_joins_weights_and_leaves_single_points_hollow(spread):
    fig = figures.against(spread, "MNCE", ["ACC"])
    (panel,) = fig.axes
    lines = {box.get_label(): box.lines[0] for box in panel.containers}
    assert list(lines) == ["FKKM", "VFC", "SC"]
    np.testing.assert_allclose(lines["FKKM"].get_xydata(), [[0.53, 0.52], [0.55, 0.54], [0.51, 0.5], [0.57, 0.56]])
    assert lines["SC"].get_xydata().tolist() == [[0.6, 0.6]]
    assert lines["SC"].get_markerfacecolor() == "none" != lines["FKKM"].get_markerfacecolor()
    assert len({line.get_marker() for line in lines.values()}) == 3
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("MNCE", "ACC")


def test_bars_stack_the_groups_of_every_cluster_with_fillings_of_their_own():
    counts = {
        "unfair": np.array([[5, 0, 1], [0, 7, 2], [1, 1, 9]]),
        "fair": np.array([[2, 3, 1], [3, 3, 3], [4, 4, 3]]),
    }
    fig = figures.cluster_bars(counts, ["a", "b", "c"])
    fig.canvas.draw()
    assert [title(panel) for panel in fig.axes] == ["unfair", "fair"]
    for panel, table in zip(fig.axes, counts.values(), strict=True):
        boxes = [box for box in panel.containers if isinstance(box, BarContainer)]
        heights = np.array([[bar.get_height() for bar in box] for box in boxes])
        order = np.argsort(-table.sum(axis=0), kind="stable")
        np.testing.assert_array_equal(heights, table[:, order])
        np.testing.assert_array_equal([bar.get_y() for bar in boxes[2]], table[:2, order].sum(axis=0))
        assert len({box[0].get_hatch() for box in boxes}) == 3
        assert len({box[0].get_facecolor() for box in boxes}) == 3
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["a", "b", "c"]


def test_many_groups_repeat_fillings_with_other_colours_only():
    fig = figures.cluster_bars({"all": np.ones((9, 2), dtype=int)}, [str(j) for j in range(9)])
    looks = [(box[0].get_facecolor(), box[0].get_hatch()) for box in fig.axes[0].containers]
    assert len(looks) == 9
    assert len(set(looks[:7])) == 7


def test_pictures_part_where_told_and_carry_their_own_scale():
    values = np.arange(16.0).reshape(4, 4)
    fig = figures.heat_maps({"K": Picture(values, [0.5]), "fair": Picture(values - 9.0)})
    fig.canvas.draw()
    first, second = (panel for panel in fig.axes if panel.images)
    np.testing.assert_array_equal(first.images[0].get_array(), values)
    across, along = first.lines
    assert list(across.get_ydata()) == list(along.get_xdata()) == [1.5, 1.5]
    assert not second.lines
    assert second.images[0].get_clim() == (-9.0, 6.0)
    assert sum(bool(panel.images) for panel in fig.axes) == 2
    assert len(fig.axes) == 4, "a colour bar for each"


def test_the_bound_is_drawn_with_its_parts_and_mnce_on_its_own_axis():
    table = pd.DataFrame({"weight": [1.0, 0.0], "empirical": [2.0, 1.0], "excess": [30.0, 10.0], "bound": [32.0, 11.0],
                          "largest possible": [8.0, 4.0], "MNCE": [0.9, 0.2]})  # fmt: skip
    fig = figures.bound(table, 1.0)
    left, right = fig.axes
    assert left.get_yscale() == "log"
    assert [line.get_ydata().tolist() for line in left.lines[:4]] == [[1, 2], [10, 30], [11, 32], [4, 8]]
    assert left.lines[4].get_xdata() == [1.0, 1.0]
    assert right.lines[0].get_ydata().tolist() == [0.2, 0.9]
    assert len(fig.legends[0].get_texts()) == 6


def test_every_run_is_a_marker_in_the_row_of_its_start():
    keys = itertools.product(("relaxed", "random"), (0.0, 5.0), range(3))
    points = pd.DataFrame(keys, columns=["start", "weight", "split"]).assign(value=lambda f: f["split"] + f["weight"])
    fig = figures.starts(points, "value", "below the best")
    fig.canvas.draw()
    assert [title(panel) for panel in fig.axes] == ["λ = 0", "λ = 5"]
    assert fig.axes[1].lines[1].get_xydata().tolist() == [[5.0, 1.0], [6.0, 1.0], [7.0, 1.0]]
    assert [tick.get_text() for tick in fig.axes[0].get_yticklabels()] == ["relaxed", "random"]
