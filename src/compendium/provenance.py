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
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BeforeValidator, Field, StrictInt, TypeAdapter, ValidationError
from threadpoolctl import threadpool_info

from evenspan.core.errors import RegistryError, ResultError

from . import data as datasets
from . import paths, records
from .catalogue import said

#: Modules that run, store, fetch, describe or judge what is stored, and cannot move a number.
OUTSIDE = (
    *("compendium/__*", "compendium/cli.py", "compendium/book/*", "compendium/ledger/*"),
    *("evenspan/cli.py", "evenspan/core/errors.py", "evenspan/auditing/*", "evenspan/displays/*"),
    *(f"compendium/{name}.py" for name in ("catalogue", "edits", "paths", "processes", "protocol", "provenance")),
    *(f"compendium/{name}.py" for name in ("recheck", "records", "seals", "states", "store", "verify", "workers")),
    *("compendium/papers/*claims.py", "compendium/papers/*figures.py", "compendium/papers/*diagrams.py"),
    *(f"compendium/data/{name}.py" for name in ("cards", "fetch", "registry")),
)  # fmt: skip
SOURCES = Path(__file__).resolve().parents[1]
#: The packages of the checkout.
PACKAGES = ("evenspan/", "compendium/")
#: Folders below ``data/`` whose files decide numbers.
DATA = ("data/moments/", "data/tables/", "data/paper/")
SET = "data set"
#: The version of what ``data/versions.yml`` does not name.
FIRST = 1
#: What the cell of a notebook calls that runs its units.
RUNS_UNITS = "study.run("
#: Of a folder with more raw files than these the checksum of the whole data set is noted.
SINGLY = 20

_listening: list["Provenance"] = []


class Provenance:
    """What a unit of a ``notebook`` is made with: code as it is now, and data that are opened in a ``with`` of this."""

    def __init__(self, notebook: str = "") -> None:
        self._cells = {notebook: cells_digest(paths.root() / notebook)} if notebook else {}
        self.commit, self.dirty = records.commit()
        ours = {
            path.relative_to(SOURCES).as_posix(): path for name in PACKAGES for path in (SOURCES / name).rglob("*.py")
        }
        self._before = {name: records.digest(path.read_bytes()) for name, path in (_loaded() | ours).items()}
        self.opened: set[str] = set()

    def __enter__(self) -> "Provenance":
        _listen()
        _listening.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _listening.remove(self)

    def environment(self) -> dict[str, object]:
        """Commit, code, packages, interpreter and kind of machine; equal for most units of one run."""
        lock = paths.root() / "requirements.lock"
        code = {name: self._before.get(name) or _digest(path) for name, path in _loaded().items()} | self._cells
        packages = _packages()
        return {
            "commit": self.commit,
            "dirty": self.dirty,
            "code": {name: digest[:16] for name, digest in sorted(code.items())},
            "packages": {name: _version(name) for name in sorted(packages)},
            "lock_sha256": _digest(lock) if lock.is_file() else None,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "blas_core": _blas_core(),
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
        for entry in map(datasets.entry, datasets.names()) if len(found) > SINGLY else ():
            own = {f"{entry.folder}/{file.name}" for file in entry.files} & found.keys()
            if len(own) > SINGLY:
                found = {name: now for name, now in found.items() if name not in own}
                found[f"{SET} {entry.name}"] = entry.checksum()
        if dataset is not None and (now := data_now(f"{SET} {dataset}")):
            found[f"{SET} {dataset}"] = now
        return found


def _blas_core() -> str:
    """The family of processors whose linear algebra routines NumPy and SciPy take, such as ``OpenBLAS Haswell``."""
    loaded = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return ", ".join(sorted({f"{one['internal_api']} {one.get('architecture', 'unknown')}" for one in loaded}))


def ready() -> None:
    """What is installed and loaded is looked up now, so that no process that is forked from this one does it again."""
    _loaded()
    for name in _packages():
        _version(name)


def edited(environment: Mapping) -> list[str]:
    """Code of a recorded environment that is other code now or gone, and packages of versions that the lock has not.

    Packages that the lock does not name at all do not count.
    """
    if environment["code"] is None:
        return ["code that was noted in another way"]
    lock = paths.root() / "requirements.lock"
    allowed = _locked(lock) if lock.is_file() else {}
    code = [name for name, digest in environment["code"].items() if _code_now(name) != digest]
    packages = environment["packages"].items()
    return code + [f"{name} {version}" for name, version in packages if version not in allowed.get(name, {version})]


@records.kept
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
    """The checksum of ``FOLDER/FILE`` or ``data set NAME`` in the registry, or of a file below ``data/``; or None.

    A table of one's own is a data set whose name is its path.
    """
    if name.startswith(f"{SET} "):
        named = name.removeprefix(f"{SET} ")
        with contextlib.suppress(RegistryError):
            return datasets.checksum(named)
        return _digest(Path(named)) if Path(named).is_file() else None
    if name.startswith("data/"):
        path = paths.root() / name
        return _digest(path) if path.is_file() else None
    return _registered().get(name)


def versions(experiment_id: str, methods: Iterable[str]) -> dict[str, int]:
    """Declared versions of a protocol and of the methods that it ran (``data/versions.yml``)."""
    path = paths.data("versions.yml")
    given = _declared(path) if path.is_file() else {}
    known = given.get("methods", {})
    own = {f"method {name}": known[name] for name in sorted({str(method) for method in methods} & known.keys())}
    return {"protocol": given.get("protocols", {}).get(experiment_id, FIRST)} | {
        name: version for name, version in own.items() if version != FIRST
    }


Versions = Annotated[dict[str, Annotated[StrictInt, Field(ge=FIRST)]], BeforeValidator(lambda given: given or {})]
_DECLARED = TypeAdapter(dict[Literal["protocols", "methods"], Versions])


@records.kept
def _declared(path: Path) -> Mapping[str, Mapping[str, int]]:
    try:
        return _DECLARED.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, ValidationError) as error:
        why = said(error) if isinstance(error, ValidationError) else f"it is not YAML ({error})"
        raise ResultError(f"{path.name}: {why}. Correct it; the versions are declared there.") from error


