"""Clustering data: scalings against their definitions, UCI's layouts on made files, and the real files."""

import gzip

import numpy as np
import pytest
from scipy import sparse

from compendium import data as datasets
from compendium.data import clustering_files as files
from compendium.data import load_clustering, load_har
from evenspan.core.errors import DataError

RNG = np.random.default_rng(5)


def test_scalings_are_their_definitions():
    X = RNG.normal(size=(6, 4)) * [[1], [10], [0], [0.1], [3], [1]]
    dense = files.unit_rows(X)
    np.testing.assert_allclose(files.unit_rows(sparse.csr_matrix(X)).toarray(), dense, atol=1e-15)
    np.testing.assert_allclose(dense * np.linalg.norm(X, axis=1, keepdims=True), X, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(dense, axis=1), [1, 1, 0, 1, 1, 1], atol=1e-12)  # zeros stay
    X = np.column_stack([RNG.normal(3, 2, 40), np.full(40, 0.1), RNG.normal(size=40) * 1e-9])
    Z, unit = files.standardised(X), files.min_max(X)
    np.testing.assert_allclose([Z.mean(axis=0), Z.std(axis=0)], [[0] * 3, [1, 0, 1]], atol=1e-9)
    np.testing.assert_allclose([unit.min(axis=0), unit.max(axis=0)], [[0] * 3, [1, 0, 1]])
    counts = np.array([[2, 0, 1], [1, 0, 0], [3, 5, 0], [1, 0, 0]])
    weights = 1 + np.log(5 / (1 + (counts > 0).sum(axis=0)))  # rare terms weigh more
    np.testing.assert_allclose(files.tf_idf(sparse.csr_matrix(counts)).toarray(), counts * weights, rtol=1e-12)


def test_images_are_read_and_shrunk_to_means_of_areas(tmp_path):
    values = RNG.integers(0, 256, (3, 2, 4), dtype=np.uint8)
    head = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
    (tmp_path / "x.gz").write_bytes(gzip.compress(head + values.tobytes()))
    np.testing.assert_array_equal(files._idx(tmp_path / "x.gz"), values)
    images = RNG.random((3, 8, 8))
    small = images.reshape(3, 4, 2, 4, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(files.shrunk(images, 4), small, rtol=1e-12)
    odd = files.shrunk(images, 3)  # no light is lost where the side is no divisor
    np.testing.assert_allclose(odd.mean(axis=(1, 2)), images.mean(axis=(1, 2)), rtol=1e-12)


@pytest.fixture
def har(tmp_path):
    """Seven and four rows of 561 features, in the layout of the archive."""
    base = tmp_path / "UCI HAR Dataset"
    for part, n, start in (("train", 7, 0), ("test", 4, 7)):
        (base / part).mkdir(parents=True)
        X = (np.arange(n)[:, None] + start) + np.arange(561) / 1000
        np.savetxt(base / part / f"X_{part}.txt", X, fmt=" %.7e")
        np.savetxt(base / part / f"y_{part}.txt", (np.arange(n) + start) % 6 + 1, fmt="%d")
        np.savetxt(base / part / f"subject_{part}.txt", (np.arange(n) + start) % 3 + 1, fmt="%d")
    return tmp_path


def test_har_is_read_from_its_layout_and_refused_if_it_is_not_whole(har, monkeypatch):
    with pytest.raises(DataError, match="needed are"):
        load_har(har)
    monkeypatch.setattr(files, "HAR_SHAPE", (11, 561))
    for base in (har, har / "UCI HAR Dataset"):
        X, y, people = load_har(base)
        np.testing.assert_allclose(X, np.arange(11)[:, None] + np.arange(561) / 1000, atol=1e-6)
        assert y.tolist() == [i % 6 + 1 for i in range(11)]
        assert people.tolist() == [i % 3 + 1 for i in range(11)]


SHAPES = {
    "jaffe": (213, 12, 10, [30, 29, 32, 31, 30, 31, 30]),
    "mnist_usps": (3800, 256, 10, [2000, 1800]),
    "k1b": (2340, 21839, 6, [1170, 1170]),
    "har_means": (180, 66, 6, [6] * 30),
    "mnist_usps_large": (19298, 256, 10, [10000, 9298]),
    "usps": (9298, 256, 10, [9298]),
    "mnist": (10000, 784, 10, [10000]),
}


def sizes_of(data) -> list[int]:
    return np.unique(data.groups, return_counts=True)[1].tolist()


@pytest.mark.raw
@pytest.mark.parametrize("name", SHAPES)
def test_the_real_data(name, raw):
    raw(*{"mnist_usps_large": ("mnist", "usps"), "har_means": ()}.get(name, (name,)))
    data, (n, d, clusters, sizes) = load_clustering(name), SHAPES[name]
    if name == "jaffe":  # the authors' kernels
        assert (data.kernels.shape, data.n_clusters, sizes_of(data)) == ((d, n, n), clusters, sizes)
        return
    assert (data.X.shape, data.n_clusters) == ((n, d), clusters)
    assert sizes_of(data) == sizes
    squares = data.X.multiply(data.X) if sparse.issparse(data.X) else data.X**2
    np.testing.assert_allclose(np.asarray(squares.sum(axis=1)).ravel(), 1.0, rtol=1e-9)


def test_credit_card_is_what_its_choice_says():
    everyone, data = load_clustering("credit_card_all"), load_clustering("credit_card")
    label = datasets.table("credit_card")["PAY_1"]
    assert (everyone.n, everyone.n_clusters) == (label.between(-2, 2).sum(axis=0), 5)
    assert (np.bincount(data.y).tolist(), data.X.shape) == ([1000] * 5, (5000, 22))
