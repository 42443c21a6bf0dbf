"""Evidence for findings about statements and proofs: small closed examples, and counts on data."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays.style import COLOURS, INK
from evenspan.reconstruction import robust_descent as ro
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.robust_exact import solve_exact

from ..claim_rules import rule
from ..papers.vu2022.methods import printed_objective
from ..papers.vu2022.theorems import COVARIANCES
from .findings_evidence import Evidence, K, data_sets, listed, matrices, title


def gaps() -> pd.DataFrame:
    """Smallest and largest gap of the errors over all projections, with the printed criterion and the right one."""
    rows = []
    for name, moments in data_sets().items():
        M = matrices(name)
        rank = int(np.linalg.matrix_rank(M[0] - M[1], tol=1e-9 * np.abs(M).max()))
        low, high = JointRange(*M, K).extreme_gaps()
        rows.append((title(name), moments.d, rank, rank <= K, low <= 0.0 <= high, float(low), float(high)))
    return pd.DataFrame(rows, columns=["data", "d", "rank", "printed", "exists", "low", "high"])


def draw_gaps(found: pd.DataFrame) -> Figure:
    """All :func:`gaps` that projections can reach, one interval for each data set, over the largest of its ends."""
    fig, ax = plt.subplots(figsize=(7.6, 0.3 * len(found) + 1.1), layout="constrained")
    places = np.arange(len(found))[::-1]
    scale = found[["low", "high"]].abs().max(axis=1)
    looks = {True: ("o", COLOURS[0], "zero is among them"), False: ("s", COLOURS[1], "zero is not attained")}
    for exists, (marker, colour, words) in looks.items():
        some = (found["exists"] == exists).to_numpy()
        low, high = (found["low"] / scale)[some], (found["high"] / scale)[some]
        ax.hlines(places[some], low, high, color=colour, linewidth=2)
        ends = np.r_[low, high], np.r_[places[some], places[some]]
        ax.plot(*ends, marker, color=colour, markersize=6, label=words)
    ax.axvline(0.0, color=INK, linewidth=1)
    ax.set_yticks(places, found["data"])
    ax.set_xlabel("error of group 0 less error of group 1, over its largest absolute value")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


def equal_errors() -> Evidence:
    """Proposition 2.2 of Vu et al.: the toy pair of the paper, and the data sets."""
    values = np.linalg.eigvalsh(COVARIANCES[0] - COVARIANCES[1])
    low, high = JointRange(*COVARIANCES, 1).extreme_gaps()
    found = gaps()
    wrong = found["printed"] != found["exists"]
    answers = found[["printed", "exists"]].map({True: "yes", False: "no"}.get)
    shown = found[["data", "d", "rank"]].join(answers)
    return Evidence(
        supported=values[0] < 0 < values[1] and low < 0 < high and wrong.any(),
        sentence=(
            f"The paper's toy covariances differ by a matrix with eigenvalues {values[0]:.2f} and {values[1]:.2f}, of "
            f"rank 2 > k = 1, and the gap of the errors runs from {low:.2f} to {high:.2f} through zero. On "
            f"{int(wrong.sum())} of {len(found)} data sets the printed criterion gives the wrong answer."
        ),
        table=shown.rename(columns={"rank": "rank of the difference", "printed": "exists, as printed"}),
        caption=f"Projections with equal errors, k = {K}, standardised, whole data",
    )


def unreachable_equality() -> Evidence:
    """Data sets on which no projection has equal errors: the smallest gap over all projections is not zero."""
    found = gaps()
    never = found[~found["exists"]]
    least = np.minimum(never["low"].abs(), never["high"].abs())
    return Evidence(
        supported=0 < len(never) < len(found),
        sentence=(
            f"On {len(never)} of {len(found)} data sets ({listed(never['data'])}) no projection of rank {K} has equal "
            f"errors, whatever the method; the errors differ by at least {least.min():.2f} to {least.max():.2f} "
            f"there. On the other {len(found) - len(never)} there is one."
        ),
        table=never.drop(columns=["rank", "printed", "exists"])
        .rename(columns={"low": "smallest gap", "high": "largest gap"})
        .round(2),
        caption="Error of group 0 less error of group 1 over all projections, where zero is not attained",
    )


def levelling_down() -> Evidence:
    """A penalty so heavy that errors have to be equal: where both groups lose against PCA."""
    rows, worse = [], rule("levelling-down", "worse by")
    for name, moments in data_sets().items():
        M, p = matrices(name), moments.counts / moments.n
        heavy = errors(M, solve_exact(JointRange(*M, K), p, (0.0, 0.0), 1000.0)[0])
        pca = errors(M, np.linalg.eigh(np.tensordot(p, M, axes=1))[1][:, -K:])
        loss = errors(M, solve_min_max(*M, K, "loss")[0])
        rows.append((title(name), *pca, *heavy, bool((heavy > pca + worse).all()), bool((loss > pca + worse).all())))
    columns = ["data", "PCA, 0", "PCA, 1", "heavy, 0", "heavy, 1", "worse", "loss worse"]
    found = pd.DataFrame(rows, columns=columns)
    both = found[found["worse"]]
    return Evidence(
        supported=len(both) > 0,
        sentence=(
            f"On {len(both)} of {len(found)} data sets ({listed(both['data'])}) both groups are worse off than with "
            "PCA. Making the larger loss as small as possible, as Samadi et al. ask, does so on "
            f"{int(found['loss worse'].sum()) or 'none'} of them."
        ),
        table=both[columns[:5]].round(3),
        caption=f"Errors with the penalty 1000, k = {K}, where both groups lose",
    )


def dropped_sum() -> Evidence:
    """Theorem B.2 of Vu et al.: the printed objective without penalty, and the projection that it prefers."""
    rng, name = np.random.default_rng(22), "wine_quality"
    M, moments = matrices(name), data_sets()[name]
    p, e = moments.counts / moments.n, ro.radii(moments.counts, 0.1)
    drawn = [np.linalg.qr(rng.normal(size=(moments.d, K)))[0] for _ in range(200)]
    printed, right = (
        np.array([float(f(errors(M, V), p, (0.0, 0.0), 0.0)) for V in drawn]) for f in (printed_objective, ro.objective)
    )
    prefers = min(drawn, key=lambda V: float(printed_objective(errors(M, V), p, e, 0.2)))
    exact = solve_exact(JointRange(*M, K), p, e, 0.2)[0]
    ours, theirs = float(p @ errors(M, exact)), float(p @ errors(M, prefers))
    return Evidence(
        supported=np.ptp(printed) < rule("dropped-sum", "rounding")
        and np.ptp(right) > rule("dropped-sum", "varies by")
        and theirs > ours,
        sentence=(
            f"Wine Quality, k = {K}, no penalty and no radius: over {len(drawn)} random projections the printed "
            f"objective varies by {np.ptp(printed):.0e}, the average error by {np.ptp(right):.2f}. With the penalty "
            f"0.2 the projection among them that it prefers has the average error {theirs:.2f}; the minimiser of the "
            f"problem has {ours:.2f}."
        ),
    )


def convex_up_to_the_share() -> Evidence:
    """The smallest eigenvalue of the matrices C, by penalty."""
    rows = []
    for name, moments in data_sets().items():
        M, p = matrices(name), moments.counts / moments.n
        for what, lam in (("the smaller share", p.min()), ("0.5", 0.5), ("2.5", 2.5)):
            least = min(np.linalg.eigvalsh((p[a] + lam) * M[a] + (p[1 - a] - lam) * M[1 - a])[0] for a in (0, 1))
            rows.append((what, title(name), float(least) < -rule("convex-up-to-the-share", "rounding")))
    found = pd.DataFrame(rows, columns=["penalty", "data", "negative"]).groupby("penalty", sort=False)["negative"]
    count = found.agg(["sum", "size"]).reset_index()
    return Evidence(
        supported=count["sum"].iloc[0] == 0 and (count["sum"].iloc[1:] > 0).all(),
        sentence=(
            "Up to the smaller share of a group no data set has a negative eigenvalue; with the penalty 2.5, the "
            f"largest of the paper's grid, {int(count['sum'].iloc[-1])} of {int(count['size'].iloc[-1])} have one."
        ),
        table=count.rename(columns={"sum": "data sets with a negative eigenvalue", "size": "of"}),
        caption="Matrices C of Theorem 3.2, standardised data",
    )
