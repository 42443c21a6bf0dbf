"""What many pages show and the workflow computes once: each a function whose value its pages read.

A page finds it in the folder that a variable of the build names (:func:`compendium.records.computed_once`); everywhere
else it is computed when it is asked for.
"""

import importlib
import os
import pickle
from pathlib import Path

from compendium import records

#: The function behind each value.
COMPUTED = {
    "ledger": "compendium.ledger.table:ledger",
    "claims": "compendium.ledger.claims:claims",
    "contradictions": "compendium.ledger.contradictions:resolved",
    "findings": "compendium.ledger.findings:all_evidence",
    "explorer": "compendium.book.explorer:data",
}


def write(name: str, target: Path) -> None:
    """Compute one of them anew and write it."""
    os.environ.pop(records.ONCE, None)
    module, _, function = COMPUTED[name].partition(":")
    value = getattr(importlib.import_module(module), function)()
    records.write(target, pickle.dumps(value))
