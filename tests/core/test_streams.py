"""Streams: the moments of the whole in any container; interruptions, and mistakes by their batch."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, DataError, FeatureTypeError, GroupError
from evenspan.core.streams import ArrayStream, FunctionStream, OneShotStream, Stream, as_stream

from .test_moments import assert_same


def batches_of(X, groups, size=37) -> list:
    return [(X[a : a + size], groups[a : a + size]) for a in range(0, len(X), size)]


class Minimal(Stream):
    """What a stream needs at least."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def frames(X, groups, size=37) -> list:
    table = pd.DataFrame(X, columns=list("uvwxyz")), pd.Series(groups)
    return [(table[0].iloc[a : a + size], table[1].iloc[a : a + size]) for a in range(0, len(X), size)]


WAYS = {
    "array": lambda X, groups: ArrayStream(X, groups, batch_size=37),
    "list of groups": lambda X, groups: ArrayStream(X, groups.tolist(), batch_size=37),
    "categories": lambda X, groups: ArrayStream(X, pd.Categorical(groups), batch_size=37),
    "frame": lambda X, groups: ArrayStream(pd.DataFrame(X), pd.Series(groups, index=range(380, 0, -1)), batch_size=37),
    "sparse": lambda X, groups: ArrayStream(sparse.coo_array(X), groups, batch_size=37),
    "function": lambda X, groups: FunctionStream(lambda: (batch for batch in batches_of(X, groups))),
    "lists in batches": lambda X, groups: FunctionStream(lambda: batches_of(X.tolist(), groups.tolist())),
    "subclass": lambda X, groups: Minimal(batches_of(X, groups)),
}
every_way = pytest.mark.parametrize("make", WAYS.values(), ids=WAYS.keys())


@every_way
def test_every_pass_gives_the_moments_of_the_whole(make, sample):
    stream, whole = make(sample.X, sample.groups), GroupMoments.from_data(sample.X, sample.groups)
    for _ in range(2):
        assert_same(GroupMoments.from_batches(stream), whole)
    assert not stream.one_shot
    for X, groups in stream:
        assert isinstance(X, np.ndarray)
        assert len(X) == len(groups)


def test_what_is_known_of_a_stream(sample):
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    stream = ArrayStream(frame, sample.groups)
    assert (stream.n_rows, stream.n_features, stream.feature_names) == (380, 6, tuple("uvwxyz"))
    assert stream.labels.tolist() == ["azure", "beige", "crimson"]
    assert GroupMoments.from_batches(stream).feature_names == tuple("uvwxyz")
    stream = FunctionStream(lambda: frames(sample.X, sample.groups))
    assert (stream.n_rows, stream.n_features, stream.feature_names, stream.labels) == (None, None, None, None)
    assert GroupMoments.from_batches(stream).feature_names == tuple("uvwxyz")
    assert (stream.n_rows, stream.n_features, stream.feature_names) == (None, 6, tuple("uvwxyz"))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, bool])
def test_arrays_keep_their_type(dtype, sample):
    X = np.abs(sample.X * 10).astype(dtype)
    assert {batch.dtype for batch, _ in ArrayStream(X, sample.groups, batch_size=100)} == {np.dtype(dtype)}


def test_several_attributes(crossed):
    X, groups = crossed
    frame = pd.DataFrame(groups, columns=["colour", "shape"])
    whole = GroupMoments.from_data(X, frame)
    for stream in (
        ArrayStream(X, frame, batch_size=50),
        FunctionStream(lambda: [(X[:9], frame[:9]), (X[9:], frame[9:])]),
    ):
        assert_same(GroupMoments.from_batches(stream), whole)
        assert list(next(iter(stream))[1].columns) == ["colour", "shape"]
    assert np.array_equal(ArrayStream(X, frame).labels, whole.labels)
    assert_same(GroupMoments.from_batches(ArrayStream(X, groups.tolist())), GroupMoments.from_data(X, groups))


def test_a_one_shot_stream_is_read_once(sample):
    stream = OneShotStream(iter(batches_of(sample.X, sample.groups)))
    assert stream.one_shot
    assert_same(GroupMoments.from_batches(stream), GroupMoments.from_data(sample.X, sample.groups))
    with pytest.raises(DataError, match=r"only once.* FunctionStream\(make\)"):
        GroupMoments.from_batches(stream)


def test_as_stream_knows_streams_functions_and_iterators(sample):
    batches = batches_of(sample.X, sample.groups)
    stream = ArrayStream(sample.X, sample.groups)
    assert as_stream(stream) is stream
    assert type(as_stream(lambda: batches)) is FunctionStream
    assert type(as_stream(iter(batches))) is OneShotStream
    whole = GroupMoments.from_data(sample.X, sample.groups)
    assert_same(GroupMoments.from_batches(lambda: batches), whole)
    for other, name in ((batches, "a list"), (sample.X, "a ndarray"), ("data.parquet", "a str")):
        with pytest.raises(DataError, match=rf"{name} is no stream\. Wrap .*ArrayStream.*FunctionStream"):
            as_stream(other)


