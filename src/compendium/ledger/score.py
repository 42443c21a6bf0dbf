"""The printed numbers as tasks, and anybody's answers to them, judged by the rules of the ledger.

Everything but the answer comes from the committed ledger: what is a test, the printed digits, and whether a number
varies between splits. An answer therefore cannot choose the rule by which it is judged.
"""

import contextlib
import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths
from ..claim_rules import rule_file
from . import state, table
from .verdicts import NO, YES, Result, judge, passes

AGREES, DIFFERS, MISSING, NO_TEST = "agrees", "differs", "missing", Result.NO_TEST.value
#: Columns of a file of answers; the first two have to be there.
COLUMNS = ("cell", "value", "std", "n")
#: What the task form gives of a printed number.
GIVEN = ["cell", "paper", "table", "dataset", "data_card", "method", "metric", "k", "split", "unit"]
#: Stands below every score.
LIMIT = (
    "The printed numbers are public, and a file that copies them passes: agreement says that an answer equals print, "
    "and not that anybody computed it."
)


def stored() -> pd.DataFrame:
    """The committed ledger as text."""
    text = {"dtype": str, "keep_default_na": False}
    return paths.read(table.path(), lambda content: pd.read_csv(io.BytesIO(content), **text)[list(table.COLUMNS)])


def tasks() -> pd.DataFrame:
    """For each printed number what a reproducer is given, without the number, and what an answer is scored against."""
    frame = stored()
    varies = pd.to_numeric(frame["ours_std"]) > 0
    test = {"test": np.where(frame["result"] == NO_TEST, NO, YES), "no_test": frame["no_test"]}
    rule = np.where(frame["result"] == NO_TEST, "", np.where(varies, "exact or close", "exact"))
    return frame[GIVEN].assign(**test, scored_against="published", rule=rule)


def answers(path: Path) -> dict[str, tuple[float, float]]:
    """Value and standard deviation (0 if none is given, or of one split) by cell; what is malformed is an error."""
    known, head, found, line = {*stored()["cell"]}, [], {}, 1

    def refused(seen: str, needed: str) -> ResultError:
        return ResultError(f"{path}, line {line}: {seen}; {needed}.")

    def finite(name: str, text: str) -> float:
        with contextlib.suppress(ValueError):
            if text.isascii() and "_" not in text and math.isfinite(value := float(text)):
                return value
        raise refused(f"{name} is {text!r}", "needed is a finite number, with a point before its decimals")

    if not path.is_file():
        raise ResultError(f"{path} is no file; needed is a CSV file with the columns cell and value.")
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line, text in enumerate(file, 1):
            try:
                row = next(csv.reader([text], strict=True), [])
            except csv.Error as error:
                raise refused(str(error), "needed is one line of CSV for each cell") from None
            if line == 1:
                head = row
                if sorted({*head}) != sorted(head) or not {*COLUMNS[:2]} <= {*head} <= {*COLUMNS}:
                    seen = f"the columns are {', '.join(head) or 'missing'}"
                    raise refused(seen, "needed are cell and value, and where they are known std and n")
                continue
            if not row:  # a blank line
                continue
            if len(row) != len(head):
                raise refused(f"the number of fields is {len(row)}", f"needed is {len(head)}, as in line 1")
            given = dict.fromkeys(COLUMNS, "") | dict(zip(head, row, strict=True))
            cell, n = given["cell"], given["n"]
            if cell not in known or cell in found:
                seen = "is there for the second time" if cell in found else "is not in the ledger"
                raise refused(f"the cell {cell!r} {seen}", "needed is each cell of the ledger at most once")
            value, std = finite("value", given["value"]), finite("std", given["std"] or "0")
            if std < 0:
                raise refused(f"std is {given['std']}", "needed is 0 or more")
            if n and not re.fullmatch("0*[1-9][0-9]*", n, re.ASCII):
                raise refused(f"n is {n!r}", "needed is the number of splits, 1 or more")
            found[cell] = value, 0.0 if n and int(n) == 1 else std
    if not found:
        raise refused("there is no answer", "needed is a line for at least one cell")
    return found


def judged(given: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """The ledger with the word for each answer as its ``result``, and the ``answer`` in its place."""
    frame, rules, words = stored(), rule_file(), []
    for cell in frame.itertuples():
        if cell.result == NO_TEST or cell.cell not in given:
            words.append(NO_TEST if cell.result == NO_TEST else MISSING)
            continue
        value, std = given[cell.cell]
        std = min(std, float(cell.ours_std or 0))  # a spread of one's own widens no rule
        verdict = judge(
            cell.published, value, rules=rules, digits=int(cell.printed_digits), std=cell.published_std, our_std=std
        )
        words.append(AGREES if passes(verdict.kind) else DIFFERS)
    return frame.assign(result=words, answer=[given.get(cell, ("",))[0] for cell in frame["cell"]])


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Judged answers counted by table, by paper and in all, as text."""
    levels = (frame, frame.assign(table="all"), frame.assign(paper="all", table="all"))
    found = pd.concat([table.tally(one, ["paper", "table"], (AGREES, DIFFERS, MISSING, NO_TEST)) for one in levels])
    share = (100 * found[AGREES] / found["tested"]).map("{:.0f} %".format).where(found["tested"] > 0, "–")
    text = state.shown(found)
    text.insert(len(text.columns) - 1, "of tested", share.to_numpy())
    return text
