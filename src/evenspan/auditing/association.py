"""The table of columns: what each one is, what it is used as, and how much it says about the groups."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab

from ..metrics.prediction import auc
from .columns import CONVERTERS, ColumnUse, Target, coded

#: From this association with a sensitive column on, a column is flagged as its proxy.
PROXY = 0.6
#: Numbers of at most so many different values may be codes: they are also compared as categories.
FEW_VALUES = 20


def columns_table(
    columns: Iterable[str],
    uses: Mapping[str, ColumnUse],
    features: Iterable[str],
    target: Target | None,
    drawn: pd.DataFrame,
    groups: pd.DataFrame,
) -> tuple[pd.DataFrame, list[str]]:
    """One row for each column of the table, and what is worth a note: which columns are proxies, and of what.

    ``features`` are neither sensitive nor the target nor excluded; ``drawn`` holds rows drawn at random as they stand
    in the table, ``groups`` (n, attributes) their groups by the sensitive columns.
    """
    rows, proxies, features = [], {}, set(features)
    codes = {name: pd.factorize(groups[name])[0] for name in groups}
    for name in columns:
        use, values, category = uses[name], None, False
        row = {"column": name, "kind": use.kind, "examples": ", ".join(use.examples), "used as": "left out"}
        row |= {"missing": use.missing, "distinct": use.distinct, "measure": ""}
        note = "excluded on request"
        if name in codes:
            row["used as"], values, category, note = "sensitive", codes[name], True, ""
        elif target is not None and name == target.name:
            row["kind"], row["used as"], note = target.kind, target.used, target.note
            category = target.used == "target (category)"
            values = coded(drawn[name])[0] if category else target.values(drawn[name])
        elif name in features:
            row["used as"], note = use.used, use.note
            if use.used != "left out":
                category = use.used == "categories"
                values = coded(drawn[name])[0] if category else CONVERTERS[use.used](drawn[name])
        found, measures = {}, {}
        for attribute, code in codes.items():
            measure, strength = "", np.nan
            if values is not None and attribute != name:
                there = values >= 0 if category else ~np.isnan(values)
                measure, strength = association(values[there], code[there], category=category)
            measures[measure] = None
            row[f"association with {attribute}"] = found[attribute] = strength
        row["measure"] = ", ".join(filter(None, measures))
        feature = name in features and use.used != "left out"
        flagged = [attribute for attribute, strength in found.items() if feature and strength >= PROXY]
        for attribute in flagged:
            proxies.setdefault(attribute, []).append(name)
        row["proxy"] = ", ".join(flagged)
        told = [note] if note else []
        told += [f"proxy of {attribute}: the group can nearly be told from it" for attribute in flagged]
        rows.append(row | {"note": "; ".join(told)})
    left = [name for name in columns if name in features and uses[name].used == "left out"]
    notes = [f"left out, with the reason in the table of columns: {_some(left)}"] if left else []
    if numbering := [name for name in left if uses[name].note.startswith("whole numbers")]:
        notes.append(
            f"taken for numbers of rows: {_some(numbering)}; what measures something instead can be kept (keep)"
        )
    if proxies:
        what = "; ".join(f"{attribute} from {_some(names)}" for attribute, names in proxies.items())
        notes.append(
            f"columns from which a group can nearly be told (association of {PROXY} or more in {len(drawn):,} rows "
            f"drawn at random) were kept: {what}; exclude them to see what changes"
        )
    return pd.DataFrame(rows), notes


def sentences(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes with a capital letter and a full stop; each once."""
    told = dict.fromkeys(note[:1].upper() + note[1:].rstrip(".") + "." for note in notes if note)
    return tuple(told)


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


# -- association -------------------------------------------------------------------------------------------------------


def association(values: np.ndarray, groups: np.ndarray, *, category: bool) -> tuple[str, float]:
    r"""The measure that fits values (n,) and codes of groups (n,), and what it is, from 0 (nothing) to 1 (everything).

    Categories: Cramér's V, corrected for what chance gives. Numbers and two groups: :math:`|2\,\mathrm{AUC} - 1|`.
    Numbers and more groups: eta, the root of the share of variance between the groups, corrected for chance. Numbers of
    few different values are also taken as categories, and the larger of the two is reported. With one group, one value
    or fewer than three rows nothing can be said: no name, and NaN.
    """
    if len(values) < 3 or len(np.unique(groups)) < 2 or len(distinct := np.unique(values)) < 2:
        return "", float("nan")
    few = [("Cramér's V", cramers_v(values, groups))] if category or len(distinct) <= FEW_VALUES else []
    if category:
        return few[0]
    two = len(np.unique(groups)) == 2
    return max(
        [("|2 AUC - 1|", gini(values, groups)) if two else ("eta", eta(values, groups)), *few], key=lambda m: m[1]
    )


def cramers_v(values: np.ndarray, groups: np.ndarray) -> float:
    r"""Cramér's V with the correction of Bergsma: 0 on average, up to the cut at 0, when the two are independent.

    .. math:: V^2 = \frac{\max(0,\ \chi^2 / n - (r - 1)(c - 1) / (n - 1))}{\min(\tilde r - 1, \tilde c - 1)},
              \qquad \tilde r = r - \frac{(r - 1)^2}{n - 1}

    References
    ----------
    W. Bergsma (2013), A bias-correction for Cramér's V and Tschuprow's T, eqs. (5) and (6).
    """
    table = crosstab(values, groups).count
    (r, c), n = table.shape, table.sum(axis=None)
    chi = chi2_contingency(table, correction=False).statistic
    square = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(square / smaller))) if smaller > 0 else 0.0


def gini(values: np.ndarray, groups: np.ndarray) -> float:
    r"""``|2 AUC - 1|``: 0 if the values of the two groups are mixed, 1 if all of one lie above all of the other."""
    return float(abs(2 * auc(groups == np.unique(groups)[0], values) - 1))


def eta(values: np.ndarray, groups: np.ndarray) -> float:
    """Root of the share of variance between the groups, less what chance gives (Kelley's epsilon squared)."""
    _, codes = np.unique(groups, return_inverse=True)
    counts, n = np.bincount(codes), len(values)
    centred = values - values.mean(axis=0)
    means = np.bincount(codes, weights=centred) / counts
    within = float(((centred - means[codes]) ** 2).sum(axis=0))
    total = float((centred**2).sum(axis=0))
    if n <= len(counts) or total == 0:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - within / (n - len(counts)) / (total / (n - 1)))))
