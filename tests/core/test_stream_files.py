"""Parquet and Arrow files as streams: the same moments as the table in memory, and every mistake by name."""

import builtins
import datetime
import decimal
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import compute, dataset, feather, parquet

from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, DataError, FeatureTypeError, GroupError
from evenspan.core.stream_files import ParquetStream

from .test_moments import assert_same

NAMES = tuple("uvwxyz")


@pytest.fixture
def table(sample) -> pa.Table:
    """The sample of 380 rows: six features and, between them, the colour and the site of every row."""
    columns = {name: sample.X[:, j] for j, name in enumerate(NAMES)}
    site = np.where(sample.X[:, 0] > 0, 7, -1)
    table = pa.table(columns | {"site": site})
    return table.add_column(2, "colour", [sample.groups])


@pytest.fixture
def file(table, tmp_path):
    """As Parquet, in row groups of 70 rows."""
    parquet.write_table(table, tmp_path / "sample.parquet", row_group_size=70)
    return tmp_path / "sample.parquet"


def rows_and_groups(batches) -> tuple[np.ndarray, list]:
    parts = list(batches)
    return np.vstack([X for X, _ in parts]), [label for _, groups in parts for label in np.asarray(groups).tolist()]


def wanted(sample) -> GroupMoments:
    return GroupMoments.from_data(pd.DataFrame(sample.X, columns=list(NAMES)), sample.groups)


# -- what comes out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 100, 1000])
def test_the_moments_are_those_of_the_table(file, sample, batch_size):
    stream = ParquetStream(file, "colour", columns=list(NAMES), batch_size=batch_size)
    assert (stream.n_rows, stream.n_features, stream.feature_names, stream.one_shot) == (380, 6, NAMES, False)
    for _ in range(2):
        assert_same(GroupMoments.from_batches(stream), wanted(sample))
    assert max(len(X) for X, _ in stream) <= batch_size
    assert {X.dtype for X, _ in stream} == {np.dtype(np.float64)}


def test_columns_are_all_but_the_sensitive_ones_or_those_asked_for(file, sample):
    assert ParquetStream(file, "colour").feature_names == (*NAMES, "site")
    stream = ParquetStream(file, ["site", "colour"], columns=["z", "v"])
    moments = GroupMoments.from_batches(stream)
    assert moments.feature_names == ("z", "v")
    assert moments.attributes == ("site", "colour")
    np.testing.assert_allclose(moments.mean, np.mean(sample.X[:, [5, 1]], axis=0), rtol=1e-12)
    assert moments.labels["site"].tolist() == [-1] * 3 + [7] * 3
    assert np.array_equal(stream.labels, moments.labels)
    assert_same(moments.marginal("colour"), wanted(sample).select(["z", "v"]))


def test_the_index_of_a_data_frame_is_no_feature(sample, tmp_path):
    frame = pd.DataFrame(sample.X, columns=list(NAMES), index=np.arange(380)[::-1]).assign(colour=sample.groups)
    frame.to_parquet(tmp_path / "frame.parquet")
    assert "__index_level_0__" in parquet.read_schema(tmp_path / "frame.parquet").names
    assert_same(GroupMoments.from_batches(ParquetStream(tmp_path / "frame.parquet", "colour")), wanted(sample))


