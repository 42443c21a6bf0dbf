"""Bootstrap by blocks: sums as of the rows, spread as of the ordinary bootstrap, intervals that cover."""

import numpy as np
import pandas as pd
import pytest
from evenspan.metrics.resampling import resampled

from evenspan import FairPCA, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError
from evenspan.metrics import bootstrap

COUNTS = (200, 120, 60)


def draw(rng, counts=COUNTS):
    groups = np.repeat(["a", "b", "c"], counts)
    scales, centres = np.array([1.0, 2.5, 0.5]), np.array([[0, 0, 1, 0, 2.0], [3, 1, 0, 0, 0], [0, -2, 0, 1, 1]])
    at = np.repeat(np.arange(3), counts)
    return centres[at] + scales[at, None] * rng.normal(size=(len(at), 5)) * [3, 2, 1, 1, 0.5], groups


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(5)
    X, groups = draw(rng)
    order = rng.permutation(len(X))
    X, groups = X[order] + 50.0, groups[order]
    second = rng.choice(["x", "y"], size=len(X), p=[0.3, 0.7])
    blocks = bootstrap.assign_blocks(len(X), 17, 1)
    frame = pd.DataFrame({"block": blocks, "colour": groups, "shape": second})
    return X, frame, GroupMoments.from_data(X, frame)


def test_blocks_are_even_and_in_random_order():
    blocks = bootstrap.assign_blocks(103, 20, 3)
    sizes = np.bincount(blocks)
    assert len(sizes) == 20
    assert set(sizes) == {5, 6}
    assert not np.array_equal(blocks, np.sort(blocks))
    assert not np.array_equal(blocks, np.arange(103) % 20)
    np.testing.assert_array_equal(blocks, bootstrap.assign_blocks(103, 20, np.random.default_rng(3)))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("attribute", ["colour", "shape", None])
def test_sums_of_blocks_are_those_of_the_rows(sample, standardize, attribute):
    X, frame, moments = sample
    fitted = FairPCA(2, standardize=standardize).fit(X, sensitive_features=frame["colour"])
    sums = bootstrap.block_sums(moments, fitted.subspace_, attribute)
    keys = ["colour", "shape"] if attribute is None else [attribute]
    by_group = frame.groupby(keys).indices
    assert [tuple(np.atleast_1d(key)) for key in by_group] == [
        tuple(label) if attribute is None else (label,) for label in sums.labels.tolist()
    ]
    scale = 1.0 if fitted.subspace_.scale is None else fitted.subspace_.scale
    T = fitted.transform(X)
    squares = (((X - fitted.inverse_transform(T)) / scale) ** 2).sum(axis=1)
    for g, rows in enumerate(by_group.values()):
        for b in range(17):
            at = rows[frame["block"].to_numpy()[rows] == b]
            assert sums.counts[b, g] == len(at)
            assert sums.errors[b, g] == pytest.approx(squares[at].sum(axis=0), rel=1e-8, abs=1e-8)
            np.testing.assert_allclose(sums.firsts[b, g], T[at].sum(axis=0), rtol=1e-8, atol=1e-8)
            assert sums.squares[b, g] == pytest.approx((T[at] ** 2).sum(axis=None), rel=1e-8, abs=1e-8)
    # Merged into one group, they are the sums of whole blocks.
    merged = sums.merged(np.array(["all"]), np.ones((len(by_group), 1)))
    blocks = frame["block"].to_numpy()
    for b in range(17):
        at = blocks == b
        assert merged.counts[b, 0] == at.sum()
        assert merged.errors[b, 0] == pytest.approx(squares[at].sum(axis=0), rel=1e-8)
        assert merged.squares[b, 0] == pytest.approx((T[at] ** 2).sum(axis=None), rel=1e-8)
        np.testing.assert_allclose(merged.firsts[b, 0], T[at].sum(axis=0), rtol=1e-8, atol=1e-8)
    # Every block once is the sample itself.
    once = np.ones((1, 17), dtype=int)
    whole = moments.marginal(attribute) if attribute else GroupMoments.from_data(X, frame[keys])
    np.testing.assert_allclose(sums.group_errors(once)[0], metrics.group_errors(whole, fitted.subspace_), rtol=1e-9)
    assert sums.average_errors(once)[0] == pytest.approx(metrics.average_error(whole, fitted.subspace_))
    expected = np.array([T[rows].mean(axis=0) for rows in by_group.values()])
    np.testing.assert_allclose(sums.group_means(once)[0], expected, atol=1e-9)


