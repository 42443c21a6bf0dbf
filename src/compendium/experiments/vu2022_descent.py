"""Where the published descent of Vu et al. (2022) ends, beside the exact minimum: whole data, every grid point."""

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.robust_descent import descend
from evenspan.reconstruction.robust_exact import solve_exact

from ..data import load, whole_moments
from .vu2022_methods import RESTARTS, ROBUST_GRID, radii
from .vu2022_protocol import ITERATIONS, SEED, UNSCALED, Problem, prepared

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "alpha", "lambda", "value", "reason"]
#: What the build of the book computes itself.
EMBEDDED = ("energy", "ecoli", "wine_quality")
#: Of all data sets, those in the order of the table.
DATASETS = (
    *("default_credit", "biodeg", "ecoli", "energy", "german_credit", "image", "letter", "magic", "parkinsons"),
    *("skillcraft", "statlog", "steel", "taiwan_credit", "wine_quality", "lfw_24x24"),
)


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name, "k": 3} for name in reversed(DATASETS)]


def run_task(dataset: str, k: int) -> pd.DataFrame:
    """The whole grid from the data points."""
    data = load(dataset)
    return _compared(dataset, GroupMoments.from_data(data.X, data.groups), k)


def run(k: int) -> pd.DataFrame:
    """The same from shipped moments, for three of the data sets."""
    return pd.concat([_compared(name, whole_moments(name), k) for name in EMBEDDED], ignore_index=True)


def _compared(dataset: str, raw: GroupMoments, k: int) -> pd.DataFrame:
    moments, rows = prepared(raw, raw, dataset not in UNSCALED), []
    problem = Problem(moments, k, ITERATIONS.get(dataset, 1000), np.random.default_rng((SEED, 0)))
    matrices = group_matrices(moments, "fitted")
    # The exact objective for both, so that the values can be compared.
    found = descend(
        matrices, moments.counts, k, ROBUST_GRID, restarts=RESTARTS, iterations=problem.iterations, rng=problem.rng,
        on_violation="exact",
    )  # fmt: skip
    joint = JointRange(*matrices, k)
    for s, (alpha, penalty) in enumerate(ROBUST_GRID):
        shares = moments.counts / moments.n
        _, certificate = solve_exact(joint, shares, radii(problem, alpha), penalty)
        values = {
            ("descent", "best start"): found.objective[s],
            ("descent", "worst start"): found.runs[s].max(axis=0),
            ("descent", "starts within 1e-6"): (found.runs[s] <= certificate.primal * (1 + 1e-6)).sum(axis=0),
            ("exact", "value"): certificate.primal,
            ("exact", "certificate gap"): certificate.gap,
            ("exact", "eigenvalue problems"): certificate.evaluations,
        }
        for (method, metric), value in values.items():
            rows.append((dataset, method, k, "all", "in-sample", metric, alpha, penalty, float(value), ""))
    return pd.DataFrame(rows, columns=COLUMNS)


def excess(rows: pd.DataFrame) -> pd.DataFrame:
    """By how much, relative to the exact minimum, the best and the worst start end above it."""
    index = ["dataset", "alpha", "lambda", *(["source"] if "source" in rows else [])]
    wide = rows.pivot(index=index, columns=["method", "metric"], values="value")
    exact = wide["exact", "value"]
    found = pd.DataFrame(
        {
            "best": wide["descent", "best start"] / exact - 1.0,
            "worst": wide["descent", "worst start"] / exact - 1.0,
            "gap": wide["exact", "certificate gap"] / exact,
            "eigenvalue problems": wide["exact", "eigenvalue problems"],
        }
    )
    return found.reset_index()


def by_penalty(found: pd.DataFrame) -> pd.DataFrame:
    """Largest excess of the best and of the worst start in per cent, by data set and lambda."""
    grouped = found.groupby(["dataset", "lambda"], sort=False)[["best", "worst"]].max()
    return (100.0 * grouped.clip(lower=0.0)).round(4).reset_index()
