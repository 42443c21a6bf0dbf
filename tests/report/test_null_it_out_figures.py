"""Figures of null-it-out fair PCA: every family, m and quoted number is drawn where it belongs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.report import null_it_out_figures as figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def title(panel):
    return panel.get_title(loc="left") or panel.get_title()


def test_price_has_a_line_for_each_family_and_part_and_the_references():
    keys = itertools.product(("offline", "FNPM"), (0, 2, 50), ("%Var", "AUC of the group (kernel)"))
    price = pd.DataFrame(
        [(f, m, metric, where, 10.0 + m, 0.5) for f, m, metric in keys for where in ("in sample", "held-out")],
        columns=["family", "m", "metric", "protocol", "mean", "std"],
    )
    references = pd.DataFrame({"method": ["PCA"], "metric": ["%Var"], "mean": [42.0]})
    fig = figures.price_of_directions(price, references)
    fig.canvas.draw()
    assert [title(panel) for panel in fig.axes] == ["%Var", "AUC (kernel)"]
    panel = fig.axes[0]
    assert len(panel.containers) == 4
    hollow = [container.lines[0].get_markerfacecolor() for container in panel.containers]
    assert hollow.count("white") == 2
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["mean", "2", "50"]
    assert [line.get_ydata()[0] for line in panel.lines if list(line.get_ydata()) == [42.0, 42.0]] == [42.0]
    assert panel.containers[0].lines[0].get_ydata().tolist() == [10.0, 12.0, 60.0]
    # chance is marked where an area is shown
    assert any(list(line.get_ydata()) == [0.5, 0.5] for line in fig.axes[1].lines)
    assert not any(list(line.get_ydata()) == [0.5, 0.5] for line in panel.lines)


def test_convergence_puts_every_fit_against_its_rate():
    points = pd.DataFrame(
        {"what": ["W", "W", "V"], "m": [2, 5, 0], "rate": [1e-3, 0.5, 0.0], "sine": [2e-3, 0.4, 1e-20]}
    )
    fig = figures.convergence(points)
    fig.canvas.draw()
    assert [title(panel) for panel in fig.axes] == ["W", "V"]
    first, second, diagonal = fig.axes[0].lines
    assert first.get_xydata().tolist() == [[1e-3, 2e-3]]
    assert first.get_marker() != second.get_marker()
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert fig.axes[1].lines[0].get_xydata().tolist() == [[1e-16, 1e-16]], "rounding is drawn at the floor"
    nothing = figures.convergence(points.iloc[:0])
    assert nothing.axes[0].texts[0].get_text().startswith("No ratio is determined")


def test_quoted_numbers_lie_on_the_line_of_their_method():
    table = pd.DataFrame(
        [("PCA", "%Var", 10.0, 10.1, 0.2), ("FNPM, m=2", "%Var", 8.0, np.nan, np.nan), ("PCA", "MMD^2", 0.2, 0.3, 0.1)],
        columns=["method", "metric", "quoted", "mean", "std"],
    )
    fig = figures.beside_quoted(table)
    fig.canvas.draw()
    assert [title(panel) for panel in fig.axes] == ["%Var", "MMD²"]
    assert fig.axes[0].lines[-1].get_xydata().tolist() == [[10.0, 0.0], [8.0, 1.0]]
    assert [tick.get_text() for tick in fig.axes[0].get_yticklabels()] == ["PCA", "FNPM, m=2"]
    assert fig.axes[0].containers[0].lines[0].get_xdata()[0] == 10.1
