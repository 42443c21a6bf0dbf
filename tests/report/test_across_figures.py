"""Figures and tables of the comparison: values stand where they are, marks differ, what is impossible is shaded."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import figures, tables
from compendium.papers.across.protocol import DATASETS
from compendium.paths import root
from evenspan.methods import METHODS

DRESSED = figures.DRESSED


@pytest.fixture
def curve():
    error = np.linspace(1.0, 1.3, 7)
    return pd.DataFrame({"dataset": "wines", "error": error, "gap": 2.0 * (1.4 - error) ** 2})


@pytest.fixture
def points():
    wines = [("wines", "PCA", 1.0, 0.32), ("wines", "Fair PCA", 4.0, 9.0), ("wines", "LEACE", 1.1, 0.25)]
    soils = [("soils", "PCA", 1.0, 0.1), ("soils", "LEACE", 1.2, 0.05)]
    return pd.DataFrame(wines + soils, columns=["dataset", "method", "error", "gap"])


def means_of(values, metrics, names=("PCA", "LEACE")):
    """Means from data set -> metric -> one value for each name."""
    rows = [(dataset, name, metric, mean) for dataset, found in values.items() for metric in metrics
            for name, mean in zip(names, found[metric], strict=True)]  # fmt: skip
    return pd.DataFrame(rows, columns=["dataset", "method", "metric", "mean"])


def marks(panel):
    """Points of a panel that have a marker: marker -> x, y and the face."""
    return {
        line.get_marker(): (float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_markerfacecolor())
        for line in panel.lines
        if line.get_marker() not in ("None", None, "")
    }


def test_frontier_has_all_points_and_shades_what_is_below_the_line_only(points, curve):
    wines, soils = figures.frontiers(points, curve).axes[:2]
    for panel, name in ((wines, "wines"), (soils, "soils")):
        some = points[points["dataset"] == name].set_index("method")
        found = marks(panel)
        assert set(found) == {DRESSED[method].marker for method in some.index}
        for method, error, gap in some[["error", "gap"]].itertuples():
            assert found[DRESSED[method].marker][:2] == pytest.approx((error - 1, gap))
    assert (len(wines.patches), len(soils.patches)) == (1, 0)
    path = wines.patches[0].get_path()
    assert path.contains_points([(-1e-3, 0.3), (0.1, 0.1), (1.0, 0.01)]).all()
    assert not path.contains_points([(0.1, 0.3), (3.0, 9.0), (1.0, 0.03)]).any()


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


def test_the_best_of_every_column_is_bold_whichever_way_is_better():
    values = {"a": {"error gap": (3.0, 1.0), "explained variance": (0.9, 0.4)}}
    means = means_of(values, ("error gap", "explained variance"))
    means = means.assign(low=means["mean"] - 0.1, high=means["mean"] + 0.1)
    shown = tables.wide(means, "metric", ["explained variance", "error gap", "loss gap"])
    assert shown.to_numpy().tolist() == [
        ["PCA", "<strong>0.900 ± 0.100</strong>", "3.000 ± 0.100"],
        ["LEACE", "0.400 ± 0.100", "<strong>1.000 ± 0.100</strong>"],
    ]


def test_every_method_has_a_chapter_and_every_data_set_a_title_of_its_own():
    assert set(tables.CHAPTERS) == set(METHODS)
    assert all((root() / "book" / f"{page}.md").is_file() for page in tables.CHAPTERS.values())
    titles = tables.labels()
    assert list(titles) == list(DATASETS)
    assert len(set(titles.values())) == len(DATASETS)
