"""Tables in chunks: the moments of the whole table, here and on a cluster, and the chunks as a stream."""

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest

from evenspan import DaskStream, GroupMoments
from evenspan.core.errors import DataError, GroupError

NAMES = list("uvwxyz")


def assert_close(a: GroupMoments, b: GroupMoments, rtol=1e-12):
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.feature_names == b.feature_names
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol)
    np.testing.assert_allclose(a.scatters, b.scatters, rtol=rtol, atol=rtol * np.abs(b.scatters).max())


def frame(s):
    return pd.DataFrame(s.X, columns=NAMES).assign(colour=s.groups)


def chunked(s):
    return dd.from_pandas(frame(s), npartitions=6)


def parts(s):
    return da.from_array(s.X, chunks=(53, -1))


WAYS = {
    "labels in memory": lambda s: (parts(s), s.groups),
    "columns cut too": lambda s: (da.from_array(s.X, chunks=(53, 4)), da.from_array(s.groups, chunks=31)),
    "cut alike, nobody knows where": lambda s: (parts(s)[da.ones(380, chunks=53) > 0],
                                                da.from_array(s.groups, chunks=53)[da.ones(380, chunks=53) > 0]),
    "a series": lambda s: (chunked(s)[NAMES], chunked(s)["colour"]),
    "with empty chunks": lambda s: (dd.concat([chunked(s)[chunked(s)["u"] > 1e9], chunked(s)]), "colour"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_moments_and_batches_are_those_of_the_whole_table(way, sample):
    X, groups = WAYS[way](sample)
    rows = frame(sample)[NAMES] if hasattr(X, "columns") else sample.X
    assert_close(GroupMoments.from_dask(X, groups), GroupMoments.from_data(rows, sample.groups))
    together = GroupMoments.from_dask(X, groups, scatters="total")
    np.testing.assert_allclose(
        together.kept, GroupMoments.from_data(rows, sample.groups).scatter, rtol=1e-12, atol=1e-10
    )
    stream = DaskStream(X, groups)
    assert (stream.n_features, stream.feature_names) == (6, tuple(NAMES) if hasattr(X, "columns") else None)
    for _ in range(2):
        assert_close(GroupMoments.from_batches(stream), GroupMoments.from_data(rows, sample.groups))


def test_a_cluster_gives_the_same_bits(sample):
    X, groups = WAYS["labels in memory"](sample)
    here = GroupMoments.from_dask(X, groups)
    own = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with own as cluster, distributed.Client(cluster):
        there = GroupMoments.from_dask(X, groups)
    np.testing.assert_array_equal(here.scatters, there.scatters)


def test_mistakes_are_told(sample):
    X, groups = sample.X.copy(), sample.groups
    X[210, 4] = np.nan
    cut, table = da.from_array(X, chunks=(100, -1)), dd.from_pandas(frame(sample), npartitions=4)
    unknown = cut[cut[:, 0] > 0]
    for wrong, labels, error, words in (
        (cut, groups, DataError, r"NaN or inf.* 4 \(1\)"),
        (cut, groups[1:], GroupError, "sensitive_features has 379 rows but X has 380"),
        (unknown, da.from_array(groups, chunks=200), GroupError, "X has 4 chunks and sensitive_features 2, of unknown"),
        (table, ["colour", "race"], GroupError, "X has no column 'race'"),
        (sample.X, groups, DataError, r"needed is a Dask array .* For a table in memory use"),
    ):
        with pytest.raises(error, match=words):
            GroupMoments.from_dask(wrong, labels)
