"""What a stored result was made with, noted while it is made: code, packages, data files, declared versions.

Code is noted as the digests of the files of this checkout that the process had loaded, taken *before* the run, so that
an edit in the middle of it is not recorded as what ran. Data are the files that were opened, packages whatever was
loaded. Whether what changed since matters is not decided here (:mod:`.states`) but by computing again
(:mod:`compendium.verify`).
"""

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path

import yaml

from evenspan.core.errors import RegistryError, ResultError

from . import paths, records

#: Modules that run, store, fetch, describe or judge what is stored, and cannot move a number.
OUTSIDE = (
    *("compendium/__*", "compendium/cli.py", "compendium/book/*", "compendium/keep/*", "compendium/ledger/*"),
    *("evenspan/cli.py", "evenspan/core/errors.py", "evenspan/auditing/*", "evenspan/displays/*"),
    *(f"compendium/{name}.py" for name in ("catalogue", "paths", "protocol", "provenance", "recheck")),
    *(f"compendium/{name}.py" for name in ("records", "seals", "states", "store", "verify")),
    *("compendium/papers/*claims.py", "compendium/papers/*figures.py", "compendium/papers/*diagrams.py"),
    *(f"compendium/data/{name}.py" for name in ("cards", "fetch", "registry")),
)  # fmt: skip
#: The packages of the checkout.
PACKAGES = ("evenspan/", "compendium/")
#: Folders below ``data/`` whose files decide numbers.
DATA = ("data/moments/", "data/paper/")
SET = "data set"
#: Units that were stored before versions were declared have these.
FIRST = 1

#: What the cell of a notebook calls that runs its units.
RUNS_UNITS = "study.run("

#: Of a folder with more raw files than these the checksum of the whole data set is noted.
SINGLY = 20

_listening: list["Provenance"] = []


class Provenance:
    """Filled while a unit is computed: see :func:`recorded`."""

    def __init__(self, notebook: str = "") -> None:
        self._cells = {notebook: cells_digest(paths.root() / notebook)} if notebook else {}
        self.commit, self.dirty = records.commit()
        self._digests = {name: records.digest(path.read_bytes()) for name, path in _checkout()}
        self.opened: set[str] = set()

    def environment(self) -> dict[str, object]:
        """Commit, code, packages, interpreter and kind of machine; equal for most units of one run."""
        lock = paths.root() / "requirements.lock"
        code = {name: self._digests.get(name) or records.digest(path.read_bytes()) for name, path in _loaded()}
        code |= self._cells
        return {
            "commit": self.commit,
            "dirty": self.dirty,
            "code": {name: digest[:16] for name, digest in sorted(code.items())},
            "packages": _packages(),
            "lock_sha256": records.digest(lock.read_bytes()) if lock.is_file() else None,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
        }

    def data(self, dataset: object = None) -> dict[str, str]:
        """Checksums of the data files that were opened: raw ones as the registry has them, others as they are.

        ``dataset`` is the data set that the unit names, which may come with a library and then has no file of its own.
        """
        own_data, registered = f"{paths.data()}{os.sep}", _registered()
        found = {}
        for place in sorted(self.opened):
            name = "/".join(Path(place).parts[-2:])
            if place.startswith(own_data):
                name = f"data/{place[len(own_data) :].replace(os.sep, '/')}"
            if (name in registered or name.startswith(DATA)) and (now := data_now(name)):
                found[name] = now
        for entry in _entries() if len(found) > SINGLY else ():
            own = {f"{entry.folder}/{file.name}" for file in entry.files} & found.keys()
            if len(own) > SINGLY:
                found = {name: now for name, now in found.items() if name not in own}
                found[f"{SET} {entry.name}"] = entry.checksum()
        if dataset is not None and (now := data_now(f"{SET} {dataset}")):
            found[f"{SET} {dataset}"] = now
        return found


@contextlib.contextmanager
def recorded(notebook: str = "") -> Iterator[Provenance]:
    """A :class:`Provenance` that listens to what is opened inside of the block; a unit of a ``notebook`` names it."""
    made = Provenance(notebook)
    _listen()
    _listening.append(made)
    try:
        yield made
    finally:
        _listening.remove(made)


def code_now(name: str) -> str | None:
    """The digest of a file of the checkout as records have it, None if it is not there."""
    path = _sources() / name if name.startswith(PACKAGES) else paths.root() / name
    try:
        if path.suffix == ".ipynb":
            return cells_digest(path)[:16]
        return _digest(path, path.stat().st_mtime_ns)[:16]
    except OSError:
        return None


def cells_digest(notebook: Path) -> str:
    """The digest of a notebook's code as far as numbers depend on it: up to the cell that runs the units."""
    sources = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            sources.append("".join(cell["source"]))
            if RUNS_UNITS in sources[-1]:
                break
    return records.digest("\n\n".join(sources).encode())


