"""Evidence for findings about statements and proofs: small closed examples, and counts on data."""

import numpy as np
import pandas as pd

from ..claim_rules import NOT_SO, rule
from ..papers.lee2023 import theorems as lee2023_theorems
from ..papers.rathore2025 import theorems as rathore2025_theorems
from ..papers.zhou2024.protocol import NAMES
from ..papers.zhou2024.readings import gammas
from ..papers.zhou2024.theorems import enumerate_samples
from ..store import full
from .findings_evidence import Evidence


def joint_diagonaliser() -> Evidence:
    """Theorem 4.1 of Rathore and Manwani: every square U, and a pair of diagonal matrices with one column."""
    pair = np.array([np.diag([4.0, 1.0, 1.0]), np.diag([1.0, 1.0, 2.0])])
    every = rathore2025_theorems.square_case(pair)[["loss of A", "loss of B"]].abs().max(axis=None)
    choices = rathore2025_theorems.column_choices(pair)
    one = choices[choices["r"] == 1].drop(columns="r")
    unequal = (one["loss of A"] - one["loss of B"]).abs().min()
    pairs = rathore2025_theorems.commuting_pairs(60)
    rounding = rule("joint-diagonaliser", "rounding")
    equal = int((pairs["smallest gap"] < rounding).sum())
    return Evidence(
        supported=every < rounding < unequal and equal < len(pairs),
        sentence=(
            f"With all three columns the losses of random rotations are at most {every:.0e}. With one column of the "
            f"exact diagonaliser U = I they differ by at least {unequal:g}. Of {len(pairs)} cases with random "
            f"commuting pairs and r < d, {equal} have any choice of columns with equal losses."
        ),
        table=one.map(lambda v: f"{v:g}" if isinstance(v, float) else v),
        caption=(
            "diag(4, 1, 1) and diag(1, 1, 2), U = I, one column: losses, and the smallest larger loss of any projection"
        ),
    )


def proportional_clusters() -> Evidence:
    """Theorem 1 of Zhou et al.: every table of counts of small samples."""
    found = enumerate_samples()
    rows = [
        (groups, cases, *(found.contradicted.get((metric, groups), 0) for metric in ("Bal", "MNCE")))
        for groups, cases in found.cases.items()
    ]
    n, first, (F, bal, mnce), second, (rival_F, rival_bal, rival_mnce) = found.examples["pair"]
    clusters = [" and ".join(str(tuple(c)) for c in table.T.tolist()) for table in (first, second)]
    missed = sum(row[3] for row in rows)
    return Evidence(
        supported=found.with_fair_one == 0 and found.wrong == 0 and missed > 0,
        sentence=(
            f"Where a proportional clustering exists ({found.fair} samples), the minimiser of F has the largest "
            f"balance and entropy in all but {found.with_fair_one}. Elsewhere it need not. With n = {n}, clusters "
            f"{clusters[0]} have F = {F}, balance {bal:g} and entropy {mnce:g}; clusters {clusters[1]} have the "
            f"larger F = {rival_F}, balance {rival_bal:g} and entropy {rival_mnce:.2f}."
        ),
        table=pd.DataFrame(
            rows, columns=["groups", "samples", "minimiser misses the largest Bal", "misses the largest MNCE"]
        ),
        caption=f"All {found.tables:,} tables of counts of {sum(found.cases.values())} small samples",
    )


def flattened_weights() -> Evidence:
    """The weights of twelve kernels with the shift and without, and what is left of the difference in the answer."""
    rows = full("zhou2024-multiple")
    lines, shifted, free = [], [], []
    for dataset, some in rows.groupby("dataset", sort=False):
        for method, own in gammas(some).groupby("method", sort=False):
            equal = 1.0 / own["kernel"].max()
            low, high = own["smallest"].min() / equal - 1.0, own["largest"].max() / equal - 1.0
            if method in ("FMKKM", "FMKKM (unshifted)"):
                lines.append((NAMES[dataset], method, f"{low:+.1%}", f"{high:+.1%}"))
                (shifted if method == "FMKKM" else free).append(max(high, -low))
    ends = rows[rows["metric"].isin(["ACC", "NMI", "Bal", "MNCE"])]
    mean = ends.groupby(["dataset", "method", "metric"])["value"].mean().unstack("method")
    apart = (mean["FMKKM"] - mean["FKKM (average kernel)"]).abs().groupby("dataset").max()
    told = ", ".join(f"{NAMES[name]} {value:.3f}" for name, value in apart.items())
    return Evidence(
        supported=max(shifted) < min(free) and bool(apart.max() < rule("flattened-weights", "same answer")),
        sentence=(
            f"With the shift no weight is further than {max(shifted):.1%} from the uniform one; without it the "
            f"furthest is at least {min(free):.0%} away on every data set. Largest difference, in ACC, NMI, Bal or "
            f"MNCE, between several kernels with learnt weights and their plain average: {told}."
        ),
        table=pd.DataFrame(lines, columns=["data", "method", "smallest weight, off uniform", "largest, off uniform"]),
        caption="Weights of twelve kernels over all seeds, full run",
    )


def too_many_removed() -> Evidence:
    """Lee et al.: pairs (k, m) that the definition admits and that leave no room."""
    rows = []
    for d in lee2023_theorems.FEATURES:
        pairs = lee2023_theorems.admitted(d)
        rows.append((d, len(pairs), sum(k > d - m - 1 for k, m in pairs)))
    answer = lee2023_theorems.defined_everywhere()
    found = pd.DataFrame(rows, columns=["d", "pairs (k, m) admitted", "without a feasible projection"])
    return Evidence(
        supported=answer.here == NOT_SO and bool((found.iloc[:, 2] > 0).all()),
        sentence=answer.evidence,
        table=found,
        caption="Pairs that the definition admits, and those with k > d - m - 1",
    )


def no_kernel_for_newcomers() -> Evidence:
    """The fair kernel with the shift of the first people, on more people of the same kind."""
    weight, draw, rows = 2.0, np.random.default_rng(5), []
    for times in (1, 2, 4):
        points, groups = draw.normal(size=(100 * times, 2)), np.repeat([0, 1], [60 * times, 40 * times])
        kernel = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 2)
        fair = kernel + weight * 60 * np.eye(len(points)) - weight * (groups[:, None] == groups)
        rows.append((len(points), 60 * times, float(np.linalg.eigvalsh(fair)[0])))
    found = pd.DataFrame(rows, columns=["people", "largest group", "smallest eigenvalue"])
    least = found["smallest eigenvalue"]
    return Evidence(
        supported=least.iloc[0] > -rule("no-kernel-for-newcomers", "rounding") and least.iloc[-1] < 0,
        sentence=(
            f"With the shift of the first {rows[0][0]} people the smallest eigenvalue is {least.iloc[0]:.2f} for them "
            f"and {least.iloc[-1]:.2f} for {rows[-1][0]} people of the same kind."
        ),
        table=found.round(2),
        caption=f"Gaussian kernel, fairness weight {weight:g}, the shift of the first {rows[0][0]} people throughout",
    )
