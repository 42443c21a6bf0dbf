"""Figures 2, 5 and 6 of Vu et al. (2022): average error against the gap, whole data, every grid point."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.joint_range import JointRange

from ..data import load, whole_moments
from . import claim_rules
from .store import read_results
from .vu2022_methods import METHODS
from .vu2022_protocol import SEED, Answer, Problem, judged, prepared

DATASETS = ("default_credit", "biodeg", "german_credit")
#: The curves of the paper; the first depends on random starts.
CURVES = ("RFPCA", "FairPCA", "CFPCA-Mean Con.")
OURS = ("RFPCA (exact)", "FairPCA (rank k)", "CFPCA-Mean Con. (linear)")
SEEDS = range(5)
FRONTIER = "certified frontier"
POINTS = 81
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "point", "value", "reason"]


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name, "k": 3} for name in DATASETS]


def run_task(dataset: str, k: int) -> pd.DataFrame:
    """Every curve from the data points."""
    data = load(dataset)
    return _curves(dataset, GroupMoments.from_data(data.X, data.groups), k, SEEDS)


def run(dataset: str, k: int) -> pd.DataFrame:
    """Every curve from shipped moments, with one seed."""
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(DATASETS)}.")
    return _curves(dataset, whole_moments(dataset), k, SEEDS[:1])


def _curves(dataset: str, raw: GroupMoments, k: int, seeds) -> pd.DataFrame:
    moments, rows = prepared(raw, raw, scaled=True), []

    def put(method: str, split, point: int, answer: Answer) -> None:
        values = {"ABDiff": np.nan, "ARE": np.nan} if answer.failed else judged(answer, moments, moments)
        for metric in ("ABDiff", "ABDiff (overall mean)", "ARE"):
            if metric in values:
                rows.append((dataset, method, k, split, "in-sample", metric, point, values[metric], answer.reason))

    for name in (*CURVES, *OURS):
        for seed in seeds if name == "RFPCA" else ["all"]:
            rng = np.random.default_rng((SEED, 0 if seed == "all" else seed))
            answers = METHODS[name].solve(Problem(moments, k, 1000, rng), METHODS[name].grid)
            for point, answer in enumerate(answers):
                put(name, seed, point, answer)
    put("PCA", "all", 0, Answer(top_eigenspace(moments.scatter, k)[1]))
    for point, answer in enumerate(frontier(moments, k)):
        put(FRONTIER, "all", point, answer)
    return pd.DataFrame(rows, columns=COLUMNS)


def frontier(moments: GroupMoments, k: int) -> Iterator[Answer]:
    """Smallest average error for every gap: the part of the joint range's boundary from PCA to equal errors.

    The direction turns from the shares of the groups (PCA) to (1, -1) or (-1, 1), which has the smallest gap of all.
    """
    joint = JointRange(*group_matrices(moments, "fitted"), k)
    shares = moments.counts / moments.n
    start = float(np.arctan2(shares[1], shares[0]))
    gap = float(np.subtract(*joint.support(start).ends[0]))
    # The larger error is to fall, so its group gains weight.
    end = -np.pi / 4 if gap > 0 else 3 * np.pi / 4
    for angle in np.linspace(start, end, POINTS):
        found = joint.support(float(angle))
        reached = float(np.subtract(*found.ends[0]))
        yield Answer(found.basis(0.0))
        if reached * gap < 0:
            return


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each point of a curve: ARE and ABDiff, mean over the seeds; the methods in a fixed order."""
    index = ["dataset", "method", "point", *(["source"] if "source" in rows else [])]
    wide = rows.pivot_table(index=index, columns="metric", values="value", aggfunc="mean").reset_index()
    order = {name: place for place, name in enumerate((*CURVES, *OURS, "PCA", FRONTIER))}
    return wide.sort_values(["method", "point"], key=lambda v: v.map(order) if v.name == "method" else v, kind="stable")


def dominated(points: pd.DataFrame, by: pd.DataFrame) -> int:
    """How many points have some point of the other curve at least as good in both axes and better in one."""
    count = 0
    for _, row in points.iterrows():
        no_worse = (by["ARE"] <= row["ARE"]) & (by["ABDiff"] <= row["ABDiff"])
        better = (by["ARE"] < row["ARE"]) | (by["ABDiff"] < row["ABDiff"])
        count += bool((no_worse & better).any())
    return count


def robust_points_dominate() -> claim_rules.Answer | None:
    """V26: on Biodeg and German Credit RFPCA has points that dominate those of the other methods.

    Asked of each other curve: does RFPCA dominate some of its points, and a larger share than is dominated of its own?
    """
    asked = ("biodeg", "german_credit")
    rows = read_results("vu2022-pareto", dataset=asked, method=CURVES)
    if set(rows["dataset"]) != set(asked):
        return None
    found, texts, answers = means(rows), [], []
    for dataset in asked:
        some = found[found["dataset"] == dataset]
        robust = some[some["method"] == "RFPCA"]
        for other in ("FairPCA", "CFPCA-Mean Con."):
            theirs = some[some["method"] == other].dropna(subset=["ARE"])
            n, back = dominated(theirs, robust), dominated(robust, theirs)
            answers.append(n * len(robust) > back * len(theirs))
            texts.append(f"{dataset}: RFPCA dominates {n} of {len(theirs)} points of {other}, {back} of its own "
                         f"{len(robust)} are dominated")  # fmt: skip
    return claim_rules.Answer(claim_rules.by_parts(answers), "; ".join(texts) + ".")


claims = {"V26": robust_points_dominate}
