"""The folder of a report: filled beside its place, then renamed; what an audit has not written is never deleted."""

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..core.errors import ConfigurationError

SETTINGS, REPORT, NOTEBOOK, EXAMPLE_TABLE = "settings.json", "report.html", "audit.ipynb", "people.csv"


@contextlib.contextmanager
def atomic_output(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A new folder to fill, which takes the place of ``folder`` at the end; after an error nothing has changed there.

    The place is new, empty or holds an earlier report and nothing else. With ``overwrite`` it may hold anything: files
    of the same names are replaced, all others stay.
    """
    folder = folder.resolve()
    earlier = _earlier(folder, overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the place, so that renaming is one step and relative paths mean the same.
    stage = Path(tempfile.mkdtemp(prefix=f".{folder.name.lstrip('.')}-", dir=folder.parent))
    try:
        yield stage
        names = sorted(_files(stage) - {SETTINGS})
        settings = json.loads((stage / SETTINGS).read_text(encoding="utf-8"))
        settings["files"] = {name: _digest(stage / name) for name in names}
        (stage / SETTINGS).write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        stage.chmod(folder.parent.stat().st_mode & 0o755)
        if not folder.exists():
            stage.rename(folder)
            return
        for name in [*names, SETTINGS]:
            (folder / name).parent.mkdir(exist_ok=True)
            (stage / name).replace(folder / name)
        for name in earlier.difference(names, {NOTEBOOK, EXAMPLE_TABLE}):
            (folder / name).unlink(missing_ok=True)
    finally:
        for left in folder.parent.iterdir():  # also what a kernel that was ended left beside its own folder
            if left.name.startswith(stage.name):
                shutil.rmtree(left, ignore_errors=True)


def _earlier(folder: Path, overwrite: bool) -> set[str]:
    """The files that an earlier report wrote there and nobody has changed; refused if there is anything else."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file; needed is a folder for the report. Name another one.")
    found = _files(folder)
    try:
        listed = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["files"]
        ours = {name for name in found & set(listed) if _digest(folder / name) == listed[name]}
    except (OSError, ValueError, KeyError, TypeError):
        ours, listed = set(), {}
    others = sorted(found - ours - ({SETTINGS} if listed else set()))
    if others and not overwrite:
        raise ConfigurationError(
            f"{folder} holds {len(others)} file(s) that no audit wrote, or that were changed since "
            f"({', '.join(others[:5])}). Name another folder (-o), or add --overwrite (overwrite=True), which replaces "
            "files with the names of a report."
        )
    return ours


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
