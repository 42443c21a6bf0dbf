"""The two synthetic experiments of Lee et al. (2022) that Kleindessner et al. (2023) repeat.

The first has two groups of equal mean and covariance, so that only a method which looks at whole distributions has
anything to do. The second has groups that differ in many ways, in 20, 60 and 100 dimensions. The generator of the
original program cannot be run here: the samples are ours, from a recorded seed, and the means printed with the
original program stand beside ours as a reference only.
"""

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.representation import FairPCA, MMDFairPCA
from evenspan.representation.mmd_fair_pca import UnmetToleranceWarning

from ..data import Dataset, equal_moments, paired_splits, two_latent_groups
from . import kleindessner2023_methods as methods
from . import session

SEED = methods.SEED
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
#: Points of each group in the first experiment: in the paper, and in every build of the book. Samples drawn of it.
N, EMBEDDED_N, DRAWS = 5000, 500, 5
#: Dimensions and splits of the second.
DIMENSIONS, SPLITS, COMPONENTS = (20, 60, 100), 10, 5
#: Points that decide the bandwidth of the first experiment: all pairs of 10,000 would take 400 MB.
BANDWIDTH_ROWS = 2000
#: Points of each group in the scatter plot.
DRAWN = 250

#: Means over the ten splits that come with the program of Lee et al. (2022), by method and metric, for d = 20, 60, 100.
REFERENCE = {
    ("PCA", "%Var"): (58.6, 47.8, 48.3),
    ("PCA", "MMD^2"): (0.34, 0.55, 0.59),
    ("FPCA (0, 0.01)", "%Var"): (25.6, 16.6, 8.0),
    ("FPCA (0, 0.01)", "MMD^2"): (0.019, 0.053, 0.018),
    ("MbF-PCA (10^-3)", "%Var"): (38.1, 25.2, 23.1),
    ("MbF-PCA (10^-3)", "MMD^2"): (0.019, 0.015, 0.014),
}

#: Methods of the first experiment. "exact moments" are fitted to the moments of the distributions, not of a sample.
EXACT, MATCHED = "Fair PCA, exact moments", "MbF-PCA (10^-5)"
EQUAL_METHODS = ("PCA", "Fair PCA", EXACT, "FPCA (0, 0.01)", "LEACE", MATCHED)
#: Methods of the second; from the centred one on they are ours. Embedded are those that take no time.
CENTRED = "Fair PCA, centred"
LATENT_METHODS = (
    *("PCA", "FPCA (0, 0.01)", "MbF-PCA (10^-3)", "INLP", "RLACE", "Fair PCA", "Fair PCA-S (0.85)", "Fair Kernel PCA"),
    *(CENTRED, "LEACE", "INLP, most variance"),
)
EMBEDDED_LATENT = ("PCA", "Fair PCA", "Fair PCA-S (0.85)", "Fair Kernel PCA", CENTRED, "LEACE")
METRICS = ["%Var", "MMD^2", "linear separability"]


def tasks() -> list[dict]:
    """One unit of work for each experiment, dimension and method."""
    first = [{"experiment": "equal moments", "method": name} for name in EQUAL_METHODS]
    return first + [
        {"experiment": "latent groups", "d": d, "method": name} for d in DIMENSIONS for name in LATENT_METHODS
    ]


def run_task(experiment: str, method: str, d: int = 3) -> pd.DataFrame:
    """One method with the published sizes."""
    return equal_rows(method, N) if experiment == "equal moments" else latent_rows(method, d)


def run(k: int) -> pd.DataFrame:
    """The first experiment with fewer points, the second with the methods that take no time."""
    if k != COMPONENTS:
        raise ConfigurationError(f"k={k}; the second experiment has {COMPONENTS} components.")
    frames = [equal_rows(method, EMBEDDED_N) for method in EQUAL_METHODS]
    frames += [latent_rows(method, d) for d in DIMENSIONS for method in EMBEDDED_LATENT]
    return pd.concat(frames, ignore_index=True)


def equal_samples(n: int, draw: int) -> tuple[Dataset, Dataset]:
    """A sample to fit on and a fresh one of the same size, n points in each group."""
    return equal_moments((SEED, draw, 1), n), equal_moments((SEED, draw, 2), n)


def exact_moments(n: int) -> GroupMoments:
    """Moments of the two distributions themselves, with the sizes of the sample: the groups have the same."""
    counts = np.array([n, n], dtype=float)
    covariance = 0.1 * np.eye(3) + 1.0
    return GroupMoments(np.array([0, 1]), counts, np.zeros((2, 3)), covariance * (counts[:, None, None] - 1.0))


