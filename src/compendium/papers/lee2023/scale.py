"""What a block of the fair noisy power method costs, beside its bare matrix products, and what travels of moments."""

import logging
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from evenspan.core.dask import chunk_sums
from evenspan.core.moments import GroupMoments
from evenspan.representation.noisy_power import FairPowerMethod
from evenspan.representation.null_it_out import contrasts

from ...records import tidy

SEED, COMPONENTS, BATCH = 2023, 10, 1024  # rows of a batch within a block
MOMENTS = "group moments"
PHASES = ("phase 1 (gap)", "phase 2 (components)")


def points(n: int, d: int, seed) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two groups, 30 and 70 %, whose means and covariances differ along the first features."""
    rng = np.random.default_rng(seed)
    groups = (rng.random(n) < 0.3).astype(np.int64)
    X = rng.standard_normal((n, d))
    X[:, : d // 10] *= 2.0
    X[groups == 1, : d // 20] += 1.0
    return X, groups


def begun(d: int, k: int, m: int, phase: str) -> FairPowerMethod:
    """The method before its first block, or, for the second phase, with m + 1 random directions removed."""
    labels, rng = np.array([0, 1]), np.random.default_rng(SEED)
    options = {"constraint": "all", "center": "overall"}
    power = FairPowerMethod.begin(k, m, labels, contrasts(labels), np.zeros(d), np.dtype(np.float64), rng, **options)
    if phase == PHASES[1]:
        power.U, power.phase = np.linalg.qr(rng.standard_normal((d, m + 1)))[0], "components"
    return power


def block(reader, power: FairPowerMethod) -> None:
    """One pass as one block: the sums, then the step."""
    reader.start_pass()
    power.step(reader.read(None, power.operand(), 2))


def products(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The sum of X'(XW) over the same batches, and nothing else."""
    total = np.zeros(W.shape)
    for start in range(0, len(X), BATCH):
        batch = X[start : start + BATCH]
        total += batch.T @ (batch @ W)
    return total


def processor_seconds(work: Callable[[], object]) -> float:
    """The least processor time of three calls, on one thread: what other programs do meanwhile does not count."""
    with threadpool_limits(1):
        return min(timeit.repeat(work, timer=time.process_time, number=1, repeat=3))


