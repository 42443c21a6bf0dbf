"""Made portraits: the same rows in every pass and range, glasses planted on some, and nothing else that tells."""

import numpy as np

from compendium.data.portraits import PortraitStream, portraits

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
