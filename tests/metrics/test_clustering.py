"""The judge of clusterings: definitions by brute force, identities, extremes, and a rival implementation."""

import json
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import normalized_mutual_info_score

from evenspan import metrics
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import DataError, GroupError, ResultError
from evenspan.metrics.clustering import fair_gap_of, lowest_regulariser_of, regulariser_of

GROUPS = np.repeat(["a", "b", "c"], [200, 120, 60])
CLASSES = np.random.default_rng(1).choice(["u", "v", "w", "x"], p=[0.4, 0.3, 0.2, 0.1], size=380)


def noisy(labels, share, n_labels, rng):
    """Labels of which a share is drawn anew."""
    out = np.unique(labels, return_inverse=True)[1]
    drawn = rng.random(len(out)) < share
    out[drawn] = rng.integers(n_labels, size=int(drawn.sum(axis=0)))
    return out


def judged(labels, groups=GROUPS, y=CLASSES, **kwargs):
    return metrics.judge_clustering(metrics.joint_counts(y, labels, groups, **kwargs))


def binary_entropy(x):
    return -(x * np.log(x) + (1 - x) * np.log1p(-x))


def codings(n, c):
    """All labellings of n samples with exactly the labels 0, ..., k - 1 for some k up to c, each partition once."""
    for labels in product(range(c), repeat=n):
        seen = list(dict.fromkeys(labels))
        if seen == list(range(len(seen))):
            yield np.array(labels)


# -- agreement with classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [2, 4, 6])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_accuracy_is_the_best_relabelling(n_labels, share):
    labels = noisy(CLASSES, share, n_labels, np.random.default_rng(2)) % n_labels
    y = np.unique(CLASSES, return_inverse=True)[1]
    size = max(4, n_labels)
    best = max(np.mean(np.array(names)[labels] == y) for names in permutations(range(size)))
    assert metrics.clustering_accuracy(CLASSES, labels) == pytest.approx(best, abs=1e-15)


@pytest.mark.parametrize("n_labels", [1, 3, 7])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_information_is_that_of_a_rival(n_labels, share):
    labels = noisy(CLASSES, share, n_labels, np.random.default_rng(3))
    rival = normalized_mutual_info_score(CLASSES, labels, average_method="max")
    assert metrics.normalised_mutual_information(CLASSES, labels) == pytest.approx(rival, abs=1e-12)
    arithmetic = normalized_mutual_info_score(CLASSES, labels, average_method="arithmetic")
    assert metrics.normalised_mutual_information(CLASSES, labels) <= arithmetic + 1e-12


def test_extremes_of_agreement():
    perfect = pd.factorize(CLASSES)[0]
    assert metrics.clustering_accuracy(CLASSES, perfect) == 1.0
    assert metrics.normalised_mutual_information(CLASSES, perfect) == 1.0
    one = np.zeros(380, dtype=int)
    assert metrics.normalised_mutual_information(CLASSES, one) == 0.0
    assert metrics.clustering_accuracy(CLASSES, one) == np.mean(CLASSES == "u")
    assert metrics.normalised_mutual_information(one, one) == 1.0
    # Independent classes and clusters: exactly no information.
    y, labels = (part.ravel() for part in np.meshgrid(np.arange(3), np.arange(4)))
    assert metrics.normalised_mutual_information(y, labels) == 0.0


# -- groups in clusters -----------------------------------------------------------------------------------------------


def test_proportional_clusters_are_exactly_fair():
    labels = np.tile([0, 0, 1, 1, 1, 1, 1, 2, 2, 2], 38)[:380]
    for group in "abc":  # within every group the same shares of clusters
        labels[group == GROUPS] = np.resize([0, 0, 1, 1, 1, 1, 1, 2, 2, 2], int((group == GROUPS).sum()))
    found = judged(labels)
    assert found["F"] == pytest.approx((200**2 + 120**2 + 60**2) / 380, rel=1e-15)
    assert (found["fair gap"], found["MNCE"], found["Bal"]) == (0.0, 1.0, 60 / 200)


def test_a_cluster_of_one_group_is_unfair():
    labels = np.where(GROUPS == "a", np.arange(380) % 2, 2)
    labels[380 - 61 :] = np.arange(61) % 2
    found = judged(labels)
    assert (found["Bal"], found["MNCE"]) == (0.0, 0.0)
    pure = judged(np.unique(GROUPS, return_inverse=True)[1])
    assert (pure["fair gap"], pure["F"]) == (1.0, 380.0)
    assert 0 < found["fair gap"] < 1


