"""How candidates for what the slides leave open are scored, each one setting for Table 1 of a data set.

A candidate is a setting, which says where the numbers of each method come from, a way to report several starts, and a
definition of each measure; none of it is free by method. The notebook has the rule.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from ...claim_rules import rule_file
from .agreement import accuracy_of
from .protocol import COUNTED, METRICS, JointCounts
from .readings import METHODS

#: How several starts become one number.
REPORTS = ("mean", "start of the largest ACC", "best of each measure")
#: Definitions of the measures; the first of each is that of the released program.
DEFINITIONS = {
    "ACC": ("one to one", "many to one"),
    "NMI": ("by the larger entropy", "by their mean", "by their geometric mean", "by the smaller"),
    "Bal": ("worst cluster", "mean of clusters", "shares against all rows"),
    "MNCE": ("worst cluster", "mean of clusters", "against equal groups"),
}
PLACES = np.repeat(METRICS, [len(DEFINITIONS[metric]) for metric in METRICS])
#: In how many ways a setting is read.
READINGS = len(REPORTS) * math.prod(map(len, DEFINITIONS.values()))
FIRST = [int(np.argmax(metric == PLACES)) for metric in METRICS]
SHUFFLES, SEED = 200, 20242


def measures(counts: JointCounts) -> list[float]:
    """Every measure by each of its ``DEFINITIONS``; without classes ACC and NMI are nan."""
    table, groups = counts.counts.sum(axis=1), counts.group_by_cluster
    groups = groups[:, groups.any(axis=0)]
    a, b = (float(entropy(table.sum(axis=axis))) for axis in (0, 1))
    shared = float(mutual_info_score(None, None, contingency=table))
    found = [accuracy_of(table), table.max(axis=0).sum(axis=0) / counts.n]
    found += [shared / part if part else 1.0 for part in (max(a, b), (a + b) / 2.0, np.sqrt(a * b), min(a, b))]
    found = [np.nan if counts.classes[0] is None else value for value in found]
    of_groups = groups.sum(axis=1) / counts.n
    inside, whole = entropy(groups, axis=0), entropy(of_groups)
    each = groups.min(axis=0) / groups.max(axis=0)
    against = groups / groups.sum(axis=0) / of_groups[:, None]
    found += [each.min(), each.mean(axis=0), min(against.min(), 1.0 / against.max())]
    return [*found, inside.min() / whole, inside.mean(axis=0) / whole, inside.min() / np.log(len(groups))]


def reported(values: np.ndarray) -> np.ndarray:
    """By the ``REPORTS``: means of values (starts, definitions) and their deviations, which one start has not."""
    best, noise = int(np.nan_to_num(values[:, 0]).argmax()), np.ptp(values, axis=0) < 1e-12  # of sums in another order
    spread = np.where(noise, 0.0, values.std(axis=0))
    single = [(one, np.zeros_like(one)) for one in (values[best], values.max(axis=0))]
    return np.array([(values.mean(axis=0), spread), *single])


def table_of(rows: pd.DataFrame, setting: Mapping[str, str]) -> pd.DataFrame:
    """The table that a setting gives, means by the first definitions at three decimals: methods by measures."""
    of = {m: rows[(rows["method"] == m) & (rows["variant"] == setting[m])] for m in METHODS}
    means = {m: some.groupby("metric")["value"].mean().reindex(METRICS) for m, some in of.items()}
    return pd.DataFrame(means).T.round(3)


def agreement(
    rows: pd.DataFrame,
    settings: Mapping[str, Mapping[str, str]],
    printed: pd.DataFrame,
    agrees: Callable[[float, float, float], bool],
) -> np.ndarray:
    """Whether a number agrees: (settings, methods, reports, definitions, methods whose printed column it is).

    ``agrees`` compares a printed number with ours, which has a deviation between starts."""
    found, agrees = {}, cache(agrees)
    columns = printed.loc[list(METHODS), PLACES].to_numpy()

    none = np.zeros((len(REPORTS), len(PLACES), len(METHODS)), dtype=bool)  # what failed agrees with nothing
    for key, some in rows[rows["metric"] == COUNTED].groupby(["variant", "method"]):
        found[key], values = none.copy(), np.array([measures(JointCounts.from_text(one)) for one in some["counts"]])
        for r, (ours, spreads) in enumerate(reported(values)):
            for d, j in product(range(len(PLACES)), range(len(METHODS))):
                found[key][r, d, j] = agrees(columns[j, d], ours[d], spreads[d])
    return np.array([[found.get((parts[m], m), none) for m in METHODS] for parts in settings.values()])


def explained(agreed: np.ndarray, order: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """How many of the numbers ``asked`` for (methods, measures) agree, by settings and reports, best definitions.

    Each method has the printed column that ``order`` gives it."""
    hits, total = np.stack([agreed[:, m, :, :, j] for m, j in enumerate(order)]), 0
    for metric, wanted in zip(METRICS, asked.T, strict=True):
        total = total + np.einsum("msrd,m->srd", hits[..., metric == PLACES], wanted).max(axis=-1)
    return total


def search(agreed: np.ndarray, settings: Mapping) -> pd.DataFrame:
    """What the best candidate explains, of the whole table and by methods and measures with open numbers."""
    n, rng, share = len(METHODS), np.random.default_rng(SEED), float(rule_file().column["agree"])
    own, drawn = np.arange(n), (rng.permutation(n) for _ in range(100 * SHUFFLES))
    orders = [order for order in drawn if (order != own).all()][:SHUFFLES]
    fixed = np.array([agreed[0, i, 0, FIRST, i] for i in own])
    whole = np.ones(fixed.shape)
    asked = {"whole table": whole, "open numbers": ~fixed * whole}
    asked |= {name: whole * (own == i)[:, None] for i, name in enumerate(METHODS) if not fixed[i].all()}
    asked |= {name: whole * (np.array(METRICS) == name) for i, name in enumerate(METRICS) if not fixed[:, i].all()}
    lines = []
    for what, wanted in ((what, wanted) for what, wanted in asked.items() if (wanted * ~fixed).any()):
        counts, shuffled = explained(agreed, own, wanted), [explained(agreed, one, wanted).max() for one in orders]
        best, (s, r) = counts.max(), np.unravel_index(counts.argmax(), counts.shape)
        lead = best >= share * wanted.sum() and best > max(shuffled) and best >= 2.0 * np.mean(shuffled)
        line = {"numbers of": what, "numbers": wanted.sum(), "open": (wanted * ~fixed).sum()}
        line |= {"as fixed": (wanted * fixed).sum(), "best candidate": best, "shuffled, mean": np.mean(shuffled)}
        line |= {"shuffled, most": max(shuffled), "lead": "yes" if lead else "no"}
        lines.append(line | {"best setting": f"{list(settings)[s]}; {REPORTS[r]}"})
    return pd.DataFrame(lines)
