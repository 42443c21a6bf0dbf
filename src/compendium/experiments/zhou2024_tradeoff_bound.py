"""A certificate of the objective of Zhou et al. (2024), and what their Theorem 2 amounts to.

The certificate (:func:`evenspan.clustering.bounds.deflated_bound`) is for the clustering of the sample: no clustering
passes it. For a large weight it says what the best among the fair clusterings could reach. Theorem 2 is for points
that were not clustered.
"""

import numpy as np
import pandas as pd

from .zhou2024_bound import DELTA, bound, largest_error
from .zhou2024_judge import JointCounts


def certificates(rows: pd.DataFrame) -> pd.DataFrame:
    """The best objective over the seeds beside the bound, by weight; both without what no clustering can change.

    Parameters
    ----------
    rows : DataFrame
        Rows of one data set.

    Returns
    -------
    DataFrame
        ``weight``; ``reached``, the same ``carried on`` from each weight to the next, and ``bound`` (objective plus the
        weight times the smallest regulariser, by n); ``gap``, and ``share`` of the bound that is reached.
    """
    grid = rows[rows["protocol"] == "grid"]
    best = grid[(grid["method"] == "FKKM") & (grid["metric"] == "objective")].groupby("weight")["value"].max()
    carried = rows[(rows["protocol"] == "start: carried on") & (rows["metric"] == "objective")]
    carried = carried.groupby("weight")["value"].max()
    upper = grid[grid["metric"] == "upper bound"].set_index("weight")["value"]
    n, _, sizes = shape(rows)
    lift = (sizes.astype(float) ** 2).sum(axis=0) / n
    weights = best.index.to_numpy(float)
    found = pd.DataFrame({"weight": weights, "reached": (best.to_numpy() + weights * lift) / n})
    found["carried on"] = (carried.reindex(best.index).to_numpy() + weights * lift) / n
    found["bound"] = (upper.reindex(best.index).to_numpy() + weights * lift) / n
    found["gap"] = found["bound"] - found["reached"]
    found["share"] = found["reached"] / found["bound"]
    return found


def certificate_lines(found: pd.DataFrame) -> pd.DataFrame:
    """The same as lines over the weight, ready to be drawn."""
    names = {"bound": "no clustering is above", "reached": "each weight from the start", "carried on": "carried on"}
    long = found.melt("weight", list(names), var_name="method", value_name="median")
    ends = long.assign(smallest=long["median"], largest=long["median"], metric="objective a point")
    return ends.assign(method=ends["method"].map(names))


def certificate_in_words(found: pd.DataFrame) -> str:
    """How close to the best the row update is known to be."""
    best, worst = found.loc[found["share"].idxmax()], found.loc[found["share"].idxmin()]
    return (
        f"The best answer over the seeds reaches at least {best['share']:.1%} of what any clustering could at "
        f"λ = {best['weight']:g}, and {worst['share']:.1%} at λ = {worst['weight']:g}. From the smallest to the "
        f"largest weight the bound falls by {found['bound'].iloc[0] - found['bound'].iloc[-1]:.4f}, the answer by "
        f"{found['reached'].iloc[0] - found['reached'].iloc[-1]:.4f}. Carried on from each weight to the next, the "
        f"answer falls by {found['reached'].iloc[0] - found['carried on'].iloc[-1]:.4f} and reaches "
        f"{found['carried on'].iloc[-1] / found['bound'].iloc[-1]:.1%} at the largest weight."
    )


def generalisation(rows: pd.DataFrame, *, delta: float = DELTA) -> pd.DataFrame:
    r"""Theorem 2 by weight: the empirical term, R, their sum, and the largest value that the error can have at all.

    The kernel has a unit diagonal, so that b = 1 and every point has the squared length :math:`1 + \alpha - \lambda`
    in the fair kernel. Two points are at most :math:`4 b + 2 \alpha` apart (squared), and so are a point and a mean of
    points; the range that the theorem itself gives the error is :math:`4 (b + \alpha) - 2 (1 + 1/t) \lambda`.

    Parameters
    ----------
    rows : DataFrame
        Rows of one data set.
    delta : float
        Probability that the bound fails.

    Returns
    -------
    DataFrame
        ``weight``, ``empirical``, ``excess``, ``bound``, ``largest possible``, ``range of the theorem``, ``MNCE``.
    """
    grid = rows[(rows["protocol"] == "grid") & (rows["method"] == "FKKM")]
    medians = grid.pivot_table(index="weight", columns="metric", values="value", aggfunc="median")
    n, c, sizes = shape(rows)
    weights, t, largest = medians.index.to_numpy(float), len(sizes), int(sizes.max())
    alpha = largest * weights
    found = pd.DataFrame({"weight": weights})
    found["empirical"] = 1.0 + alpha - weights - (medians["objective"].to_numpy() + alpha * c) / n
    found["excess"] = [bound(n, c, t, largest, weight, delta=delta) for weight in weights]
    found["bound"] = found["empirical"] + found["excess"]
    found["largest possible"] = largest_error(largest, weights)
    found["range of the theorem"] = 4.0 * (1.0 + alpha) - 2.0 * (1.0 + 1.0 / t) * weights
    found["MNCE"] = medians["MNCE"].to_numpy()
    return found


def vacuous(found: pd.DataFrame) -> str:
    """Where the bound says nothing, with the numbers."""
    above = found["bound"] >= found["largest possible"]
    wide = found["bound"] >= found["range of the theorem"]
    ratio = found["bound"] / found["largest possible"]
    text = (
        f"At {above.sum(axis=0)} of {len(found)} weights the bound is vacuous: it is {ratio.min():.3g} to "
        f"{ratio.max():.3g} times the largest possible squared distance of a point to a mean of points"
    )
    if not above.all():
        text += ", and below that at λ = " + ", ".join(f"{weight:g}" for weight in found["weight"][~above])
    return text + (
        f". It exceeds the range that the theorem gives the error itself at {wide.sum(axis=0)} of {len(found)} weights."
        f" It is {(found['bound'] / found['empirical']).min():.3g} to "
        f"{(found['bound'] / found['empirical']).max():.3g} times the empirical term."
    )


def shape(rows: pd.DataFrame) -> tuple[int, int, np.ndarray]:
    """Number of points, of clusters asked for, and sizes of the groups, from the first counts."""
    counted = rows[rows["metric"] == "n"]
    joint = JointCounts.from_text(counted["counts"].iloc[0])
    return joint.n, int(counted["k"].iloc[0]), joint.group_by_cluster.sum(axis=1)
