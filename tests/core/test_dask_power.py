"""The noisy power method on a cluster: the same answer as in one process, the same bits whatever the workers do."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments
from evenspan.core import dask_cluster
from evenspan.core.dask_tables import DaskStream
from evenspan.core.errors import ClusterError, ConfigurationError, DataError, GroupError
from evenspan.representation import StreamingFairPCA
from evenspan.representation import block_readers as block_reader
from evenspan.representation.block_readers import DaskReader
from evenspan.representation.noisy_power import BlockSums
from evenspan.representation.streaming_fair_pca import StreamEndedWarning

from .samples import angle, draw, group_gap, size, two_attributes

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

OPTIONS = {"n_components": 2, "n_gap_directions": 1, "n_blocks": 3}
STATE = ("components_", "nullified_", "gap_directions_", "mean_", "explained_variance_", "group_counts_")


def stretched(seed=0, **options):
    """Two groups whose means and covariances differ, with clear leading directions."""
    s = draw(counts=(230, 150), d=6, names=("woman", "man"), seed=seed, **options)
    scales = np.array([6.0, 5.0, 3.0, 1.0, 1.0, 0.5])
    return s.X / s.X.std(axis=0) * scales, s.groups


def assert_same(a, b, rtol=1e-10):
    assert angle(a.components_.T, b.components_.T) < 1e-7
    assert angle(a.nullified_.T, b.nullified_.T) < 1e-7
    for name in ("explained_variance_", "group_counts_", "mean_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol)


def assert_identical(a, b):
    for name in STATE:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


WAYS = {
    "labels in memory": lambda X, g, c: (da.from_array(X, chunks=(53, -1)), g),
    "groups cut elsewhere": lambda X, g, c: (da.from_array(X, chunks=(53, -1)), da.from_array(g, chunks=31)),
    "on the workers": lambda X, g, c: (c.persist(da.from_array(X, chunks=(53, 4))), da.from_array(g, chunks=53)),
}


@pytest.mark.parametrize(
    ("way", "center"), list(zip(WAYS.values(), ["global", "none", "group"], strict=True)), ids=WAYS
)
def test_passes_on_a_cluster_are_passes(way, center, client, monkeypatch):
    monkeypatch.setattr(block_reader, "STEP_ENTRIES", 100)
    X, groups = stretched()
    X = X + 3.0
    local = StreamingFairPCA(**OPTIONS, center=center).fit(X, sensitive_features=groups)
    with client.as_current():
        table, labels = way(X, groups, client)
        far = StreamingFairPCA(**OPTIONS, center=center).fit(table, sensitive_features=labels)
    assert_same(far, local)
    assert [entry["n_rows"] for entry in far.history_] == [380] * 6
    T = X - X.mean(axis=0)
    plain = np.linalg.svd(T, full_matrices=False)[2][:2]
    assert group_gap(T @ far.components_.T, groups) <= 1e-7 * size(X) < group_gap(T @ plain.T, groups)


def test_frames_bring_their_names_and_groups(client):
    X, groups = stretched()
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    local = StreamingFairPCA(**OPTIONS).fit(table, sensitive_features=groups)
    cut = dd.from_pandas(table.assign(sex=groups), npartitions=5)
    far = StreamingFairPCA(**OPTIONS).fit(DaskStream(cut, "sex", client=client))
    assert far.feature_names_in_.tolist() == list("uvwxyz")
    assert_same(far, local)


def test_several_attributes(client):
    X, groups = two_attributes()
    options = {"n_components": 1, "n_gap_directions": 1, "n_blocks": 2}
    local = StreamingFairPCA(**options).fit(X, sensitive_features=groups)
    stream = DaskStream(da.from_array(X, chunks=(61, -1)), da.from_array(groups, chunks=(61, 1)), client=client)
    assert_same(StreamingFairPCA(**options).fit(stream), local, rtol=1e-9)


def test_a_block_is_whole_chunks(client):
    X, groups = stretched()
    table = dd.from_pandas(pd.DataFrame(X).assign(sex=groups).rename(columns=str), npartitions=8)  # of unknown sizes
    for stream in (DaskStream(da.from_array(X, chunks=(50, -1)), groups, client=client), DaskStream(table, "sex", client=client)):  # noqa: E501  # fmt: skip
        sizes = [len(batch) for batch, _ in stream]
        far = StreamingFairPCA(2, 1, block_size=(60, 120), n_blocks=3).fit(stream)
        seen = [entry["n_rows"] for entry in far.history_]
        assert seen == [sum(sizes[a:b]) for a, b in ((0, 2), (2, 4), (4, 6), (0, 3), (3, 6), (6, 8))]
    with pytest.warns(StreamEndedWarning, match="4 of 5 blocks of 60 rows"):
        StreamingFairPCA(2, 1, block_size=60, n_blocks=5).fit(stream)


def test_precision_is_that_of_the_data(client):
    X, groups = stretched()
    for dtype, expected in ((np.float32, np.float32), (np.uint8, np.float32), (np.int64, np.float64)):
        table = da.from_array((X * 5 + 128).clip(0, 255).astype(dtype), chunks=(100, -1))
        far = StreamingFairPCA(**OPTIONS).fit(DaskStream(table, groups, client=client))
        assert far.gap_directions_.dtype == expected


# -- the same bits ------------------------------------------------------------------------------------------------


def generated(n_chunks, pause=0.0, until=None):
    """An array whose chunks are made on the workers, each after a pause, which ends when there is a file ``until``."""

    def make(block_info=None):
        number = block_info[None]["chunk-location"][0]
        if not (until and os.path.exists(until)):
            time.sleep(pause)
        return np.random.default_rng(number).normal(size=(40, 6)) * [5, 4, 3, 1, 1, 1] + number % 2

    return da.map_blocks(make, chunks=((40,) * n_chunks, (6,)), dtype=float, meta=np.empty((0, 0)))


def test_a_worker_killed_in_between_and_fewer_workers_change_no_bit(client, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "GLANCE", 0.1)
    groups = (np.arange(640) // 40) % 2
    expected = StreamingFairPCA(**OPTIONS).fit(DaskStream(generated(16), groups, client=client))
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as one,
    ):
        assert_identical(StreamingFairPCA(**OPTIONS).fit(DaskStream(generated(16), groups, client=one)), expected)
        killed = []

        def kill():
            os.kill(cluster.workers[0].pid, signal.SIGKILL)  # the only one: what was sent to it is lost as well
            killed.append(time.monotonic())
            (tmp_path / "killed").touch()

        timer = threading.Timer(0.5, kill)  # a pass takes more than twice as long until then
        timer.start()
        slow = generated(16, pause=0.08, until=str(tmp_path / "killed"))
        again = StreamingFairPCA(**OPTIONS).fit(DaskStream(slow, groups, client=one))
        assert killed
        assert time.monotonic() > killed[0]
        timer.join()
    assert_identical(again, expected)


@pytest.mark.parametrize("blocks", [2, 4], ids=["in phase 1", "in phase 2"])
def test_a_checkpoint_goes_on_at_the_first_row_of_a_chunk(blocks, client, tmp_path, monkeypatch):
    X, groups = stretched()
    options = {"n_components": 2, "n_gap_directions": 1, "block_size": 50, "n_blocks": 3}
    stream = DaskStream(da.from_array(X, chunks=(50, -1)), groups, client=client)
    whole = StreamingFairPCA(**options).fit(stream)
    read, reads = DaskReader.read, []

    def lose(self, *args):
        reads.append(args)
        if len(reads) > blocks:
            raise KeyboardInterrupt
        return read(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(DaskReader, "read", lose)
        with pytest.raises(KeyboardInterrupt):
            StreamingFairPCA(**options).fit(stream, checkpoint=tmp_path / "run.npz")
    if blocks == 2:  # two blocks of 50 are done, and no chunk begins there
        other = da.from_array(X, chunks=((50, 30, 100, 200), -1))
        with pytest.raises(DataError, match=r"row 100, where the blocks done so far end, is not the first of a chunk"):
            StreamingFairPCA(**options).fit(DaskStream(other, groups, client=client), checkpoint=tmp_path / "run.npz")
    resumed = StreamingFairPCA(**options).fit(stream, checkpoint=tmp_path / "run.npz")
    assert_identical(resumed, whole)


# -- a stream like any other --------------------------------------------------------------------------------------


def test_it_is_read_chunk_by_chunk_where_a_stream_is_wanted(client):
    X, groups = stretched()
    expected = GroupMoments.from_data(X, groups)
    for stream in (
        DaskStream(da.from_array(X, chunks=(70, 4)), groups),
        DaskStream(da.from_array(X, chunks=(70, 4)), da.from_array(groups, chunks=50)),
        DaskStream(client.persist(da.from_array(X, chunks=(70, -1))), groups, client=client),
    ):
        assert [len(batch) for batch, _ in stream] == [70] * 5 + [30]
        assert [len(batch) for batch, _ in stream.from_row(150)] == [60, 70, 70, 30]
        found = GroupMoments.from_batches(stream)
        np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-11, atol=1e-9)
        assert (stream.n_rows, stream.n_features) == (380, 6)
        with pytest.raises(DataError, match="has 380 rows; row 400"):
            next(stream.from_row(400))
    np.testing.assert_array_equal(np.vstack([batch for batch, _ in stream.from_row(150)]), X[150:])

    def fail(block_info=None):
        if block_info[None]["chunk-location"][0] == 1:
            raise OSError("the disk is gone")
        return np.ones((40, 6))

    broken = da.map_blocks(fail, chunks=((40,) * 3, (6,)), dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(DataError, match=r"chunk 1 \(counted from 0, rows 40:80\): it cannot be made: OSError"):
        list(DaskStream(broken, np.arange(120) % 2))


# -- what is refused ----------------------------------------------------------------------------------------------


def test_bad_chunks_and_surprising_groups_are_named(client):
    X, groups = stretched()
    X[210, 4] = np.nan
    with pytest.raises(DataError, match=r"chunk 2 \(counted from 0, rows 200:300\): NaN or inf in column .* 4 \(1\)"):
        StreamingFairPCA(**OPTIONS).fit(DaskStream(da.from_array(X, chunks=(100, -1)), groups, client=client))
    X[210, 4] = 0.0
    late = np.where(np.arange(380) < 300, groups.astype("U9"), "unheard")
    stream = DaskStream(da.from_array(X, chunks=(100, -1)), da.from_array(late, chunks=100), client=client)
    with pytest.raises(GroupError, match=r"chunk 3 .*group 'unheard' appears for the first time"):
        StreamingFairPCA(**OPTIONS, groups=["woman", "man"]).fit(stream)
    assert StreamingFairPCA(1, 1, n_blocks=1).fit(stream).group_labels_.tolist() == ["man", "unheard", "woman"]
    with pytest.raises(ConfigurationError, match="given with a stream"):
        StreamingFairPCA(**OPTIONS).fit(stream, sensitive_features=groups)
    with pytest.raises(GroupError, match="sensitive_features is None"):
        StreamingFairPCA(**OPTIONS).fit(da.from_array(X, chunks=(100, -1)))
    table = dd.from_pandas(pd.DataFrame(X, columns=list("uvwxyz")).assign(sex=groups), npartitions=3)
    with pytest.raises(DataError, match="no rows in any of its 3 chunks"):
        StreamingFairPCA(**OPTIONS).fit(DaskStream(table[table["u"] > 1e9], "sex", client=client))
    with pytest.raises(DataError, match="no rows in any of its 3 chunks"):
        StreamingFairPCA(**OPTIONS, groups=["woman", "man"]).fit(DaskStream(table[table["u"] > 1e9], "sex", client=client))  # noqa: E501  # fmt: skip


def test_empty_chunks_are_no_rows(client):
    X, groups = stretched()
    table = dd.from_pandas(pd.DataFrame(X, columns=list("uvwxyz")).assign(sex=groups), npartitions=4)
    gone = table.partitions[:1]
    both = dd.concat([gone[gone["u"] > 1e9], table])
    far = StreamingFairPCA(**OPTIONS).fit(DaskStream(both, "sex", client=client))
    assert_same(far, StreamingFairPCA(**OPTIONS).fit(X, sensitive_features=groups))


def test_a_total_leaves_its_parts_as_they_are():
    # On a cluster a part that was needed twice would otherwise count twice.
    parts = [BlockSums(np.full(2, x), np.full((2, 3), x), np.full((1, 3, 2), x), x, int(x)) for x in (1.0, 2.0, 4.0)]
    for _ in range(2):
        total = block_reader.added(parts)
        for name in ("counts", "sums", "products", "squares", "rows"):
            assert np.all(getattr(total, name) == 7)
            assert [np.max(getattr(part, name)) for part in parts] == [1, 2, 4]


def test_a_lost_scheduler_is_told(monkeypatch):
    groups = (np.arange(640) // 40) % 2
    monkeypatch.setattr(dask_cluster, "GLANCE", 0.1)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
    ):
        timer = threading.Timer(0.4, own.shutdown)
        timer.start()
        with pytest.raises(ClusterError, match=r"connect a new client and repeat the call|Make a new one"):
            StreamingFairPCA(**OPTIONS).fit(DaskStream(generated(16, pause=0.1), groups, client=own))
        timer.join()
