"""Figures of Rathore and Manwani (2025): all that is given is drawn, where it is, and no more."""

import itertools

import numpy as np
import pandas as pd
import pytest

from compendium.papers.rathore2025 import figures as jevd
from compendium.papers.rathore2025.protocol import PRINTED, PUBLISHED, printed
from evenspan.displays.method_looks import ordered


@pytest.fixture
def rows():
    """Rows of the experiment on Tables 2 to 5 for one data set: three methods, two of them printed, and the optimum."""
    found = []
    for k in printed("npha").index:
        for number, method in enumerate(("FairPCA_SDP_LP", "StandardPCA", "JevdPCA (orthogonal)")):
            values = {"R.E.": 10.0 / k, "V.E.": k / 20, "MMD^2": 0.1 * k}
            values |= {"loss of women": 0.1 + 0.02 * number, "loss of men": 0.1 - 0.01 * number}
            values |= {"worst loss": 0.1 + 0.02 * number, "loss gap": 0.03 * number}
            if not number:
                values["least worst loss"] = 0.1
            found += [("npha", method, k, name, value) for name, value in values.items()]
    return pd.DataFrame(found, columns=["dataset", "method", "k", "metric", "value"])


def test_panels_draw_every_printed_number_as_a_mark_and_ours_as_lines(rows):
    fig = jevd.panels(rows)
    assert [panel.get_title() for panel in fig.axes] == ["NPHA: R.E.", "NPHA: V.E.", "NPHA: MMD²"]
    theirs = printed("npha")
    for panel, metric in zip(fig.axes, PRINTED, strict=True):
        marks = [line.get_ydata() for line in panel.lines if line.get_marker() not in ("None", None, "")]
        assert len(marks) == len(PUBLISHED)
        for method, drawn in zip(ordered(PUBLISHED), marks, strict=True):
            np.testing.assert_allclose(drawn, theirs[method, metric])


def test_losses_have_the_optimum_below_every_method(rows):
    optimum, *methods = [line.get_ydata() for line in jevd.losses(rows).axes[0].lines]
    assert len(methods) == 2
    assert all((optimum < line).all() for line in methods)


def test_factorial_marks_the_printed_column_where_the_sensitive_one_is_in():
    keys = itertools.product(("npha",), ("in", "out"), ("global", "group"), ("PCA", "JEVD"))
    table = pd.DataFrame(keys, columns=["dataset", "sensitive column", "centring", "method"])
    with_sex, without = jevd.factorial(table.assign(**{"mean excess R.E.": 0.1, "mean advantage in MMD^2": 0.2})).axes
    (star,) = [line for line in with_sex.lines if line.get_marker() == "*"]
    assert not any(line.get_marker() == "*" for line in without.lines)
    theirs = printed("npha")
    advantage = (theirs["StandardPCA", "MMD^2"] - theirs["JevdPCA", "MMD^2"]).mean(axis=0)
    np.testing.assert_allclose(star.get_ydata(), [advantage])
    assert sum(len(points.get_offsets()) for points in with_sex.collections) == 4


def test_scaling_and_time_ratios():
    d = np.array([50, 100, 200, 400])
    times = pd.DataFrame({"method": "cubic", "d": d, "seconds": 1e-9 * d**3})
    (panel,) = jevd.scaling(times).axes
    assert panel.lines[0].get_label() == "cubic: d^3.0"
    found = pd.DataFrame({"dataset": "npha", "method": ["JevdPCA", "StandardPCA"], "printed": [9.0, 1.0], "ours": 3.0})
    (panel,) = jevd.time_ratios(found).axes
    assert [line.get_xdata().tolist() for line in panel.lines[:2]] == [[9.0], [3.0]]
