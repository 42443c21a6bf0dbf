"""The history of the rules: what each version let pass, of the numbers of its time and of today's.

The ledgers of the time are in the repository's history. What they counted is committed in ``data/results/rules``,
because the book is built without git; :func:`from_git` makes it again.
"""

import io
import subprocess
from collections.abc import Mapping
from decimal import Decimal

import pandas as pd
import yaml

from .. import paths
from ..catalogue import Entry
from ..claim_rules import rule_file
from . import table
from .verdicts import Kind, Result, number

#: Names of grades in ledgers of the time -> today's.
RENAMED = {"same order": Kind.RANK.value, "same rank": Kind.RANK.value, "not computable": Kind.NA.value}
COUNTED = tuple(one.value for one in Kind)
WORDS = tuple(one.value for one in Result)


class Allowed(Entry):
    """What made a number agree that does not round to the printed one; see ``data/rules.yml``."""

    relative: Decimal
    relative_without_spread: Decimal
    deviations: Decimal
    standard_errors: Decimal
    seconds: bool


class Change(Entry):
    """A version of the rules for claims."""

    committed: tuple[str, str]
    known: str
    changed: str


class Version(Change):
    """A version of the rules for numbers."""

    version: int
    why: str
    allowed: Allowed
    ledgers: tuple[str, ...]


class History(Entry):
    """The file ``data/rules.yml``."""

    versions: tuple[Version, ...]
    claims: tuple[Change, ...]


def history() -> History:
    """All versions, the oldest first."""
    return paths.read(paths.data("rules.yml"), lambda content: History.model_validate(yaml.safe_load(content)))


def folder():
    """Where the counts of the ledgers of the time are."""
    return paths.data("results", "rules")


def from_git() -> dict[str, pd.DataFrame]:
    """What the ledgers of the time counted, and what moved from one version to the next, by the files' names."""
    counts, moves, last = [], [], None
    for one in history().versions:
        for commit in one.ledgers or [""]:
            frame = _ledger(commit)
            words = frame["result"].value_counts() if "result" in frame else pd.Series(dtype=int)
            row = {"version": one.version, "commit": commit, "printed": len(frame)}
            counts.append(row | {name: (frame["verdict"] == name).sum() for name in COUNTED} | words.to_dict())
            if last is not None and commit in {*one.ledgers[:1], *([] if one.ledgers else [""])}:
                moves.append(_moved(last, frame).assign(version=one.version))
            last = frame
    head = ["version", "commit", "printed", *COUNTED, *WORDS]
    return {
        "counts": pd.DataFrame(counts).reindex(columns=head).astype(dict.fromkeys(head[2:], "Int64")),
        "moves": pd.concat(moves)[["version", "paper", "dataset", "method", "from", "to", "numbers"]],
    }


def _ledger(commit: str) -> pd.DataFrame:
    if not commit:
        return table.ledger()
    command = ["git", "-C", str(paths.root()), "show", f"{commit}:data/results/ledger.csv"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return frame[frame["published"] != ""].assign(verdict=lambda rows: rows["verdict"].replace(RENAMED))


def _moved(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Cells with another word, or with another grade where one of the two has no words, by paper."""
    words = "result" if "result" in old and "result" in new else "verdict"
    by = ["paper", *(["dataset", "method"] if words == "result" else [])]
    both = old[["cell", words]].merge(new[["cell", "paper", "dataset", "method", words]], on="cell")
    both = both.rename(columns={f"{words}_x": "from", f"{words}_y": "to"})
    counted = both[both["from"] != both["to"]].groupby([*by, "from", "to"], sort=False).size()
    return counted.rename("numbers").reset_index()


def then(name: str) -> pd.DataFrame:
    """A committed file: ``counts``, ``moves``, or ``claims``, the headlines before there were three answers."""
    return pd.read_csv(folder() / f"{name}.csv", keep_default_na=name == "counts", dtype={"commit": str})


def today(frame: pd.DataFrame) -> pd.DataFrame:
    """How many of today's numbers agree by each version's rules, and how often those of another method would.

    Of the numbers that are a test now; ours are those by the printed name, before any other procedure."""
    tested = frame[(frame["result"] != Result.NO_TEST.value)]
    place = ["table", "dataset", "metric", "k", "split"]
    peers = frame[frame["ours"] != ""].groupby(["paper", *place])
    groups = {key: some.to_dict("records") for key, some in peers}
    rows = []
    for one in history().versions:
        good, chances = 0, []
        for cell in tested.to_dict("records"):
            others = [
                row for row in groups[tuple(cell[c] for c in ["paper", *place])] if row["method"] != cell["method"]
            ]
            good += agrees(one.allowed, cell, cell)
            chances += [sum(agrees(one.allowed, cell, row) for row in others) / len(others)] if others else []
        rows.append((one.version, good, len(tested), sum(chances) / len(chances)))
    return pd.DataFrame(rows, columns=["version", "agree", "tested", "chance agreement"])


def agrees(allowed: Allowed, printed: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Whether our number of one row agrees with the printed number of another, or the same, by a version's rules."""
    if printed["unit"] == "s" and not allowed.seconds:
        return False
    theirs, mine = number(printed["published"]), number(ours["ours"])
    spread = number(ours["ours_std"] or "0")
    unit = rule_file().exact["units_of_last_digit"].scaleb(-int(printed["printed_digits"]))
    share = allowed.relative if spread else allowed.relative_without_spread
    deviations = max(spread, number(printed["published_std"] or "0"))
    # Starts of zhou2024 alone are not the paper's; the slides do not say how many it took.
    error = spread / Decimal(ours["splits"]).sqrt() if printed["paper"] == "zhou2024" else Decimal(0)
    widest = max(unit, share * abs(theirs), allowed.deviations * deviations, allowed.standard_errors * error)
    return abs(mine - theirs) <= widest
