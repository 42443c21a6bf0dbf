"""Checksums of everything below ``data/``, in the format of ``sha256sum -c``: an altered byte is found and named."""

import re
from pathlib import Path

from evenspan.core.errors import ResultError

from . import paths, records


def path() -> Path:
    """Where the list is."""
    return paths.data("checksums.txt")


def write() -> Path:
    """Seal everything as it is now."""
    records.write(path(), "".join(f"{digest}  {name}\n" for name, digest in sorted(_files().items())).encode())
    return path()


def check() -> int:
    """Raise and name what is altered, missing or not sealed; otherwise the number of files that agree."""
    if not path().is_file():
        raise ResultError(
            f"{path()} is missing. Restore it from the repository, or seal what is there: python -m compendium ledger"
        )
    lines = path().read_text(encoding="utf-8", errors="replace").splitlines()
    sealed = dict(
        reversed(match.groups()) for match in map(re.compile(r"([0-9a-f]{64})  (.+)").fullmatch, lines) if match
    )
    now = _files()
    faults = [f"line {i} is not a checksum with a name" for i, line in enumerate(lines, 1) if line[66:] not in sealed]
    for name in sorted(sealed.keys() | now.keys()):
        if sealed.get(name) != now.get(name):
            state = "is missing" if name not in now else "is not sealed" if name not in sealed else "was altered"
            faults.append(f"file {name} {state}")
    if faults:
        raise ResultError(
            f"{path().name} seals {len(sealed)} files, but\n  " + "\n  ".join(faults) + "\nRestore them from the "
            "repository; if the change is meant, read it and seal it: python -m compendium ledger"
        )
    return len(sealed)


def _files() -> dict[str, str]:
    folder = paths.data()
    return {
        one.relative_to(folder.parent).as_posix(): records.digest(one.read_bytes())
        for one in sorted(folder.rglob("*"))
        if one.is_file() and one != path() and not one.name.startswith(".")
    }
