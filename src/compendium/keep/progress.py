"""A progress bar on the terminal, and nothing where the output goes to a file or a pipe."""

import sys
from collections.abc import Iterable, Iterator


def shown(items: Iterable, what: str) -> Iterator:
    """The items one after the other, while a bar says how far they are."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not sys.stderr.isatty())
    with bar:
        yield from bar.track(items, description=what)
