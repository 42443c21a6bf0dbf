"""Several processes at once: they end with the one that started them, and what two of them want, one has."""

import contextlib
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from . import paths

#: The variable with the number of the pipe whose other end is open as long as the parent lives.
ALIVE = "EVENSPAN_ALIVE"
#: Seconds in which a process whose parent is gone may put its things in order.
GRACE = 5


def run(command: Sequence[str], env: Mapping[str, str], **given) -> subprocess.CompletedProcess:
    """Run a program of this package that :func:`attend`\\ s; Ctrl-C reaches this process alone, which then ends it."""
    alive, held = os.pipe()
    env = {**env, ALIVE: str(alive)}
    with subprocess.Popen(command, env=env, pass_fds=[alive], start_new_session=True, **given) as child:
        os.close(alive)
        try:
            said = child.communicate()
        finally:
            os.close(held)
    return subprocess.CompletedProcess(command, child.returncode, *said)


def attend() -> None:
    """From now on this process ends when the one that started it with :func:`run`, if one did, is gone."""
    if alive := os.environ.pop(ALIVE, None):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        threading.Thread(target=_watch, args=(int(alive),), daemon=True).start()


def _watch(alive: int) -> None:
    gone(alive)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)  # compiled code may not return
    os._exit(1)


def gone(alive: int) -> None:
    """Wait until the parent is gone: it alone holds the other end of this pipe, and never writes."""
    os.read(alive, 1)


# -- what two processes want --------------------------------------------------------------------------------------


@contextlib.contextmanager
def claimed(partial: Path) -> Iterator[BinaryIO]:
    """A file in the making, open at its end, that this process alone has; another one that wants it waits.

    It has a fixed name, so that what a killed process left is taken up by the next one and is never one file more.
    """
    partial.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with partial.open("ab") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            # Who had it before may have given it its name, or have removed it: then this is another file.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), partial.stat()):
                    yield stream
                    return


@contextlib.contextmanager
def alone(what: str) -> Iterator[None]:
    """Inside, only this process of the checkout does what is named; another one says which is at it, and waits."""
    with _lock(what) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            print(f"Process {stream.read()} does this already ({what}); waiting until it has ended.", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield


def _lock(what: str) -> TextIO:
    lock = paths.build("locks", f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    return lock.open("a+")
