"""The raw files of a data set: in a local mirror, which is only read, or in a cache, which pooch fills.

A file is used when its SHA-256 is the recorded one; nothing is ever put in its place.
"""

import hashlib
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from ..errors import FetchError
from .registry import Entry, RawFile, entry, names

MIRROR, CACHE = "EVENSPAN_DATA", "EVENSPAN_CACHE"


def mirror() -> Path | None:
    """The local mirror named by ``EVENSPAN_DATA``, or None."""
    return Path(named) if (named := os.environ.get(MIRROR)) else None


def place(name: str) -> Path:
    """A folder of the mirror if there is one, and otherwise of ``EVENSPAN_CACHE`` or the system's place for caches."""
    return (mirror() or Path(os.environ.get(CACHE) or _pooch().os_cache("evenspan")).expanduser()) / name


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def present(entry: Entry) -> int:
    """How many files of a data set are there in their right size; checksums are compared by ``verify``."""
    paths = {place(entry.folder) / file.name: file.bytes for file in entry.files}
    return sum(path.is_file() and path.stat().st_size == size for path, size in paths.items())


def at_hand(name: str) -> bool:
    """Whether the rows of a data set can be read without a download."""
    found = entry(name)
    return found.shipped is not None or present(found) == len(found.files)


def fetch(name: str | Entry) -> tuple[Path, ...]:
    """The verified files of a data set; without a mirror what is missing or wrong is downloaded."""
    found = entry(name) if isinstance(name, str) else name
    way = _checked if mirror() or found.unavailable else _downloaded
    return tuple(way(found, file) for file in found.files)


def fetch_missing(wanted: Iterable[object]) -> None:
    """The raw files of those among some names that are data sets, can be had, and are neither shipped nor here."""
    known = names()
    for name in dict.fromkeys(wanted):
        if name in known and not at_hand(name) and not entry(name).unavailable:
            fetch(name)


def raw_file(entry: Entry, name: str) -> Path:
    """One verified file of a data set, which loaders read; nothing is downloaded."""
    return _checked(entry, entry.file(name))


def verify(name: str | Entry) -> tuple[Path, ...]:
    """The files of a data set, each compared with its recorded SHA-256; nothing is downloaded."""
    found = entry(name) if isinstance(name, str) else name
    return tuple(_checked(found, file) for file in found.files)


def _checked(entry: Entry, file: RawFile) -> Path:
    path = place(entry.folder) / file.name
    if not path.is_file():
        raise _refusal(entry, file, "is missing")
    if (found := sha256(path)) != file.sha256:
        raise _refusal(entry, file, f"has wrong content ({path.stat().st_size} bytes, SHA-256 {found})")
    return path


def _downloaded(entry: Entry, file: RawFile) -> Path:
    """A file of the cache, kept if it is right; otherwise pooch replaces it, when what arrived is right."""
    folder, bar = place(entry.folder), sys.stderr.isatty()  # the bar is tqdm's, which comes with papermill
    try:
        _pooch().retrieve(file.url, f"sha256:{file.sha256}", file.name, folder, progressbar=bar)
    except (OSError, ValueError) as error:  # of network, disc, address or checksum
        raise _refusal(entry, file, f"could not be downloaded from {file.url} ({type(error).__name__})") from error
    return folder / file.name


def _pooch() -> ModuleType:
    """Pooch, imported when it is needed, and silent in a notebook, where it looks for a progress bar and logs."""
    with warnings.catch_warnings(action="ignore"):
        import pooch
    pooch.get_logger().setLevel("WARNING")
    return pooch


def _refusal(entry: Entry, file: RawFile, seen: str) -> FetchError:
    advice = entry.unavailable or f"Run 'python -m compendium data fetch {entry.name}' with a network."
    if mirror():
        advice = f"Nothing is downloaded into a mirror: put the file there, or unset {MIRROR}."
    path = place(entry.folder) / file.name
    what = f"{entry.name}: {file.name} {seen}; needed is {path} with SHA-256 {file.sha256}. {advice}"
    get = "it is unavailable" if entry.unavailable else f"python -m compendium data fetch {entry.name}"
    return FetchError(what, f"Data not at hand: {entry.name}. {get}")
