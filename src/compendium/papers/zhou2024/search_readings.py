"""What the page of the searches shows: tables and sentences, computed from its rows and from the published table."""

from itertools import product

import pandas as pd

from ...data.clustering import K1B_SEED
from ...data.credit_card import CreditCard
from .arithmetic import consistency, implied, out_of_order, printed, shares_allowed
from .protocol import METRICS
from .search import AXES, COMPARED, CREDIT, DECISIVE, FITS, K1B, LEVEL

#: Shares of groups whose consistency with the table is shown for Credit Card: rows of the search -> what they are.
PARTS = {"share in all rows": "sex, all rows", "share in first 1000 of each class": "sex, first 1000 of each class"}


def wide(rows: pd.DataFrame, protocol: str, index="method", start: str = "") -> pd.DataFrame:
    """Metrics of a protocol across: those whose names begin so, without this beginning."""
    some = rows[(rows["protocol"] == protocol) & (rows["method"] != "") & rows["metric"].str.startswith(start)]
    some = some.assign(metric=some["metric"].str.removeprefix(start))
    return some.pivot(index=index, columns="metric", values="value").rename_axis(columns=None).reset_index()


# -- Credit Card ------------------------------------------------------------------------------------------------------


def fine(rows: pd.DataFrame) -> pd.DataFrame:
    """The best candidates of Credit Card with their scores, best first."""
    found = wide(rows, "fine", ["split", "method"]).rename(columns={"split": "place"})
    found[list(AXES)] = found["method"].str.split(" | ", regex=False, expand=True)
    order = ["place", *AXES, "score", "score of K-means", "score of KKM"]
    return found[order].sort_values("place", ignore_index=True)


def selected(rows: pd.DataFrame) -> CreditCard:
    """The choice that the search makes for Credit Card."""
    found = fine(rows)
    return CreditCard(*found.loc[found["score"].idxmin(), list(AXES)])


def verdict(rows: pd.DataFrame) -> dict[str, object]:
    """Best score, whether it fits, the best with another label or with the same one, and whether it is decisive."""
    found, coarse, label = fine(rows), by_label(rows), selected(rows).label
    best, mine = float(found["score"].min()), found["label"] == label
    others = coarse.loc[coarse["label"] != label, "best admissible score"].dropna()
    other = min([*others, *found.loc[~mine, "score"]], default=float("inf"))
    second = float(found.loc[mine & (found["score"] > best), "score"].min())
    said = {"score": best, "best score of another label": other, "best other score of this label": second}
    return said | {"fits": best < FITS, "decisive": best < FITS and other >= DECISIVE * best}


def by_label(rows: pd.DataFrame) -> pd.DataFrame:
    """For each label and group the best score of the coarse search, best first, and which candidate has it."""
    found = wide(rows, "coarse").reindex(columns=["method", "best score", "best admissible score"])
    detail = rows[(rows["protocol"] == "coarse") & (rows["metric"] == "best score")].set_index("method")["reason"]
    found[["label", "group"]] = found["method"].str.split(" | ", regex=False, expand=True)
    found["best with"] = found["method"].map(detail)
    order = ["label", "group", "best score", "best admissible score", "best with"]
    return found[order].sort_values("best score", ignore_index=True)


