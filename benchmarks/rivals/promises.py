"""The judge: what each method promises, as a number that has to stay below a bound. No method is imported here.

Every method of a kind is measured by every promise of that kind, also by those that it does not give: plain PCA and
plain k-means are the controls, which give none of those of fairness.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import ks_2samp

from evenspan import GroupMoments, metrics


@dataclass(frozen=True)
class Promise:
    """A promise and how it is measured on the rows that a method was fitted to."""

    kind: str  #: of the methods that are measured by it
    text: str  #: what the page says
    measure: Callable  #: (data, made) -> float
    bound: float  #: it held if the measure is at most this


def held(name: str, value: float) -> bool:
    return bool(value <= PROMISES[name].bound)


# -- representations: ``made["Z"]`` are the rows rebuilt, (n, d) like ``data.X`` ---------------------------------------


def moments(X, groups) -> GroupMoments:
    return GroupMoments.from_data(np.asarray(X, dtype=float), groups)


def lost(X: np.ndarray, Z: np.ndarray) -> float:
    """Squared distance of the rebuilt rows from the rows, as a share of that of the rows from their mean."""
    return float(((X - Z) ** 2).sum(axis=None) / ((X - X.mean(axis=0)) ** 2).sum(axis=None))


def pca_shortfall(data, made) -> float:
    """How much less of the variance is kept than k directions can keep; 1 if the rows lie in more than k directions."""
    after = np.linalg.eigvalsh(np.cov(made["Z"], rowvar=False))
    if (after > 1e-9 * after[-1]).sum() > data.k:
        return 1.0
    values = np.linalg.eigvalsh(np.cov(data.X, rowvar=False))
    return float(values[-data.k :].sum() / values.sum() - (1.0 - lost(data.X, made["Z"])))


def mean_gap(data, made) -> float:
    """Largest distance of two group means in units of the spread of the rows given."""
    spread = np.sqrt(data.X.var(axis=0).sum())
    return metrics.mean_gap(moments(made["Z"], data.groups)) / float(spread)


def covariance_gap(data, made) -> float:
    """Largest difference of two group covariances over the largest variance of the rows given; or the gap of means.

    With the divisors n_g or n_g - 1, whichever a method has made equal.
    """
    own, largest = moments(made["Z"], data.groups), np.linalg.eigvalsh(np.cov(data.X, rowvar=False))[-1]
    either = [own.scatters / divisors[:, None, None] for divisors in (own.counts, own.counts - 1.0)]
    gap = min(max(np.linalg.norm(A - B, ord=2) for A, B in combinations(parts, 2)) for parts in either)
    return max(float(gap / largest), mean_gap(data, made))


def linear_area(data, made) -> float:
    return metrics.group_auc("linear", (made["Z"], data.groups), (made["Z"], data.groups)) - 0.5


def correlation(data, made) -> float:
    """Largest correlation of a column with the indicator of a group; a column that is constant has none."""
    return _cosine(made["Z"] - made["Z"].mean(axis=0), data, centred=True)


def inner_product(data, made) -> float:
    """The same without centring: the cosine of a column and an indicator, of all groups but the first."""
    return _cosine(made["Z"], data, centred=False)


def _cosine(Z, data, *, centred: bool) -> float:
    S = (data.groups[:, None] == np.arange(1, data.groups.max() + 1)).astype(float)
    S = S - S.mean(axis=0) if centred else S
    size = np.linalg.norm(Z, axis=0)
    known = size > 1e-9 * np.linalg.norm(data.X, axis=None)
    if not known.any():
        return 0.0
    return float(np.abs((Z[:, known] / size[known]).T @ (S / np.linalg.norm(S, axis=0))).max(axis=None))


def largest_step(data, made) -> float:
    """Largest Kolmogorov-Smirnov distance of a column between a group and the others."""
    groups = np.unique(data.groups)
    members = [data.groups == g for g in (groups if len(groups) > 2 else groups[:1])]
    return max(float(ks_2samp(z[m], z[~m]).statistic) for z in made["Z"].T for m in members)


# -- clusterings: ``made["labels"]`` (n,), and perhaps ``made["centres"]`` --------------------------------------------


def missing_balance(data, made) -> float:
    """How far the smallest balance of a cluster is below the one asked for, one to ``data.least``."""
    return 1.0 / data.least - metrics.balance(made["labels"], data.groups)


def share_gap(data, made) -> float:
    """Largest difference between the share of a group in a cluster and in the whole, one row for rounding set aside."""
    counts = metrics.ClusterFrame.from_labels(made["labels"], sensitive_features=data.groups).counts.counts
    sizes, whole = counts.sum(axis=0), counts.sum(axis=1, keepdims=True) / counts.sum(axis=None)
    return float((np.maximum(np.abs(counts - whole * sizes) - 1.0, 0.0) / sizes).max(axis=None))


def wrong_centres(data, made) -> float:
    """Centres to be moved to another group until each has as many as asked for; a centre is its nearest row."""
    if "centres" not in made:
        return float("nan")
    rows = [int(((data.X - centre) ** 2).sum(axis=1).argmin()) for centre in made["centres"]]
    asked = np.asarray(data.centres)
    return float(np.abs(np.bincount(data.groups[rows], minlength=len(asked)) - asked).sum() / 2)


def distance_gap(data, made) -> float:
    """How much farther the rows of the worst group are from their centres than those of the best, as a share."""
    if "centres" not in made:
        return float("nan")
    near = np.full(len(data.X), np.inf)
    for centre in made["centres"]:
        near = np.minimum(near, np.abs(data.X - centre).sum(axis=1))
    by_group = np.bincount(data.groups, near) / np.bincount(data.groups)
    return float(by_group.max() / by_group.min() - 1.0)


PROMISES: dict[str, Promise] = {
    "as PCA": Promise("representation", "keeps as much variance as k directions can", pca_shortfall, 1e-6),
    "equal means": Promise("representation", "the groups have equal means", mean_gap, 1e-8),
    "no linear classifier": Promise(
        "representation", "no linear classifier tells the group better than the constant", linear_area, 0.005
    ),
    "uncorrelated": Promise("representation", "no column is correlated with the group", correlation, 1e-8),
    "orthogonal": Promise("representation", "every column is orthogonal to that of the group", inner_product, 1e-8),
    "equal covariances": Promise(
        "representation", "the groups have equal means and covariances, over n or n - 1", covariance_gap, 1e-6
    ),
    "equal distributions": Promise(
        "representation", "every column has the same distribution in all groups, within 5 %", largest_step, 0.05
    ),
    "hard to read": Promise(
        "representation", "a linear classifier hardly tells the group: area at most .55", linear_area, 0.05
    ),
    "balance": Promise("clustering", "no cluster has a balance below the one asked for", missing_balance, 0.0),
    "same shares": Promise(
        "clustering", "every cluster has the shares of the whole, within .01 and one row", share_gap, 0.01
    ),
    "centres as asked": Promise("clustering", "of each group as many centres as asked for", wrong_centres, 0.0),
    "similar distances": Promise(
        "clustering", "the groups are equally far from their centres, within 5 %", distance_gap, 0.05
    ),
}


def judge(kind: str, data, made) -> dict[str, float]:
    """Every promise of a kind, measured; and what is said of the quality beside it."""
    asked = {name: one.measure for name, one in PROMISES.items() if one.kind == kind}
    values = {measure: measure(data, made) for measure in dict.fromkeys(asked.values())}
    found = {name: values[measure] for name, measure in asked.items()}
    if kind == "representation":
        found["kept"] = 1.0 - lost(data.X, made["Z"])
        if "Z_new" in made:
            found["kept, new rows"] = 1.0 - lost(data.X_new, made["Z_new"])
            fitting, scoring = (made["Z"], data.groups), (made["Z_new"], data.groups_new)
            found["area, new rows"] = metrics.group_auc("linear", fitting, scoring)
        return found
    labels = np.unique(made["labels"], return_inverse=True)[1]
    sizes = np.bincount(labels)
    means = np.array([np.bincount(labels, x) for x in data.X.T]).T / sizes[:, None]
    found["within"] = lost(data.X, means[labels])
    return found | {"clusters": float(len(sizes)), "smallest balance": metrics.balance(labels, data.groups)}
