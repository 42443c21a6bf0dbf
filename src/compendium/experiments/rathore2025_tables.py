"""Tables 2 to 5 and Figure 1 of Rathore and Manwani (2025): four methods as printed, and ours beside them.

The row FairPCA_SDP_LP is solved by the exact two-group solver: the printed semidefinite program has the same optimum,
which the experiment on running times checks. The row JevdPCA is Algorithm 1 started from the pooled eigenvectors; what
the start printed in the paper, the identity, leads to has a row of its own.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.disparity import Family, search_reference
from evenspan.reconstruction.jevd import order_columns, orthonormal_columns
from evenspan.reconstruction.joint_diagonalisation import JointDiagonalisation, joint_diagonalise
from evenspan.reconstruction.min_max import solve_min_max

from . import rathore2025_protocol as protocol
from .rathore2025_claims import claims as table_claims
from .rathore2025_protocol import PRINTED, PUBLISHED, TABLES
from .rathore2025_theorems import claims as theorem_claims

SEED = 2025
#: A method takes the moments of a data set once and then gives columns W (d, k) for every k, or the reason for none.
Fitted = Callable[[int], np.ndarray | str]


def standard(moments: GroupMoments) -> Fitted:
    """The leading eigenvectors of the covariance of all rows."""
    return leading(moments.scatter)


def one_group(moments: GroupMoments, centring: str = "global") -> Fitted:
    """The leading eigenvectors of the women's matrix: a PCA of one group."""
    return leading(protocol.matrices(moments, centring)[0])


def leading(H: np.ndarray) -> Fitted:
    """The leading eigenvectors of a symmetric matrix."""
    _, V = top_eigenspace(H, len(H))
    return lambda k: V[:, :k]


def min_max(moments: GroupMoments, centring: str = "global") -> Fitted:
    """The optimum that the semidefinite program and its rounding seek."""
    S = protocol.matrices(moments, centring)
    return lambda k: solve_min_max(*S, k, "loss")[0]


def disparity(moments: GroupMoments, centring: str = "global") -> Fitted:
    """c-FPCA by golden section, as its own paper prints it, on data that are not scaled."""
    S, shares = protocol.matrices(moments, centring), moments.counts / moments.n
    return lambda k: search_reference(Family(S, shares, k), True)[0]


def diagonalised(mode: str, init: str, centring: str = "global") -> Callable[[GroupMoments], Fitted]:
    """Columns of a joint diagonaliser in the order of pooled variance, of unit length and orthonormalised."""

    def fit(moments: GroupMoments) -> Fitted:
        S, shares = protocol.matrices(moments, centring), moments.counts / moments.n
        found = joint_diagonalise(S, mode, init=init, weights=shares)
        if found.status not in ("converged", "not converged"):
            return lambda k: why_not(found)
        return lambda k: orthonormal(found.U, S, shares, k)

    return fit


def raw_columns(moments: GroupMoments) -> Fitted:
    """The same columns as Algorithm 1 leaves them: neither of unit length nor orthonormalised."""
    S, shares = protocol.matrices(moments, "global"), moments.counts / moments.n
    found = joint_diagonalise(S, "paper", init="pooled", weights=shares)
    if found.status not in ("converged", "not converged"):
        return lambda k: why_not(found)
    return lambda k: found.U[:, order_columns(found.U, S, shares, k, "pooled")]


def why_not(found: JointDiagonalisation) -> str:
    """Why a run of Algorithm 1 has no answer."""
    if found.status == "diverged":
        return f"Algorithm 1 diverged: after {found.n_iter} steps its criterion had grown beyond all bounds"
    return (
        f"Algorithm 1 has no step {found.n_iter + 1}: two columns have equal variances in both groups, and the update "
        "divides by zero"
    )


def orthonormal(U: np.ndarray, S: np.ndarray, shares: np.ndarray, k: int, order: str = "pooled") -> np.ndarray:
    """The first k columns in the given order, of unit length, made orthonormal."""
    return orthonormal_columns(U[:, order_columns(U, S, shares, k, order)])


#: The printed methods first.
METHODS: Mapping[str, Callable[[GroupMoments], Fitted]] = {
    "covFairPCA": disparity,
    "FairPCA_SDP_LP": min_max,
    "JevdPCA": diagonalised("paper", "pooled"),
    "StandardPCA": standard,
    "JevdPCA (from U = I)": diagonalised("paper", "identity"),
    "JevdPCA (raw columns)": raw_columns,
    "JevdPCA (orthogonal)": diagonalised("orthogonal", "pooled"),
    "PCA of the women": one_group,
    # The same about the origin: what rows give that nobody centred. All are judged on centred rows.
    "covFairPCA (uncentred)": partial(disparity, centring="none"),
    "FairPCA_SDP_LP (uncentred)": partial(min_max, centring="none"),
    "JevdPCA (uncentred)": diagonalised("paper", "pooled", "none"),
    "PCA of the women (uncentred)": partial(one_group, centring="none"),
}
#: Their columns are not orthonormal, so that errors and losses by group mean nothing.
RAW = ("JevdPCA (raw columns)",)


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in TABLES]


def run_task(dataset: str) -> pd.DataFrame:
    """All methods and all r from the data points."""
    return measured(dataset, protocol.from_points(dataset))


def run(dataset: str) -> pd.DataFrame:
    """The same from shipped moments."""
    return measured(dataset, protocol.from_shipped(dataset))


def measured(dataset: str, moments: GroupMoments) -> pd.DataFrame:
    """Every metric of every method for every r of a table."""
    found = []
    ranks = range(1, protocol.table(dataset).largest + 1)
    S = protocol.matrices(moments, "global")
    least = {k: solve_min_max(*S, k, "loss")[1].dual for k in ranks}
    for name, fit in METHODS.items():
        answer = fit(moments)
        for k in ranks:
            W = answer(k)
            if isinstance(W, str):
                found += protocol.missing(dataset, name, k, PRINTED, W)
                continue
            values = protocol.judged(moments, W)
            if name not in RAW:
                values |= protocol.fairness(dataset, moments, W)
                values["excess worst loss"] = values["worst loss"] - least[k]
            if name == "FairPCA_SDP_LP":
                values["least worst loss"] = least[k]
            found += protocol.rows(dataset, name, k, values)
    return protocol.frame(found)


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """How many printed numbers each method of ours gives again to the printed digits, for each printed column."""
    found = []
    for dataset, part in rows[rows["metric"].isin(PRINTED)].groupby("dataset", sort=False):
        wide = part.drop_duplicates(["method", "k", "metric"]).pivot(
            index="k", columns=["method", "metric"], values="value"
        )
        theirs = protocol.printed(dataset)
        for method in wide.columns.get_level_values("method").unique():
            for column in PUBLISHED:
                off = (wide[method] - theirs[column]).abs()
                for metric in PRINTED:
                    equal = int((off[metric] <= protocol.HALF_DIGIT).sum(axis=0))
                    found.append((dataset, method, column, metric, equal, int(theirs.shape[0])))
    return pd.DataFrame(found, columns=["dataset", "method", "printed column", "metric", "equal", "numbers"])


claims = theorem_claims | table_claims

__all__ = ["SEED", "claims", "run", "run_task", "tasks"]
