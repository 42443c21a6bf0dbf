"""Evidence for findings about programs and protocols: what was run, how it was scored, and what that changes."""

import numpy as np
import pandas as pd

from evenspan.reconstruction.convex import solve_convex
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.min_max import solve_min_max

from ..claim_rules import rule
from ..papers.vu2022.protocol import DATASETS, DELTAS
from ..papers.vu2022.readings import excess
from ..store import full
from .findings_evidence import Evidence, K, beside_printed, data_sets, listed, matrices, title


def full_rank_baseline() -> Evidence:
    """Rank of the operator that the released FairPCA baseline scores, and what cutting it to k does."""
    rows = full("vu2022-tables")
    rank = rows[(rows["method"] == "FairPCA") & (rows["metric"] == "operator rank")]
    above = rank[rank["value"] > K]
    wide = rows[rows["metric"].isin(["ABDiff", "ARE"]) & (rows["protocol"] == "out-of-sample")]
    mean = wide.groupby(["dataset", "metric", "method"])["value"].mean().unstack("method")
    moved = (mean["FairPCA (rank k)"] - mean["FairPCA"]).unstack("metric")
    by = rank.groupby("dataset", sort=False)["value"].agg(["min", "max"]).astype(int)
    by["above"] = above.groupby("dataset").size().reindex(by.index, fill_value=0)
    shown = by[by["above"] > 0].join(moved)
    table = pd.DataFrame(
        {
            "data": [DATASETS[name] for name in shown.index],
            "rank": [f"{low} to {high}" for low, high in zip(shown["min"], shown["max"], strict=True)],
            f"splits with rank above {K}": shown["above"].to_numpy(),
            f"change of ARE, cut to rank {K}": shown["ARE"].map("{:+.3f}".format).to_numpy(),
            "change of ABDiff": shown["ABDiff"].map("{:+.3f}".format).to_numpy(),
        }
    )
    return Evidence(
        supported=len(above) > 0 and bool(moved["ARE"].min() < 0 < moved["ARE"].max()),
        sentence=(
            f"In {len(above)} of {len(rank)} fits (data sets by splits) the operator has a rank above {K}, up to "
            f"{rank['value'].max():.0f}; so it is on {len(shown)} of {len(by)} data sets."
        ),
        table=table,
        caption="The operator behind the FairPCA column, out of sample, full run",
    )


def inert_grid() -> Evidence:
    """How far the answer moves over the whole grid of tolerances, as defined and as released."""
    rows = []
    for name, moments in data_sets().items():
        total, gained = np.trace(moments.scatter), {}
        for constraint in ("linear", "released"):
            kept = [
                float(np.trace(V.T @ moments.scatter @ V))
                for V in (solve_convex(moments, K, delta=d, constraint=constraint).V for d in (0.0, max(DELTAS)))
            ]
            gained[constraint] = moments.d * (kept[1] - kept[0]) / total
        rows.append((title(name), gained["linear"], gained["released"]))
    found = pd.DataFrame(rows, columns=["data", "as defined", "as released"])
    linear, released = found["as defined"].median(), found["as released"].median()
    moving = found[found["as released"] > rule("inert-grid", "moves at all") * found["as defined"].clip(lower=1e-9)]
    return Evidence(
        supported=released < rule("inert-grid", "hardly moves") * linear,
        sentence=(
            f"From a tolerance of 0 to {max(DELTAS)} the average error falls, in the median, by {linear:.3f} with the "
            f"constraint as defined and by {released:.1g} with the released one. Where the latter moves at all: "
            f"{listed(moving['data'])}."
        ),
        table=found.round(4).replace(-0.0, 0.0),
        caption=f"Average error gained over the whole grid of tolerances, k = {K}, whole data",
    )


def weight_outside_the_grid() -> Evidence:
    """The printed column of CFPCA with both constraints, beside the weight its program uses and beside the grid."""
    both = {"CFPCA - Both Con.": "the weight 1", "CFPCA - Both Con. (mu as meant)": "the printed grid"}
    found = beside_printed(dict.fromkeys(both, "CFPCA - Both Con."))
    found = found[found["table"] != "Table 4"]
    total = found.groupby("ours")[["numbers", "four decimals"]].sum()
    one, grid = (total.loc[name] for name in both)
    return Evidence(
        supported=one["four decimals"] > rule("weight-outside-the-grid", "share with the weight") * one["numbers"]
        and grid["four decimals"] < rule("weight-outside-the-grid", "share with the grid") * grid["numbers"],
        sentence=(
            f"With the weight 1, {one['four decimals']:.0f} of {one['numbers']:.0f} printed numbers are reproduced to "
            f"four decimals; with the grid of the paper {grid['four decimals']:.0f} of {grid['numbers']:.0f}."
        ),
        table=found.assign(ours=found["ours"].map(both)).rename(columns={"ours": "ours with"}),
        caption="Printed numbers of CFPCA - Both Con. beside ours, full run",
    )


