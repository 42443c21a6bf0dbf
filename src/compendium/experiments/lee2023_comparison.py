"""Vanilla, mean-matched and fair streaming PCA on one stream: embeddings, and every measure block after block.

The paper draws this comparison without printing its settings. Ours are those of the authors' demonstration, a gap of
rank 10 of which m = 3 directions are removed, and the population with prescribed gaps. With m as large as the rank of
the gap nothing of it is left.
"""

from itertools import islice

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.representation.streaming_fair_pca import StreamingFairPCA

from ..data.synthetic_gaps import authors_pair
from . import lee2023_judge as judge
from .lee2023_learnability_protocol import SEED, Setting, gap_controlled
from .session import best_source as best_source

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "block"]
COMPONENTS = 2
#: Blocks of each phase, and their rows and the number of streams, in the full run and in every build.
BLOCKS, FULL, EMBEDDED = 25, (10_000, 10), (1000, 2)
#: Points of each group in the scatter plots.
DRAWN = 250
VANILLA, MATCHED = "vanilla", "mean-matched"
GENERATORS = ("authors", "gap-controlled")


def setting(generator: str) -> Setting:
    """A population with k = 2; its m is the number of directions that the fair method removes."""
    if generator == "authors":
        return Setting(generator, authors_pair(30, 0.5, 10, 2.0, 0.3, 4.0, 2.0, SEED), COMPONENTS, 3)
    # Gaps so large that standard PCA keeps their directions; otherwise there would be nothing to compare.
    return gap_controlled(gaps=(14.0, -12.0, 9.0, -8.0), mean_norm=6.0, k=COMPONENTS, m=2, name=generator)


def methods(generator: str) -> dict[str, tuple[str, int]]:
    """Constraint and number of gap directions of every method: a part of the gap, and all of it."""
    part, whole = (3, 10) if generator == "authors" else (2, 4)
    return {VANILLA: ("vanilla", 0), MATCHED: ("mean", 0), f"fair, m = {part}": ("all", part),
            f"fair, m = {whole}": ("all", whole)}  # fmt: skip


def tasks() -> list[dict]:
    """One unit of work for each population."""
    return [{"generator": name} for name in GENERATORS]


def run_task(generator: str) -> pd.DataFrame:
    """All methods on ten streams with blocks of 10,000 rows."""
    return compared(generator, *FULL)


def run(generator: str) -> pd.DataFrame:
    """The same on two streams with smaller blocks."""
    if generator not in GENERATORS:
        raise ConfigurationError(f"generator={generator!r}; needed is one of {', '.join(GENERATORS)}.")
    return compared(generator, *EMBEDDED)


def compared(generator: str, size: int, streams: int) -> pd.DataFrame:
    """Every measure after every block, and the last components on the first stream."""
    case, rows = setting(generator), []
    for method, (constraint, m) in methods(generator).items():
        for seed in range(streams):
            key = (generator, method, COMPONENTS, seed)
            estimator = StreamingFairPCA(
                COMPONENTS, m, constraint=constraint, center="none", groups=[0, 1], random_state=seed
            )
            # Every method reads the same rows; the vanilla one has no use for those of the first phase.
            blocks = iter(case.pair.stream(size, (SEED, seed, size)))
            for X, groups in islice(blocks, BLOCKS):
                if constraint != "vanilla":
                    estimator.partial_fit(X, sensitive_features=groups, phase="gap")
            for block, (X, groups) in enumerate(islice(blocks, BLOCKS), 1):
                estimator.partial_fit(X, sensitive_features=groups, phase="components")
                measured = measures(case, estimator.components_.T)
                rows += [(*key, f"blocks of {size}", metric, value, block) for metric, value in measured.items()]
            if seed == 0:
                rows += [
                    (*key, f"blocks of {size}", f"component {i} {j}", float(value), BLOCKS)
                    for (i, j), value in np.ndenumerate(estimator.components_)
                ]
    return pd.DataFrame(rows, columns=COLUMNS)


def measures(case: Setting, V: np.ndarray) -> dict[str, float]:
    """Variance kept, as a share of what PCA can keep, and what is left of the two gaps, as shares of their sizes."""
    moments, pair = case.pair.moments(), case.pair
    kept = 1.0 - judge.optimality_gap(V, _vanilla(case), pair.covariance, relative=True)
    return {
        "variance kept": kept,
        "mean gap": metrics.mean_gap(moments, V) / float(np.linalg.norm(pair.mean_difference)),
        "covariance gap": metrics.covariance_gap(moments, V) / metrics.covariance_gap(moments),
    }


MEASURES = ("variance kept", "mean gap", "covariance gap")


def _vanilla(case: Setting) -> np.ndarray:
    return np.linalg.eigh(case.pair.covariance)[1][:, : -case.k - 1 : -1]


def histories(rows: pd.DataFrame) -> pd.DataFrame:
    """Median, smallest and largest value over the streams, for every method, measure and block."""
    some = rows[rows["metric"].isin(MEASURES)]
    # Vanilla, mean-matched, and the fair ones by m.
    some = some.sort_values("method", key=lambda names: names.map(_rank), kind="stable")
    found = some.groupby(["method", "metric", "block"], sort=False)["value"]
    return found.agg(median="median", smallest="min", largest="max", streams="size").reset_index()


def _rank(method: str) -> int:
    return {VANILLA: -2, MATCHED: -1}[method] if method in (VANILLA, MATCHED) else int(method.rpartition(" ")[2])


def last_block(rows: pd.DataFrame) -> pd.DataFrame:
    """One line a method: the medians after the last block."""
    last = histories(rows[rows["block"] == BLOCKS])
    return last.pivot(index="method", columns="metric", values="median")[list(MEASURES)].reindex(
        list(dict.fromkeys(last["method"]))
    )


def scatter_points(rows: pd.DataFrame, generator: str) -> pd.DataFrame:
    """Fresh points of both groups under the last components of each method: method, group, x, y."""
    pair, frames = setting(generator).pair, []
    X, groups = pair.sample(6 * DRAWN, np.random.default_rng((SEED, 99)))
    chosen = np.concatenate([np.flatnonzero(groups == g)[:DRAWN] for g in (0, 1)])
    some = rows[rows["metric"].str.startswith("component ") & (rows["split"] == 0)]
    for method, part in some.groupby("method", sort=False):
        V = np.zeros((COMPONENTS, pair.d))
        for name, value in zip(part["metric"], part["value"], strict=True):
            i, j = (int(word) for word in name.split()[1:])
            V[i, j] = value
        points = X[chosen] @ V.T
        frames.append(pd.DataFrame({"method": method, "group": groups[chosen], "x": points[:, 0], "y": points[:, 1]}))
    order = list(methods(generator))
    return pd.concat(sorted(frames, key=lambda frame: order.index(frame["method"].iloc[0])), ignore_index=True)


def in_words(table: pd.DataFrame) -> str:
    """What the last line of every method says, with the numbers."""
    parts = [
        f"{method}: {row['variance kept']:.0%} of the variance, {row['mean gap']:.1%} of the mean gap and "
        f"{row['covariance gap']:.1%} of the covariance gap"
        for method, row in table.iterrows()
    ]
    return "Left after the last block, median over the streams. " + "; ".join(parts) + "."
