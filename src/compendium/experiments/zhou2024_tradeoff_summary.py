"""What the pages on the trade-off of Zhou et al. (2024) say: curves, the rule for the weight, starts and swaps."""

import pandas as pd

from .zhou2024_judge import CLUSTERING_METRICS
from .zhou2024_tradeoff import MADE
from .zhou2024_tradeoff_runs import RULES, TRIED

#: What is drawn against the weight, and how the methods are ordered.
METRICS = ("ACC", "NMI", "Bal", "MNCE", "fair gap", "clustering objective")
METHODS = ("FKKM", "FMKKM", "VFC", "FairSC", "FFC", "SC", "K-means", "KKM")
#: MNCE closer to the best of the grid than this is as good: the tolerance of the authors' rule.
TOLERANCE = 0.005
#: Two ways of searching.
TEN, CARRIED = "each from the start, ten sweeps", "carried on, to rest"
#: Objectives a point that differ by less are the same.
ROUNDING = 1e-10


def shown(rows: pd.DataFrame, dataset: str) -> tuple[pd.DataFrame, str]:
    """The rows to draw and where they are from: the full run on the data set if it is stored, else the made set."""
    full = rows[(rows["dataset"] == dataset) & (rows["source"] == "full run")]
    if len(full):
        return full, f"full run on {dataset}"
    return rows[(rows["dataset"] == MADE) & (rows["source"] == "this build")], "made set, this build"


def agreement(rows: pd.DataFrame, dataset: str) -> str:
    """How the numbers of the full run compare with those that this build judges from the same counts."""
    keys = ["method", "split", "protocol", "metric", "weight"]
    own = rows[(rows["dataset"] == dataset) & rows["metric"].isin(CLUSTERING_METRICS)]
    full, again = (own[own["source"] == source].set_index(keys)["value"] for source in ("full run", "this build"))
    if not len(full):
        return "No full run is stored, so that there is nothing to judge again."
    if len(full) != len(again) or not full.index.sort_values().equals(again.index.sort_values()):
        return f"The full run has {len(full)} numbers and this build judged {len(again)}: they do not belong together."
    off = float((full - again.reindex(full.index)).abs().max())
    runs = len(full) // len(CLUSTERING_METRICS)
    return (
        f"{runs} clusterings judged again from their counts: the largest difference to {len(full)} stored numbers is "
        f"{off:.1g}."
    )


