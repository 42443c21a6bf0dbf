"""The search for Credit Card and K1b: its arithmetic by other routes, its parts on made data, what it selects."""

import dataclasses
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import entropy

from compendium import records
from compendium.data import credit_card as cards
from compendium.data.clustering import K1B_SEED, k1b_halves
from compendium.data.clustering_files import unit_rows
from compendium.papers.zhou2024 import arithmetic, search
from compendium.papers.zhou2024 import search_readings as readings
from compendium.store import read_results
from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.metrics.clustering import balance, clustering_accuracy, mnce

pytestmark = pytest.mark.filterwarnings("ignore:after 10 sweeps:sklearn.exceptions.ConvergenceWarning")


# -- arithmetic ---------------------------------------------------------------------------------------------------


def test_one_run_states_the_share_of_its_groups():
    """Bal and MNCE of any clustering of two groups give back the entropy of the groups; of three they do not."""
    shares = np.array([0.0, 0.1, 0.4, 0.5, 1.0])
    np.testing.assert_allclose(arithmetic.binary_entropy(shares), [entropy([p, 1 - p]) for p in shares], atol=1e-12)
    assert arithmetic.entropy_of_balance(0.5) == pytest.approx(entropy([1, 2]))
    assert arithmetic.share_of_entropy(entropy([0.3, 0.7])) == pytest.approx(0.3)
    assert np.isnan(arithmetic.share_of_entropy(0.7))
    rng = np.random.default_rng(0)
    groups, labels = (rng.random(500) < 0.3).astype(int), rng.integers(0, 4, 500)
    low, high = arithmetic.implied_range(balance(labels, groups), mnce(labels, groups))
    assert low < entropy(np.bincount(groups)) < high
    three = rng.choice(3, 500, p=[0.6, 0.3, 0.1])
    low, high = arithmetic.implied_range(balance(labels, three), mnce(labels, three))
    assert not low < entropy(np.bincount(three)) < high
    assert np.isnan(arithmetic.implied_range(0.0, 0.5)).all()


def test_means_over_runs_stay_inside_their_bounds_and_leave_the_identity():
    rng = np.random.default_rng(1)
    groups = (rng.random(600) < 0.4).astype(int)
    runs = [np.where(rng.random(600) < rng.random() * groups, 0, rng.integers(0, 4, 600)) for _ in range(20)]
    mean_balance, mean_mnce = np.mean([(balance(labels, groups), mnce(labels, groups)) for labels in runs], axis=0)
    share = groups.mean(axis=0)
    h, largest = entropy([share, 1 - share]), share / (1 - share)
    assert mean_balance / largest < mean_mnce < arithmetic.entropy_of_balance(mean_balance) / h - 1e-3
    assert not arithmetic.implied_range(mean_balance, mean_mnce)[1] < h  # it states a larger entropy, never a smaller


def test_the_printed_columns_of_credit_card_disagree_about_the_groups():
    assert set(arithmetic.out_of_order("credit_card")["methods"]) == {"KKM, FFC", "SC, FFC"}
    assert arithmetic.out_of_order("k1b").empty
    low, high = arithmetic.admissible_range("credit_card")
    table = arithmetic.implied("credit_card").set_index("method")
    assert low == table["entropy from"].min() < table["entropy to"].max() == high
    # the table's first column by hand
    assert table.loc["K-means", "entropy"] == pytest.approx(entropy([0.51, 1]) / 0.953)
    assert table.loc["FFC", "share to"] < table.loc["KKM", "share from"]


def test_a_share_is_consistent_with_columns_made_from_it(monkeypatch):
    share, balances = 0.41, np.array([0.3, 0.5, 0.6])
    entropies = arithmetic.entropy_of_balance(balances) / entropy([share, 1 - share])
    made = pd.DataFrame([balances.round(3), entropies.round(3)], ["Bal", "MNCE"], list("abc"))
    monkeypatch.setattr(arithmetic, "printed", lambda dataset: made)
    assert arithmetic.consistency("x", share)[["one run", "means over runs"]].all(axis=None)
    assert not arithmetic.consistency("x", 0.35)["one run"].any()
    smallest, largest = arithmetic.shares_allowed("x")
    assert smallest < share <= largest
    for outside in (largest + 0.01, smallest - 0.01):
        assert not arithmetic.consistency("x", outside)["means over runs"].all()
    assert arithmetic.out_of_order("x").empty
    made.loc["MNCE", "b"] = made.loc["MNCE", "a"] - 0.01
    assert arithmetic.out_of_order("x")["methods"].tolist() == ["a, b"]


