"""The raw files of a data set: where they lie, whether they are the right ones, and how they are downloaded.

They lie in a local mirror, which is only read, or in a cache, which pooch fills. A file is used when its SHA-256 is the
recorded one; nothing is ever put in its place.
"""

import hashlib
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from evenspan.core.errors import FetchError

from .registry import Entry, RawFile, entry, names

MIRROR, CACHE = "EVENSPAN_DATA", "EVENSPAN_CACHE"
#: Whether loaders download what is missing (:func:`may_download`).
_downloads = [True]


def mirror() -> Path | None:
    """The local mirror named by ``EVENSPAN_DATA``, or None. It is read in place and never written to."""
    return Path(named) if (named := os.environ.get(MIRROR)) else None


def cache() -> Path:
    """The folder for downloads: ``EVENSPAN_CACHE``, or the operating system's place for caches."""
    return Path(os.environ.get(CACHE) or _pooch().os_cache("evenspan")).expanduser()


def place(name: str) -> Path:
    """A folder of the mirror if there is one, and of the cache otherwise."""
    return (mirror() or cache()) / name


def may_download(allowed: bool) -> None:
    """Say whether loaders may download from now on what is missing; a page of the book may not."""
    _downloads[0] = allowed


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Status:
    """What is present of one data set; sizes are compared here, checksums only by ``verify``."""

    name: str
    title: str
    files: int
    present: int
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
    """State of one data set."""
    if not entry.files:
        return Status(entry.name, entry.title, 0, 0, "bundled", None)
    where = place(entry.folder)
    paths = {where / file.name: file.bytes for file in entry.files}
    present = sum(path.is_file() and path.stat().st_size == size for path, size in paths.items())
    kind = "mirror" if mirror() else ("not downloadable" if entry.unavailable and not present else "cache")
    return Status(entry.name, entry.title, len(paths), present, kind, where)


def at_hand(name: str) -> bool:
    """Whether the rows of a data set can be read without a download."""
    found = entry(name)
    return found.shipped is not None or status_of(found).complete


def fetch(name: str | Entry) -> tuple[Path, ...]:
    """Make every file of a data set present and verified, and return their paths in the order of the registry.

    With a local mirror (``EVENSPAN_DATA``) nothing is downloaded: it is read in place and verified. Otherwise what is
    missing or wrong in the cache is downloaded, with a progress bar on a terminal. Data of a library have no files.
    """
    found = entry(name) if isinstance(name, str) else name
    if mirror() or found.unavailable:
        return verify(found)
    return tuple(_downloaded(found, file) for file in found.files)


def fetch_file(entry: Entry, name: str) -> Path:
    """One verified file of a data set, downloaded if it is missing and may be."""
    there = mirror() or entry.unavailable or not _downloads[0] or (place(entry.folder) / name).exists()
    return (_checked if there else _downloaded)(entry, entry.file(name))


def verify(name: str | Entry) -> tuple[Path, ...]:
    """The files of a data set, each compared with its recorded SHA-256; nothing is downloaded.

    `FetchError` names all that are missing or wrong.
    """
    asked, found, faults = entry(name) if isinstance(name, str) else name, [], {}
    for file in asked.files:
        try:
            found.append(_checked(asked, file))
        except FetchError as error:
            faults[file.name] = str(error)
    if faults:
        wrong, first = ", ".join(faults), next(iter(faults.values()))
        raise FetchError(f"{len(faults)} of {len(asked.files)} files of {asked.name} are not right ({wrong}).\n{first}")
    return tuple(found)


def _checked(entry: Entry, file: RawFile) -> Path:
    path = place(entry.folder) / file.name
    try:
        if (found := sha256(path)) == file.sha256:
            return path
        seen = f"has wrong content ({path.stat().st_size} bytes, SHA-256 {found})"
    except OSError as error:
        seen = f"is missing or unreadable ({error.strerror})"
    raise _refusal(entry, file, seen)


def _downloaded(entry: Entry, file: RawFile) -> Path:
    """A file of the cache, kept if it is right; otherwise pooch replaces it, when what arrived is right."""
    folder, bar = place(entry.folder), sys.stderr.isatty()  # the bar is tqdm's, which comes with papermill
    try:
        _pooch().retrieve(file.url, f"sha256:{file.sha256}", file.name, folder, progressbar=bar)
    except (OSError, ValueError) as error:  # of network, disc, address or checksum
        raise _refusal(entry, file, f"could not be downloaded from {file.url} ({error})") from error
    return folder / file.name


def _pooch() -> ModuleType:
    """Pooch, imported when it is needed, and silent in a notebook, where it looks for a progress bar and logs."""
    with warnings.catch_warnings(action="ignore"):
        import pooch
    pooch.get_logger().setLevel("WARNING")
    return pooch


def _refusal(entry: Entry, file: RawFile, seen: str) -> FetchError:
    if mirror():
        advice = f"Put the file there, for nothing is downloaded into a mirror, or unset {MIRROR}."
    elif entry.unavailable:
        advice = f"It cannot be downloaded: {entry.unavailable}"
    else:
        advice = f"Run 'python -m compendium data fetch {entry.name}' with a network, or put the file there."
    path = place(entry.folder) / file.name
    return FetchError(
        f"{entry.name}: {file.name} {seen}.\nNeeded: {path} with {file.bytes} bytes, SHA-256 {file.sha256}. {advice}"
    )
