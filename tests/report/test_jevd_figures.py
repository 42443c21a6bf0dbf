"""Figures of the chapter on joint diagonalisation: everything given is drawn, where it is, and nothing else."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from evenspan.reconstruction.group_errors import losses
from evenspan.reconstruction.min_max_exact import solve_min_max
from evenspan.report import jevd_figures as figures
from evenspan.report.style import COLOURS

PAIR = np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def edge_of(panel) -> np.ndarray:
    """The bold line: the frontier."""
    (bold,) = [line for line in panel.lines if line.get_linewidth() == 2.2]
    return bold.get_xydata()


@pytest.mark.parametrize("near", [False, True])
def test_losses_plane_shows_points_above_the_frontier_and_the_optimum_on_it(near):
    V, certificate = solve_min_max(*PAIR, 1)
    points = {f"e{j + 1}": tuple(losses(PAIR, np.eye(3)[:, [j]])) for j in range(3)} | {"best": tuple(losses(PAIR, V))}
    (panel,) = figures.losses_plane(PAIR, 1, points, labels=("A", "B"), near=near).axes
    drawn = {line.get_label(): line.get_xydata()[0] for line in panel.lines if line.get_label() in points}
    for name, point in points.items():
        np.testing.assert_allclose(drawn[name], point, atol=1e-9)
    edge = edge_of(panel)
    on_diagonal = np.interp(0.0, *(edge @ np.array([[1.0, 1.0], [-1.0, 0.0]])).T)
    np.testing.assert_allclose(on_diagonal, certificate.primal, atol=0.05)
    assert not any((edge > np.array(p) + 1e-9).all(axis=1).any() for p in points.values())
    low, high = np.array([panel.get_xlim(), panel.get_ylim()]).T
    assert all((low <= p).all() and (p <= high).all() for p in map(np.array, points.values()))


def test_criterion_paths_start_at_one_and_keep_colour_by_data_and_dash_by_start():
    runs = {"a": {"I": np.array([4.0, 2.0]), "average": [1.0, 3.0]}, "b": {"I": [5.0, 5.0, 1.0]}}
    (panel,) = figures.criterion_paths(runs).axes
    lines = [line for line in panel.lines if len(line.get_xdata()) > 1 and line.get_marker() not in ("None", None)]
    assert [line.get_ydata()[0] for line in lines] == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(lines[2].get_ydata(), [1.0, 1.0, 0.2])
    assert [line.get_color() for line in lines] == [COLOURS[0], COLOURS[0], COLOURS[1]]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-"]


def test_panels_by_k_draw_printed_numbers_as_marks_and_ours_as_lines():
    keys = itertools.product(("x", "y"), ("PCA", "JEVD"), ("R.E.", "MMD^2"), (1, 2, 3), ("published", "ours"))
    rows = pd.DataFrame(keys, columns=["dataset", "method", "metric", "k", "source"])
    rows["value"] = rows["k"] * np.where(rows["source"] == "ours", 1.0, 1.1)
    fig = figures.panels_by_k(rows, ["PCA", "JEVD"], ["R.E.", "MMD^2"], datasets={"x": "X", "y": "Y"}, log=("R.E.",))
    assert [panel.get_title() for panel in fig.axes] == ["X: R.E.", "X: MMD^2", "Y: R.E.", "Y: MMD^2"]
    assert [panel.get_yscale() for panel in fig.axes] == ["log", "linear", "log", "linear"]
    for panel in fig.axes:
        assert [(line.get_linestyle(), line.get_marker()) for line in panel.lines] == [
            ("-", "None"), ("None", "o"), ("-", "None"), ("None", "s"),
        ]  # fmt: skip
        np.testing.assert_allclose(panel.lines[0].get_ydata(), [1, 2, 3])
        np.testing.assert_allclose(panel.lines[1].get_ydata(), [1.1, 2.2, 3.3])


def test_excess_by_k_has_the_optimum_below_every_method():
    keys = itertools.product(("x",), ("PCA", "JEVD"), (1, 2))
    rows = pd.DataFrame(keys, columns=["dataset", "method", "k"]).assign(least=0.5)
    rows["worst"] = [0.6, 0.7, 0.8, 0.9]
    (panel,) = figures.excess_by_k(rows, ["PCA", "JEVD"], datasets={"x": "X"}).axes
    optimum, *methods = [line.get_ydata() for line in panel.lines]
    assert all((optimum < line).all() for line in methods)
    assert len(methods) == 2


def test_subset_map_marks_what_is_in_and_what_comes_from_further_back():
    (panel,) = figures.subset_map({2: (0, 1), 3: (0, 1, 5)}, 7, xlabel="eigenvector").axes
    filled = [line.get_xydata().tolist() for line in panel.lines if line.get_color() in COLOURS]
    assert filled == [[[1, 2], [2, 2]], [], [[1, 3], [2, 3]], [[6, 3]]]


def test_factorial_and_scaling():
    keys = itertools.product(("in", "out"), ("PCA", "JEVD", "JEVD (printed)"), (1, 2))
    rows = pd.DataFrame(keys, columns=["panel", "line", "k"]).assign(value=1.0)
    fig = figures.factorial(rows, panels={"in": "With", "out": "Without"}, lines=["PCA", "JEVD", "JEVD (printed)"])
    assert [[line.get_linestyle() for line in panel.lines] for panel in fig.axes] == [["-", "-", "--"]] * 2
    d = np.array([50, 100, 200, 400])
    times = pd.DataFrame({"method": "cubic", "d": d, "seconds": 1e-9 * d**3})
    (panel,) = figures.scaling(times).axes
    assert panel.lines[0].get_label() == "cubic: d^3.0"
    assert abs(figures.exponent(d, 2.0 * d**1.5) - 1.5) < 1e-9
    assert np.isnan(figures.exponent([3], [1.0]))
