"""The Adult table of Kleindessner et al. (2023), and the same for COMPAS and German Credit.

Ten published splits, each method fitted on the training part and judged on the test part. The published protocol
(``released``) fits and scores every classifier on the same test points; ``held-out`` fits it on the training part.

A subspace fixes its basis only up to signs and order, and the MLP is the one metric that notices. How much that
matters is measured where the paper prints numbers, with bases of random signs (protocols ``signs 00``, ``signs 01``,
...).
"""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from .. import metrics
from ..datasets import Dataset, load_split, shipped_moments, splits
from ..errors import ConfigurationError
from ..estimator import SubspaceEstimator, SurplusComponentsWarning
from ..moments import GroupMoments
from ..reconstruction import StandardPCA
from ..representation import FairPCA
from .kleindessner2023_theorems import claims as theorems
from .store import read_results

#: Data sets with published splits, and the target dimensions of the paper.
DATASETS = ("adult", "compas", "german")
COMPONENTS = (2, 10)

#: Rows of the table, named as printed. The authors' program takes second moments about zero for its own methods.
METHODS: dict[str, Callable[[int], SubspaceEstimator]] = {
    "PCA": lambda k: StandardPCA(k),
    "Fair PCA": lambda k: FairPCA(k, center=False),
    "Fair PCA-S (0.5)": lambda k: FairPCA(k, center=False, match="covariance", covariance_fraction=0.5),
    "Fair PCA-S (0.85)": lambda k: FairPCA(k, center=False, match="covariance", covariance_fraction=0.85),
}

#: Where the basis of the subspace is varied, how often, and from which seed.
BASIS_STUDY = (("adult", 10),)
DRAWS = 20
SEED = 2023

#: Columns of the published table, and those of them that a classifier decides.
PREDICTION_METRICS = [f"{metric} ({name})" for name in metrics.CLASSIFIERS for metric in ("%Acc", "Delta_DP")]
METRICS = ["%Var", "MMD^2", *PREDICTION_METRICS]

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


def tasks() -> list[dict]:
    """One unit of work of the full run: a method on all splits of a data set, for one number of components."""
    return [
        {"dataset": dataset, "k": k, "method": method} for dataset in DATASETS for k in COMPONENTS for method in METHODS
    ]


def run_task(dataset: str, k: int, method: str) -> pd.DataFrame:
    """All metrics of one method on every split, from the data points themselves."""
    rows = []
    for split in range(splits(dataset)):
        train, test = load_split(dataset, split)
        train_moments = GroupMoments.from_data(train.X, train.groups)
        test_moments = GroupMoments.from_data(test.X, test.groups)
        fitted = fit(method, k, train_moments)
        judged = [
            *judge_moments(fitted, train_moments, test_moments),
            *judge_points(fitted, train, test, train_moments),
            *(judge_bases(fitted, test) if (dataset, k) in BASIS_STUDY else ()),
        ]
        rows += [(dataset, method, k, split, *row) for row in judged]
    return pd.DataFrame(rows, columns=COLUMNS)


def run(dataset: str, k: int) -> pd.DataFrame:
    """What can be computed without the raw data: everything where they are bundled, otherwise what moments give."""
    if dataset not in DATASETS:
        return pd.concat([run_task(dataset, k, method) for method in METHODS], ignore_index=True)
    rows = []
    for method in METHODS:
        for split in range(splits(dataset)):
            train, test = (shipped_moments(dataset, split, part) for part in ("train", "test"))
            rows += [(dataset, method, k, split, *row) for row in judge_moments(fit(method, k, train), train, test)]
    return pd.DataFrame(rows, columns=COLUMNS)


def fit(method: str, k: int, moments: GroupMoments) -> SubspaceEstimator:
    """The fitted method, checked against its own certificate."""
    if method not in METHODS:
        raise ConfigurationError(f"method={method!r}; needed is one of {', '.join(METHODS)}.")
    with warnings.catch_warnings():
        # COMPAS has training rank 9 and the paper's grid asks for 10 components.
        warnings.simplefilter("ignore", SurplusComponentsWarning)
        fitted = METHODS[method](k).fit_moments(moments)
    if not fitted.certificate_.is_optimal():
        raise ArithmeticError(f"{method} is not certified optimal: {fitted.certificate_}")
    return fitted


def judge_moments(fitted: SubspaceEstimator, train: GroupMoments, test: GroupMoments) -> Iterator[tuple]:
    """Metrics that group moments determine: ``(protocol, metric, value)``."""
    V = fitted.components_.T
    yield "released", "%Var", 100.0 * metrics.explained_variance(test, V)
    yield "in sample", "mean gap", metrics.mean_gap(train, V)
    yield "held-out", "mean gap", metrics.mean_gap(test, V)
    yield "in sample", "covariance gap", metrics.covariance_gap(train, V)
    yield "held-out", "covariance gap", metrics.covariance_gap(test, V)


