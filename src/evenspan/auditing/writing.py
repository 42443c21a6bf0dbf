"""An audit written to a folder, whole or not at all; and the lines that make it again or use what it made."""

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..saving import save
from .output_folder import REPORT, SETTINGS, atomic_output

if TYPE_CHECKING:
    from .run import Audit

#: What a cell begins with that a spreadsheet computes, and what a number looks like, which may begin so.
FORMULA = "=+-@\t\r\n＝＋－＠"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: What an audit calls a table that is no file.
FRAME = "table"
#: Options of the command by argument of ``evenspan.audit``, with the value that need not be named.
OPTIONS = {
    "target": ("--target", None),
    "concern": ("--concern", "all"),
    "missing": ("--missing", "error"),
    "decimal": ("--decimal", None),
    "thousands": ("--thousands", None),
    "skip_rows": ("--skip-rows", 0),
    "holdout": ("--holdout", 0.3),
    "n_boot": ("--bootstrap", 1000),
    "random_state": ("--seed", 0),
}


def write(audit: "Audit", folder: Path, overwrite: bool) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    with atomic_output(folder, overwrite=overwrite) as stage:
        for name in ("tables", "figures", "transformers"):
            (stage / name).mkdir()
        (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
        for name, table in audit.tables.items():
            harmless(table).to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
        for name, one in audit.figures.items():
            (stage / "figures" / f"{name}.svg").write_bytes(one.svg)
        for name, wanted in transformers(audit).items():
            save(audit.pipeline(*wanted), stage / "transformers" / f"{name}.npz")
        settings = json.dumps({**audit.settings, "answers": audit.sentences})
        (stage / SETTINGS).write_text(settings, encoding="utf-8")
        names = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
    return [folder / name for name in sorted(names)]


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before each text that a spreadsheet would take for a formula; numbers stay."""

    def cell(value):
        formula = isinstance(value, str) and value and value[0] in FORMULA and not NUMBER.fullmatch(value)
        return f"'{value}" if formula else value

    return table.assign(**{name: table[name].map(cell) for name in table if not is_numeric_dtype(table[name])})


def transformers(audit: "Audit") -> dict[str, tuple[str, int, str]]:
    """By the name of its file, method, k and attribute: every method with the k of the recommendation."""
    wanted = {
        f"{attribute} {method}": (method, k, attribute)
        for attribute, found in audit.recommendation.items()
        for method in audit.methods
        if (attribute, method, k := next(iter(found.values())).k) in audit.estimators
    }
    return {name: wanted[text] for text, name in file_names(wanted).items()}


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A name for each text that every file system takes: letters, digits and hyphens, each once."""
    found: dict[str, str] = {}
    for text in texts:
        plain = name = re.sub(r"\W+", "-", text).strip("-").lower()[:80] or "file"
        number = 2
        while name in found.values():
            name, number = f"{plain}-{number}", number + 1
        found[text] = name
    return found


# -- again -------------------------------------------------------------------------------------------------------------


def command(settings: dict) -> str:
    """The command line that makes the same audit, from the folder of the table: one option a line."""
    options = [("--sensitive", name) for name in settings["sensitive"]]
    options += [("-k", ",".join(map(str, settings["k"])))] if settings["k"] else []
    for option in ("methods", "exclude", "keep"):
        options += [(f"--{option}", name) for name in settings[option]]
    for argument, (option, default) in OPTIONS.items():
        if settings[argument] != default and settings[argument] is not None:
            options.append((option, settings[argument]))
    options += [] if settings["header"] is None else [("--header" if settings["header"] else "--no-header",)]
    options += [("--intersections",)] if settings["intersections"] else []
    options += [] if settings["standardize"] else [("--no-standardize",)]
    lines = [("evenspan", "audit", settings["table"]), *options]
    return " \\\n    ".join(" ".join(shlex.quote(str(word)) for word in line) for line in lines)