def test_the_score_counts_in_ranges_of_the_printed_metrics():
    table = arithmetic.printed("credit_card")
    right = {(method, metric): table.loc[metric, method] for method in ("K-means", "KKM") for metric in table.index}
    assert arithmetic.deviation(right, table) == 0.0
    width = table.loc["Bal"].max() - table.loc["Bal"].min()
    moved = {key: np.full(3, value) for key, value in right.items()}
    moved["KKM", "Bal"] += [0.0, width, -3 * width]
    np.testing.assert_allclose(arithmetic.deviation(moved, table), [0, 1 / 8, 3 / 8])


# -- Credit Card on made data -------------------------------------------------------------------------------------


@pytest.fixture
def clients(monkeypatch):
    """Six hundred made clients whose repayment status stands in the bills."""
    rng, n = np.random.default_rng(3), 600
    table = pd.DataFrame(rng.normal(size=(n, 24)) * 0.1, columns=list(cards.COLUMNS))
    table["PAY_1"] = rng.integers(-2, 4, n)
    for name in ("PAY_2", "PAY_3", "BILL_AMT1", "BILL_AMT2", "PAY_AMT1"):
        table[name] += rng.permutation(6)[table["PAY_1"] + 2]
    table["SEX"] = 1 + (rng.random(n) < 0.6)
    table["EDUCATION"], table["MARRIAGE"] = rng.integers(0, 7, n), rng.integers(0, 4, n)
    table["AGE"], table[cards.DEFAULT] = rng.integers(21, 80, n), rng.integers(0, 2, n)
    monkeypatch.setattr(cards, "credit_card_table", lambda: table)
    monkeypatch.setattr(search, "ROWS", ("all", "first 50 of each class"))
    return table


def test_landmarks_that_are_all_rows_give_the_exact_kernel():
    rng = np.random.default_rng(4)
    X = unit_rows(np.repeat(rng.normal(size=(4, 6)), 40, axis=0) + 0.3 * rng.normal(size=(160, 6)))
    H = search.embedding(search.landmark_eigenvectors(X, 4, np.random.default_rng(0), len(X)), 4)
    K = base_kernel(X, 7)
    vectors = np.linalg.eigh(K)[1][:, -4:]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(H @ H.T, vectors @ vectors.T, atol=1e-6)
    exact = KernelKMeans(4, algorithm="relaxed", kernel="precomputed").fit(K).labels_
    assert clustering_accuracy(exact, search.coarse_clusters(X, [3, 4], len(X))[4]["KKM"]) > 0.99


def test_a_planted_choice_is_found(clients, monkeypatch):
    """A table printed from one candidate leads back to its label, groups and rows; another table does not."""
    rows, label = "first 50 of each class", "last repayment status, -2 to 2 (5)"
    planted = cards.CreditCard(label, "sex", rows, cards.FEATURES[1], "standardised")
    values, made = search.fine_score(clients, planted, 2, 60), arithmetic.printed("credit_card")
    for method, metric in product(("K-means", "KKM"), made.index):
        made.loc[metric, method] = values[f"{method} {metric}"]
    monkeypatch.setattr(arithmetic, "printed", lambda dataset: made)
    h = entropy(np.bincount(clients["SEX"].to_numpy()[cards.rows_of(clients, planted)])[1:])
    monkeypatch.setattr(search, "admissible_range", lambda dataset: (h - 0.02, h + 0.02))
    labels = [name for name in cards.LABELS if name == label or "limit" in name]
    axes = labels, ("sex", "married"), search.ROWS, cards.FEATURES, ("standardised",)
    wanted = [cards.CreditCard(*names) for names in product(*axes)]

    def found(printed):
        monkeypatch.setattr(search, "printed", lambda dataset: printed)
        rows = records.whole(search.credit_card(wanted, landmarks=60, best=3, seeds=2))
        return rows, readings.verdict(rows), " ".join(readings.sentences("credit_card", rows))

    rows, verdict, said = found(made)
    records.checked(rows, "test")
    assert readings.selected(rows) == planted
    assert verdict["score"] == pytest.approx(0.0, abs=1e-9)
    assert verdict["decisive"]
    assert readings.counts(rows)["candidates"] == len(wanted)
    assert [len(frame) for frame in readings.found_in("credit_card", rows).values()] == [3, 16, 2 * len(labels), 7]
    assert all(words in said for words in (f"The choice: {planted}.", "it fits", "is decisive"))
    _, verdict, said = found(made + 5.0)
    assert not verdict["fits"]
    assert not verdict["decisive"]
    assert "it does not fit" in said


def test_a_choice_with_too_many_rows_for_its_kernel_says_so(clients, monkeypatch):
    monkeypatch.setattr(search, "EXACT_UP_TO", 100)
    choice = cards.CreditCard("default (2)", "sex", "all", cards.FEATURES[0], "raw")
    rows = search.confirmation(clients, choice, 1)
    assert all(row["value"] is None and "600 rows" in row["reason"] for row in rows)