@pytest.mark.parametrize("attribute", ["colour", None])
def test_moments_of_a_draw_are_those_of_its_rows(sample, attribute):
    X, frame, moments = sample
    draws = bootstrap.multiplicities(17, 3, 2)
    for counts, found in zip(draws, resampled(moments, draws, attribute), strict=True):
        rows = np.concatenate([np.repeat(np.flatnonzero(frame["block"] == b), c) for b, c in enumerate(counts)])
        expected = GroupMoments.from_data(
            X[rows], frame[["colour", "shape"] if attribute is None else attribute].iloc[rows]
        )
        assert found.labels.tolist() == expected.labels.tolist()
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-9, atol=1e-9)


def test_every_draw_has_as_many_blocks_as_there_are():
    draws = bootstrap.multiplicities(40, 300, 0)
    assert draws.shape == (300, 40)
    assert (draws.sum(axis=1) == 40).all()
    assert draws.dtype.kind == "i"
    # Multinomial: variance of one count 1 - 1/m, covariance of two -1/m.
    assert draws.var(axis=0).mean(axis=0) == pytest.approx(1 - 1 / 40, rel=0.05)


def test_one_row_to_a_block_is_the_ordinary_bootstrap():
    X, groups = draw(np.random.default_rng(2), (40, 25, 15))
    subspace = StandardPCA(2).fit(X).subspace_
    moments = GroupMoments.from_data(X, pd.DataFrame({"block": np.arange(80), "group": groups}))
    draws = bootstrap.multiplicities(80, 50, 1)
    found = bootstrap.block_sums(moments, subspace).group_errors(draws)
    residual = ((X - subspace.restore(subspace.apply(X))) ** 2).sum(axis=1)
    for draw_, row in zip(draws, found, strict=True):
        again = np.repeat(np.arange(80), draw_)
        np.testing.assert_allclose(row, [residual[again][groups[again] == g].mean(axis=0) for g in "abc"], rtol=1e-9)


def test_spread_over_blocks_is_that_over_rows():
    X, groups = draw(np.random.default_rng(4), (2000, 1200, 600))
    subspace = StandardPCA(2).fit(X).subspace_
    residual = ((X - subspace.restore(subspace.apply(X))) ** 2).sum(axis=1)
    theory = np.array([residual[groups == g].std(axis=0) / np.sqrt((groups == g).sum(axis=0)) for g in "abc"])
    blocks = bootstrap.assign_blocks(len(X), 100, 0)
    moments = GroupMoments.from_data(X, pd.DataFrame({"block": blocks, "group": groups}))
    found = bootstrap.block_sums(moments, subspace).group_errors(bootstrap.multiplicities(100, 4000, 1)).std(axis=0)
    np.testing.assert_allclose(found, theory, rtol=0.25)  # a standard deviation from 100 blocks: 7 % is one sigma
    assert theory.max() > 2 * theory.min()


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(11)
    population = draw(rng, (60_000, 36_000, 18_000))
    subspace = StandardPCA(2).fit(population[0]).subspace_
    truth = metrics.group_errors(GroupMoments.from_data(*population), subspace)
    hits = []
    for seed in range(300):
        X, groups = draw(rng)
        frame = pd.DataFrame({"block": bootstrap.assign_blocks(len(X), 60, seed), "group": groups})
        sums = bootstrap.block_sums(GroupMoments.from_data(X, frame), subspace)
        errors = sums.group_errors(bootstrap.multiplicities(60, 400, seed))
        low, high = bootstrap.interval(errors, 0.9)
        hits.append((low <= truth) & (truth <= high))
    share = np.mean(hits, axis=0)
    # 300 samples: two standard errors of a coverage of .9 are .035; percentile intervals of means fall a little short.
    assert ((share > 0.84) & (share < 0.95)).all(), share


