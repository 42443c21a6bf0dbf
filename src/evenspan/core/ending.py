"""A command that is ended by a signal: at any moment one line and the code that shells expect, never a traceback."""

import contextlib
import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from .errors import told

#: The signals that ask a process to end.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: Seconds after a signal in which others are not listened to: it cleans up.
PAUSE = 2.0


class Ended(SystemExit):
    """Raised where a signal found the work; ``what`` is said after the name of the signal."""

    what = ""

    def __init__(self, number: int):
        super().__init__(128 + number)
        self.name = signal.Signals(number).name

    def __str__(self):
        head = "Interrupted." if self.name == "SIGINT" else f"Ended by {self.name}."
        return f"{head} {self.what}".strip()


_depth, _late = 0, 0


def _end(number: int) -> NoReturn:
    """End the work. Libraries log from here on only what the signal itself cut off: a kernel that is gone, a task."""
    logging.disable()
    raise Ended(number)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, a signal waits: what may not be left half done is done."""
    global _depth, _late
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _late and not _depth:
            number, _late = _late, 0
            _end(number)


def guarded(work: Callable[[], None], what: str = "") -> None:
    """Do the work of a command; a signal is raised in it as ``Ended`` and told in one line, with ``what`` it leaves."""
    last, Ended.what = -PAUSE, what

    def end(number, _):
        nonlocal last
        global _late
        if _depth:
            _late = number
        elif time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            _end(number)

    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
                signal.signal(number, end)
        work()
    except Ended as ended:
        print(told(ended), file=sys.stderr)
        raise
    finally:
        for number in SIGNALS:  # all is done; what is left is the end of the process
            signal.signal(number, signal.SIG_IGN)
