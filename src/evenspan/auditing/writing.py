"""An audit written to a folder, whole or not at all; and the lines that make it again or use what it made."""

import json
import re
import shlex
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path

from ..saving import save
from .output_folder import REPORT, SETTINGS, atomic_output

#: What an audit calls a table that is no file.
FRAME = "table"
#: Values of an audit that a command need not name, and options with another name than the argument.
USUAL = {"concern": "all", "missing": "error", "skip_rows": 0, "holdout": 0.3, "n_boot": 1000, "random_state": 0}
OPTIONS = {"n_boot": "bootstrap", "random_state": "seed", "skip_rows": "skip-rows"}


def write(audit, folder: Path, overwrite: bool) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    with atomic_output(folder, overwrite=overwrite) as stage:
        for name in ("tables", "figures", "transformers"):
            (stage / name).mkdir()
        (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
        for name, table in audit.tables.items():
            table.to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
        for name, one in audit.figures.items():
            (stage / "figures" / f"{name}.svg").write_bytes(one.svg)
        for name, wanted in transformers(audit).items():
            save(audit.pipeline(*wanted), stage / "transformers" / f"{name}.npz")
        settings = json.dumps({**audit.settings, "answers": audit.sentences})
        (stage / SETTINGS).write_text(settings, encoding="utf-8")
        names = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
    return [folder / name for name in sorted(names)]


def transformers(audit) -> dict[str, tuple[str, int, str]]:
    """By the name of its file, method, k and attribute: every method with the k of the recommendation."""
    wanted = {
        f"{attribute} {method}": (method, k, attribute)
        for attribute in audit.sample.attributes
        for method in audit.methods
        if (attribute, method, k := audit.analyses[attribute].k) in audit.estimators
    }
    return {name: wanted[text] for text, name in file_names(wanted).items()}


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A name for each text that every file system takes: letters, digits and hyphens, each once."""
    found: dict[str, str] = {}
    for text in texts:
        plain = re.sub(r"\W+", "-", text).strip("-").lower()[:80] or "file"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        found[text] = next(name for name in names if name not in found.values())
    return found


def command(settings: dict) -> str:
    """The command line that makes the same audit, from the folder of the table: one option a line."""
    options = [("--sensitive", name) for name in settings["sensitive"]]
    options += [("-k", ",".join(map(str, settings["k"])))] if settings["k"] else []
    for option in ("methods", "exclude", "keep"):
        options += [(f"--{option}", name) for name in settings[option]]
    for name in ("target", "decimal", "thousands", *USUAL):
        if settings[name] not in (None, USUAL.get(name)):
            options.append((f"--{OPTIONS.get(name, name)}", settings[name]))
    options += [] if settings["header"] is None else [("--header" if settings["header"] else "--no-header",)]
    options += [("--intersections",)] if settings["intersections"] else []
    options += [] if settings["standardize"] else [("--no-standardize",)]
    lines = [("evenspan", "audit", settings["table"]), *options]
    return " \\\n    ".join(" ".join(shlex.quote(str(word)) for word in line) for line in lines)
