"""Streams: the moments of the whole in any container; interruptions, and mistakes by their batch."""

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from evenspan import GroupMoments
from evenspan.core.errors import DataError, GroupError
from evenspan.core.streams import ArrayStream, FunctionStream, OneShotStream, as_stream

from .test_moments import assert_same


def batches_of(X, groups, size=37) -> list:
    return [(X[a : a + size], groups[a : a + size]) for a in range(0, len(X), size)]


WAYS = {
    "array": lambda X, groups: ArrayStream(X, groups, batch_size=37),
    "frame": lambda X, groups: ArrayStream(pd.DataFrame(X), pd.Series(groups, index=range(380, 0, -1)), batch_size=37),
    "sparse": lambda X, groups: ArrayStream(sparse.coo_array(X), groups, batch_size=37),
    "function": lambda X, groups: FunctionStream(lambda: batches_of(X.tolist(), groups.tolist())),
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
    with pytest.raises(DataError, match=r"a list is no stream\. Wrap .*ArrayStream.*FunctionStream"):
        as_stream(batches)


@pytest.mark.parametrize("library", ["h5py", "zarr"])
def test_data_sets_on_disk(library, sample, tmp_path):
    if library == "h5py":
        folder = h5py.File(tmp_path / "data.h5", "w")
        X = folder.create_dataset("X", data=sample.X, chunks=(64, 6))
        stored = folder.create_dataset("groups", data=sample.groups.astype(object), chunks=(64,))
    else:
        folder = zarr.open_group(tmp_path / "data.zarr", mode="w")
        X = folder.create_array("X", data=sample.X, chunks=(64, 6))
        stored = folder.create_array("groups", shape=(380,), chunks=(64,), dtype=str)
        stored[:] = sample.groups.astype(object)
    stream, whole = ArrayStream(X, stored, batch_size=100), GroupMoments.from_data(sample.X, sample.groups)
    assert (stream.n_rows, stream.n_features) == (380, 6)
    assert_same(GroupMoments.from_batches(stream), whole)
    assert np.array_equal(stream.labels, whole.labels)
    if library == "h5py":
        folder.close()


X0, G0 = np.arange(24.0).reshape(8, 3) % 7, np.array(list("aabbccab"))
FRAME = pd.DataFrame(X0, columns=["age", "income", "debt"])
WRONG = {
    "other features": ([(FRAME, G0), (FRAME[["debt", "age", "income"]], G0)], DataError,
                       ["batch 2", "'debt', 'age'", "before it ('age', 'income'"]),
    "more groups": ([(X0, G0), (X0[:5], G0)], GroupError, ["batch 2", "8 group labels for 5 rows"]),
    "no pair": ([(X0, G0), X0], DataError, ["batch 2", "a ndarray", "(X, groups)"]),
    "empty": ([(X0[:0], G0[:0])] * 3, DataError, ["the stream is empty", "at least one batch"]),
}  # fmt: skip


@pytest.mark.parametrize(("batches", "error", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_told_with_its_batch(batches, error, words):
    with pytest.raises(error) as caught:
        GroupMoments.from_batches(FunctionStream(lambda: batches))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_tables_that_are_no_stream():
    for X, groups, said in (
        (X0, G0[:5], "5 rows but X has 8"),
        (X0, None, "None; needed is one group label"),
        (X0[:, :, None], G0, r"shape \(8, 3, 1\); .*X\.reshape\(len\(X\), -1\)"),
    ):
        with pytest.raises((DataError, GroupError), match=said):
            ArrayStream(X, groups)
