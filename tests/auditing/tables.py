"""Tables with troubles and groups that differ in a known way, and samples and audits of them; each audit made once."""

import functools
from types import SimpleNamespace

import numpy as np
import pandas as pd

import evenspan
from evenspan.auditing.groups import PARTS
from evenspan.auditing.sample import Points, Sample
from evenspan.core.moments import GroupMoments
from evenspan.metrics.bootstrap import assign_blocks

SCRIPT = "<script>alert(1)</script>"
GROUPS = ("<i>one</i>", "$two$ & $", "_three")
RACE = 'race "<b>'


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Three unequal groups of race and two of sex, a column of every kind, and a proxy of sex."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], n, p=[0.35, 0.65])
    race = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({
        "customer": np.arange(1000, 1000 + n), "name": [f"person {i:05d}" for i in range(n)], "sex": sex, "race": race,
        "age": np.round(rng.normal(40, 12, n) + 3 * (sex == "male"), 1),
        "income": np.round(np.exp(rng.normal(10, 0.5, n) + 0.2 * (race == "a")), 2),
        "job": rng.choice(["clerk", "cook", "smith, black", "nurse"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "married": rng.choice(["no", "yes"], n), "employed": rng.random(n) < 0.8,
        "joined": (pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D")).strftime("%Y-%m-%d"),
        "country": "here",
        "relation": np.where(rng.random(n) < 0.1, "other", np.where(sex == "female", "wife", "husband")),
    })  # fmt: skip
    frame["accepted"] = np.where(rng.normal(size=n) + (frame["age"] - 40) / 12 > 0, "yes", "no")
    return frame


def troubled(n: int = 400) -> pd.DataFrame:
    """People with missing cells, more of them among women."""
    frame = people(n)
    frame.loc[np.flatnonzero(frame["sex"] == "female")[:40], "income"] = np.nan
    frame.loc[frame.index[::23], "job"] = None
    return frame


# -- samples made from arrays ----------------------------------------------------------------------------------------


def rows(sizes=(900, 500, 300), d=6, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of groups with other means, scales and directions of variance, and their labels."""
    rng, X, labels = np.random.default_rng(seed), [], []
    for g, n in enumerate(sizes):
        scales = np.roll(np.linspace(3.0, 0.5, d), 2 * g) * (1.0 + 0.3 * g)
        X.append(rng.normal(size=(n, d)) * scales + 0.5 * g * rng.normal(size=d))
        labels += [f"g{g}"] * n
    return np.vstack(X), np.array(labels)


def frame(X: np.ndarray, labels: np.ndarray, name: str = "team") -> pd.DataFrame:
    """A table of numbers with one sensitive column, and a target that one feature tells something about."""
    noise = np.random.default_rng(1).normal(size=len(X))
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return table.assign(**{name: labels, "hired": np.where(X[:, 0] + noise > 0, "yes", "no")})


def sample(X, labels, *, held=0.3, n_blocks=40, attribute="team", y=None, seed=0) -> Sample:
    """A sample as it is kept of a table, the features as they are."""
    names = [f"x{j}" for j in range(X.shape[1])]
    drawn, moments, points = np.random.default_rng(seed).random(len(X)), {}, {}
    for part, mine in zip(PARTS, (drawn >= 2 * held, drawn < held, (drawn >= held) & (drawn < 2 * held)), strict=True):
        table, groups = pd.DataFrame(X[mine], columns=names), labels[mine]
        points[part] = Points(X[mine], pd.DataFrame({attribute: groups}), None if y is None else y[mine])
        if mine.any():
            blocks = pd.DataFrame({"block": assign_blocks(len(table), n_blocks, seed), attribute: groups})
            moments[part] = {attribute: GroupMoments.from_data(table, blocks)}
    counts = pd.Series(labels).value_counts(sort=False)
    fitted = pd.Series(points["training"].groups[attribute]).value_counts().reindex(counts.index, fill_value=0)
    columns = pd.DataFrame({"column": names, "kind": "numeric", "used as": "number", "proxy": "", "note": ""})
    groups = pd.DataFrame({"attribute": attribute, "group": counts.index, "small": counts.to_numpy() < 30, "note": ""})
    groups = groups.assign(rows=counts.to_numpy(), training=fitted.to_numpy())
    encoder = SimpleNamespace(get_feature_names_out=lambda: np.array(names))
    return Sample(
        "table", len(X), len(X), columns, groups, encoder, (attribute,), None if y is None else "hired",
        moments, points,
    )  # fmt: skip


# -- tables for the report -------------------------------------------------------------------------------------------


def hostile(n: int = 420) -> pd.DataFrame:
    """Three groups of unequal sizes, means and scales; every name is one that somebody forgot to escape."""
    rng = np.random.default_rng(3)
    codes = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    turns = [rng.normal(size=(5, 5)) * (1.0 + g) for g in range(3)]
    X = np.stack([rng.normal(size=5) @ turns[g] + 0.7 * g for g in codes])
    table = pd.DataFrame(X, columns=[SCRIPT, "$x^2$ & co", "_hidden", "日本", "--> end"])
    table[RACE] = np.array(GROUPS)[codes]
    table["sex"] = rng.choice(["f", "m"], size=n, p=[0.7, 0.3])
    table["job"] = rng.choice(["clerk", "cook", "</table>"], size=n)
    table["y"] = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return table


def plain(n: int = 4000) -> pd.DataFrame:
    """Two groups of unequal size whose best directions differ, so that something is recommended."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, 4)) * [3.0, 2.0, 1.0, 0.5]
    red = 3 * n // 5
    table = pd.DataFrame(np.vstack([wide[:red], wide[red:, ::-1]]), columns=list("abcd"))
    return table.assign(team=["red"] * red + ["blue"] * (n - red))


@functools.cache
def audited(which: str):
    """An audit of one of the tables for the report."""
    if which == "plain":
        return evenspan.audit(
            plain(), sensitive="team", k=2, methods=["Min-max loss", "Fair PCA"], n_boot=60, random_state=3
        )
    return evenspan.audit(
        hostile(), sensitive=[RACE, "sex"], target="y", k=[1, 2],
        methods=["Min-max loss", "c-FPCA", "Fair PCA", "LEACE"], intersections=True, n_boot=60,
    )  # fmt: skip


@functools.cache
def report_of(which: str) -> str:
    """The report on one of these audits."""
    return audited(which).to_html()
