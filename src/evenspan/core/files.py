"""The files that evenspan keeps: arrays in an ``.npz`` without pickles, with a digest; read whole or not at all."""

import glob
import hashlib
import io
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .errors import ConfigurationError, LimitError, ResultError
from .limits import require_memory

SIGNED = b"evenspan sha256 "
#: Bytes of arrays up to which a file is compressed. It may declare so many, and RATIO more for each byte of its own.
COMPRESSED, RATIO = 2**28, 100


def write(path, arrays: Mapping[str, np.ndarray], *, compressed: bool = True) -> None:
    """Write named arrays and the digest of their bytes; equal arrays give equal bytes.

    The file is written beside and then takes the place of the one that is there: whatever ends the process leaves the
    old file or the new one, whole. What a process that was killed left beside, the next writing of the file removes.
    """
    try:
        entries = {f"{name}.npy": _packed(np.asarray(array)) for name, array in arrays.items()}
        compressed = compressed and sum(map(len, entries.values())) <= COMPRESSED
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, packed in entries.items():
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # numpy.savez would stamp the present time
                entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
                archive.writestr(entry, packed)
            archive.comment = SIGNED + digest(entries).encode()
        _replace(Path(os.path.realpath(path)), content.getbuffer())
    except (OSError, ValueError, TypeError) as error:  # ValueError of names that are no text, in a path or an array
        raise ResultError(f"{path} cannot be written ({_cause(error)}). Make room, or name another place.") from error


def read(path, what: str, remedy: str, *, undigested: int | None = None) -> dict[str, np.ndarray]:
    """The arrays that ``write`` wrote; ResultError for a file that is missing, damaged, altered or other.

    ``what`` the file should be and the ``remedy`` are said in the message. ``undigested`` is the last version of the
    format, as its array ``version`` has it, that was written without digest: of such a file the checksums of the
    archive are compared, which find damage as well, but are no proof against who edits files.
    """
    content = _content(path, remedy)
    with described(path, what, remedy), zipfile.ZipFile(io.BytesIO(content)) as archive:
        comment, found = archive.comment, archive.infolist()
        declared, allowed = sum(entry.file_size for entry in found), COMPRESSED + RATIO * len(content)
        if declared > allowed:
            raise ResultError(
                f"{path} declares {declared / 2**20:,.0f} MiB of arrays in a file of {len(content):,} bytes; up to "
                f"{allowed / 2**20:,.0f} MiB are unpacked from one like it. {remedy}"
            )
        require_memory(2 * declared, f"reading {path}", "Read it on a machine with more memory.")
        entries = {entry.filename: _unzipped(archive, entry) for entry in found}
        if len(entries) < len(found):
            raise ValueError("two of its parts have one name")
        if comment.startswith(SIGNED) and digest(entries).encode() != comment.removeprefix(SIGNED):
            raise ResultError(
                f"{path} was altered after it was saved: its content does not have the digest recorded in it. {remedy}"
            )
        arrays = {name.removesuffix(".npy"): _unpacked(packed) for name, packed in entries.items()}
        old = undigested is not None and not comment and int(arrays["version"]) <= undigested
        if not (comment.startswith(SIGNED) or old):
            raise ValueError("it has no digest")
    return arrays


@contextmanager
def described(path, what: str, remedy: str) -> Iterator[None]:
    """Inside, what is raised over the content of a file is told as ``ResultError`` with its path."""
    try:
        yield
    except (ResultError, LimitError):
        raise
    # Parsers raise anything over bytes that they were not made for: OverflowError, TokenError, RecursionError, ...
    except Exception as error:
        raise ResultError(f"{path} is not {what} ({_cause(error)}). {remedy}") from error


def require_place(argument: str, path) -> None:
    """ConfigurationError unless a file can be written at the path; asked before there is anything to write."""
    try:
        target = Path(os.path.realpath(path))
        there, free = target.parent.is_dir(), target.is_file() or not target.exists()
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{argument}={path!r} is no path ({_cause(error)}). Name a file.") from error
    if not (there and free and os.access(target.parent, os.W_OK)):
        seen = "which is no file" if not free else f"but {target.parent} is no folder that can be written to"
        raise ConfigurationError(f"{argument}={str(path)!r}, {seen}. Make the folder first, or name another file.")


def digest(entries: Mapping[str, bytes]) -> str:
    """SHA-256 of names and bytes of all entries."""
    whole = hashlib.sha256()
    for name in sorted(entries):
        whole.update(f"{name} {len(entries[name])}\n".encode())
        whole.update(entries[name])
    return whole.hexdigest()


def _content(path, remedy: str) -> bytes:
    try:
        if not Path(path).is_file():  # what is opened otherwise may never end
            raise OSError("there is no file of this name")
        size = Path(path).stat().st_size
        require_memory(2 * size, f"reading {path}", "Read it on a machine with more memory.")
        return Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as error:
        raise ResultError(f"{path} cannot be read ({_cause(error)}). Check the path. {remedy}") from error


def _replace(target: Path, content) -> None:
    if target.exists() and not target.is_file():
        raise OSError("what is there is no file")
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        if not _runs(left.suffixes[-2][1:]):
            left.unlink(missing_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _runs(process: str) -> bool:
    """Whether the process of that number runs, which may be at writing the file."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError, OverflowError):  # of another user, or no number
        return True
    return True


def _packed(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that attributes have names beyond Latin
        np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _unzipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as file:
        return file.read(entry.file_size)  # no more is unpacked than was declared


def _unpacked(packed: bytes) -> np.ndarray:
    file = io.BytesIO(packed)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1) or array.size > len(packed):  # read by a head that declares fewer numbers, or many of no bytes
        raise ValueError("the bytes of an array do not have its shape")
    return array


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