def counts(rows: pd.DataFrame) -> dict[str, float]:
    """How many candidates there were, how many were admissible, and the median score."""
    some = rows[(rows["protocol"] == "coarse") & (rows["method"] == "")]
    return dict(zip(some["metric"], some["value"], strict=True))


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Printed numbers and those of the choice: two methods that were searched with, and two that were not."""
    theirs, best = printed(CREDIT), rows[(rows["protocol"] == "fine") & (rows["split"] == 1)]
    means = best.set_index("metric")["value"]
    own = rows[rows["protocol"] == "confirmation"].groupby(["method", "metric"])["value"].mean()
    lines = []
    for method, metric in product(("K-means", "KKM", "FKKM-f", "FKKM"), METRICS):
        searched = method in COMPARED[CREDIT]
        ours = means[f"{method} {metric}"] if searched else own[method, metric]
        lines.append((method, metric, theirs.loc[metric, method], ours, "yes" if searched else "no"))
    return pd.DataFrame(lines, columns=["method", "metric", "printed", "ours", "searched with"])


# -- K1b --------------------------------------------------------------------------------------------------------------


def groupings(rows: pd.DataFrame) -> pd.DataFrame:
    """The candidates for the groups of K1b, best score first."""
    names = ["method", "score", "share of random halves that score as well", "size of one group", "admissible"]
    names += [f"{method} {metric}" for method in COMPARED[K1B] for metric in ("Bal", "MNCE")]
    found = wide(rows[rows["method"] != "random halves"], "candidates")[names]
    return found.sort_values("score", ignore_index=True).rename(columns={"method": "groups"})


def selected_groups(rows: pd.DataFrame) -> str:
    """The groups that the rule chooses for K1b: a named candidate that beats chance, or the random halves."""
    found = groupings(rows)
    chance = f"random halves, seed {K1B_SEED}"
    named = found[found["groups"] != chance]
    beats = (named["share of random halves that score as well"] < LEVEL / len(named)) & (named["admissible"] == 1)
    return str(named.loc[beats, "groups"].iloc[0]) if beats.any() else chance


def halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Bal of random halves by cluster sizes: the mean, and the central 95 of 100."""
    names = {"method": "cluster sizes of", "quantile 0.025": "from", "quantile 0.5": "median", "quantile 0.975": "to"}
    return wide(rows, "random halves", start="Bal, ")[[*names, "mean"]].rename(columns=names)


def places(rows: pd.DataFrame) -> pd.DataFrame:
    """For each printed Bal: the share of random halves with a smaller one, by cluster sizes."""
    theirs = printed(K1B).loc["Bal"]
    found = wide(rows, "random halves", start="share below the printed Bal of ").set_index("method").T.loc[theirs.index]
    found.insert(0, "printed Bal", theirs)
    return found.rename_axis(columns=None).rename_axis("method").reset_index()


def own_place(rows: pd.DataFrame) -> pd.DataFrame:
    """For the three methods that ran: the printed Bal, the central 95 of 100 of random halves, and whether it is in."""
    found = halves(rows).set_index("cluster sizes of").loc[list(COMPARED[K1B]), ["from", "to"]]
    found.insert(0, "printed Bal", printed(K1B).loc["Bal"])
    found["inside"] = found["printed Bal"].between(found["from"], found["to"])
    return found.rename_axis("method").reset_index()


