"""The table of columns: what each one is, what it is used as, and how much it says about the groups."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from ..core.inputs import first_few
from ..metrics.association import binned, cramers_v
from .columns import NUMERIC, ColumnUse, coded, numbers, target_values

#: From this association with a sensitive column on, a column is flagged as its proxy.
PROXY = 0.6


def columns_table(
    uses: Mapping[str, ColumnUse], features: Iterable[str], target: str | None, weights: str | None,
    drawn: pd.DataFrame, groups: pd.DataFrame, w: np.ndarray,
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """One row for each column of the table, and what is worth a note: which columns are proxies, and of what.

    ``features`` are neither sensitive nor the target nor ``weights`` nor excluded; ``drawn`` holds rows drawn at random
    as they stand in the table, ``groups`` (n, attributes) their groups by the sensitive columns, w (n,) their weights.
    """
    rows, proxies, features = [], {}, set(features)
    codes = {name: pd.factorize(groups[name])[0] for name in groups}
    for name, use in uses.items():
        used, note, values = use.used, use.note, None
        if name in codes:
            used, note, values = "sensitive", "", codes[name]
        elif name == weights:
            used, note = "weights", "how much each row counts; no feature"
        elif name not in features and name != target and used != "clusters":
            used, note = "left out", "excluded on request"
        if used in ("categories", "order", "target (category)", "clusters"):
            values = coded(drawn[name])[0]
        elif used == "target (number)":
            values = binned(target_values(use, drawn[name]))
        elif used in NUMERIC:
            values = binned(numbers(used, drawn[name]))
        found, flagged = {}, []
        for attribute, code in codes.items():
            strength = np.nan if values is None or attribute == name else cramers_v(values, code, w)
            found[f"association with {attribute}"] = strength
            if name in features and strength >= PROXY:
                flagged.append(attribute)
                proxies.setdefault(attribute, []).append(name)
        told = [note, *(f"proxy of {attribute}: the group can nearly be told from it" for attribute in flagged)]
        rows.append({
            "column": name, "kind": use.kind, "examples": ", ".join(use.examples), "used as": used,
            "missing": use.missing, "distinct": use.distinct, **found,
            "proxy": ", ".join(flagged), "note": "; ".join(filter(None, told)),
        })  # fmt: skip
    left = [name for name in uses if name in features and uses[name].used == "left out"]
    told = f"left out, with the reason in the table of columns: {first_few(left)}; numbers can be kept (keep)"
    notes = [told] if left else []
    if proxies:
        what = "; ".join(f"{attribute} from {first_few(names)}" for attribute, names in proxies.items())
        why = f"association of {PROXY} or more in {len(drawn):,} rows drawn at random"
        notes.append(f"columns from which a group can nearly be told ({why}) were kept: {what}")
    return pd.DataFrame(rows), notes


def sentences(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes with a capital letter and a full stop; each once."""
    return tuple(dict.fromkeys(note[:1].upper() + note[1:].rstrip(".") + "." for note in notes if note))