def data_now(name: str) -> str | None:
    """The checksum of ``FOLDER/FILE`` or ``data set NAME`` in the registry, or of a file below ``data/``; or None."""
    from . import data as datasets

    if name.startswith(f"{SET} "):
        with contextlib.suppress(RegistryError):
            return datasets.checksum(name.removeprefix(f"{SET} "))
        return None
    if name.startswith("data/"):
        path = paths.root() / name
        return _digest(path, path.stat().st_mtime_ns) if path.is_file() else None
    return _registered().get(name)


def locked() -> Mapping[str, frozenset[str]]:
    """The versions of every package that ``requirements.lock`` allows."""
    lock = paths.root() / "requirements.lock"
    return _locked(lock, lock.stat().st_mtime_ns) if lock.is_file() else {}


def versions(experiment_id: str, methods: Iterable[str]) -> dict[str, int]:
    """Declared versions of a protocol and of the methods that it ran (``data/versions.yml``)."""
    path = paths.data("versions.yml")
    given = _declared(path, path.stat().st_mtime_ns) if path.is_file() else {}
    named = sorted({str(method) for method in methods})
    own = {f"method {name}": given.get("methods", {}).get(name, FIRST) for name in named}
    return {"protocol": given.get("protocols", {}).get(experiment_id, FIRST)} | {
        name: version for name, version in own.items() if version != FIRST
    }


def changed_code(recorded: Mapping[str, str]) -> list[str]:
    """Files of a recorded code that are other ones now, or gone."""
    return [name for name, digest in recorded.items() if code_now(name) != digest]


def changed_packages(recorded: Mapping[str, str]) -> list[str]:
    """Packages whose recorded version the lock does not have; those that it does not name at all do not count."""
    known = locked()
    return [f"{name} {version}" for name, version in recorded.items() if name in known and version not in known[name]]


def _sources() -> Path:
    return Path(__file__).resolve().parents[1]


def _checkout() -> Iterator[tuple[str, Path]]:
    """Every Python file that a protocol may load, by the name that records give it."""
    sources = _sources()
    for package in PACKAGES:
        for path in sorted((sources / package).rglob("*.py")):
            yield path.relative_to(sources).as_posix(), path
    yield from ((name, path) for name, path in _loaded() if not name.startswith(PACKAGES))


def _loaded() -> Iterator[tuple[str, Path]]:
    """The files of the checkout that this process has loaded, but for those that cannot move a number."""
    sources, root = _sources(), paths.root().resolve()
    for module in list(sys.modules.values()):
        path = Path(getattr(module, "__file__", None) or "/").resolve()
        if path.suffix != ".py" or "site-packages" in path.parts:
            continue
        inside = any(path.is_relative_to(sources / package) for package in PACKAGES)
        base = sources if inside else root
        if path.is_relative_to(base):
            name = path.relative_to(base).as_posix()
            if not any(fnmatchcase(name, pattern) for pattern in OUTSIDE):
                yield name, path


def _packages() -> dict[str, str]:
    """Versions of the installed packages of which something is loaded."""
    providers = _providers()
    names = {name for module in list(sys.modules) for name in providers.get(module.partition(".")[0], ())}
    return {name: importlib.metadata.version(name) for name in sorted(names)}


@cache
def _providers() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


@cache
def _listen() -> None:
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple) -> None:
    if event == "open" and _listening and isinstance(arguments[0], str | os.PathLike):
        place = os.fspath(arguments[0])
        if isinstance(place, str) and not place.endswith((".py", ".pyc", ".so")):
            for one in _listening:
                one.opened.add(place)


def _entries() -> list:
    from . import data as datasets

    return [datasets.entry(name) for name in datasets.names()]


def _registered() -> Mapping[str, str]:
    registry = paths.data("registry.toml")
    return _raw(registry, registry.stat().st_mtime_ns) if registry.is_file() else {}


@lru_cache(maxsize=4)
def _raw(registry: Path, changed: int) -> Mapping[str, str]:
    return {f"{entry.folder}/{file.name}": file.sha256 for entry in _entries() for file in entry.files}


@lru_cache(maxsize=4096)
def _digest(path: Path, changed: int) -> str:
    return records.digest(path.read_bytes())


@lru_cache(maxsize=4)
def _locked(path: Path, changed: int) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return {name: frozenset(some) for name, some in found.items()}


@lru_cache(maxsize=4)
def _declared(path: Path, changed: int) -> Mapping[str, Mapping[str, int]]:
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise ResultError(f"{path.name} is not YAML ({error}). Correct it; the versions are declared there.") from error
    sound = isinstance(given, dict) and set(given) <= {"protocols", "methods"}
    tables = [table or {} for table in given.values()] if sound else []
    if not sound or not all(
        isinstance(table, dict) and all(type(v) is int and v >= FIRST for v in table.values()) for table in tables
    ):
        raise ResultError(
            f"{path.name} must hold 'protocols' and 'methods', each with whole numbers from {FIRST}, but has {given!r}."
        )
    return {name: table or {} for name, table in given.items()}
