"""The trade-off and the kernels of zhou2024: what is stored suffices, and bounds hold."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from compendium.papers.zhou2024 import claims, kernels, tradeoff
from compendium.papers.zhou2024 import protocol as zhou2024
from evenspan.clustering import FairKernelKMeans, KernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import row_updates

GRID = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 50.0, 200.0)


@pytest.fixture(scope="module")
def case():
    """The made set with its kernel and its starts."""
    case = zhou2024.problem("made")
    case.K = zhou2024.kernel(7)(case)
    relaxed = KernelKMeans(3, algorithm="relaxed", kernel="precomputed")
    case.start = lambda seed: relaxed.set_params(random_state=seed).fit(case.K).labels_
    return case


@pytest.fixture(scope="module")
def rows(cells_of):
    """What the notebook on the trade-off finds on the made set."""
    return cells_of("zhou2024-tradeoff", dataset="made", seeds=2)["results"]


@pytest.fixture(scope="module")
def pairs(cells_of):
    """What the notebook on kernels finds on the made set."""
    return cells_of("zhou2024-kernels", dataset="made")["results"]


@pytest.fixture(scope="module")
def answers(case):
    def labels(weight):
        model = FairKernelKMeans(3, weight, kernel="precomputed", random_state=0)
        return model.fit(case.K, sensitive_features=case.data.groups).labels_

    return {"FKKM-f": labels(0.0), "FKKM": labels("auto")}


def toy(**columns):
    """Rows of a grid from methods, weights, and metrics by name."""
    wide = pd.DataFrame(columns).assign(protocol="grid", split=0)
    return wide.melt(["method", "weight", "protocol", "split"], var_name="metric")


# -- the trade-off ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weight", "protocol"), [(0.0, "grid"), (5.0, "grid"), ("auto", "rule")])
def test_the_grid_and_the_rule_are_those_of_the_estimator(case, rows, weight, protocol):
    model = FairKernelKMeans(3, weight, kernel="precomputed", init=case.start(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(case.K, sensitive_features=case.data.groups)
    own = rows[(rows["method"] == "FKKM") & (rows["split"] == 1)]
    some = own[(own["protocol"] == protocol) & (own["weight"].isna() if weight == "auto" else own["weight"] == weight)]
    value = some.set_index("metric")["value"]
    assert value["objective"] == pytest.approx(model.objective_, rel=1e-12)
    assert value["MNCE"] == pytest.approx(model.counts_.mnce)
    if weight == "auto":
        assert value["chosen weight"] == model.fairness_weight_
        tried = own.loc[own["protocol"] == "rule: search", "value"]
        assert tried.tolist() == [step["mnce"] for step in model.search_]


def test_without_fairness_the_clusters_are_the_groups_and_with_it_the_classes(rows):
    curve = tradeoff.medians(rows, "FKKM")
    assert curve.loc[0.0, "MNCE"] < 0.1 < 0.95 < curve.loc[2.0, "MNCE"]
    assert curve.loc[0.0, "ACC"] < 0.7 < 0.99 < curve.loc[2.0, "ACC"]
    assert curve.loc[200.0, "ACC"] < 0.7, "far beyond saturation single moves only shuffle"
    line = tradeoff.shapes(rows, "FKKM", "FMKKM").iloc[0]
    assert line["largest at λ"] > 0
    assert line[["largest ACC", "ACC at λ = 200"]].tolist() == [curve["ACC"].max(), curve.loc[200.0, "ACC"]]


def test_the_clustering_objective_is_the_mean_squared_distance_in_the_kernel(case):
    labels = np.random.default_rng(3).integers(3, size=case.data.n)
    values, vectors = np.linalg.eigh(case.K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    centres = np.stack([Z[labels == k].mean(axis=0) for k in range(3)])
    expected = ((Z - centres[labels]) ** 2).sum(axis=1).mean(axis=0)
    assert tradeoff.unexplained(case.K, labels) == pytest.approx(expected, rel=1e-9)


def test_no_answer_passes_its_certificate_and_a_wrong_bound_would_be_seen(rows):
    found = tradeoff.certificates(rows).set_index("weight")
    assert (found["gap"] >= -1e-12).all()
    assert (found["share"] <= 1.0 + 1e-12).all()
    assert found.loc[3.0, "share"] > 0.8
    lowered = rows.assign(value=rows["value"] - 20.0 * (rows["metric"] == "upper bound"))
    assert (tradeoff.certificates(lowered)["gap"] < 0).any()
    reached, carried, bound = found.loc[200.0, ["reached", "carried on", "bound"]]
    assert reached < carried <= bound, "from the start it is stuck far below"


def test_the_empirical_term_is_the_mean_squared_distance_in_the_fair_kernel(case, rows):
    found, weight = tradeoff.generalisation(rows).set_index("weight"), 3.0
    G = (case.codes[:, None] == np.arange(2)).astype(float)
    fair = case.K + weight * G.sum(axis=0).max() * np.eye(case.data.n) - weight * G @ G.T
    labels = row_updates(DenseGram(case.K), case.codes, case.start(0), 3, weight).labels
    inside = sum(fair[np.ix_(labels == k, labels == k)].sum(axis=None) / (labels == k).sum(axis=0) for k in range(3))
    assert found.loc[weight, "empirical"] == pytest.approx((np.trace(fair) - inside) / case.data.n, rel=1e-9)
    # no two points are farther apart than the largest possible value
    distances = np.diagonal(fair)[:, None] + np.diagonal(fair) - 2.0 * fair
    assert distances.max() <= found.loc[weight, "largest possible"]
    assert (np.diff(found["excess"]) > 0).all()


def test_saturation_is_where_mnce_reaches_and_keeps_its_best():
    reached = [0, 0.5, 0.9, 0.998, 0.999, 1, 1, 1, 1, 1, 1]
    for values, expected in ((reached, 1.0), ([0, 0.5, 0.999, 0.9, *reached[4:10], 0.9], 2.0), ([1.0] * 11, 0.0)):
        columns = {"MNCE": values, "ACC": values, "clustering objective": values}
        line = tradeoff.shapes(toy(method="FKKM", weight=GRID, **columns), "FKKM").iloc[0]
        assert line["within 0.005 from λ"] == expected


def test_swaps_never_lose(rows):
    swaps = tradeoff.swaps(rows)
    assert (swaps["gain a point"] >= -1e-12).all()
    large = swaps.set_index("weight").loc[50.0]
    assert large["swaps"] > 0
    assert large["clustering objective, with swaps"] < large["clustering objective, without swaps"]


# -- the kernels: means give back what the whole matrix says ----------------------------------------------------------


def fair_kernel(case, pairs):
    assert kernels.weight_of(pairs) == 3.0  # that of the rule
    return case.K - 3.0 * (case.codes[:, None] == case.codes)


@pytest.mark.parametrize("answer", ["FKKM-f", "FKKM"])
def test_means_of_the_types_are_those_of_all_pairs(case, pairs, answers, answer):
    table = kernels.types(pairs)
    found = table[table["clusters of"] == answer].set_index("pairs")
    other, fair = ~np.eye(case.data.n, dtype=bool), fair_kernel(case, pairs)
    cluster, group = (v[:, None] == v for v in (answers[answer], case.codes))
    for name in kernels.TYPES:
        mask = other & (cluster == name.startswith("same cluster")) & (group == name.endswith("same group"))
        expected = mask.sum(axis=None) / 2, case.K[mask].mean(axis=0), fair[mask].mean(axis=0)
        assert found.loc[name, ["number", "standard", "fair"]].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("order", kernels.ORDERS)
@pytest.mark.parametrize("fair", [False, True])
def test_pictures_are_block_means_of_the_ordered_matrix(case, pairs, answers, order, fair):
    means, edges = kernels.picture(pairs, order, fair=fair)
    K = fair_kernel(case, pairs) if fair else case.K.copy()
    np.fill_diagonal(K, np.nan)
    sequence = kernels.order_of(order, answers["FKKM"], case.codes)
    K, starts = K[np.ix_(sequence, sequence)], kernels.cuts(case.data.n, 60)
    direct = [[np.nanmean(K[a:b, c:d]) for c, d in pairwise(starts)] for a, b in pairwise(starts)]
    np.testing.assert_allclose(means, direct, atol=1e-12)
    parted = (answers["FKKM"] if order.startswith("cluster") else case.codes)[sequence]
    assert [round(edge * case.data.n) for edge in edges] == (np.flatnonzero(np.diff(parted)) + 1).tolist()


def test_the_claim_asks_for_clusters_before_and_groups_after(pairs, monkeypatch):
    def answer(rows, *datasets):
        monkeypatch.setattr(claims, "full", lambda *_, **where: rows)
        return claims.other_structure(datasets)

    # on the made set groups are farther apart than clusters in the standard kernel already
    one = pairs.assign(dataset="a")
    assert answer(one, "a").here == "does not hold"
    raised, between = one.copy(), one["protocol"] == "cells"
    clusters = one.loc[between, "metric"].str.split(expand=True)
    raised.loc[between, "value"] += 1.0 * (clusters[0] == clusters[1])
    found = answer(raised, "a")
    assert found.here == "holds"
    assert found.numbers["a, λ"] == 3.0
    assert answer(pd.concat([one, raised.assign(dataset="b")]), "a", "b").here == "holds in part"
