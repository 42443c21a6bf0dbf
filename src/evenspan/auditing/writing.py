"""An audit written to a folder, whole or not at all."""

import json
import re
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path

from ..saving import save
from .output_folder import REPORT, SETTINGS, atomic_output


def write(audit, folder: Path, overwrite: bool) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    with atomic_output(folder, overwrite=overwrite) as stage:
        for name in ("tables", "figures", "transformers"):
            (stage / name).mkdir()
        (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
        for name, table in audit.tables.items():
            table.map(plain_text).to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
        for name, one in audit.figures.items():
            (stage / "figures" / f"{name}.svg").write_bytes(one.svg)
        for name, wanted in transformers(audit).items():
            save(audit.pipeline(*wanted), stage / "transformers" / f"{name}.npz")
        settings = json.dumps({**audit.settings, "answers": audit.sentences})
        (stage / SETTINGS).write_text(settings, encoding="utf-8")
        names = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
    return [folder / name for name in sorted(names)]


def plain_text(cell: object) -> object:
    """Text of the user's that a spreadsheet would compute gets an apostrophe before it; a number stays one."""
    return f"'{cell}" if isinstance(cell, str) and re.match(r"[=+@\t\r-](?![\d.]+$)", cell) else cell


def transformers(audit) -> dict[str, tuple[str, int, str]]:
    """By the name of its file, method, k and attribute: every method with the k of the recommendation."""
    keys = [(one, method, audit.analyses[one].k) for one in audit.sample.attributes for method in audit.methods]
    wanted = {f"{one} {method}": (method, k, one) for one, method, k in keys if (one, method, k) in audit.estimators}
    return {name: wanted[text] for text, name in file_names(wanted).items()}


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A name for each text that every file system takes: letters, digits and hyphens, each once."""
    found: dict[str, str] = {}
    for text in texts:
        plain = re.sub(r"\W+", "-", text).strip("-").lower()[:80] or "file"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        found[text] = next(name for name in names if name not in found.values())
    return found
