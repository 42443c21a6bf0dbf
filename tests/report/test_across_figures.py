"""Figures and tables of the comparison: values stand where they are, marks differ, what is impossible is shaded."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import classifiers, figures, summary, tables
from compendium.papers.across.protocol import COMPONENTS, DATASETS, METRICS
from compendium.papers.across.summary import Friedman
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


def test_of_equal_answers_each_is_seen_in_the_one_before():
    sizes = [(m.equalises, DRESSED[n].size) for n, m in METHODS.items() if not isinstance(DRESSED[n].marker, tuple)]
    assert (pd.DataFrame(sizes).groupby(0)[1].diff().dropna() < 0).all()


def test_ranks_have_bars_of_a_critical_difference_and_lines_over_k():
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
    fig = figures.rank_shifts(ranks)
    np.testing.assert_allclose(fig.axes[0].lines[0].get_ydata(), [3.52, 3.6])
    assert [text.get_text() for text in fig.axes[1].get_xticklabels()] == ["k = 2", "k = 10"]
    assert {text.get_text() for text in fig.legends[0].get_texts()} == set(NAMES)


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


def test_price_excess_and_survival_are_told(points, curve):
    cheap, dear = (tables.prices(curve.assign(gap=curve["gap"] + more)).data for more in (0.0, 1.0))
    assert ("impossible" in cheap, "impossible" in dear, "+30.00%" in cheap) == (False, True, True)
    text = tables.excess(points, curve).data
    assert ("Fair PCA" in text, "soils" in text, "300.00%" in text) == (True, False, True)
    gaps = {"a": (2.0, 1.0), "b": (1.0, 3.0), "c": (4.0, 1.0)}
    means = means_of({name: {"error gap": gap} for name, gap in gaps.items()}, ["error gap"], ("PCA", "u-FPCA"))
    text = tables.survival(means).data
    assert "1 of 3" in text
    assert "0.50" in text
    assert "nothing to show" in tables.survival(means.iloc[:0]).data


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
    means = means_of(values, ("error gap", "explained variance")).assign(k=5)
    means = means.assign(low=means["mean"] - 0.1, high=means["mean"] + 0.1)
    text = tables.by_size(means, "held out").data
    assert "<strong>1.000 ± 0.100</strong>" in text
    assert "<strong>0.900 ± 0.100</strong>" in text
    assert text.count("<strong>") == 2
    assert "5 components, held out" in text
    assert "No mean" in tables.by_size(means.iloc[:0], "held out").data
    one = tables.across_data_sets(means.replace({"dataset": {"a": "COMPAS"}}), "error gap").data
    assert "less is better" in one
    assert "COMPAS" in one


def test_what_is_not_told_apart_and_what_is_certified_is_listed():
    average = pd.Series({"LEACE": 1.0, "Fair PCA": 1.9, "PCA": 3.1})
    sure = Friedman("error gap", 5, 20.0, 1e-4, average, 1.0, ("a", "b"))
    unsure = Friedman("worst error", 5, 1.0, 0.6, average, 1.0, ("a", "b"))
    first, second = tables.told_apart([sure, unsure]).data.split("worst error")
    assert "Fair PCA (1.9)" in first
    assert "PCA (3.1)" not in first
    assert "PCA (3.1)" in second
    assert tables.rank_rows([None, sure])["rank"].tolist() == [1.0, 1.9, 3.1]
    rows = [(dataset, "PCA", 5, metric, value) for dataset, second in {"a": 0.1, "b": 0.3, "c": 9.0}.items()
            for metric, value in (("seconds", second), ("certified", float(dataset == "a")))]  # fmt: skip
    text = tables.facts(pd.DataFrame(rows, columns=["dataset", "method", "k", "metric", "value"]), 5).data
    assert "0.3 s" in text
    assert "33%" in text


def test_the_guide_becomes_a_tree_and_a_table_by_size():
    rows = [(METRICS[metric].criterion, metric, k, use, "LEACE, PCA", "LEACE", 0.001)
            for metric in ("relative error", "error gap", "mean distance", "label accuracy")
            for k, use in ((2, "PCA"), (5, "LEACE"))]  # fmt: skip
    guide = pd.DataFrame(rows, columns=["criterion", "metric", "k", "use", "not worse", "best", "p"])
    chosen = tables.choices(guide, 2)
    assert chosen["method"].tolist() == ["PCA"] * 3
    texts = [text.get_text() for text in figures.decision(chosen).axes[0].texts]
    assert texts.count("LEACE") == texts.count("or, at least cost: PCA") == 3
    unsure = tables.choices(guide.assign(p=0.5), 2)
    assert (unsure["best"] == unsure["method"]).all()
    assert "LEACE (2)" in tables.guide_by_size(guide).data


def test_the_guide_counts_the_data_sets_on_which_the_best_is_before_pca():
    values = {
        "compas": {"error gap": (3.0, 1.0, 9.0), "relative error": (1.0, 1.1, 2.0)},
        "letter": {"error gap": (2.0, 2.5, 9.0), "relative error": (1.0, 1.2, 2.0)},
        "magic": {"error gap": (5.0, 1.0, 9.0), "relative error": (1.0, 1.3, 2.0)},
    }
    rows = means_of(values, ("error gap", "relative error"), ("PCA", "u-FPCA", "LEACE"))
    rows = rows.rename(columns={"mean": "value"}).assign(k=2, split="all", protocol="held-out", reason="")
    guide = summary.guide(rows)
    gain = guide.set_index("metric").loc["error gap"]
    assert (gain["best"], gain["wins"], gain["data sets"]) == ("u-FPCA", 2, 3)
    assert gain["best error"] == pytest.approx((1.1 * 1.2 * 1.3) ** (1 / 3))
    sure = guide.assign(p=np.where(guide["metric"] == "error gap", 0.01, 0.5))
    text = tables.guide(sure, 2).data
    assert all(words in text for words in ("<strong>u-FPCA</strong>", "2 of 3", "+19.7%", "no method stands out"))


def test_lists_name_every_method_data_set_and_measure_and_their_chapters_exist():
    assert all(name in tables.methods().data for name in METHODS)
    assert set(tables.CHAPTERS) == set(METHODS)
    assert all((root() / "book" / f"{page}.md").is_file() for page in tables.CHAPTERS.values())
    titles = tables.labels()
    assert list(titles) == list(DATASETS)
    assert len(set(titles.values())) == len(DATASETS)
    sizes = {k: tuple(DATASETS)[:1] for k in COMPONENTS}
    assert all(title in tables.data(sizes).data for title in titles.values())
    assert all(name in tables.metrics().data for name in METRICS)
    assert {metric for some in tables.QUESTIONS.values() for metric in some} | {*figures.GAINS} <= set(METRICS)


def test_classifiers_have_a_panel_each_and_methods_their_marks():
    names = ("Fair PCA", "PCA", "Oracle LEACE", "LEACE", "LEACE (all features)", "groups permuted", "all features")
    rows = [(name, one, 0.5 + 0.05 * i, 0.02 * (1 + j)) for i, name in enumerate(names)
            for j, one in enumerate(classifiers.CLASSIFIERS) if (i, j) != (2, 4)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["method", "classifier", "mean", "half"])
    found = found.assign(low=found["mean"] - found["half"], high=found["mean"] + found["half"])
    fig = figures.classifier_panels(found)
    panels = [panel for panel in fig.axes if panel.get_title()]
    assert [panel.get_title().replace("\n", " ") for panel in panels] == list(classifiers.CLASSIFIERS)
    order = ["all features", "groups permuted", "PCA", "Fair PCA", "LEACE", "LEACE (all features)", "Oracle LEACE"]
    assert [text.get_text() for text in panels[0].get_yticklabels()] == order
    marked = marks(panels[1])
    assert marked[DRESSED["PCA"].marker][:2] == pytest.approx((0.55, 2))
    assert np.isnan(marks(panels[4])[(5, 0, 180)][0])  # a classifier without a value has no mark
    bars = [line.get_xdata() for line in panels[1].lines if line.get_marker() == "None"][1:]
    np.testing.assert_allclose(np.ptp(bars, axis=1), 0.08)
    sizes = {text.get_fontsize() for panel in panels for text in (panel.title, *panel.get_yticklabels())}
    assert min(sizes) * 44 * 16 / (96 * fig.get_figwidth()) >= 8  # points on a phone, where it is 44rem wide


def test_without_results_every_figure_and_table_says_so():
    nothing = pd.DataFrame()
    for fig in (figures.rank_panels(nothing), figures.rank_shifts(nothing), figures.frontiers(nothing, nothing),
                figures.prices(nothing), figures.decision(nothing), figures.coverage(nothing),
                figures.coverage_by_row(nothing), figures.classifier_panels(nothing)):  # fmt: skip
        assert "has not been stored" in fig.axes[0].texts[0].get_text()
    for shown in (tables.guide(nothing, 5), tables.guide_by_size(nothing), tables.told_apart([]),
                  tables.prices(nothing), tables.excess(nothing, nothing)):  # fmt: skip
        assert "has not been stored" in shown.data


def test_coverage_is_drawn_where_it_was_counted():
    shares = {
        "means: coverage": 0.97,
        "means, sample: coverage": 0.0,
        "errors: coverage": 0.6,
        "errors, sample: coverage": 0.2,
    }
    ends = {f"{kind}: {end}": value for kind in figures.KINDS for end, value in (("low", 0.5), ("high", 0.99))}
    key = {"draws": 100.0, "largest row": 0.7}
    rows = pd.DataFrame(
        [{"dataset": d, "method": m, **key, **shares, **ends} for d in "xy" for m in ("PCA", "Fair PCA")]
    )
    for panel, kind in zip(figures.coverage(rows).axes, figures.KINDS, strict=True):
        marks = [line.get_xdata() for line in panel.lines[1:]]
        np.testing.assert_allclose(marks, [[shares[f"{kind}{rule}: coverage"]] * 2 for rule in ("", ", sample")] * 2)
        assert len(panel.collections) == 2  # an interval for each mark of a method
    marks = figures.coverage_by_row(rows).axes[0].lines[1:]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in marks] == [(0.7, 0.7, 0.6, 0.6)] * 2
