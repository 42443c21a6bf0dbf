"""All linear methods in one benchmark: one preparation, the same splits for all, and measures checked by the points."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium.catalogue import experiment
from compendium.data import Dataset
from compendium.papers.across import protocol, summary
from compendium.papers.across.protocol import METRICS, SQUARED, Evaluation
from compendium.paths import root
from compendium.protocol import tidy, whole
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


def test_every_table_has_features_labels_and_a_reason_where_it_is_left_out():
    known = set(datasets.loadable())
    assert set(protocol.DATASETS) <= known
    page = (root() / "book/across/index.md").read_text(encoding="utf-8").partition("left out:")[2].partition("\n## ")[0]
    assert all(f"](../data/cards/{name})" in page for name in known - set(protocol.DATASETS))
    for name in ("across-methods", "across-bounds"):
        assert {run["dataset"] for run in experiment(name).runs.values()} == set(protocol.DATASETS)
    for name, table in protocol.DATASETS.items():
        moments = protocol.whole(name)
        if moments is None:
            assert name == "bank_marketing"
            continue
        assert moments.G == 2
        assert moments.d <= table.d <= moments.d + 20  # constant columns only are missing
        np.testing.assert_allclose(moments.mean, 0.0, atol=1e-9)
        np.testing.assert_allclose(np.diag(moments.scatter) / moments.n, 1.0, rtol=1e-9)


def test_the_group_and_the_label_are_not_among_the_features():
    names = datasets.group_moments("obesity").feature_names
    assert not [name for name in protocol.visible("obesity", names) if name.startswith(("Gender", "NObey"))]
    assert len(protocol.visible("obesity", names)) == protocol.table("obesity").d
    with pytest.raises(ConfigurationError, match="needed is a CSV file or one of default_credit"):
        protocol.table("adult_uci")


def test_parts_are_stratified_disjoint_and_in_units_of_the_training_part(made, parts):
    train, test = protocol.split_rows(made.groups, 3)
    assert not set(train) & set(test)
    assert len(train) + len(test) == made.n
    assert (made.groups[train] == "b").sum() == int(0.7 * 61)
    assert not np.array_equal(train, protocol.split_rows(made.groups, 4)[0])
    assert parts.train_points.feature_names == tuple("abcdefg")  # the constant column is gone
    np.testing.assert_allclose(parts.train_points.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(parts.train_points.X.std(axis=0), 1.0, rtol=1e-12)
    assert np.abs(parts.test_points.X.mean(axis=0)).max() > 1e-3
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
    values = Evaluation(parts, 2).judged(answer)
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
    # Rows hold the square; what is shown is the distance, as the library and its audit measure it.
    rows = whole(tidy(values, dataset="german", method="PCA", k=2, split="all", protocol="held-out"))
    shown = summary.means(rows).set_index("metric")["mean"]
    assert shown[SQUARED] == pytest.approx(mean_gap(parts.test, answer.B), rel=1e-9)
    assert shown.drop(SQUARED).to_dict() == pytest.approx(pd.Series(values).drop(SQUARED).to_dict(), rel=1e-6)
    assert METRICS[SQUARED].unit == "distance of the projected means"


def test_every_method_answers_and_the_criteria_tell_them_apart(made, quick):
    """On one split: what a method equalises is smaller than with PCA in sample; PCA itself must fail each of them."""
    full = protocol.parts_of(made, 0)
    inside = protocol.Parts(full.train, full.train, full.train_points, full.train_points, full.by_label)
    evaluation = Evaluation(inside, 2)
    found = {}
    for name in protocol.METHODS:
        fit = protocol.fit_all(name, (2,), inside, 0)[2]
        assert fit.answer is not None, (name, fit.reason)
        assert fit.answer.B.shape == (7, 2)
        found[name] = evaluation.judged(fit.answer)
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


@pytest.mark.filterwarnings("ignore::evenspan.representation.IncompleteErasureWarning")
def test_one_fit_of_an_erasure_serves_every_k(parts, quick):
    for name in ("INLP", "RLACE"):
        method = protocol.METHODS[name]
        cut = protocol.fit_all(name, (2, 3), parts, 1)
        points = parts.train_points
        for k, fit in cut.items():
            direct = method.make(k, 1).fit(points.X, sensitive_features=points.groups).components_.T
            np.testing.assert_allclose(fit.answer.V @ fit.answer.B.T, direct @ direct.T, atol=1e-10)


def test_a_split_without_an_answer_leaves_no_mean_over_the_others():
    complete, other, failed = (
        dict.fromkeys((*METRICS, *protocol.FACTS), value) for value in (2.0, 3.0, (None, "too few features"))
    )
    rows = protocol.summarised([complete, other])
    assert rows["error gap"] == 2.5
    assert rows["error gap, deviation"] == 0.7071068  # seven digits are stored
    assert rows["splits"] == 2.0
    rows = protocol.summarised([complete, failed])
    assert rows["error gap"] == (None, "no value on 1 of 2 splits: too few features")
    assert "error gap, deviation" not in rows
    assert protocol.summarised([failed])["error gap"] == (None, "too few features")


def test_the_notebook_has_every_method_and_moments_alone_have_no_classifier(cells_of, quick):
    space = cells_of("across-methods", dataset="sklearn_diabetes", sizes="2, 12", splits=1)
    rows = space["results"]
    assert set(rows["method"]) == set(protocol.METHODS)
    assert set(rows["k"]) == {2}  # 12 is not below its 9 features
    pca = rows[rows["method"] == "PCA"].set_index("metric")["value"]
    assert pca["relative error"] == pytest.approx(1.0)
    assert 0.5 <= pca["group AUC"] <= 1.0
    seen = dict(space["judged"](["PCA"], protocol.in_sample("sklearn_diabetes"), 0))[("PCA", 2)]
    assert seen["relative error"] == pytest.approx(1.0)
    assert seen["group AUC"] == (None, "a classifier is judged on points, and only moments are available")
