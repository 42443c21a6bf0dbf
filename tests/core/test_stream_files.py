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


@pytest.mark.parametrize("batch_size", [1, 64, 70, 100, 1000])
def test_the_moments_are_those_of_the_table(file, sample, batch_size):
    stream = ParquetStream(file, "colour", columns=list(NAMES), batch_size=batch_size)
    assert (stream.n_rows, stream.n_features, stream.feature_names, stream.one_shot) == (380, 6, NAMES, False)
    for _ in range(2):
        assert_same(GroupMoments.from_batches(stream), wanted(sample))
    sizes = [len(X) for X, _ in stream]
    assert sizes == [batch_size] * (380 // batch_size) + [380 % batch_size] * (380 % batch_size > 0)
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
    for start in (1, 59, 60, 131, len(X) - 1, len(X)):
        parts = list(stream.from_row(start))
        assert sum(len(part) for part, _ in parts) == len(X) - start
        if parts:
            rest, labels = rows_and_groups(parts)
            np.testing.assert_array_equal(rest, X[start:])
            assert labels == groups[start:]
    with pytest.raises(DataError, match=rf"has {len(X)} rows; row 400 was asked for"):
        list(stream.from_row(400))


def test_a_later_start_skips_row_groups(file):
    stream = ParquetStream(file, "colour")
    read = []
    original = stream._records
    stream._records = lambda first, columns: read.append(first) or original(first, columns)
    assert sum(len(X) for X, _ in stream.from_row(215)) == 165
    assert read == [3], "210 rows are in the three row groups before"


GROUPS = {
    "text": pa.array(["b", "a", "b", "a", "c", "c"]),
    "large text": pa.array(["b", "a", "b", "a", "c", "c"], pa.large_string()),
    "categories": pa.array(["b", "a", "b", "a", "c", "c"]).dictionary_encode(),
    "booleans": pa.array([True, False, True, False, False, False]),
    "whole numbers": pa.array([1, 0, 1, 0, 2, 2], pa.int8()),
    "numbers as categories": pa.array([1, 0, 1, 0, 2, 2]).dictionary_encode(),
    "whole fractions": pa.array([1.0, 0.0, 1.0, 0.0, 2.0, 2.0], pa.float32()),
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
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    most = 0
    for X, _ in stream:
        most = max(most, pa.total_allocated_bytes() - arrow)
        assert X.nbytes <= 8 * 2000 * d
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 8 * n * d
    assert most < 0.4 * 8 * n * d


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
    with pytest.raises(ConfigurationError, match="'colour' is asked for as a feature and as the group"):
        ParquetStream(file, "colour", columns=["u", "colour"])
    with pytest.raises(DataError, match="no column is left"):
        ParquetStream(file, [*NAMES, "site", "colour"])
    for wrong in (None, [], ["site", "site"], [3]):
        with pytest.raises(ConfigurationError, match=r"sensitive_features=.*needed is the name of a column"):
            ParquetStream(file, wrong)
    with pytest.raises(ConfigurationError, match="batch_size=0"):
        ParquetStream(file, "colour", batch_size=0)


def test_missing_entries_are_told_with_their_batch(table, tmp_path):
    place = tmp_path / "t.parquet"
    values = table["w"].to_pylist()
    values[120] = None
    at = table.schema.get_field_index("w")
    parquet.write_table(table.set_column(at, "w", [values]), place, row_group_size=70)
    with pytest.raises(DataError, match=r"batch 3 \(rows 100:150\): X contains NaN .*'w' \(1\)"):
        GroupMoments.from_batches(ParquetStream(place, "colour", batch_size=50))
    labels = table["colour"].to_pylist()
    labels[199] = labels[210] = None
    at = table.schema.get_field_index("colour")
    parquet.write_table(table.set_column(at, "colour", [labels]), place, row_group_size=70)
    with pytest.raises(GroupError, match=r"rows 150:200: sensitive column 'colour' has 1 missing .*of their own"):
        list(ParquetStream(place, "colour", batch_size=50).from_row(190))
    with pytest.raises(GroupError, match="sensitive column 'colour' has 1 missing"):
        _ = ParquetStream(place, "colour", batch_size=50).labels


def test_missing_and_damaged_files_are_named(file, tmp_path):
    with pytest.raises(DataError, match="nowhere does not exist"):
        ParquetStream(tmp_path / "nowhere", "g")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="found no such file; needed are files of one format"):
        ParquetStream(tmp_path / "empty", "g")
    other = tmp_path / "t.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"found \.csv, \.parquet; needed are files of one format"):
        ParquetStream([file, other], "g")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"sample\.parquet cannot be read .* write it again"):
        ParquetStream(file, "colour")
    middle = content[:2000] + bytes(4000) + content[6000:]  # the head is whole, the data are not
    file.write_bytes(middle)
    with pytest.raises(DataError, match=r"sample\.parquet cannot be read"):
        list(ParquetStream(file, "colour"))