def test_two_groups_and_one_run_tie_balance_to_entropy():
    rng = np.random.default_rng(4)
    for _ in range(200):
        groups = rng.random(60) < rng.uniform(0.05, 0.95)
        labels = rng.integers(4, size=60)
        b = metrics.balance(labels, groups)
        if groups.all() or not groups.any() or b == 0.0:
            continue
        expected = binary_entropy(b / (1 + b)) / binary_entropy(groups.mean())
        assert metrics.mnce(labels, groups) == pytest.approx(expected, rel=1e-12)
    # For three groups no such identity: the two minima are in different clusters.
    table = np.array([[1, 4], [4, 4], [4, 1]])
    assert not np.isclose(metrics.mnce(*of_table(table)), binary_entropy(0.2) / binary_entropy(5 / 18))


def of_table(table):
    """Labels and groups of the samples counted in a table (G, c)."""
    group, cluster = np.indices(table.shape).reshape(2, -1)
    return np.repeat(cluster, table.ravel()), np.repeat(group, table.ravel())


@pytest.mark.parametrize(("sizes", "c"), [((3, 3), 2), ((4, 2), 3), ((2, 2, 2), 3), ((4, 3, 1), 2), ((5, 3), 2)])
def test_bounds_of_the_regulariser_with_their_cases_of_equality(sizes, c):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.array(sizes) / len(groups)
    reached = set()
    for labels in codings(len(groups), c):
        table = metrics.joint_counts(groups, labels, groups).group_by_cluster
        F, lowest = regulariser_of(table), lowest_regulariser_of(table)
        indicator, member = np.eye(c)[labels][:, : labels.max() + 1], np.eye(len(sizes))[groups]
        trace = np.trace(indicator.T @ member @ member.T @ indicator @ np.linalg.inv(indicator.T @ indicator))
        assert float(F) == pytest.approx(trace, rel=1e-12)
        assert lowest <= F <= len(groups)
        proportional = np.allclose(table / table.sum(axis=0), shares[:, None], atol=1e-12)
        pure = bool(((table > 0).sum(axis=0) == 1).all())
        assert (lowest == F) == proportional
        assert (len(groups) == F) == pure
        if lowest == F and labels.max():
            reached.add("lowest")
        if len(groups) == F:
            reached.add("highest")
        assert metrics.mnce(labels, groups) == pytest.approx(1.0) if proportional else fair_gap_of(table) > 0
    assert ("highest" in reached) == (c >= len(sizes))
    assert ("lowest" in reached) == (np.gcd.reduce(sizes) > 1)  # in more than one cluster


def test_every_measure_by_brute_force():
    rng = np.random.default_rng(5)
    labels = noisy(GROUPS, 0.6, 5, rng)
    balances, entropies, F = [], [], Fraction(0)
    overall = -sum(p * np.log(p) for p in (200 / 380, 120 / 380, 60 / 380))
    for k in range(5):
        inside = [int(((labels == k) & (group == GROUPS)).sum()) for group in "abc"]
        balances.append(min(inside) / max(inside))
        entropies.append(-sum(m / sum(inside) * np.log(m / sum(inside)) for m in inside))
        F += Fraction(sum(m * m for m in inside), sum(inside))
    found = judged(labels)
    assert found["Bal"] == metrics.balance(labels, GROUPS) == min(balances)
    assert found["MNCE"] == pytest.approx(min(entropies) / overall, rel=1e-12) == metrics.mnce(labels, GROUPS)
    assert found["F"] == float(F)
    lowest = Fraction(200**2 + 120**2 + 60**2, 380)
    assert found["fair gap"] == pytest.approx(float((F - lowest) / (380 - lowest)), rel=1e-15)


def test_the_statistic_of_the_methods_agrees_with_the_judge():
    rng = np.random.default_rng(6)
    for share in (0.05, 0.5, 1.0):
        labels = noisy(GROUPS, share, 4, rng)
        theirs, ours = ClusterCounts.from_labels(labels, GROUPS, 6), judged(labels, n_clusters=6)
        mine = (ours["Bal"], ours["MNCE"], ours["F"], ours["fair gap"])
        assert (theirs.balance, theirs.mnce, theirs.regulariser, theirs.fair_gap) == pytest.approx(mine, rel=1e-12)
        assert ours["empty clusters"] == 6 - ours["clusters"] >= 2


def test_one_group():
    with pytest.warns(RuntimeWarning, match="undefined for one group"):
        assert np.isnan(metrics.mnce([0, 0, 1], ["a", "a", "a"]))
    found = judged(np.arange(380) % 3, groups=np.full(380, "a"))
    assert np.isnan(found["MNCE"])
    assert (found["Bal"], found["F"], found["fair gap"]) == (1.0, 380.0, 0.0)


# -- the statistic ----------------------------------------------------------------------------------------------------


