"""Made portraits: the same rows in every pass and range, glasses planted on some, and nothing else that tells."""

import tracemalloc

import numpy as np
import pytest

from compendium.data.portraits import CELEBA_SIZE, PortraitStream, portraits
from evenspan.core.errors import ConfigurationError

SIZE = (44, 36)


def test_rows_are_the_same_in_every_pass_range_and_batch():
    X, groups = portraits(0, 150, size=SIZE, share=0.3, seed=3)
    assert X.dtype == np.float32
    assert X.shape == (150, 3 * 44 * 36)
    for batch_size in (1, 37, 64, 500):
        stream = PortraitStream(150, size=SIZE, share=0.3, seed=3, batch_size=batch_size)
        for _ in range(2):
            parts = list(stream)
            assert {len(part) for part, _ in parts[:-1]} <= {batch_size}
            np.testing.assert_array_equal(np.vstack([part for part, _ in parts]), X)
            np.testing.assert_array_equal(np.concatenate([g for _, g in parts]), groups)
    assert stream.n_features == X.shape[1]
    assert stream.labels.tolist() == [0, 1]
    assert not stream.one_shot


def test_the_share_of_glasses_is_the_one_asked_for():
    n = 6400
    for share in (0.065, 0.4):
        groups = np.concatenate([g for _, g in PortraitStream(n, size=(16, 16), share=share, seed=5)])
        assert set(groups.tolist()) == {0, 1}
        assert abs(groups.mean(axis=0) - share) < 5 * np.sqrt(share * (1 - share) / n)


def test_glasses_are_the_only_difference_and_lie_on_the_eyes():
    drawn, groups = portraits(0, 400, size=SIZE, share=0.3)
    none, same = portraits(0, 400, size=SIZE, share=0.3, glasses="none")
    every, _ = portraits(0, 400, size=SIZE, share=0.3, glasses="all")
    np.testing.assert_array_equal(groups, same)
    np.testing.assert_array_equal(drawn[groups == 0], none[groups == 0])
    np.testing.assert_array_equal(drawn[groups == 1], every[groups == 1])
    change = np.abs(every - none).reshape(400, *SIZE, 3).max(axis=3)
    assert (change.max(axis=(1, 2)) > 0.2).all(), "someone's glasses cannot be seen"
    rows = np.flatnonzero(change.max(axis=(0, 2)) > 0.02) / SIZE[0]
    assert 0.33 < rows.min(axis=0) < 0.42 < 0.6 < rows.max(axis=0) < 0.7
    # The place varies: the first row that is covered is not the same on all.
    first = np.array([np.flatnonzero(one.max(axis=1) > 0.1)[0] for one in change])
    assert np.ptp(first, axis=0) >= 2
    # So does the strength: a mean cannot tell it all, the covariances of the groups differ as well.
    gap = drawn[groups == 1].mean(axis=0) - drawn[groups == 0].mean(axis=0)
    assert np.linalg.norm(gap) > 1.0
    planted = (every - none)[groups == 1]
    direction = planted.mean(axis=0) / np.linalg.norm(planted.mean(axis=0))
    outside = planted - np.outer(planted @ direction, direction)
    assert (outside**2).sum(axis=None) > 0.15 * (planted**2).sum(axis=None)


def test_a_reader_of_the_groups_finds_nothing_without_the_glasses():
    """The control: the groups are those that were drawn, but nobody wears anything."""
    area = {}
    for glasses in ("drawn", "none"):
        X, groups = portraits(0, 1600, size=(24, 20), share=0.5, glasses=glasses)
        fit, test = slice(0, 800), slice(800, None)
        centre = X[fit].mean(axis=0)
        ridge = (X[fit] - centre) @ (X[fit] - centre).T + 10.0 * np.eye(800)
        scores = (
            (X[test] - centre) @ (X[fit] - centre).T @ np.linalg.solve(ridge, groups[fit] - groups[fit].mean(axis=0))
        )
        inside, outside = scores[groups[test] == 1], scores[groups[test] == 0]
        area[glasses] = (inside[:, None] > outside).mean(axis=None)
    assert abs(area["none"] - 0.5) < 0.08
    assert area["drawn"] > 0.85


def test_full_size_needs_a_few_batches_of_memory_only():
    portraits(0, 1)  # the shapes are kept
    stream = PortraitStream(3 * 64, batch_size=64)
    assert stream.n_features == 116_412 == 3 * CELEBA_SIZE[0] * CELEBA_SIZE[1]
    batch = 4 * 64 * stream.n_features
    tracemalloc.start()
    try:
        for _ in stream:
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * batch


def test_wrong_options_are_refused():
    for options, message in [
        ({"size": (10, 40)}, r"size=\(10, 40\)"),
        ({"share": 0.0}, r"share=0\.0"),
        ({"glasses": "some"}, "glasses='some'"),
        ({"n_rows": 0}, "n_rows=0"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            PortraitStream(**({"n_rows": 5} | options))
