"""A kernel for pages: libraries imported, limits set, nothing written outside of a folder that goes with the server.

``python -m compendium.live.kernel -f CONNECTION`` is the command of such a kernel, ``EVENSPAN_LIVE`` its folder.
"""

import importlib
import os
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from compendium.book import pages

#: The variable with the folder below which alone a kernel writes.
FOLDER = "EVENSPAN_LIVE"
#: Bytes of memory that a kernel may take.
MEMORY = 6 * 2**30
#: What Python tells before it changes a file, and which of the arguments are the places that change.
CHANGES = dict.fromkeys(("os.chmod", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.utime"), (0,))
CHANGES |= {"os.link": (1,), "os.rename": (0, 1), "os.symlink": (1,)}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main(arguments: list[str]) -> None:
    """Be a kernel."""
    from ipykernel.kernelapp import IPKernelApp

    folder = Path(os.environ[FOLDER]).resolve()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in pages.LIBRARIES:
            importlib.import_module(name)
    sys.addaudithook(_below(folder))
    app = IPKernelApp.instance()
    app.initialize(arguments)
    app.start()


def _below(folder: Path) -> Callable:
    """Refuse to change a file that is not below the folder. It tells mistakes, not intent."""
    allowed = (f"{folder}/", "/dev/")

    def look(event: str, given: tuple) -> None:
        if event == "open":
            places = (given[0],) if isinstance(given[2], int) and given[2] & WRITES else ()
        else:
            places = tuple(given[place] for place in CHANGES.get(event, ()))
        for place in places:
            if isinstance(place, str | bytes | os.PathLike) and not os.path.realpath(place).startswith(allowed):
                raise PermissionError(
                    f"{os.fspath(place)!r} cannot be changed from a page: a kernel of make live writes below {folder} "
                    "alone, which goes with the server. Run the notebook in Jupyter to keep what it writes."
                )

    return look


if __name__ == "__main__":
    main(sys.argv[1:])