def test_names_and_order_do_not_matter():
    rng = np.random.default_rng(7)
    labels = noisy(CLASSES, 0.4, 5, rng)
    plain = judged(labels)
    order, names = rng.permutation(380), np.array(["k3", "k0", "k4", "k2", "k1"])
    renamed = judged(
        names[labels][order],
        groups=pd.Series(GROUPS).map({"a": 9, "b": -1, "c": 4}).to_numpy()[order],
        y=pd.Series(CLASSES).map({"u": 3, "v": 0, "w": 2, "x": 1}).to_numpy()[order],
    )
    assert renamed == pytest.approx(plain, rel=1e-12)
    assert judged(rng.permutation(labels))["ACC"] < plain["ACC"]


def test_halves_add_up_to_the_whole():
    labels = noisy(CLASSES, 0.4, 5, np.random.default_rng(8))
    first = np.arange(380) < 200  # the other groups are absent from it
    halves = [metrics.joint_counts(CLASSES[part], labels[part], GROUPS[part]) for part in (first, ~first)]
    whole = metrics.joint_counts(CLASSES, labels, GROUPS)
    assert halves[0] + halves[1] == whole
    assert halves[0] != whole
    assert metrics.judge_clustering(halves[0] + halves[1]) == metrics.judge_clustering(whole)
    with pytest.raises(TypeError):
        whole + 1


@pytest.mark.parametrize(
    ("y", "groups"),
    [
        (CLASSES, GROUPS),
        (np.unique(CLASSES, return_inverse=True)[1], GROUPS == "a"),
        (CLASSES == "u", pd.DataFrame({"sex": GROUPS, "old": np.arange(380) % 2 == 0, "year": np.arange(380) % 3})),
        (np.full(380, 'quote " comma, star *'), np.full(380, "ein ü")),
    ],
)
def test_text_is_lossless_on_one_line(y, groups, tmp_path):
    counts = metrics.joint_counts(y, noisy(CLASSES, 0.3, 4, np.random.default_rng(9)), groups, 6)
    text = counts.to_text()
    assert metrics.JointCounts.from_text(text) == counts
    assert "\n" not in text
    pd.DataFrame({"counts": [text]}).to_csv(tmp_path / "rows.csv", index=False)
    assert pd.read_csv(tmp_path / "rows.csv")["counts"][0] == text


def test_text_is_compact():
    y, groups = np.repeat(np.arange(19), 480), np.tile(np.arange(8), 1140)
    counts = metrics.joint_counts(y, y, groups)
    assert len(counts.to_text()) < 500 < counts.counts.size


@pytest.mark.parametrize("damage", ["", "[]", "3", '[[0],[0],[0],"1 2"]', '[[0],[0],[0],"x"]', '[[0],[0],[0],"0"]',
                                    '[[0],[0],[0],"-1"]', '[[0],[0],[0],3]'])  # fmt: skip
def test_damaged_text_is_refused(damage):
    with pytest.raises(ResultError, match="no text of joint counts"):
        metrics.JointCounts.from_text(damage)


def test_text_is_json():
    counts = metrics.joint_counts([1, 1, 2], [0, 0, 1], ["f", "m", "f"])
    assert json.loads(counts.to_text()) == [[1, 2], ["f", "m"], [0, 1], "1*2 0*4 1 0"]


@pytest.mark.parametrize(
    ("y", "labels", "groups", "seen"),
    [
        ([0, 1], [0, 1, 1], ["a", "b", "a"], "y has 2 entries for 3"),
        ([0, 1, 0.5], [0, 1, 1], ["a", "b", "a"], "missing or fractional"),
        ([0, 1, np.nan], [0, 1, 1], ["a", "b", "a"], "missing or fractional"),
        (["u", None, "v"], [0, 1, 1], ["a", "b", "a"], "NoneType, str"),
        ([0, 1, 0], [[0], [1], [1]], ["a", "b", "a"], r"shape \(3, 1\)"),
        ([], [], [], r"shape \(0,\)"),
        ([0, 1, 0], [0, 1, 5], ["a", "b", "a"], "needed for n_clusters=3 are 0, ..., 2"),
        ([0, 1, 0], ["p", "q", "q"], ["a", "b", "a"], "labels run from p to q"),
        ([1j, 0, 0], [0, 1, 1], ["a", "b", "a"], "type complex"),
    ],
)
def test_bad_labels_are_refused(y, labels, groups, seen):
    with pytest.raises(DataError, match=seen):
        metrics.joint_counts(y, labels, groups, 3 if len(labels) == 3 else None)


def test_bad_groups_and_tables_are_refused():
    with pytest.raises(GroupError):
        metrics.balance([0, 1, 1], ["a", "b"])
    labels = np.arange(2)
    for counts in (np.zeros((2, 2, 2), dtype=int), -np.eye(8, dtype=int)[0].reshape(2, 2, 2), np.ones((2, 2, 2)),
                   np.ones((2, 2), dtype=int)):  # fmt: skip
        with pytest.raises(DataError):
            metrics.JointCounts(labels, labels, labels, counts)
