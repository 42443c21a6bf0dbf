"""Evidence for findings about data and results: where printed numbers come from, and what decides them."""

import pandas as pd

from ..claim_rules import rule
from ..papers.vu2022.readings import PUBLISHED
from ..papers.zhou2024 import arithmetic, tradeoff
from ..papers.zhou2024.protocol import NAMES
from ..store import archived, full
from .findings_evidence import Evidence, beside_printed, in_text, listed


def same_splits() -> Evidence:
    """How many printed numbers come out in all decimals with the splits, folds and starts of the authors' program."""
    found = beside_printed({name: name for name in PUBLISHED})
    errors = found[found["table"] != "Table 4"]
    robust = errors[errors["ours"] == "RFPCA"]
    same, numbers = robust["four decimals"].sum(), robust["numbers"].sum()
    return Evidence(
        supported=same > rule("same-splits", "share of the numbers") * numbers,
        sentence=(
            f"Of RFPCA, which needs rows, folds and starts, {same} of {numbers} printed errors and gaps are equal "
            f"to ours in all four decimals; of all four methods {errors['four decimals'].sum()} of "
            f"{errors['numbers'].sum()}."
        ),
        table=found.rename(columns={"ours": "method"}),
        caption="Printed numbers of Vu et al. beside means over the published splits, full run",
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
