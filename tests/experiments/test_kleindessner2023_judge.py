"""How the methods of the table are fitted, and what is measured of one: each row from the part its protocol names."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone

from compendium import records
from compendium.data import Dataset
from compendium.ledger.table import published
from compendium.papers.kleindessner2023 import protocol, readings
from evenspan import FairKernelPCA, FairPCA, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError

COLUMNS = ["protocol", "metric", "value", "reason"]


def draw(n, seed) -> Dataset:
    """Two groups of unequal size, mean and scale; labels that depend on both."""
    rng = np.random.default_rng(seed)
    groups = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, 6)) * [3, 2, 1.5, 1, 0.7, 0.4] * np.array([[1.0], [0.5]])[groups]
    X += np.outer(groups, [1.0, -2.0, 0.5, 0.0, 1.0, 0.3])
    y = (X[:, 0] + X[:, 2] + rng.normal(size=n) > 1.0).astype(int)
    return Dataset("made", X, y, groups, tuple("abcdef"))


@pytest.fixture(scope="module")
def parts():
    return draw(90, 1), draw(60, 2)


@pytest.fixture(scope="module")
def moments(parts):
    return [GroupMoments.from_data(part.X, part.groups) for part in parts]


@pytest.fixture(scope="module")
def fitted(parts):
    return FairPCA(2, center="none").fit(parts[0].X, sensitive_features=parts[0].groups)


@pytest.fixture(scope="module")
def kernel(parts):
    return FairKernelPCA(2, center="none").fit(parts[0].X, sensitive_features=parts[0].groups)


@pytest.fixture
def on_moments(cells_of, cache):
    return cells_of("kleindessner2023-table", dataset="compas", k=5, splits=1)


@pytest.fixture
def on_points(cells_of, short_games):
    with short_games():
        return cells_of("kleindessner2023-table", dataset="sklearn_diabetes", k=2, splits=1)


def test_the_notebook_has_the_rows_of_the_poster_and_ours(on_moments):
    poster = published()
    poster = poster[poster["stem"] == "kleindessner2023_adult_k10"]
    assert list(protocol.PRINTED) == list(dict.fromkeys(poster["method"]))
    assert list(dict.fromkeys(poster["metric"])) == protocol.METRICS
    assert list(on_moments["METHODS"]) == list(protocol.METHODS)
    assert {estimator.n_components for estimator in on_moments["METHODS"].values()} == {5}


def test_shipped_moments_give_what_they_determine_and_the_rest_needs_points(on_moments):
    study, rows = on_moments["study"], on_moments["results"]
    assert not study.published
    needs = {name for name, one in on_moments["METHODS"].items() if isinstance(one, protocol.OF_POINTS)}
    assert set(rows["method"]) == {*protocol.METHODS} - needs >= {"PCA", "Fair PCA", "FPCA (0, 0.01)", "LEACE"}
    assert {name.removeprefix("compas-k5-") for name in study.left_out} >= {"inlp", "rlace", "fair_kernel_pca"}
    assert (rows[rows["protocol"] != "fit"].groupby("method").size() == 5).all()


def test_every_method_is_judged_on_the_parts_of_its_split(on_points):
    rows, (train, test) = on_points["results"], on_points["parts"](0, True)[0]
    records.checked(rows.drop(columns="task"), "diabetes")
    assert set(rows["method"]) == set(protocol.METHODS)
    mine = rows[rows["method"] == "Fair PCA"]
    assert set(mine["protocol"]) == {"released", "held-out", "in sample"}
    assert set(mine.loc[mine["protocol"] == "released", "metric"]) >= set(protocol.METRICS)
    fitted = FairPCA(2, center="none").fit(train.X, sensitive_features=train.groups)
    centred = train.X - train.X.mean(axis=0)
    sigma = metrics.median_bandwidth(centred @ np.linalg.svd(centred)[2][:2].T)  # that of standard PCA, for all methods
    E, value = fitted.transform(test.X), mine.set_index(["protocol", "metric"])["value"]
    assert value["released", "MMD^2"] == pytest.approx(metrics.mmd2(E, test.groups, sigma))
    share = E.var(axis=0).sum(axis=0) / test.X.var(axis=0).sum(axis=0)
    assert value["released", "%Var"] == pytest.approx(100 * share)
    assert value["in sample", "mean gap"] < 1e-10 < value["held-out", "mean gap"]


@pytest.mark.parametrize("name", protocol.METHODS)
def test_a_method_draws_needs_points_and_is_certified_as_the_room_says(parts, on_moments, short_games, name):
    few = {"INLP": {"max_iter": 4}, "RLACE": {"rank": 1 if "rank 1" in name else 4}}
    estimator = clone(on_moments["METHODS"][name]).set_params(n_components=2, **few.get(name.partition(",")[0], {}))
    train, test = parts
    if name.startswith("INLP"):  # a training part of rank 3: then more directions are left than needed, and it draws
        axes = np.linalg.svd(train.X, full_matrices=False)[2][:3]
        train = replace(train, X=train.X @ axes.T @ axes)
    moments = GroupMoments.from_data(train.X, train.groups)
    points = isinstance(estimator, protocol.OF_POINTS)
    if points:
        with pytest.raises(ConfigurationError, match="points of the training part"):
            protocol.fit(estimator, moments)
    with short_games():
        fitted = [protocol.fit(estimator, moments, train if points else None, seed=seed) for seed in (3, 4)]
    first, other = (one.transform(test.X) @ one.transform(test.X).T for one in fitted)
    draws = isinstance(estimator, protocol.DRAWING) and name != "INLP, most variance"
    assert draws == (not np.allclose(first, other, rtol=1e-12, atol=1e-12))
    assert (name != protocol.KERNEL) == hasattr(fitted[0], "components_")
    assert not isinstance(estimator, protocol.EXACT) or fitted[0].certificate_.is_optimal()


def test_what_has_to_be_certified_and_is_not_is_an_error(moments):
    class Open(FairPCA):
        def _answer(self, moments):
            answer = super()._answer(moments)
            certificate = replace(answer.subspace.certificate, dual=1.01 * answer.subspace.certificate.dual)
            return replace(answer, subspace=replace(answer.subspace, certificate=certificate))

    with pytest.raises(ArithmeticError, match="Open is not certified optimal"):
        protocol.fit(Open(2), moments[0])


def values(rows) -> dict[tuple[str, str], float]:
    rows = list(rows)
    found = {(where, metric): value for where, metric, value, _ in rows}
    assert len(found) == len(rows), "a metric was measured twice under one protocol"
    return found


def gaps(part: Dataset, V) -> tuple[float, float]:
    sides = [part.X[part.groups == g] @ V for g in (0, 1)]
    mean = np.linalg.norm(sides[0].mean(axis=0) - sides[1].mean(axis=0))
    return mean, np.linalg.norm(np.cov(sides[0], rowvar=False) - np.cov(sides[1], rowvar=False), ord=2)


def test_what_moments_give_is_what_the_points_give(parts, moments, fitted):
    # Loadings that are no basis are judged as they are applied; a judge of subspaces would refuse them.
    loadings = np.eye(6)[:, :2] * [2.0, 0.5] + 0.5 * np.eye(6)[:, 3:5]
    for V in (fitted.components_.T, loadings):
        found = values(protocol.judge_moments("Fair PCA", SimpleNamespace(components_=V.T), *moments))
        share = (parts[1].X @ V).var(axis=0).sum(axis=0) / parts[1].X.var(axis=0).sum(axis=0)
        expected = {("released", "%Var"): 100 * share} | {
            (where, metric): gap
            for where, part in zip(("in sample", "held-out"), parts, strict=True)
            for metric, gap in zip(("mean gap", "covariance gap"), gaps(part, V), strict=True)
        }
        assert found == pytest.approx(expected, abs=1e-12)
    found = values(protocol.judge_moments("Fair PCA", fitted, *moments))
    assert found["held-out", "mean gap"] > 0.05 > 1e-10 > found["in sample", "mean gap"]


def test_published_columns_are_fitted_to_the_test_part_and_the_others_to_the_training_part(
    parts, moments, fitted, on_points
):
    train, test = parts
    E, F = (part.X @ fitted.components_.T for part in parts)
    released = values(on_points["as_published"]("Fair PCA", fitted, moments, test, 1.7))
    assert {metric for where, metric in released if where == "released"} >= set(protocol.METRICS)
    found = released | values(on_points["held_out"]("Fair PCA", fitted, train, test, 1.7))
    for (where, X, y), name in itertools.product(
        (("released", F, test.y), ("held-out", E, train.y)), ("Kernel SVM", "Linear SVM")
    ):
        guess = protocol.CLASSIFIERS[name]().fit(X, y).predict(F)
        rates = [guess[test.groups == g].mean(axis=0) for g in (0, 1)]
        hits = [guess[(test.groups == g) & (test.y == 1)].mean(axis=0) for g in (0, 1)]
        assert found[where, f"%Acc ({name})"] == pytest.approx(100 * np.mean(guess == test.y, axis=0))
        assert found[where, f"Delta_DP ({name})"] == pytest.approx(abs(rates[0] - rates[1]))
        assert found[where, f"Delta_EO ({name})"] == pytest.approx(abs(hits[0] - hits[1]))
    for where, X, part in (("released", F, test), ("in sample", E, train)):
        assert found[where, "MMD^2"] == pytest.approx(metrics.mmd2(X, part.groups, 1.7))
        assert found[where if where == "in sample" else "held-out", "AUC of the group (linear)"] == metrics.group_auc(
            "linear", (E, train.groups), (X, part.groups)
        )
    positive = test.y.mean(axis=0)
    assert found["released", "%Majority"] == pytest.approx(100 * max(positive, 1 - positive))
    plain = values(on_points["held_out"]("PCA", StandardPCA(2).fit(train.X), train, test, 1.7))
    for where in ("in sample", "held-out"):
        key = (where, "AUC of the group (linear)")
        assert found[key] < 0.62 < 0.7 < plain[key]


def test_where_a_disparity_does_not_exist_the_row_says_why_and_a_bug_is_no_reason(parts, fitted, monkeypatch):
    test = parts[1]
    E = fitted.transform(test.X)
    part = E, np.where(test.groups == 1, 0, test.y), test.groups  # group 1 has no positive label
    rows = list(protocol.judge_classifier("Linear SVM", part, part, "released"))
    assert [row[:2] for row in rows] == [("released", f"{m} (Linear SVM)") for m in ("%Acc", "Delta_DP", "Delta_EO")]
    assert all(np.isnan(value) and "'1' has no row with label 1" in reason for *_, value, reason in rows)
    one = E, np.ones(test.n), test.groups
    with pytest.raises(DataError, match="one value only"):
        protocol.downstream("MLP", one, one)

    def broken(*args):
        raise ValueError("a bug")

    monkeypatch.setattr(protocol, "downstream", broken)
    with pytest.raises(ValueError, match="a bug"):
        list(protocol.judge_classifier("MLP", part, part, "released"))


@pytest.mark.parametrize("classifier", sorted(protocol.CLASSIFIERS))
def test_released_scores_memory_and_held_out_reads_only_the_training_part(classifier):
    """Labels that have nothing to do with the points: only memory can score above one half."""
    rng = np.random.default_rng(2)
    train, test = ((rng.normal(size=(150, 8)), rng.integers(0, 2, 150), rng.integers(0, 2, 150)) for _ in range(2))
    held_out, disparity, _ = protocol.downstream(classifier, train, test)
    other, same, _ = protocol.downstream(classifier, train, (test[0], 1 - test[1], test[2]))
    assert same == disparity  # the same predictions
    assert other == pytest.approx(100 - held_out)
    assert abs(held_out - 50) < 15
    assert protocol.downstream(classifier, test, test)[0] > (90 if classifier == "Kernel SVM" else held_out)


def test_algorithm_1_as_printed_spans_the_same_subspace(parts, fitted):
    X, groups = parts[0].X, parts[0].groups
    U = protocol.algorithm_1(X, groups, 2)
    assert subspace_angles(U, fitted.components_.T).max() < 1e-7
    assert (np.diff(((X @ U) ** 2).sum(axis=0)) > 0).all(), "the program returns increasing eigenvalues"


@pytest.mark.parametrize("name", ["kleindessner2023-runtime", "kleindessner2023-rival-times"])
def test_times_are_told_as_multiples_of_those_of_pca(cells_of, name):
    small = {"sizes": "20 x 8"} if name.endswith("-runtime") else {"features": "4"}
    rows = cells_of(name, k=2, repetitions=2, **small)["results"]
    assert set(rows.loc[rows["method"] == "PCA", "value"]) == {1.0}
    curve = readings.curve(rows, training_rows=336)
    sizes = [20, 8] if name.endswith("-runtime") else [336, 4]
    assert curve[["n", "d"]].drop_duplicates().to_numpy().tolist() == [sizes]
