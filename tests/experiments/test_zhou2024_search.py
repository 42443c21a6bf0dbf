"""The search for Credit Card and K1b: its arithmetic by other routes, its parts on made data, what it selects."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import entropy

from compendium.data import credit_card as cards
from compendium.data.clustering import K1B_SEED, k1b_halves
from compendium.data.scaling import unit_rows
from compendium.experiments import records
from compendium.experiments import zhou2024_search as protocol
from compendium.experiments import zhou2024_search_arithmetic as arithmetic
from compendium.experiments import zhou2024_search_credit as credit
from compendium.experiments import zhou2024_search_k1b as k1b
from compendium.experiments import zhou2024_search_page as page
from compendium.experiments.store import read_results
from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.core.errors import ConfigurationError, ResultError
from evenspan.metrics.clustering import balance, clustering_accuracy, mnce

pytestmark = pytest.mark.filterwarnings("ignore:after 10 sweeps:sklearn.exceptions.ConvergenceWarning")


# -- arithmetic ---------------------------------------------------------------------------------------------------


def test_entropies_are_those_of_scipy():
    shares = np.array([0.0, 0.1, 0.4, 0.5, 1.0])
    np.testing.assert_allclose(arithmetic.binary_entropy(shares), [entropy([p, 1 - p]) for p in shares], atol=1e-12)
    assert arithmetic.entropy_of_balance(0.5) == pytest.approx(entropy([1, 2]))
    assert arithmetic.share_of_entropy(entropy([0.3, 0.7])) == pytest.approx(0.3)
    assert np.isnan(arithmetic.share_of_entropy(0.7))


def test_one_run_states_the_share_of_its_groups():
    """Bal and MNCE of any clustering of two groups give back the entropy of the groups; of three they do not."""
    rng = np.random.default_rng(0)
    groups, labels = (rng.random(500) < 0.3).astype(int), rng.integers(0, 4, 500)
    low, high = arithmetic.implied_range(balance(labels, groups), mnce(labels, groups))
    share = groups.mean(axis=0)
    assert low < entropy([share, 1 - share]) < high
    three = rng.choice(3, 500, p=[0.6, 0.3, 0.1])
    low, high = arithmetic.implied_range(balance(labels, three), mnce(labels, three))
    assert not low < entropy(np.bincount(three)) < high
    assert np.isnan(arithmetic.implied_range(0.0, 0.5)).all()


def test_means_over_runs_stay_inside_their_bounds_and_leave_the_identity():
    rng = np.random.default_rng(1)
    groups = (rng.random(600) < 0.4).astype(int)
    pairs = []
    for _ in range(20):
        labels = rng.integers(0, 4, 600)
        labels[rng.random(600) < rng.random() * groups] = 0
        pairs.append((balance(labels, groups), mnce(labels, groups)))
    mean_balance, mean_mnce = np.mean(pairs, axis=0)
    share = groups.mean(axis=0)
    h, largest = entropy([share, 1 - share]), share / (1 - share)
    ceiling = arithmetic.entropy_of_balance(mean_balance) / h
    assert mean_balance / largest < mean_mnce < ceiling - 1e-3
    assert not arithmetic.implied_range(mean_balance, mean_mnce)[1] < h  # it states a larger entropy, never a smaller


def test_the_printed_columns_of_credit_card_disagree_about_the_groups():
    pairs = arithmetic.out_of_order("credit_card")
    assert set(pairs["methods"]) == {"KKM, FFC", "SC, FFC"}
    assert arithmetic.out_of_order("k1b").empty
    low, high = arithmetic.admissible_range("credit_card")
    table = arithmetic.implied("credit_card").set_index("method")
    assert low == table["entropy from"].min() < table["entropy to"].max() == high
    # the table's first column by hand
    assert table.loc["K-means", "entropy"] == pytest.approx(entropy([0.51, 1]) / 0.953)
    assert table.loc["FFC", "share to"] < table.loc["KKM", "share from"]


def test_a_share_is_consistent_with_columns_made_from_it(monkeypatch):
    share = 0.41
    h = entropy([share, 1 - share])
    balances = np.array([0.3, 0.5, 0.6])
    made = pd.DataFrame(
        [balances.round(3), (arithmetic.entropy_of_balance(balances) / h).round(3)],
        index=["Bal", "MNCE"],
        columns=["a", "b", "c"],
    )
    monkeypatch.setattr(arithmetic, "printed", lambda dataset: made)
    right, wrong = arithmetic.consistency("x", share), arithmetic.consistency("x", 0.35)
    assert right[["one run", "means over runs"]].all(axis=None)
    assert not wrong["one run"].any()
    smallest, largest = arithmetic.shares_allowed("x")
    assert smallest < share <= largest
    assert not arithmetic.consistency("x", largest + 0.01)["means over runs"].all()
    assert not arithmetic.consistency("x", smallest - 0.01)["means over runs"].all()
    assert arithmetic.out_of_order("x").empty
    made.loc["MNCE", "b"] = made.loc["MNCE", "a"] - 0.01
    assert arithmetic.out_of_order("x")["methods"].tolist() == ["a, b"]


def test_the_score_counts_in_ranges_of_the_printed_metrics():
    table = arithmetic.printed("credit_card")
    right = {(method, metric): table.loc[metric, method] for method in credit.SEARCHED for metric in arithmetic.METRICS}
    assert arithmetic.deviation(right, table) == 0.0
    width = table.loc["Bal"].max() - table.loc["Bal"].min()
    moved = {key: np.full(3, value) for key, value in right.items()}
    moved["KKM", "Bal"] += [0.0, width, -3 * width]
    np.testing.assert_allclose(arithmetic.deviation(moved, table), [0, 1 / 8, 3 / 8])


# -- Credit Card on made data -------------------------------------------------------------------------------------


@pytest.fixture
def clients(monkeypatch):
    """Six hundred made clients whose repayment status stands in the bills."""
    rng = np.random.default_rng(3)
    n = 600
    table = pd.DataFrame(rng.normal(size=(n, 24)) * 0.1, columns=list(cards.COLUMNS))
    table["PAY_1"] = rng.integers(-2, 4, n)
    for name in ("PAY_2", "PAY_3", "BILL_AMT1", "BILL_AMT2", "PAY_AMT1"):
        table[name] += rng.permutation(6)[table["PAY_1"] + 2]
    table["SEX"] = 1 + (rng.random(n) < 0.6)
    table["EDUCATION"], table["MARRIAGE"] = rng.integers(0, 7, n), rng.integers(0, 4, n)
    table["AGE"], table[cards.DEFAULT] = rng.integers(21, 80, n), rng.integers(0, 2, n)
    monkeypatch.setattr(cards, "credit_card_table", lambda: table)
    for name, value in {"ROWS": ("all", "first 50 of each class"), "LANDMARKS": 60, "SEEDS": 2, "BEST": 3}.items():
        monkeypatch.setattr(credit, name, value)
    return table


def test_landmarks_that_are_all_rows_give_the_exact_kernel(monkeypatch):
    rng = np.random.default_rng(4)
    X = unit_rows(np.repeat(rng.normal(size=(4, 6)), 40, axis=0) + 0.3 * rng.normal(size=(160, 6)))
    monkeypatch.setattr(credit, "LANDMARKS", len(X))
    H = credit.landmark_embedding(X, 4, np.random.default_rng(0))
    K = base_kernel(X, 7)
    vectors = np.linalg.eigh(K)[1][:, -4:]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(H @ H.T, vectors @ vectors.T, atol=1e-6)
    exact = KernelKMeans(4, algorithm="relaxed", kernel="precomputed").fit(K).labels_
    assert clustering_accuracy(exact, credit.coarse_clusters(X, 4)["KKM"]) > 0.99


def test_a_planted_choice_is_found(clients, monkeypatch):
    """A table printed from one candidate leads back to its label, groups and rows; another table does not."""
    planted = cards.CreditCard(
        "last repayment status, -2 to 2 (5)", "sex", "first 50 of each class", cards.FEATURES[1], "standardised"
    )
    values = credit.fine_score(clients, planted)["means"]
    made = arithmetic.printed("credit_card")
    for (method, metric), value in values.items():
        made.loc[metric, method] = value
    monkeypatch.setattr(credit, "printed", lambda dataset: made)
    monkeypatch.setattr(arithmetic, "printed", lambda dataset: made)
    share = (clients["SEX"].to_numpy()[cards.rows_of(clients, planted)] == 2).mean(axis=0)
    h = entropy([share, 1 - share])
    monkeypatch.setattr(credit, "admissible_range", lambda dataset: (h - 0.02, h + 0.02))
    wanted = [one for one in credit.candidates() if one.scaling == "standardised" and one.group in ("sex", "married")]
    wanted = [one for one in wanted if one.label == planted.label or "limit" in one.label]
    monkeypatch.setattr(credit, "candidates", lambda: wanted)
    rows = credit.searched()
    records.checked(rows, "test")
    assert protocol.selected(rows) == planted
    verdict = protocol.verdict(rows)
    assert verdict["score"] == pytest.approx(0.0, abs=1e-9)
    assert verdict["fits"]
    assert verdict["decisive"]
    assert protocol.counts(rows)["candidates"] == len(wanted)
    assert set(protocol.by_label(rows)["label"]) == {one.label for one in wanted}
    assert protocol.beside(rows)["method"].value_counts().to_dict() == dict.fromkeys(
        ("K-means", "KKM", "FKKM-f", "FKKM"), 4
    )
    said = " ".join(page.sentences("credit_card", rows))
    assert f"The choice: {planted}." in said
    assert "it fits" in said
    assert "is decisive" in said
    assert len(page.results("credit_card", rows)) == 4
    far = made + 5.0
    monkeypatch.setattr(credit, "printed", lambda dataset: far)
    lost = credit.searched()
    assert not protocol.verdict(lost)["fits"]
    assert not protocol.verdict(lost)["decisive"]
    assert "it does not fit" in " ".join(page.sentences("credit_card", lost))


def test_a_choice_with_too_many_rows_for_its_kernel_says_so(clients, monkeypatch):
    monkeypatch.setattr(credit, "EXACT_UP_TO", 100)
    choice = cards.CreditCard("default (2)", "sex", "all", cards.FEATURES[0], "raw")
    rows = credit.frame(credit.confirmation(clients, choice))
    assert rows["value"].isna().all()
    assert rows["reason"].str.contains("600 rows").all()


# -- K1b on made data ---------------------------------------------------------------------------------------------


def test_balances_of_many_halves_are_those_of_the_judge():
    rng = np.random.default_rng(5)
    labels, groups = rng.choice(4, 101, p=[0.5, 0.3, 0.15, 0.05]), rng.integers(0, 2, (6, 101))
    balances, entropies = k1b.bal_and_mnce(groups, labels)
    np.testing.assert_allclose(balances, [balance(labels, g) for g in groups], rtol=1e-12)
    np.testing.assert_allclose(entropies, [mnce(labels, g) for g in groups], rtol=1e-9)


def test_halves_drawn_by_counts_have_the_law_of_halves_drawn_by_members():
    rng = np.random.default_rng(6)
    labels = np.repeat(np.arange(3), [60, 30, 10])
    halves = np.stack([k1b_halves(100, [6, draw]) for draw in range(4000)])
    members, _ = k1b.bal_and_mnce(halves, labels)
    sizes = np.bincount(labels)
    counted, _ = k1b.from_counts(rng.multivariate_hypergeometric(sizes, 50, size=4000), sizes)
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
    monkeypatch.setattr(k1b, "load_clustering", lambda name: made)
    monkeypatch.setattr(k1b, "read_k1b", lambda: (counts, y))
    for name, value in {"SEEDS": 2, "DRAWS": 200, "FAIR_HALVES": 2}.items():
        monkeypatch.setattr(k1b, name, value)
    return counts, y


def test_what_the_file_offers_for_groups(documents):
    counts, _ = documents
    named = k1b.named_groups(counts)
    assert len(named) == 4 + k1b.SPLITTING_TERMS
    for name, groups in named.items():
        assert set(groups.tolist()) == {0, 1}
        assert "term " in name or groups.sum(axis=0) == 100
    words, more = np.asarray(counts.sum(axis=1)).ravel(), named["fewer and more words"]
    assert words[more == 0].max() <= words[more == 1].min()


@pytest.mark.parametrize("planted", [True, False])
def test_a_named_grouping_is_chosen_only_if_it_beats_random_halves(documents, monkeypatch, planted):
    counts, _ = documents
    X = k1b.load_clustering("k1b").X
    if (
        planted
    ):  # printed numbers that come from the halves of the file: subjects are sorted, so no random half has them
        clusters = k1b.blind_clusters(X, base_kernel(X, 7), 6)
        groups = k1b.named_groups(counts)["first and second half of the file"][None]
        made = arithmetic.printed("k1b")
        for method, runs in clusters.items():
            made.loc[["Bal", "MNCE"], method] = np.mean(
                [np.ravel(k1b.bal_and_mnce(groups, one)) for one in runs], axis=0
            )
        monkeypatch.setattr(k1b, "printed", lambda dataset: made)
    rows = k1b.searched()
    records.checked(rows, "test")
    chosen = protocol.selected_groups(rows)
    assert chosen == ("first and second half of the file" if planted else f"random halves, seed {K1B_SEED}")
    assert len(protocol.groupings(rows)) == 5 + k1b.SPLITTING_TERMS
    table = protocol.halves(rows)
    assert set(table["cluster sizes of"]) == {*k1b.SEARCHED, "the true classes", "clusters of equal size"}
    assert (table["from"] < table["median"]).all()
    assert (table["median"] < table["to"]).all()
    assert protocol.places(rows)["method"].tolist() == list(arithmetic.printed("k1b").columns)
    assert len(protocol.own_place(rows)) == 3
    fair = protocol.fair_on_halves(rows).set_index("metric")
    assert fair.loc["Bal", "min"] > table["mean"].max()  # fairness that was asked for is not that of chance
    assert set(protocol.blind(rows)["method"]) == set(k1b.SEARCHED)
    assert f"The rule chooses: {chosen}." in page.sentences("k1b", rows)
    assert len(page.results("k1b", rows)) == 6


# -- the protocol -------------------------------------------------------------------------------------------------


def test_the_build_states_what_the_table_states_and_nothing_of_the_search():
    for dataset in protocol.SEARCHES:
        rows = protocol.run(dataset)
        records.checked(rows, "test")
        assert set(rows["protocol"]) == {"printed"}
        assert protocol.fine(rows).empty
        assert protocol.by_label(rows).empty
        assert protocol.groupings(rows).empty
        assert protocol.halves(rows).empty
        assert protocol.own_place(rows).empty
        assert protocol.fair_on_halves(rows).empty
        assert protocol.counts(rows) == {}
        assert page.results(dataset, rows) == {}
        assert len(page.sentences(dataset, rows)) == 1
        assert len(page.arithmetic(dataset, rows)) == 2
        with pytest.raises(ResultError, match="--profile full"):
            protocol.selected(rows)
        with pytest.raises(ResultError, match="--profile full"):
            protocol.selected_groups(rows)
    for call in (protocol.run, protocol.run_task):
        with pytest.raises(ConfigurationError, match="k1b"):
            call("jaffe")


def test_the_loaders_take_what_the_stored_search_selects():
    rows = read_results("zhou2024-search")
    assert protocol.selected(rows[rows["dataset"] == "credit_card"]) == cards.CREDIT_CARD_ALL
    assert dataclasses.replace(cards.CREDIT_CARD, rows="all") == cards.CREDIT_CARD_ALL
    assert protocol.selected_groups(rows[rows["dataset"] == "k1b"]) == f"random halves, seed {K1B_SEED}"


def test_the_columns_of_credit_card_state_the_share_of_men_in_two_samples():
    """What the card of the data says: two columns all rows, four the sample by class, and no column both."""
    rows = read_results("zhou2024-search")
    shares = page.known_shares("credit_card", rows[rows["dataset"] == "credit_card"])
    whole, sample = (arithmetic.consistency("credit_card", share).set_index("method") for share in shares.values())
    assert set(whole.index[whole["one run"]]) == {"K-means", "FFC"}
    assert set(sample.index[sample["one run"]]) == {"KKM", "SC", "FKKM-f", "FKKM"}
    assert whole["means over runs"].all()
    assert not sample.loc[["K-means", "FFC"], "means over runs"].any()
