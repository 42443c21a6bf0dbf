"""Obtain the raw files of a data set, and make sure that they are the right ones. Never a substitute."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from evenspan.core.errors import FetchError

from . import storage
from .download import ResumingDownloader, disc
from .registry import Entry, RawFile, entry

# Pooch reports each file on its own; the progress bar does it for the whole set.


def fetch(name: str, progress: bool = True) -> tuple[Path, ...]:
    """Make every file of a data set present and verified, downloading what is missing.

    With a local mirror (``EVENSPAN_DATA``) nothing is downloaded: the mirror is read in place and verified. Otherwise
    files go to the cache (``EVENSPAN_CACHE``, or the operating system's place). A set that was interrupted continues at
    its next missing file, and a file in the middle where the server permits it.

    Parameters
    ----------
    name : str
        A data set of the registry.
    progress : bool
        Whether to draw a progress bar (on standard error) while something is downloaded.

    Returns
    -------
    tuple of Path
        The verified files, in the order of the registry; empty for data bundled with a library.
    """
    return fetch_entry(entry(name), progress)


def fetch_entry(entry: Entry, progress: bool = True) -> tuple[Path, ...]:
    """As ``fetch``, for an entry at hand."""
    if storage.mirror() or entry.unavailable:
        return verify_entry(entry)
    missing = [file for file in entry.files if not _right(storage.folder(entry) / file.name, file)]
    with _bar(entry, missing, progress and bool(missing)) as advance:
        for file in missing:
            _download(entry, file, advance)
    return tuple(storage.folder(entry) / file.name for file in entry.files)


def fetch_file(entry: Entry, name: str) -> Path:
    """One verified file of a data set, downloaded if it is missing and may be."""
    file = entry.file(name)
    path = storage.folder(entry) / name
    if path.exists() or storage.mirror() or entry.unavailable:
        return storage.checked(entry, file)
    with _bar(entry, [file], True) as advance:
        _download(entry, file, advance)
    return path


def verify(name: str) -> tuple[Path, ...]:
    """Compare every file of a data set with its recorded SHA-256; nothing is downloaded.

    Returns
    -------
    tuple of Path
        The files. A missing or wrong one raises `FetchError`, which names all that are not right.
    """
    return verify_entry(entry(name))


def verify_entry(entry: Entry) -> tuple[Path, ...]:
    """As ``verify``, for an entry at hand."""
    found, faults = [], []
    for file in entry.files:
        try:
            found.append(storage.checked(entry, file))
        except FetchError as error:
            faults.append(str(error))
    if faults:
        shown = faults[:3] + ([f"... and {len(faults) - 3} more files."] if len(faults) > 3 else [])
        raise FetchError(f"{entry.name}: {len(faults)} of {len(entry.files)} files are not right.\n" + "\n".join(shown))
    return tuple(found)


def _right(path: Path, file: RawFile) -> bool:
    return path.is_file() and path.stat().st_size == file.bytes and storage.sha256(path) == file.sha256


def _download(entry: Entry, file: RawFile, advance: Callable[[int], None]) -> None:
    import pooch  # here, because it looks for a notebook's progress bar and complains where there is none

    where = storage.folder(entry)
    pooch.get_logger().setLevel("WARNING")
    keeper = pooch.create(where, base_url="", registry={file.name: f"sha256:{file.sha256}"}, urls={file.name: file.url})
    downloader = ResumingDownloader(file, where, advance)
    seen = []

    def download(url, output_file, pooch):
        downloader(url, output_file, pooch)
        seen.append(storage.sha256(Path(output_file)))

    try:
        where.mkdir(parents=True, exist_ok=True)
        keeper.fetch(file.name, downloader=download)
    except FetchError:
        raise
    except OSError as error:
        raise FetchError(storage.fault(file, where, *disc(error))) from error
    except ValueError as error:  # pooch's only one here: the checksum
        advice = "nothing was kept. Try again; if it stays, the file at this address has been changed: report it."
        raise FetchError(storage.fault(file, where, f"wrong content: SHA-256 {seen[-1]}.", advice)) from error


@contextmanager
def _bar(entry: Entry, files: list[RawFile], shown: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    hidden = not (shown and console.is_terminal)  # in a log file a bar would only leave empty lines
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task(f"{entry.name}: {len(files)} file(s)", total=sum(file.bytes for file in files))
        yield lambda count: bar.advance(task, count)
