"""The code behind a number: the definitions that a protocol reaches, and one digest of them.

A record is stale once the code that gave its numbers changed. Were whole files compared, every comment would make every
result stale, and nobody would look any more. So the digest is over *definitions*: from ``tasks``, ``run_task`` and
``SEED`` of a protocol to every function, class, method and constant of the package that these mention, directly or
through others. Comments, docstrings and the file in which a definition stands do not count; everything else does.

What is reached is read from names, and errs on the side of too much. A method counts if its class is reached and its
name stands anywhere in reached code, as an attribute or as a text; a module handed around as a value counts whole.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ..errors import RegistryError
from ..paths import build, root
from .code_reader import Package, Place

#: Where a protocol's numbers begin.
ENTRIES = ("tasks", "run_task", "SEED")
_ROOMS = {
    "evenspan": (
        "errors",
        "paths",
        "cli",
        "report",
    ),
    "evenspan.experiments": (
        "catalogue",
        "claim_rules",
        "code_reader",
        "records",
        "recheck",
        "schema",
        "seals",
        "session",
        "sources",
        "store",
        "tasks",
        "_worker",
    ),
    "evenspan.datasets": (
        "cards",
        "fetch",
        "registry",
        "storage",
    ),
}
#: Modules that run, store, fetch and describe, and cannot move a number: files are taken only with their checksums.
OUTSIDE = frozenset(f"{room}.{name}" for room, names in _ROOMS.items() for name in names)


def reached(module: str, entries: Iterable[str] = ENTRIES, source: Path | None = None) -> dict[Place, str]:
    """Definitions behind the entries of a module, as ``(module, name)`` -> their code.

    Parameters
    ----------
    module : str
        Full name of a protocol module of the package.
    entries : iterable of str
        Names to start from; those that the module does not have are left out, but one at least must exist.
    source : Path, optional
        Folder that holds the package; by default ``src`` of this checkout.
    """
    package = Package(source or root() / "src")
    start = package.module(module)
    waiting = [place for name in entries if name in start.bound for place in package.places(module, name)]
    if not waiting:
        raise RegistryError(f"{module} has none of {', '.join(entries)}; a protocol needs tasks() and run_task().")
    found: dict[Place, str] = {}
    called: set[str] = set()  # names by which a method may be called
    asleep: dict[str, list[Place]] = {}  # methods of reached classes that nothing has called yet
    while waiting:
        place = waiting.pop()
        if place in found or _outside(place[0]):
            continue
        home = package.module(place[0])
        found[place] = home.code(place[1])
        waiting += package.mentioned(place)
        waiting += [(place[0], name) for name in home.effects]
        for method, always in home.methods(place[1]):
            if always or method in called:
                waiting.append((place[0], f"{place[1]}.{method}"))
            else:
                asleep.setdefault(method, []).append((place[0], f"{place[1]}.{method}"))
        for name in home.spoken(place[1]) - called:
            called.add(name)
            waiting += asleep.pop(name, [])
    return found


def digest(module: str, source: Path | None = None) -> str:
    """SHA-256 of all code that a protocol of the package reaches, wherever its definitions stand.

    Reading takes a third of a second, so that it is kept in ``_build/cache`` under the digest of the whole package.
    """
    folder = source or root() / "src"
    kept = build("cache", "sources", f"{_state(folder)}-{module}.txt")
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="ascii")
    texts = sorted(set(reached(module, source=folder).values()))
    found = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Under a name of its own first: several processes may ask at once, and none may read the half of it.
    partial = kept.with_suffix(f".{os.getpid()}.part")
    partial.write_text(found, encoding="ascii")
    partial.replace(kept)
    return found


def _state(folder: Path) -> str:
    """Digest of every file of the package with its name."""
    files = sorted((folder / "evenspan").rglob("*.py"))
    stamp = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _digest_of(stamp)


@lru_cache(maxsize=4)
def _digest_of(stamp: tuple) -> str:
    lines = [f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path, *_ in stamp]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def _outside(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in OUTSIDE)