# -- data on disk -----------------------------------------------------------------------------------------------------


def test_memory_maps_are_read_batch_by_batch(tmp_path):
    rng = np.random.default_rng(0)
    n, d = 50_000, 40
    written = np.memmap(tmp_path / "X.bin", dtype=np.float32, mode="w+", shape=(n, d))
    for a in range(0, n, 10_000):
        written[a : a + 10_000] = rng.normal(size=(10_000, d)) + 3
    groups = rng.integers(0, 2, n).astype(np.int8)
    written.flush()
    read = np.memmap(tmp_path / "X.bin", dtype=np.float32, mode="r", shape=(n, d))
    stream = ArrayStream(read, groups, batch_size=1000)
    tracemalloc.start()
    moments = GroupMoments.from_batches(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    batch = 8 * 1000 * d
    assert peak < 3 * batch < 0.15 * read.nbytes
    assert_same(moments, GroupMoments.from_data(read, groups))


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        *itertools.product(["h5py", "zarr"], ["text", "whole numbers", "booleans", "two columns"]),
        ("h5py", "fixed text"),  # which Zarr warns against
    ],
)
def test_data_sets_on_disk(library, kind, sample, tmp_path):
    groups = {
        "text": sample.groups.astype(object),
        "fixed text": sample.groups.astype("S7"),
        "whole numbers": np.unique(sample.groups, return_inverse=True)[1],
        "booleans": sample.groups == "azure",
        "two columns": np.stack([sample.groups == "azure", sample.X[:, 0] > 0], axis=1),
    }[kind]
    labels = sample.groups if "text" in kind else groups
    if library == "h5py":
        import h5py

        file = h5py.File(tmp_path / "data.h5", "w")
        X = file.create_dataset("X", data=sample.X, chunks=(64, 6))
        stored = file.create_dataset("groups", data=groups, chunks=(64, *groups.shape[1:]))
    else:
        import zarr

        folder = zarr.open_group(tmp_path / "data.zarr", mode="w")
        X = folder.create_array("X", data=sample.X, chunks=(64, 6))
        if kind == "text":
            stored = folder.create_array("groups", shape=(380,), chunks=(64,), dtype=str)
            stored[:] = groups
        else:
            stored = folder.create_array("groups", data=groups, chunks=(64, *groups.shape[1:]))
    stream = ArrayStream(X, stored, batch_size=100)
    whole = GroupMoments.from_data(sample.X, labels)
    assert (stream.n_rows, stream.n_features) == (380, 6)
    for _ in range(2):
        assert_same(GroupMoments.from_batches(stream), whole)
    assert np.array_equal(stream.labels, whole.labels)
    if library == "h5py":
        file.close()


# -- interruptions ----------------------------------------------------------------------------------------------------


class LostConnectionError(Exception):
    """An error that evenspan knows nothing of."""


def test_an_error_within_a_stream_reaches_the_caller_and_a_new_pass_begins_at_the_start(sample):
    error, passes = LostConnectionError("host gone"), []

    def batches():
        passes.append(0)
        for batch in batches_of(sample.X, sample.groups):
            if len(passes) == 1 and passes[0] == 4:
                raise error
            passes[-1] += 1
            yield batch

    stream = FunctionStream(batches)
    with pytest.raises(LostConnectionError) as caught:
        GroupMoments.from_batches(stream)
    assert caught.value is error
    assert_same(GroupMoments.from_batches(stream), GroupMoments.from_data(sample.X, sample.groups))
    assert passes == [4, 11]


# -- refusals ---------------------------------------------------------------------------------------------------------

