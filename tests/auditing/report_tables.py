"""Tables for the report: names that would break a page that trusts them, and groups that differ."""

import functools

import numpy as np
import pandas as pd

import evenspan

SCRIPT = "<script>alert(1)</script>"
GROUPS = ("<i>one</i>", "$two$ & $", "_three")
RACE = 'race "<b>'


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


def plain(n: int = 2000) -> pd.DataFrame:
    """Two groups of unequal size whose best directions differ, so that something is recommended."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, 4)) * [3.0, 2.0, 1.0, 0.5]
    red = 3 * n // 5
    table = pd.DataFrame(np.vstack([wide[:red], wide[red:, ::-1]]), columns=list("abcd"))
    table["team"] = ["red"] * red + ["blue"] * (n - red)
    return table


@functools.cache
def audited(which: str):
    """An audit of one of the tables, made once."""
    if which == "hostile":
        return evenspan.audit(
            hostile(),
            sensitive=[RACE, "sex"],
            target="y",
            k=[1, 2],
            methods=["Min-max loss", "c-FPCA", "Fair PCA", "LEACE"],
            intersections=True,
            n_boot=60,
        )
    return evenspan.audit(plain(), sensitive="team", k=[1, 2], methods=["Min-max loss", "Fair PCA"], n_boot=60)
