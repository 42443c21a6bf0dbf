"""Figures of fair streaming PCA: each has its words, and the numbers where they belong."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from compendium.papers.lee2023 import figures


def made(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split(", "))


def crossed(columns: str, *values: tuple, **more) -> pd.DataFrame:
    return made(columns, *itertools.product(*values)).assign(**more)


CURVES = crossed("generator, experiment, metric, size", "AB", ("both", "given"), ("eps_f", "eps_o"), (10, 100, 1000))
CURVES["quantile"] = 5.0 / CURVES["size"]
CURVES.loc[(CURVES["experiment"] == "given") & (CURVES["metric"] == "eps_f"), "quantile"] = 1e-16
SLOPES = made("generator, experiment, metric, sizes, slope, low, high", ("A", "both", "eps_f", "all", -1.0, -1.1, -0.9))
NEEDS = crossed(
    "factor, metric, against, rows", "dmpkg", ("eps_f", "eps_o"), (1.0, 2.0), (100.0,), low=90.0, high=500.0
)
AREA = "AUC of the group (kernel)"
PRICE = crossed("family, m, metric, protocol", ("offline", "FNPM"), (0, 50), ("%Var", AREA), ("in sample", "held-out"))
PRICE = PRICE.assign(mean=10.0 + PRICE["m"], std=0.5)
RATES = made("what, m, rate, sine", ("W", 2, 1e-3, 2e-3), ("W", 5, 0.5, 0.4), ("V", 0, 0.0, 1e-20))
GROWN = crossed("axis, phase, what, size", "nk", ("phase 1", "phase 2"), ("block", "bare products"), (1000, 4000))
GROWN = GROWN.assign(growth=GROWN["size"] / 1000, median=1.0 + GROWN["size"] / 4000, smallest=1.0, largest=2.5)
SETTINGS = pd.DataFrame({"dataset": "small", "blocks": [50, 5, 20]} | {m: [0.3, 0.1, 0.2] for m in figures.PANELS})
NAMED = SETTINGS.assign(method=["PCA", "mean", "m = 1"])
CASES = [
    (figures.errors, (CURVES, SLOPES, 0.1),
     [r"$\varepsilon_f$, A", r"$\varepsilon_o$, B", "slope -1.00 [-1.10, -0.90]", "both", "given"],
     [[10, 0.5], [100, 0.05], [1000, 0.005]]),
    (figures.rows_needed, (NEEDS, {"eps_f": 0.2, "eps_o": 0.1}), [*"dmpkg", r"until $\varepsilon_f$ is 0.2", "2"],
     [[1.0, 100.0], [2.0, 100.0]]),
    (figures.price_of_directions, (PRICE, made("method, metric, mean", ("PCA", "%Var", 42.0))),
     ["%Var", "AUC (kernel)", "mean", "50", "training part", "PCA, test part"], [[-0.04, 10.0], [0.96, 60.0]]),
    (figures.price_of_directions, (PRICE, made("method, metric, mean")), ["test part"], [[0, 0.5], [1, 0.5]]),  # chance
    (figures.convergence, (RATES,), ["W", "V", "m = 2", "mean"], [[1e-3, 2e-3]]),
    (figures.convergence, (RATES[2:],), ["V", "one of the two below 1e-08"], [[1e-8, 1e-8]]),
    (figures.convergence, (RATES[:0],), ["No ratio is determined here: too few eigenvalues are above rounding."], None),
    (figures.growth, (GROWN,), ["n, from 1,000", "k, from 1,000", "phase 2, bare products", "slope 1"],
     [[1.0, 1.25], [4.0, 2.0]]),
    (figures.by_setting, (NAMED, "method"), [*figures.PANELS.values(), "PCA", "small"], [[0, 0.3], [1, 0.1], [2, 0.2]]),
    (figures.by_setting, (SETTINGS, "blocks"), ["5", "20", "50"], [[0, 0.1], [1, 0.2], [2, 0.3]]),  # in order
]  # fmt: skip


@pytest.mark.parametrize(
    ("draw", "arguments", "words", "points"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_every_figure_has_its_words_and_its_numbers(draw, arguments, words, points):
    fig = draw(*arguments)
    fig.canvas.draw()
    assert set(words) <= {text.get_text() for text in fig.findobj(Text)}
    seen = [line.get_xydata() for panel in fig.axes for line in panel.lines]
    seen += [cloud.get_offsets() for panel in fig.axes for cloud in panel.collections]
    assert points is None or any(np.shape(one) == np.shape(points) and np.allclose(one, points) for one in seen)
    plt.close(fig)
