"""Files as they are found: what they are, whatever their names say; what their readers raise; and if they change."""

from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path

from ..core.errors import DataError, FairError, LimitError
from .table import shown

TEXT_FILES = (".csv", ".tsv", ".tab", ".txt")
EXCEL_FILES = (".xlsx", ".xlsm")
PACKED = (".gz", ".bz2", ".xz")
#: Bytes at the head of a file by which it is told from others.
START = 2**12
# What a file begins with, what it then is, and the endings of such files.
_MAGIC = {
    b"\x1f\x8b": ("packed with gzip", (".gz",)), b"BZh": ("packed with bzip2", (".bz2",)),
    b"\xfd7zXZ\0": ("packed with xz", (".xz",)), b"PAR1": ("a Parquet file", (".parquet", ".pq")),
    b"ARROW1": ("an Arrow file", (".arrow", ".feather", ".ipc")),
    b"PK\x03\x04": ("a zip archive, as Excel workbooks are", EXCEL_FILES),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook with a password, or one of before 2007", ()),
}  # fmt: skip


@contextmanager
def foreign(path: Path, how: str, remedy: str):
    """Inside, whatever a reader of foreign bytes raises is raised as ``DataError``, or ``LimitError`` for memory."""
    try:
        yield
    except FairError:
        raise
    except MemoryError as error:
        raise LimitError(f"{path} cannot be read {how}: there is not enough memory for what it holds.") from error
    except Exception as error:  # damaged bytes make openpyxl, zipfile and xml raise almost anything
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"{path} cannot be read {how} ({shown(why, 200)}). {really(path) or remedy}.") from error


def really(path: Path, start: bytes | None = None) -> str:
    """What to do with a file that is something else than its name says; empty if nothing is known of it."""
    if start is None:
        try:
            with path.open("rb") as file:
                start = file.read(START)
        except OSError:
            return ""
    for magic, (what, endings) in _MAGIC.items():
        if start.startswith(magic) and not path.name.lower().endswith(endings):
            remedy = (
                f"rename it so that it ends with {endings[0]}" if endings else "save it as .xlsx, without a password"
            )
            return f"It is {what}, whatever its name says: {remedy}"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    odd, even = start[1::2].count(0), start[::2].count(0)
    if max(odd, even) > 0.3 * len(start) / 2:
        order = "LE" if odd > even else "BE"
        return (
            f"It is text in UTF-16 without a mark that says so. Save it as UTF-8, for instance: iconv -f UTF-16{order} "
            f"-t UTF-8 {path.name} > new.csv"
        )
    return ""


class Unchanged:
    """Files that are read in several passes: entered and left with each, it is a ``DataError`` if one has changed."""

    def __init__(self, files: Iterable):
        self.files = [Path(file) for file in files]
        self.seen = self._stamps()

    def __enter__(self):
        self._compare()

    def __exit__(self, kind, *raised):
        if kind is None:
            self._compare()

    def _stamps(self) -> list[tuple[int, int]]:
        try:
            return [(found.st_size, found.st_mtime_ns) for found in (file.stat() for file in self.files)]
        except OSError as error:
            raise DataError(f"{error.filename} cannot be read ({error.strerror}). Get or write it again.") from error

    def _compare(self) -> None:
        for file, before, now in zip(self.files, self.seen, self._stamps(), strict=True):
            if before != now:
                raise DataError(
                    f"{file} was changed while it was read (it had {before[0]:,} bytes, and has {now[0]:,} of another "
                    "time): its rows would be taken for others. Wait until it is written, or copy it, and begin again."
                )
