"""The table of columns: what each one is, what it is used as, and how much it says about the groups."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab

from ..metrics.prediction import auc
from .columns import CONVERTERS, ColumnUse, coded, target_values

#: From this association with a sensitive column on, a column is flagged as its proxy.
PROXY = 0.6
#: Numbers of at most so many different values may be codes: they are also compared as categories.
FEW_VALUES = 20


def columns_table(
    uses: Mapping[str, ColumnUse], features: Iterable[str], target: str | None, drawn: pd.DataFrame,
    groups: pd.DataFrame,
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """One row for each column of the table, and what is worth a note: which columns are proxies, and of what.

    ``features`` are neither sensitive nor the target nor excluded; ``drawn`` holds rows drawn at random as they stand
    in the table, ``groups`` (n, attributes) their groups by the sensitive columns.
    """
    rows, proxies, features = [], {}, set(features)
    codes = {name: pd.factorize(groups[name])[0] for name in groups}
    for name, use in uses.items():
        used, note, values = use.used, use.note, None
        if name in codes:
            used, note, values = "sensitive", "", codes[name]
        elif name not in features and name != target:
            used, note = "left out", "excluded on request"
        category = used in ("sensitive", "categories", "target (category)")
        if category and name not in codes:
            values = coded(drawn[name])[0]
        elif used == "target (number)":
            values = target_values(use, drawn[name])
        elif used in CONVERTERS:
            values = CONVERTERS[used](drawn[name])
        found, flagged, measures = {}, [], {}
        for attribute, code in codes.items():
            measure, strength = "", np.nan
            if values is not None and attribute != name:
                there = values >= 0 if category else ~np.isnan(values)
                measure, strength = association(values[there], code[there], category=category)
            measures[measure] = None
            found[f"association with {attribute}"] = strength
            if name in features and strength >= PROXY:
                flagged.append(attribute)
                proxies.setdefault(attribute, []).append(name)
        told = [note, *(f"proxy of {attribute}: the group can nearly be told from it" for attribute in flagged)]
        rows.append({
            "column": name, "kind": use.kind, "examples": ", ".join(use.examples), "used as": used,
            "missing": use.missing, "distinct": use.distinct, "measure": ", ".join(filter(None, measures)), **found,
            "proxy": ", ".join(flagged), "note": "; ".join(filter(None, told)),
        })  # fmt: skip
    left = [name for name in uses if name in features and uses[name].used == "left out"]
    told = f"left out, with the reason in the table of columns: {_some(left)}; numbers can be kept (keep)"
    notes = [told] if left else []
    if proxies:
        what = "; ".join(f"{attribute} from {_some(names)}" for attribute, names in proxies.items())
        why = f"association of {PROXY} or more in {len(drawn):,} rows drawn at random"
        notes.append(f"columns from which a group can nearly be told ({why}) were kept: {what}")
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

    Categories: Cramér's V. Numbers: :math:`|2\,\mathrm{AUC} - 1|` for two groups, eta for more; where there are few
    different values also Cramér's V, and the larger is reported. No name and NaN where nothing can be said.
    """
    G, distinct = len(np.unique(groups)), len(np.unique(values))
    if len(values) < 3 or G < 2 or distinct < 2:
        return "", float("nan")
    measures = {"Cramér's V": cramers_v} if category or distinct <= FEW_VALUES else {}
    if not category:
        measures |= {"|2 AUC - 1|": gini} if G == 2 else {"eta": eta}
    return max(((name, measure(values, groups)) for name, measure in measures.items()), key=lambda found: found[1])


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
    n, of_group = len(values), pd.Series(values).groupby(groups)
    G, total = of_group.ngroups, np.var(values, ddof=1)
    if n <= G or total == 0:
        return 0.0
    within = float(((values - of_group.transform("mean")) ** 2).sum()) / (n - G)
    return float(np.sqrt(max(0.0, 1 - within / total)))
