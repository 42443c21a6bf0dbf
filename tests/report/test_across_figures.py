"""Figures and tables of the comparison: values stand where they are, marks differ, what is impossible is shaded."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import figures, summary, tables
from compendium.papers.across.protocol import DATASETS
from compendium.paths import root
from evenspan.methods import METHODS

NAMES = ("PCA", "Min-max loss", "Fair PCA", "LEACE")
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


def test_ranks_have_bars_of_a_critical_difference():
    values = {"error gap": (3.5, 1.2, 2.4, 2.9), "group AUC": (4.0, 3.0, 1.5, 1.5)}
    rows = [(metric, k, name, rank + 0.01 * k, 1.5, 13) for metric, found in values.items() for k in (2, 10)
            for name, rank in zip(NAMES, found, strict=True)]  # fmt: skip
    ranks = pd.DataFrame(rows, columns=["metric", "k", "method", "rank", "difference", "blocks"])
    panel = figures.rank_panels(ranks[ranks["k"] == 2]).axes[0]
    assert panel.get_title() == "error gap (13 data sets)"
    assert [text.get_text() for text in panel.get_yticklabels()] == ["Min-max loss", "Fair PCA", "LEACE", "PCA"]
    bars = [line.get_xdata() for line in panel.lines if line.get_marker() == "None"]
    np.testing.assert_allclose(np.ptp(bars, axis=1), 1.5)
    filled = {marker: face != "white" for marker, (_, _, face) in marks(panel).items()}
    assert filled == {DRESSED[name].marker: name not in ("LEACE", "PCA") for name in NAMES}  # they meet the best


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


def test_prices_are_relative_to_pca_and_medians_over_data_sets():
    values = {
        name: {metric: (0.7, 0.35) if metric in figures.AREAS else (scale, scale / 2) for metric in figures.GAINS}
        | {"relative error": (1.0, 1.2)}
        for name, scale in {"a": 1.0, "b": 2.0, "c": 10.0}.items()
    }
    fig = figures.prices(means_of(values, (*figures.GAINS, "relative error")))
    found = marks(fig.axes[0])
    assert found[DRESSED["LEACE"].marker][:2] == pytest.approx((0.2, 0.5))
    assert found[DRESSED["PCA"].marker][:2] == pytest.approx((0.0, 1.0))
    assert marks(fig.axes[-1])[DRESSED["PCA"].marker][1] == pytest.approx(0.7)


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


def test_classifiers_have_a_panel_each_and_methods_their_marks():
    names = ("all features", "groups permuted", "PCA", "Fair PCA", "LEACE", "LEACE (all features)")
    rows = [(name, one, 0.5 + 0.05 * i, 0.02 * (1 + j)) for i, name in enumerate(names)
            for j, one in enumerate(summary.CLASSIFIERS) if (i, j) != (2, 4)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["method", "classifier", "mean", "half"])
    found = found.assign(low=found["mean"] - found["half"], high=found["mean"] + found["half"])
    fig = figures.classifier_panels(found)
    panels = [panel for panel in fig.axes if panel.get_title()]
    assert [panel.get_title().replace("\n", " ") for panel in panels] == list(summary.CLASSIFIERS)
    assert [text.get_text() for text in panels[0].get_yticklabels()] == list(names)
    marked = marks(panels[1])
    assert marked[DRESSED["PCA"].marker][:2] == pytest.approx((0.6, 2))
    assert np.isnan(marks(panels[4])[DRESSED["PCA"].marker][0])  # a classifier without a value has no mark
    bars = [line.get_xdata() for line in panels[1].lines if line.get_marker() == "None"][1:]
    np.testing.assert_allclose(np.ptp(bars, axis=1), 0.08)
