"""Fairness-first clustering: each stage beside enumeration, the whole beside k-means on data where that is unfair."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering import fairness_first as local_search
from evenspan.clustering.fairness_first import (
    FairnessFirstClustering,
    Partition,
    fair_counts,
    fair_start,
    move_points,
    swap_points,
)
from evenspan.clustering.transport import transport
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError, SingleGroupWarning


def crossed(counts=((40, 25), (30, 20), (20, 15)), seed=0):
    """Groups far apart along one axis, clusters nearer along another: k-means of two clusters finds groups."""
    rng = np.random.default_rng(seed)
    X, groups = [], []
    for g, pair in enumerate(counts):
        for y, count in enumerate(pair):
            X.append(rng.normal(size=(count, 4)) * [0.5, 0.7, 0.3, 0.2] + [9.0 * g, 3.0 * y, 0, 0])
            groups += ["crimson", "azure", "beige"][g : g + 1] * count
    order = rng.permutation(len(groups))
    return np.vstack(X)[order], np.array(groups)[order]


def inertia(X, labels) -> float:
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


def balance(counts) -> float:
    counts = counts[:, counts.sum(axis=0) > 0]
    return float((counts.min(axis=0) / counts.max(axis=0)).min())


# -- shares in whole numbers --------------------------------------------------------------------------------------


def roundings(group_sizes, sizes):
    """Every table of shares rounded down or up with the right sum for each group and no empty cluster."""
    low, rest = np.divmod(np.multiply.outer(group_sizes, sizes), sizes.sum())
    free = np.argwhere(rest > 0)
    for bits in itertools.product((0, 1), repeat=len(free)):
        table = low.copy()
        for (j, k), bit in zip(free, bits, strict=True):
            table[j, k] += bit
        if (table.sum(axis=1) == group_sizes).all() and table.sum(axis=0).all():
            yield table


@pytest.mark.parametrize("seed", range(40))
def test_the_counts_are_the_best_balanced_roundings(seed):
    rng = np.random.default_rng(seed)
    shape = [(1, 4), (2, 2), (2, 4), (3, 3), (3, 2), (4, 2)][seed % 6]
    group_sizes = rng.integers(4, 14, size=shape[0])
    n = int(group_sizes.sum())
    sizes = 1 + rng.multinomial(n - shape[1], rng.dirichlet(np.ones(shape[1])))
    found = fair_counts(group_sizes, sizes)
    every = list(roundings(group_sizes, sizes))
    best = max(map(balance, every))
    assert any(np.array_equal(found, table) for table in every)
    assert balance(found) == pytest.approx(best, abs=1e-12)
    # Of the best balanced ones the nearest to the shares.
    shares = np.multiply.outer(group_sizes, sizes) / n
    off = [((t - shares) ** 2).sum() for t in every if balance(t) >= best - 1e-12]
    assert ((found - shares) ** 2).sum() == pytest.approx(min(off), abs=1e-9)


def test_rounding_the_largest_remainders_up_is_not_the_best():
    groups, sizes = np.array([2, 2, 6]), np.array([4, 6])
    low, rest = np.divmod(np.multiply.outer(groups, sizes), 10)
    largest = low.copy()
    for j, up in enumerate(groups - low.sum(axis=1)):
        largest[j, np.argsort(-rest[j], kind="stable")[:up]] += 1
    assert balance(largest) == 1 / 4
    assert fair_counts(groups, sizes).tolist() == [[1, 1], [1, 1], [3, 3]]


def test_thirty_groups_and_twenty_clusters_are_no_trouble():
    rng = np.random.default_rng(1)
    groups = rng.integers(281, 410, size=30)
    sizes = 1 + rng.multinomial(groups.sum() - 20, rng.dirichlet(3 * np.ones(20)))
    found = fair_counts(groups, sizes)
    assert np.abs(found - np.multiply.outer(groups, sizes) / groups.sum()).max() < 1
    assert (found.sum(axis=1) == groups).all()


# -- transportation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_the_assignment_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(3, 60)), int(rng.integers(1, 7))
    costs = rng.random((n, c)) if seed % 3 else np.round(3 * rng.random((n, c)))  # with many ties
    capacities = rng.multinomial(n, rng.dirichlet(np.ones(c)))
    labels = transport(costs, capacities)
    assert np.array_equal(np.bincount(labels, minlength=c), capacities)
    rows, columns = linear_sum_assignment(costs[:, np.repeat(np.arange(c), capacities)])
    reached = costs[np.arange(n), labels].sum()
    assert reached == pytest.approx(costs[rows, np.repeat(np.arange(c), capacities)[columns]].sum(), abs=1e-9)
    # Control: filling one cluster after another is dearer as soon as there is a choice.
    if c > 1 and seed % 3 and (capacities > 0).sum() > 1 and n > 10:
        assert costs[np.arange(n), np.repeat(np.arange(c), capacities)].sum() > reached


def test_rows_that_fit_stay_where_they_are_cheapest():
    costs = np.random.default_rng(0).random((50, 3))
    nearest = costs.argmin(axis=1)
    assert np.array_equal(transport(costs, np.bincount(nearest, minlength=3)), nearest)


# -- moves and swaps ----------------------------------------------------------------------------------------------


@pytest.fixture
def partition():
    X, groups = crossed(((9, 5), (7, 6), (5, 4)))
    codes = np.unique(groups, return_inverse=True)[1]
    labels = np.random.default_rng(3).integers(0, 3, len(X))
    return Partition(X - X.mean(axis=0), codes, labels, 3)


def test_the_changes_are_the_differences_of_the_sum_of_squares(partition):
    p, n = partition, len(partition.labels)
    now = inertia(p.X, p.labels)
    assert p.inertia == pytest.approx(now, rel=1e-12)
    changes = local_search._move_changes(p)
    for i, k in itertools.product(range(n), range(3)):
        if k != p.labels[i]:
            after = np.where(np.arange(n) == i, k, p.labels)
            assert changes[i, k] == pytest.approx(inertia(p.X, after) - now, abs=1e-9)
    every = np.arange(n)
    changes = local_search._swap_changes(p, every, every, p.X @ p.X.T)
    for i, j in itertools.combinations(range(n), 2):
        if p.labels[i] == p.labels[j]:
            assert changes[i, j] == np.inf
            continue
        after = p.labels.copy()
        after[[i, j]] = after[[j, i]]
        assert changes[i, j] == pytest.approx(inertia(p.X, after) - now, abs=1e-9)
        assert changes[i, j] == pytest.approx(changes[j, i], abs=1e-9)


def test_sums_kept_up_to_date_are_those_computed_anew(partition):
    rng = np.random.default_rng(0)
    for _ in range(40):
        i, k = int(rng.integers(len(partition.labels))), int(rng.integers(3))
        if k != partition.labels[i] and partition.sizes[partition.labels[i]] > 1:
            partition.move(i, k)
        j = int(rng.choice(np.flatnonzero(partition.codes == partition.codes[i])))
        if partition.labels[i] != partition.labels[j]:
            partition.swap(i, j)
    fresh = Partition(partition.X, partition.codes, partition.labels, 3)
    assert np.array_equal(partition.counts, fresh.counts)
    for name in ("sizes", "sums", "products", "inertia", "balance"):
        np.testing.assert_allclose(getattr(partition, name), getattr(fresh, name), atol=1e-9)


class Watched(Partition):
    """Keeps the sum of squares and the counts after every change."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = [(self.inertia, self.counts.copy())]

    def move(self, i, target):
        super().move(i, target)
        self.seen.append((self.inertia, self.counts.copy()))

    def swap(self, i, other):
        assert self.codes[i] == self.codes[other]
        super().swap(i, other)
        self.seen.append((self.inertia, self.counts.copy()))


