"""Tables of the comparison: the floor below a frontier, what halving a gap costs, chapters and titles."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import tables
from compendium.papers.across.protocol import DATASETS
from compendium.paths import root
from evenspan.methods import METHODS


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


def test_every_method_has_a_chapter_and_every_data_set_a_title_of_its_own():
    assert set(tables.CHAPTERS) == set(METHODS)
    assert all((root() / "book" / f"{page}.md").is_file() for page in tables.CHAPTERS.values())
    titles = tables.labels()
    assert list(titles) == list(DATASETS)
    assert len(set(titles.values())) == len(DATASETS)
