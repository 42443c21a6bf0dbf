"""The row update and swaps against their plain transcription, and what is true of every sweep, move and answer."""

import numpy as np
import pytest

from evenspan.clustering import row_update
from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.clustering.row_update import _State, best_swaps, row_updates, swaps_and_moves

from . import clustering_samples as cs

WEIGHTS = (0.0, 0.7, 25.0)


class Watched(_State):
    """A state that compares itself with recomputed values after every move."""

    def __init__(self, K, gram, codes, labels, n_clusters, weight):
        self.moves, self.fair_K, self.K, self.c = [], cs.fair_matrix(K, codes, weight), K, n_clusters
        super().__init__(gram, codes, labels, n_clusters, weight)

    def _move(self, i, target):
        before, source = cs.trace_objective(self.fair_K, self.labels, self.c), int(self.labels[i])
        super()._move(i, target)
        self.moves.append((int(i), source, int(target)))
        self.check(ahead=i + 1)
        assert cs.trace_objective(self.fair_K, self.labels, self.c) > before

    def check(self, ahead=0):
        """Sizes, counts, q, and the similarities of all points from ``ahead`` on."""
        Y, G = cs.indicator(self.labels, self.c), cs.indicator(self.codes, int(self.codes.max()) + 1)
        scale = float(np.abs(self.fair_K).sum(axis=None))
        np.testing.assert_array_equal(self.sizes, Y.sum(axis=0))
        np.testing.assert_allclose(self.q, np.diagonal(Y.T @ self.fair_K @ Y), rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(self.fair, self.weight * (Y.T @ G), rtol=1e-12, atol=1e-12 * (self.weight or 1.0))
        S = (Y.T @ self.K)[:, ahead : ahead + 40]
        np.testing.assert_allclose(self.sums.window(ahead, ahead + 40), S, rtol=0, atol=1e-9 * scale)


def linear_problem(n=200, seed=5):
    """Points, whose linear kernel is meant, with groups and random labels."""
    _, codes, labels = cs.scattered(n, 3, 4, seed=seed)
    Z = np.random.default_rng(seed + 100).normal(size=(n, 3)) * [3.0, 1.0, 0.5] + [0.5, 0.0, -0.2]
    return Z, codes, labels


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("storage", ["dense", "factor"])
def test_moves_are_those_of_the_plain_transcription_and_the_state_is_what_is_computed_anew(storage, weight):
    Z, codes, labels = linear_problem()
    K = Z @ Z.T
    gram = DenseGram(K) if storage == "dense" else FactorGram(Z)
    state, plain = (
        Watched(K, gram, codes, labels, 4, weight),
        cs.plain_sweeps(cs.fair_matrix(K, codes, weight), labels, 4),
    )
    for after in plain.sweeps:
        state.sweep()
        np.testing.assert_array_equal(state.labels, after)
        assert state.refresh() == pytest.approx(cs.trace_objective(state.fair_K, after, 4), rel=1e-10)
        state.check()
    assert tuple(state.moves) == plain.moves
    assert len(plain.moves) > 60
    found = row_updates(gram, codes, labels, 4, weight)
    np.testing.assert_array_equal(found.labels, plain.labels)
    np.testing.assert_allclose(found.history, plain.history, rtol=1e-9)
    assert (found.n_sweeps, found.n_moves) == (len(plain.sweeps), len(plain.moves))
    assert cs.never_falls(found.history)
    # the control: labels that changed behind the back of the sums are noticed
    state.labels[0] = (state.labels[0] + 1) % 4
    with pytest.raises(AssertionError):
        state.check()


def test_windows_wider_than_the_widest_find_the_late_moves():
    # only points beyond the narrow, the factor's and the doubled windows move
    rng = np.random.default_rng(1)
    n = 9300
    labels = np.repeat([0, 1], [n // 2, n - n // 2])
    rng.shuffle(labels)
    Z = 0.01 * rng.normal(size=(n, 2)) + np.array([[3.0, 0.0], [0.0, 4.0]])[labels]
    start = labels.copy()
    wrong = [63, 64, 575, 576, 8191, 8192, 8255, 8256, 9298, 9299]
    start[wrong] = 1 - start[wrong]
    found = row_updates(FactorGram(Z), np.arange(n) % 3, start, 2, 0.0)
    np.testing.assert_array_equal(found.labels, labels)
    assert (found.n_moves, found.converged) == (len(wrong), True)
    late = labels.copy()
    late[-1] = 1 - late[-1]
    assert _State(FactorGram(Z), np.arange(n) % 3, late, 2, 0.0).improvable()
    assert not _State(FactorGram(Z), np.arange(n) % 3, labels, 2, 0.0).improvable()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_shift_of_the_paper_is_invisible_and_just_enough(weight):
    K, codes, labels = cs.scattered(60, 3, 4, seed=2)
    found = row_updates(DenseGram(K), codes, labels, 4, weight)
    alpha = weight * float(np.bincount(codes).max())
    for shift in (alpha, 100.0 * alpha + 7.0):
        plain = cs.plain_sweeps(cs.fair_matrix(K, codes, weight, shift), labels, 4)
        np.testing.assert_array_equal(found.labels, plain.labels)
        assert plain.history[-1] - 4 * shift == pytest.approx(found.objective, rel=1e-8)
    assert np.linalg.eigvalsh(cs.fair_matrix(K, codes, weight, alpha))[0] >= -1e-8
    assert weight == 0.0 or np.linalg.eigvalsh(cs.fair_matrix(np.zeros((60, 60)), codes, weight, 0.9 * alpha))[0] < 0.0
    other = np.diag(np.linspace(0.0, 3.0 * np.abs(np.diagonal(K)).max(), 60))
    unequal = row_updates(DenseGram(K + other), codes, labels, 4, weight)
    assert not np.array_equal(unequal.labels, found.labels)  # the control: a shift that is not a multiple of I


def test_what_is_not_at_rest_says_so_and_what_is_admits_no_move():
    K, codes, labels = cs.scattered(40, 3, 4, seed=6)
    fair_K = cs.fair_matrix(K, codes, 1.0)
    first = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=1)
    assert not first.converged
    assert cs.improving(fair_K, first.labels, 4)[0] != []
    last = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=100)
    assert last.converged
    assert cs.improving(fair_K, last.labels, 4)[0] == []
    # exactly as many sweeps as have moves: at rest without the one that would find nothing
    exact = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=last.n_sweeps - 1)
    np.testing.assert_array_equal(exact.labels, last.labels)
    assert exact.converged


