"""Which stored numbers differ between a commit and now: what *Numbers changed* in ``CHANGELOG.md`` counts."""

import csv
import io
import math
import subprocess
import tarfile
from dataclasses import dataclass

from evenspan.core.errors import ConfigurationError

from .. import paths
from ..recheck import tolerances

_FOLDER = "data/results/full"
_EMPTY = bytes(1024)  # an archive without members


@dataclass(frozen=True)
class Change:
    """One experiment: how many of the numbers that are in both states differ, and how many are new or gone."""

    experiment: str
    both: int
    differing: int
    new: int
    gone: int
    largest: float


def changed(commit: str) -> list[Change]:
    """Compare the results of the full runs with those of a commit.

    Parameters
    ----------
    commit : str
        Any name of a commit: a tag, a branch, a hash.

    Returns
    -------
    list of Change
        Experiments with a number that differs, is new or is gone, in the order of their names. Two numbers differ if
        they are further apart than ``data/tolerances.yml`` allows a task that is computed again; ``largest`` is the
        largest relative difference among them.
    """
    git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    then: dict[str, dict[tuple, str]] = {}
    listed = git("ls-tree", "-r", "-z", "--name-only", commit, "--", _FOLDER).decode()
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "--", _FOLDER) if listed else _EMPTY)) as tar:
        for member in tar:
            if member.name.endswith(".csv"):
                rows = _rows(tar.extractfile(member).read().decode())
                then.setdefault(member.name.split("/")[3], {}).update(rows)
    now: dict[str, dict[tuple, str]] = {}
    for path in sorted(paths.root().joinpath(_FOLDER).glob("*/*.csv")):
        now.setdefault(path.parent.name, {}).update(_rows(path.read_text(encoding="utf-8")))
    found = [_change(name, then.get(name, {}), now.get(name, {})) for name in sorted(then.keys() | now.keys())]
    return [one for one in found if one.differing or one.new or one.gone]


def _change(name: str, then: dict[tuple, str], now: dict[tuple, str]) -> Change:
    allowed = tolerances(name)
    same = [(key, then[key], now[key]) for key in then.keys() & now.keys()]
    apart = [
        (old, new)
        for key, old, new in same
        if not _agree(allowed.of(dict(key)["metric"], dict(key).get("method", "")), old, new)
    ]
    return Change(
        name,
        len(same),
        len(apart),
        len(now.keys() - then.keys()),
        len(then.keys() - now.keys()),
        max((_relative(old, new) for old, new in apart), default=0.0),
    )


def _agree(allowed: tuple[float, float], old: str, new: str) -> bool:
    if not old or not new:
        return old == new
    rtol, atol = allowed
    return abs(float(new) - float(old)) <= atol + rtol * abs(float(old))


def _relative(old: str, new: str) -> float:
    if not old or not new:
        return math.inf
    first, second = float(old), float(new)
    return abs(first - second) / max(abs(first), abs(second))


def _rows(text: str) -> dict[tuple, str]:
    """Values by everything else that a row says, but for its unit and the reason of a missing one."""
    apart = ("value", "reason", "task")
    rows = csv.DictReader(io.StringIO(text))
    return {tuple((k, v) for k, v in sorted(row.items()) if v and k not in apart): row["value"] for row in rows}


def git(*words: str) -> bytes:
    """What git says of the checkout."""
    try:
        command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
        return subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise ConfigurationError("git is not installed, and an earlier state is read with it. Install it.") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise ConfigurationError(
            f"git {' '.join(words[:2])} failed ({said or 'no such commit'}). Give a commit of this checkout."
        ) from None
