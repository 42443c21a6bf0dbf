"""What a block of the fair noisy power method costs, and what travels: what is measured, and what the numbers say.

Seconds of different machines cannot be compared: the method and the bare matrix products that no method can do without
are timed in turn on the same rows, and one worker and two on the same table. What travels is counted.
"""

import math
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from evenspan.core.dask_cluster import local_cluster, require
from evenspan.core.dask_tables import FAN_IN, DaskStream, chunk_sums, merged_sums
from evenspan.representation.block_readers import DaskReader, chunk_products
from evenspan.representation.noisy_power import FairPowerMethod, PowerOptions
from evenspan.representation.null_it_out import contrasts

from ...records import tidy

SEED, COMPONENTS = 2023, 10
#: Rows of a batch within a block.
BATCH = 1024
MOMENTS = "group moments"
PHASES = ("phase 1 (gap)", "phase 2 (components)")
#: What is measured with one worker and with two.
BOTH = (MOMENTS, *PHASES)


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
    options = PowerOptions(k, m, "all", "global")
    power = FairPowerMethod.begin(options, labels, contrasts(labels), np.zeros(d), np.dtype(np.float64), rng)
    if phase == PHASES[1]:
        power.U, power.phase = np.linalg.qr(rng.standard_normal((d, m + 1)))[0], "components"
    return power


def block(reader, power: FairPowerMethod) -> None:
    """One pass as one block: the sums, then the step."""
    reader.start_pass()
    power.add(reader.read(None, power.operand(), 2))
    power.end_block()


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
    """Clients of clusters on this machine by their number of workers."""
    with ExitStack() as stack:
        yield {w: stack.enter_context(local_cluster(w)) for w in workers}


def generated(d: int, rows: int, chunks: int):
    """A Dask array and its groups, made chunk by chunk from the number of the chunk wherever they are needed."""
    array = require("dask.array")

    def make(block_info=None):
        X, groups = points(rows, d, (SEED, block_info[None]["chunk-location"][0]))
        return np.column_stack([groups, X])

    whole = array.map_blocks(make, chunks=((rows,) * chunks, (d + 1,)), dtype=float, meta=np.empty((0, 0)))
    return whole[:, 1:], whole[:, 0]


def works(stream: DaskStream, client) -> dict[str, Callable[[], object]]:
    """What is measured on a cluster: the group moments, and one block of either phase."""
    found = {MOMENTS: partial(stream.table.map_reduce, chunk_sums, merged_sums, client)}
    for phase in PHASES:
        reader = DaskReader(stream, client, [0, 1])
        found[phase] = partial(block, reader, begun(reader.d, COMPONENTS, COMPONENTS, phase))
    return found


def side_by_side(clients: Mapping[int, object], table: dict, rounds: int) -> list[dict]:
    """One worker and two in turn on the same table. Making a chunk is work like summing it, and is counted."""
    stream, small, rows = DaskStream(*generated(**table)), DaskStream(*generated(table["d"], 100, 4)), []
    for client in clients.values():
        for work in works(small, client).values():
            work()  # what is imported at the first call is no one's time
    measured = {w: works(stream, clients[w]) for w in (1, 2)}
    size = {"n": table["rows"] * table["chunks"], "d": table["d"], "m": COMPONENTS, "chunks": table["chunks"]}
    for split in range(rounds):
        for method in BOTH:
            turn = (1, 2) if split % 2 == 0 else (2, 1)
            seconds = {w: timeit.timeit(measured[w][method], number=1) for w in turn}
            key = {"dataset": "generated", "method": method, "k": COMPONENTS, "split": split, "protocol": "workers"}
            rows += tidy({"seconds": seconds[1]}, **key, **size, workers=1)
            two = {"seconds": seconds[2], "speed-up": seconds[1] / seconds[2]}
            rows += tidy(two, **key, **size, workers=2)
    return rows


def serialised_sizes(stream: DaskStream) -> dict[str, dict[str, float]]:
    """Bytes of one partial sum and of the operand in the form in which a cluster sends them."""
    X, groups = next(iter(stream))
    found = {MOMENTS: {"bytes of a sum": _frames(chunk_sums(X, groups)), "bytes of the operand": 0.0}}
    for phase in PHASES:
        operand = begun(stream.n_features, COMPONENTS, COMPONENTS, phase).operand()
        sums = chunk_products(np.array([0, 1]), 2, X, groups, operand)
        found[phase] = {"bytes of a sum": _frames(sums), "bytes of the operand": _frames(operand)}
    return found


def _frames(value) -> float:
    frames = require("distributed.protocol").serialize_bytelist(value)
    return float(sum(memoryview(frame).nbytes for frame in frames))


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

    Beside it that of the bare products, and the median of the ratio of the two at the largest size.
    """
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


def edges(chunks: int, workers: int) -> int:
    """Sums that travel in a tree where those of every node are spread evenly: of f on w workers f - ceil(f / w)."""
    total, level = 0, chunks
    while level > 1:
        full, rest = divmod(level, FAN_IN)
        for size, count in ((FAN_IN, full), (rest, 1 if rest else 0)):
            total += count * (size - math.ceil(size / workers))
        level = full + (rest > 0)
    return total


def modelled_bytes(chunks: int, workers: int, sum_bytes: float, operand_bytes: float) -> float:
    """Bytes that workers send for one block: copies of the operand, sums in the tree, and the total to the client."""
    return (workers - 1) * operand_bytes + edges(chunks, workers) * sum_bytes + sum_bytes


def message_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Measured bytes beside the model, for each number of workers and features: medians over the repetitions."""
    some, keys = rows[rows["protocol"] == "messages"], ["method", "workers", "d", "chunks"]
    wide = some.groupby([*keys, "metric"])["value"].median().unstack("metric").reset_index()
    sizes = wide["bytes of a sum"], wide["bytes of the operand"]
    wide["model"] = list(map(modelled_bytes, wide["chunks"], wide["workers"], *sizes))
    return wide.assign(**{"measured / model": wide["bytes sent by workers"] / wide["model"]})
