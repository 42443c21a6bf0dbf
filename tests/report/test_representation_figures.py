"""Figures of the representation experiments: every method, group and pixel is drawn where it belongs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import representation_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_embeddings_show_every_group_of_every_method_with_its_own_mark():
    rng = np.random.default_rng(0)
    points = pd.DataFrame(rng.normal(size=(18, 2)), columns=["x", "y"])
    points = points.assign(method=["PCA"] * 10 + ["Fair PCA"] * 8, group=[0, 0, 1] * 6)
    for shared in (True, False):
        fig = figures.embeddings(points, shared=shared)
        fig.canvas.draw()
        assert [panel.get_title(loc="left") or panel.get_title() for panel in fig.axes] == ["PCA", "Fair PCA"]
        counts = [len(drawn.get_offsets()) for panel in fig.axes for drawn in panel.collections]
        wanted = points.groupby(["method", "group"], sort=False).size()
        assert counts == [wanted[m, g] for m in ("PCA", "Fair PCA") for g in (0, 1)]
        paths = {drawn.get_paths()[0].vertices.shape for drawn in fig.axes[0].collections}
        assert len(paths) == 2, "the groups have the same marker"
        assert (fig.axes[0].get_xlim() == fig.axes[1].get_xlim()) is shared


def test_spread_has_a_panel_for_each_metric_and_dimension():
    keys = itertools.product(("PCA", "Fair PCA"), ("%Var", "MMD^2"), (20, 60))
    found = pd.DataFrame(keys, columns=["method", "metric", "d"]).assign(
        smallest=1.0, lower=2.0, median=3.0, upper=4.0, largest=5.0, reference=[9.0, np.nan] * 4
    )
    fig = figures.spread_by_dimension(found, ["MMD^2", "%Var"])
    assert len(fig.axes) == 4
    assert [panel.get_title() or panel.get_title(loc="left") for panel in fig.axes[:2]] == [
        "MMD², d = 20",
        "MMD², d = 60",
    ]
    medians, reference = fig.axes[0].lines
    assert medians.get_xdata().tolist() == [3.0, 3.0]
    assert reference.get_xdata().tolist() == [9.0, 9.0]
    assert np.isnan(fig.axes[1].lines[1].get_xdata()).all()
    thin, thick = fig.axes[0].collections
    assert thin.get_segments()[0][:, 0].tolist() == [1.0, 5.0]
    assert thick.get_segments()[0][:, 0].tolist() == [2.0, 4.0]


def test_pictures_keep_their_pixels_and_their_scale():
    image = np.arange(9) / 10.0
    rows = [("original", "group 0", p, v) for p, v in enumerate(image)]
    rows += [("original", "direction", p, v - 0.4) for p, v in enumerate(image)]
    rows += [("PCA", "group 0", p, 1.0 - v) for p, v in enumerate(image)]
    shuffled = pd.DataFrame(rows, columns=["row", "column", "pixel", "value"]).iloc[::-1]
    ordered = shuffled.sort_values(["row", "column"], ascending=[False, False], kind="stable")
    fig = figures.pictures(ordered, 3)
    assert len(fig.axes) == 4
    shown = [panel.images for panel in fig.axes]
    assert [len(images) for images in shown] == [1, 1, 1, 0]
    np.testing.assert_allclose(shown[0][0].get_array(), image.reshape(3, 3))
    assert shown[0][0].get_clim() == (0.0, 1.0)
    low, high = shown[1][0].get_clim()
    assert low == -high == pytest.approx(-0.4)
    np.testing.assert_allclose(shown[2][0].get_array(), 1.0 - image.reshape(3, 3))
    (text,) = figures.pictures(shuffled.iloc[:0], 3).axes[0].texts
    assert "No picture" in text.get_text()


def test_readers_stand_beside_chance():
    keys = itertools.product(("linear", "kernel"), ("PCA", "Fair PCA"), (50, 575))
    found = pd.DataFrame(keys, columns=["reader", "method", "k"]).assign(mean=0.7, smallest=0.6, largest=0.9)
    fig = figures.readers(found)
    assert len(fig.axes) == 2
    for panel in fig.axes:
        assert len(panel.containers) == 2
        assert [line.get_ydata()[0] for line in panel.lines if line.get_linestyle() == "--"] == [0.5]
        for points in panel.containers:
            assert all(bar[:, 1].tolist() == pytest.approx([0.6, 0.9]) for bar in points[2][0].get_segments())