def stops_short() -> Evidence:
    """How far above the certified minimum the published descent ends."""
    rows = full("vu2022-descent")
    found = excess(rows)
    least = rule("stops-short", "short by")
    short = found[found["best"] > least]
    by = short.groupby("dataset")["best"].agg(["size", "max"]).sort_values("max", ascending=False).head(6)
    table = pd.DataFrame(
        {"data": [DATASETS[n] for n in by.index], "cases": by["size"], "largest excess": by["max"].map("{:.2%}".format)}
    )
    above = found["best"].min() > -rule("stops-short", "rounding")
    return Evidence(
        supported=len(short) > 0 and above and found["gap"].max() < rule("stops-short", "gap"),
        sentence=(
            f"The best of all starts ends more than {least:.1%} above the certified minimum in {len(short)} of "
            f"{len(found)} cases (data sets by points of the grid), on {short['dataset'].nunique()} of "
            f"{found['dataset'].nunique()} data sets; the worst start of a case by up to {found['worst'].max():.0%}. "
            f"The gaps of the certificates are at most {found['gap'].max():.0e}."
        ),
        table=table,
        caption=f"Where the best start misses the minimum by more than {least:.1%}, the six largest",
    )


def separation_in_sample() -> Evidence:
    """The separating score of random labels, which is scored on the points it was fitted on."""
    rows = full("vu2022-tables")
    some = rows[(rows["method"] == "PCA") & rows["metric"].isin(["Delta F_Lin", "Delta F_Lin (permuted)"])]
    wide = some[some["dataset"] != "lfw_24x24"].groupby(["dataset", "metric"])["value"].mean().unstack()
    fair = rows[(rows["method"] == "CFPCA-Mean Con.") & (rows["metric"] == "Delta F_Lin")]
    wide["fair"] = fair.groupby("dataset")["value"].mean()
    wide = wide.dropna().sort_values("Delta F_Lin (permuted)", ascending=False)
    chance, near = wide["Delta F_Lin (permuted)"], rule("separation-in-sample", "near chance")
    below = wide[wide["fair"] <= (1 + near) * chance]
    table = pd.DataFrame(
        {
            "data": [DATASETS[name] for name in wide.index],
            "random labels": chance.round(3),
            "CFPCA, means": wide["fair"].round(3),
            "PCA": wide["Delta F_Lin"].round(3),
        }
    )
    return Evidence(
        supported=chance.max() > rule("separation-in-sample", "above zero"),
        sentence=(
            f"Labels drawn at random, which separate nothing, score {chance.min():.3f} to {chance.max():.3f}. On "
            f"{len(below)} of {len(wide)} data sets ({listed(DATASETS[name] for name in below.index)}) the "
            f"mean-constrained method is within {near:.0%} of that or below it."
        ),
        table=table,
        caption="Linear separation of the groups on the test parts, means over the splits, full run",
    )


def centring_advantage() -> Evidence:
    """Average error of the min-max loss about the groups' own means and about the overall mean."""
    rows = []
    for name, moments in data_sets().items():
        M, p = matrices(name), moments.counts / moments.n
        values = [float(p @ errors(M, solve_min_max(*S, K)[0])) for S in (matrices(name, "group"), M)]
        rows.append((title(name), *values, values[0] / values[1] - 1.0))
    columns = ["data", "own means", "overall mean", "more"]
    found = pd.DataFrame(rows, columns=columns).sort_values("more", ascending=False)
    large = found[found["more"] > rule("centring-advantage", "larger by")]
    return Evidence(
        supported=len(large) > 0,
        sentence=(
            f"The same method, the smallest larger loss, has a larger average error by {large['more'].min():.0%} to "
            f"{large['more'].max():.0%} on {len(large)} of {len(found)} data sets ({listed(large['data'])}) only "
            "because it "
            "is given matrices about the groups' own means while errors are counted about the overall mean."
        ),
        table=large.assign(more=large["more"].map("{:+.0%}".format)).round(3),
        caption=f"Average error about the overall mean, min-max loss, k = {K}, standardised, whole data",
    )
