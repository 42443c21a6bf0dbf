"""Gaussian pairs: stated spectra, exact moments, samples that agree with them, streams that can be read again."""

from itertools import islice

import numpy as np
import pytest

from compendium.data.synthetic import GaussianPair, authors_pair, gap_controlled_pair
from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, DataError

GAPS = (5.0, -4.5, 4.0, -3.5)


@pytest.fixture(scope="module")
def controlled():
    return gap_controlled_pair(12, (7.0, 6.0), 0.5, GAPS, 2.0, 0.3, seed=4)


@pytest.fixture(scope="module")
def authors():
    return authors_pair(11, 0.3, 5, 1.5, 0.2, 4.0, 2.0, seed=9)


def test_gaps_are_the_eigenvalues_of_the_difference(controlled):
    values = np.linalg.eigvalsh(controlled.covariance_difference)
    np.testing.assert_allclose(values[abs(values) > 1e-9], sorted(GAPS), rtol=1e-12)
    for g, own in ((0, [4.5 + 0.5, 3.5 + 0.5]), (1, [5.5, 4.5])):
        wanted = sorted([7.0, 6.0, *own, *[0.5] * 8])
        np.testing.assert_allclose(np.linalg.eigvalsh(controlled.covariances[g]), wanted, rtol=1e-12)
    assert np.linalg.norm(controlled.mean_difference) == pytest.approx(2.0)
    np.testing.assert_allclose(0.7 * controlled.means[0] + 0.3 * controlled.means[1], 0.0, atol=1e-15)


def test_the_authors_recipe_has_the_stated_signs_and_sizes(authors):
    values = np.linalg.eigvalsh(authors.covariance_difference)
    assert ((values > 1e-9).sum(), (values < -1e-9).sum()) == (3, 2)
    assert values[0] == pytest.approx(-4.0)
    assert values[-1] == pytest.approx(2.0)
    np.testing.assert_allclose(0.7 * authors.means[0] + 0.3 * authors.means[1], 0.0, atol=1e-15)
    assert np.linalg.norm(authors.means[1]) == pytest.approx(1.5)
    for covariance in authors.covariances:
        assert np.linalg.eigvalsh(covariance)[0] >= 0.1 - 1e-12
    both = np.linalg.eigvalsh(authors.covariances.sum(axis=0))
    assert both[-1] == pytest.approx(4.0 + 2 * 0.1)  # own directions of one group are empty in the other


@pytest.mark.parametrize("name", ["controlled", "authors"])
def test_moments_are_exact_and_samples_agree_with_them(name, request):
    pair = request.getfixturevalue(name)
    moments = pair.moments()
    np.testing.assert_allclose(moments.scatter / moments.n, pair.covariance, atol=1e-12)
    np.testing.assert_allclose(moments.mean, 0.0, atol=1e-12)
    n = 60_000
    X, groups = pair.sample(n, np.random.default_rng(1))
    drawn = GroupMoments.from_data(X, groups)
    assert abs(drawn.counts[1] / n - 0.3) < 5 * np.sqrt(0.21 / n)
    for g in (0, 1):
        C, count = pair.covariances[g], drawn.counts[g]
        deviation = np.sqrt(np.diag(C) / count)
        assert (abs(drawn.means[g] - pair.means[g]) < 5 * deviation).all()
        bound = 5.5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / count)
        assert (abs(drawn.scatters[g] / count - C) < bound).all()
    swapped = GroupMoments.from_data(X, 1 - groups)
    assert abs(swapped.means[0] - pair.means[0]).max() > 0.2  # the control: the labels belong to the rows


def test_rows_come_in_random_order(controlled):
    _, groups = controlled.sample(4000, np.random.default_rng(2))
    halves = groups.reshape(2, -1).mean(axis=1)
    assert abs(halves[0] - halves[1]) < 5 * np.sqrt(2 * 0.21 / 2000)


def test_half_of_each_group_about_zero_makes_both_gaps_one():
    """With p = 1/2 and mean zero the second moments differ as the covariances do; with p = 0.3 they do not."""
    for p, same in ((0.5, True), (0.3, False)):
        pair = gap_controlled_pair(8, (4.0,), 0.5, (3.0, -2.0), 2.0, p, seed=1)
        second = [C + np.outer(m, m) for C, m in zip(pair.covariances, pair.means, strict=True)]
        f = pair.mean_difference
        difference = second[1] - second[0] - pair.covariance_difference
        np.testing.assert_allclose(difference, (1 - 2 * p) * np.outer(f, f), atol=1e-12)
        assert (abs(difference).max() < 1e-12) == same


def test_a_shift_moves_both_means_and_nothing_else(controlled):
    moved = controlled.shifted(np.arange(12.0))
    np.testing.assert_allclose(moved.mean_difference, controlled.mean_difference, atol=1e-12)
    np.testing.assert_allclose(moved.moments().mean, np.arange(12.0), atol=1e-9)
    np.testing.assert_allclose(moved.covariance, controlled.covariance, atol=1e-12)


def test_streams_can_be_read_again_and_end_where_they_are_told(controlled):
    endless = controlled.stream(50, seed=(3, 1))
    first, again = (np.vstack([X for X, _ in islice(iter(endless), 4)]) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[:50], first[50:100])
    assert [len(X) for X, _ in controlled.stream(50, seed=3, n_rows=120)] == [50, 50, 20]
    other = next(iter(controlled.stream(50, seed=(3, 2))))[0]
    assert not np.array_equal(other, first[:50])


def test_impossible_populations_are_refused():
    means, unit = np.zeros((2, 2)), np.array([np.eye(2)] * 2)
    for call, error, text in (
        (lambda: GaussianPair(means, np.eye(2), 0.5), DataError, r"needed are \(2, d\) and \(2, d, d\)"),
        (lambda: GaussianPair(means, unit + np.array([[0, 1], [0, 0]]), 0.5), DataError, "not symmetric"),
        (lambda: GaussianPair(means, -unit, 0.5), DataError, "eigenvalue -1"),
        (lambda: GaussianPair(means * np.nan, unit, 0.5), DataError, "NaN"),
        (lambda: GaussianPair(means, unit, 1.0), ConfigurationError, "p=1.0"),
        (lambda: authors_pair(4, 1.0, 2, 1.0, 0.1, 1.0, 1.0, 0), ConfigurationError, "p=1.0"),
        (lambda: authors_pair(4, 0.5, 5, 1.0, 0.1, 1.0, 1.0, 0), ConfigurationError, "rank=5"),
        (lambda: gap_controlled_pair(3, (1, 2), 0.5, (1, 2), 1.0, 0.5, 0), ConfigurationError, "at least 4"),
        (lambda: GaussianPair(means, unit, 0.5).stream(0, 1), ConfigurationError, "batch_size=0"),
    ):
        with pytest.raises(error, match=text):
            call()
