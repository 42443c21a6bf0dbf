"""What the property tests counted, and the limits that stand in the code: tables of the page *How it fails*."""

import importlib
import inspect
import re

import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ResultError

from .. import paths, records
from .tables import sentence, table

#: What was tried of each kind; what only tests the instrument is not shown.
KINDS = {
    "estimator": "Estimators are fitted to odd shapes, types, scales, groups and settings. It is right if the theorem "
    "holds, it scales exactly by powers of two, and the order of rows and names of groups do not matter.",
    "file": "Stored files are altered. Reading one is right if it gives what it gave before.",
    "stream": "Data arrive in batches and files that differ, or change while they are read. It is right if the answer "
    "is that of all rows at once.",
    "table": "Tables hold odd numbers, dates, names and characters. It is right if every cell has the value written.",
    "place": "Places of reports are full, closed, misnamed, taken or used by another. It is right if the new output is "
    "whole and nothing else was touched.",
    "options": "Options are drawn from within their range and outside. It is right if what is done is what was asked.",
    "command": "Commands get drawn options and values. It is right if the work begins with values that make sense.",
}
#: Where limits stand: all constants with a comment of a module, or those that are named.
LIMITS = {
    "evenspan.core.limits": (),
    "compendium.cli": ("MOST_JOBS",),
    "compendium.data.fetch": ("TIMEOUT",),
    "compendium.processes": ("GRACE",),
    "compendium.book.warm": ("SECONDS", "MEMORY"),
}
AGAIN = "make test ALL=1"
_CONSTANT = re.compile(r"^((?:#: .*\n)+)([A-Z_, ]+) = ", re.MULTILINE)


def outcomes() -> pd.DataFrame:
    """What was counted, a row for each subject; what is missing or does not add up is an error."""
    folder, found = paths.data("outcomes"), []
    for path in sorted(folder.glob("*.json")):
        one = records.read(path)
        try:
            if one["kind"] == "instrument":
                continue
            adds_up = one["tried"] == one["right"] + sum(one["named"].values()) + one["neither"]
            if one["kind"] not in KINDS or not adds_up or not one["tried"]:
                raise ValueError("its kind is unknown or its numbers do not add up")
            found.append({name: one[name] for name in ("kind", "subject", "tried", "right", "named", "neither")})
            found[-1] |= {name: one[name] for name in ("commit", "hypothesis")}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultError(f"{path} is no outcome of a property test ({error!r}). Count again: {AGAIN}") from error
    if not found:
        raise ResultError(f"{folder} holds no outcomes of the property tests. Count them: {AGAIN}")
    return pd.DataFrame(found)


def total() -> HTML:
    """How many draws were tried, and how they ended; at which commit that was counted."""
    found = outcomes()
    sums = found[["tried", "right", "neither"]].sum(axis=0)
    named = sums["tried"] - sums["right"] - sums["neither"]
    commits = ", ".join(dict.fromkeys(commit[:12] for commit in found["commit"]))
    return sentence(
        f"{sums['tried']:,} draws of {len(found)} subjects: {sums['right']:,} were answered and the answer was right, "
        f"{named:,} were refused with a named error, and {sums['neither']:,} were neither. "
        f"Counted at commit {commits} with Hypothesis {', '.join(dict.fromkeys(found['hypothesis']))}."
    )


def counted() -> HTML:
    """What was tried of every kind, and how often each ending was met."""
    shown = []
    for kind, some in outcomes().groupby("kind", sort=False):
        named = [", ".join(f"{name} {count:,}" for name, count in one.items()) or "–" for one in some["named"]]
        rows = some[["subject", "tried", "right"]].assign(named=named, neither=some["neither"])
        shown.append(f"<p>{KINDS[kind]}</p>" + table(rows, caption=f"Draws by how they ended: {kind}").data)
    return HTML("\n".join(shown))


def limits() -> HTML:
    """The limits that stand in the code, with their values there."""
    rows = []
    for name, wanted in LIMITS.items():
        module = importlib.import_module(name)
        for comment, constants in _CONSTANT.findall(inspect.getsource(module)):
            meaning = " ".join(line.removeprefix("#: ") for line in comment.splitlines())
            for one in constants.split(", "):
                value = getattr(module, one)
                if isinstance(value, dict):
                    rows += [(what, f"{most:,}", why, name) for what, (most, why) in value.items()]
                elif one in wanted or not wanted:
                    rows.append((one, f"{value:,}" if isinstance(value, int) else str(value), meaning, name))
    return table(pd.DataFrame(rows, columns=["limit", "value", "meaning", "where"]), caption="Limits in the code")
