"""Which data are Credit Card and K1b of Zhou et al. (2024)? A recorded search, because the slides do not say.

The slides name the two data sets and print four metrics of eight methods, and nothing else: no label, no groups, no
number of samples. Candidates, score and the rule of choice stand in ``zhou2024_search_credit`` and
``zhou2024_search_k1b``. What comes out is a choice that fits the table, not a statement of the paper.
"""

import pandas as pd

from evenspan.core.errors import ConfigurationError, ResultError

from ..data.clustering import K1B_SEED
from ..data.credit_card import CreditCard
from . import zhou2024_search_credit as credit
from . import zhou2024_search_k1b as k1b
from .zhou2024_search_arithmetic import METRICS, admissible_range, implied, out_of_order, printed

SEARCHES = {credit.DATASET: credit.searched, k1b.DATASET: k1b.searched}
AXES = ("label", "group", "rows", "features", "scaling")


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in SEARCHES]


def run_task(dataset: str) -> pd.DataFrame:
    """The search on the raw data."""
    return SEARCHES[_known(dataset)]()


def run(dataset: str) -> pd.DataFrame:
    """What the published table alone says about the groups; the search needs the raw data."""
    found = []
    for line in implied(_known(dataset)).to_dict("records"):
        for metric in ("entropy", "entropy from", "entropy to"):
            found.append((dataset, line["method"], None, "all", "printed", metric, line[metric]))
    low, high = admissible_range(dataset)
    found += [(dataset, "", None, "all", "printed", "entropy from", low)]
    found += [(dataset, "", None, "all", "printed", "entropy to", high)]
    found += [(dataset, "", None, "all", "printed", "pairs out of order", len(out_of_order(dataset)))]
    columns = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
    return pd.DataFrame(found, columns=columns).assign(reason="").astype({"k": "Int64", "value": float})


def _known(dataset: str) -> str:
    if dataset not in SEARCHES:
        raise ConfigurationError(f"dataset={dataset!r}; the search is about {', '.join(SEARCHES)}.")
    return dataset


# -- reading: Credit Card -----------------------------------------------------------------------------------------


def fine(rows: pd.DataFrame) -> pd.DataFrame:
    """The best candidates of Credit Card with their scores, best first; no line without the full run."""
    some = rows[(rows["protocol"] == "fine") & rows["metric"].str.startswith("score")]
    wide = some.pivot(index=["split", "method"], columns="metric", values="value").reset_index()
    parts = wide["method"].str.split(" | ", regex=False, expand=True) if len(wide) else pd.DataFrame(columns=range(5))
    found = parts.set_axis(list(AXES), axis=1).assign(place=wide["split"])
    for name in ("score", "score of K-means", "score of KKM"):
        found[name] = wide[name] if len(wide) else []
    order = ["place", *AXES, "score", "score of K-means", "score of KKM"]
    return found[order].sort_values("place", ignore_index=True).rename_axis(columns=None)


def selected(rows: pd.DataFrame) -> CreditCard:
    """The choice that the search makes for Credit Card."""
    found = fine(rows)
    if found.empty:
        raise ResultError(
            "the search for Credit Card is not stored; run: python -m compendium run zhou2024-search --profile full"
        )
    return CreditCard(*found.loc[found["score"].idxmin(), list(AXES)])


def verdict(rows: pd.DataFrame) -> dict[str, object]:
    """Best score, whether it fits, the best with another label or with the same one, and whether it is decisive."""
    found, chosen = fine(rows), selected(rows)
    coarse = by_label(rows)
    others = coarse[(coarse["label"] != chosen.label)]
    best = float(found["score"].min())
    refined = found.loc[found["label"] != chosen.label, "score"]
    other = min([*others["best admissible score"].dropna(), *refined], default=float("inf"))
    same = found[(found["label"] == chosen.label) & (found["score"] > best)]["score"]
    return {
        "score": best,
        "fits": best < credit.FITS,
        "best score of another label": other,
        "best other score of this label": float(same.min()) if len(same) else float("nan"),
        "decisive": best < credit.FITS and other >= credit.DECISIVE * best,
    }


def by_label(rows: pd.DataFrame) -> pd.DataFrame:
    """For each label and group the best score of the coarse search, best first, and which candidate has it."""
    some = rows[(rows["protocol"] == "coarse") & (rows["method"] != "")]
    wide = some.pivot(index="method", columns="metric", values="value").reset_index()
    detail = some[some["metric"] == "best score"].set_index("method")["reason"]
    parts = wide["method"].str.split(" | ", regex=False, expand=True) if len(wide) else pd.DataFrame(columns=range(2))
    found = parts.set_axis(["label", "group"], axis=1)
    for name in ("best score", "best admissible score"):
        found[name] = wide[name] if name in wide else pd.Series(dtype=float)
    found["best with"] = wide["method"].map(detail)
    return found.sort_values("best score", ignore_index=True).rename_axis(columns=None)