X0, G0 = np.arange(24.0).reshape(8, 3) % 7, np.array(list("aabbccab"))
NAN = np.where(np.arange(24).reshape(8, 3) == 10, np.nan, X0)
FRAME = pd.DataFrame(X0, columns=["age", "income", "debt"])
WRONG = {
    "nan": ([(X0, G0), (NAN, G0)], DataError, ["batch 2 (rows 8:16)", "NaN or inf", "1 (1)", "Impute or drop"]),
    "more features": ([(X0, G0), (X0, G0), (X0[:, :2], G0)], DataError, ["batch 3 (rows 16:24)", "2 features", "3"]),
    "other features": ([(FRAME, G0), (FRAME[["debt", "age", "income"]], G0)], DataError,
                       ["batch 2", "'debt', 'age'", "before it ('age', 'income'"]),
    "text": ([(FRAME, G0), (FRAME.assign(age="old"), G0)], FeatureTypeError,
             ["batch 2 (rows 8:16)", "'age'", "Encode"]),
    "fewer groups": ([(X0, G0), (X0, G0[:5])], GroupError, ["batch 2 (rows 8:16)", "5 group labels for 8 rows"]),
    "missing label": ([(X0, G0), (X0, [*"aabbcca", None])], GroupError, ["batch 2 (rows 8:16)", "1 missing"]),
    "other labels": ([(X0, G0), (X0, np.arange(8))], GroupError, ["batch 2", "strings, whole numbers"]),
    "no pair": ([(X0, G0), X0], DataError, ["batch 2 (from row 8)", "a ndarray", "(X, groups)"]),
    "a triple": ([(X0, G0, G0)], DataError, ["batch 1", "a tuple"]),
    "an image": ([(X0[None], G0)], DataError, ["batch 1", "3 dimension(s)"]),
    "empty": ([], DataError, ["the stream is empty", "at least one batch"]),
    "empty batches": ([(X0[:0], G0[:0])] * 3, DataError, ["the stream is empty"]),
}  # fmt: skip


@pytest.mark.parametrize(("batches", "error", "words"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", [FunctionStream, OneShotStream])
def test_a_mistake_is_told_with_its_batch(kind, batches, error, words):
    stream = FunctionStream(lambda: batches) if kind is FunctionStream else OneShotStream(iter(batches))
    with pytest.raises(error) as caught:
        GroupMoments.from_batches(stream)
    assert type(caught.value) is error
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_batches_without_rows_are_passed_over():
    stream = FunctionStream(lambda: [(X0[:0], G0[:0]), (X0, G0), (X0[:0], G0[:0])])
    assert_same(GroupMoments.from_batches(stream), GroupMoments.from_data(X0, G0))


def test_what_is_no_function_of_batches_is_told():
    with pytest.raises(ConfigurationError, match=r"make is a list; needed is a function .*lambda: batches"):
        FunctionStream([(X0, G0)])


@pytest.mark.parametrize(
    ("X", "groups", "error", "said"),
    [
        (X0, G0[:5], GroupError, "5 rows but X has 8"),
        (X0, None, GroupError, "None; needed is one group label"),
        (X0[:, 0], G0, DataError, r"shape \(8,\); needed is a table"),
        (X0[:, :, None], G0, DataError, r"shape \(8, 3, 1\); .*X\.reshape\(len\(X\), -1\)"),
        (FRAME.assign(age="old"), G0, FeatureTypeError, "not numeric: 'age'"),
    ],
)
def test_tables_that_are_no_stream(X, groups, error, said):
    with pytest.raises(error, match=said):
        ArrayStream(X, groups)


def test_mistakes_in_tables_are_told_with_their_batch():
    with pytest.raises(DataError, match=r"batch 2 \(rows 3:6\): X contains NaN .* 1 \(1\)"):
        GroupMoments.from_batches(ArrayStream(NAN, G0, batch_size=3))
    with pytest.raises(GroupError, match=r"batch 3 \(rows 6:8\): .*1 missing"):
        GroupMoments.from_batches(ArrayStream(X0, [*"aabbcca", None], batch_size=3))
    with pytest.raises(DataError, match="the stream is empty"):
        list(ArrayStream(X0[:0], G0[:0]))
    with pytest.raises(ConfigurationError, match="batch_size="):
        ArrayStream(X0, G0, batch_size=0)


ROWS, LABELS = np.arange(12.0).reshape(6, 2), np.array(list("ababab"))
NO_BATCHES = {
    "text": ("rows.parquet", "batch 1 is a str; needed is"),
    "empty list": ([], "no batch was given"),
    "table": (ROWS, "batch 1 is a ndarray; needed is"),
    "one batch bare": ((ROWS, LABELS), "batch 1 is a ndarray; needed is"),
    "nothing as groups": ([(ROWS, None)], "sensitive_features is None"),
    "four parts": ([(ROWS, LABELS, None, None)], "batch 1 is a tuple; needed is"),
    "swapped": ([(LABELS, ROWS)], r"batch 1 \(rows 0:6\): X has 1 dimension"),
    "wider": ([(ROWS, LABELS), (ROWS[:, :1], LABELS)], r"batch 2 \(rows 6:12\): a batch has 1 features"),
    "short groups": ([(ROWS, LABELS[:5])], r"batch 1 .*has 5 rows but X has 6"),
}


@pytest.mark.parametrize("what", NO_BATCHES)
def test_what_is_no_batches_is_told(what):
    batches, said = NO_BATCHES[what]
    with pytest.raises((DataError, GroupError), match=said):
        GroupMoments.from_batches(batches)
