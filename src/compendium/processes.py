"""What two processes of a checkout want at once, one of them does."""

import contextlib
import fcntl
import re
from collections.abc import Iterator

from . import paths


@contextlib.contextmanager
def alone(what: str) -> Iterator[None]:
    """Inside, only this process of the checkout does what is named; another one says so, and waits."""
    lock = paths.build("locks", f"{re.sub(r'[^A-Za-z0-9]+', '-', what)}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Another process does this already ({what}); waiting until it has ended.", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