@contextmanager
def clusters(workers: tuple[int, ...]) -> Iterator[Mapping[int, object]]:
    """Clients of clusters on this machine by their number of workers: processes with one thread each."""
    import distributed
    from dask import config

    # What workers log when they are closed is that the scheduler ended before their last heartbeat.
    quiet = {"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}
    # Port 0 is any free one: that of the dashboard may be taken by another cluster.
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with config.set(quiet), ExitStack() as stack:
        own = [stack.enter_context(distributed.LocalCluster(w, processes=True, **options)) for w in workers]
        clients = [stack.enter_context(distributed.Client(one, set_as_default=False)) for one in own]
        yield dict(zip(workers, clients, strict=True))


def generated(d: int, rows: int, chunks: int):
    """A Dask array and its groups, made chunk by chunk from the number of the chunk wherever they are needed."""
    import dask.array

    def make(block_info=None):
        X, groups = points(rows, d, (SEED, block_info[None]["chunk-location"][0]))
        return np.column_stack([groups, X])

    whole = dask.array.map_blocks(make, chunks=((rows,) * chunks, (d + 1,)), dtype=float, meta=np.empty((0, 0)))
    return whole[:, 1:], whole[:, 0]


def moments_on(client, table: tuple) -> GroupMoments:
    """The group moments of a table, summed by the workers of one of several clusters."""
    with client.as_current():
        return GroupMoments.from_dask(*table)


def side_by_side(clients: Mapping[int, object], table: dict, rounds: int) -> list[dict]:
    """One worker and two in turn on the same table. Making a chunk is work like summing it, and is counted."""
    whole, small, rows = generated(**table), generated(table["d"], 100, 4), []
    for client in clients.values():
        moments_on(client, small)  # what is imported at the first call is no one's time
    size = {"n": table["rows"] * table["chunks"], "d": table["d"], "m": COMPONENTS, "chunks": table["chunks"]}
    for split in range(rounds):
        turn = (1, 2) if split % 2 == 0 else (2, 1)
        seconds = {w: timeit.timeit(lambda w=w: moments_on(clients[w], whole), number=1) for w in turn}
        key = {"dataset": "generated", "method": MOMENTS, "k": COMPONENTS, "split": split, "protocol": "workers"}
        rows += tidy({"seconds": seconds[1]}, **key, **size, workers=1)
        two = {"seconds": seconds[2], "speed-up": seconds[1] / seconds[2]}
        rows += tidy(two, **key, **size, workers=2)
    return rows


def sum_bytes(table: tuple) -> float:
    """Bytes of the sums of one chunk in the form in which a cluster sends them."""
    from distributed.protocol import serialize_bytelist

    X, groups = (part.blocks[0].compute() for part in table)
    return float(sum(memoryview(frame).nbytes for frame in serialize_bytelist(chunk_sums((X, groups)))))


def sent(client) -> int:
    """Bytes that the workers of a cluster have sent so far, as they count them."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def _by_axis(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """The size that grows, the phase and the metric, with their rows, in which the size is the index."""
    some = rows[rows["protocol"].str.startswith("against ")]
    for (protocol, phase, metric), group in some.groupby(["protocol", "method", "metric"], sort=False):
        axis = protocol.removeprefix("against ")
        yield axis, phase, metric, group.set_index(group[axis].astype("Int64").rename("size"))


def exponents(rows: pd.DataFrame) -> pd.DataFrame:
    """Slope of log time over log size for each phase and axis, mean over the repetitions with its 95 % interval.

    Beside it that of the bare products, and the median of the ratio of the two at the largest size."""
    found = {}
    for axis, phase, metric, group in _by_axis(rows):
        ends = {"from": int(group.index.min()), "to": int(group.index.max())}
        line = found.setdefault((axis, phase), {"axis": axis, "phase": phase} | ends)
        if metric == "time / bare products":
            line[metric] = float(group.loc[[group.index.max()], "value"].median())
            continue
        slopes = [np.polyfit(np.log(one.index), np.log(one["value"]), 1)[0] for _, one in group.groupby("split")]
        line["block" if metric == "seconds" else "bare products"] = mean = np.mean(slopes, axis=0)
        if metric == "seconds" and len(slopes) > 1:
            reach = stats.t.ppf(0.975, len(slopes) - 1) * stats.sem(slopes)
            line |= {"low": mean - reach, "high": mean + reach}
    return pd.DataFrame(found.values())


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Median, smallest and largest time of a block at each size as a multiple of that at the smallest size."""
    frames = []
    for axis, phase, metric, group in _by_axis(rows[rows["metric"].str.startswith("seconds")]):
        table = group.groupby("size")["value"].agg(median="median", smallest="min", largest="max")
        table = (table / table["median"].iloc[0]).reset_index()
        what = "block" if metric == "seconds" else "bare products"
        growth = table["size"] / table["size"][0]
        frames.append(table.assign(axis=axis, phase=phase, what=what, growth=growth))
    return pd.concat(frames, ignore_index=True)


def message_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Measured bytes beside a model, for each number of workers and features: medians over the repetitions.

    Workers send one sum of each pair that is on two workers, as chance has it, and the total."""
    some = rows[rows["protocol"] == "messages"]
    keys = ["method", "workers", "d", "chunks"]
    wide = some.groupby([*keys, "metric"], sort=False)["value"].median().unstack("metric").reset_index()
    wide["model"] = ((wide["chunks"] - 1) * (1.0 - 1.0 / wide["workers"]) + 1.0) * wide["bytes of a sum"]
    wide["measured / model"] = wide["bytes sent by workers"] / wide["model"]
    return wide.sort_values(["method", "workers", "d"], ignore_index=True)
