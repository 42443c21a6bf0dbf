"""Group moments on a cluster: those of the whole table, to the last bit whatever the workers do, or a clear refusal."""

import logging
import os
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments
from evenspan.core import dask_cluster, dask_tables
from evenspan.core.errors import ClusterError, ConfigurationError, DataError, FeatureTypeError, GroupError
from evenspan.core.running import RunningMoments

from .samples import draw, two_attributes

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def mortal():
    """A cluster of two workers that a test may kill, and its client; the last test that gets it leaves it without."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
    ):
        yield cluster, own


def assert_close(a: GroupMoments, b: GroupMoments, rtol=1e-12):
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.feature_names == b.feature_names
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol)
    for S, T in zip(a.scatters, b.scatters, strict=True):
        np.testing.assert_allclose(S, T, rtol=rtol, atol=rtol * np.abs(T).max())
        np.testing.assert_array_equal(S, S.T)


def assert_identical(a: GroupMoments, b: GroupMoments):
    for name in ("labels", "counts", "means", "scatters"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def generated(n_chunks: int, pause: float = 0.0, rows: int = 50):
    """An array whose chunks are made on the workers from their number, each after a pause."""

    def make(block_info=None):
        number = block_info[None]["chunk-location"][0]
        time.sleep(pause)
        return np.random.default_rng(number).normal(size=(rows, 4)) + number

    return da.map_blocks(make, chunks=((rows,) * n_chunks, (4,)), dtype=float, meta=np.empty((0, 0)))


def frame(s):
    return pd.DataFrame(s.X, columns=list("uvwxyz")).assign(colour=s.groups)


WAYS = {
    "labels in memory": lambda s, c: (da.from_array(s.X, chunks=(53, -1)), s.groups),
    "a list of labels": lambda s, c: (da.from_array(s.X, chunks=(53, -1)), s.groups.tolist()),
    "groups cut elsewhere": lambda s, c: (da.from_array(s.X, chunks=(53, -1)), da.from_array(s.groups, chunks=31)),
    "columns cut too": lambda s, c: (da.from_array(s.X, chunks=(53, 4)), s.groups),
    "on the workers": lambda s, c: (c.persist(da.from_array(s.X, chunks=(53, -1))), da.from_array(s.groups, chunks=53)),
    "worked on first": lambda s, c: (c.persist(da.from_array(s.X - 1.0, chunks=(53, -1))) + 1.0, s.groups),
}
FRAMES = {
    "a column": lambda f: (f, "colour"),
    "a series": lambda f: (f[list("uvwxyz")], f["colour"]),
    "a frame": lambda f: (f[list("uvwxyz")], f[["colour"]]),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_moments_are_those_of_the_whole_array(way, sample, client):
    found = GroupMoments.from_dask(*way(sample, client), client=client)
    assert_close(found, GroupMoments.from_data(sample.X, sample.groups))


@pytest.mark.parametrize("way", FRAMES.values(), ids=FRAMES)
def test_moments_are_those_of_the_whole_frame(way, sample, client):
    table = dd.from_pandas(frame(sample), npartitions=6)
    found = GroupMoments.from_dask(*way(table), client=client)
    assert_close(found, GroupMoments.from_data(frame(sample)[list("uvwxyz")], sample.groups))


def test_several_attributes_and_groups_that_chunks_lack(crossed, client):
    X, groups = crossed
    order = np.lexsort(groups.T)  # sorted by group: most chunks have one group only
    X, groups = X[order], groups[order]
    columns = pd.DataFrame(groups, columns=["race", "sex"])
    whole = GroupMoments.from_data(X, columns)
    named = dd.from_pandas(pd.concat([pd.DataFrame(X, columns=list("abcdefgh")), columns], axis=1), npartitions=9)
    found = GroupMoments.from_dask(named, ["race", "sex"], client=client)
    assert found.attributes == ("race", "sex")
    assert_close(found, GroupMoments(*(getattr(whole, f) for f in ("labels", "counts", "means", "scatters")), tuple("abcdefgh")))  # fmt: skip  # noqa: E501
    array = da.from_array(groups, chunks=(29, 1))
    found = GroupMoments.from_dask(da.from_array(X, chunks=(40, -1)), array, client=client)
    np.testing.assert_array_equal(found.counts, whole.counts)
    np.testing.assert_allclose(found.scatters, whole.scatters, rtol=1e-10, atol=1e-10)


def test_far_from_zero_no_digits_are_lost_that_adding_stored_moments_would_lose(client):
    s = draw()
    X = np.round(s.X * 1024) / 1024 + 1e8  # exact: the shifted data are the shifted data
    exact = GroupMoments.from_data(X - 1e8, s.groups)
    found = GroupMoments.from_dask(da.from_array(X, chunks=(20, -1)), s.groups, client=client)
    parts = [GroupMoments.from_data(X[a : a + 20], s.groups[a : a + 20]) for a in range(0, len(X), 20)]
    added = sum(parts[1:], start=parts[0])

    def off(moments):
        return np.abs(moments.scatters - exact.scatters).max() / np.abs(exact.scatters).max()

    assert off(found) <= 1e-13
    assert off(added) > 1e-11, "the control must lose digits"


def test_empty_chunks_count_for_nothing(sample, client):
    table = dd.from_pandas(frame(sample), npartitions=5)
    late = table[table["u"] > table["u"].mean().compute()]
    some = frame(sample)
    some = some[some["u"] > some["u"].mean()]
    gone = late.partitions[:2]
    both = dd.concat([gone[gone["u"] > 1e9], late])
    found = GroupMoments.from_dask(both, "colour", client=client)
    assert_close(found, GroupMoments.from_data(some[list("uvwxyz")], some["colour"]))
    with pytest.raises(DataError, match="no rows in any of its 2 chunks"):
        GroupMoments.from_dask(gone[gone["u"] > 1e9], "colour", client=client)


# -- the same bits, whatever happens ------------------------------------------------------------------------------


def test_the_tree_alone_decides_the_bits(client):
    X, groups = generated(19), np.arange(950) % 3
    table = dask_tables.ChunkedTable(X, groups)
    level = []
    for block, labels in table.load():
        level.append(RunningMoments())
        level[-1].add(block, labels)
    in_a_row = RunningMoments()
    for part in level:
        in_a_row.combine(part)
    while len(level) > 1:
        grouped = [level[i : i + dask_tables.FAN_IN] for i in range(0, len(level), dask_tables.FAN_IN)]
        level = []
        for parts in grouped:
            level.append(RunningMoments())
            for part in parts:
                level[-1].combine(part)
    expected = GroupMoments(*level[0].result())
    for _ in range(3):
        assert_identical(GroupMoments.from_dask(X, groups, client=client), expected)
    assert not np.array_equal(GroupMoments(*in_a_row.result()).scatters, expected.scatters), "order changes bits"


def test_a_worker_killed_in_between_changes_no_bit(mortal):
    cluster, client = mortal
    client.wait_for_workers(2, timeout=30)
    groups = np.arange(800) % 3
    expected = GroupMoments.from_dask(generated(16), groups, client=client)
    killed = []

    def kill():
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        killed.append(time.monotonic())

    timer = threading.Timer(0.3, kill)
    timer.start()
    found = GroupMoments.from_dask(generated(16, pause=0.1), groups, client=client)
    assert killed
    assert time.monotonic() > killed[0], "the run was not over when the worker died"
    timer.join()
    assert_identical(found, expected)


def test_a_total_lost_before_it_is_fetched_is_computed_again(client, monkeypatch):
    groups, fetch, lost = np.arange(300) % 3, distributed.Future.result, []
    expected = GroupMoments.from_dask(generated(6), groups, client=client)

    def fail(times):
        def result(future, *args, **options):
            if len(lost) < times:
                lost.append(future.key)
                raise distributed.client.FutureCancelledError(future.key, "lost")
            return fetch(future, *args, **options)

        lost.clear()
        monkeypatch.setattr(distributed.Future, "result", result)

    fail(1)
    assert_identical(GroupMoments.from_dask(generated(6), groups, client=client), expected)
    assert len(lost) == 1
    fail(1000)
    with pytest.raises(ClusterError, match=f"given up .* in {dask_cluster.ATTEMPTS} attempts"):
        GroupMoments.from_dask(generated(6), groups, client=client)


def test_a_chunk_that_kills_its_workers_is_told(mortal, monkeypatch):
    cluster, client = mortal
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)

    def die(block_info=None):
        os._exit(1)

    deadly = da.map_blocks(die, chunks=((5, 5), (4,)), dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ClusterError, match=r"workers died again and again .* smaller chunks"):
        GroupMoments.from_dask(deadly, np.arange(10) % 2, client=client)


def test_workers_that_are_all_lost_are_told(mortal, monkeypatch):
    monkeypatch.setattr(dask_cluster, "PATIENCE", 0.6)
    monkeypatch.setattr(dask_cluster, "GLANCE", 0.1)
    cluster, client = mortal
    timer = threading.Timer(0.3, cluster.scale, args=[0])
    timer.start()
    with pytest.raises(ClusterError, match=r"no worker for 0\.6 seconds. Start workers with 'dask worker ADDRESS'"):
        GroupMoments.from_dask(generated(16, pause=0.2), np.arange(800) % 3, client=client)
    timer.join()


# -- which cluster ------------------------------------------------------------------------------------------------


def test_by_address_by_default_client_and_by_itself(client, monkeypatch):
    X, groups = generated(3), np.arange(150) % 3
    expected = GroupMoments.from_dask(X, groups, client=client)
    assert_identical(GroupMoments.from_dask(X, groups, client=client.scheduler.address), expected)
    with client.as_current():
        assert_identical(GroupMoments.from_dask(X, groups), expected)
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # one worker is as good as many
    assert_identical(GroupMoments.from_dask(X, groups), expected)
    with pytest.raises(ValueError, match="No client"):
        distributed.default_client()


def log_an_error() -> None:
    logging.getLogger("distributed.worker").error("Failed to communicate with scheduler during heartbeat.")


def test_what_workers_log_when_a_cluster_is_closed_is_not_written(capfd):
    with dask_cluster.local_cluster(1) as client:
        client.run(log_an_error)
    assert capfd.readouterr().err == ""


def test_clusters_that_do_not_answer_are_told(client):
    import dask

    X, groups = generated(3), np.arange(150) % 3
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(ClusterError, match=r"no scheduler answers at 'tcp://127\.0\.0\.1:9'"),
    ):
        GroupMoments.from_dask(X, groups, client="tcp://127.0.0.1:9")
    with pytest.raises(ClusterError, match=r"no scheduler answers at 'nowhere' .*missing port"):
        GroupMoments.from_dask(X, groups, client="nowhere")
    with distributed.Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(ClusterError, match="the client is closed"):
        GroupMoments.from_dask(X, groups, client=closed)
    with pytest.raises(ConfigurationError, match="client is a int; needed"):
        GroupMoments.from_dask(X, groups, client=3)


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    X = generated(2)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ConfigurationError, match=r"needs Dask, .* pip install 'evenspan\[scale\]'"):
        GroupMoments.from_dask(X, np.arange(100) % 2)


# -- what is refused ----------------------------------------------------------------------------------------------


def test_a_bad_chunk_is_named(sample, client):
    X, groups = sample.X.copy(), sample.groups
    X[210, 4] = np.nan
    cut = da.from_array(X, chunks=(100, -1))
    with pytest.raises(DataError, match=r"chunk 2 \(counted from 0, rows 200:300\): .*NaN or inf.* 4 \(1\)"):
        GroupMoments.from_dask(cut, groups, client=client)
    table = dd.from_pandas(frame(sample).assign(y=X[:, 4]), npartitions=4)
    with pytest.raises(DataError, match=r"chunk 2 \(counted from 0\): .*'y' \(1\)"):
        GroupMoments.from_dask(table, "colour", client=client)
    labels = groups.astype(object)
    labels[350] = None
    with pytest.raises(GroupError, match=r"chunk 3 .*1 missing value"):
        GroupMoments.from_dask(da.from_array(sample.X, chunks=(100, -1)), da.from_array(labels, chunks=90), client=client)  # noqa: E501  # fmt: skip


def test_chunks_that_are_not_what_was_said_are_named(client):
    groups = np.arange(150) % 3

    def narrow(block_info=None):
        number = block_info[None]["chunk-location"][0]
        return np.ones((50, 4 - (number == 1)))

    def fail(block_info=None):
        if block_info[None]["chunk-location"][0] == 2:
            raise OSError("the disk is gone")
        return np.ones((50, 4))

    for make, message in (
        (narrow, r"chunk 1 \(.*rows 50:100\): it has shape \(50, 3\); needed is \(rows, 4\), the same features"),
        (fail, r"chunk 2 \(.*rows 100:150\): it cannot be made: OSError: the disk is gone"),
    ):
        X = da.map_blocks(make, chunks=((50,) * 3, (4,)), dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(DataError, match=message):
            GroupMoments.from_dask(X, groups, client=client)
    mixed = da.concatenate([da.zeros((50,), chunks=50, dtype=int), da.from_array(np.array(["a"] * 50), chunks=50)])
    parts = [block.astype(object) for block in (mixed[:50].astype(int), mixed[50:])]
    with pytest.raises(GroupError, match=r"chunks 0 to 1 .* together: labels of different kinds"):
        GroupMoments.from_dask(generated(2), da.concatenate(parts), client=client)


def test_rows_that_cannot_be_matched_are_refused(sample, client):
    X = da.from_array(sample.X, chunks=(100, -1))
    unknown = X[X[:, 0] > 0]
    groups = da.from_array(sample.groups, chunks=100)
    with pytest.raises(DataError, match=r"sizes of X's chunks are unknown.*compute_chunk_sizes\(\)"):
        GroupMoments.from_dask(unknown, sample.groups, client=client)
    with pytest.raises(GroupError, match=r"X has 4 chunks and sensitive_features 2, of unknown sizes"):
        GroupMoments.from_dask(unknown, groups.rechunk(200), client=client)
    inside = sample.X[:, 0] > 0
    found = GroupMoments.from_dask(unknown, groups[X[:, 0] > 0], client=client)  # cut alike, though nobody knows where
    assert_close(found, GroupMoments.from_data(sample.X[inside], sample.groups[inside]))
    with pytest.raises(GroupError, match=r"chunk \d \(counted from 0\): there are \d+ group labels for its \d+"):
        GroupMoments.from_dask(unknown, groups, client=client)
    for short in (sample.groups[1:], groups[1:]):
        with pytest.raises(GroupError, match="sensitive_features has 379 rows but X has 380"):
            GroupMoments.from_dask(X, short, client=client)
    table = dd.from_pandas(frame(sample), npartitions=4)
    with pytest.raises(GroupError, match="X has 4 partitions and sensitive_features 2"):
        GroupMoments.from_dask(table[list("uv")], table["colour"].repartition(npartitions=2), client=client)
    with pytest.raises(GroupError, match="sensitive_features is a ndarray; beside a Dask data frame"):
        GroupMoments.from_dask(table, sample.groups, client=client)


def test_columns_and_kinds_that_cannot_be_used_are_refused(sample, client):
    table = dd.from_pandas(frame(sample), npartitions=4)
    with pytest.raises(GroupError, match=r"X has no column 'race' to take the groups from; its columns are u, v"):
        GroupMoments.from_dask(table, ["colour", "race"], client=client)
    with pytest.raises(FeatureTypeError, match="'colour'"):
        GroupMoments.from_dask(table, table["colour"], client=client)
    with pytest.raises(DataError, match=r"needed is a Dask array or data frame\. For a table in memory use"):
        GroupMoments.from_dask(sample.X, sample.groups, client=client)
    with pytest.raises(DataError, match=r"X has shape \(380,\)"):
        GroupMoments.from_dask(da.from_array(sample.X[:, 0]), sample.groups, client=client)
    with pytest.raises(DataError, match="0 feature"):
        GroupMoments.from_dask(table[["colour"]], "colour", client=client)
    with pytest.raises(GroupError, match="needed is"):
        GroupMoments.from_dask(da.from_array(sample.X), da.zeros((380, 2, 2)), client=client)


# -- the merge ----------------------------------------------------------------------------------------------------


def test_sums_combine_with_other_origins_labels_and_names():
    X, groups = two_attributes()
    columns = pd.DataFrame(X, columns=list("abcdefgh"))
    whole, left, right, nothing = (RunningMoments() for _ in range(4))
    whole.add(columns, groups)
    left.add(columns[:100], groups[:100])
    right.add(X[100:], groups[100:])
    nothing.combine(left)
    before = [part.copy() for part in left.total]
    nothing.combine(right)
    nothing.combine(RunningMoments())
    assert not np.array_equal(left.origin, right.origin)
    for kept, now in zip(before, left.total, strict=True):
        np.testing.assert_array_equal(kept, now)
    assert_close(GroupMoments(*nothing.result()), GroupMoments(*whole.result()), rtol=1e-11)
    other = RunningMoments()
    other.add(X[:, :5], groups)
    with pytest.raises(DataError, match="5 features"):
        left.combine(other)
