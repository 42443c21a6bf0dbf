"""Swaps: where single moves are stuck, and that nothing is left to swap at the end."""

import numpy as np
import pytest

from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.clustering.row_update import best_swaps, row_updates, swaps_and_moves
from evenspan.core.cluster_counts import ClusterCounts

from .clustering_samples import (
    fair_matrix,
    improving_moves,
    improving_swaps,
    never_falls,
    optimum,
    scattered,
    trace_objective,
)


def stuck():
    """Two places with two points of each of two groups; one point of group 0 of each place is in the other cluster."""
    place, codes = np.repeat([0, 1], 4), np.array([0, 0, 1, 1] * 2)
    labels = place.copy()
    labels[[1, 4]] = [1, 0]
    Z = np.array([[1.0, 0.2], [-0.5, 1.1]])[place] + 0.01 * np.arange(16).reshape(8, 2)
    return Z, codes, labels, place


def test_swaps_escape_where_single_moves_are_stuck():
    Z, codes, labels, place = stuck()
    K = Z @ Z.T
    fair_K = fair_matrix(K, codes, 50.0)
    moved = row_updates(DenseGram(K), codes, labels, 2, 50.0)
    assert (moved.n_moves, moved.converged) == (0, True)
    assert improving_moves(fair_K, labels, 2) == []
    assert improving_swaps(fair_K, labels, 2) != []
    for gram in (DenseGram(K), FactorGram(Z)):
        found, made = swaps_and_moves(gram, codes, moved, 2, 50.0)
        np.testing.assert_array_equal(found.labels, place)
        assert (made, found.converged) == (1, True)
        assert found.objective == pytest.approx(optimum(fair_K, 2), rel=1e-10)
    np.testing.assert_array_equal(moved.labels, labels)  # the answer of the moves is not changed
    # the control: without fairness the same points are not stuck
    np.testing.assert_array_equal(row_updates(DenseGram(K), codes, labels, 2, 0.0).labels, place)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weight", [0.0, 2.0, 60.0])
def test_at_the_end_neither_move_nor_swap_improves(seed, weight):
    K, codes, labels = scattered(24, 3, 3, seed=seed)
    fair_K = fair_matrix(K, codes, weight)
    moved = row_updates(DenseGram(K), codes, labels, 3, weight, max_sweeps=100)
    found, made = swaps_and_moves(DenseGram(K), codes, moved, 3, weight)
    assert found.converged
    assert improving_moves(fair_K, found.labels, 3) == []
    assert improving_swaps(fair_K, found.labels, 3) == []
    assert found.objective == pytest.approx(trace_objective(fair_K, found.labels, 3), rel=1e-10)
    assert never_falls(found.history)
    assert found.history[: len(moved.history)] == moved.history
    assert (found.objective > moved.objective) == (made > 0)
    assert found.n_moves >= moved.n_moves
    assert found.n_sweeps == moved.n_sweeps


def test_there_were_swaps_to_make():
    made = []
    for seed in range(6):
        K, codes, labels = scattered(24, 3, 3, seed=seed)
        moved = row_updates(DenseGram(K), codes, labels, 3, 60.0, max_sweeps=100)
        made.append(swaps_and_moves(DenseGram(K), codes, moved, 3, 60.0)[1])
    assert sum(made) >= 3


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_a_swap_keeps_sizes_and_is_the_best_one(weight, monkeypatch):
    K, codes, labels = scattered(30, 3, 2, seed=3)
    fair_K = fair_matrix(K, codes, weight)
    gains = {}
    for i in np.flatnonzero(labels == 0):
        for j in np.flatnonzero(labels == 1):
            swapped = labels.copy()
            swapped[[i, j]] = swapped[[j, i]]
            gains[i, j] = trace_objective(fair_K, swapped, 2)
    best = max(gains.values())
    import evenspan.clustering.row_update as swaps

    calls = []
    original = swaps._best

    def once(*arguments):
        # the first answer is kept, then there is nothing more to gain
        calls.append(original(*arguments))
        return calls[0] if len(calls) == 1 else (-np.inf, -1, -1)

    monkeypatch.setattr(swaps, "_best", once)
    monkeypatch.setattr(swaps, "PART", 7)  # several parts, the last ones shorter
    found, made = best_swaps(DenseGram(K), codes, labels, 2, weight)
    assert made == 1
    assert trace_objective(fair_K, found, 2) == pytest.approx(best, rel=1e-12)
    assert calls[0][0] == pytest.approx(best - trace_objective(fair_K, labels, 2), rel=1e-8)
    np.testing.assert_array_equal(np.bincount(found), np.bincount(labels))


def test_swaps_within_a_group_keep_all_counts():
    Z, codes, labels, _ = stuck()
    found, _ = best_swaps(FactorGram(Z), codes, labels, 2, 50.0)
    before, after = (ClusterCounts.from_labels(one, codes, 2).counts for one in (labels, found))
    np.testing.assert_array_equal(before, after)


def test_one_cluster_and_equal_points_have_nothing_to_swap():
    K, codes, _ = scattered(10)
    alone = row_updates(DenseGram(K), codes, np.zeros(10, dtype=int), 1, 1.0)
    assert swaps_and_moves(DenseGram(K), codes, alone, 1, 1.0)[1] == 0
    labels = np.arange(10) % 3
    same = row_updates(DenseGram(np.ones((10, 10))), np.zeros(10, dtype=int), labels, 3, 0.0)
    found, made = swaps_and_moves(DenseGram(np.ones((10, 10))), np.zeros(10, dtype=int), same, 3, 0.0)
    assert made == 0
    np.testing.assert_array_equal(found.labels, labels)


def test_rounds_used_up_is_not_at_rest():
    K, codes, labels = scattered(24, 3, 3, seed=0)
    moved = row_updates(DenseGram(K), codes, labels, 3, 60.0, max_sweeps=100)
    found, made = swaps_and_moves(DenseGram(K), codes, moved, 3, 60.0, max_rounds=1)
    assert made > 0
    assert not found.converged


@pytest.mark.parametrize("seed", range(4))
def test_swap_after_swap_is_the_best_one_until_none_gains(seed):
    # a small weight, so that points of different groups are swapped too
    K, codes, labels = scattered(18, 2, 2, seed=seed)
    fair_K = fair_matrix(K, codes, 0.8)
    expected, made, mixed = labels.copy(), 0, 0
    while True:
        here = trace_objective(fair_K, expected, 2)
        best = (1e-9, -1, -1)
        for i in np.flatnonzero(expected == 0):
            for j in np.flatnonzero(expected == 1):
                swapped = expected.copy()
                swapped[[i, j]] = swapped[[j, i]]
                best = max(best, (trace_objective(fair_K, swapped, 2) - here, i, j))
        if best[1] < 0:
            break
        _, i, j = best
        expected[[i, j]] = expected[[j, i]]
        made, mixed = made + 1, mixed + (codes[i] != codes[j])
    found, count = best_swaps(DenseGram(K), codes, labels, 2, 0.8)
    np.testing.assert_array_equal(found, expected)
    assert count == made > 1
    assert mixed > 0
