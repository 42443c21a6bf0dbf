"""Tables: what the registry and the papers say of them, proved by the raw files."""

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data import raw as raw_files
from compendium.data import tables
from compendium.errors import RegistryError
from evenspan.core.errors import DataError

#: Tables of Rathore and Manwani by their sensitive column, which is a feature.
SENSITIVE_FEATURE = dict.fromkeys(raw_files.LSAC, "male") | {"lsac": "sex", "diabetes": "Sex", "npha": "Gender"}
SHIPPED = [name for name in datasets.names() if datasets.entry(name).shipped]


@pytest.mark.raw
@pytest.mark.parametrize("name", [name for name in SHIPPED if name in raw_files.READERS])
def test_the_rows_in_the_repository_are_those_of_the_raw_files(name, raw):
    raw(name)
    ours, theirs = datasets.table(name), raw_files.read(name)
    assert list(ours) == list(map(str, theirs))
    for mine, other in zip(ours.items(), theirs.items(), strict=True):
        assert pd.api.types.is_numeric_dtype(mine[1]) == pd.api.types.is_numeric_dtype(other[1])
        np.testing.assert_array_equal(mine[1].to_numpy(), other[1].to_numpy(), err_msg=mine[0])


@pytest.mark.raw
@pytest.mark.parametrize("name", ["adult", "german"])
def test_standardised_again_they_are_the_ten_published_splits_bit_for_bit(name, raw):
    raw(name)
    entry = datasets.entry(name)
    for i in range(entry.splits):
        for part in datasets.load_split(name, i):
            file = raw_files.columns(entry, f"{part.part}_{i}.csv")
            np.testing.assert_array_equal(np.column_stack([part.X, part.y, part.groups]), file)


def test_rows_that_were_altered_are_refused(tmp_path, monkeypatch):
    real = paths.data
    content = real("tables", "npha.parquet").read_bytes()
    monkeypatch.setattr(paths, "data", lambda *parts: (tmp_path if parts[0] == "tables" else real()).joinpath(*parts))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "npha.parquet").write_bytes(content.replace(b"Gender", b"gender"))
    with pytest.raises(DataError, match=r"npha\.parquet has SHA-256 .* needed is"):
        datasets.load("npha")


def test_rows_are_shipped_where_the_licence_allows_it_and_whom_it_credits():
    for entry in map(datasets.entry, datasets.names()):
        free = entry.licence.startswith(("CC BY 4.0", "CC0", "BSD"))
        assert bool(entry.shipped) == bool(entry.attribution) == free, entry.name
        if entry.shipped:
            assert paths.data("tables", f"{entry.name}.parquet").stat().st_size == entry.shipped.bytes < 2e6
            assert f"| {entry.attribution} |" in datasets.card(entry.name)
    assert {path.stem for path in paths.data("tables").glob("*.parquet")} == set(SHIPPED)
    with pytest.raises(RegistryError, match="licence"):
        datasets.ship("lsac")


@pytest.mark.raw
@pytest.mark.parametrize("name", datasets.loadable())
def test_rows_features_groups_and_measures_are_those_of_the_registry(name, raw):
    entry = datasets.entry(name)
    if not entry.shipped:
        raw(name)
    data = datasets.load(name)
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
    if column := SENSITIVE_FEATURE.get(name):
        np.testing.assert_array_equal(data.X[:, data.feature_names.index(column)], data.groups)
    if name == "compas":
        age = data.X[:, data.feature_names.index("age")]
        for category, inside in (("under_25", age < 25), ("25-45", (age >= 25) & (age < 45)), ("over_45", age >= 45)):
            np.testing.assert_array_equal(data.X[:, data.feature_names.index(f"age_cat_{category}")] == 1, inside)


@pytest.mark.raw
@pytest.mark.parametrize("name", tables.PUBLISHED)
def test_published_splits_are_standardised_and_share_their_people(name, raw):
    if name == "compas":
        raw(name)
    whole, entry = datasets.load(name), datasets.entry(name)
    assert datasets.splits(name) == 10
    own = whole.feature_names.index({"adult": "sex", "compas": "race_Caucasian", "german": "age_25_or_older"}[name])
    for i in range(datasets.splits(name)):
        train, test = datasets.load_split(name, i)
        assert (train.part, test.part, train.split, test.split) == ("train", "test", i, i)
        for both, all_of_them in (((train.y, test.y), whole.y), ((train.groups, test.groups), whole.groups)):
            np.testing.assert_array_equal(np.bincount(np.concatenate(both)), np.bincount(all_of_them))
        assert abs(train.X.mean(axis=0)).max() < 1e-9
        assert set(np.round(train.X.std(axis=0), 9)) <= {0.0, 1.0}
        # the sensitive attribute is a feature: the same two values, in the same rows
        for part in (train, test):
            assert len(set(zip(part.groups.tolist(), part.X[:, own].round(9).tolist(), strict=True))) == 2
    assert entry.feature_names == whole.feature_names


def test_the_bundled_splits_are_seeded_and_standardised_with_their_training_part():
    whole = datasets.load("sklearn_diabetes")
    assert "sex" not in whole.feature_names
    rows = np.random.default_rng(4).permutation(whole.n)
    base = whole.X[rows[:309]]
    for part, own in zip(datasets.load_split("sklearn_diabetes", 4), (rows[:309], rows[309:]), strict=True):
        np.testing.assert_allclose(part.X, (whole.X[own] - base.mean(axis=0)) / base.std(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(part.groups, whole.groups[own])
        np.testing.assert_array_equal(part.y, whole.y[own])
        assert (part.part, part.split) == ("train" if len(own) == 309 else "test", 4)
