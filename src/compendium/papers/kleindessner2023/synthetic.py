"""The synthetic experiments of Kleindessner et al. (2023): samples, what is measured of them, and what it says.

Two samples are those of Lee et al. (2022). In the first, two groups have equal mean and covariance, so that only a
method which looks at whole distributions has anything to do. In the second they differ in many ways, in 20, 60 and 100
dimensions. The generator of the original program cannot be run here: the samples are ours, from a recorded seed, and
the means printed with the original program stand beside ours as a reference only.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

from evenspan import metrics
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.representation import MMDFairPCA

from ...data import Dataset, equal_moments, paired_splits, two_latent_groups
from ...records import STATISTICS, in_order, spread
from .protocol import SEED

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
#: Methods of the first experiment: one is fitted to the moments of the distributions, one looks at the points.
EXACT, MATCHED = "Fair PCA, exact moments", "MbF-PCA (10^-5)"
CENTRED = "Fair PCA, centred"
#: The methods of both experiments in the order of tables and figures.
EQUAL_METHODS = ("PCA", "Fair PCA", EXACT, "FPCA (0, 0.01)", "LEACE", MATCHED)
LATENT_METHODS = (
    *("PCA", "FPCA (0, 0.01)", "MbF-PCA (10^-3)", "INLP", "RLACE", "Fair PCA", "Fair PCA-S (0.85)", "Fair Kernel PCA"),
    *(CENTRED, "LEACE", "INLP, most variance"),
)
METRICS = ["%Var", "MMD^2", "linear separability"]


# -- samples -----------------------------------------------------------------------------------------------------------


def equal_samples(n: int, draw: int) -> tuple[Dataset, Dataset]:
    """A sample to fit on and a fresh one of the same size, n points in each group."""
    return equal_moments((SEED, draw, 1), n), equal_moments((SEED, draw, 2), n)


def exact_moments(n: int) -> GroupMoments:
    """Moments of the two distributions themselves, with the sizes of the sample: the groups have the same."""
    scatter = (n - 1.0) * (0.1 * np.eye(3) + 1.0)
    return GroupMoments(np.array([0, 1]), np.array([n, n], dtype=float), np.zeros((2, 3)), np.array([scatter] * 2))


def latent_splits(d: int, number: int) -> Iterator[tuple[Dataset, Dataset]]:
    """Splits of one sample with 240 points in each group: 336 to fit on, 144 to judge by."""
    return paired_splits(two_latent_groups(d, (SEED, d)), number, (SEED, d, 1))


# -- the judge ---------------------------------------------------------------------------------------------------------


def bandwidth(train: Dataset, k: int) -> float:
    """The MMD bandwidth shared by all methods, from some of the points: standard PCA and the median heuristic."""
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


def fitted_map(fitted, d: int) -> dict[str, float]:
    """What an affine ``transform`` does to differences of points, by entry of the matrix (d, k).

    Of the penalty also whether it converged.
    """
    corners = embedding(fitted, np.vstack([np.eye(d), np.zeros((1, d))]))
    found = {f"map {i} {j}": value for (i, j), value in np.ndenumerate(corners[:-1] - corners[-1])}
    return found | ({"converged": float(fitted.converged_)} if isinstance(fitted, MMDFairPCA) else {})


def gaps(E: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """How far apart means and covariances of the groups are in an embedding."""
    moments = GroupMoments.from_data(E, groups)
    return {"mean gap": metrics.mean_gap(moments), "covariance gap": metrics.covariance_gap(moments)}


# -- what the numbers say ----------------------------------------------------------------------------------------------


def _points(representations: Mapping[str, np.ndarray], groups: np.ndarray) -> pd.DataFrame:
    """Points of a scatter plot, the first two components: columns ``method``, ``group``, ``x``, ``y``."""
    frames = [
        pd.DataFrame({"method": method, "group": groups, "x": E[:, 0], "y": E[:, 1]})
        for method, E in representations.items()
    ]
    return pd.concat(frames, ignore_index=True)


def scatter_points(rows: pd.DataFrame, shown: tuple[str, ...] = ("PCA", "Fair PCA", MATCHED)) -> pd.DataFrame:
    """Some points of the first fresh sample under the stored maps."""
    n = size(rows)
    maps = rows[rows["metric"].str.startswith("map ") & (rows["split"].astype(str) == "0")]
    maps = maps.pivot(index="method", columns="metric", values="value").sort_index(axis=1)
    fresh = equal_samples(n, 0)[1]
    some = np.concatenate([np.flatnonzero(fresh.groups == g)[:: max(1, n // DRAWN)] for g in (0, 1)])
    found = {name: fresh.X[some] @ maps.loc[name].to_numpy().reshape(3, 2) for name in shown if name in maps.index}
    return _points(found, fresh.groups[some])


def equal_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The first experiment: mean over the draws, one line a method and sample, metrics across."""
    some = rows[rows["dataset"].str.startswith("equal_moments") & ~rows["metric"].str.startswith("map ")]
    grouped = some.groupby(["protocol", "method"])
    wide = some.pivot_table(index=["protocol", "method"], columns="metric", values="value", aggfunc="mean")
    wide = in_order(wide.assign(points=size(rows), draws=grouped["split"].nunique()).reset_index(), EQUAL_METHODS)
    columns = ["protocol", "method", "points", "draws", "%Var", "MMD^2", "mean gap", "covariance gap"]
    return wide.sort_values("protocol", kind="stable", ignore_index=True)[columns]


