"""What many pages show and the workflow computes once: each a function whose value its pages read.

A page finds it in the folder that a variable of the build names (:func:`compendium.records.computed_once`); everywhere
else it is computed when it is asked for.
"""

import dataclasses
import importlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

from compendium import records

#: The function behind each value.
COMPUTED = {
    "ledger": "compendium.ledger.table:ledger",
    "claims": "compendium.ledger.claims:claims",
    "contradictions": "compendium.ledger.contradictions:resolved",
    "explorer": "compendium.book.explorer:data",
}


def write(name: str, target: Path) -> None:
    """Compute one of them anew and write it as JSON: tables as their columns and rows."""
    os.environ.pop(records.ONCE, None)
    module, _, function = COMPUTED[name].partition(":")
    value = getattr(importlib.import_module(module), function)()
    records.write(target, json.dumps(value, default=_plain, ensure_ascii=False).encode())


def _plain(value: object) -> object:
    if isinstance(value, pd.DataFrame):
        return {"columns": list(value.columns), "rows": value.to_numpy(dtype=object).tolist()}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} has no form in JSON")
