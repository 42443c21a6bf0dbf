"""All linear methods in one benchmark: measures checked by the points, ranks on made-up results."""

import dataclasses

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data import Dataset
from compendium.papers.across import audits, protocol, summary
from compendium.papers.across.protocol import METRICS, SQUARED, Evaluation, comparable
from compendium.records import tidy, whole
from compendium.store import read_results
from evenspan import RLACE, MMDFairPCA
from evenspan.core.errors import ConfigurationError
from evenspan.metrics import LinearMap, mean_gap


@pytest.fixture(scope="module")
def made():
    """Two groups of unequal size, mean and spread, and one constant column."""
    rng = np.random.default_rng(11)
    groups = np.repeat(["a", "b"], [150, 61])
    X = rng.normal(size=(211, 8)) * [4, 3, 2, 1, 1, 1, 1, 1] + 7
    X[groups == "b"] += rng.normal(size=8)
    X[groups == "b", 4] *= 3
    X[:, 7] = 5.0
    y = (X[:, 0] + rng.normal(size=211) > 7).astype(int)
    return Dataset("german", X, y, groups, tuple("abcdefgh"))


@pytest.fixture
def quick(monkeypatch):
    """The games and penalty methods with few steps: what is tested here does not need them played to the end."""
    quicker = {
        "RLACE": lambda k, seed: RLACE(k, rank=1, random_state=seed, max_iter=200, evaluate_every=100),
        "MMD PCA": lambda k, seed: MMDFairPCA(k, random_state=seed, max_iter=2, max_inner=20),
    }
    for name, make in quicker.items():
        monkeypatch.setitem(protocol.METHODS, name, dataclasses.replace(protocol.METHODS[name], make=make))


@pytest.fixture(scope="module")
def parts(made):
    return protocol.parts_of(made, 3)


def test_features_are_standardised_without_the_group_and_the_label():
    for name, table in protocol.DATASETS.items():
        if (moments := protocol.whole(name)) is not None:
            assert moments.G == 2
            assert moments.d <= table.d <= moments.d + 20  # constant columns only are missing
            np.testing.assert_allclose(np.diag(moments.scatter) / moments.n, 1.0, rtol=1e-9)
    names = datasets.group_moments("obesity").feature_names
    assert not [name for name in protocol.visible("obesity", names) if name.startswith(("Gender", "NObey"))]
    with pytest.raises(ConfigurationError, match="needed is a CSV file or one of default_credit"):
        protocol.table("adult_uci")


