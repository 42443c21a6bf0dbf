"""Checksums of everything below ``data/``: an altered byte is found and the file that holds it is named.

``data/checksums.txt`` has the format of ``sha256sum``. Comment lines seal each entry of the registry on its own, so
that the entry is named and not only the file, and the last line seals the list itself.
"""

import re
from pathlib import Path

from .. import paths
from ..errors import ResultError
from . import records

_HEAD = (
    "# SHA-256 of every file below data/, of every entry of the registry, and of this list. Written by: evenspan ledger"
)
_ENTRY = re.compile(r"^\[([A-Za-z0-9_-]+)\]\n", flags=re.MULTILINE)


def path() -> Path:
    """Where the list is."""
    return paths.data("checksums.txt")


def write() -> Path:
    """Seal everything as it is now."""
    records.write(path(), _text(_files(), _entries()))
    return path()


def check() -> int:
    """Raise and name what is altered, missing or not sealed; otherwise the number of files that agree."""
    if not path().is_file():
        raise ResultError(
            f"{path()} is missing. Restore it from the repository, or seal what is there: evenspan ledger"
        )
    content = path().read_bytes()
    files, entries = _parse(content.decode("utf-8", errors="replace"))
    if content != _text(files, entries):
        raise ResultError(f"{path()} was altered: it does not agree with its own last line. Restore it.")
    faults = []
    for what, sealed, now in (("file", files, _files()), ("registry entry", entries, _entries())):
        for name in sorted(sealed.keys() | now.keys()):
            if sealed.get(name) != now.get(name):
                state = "is missing" if name not in now else "is not sealed" if name not in sealed else "was altered"
                faults.append(f"{what} {name} {state}")
    if faults:
        raise ResultError(
            f"{path().name} seals {len(files)} files and {len(entries)} registry entries, but\n  "
            + "\n  ".join(faults)
            + "\nRestore them from the repository; if the change is meant, read it and seal it: evenspan ledger"
        )
    return len(files)


def _files() -> dict[str, str]:
    folder = paths.data()
    return {
        one.relative_to(folder.parent).as_posix(): records.digest(one.read_bytes())
        for one in sorted(folder.rglob("*"))
        if one.is_file() and one != path() and not one.name.startswith(".")
    }


def _entries() -> dict[str, str]:
    registry = paths.data("registry.toml")
    if not registry.is_file():
        return {}
    _, *parts = _ENTRY.split(registry.read_bytes().decode("utf-8", errors="replace"))
    return {name: records.digest(text.encode()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _text(files: dict[str, str], entries: dict[str, str]) -> bytes:
    lines = [_HEAD, *(f"{value}  {name}" for name, value in sorted(files.items()))]
    lines += [f"# registry {name} {value}" for name, value in sorted(entries.items())]
    body = "".join(f"{line}\n" for line in lines)
    return (body + f"# list {records.digest(body.encode())}\n").encode()


def _parse(text: str) -> tuple[dict[str, str], dict[str, str]]:
    files, entries = {}, {}
    for line in text.splitlines():
        if match := re.fullmatch(r"([0-9a-f]{64})  (.+)", line):
            files[match[2]] = match[1]
        elif match := re.fullmatch(r"# registry (\S+) ([0-9a-f]{64})", line):
            entries[match[1]] = match[2]
    return files, entries