def test_percentiles_leave_out_what_has_no_value_and_say_when_it_is_too_much():
    samples = np.column_stack([np.arange(101.0), np.arange(101.0) * 10])
    low, high = bootstrap.interval(samples, 0.9)
    np.testing.assert_allclose([low, high], [[5, 50], [95, 950]])
    samples[:5, 1] = np.nan
    assert bootstrap.interval(samples, 0.9)[0][1] == pytest.approx(np.quantile(np.arange(50.0, 1010, 10), 0.05))
    samples[:8, 1] = np.nan
    with pytest.raises(GroupError, match=r"group 'rare' has no value in 8% of 101 samples"):
        bootstrap.interval(samples, labels=["common", "rare"])
    with pytest.raises(GroupError, match=r"at \(1,\)"):
        bootstrap.interval(samples)
    for level in (0.0, 1.0, 95):
        with pytest.raises(ConfigurationError, match="level="):
            bootstrap.interval(samples, level)
    with pytest.raises(DataError, match="shape"):
        bootstrap.interval(np.zeros((0, 2)))


def test_a_group_in_few_blocks_is_told(sample):
    X, frame, _ = sample
    rare = frame.assign(colour=np.where(frame["block"] == 3, frame["colour"], "most"))
    subspace = StandardPCA(2).fit(X).subspace_
    sums = bootstrap.block_sums(GroupMoments.from_data(X, rare), subspace, "colour")
    errors = sums.group_errors(bootstrap.multiplicities(17, 200, 0))
    assert np.isnan(errors[:, 0]).mean(axis=0) > 0.2
    assert not np.isnan(errors[:, -1]).any()
    with pytest.raises(GroupError, match="'a' has no value"):
        bootstrap.interval(errors, labels=sums.labels)
    alone = np.eye(17, dtype=int) * 17  # one block only, seventeen times
    labels = ["".join(m.labels) for m in resampled(GroupMoments.from_data(X, rare), alone, "colour")]
    assert labels == ["most"] * 3 + ["abc"] + ["most"] * 13


def test_what_cannot_be_used_is_refused(sample):
    X, frame, moments = sample
    subspace = StandardPCA(2).fit(X).subspace_
    with pytest.raises(GroupError, match="'block' and at least one more"):
        bootstrap.block_sums(moments.marginal("colour"), subspace)
    with pytest.raises(GroupError, match="'block' and at least one more"):
        bootstrap.block_sums(GroupMoments.from_data(X, frame[["colour", "shape"]]), subspace)
    with pytest.raises(GroupError, match="no attribute 'block' beside 'block'; there is colour, shape"):
        bootstrap.block_sums(moments, subspace, "block")
    with pytest.raises(GroupError, match="at least two blocks"):
        bootstrap.block_sums(GroupMoments.from_data(X, frame.assign(block=4)), subspace)
    with pytest.raises(DataError, match=r"needed is \(n_boot, 17\)"):
        next(resampled(moments, np.ones((2, 16), dtype=int)))
    with pytest.raises(ConfigurationError, match="at most one block for each row"):
        bootstrap.assign_blocks(10, 11)
    with pytest.raises(ConfigurationError, match="random_state='x'"):
        bootstrap.multiplicities(3, 2, "x")
    with pytest.raises(ConfigurationError, match="n_boot=0"):
        bootstrap.multiplicities(3, 0)