def watched(seed=0, spread=1):
    X, groups = crossed(((12 * spread, 7), (9, 8 * spread), (6, 6)), seed)
    codes = np.unique(groups, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    return Watched(X - X.mean(axis=0), codes, fair_start(X, codes, 3, rng), 3)


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_moves_are_greedy_and_end_where_no_allowed_move_helps(share):
    p = watched()
    start, floor, before = p.labels.copy(), share * p.balance, p.inertia
    n = len(start)

    def allowed(labels):
        for i, k in itertools.product(range(n), range(3)):
            after = np.where(np.arange(n) == i, k, labels)
            table = ClusterCounts.from_labels(after, p.codes, 3)
            if k != labels[i] and table.sizes.all() and table.balance >= floor - 1e-12:
                yield inertia(p.X, after)

    best = min(allowed(start), default=np.inf)
    moves = move_points(p, floor)
    values = [value for value, _ in p.seen]
    assert moves == len(values) - 1
    assert all(np.diff(values) < 0)
    assert all(balance(table) >= floor - 1e-12 for _, table in p.seen)
    if moves:
        assert values[1] == pytest.approx(best)
    else:
        assert best >= before - 1e-9
    assert min(allowed(p.labels), default=np.inf) >= p.inertia - 1e-9
    assert moves > 0 or share > 0.7


@pytest.mark.parametrize("seed", range(5))
def test_swaps_change_no_count_and_end_where_no_swap_helps(seed):
    p = watched(seed)
    # From a random partition with the same counts there is much to swap.
    rng = np.random.default_rng(seed)
    for group in range(3):
        members = np.flatnonzero(p.codes == group)
        p.labels[members] = rng.permutation(p.labels[members])
    p = Watched(p.X, p.codes, p.labels, 3)
    swaps, _, converged = swap_points(p, 100)
    values = [value for value, _ in p.seen]
    assert swaps == len(values) - 1 > 0
    assert converged
    assert all(np.diff(values) < 0)
    assert all(np.array_equal(table, p.seen[0][1]) for _, table in p.seen)
    for i, j in itertools.combinations(range(len(p.labels)), 2):
        if p.codes[i] == p.codes[j] and p.labels[i] != p.labels[j]:
            after = p.labels.copy()
            after[[i, j]] = after[[j, i]]
            assert inertia(p.X, after) >= p.inertia - 1e-9


def scattered(seed: int) -> Partition:
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(60, 2)) + rng.integers(0, 3, size=(60, 1)), rng.integers(0, 2, 60)
    labels = rng.integers(0, 4, 60)
    if seed % 2:
        labels[codes == 1] = labels[codes == 1] % 2  # clusters without a point of this group
        labels[:4] = np.arange(4)
    return Partition(X - X.mean(axis=0), codes, labels, 4)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_hides_no_swap_that_helps(seed):
    p = scattered(seed)
    for _ in range(2):
        for group in range(2):
            members = np.flatnonzero(p.codes == group)
            change = local_search._swap_changes(p, members, members, p.X[members] @ p.X[members].T)
            hopeful = local_search._hopeful(p, members)
            assert hopeful[change.min(axis=1) < 0].all()
        swap_points(p, 50)
    members = np.flatnonzero(p.codes == 0)
    assert not local_search._hopeful(p, members).all()  # and it does rule points out


