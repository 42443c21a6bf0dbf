"""What the scale study says: exponents, ratios of one worker to two, and a model of what travels in a cluster."""

import math

import numpy as np
import pandas as pd
from scipy import stats

from evenspan.core.dask_tables import FAN_IN

from .session import best_source

MOMENTS = "group moments"
PHASES = ("phase 1 (gap)", "phase 2 (components)")
#: What is measured with one worker and with two.
BOTH = (MOMENTS, *PHASES)
#: Two workers are asked to be so many times as fast as one, as the median over the rounds.
WANTED = 1.5

#: Assumptions of the extrapolation: operations of one worker and second, bytes of one link and second, of a number.
RATE, BANDWIDTHS, NUMBER = 1e10, {"1 Gbit/s": 1.25e8, "10 Gbit/s": 1.25e9}, 4.0
CHUNKS_PER_WORKER = 4
#: Rows in a block; the first are the training images of CelebA.
BLOCK_ROWS = (162_770, 1_000_000, 10_000_000)


def largest(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each study the rows of the full run where they are stored, otherwise those of this build."""
    return best_source(rows, "protocol")


# -- growth -------------------------------------------------------------------------------------------------------


def exponents(rows: pd.DataFrame) -> pd.DataFrame:
    """Slope of log time over log size for each phase and axis: mean over the repetitions and its 95 % interval.

    Beside it that of the bare products, and the median of the ratio of the two at the largest size.
    """
    found = []
    some = rows[rows["protocol"].str.startswith("against ")]
    for (protocol, method), group in some.groupby(["protocol", "method"], sort=False):
        axis = protocol.removeprefix("against ")
        line = {"axis": axis, "phase": method, "from": int(group[axis].min()), "to": int(group[axis].max())}
        for metric, name in (("seconds", "block"), ("seconds, bare products", "bare products")):
            slopes = [_slope(one, axis) for _, one in group[group["metric"] == metric].groupby("split")]
            mean, reach = float(np.mean(slopes, axis=0)), _reach(np.array(slopes))
            line |= {name: mean, f"{name}, low": mean - reach, f"{name}, high": mean + reach}
        ratio = group[(group["metric"] == "time / bare products") & (group[axis] == group[axis].max())]["value"]
        found.append(line | {"time / bare products": float(ratio.median())})
    return pd.DataFrame(found)


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Median, smallest and largest time of a block at each size as a multiple of that at the smallest size."""
    some = rows[rows["protocol"].str.startswith("against ") & rows["metric"].str.startswith("seconds")]
    frames = []
    for (protocol, method, metric), group in some.groupby(["protocol", "method", "metric"], sort=False):
        axis = protocol.removeprefix("against ")
        by_size = group.groupby(axis)["value"].agg(["median", "min", "max"]).sort_index()
        relative = by_size / by_size["median"].iloc[0]
        relative = relative.rename(columns={"min": "smallest", "max": "largest"}).rename_axis("size").reset_index()
        what = "block" if metric == "seconds" else "bare products"
        frames.append(relative.assign(axis=axis, phase=method, what=what, growth=relative["size"] / relative["size"][0]))  # noqa: E501  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def _slope(one: pd.DataFrame, axis: str) -> float:
    return float(np.polyfit(np.log(one[axis].astype(float)), np.log(one["value"]), 1)[0])


def _reach(values: np.ndarray) -> float:
    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def proportional(rows: pd.DataFrame) -> str:
    """Which exponents agree with 1, and which lie below or above, by their intervals."""
    told = {"agree with 1": [], "lie below 1": [], "lie above 1": []}
    for line in exponents(rows).to_dict("records"):
        low, high = line["block, low"], line["block, high"]
        verdict = "lie above 1" if low > 1.0 else "lie below 1" if high < 1.0 else "agree with 1"
        told[verdict].append(f"{line['axis']} in {line['phase']} ({line['block']:.2f})")
    return (
        "Exponents that "
        + "; that ".join(f"{verdict}: {', '.join(of) or 'none'}" for verdict, of in told.items())
        + "."
    )


# -- workers ------------------------------------------------------------------------------------------------------


def rounds(rows: pd.DataFrame) -> pd.DataFrame:
    """The ratio of one worker's time to that of two in every round."""
    some = rows[(rows["protocol"] == "workers") & (rows["metric"] == "speed-up")]
    order = {name: place for place, name in enumerate(BOTH)}
    return some.sort_values("method", key=lambda names: names.map(order), kind="stable", ignore_index=True)[
        ["method", "split", "value", "n", "d", "chunks"]
    ]


def speedups(rows: pd.DataFrame) -> pd.DataFrame:
    """How many times as fast two workers are as one: median, smallest and largest over the rounds."""
    some = rows[(rows["protocol"] == "workers") & (rows["metric"] == "speed-up")]
    found = some.groupby("method", sort=False)["value"].agg(["median", "min", "max", "size"]).reindex(BOTH).dropna()
    size = some.groupby("method")[["n", "d", "chunks"]].first()
    found = found.rename(columns={"min": "smallest", "max": "largest", "size": "rounds"})
    found = found.join(size).assign(gigabytes=lambda f: 8e-9 * f["n"] * f["d"])
    return found.astype({"rounds": int}).rename_axis("method").reset_index()


def two_workers(rows: pd.DataFrame) -> tuple[str, str]:
    """Whether two workers are fast enough on the largest table measured, by the median over at least three rounds."""
    found = speedups(rows)
    told = "; ".join(
        f"{row.method} {row.median:.2f} (from {row.smallest:.2f} to {row.largest:.2f} in {row.rounds} rounds)"
        for row in found.itertuples()
    )
    told = f"two workers / one on {found['gigabytes'].max():.3g} GB made by the workers: {told}"
    if (found["rounds"] < 3).any():
        return "not judged", f"{told}; three rounds are needed"
    fast = found["median"] >= WANTED
    return ("holds" if fast.all() else "holds in part" if fast.any() else "does not hold"), told


# -- messages -----------------------------------------------------------------------------------------------------


def edges(chunks: int, workers: int | None = None) -> int:
    """Sums that are handed on in the tree; with ``workers``, those that travel where every node's are spread evenly.

    A node is done where most of its sums lie, so that of f sums on w workers f - ceil(f / w) travel.
    """
    total, level = 0, chunks
    while level > 1:
        full, rest = divmod(level, FAN_IN)
        for size, count in ((FAN_IN, full), (rest, 1 if rest else 0)):
            total += count * (size if workers is None else size - math.ceil(size / workers))
        level = full + (rest > 0)
    return total


def modelled_bytes(chunks: int, workers: int, sum_bytes: float, operand_bytes: float) -> float:
    """Bytes that workers send for one block: copies of the operand, sums in the tree, and the total to the client."""
    return (workers - 1) * operand_bytes + edges(chunks, workers) * sum_bytes + sum_bytes


def expected_sum_bytes(method: str, d: int, k: int, m: int, G: int = 2, size: int = 8) -> float:
    """Numbers in one partial sum, times the bytes of a number; labels and headers come on top."""
    if method == MOMENTS:
        return 8.0 * (G + G * d + G * d * d + d)
    return (2 * d * m if method == PHASES[0] else d * k) * float(size) + 8.0 * G * (d + 1)


def message_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Measured bytes beside the model, for each number of workers and features: medians over the repetitions."""
    some = rows[rows["protocol"] == "messages"]
    keys = ["method", "workers", "d", "chunks", "k", "m"]
    wide = some.groupby([*keys, "metric"], sort=False)["value"].median().unstack("metric").reset_index()
    sums, operand = wide["bytes of a sum"], wide["bytes of the operand"]
    model = [
        modelled_bytes(c, w, s, o) for c, w, s, o in zip(wide["chunks"], wide["workers"], sums, operand, strict=True)
    ]
    formula = [
        expected_sum_bytes(a, d, k, m)
        for a, d, k, m in zip(wide["method"], wide["d"], wide["k"], wide["m"], strict=True)
    ]
    bound = (wide["workers"] > 1) * ((wide["workers"] - 1) * operand + wide["chunks"].map(edges) * sums) + sums
    return wide.assign(
        model=model,
        bound=bound,
        **{"measured / model": wide["bytes sent by workers"] / model, "sum / formula": sums / formula},
    ).sort_values(["method", "workers", "d"], ignore_index=True)


def within_model(rows: pd.DataFrame) -> str:
    """How far the counted bytes are from the model, in a sentence."""
    found = message_table(rows)
    ratio, size = found["measured / model"], found["sum / formula"]
    above = int((found["bytes sent by workers"] > 1.01 * found["bound"]).sum(axis=0))
    workers = ", ".join(str(w) for w in sorted(found["workers"].unique()))
    return (
        f"With {workers} workers the bytes counted are {ratio.min(axis=0):.2f} to {ratio.max(axis=0):.2f} times those "
        f"of the model; a sum is {size.min(axis=0):.2f} to {size.max(axis=0):.2f} times as large as its numbers alone; "
        f"of {len(found)} counts {above or 'none'} lie(s) above the bound that every sum travels."
    )


def extrapolated(largest: int = 100) -> pd.DataFrame:
    """Share of the time of a block of phase 2 that is work, against the number of workers, under the assumptions.

    Work is two products; the operand is copied from worker to worker, in as many rounds as the workers can be doubled
    in; a node of the tree receives the sums of others one after the other, level by level; nothing is overlapped.
    Work and messages are both proportional to d and k, so that the share depends on neither.
    """
    rows = []
    for link, bandwidth in BANDWIDTHS.items():
        for n in BLOCK_ROWS:
            for w in sorted({*range(1, 11), *range(10, largest + 1, 5)}):
                work, travel = 4.0 * n / (RATE * w), _travel(w) * NUMBER / bandwidth
                rows.append((link, n, w, CHUNKS_PER_WORKER * w, travel / work, work / (work + travel)))
    return pd.DataFrame(rows, columns=["link", "n", "workers", "chunks", "travel / work", "share of work"])


def rows_for_half(workers: int, link: str) -> float:
    """Rows of a block from which on at least half of its time is work, under the same assumptions."""
    return _travel(workers) * NUMBER / BANDWIDTHS[link] * RATE * workers / 4.0


def half_told(workers: int = 100) -> str:
    """The same in a sentence, for both speeds of the links."""
    told = " and ".join(f"{rows_for_half(workers, link):,.0f} rows at {link}" for link in BANDWIDTHS)
    return f"With {workers} workers half of a block's time is work from {told} on."


def _travel(workers: int) -> float:
    """Sums and operands that one link passes in turn during a block, in messages of d times k numbers."""
    if workers == 1:
        return 0.0
    levels = math.ceil(math.log(CHUNKS_PER_WORKER * workers, FAN_IN) - 1e-12)
    return levels * (FAN_IN - math.ceil(FAN_IN / workers)) + math.ceil(math.log2(workers))