def made(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the made set, computed in this build."""
    return rows[(rows["dataset"] == MADE) & (rows["source"] == "this build")]


def spread(rows: pd.DataFrame, methods=METHODS) -> pd.DataFrame:
    """Median and range over the seeds by method, weight and metric, in the order of ``METHODS``."""
    grid = rows[(rows["protocol"] == "grid") & rows["method"].isin(methods) & rows["metric"].isin(METRICS)]
    found = grid.groupby(["method", "weight", "metric"], dropna=False, sort=False)["value"]
    table = found.agg(median="median", smallest="min", largest="max", runs="size").reset_index()
    order = {name: place for place, name in enumerate((*METHODS, *METRICS))}
    places = table.assign(a=table["method"].map(order), b=table["metric"].map(order))
    return table.loc[places.sort_values(["a", "weight", "b"]).index].reset_index(drop=True)


def medians(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Medians over the seeds: one line a weight, one column a metric."""
    return spread(rows, (method,)).pivot(index="weight", columns="metric", values="median").sort_index()


def saturation(rows: pd.DataFrame, method: str = "FKKM") -> float:
    """The smallest weight of the grid from which on MNCE stays within the tolerance of its best."""
    values = medians(rows, method)["MNCE"]
    short = values[values < values.max() - TOLERANCE]
    return float(values.index[0] if short.empty else values.index[values.index > _last_before(values, short)][0])


def _last_before(values: pd.Series, short: pd.Series) -> float:
    best = float(values.idxmax())
    below = short.index[short.index < best]
    return float(below[-1]) if len(below) else -1.0


def chosen(rows: pd.DataFrame) -> dict[str, float]:
    """The median weight that the authors' rule chooses, by method."""
    some = rows[(rows["protocol"] == "rule") & (rows["metric"] == "chosen weight")]
    return {str(name): float(part["value"].median()) for name, part in some.groupby("method")}


def rules(rows: pd.DataFrame) -> pd.DataFrame:
    """What every rule chooses and what comes of it, medians over the seeds with the range of the weight."""
    found = []
    for method in ("FKKM", "FMKKM"):
        for name in RULES:
            some = rows[(rows["method"] == method) & (rows["protocol"] == name)]
            if some.empty:
                continue
            wide = some.pivot(index="split", columns="metric", values="value")
            weights = wide["chosen weight"]
            line = {"method": method, "rule": name, "weight": weights.median()}
            line |= {"from": weights.min(), "to": weights.max()}
            found.append(line | {metric: wide[metric].median() for metric in METRICS})
    return pd.DataFrame(found)


def rule_in_words(rows: pd.DataFrame) -> str:
    """Whether the rule's weight is where fairness saturates, and what a longer search would have found."""
    table = rules(rows).set_index(["method", "rule"]).loc["FKKM"]
    curve, where = medians(rows, "FKKM"), saturation(rows)
    own, best = table.loc["rule"], float(curve["MNCE"].max())
    path = rows[(rows["protocol"] == "rule: search") & (rows["metric"] == "MNCE tried")]
    first = path[path["weight"] == 1.0]["value"]
    text = (
        f"MNCE of the grid is within {TOLERANCE} of its best ({best:.4f}) from λ = {where:g} on. The rule ends at "
        f"λ = {own['from']:g} to {own['to']:g} (median {own['weight']:g}) with MNCE {own['MNCE']:.4f}"
    )
    low = int((first <= TOLERANCE).sum(axis=0))
    text += f"; at its first weight, 1, MNCE is {first.min():.4f} to {first.max():.4f}, so that it "
    text += f"stops there in {low} of {len(first)} runs."
    for name in table.index.drop("rule"):
        other = table.loc[name]
        text += f" {name.removeprefix('rule, ').capitalize()}: λ = {other['weight']:g}, MNCE {other['MNCE']:.4f}, "
        text += f"ACC {other['ACC']:.3f}."
    return text + f" ACC under the rule: {own['ACC']:.3f}."


def shape_in_words(rows: pd.DataFrame, method: str = "FKKM") -> str:
    """Whether accuracy first rises, where fairness saturates, and what the largest weight costs."""
    curve = medians(rows, method)
    acc, mnce, lost = curve["ACC"], curve["MNCE"], curve["clustering objective"]
    start, top, end = acc.index[0], acc.idxmax(), acc.index[-1]
    if top == start:
        begin = f"ACC of {method} is highest without fairness ({acc[start]:.3f})"
    else:
        begin = f"ACC of {method} first rises, from {acc[start]:.3f} at λ = {start:g} to {acc[top]:.3f} at λ = {top:g}"
    return (
        f"{begin}, and is {acc[end]:.3f} at λ = {end:g}. MNCE goes from {mnce[start]:.4f} to {mnce.max():.4f} "
        f"(λ = {mnce.idxmax():g}); it is within {TOLERANCE} of that from λ = {saturation(rows, method):g} on. The mean "
        f"squared distance to the centres goes from {lost[start]:.4f} to {lost[end]:.4f}."
    )


def shapes_in_words(rows: pd.DataFrame) -> str:
    """The same for every method that went over the weights with this kernel or with all, as far as they are stored."""
    return " ".join(shape_in_words(rows, method) for method in ("FKKM", "FMKKM") if method in set(rows["method"]))


def searches(rows: pd.DataFrame) -> pd.DataFrame:
    """Curves of the same method searched as the paper does and carried on from weight to weight, as :func:`spread`."""
    carried = rows[(rows["protocol"] == "start: carried on") & (rows["method"] == "FKKM")].assign(protocol="grid")
    tables = [spread(rows, ("FKKM",)).assign(method=TEN), spread(carried, ("FKKM",)).assign(method=CARRIED)]
    return pd.concat(tables, ignore_index=True)


def price_in_words(rows: pd.DataFrame) -> str:
    """How much of what is lost at large weights the search loses, and how much remains when it is carried on."""
    table = searches(rows)
    end = table["weight"].max()
    parts = []
    for name in (TEN, CARRIED):
        wide = table[table["method"] == name].pivot(index="weight", columns="metric", values="median")
        lost = wide["clustering objective"]
        parts.append(
            f"{name}: ACC {wide.loc[end, 'ACC']:.3f}, MNCE {wide.loc[end, 'MNCE']:.4f}, mean squared distance "
            f"{lost[end]:.4f}, which is {lost[end] - lost.iloc[0]:.4f} more than without fairness"
        )
    return f"At λ = {end:g} " + "; ".join(parts) + "."


def starts(rows: pd.DataFrame) -> pd.DataFrame:
    """Every run of every start: ``start``, ``weight``, the objective relative to the best one seen, MNCE, ACC."""
    some = rows[
        rows["protocol"].str.startswith("start: ")
        & rows["weight"].isin(TRIED)
        & rows["metric"].isin(["objective", "MNCE", "ACC", "sweeps"])
    ]
    keys = ["protocol", "weight", "split"]
    wide = some.pivot(index=keys, columns="metric", values="value").reset_index()
    n = float(rows[rows["metric"] == "n"]["value"].iloc[0])
    below = (wide.groupby("weight")["objective"].transform("max") - wide["objective"]) / n
    wide["below best"] = below.where(below > ROUNDING, 0.0)
    wide["start"] = wide["protocol"].str.removeprefix("start: ")
    order = {"relaxed": 0, "carried on": 1, "random": 2}
    return wide.sort_values(["start", "weight", "split"], key=lambda v: v.map(order) if v.name == "start" else v,
                            ignore_index=True).drop(columns="protocol")  # fmt: skip


def starts_in_words(table: pd.DataFrame, rows: pd.DataFrame) -> str:
    """How local the row update is: who finds the best objective, and how many sweeps rest takes."""
    parts = []
    for weight, some in table.groupby("weight"):
        best = some.loc[some["objective"].idxmax(), "start"]
        worst = some["below best"].max()
        parts.append(f'λ = {weight:g}: best from "{best}", the worst run {worst:.4f} a point below it')
    grid = rows[(rows["protocol"] == "grid") & (rows["method"] == "FKKM")]
    rest = grid[grid["metric"] == "at rest"]["value"]
    text = (
        "; ".join(parts)
        + f". With the paper's ten sweeps {int(rest.sum(axis=0))} of {len(rest)} runs of the grid come to rest"
    )
    return text + f"; without that limit the longest needs {table['sweeps'].max():.0f} sweeps."


def swaps(rows: pd.DataFrame) -> pd.DataFrame:
    """The same runs without and with swaps of two points, medians over the seeds, one line a weight."""
    some = rows[rows["protocol"].isin(["without swaps", "with swaps"])]
    wide = some.pivot_table(index=["weight", "split"], columns=["metric", "protocol"], values="value")
    n, found = float(rows[rows["metric"] == "n"]["value"].iloc[0]), pd.DataFrame(index=wide.index)
    found["swaps"] = wide["swaps", "with swaps"]
    found["gain a point"] = (wide["objective", "with swaps"] - wide["objective", "without swaps"]) / n
    for metric in ("fair gap", "MNCE", "ACC", "clustering objective"):
        for name in ("without swaps", "with swaps"):
            found[f"{metric}, {name}"] = wide[metric, name]
    return found.groupby("weight").median().reset_index()


def swaps_in_words(table: pd.DataFrame) -> str:
    """What swaps add."""
    best = table.loc[table["gain a point"].idxmax()]
    closer = table["fair gap, without swaps"] - table["fair gap, with swaps"]
    return (
        f"Swaps add up to {best['gain a point']:.2g} to the objective a point (λ = {best['weight']:g}, "
        f"{best['swaps']:.0f} swaps); the fair gap falls by at most {max(closer.max(), 0.0):.2g}, ACC moves by at most "
        f"{(table['ACC, with swaps'] - table['ACC, without swaps']).abs().max():.3f}. All medians over the seeds."
    )


def rivals_in_words(rows: pd.DataFrame) -> str:
    """Which rivals have a point that FKKM beats in both directions, and the other way round."""
    table = spread(rows)
    wide = table.pivot(index=["method", "weight"], columns="metric", values="median").reset_index()
    ours, parts = wide[wide["method"] == "FKKM"], []
    for name in METHODS[1:]:
        theirs = wide[wide["method"] == name]
        if len(theirs):
            parts.append(
                f"{name} {_beaten(theirs, ours)} of {len(theirs)} (its own beat {_beaten(ours, theirs)} of {len(ours)} "
                "of FKKM)"
            )
    return (
        "Points with an FKKM point at least as high in both ACC and MNCE, and higher in one: " + "; ".join(parts) + "."
    )


def _beaten(points: pd.DataFrame, by: pd.DataFrame) -> int:
    count = 0
    for _, one in points.iterrows():
        no_worse = (by["ACC"] >= one["ACC"]) & (by["MNCE"] >= one["MNCE"])
        count += bool((no_worse & ((by["ACC"] > one["ACC"]) | (by["MNCE"] > one["MNCE"]))).any())
    return count
