"""What a block of the fair noisy power method costs against n, d, k, m and the number of workers.

Seconds of different machines cannot be compared. Within every repetition the method and the bare matrix products that
no method can do without are timed in turn on the same rows, in processor seconds of one thread; exponents are fitted
within one repetition. One worker and two take turns on the same generated table, by the clock on the wall. What travels
between workers is counted, not timed.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.dask_cluster import local_cluster, require
from evenspan.core.dask_tables import DaskStream, chunk_sums, merged_sums
from evenspan.core.errors import ConfigurationError
from evenspan.core.streams import ArrayStream
from evenspan.representation.block_readers import BlockReader, DaskReader, chunk_products
from evenspan.representation.noisy_power import FairPowerMethod, PowerOptions
from evenspan.representation.null_it_out import contrasts

from .lee2023_scale_model import BOTH, MOMENTS, PHASES

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "n", "d", "m", "workers", "chunks"]
SEED, COMPONENTS = 2023, 10
BATCH = 1024
GENERATED = "generated"
AXES = ("n", "d", "k", "m")
#: One size is varied, the others stay: of the full run, and of every build of the book.
BASE = {"n": 4096, "d": 1024, "k": 16, "m": 16}
SIZES = {
    "n": (1024, 2048, 4096, 8192, 16384),
    "d": (256, 512, 1024, 2048, 4096),
    "k": (16, 32, 64, 128, 256),
    "m": (16, 32, 64, 128, 256),
}
SMALL_BASE = {"n": 2048, "d": 256, "k": 8, "m": 8}
SMALL_SIZES = {"n": (1024, 2048, 4096), "d": (128, 256, 512), "k": (8, 16, 32), "m": (8, 16, 32)}
REPETITIONS, SMALL_REPETITIONS = 7, 3
#: The table whose chunks are made by the workers and never stored: 10.24 GB of double precision.
TABLE = {"d": 200, "rows": 50_000, "chunks": 128}
SMALL_TABLE = {"d": 100, "rows": 5_000, "chunks": 8}
ROUNDS, SMALL_ROUNDS = 3, 1
#: Counting messages: workers, and numbers of features.
WORKERS, FEATURES = (1, 2, 4), (50, 100, 200)
SMALL_FEATURES = (50,)
CHUNKS, CHUNK_ROWS = 64, 50


def tasks() -> list[dict]:
    """One unit of work for each size that is varied, one for two workers, one for the messages."""
    return [{"study": name} for name in (*AXES, "workers", "messages")]


def run_task(study: str) -> pd.DataFrame:
    """One study with the sizes of the full run."""
    if study in AXES:
        return growth(study, BASE, SIZES[study], REPETITIONS)
    with clusters((1, 2) if study == "workers" else WORKERS) as clients:
        return side_by_side(clients, TABLE, ROUNDS) if study == "workers" else messages(clients, FEATURES, 3)


def run(k: int) -> pd.DataFrame:
    """All studies, small enough for every build of the book."""
    if k != COMPONENTS:
        raise ConfigurationError(f"k={k}; the generated table is reduced to {COMPONENTS} components.")
    frames = [growth(axis, SMALL_BASE, SMALL_SIZES[axis], SMALL_REPETITIONS) for axis in AXES]
    with clusters((1, 2)) as clients:
        frames += [side_by_side(clients, SMALL_TABLE, SMALL_ROUNDS), messages(clients, SMALL_FEATURES, 1)]
    return pd.concat(frames, ignore_index=True)


# -- one process --------------------------------------------------------------------------------------------------


def growth(axis: str, base: dict, sizes: tuple[int, ...], repetitions: int) -> pd.DataFrame:
    """Seconds of a block of either phase, and of the bare products with the same rows, while one size grows."""
    rows, cases = [], [base | {axis: size} for size in sizes]
    made = [points(case["n"], case["d"], SEED) for case in cases]
    phases = {"k": PHASES[1:], "m": PHASES[:1]}.get(axis, PHASES)
    for repetition in range(-1, repetitions):  # the first round warms up and is not kept
        for case, (X, groups) in zip(cases, made, strict=True):
            for phase in phases:
                power = begun(case["d"], case["k"], case["m"], phase)
                reader = BlockReader(ArrayStream(X, groups, batch_size=BATCH), power.labels)
                W = power.operand().W
                seconds = processor_seconds(lambda r=reader, p=power: block(r, p))
                bare = processor_seconds(lambda X=X, W=W: products(X, W))
                values = {"seconds": seconds, "seconds, bare products": bare, "time / bare products": seconds / bare}
                rows += [
                    (GENERATED, phase, case["k"], repetition, f"against {axis}", metric, value, case["n"], case["d"],
                     case["m"], 0, 0)
                    for metric, value in values.items() if repetition >= 0
                ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


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


def processor_seconds(work: Callable[[], object], attempts: int = 3) -> float:
    """The least processor time of several calls, on one thread: what other programs do meanwhile does not count."""
    found = []
    with threadpool_limits(1):
        for _ in range(attempts):
            start = time.process_time()
            work()
            found.append(time.process_time() - start)
    return min(found)


# -- workers ------------------------------------------------------------------------------------------------------

Clients = Mapping[int, object]


@contextmanager
def clusters(workers: tuple[int, ...]) -> Iterator[Clients]:
    """Clusters on this machine by their number of workers."""
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

    def one_block(phase: str):
        reader = DaskReader(stream, client, [0, 1])
        power = begun(reader.d, COMPONENTS, COMPONENTS, phase)
        return lambda: block(reader, power)

    return {MOMENTS: lambda: stream.table.map_reduce(chunk_sums, merged_sums, client)} | {
        p: one_block(p) for p in PHASES
    }


def side_by_side(clients: Clients, table: dict, rounds: int) -> pd.DataFrame:
    """One worker and two in turn on the same table. Making a chunk is work like summing it, and is counted."""
    stream, small, rows = DaskStream(*generated(**table)), DaskStream(*generated(table["d"], 100, 4)), []
    n = table["rows"] * table["chunks"]
    for client in clients.values():
        for work in works(small, client).values():
            work()  # what is imported at the first call is no one's time
    measured = {w: works(stream, clients[w]) for w in (1, 2)}
    for repetition in range(rounds):
        for method in BOTH:
            seconds = {w: wall_seconds(measured[w][method]) for w in ((1, 2) if repetition % 2 == 0 else (2, 1))}
            found = [(w, "seconds", seconds[w]) for w in (1, 2)]
            found.append((2, "speed-up", seconds[1] / seconds[2]))
            rows += [
                (GENERATED, method, COMPONENTS, repetition, "workers", metric, value, n, table["d"], COMPONENTS, w,
                 table["chunks"])
                for w, metric, value in found
            ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def wall_seconds(work: Callable[[], object]) -> float:
    """Seconds on the clock on the wall of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def messages(clients: Clients, features: tuple[int, ...], repetitions: int) -> pd.DataFrame:
    """Bytes that workers send while moments or one block are computed, and the bytes of one sum and of the operand."""
    rows = []
    for d in features:
        stream = DaskStream(*generated(d, CHUNK_ROWS, CHUNKS))
        sizes = serialised_sizes(stream)
        for w, client in clients.items():
            measured = works(stream, client)
            for repetition in range(repetitions):
                for method, work in measured.items():
                    before = _sent(client)
                    work()
                    values = {"bytes sent by workers": float(_sent(client) - before)} | sizes[method]
                    rows += [
                        (GENERATED, method, COMPONENTS, repetition, "messages", metric, value, CHUNKS * CHUNK_ROWS,
                         d, COMPONENTS, w, CHUNKS)
                        for metric, value in values.items()
                    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


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


def _sent(client) -> int:
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


__all__ = ["SEED", "generated", "growth", "messages", "run", "run_task", "side_by_side", "tasks"]
