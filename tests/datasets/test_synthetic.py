"""Generators: sizes, and the moments that theory gives."""

import numpy as np
import pytest
from scipy import linalg

from compendium import data as datasets
from compendium.data import synthetic
from evenspan.core.errors import ConfigurationError


def latent_covariance(group: int) -> np.ndarray:
    """The unscaled covariance, written out."""
    i, j = np.indices((200, 200))
    return linalg.block_diag(*(r ** abs(i - j) / (1 - r**2) for r in synthetic.RATES[group]))


def test_autoregressive_rows_have_the_stated_covariance():
    n, size, r = 40_000, 6, 0.9
    rows = synthetic.autoregressive_rows(r, n, size, np.random.default_rng(0))
    i, j = np.indices((size, size))
    C = r ** abs(i - j) / (1 - r**2)
    # the standard deviation of an entry of the sample covariance, five times
    bound = 5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / n)
    assert (abs(rows.T @ rows / n - C) < bound).all()
    assert (abs(rows.mean(axis=0)) < 5 * np.sqrt(np.diag(C) / n)).all()


def test_the_scale_is_the_spectral_norm_of_the_whole_difference():
    whole = abs(linalg.eigvalsh(latent_covariance(1) - latent_covariance(0))).max()
    assert synthetic.covariance_distance() == pytest.approx(whole, rel=1e-10)


@pytest.mark.parametrize("group", [0, 1])
def test_latent_rows_have_the_stated_mean_and_variances(group):
    n = 3000
    rows = synthetic.latent_rows(group, n, np.random.default_rng(group))
    C = latent_covariance(group) / synthetic.covariance_distance()
    mean = np.full(1000, 0.0 if group else 2 / np.sqrt(1000))
    assert np.linalg.norm(mean) == pytest.approx(0.0 if group else 2.0)
    # variance of the average over all coordinates, and of single coordinates
    assert abs((rows - mean).mean()) < 5 * np.sqrt(C.sum()) / 1000 / np.sqrt(n)
    assert (abs(rows.var(axis=0) / np.diag(C) - 1) < 6 * np.sqrt(2 / n)).all()
    blocks = np.corrcoef(rows[:, 195:205].T)
    assert blocks[0, 4] > 0.5 > abs(blocks[4, 5]) + 0.4  # related within a block, unrelated across


def test_two_latent_groups_are_seeded_and_observed_through_different_maps():
    data = datasets.two_latent_groups(20, seed=1)
    assert (data.n, data.d) == (480, 20)
    assert data.groups.tolist() == [1] * 240 + [0] * 240
    np.testing.assert_array_equal(data.y, data.groups)
    np.testing.assert_array_equal(data.X, datasets.two_latent_groups(20, seed=1).X)
    assert not np.array_equal(data.X, datasets.two_latent_groups(20, seed=2).X)
    # one map for both would give both groups nearly the same principal directions in the observed space
    spans = [linalg.svd(data.X[data.groups == g], full_matrices=False)[2][:2].T for g in (0, 1)]
    assert np.rad2deg(linalg.subspace_angles(*spans)).min() > 10


def test_equal_moments_differ_in_shape_only():
    n = 20_000
    data = datasets.equal_moments(seed=0, n_per_group=n)
    C = 0.1 * np.eye(3) + 1
    for g in (0, 1):
        X = data.X[data.groups == g]
        assert X.shape == (n, 3)
        assert (abs(X.mean(axis=0)) < 5 * np.sqrt(1.1 / n)).all()
        assert abs(X.T @ X / n - C).max() < 5 * np.sqrt(2 * 1.1**2 / n)
    along = [(data.X[data.groups == g].mean(axis=1) ** 4).mean() for g in (0, 1)]
    assert along[1] < 0.6 * along[0]  # two lumps have lighter tails than a Gaussian of the same variance


def test_the_stretched_group_has_the_stated_covariance():
    n = 20_000
    data = datasets.stretched_group(seed=0, n_per_group=n, d=5)
    A = np.eye(5)
    A[:3, :3] = [[1, 0, 10], [1, 10, 10], [0, 10, 0]]
    for g, C in ((0, np.eye(5)), (1, A.T @ A)):
        X = data.X[data.groups == g]
        bound = 5 * np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / n)
        assert (abs(X.T @ X / n - C) < bound).all()


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


def test_impossible_sizes_are_refused():
    for call in (
        lambda: datasets.two_latent_groups(0, seed=0),
        lambda: datasets.equal_moments(seed=0, n_per_group=5),
        lambda: datasets.stretched_group(seed=0, d=2),
        lambda: list(datasets.paired_splits(datasets.load("sklearn_diabetes"), 2, seed=0)),
    ):
        with pytest.raises(ConfigurationError):
            call()