def ranges(rows: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Mean, smallest and largest value of a protocol by method and metric, beside the printed numbers."""
    found = rows[rows["protocol"] == protocol].groupby(["method", "metric"])["value"].agg(["mean", "min", "max"])
    found.insert(0, "printed", printed(K1B).T.stack())
    return found.reset_index()


def fair_on_halves(rows: pd.DataFrame) -> pd.DataFrame:
    """What FKKM reaches on random halves."""
    found = ranges(rows, "fair on random halves").drop(columns="method").set_index("metric")
    return found.loc[[*METRICS, "fairness weight"]].reset_index()


# -- the page ---------------------------------------------------------------------------------------------------------


def stated(dataset: str, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the printed table alone says, by caption."""
    found = {
        "The entropy of the groups, and their smaller share, that each column states if it is one run": implied(dataset)
    }
    if len(pairs := out_of_order(dataset)):
        found["Pairs of methods that Bal and MNCE put in different orders: two groups and one run allow none"] = pairs
    for said, share in known_shares(dataset, rows).items():
        found[f"Which columns a share of {share:.4f} can give ({said})"] = consistency(dataset, share)
    return {caption: _shown(frame) for caption, frame in found.items()}


def known_shares(dataset: str, rows: pd.DataFrame) -> dict[str, float]:
    """Smaller shares of groups that are compared with the table: those of the search, or equal halves."""
    if dataset == K1B:
        return {"equal halves": 0.5}
    sex = wide(rows, "groups").set_index("method").loc["sex"]
    return {said: min(sex[column], 1.0 - sex[column]) for column, said in PARTS.items()}


def found_in(dataset: str, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the search found, by caption."""
    if dataset == CREDIT:
        found = {
            "The best candidates after the fine search": fine(rows),
            "The choice beside the printed numbers; the last two methods had no part in the search": beside(rows),
            "The best candidate of each label and group in the coarse search": by_label(rows),
            "Share of one group, by what may be the groups": wide(rows, "groups").rename(
                columns={"method": "groups by"}
            ),
        }
    else:
        found = {
            "Candidates for the groups: Bal and MNCE are means over ten seeds": groupings(rows),
            "Bal of random halves by the sizes of the clusters: the central 95 of 100, and the mean": halves(rows),
            "The printed Bal beside random halves of the method's own clusters": own_place(rows),
            "Share of random halves with a smaller Bal than printed, by the sizes of the clusters": places(rows),
            "FKKM where the groups are random halves": fair_on_halves(rows),
            "Methods that see no groups, on our terms and weights": ranges(rows, "blind"),
        }
    return {caption: _shown(frame) for caption, frame in found.items()}


def sentences(dataset: str, rows: pd.DataFrame) -> list[str]:
    """The findings in words, each from its numbers."""
    low, high = shares_allowed(dataset)
    return [
        f"If all columns are means over runs with the same two groups, the smaller group has a share of {low:.4f} to "
        f"{high:.4f}.",
        *(_on_credit_card(rows) if dataset == CREDIT else _on_k1b(rows)),
    ]


def _on_credit_card(rows: pd.DataFrame) -> list[str]:
    tried, said = counts(rows), verdict(rows)
    fits = "fits" if said["fits"] else "does not fit"
    decisive = "decisive" if said["decisive"] else "not decisive"
    return [
        f"{tried['candidates']:,.0f} candidates were tried, {tried['admissible candidates']:,.0f} of them with "
        f"admissible groups; the median score is {tried['median score']:.2f}.",
        f"The choice: {selected(rows)}.",
        f"Its score is {said['score']:.2f}: by the rule, which asks for less than {FITS}, it {fits}. The best with "
        f"another label scores {said['best score of another label']:.2f}, the next with this label "
        f"{said['best other score of this label']:.2f}; by the rule the choice is {decisive}.",
    ]


def _on_k1b(rows: pd.DataFrame) -> list[str]:
    own, place = own_place(rows), places(rows).set_index("method").loc["FKKM"]
    fair = fair_on_halves(rows).set_index("metric").loc["Bal"]
    return [
        f"The rule chooses: {selected_groups(rows)}.",
        f"Of the printed balances of {len(own)} methods that see no groups, {int(own['inside'].sum(axis=0))} lie "
        "where 95 of 100 random halves of our clusters of the same method lie.",
        f"FKKM itself reaches a Bal of {fair['mean']:.3f} on random halves ({fair['min']:.3f} to {fair['max']:.3f}); "
        f"printed is {fair['printed']:.3f}.",
        "Of random halves of clusters that see no groups and have the sizes of the true classes, "
        f"{100 * place['the true classes']:.0f} of 100 have less than the printed Bal of FKKM; of clusters of equal "
        f"size {100 * place['clusters of equal size']:.0f}.",
    ]


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers at the digits of the printed table, entropies and shares at one more; words for true and false."""
    shown = frame.copy()
    for name, values in frame.items():
        if values.dtype == bool:
            shown[name] = values.map({True: "yes", False: "no"})
        elif pd.api.types.is_float_dtype(values):
            whole = name in ("size of one group", "admissible") and (values.dropna() % 1 == 0).all()
            digits = 0 if whole else 3 + name.startswith(("entropy", "share"))
            shown[name] = [f"{value:.{digits}f}" if pd.notna(value) else "–" for value in values]
    return shown
