"""Memory of the streaming method: a few tall matrices and one batch, whatever the number of rows; never d x d."""

import tracemalloc

import numpy as np
import pytest

from evenspan import GroupMoments
from evenspan.core.streams import FunctionStream
from evenspan.representation import StreamingFairPCA

K, M, Q = 20, 5, 64
#: Peak allocation in units of 4 d (k + m + q) bytes, single precision.
UNITS = 6


def stream(d, batches, q=Q):
    """Rows drawn as they are asked for; the second group is larger along one direction, and shifted."""
    direction = np.random.default_rng(9).standard_normal(d, dtype=np.float32)
    direction /= np.linalg.norm(direction)

    def make():
        rng = np.random.default_rng(1)
        for _ in range(batches):
            groups = np.arange(q) % 3 == 0
            X = rng.standard_normal((q, d), dtype=np.float32)
            X += np.outer(np.where(groups, 300 * rng.standard_normal(q) + 80, 0).astype(np.float32), direction)
            yield X, groups

    return FunctionStream(make), direction


def peak_of(work):
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def fitted(d, batches, q=Q, **options):
    rows, direction = stream(d, batches, q)
    model = StreamingFairPCA(K, M, n_blocks=2, **options)
    peak, model = peak_of(lambda: model.fit(rows))
    return peak, model, direction


def bound(d, q=Q):
    return UNITS * 4 * d * (K + M + q)


def test_peak_memory_at_fifty_thousand_features():
    d = 50_000
    peak, model, direction = fitted(d, 4)
    assert peak < bound(d)
    assert peak < 4 * d * d / 50, "a d x d matrix would take 10 GB"
    assert model.components_.dtype == np.float32
    # It is the method that was measured, and it did its work: the planted direction is gone.
    assert np.linalg.norm(model.nullified_ @ direction) > 0.99
    assert np.abs(model.components_ @ direction).max(axis=0) < 0.02
    assert np.abs(model.components_ @ model.nullified_.T).max(axis=None) < 1e-5


def test_peak_memory_grows_with_features_not_with_their_square_nor_with_rows():
    peaks = {d: fitted(d, 3)[0] for d in (6_000, 12_000, 24_000)}
    slope = np.polyfit(np.log(list(peaks)), np.log(list(peaks.values())), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.1)
    assert fitted(6_000, 12)[0] < 1.05 * peaks[6_000]
    assert fitted(6_000, 6, block_size=Q)[0] < 1.05 * peaks[6_000]


def test_the_batch_is_the_only_thing_that_grows_with_its_rows():
    d = 6_000
    small, large = (fitted(d, 2, q)[0] for q in (64, 256))
    # One batch at hand and one being drawn, and what the generator of this test needs.
    assert large - small < 4.5 * 4 * d * (256 - 64)
    assert large < bound(d, 256)


def test_the_bound_fails_for_what_needs_a_square_matrix():
    """The control: moments of the same stream, from which every other method here starts."""
    d = 3_000
    peak, moments = peak_of(lambda: GroupMoments.from_batches(stream(d, 3)[0]))
    assert moments.scatters.nbytes == 2 * 8 * d * d
    assert peak > bound(d)
    assert fitted(d, 3)[0] < bound(d)


@pytest.mark.parametrize("constraint", ["mean", "vanilla"])
def test_fewer_constraints_need_no_more(constraint):
    d = 10_000
    assert fitted(d, 2, constraint=constraint)[0] <= 1.02 * fitted(d, 2)[0] < bound(d)
