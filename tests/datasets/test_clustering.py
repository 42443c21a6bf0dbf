"""Clustering data: scalings against their definitions, UCI's layouts on made files, and the real files."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from compendium import data as datasets
from compendium.data import clustering, load_clustering, load_daily_sports, load_har
from compendium.data import clustering_files as files
from compendium.data import credit_card as cards
from evenspan.core.errors import DataError, FetchError

RNG = np.random.default_rng(5)


# -- scalings -----------------------------------------------------------------------------------------------------


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


# -- text, images -------------------------------------------------------------------------------------------------


def test_counts_are_read():
    found = files.parse_counts(["2 4", "2 0 1 3 5", "1 2 7", ""])
    assert found.toarray().tolist() == [[1, 0, 0, 5], [0, 0, 7, 0]]


# -- text, images -------------------------------------------------------------------------------------------------


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


# -- UCI's layouts ------------------------------------------------------------------------------------------------


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


@pytest.fixture
def sports(tmp_path, monkeypatch):
    """Two activities, two people, three segments each, in the layout of the archive."""
    for name, value in (("SPORTS_ACTIVITIES", 2), ("SPORTS_PEOPLE", 2), ("SPORTS_SEGMENTS", 3)):
        monkeypatch.setattr(files, name, value)
    rng = np.random.default_rng(1)
    for activity in (1, 2):
        for person in (1, 2):
            folder = tmp_path / "data" / f"a{activity:02d}" / f"p{person}"
            folder.mkdir(parents=True)
            for segment in (1, 2, 3):
                readings = rng.normal(size=(125, 45))
                readings[0, :3] = activity, person, segment
                np.savetxt(folder / f"s{segment:02d}.txt", readings, fmt="%.5g", delimiter=",")
    return tmp_path


def test_daily_sports_are_read_from_their_layout(sports):
    for base in (sports, sports / "data"):
        X, y, people = load_daily_sports(base)
        assert X.shape == (12, 5625)
        np.testing.assert_array_equal(X[:, :2], np.column_stack([y, people]))
        assert X[:, 2].tolist() == [1, 2, 3] * 4
        readings = np.loadtxt(sports / "data/a01/p2/s02.txt", delimiter=",")
        np.testing.assert_allclose(X[4].reshape(125, 45), readings, rtol=1e-12)
    (sports / "data/a02/p1/s02.txt").write_text("1,2\n1")
    with pytest.raises(FetchError, match=r"s02\.txt cannot be read"):
        load_daily_sports(sports)
    with pytest.raises(FetchError, match="data set 256"):
        load_daily_sports(sports / "none")


def test_archives_in_the_mirror_are_loaded(har, sports, monkeypatch):
    monkeypatch.setenv("EVENSPAN_DATA", str(har))
    monkeypatch.setattr(files, "HAR_SHAPE", (11, 561))
    (har / "UCI HAR Dataset").rename(har / "har")
    (sports / "data").rename(sports / "daily_sports")  # both fixtures have the same folder
    for name, shape in (("har", (11, 561)), ("daily_sports", (12, 5625))):
        data = load_clustering(name)
        assert data.X.shape == shape
        np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1.0, rtol=1e-9)


# -- Credit Card --------------------------------------------------------------------------------------------------


def test_credit_card_keeps_five_classes_and_neither_label_nor_sex_among_the_features():
    rng = np.random.default_rng(2)
    n, columns = 400, list(datasets.table("credit_card"))
    table = pd.DataFrame(rng.normal(size=(n, len(columns))) * 1000, columns=columns)
    table["SEX"], table["PAY_1"] = rng.integers(1, 3, n), rng.integers(-2, 9, n)
    label, sex = table["PAY_1"].to_numpy(), table["SEX"].to_numpy()
    left = table.drop(columns=["PAY_1", "SEX"])
    scaled = ((left - left.min()) / (left.max() - left.min())).to_numpy()
    for each in (None, 20):
        kept = [i for i in range(n) if label[i] < 3 and (each is None or (label[:i] == label[i]).sum() < each)]
        X, y, groups = cards.credit_card_arrays(table, each, unit_length=False)
        np.testing.assert_array_equal(y, label[kept] + 2)
        np.testing.assert_array_equal(groups, sex[kept] - 1)
        np.testing.assert_allclose(X, scaled[kept], rtol=1e-12)
        np.testing.assert_allclose(cards.credit_card_arrays(table, each)[0], files.unit_rows(X), rtol=1e-12)


# -- the whole ----------------------------------------------------------------------------------------------------


def test_random_halves_are_equal_and_decided_by_their_seed():
    groups = clustering.k1b_halves(2340)
    assert np.bincount(groups).tolist() == [1170, 1170]
    np.testing.assert_array_equal(groups, clustering.k1b_halves(2340))
    assert np.bincount(clustering.k1b_halves(5)).tolist() == [3, 2]


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
        np.testing.assert_allclose(np.diagonal(data.kernels, axis1=1, axis2=2), 1.0, atol=1e-9)
        np.testing.assert_allclose(data.kernels, data.kernels.swapaxes(1, 2), atol=1e-9)
        return
    assert (data.X.shape, data.n_clusters) == ((n, d), clusters)
    assert sizes_of(data) == sizes
    squares = data.X.multiply(data.X) if sparse.issparse(data.X) else data.X**2
    np.testing.assert_allclose(np.asarray(squares.sum(axis=1)).ravel(), 1.0, rtol=1e-9)
    if "mnist" in name or name == "usps":
        assert np.unique(data.y).tolist() == list(range(10))


def test_credit_card_is_what_its_choice_says():
    everyone, data = load_clustering("credit_card_all"), load_clustering("credit_card")
    label = datasets.table("credit_card")["PAY_1"]
    assert (everyone.n, everyone.n_clusters) == (label.between(-2, 2).sum(axis=0), 5)
    assert (np.bincount(data.y).tolist(), data.X.shape) == ([1000] * 5, (5000, 22))
    assert cards.CREDIT_CARD_ALL in everyone.note
    assert cards.CREDIT_CARD in data.note
