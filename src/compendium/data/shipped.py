"""Where the shipped moments of a data set lie, and whether they still belong to the raw data of the registry."""

import json
from functools import lru_cache
from pathlib import Path

from evenspan.core.errors import RegistryError, ResultError

from .. import paths
from .registry import entry

RECORD = "record.json"


def folder(name: str) -> Path:
    """The folder of the shipped moments of a data set."""
    return paths.data("moments", name)


def command(name: str) -> str:
    """What makes them from the raw data."""
    return f"python -m compendium data moments {name}"


def has_moments(name: str) -> bool:
    """Whether moments of a data set are shipped."""
    return (folder(name) / RECORD).is_file()


def shipped_file(name: str, file: str) -> Path:
    """A file of shipped moments that was made from the raw data of the registry; anything else is a `ResultError`."""
    path = folder(name) / file
    if not path.is_file():
        raise ResultError(f"{path} is missing. Make it from the raw data: {command(name)}")
    record = path.with_name(RECORD)
    made_from = _raw_checksum(record, record.stat().st_mtime_ns) if record.is_file() else "no record"
    wanted = entry(name).checksum()
    if made_from != wanted:
        raise ResultError(
            f"{path} was made from raw data with checksum {made_from}; the registry has {wanted}. Make it again: "
            f"{command(name)}"
        )
    return path


def write_record(name: str, files: int) -> Path:
    """Write down from which raw data and by which command the files of a data set were made."""
    path = folder(name) / RECORD
    record = {"dataset": name, "raw_checksum": entry(name).checksum(), "command": command(name), "files": files}
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path


@lru_cache(maxsize=16)
def _raw_checksum(record: Path, modified: int) -> str:
    try:
        return json.loads(record.read_text(encoding="utf-8"))["raw_checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise RegistryError(f"{record} is damaged ({error!r}). Restore it from the repository.") from error
