"""What makes MMD^2 small in Tables 4 and 5 of Rathore and Manwani (2025): every choice that the paper leaves open.

Factors: the sensitive column among the features or not; group matrices about the overall mean, the group means or the
origin; the algorithm; where it starts; in which order columns are taken. Two methods without any joint diagonalisation
go through the same cells: PCA of all rows and PCA of the women. What is reported is the advantage in MMD^2 over
standard PCA of the same features.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.joint_diagonalisation import joint_diagonalise

from . import rathore2025_protocol as protocol
from .rathore2025_protocol import CENTRINGS, HALF_DIGIT, TABLES
from .rathore2025_tables import leading, orthonormal, standard

SEED = 20252
SEX = ("in", "out")
STARTS = ("identity", "pooled", "women")
ORDERS = ("pooled", "average", "maxmin", "as_is")
#: What a cell is called: sex, centring, method, start, order.
SEPARATOR = " | "
FACTORS = ["sensitive column", "centring", "method", "start", "order"]


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in TABLES]


def run_task(dataset: str) -> pd.DataFrame:
    """All cells from the data points."""
    return factorial(dataset, protocol.from_points(dataset))


def run(dataset: str) -> pd.DataFrame:
    """The same from shipped moments."""
    return factorial(dataset, protocol.from_shipped(dataset))


def factorial(dataset: str, moments: GroupMoments) -> pd.DataFrame:
    """Every cell: deviation from the printed JevdPCA column, and the advantage over PCA of the same features."""
    found = []
    theirs = protocol.printed(dataset)["JevdPCA"]
    for sex in SEX:
        seen = moments if sex == "in" else protocol.without_sex(dataset, moments)
        ranks = [k for k in theirs.index if k < seen.d]
        base = standard(seen)
        pca = np.array([list(protocol.judged(seen, base(k)).values()) for k in ranks])
        for name, columns in cells(seen):
            label = SEPARATOR.join((sex, *name))
            if isinstance(columns, str):
                metrics = ("mean MMD^2", "mean advantage in MMD^2", "mean excess R.E.")
                found += protocol.missing(dataset, label, None, metrics, columns)
                continue
            values = np.array([list(protocol.judged(seen, columns(k)).values()) for k in ranks])
            found += protocol.rows(dataset, label, None, _summary(values, pca, theirs.loc[ranks], sex))
    return protocol.frame(found).astype({"k": "Int64"})


def _summary(values: np.ndarray, pca: np.ndarray, theirs: pd.DataFrame, sex: str) -> dict[str, float]:
    error, mmd = values[:, 0], values[:, 2]
    found = {
        "mean MMD^2": float(mmd.mean(axis=0)),
        "MMD^2 at the largest r": float(mmd[-1]),
        "mean advantage in MMD^2": float((pca[:, 2] - mmd).mean(axis=0)),
        "largest advantage in MMD^2": float((pca[:, 2] - mmd).max(axis=0)),
        "mean excess R.E.": float((error / pca[:, 0] - 1.0).mean(axis=0)),
    }
    if sex == "in":
        off = np.abs(values - theirs[list(protocol.PRINTED)].to_numpy())
        found["printed numbers given again"] = int((off <= HALF_DIGIT).sum(axis=None))
        found["mean distance from printed MMD^2"] = float(off[:, 2].mean(axis=0))
    return found


def cells(moments: GroupMoments) -> Iterator[tuple[tuple[str, ...], Callable[[int], np.ndarray] | str]]:
    """Centring, method, start and order of every cell, with its columns for every k or why there are none."""
    shares = moments.counts / moments.n
    for centring in CENTRINGS:
        S = protocol.matrices(moments, centring)
        for method, H in (("PCA", protocol.pooled(moments, S)), ("PCA of the women", S[0]), ("PCA of the men", S[1])):
            yield (centring, method, "", ""), leading(H)
        for mode in ("paper", "orthogonal"):
            for start in STARTS:
                init = start if start != "women" else top_eigenspace(S[0], moments.d)[1]
                found = joint_diagonalise(S, mode, init=init, weights=shares, undefined="skip")
                for order in ORDERS:
                    columns = _columns(found, S, shares, order)
                    yield (centring, f"JEVD ({mode})", start, order), columns


def _columns(found, S: np.ndarray, shares: np.ndarray, order: str) -> Callable[[int], np.ndarray] | str:
    if found.status == "diverged":
        return "Algorithm 1 diverged"
    return lambda k: orthonormal(found.U, S, shares, k, order)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each cell and data set: its factors and what was measured."""
    some = rows.drop_duplicates(["dataset", "method", "metric"])
    wide = some.pivot(index=["dataset", "method"], columns="metric", values="value").reset_index()
    factors = wide["method"].str.split(SEPARATOR, expand=True, regex=False)
    factors.columns = FACTORS
    return pd.concat([wide[["dataset"]], factors, wide.drop(columns=["dataset", "method"])], axis=1)


def what_is_left(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean advantage in MMD^2 over PCA with the sensitive column among the features and without it, cell by cell."""
    found = table(rows)
    index = ["dataset", *FACTORS[1:]]
    wide = found.pivot(index=index, columns="sensitive column", values="mean advantage in MMD^2")
    return wide.rename(columns={"in": "with", "out": "without"})[["with", "without"]].reset_index()


__all__ = ["SEED", "run", "run_task", "tasks"]