def test_a_file_without_a_column_is_not_filled_up(table, tmp_path):
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.drop_columns(["w"]), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'w'; the first file has"):
        list(ParquetStream(tmp_path, "colour"))
    assert len(list(ParquetStream(tmp_path, "colour", columns=["u", "v"]))) == 1


def test_a_table_without_rows_is_an_empty_stream(table, tmp_path):
    parquet.write_table(table.slice(0, 0), tmp_path / "t.parquet")
    stream = ParquetStream(tmp_path / "t.parquet", "colour")
    assert stream.n_rows == 0
    with pytest.raises(DataError, match="the stream is empty"):
        GroupMoments.from_batches(stream)


def test_without_pyarrow_it_says_what_to_install(file, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=r"needs pyarrow.*evenspan\[scale\]"):
        ParquetStream(file, "colour")


# -- files that do not fit together -----------------------------------------------------------------------------------

FIRST = {"x": pa.array([1.0, 0.0, 0.5]), "g": pa.array(["a", "b", "a"])}
OTHERS = {
    "x is bool in": {"x": pa.array([True, False, True])},
    "x is int64 in": {"x": pa.array([1, 2, 3])},
    "x is float in": {"x": pa.array([1, 2, 3], pa.float32())},
    "g is int64 in": {"g": pa.array([1, 2, 1])},
    "g is bool in": {"g": pa.array([True, False, True])},
}


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("said", OTHERS)
def test_a_column_of_another_type_is_told_with_both_files(said, filtered, tmp_path):
    parquet.write_table(pa.table(FIRST), tmp_path / "a.parquet")
    parquet.write_table(pa.table(FIRST | OTHERS[said]), tmp_path / "b.parquet")
    source = dataset.dataset(tmp_path).filter(compute.field("g") != "c") if filtered else tmp_path
    column, kind = said.split()[0], said.split()[2]
    with pytest.raises(
        DataError, match=rf"column '{column}' is {kind} in .*b\.parquet, but .* in .*a\.parquet\. Write"
    ):
        GroupMoments.from_batches(ParquetStream(source, "g"))


def test_text_and_categories_are_one_type(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    for number, kind in enumerate(kinds):
        parquet.write_table(pa.table(FIRST | {"g": FIRST["g"].cast(kind)}), tmp_path / f"{number}.parquet")
    assert GroupMoments.from_batches(ParquetStream(tmp_path, "g")).counts.tolist() == [6, 3]


def test_a_file_that_changes_between_passes_is_told(file, table):
    stream = ParquetStream(file, "colour")
    GroupMoments.from_batches(stream)
    parquet.write_table(table.take(list(range(379, -1, -1))), file, row_group_size=70)
    with pytest.raises(DataError, match=r"sample\.parquet was written to while it was in use"):
        GroupMoments.from_batches(stream)


def test_pages_are_compared_with_their_checksums(table, tmp_path):
    """Without compression a changed byte of a page is a changed number."""
    place = tmp_path / "t.parquet"
    parquet.write_table(
        table.select(["u", "v", "colour"]), place, compression="none", use_dictionary=False, write_page_checksum=True
    )
    whole, numbers = place.read_bytes(), np.asarray(table["v"])[200:201].tobytes()
    at = whole.index(numbers)
    place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert parquet.read_table(place)["v"][200] != table["v"][200], "unasked, pyarrow does not compare"
    with pytest.raises(DataError, match=r"t\.parquet cannot be read .*CRC checksum"):
        list(ParquetStream(place, "colour"))
