"""What a page is made of, noted while it is executed: the code that it imported and the files that it read.

The workflow executes a page again when its *key* changes (:func:`key`). Nothing is guessed from the sources: a page
that reads other files today than yesterday had other files to tell it so.
"""

import json
import os
import platform
import sys
import time
from functools import cache
from pathlib import Path

from compendium import paths, records

#: Not made of these: the environment, and what is built, except for what is computed once for all pages.
_ELSEWHERE = (".venv", ".git", ".snakemake", "_build")
_ONCE = "_build/once/"
#: Code that only runs or assembles pages.
_RUNS = tuple(
    f"src/compendium/book/{name}.py"
    for name in ("build", "engine", "execute", "experiment_page", "made_of", "stage", "warm")
)


class Watch:
    """Hears of every file that this process opens from now on."""

    def __init__(self) -> None:
        self._start, self._opened = time.time_ns(), set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            self._opened.add(os.fspath(arguments[0]))

    def note(self, target: Path, key: str, seconds: float) -> None:
        """Write beside ``target`` what was opened and imported; what was changed meanwhile agrees with nothing."""
        places = self._opened | {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
        files = {}
        for name in sorted(filter(None, map(_name, places))):
            path = paths.root() / name
            files[name] = _digest(name) if path.stat().st_mtime_ns < self._start else "changed meanwhile"
        noted = {"key": key, "seconds": round(seconds, 3), "common": _common(), "files": files}
        records.write(_notes(target), json.dumps(noted, indent=1).encode())


def key(target: Path) -> str:
    """The key with which a page, or a file computed once, was made, as long as all that it was made of stays."""
    noted = _noted(target)
    if noted is None:
        return "not made yet"
    now = {name: _now(name) for name in noted["files"]}
    if (noted["files"], noted["common"]) == (now, _common()):
        return noted["key"]
    return records.digest(json.dumps([now, _common()]).encode())


def _now(name: str) -> str:
    path = paths.root() / name
    if name.startswith(_ONCE) and (noted := _noted(path)) and key(path) != noted["key"]:
        return "about to be computed again"
    return _digest(name)


def _noted(target: Path) -> dict | None:
    try:
        return json.loads(_notes(target).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _notes(target: Path) -> Path:
    return target.with_suffix(".made-of.json")


def _name(place: str | bytes) -> str:
    """A file of the checkout as notes name it; blank for one elsewhere, and for what is not there any more."""
    root = f"{paths.root()}{os.sep}"
    path = os.path.abspath(os.fsdecode(place))
    if not path.startswith(root) or path.endswith(".pyc"):
        return ""
    name = path.removeprefix(root).replace(os.sep, "/")
    elsewhere = name.partition("/")[0] in _ELSEWHERE and not name.startswith(_ONCE)
    return "" if elsewhere or name in _RUNS or not os.path.isfile(path) else name


@cache
def _digest(name: str) -> str:
    path = paths.root() / name
    return records.digest(path.read_bytes()) if path.is_file() else "not there"


@cache
def _common() -> str:
    """What any page may depend on without opening it: packages, the interpreter, and which files of data there are."""
    names = sorted(p.relative_to(paths.root()).as_posix() for p in paths.data().rglob("*") if p.is_file())
    return records.digest("\n".join([_digest("requirements.lock"), platform.python_version(), *names]).encode())
