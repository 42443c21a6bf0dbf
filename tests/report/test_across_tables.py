"""Tables of the comparison: the floor below a frontier, and what halving a gap costs."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import tables


@pytest.fixture
def curve():
    error = np.linspace(1.0, 1.3, 7)
    return pd.DataFrame({"dataset": "wines", "error": error, "gap": 2.0 * (1.4 - error) ** 2})


def test_floor_is_below_the_curve_everywhere_and_close_to_it(curve):
    errors = np.linspace(1.0, 1.6, 241)
    true = np.where(errors <= 1.3, 2.0 * (1.4 - errors) ** 2, 0.02)
    found = tables.floor(curve, errors)
    assert (found <= true + 1e-12).all()
    assert (true - found).max() < 0.02
    assert (np.interp(errors, curve["error"], curve["gap"]) - true).max() > 1e-4  # the control: chords are above it


def test_a_gap_that_cannot_be_halved_has_no_price(curve):
    cheap, dear = (tables.prices(curve.assign(gap=curve["gap"] + more)).iloc[0] for more in (0.0, 1.0))
    assert (cheap["half of it costs"], dear["half of it costs"]) == ("+11.82%", "impossible")
    assert cheap["the smallest costs"] == dear["the smallest costs"] == "+30.00%"
