"""Where the raw files of a data set lie: a local mirror that is only read, or a cache that is filled by downloads."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from evenspan.core.errors import FetchError

from .registry import Entry, RawFile, entry, names

MIRROR, CACHE = "EVENSPAN_DATA", "EVENSPAN_CACHE"


def mirror() -> Path | None:
    """The local mirror named by ``EVENSPAN_DATA``, or None. It is read in place and never written to."""
    folder = os.environ.get(MIRROR)
    return Path(folder) if folder else None


def cache() -> Path:
    """The folder for downloads: ``EVENSPAN_CACHE``, or the operating system's place for caches."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    import pooch  # here, because it looks for a notebook's progress bar and complains where there is none

    return Path(pooch.os_cache("evenspan"))


def folder(entry: Entry) -> Path:
    """The folder of one data set, in the mirror if there is one and in the cache otherwise."""
    return (mirror() or cache()) / entry.folder


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fault(file: RawFile, folder: Path, seen: str, advice: str) -> str:
    """Text of a `FetchError`: file, address, checksums, folder, and what to do."""
    return (
        f"{file.name}: {seen}\n"
        f"  address:  {file.url or 'none'}\n"
        f"  expected: {file.bytes} bytes, SHA-256 {file.sha256}\n"
        f"  folder:   {folder}\n"
        f"  to do:    {advice}"
    )


def checked(entry: Entry, file: RawFile) -> Path:
    """Path of a file that is present and has its recorded checksum; anything else is a `FetchError`."""
    where = folder(entry)
    path = where / file.name
    try:
        seen = sha256(path)
    except FileNotFoundError:
        raise FetchError(fault(file, where, "not there.", _advice(entry, "missing"))) from None
    except OSError as error:
        raise FetchError(fault(file, where, f"cannot be read ({error}).", _advice(entry, "missing"))) from error
    if seen != file.sha256:
        size = path.stat().st_size
        found = f"wrong content: {size} bytes, SHA-256 {seen}."
        raise FetchError(fault(file, where, found, _advice(entry, "wrong")))
    return path


def _advice(entry: Entry, state: str) -> str:
    if mirror():
        verb = "put this file into" if state == "missing" else "replace this file in"
        return (
            f"{verb} the mirror that {MIRROR} names (nothing is downloaded into a mirror), or unset {MIRROR} to use "
            "the cache instead."
        )
    if entry.unavailable:
        return f"this file cannot be downloaded: {entry.unavailable}"
    return f"run 'python -m compendium data fetch {entry.name}'" + (", which replaces it." if state == "wrong" else ".")


@dataclass(frozen=True)
class Status:
    """What is present of one data set; sizes are compared here, checksums only by ``verify``."""

    name: str
    title: str
    files: int
    present: int
    bytes: int
    place: str
    folder: Path | None

    @property
    def complete(self) -> bool:
        """Whether every file is there in its right size."""
        return self.present == self.files


def status() -> tuple[Status, ...]:
    """State of every data set of the registry, without reading its files."""
    return tuple(status_of(entry(name)) for name in names())


def status_of(entry: Entry) -> Status:
    """State of one data set, for an entry at hand."""
    if not entry.files:
        return Status(entry.name, entry.title, 0, 0, 0, "bundled", None)
    where = folder(entry)
    present = sum(
        (where / file.name).is_file() and (where / file.name).stat().st_size == file.bytes for file in entry.files
    )
    place = "mirror" if mirror() else ("not downloadable" if entry.unavailable and not present else "cache")
    return Status(entry.name, entry.title, len(entry.files), present, entry.bytes, place, where)
