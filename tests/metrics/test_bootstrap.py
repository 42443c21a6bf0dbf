"""Bootstrap by blocks: sums as of the rows, spread as of the ordinary bootstrap, intervals that cover."""

import numpy as np
import pytest

from evenspan import LEACE, FairPCA, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError
from evenspan.metrics import bootstrap

ESTIMATORS = {
    "plain": lambda X, z: FairPCA(2).fit(X, sensitive_features=z),
    "standardised": lambda X, z: FairPCA(2, standardize=True).fit(X, sensitive_features=z),
    "no projection": lambda X, z: LEACE(2).fit(X, sensitive_features=z),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("attribute", ["colour", None])
def test_sums_of_blocks_are_those_of_the_rows(sample, name, attribute):
    X, frame = sample
    fitted = ESTIMATORS[name](X, frame["colour"])
    answer = metrics.linear_map(fitted)
    moments = GroupMoments.from_data(X, frame[["block", "colour", "shape"]])
    sums = bootstrap.block_sums(moments, answer, attribute)
    scale, T = 1.0 if answer.scale is None else answer.scale, fitted.transform(X)
    squares = (((X - answer.mean) / scale - T @ answer.V.T) ** 2).sum(axis=1)
    by_group = frame.groupby(["colour", "shape"] if attribute is None else "colour").indices
    assert len(by_group) == len(sums.labels)
    merged = sums.pooled()
    every = [(sums, g, rows) for g, rows in enumerate(by_group.values())] + [(merged, 0, np.arange(len(X)))]
    for found, g, rows in every:
        for b in range(17):
            at = rows[frame["block"].to_numpy()[rows] == b]
            assert found.counts[b, g] == len(at)
            assert found.errors[b, g] == pytest.approx(squares[at].sum(axis=0), rel=1e-8, abs=1e-8)
            assert found.squares[b, g] == pytest.approx((T[at] ** 2).sum(axis=None), rel=1e-8, abs=1e-8)
            np.testing.assert_allclose(found.firsts[b, g], T[at].sum(axis=0), rtol=1e-8, atol=1e-8)
    once = np.ones((1, 17), dtype=int)  # every block once is the sample itself
    expected = [squares[rows].mean(axis=0) for rows in by_group.values()]
    np.testing.assert_allclose(sums.group_errors(once)[0], expected, rtol=1e-9)
    expected = [T[rows].mean(axis=0) for rows in by_group.values()]
    np.testing.assert_allclose(sums.group_means(once)[0], expected, atol=1e-9)


@pytest.mark.parametrize("attribute", ["colour", None])
def test_moments_of_a_draw_are_those_of_its_rows(sample, attribute):
    X, frame = sample
    moments, draws = GroupMoments.from_data(X, frame), bootstrap.multiplicities(17, 3, 2)
    names = ["colour", "shape"] if attribute is None else attribute
    for counts, found in zip(draws, bootstrap.resampled(moments, draws, attribute), strict=True):
        rows = np.concatenate([np.repeat(np.flatnonzero(frame["block"] == b), c) for b, c in enumerate(counts)])
        expected = GroupMoments.from_data(X[rows], frame[names].iloc[rows])
        assert found.labels.tolist() == expected.labels.tolist()
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-9, atol=1e-9)


def test_what_has_no_value_is_left_out_and_too_much_of_it_is_told(sample):
    samples = np.column_stack([np.arange(101.0), np.arange(101.0) * 10])
    np.testing.assert_allclose(bootstrap.interval(samples, 0.9), [[5, 50], [95, 950]])
    samples[:5, 1] = np.nan
    assert bootstrap.interval(samples, 0.9)[0][1] == pytest.approx(np.quantile(np.arange(50.0, 1010, 10), 0.05))
    samples[:8, 1] = np.nan
    with pytest.raises(GroupError, match=r"group 'rare' has no value in 8% of 101 samples"):
        bootstrap.interval(samples, labels=["common", "rare"])
    X, frame = sample
    rare = frame[["block"]].assign(colour=np.where(frame["block"] == 3, frame["colour"], "most"))
    alone = np.eye(17, dtype=int) * 17  # one block only, seventeen times
    found = ["".join(m.labels) for m in bootstrap.resampled(GroupMoments.from_data(X, rare), alone)]
    assert found == ["most"] * 3 + ["azurebeigecrimson"] + ["most"] * 13


def test_what_cannot_be_used_is_refused(sample):
    X, frame = sample
    moments, subspace = GroupMoments.from_data(X, frame), StandardPCA(2).fit(X).subspace_
    one_block = GroupMoments.from_data(X, frame.assign(block=4))
    for error, match, call in [
        (GroupError, "'block' and at least one", lambda: bootstrap.block_sums(moments.marginal("colour"), subspace)),
        (GroupError, "at least two blocks", lambda: bootstrap.block_sums(one_block, subspace)),
        (DataError, r"\(n_boot, 17\)", lambda: next(bootstrap.resampled(moments, np.ones((2, 16), dtype=int)))),
        (ConfigurationError, "level=95", lambda: bootstrap.interval(np.zeros(3), 95)),
        (ConfigurationError, "at most one block", lambda: bootstrap.assign_blocks(10, 11)),
    ]:
        with pytest.raises(error, match=match):
            call()
