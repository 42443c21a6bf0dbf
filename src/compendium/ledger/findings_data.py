"""Evidence for findings about data and results: where printed numbers come from, and what decides them."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays.style import COLOURS, INK
from evenspan.metrics import covariance_gap, retained_variance
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.representation import NullItOutPCA

from ..claim_rules import rule
from ..data import split_moments
from ..papers.kleindessner2023 import synthetic
from ..papers.rathore2025 import protocol as rathore
from ..papers.rathore2025 import readings
from ..papers.rathore2025.protocol import PRINTED, TABLES
from ..papers.zhou2024 import arithmetic, tradeoff
from ..papers.zhou2024.protocol import NAMES
from ..store import archived, full
from .findings_evidence import Evidence, adult_means, come_out, in_text, listed

TITLES = {name: table.title for name, table in TABLES.items()}


def _claimed(name: str) -> float:
    theirs = rathore.printed(name)
    return float((theirs["StandardPCA", "MMD^2"] - theirs["JevdPCA", "MMD^2"]).mean(axis=0))


def advantages() -> pd.DataFrame:
    """Mean advantage in MMD^2 over PCA with the sensitive column among the features and without it, LSAC and NPHA."""
    rows = full("rathore2025-factorial")
    left = readings.what_is_left(rows)
    left = left[left["start"].isin(["", "pooled"]) & left["order"].isin(["", "pooled"])]
    left = left.set_index(["dataset", "centring", "method"])
    kinds = {
        "joint diagonalisation, group means": ("group", "JEVD (orthogonal)"),
        "plain PCA of group-centred rows": ("group", "PCA"),
        "joint diagonalisation, overall mean": ("global", "JEVD (orthogonal)"),
    }
    found = [
        (TITLES[name], words, _claimed(name), *map(float, left.loc[(name, *kind), ["with", "without"]]))
        for name in ("lsac_bw", "npha")
        for words, kind in kinds.items()
    ]
    return pd.DataFrame(found, columns=["data", "method", "printed", "with", "without"])


def draw_advantages(found: pd.DataFrame) -> Figure:
    """The :func:`advantages`, a line for each data set and method: printed, with and without the column."""
    fig, ax = plt.subplots(figsize=(7.6, 0.42 * len(found) + 1.2), layout="constrained")
    places = np.arange(len(found))[::-1]
    for name, marker, colour, words in (
        ("printed", "X", COLOURS[6], "JevdPCA, as printed"),
        ("with", "o", COLOURS[1], "sensitive column among the features"),
        ("without", "s", COLOURS[0], "sensitive column left out"),
    ):
        ax.plot(found[name], places, marker, color=colour, markersize=8, label=words)
    ax.hlines(places, found["without"], found["with"], color="#bbbbbb", zorder=0)
    ax.axvline(0.0, color=INK, linewidth=1)
    ax.set_yticks(places, [f"{data}: {method}" for data, method in zip(found["data"], found["method"], strict=True)])
    ax.set_xlabel("mean advantage in MMD² over PCA of the same features")
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def joint_gain() -> Evidence:
    """The printed gain in MMD^2 against plain PCA of group-centred rows, and without the sensitive column."""
    found = advantages()
    plain = found[found["method"].str.startswith("plain")]
    share = (plain["with"] / plain["printed"]).min()
    without = (found["without"] / found["printed"]).abs().max()
    told = "; ".join(
        f"{r['data']}: printed {r['printed']:.2f}, plain PCA {r['with']:.2f}" for r in plain.to_dict("records")
    )
    return Evidence(
        supported=share > rule("joint-gain", "share of the printed gain")
        and without < rule("joint-gain", "left without the column"),
        sentence=(
            f"Mean advantage in MMD^2 over PCA of the same features. {told}. Without the sensitive column no line "
            f"has more than {without:.0%} of the printed advantage."
        ),
        table=found.round(3).rename(columns={"with": "sensitive column in", "without": "sensitive column out"}),
        caption="Mean advantage in MMD^2 over PCA of the same features, over all r, full run",
    )


def sensitive_column() -> Evidence:
    """Which numbers of StandardPCA come out with the sensitive column among the features, and without it."""
    rows = []
    for name in TABLES:
        moments, theirs = rathore.moments(name), rathore.printed(name)["StandardPCA"][list(PRINTED)]
        for what, some in (("in", moments), ("out", rathore.without_sex(name, moments))):
            V = np.linalg.eigh(some.scatter)[1][:, ::-1]
            rows.append((TITLES[name], what, come_out(some, theirs, lambda k, V=V: V[:, :k]), theirs.size))
    found = pd.DataFrame(rows, columns=["data", "sensitive column", "equal", "numbers"])
    total = found.groupby("sensitive column")[["equal", "numbers"]].sum()
    return Evidence(
        supported=total.loc["in", "equal"] == total.loc["in", "numbers"] > total.loc["out", "equal"],
        sentence=(
            f"With the sensitive column among the features {total.loc['in', 'equal']} of {total.loc['in', 'numbers']} "
            f"numbers of StandardPCA are reproduced in every printed digit, without it {total.loc['out', 'equal']}."
        ),
        table=found.rename(columns={"equal": "equal to the printed digits"}),
        caption="StandardPCA of Rathore and Manwani: raw values, centred, all rows",
    )


def one_group() -> Evidence:
    """The JevdPCA column of Obesity beside the PCA of each group, and the joint diagonalisation."""
    moments, theirs = rathore.moments("obesity"), rathore.printed("obesity")["JevdPCA"][list(PRINTED)]
    women, men = rathore.matrices(moments, "global")
    bases = {"PCA of the women": women, "PCA of the men": men, "PCA of all rows": moments.scatter}
    rows = []
    for what, S in bases.items():
        V = np.linalg.eigh(S)[1][:, ::-1]
        rows.append((what, come_out(moments, theirs, lambda k, V=V: V[:, :k]), theirs.size))
    found = pd.DataFrame(rows, columns=["what is computed", "equal to the printed digits", "numbers"])
    equal = found["equal to the printed digits"]
    return Evidence(
        supported=equal[0] == theirs.size > equal[1:].max(),
        sentence=(
            f"Of {theirs.size} printed numbers the women's own PCA gives {equal[0]}, no other basis more than "
            f"{equal[1:].max()}."
        ),
        table=found,
        caption="The JevdPCA column of Obesity",
    )


def certified_baseline() -> Evidence:
    """The FairPCA_SDP_LP columns beside the certified optimum."""
    rows = []
    for name in TABLES:
        moments, theirs = rathore.moments(name), rathore.printed(name)["FairPCA_SDP_LP"][list(PRINTED)]
        counts = {}
        for about, words in (("global", "the overall mean"), ("none", "the origin")):
            S = rathore.matrices(moments, about)
            counts[words] = come_out(moments, theirs, lambda k, S=S: solve_min_max(*S, k)[0])
        best = max(counts, key=counts.get)
        rows.append((TITLES[name], best, counts[best], theirs.size))
    found = pd.DataFrame(rows, columns=["data", "rows about", "equal to the printed digits", "numbers"])
    equal, numbers = found["equal to the printed digits"].sum(), found["numbers"].sum()
    return Evidence(
        supported=equal > rule("certified-baseline", "share of the numbers") * numbers
        and found.set_index("data").loc["LSAC", "rows about"] == "the origin",
        sentence=f"{equal} of {numbers} printed numbers are those of the certified optimum, in every printed digit.",
        table=found,
        caption="FairPCA_SDP_LP of Rathore and Manwani beside the smallest larger loss",
    )


def chance_balance() -> Evidence:
    """The printed balances of K1b of methods that do not see groups, beside random halves; archived rows."""
    rows, theirs = archived("zhou2024-search")[0], arithmetic.printed("k1b").loc["Bal"]
    halves = rows[rows["protocol"] == "random halves"].pivot(index="method", columns="metric", values="value")
    placed = halves.loc[["K-means", "KKM", "FKKM-f"], ["Bal, quantile 0.025", "Bal, quantile 0.975"]]
    placed = placed.set_axis(["from", "to"], axis=1).rename_axis(index="method", columns=None)
    placed.insert(0, "printed Bal", theirs)
    placed = placed.assign(inside=placed["printed Bal"].between(placed["from"], placed["to"])).reset_index()
    fair = rows.loc[(rows["protocol"] == "fair on random halves") & (rows["metric"] == "Bal"), "value"]
    inside, printed = int(placed["inside"].sum(axis=0)), theirs["FKKM"]
    where = "below" if printed < fair.min() else "above" if printed > fair.max() else "within"
    return Evidence(
        supported=inside == len(placed) > 0,
        sentence=(
            f"{inside} of {len(placed)} printed balances lie inside the central 95 of 100 random halves. Fair "
            f"kernel k-means on random halves reaches {fair.min():.3f} to {fair.max():.3f}; the printed "
            f"{printed:.3f} is {where} that."
        ),
        table=placed.assign(inside=placed["inside"].map({True: "yes", False: "no"})).round(3),
        caption="K1b: printed balance beside random halves of documents, for our clusters of the same method, archived",
    )


def stated_shares() -> Evidence:
    """Shares of the smaller group that the columns of Zhou et al. state, as single runs and as means."""
    rows, single, means = [], [], []
    for dataset, name in arithmetic.DATASETS.items():
        known = arithmetic.implied(dataset).dropna(subset=["share from"])
        low, high = arithmetic.shares_allowed(dataset)
        one = bool(known["share from"].max() <= known["share to"].min())
        single += [name] if one else []
        means += [name] if low <= high else []
        stated = f"{known['share from'].min():.3f} to {known['share to'].max():.3f}"
        as_means = f"{low:.3f} to {high:.3f}" if low <= high else "none"
        rows.append((name, len(known), stated, "yes" if one else "no", as_means))
    return Evidence(
        supported="Credit Card" not in single and "Credit Card" in means,
        sentence=(
            f"All columns can be single runs on the same two groups: {listed(single)}. All can be means over "
            f"several runs: {listed(means)}."
        ),
        table=pd.DataFrame(
            rows, columns=["data", "columns", "shares stated", "one share fits single runs", "share if means over runs"]
        ),
        caption="What balance and entropy say about the share of the smaller group",
    )


def swaps() -> Evidence:
    """The same clusterings before and after swaps of two people of one group, at light and at heavy weights."""
    rows = full("zhou2024-tradeoff")
    lines = []
    for dataset, some in rows.groupby("dataset", sort=False):
        found = tradeoff.swaps(some)
        for _, line in found[found["weight"].isin([1.0, found["weight"].max()])].iterrows():
            values = [line[f"{metric}, {how} swaps"] for metric in ("ACC", "MNCE") for how in ("without", "with")]
            lines.append((NAMES[dataset], line["weight"], line["swaps"], line["gain a point"], *values))
    columns = ["data", "weight", "swaps", "objective gained a person"]
    columns += ["ACC before", "ACC after", "MNCE before", "MNCE after"]
    found = pd.DataFrame(lines, columns=columns)
    light, heavy = found[found["weight"] == 1.0], found[found["weight"] > 1.0]
    moved = (found["MNCE after"] - found["MNCE before"]).abs().max()
    change = heavy["ACC after"] - heavy["ACC before"]
    at_one = (light["ACC after"] - light["ACC before"]).abs().max()
    return Evidence(
        supported=change.min() < 0
        and change.max() > rule("swaps", "accuracy at heavy weights")
        and max(at_one, moved) < rule("swaps", "unmoved"),
        sentence=(
            f"At weight 1 swaps move the accuracy by at most {at_one:.3f}. At the heaviest weight they move it by "
            f"{change.min():+.3f} to {change.max():+.3f}, while the entropy moves by at most {moved:.4f}: "
            "clusters that are as fair, and closer to the data."
        ),
        table=in_text(found, "objective gained a person", "{:.4f}").round(3),
        caption="Fair kernel k-means before and after swaps, medians over the seeds, full run",
    )


def noise_of_means() -> Evidence:
    """Two groups with equal means and covariances: what mean matching does to a sample of them."""
    rows = full("kleindessner2023-synthetic")
    table = synthetic.equal_table(rows)
    fresh = table[table["protocol"] == "fresh sample"].drop_duplicates("method").set_index("method")
    kept = fresh["%Var"]
    return Evidence(
        supported=kept["Fair PCA"] < kept["PCA"] - rule("noise-of-means", "points of variance"),
        sentence=(
            f"PCA keeps {kept['PCA']:.1f} % of the variance of fresh points, Fair PCA {kept['Fair PCA']:.1f} %, though "
            "the groups have the same mean: what was removed is the noise of the sample means."
        ),
        table=fresh.loc[["PCA", "Fair PCA"], ["points", "draws", "%Var", "mean gap"]].round(4).reset_index(),
        caption="Two groups with equal means and covariances, k = 2 of 3, judged on fresh samples, full run",
    )


def fewer_directions() -> Evidence:
    """Gap of the projected covariances with the same number of directions, eigenvectors and balanced ones."""
    rows = []
    for dataset, k, m in (("adult", 10, 2), ("adult", 10, 5), ("german", 10, 5), ("german", 10, 10), ("compas", 2, 2)):
        moments, line = split_moments(dataset, 0, "train"), [dataset, k, m]
        for removal in ("eigenvectors", "balance"):
            V = NullItOutPCA(k, m, removal=removal).fit_moments(moments).components_.T
            line += [covariance_gap(moments, V), 100 * retained_variance(moments, V)]
        rows.append(line)
    columns = ["data", "k", "m", "gap, eigenvectors", "% variance", "gap, balanced", "% variance, balanced"]
    found = pd.DataFrame(rows, columns=columns)
    smaller = found["gap, balanced"] < found["gap, eigenvectors"]
    return Evidence(
        supported=smaller.mean() > rule("fewer-directions", "share of the settings"),
        sentence=(
            f"With the same m, balanced directions leave the smaller gap in {smaller.sum()} of {len(found)} settings."
        ),
        table=found.round(2),
        caption="Largest difference between the projected covariances of the groups, training part of the first split",
    )


def beyond_means() -> Evidence:
    """What a kernel classifier finds of the group behind methods that make means equal, on other people."""
    readers = ["AUC of the group (linear)", "AUC of the group (kernel)"]
    shown = adult_means("held-out").loc[["PCA", "Fair PCA", "LEACE"], readers]
    linear, kernel = shown.loc["Fair PCA"]
    return Evidence(
        supported=linear < rule("beyond-means", "linear reader, highest")
        and kernel > rule("beyond-means", "kernel reader, lowest"),
        sentence=(
            f"On Adult Income, after Fair PCA, a linear classifier ranks the groups of new people with an area under "
            f"the ROC curve of {linear:.2f}, a kernel classifier with {kernel:.2f}."
        ),
        table=shown.round(3).reset_index(),
        caption="Adult, k = 10, people of the test parts: area under the curve, 0.5 is chance",
    )
