"""Parquet and Arrow files as streams: the same moments as the table in memory, and every mistake by name."""

import datetime
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import compute, dataset, feather, parquet

from evenspan import FairKernelKMeans, FairPCA, GroupMoments, StreamingFairPCA
from evenspan.auditing.read import open_table
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


def wanted(sample) -> GroupMoments:
    return GroupMoments.from_data(pd.DataFrame(sample.X, columns=list(NAMES)), sample.groups)


@pytest.mark.parametrize("batch_size", [1, 100])
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


@pytest.mark.parametrize("form", ["folder", "partitions", "filtered", "feather"])
def test_files_folders_and_data_sets(form, table, file, sample, tmp_path):
    keep, source = np.ones(380, dtype=bool), tmp_path / "parts"
    features = table.select([*NAMES, "colour"])
    if form == "feather":
        feather.write_feather(features, source := tmp_path / "a.feather", chunksize=50)
    elif form == "filtered":
        parquet.write_table(features, file)
        source, keep = dataset.dataset(file).filter(compute.field("x") > 0), sample.X[:, 3] > 0
    elif form == "partitions":
        parquet.write_to_dataset(features, source, partition_cols=["colour"])
        (source / "_notes").mkdir()
        (source / "_notes" / "old.parquet").write_bytes(b"")
    else:
        source.mkdir()
        for k, name in enumerate(("a.parquet", "b.parquet", "c.pq")):
            parquet.write_table(features.slice(130 * k, 130), source / name, row_group_size=60)
        (source / "readme.txt").write_text("no data")
    stream = ParquetStream(source, "colour", batch_size=37)
    expected = GroupMoments.from_data(pd.DataFrame(sample.X[keep], columns=list(NAMES)), sample.groups[keep])
    assert stream.n_rows == keep.sum()
    assert_same(GroupMoments.from_batches(stream), expected)
    if form != "partitions":  # which puts the rows in another order
        np.testing.assert_array_equal(np.vstack([X for X, _ in stream]), sample.X[keep])


def test_mistakes_are_named(table, file, tmp_path):
    parquet.write_table(table.append_column("born", [[datetime.date(2000, 1, 1)] * 380]), tmp_path / "dates.parquet")
    nulls = table.set_column(3, "w", [[None, *table["w"].to_pylist()[1:]]])
    parquet.write_table(nulls.set_column(2, "colour", [[*["a"] * 379, None]]), tmp_path / "nulls.PARQUET")
    (tmp_path / "t.csv").write_text("a,b")
    (tmp_path / "empty").mkdir()
    for path, column, options, error, words in (
        (file, "sex", {}, DataError, "no column 'sex'; the columns are u, v, colour, w, x, y, z, site"),
        (file, "colour", {"columns": ["u", "colour"]}, ConfigurationError, "needed are columns for either"),
        (tmp_path / "dates.parquet", "site", {}, FeatureTypeError, r"2 of 8 .*'colour' \(string\), 'born' \(date32"),
        (tmp_path / "nulls.PARQUET", "site", {"columns": ["u", "w"]}, DataError, r"X contains NaN .*'w' \(1\)"),
        (tmp_path / "nulls.PARQUET", "colour", {}, GroupError, "'colour' has missing values"),
        (tmp_path / "nowhere", "g", {}, DataError, "nowhere does not exist"),
        (tmp_path / "empty", "g", {}, DataError, "found no such file; needed are files of one format"),
        ([file, tmp_path / "t.csv"], "g", {}, DataError, r"found \.csv, \.parquet; needed are files of one format"),
    ):
        with pytest.raises(error, match=words):
            GroupMoments.from_batches(ParquetStream(path, column, **options))