@pytest.mark.parametrize("form", ["file", "files", "folder", "partitions", "data set", "filtered", "feather", "arrow"])
def test_files_folders_and_data_sets(form, table, sample, tmp_path):
    keep = np.ones(380, dtype=bool)
    features = table.select([*NAMES, "colour"])
    if form == "feather":
        source = tmp_path / "a.feather"
        feather.write_feather(features, source, chunksize=50)
    elif form == "arrow":
        source = tmp_path / "a.arrow"
        with pa.ipc.new_file(source, features.schema) as writer:
            writer.write_table(features, max_chunksize=50)
    elif form == "partitions":
        source = tmp_path / "parts"
        parquet.write_to_dataset(features, source, partition_cols=["colour"])
        (source / "_notes").mkdir()
        (source / "_notes" / "old.parquet").write_bytes(b"")
    else:
        places = [tmp_path / "parts" / name for name in ("a.parquet", "b.parquet", "c.pq")]
        (tmp_path / "parts").mkdir()
        for k, place in enumerate(places):
            parquet.write_table(features.slice(130 * k, 130), place, row_group_size=60)
        (tmp_path / "parts" / "readme.txt").write_text("no data")
        whole = tmp_path / "whole.parquet"
        parquet.write_table(features, whole)
        source = {"file": str(whole), "files": places, "folder": tmp_path / "parts",
                  "data set": dataset.dataset(whole), "filtered": dataset.dataset(whole)}[form]  # fmt: skip
        if form == "filtered":
            source, keep = source.filter(compute.field("x") > 0), sample.X[:, 3] > 0
    stream = ParquetStream(source, "colour", batch_size=37)
    expected = GroupMoments.from_data(pd.DataFrame(sample.X[keep], columns=list(NAMES)), sample.groups[keep])
    assert stream.n_rows == keep.sum()
    assert_same(GroupMoments.from_batches(stream), expected)
    X, groups = rows_and_groups(stream)
    if form != "partitions":  # which puts the rows in another order
        np.testing.assert_array_equal(X, sample.X[keep])
        assert groups == sample.groups[keep].tolist()


GROUPS = {
    "text": pa.array(["b", "a", "b", "a", "c", "c"]),
    "categories": pa.array(["b", "a", "b", "a", "c", "c"]).dictionary_encode(),
    "booleans": pa.array([True, False, True, False, False, False]),
    "whole numbers": pa.array([1, 0, 1, 0, 2, 2], pa.int8()),
}


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_groups_of_every_type(groups, tmp_path):
    X = np.arange(6.0) ** 2
    feather.write_feather(pa.table({"x": X, "g": groups}), tmp_path / "t.arrow", chunksize=2)
    moments = GroupMoments.from_batches(ParquetStream(tmp_path / "t.arrow", "g", batch_size=4))
    labels = sorted(set(groups.to_pylist()))
    assert moments.labels.tolist() == labels == ParquetStream(tmp_path / "t.arrow", "g", batch_size=2).labels.tolist()
    np.testing.assert_allclose(
        moments.means[:, 0], [np.mean(X[np.array(groups.to_pylist()) == label], axis=0) for label in labels]
    )


def test_numbers_of_every_type(tmp_path):
    X = np.array([[1, 2, 3, 4, 0, 1], [5, 6, 7, 8, 1, 0], [2, 2, 2, 2, 1, 1], [9, 4, 1, 0, 0, 0]])
    kinds = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_(), pa.float64()]
    columns = {f"c{j}": pa.array(X[:, j]).cast(kind) for j, kind in enumerate(kinds)}
    parquet.write_table(pa.table(columns | {"g": [0, 1, 0, 1]}), tmp_path / "t.parquet")
    stream = ParquetStream(tmp_path / "t.parquet", "g")
    (batch, groups), = stream  # fmt: skip
    np.testing.assert_array_equal(batch, X)
    assert (batch.dtype, batch.flags.c_contiguous, groups.tolist()) == (np.float64, True, [0, 1, 0, 1])
    single = ParquetStream(tmp_path / "t.parquet", "g", columns=["c3"])
    assert single.dtype == np.float32 == next(iter(single))[0].dtype


