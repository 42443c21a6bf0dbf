"""One interpreter in which the libraries are imported, and from which every page of a build is forked.

The workflow starts it (:func:`start`). However the workflow ends, it ends too, with all pages in the making.
``python -m compendium.book.warm SOURCE TARGET ...`` asks it for a page, with the arguments of
:mod:`compendium.book.execute`, and waits; where no such interpreter runs, it makes the page itself. Nothing of this
project is imported before a page is forked: a page imports, and is noted to be made of, what it needs and no more.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

#: The variable with the address of the interpreter.
ADDRESS = "EVENSPAN_WARM"
#: Seconds and bytes that a page may take: about twenty times what the largest takes.
SECONDS, MEMORY = 900, 6 * 2**30
#: What is imported once. Whatever else a page needs it imports itself.
LIBRARIES = (
    "IPython.core.interactiveshell", "cvxpy", "ipykernel.jsonutil", "jupytext", "matplotlib.pyplot",
    "matplotlib_inline.backend_inline", "nbformat", "numpy", "pandas", "papermill", "pooch", "pydantic.main",
    "pydantic.type_adapter", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg",
    "scipy.special", "scipy.stats", "sklearn.cluster", "sklearn.datasets", "sklearn.linear_model",
    "sklearn.metrics", "sklearn.pipeline", "sklearn.preprocessing", "sklearn.svm", "threadpoolctl", "typer", "yaml",
)  # fmt: skip

_STARTED: list[subprocess.Popen] = []


def start(environment: dict[str, str]) -> subprocess.Popen:
    """Start the interpreter, say in this process's environment where it is; it ends with this process or its input."""
    address = Path(tempfile.mkdtemp(prefix="evenspan-")) / "pages"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(address))
        door.listen(64)
        # A session of its own: Ctrl-C reaches the workflow, which then closes the input.
        command = [sys.executable, "-m", "compendium.book.warm", "--serve", str(door.fileno())]
        process = subprocess.Popen(
            command,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            pass_fds=[door.fileno()],
            start_new_session=True,
        )
    os.environ[ADDRESS] = str(address)
    _STARTED.append(process)  # its input is open as long as this process knows it
    return process


def _serve(door: socket.socket) -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a page here; its line is closed when it ends
    with selectors.DefaultSelector() as wanted:
        wanted.register(door, selectors.EVENT_READ)
        wanted.register(sys.stdin, selectors.EVENT_READ)
        while not any(one.fileobj is sys.stdin for one, _ in wanted.select()):
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                _page(line)
            line.close()
    shutil.rmtree(Path(door.getsockname()).parent)
    os.killpg(0, signal.SIGKILL)  # the workflow has ended: so do the pages in the making, and this


def _page(line: socket.socket) -> None:
    """In a fork: make the page that is asked for, and answer how it ended."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        asked, outputs, _, _ = socket.recv_fds(line, 2**20, 2)
        for stream, number in zip(outputs, (1, 2), strict=True):
            os.dup2(stream, number)
        line.sendall(f"{os.getpid()}\n".encode())
        from compendium.book import execute

        code = execute.main(json.loads(asked))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with contextlib.suppress(BrokenPipeError):
            line.sendall(f"{code}\n".encode())
        os._exit(code)


def _ask(address: str, arguments: list[str]) -> int:
    """Ask for a page and wait for it."""
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(address)
            socket.send_fds(line, [json.dumps(arguments).encode()], [1, 2])
            line.settimeout(SECONDS + 60)  # a page ends itself before, unless compiled code never returns
            answer = line.makefile()
            page = int(answer.readline())
        except (OSError, ValueError):
            print(
                f"{arguments[1]} was not made: the interpreter from which pages are forked has ended. What is finished "
                "is kept; the same command continues.",
                file=sys.stderr,
            )
            return 1
        try:
            return int(answer.readline())
        except TimeoutError:
            os.kill(page, signal.SIGKILL)
            why = f"it took more than {SECONDS} seconds and did not stop by itself"
        except (OSError, ValueError):
            why = "its process was killed, or the machine ran out of memory"
        print(f"{arguments[1]} was not made: {why}. What is finished is kept; run the command again.", file=sys.stderr)
        return 1


def main(arguments: list[str]) -> int:
    """Serve, ask, or make a page in this process."""
    if arguments[0] == "--serve":
        _serve(socket.socket(fileno=int(arguments[1])))
    address = os.environ.get(ADDRESS)
    # On another machine of a cluster there is an address, and nothing behind it.
    if address and Path(address).exists():
        return _ask(address, arguments)
    from compendium.book import execute

    return execute.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