def test_parts_are_stratified_disjoint_and_in_units_of_the_training_part(made, parts):
    train, test = protocol.split_rows(made.groups, 3)
    assert not set(train) & set(test)
    assert len(train) + len(test) == made.n
    assert (made.groups[train] == "b").sum() == int(0.7 * 61)
    assert parts.train_points.feature_names == tuple("abcdefg")  # the constant column is gone
    np.testing.assert_allclose(parts.train_points.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(parts.train_points.X.std(axis=0), 1.0, rtol=1e-12)
    fewer = protocol.split_rows(made.groups, 3, (60, np.inf))
    assert set(fewer[0]) < set(train)
    assert [(made.groups[fewer[0]] == g).sum() for g in "ab"] == [43, 17]  # the same share of 105 and of 42
    np.testing.assert_array_equal(fewer[1], test)
    again = (made.X[test][:, :7] - made.X[train][:, :7].mean(axis=0)) / made.X[train][:, :7].std(axis=0)
    np.testing.assert_allclose(parts.test_points.X, again, rtol=1e-10)


def test_measures_are_their_definitions_on_the_points(parts):
    """Errors, losses and distances of an oblique map, computed from moments and again from the points."""
    rng = np.random.default_rng(2)
    V = np.linalg.qr(rng.normal(size=(7, 2)))[0]
    answer = LinearMap(V, V + 0.1 * rng.normal(size=(7, 2)), 0.2 * rng.normal(size=7))
    values = Evaluation(parts, 2).measures(answer)
    assert list(values) == list(METRICS)
    X, groups = parts.test_points.X, parts.test_points.groups
    T = (X - answer.mean) @ answer.B
    squares = ((X - answer.mean - T @ V.T) ** 2).sum(axis=1)
    errors = np.array([squares[groups == g].mean(axis=0) for g in "ab"])
    own = []
    for g in "ab":
        fitting = parts.train_points.X[parts.train_points.groups == g]
        W = np.linalg.svd(fitting)[2][:2].T
        rest = X[groups == g] - X[groups == g] @ W @ W.T
        own.append((rest**2).sum(axis=1).mean(axis=0))
    P = np.linalg.svd(parts.train_points.X)[2][:2].T
    base = ((X - X @ P @ P.T) ** 2).sum(axis=1).mean(axis=0)
    means = [T[groups == g].mean(axis=0) for g in "ab"]
    covariances = [np.cov(T[groups == g].T) for g in "ab"]
    expected = {
        "relative error": squares.mean(axis=0) / base,
        "explained variance": T.var(axis=0).sum(axis=0) / X.var(axis=0).sum(axis=0),
        "worst error": errors.max(axis=0),
        "error gap": abs(errors[0] - errors[1]),
        "worst loss": (errors - own).max(axis=0),
        "loss gap": np.ptp(errors - own, axis=0),
        "mean distance": ((means[0] - means[1]) ** 2).sum(axis=0),
        "covariance distance": np.linalg.norm(covariances[0] - covariances[1], 2) / np.linalg.norm(np.cov(T.T), 2),
    }
    for metric, value in expected.items():
        assert values[metric] == pytest.approx(value, rel=1e-9), metric
    # Rows hold the square; what is shown is the distance over the root of the variance kept.
    rows = whole(tidy(values, dataset="german", method="PCA", k=2, split="all", protocol="held-out"))
    shown = summary.means(rows).set_index("metric")["mean"]
    assert shown[SQUARED] == pytest.approx(
        mean_gap(parts.test, answer.B) / values["explained variance"] ** 0.5, rel=1e-6
    )
    assert shown.drop(SQUARED).to_dict() == pytest.approx(pd.Series(values).drop(SQUARED).to_dict(), rel=1e-6)


def test_every_method_answers_and_the_criteria_tell_them_apart(made, quick):
    """On one split: what a method equalises is smaller than with PCA in sample; PCA itself must fail each of them."""
    full = protocol.parts_of(made, 0)
    inside = protocol.Parts(full.train, full.train, full.train_points, full.train_points, full.by_label)
    evaluation = Evaluation(inside, 2)
    found = {}
    for name in protocol.METHODS:
        fit = protocol.fit_all(name, (2,), inside, 0)[2]
        assert fit.answer is not None, (name, fit.reason)
        found[name] = evaluation.measures(fit.answer)
    table = pd.DataFrame(found).T
    assert table.loc["PCA", "relative error"] == pytest.approx(1.0)
    assert (table["relative error"] >= 1.0 - 1e-12).all()
    assert table[SQUARED].idxmax() not in ("Fair PCA", "LEACE", "Null-it-out PCA")
    for name in ("Fair PCA", "LEACE", "Null-it-out PCA"):
        assert table.loc[name, SQUARED] < 1e-18 < table.loc["PCA", SQUARED]
        assert table.loc[name, "group AUC"] == 0.5 < table.loc["PCA", "group AUC"]
    assert table["worst error"].min() == pytest.approx(table.loc["Min-max error", "worst error"], rel=1e-6)
    assert table["worst loss"].min() == pytest.approx(table.loc["Min-max loss", "worst loss"], rel=1e-6)
    assert table.loc["u-FPCA", "error gap"] < 1e-6 < table.loc["PCA", "error gap"]


DATASETS = comparable(10)
METHODS = ("PCA", "Fair PCA", "LEACE", "u-FPCA")


def rows_of(values, metric="error gap"):
    """Rows of k = 10 and ten splits as the full run stores them; values (data sets, methods) or (methods,)."""
    found = []
    values = np.broadcast_to(values, (len(DATASETS), len(METHODS)))
    for (i, j), value in np.ndenumerate(values):
        measured = {metric: float(value), f"{metric}, deviation": 0.5} | ({"splits": 10.0} if "gap" in metric else {})
        found += [(DATASETS[i], METHODS[j], 10, "all", "held-out", *pair, "") for pair in measured.items()]
    return pd.DataFrame(found, columns=["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"])


@pytest.fixture(scope="module")
def clear():
    """u-FPCA is best on every data set and dear, Fair PCA close behind and cheaper, PCA far behind and cheapest."""
    gaps = np.array([9.0, 2.0, 8.0, 1.0]) * np.random.default_rng(3).uniform(1, 5, size=(len(DATASETS), 1))
    return pd.concat([rows_of(gaps), rows_of([1.0, 1.1, 1.05, 1.5], "relative error")], ignore_index=True)


#: Every method is first, second, third and last in turn.
CYCLIC = np.array([np.roll([1.0, 2.0, 3.0, 4.0], i) for i in range(len(DATASETS))])


def test_ranks_follow_the_direction_of_the_metric_and_share_ties(clear):
    found = summary.ranks("error gap", 10, clear)
    assert list(found.index) == list(DATASETS)
    assert (found.loc["adult", ["u-FPCA", "Fair PCA", "LEACE", "PCA"]] == [1, 2, 3, 4]).all()
    up = clear.assign(metric=clear["metric"].replace("error gap", "explained variance"))
    assert (summary.ranks("explained variance", 10, up)["PCA"] == 1).all()
    assert (summary.ranks("error gap", 10, rows_of([1 + 1e-7, 1, 1, 2]))["PCA"] == 2).all()
    blind = summary.ranks("group AUC", 10, rows_of([0.42, 0.5, 0.47, 0.8], "group AUC"))
    assert (blind[["PCA", "Fair PCA", "LEACE"]] == 2).all(axis=None)
    part = np.tile([4.0, 3.0, 2.0, 1.0], (len(DATASETS), 1))
    part[2, 3] = np.nan  # a method without a value somewhere is left out
    found = summary.ranks("error gap", 10, rows_of(part))
    assert "u-FPCA" not in found
    assert (found["LEACE"] == 1).all()


def test_the_strongest_attacker_is_ranked_by_its_mean_over_the_splits():
    whole_rows = rows_of([0.9, 0.6, 0.7, 0.4], summary.STRONGEST)
    splits = [whole_rows.assign(split=i, value=whole_rows["value"] + shift) for i, shift in enumerate((-0.05, 0.05))]
    found = summary.ranks(summary.STRONGEST, 10, pd.concat(splits))
    assert found.iloc[0].to_dict() == {"PCA": 4, "Fair PCA": 2, "LEACE": 3, "u-FPCA": 1}
    blind = summary.ranks(summary.STRONGEST, 10, rows_of([0.9, 0.48, 0.7, 0.4], summary.STRONGEST))
    assert (blind[["Fair PCA", "u-FPCA"]] == 1.5).all(axis=None)  # below one half nothing is found
    missing = pd.concat([splits[0], splits[1].assign(value=splits[1]["value"].where(splits[1]["method"] != "LEACE"))])
    assert "LEACE" not in summary.ranks(summary.STRONGEST, 10, missing)


def test_an_audit_is_passed_only_where_another_attacker_finds_more_than_its_limit():
    rows = []
    for split, (forest, chosen) in enumerate([(0.6, 1.0), (0.8, 1.0), (0.8, 0.0)]):
        found = {"area": 0.65, "upper limit": 0.7, "upper limit, linear alone": 0.55, "advised": chosen}
        key = {"dataset": "obesity", "method": "LEACE", "k": 2, "split": split}
        found |= {"area of outside forest": forest, "area of outside boosting": 0.5}
        rows += tidy(found, protocol="fresh rows", **key)
        held = {"group AUC, interval on held out rows": 1.0, "group AUC, half the interval on held out rows": chosen}
        rows += tidy(held, protocol="population", **key | {"method": audits.ADVISED})
    found = audits.outside(whole(rows)).set_index("method")
    assert found["above its limit"].to_dict() == {audits.ADVISED: 1, "LEACE": 2}
    assert found["above, linear alone"].to_dict() == {audits.ADVISED: 2, "LEACE": 3}
    shares = audits.covered(whole(rows)).set_index("interval")["share"]
    assert shares.to_dict() == pytest.approx({"held out": 1.0, "held out, half as wide": 2 / 3})


def test_stored_audits_keep_their_word_and_their_controls_do_not():
    rows = read_results("across-audits")
    found = audits.outside(rows)
    advised = found[found["method"] == audits.ADVISED]
    assert (advised["audits"] == 20).all()
    shipped = [name for name in datasets.loadable() if datasets.entry(name).shipped]
    sizes = {name: pq.read_metadata(paths.data("tables", f"{name}.parquet")).num_rows for name in shipped}
    assert set(advised["dataset"]) == {name for name, n in sizes.items() if n > 2000}
    assert advised["above its limit"].sum() <= 0.05 * advised["audits"].sum() < advised["above, linear alone"].sum()
    shares = audits.covered(rows).pivot(index="number", columns="interval", values="share")
    assert len(shares) == 3
    assert shares["held out"].min() >= 0.93 > shares["held out, half as wide"].max()


def test_a_test_that_finds_nothing_finds_nothing(clear):
    # Demsar (2006): 4 methods on 14 data sets differ by 1.25, with q = 2.569.
    assert summary.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    found = summary.friedman("error gap", 10, clear)
    assert found.p < 1e-4
    assert list(found.ranks.index) == ["u-FPCA", "Fair PCA", "LEACE", "PCA"]
    assert found.not_worse() == ["u-FPCA", "Fair PCA"]  # one rank apart; the difference needed on ten is 1.48
    even = summary.friedman("error gap", 10, rows_of(CYCLIC))
    assert even.p > 0.5
    assert set(even.not_worse()) == set(METHODS)
    assert summary.friedman("error gap", 10, rows_of(1.0)).p == 1.0


def test_the_guide_takes_the_cheapest_of_those_that_cannot_be_told_from_the_best(clear):
    guide = summary.guide(clear).set_index("metric")
    line = guide.loc["error gap"]
    assert (line["use"], line["best"], line["criterion"]) == ("Fair PCA", "u-FPCA", METRICS["error gap"].criterion)
    assert (line["relative error"], line["best error"]) == pytest.approx((1.1, 1.5))
    assert line["wins"] == line["data sets"] == len(DATASETS)
    assert (line["rank"], line["best rank"], line["not worse"]) == (2.0, 1.0, "u-FPCA, Fair PCA")
    costs = clear[clear["metric"] == "relative error"]
    undecided = summary.guide(pd.concat([rows_of(CYCLIC), costs])).set_index("metric")
    assert undecided.loc["error gap", "use"] == "PCA"


def test_the_chance_level_is_of_permuted_groups_and_areas_of_the_label_are_left_out():
    rows = []
    for method, area in (("PCA", 0.7), ("LEACE", 0.5)):
        for split in range(2):
            key = {"dataset": "obesity", "method": method, "k": 2, "split": split}
            found = {"AUC, boosting": area + 0.1 * split, "AUC, boosting, standard error": 0.01}
            rows += tidy(found | {"label AUC, boosting": 0.9}, protocol="held-out", **key)
            rows += tidy({"AUC, boosting": area - 0.2 + 0.02 * split}, protocol="groups permuted", **key)
    found = summary.concealed(whole(rows)).set_index("method")
    assert found["mean"].to_dict() == pytest.approx({"PCA": 0.75, "LEACE": 0.55})
    np.testing.assert_allclose(found["chance"], np.quantile([0.5, 0.52, 0.3, 0.32], 0.95))
    assert set(found["classifier"]) == {"boosting"}


def test_sizes_below_the_number_of_features_are_compared_and_others_refused():
    assert protocol.components("2, 9, 40", "sklearn_diabetes") == [2]
    with pytest.raises(ConfigurationError, match="needed is a number of components from 1 to 8 for sklearn_diabetes"):
        protocol.components("9, 10", "sklearn_diabetes")