# -- K1b on made data ---------------------------------------------------------------------------------------------


def test_balances_of_many_halves_are_those_of_the_judge_and_of_halves_drawn_by_counts():
    rng = np.random.default_rng(5)
    labels, groups = rng.choice(4, 101, p=[0.5, 0.3, 0.15, 0.05]), rng.integers(0, 2, (6, 101))
    balances, entropies = search.bal_and_mnce(groups, labels)
    np.testing.assert_allclose(balances, [balance(labels, g) for g in groups], rtol=1e-12)
    np.testing.assert_allclose(entropies, [mnce(labels, g) for g in groups], rtol=1e-9)
    sizes = np.array([60, 30, 10])
    halves = np.stack([k1b_halves(100, [6, draw]) for draw in range(4000)])
    members, _ = search.bal_and_mnce(halves, np.repeat(np.arange(3), sizes))
    counted, _ = search.from_counts(np.random.default_rng(6).multivariate_hypergeometric(sizes, 50, size=4000), sizes)
    assert abs(members.mean(axis=0) - counted.mean(axis=0)) < 4 * members.std(axis=0) / np.sqrt(2000)
    assert abs(np.median(members) - np.median(counted)) < 0.03


@pytest.fixture
def documents(monkeypatch):
    """Two hundred made documents of six subjects in the order of their subjects."""
    rng = np.random.default_rng(7)
    y = np.sort(rng.integers(0, 6, 200))
    counts = sparse.csr_matrix(rng.poisson(0.2 + 1.2 * (np.arange(60) % 6 == y[:, None])).astype(float))
    X = unit_rows(counts)
    made = type("Data", (), {"X": X, "n_clusters": 6})
    monkeypatch.setattr(search, "load_clustering", lambda name: made)
    monkeypatch.setattr(search, "read_k1b", lambda: (counts, y))
    return counts, y


@pytest.mark.parametrize("planted", [True, False])
def test_a_named_grouping_is_chosen_only_if_it_beats_random_halves(documents, monkeypatch, planted):
    """Printed numbers that come from the halves of the file: subjects are sorted, so no random half has them."""
    name, X = "first and second half of the file", search.load_clustering("k1b").X
    if planted:
        groups, made = search.named_groups(documents[0])[name][None], arithmetic.printed("k1b")
        for method, runs in search.blind_clusters(X, base_kernel(X, 7), 6, 2).items():
            pairs = [np.ravel(search.bal_and_mnce(groups, one)) for one in runs]
            made.loc[["Bal", "MNCE"], method] = np.mean(pairs, axis=0)
        monkeypatch.setattr(search, "printed", lambda dataset: made)
    rows = records.whole(search.k1b(seeds=2, draws=200, fair_halves=2))
    records.checked(rows, "test")
    chosen = readings.selected_groups(rows)
    assert chosen == (name if planted else f"random halves, seed {K1B_SEED}")
    assert f"The rule chooses: {chosen}." in readings.sentences("k1b", rows)
    table = readings.halves(rows)
    assert (table[["from", "median"]].to_numpy() < table[["median", "to"]]).all(axis=None)
    fair = readings.fair_on_halves(rows).set_index("metric")
    assert fair.loc["Bal", "min"] > table["mean"].max()  # fairness that was asked for is not that of chance
    assert [len(frame) for frame in readings.found_in("k1b", rows).values()] == [10, 5, 3, 8, 5, 9]


# -- what is stored ---------------------------------------------------------------------------------------------------


def test_the_loaders_take_what_the_stored_search_selects():
    rows = read_results("zhou2024-search")
    assert readings.selected(rows[rows["dataset"] == "credit_card"]) == cards.CREDIT_CARD_ALL
    assert dataclasses.replace(cards.CREDIT_CARD, rows="all") == cards.CREDIT_CARD_ALL
    assert readings.selected_groups(rows[rows["dataset"] == "k1b"]) == f"random halves, seed {K1B_SEED}"


def test_the_columns_of_credit_card_state_the_share_of_men_in_two_samples():
    """What the card of the data says: two columns all rows, four the sample by class, and no column both."""
    rows = read_results("zhou2024-search")
    shares = readings.known_shares("credit_card", rows[rows["dataset"] == "credit_card"])
    whole, sample = (arithmetic.consistency("credit_card", share).set_index("method") for share in shares.values())
    assert set(whole.index[whole["one run"]]) == {"K-means", "FFC"}
    assert set(sample.index[sample["one run"]]) == {"KKM", "SC", "FKKM-f", "FKKM"}
    assert whole["means over runs"].all()
    assert not sample.loc[["K-means", "FFC"], "means over runs"].any()
