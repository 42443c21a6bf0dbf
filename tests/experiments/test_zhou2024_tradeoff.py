"""The trade-off of fair kernel k-means: what is stored suffices, bounds hold, sentences can come out otherwise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from compendium.experiments import records
from compendium.experiments import zhou2024_tradeoff as protocol
from compendium.experiments import zhou2024_tradeoff_bound as bounds
from compendium.experiments import zhou2024_tradeoff_runs as runs
from compendium.experiments import zhou2024_tradeoff_summary as summary
from compendium.experiments.zhou2024_judge import CLUSTERING_METRICS
from compendium.experiments.zhou2024_methods import made_set
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.core.errors import ConfigurationError

SEEDS = range(2)


@pytest.fixture(scope="module")
def case():
    return runs.Case(made_set())


@pytest.fixture(scope="module")
def rows(case):
    parts = [row for solve in (runs.single, runs.local) for row in solve(case, SEEDS)]
    some = (run for weight in (0.0, 2.0) for run in [runs.multiple(case, weight, case.start(0), 0)])
    parts += [row for model, weight in zip(some, (0.0, 2.0), strict=True)
              for row in case.rows("FMKKM", 0, "grid", weight, model.labels_)]  # fmt: skip
    return protocol._frame(parts).assign(source="full run")


def value(rows, protocol_name, metric, weight, split=0):
    chosen = (rows["protocol"] == protocol_name) & (rows["metric"] == metric) & (rows["split"] == split)
    chosen &= (rows["method"] == "FKKM") & ((rows["weight"] == weight) | (pd.isna(weight) & rows["weight"].isna()))
    (found,) = rows[chosen]["value"]
    return found


def test_the_rows_are_tidy_and_judged_again_from_their_counts(rows):
    own = records.checked(rows, "trade-off").drop(columns="source")
    stored = records.frame(records.lines(own), records.extra(own))
    again = protocol.judged_again(stored)
    both = pd.concat([stored.assign(source="full run"), again.assign(source="this build")], ignore_index=True)
    assert set(again["metric"]) == set(CLUSTERING_METRICS)
    assert "largest difference" in (text := summary.agreement(both, "made"))
    assert text.endswith("is 0.")
    other = both.copy()
    other.loc[(other["source"] == "this build") & (other["metric"] == "ACC"), "value"] += 0.5
    assert summary.agreement(other, "made").endswith("is 0.5.")
    fewer = both.drop(index=both[both["source"] == "this build"].index[:1])
    assert "do not belong together" in summary.agreement(fewer, "made")


def test_the_grid_and_the_rule_are_those_of_the_estimator(case, rows):
    init = case.start(1)
    for weight, name in ((0.0, "grid"), (5.0, "grid"), ("auto", "rule")):
        model = FairKernelKMeans(case.n_clusters, weight, kernel="precomputed", init=init)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(case.K, sensitive_features=case.data.groups)
        shown = np.nan if weight == "auto" else weight
        assert value(rows, name, "objective", shown, 1) == pytest.approx(model.objective_, rel=1e-12)
        assert value(rows, name, "MNCE", shown, 1) == pytest.approx(model.counts_.mnce)
        if weight == "auto":
            assert value(rows, name, "chosen weight", np.nan, 1) == model.fairness_weight_
            tried = rows[(rows["protocol"] == "rule: search") & (rows["split"] == 1)]
            assert tried["value"].tolist() == [step["mnce"] for step in model.search_]


def test_without_fairness_the_clusters_are_the_groups_and_with_it_the_classes(rows):
    curve = summary.medians(rows, "FKKM")
    assert curve.loc[0.0, "MNCE"] < 0.1 < 0.95 < curve.loc[2.0, "MNCE"]
    assert curve.loc[0.0, "ACC"] < 0.7 < 0.99 < curve.loc[2.0, "ACC"]
    assert curve.loc[200.0, "ACC"] < 0.7, "far beyond saturation single moves only shuffle"
    assert summary.shape_in_words(rows).startswith("ACC of FKKM first rises")
    assert " ACC of FMKKM " in summary.shapes_in_words(rows)
    assert "FMKKM" not in summary.shapes_in_words(rows[rows["method"] != "FMKKM"])
    turned = rows.assign(value=rows["value"].where(rows["metric"] != "ACC", 1.0 - rows["weight"].fillna(0) / 1000))
    assert summary.shape_in_words(turned).startswith("ACC of FKKM is highest without fairness")


def test_the_clustering_objective_is_the_mean_squared_distance_in_the_kernel(case):
    labels = np.random.default_rng(3).integers(case.n_clusters, size=case.data.n)
    values, vectors = np.linalg.eigh(case.K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    centres = np.stack([Z[labels == k].mean(axis=0) for k in range(case.n_clusters)])
    expected = ((Z - centres[labels]) ** 2).sum(axis=1).mean(axis=0)
    assert case.unexplained(labels) == pytest.approx(expected, rel=1e-9)


def test_no_answer_passes_its_certificate_and_a_wrong_bound_would_be_seen(rows):
    found = bounds.certificates(rows)
    assert (found["gap"] >= -1e-12).all()
    assert (found["share"] <= 1.0 + 1e-12).all()
    assert found.set_index("weight").loc[3.0, "share"] > 0.8
    lowered = rows.assign(value=rows["value"] - 20.0 * (rows["metric"] == "upper bound"))
    assert (bounds.certificates(lowered)["gap"] < 0).any()
    drawn = bounds.certificate_lines(found)
    assert drawn["method"].nunique() == 3
    assert len(drawn) == 3 * len(runs.GRID)
    large = found.set_index("weight").loc[200.0]
    assert large["reached"] < large["carried on"] <= large["bound"], "from the start it is stuck far below"
    assert "83" in bounds.certificate_in_words(found)


def test_the_empirical_term_is_the_mean_squared_distance_in_the_fair_kernel(case, rows):
    found = bounds.generalisation(rows).set_index("weight")
    weight = 3.0
    G = (case.codes[:, None] == np.arange(2)).astype(float)
    shift = weight * G.sum(axis=0).max()
    fair = case.K + shift * np.eye(case.data.n) - weight * G @ G.T
    labels = case.updates(weight, case.start(0)).labels
    inside = sum(fair[np.ix_(labels == k, labels == k)].sum(axis=None) / (labels == k).sum(axis=0) for k in range(3))
    expected = (np.trace(fair) - inside) / case.data.n
    assert found.loc[weight, "empirical"] == pytest.approx(expected, rel=1e-9)
    # no two points are farther apart than the largest possible value
    distances = np.diagonal(fair)[:, None] + np.diagonal(fair) - 2.0 * fair
    assert distances.max() <= found.loc[weight, "largest possible"]
    assert (np.diff(found["excess"]) > 0).all()


def test_vacuous_is_said_only_where_it_is(rows):
    found = bounds.generalisation(rows)
    text = bounds.vacuous(found)
    assert text.startswith("At 11 of 11 weights the bound is vacuous")
    assert "below that" not in text
    half = found.assign(bound=np.where(found["weight"] > 1, found["bound"], 0.5))
    assert bounds.vacuous(half).startswith("At 7 of 11 weights")
    assert "below that at λ = 0, 0.1, 0.5, 1." in bounds.vacuous(half)
    assert bounds.vacuous(found.assign(bound=0.5)).startswith("At 0 of 11 weights")


def test_saturation_is_where_mnce_reaches_and_keeps_its_best():
    def curve(values):
        keys = [
            ("toy", "FKKM", 2, 0, "grid", "MNCE", weight, v, "") for weight, v in zip(runs.GRID, values, strict=True)
        ]
        return protocol._frame(keys)

    assert summary.saturation(curve([0, 0.5, 0.9, 0.998, 0.999, 1, 1, 1, 1, 1, 1])) == 1.0
    assert summary.saturation(curve([0, 0.5, 0.999, 0.9, 0.999, 1, 1, 1, 1, 1, 0.9])) == 2.0
    assert summary.saturation(curve([1.0] * 11)) == 0.0


def test_starts_and_swaps_are_counted_from_the_best_and_never_lose(rows):
    table = summary.starts(rows)
    assert set(table["start"]) == {"relaxed", "random", "carried on"}
    assert table.groupby("weight")["below best"].min().abs().max() == 0.0
    assert (table["below best"] >= 0).all()
    assert (table[table["weight"] == 50.0]["below best"] > 0.01).any(), "the search is local"
    curves = summary.searches(rows).set_index(["method", "weight", "metric"])["median"]
    stuck, carried = (curves[name, 50.0, "clustering objective"] for name in (summary.TEN, summary.CARRIED))
    assert carried < stuck - 0.01
    assert summary.price_in_words(rows).startswith("At λ = 200 each from the start")
    swaps = summary.swaps(rows)
    assert (swaps["gain a point"] >= -1e-12).all()
    large = swaps.set_index("weight").loc[50.0]
    assert large["swaps"] > 0
    assert large["clustering objective, with swaps"] < large["clustering objective, without swaps"]
    assert "λ = 50" in summary.starts_in_words(table, rows)
    assert summary.swaps_in_words(swaps).startswith("Swaps add up to")


def test_rules_are_tabled_with_what_they_choose(rows):
    table = summary.rules(rows).set_index(["method", "rule"])
    assert table.loc[("FKKM", "rule"), "weight"] == 3.0 == summary.chosen(rows)["FKKM"]
    assert table.loc[("FKKM", "rule, patience 2"), "weight"] > 3.0
    # small first steps: the first weight changes nothing yet, and the rule is done
    assert table.loc[("FKKM", "rule, from 0.1 doubling"), "MNCE"] < 0.1
    assert "The rule ends at λ = 3" in summary.rule_in_words(rows)


def test_points_are_compared_in_both_directions():
    rows = [("toy", name, 2, 0, "grid", metric, weight, v, "") for name, weight, acc, mnce in
            (("FKKM", 0.0, 0.9, 0.5), ("FKKM", 1.0, 0.8, 0.9), ("SC", np.nan, 0.7, 0.9), ("VFC", 1.0, 0.95, 0.95))
            for metric, v in (("ACC", acc), ("MNCE", mnce))]  # fmt: skip
    text = summary.rivals_in_words(protocol._frame(rows))
    assert "SC 1 of 1 (its own beat 0 of 2 of FKKM)" in text
    assert "VFC 0 of 1 (its own beat 2 of 2 of FKKM)" in text


def test_parts_and_data_sets_are_checked():
    assert len(protocol.tasks()) == len(protocol.DATASETS) * len(runs.PARTS)
    with pytest.raises(ConfigurationError, match="'all'; needed is one of single, several"):
        protocol.run_task("jaffe", "all")
    with pytest.raises(ConfigurationError, match="needed is one of jaffe"):
        protocol.run("adult")


def test_what_is_shown_is_the_full_run_where_there_is_one(rows):
    made = rows.assign(dataset=protocol.MADE, source="this build")
    assert summary.shown(made, "jaffe")[1] == "made set, this build"
    both = pd.concat([made, rows.assign(dataset="jaffe")])
    some, source = summary.shown(both, "jaffe")
    assert source == "full run on jaffe"
    assert set(some["dataset"]) == {"jaffe"}
    assert set(summary.made(both)["dataset"]) == {protocol.MADE}
