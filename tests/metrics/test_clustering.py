"""The judge of clusterings: definitions by brute force, identities, extremes, new rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from evenspan import ClusterCounts, ClusterFrame, metrics
from evenspan.core.cluster_counts import balance_of, mnce_of
from evenspan.core.errors import DataError

GROUPS = np.repeat(["a", "b", "c"], [200, 120, 60])


def noisy(labels, share, n_labels, seed):
    """Labels of which a share is drawn anew."""
    rng = np.random.default_rng(seed)
    out = np.unique(labels, return_inverse=True)[1]
    drawn = rng.random(len(out)) < share
    out[drawn] = rng.integers(n_labels, size=int(drawn.sum(axis=0)))
    return out


def test_every_measure_by_brute_force_and_that_of_the_methods_statistic():
    labels = noisy(GROUPS, 0.6, 5, 5)
    balances, entropies, F = [], [], Fraction(0)
    overall = -sum(p * np.log(p) for p in (200 / 380, 120 / 380, 60 / 380))
    for k in range(5):
        inside = [int(((labels == k) & (group == GROUPS)).sum()) for group in "abc"]
        balances.append(min(inside) / max(inside))
        entropies.append(-sum(m / sum(inside) * np.log(m / sum(inside)) for m in inside) / overall)
        F += Fraction(sum(m * m for m in inside), sum(inside))
    counts = ClusterCounts.from_labels(labels, GROUPS, 7)
    table = counts.counts
    assert metrics.balance(labels, GROUPS) == balance_of(table) == min(balances)
    assert metrics.mnce(labels, GROUPS) == mnce_of(table) == pytest.approx(min(entropies), rel=1e-12)
    lowest = (200**2 + 120**2 + 60**2) / 380
    mine = float(F), lowest, (float(F) - lowest) / (380 - lowest), min(balances), min(entropies)
    theirs = counts.regulariser, counts.lowest_regulariser, counts.fair_gap, counts.balance, counts.mnce
    assert theirs == pytest.approx(mine, rel=1e-12)
    frame = ClusterFrame(counts)
    assert frame.by_cluster["count"].tolist() == [*np.bincount(labels), 0, 0]
    np.testing.assert_allclose(frame.by_cluster["balance"], [*balances, np.nan, np.nan])
    np.testing.assert_allclose(frame.by_cluster["entropy"], [*entropies, np.nan, np.nan])
    whole = np.bincount(labels, minlength=5) / 380
    for group in "abc":
        own = labels[group == GROUPS]
        # As many rows as the distance says, moved from clusters with too many to those with too few, make it even.
        surplus = np.bincount(own, minlength=5) - len(own) * whole
        assert frame.by_group.loc[group, "distance"] * len(own) == pytest.approx(surplus[surplus > 0].sum())
    assert frame.overall.tolist() == pytest.approx([min(balances), min(entropies), mine[0], mine[2], 5, 2], rel=1e-12)


def test_a_clustering_is_judged_on_rows_it_has_not_seen():
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"sex": rng.choice(["f", "m"], 300, p=[0.3, 0.7]), "old": rng.random(300) < 0.4})
    X = rng.normal(size=(300, 2)) + 3.0 * (groups["sex"] == "f").to_numpy()[:, None]  # clusters follow the sex
    fitted = KMeans(3, n_init=1, random_state=0).fit(X[:200])
    found = ClusterFrame.from_estimator(fitted, X[200:], sensitive_features=groups[200:])
    again = ClusterFrame.from_labels(fitted.predict(X[200:]), sensitive_features=groups[200:], n_clusters=3)
    assert found.by_group.index.names == ["sex", "old"]
    pd.testing.assert_frame_equal(found.by_group, again.by_group)
    one = ClusterFrame.from_estimator(fitted, X[200:201], sensitive_features=groups[200:201])
    assert (one.overall["clusters"], one.overall["empty clusters"]) == (1.0, 2.0)
    halves = [ClusterCounts.from_labels(fitted.predict(X[a:b]), groups[a:b], 3) for a, b in ((200, 240), (240, 300))]
    pd.testing.assert_series_equal(ClusterFrame(halves[0] + halves[1]).overall, found.overall)
    with pytest.raises(DataError, match=r"no predict.*labels_"):
        ClusterFrame.from_estimator(object(), X, sensitive_features=groups)


def test_deals_at_random_keep_the_sizes_of_groups_and_clusters():
    rng = np.random.default_rng(0)
    frame = ClusterFrame.from_labels(
        rng.integers(0, 3, 90), sensitive_features=rng.choice(["f", "m"], 90, p=[0.3, 0.7])
    )
    dealt = frame.by_chance(20, 0)
    for one in dealt:
        assert one.counts.group_sizes.tolist() == frame.counts.group_sizes.tolist()
        assert one.counts.sizes.tolist() == frame.counts.sizes.tolist()
    assert len({one.counts.counts.tobytes() for one in dealt}) > 10
