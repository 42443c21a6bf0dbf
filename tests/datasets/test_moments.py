"""Group moments of tables, of their parts and as shipped; seeded splits."""

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from compendium import data as datasets
from compendium import paths
from compendium.data import moments as store
from compendium.data.splits import fold_rows, half_rows, split_rows
from evenspan import GroupMoments
from evenspan.core.errors import GroupError, ResultError

NAMES = {"E. Coli": "ecoli", "LFW": "lfw_24x24"}


def counted(moments: GroupMoments) -> dict[str, int]:
    return dict(zip(map(str, moments.labels.tolist()), moments.counts.tolist(), strict=True))


def assert_of_rows(moments: GroupMoments, X: np.ndarray, groups: np.ndarray) -> None:
    """The moments are those of the rows, by the definition."""
    for j, label in enumerate(moments.labels):
        own = X[groups == label]
        centred = own - own.mean(axis=0)
        scatter = centred.T @ centred
        assert moments.counts[j] == len(own)
        np.testing.assert_allclose(moments.means[j], own.mean(axis=0), atol=1e-11 * abs(own).max())
        np.testing.assert_allclose(moments.scatters[j], scatter, atol=1e-11 * np.trace(scatter))


@pytest.mark.parametrize("name", [name for name in datasets.loadable() if name != "lfw_24x24"])
def test_moments_of_all_rows_are_those_of_the_registry(name):
    moments, entry = datasets.group_moments(name), datasets.entry(name)
    assert counted(moments) == entry.groups
    assert (moments.n, moments.d, len(set(moments.feature_names))) == (entry.rows, entry.features, entry.features)


def test_parts_of_a_split_are_those_of_their_rows():
    data = datasets.load("ecoli")
    for seed, halves in ((9, False), (4, True)):
        parts = datasets.parts_of(data, seed, halves=halves).values()
        rows = (half_rows(data.groups, seed) if halves else fold_rows("ecoli", data.groups, seed)).values()
        for part, index in zip(parts, rows, strict=True):
            assert_of_rows(part, data.X[index], data.groups[index])


@pytest.mark.raw
@pytest.mark.parametrize("name", store.SHIPPED)
def test_shipped_moments_are_those_of_the_raw_rows_and_the_command_writes_them(name, raw, tmp_path, monkeypatch):
    raw(name)
    data, shipped = datasets.load(name), datasets.group_moments(name)
    assert_of_rows(shipped, data.X, data.groups)
    for i in range(datasets.splits(name)):
        for part in datasets.load_split(name, i):
            assert_of_rows(datasets.split_moments(name, i, part.part), part.X, part.groups)
    monkeypatch.setattr(store, "folder", lambda asked: tmp_path / asked)
    files = datasets.make_moments(name)
    assert {path.name for path in files} == {path.name for path in paths.data("moments", name).iterdir()}
    np.testing.assert_allclose(datasets.group_moments(name).scatters, shipped.scatters, rtol=1e-10)


def test_moments_of_other_raw_data_are_refused(tmp_path, monkeypatch):
    shutil.copytree(paths.data("moments", "compas"), tmp_path / "compas")
    monkeypatch.setattr(store, "folder", lambda asked: tmp_path / asked)
    assert datasets.split_moments("compas", 0, "test").d == 11
    record = tmp_path / "compas" / "record.json"
    record.write_text(record.read_text().replace(datasets.checksum("compas"), "0" * 64))
    with pytest.raises(ResultError, match=r"0000.*python -m compendium data ship compas"):
        datasets.split_moments("compas", 0, "test")


def test_parts_are_disjoint_and_keep_the_share_of_every_group():
    groups = np.repeat([3, 1, 2], [690, 100, 44])
    rows = split_rows(groups, 4)
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(len(groups)))
    assert [(groups[rows["test"]] == g).sum() for g in (3, 1, 2)] == [690 - 207, 70, 31]
    even = split_rows(np.repeat([0, 1], 90), 0, share=0.7)  # 0.7 * 90 is a little below 63
    assert len(even["test"]) == 2 * 27
    halves = half_rows(np.repeat([0, 1], [31, 20]), 0)
    assert {part: len(index) for part, index in halves.items()} == {"train": 25, "test": 26}
    with pytest.raises(GroupError, match="has no row of group"):
        split_rows(np.repeat([0, 1], [50, 4]), 0)


def test_rows_and_folds_are_those_of_the_authors_program():
    """Their recipe on shuffled copies in place, with the order of the training rows, from which the folds are cut."""
    groups = np.repeat([0, 1], [90, 61])[np.random.default_rng(0).permutation(151)]
    rng, train, test = np.random.default_rng(7), [], []
    for label in (0, 1):
        places = np.arange(151)[groups == label]
        rng.shuffle(places)
        train.append(places[: int(0.3 * len(places))])
        test.append(places[int(0.3 * len(places)) :])
    order = np.concatenate(train)
    rng.shuffle(order)
    rows = split_rows(groups, 7)
    assert set(rows["test"]) == set(np.concatenate(test))
    folds = [set(order[held_out]) for _, held_out in KFold(3, shuffle=True, random_state=7).split(order)]
    assert [set(rows[f"fold{i}"]) for i in range(3)] == folds
    assert all(fold not in [set(part) for part in np.array_split(order, 3)] for fold in folds), "the second shuffle"


def test_rows_and_features_of_all_15_tables_of_the_paper():
    table = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str, keep_default_na=False)
    table = table[table["metric"] != "A"]
    for row in table.itertuples():
        entry = datasets.entry(NAMES.get(row.dataset, row.dataset.lower().replace(" ", "_")))
        assert int(row.value) == (entry.rows if row.metric == "N" else entry.features), row.dataset
    assert len(table) == 30
