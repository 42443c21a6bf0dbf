"""What the property tests counted, and the limits that stand in the code: tables of the page *How it fails*."""

import importlib
import inspect
import re

import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ResultError

from .. import paths, records
from .tables import sentence, table

#: What was tried of each kind, in the order of the page: what it is called there, and when an answer is right.
KINDS = {
    "estimator": (
        "estimators",
        "Estimators are fitted to odd shapes, types, scales, groups and settings. An answer is right if the theorem "
        "holds, if it scales exactly by powers of two, and if the order of rows and names of groups do not matter.",
    ),
    "table": (
        "tables for an audit",
        "Tables hold odd numbers, dates, names and characters, or their files are damaged. An answer is right if every "
        "cell has the value that was written, and if the order of rows and the cut into batches do not matter.",
    ),
    "options": (
        "options of the audit",
        "Options are drawn from within their range and outside. What is done is right if it is what was asked for.",
    ),
    "place": (
        "places of reports",
        "The place of a report is full, closed, misnamed, taken or used by another. What is done is right if the new "
        "report is whole there and nothing else was touched.",
    ),
    "stream": (
        "data in parts",
        "Data arrive in batches and files that differ, are damaged, or change while they are read. An answer is right "
        "if it is that of all rows at once.",
    ),
    "file": (
        "stored files",
        "Bytes of stored files are altered, or their end is cut off. Reading one is right if it gives what it gave "
        "before.",
    ),
    "command": (
        "commands of the reproduction",
        "Commands, those after <code>python -m compendium</code>, get options and values of all kinds. What is done is "
        "right if the work begins, with values that make sense; <code>list</code>, which takes none, is right as it is "
        "and in no other way.",
    ),
}
#: Where limits stand: all constants with a comment of a module, or those that are named.
LIMITS = {
    "evenspan.core.limits": (),
    "evenspan.auditing.places": ("LEAST_FREE", "PATIENCE"),
    "compendium.cli": ("MOST_JOBS",),
    "compendium.data.fetch": ("TIMEOUT",),
    "compendium.processes": ("GRACE",),
    "compendium.book.warm": ("SECONDS", "MEMORY"),
    "compendium.live.tables": ("LARGEST", "MOST"),
}
NUMBERS = ["tried", "right", "neither"]
AGAIN = "make test ALL=1"
_CONSTANT = re.compile(r"^((?:#: .*\n)+)([A-Z_, ]+)(?:: .+)? = ", re.MULTILINE)


def outcomes() -> pd.DataFrame:
    """What was counted, a row for each subject; what is missing or does not add up is an error."""
    folder, found = paths.data("outcomes"), []
    for path in sorted(folder.glob("*.json")):
        one = records.read(path)
        try:
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
    sums = found[NUMBERS].sum(axis=0)
    named = sums["tried"] - sums["right"] - sums["neither"]
    commits = ", ".join(dict.fromkeys(commit.partition(":")[0][:12] for commit in found["commit"]))
    return sentence(
        f"{sums['tried']:,} draws of {len(found)} subjects: {sums['right']:,} were answered and the answer was right, "
        f"{named:,} were refused with a named error, and {sums['neither']:,} were neither. "
        f"Counted at commit {commits} with Hypothesis {', '.join(dict.fromkeys(found['hypothesis']))}."
    )


def counted() -> HTML:
    """What was tried of every kind, and how often each ending was met."""
    found, shown = outcomes(), []
    for kind, (title, right) in KINDS.items():
        some = found[found["kind"] == kind]
        if len(some):
            rows = some[["subject", *NUMBERS]].copy()
            rows.insert(3, "named", [sum(one.values()) for one in some["named"]])
            rows = rows.set_index("subject").map("{:,}".format).reset_index()
            errors = (", ".join(f"{name} {count:,}" for name, count in one.items()) for one in some["named"])
            rows["named errors"] = [text or "–" for text in errors]
            caption = f"Draws by how they ended: {title}"
            shown.append(f"<p>{right}</p>" + table(rows, caption=caption, classes="result-table words-1").data)
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
                    rows += [(what, f"{most:,}", why) for what, (most, why) in value.items()]
                elif one in wanted or not wanted:
                    values = value if isinstance(value, tuple) else (value,)
                    place = f"<code>{one}</code> of <code>{name}</code>"
                    rows.append((place, " and ".join(f"{number:,}" for number in values), meaning))
    return table(pd.DataFrame(rows, columns=["limit", "value", "meaning"]), caption="Limits in the code")
