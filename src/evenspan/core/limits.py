"""What is said before long work begins: what it would need, and what this machine has."""

import contextlib
from pathlib import Path

from .errors import LimitError

#: No more of the memory that is free now is asked for by one step.
SHARE = 0.8
#: What an audit takes at most, and why; said before the work that it would spoil.
TABLE: dict[str, tuple[int, str]] = {
    "columns": (20_000, "every column is looked at in each batch of rows"),
    "features": (500, "methods and frontiers solve hundreds of eigenvalue problems of that order: 500 take minutes"),
    "groups": (50, "more are values of another kind: a number, a name"),
    "categories": (50, "a category of more values is text"),
    "characters of a name": (1_000, "names of columns, groups and categories stand in figures, tables and files"),
    "characters of a line": (2**26, "a line of text is held in memory as a whole"),
    "cells of a sheet": (2**27, "a sheet is held in memory as a whole, empty cells between others included"),
    "digits": (308, "numbers are float64"),
    "draws of the bootstrap": (100_000, "1,000 are usual, and the intervals of so many are exact to two digits"),
}


def free_memory() -> int | None:
    """Bytes that this process can still get, by the operating system and by its control group; None if neither says."""
    found = []
    with contextlib.suppress(OSError, ValueError):  # no control group, or one without a limit
        root = Path("/sys/fs/cgroup")
        found.append(int((root / "memory.max").read_text()) - int((root / "memory.current").read_text()))
    with contextlib.suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return min(found, default=None)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """LimitError unless so many bytes are free; ``what`` needs them, ``remedy`` says what to do otherwise.

    A step of less than 64 MiB is not asked about.
    """
    if needed < 2**26:
        return
    free = free_memory()
    if free is not None and needed > SHARE * free:
        raise LimitError(
            f"{what} would need {needed / 2**30:,.1f} GiB of memory; {free / 2**30:,.1f} GiB are free here. {remedy}"
        )
