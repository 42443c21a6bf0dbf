"""Loaders: sizes, groups and everything the registry and the cards say about the data."""

import collections

import numpy as np
import pytest

from compendium import data as datasets
from compendium.data import Dataset, tables
from evenspan.core.errors import DataError, RegistryError

PUBLISHED = ("adult", "compas", "german")


@pytest.mark.parametrize("name", datasets.loadable())
@pytest.mark.raw
def test_rows_features_groups_and_measures_are_those_of_the_registry(name, raw):
    raw(name)
    entry, data = datasets.entry(name), datasets.load(name)
    assert (data.n, data.d) == (entry.rows, entry.features)
    assert (data.name, data.part, data.split, data.X.dtype) == (name, "all", None, np.float64)
    labels, which, counts = np.unique(data.groups, return_inverse=True, return_counts=True)
    assert dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True)) == entry.groups
    rows = np.unique(np.column_stack([data.X, data.y, which]), axis=0)
    scale = data.X.std(axis=0)
    assert entry.measured == {
        "duplicate_rows": data.n - len(rows),
        "rank": np.linalg.matrix_rank((data.X - data.X.mean(axis=0)) / np.where(scale > 0, scale, 1)),
        "label_mean": {str(g): round(data.y[which == j].mean(), 4) for j, g in enumerate(labels.tolist())},
    }
    assert len(set(data.feature_names)) == data.d


@pytest.mark.raw
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_splits_are_standardised_and_share_their_people(name, raw):
    raw(name)
    whole, entry = datasets.load(name), datasets.entry(name)
    assert datasets.splits(name) == 10
    own = whole.feature_names.index({"adult": "sex", "compas": "race_Caucasian", "german": "age_25_or_older"}[name])
    constant = []
    for i in range(datasets.splits(name)):
        train, test = datasets.load_split(name, i)
        assert (train.part, test.part, train.split, test.split) == ("train", "test", i, i)
        assert train.n + test.n == whole.n
        assert train.y.sum() + test.y.sum() == whole.y.sum()
        assert train.groups.sum() + test.groups.sum() == whole.groups.sum()
        assert abs(train.X.mean(axis=0)).max() < 1e-9
        assert set(np.round(train.X.std(axis=0), 9)) <= {0.0, 1.0}
        constant.append(int((train.X.std(axis=0) == 0).sum()))
        # the sensitive attribute is a feature: the same two values, in the same rows
        for part in (train, test):
            assert len(set(zip(part.groups.tolist(), part.X[:, own].round(9).tolist(), strict=True))) == 2
    assert (min(constant), max(constant)) == ((8, 11) if name == "adult" else (0, 0))
    assert entry.feature_names == whole.feature_names


@pytest.mark.raw
def test_the_feature_names_of_adult_are_proved_by_the_original_data(raw):
    """Undo the z-scoring of every split: each row is then a complete row of the original, under the derived names."""
    raw("adult", "adult_uci")
    names = datasets.entry("adult").feature_names
    known = collections.Counter(original_adult_rows(names))
    indicators = [j for j, name in enumerate(names) if "_" in name or name == "sex"]
    numbers = [j for j in range(len(names)) if j not in indicators]
    values = {j: np.unique([row[j] for row in known]) for j in numbers}
    for i in range(10):
        parts = datasets.load_split("adult", i)
        Z = np.vstack([part.X for part in parts])
        X = np.zeros((len(Z), len(names) + 1), dtype=int)
        X[:, -1] = np.concatenate([part.y for part in parts])
        for j in indicators:
            X[:, j] = (Z[:, j] > Z[:, j].mean()) & (np.ptp(Z[:, j]) > 1e-9)
        for j in numbers:
            X[:, j] = unscaled(Z[:, j], values[j])
        assert not collections.Counter(map(tuple, X.tolist())) - known