def equal_rows(method: str, n: int) -> pd.DataFrame:
    """Discrepancy and gaps of the projected groups, on the fitted sample and on a fresh one, and the map itself.

    The method that looks at the points is fitted to the first draw only: it takes minutes.
    """
    rows = []
    for draw in range(1 if method == MATCHED else DRAWS):
        train, fresh = equal_samples(n, draw)
        sigma = _bandwidth(train, 2)
        fitted = _fit_equal(method, train, sigma)
        found = [("in sample", f"map {i} {j}", value) for (i, j), value in np.ndenumerate(linear_map(fitted, train.d))]
        if hasattr(fitted, "converged_"):
            found.append(("in sample", "converged", float(fitted.converged_)))
        for protocol, data in (("in sample", train), ("fresh sample", fresh)):
            E = embedding(fitted, data.X)
            moments = GroupMoments.from_data(E, data.groups)
            found += [
                (protocol, "%Var", kept_variance(data.X, E)),
                (protocol, "MMD^2", metrics.mmd2(E, data.groups, sigma)),
                (protocol, "mean gap", metrics.mean_gap(moments)),
                (protocol, "covariance gap", metrics.covariance_gap(moments)),
            ]
        rows += [(f"equal_moments-n{n}", method, 2, draw, *row) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def _fit_equal(method: str, train: Dataset, sigma: float):
    moments = GroupMoments.from_data(train.X, train.groups)
    if method == EXACT:
        return FairPCA(2, center=False).fit_moments(exact_moments(train.n // 2))
    if method == MATCHED:
        estimator = MMDFairPCA(2, tol=1e-5, bandwidth=sigma, penalty="documented", random_state=SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnmetToleranceWarning)  # kept in the results as "converged"
            return estimator.fit(train.X, sensitive_features=train.groups)
    return methods.fit(method, 2, moments, train)


def latent_rows(method: str, d: int) -> pd.DataFrame:
    """The three metrics of the boxplots, and the gap of the means, on the test part of every split."""
    rows, k = [], COMPONENTS
    for split, (train, test) in enumerate(latent_splits(d)):
        moments = GroupMoments.from_data(train.X, train.groups)
        fitted = FairPCA(k).fit_moments(moments) if method == CENTRED else methods.fit(method, k, moments, train)
        E = embedding(fitted, test.X)
        found = [
            ("linear separability", separability(E, test.groups)),
            ("mean gap", metrics.mean_gap(GroupMoments.from_data(E, test.groups))),
        ]
        if method == CENTRED or methods.method(method).linear:
            found += [
                ("%Var", kept_variance(test.X, E)),
                ("MMD^2", metrics.mmd2(E, test.groups, _bandwidth(train, k))),
            ]
        rows += [(f"latent_groups-d{d}", method, k, split, "test", *row) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS)


def latent_splits(d: int) -> Iterator[tuple[Dataset, Dataset]]:
    """Ten splits of one sample with 240 points in each group: 336 to fit on, 144 to judge by."""
    return paired_splits(two_latent_groups(d, (SEED, d)), SPLITS, (SEED, d, 1))


def _bandwidth(train: Dataset, k: int) -> float:
    fitted = StandardPCA(k).fit(train.X, sensitive_features=train.groups)
    return metrics.median_bandwidth(fitted.transform(train.X[:: max(1, train.n // BANDWIDTH_ROWS)]))


def embedding(fitted, X: np.ndarray) -> np.ndarray:
    """The representation that is judged: ``transform``, but for FPCA the loadings applied to the points as they are.

    FPCA standardises the features to find its loadings; the published program then applies these to the raw points.
    """
    if getattr(getattr(fitted, "subspace_", None), "scale", None) is not None:
        return X @ fitted.components_.T
    return fitted.transform(X)


def kept_variance(X: np.ndarray, E: np.ndarray) -> float:
    """Variance of the embedding as a percentage of that of the points."""
    return float(100.0 * E.var(axis=0).sum(axis=0) / X.var(axis=0).sum(axis=0))


def separability(E: np.ndarray, groups: np.ndarray) -> float:
    """Share of points whose group a logistic regression gets wrong that was fitted to these points; 0.5 is ideal."""
    probe = LogisticRegression(C=1.0, solver="newton-cholesky").fit(E, groups)
    return 1.0 - metrics.accuracy(groups, probe.predict(E))


def linear_map(fitted, d: int) -> np.ndarray:
    """The matrix (d, k) of what an affine ``transform`` does to differences of points."""
    corners = embedding(fitted, np.vstack([np.eye(d), np.zeros((1, d))]))
    return corners[:-1] - corners[-1]


def scatter_points(rows: pd.DataFrame, shown: tuple[str, ...] = ("PCA", "Fair PCA", MATCHED)) -> pd.DataFrame:
    """Some points of the first fresh sample under the stored maps: columns ``method``, ``group``, ``x``, ``y``."""
    n = _sizes(rows).max(axis=0)
    maps = rows[(rows["dataset"] == f"equal_moments-n{n}") & (rows["split"].astype(str) == "0")]
    maps = maps.drop_duplicates(["method", "metric"]).pivot(index="method", columns="metric", values="value")
    fresh = equal_samples(n, 0)[1]
    some = np.concatenate([np.flatnonzero(fresh.groups == g)[:: n // DRAWN] for g in (0, 1)])
    frames = []
    for method in [name for name in shown if name in maps.index]:
        M = np.array([[maps.loc[method, f"map {i} {j}"] for j in range(2)] for i in range(3)])
        E = fresh.X[some] @ M
        frames.append(pd.DataFrame({"method": method, "group": fresh.groups[some], "x": E[:, 0], "y": E[:, 1]}))
    return pd.concat(frames, ignore_index=True)


def equal_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The first experiment at its largest size: mean over the draws, one line a method and sample, metrics across."""
    n = _sizes(rows).max(axis=0)
    some = rows[(rows["dataset"] == f"equal_moments-n{n}") & ~rows["metric"].str.startswith("map ")]
    keys = ["protocol", "method", "metric"]
    wide = some.groupby(keys, sort=False)["value"].mean().unstack("metric")
    draws = some.drop_duplicates(["method", "split", "protocol"]).groupby(["protocol", "method"]).size()
    order = {name: place for place, name in enumerate(EQUAL_METHODS)}
    wide = wide.assign(points=n, draws=draws)
    wide = wide.sort_index(key=lambda level: level.map(order) if level.name == "method" else level)
    return wide[["points", "draws", "%Var", "MMD^2", "mean gap", "covariance gap"]].reset_index()


def latent_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Quartiles, mean and deviation over the splits of the second experiment, with the reference where there is one.

    The distance to the reference mean is told in standard deviations over our splits: the samples are different ones.
    """
    some = rows[rows["dataset"].str.startswith("latent_groups")]
    some = some.assign(d=some["dataset"].str.rpartition("-d")[2].astype(int))
    found = some.groupby(["method", "metric", "d"], sort=False)["value"].agg(
        mean="mean", std=lambda v: float(np.std(v, axis=0)), smallest="min", lower=lambda v: v.quantile(0.25),
        median="median", upper=lambda v: v.quantile(0.75), largest="max",
    ).reset_index()  # fmt: skip
    given = {(*key, d): value for key, values in REFERENCE.items() for d, value in zip(DIMENSIONS, values, strict=True)}
    reference = [given.get(key, np.nan) for key in zip(found["method"], found["metric"], found["d"], strict=True)]
    found = found.assign(reference=reference, distance=lambda f: (f["mean"] - f["reference"]) / f["std"])
    order = {name: place for place, name in enumerate(LATENT_METHODS)}
    return found.sort_values("method", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def best_source(rows: pd.DataFrame) -> pd.DataFrame:
    """Of every data set and method the rows of the full run where there are any, otherwise those of this build."""
    return session.best_source(rows, "dataset", "method")


def nothing_to_match(rows: pd.DataFrame) -> str:
    """What the first experiment shows, in sentences computed from its largest sample."""
    found = equal_table(rows)
    found = found[found["protocol"] == "fresh sample"].set_index("method")
    value, kept = found["MMD^2"], found["%Var"]
    alike = [name for name in value.index if name != "PCA" and abs(value[name] / value["PCA"] - 1.0) < 0.1]
    lower = [f"{name} ({value[name]:.5f}, keeping {kept[name]:.1f} %)" for name in value.index if name not in alike]
    text = f"On fresh points PCA leaves an MMD^2 of {value['PCA']:.4f} and keeps {kept['PCA']:.1f} % of the variance. "
    text += f"Within a tenth of this MMD^2: {', '.join(alike) or 'none'}. "
    return text + f"Farther away: {', '.join(name for name in lower if not name.startswith('PCA (')) or 'none'}."


def _sizes(rows: pd.DataFrame) -> pd.Series:
    some = rows.loc[rows["dataset"].str.startswith("equal_moments-n"), "dataset"]
    return some.str.rpartition("-n")[2].astype(int)
