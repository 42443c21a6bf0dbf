"""What many pages show and the build computes once: each a function whose value its pages read.

A page finds it by :func:`compendium.records.computed_once`; everywhere else it is computed when it is asked for.
"""

import importlib
import json
import os
from pathlib import Path

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
    if isinstance(value, pd.DataFrame):
        value = {"columns": list(value), "rows": value.to_numpy(dtype=object).tolist()}
    records.write(target, json.dumps(value, ensure_ascii=False).encode())