@pytest.mark.parametrize("seed", range(8))
def test_at_rest_no_swap_helps(seed):
    p = scattered(seed)

    def best(group):
        members = np.flatnonzero(p.codes == group)
        return local_search._swap_changes(p, members, members, p.X[members] @ p.X[members].T).min()

    assert min(best(0), best(1)) < -1.0
    swaps, _, converged = swap_points(p, 50)
    assert converged
    assert swaps > 3
    assert min(best(0), best(1)) > -1e-9 * p.scatter


# -- the whole ----------------------------------------------------------------------------------------------------


def test_it_is_fair_where_k_means_is_not():
    X, groups = crossed()
    plain = ClusterCounts.from_labels(KMeans(2, n_init=10, random_state=0).fit_predict(X), groups)
    model = FairnessFirstClustering(2).fit(X, sensitive_features=groups)
    assert plain.balance < 0.1
    assert plain.fair_gap > 0.3
    start = model.stages_[0]["balance"]
    assert model.counts_.balance >= 0.9 * start > 0.9 * 0.9 * 35 / 65
    assert model.counts_.mnce > 0.97
    assert np.array_equal(model.counts_.labels, ["azure", "beige", "crimson"])
    assert model.converged_


@pytest.mark.parametrize("c", [2, 3, 5])
def test_the_stages(c):
    X, groups = crossed()
    model = FairnessFirstClustering(c, threshold=0.8).fit(X, sensitive_features=groups)
    names, values, balances = zip(*((s["stage"], s["inertia"], s["balance"]) for s in model.stages_), strict=True)
    assert names == ("fair start", "moves", "swaps")
    assert values[0] >= values[1] >= values[2] == pytest.approx(model.inertia_)
    assert balances[1] == balances[2] == model.counts_.balance >= 0.8 * balances[0]
    assert model.inertia_ == pytest.approx(inertia(X, model.labels_))
    np.testing.assert_allclose(model.centers_, [X[model.labels_ == k].mean(axis=0) for k in range(c)])
    assert model.counts_.sizes.min() > 0
    assert model.counts_.n == len(X)