@cache
def _name(path: Path, checkout: Path) -> str:
    """A file as records name it: from its package on, or from the checkout on; blank if it is in neither."""
    ours = any(path.is_relative_to(SOURCES / package) for package in PACKAGES)
    base = SOURCES if ours else checkout
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else ""


@cache
def _source(file: str) -> Path | None:
    """Where a module was loaded from; None for what is no Python or belongs to a package that was installed."""
    path = Path(file).resolve()
    return path if path.suffix == ".py" and "site-packages" not in path.parts else None


def _loaded() -> dict[str, Path]:
    """The files of the checkout that this process has loaded, but for those that cannot move a number."""
    found, checkout = {}, paths.root().resolve()
    for module in list(sys.modules.values()):
        path = _source(getattr(module, "__file__", None) or "/")
        if path and (name := _name(path, checkout)):
            found[name] = path
    return {name: path for name, path in found.items() if not any(fnmatchcase(name, pattern) for pattern in OUTSIDE)}


def _code_now(name: str) -> str | None:
    path = (SOURCES if name.startswith(PACKAGES) else paths.root()) / name
    with contextlib.suppress(OSError):
        return (cells_digest if path.suffix == ".ipynb" else _digest)(path)[:16]
    return None


def _packages() -> set[str]:
    """The installed packages of which this process has loaded something."""
    providers = _providers()
    return {name for module in list(sys.modules) for name in providers.get(module.partition(".")[0], ())}


@cache
def _providers() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


_version = cache(importlib.metadata.version)


@cache
def _listen() -> None:
    """Hear of every file that this process opens from now on."""

    def hear(event: str, arguments: tuple) -> None:
        if event == "open" and _listening and isinstance(arguments[0], str | os.PathLike):
            place = os.fspath(arguments[0])
            if isinstance(place, str) and not place.endswith((".py", ".pyc", ".so")):
                for one in _listening:
                    one.opened.add(place)

    sys.addaudithook(hear)


@records.kept
def _digest(path: Path) -> str:
    return records.digest(path.read_bytes())


def _registered() -> Mapping[str, str]:
    registry = paths.data("registry.toml")
    return _raw(registry) if registry.is_file() else {}


@records.kept
def _raw(registry: Path) -> Mapping[str, str]:
    entries = map(datasets.entry, datasets.names())
    return {f"{entry.folder}/{file.name}": file.sha256 for entry in entries for file in entry.files}


@records.kept
def _locked(lock: Path) -> Mapping[str, set[str]]:
    """The versions of every package that a lock allows; it may have another one for another Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found
