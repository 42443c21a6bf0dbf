"""Checksums of everything below ``data/``, in the format of ``sha256sum -c``: an altered byte is found and named."""

import re
from pathlib import Path

from evenspan.core.errors import ResultError

from . import paths, records

#: In the place of the digest of what is no file of its own, such as a linked folder or a pipe.
OTHER = "none"


def path() -> Path:
    """Where the list is."""
    return paths.data("checksums.txt")


def write() -> Path:
    """Seal everything as it is now."""
    found = _files()
    if other := [name for name, digest in found.items() if digest == OTHER]:
        raise ResultError(f"{', '.join(other)} is a link or no file; only files can be sealed. Remove or replace it.")
    records.write(path(), "".join(f"{digest}  {name}\n" for name, digest in sorted(found.items())).encode())
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
            other = "is a link or no file, and is not read" if now.get(name) == OTHER else ""
            state = "is missing" if name not in now else "is not sealed" if name not in sealed else "was altered"
            faults.append(f"file {name} {other or state}")
    if faults:
        raise ResultError(
            f"{path().name} seals {len(sealed)} files, but\n  " + "\n  ".join(faults) + "\nRestore them from the "
            "repository; if the change is meant, read it and seal it: python -m compendium ledger"
        )
    return len(sealed)


def _files() -> dict[str, str]:
    """Digests of the files; whatever else is there but folders has none, so that it agrees with no seal."""
    folder = paths.data()
    return {
        one.relative_to(folder.parent).as_posix(): records.digest(one.read_bytes()) if _plain(one) else OTHER
        for one in sorted(folder.rglob("*"))
        if one != path() and not one.name.startswith(".") and not (one.is_dir() and not one.is_symlink())
    }


def _plain(one: Path) -> bool:
    return one.is_file() and not one.is_symlink()