def test_the_first_balance_is_the_best_that_rounding_admits():
    X, groups = crossed(((7, 4), (5, 3)))
    codes = np.unique(groups, return_inverse=True)[1]
    labels = fair_start(X, codes, 3, np.random.default_rng(0))
    table = ClusterCounts.from_labels(labels, codes, 3)
    shares = np.multiply.outer(table.group_sizes, table.sizes) / len(X)
    assert np.abs(table.counts - shares).max() < 2  # sizes move by rounding
    model = FairnessFirstClustering(3).fit(X, sensitive_features=groups)
    assert model.stages_[0]["balance"] == pytest.approx(table.balance)
    # The sizes before rounding are those of the merged clusters, and some of all sizes give this table as their best.
    n = len(X)
    sizes = (np.array(s) for s in itertools.product(range(1, n), repeat=3) if sum(s) == n)
    near = [s for s in sizes if np.abs(np.multiply.outer(table.group_sizes, s) / n - table.counts).max() < 1]
    assert any(max(map(balance, roundings(table.group_sizes, s))) == pytest.approx(table.balance) for s in near)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9, 1.0])
def test_the_threshold_is_kept(threshold):
    X, groups = crossed()
    model = FairnessFirstClustering(3, threshold=threshold).fit(X, sensitive_features=groups)
    assert model.counts_.balance >= threshold * model.stages_[0]["balance"] - 1e-12


def test_less_threshold_gives_a_lower_sum_of_squares_after_the_moves():
    X, groups = crossed()
    after = [
        FairnessFirstClustering(3, threshold=t).fit(X, sensitive_features=groups).stages_[1]["inertia"]
        for t in (1.0, 0.6, 0.0)
    ]
    assert after[0] > after[1] > after[2]


@pytest.mark.parametrize("seed", range(4))
def test_beside_all_partitions_of_a_few_points(seed):
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(9, 2)) + 3.0 * (np.arange(9) < 4)[:, None], np.array(list("aabbabbab"))
    model = FairnessFirstClustering(2, threshold=0.5).fit(X, sensitive_features=groups)
    floor = 0.5 * model.stages_[0]["balance"]
    values = {}
    for bits in itertools.product((0, 1), repeat=9):
        labels = np.array(bits)
        if 0 < labels.sum() < 9 and ClusterCounts.from_labels(labels, groups).balance >= floor:
            values[bits] = inertia(X, labels)
    assert tuple(model.labels_) in values
    assert model.inertia_ >= min(values.values()) - 1e-9
    assert model.inertia_ <= np.quantile(list(values.values()), 0.1)


def test_one_group_is_k_means_and_single_moves_from_it():
    X = crossed()[0]
    plain = KMeans(4, n_init=10, random_state=int(np.random.default_rng(0).integers(2**31))).fit(X - X.mean(axis=0))
    with pytest.warns(SingleGroupWarning):
        model = FairnessFirstClustering(4, on_single_group="warn").fit(X, sensitive_features=["all"] * len(X))
    assert model.stages_[0]["inertia"] == pytest.approx(plain.inertia_)
    assert model.inertia_ <= plain.inertia_ + 1e-9
    assert model.counts_.balance == 1.0


