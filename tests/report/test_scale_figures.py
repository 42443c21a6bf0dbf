"""Figures of the scale study: every line, point and mark is where its numbers are."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import scale_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_growth_has_a_panel_for_each_size_and_a_line_of_slope_one():
    lines = []
    for axis, sizes in (("n", [1000, 2000, 4000]), ("k", [8, 16])):
        for phase, what in (("phase 1", "block"), ("phase 1", "bare products"), ("phase 2", "block")):
            for size in sizes:
                growth = size / sizes[0]
                lines.append((axis, phase, what, size, growth, growth**0.5, 0.9 * growth**0.5, 1.2 * growth**0.5))
    columns = ["axis", "phase", "what", "size", "growth", "median", "smallest", "largest"]
    fig = figures.growth(pd.DataFrame(lines, columns=columns))
    assert [panel.get_title() for panel in fig.axes] == ["n, from 1,000", "k, from 8"]
    for panel, last in zip(fig.axes, (4.0, 2.0), strict=True):
        assert len(panel.containers) == 3
        reference, block, bare = panel.lines[0], panel.containers[0][0], panel.containers[1][0]
        np.testing.assert_allclose(reference.get_ydata(), [1.0, last])
        np.testing.assert_allclose(block.get_ydata()[-1], last**0.5)
        assert (block.get_linestyle(), bare.get_linestyle()) == ("-", "--")
        assert block.get_color() != bare.get_color()


def test_every_round_is_a_point_and_the_median_a_bar():
    rows = pd.DataFrame({"method": ["moments"] * 3 + ["phase 1"] * 3, "value": [1.7, 1.9, 1.8, 0.7, 1.2, 2.4]})
    (panel,) = figures.two_workers(rows, 1.5).axes
    points, median = panel.lines[0], panel.lines[1]
    np.testing.assert_allclose(points.get_xdata(), [1.7, 1.9, 1.8])
    np.testing.assert_allclose(median.get_xdata(), [1.8, 1.8])
    assert panel.get_xlim()[0] < 0.7
    assert panel.get_xlim()[1] > 2.4
    assert [line.get_xdata()[0] for line in panel.lines[-2:]] == [1.5, 2.0]


def test_counted_and_modelled_bytes_meet_on_the_diagonal_if_equal():
    table = pd.DataFrame(
        {"method": ["moments", "phase 1"] * 2, "workers": [1, 1, 2, 2], "model": [10.0, 20.0, 300.0, 40.0]}
    ).assign(**{"bytes sent by workers": [10.0, 20.0, 150.0, 40.0]})
    (panel,) = figures.messages(table).axes
    at = np.array([points.get_offsets()[0] for points in panel.collections])
    np.testing.assert_allclose(at, [[10, 10], [20, 20], [300, 150], [40, 40]])
    diagonal = panel.lines[0].get_xydata()
    np.testing.assert_allclose(diagonal[:, 0], diagonal[:, 1])


def test_the_share_of_work_has_a_line_for_each_block_size_and_link():
    lines = [
        (link, n, w, 1 / w) for link in ("1 Gbit/s", "10 Gbit/s") for n in (100, 200) for w in (1, 10, 100)
    ]  # fmt: skip
    fig = figures.work_share(pd.DataFrame(lines, columns=["link", "n", "workers", "share of work"]))
    assert [panel.get_title() for panel in fig.axes] == ["1 Gbit/s", "10 Gbit/s"]
    np.testing.assert_allclose(fig.axes[1].lines[1].get_ydata(), [1.0, 0.1, 0.01])
    assert fig.axes[0].lines[0].get_label() == "100 rows in a block"