def test_memory_is_that_of_batches(tmp_path):
    rng = np.random.default_rng(0)
    n, d = 100_000, 20
    columns = {f"x{j}": rng.normal(size=n) for j in range(d)}
    parquet.write_table(pa.table(columns | {"g": rng.integers(0, 2, n)}), tmp_path / "t.parquet", row_group_size=5000)
    del columns
    stream = ParquetStream(tmp_path / "t.parquet", "g", batch_size=2000)
    assert stream.n_rows == n
    tracemalloc.start()
    for X, _ in stream:
        assert X.nbytes <= 8 * 2000 * d
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 8 * n * d


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_text_dates_and_decimals_are_named(table, tmp_path):
    more = table.append_column("born", [[datetime.date(2000, 1, 1)] * 380])
    more = more.append_column("pay", [[decimal.Decimal("1.50")] * 380])
    more = more.append_column("seen", [[datetime.datetime(2000, 1, 1)] * 380])
    more = more.append_column("kind", pa.chunked_array([pa.array(["a"] * 380).dictionary_encode()]))
    parquet.write_table(more, tmp_path / "t.parquet")
    with pytest.raises(FeatureTypeError) as caught:
        ParquetStream(tmp_path / "t.parquet", "site")
    for said in ("5 of 11", "'colour' (string)", "'born' (date32[day])", "'pay' (decimal128(3, 2))",
                 "'seen' (timestamp", "'kind' (dictionary<", "columns=[...]"):  # fmt: skip
        assert said in str(caught.value)
    assert ParquetStream(tmp_path / "t.parquet", "colour", columns=["u"]).n_rows == 380


def test_unknown_columns_are_answered_with_those_there_are(file):
    with pytest.raises(DataError, match="no column 'sex'; the columns are u, v, colour, w, x, y, z, site"):
        ParquetStream(file, "sex")
    with pytest.raises(DataError, match="no column 'q'; the columns are u, v, colour"):
        ParquetStream(file, "colour", columns=["u", "q"])
    for columns in (["u", "colour"], []):
        with pytest.raises(ConfigurationError, match="needed are columns for either"):
            ParquetStream(file, "colour", columns=columns)


def test_missing_entries_are_told_with_their_batch(table, tmp_path):
    place = tmp_path / "t.parquet"
    values = table["w"].to_pylist()
    values[120] = None
    at = table.schema.get_field_index("w")
    parquet.write_table(table.set_column(at, "w", [values]), place, row_group_size=70)
    with pytest.raises(DataError, match=r"batch 4 \(rows 120:140\): X contains NaN .*'w' \(1\)"):
        GroupMoments.from_batches(ParquetStream(place, "colour", batch_size=50))
    labels = table["colour"].to_pylist()
    labels[199] = None
    at = table.schema.get_field_index("colour")
    parquet.write_table(table.set_column(at, "colour", [labels]), place, row_group_size=70)
    with pytest.raises(GroupError, match=r"sensitive column 'colour' has missing values.*of their own"):
        list(ParquetStream(place, "colour", batch_size=50))


def test_endings_may_have_capitals(table, tmp_path):
    for name in ("A.PARQUET", "b.Parquet"):
        parquet.write_table(table, tmp_path / name)
    assert ParquetStream(tmp_path / "A.PARQUET", "colour").n_rows == 380
    assert ParquetStream(tmp_path, "colour").n_rows == 760


def test_files_that_are_not_there_are_named(file, tmp_path):
    with pytest.raises(DataError, match="nowhere does not exist"):
        ParquetStream(tmp_path / "nowhere", "g")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="found no such file; needed are files of one format"):
        ParquetStream(tmp_path / "empty", "g")
    other = tmp_path / "t.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"found \.csv, \.parquet; needed are files of one format"):
        ParquetStream([file, other], "g")


def test_a_file_without_a_column_is_not_filled_up(table, tmp_path):
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.drop_columns(["w"]), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="'w'"):
        GroupMoments.from_batches(ParquetStream(tmp_path, "colour"))
    assert GroupMoments.from_batches(ParquetStream(tmp_path, "colour", columns=["u", "v"])).n == 760


def test_without_pyarrow_it_says_what_to_install(file, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=r"needs pyarrow.*evenspan\[scale\]"):
        ParquetStream(file, "colour")
