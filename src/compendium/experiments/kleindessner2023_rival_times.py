"""All methods of the running-time figure of Kleindessner et al. (2023) at its own sizes, as multiples of PCA's time.

As in :mod:`.kleindessner2023_runtime`, methods are timed in turn on the same data within every repetition. The solvers
are ours: the paper solved FPCA with a commercial interior-point program, of which only the published times are known.
"""

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments

from ..data import Dataset, paired_splits, two_latent_groups
from . import kleindessner2023_methods as methods
from .claim_rules import HOLDS, NOT_COMPUTABLE, NOT_SO, Answer
from .kleindessner2023_runtime import best_time
from .store import read_results

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
SEED = 2023
FEATURES = (20, 60, 100)
COMPONENTS = 5
REPETITIONS = 3

#: Methods of the figure, and LEACE. Those that take milliseconds are timed several times, and the best counts.
QUICK = ("PCA", "Fair PCA", "Fair PCA-S (0.85)", "Fair Kernel PCA", "LEACE")
SLOW = ("INLP", "MbF-PCA (10^-3)", "FPCA (0, 0.01)", "RLACE")

#: Mean seconds that Lee et al. (2022) distribute with their code for these data, by features; quoted, not judged.
DISTRIBUTED = {"FPCA (0, 0.01)": {20: 0.75, 60: 117.6, 100: 1886.0}, "MbF-PCA (10^-3)": {20: 2.96, 60: 3.02, 100: 3.95}}


def tasks() -> list[dict]:
    """One unit of work for each number of features."""
    return [{"d": d, "k": COMPONENTS} for d in FEATURES]


def run_task(d: int, k: int, repetitions: int = REPETITIONS, names: tuple[str, ...] = QUICK + SLOW) -> pd.DataFrame:
    """The ratio of each method's fitting time to that of PCA on 168 + 168 training rows, for every repetition."""
    if repetitions < 1:
        raise ConfigurationError(f"repetitions={repetitions}; needed is at least 1.")
    rows = []
    data = two_latent_groups(d, seed=SEED)
    for repetition, (train, _) in enumerate(paired_splits(data, repetitions, SEED)):
        seconds = {
            name: best_time(lambda name=name, train=train: _fit(name, k, train), attempts=5 if name in QUICK else 1)
            for name in names
        }
        rows += [
            (f"two_latent_groups-d{d}", name, k, repetition, "side by side", "time / PCA", value / seconds["PCA"])
            for name, value in seconds.items()
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def run(k: int) -> pd.DataFrame:
    """One repetition at the smallest size, in every build of the book."""
    return run_task(FEATURES[0], k, repetitions=1)


def _fit(name: str, k: int, train: Dataset):
    # Moments are part of the work: everybody starts from the points.
    return methods.fit(name, k, GroupMoments.from_data(train.X, train.groups), train)


def curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Median, smallest and largest ratio over the repetitions for each method and d."""
    d = rows["dataset"].str.extract(r"-d(?P<d>\d+)$")["d"].astype(int)
    grouped = rows.assign(d=d).groupby(["method", "d"], sort=False)["value"]
    found = grouped.agg(median="median", smallest="min", largest="max").reset_index().assign(n=336)
    order = {name: place for place, name in enumerate(QUICK + SLOW)}
    return found.sort_values(["method", "d"], key=lambda c: c.map(order) if c.name == "method" else c)


def growth(rows: pd.DataFrame) -> pd.Series:
    """How fast each ratio grows: the exponent of d, fitted to the medians, by method."""
    found = curve(rows)
    return pd.Series(
        {
            name: float(np.polyfit(np.log(part["d"]), np.log(part["median"]), 1)[0])
            for name, part in found.groupby("method", sort=False)
            if len(part) > 1
        }
    )


def distributed_growth() -> dict[str, float]:
    """The same exponent for the times that were distributed, seconds themselves instead of ratios."""
    return {
        name: float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])
        for name, times in DISTRIBUTED.items()
    }


def times_are_compared() -> Answer | None:
    """K05: times of all methods of the figure as a function of d, with k fixed at 5.

    The claim says what is compared, not which is faster: it is borne out by times of every method at every d.
    """
    rows = read_results("kleindessner2023-rival-times", metric="time / PCA")
    if rows.empty:
        return None
    median = curve(rows[rows["k"] == COMPONENTS]).pivot(index="method", columns="d", values="median")
    wanted = median.reindex(index=QUICK + SLOW, columns=FEATURES)
    there = int(wanted.notna().sum(axis=None))
    evidence = f"At k = {COMPONENTS} we have times for {there} of {wanted.size} pairs of a method and d = "
    evidence += f"{', '.join(map(str, FEATURES))}. The figure itself is not in the text that we have."
    least = (median.reindex(SLOW) / median.loc["Fair PCA"]).min(axis=1)
    evidence += " Times over that of fair PCA, smallest over d: "
    evidence += ", ".join(f"{name} {value:.0f}" for name, value in least.items()) + ". Growth exponents in d of the "
    evidence += "ratio to PCA: " + ", ".join(f"{name} {value:+.1f}" for name, value in growth(rows).items())
    evidence += "; of the seconds distributed with the comparison of Lee et al. (2022): "
    evidence += ", ".join(f"{name} {value:+.1f}" for name, value in distributed_growth().items()) + "."
    return Answer(HOLDS if there == wanted.size else NOT_SO, evidence, NOT_COMPUTABLE)


claims = {"K05": times_are_compared}
