"""Generators: the moments that theory gives, seeds, and streams that can be read again."""

from itertools import islice

import numpy as np
import pytest
from scipy import linalg

from compendium import data as datasets
from compendium.data import synthetic
from compendium.data.synthetic import GaussianPair, authors_pair, gap_controlled_pair
from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, DataError

GAPS = (5.0, -4.5, 4.0, -3.5)


def assert_drawn_from(X: np.ndarray, mean, C: np.ndarray) -> None:
    """Mean and covariance of the rows are the stated ones within five standard deviations of the entries."""
    deviation = np.sqrt(np.diag(C) / len(X))
    assert (abs(X.mean(axis=0) - mean) < 5 * deviation).all()
    bound = 5.5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / len(X))
    assert (abs((X - mean).T @ (X - mean) / len(X) - C) < bound).all()


# -- samples --------------------------------------------------------------------------------------------------------


def latent_covariance(group: int) -> np.ndarray:
    """The unscaled covariance, written out."""
    i, j = np.indices((200, 200))
    return linalg.block_diag(*(r ** abs(i - j) / (1 - r**2) for r in synthetic.RATES[group]))


def test_the_scale_is_the_spectral_norm_of_the_whole_difference():
    whole = abs(linalg.eigvalsh(latent_covariance(1) - latent_covariance(0))).max()
    assert synthetic.covariance_distance() == pytest.approx(whole, rel=1e-10)


@pytest.mark.parametrize("group", [0, 1])
def test_latent_rows_have_the_stated_mean_and_variances(group):
    n = 3000
    rows = synthetic.latent_rows(group, n, np.random.default_rng(group))
    C = latent_covariance(group) / synthetic.covariance_distance()
    mean = np.full(1000, 0.0 if group else 2 / np.sqrt(1000))  # of norm 2
    # variance of the average over all coordinates, and of single coordinates
    assert abs((rows - mean).mean()) < 5 * np.sqrt(C.sum()) / 1000 / np.sqrt(n)
    assert (abs(rows.var(axis=0) / np.diag(C) - 1) < 6 * np.sqrt(2 / n)).all()
    blocks = np.corrcoef(rows[:, 195:205].T)
    assert blocks[0, 4] > 0.5 > abs(blocks[4, 5]) + 0.4  # related within a block, unrelated across


def test_two_latent_groups_are_seeded_and_observed_through_different_maps():
    data = datasets.two_latent_groups(20, seed=1)
    assert (data.X.shape, data.groups.tolist()) == ((480, 20), [1] * 240 + [0] * 240)
    np.testing.assert_array_equal(data.y, data.groups)
    np.testing.assert_array_equal(data.X, datasets.two_latent_groups(20, seed=1).X)
    assert not np.array_equal(data.X, datasets.two_latent_groups(20, seed=2).X)
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


def test_the_stretched_group_has_the_stated_covariance():
    data = datasets.stretched_group(seed=0, n_per_group=20_000, d=5)
    assert data.X.shape == (40_000, 5)
    A = np.eye(5)
    A[:3, :3] = [[1, 0, 10], [1, 10, 10], [0, 10, 0]]
    for g, C in ((0, np.eye(5)), (1, A.T @ A)):
        assert_drawn_from(data.X[data.groups == g], 0.0, C)


def test_paired_splits_use_the_same_rows_in_both_groups():
    data = datasets.two_latent_groups(3, seed=0)
    number = np.arange(480) % 240
    tagged = datasets.Dataset(data.name, np.column_stack([number, number]), data.y, data.groups, ("i", "j"))
    seen = []
    for i, (train, test) in enumerate(datasets.paired_splits(tagged, 10, seed=5)):
        assert (train.n, test.n, train.split, test.part) == (336, 144, i, "test")
        for part in (train, test):
            first, second = (part.X[part.groups == g, 0] for g in (0, 1))
            np.testing.assert_array_equal(first, second)
        assert not set(train.X[:, 0]) & set(test.X[:, 0])
        seen.append(frozenset(test.X[:, 0]))
    assert len(set(seen)) == 10


# -- Gaussian pairs -------------------------------------------------------------------------------------------------


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
        assert_drawn_from(X[groups == g], pair.means[g], pair.covariances[g])
        assert abs(drawn.means[1 - g] - pair.means[g]).max() > 0.2  # the control: the labels belong to the rows
    halves = groups.reshape(2, -1).mean(axis=1)  # in random order
    assert abs(halves[0] - halves[1]) < 5 * np.sqrt(2 * 0.21 / (n / 2))


def test_half_of_each_group_about_zero_makes_both_gaps_one():
    """With p = 1/2 and mean zero the second moments differ as the covariances do; with p = 0.3 they do not."""
    for p, same in ((0.5, True), (0.3, False)):
        pair = gap_controlled_pair(8, (4.0,), 0.5, (3.0, -2.0), 2.0, p, seed=1)
        second = [C + np.outer(m, m) for C, m in zip(pair.covariances, pair.means, strict=True)]
        f = pair.mean_difference
        difference = second[1] - second[0] - pair.covariance_difference
        np.testing.assert_allclose(difference, (1 - 2 * p) * np.outer(f, f), atol=1e-12)
        assert (abs(difference).max() < 1e-12) == same


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
        (lambda: GaussianPair(means, -unit, 0.5), DataError, "eigenvalue -1"),
        (lambda: GaussianPair(means, unit, 1.0), ConfigurationError, r"p=1\.0"),
        (lambda: authors_pair(4, 0.5, 5, 1.0, 0.1, 1.0, 1.0, 0), ConfigurationError, "rank=5"),
        (lambda: next(datasets.paired_splits(datasets.load("sklearn_diabetes"), 2, 0)), ConfigurationError, "group 1"),
    ):
        with pytest.raises(error, match=text):
            call()
