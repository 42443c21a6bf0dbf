"""Errors and warnings raised on purpose, so that a page of the guide shows the words that a reader will meet."""

import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from evenspan.core.errors import ExecutionError

#: Characters of a line; longer ones would be cut off at the edge of a narrow screen.
WIDTH = 84


@contextmanager
def told(*expected: type[BaseException], width: int = WIDTH) -> Iterator[None]:
    """Print what the block raises or warns of, in the words of a terminal.

    Parameters
    ----------
    *expected : exception or warning classes
        The first one is an error if the block is to fail; warnings are those that it is to give. Anything else that
        happens, and anything of these that does not, is an error of the page.
    width : int
        Characters of a line.

    Yields
    ------
    None

    Examples
    --------
    >>> with told(ZeroDivisionError):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    errors = tuple(kind for kind in expected if not issubclass(kind, Warning))
    wanted = [kind for kind in expected if issubclass(kind, Warning)]
    raised = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            yield
        except errors as error:
            raised = error
    for warning in heard:
        if not any(issubclass(warning.category, kind) for kind in wanted):
            raise ExecutionError(f"the block warned of something else: {spoken(warning.message)}")
    missing = [kind for kind in wanted if not any(issubclass(warning.category, kind) for warning in heard)]
    missing += [kind for kind in errors if raised is None]
    if missing or not expected:
        names = ", ".join(kind.__name__ for kind in missing) or "an exception or warning class"
        raise ExecutionError(f"the block was to give {names}, and did not. Correct the page.")
    texts = list(dict.fromkeys(spoken(warning.message) for warning in heard))
    texts += [] if raised is None else [spoken(raised)]
    # In one piece: print sends the end of a line by itself, which a busy kernel shows as an output of its own.
    sys.stdout.write("".join(wrapped(text, width) + "\n" for text in texts))


def spoken(error: BaseException) -> str:
    """An error or warning as Python ends a traceback with it: ``GroupError: sensitive feature ...``."""
    return f"{type(error).__name__}: {error}"


def wrapped(text: str, width: int) -> str:
    """Lines of at most ``width`` characters; line breaks of the text are kept."""
    lines = [textwrap.fill(line, width, subsequent_indent="  ") for line in text.splitlines()]
    return "\n".join(lines)
