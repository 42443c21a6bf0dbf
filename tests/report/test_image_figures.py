"""Figures of the image experiment: every picture, setting and method is drawn where it belongs."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import image_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_pictures_keep_their_colours_and_their_rows():
    rng = np.random.default_rng(0)
    shown = {"as they are": rng.random((3, 5, 4, 3)), "restored, PCA": rng.random((3, 5, 4, 3))}
    fig = figures.pictures(shown)
    fig.canvas.draw()
    assert len(fig.axes) == 6
    for panel, image in zip(fig.axes, np.concatenate(list(shown.values())), strict=True):
        np.testing.assert_allclose(panel.images[0].get_array(), image)
    assert [fig.axes[i].get_ylabel() for i in (0, 3)] == ["as they are", "restored,\nPCA"]
    with pytest.raises(ValueError, match=r"the rows have \[2, 3\] pictures"):
        figures.pictures(shown | {"short": rng.random((2, 5, 4, 3))})


def test_settings_have_a_panel_for_each_metric_and_a_line_for_each_size():
    methods = ["PCA", "mean", "m = 1"]
    found = pd.DataFrame({"dataset": ["small"] * 3 + ["half"] * 3, "method": methods * 2, "source": "this build"})
    for place, metric in enumerate(figures.PANELS):
        found[metric] = np.linspace(0.9, 0.5, 6) - place / 100
    fig = figures.by_setting(found.drop(index=4), "method")
    fig.canvas.draw()
    assert len(fig.axes) == len(figures.PANELS)
    for panel, metric in zip(fig.axes, figures.PANELS, strict=True):
        small, half = panel.lines[:2]
        np.testing.assert_allclose(small.get_ydata(), found[metric][:3])
        assert np.isnan(half.get_ydata()[1]), "a setting that was not run is a gap"
        assert [label.get_text() for label in panel.get_xticklabels()] == methods
        assert small.get_marker() != half.get_marker()
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["small, this build", "half, this build"]


def test_numbers_along_the_axis_are_in_order():
    found = pd.DataFrame({"dataset": "small", "blocks": [50, 5, 20]} | {m: [3.0, 1.0, 2.0] for m in figures.PANELS})
    fig = figures.by_setting(found, "blocks")
    assert fig.axes[0].lines[0].get_ydata().tolist() == [1.0, 2.0, 3.0]


def test_memory_lines_are_the_bytes():
    terms = ["d^2", "n d", "n^2", "d", "n"]
    models = pd.DataFrame(np.eye(5), columns=terms).assign(method=terms)
    names = ["FNPM, m = 5", "LEACE", "PCA", "FPCA (0, 0.01)", "mean constraint, streamed"]
    more = ["null it out, exact", "MbF-PCA", "INLP", "Fair Kernel PCA", "Fair PCA"]
    models = pd.concat([models.assign(method=names), models.assign(method=more)], ignore_index=True)
    fig = figures.memory(models, 1000, 16e9, 116_412)
    fig.canvas.draw()
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    d = lines[names[0]].get_xdata()
    for name, values in zip(names, (d * d, 1000 * d, 1e6 + 0 * d, d, 1000 + 0 * d), strict=True):
        np.testing.assert_allclose(lines[name].get_ydata(), values)
    looks = {(line.get_color(), str(line.get_marker()), line.get_linestyle()) for line in fig.axes[0].lines[:10]}
    assert len(looks) == 10
