"""What the audits of ``across-audits`` say, beside what others find on rows that the audits have not seen."""

import pandas as pd

ADVISED = "(advised)"


def outside(rows: pd.DataFrame) -> pd.DataFrame:
    """By data set and method, and of the advised one, in how many audits attackers from outside pass the upper limit.

    ``linear alone`` counts the same for the upper limit of the linear attacker; areas are means over the audits."""
    some = rows[rows["protocol"] == "fresh rows"]
    if some.empty:
        return some
    wide = some.pivot(index=["dataset", "method", "split"], columns="metric", values="value").reset_index()
    found = wide.filter(like="area of outside").max(axis=1)
    limits = {"above its limit": "upper limit", "above, linear alone": "upper limit, linear alone"}
    wide = wide.assign(found=found, **{name: found > wide[limit] for name, limit in limits.items()})
    every = pd.concat([wide[wide["advised"] == 1.0].assign(method=ADVISED), wide])
    told = {"audits": ("split", "size")} | {name: (name, "sum") for name in limits}
    told |= {"area in the audit": ("area", "mean"), "area from outside": ("found", "mean")}
    return every.groupby(["dataset", "method"], sort=False).agg(**told).reset_index()


def covered(rows: pd.DataFrame) -> pd.DataFrame:
    """By number that is described, in which share of the audits an interval holds the value of the population."""
    parts = rows["metric"].str.extract(r"^(?P<number>.+), (?P<half>half the )?interval on (?P<part>.+) rows$")
    found = rows.join(parts).dropna(subset="number")
    which = found["part"] + found["half"].notna().map({True: ", half as wide", False: ""})
    by = ["number", which.rename("interval")]
    return found.groupby(by, sort=False)["value"].agg(audits="size", share="mean").reset_index()
