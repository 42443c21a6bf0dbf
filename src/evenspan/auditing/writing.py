"""An audit written to a folder, whole or not at all; nothing else that is there is touched."""

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import ConfigurationError
from .page.blocks import svg

if TYPE_CHECKING:
    from .result import Audit

SETTINGS, REPORT = "settings.json", "report.html"
#: The executed notebook of the command line lies beside the report.
NOTEBOOK = "audit.ipynb"


def write(audit: "Audit", folder: Path) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    require_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = not folder.exists()
    # Inside an existing folder, which may be the one that this process works in; beside one that is not there yet.
    stage = Path(tempfile.mkdtemp(prefix=".audit-", dir=folder.parent if fresh else folder))
    try:
        names = _fill(audit, stage)
        if fresh:
            stage.chmod(0o755)  # mkdtemp makes it private
            stage.rename(folder)
        else:
            _replace(stage, folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return [folder / name for name in names]


def require_free(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier audit; hidden files do not count."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigurationError(
            f"{folder} is a file; needed is the name of a folder for the report. Name another one."
        )
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    there = {name for name in there if not any(part.startswith(".") for part in name.split("/"))}
    foreign = sorted(there - {NOTEBOOK, SETTINGS, *_written(folder)})
    if foreign:
        raise ConfigurationError(
            f"{folder} holds {len(foreign)} file(s) that are not from an audit ({', '.join(foreign[:5])}"
            f"{', ...' if len(foreign) > 5 else ''}). Nothing was written; name another folder, or move them away."
        )


def _written(folder: Path) -> list[str]:
    """The files that an earlier audit says it has written."""
    try:
        return [str(name) for name in json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _fill(audit: "Audit", stage: Path) -> list[str]:
    from ..saving import save

    for name in ("tables", "figures", "transformers"):
        (stage / name).mkdir()
    (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
    for name, table in audit.tables.items():
        table.to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
    for name, figure in audit.figures.items():
        (stage / "figures" / f"{file_name(name)}.svg").write_bytes(svg(figure))
    for wanted, name in transformer_names(audit).items():
        save(audit.pipeline(*wanted), stage / "transformers" / f"{name}.npz")
    names = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file())
    answers = [answer(found) for found in audit.recommendation.values()]
    settings = {**audit.settings, "answers": answers, "files": [*names, SETTINGS]}
    (stage / SETTINGS).write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [*names, SETTINGS]


def _replace(stage: Path, folder: Path) -> None:
    """Move what is in the stage to its places, the settings last: they list what belongs to the report."""
    old = set(_written(folder))
    new = sorted(path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    for name in sorted(new, key=lambda path: path.as_posix() == SETTINGS):
        (folder / name).parent.mkdir(exist_ok=True)
        (stage / name).replace(folder / name)
    for name in old - {path.as_posix() for path in new}:
        (folder / name).unlink(missing_ok=True)


def answer(found) -> str:
    """The recommendation in one line."""
    kept = "keep PCA" if found.keeps_pca else f"use {found.method}"
    return f"{found.attribute}: {kept}, k = {found.k}. {found.reason[0]} {found.reason[1]}"


def transformer_names(audit: "Audit") -> dict[tuple, str]:
    """Files of the transformers by ``(method, k, attribute)``; without method and k the recommended one."""
    texts = {(None, None, attribute): attribute for attribute in audit.recommendation}
    for attribute, advice in audit.recommendation.items():
        for method in audit.methods:
            if (attribute, method, advice.k) in audit.estimators:
                texts[(method, advice.k, attribute)] = f"{attribute} {method} k{advice.k}"
    found: dict[tuple, str] = {}
    for wanted, text in texts.items():
        plain = name = file_name(text)
        number = 2
        while name in found.values():  # the attributes "a b" and "a-b" are told apart
            name, number = f"{plain}-{number}", number + 1
        found[wanted] = name
    return found


def file_name(text: str) -> str:
    """A name that every file system takes: letters, digits and hyphens."""
    return re.sub(r"[^\w]+", "-", text).strip("-").lower() or "file"