def test_a_page_that_is_not_that_of_its_checksum_is_refused(tmp_path):
    path, n = tmp_path / "rows.parquet", 2000
    rows = pd.DataFrame({"a": np.arange(n) + 0.5, "sex": ["f", "m"] * (n // 2)})
    plain = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    rows.to_parquet(path, **plain)
    content = bytearray(path.read_bytes())
    content[3000] ^= 4
    path.write_bytes(content)
    for read in (open_table, lambda file: GroupMoments.from_batches(ParquetStream(file, "sex"))):
        with pytest.raises((DataError, OSError), match="checksum verification failed"):
            read(path)


SLOW = """
import sys, time
import pyarrow as pa
from evenspan import ParquetStream
from pyarrow import compute, dataset
kind, files = sys.argv[1], sys.argv[2:]
some = dataset.dataset(files).filter(compute.field("g") != "e")
for X, groups in ParquetStream(some if kind == "some" else files, "g"):
    time.sleep(0.02)
print(pa.default_memory_pool().max_memory())
"""


def held(kind: str, files) -> int:
    """Bytes that pyarrow holds at most in a process of its own, whose work is slower than its reading."""
    run = subprocess.run(
        [sys.executable, "-c", SLOW, kind, *map(str, files)], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


def test_a_slow_consumer_holds_no_more_of_many_files_nor_of_many_groups_of_rows(tmp_path):
    rng, n = np.random.default_rng(0), 40_000
    part = pa.table({f"x{j}": rng.random(n, dtype=np.float32) for j in range(20)} | {"g": rng.choice(list("abcde"), n)})
    for k in range(20):
        parquet.write_table(part, tmp_path / f"{k:02d}.parquet", row_group_size=n // 2)
    parquet.write_table(pa.concat_tables([part] * 20), tmp_path / "all.parquet", row_group_size=n // 2)
    files = sorted(tmp_path.glob("[0-9]*"))
    few = held("all", files[:5])
    assert few < 2 * part.nbytes  # of 20 in the files
    for paths in (files[:10], files, [tmp_path / "all.parquet"]):
        assert held("all", paths) < 1.5 * few
    assert held("some", files) < 10 * part.nbytes


def two_files(folder, first: dict, second: dict):
    """A folder of two files, each of two rows of a woman and a man."""
    folder.mkdir()
    for name, columns in (("a", first), ("b", second)):
        parquet.write_table(pa.table({"sex": ["f", "m"]} | columns), folder / f"{name}.parquet")
    return folder


def test_the_type_is_the_widest_over_all_files(tmp_path):
    whole, single, double = pa.array([1, 2**40]), pa.array([0.5, 2], pa.float32()), pa.array([0.1, 2])
    for number, (one, other, dtype) in enumerate((
        (whole, double, "float64"), (double, whole, "float64"), (single, double, "float64"), (whole, single, "float64"),
        (pa.array([1, 2], pa.int8()), whole, "float64"), (single, single, "float32"),
    )):  # fmt: skip
        stream = ParquetStream(two_files(tmp_path / str(number), {"x": one}, {"x": other}), "sex")
        assert stream.dtype == dtype
        assert np.vstack([X for X, _ in stream]).ravel().tolist() == [*one.to_pylist(), *other.to_pylist()]
    coded = two_files(tmp_path / "coded", {"x": [1, 2]}, {"sex": pa.array(["m", "f"]).dictionary_encode(), "x": [3, 4]})
    assert [sex.tolist() for _, sex in ParquetStream(coded, "sex")] == [["f", "m"], ["m", "f"]]
    assert ParquetStream(coded, "sex").labels.tolist() == ["f", "m"]


def test_files_that_differ_are_named_before_a_row_is_read(tmp_path):
    one, both = {"x": [1.0, 2.0]}, {"x": [1.0, 2.0], "y": [1.0, 2.0]}
    for number, (first, second, words) in enumerate((
        (both, one, r"b\.parquet: no column 'y', unlike .*a\.parquet.* columns="),
        (one, both, r"b\.parquet: a column 'y', unlike .*a\.parquet.* columns="),
        (one, {"x": ["1", "2"]}, r"b\.parquet: .*x has incompatible types: double vs string.* Needed"),
        (one, {"sex": [1, 2]} | one, r"b\.parquet: .*sex has incompatible types: string vs int64"),
    )):  # fmt: skip
        folder = two_files(tmp_path / str(number), first, second)
        with pytest.raises(DataError, match=words):
            ParquetStream(folder, "sex")
    assert ParquetStream(tmp_path / "1", "sex", columns=["x"]).n_features == 1
    (tmp_path / "0" / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"b\.parquet: .* Needed are whole files"):
        ParquetStream(tmp_path / "0", "sex")
    folder = two_files(tmp_path / "mixed", {"x": [1, 2]}, {"x": [0.5, 1.5]})
    some = dataset.dataset(folder).filter(compute.field("x") > 0)
    with pytest.raises(DataError, match="give it the widest schema"):
        list(ParquetStream(some, "sex"))


def test_what_is_wrong_in_a_row_is_told_with_file_and_batch(tmp_path):
    good = {"x": [1.0, 2.0], "y": [2.0, 1.0]}
    for number, (bad, words) in enumerate((
        ({"x": [np.nan, 1.0], "y": [2.0, 1.0]}, "X contains NaN or inf.*'x'"),
        ({"x": [1.0, 2.0], "y": [1.0, -np.inf]}, "X contains NaN or inf.*'y'"),
        ({"x": [1.0, None], "y": [1.0, 2.0]}, "X contains NaN or inf.*'x'"),
        ({"sex": ["f", None]} | good, "'sex' has missing values"),
        ({"sex": ["f", "z"]} | good, "group 'z' appears for the first time"),
    )):  # fmt: skip
        stream = ParquetStream(two_files(tmp_path / str(number), good, bad), "sex")
        model = StreamingFairPCA(1, 0, groups=["f", "m"], n_blocks=1)
        for fit in (GroupMoments.from_batches, model.fit)[number == 4 :]:
            with pytest.raises((DataError, GroupError), match=rf"b\.parquet, batch 2: .*{words}"):
                fit(stream)


def test_a_stream_in_place_of_a_table_is_told_what_to_call(file):
    for model in (FairPCA(), FairKernelKMeans(2)):
        with pytest.raises(DataError, match=r"a ParquetStream; needed is a table.*fit_moments\(.*StreamingFairPCA"):
            model.fit(ParquetStream(file, "colour"))