def test_ties_stay_and_go_to_the_first():
    # all points equal: every gain is a tie, nothing moves and nothing is swapped
    labels, one_group = np.array([2, 0, 1, 2, 1, 0, 0]), np.zeros(7, dtype=int)
    for K in (np.ones((7, 7)), np.full((7, 7), 0.1), np.zeros((7, 7))):
        for weight in (0.0, 0.3):  # with 0.3 some gains differ in their last digit
            found = row_updates(DenseGram(K), one_group, labels, 3, weight)
            np.testing.assert_array_equal(found.labels, labels)
            assert (found.n_moves, found.converged) == (0, True)
            assert swaps_and_moves(DenseGram(K), one_group, found, 3, weight)[1] == 0
    # point 0 fits clusters 1 and 2 equally well: it goes to the lower number
    Z = np.array([[1.0, 0.0], [0.0, 5.0], [0.0, 5.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert row_updates(FactorGram(Z), one_group, np.array([0, 0, 0, 2, 2, 1, 1]), 3, 0.0).labels[0] == 1


# -- swaps ---------------------------------------------------------------------------------------------------------


def test_swaps_escape_where_single_moves_are_stuck():
    Z, codes, labels, place = cs.stuck()
    fair_K = cs.fair_matrix(Z @ Z.T, codes, 50.0)
    moved = row_updates(DenseGram(Z @ Z.T), codes, labels, 2, 50.0)
    assert (moved.n_moves, moved.converged) == (0, True)
    moves, swaps = cs.improving(fair_K, labels, 2)
    assert moves == []
    assert swaps != []
    for gram in (DenseGram(Z @ Z.T), FactorGram(Z)):
        found, made = swaps_and_moves(gram, codes, moved, 2, 50.0)
        np.testing.assert_array_equal(found.labels, place)
        assert (made, found.converged) == (1, True)
        assert found.objective == pytest.approx(cs.optimum(fair_K, 2), rel=1e-10)
    np.testing.assert_array_equal(moved.labels, labels)  # the answer of the moves is not changed
    # the control: without fairness the same points are not stuck
    np.testing.assert_array_equal(row_updates(DenseGram(Z @ Z.T), codes, labels, 2, 0.0).labels, place)


@pytest.mark.parametrize("part", [2048, 5])
def test_swap_after_swap_is_the_best_one_until_none_gains(part, monkeypatch):
    monkeypatch.setattr(row_update, "PART", part)  # several parts, the last one shorter
    # a small weight, so that points of different groups are swapped too
    K, codes, labels = cs.scattered(18, 2, 2, seed=1)
    fair_K = cs.fair_matrix(K, codes, 0.8)
    expected, made, mixed = labels.copy(), 0, 0
    while True:
        here, best = cs.trace_objective(fair_K, expected, 2), (1e-9, -1, -1)
        for i in np.flatnonzero(expected == 0):
            for j in np.flatnonzero(expected == 1):
                swapped = expected.copy()
                swapped[[i, j]] = swapped[[j, i]]
                best = max(best, (cs.trace_objective(fair_K, swapped, 2) - here, i, j))
        if best[1] < 0:
            break
        _, i, j = best
        expected[[i, j]] = expected[[j, i]]
        made, mixed = made + 1, mixed + (codes[i] != codes[j])
    found, count = best_swaps(DenseGram(K), codes, labels, 2, 0.8)
    np.testing.assert_array_equal(found, expected)
    assert count == made > 1
    assert mixed > 0