def judge_points(fitted: SubspaceEstimator, train: Dataset, test: Dataset, moments: GroupMoments) -> Iterator[tuple]:
    """Metrics that need the points: ``(protocol, metric, value)``."""
    parts = [(fitted.transform(part.X), part.y, part.groups) for part in (train, test)]
    yield (
        "released",
        "MMD^2",
        metrics.mmd2(parts[1][0], test.groups, bandwidth(train, len(fitted.components_), moments)),
    )
    # The accuracy of the constant prediction, to recognise a classifier that has learnt nothing.
    yield "released", "%Majority", 100.0 * max(np.mean(test.y == 1, axis=0), np.mean(test.y != 1, axis=0))
    for classifier in metrics.CLASSIFIERS:
        for protocol in ("released", "held-out"):
            judged = metrics.downstream(classifier, *parts, protocol=protocol)
            yield protocol, f"%Acc ({classifier})", 100.0 * judged["accuracy"]
            yield protocol, f"Delta_DP ({classifier})", judged["demographic_parity"]
            yield protocol, f"Delta_EO ({classifier})", judged["equal_opportunity"]


def judge_bases(fitted: SubspaceEstimator, test: Dataset) -> Iterator[tuple]:
    """The MLP on the same subspace with bases that a solver might as well have returned.

    Columns by increasing eigenvalue, as the authors' program orders them, with random signs; the same signs on every
    split of a draw, so that each draw gives one column of the table.
    """
    for draw in range(DRAWS):
        signs = np.random.default_rng((SEED, draw)).choice([-1.0, 1.0], size=len(fitted.components_))
        E = fitted.transform(test.X)[:, ::-1] * signs
        judged = metrics.downstream("MLP", None, (E, test.y, test.groups), protocol="released")
        yield f"signs {draw:02d}", "%Acc (MLP)", 100.0 * judged["accuracy"]
        yield f"signs {draw:02d}", "Delta_DP (MLP)", judged["demographic_parity"]


def bandwidth(train: Dataset, k: int, moments: GroupMoments) -> float:
    """The MMD bandwidth shared by all methods: the median heuristic on standard PCA of the training part."""
    return metrics.median_bandwidth(fit("PCA", k, moments).transform(train.X))


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population standard deviation over the splits, one row for each method, protocol, metric and source."""
    keys = ["dataset", "method", "k", "protocol", "metric", *(["source"] if "source" in rows else [])]
    spread = rows.groupby(keys, sort=False)["value"].agg(
        mean="mean", std=lambda v: float(np.std(v, axis=0)), splits="size"
    )
    order = {method: place for place, method in enumerate(METHODS)}
    return spread.reset_index().sort_values(
        "method", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def basis_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest value of each MLP column over the draws of signs, by method and metric.

    ``found`` is a ``summary`` of one data set and one number of components.
    """
    draws = found[found["protocol"].str.startswith("signs")]
    ranges = draws.groupby(["method", "metric"], sort=False)["mean"].agg(["min", "median", "max", "size"])
    return ranges.rename(columns={"min": "smallest", "max": "largest", "size": "draws"}).reset_index()


def covariances_come_closer() -> tuple[str, str] | None:
    """K09: on Adult with k = 10 the covariance variants bring group covariances closer than Fair PCA, on new data."""
    rows = read_results("kleindessner2023-table")
    found = summary(rows[(rows["dataset"] == "adult") & (rows["k"] == 10)])
    gaps = found[(found["metric"] == "covariance gap") & (found["protocol"] == "held-out")].set_index("method")["mean"]
    fair = [name for name in METHODS if name != "PCA"]
    if not set(fair) <= set(gaps.index):
        return None
    matched = [name for name in fair if name != "Fair PCA"]
    closer = [gaps[name] < gaps["Fair PCA"] for name in matched]
    evidence = (
        "Largest difference of projected group covariances on the test parts (spectral norm, mean of the splits): "
    )
    evidence += ", ".join(f"{name} {gaps[name]:.2f}" for name in fair) + "."
    return ("holds" if all(closer) else "holds in part" if any(closer) else "does not hold"), evidence


def protocol_facts() -> tuple[str, str] | None:
    """K10: 97 features, 24.89 % positive labels (so that a constant prediction is right in 75.11 %), 10 components."""
    rows = read_results("kleindessner2023-table")
    rows = rows[(rows["dataset"] == "adult") & (rows["k"] == 10) & (rows["method"] == "PCA")]
    majority = rows.loc[rows["metric"] == "%Majority", "value"]
    if majority.empty:
        return None
    d = shipped_moments("adult", 0, "train").d
    share = 1.0 - majority.mean(axis=0) / 100.0
    evidence = f"{d} features; share of positive labels over the ten test parts {share:.4f}."
    return ("holds" if d == 97 and round(share, 4) == 0.2489 else "does not hold"), evidence


claims = {**theorems, "K09": covariances_come_closer, "K10": protocol_facts}
