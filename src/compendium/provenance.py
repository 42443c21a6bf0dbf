"""What a stored result was made with: the commit, the lock, the linear algebra, its data, and declared versions."""

import contextlib
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import yaml
from threadpoolctl import threadpool_info

from . import data as datasets
from . import paths, records
from .errors import RegistryError


def _git(*words: str) -> str:
    """What git says of the checkout, if there is one; several ask at once."""
    command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commit() -> tuple[str, bool | None]:
    """The commit of the checkout, and whether what decides numbers differs from it; ``unknown`` outside of git."""
    with contextlib.suppress(FileNotFoundError, subprocess.CalledProcessError):
        found = _git("rev-parse", "--show-prefix", "HEAD")
        # An unpacked archive may lie in a checkout of something else, whose commit says nothing about it.
        if found.startswith("\n"):
            decides = ["src", "notebooks", "experiments.yml", "pyproject.toml", "requirements.lock"]
            return found.strip(), bool(_git("status", "--porcelain", "--", *decides))
    return "unknown", None


@lru_cache(maxsize=1)
def changed_files() -> tuple[str, ...]:
    """Files below ``src`` and ``data`` that differ from the commit; none without git. Git is asked once."""
    if commit()[0] == "unknown":
        return ()
    lines = _git("status", "--porcelain", "--no-renames", "-z", "--", "src", "data").split("\0")
    return tuple(line[3:] for line in lines if line[3:])


def environment() -> dict[str, object]:
    """Commit, digest of the lock, and the processor family whose linear algebra NumPy and SciPy take."""
    head, dirty = commit()
    blas = {
        f"{one['internal_api']} {one.get('architecture')}" for one in threadpool_info() if one["user_api"] == "blas"
    }
    lock = records.digest((paths.root() / "requirements.lock").read_bytes())
    return {"commit": head, "dirty": dirty, "lock_sha256": lock, "blas_core": ", ".join(sorted(blas))}


def checksums(dataset: object) -> dict[str, str]:
    """The checksum of a data set: in the registry, or of a file of one's own, whose path is its name."""
    name = str(dataset)
    if Path(name).is_file():
        return {name: records.digest(Path(name).read_bytes())}
    with contextlib.suppress(RegistryError):
        return {} if dataset is None else {name: datasets.checksum(name)}
    return {}


def versions(experiment_id: str, methods: Iterable[object]) -> dict[str, int]:
    """Declared versions of a protocol and, but for the first, of the methods that it ran (``data/versions.yml``)."""
    path = paths.data("versions.yml")
    given = paths.read(path, _declared) if path.is_file() else {}
    known = given.get("methods", {})
    found = {f"method {name}": known[name] for name in {str(method) for method in methods} if known.get(name, 1) != 1}
    return {"protocol": given.get("protocols", {}).get(experiment_id, 1)} | found


@lru_cache(maxsize=4)
def _declared(content: bytes) -> Mapping[str, Mapping[str, int]]:
    return {name: dict(known or {}) for name, known in yaml.safe_load(content).items()}
