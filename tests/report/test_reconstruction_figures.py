"""Figures of Rathore and Manwani (2025): all that is given is drawn, where it is, and no more."""

import numpy as np
import pandas as pd
import pytest

from compendium.looks import ordered
from compendium.papers.rathore2025 import figures as jevd
from compendium.papers.rathore2025.protocol import PRINTED, PUBLISHED, printed


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
