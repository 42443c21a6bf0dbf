"""Figures and tables of the comparison: every value stands where it is, marks are distinct, and nothing crosses."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from compendium.experiments import across_summary
from compendium.experiments.across_data import COMPONENTS, DATASETS
from compendium.experiments.across_judge import METRICS
from compendium.experiments.across_summary import Friedman
from compendium.paths import root
from compendium.report import across_figures, across_guide, across_prices, across_tables
from evenspan.core.errors import ConfigurationError
from evenspan.displays import method_looks
from evenspan.methods import METHODS

NAMES = ("PCA", "Min-max loss", "Fair PCA", "LEACE")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def dress():
    return across_figures.dress()


@pytest.fixture
def ranks():
    values = {"error gap": (3.5, 1.2, 2.4, 2.9), "group AUC": (4.0, 3.0, 1.5, 1.5)}
    rows = [(metric, metric, k, name, rank + 0.01 * k, 1.5, 13, 1e-4)
            for metric, found in values.items() for k in (2, 10)
            for name, rank in zip(NAMES, found, strict=True)]  # fmt: skip
    return pd.DataFrame(rows, columns=["criterion", "metric", "k", "method", "rank", "difference", "blocks", "p"])


@pytest.fixture
def curve():
    error = np.linspace(1.0, 1.3, 7)
    return pd.DataFrame({"dataset": "wines", "error": error, "gap": 2.0 * (1.4 - error) ** 2})


@pytest.fixture
def points():
    rows = [("wines", "PCA", 1.0, 0.32), ("wines", "Fair PCA", 4.0, 9.0), ("wines", "LEACE", 1.1, 0.25), ("soils", "PCA", 1.0, 0.1), ("soils", "LEACE", 1.2, 0.05)]  # noqa: E501  # fmt: skip
    return pd.DataFrame(rows, columns=["dataset", "method", "error", "gap"])


def marks(panel):
    """Points of a panel that have a marker: marker, x, y and whether it is filled."""
    return [
        (line.get_marker(), float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_markerfacecolor())
        for line in panel.lines
        if line.get_marker() not in ("None", None, "")
    ]


def test_every_method_has_its_own_marker_and_every_family_its_own_colour(dress):
    assert list(dress) == list(METHODS)
    assert dress == {name: method_looks.look(name) for name in METHODS}
    assert len({look.marker for look in dress.values()}) == len(METHODS)
    families = {(method.equalises, dress[name].colour) for name, method in METHODS.items()}
    assert len(families) == len({family for family, _ in families}) == len({colour for _, colour in families})
    by_family = pd.DataFrame([(m.equalises, dress[n].size) for n, m in METHODS.items() if not isinstance(dress[n].marker, tuple)])  # noqa: E501  # fmt: skip
    assert (by_family.groupby(0)[1].diff().dropna() < 0).all()  # of equal answers each is seen in the one before
    with pytest.raises(ConfigurationError, match="'method 0'"):
        across_figures.looks(["method 0"])


def test_bars_reach_half_a_critical_difference_and_filled_marks_meet_the_best(ranks, dress):
    fig = across_figures.rank_panels(ranks[ranks["k"] == 2], dress)
    panel = fig.axes[0]
    assert panel.get_title() == "error gap (13 data sets)"
    assert [text.get_text() for text in panel.get_yticklabels()] == ["Min-max loss", "Fair PCA", "LEACE", "PCA"]
    bars = [line.get_xdata() for line in panel.lines if line.get_marker() == "None"]
    np.testing.assert_allclose(np.ptp(bars, axis=1), 1.5)
    filled = {marker: face != "white" for marker, _, _, face in marks(panel)}
    assert filled == {dress[name].marker: name not in ("LEACE", "PCA") for name in NAMES}


def test_ranks_against_k_have_a_line_for_each_method(ranks, dress):
    fig = across_figures.rank_shifts(ranks, dress)
    assert [text.get_text() for text in fig.axes[1].get_xticklabels()] == ["k = 2", "k = 10"]
    for panel in fig.axes[:2]:
        assert len(panel.lines) == len(NAMES)
        assert panel.yaxis_inverted()
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [3.52, 3.6])
    assert {text.get_text() for text in fig.legends[0].get_texts()} == set(NAMES)


def test_frontier_has_all_points_and_shades_what_is_below_the_line_only(points, curve, dress):
    fig = across_figures.frontiers(points, curve, dress)
    wines, soils = fig.axes[:2]
    found = [mark for panel in (wines, soils) for mark in marks(panel)]
    assert [mark[0] for mark in found] == [dress[name].marker for name in points["method"]]
    expected = points.assign(error=points["error"] - 1)[["error", "gap"]]
    np.testing.assert_allclose([mark[1:3] for mark in found], expected, atol=1e-12)
    assert (len(wines.patches), len(soils.patches)) == (1, 0)
    path = wines.patches[0].get_path()
    assert path.contains_points([(-1e-3, 0.3), (0.1, 0.1), (1.0, 0.01)]).all()
    assert not path.contains_points([(0.1, 0.3), (3.0, 9.0), (1.0, 0.03)]).any()
    low, high = wines.get_ylim()
    assert (low, high > 9.0, wines.get_xlim()[1] > 3.0) == (0.0, True, True)


def test_floor_is_below_the_curve_everywhere_and_close_to_it(curve):
    errors = np.linspace(1.0, 1.6, 241)
    true = np.where(errors <= 1.3, 2.0 * (1.4 - errors) ** 2, 0.02)
    found = across_prices.floor(curve, errors)
    assert (found <= true + 1e-12).all()
    assert (true - found).max() < 0.02
    assert (np.interp(errors, curve["error"], curve["gap"]) - true).max() > 1e-4  # the control: chords are above it


def test_price_and_excess_are_read_from_the_frontier(points, curve):
    cheap = across_prices.prices(curve).data
    assert "impossible" not in cheap
    assert "+30.00%" in cheap
    dear = across_prices.prices(curve.assign(gap=curve["gap"] + 1.0)).data
    assert "impossible" in dear
    text = across_prices.excess(points, curve).data
    assert "Fair PCA" in text
    assert "soils" not in text


def test_gaps_that_survive_are_counted_against_pca():
    rows = [(dataset, name, "error gap", gap) for dataset, gaps in {"a": (2.0, 1.0), "b": (1.0, 3.0), "c": (4.0, 1.0)}.items() for name, gap in zip(("PCA", "u-FPCA"), gaps, strict=True)]  # noqa: E501  # fmt: skip
    means = pd.DataFrame(rows, columns=["dataset", "method", "metric", "mean"])
    text = across_prices.survival(means).data
    assert "1 of 3" in text
    assert "0.50" in text
    assert "nothing to show" in across_prices.survival(means.iloc[:0]).data


def test_prices_are_relative_to_pca_and_medians_over_data_sets(dress):
    rows = [(dataset, name, metric, value) for dataset, scale in (("a", 1.0), ("b", 2.0), ("c", 10.0))
            for name, factor in (("PCA", 1.0), ("LEACE", 0.5)) for metric in (*across_figures.GAINS, "relative error")
            for value in [(1.0 if name == "PCA" else 1.2) if metric == "relative error"
                          else 0.7 * factor if metric in across_figures.AREAS else scale * factor]]  # fmt: skip
    means = pd.DataFrame(rows, columns=["dataset", "method", "metric", "mean"])
    fig = across_figures.prices(means, dress)
    found = {marker: (x, y) for marker, x, y, _ in marks(fig.axes[0])}
    assert found[dress["LEACE"].marker] == pytest.approx((0.2, 0.5))
    assert found[dress["PCA"].marker] == pytest.approx((0.0, 1.0))
    assert {marker: y for marker, _, y, _ in marks(fig.axes[-1])}[dress["PCA"].marker] == pytest.approx(0.7)


def test_the_best_of_every_column_is_bold_whichever_way_is_better():
    rows = [("a", name, metric, mean) for metric, found in {"error gap": (3.0, 1.0), "explained variance": (0.9, 0.4)}.items() for name, mean in zip(("PCA", "LEACE"), found, strict=True)]  # noqa: E501  # fmt: skip
    means = pd.DataFrame(rows, columns=["dataset", "method", "metric", "mean"]).assign(k=5)
    means = means.assign(low=means["mean"] - 0.1, high=means["mean"] + 0.1)
    text = across_tables.by_size(means, "held out").data
    assert "<strong>1.000 ± 0.100</strong>" in text
    assert "<strong>0.900 ± 0.100</strong>" in text
    assert text.count("<strong>") == 2
    assert "5 components, held out" in text
    assert "No mean" in across_tables.by_size(means.iloc[:0], "held out").data
    one = across_tables.across_data_sets(means.replace({"dataset": {"a": "COMPAS"}}), "error gap").data
    assert "less is better" in one
    assert "COMPAS" in one


def test_methods_that_are_not_told_apart_are_listed_all_where_the_test_finds_nothing():
    average = pd.Series({"LEACE": 1.0, "Fair PCA": 1.9, "PCA": 3.1})
    empty = pd.DataFrame(columns=["method", "reason"])
    sure = Friedman("error gap", 5, 20.0, 1e-4, average, 1.0, ("a", "b"), empty)
    unsure = Friedman("worst error", 5, 1.0, 0.6, average, 1.0, ("a", "b"), empty)
    text = across_tables.told_apart(across_tables.rank_rows([sure, None, unsure])).data
    first, second = text.split("worst error")
    assert "Fair PCA (1.9)" in first
    assert "PCA (3.1)" not in first
    assert "PCA (3.1)" in second


def test_certificates_and_times_are_over_data_sets():
    rows = [(dataset, name, 5, metric, value)
            for name, seconds in (("PCA", (0.1, 0.3, 9.0)), ("LEACE", (1.0, 1.0, 1.0)))
            for dataset, second in zip(("a", "b", "c"), seconds, strict=True)
            for metric, value in (("seconds", second), ("certified", float(dataset == "a")))]  # fmt: skip
    text = across_tables.facts(pd.DataFrame(rows, columns=["dataset", "method", "k", "metric", "value"]), 5).data
    assert "0.3 s" in text
    assert "33%" in text
    assert "LEACE" in text


def test_the_guide_becomes_a_tree_and_tables(dress):
    rows = [(METRICS[metric].criterion, metric, k, use, "LEACE, PCA", "it is cheap", "+1.0 %", "LEACE", 9, 0.001)
            for metric in ("relative error", "error gap", "mean distance", "label accuracy")
            for k, use in ((2, "PCA"), (5, "LEACE"))]  # fmt: skip
    columns = ["criterion", "metric", "k", "use", "not worse", "because", "costs", "best", "data sets", "p"]
    guide = pd.DataFrame(rows, columns=columns)
    chosen = across_guide.choices(guide, 2)
    assert chosen["method"].tolist() == ["PCA"] * 3
    texts = [text.get_text() for text in across_guide.decision(chosen, dress).axes[0].texts]
    assert texts.count("LEACE") == 3
    assert texts.count("or, not told apart: PCA") == 3
    unsure = across_guide.choices(guide.assign(p=0.5), 2)
    assert (unsure["best"] == unsure["method"]).all()
    assert across_guide.decision(chosen.iloc[:0], dress).axes[0].texts[0].get_text().startswith("No choice")
    assert "LEACE (2)" in across_guide.guide_by_size(guide).data
    assert across_guide.guide(guide.iloc[:0], 5).data == across_guide.guide_by_size(guide.iloc[:0]).data


def test_the_guide_counts_the_data_sets_on_which_the_best_is_before_pca():
    tables_ = {
        "error gap": {"PCA": (3.0, 2.0, 5.0), "u-FPCA": (1.0, 2.5, 1.0), "LEACE": (9.0, 9.0, 9.0)},
        "relative error": {"PCA": (1.0, 1.0, 1.0), "u-FPCA": (1.1, 1.2, 1.3), "LEACE": (2.0, 2.0, 2.0)},
    }  # fmt: skip
    rows = pd.DataFrame(
        [(dataset, name, 2, "all", "held-out", metric, value, "") for metric, found in tables_.items()
         for name, some in found.items() for dataset, value in zip(("compas", "letter", "magic"), some, strict=True)],
        columns=["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"],
    )  # fmt: skip
    guide = across_summary.guide(rows, sizes=(2,))
    (gain,) = across_guide.against_pca(guide[guide["metric"] == "error gap"], 2, rows).to_dict("records")
    assert (gain["best"], gain["wins"], gain["of"]) == ("u-FPCA", 2, 3)
    assert gain["cost"] == pytest.approx((1.1 * 1.2 * 1.3) ** (1 / 3) - 1)
    text = across_guide.guide(guide.assign(p=[0.01 if metric == "error gap" else 0.5 for metric in guide["metric"]]), 2, rows).data  # noqa: E501  # fmt: skip
    assert "<strong>u-FPCA</strong>" in text
    assert "2 of 3" in text
    assert "+19.7%" in text
    assert "no method stands out" in text  # three data sets are too few for the test


def test_lists_name_every_method_data_set_and_measure_and_their_chapters_exist():
    text = across_tables.methods().data
    assert all(name in text for name in METHODS)
    assert set(across_tables.CHAPTERS) == set(METHODS)
    assert all((root() / "book" / f"{page}.md").is_file() for page in across_tables.CHAPTERS.values())
    titles = across_tables.labels()
    assert list(titles) == list(DATASETS)
    assert len(set(titles.values())) == len(DATASETS)
    sizes = {k: tuple(DATASETS)[:1] for k in COMPONENTS}
    assert all(title in across_tables.data(sizes).data for title in titles.values())
    assert all(name in across_tables.metrics().data for name in METRICS)
    assert {metric for some in across_guide.QUESTIONS.values() for metric in some} <= set(METRICS)
    assert {*across_figures.GAINS} <= set(METRICS)


def test_without_results_every_figure_says_so(dress):
    nothing = pd.DataFrame()
    for fig in (across_figures.rank_panels(nothing, dress), across_figures.rank_shifts(nothing, dress),
                across_figures.frontiers(nothing, nothing, dress), across_figures.prices(nothing, dress)):  # fmt: skip
        assert "has not been stored" in fig.axes[0].texts[0].get_text()
