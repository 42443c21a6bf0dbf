"""Running time against the number of training points: fair PCA with a classifier, and reductions (Kleindessner 2023).

Adult, logistic regression, demographic parity, no test part. A fit is that of representation and classifier, or of
the whole reduction. Times of different machines cannot be compared, so each is divided by that of the classifier
without fairness on the same rows, timed in the same process. Of the 10 runs and 11 parameter values of the paper 5
and 3 are timed: the ratios to be told apart are of orders, not of percents.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError

from ..data import Dataset, load
from .kleindessner2023_reductions import (
    BOUNDS,
    GOALS,
    SUBSTITUTE,
    TRADEOFFS,
    classifier_for,
    drawn,
    framed,
    reduction,
    representation,
    weighted,
)
from .kleindessner2023_reductions_claims import FAIR, LOGISTIC, RATIO, REDUCTIONS

DATASET = "adult_uci"
SIZES = (1000, 5000, 10_000, 20_000, 30_000, 40_000)
EMBEDDED_SIZES = (100, 400)
RUNS = 5
LAMBDAS, LIMITS = TRADEOFFS[::5], BOUNDS[::5]
#: The kernel method is no part of the figure.
TIMED = FAIR[:3]
WARMING = 100


def tasks() -> list[dict]:
    """One unit of work for each number of training points."""
    return [{"dataset": DATASET, "goal": "DP", "n": n} for n in SIZES]


def run_task(dataset: str, goal: str, n: int) -> pd.DataFrame:
    """The ratios of all fits on the first n rows of each run."""
    data = load(dataset)
    return framed([row for run in range(RUNS) for row in one_run(data, goal, n, run)])


def run(goal: str) -> pd.DataFrame:
    """The same on bundled data, for every build of the book."""
    data = load(SUBSTITUTE)
    return framed([row for n in EMBEDDED_SIZES for row in one_run(data, goal, n, 0)])


def one_run(data: Dataset, goal: str, n: int, run: int) -> Iterator[tuple]:
    """Ratios of one run: every method at every parameter value, and what the representation alone takes of it."""
    if goal not in GOALS:
        raise ConfigurationError(f"goal={goal!r}; needed is one of {', '.join(GOALS)}.")
    train, _ = drawn(data, run, n, n, 0)
    protocol = f"{goal}, side by side, {n} points"

    def plain(rows: Dataset = train):
        return classifier_for(LOGISTIC, rows).fit(rows.X, rows.y)

    # What the first call of each sets up is no one's fit.
    small, _ = drawn(data, run, min(n, WARMING), n, 0)
    plain(small), reduction(goal, LIMITS[-1], classifier_for(LOGISTIC, small), small)
    unit = float(np.median([seconds(plain)[0] for _ in range(5)], axis=0))
    for method in TIMED:
        for at in LAMBDAS:
            first, fitted = seconds(partial(representation, method, goal, train))
            then, _ = seconds(partial(_classified, fitted, at**3, train))
            yield data.name, method, None, run, protocol, RATIO, at, (first + then) / unit
            yield data.name, method, None, run, protocol, "share of the representation", at, first / (first + then)
    for bound in LIMITS:
        spent, fitted = seconds(partial(reduction, goal, bound, classifier_for(LOGISTIC, train), train))
        yield data.name, REDUCTIONS, None, run, protocol, RATIO, bound, spent / unit
        yield data.name, REDUCTIONS, None, run, protocol, "classifiers fitted", bound, fitted.n_oracle_calls_


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    """How long one call takes, and what it returns."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def _classified(fitted, weight: float, train: Dataset):
    return classifier_for(LOGISTIC, train).fit(weighted(fitted.transform(train.X), weight), train.y)