def counts(rows: pd.DataFrame) -> dict[str, float]:
    """How many candidates there were, how many were admissible, and the median score."""
    some = rows[(rows["protocol"] == "coarse") & (rows["method"] == "")]
    return dict(zip(some["metric"], some["value"], strict=True))


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """The share of each candidate for the groups, in all rows and in the parts of them."""
    some = rows[rows["protocol"] == "groups"]
    wide = some.pivot(index="method", columns="metric", values="value")
    return wide.rename_axis(columns=None).rename_axis("groups by").reset_index()


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Printed numbers and those of the choice: two methods that were searched with, and two that were not."""
    theirs, best = printed(credit.DATASET), rows[(rows["protocol"] == "fine") & (rows["split"] == 1)]
    means = dict(zip(best["metric"], best["value"], strict=True))
    own = rows[rows["protocol"] == "confirmation"].groupby(["method", "metric"])["value"].mean()
    lines = []
    for method in ("K-means", "KKM", "FKKM-f", "FKKM"):
        searched = method in credit.SEARCHED
        for metric in METRICS:
            ours = means.get(f"{method} {metric}") if searched else own.get((method, metric))
            if ours is not None:
                lines.append((method, metric, theirs.loc[metric, method], ours, "yes" if searched else "no"))
    return pd.DataFrame(lines, columns=["method", "metric", "printed", "ours", "searched with"])


# -- reading: K1b -------------------------------------------------------------------------------------------------


def groupings(rows: pd.DataFrame) -> pd.DataFrame:
    """The candidates for the groups of K1b, best score first."""
    some = rows[(rows["protocol"] == "candidates") & (rows["method"] != "random halves")]
    wide = some.pivot(index="method", columns="metric", values="value").reset_index()
    names = ["score", "share of random halves that score as well", "size of one group", "admissible"]
    names += [f"{method} {metric}" for method in k1b.SEARCHED for metric in ("Bal", "MNCE")]
    wide = wide.reindex(columns=["method", *names]).sort_values("score", ignore_index=True)
    return wide.rename(columns={"method": "groups"}).rename_axis(columns=None)


def selected_groups(rows: pd.DataFrame) -> str:
    """The groups that the rule chooses for K1b: a named candidate that beats chance, or the random halves."""
    found = groupings(rows)
    if found.empty:
        raise ResultError(
            "the search for K1b is not stored; run: python -m compendium run zhou2024-search --profile full"
        )
    chance = f"random halves, seed {K1B_SEED}"
    named = found[found["groups"] != chance]
    beats = (named["share of random halves that score as well"] < k1b.LEVEL / len(named)) & (named["admissible"] == 1)
    return str(named.loc[beats, "groups"].iloc[0]) if beats.any() else chance


def halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Bal of random halves by cluster sizes: the mean, and the central 95 of 100."""
    some = rows[(rows["protocol"] == "random halves") & rows["metric"].str.startswith("Bal, ")]
    wide = some.pivot(index="method", columns="metric", values="value").reset_index()
    names = {"Bal, quantile 0.025": "from", "Bal, quantile 0.5": "median", "Bal, quantile 0.975": "to"}
    wide = wide.reindex(columns=["method", *names, "Bal, mean"]).rename(columns={**names, "Bal, mean": "mean"})
    return wide.rename(columns={"method": "cluster sizes of"}).rename_axis(columns=None)


def places(rows: pd.DataFrame) -> pd.DataFrame:
    """For each printed Bal: the share of random halves with a smaller one, by cluster sizes."""
    prefix = "share below the printed Bal of "
    some = rows[(rows["protocol"] == "random halves") & rows["metric"].str.startswith(prefix)]
    some = some.assign(column=some["metric"].str.removeprefix(prefix))
    theirs = printed(k1b.DATASET)
    wide = some.pivot(index="column", columns="method", values="value").reindex(list(theirs.columns))
    wide.insert(0, "printed Bal", theirs.loc["Bal"])
    return wide.rename_axis(columns=None).rename_axis("method").reset_index()


def own_place(rows: pd.DataFrame) -> pd.DataFrame:
    """For the three methods that ran: the printed Bal, the central 95 of 100 of random halves, and whether it is in."""
    table = halves(rows).set_index("cluster sizes of")
    theirs = printed(k1b.DATASET).loc["Bal"]
    lines = [
        {
            "method": method,
            "printed Bal": theirs[method],
            "from": table.loc[method, "from"],
            "to": table.loc[method, "to"],
            "inside": bool(table.loc[method, "from"] <= theirs[method] <= table.loc[method, "to"]),
        }
        for method in k1b.SEARCHED
        if method in table.index
    ]
    return pd.DataFrame(lines, columns=["method", "printed Bal", "from", "to", "inside"])


def fair_on_halves(rows: pd.DataFrame) -> pd.DataFrame:
    """What FKKM reaches on random halves, beside its printed numbers."""
    some = rows[rows["protocol"] == "fair on random halves"]
    own = some.groupby("metric")["value"].agg(["mean", "min", "max"])
    theirs = printed(k1b.DATASET)["FKKM"]
    found = own.reindex([name for name in (*METRICS, "fairness weight") if name in own.index])
    found.insert(0, "printed", theirs.reindex(found.index))
    return found.rename_axis("metric").reset_index()


def blind(rows: pd.DataFrame) -> pd.DataFrame:
    """ACC and NMI of the three methods that ran on K1b without groups, beside the printed numbers."""
    some = rows[rows["protocol"] == "blind"]
    own = some.groupby(["method", "metric"])["value"].agg(["mean", "min", "max"]).reset_index()
    theirs = printed(k1b.DATASET)
    own.insert(2, "printed", [theirs[m].get(metric) for m, metric in zip(own["method"], own["metric"], strict=True)])
    return own


claims = {}
