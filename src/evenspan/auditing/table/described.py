"""The table of columns: what each one is, what it is used as, and how much it says about the groups."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from .association import PROXY, association
from .codes import READERS
from .columns import ColumnUse, kind_of_text
from .scan import Scan
from .target import Target
from .values import texts


def columns_table(
    scan: Scan,
    columns: Iterable[str],
    uses: Iterable[ColumnUse],
    target: Target | None,
    drawn: pd.DataFrame,
    groups: pd.DataFrame,
) -> tuple[pd.DataFrame, list[str]]:
    """One row for each column of the table, and what is worth a note.

    Parameters
    ----------
    scan : Scan
        The first pass.
    columns : iterable of str
        All columns in order.
    uses : iterable of ColumnUse
        What those are used as that are neither sensitive nor the target nor excluded.
    target : Target or None
        The column to be predicted.
    drawn : DataFrame of shape (n, ...)
        Rows drawn at random, with the columns that are used and the target, as they stand in the table.
    groups : DataFrame of shape (n, attributes)
        Their groups by the sensitive columns.

    Returns
    -------
    table : DataFrame
        One row for each column.
    notes : list of str
        Which columns are proxies, and of what.
    """
    by_name, rows, proxies, left = {use.name: use for use in uses}, [], {}, []
    codes = {name: pd.factorize(groups[name])[0] for name in groups}
    for name in columns:
        one, use = scan.profiles[name], by_name.get(name)
        row = {"column": name, "kind": use.kind if use else kind_of_text(one), "used as": "left out"}
        row |= {"missing": one.missing, "distinct": one.distinct, "measure": ""}
        values, category, note = None, False, "excluded on request"
        if name in scan.labels:
            row["used as"], values, category, note = "sensitive", codes[name], True, ""
        elif target is not None and name == target.name:
            row["kind"], row["used as"], note = target.kind, target.used, target.note
            values, category = _target_values(target, drawn[name])
        elif use is not None:
            row["used as"], note = use.used, use.note
            if use.used == "left out":
                left.append(name)
            else:
                values, category = _values(use, drawn[name])
        found, measures = {}, {}
        for attribute, code in codes.items():
            measure, strength = ("", np.nan) if values is None or attribute == name else _of(values, code, category)
            measures[measure] = None
            row[f"association with {attribute}"] = found[attribute] = strength
        row["measure"] = ", ".join(filter(None, measures))
        flagged = [attribute for attribute, strength in found.items() if strength >= PROXY] if _is_feature(use) else []
        for attribute in flagged:
            proxies.setdefault(attribute, []).append(name)
        row["proxy"] = ", ".join(flagged)
        told = [note] if note else []
        told += [f"proxy of {attribute}: the group can nearly be told from it" for attribute in flagged]
        rows.append(row | {"note": "; ".join(told)})
    notes = [f"left out, with the reason in the table of columns: {_some(left)}"] if left else []
    numbering = [use.name for use in uses if use.kind == "id-like" and "number" in scan.profiles[use.name].types]
    if numbering:
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


def _is_feature(use: ColumnUse | None) -> bool:
    return use is not None and use.used != "left out"


def _of(values: np.ndarray, codes: np.ndarray, category: bool) -> tuple[str, float]:
    there = values >= 0 if category else ~np.isnan(values)
    return association(values[there], codes[there], category=category)


def _values(use: ColumnUse, series: pd.Series) -> tuple[np.ndarray, bool]:
    """Codes of a category, -1 if missing, or numbers, NaN if missing; and which of the two."""
    if use.used == "categories":
        return _text_codes(series), True
    return READERS[use.used](series), False


def _target_values(target: Target, series: pd.Series) -> tuple[np.ndarray, bool]:
    return (_text_codes(series), True) if target.used == "target (category)" else (target.values(series), False)


def _text_codes(series: pd.Series) -> np.ndarray:
    cells, distinct = texts(series)
    return np.append(np.unique(distinct.astype(str), return_inverse=True)[1], -1)[cells]


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
