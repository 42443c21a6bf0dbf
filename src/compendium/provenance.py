"""What a stored result was made with: the commit, the lock, the linear algebra, its data, and declared versions.

A record states these; of them the data and the declared versions decide whether it counts (:mod:`.store`). Whether
code that was edited since matters is found by computing again (:mod:`.verify`).
"""

import contextlib
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BeforeValidator, Field, StrictInt, TypeAdapter, ValidationError
from threadpoolctl import threadpool_info

from evenspan.core.errors import RegistryError, ResultError

from . import data as datasets
from . import paths, records
from .catalogue import said

#: The version of what ``data/versions.yml`` does not name.
FIRST = 1


def commit() -> tuple[str, bool | None]:
    """The commit of the checkout, and whether code, notebooks, experiments or lock differ from it.

    Outside a git checkout, also in a folder of another one, the commit is ``unknown: `` with the reason, and the flag
    is None.
    """

    def git(*words: str) -> str:
        # --no-optional-locks: several ask at once, and none may disturb a commit that the user is making.
        command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    try:
        # An unpacked archive may lie in a checkout of something else, whose commit says nothing about it.
        prefix, head = git("rev-parse", "--show-prefix", "HEAD").splitlines()
        if prefix:
            return "unknown: not a git repository of its own", None
        decides = ["src", "notebooks", "experiments.yml", "pyproject.toml", "requirements.lock"]
        return head, bool(git("status", "--porcelain", "--", *decides))
    except FileNotFoundError:
        return "unknown: git is not installed", None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()
        return f"unknown: {reason[0] if reason else 'git failed'}", None


def unchanged(file: str) -> bool:
    """Whether a file is as it was committed; never outside of a git checkout."""
    command = ["git", "-C", str(paths.root()), "diff", "--quiet", "HEAD", "--", file]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True).returncode == 0
    return False


def environment() -> dict[str, object]:
    """Commit, digest of the lock, and the processor family whose linear algebra NumPy and SciPy take."""
    head, dirty = commit()
    lock = paths.root() / "requirements.lock"
    loaded = [one for one in threadpool_info() if one["user_api"] == "blas"]
    blas = {f"{one['internal_api']} {one.get('architecture', 'unknown')}" for one in loaded}
    return {
        "commit": head,
        "dirty": dirty,
        "lock_sha256": records.digest(lock.read_bytes()) if lock.is_file() else None,
        "blas_core": ", ".join(sorted(blas)),
    }


def checksums(dataset: object) -> dict[str, str]:
    """The checksum of a data set: in the registry, or of a file of one's own, whose path is its name."""
    if dataset is None:
        return {}
    with contextlib.suppress(RegistryError):
        return {str(dataset): datasets.checksum(str(dataset))}
    path = Path(str(dataset))
    return {str(dataset): records.digest(path.read_bytes())} if path.is_file() else {}


def versions(experiment_id: str, methods: Iterable[object]) -> dict[str, int]:
    """Declared versions of a protocol and of the methods that it ran (``data/versions.yml``)."""
    path = paths.data("versions.yml")
    given = _declared(path) if path.is_file() else {}
    known = given.get("methods", {})
    own = {f"method {name}": known[name] for name in sorted({str(method) for method in methods} & known.keys())}
    return {"protocol": given.get("protocols", {}).get(experiment_id, FIRST)} | {
        name: version for name, version in own.items() if version != FIRST
    }


_Versions = Annotated[dict[str, Annotated[StrictInt, Field(ge=FIRST)]], BeforeValidator(lambda given: given or {})]
_DECLARED = TypeAdapter(dict[Literal["protocols", "methods"], _Versions])


@records.kept
def _declared(path: Path) -> Mapping[str, Mapping[str, int]]:
    try:
        return _DECLARED.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, ValidationError) as error:
        why = said(error) if isinstance(error, ValidationError) else f"it is not YAML ({error})"
        raise ResultError(f"{path.name}: {why}. Correct it; the versions are declared there.") from error
