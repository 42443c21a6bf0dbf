"""The raw files of a data set: where they lie, whether they are the right ones, and how they are downloaded.

They lie in a local mirror, which is only read, or in a cache, which downloads fill. A file is used when its SHA-256 is
the recorded one; nothing is ever put in its place.
"""

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from evenspan.core.errors import FetchError

from .. import processes
from .registry import Entry, RawFile, entry, names

MIRROR, CACHE = "EVENSPAN_DATA", "EVENSPAN_CACHE"
BLOCK = 1 << 16
#: Seconds in which a server must take the call, and in which it must send something more.
TIMEOUT = (15, 60)
ELSEWHERE = "compare the address with the registry's origin; a proxy or log-in page may have answered."
AGAIN = "check the connection and run the same command again; it continues where it stopped."


# -- places and checksums ---------------------------------------------------------------------------------------------


def mirror() -> Path | None:
    """The local mirror named by ``EVENSPAN_DATA``, or None. It is read in place and never written to."""
    named = os.environ.get(MIRROR)
    return Path(named) if named else None


def cache() -> Path:
    """The folder for downloads: ``EVENSPAN_CACHE``, or the operating system's place for caches."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    import pooch  # here, because it looks for a notebook's progress bar and complains where there is none

    return Path(pooch.os_cache("evenspan"))


def place(name: str) -> Path:
    """A folder of the mirror if there is one, and of the cache otherwise."""
    return (mirror() or cache()) / name


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked(entry: Entry, file: RawFile) -> Path:
    """Path of a file that is present and has its recorded checksum; anything else is a `FetchError`."""
    path = place(entry.folder) / file.name
    try:
        seen = sha256(path)
    except FileNotFoundError:
        raise fault(entry, file, "not there.", _advice(entry, "missing")) from None
    except OSError as error:
        raise fault(entry, file, f"cannot be read ({error}).", _advice(entry, "missing")) from error
    if seen != file.sha256:
        found = f"wrong content: {path.stat().st_size} bytes, SHA-256 {seen}."
        raise fault(entry, file, found, _advice(entry, "wrong"))
    return path


def fault(entry: Entry, file: RawFile, seen: str, advice: str) -> FetchError:
    """The error that says file, address, checksum, folder, and what to do."""
    return FetchError(
        f"{file.name}: {seen}\n"
        f"  address:  {file.url or 'none'}\n"
        f"  expected: {file.bytes} bytes, SHA-256 {file.sha256}\n"
        f"  folder:   {place(entry.folder)}\n"
        f"  to do:    {advice}"
    )


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
    """State of one data set."""
    if not entry.files:
        return Status(entry.name, entry.title, 0, 0, 0, "bundled", None)
    where = place(entry.folder)
    present = sum(
        (where / file.name).is_file() and (where / file.name).stat().st_size == file.bytes for file in entry.files
    )
    kind = "mirror" if mirror() else ("not downloadable" if entry.unavailable and not present else "cache")
    return Status(entry.name, entry.title, len(entry.files), present, entry.bytes, kind, where)


# -- what is asked for ------------------------------------------------------------------------------------------------


def fetch(name: str | Entry) -> tuple[Path, ...]:
    """Make every file of a data set present and verified, downloading what is missing.

    With a local mirror (``EVENSPAN_DATA``) nothing is downloaded: the mirror is read in place and verified. Otherwise
    files go to the cache (``EVENSPAN_CACHE``, or the operating system's place). A set that was interrupted continues at
    its next missing file, and a file in the middle where the server permits it.

    Returns the verified files, in the order of the registry; none for data bundled with a library. On a terminal a
    progress bar is drawn (on standard error) while something is downloaded.
    """
    found = entry(name) if isinstance(name, str) else name
    if mirror() or found.unavailable:
        return verify(found)
    where = place(found.folder)
    missing = [file for file in found.files if not _right(where / file.name, file)]
    with _bar(found, missing) as advance:
        for file in missing:
            _download(found, file, advance)
    return tuple(where / file.name for file in found.files)


def fetch_file(entry: Entry, name: str) -> Path:
    """One verified file of a data set, downloaded if it is missing and may be."""
    file = entry.file(name)
    path = place(entry.folder) / name
    if path.exists() or mirror() or entry.unavailable:
        return checked(entry, file)
    with _bar(entry, [file]) as advance:
        _download(entry, file, advance)
    return path


def verify(name: str | Entry) -> tuple[Path, ...]:
    """The files of a data set, each compared with its recorded SHA-256; nothing is downloaded.

    A missing or wrong one raises `FetchError`, which names all that are not right.
    """
    asked, found, faults = entry(name) if isinstance(name, str) else name, [], []
    for file in asked.files:
        try:
            found.append(checked(asked, file))
        except FetchError as error:
            faults.append(str(error))
    if faults:
        shown = faults[:3] + ([f"... and {len(faults) - 3} more files."] if len(faults) > 3 else [])
        raise FetchError(f"{asked.name}: {len(faults)} of {len(asked.files)} files are not right.\n" + "\n".join(shown))
    return tuple(found)


def _right(path: Path, file: RawFile) -> bool:
    return path.is_file() and path.stat().st_size == file.bytes and sha256(path) == file.sha256


@contextlib.contextmanager
def _bar(entry: Entry, files: list[RawFile]) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    hidden = not (files and console.is_terminal)  # in a log file a bar would only leave empty lines
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task(f"{entry.name}: {len(files)} file(s)", total=sum(file.bytes for file in files))
        yield lambda count: bar.advance(task, count)


# -- one download -----------------------------------------------------------------------------------------------------


def _download(entry: Entry, file: RawFile, advance: Callable[[int], None]) -> None:
    """Download one file; it has its name only when its checksum is the right one.

    ``advance`` is called with the number of bytes that arrived; those of an earlier attempt come first.
    """
    path = place(entry.folder) / file.name
    part = path.with_name(f".{file.name}.part")
    try:
        with processes.claimed(part) as own:
            try:
                if _right(path, file):  # obtained by another process, for which this one waited
                    own.truncate(0)
                    return
                _receive(entry, file, own, advance)
                if (seen := sha256(part)) != file.sha256:
                    own.truncate(0)
                    advice = (
                        "nothing was kept. Try again; if it stays, the file at this address was changed: report it."
                    )
                    raise fault(entry, file, f"wrong content: SHA-256 {seen}.", advice)
                part.replace(path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    if not part.stat().st_size:  # with nothing that the next attempt could go on from
                        part.unlink()
    except FetchError:
        raise
    except (requests.RequestException, ValueError) as error:  # of an address that is none, requests lets others through
        raise fault(entry, file, *_network(error)) from error
    except OSError as error:
        raise fault(entry, file, *_disc(error)) from error


def _receive(entry: Entry, file: RawFile, own: BinaryIO, advance: Callable[[int], None]) -> None:
    start = own.seek(0, os.SEEK_END)
    if start >= file.bytes:
        start = own.truncate(0)
    # identity: a range of a compressed transfer would not be a range of the file
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(file.url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if start and response.status_code == requests.codes.requested_range_not_satisfiable:
            own.truncate(0)
            return _receive(entry, file, own, advance)
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:  # the server sends everything again
            start = own.truncate(0)
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            own.truncate(0)
            raise fault(entry, file, "the server sent another part than asked for.", AGAIN)
        if (
            coded := response.headers.get("Content-Encoding", "identity")
        ) != "identity":  # a few bytes may stand for many
            own.truncate(0)
            raise fault(entry, file, f"the server sent it coded as {coded!r:.40}, and was asked not to.", ELSEWHERE)
        received = start
        advance(start)
        for block in response.iter_content(BLOCK):
            received += len(block)
            if received > file.bytes:
                own.truncate(0)
                raise fault(
                    entry, file, f"wrong content: more than the {file.bytes} bytes expected arrived.", ELSEWHERE
                )
            own.write(block)
            advance(len(block))
        own.flush()
        try:
            announced = int(response.headers["Content-Length"])
        except (KeyError, ValueError):  # none, or no number
            announced = file.bytes - start
        if received - start < announced:  # not every version of urllib3 takes a short answer for an error
            raise fault(entry, file, f"the transfer stopped after {received} bytes.", AGAIN)


def _network(error: requests.RequestException | ValueError) -> tuple[str, str]:
    """What was seen and what to do when the network fails."""
    if isinstance(error, requests.HTTPError):
        code, reason = error.response.status_code, error.response.reason
        advice = (
            "the address is dead or closed to you: see whether the origin in the registry still exists; if you have "
            "the file, put it into a folder and set EVENSPAN_DATA to that; the checksum decides whether it is the one."
        )
        return f"the server answered {code} {reason}.", advice if code < 500 else AGAIN
    if isinstance(error, requests.Timeout):
        return f"the server did not answer in time ({error}).", AGAIN
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke in the middle of the transfer.", AGAIN
    # urllib3 keeps the cause apart from a text that repeats the address
    cause = getattr(error.args[0], "reason", error) if error.args else error
    return f"no connection ({cause}).", (
        "check the network and the proxy settings and run the same command again; without a network, set EVENSPAN_DATA "
        "to a folder that holds the files."
    )


def _disc(error: OSError) -> tuple[str, str]:
    """What was seen and what to do when the disc refuses."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disc is full ({error}).", "free some space, or set EVENSPAN_CACHE to a folder with more."
    return f"cannot be written ({error}).", "make the folder writable, or set EVENSPAN_CACHE to one that is."