def unscaled(z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """An affine image of z that starts at the smallest value and meets ``values`` throughout."""
    low, high = z.min(), z.max()
    for top in values[::-1]:
        x = values[0] + (z - low) / (high - low) * (top - values[0])
        whole = np.round(x)
        if abs(x - whole).max() < 1e-6 and np.isin(whole, values).all():
            return whole.astype(int)
    raise AssertionError("no affine image meets the original values")


def original_adult_rows(names: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Complete rows of the original Adult files under the names of the splits, each followed by its label."""
    import pandas as pd

    from compendium.data.tables import ADULT_COLUMNS

    frames = []
    for path, skipped in zip(datasets.verify("adult_uci"), (0, 1), strict=True):
        frames.append(pd.read_csv(path, header=None, names=ADULT_COLUMNS, skiprows=skipped, skipinitialspace=True))
    table = pd.concat(frames)
    table = table[~(table == "?").any(axis=1)]
    assert len(table) == 45222
    label = table["income"].str.startswith(">50K").to_numpy(int)
    features = table.drop(columns=["fnlwgt", "race", "income"]).assign(sex=(table["sex"] == "Male").astype(int))
    encoded = pd.get_dummies(features, dtype=int)
    assert set(encoded.columns) == set(names)
    return list(map(tuple, np.column_stack([encoded[list(names)].to_numpy(int), label]).tolist()))


@pytest.mark.raw
def test_the_feature_names_of_german_are_proved_by_the_other_copy(raw):
    raw("german", "german_credit")
    german, other = datasets.load("german"), datasets.load("german_credit")
    ours = {
        **dict(zip(("A2", "A5", "A8", "A11", "A16", "A18"), (0, 1, 2, 3, 5, 6), strict=True)),
        **{code(name): j for j, name in enumerate(german.feature_names) if "_A" in name},
    }
    shared = [name for name in other.feature_names if name in ours]
    assert len(shared) == 42
    rows = [
        collections.Counter(map(tuple, X.tolist()))
        for X in (german.X[:, [ours[s] for s in shared]], other.X[:, [other.feature_names.index(s) for s in shared]])
    ]
    assert rows[0] == rows[1]


def code(name: str) -> str:
    """``status_A11`` in this copy is ``A1_1`` in the other: attribute 1, level 1."""
    digits = name.rpartition("_A")[2]
    attribute = (
        digits[:2]
        if name.split("_")[0] in {"debtors", "property", "plans", "housing", "job", "telephone"}
        else digits[:1]
    )
    attribute = digits[:2] if name.startswith("foreign") else attribute
    return f"A{attribute}_{digits[len(attribute) :]}"


@pytest.mark.raw
def test_the_age_categories_of_compas_agree_with_age(raw):
    raw("compas")
    data = datasets.load("compas")
    age = data.X[:, data.feature_names.index("age")]
    for name, inside in (
        ("age_cat_under_25", age < 25),
        ("age_cat_25-45", (age >= 25) & (age < 45)),
        ("age_cat_over_45", age >= 45),
    ):
        np.testing.assert_array_equal(data.X[:, data.feature_names.index(name)] == 1, inside)


@pytest.mark.raw
def test_steel_drops_what_the_authors_code_drops(raw):
    raw("steel")
    names = datasets.load("steel").feature_names
    assert not {"perimX", "perimY"} & set(names)
    assert {"minY", "maxY", "pixArea", "sumLumin"} <= set(names)


def test_the_bundled_splits_are_seeded_disjoint_and_standardised():
    whole = datasets.load("sklearn_diabetes")
    train, test = datasets.load_split("sklearn_diabetes", 4)
    again, _ = datasets.load_split("sklearn_diabetes", 4)
    other, _ = datasets.load_split("sklearn_diabetes", 5)
    np.testing.assert_array_equal(train.X, again.X)
    assert not np.array_equal(train.X, other.X)
    assert (train.n, test.n) == (309, 133)
    assert "sex" not in train.feature_names
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.X.std(axis=0), 1, rtol=1e-12)
    rows = np.random.default_rng(4).permutation(whole.n)
    base = whole.X[rows[:309]]
    np.testing.assert_allclose(test.X, (whole.X[rows[309:]] - base.mean(axis=0)) / base.std(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(test.groups, whole.groups[rows[309:]])


def test_other_bundled_values_are_refused(monkeypatch):
    changed = tables.load_diabetes(scaled=False)
    changed.data[0, 0] += 1
    monkeypatch.setattr(tables, "load_diabetes", lambda scaled: changed)
    with pytest.raises(DataError, match=r"requirements\.lock"):
        datasets.load("sklearn_diabetes")


@pytest.mark.parametrize("i", [10, -1, 2.5, "0", True, None])
def test_a_split_that_does_not_exist_names_those_that_do(i):
    with pytest.raises(RegistryError, match="splits 0 to 9"):
        datasets.load_split("sklearn_diabetes", i)


def test_a_data_set_without_loader_or_splits_says_which_have_them():
    with pytest.raises(RegistryError, match=r"no loader yet.*adult, compas, german"):
        datasets.load("jaffe")
    with pytest.raises(RegistryError, match="no loader yet"):
        datasets.load_split("jaffe", 0)
    with pytest.raises(RegistryError, match=r"no fixed splits.*adult, compas, german, sklearn_diabetes"):
        datasets.load_split("wine_quality", 0)
    assert datasets.splits("wine_quality") == 0


def test_a_dataset_whose_parts_do_not_fit_is_refused():
    X, y = np.zeros((4, 2)), np.zeros(4)
    with pytest.raises(DataError, match=r"groups \(3,\)"):
        Dataset("toy", X, y, y[:3], ("a", "b"))
    with pytest.raises(DataError, match="1 feature names"):
        Dataset("toy", X, y, y, ("a",))
    assert repr(Dataset("toy", X, y, np.array([0, 0, 1, 2]), ("a", "b"), "test", 3)) == (
        "Dataset(toy, test part of split 3: n=4, d=2, groups: 0 (2), 1 (1), 2 (1))"
    )
