"""A progress bar on the terminal, and nothing where the output goes to a file or a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show how far something is; call what is given once for each step."""
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
    shown = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not sys.stderr.isatty())
    with shown:
        task = shown.add_task(what, total=total)
        yield lambda: shown.advance(task)
