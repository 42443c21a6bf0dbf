"""What the printed table says about unknown groups, by other routes, and what the archived search selected."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy

from compendium import store
from compendium.data import credit_card
from compendium.data.clustering import K1B_SEED
from compendium.papers.zhou2024 import arithmetic
from evenspan.metrics.clustering import balance, mnce

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
    table = arithmetic.implied("credit_card").set_index("method")
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


# -- what is archived -------------------------------------------------------------------------------------------------


def test_the_loaders_take_what_the_archived_search_selects():
    rows, _ = store.archived("zhou2024-search")
    scores = rows[rows["metric"] == "score"]
    fine = scores[scores["protocol"] == "fine"]
    label, group, kept, features, scaling = fine.loc[fine["value"].idxmin(), "method"].split(" | ")
    words = f"label {label}; groups by {group}; {kept} rows; features {features}, {scaling}, rows of unit length"
    assert words == credit_card.CREDIT_CARD_ALL
    assert words.replace("; all rows", "; first 1000 of each class rows") == credit_card.CREDIT_CARD
    halves = scores[scores["protocol"] == "candidates"]
    assert halves.loc[halves["value"].idxmin(), "method"] == f"random halves, seed {K1B_SEED}"
