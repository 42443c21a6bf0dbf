"""Generators: the moments that theory gives, seeds, and streams that can be read again."""

from itertools import islice

import numpy as np
import pytest
from scipy import linalg

from compendium import data as datasets
from compendium.data.synthetic import authors_pair, gap_controlled_pair
from evenspan import GroupMoments

GAPS = (5.0, -4.5, 4.0, -3.5)


def assert_drawn_from(X: np.ndarray, mean, C: np.ndarray) -> None:
    """Mean and covariance of the rows are the stated ones within five standard deviations of the entries."""
    deviation = np.sqrt(np.diag(C) / len(X))
    assert (abs(X.mean(axis=0) - mean) < 5 * deviation).all()
    bound = 5.5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / len(X))
    assert (abs((X - mean).T @ (X - mean) / len(X) - C) < bound).all()


# -- samples --------------------------------------------------------------------------------------------------------


def test_two_latent_groups_are_seeded_and_observed_through_different_maps():
    data = datasets.two_latent_groups(20, seed=1)
    assert (data.X.shape, data.groups.tolist()) == ((480, 20), [1] * 240 + [0] * 240)
    np.testing.assert_array_equal(data.y, data.groups)
    np.testing.assert_array_equal(data.X, datasets.two_latent_groups(20, seed=1).X)
    # one map for both would give both groups nearly the same principal directions in the observed space
    spans = [linalg.svd(data.X[data.groups == g], full_matrices=False)[2][:2].T for g in (0, 1)]
    assert np.rad2deg(linalg.subspace_angles(*spans)).min() > 10


def test_equal_moments_differ_in_shape_only():
    data = datasets.equal_moments(seed=0, n_per_group=20_000)
    assert data.X.shape == (40_000, 3)
    for g in (0, 1):
        assert_drawn_from(data.X[data.groups == g], 0.0, 0.1 * np.eye(3) + 1)
    along = [(data.X[data.groups == g].mean(axis=1) ** 4).mean() for g in (0, 1)]
    assert along[1] < 0.6 * along[0]  # two lumps have lighter tails than a Gaussian of the same variance


# -- Gaussian pairs -------------------------------------------------------------------------------------------------


PAIRS = {
    "controlled": gap_controlled_pair(12, (7.0, 6.0), 0.5, GAPS, 2.0, 0.3, seed=4),
    "authors": authors_pair(11, 0.3, 5, 1.5, 0.2, 4.0, 2.0, seed=9),
}


def test_gaps_are_as_stated():
    controlled, authors = PAIRS.values()
    values = np.linalg.eigvalsh(controlled.covariance_difference)
    np.testing.assert_allclose(values[abs(values) > 1e-9], sorted(GAPS), rtol=1e-12)
    for g, own in ((0, [4.5 + 0.5, 3.5 + 0.5]), (1, [5.5, 4.5])):
        wanted = sorted([7.0, 6.0, *own, *[0.5] * 8])
        np.testing.assert_allclose(np.linalg.eigvalsh(controlled.covariances[g]), wanted, rtol=1e-12)
    assert np.linalg.norm(controlled.mean_difference) == pytest.approx(2.0)
    values = np.linalg.eigvalsh(authors.covariance_difference)
    assert ((values > 1e-9).sum(), (values < -1e-9).sum()) == (3, 2)
    assert (values[0], values[-1], np.linalg.norm(authors.means[1])) == pytest.approx((-4.0, 2.0, 1.5))
    both = np.linalg.eigvalsh(authors.covariances.sum(axis=0))
    assert both[-1] == pytest.approx(4.0 + 2 * 0.1)  # own directions of one group are empty in the other


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_moments_are_exact_and_samples_agree_with_them(pair):
    moments = pair.moments()
    np.testing.assert_allclose(moments.scatter / moments.n, pair.covariance, atol=1e-12)
    np.testing.assert_allclose(moments.mean, 0.0, atol=1e-12)
    n = 60_000
    X, groups = pair.sample(n, np.random.default_rng(1))
    drawn = GroupMoments.from_data(X, groups)
    assert abs(drawn.counts[1] / n - 0.3) < 5 * np.sqrt(0.21 / n)
    for g in (0, 1):
        assert_drawn_from(X[groups == g], pair.means[g], pair.covariances[g])
        assert abs(drawn.means[1 - g] - pair.means[g]).max() > 0.2  # the control: the labels belong to the rows


def test_streams_can_be_read_again_and_end_where_they_are_told():
    controlled = PAIRS["controlled"]
    endless = controlled.stream(50, seed=(3, 1))
    first, again = (np.vstack([X for X, _ in islice(iter(endless), 4)]) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[:50], first[50:100])
    assert [len(X) for X, _ in controlled.stream(50, seed=3, n_rows=120)] == [50, 50, 20]
    other = next(iter(controlled.stream(50, seed=(3, 2))))[0]
    assert not np.array_equal(other, first[:50])