def nothing_to_match(rows: pd.DataFrame) -> str:
    """What the first experiment shows, in sentences."""
    found = equal_table(rows)
    found = found[found["protocol"] == "fresh sample"].set_index("method")
    value, kept = found["MMD^2"], found["%Var"]
    others = [name for name in value.index if name != "PCA"]
    alike = [name for name in others if abs(value[name] / value["PCA"] - 1.0) < 0.1]
    farther = [f"{name} ({value[name]:.5f}, keeping {kept[name]:.1f} %)" for name in others if name not in alike]
    return (
        f"On fresh points PCA leaves an MMD^2 of {value['PCA']:.4f} and keeps {kept['PCA']:.1f} % of the variance. "
        f"Within a tenth of this MMD^2: {', '.join(alike) or 'none'}. Farther away: {', '.join(farther) or 'none'}."
    )


def latent_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Quartiles, mean and deviation over the splits of the second experiment, with the reference where there is one.

    The distance to the reference mean is told in standard deviations over our splits: the samples are different ones.
    """
    some = rows[rows["dataset"].str.startswith("latent_groups")]
    some = some.assign(d=some["dataset"].str.rpartition("-d")[2].astype(int))
    keys = ["method", "metric", "d"]
    found = spread(some, keys, *STATISTICS).set_index(keys)
    reference = pd.DataFrame(REFERENCE, index=pd.Index([20, 60, 100], name="d")).unstack().rename("reference")
    found = found.join(reference.rename_axis(found.index.names)).reset_index()
    return in_order(found.assign(distance=(found["mean"] - found["reference"]) / found["std"]), LATENT_METHODS)


def size(rows: pd.DataFrame) -> int:
    """Points of each group in the first experiment."""
    return int(rows.loc[rows["dataset"].str.startswith("equal_moments-n"), "dataset"].iloc[0].rpartition("-n")[2])


# -- the illustration --------------------------------------------------------------------------------------------------


def embedded(methods: Mapping[str, BaseEstimator], data: Dataset) -> pd.DataFrame:
    """The representations of one sample, as points."""
    fitted = {name: clone(one).fit(data.X, sensitive_features=data.groups) for name, one in methods.items()}
    return _points({name: one.transform(data.X) for name, one in fitted.items()}, data.groups)


def ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest value over the samples, one line a metric and method."""
    return spread(rows, ["metric", "method"], "smallest", "median", "largest", number="samples")


def as_expected(rows: pd.DataFrame) -> str:
    """In how many samples covariance matching closes the gap to a fiftieth, and raises the error."""
    wide = rows.pivot(index="split", columns=["metric", "method"], values="value")
    matched = next(name for name in rows["method"] if name.startswith("Fair PCA-S"))
    gap, error = wide["covariance gap"], wide["reconstruction error"]
    closed = (gap[matched] < 0.02 * gap["Fair PCA"]).sum(axis=0)
    dearer = (error[matched] > error["Fair PCA"]).sum(axis=0)
    return (
        f"In {closed} of {len(wide)} samples the covariance gap of Fair PCA-S is below 2 % of that of Fair PCA, and in "
        f"{dearer} its reconstruction error is larger."
    )
