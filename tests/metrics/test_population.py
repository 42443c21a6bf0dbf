"""Bounds on gaps in the population are Welch's intervals of rows, and hold as often as they say; controls do not."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenspan import LEACE, GroupMoments, MinMaxFairPCA, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, GroupError
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


def test_errors_say_what_is_needed():
    X, groups = rows_of(np.random.default_rng(9), (20, 10, 1))
    moments, _ = blocked(X, groups, 5, 0)
    fitted = StandardPCA(1).fit(X, sensitive_features=groups)
    for error, words, call in (
        (GroupError, "'c' has 1 of the rows", lambda: metrics.mean_gap_bound(moments, fitted)),
        (GroupError, "'c' has 1 of the blocks", lambda: metrics.error_gap_bound(moments, fitted, folds=None)),
        (ConfigurationError, "cannot be fitted", lambda: metrics.error_gap_bound(moments, fitted.subspace_)),
        (ConfigurationError, "needed is at least", lambda: largest_at_most(np.ones(1), np.ones(2), np.ones(2), 0.6)),
        (ConfigurationError, "folds=6 of 5 blocks", lambda: metrics.error_gap_bound(moments, fitted, folds=6)),
    ):
        with pytest.raises(error, match=words):
            call()
