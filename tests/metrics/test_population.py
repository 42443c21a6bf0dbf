"""Bounds on gaps in the population are Welch's intervals of rows, and hold as often as they say; controls do not."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenspan import LEACE, FairPCA, GroupMoments, MinMaxFairPCA, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, GroupError
from evenspan.metrics.linear_map import LinearMap, encoder, linear_map
from evenspan.metrics.population import largest_at_most

COUNTS = (200, 120, 60)


def rows_of(rng, counts=COUNTS, d=5):
    """Three groups of unequal count, mean and scale, one of them skewed."""
    groups = np.repeat(list("abc"), counts)
    X = rng.normal(size=(len(groups), d))
    X[groups == "c"] = rng.exponential(size=(counts[2], d)) - 1.0
    X *= np.linspace(2.0, 0.7, d) * np.select([groups == "a", groups == "b"], [1.0, 1.5], 0.8)[:, None]
    return X + np.outer(groups == "b", np.linspace(1.0, -0.5, d)) + np.outer(groups == "c", np.ones(d)), groups


def blocked(X, groups, n_blocks, rng, **more):
    block = metrics.assign_blocks(len(X), n_blocks, rng)
    return GroupMoments.from_data(X, pd.DataFrame({"block": block, "group": groups, **more})), block


def half_width(a, b, level):
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    return 0.5 * (interval.high - interval.low)


def welch(values, level=0.95):
    """The same bound for the means of groups of numbers, from Welch's intervals of all pairs of samples."""
    pairs = [(a, b) for i, a in enumerate(values) for b in values[:i]]
    level = 1.0 - (1.0 - level) / len(pairs)
    return max(abs(a.mean(axis=0) - b.mean(axis=0)) + half_width(a, b, level) for a, b in pairs)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_along_one_direction_the_bound_of_means_is_welchs_interval(level):
    X, groups = rows_of(np.random.default_rng(0))
    fitted = StandardPCA(1).fit(X, sensitive_features=groups)
    found = metrics.mean_gap_bound(GroupMoments.from_data(X, groups), fitted, level=level)
    T = fitted.transform(X)[:, 0]
    assert found == pytest.approx(welch([T[groups == g] for g in "abc"], level), rel=1e-10)


def test_with_a_block_for_each_row_the_bound_of_errors_is_welchs_interval():
    X, groups = rows_of(np.random.default_rng(1))
    fitted = LEACE(2).fit(X, sensitive_features=groups)
    moments, _ = blocked(X, groups, len(X), 0)
    lost = ((X - fitted.inverse_transform(fitted.transform(X))) ** 2).sum(axis=1)
    expected = welch([lost[groups == g] for g in "abc"])
    assert metrics.error_gap_bound(moments, fitted, folds=None) == pytest.approx(expected, rel=1e-10)


def test_every_block_is_judged_under_the_map_that_did_not_see_it():
    X, groups = rows_of(np.random.default_rng(2))
    moments, block = blocked(X, groups, 12, 3)
    fitted = MinMaxFairPCA(2).fit(X, sensitive_features=groups)
    lost = np.empty(len(X))
    for fold in range(3):
        out = block % 3 == fold
        other = MinMaxFairPCA(2).fit(X[~out], sensitive_features=groups[~out])
        lost[out] = ((X[out] - other.inverse_transform(other.transform(X[out]))) ** 2).sum(axis=1)
    table = pd.DataFrame({"lost": lost, "block": block, "group": groups}).groupby(["group", "block"])["lost"]
    means, n = table.mean().unstack().to_numpy(), table.size().unstack().to_numpy()
    e = (n * means).sum(axis=1) / n.sum(axis=1)
    squared = (n * (means - e[:, None]) ** 2).sum(axis=1) / (11 * n.sum(axis=1))
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = largest_at_most(np.array([abs(e[g] - e[h]) for g, h in pairs]), squared, np.full(3, 11.0), 0.95)
    assert metrics.error_gap_bound(moments, fitted, folds=3) == pytest.approx(expected, rel=1e-6)
    assert metrics.error_gap_bound(moments, fitted, folds=None) != pytest.approx(expected, rel=1e-3)


def draws(count, n, seed, X, groups, n_blocks):
    for draw in range(count):
        rng = np.random.default_rng((seed, draw))
        rows = rng.integers(len(X), size=n)
        moments, _ = blocked(X[rows], groups[rows], n_blocks, rng)
        yield moments, moments.marginal("group")


def test_the_bound_of_means_holds_as_often_as_it_says_and_the_gap_of_the_sample_never():
    X, groups = rows_of(np.random.default_rng(5), (2000, 1200, 600))
    whole, hits = GroupMoments.from_data(X, groups), []
    for _, moments in draws(200, 380, 5, X, groups, 2):
        A = encoder(linear_map(FairPCA(2).fit_moments(moments)))
        true, own = metrics.mean_gap(whole, A), metrics.mean_gap(moments, A)
        # The control: along the widest axis of the noise, at 95 %. Enough for a map that knows nothing of these rows.
        C = moments.project(A).scatters / (moments.counts * (moments.counts - 1.0))[:, None, None]
        narrow = max(np.linalg.norm(C[g] + C[h], ord=2) for g, h in ((0, 1), (0, 2), (1, 2)))
        hits.append((true <= metrics.mean_gap_bound(moments, LinearMap(A, A, np.zeros(5))), true <= own + 1e-9))
        hits[-1] += (true <= own + stats.norm.ppf(0.95) * np.sqrt(narrow),)
    bound, sample, narrow = np.mean(hits, axis=0)
    assert bound >= 0.95
    assert sample == 0.0
    assert narrow < 0.9  # P(at least 180 of 200) is below 1e-3 if 95 % of draws were within


def test_errors_say_what_is_needed():
    X, groups = rows_of(np.random.default_rng(9), (20, 10, 1))
    moments, _ = blocked(X, groups, 5, 0)
    fitted = StandardPCA(1).fit(X, sensitive_features=groups)
    with pytest.raises(GroupError, match="'c' has 1 of the rows"):
        metrics.mean_gap_bound(moments, fitted)
    with pytest.raises(GroupError, match="'c' has 1 of the blocks"):
        metrics.error_gap_bound(moments, fitted, folds=None)
    with pytest.raises(GroupError, match="assign_blocks"):
        metrics.error_gap_bound(moments.marginal("group"), fitted)
    with pytest.raises(ConfigurationError, match="FairSubspace cannot be fitted"):
        metrics.error_gap_bound(moments, fitted.subspace_)
    with pytest.raises(ConfigurationError, match="folds=6 of 5 blocks"):
        metrics.error_gap_bound(moments, fitted, folds=6)