def test_neither_names_nor_place_nor_empty_features_matter():
    X, groups = crossed()
    labels = FairnessFirstClustering(3).fit_predict(X, sensitive_features=groups)
    numbers = np.unique(groups, return_inverse=True)[1]
    wide = np.hstack([X, np.zeros((len(X), 400))])  # more features than twice the points
    for data, names in ((X + 100.0, groups), (X, numbers), (wide, groups), (pd.DataFrame(X), pd.Series(groups))):
        assert np.array_equal(FairnessFirstClustering(3).fit_predict(data, sensitive_features=names), labels)


def test_small_groups_and_equal_points_leave_no_cluster_empty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    groups = np.array(["rare"] * 3 + ["common"] * 37)
    model = FairnessFirstClustering(6).fit(X, sensitive_features=groups)
    assert model.counts_.sizes.min() > 0
    assert model.counts_.balance == 0.0  # three points cannot be in six clusters
    few = np.repeat([[0.0, 0.0], [1.0, 2.0]], 10, axis=0)
    model = FairnessFirstClustering(4).fit(few, sensitive_features=np.arange(20) % 2)
    assert model.counts_.sizes.min() > 0
    many = FairnessFirstClustering(12).fit(rng.normal(size=(12, 2)), sensitive_features=np.arange(12) % 3)
    assert sorted(many.labels_) == list(range(12))
    assert many.inertia_ == 0.0
    single = FairnessFirstClustering(1).fit(X, sensitive_features=groups)
    assert single.inertia_ == pytest.approx(inertia(X, np.zeros(40)))


def test_an_end_before_rest_is_told():
    X, groups = crossed(seed=1)
    rng = np.random.default_rng(0)
    X = X + 3 * rng.normal(size=X.shape)
    with pytest.warns(ConvergenceWarning, match=r"after 1 passes.*max_iter") as told:
        model = FairnessFirstClustering(3, max_iter=1).fit(X, sensitive_features=groups)
    assert not model.converged_
    assert told[0].filename == __file__
    rested = FairnessFirstClustering(3).fit(X, sensitive_features=groups)
    assert rested.converged_
    assert rested.inertia_ <= model.inertia_
    assert rested.n_swaps_ >= model.n_swaps_ > 0


# -- refusals -----------------------------------------------------------------------------------------------------

X, GROUPS = crossed()
REFUSALS = {
    "threshold above 1": ({"threshold": 1.1}, ConfigurationError, ["threshold=1.1", "at most 1"]),
    "threshold negative": ({"threshold": -0.1}, ConfigurationError, ["threshold=-0.1"]),
    "threshold text": ({"threshold": "high"}, ConfigurationError, ["threshold='high'"]),
    "sweeps": ({"max_iter": 0}, ConfigurationError, ["max_iter=0", "at least 1"]),
    "seed": ({"random_state": "a"}, ConfigurationError, ["random_state='a'"]),
    "clusters": ({"n_clusters": 151}, ComponentsError, ["n_clusters=151", "150 points"]),
    "groups": ({"groups": GROUPS[:9]}, GroupError, ["9 rows", "150"]),
    "no groups": ({"groups": None}, GroupError, ["None"]),
    "missing group": ({"groups": pd.Series(GROUPS).where(np.arange(150) > 0)}, GroupError, ["1 missing"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name):
    options, error, parts = REFUSALS[name]
    groups = options.get("groups", GROUPS)
    model = FairnessFirstClustering(**{"n_clusters": 3} | {k: v for k, v in options.items() if k != "groups"})
    with pytest.raises(error) as told:
        model.fit(X, sensitive_features=groups)
    for part in parts:
        assert part in str(told.value)


def test_features_and_groups_are_needed():
    with pytest.raises(TypeError, match="sensitive_features"):
        FairnessFirstClustering(3).fit(X)
    spoilt = X.copy()
    spoilt[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        FairnessFirstClustering(3).fit(spoilt, sensitive_features=GROUPS)
    with pytest.raises(DataError, match="not numeric"):
        FairnessFirstClustering(3).fit(pd.DataFrame(X).assign(town="x"), sensitive_features=GROUPS)
