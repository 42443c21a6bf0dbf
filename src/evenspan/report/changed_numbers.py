"""Which stored numbers differ between a commit and now: what *Numbers changed* in ``CHANGELOG.md`` counts."""

import csv
import fnmatch
import io
import math
import subprocess
from dataclasses import dataclass

from .. import paths
from ..errors import ConfigurationError
from ..experiments.recheck import recheck_tolerance

_FOLDER = "data/results/full"


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
    _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    names = _git("diff", "--name-only", "-z", commit, "--", _FOLDER).split("\0")
    names += _git("ls-files", "--others", "--exclude-standard", "-z", "--", _FOLDER).split("\0")
    listed = set(_git("ls-tree", "-r", "-z", "--name-only", commit, "--", _FOLDER).split("\0"))
    found: dict[str, list] = {}
    touched = {one for one in names if one.endswith(".csv")}
    for name in sorted(touched):
        path = paths.root() / name
        then = _rows(_git("show", f"{commit}:{name}")) if name in listed else {}
        now = _rows(path.read_text(encoding="utf-8")) if path.is_file() else {}
        found.setdefault(name.split("/")[3], []).append((then, now))
    for name, pairs in found.items():
        for path in paths.results("full", name).glob("*.csv"):
            if path.relative_to(paths.root()).as_posix() not in touched:
                rows = _rows(path.read_text(encoding="utf-8"))
                pairs.append((rows, rows))
    return [one for name, pairs in sorted(found.items()) if _any(one := _change(name, pairs))]


def _change(name: str, pairs: list[tuple[dict, dict]]) -> Change:
    rule = recheck_tolerance(name)
    same = [(key, then[key], now[key]) for then, now in pairs for key in then.keys() & now.keys()]
    apart = [(old, new) for key, old, new in same if not _agree(dict(key)["metric"], old, new, rule)]
    return Change(
        name,
        len(same),
        len(apart),
        sum(len(now.keys() - then.keys()) for then, now in pairs),
        sum(len(then.keys() - now.keys()) for then, now in pairs),
        max((_relative(old, new) for old, new in apart), default=0.0),
    )


def _any(change: Change) -> bool:
    return bool(change.differing or change.new or change.gone)


def _agree(metric: str, old: str, new: str, rule: dict) -> bool:
    if not old or not new:
        return old == new
    chosen = next((own for name, own in rule.get("metrics", {}).items() if fnmatch.fnmatch(metric, name)), rule)
    return abs(float(new) - float(old)) <= chosen["atol"] + chosen["rtol"] * abs(float(old))


def _relative(old: str, new: str) -> float:
    if not old or not new:
        return math.inf
    first, second = float(old), float(new)
    return abs(first - second) / max(abs(first), abs(second))


def _rows(text: str) -> dict[tuple, str]:
    """Values by everything else that a row says, except for the reason of a missing one."""
    rows = csv.DictReader(io.StringIO(text))
    return {tuple((k, v) for k, v in sorted(row.items()) if k not in ("value", "reason")): row["value"] for row in rows}


def _git(*words: str) -> str:
    try:
        command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()
    except FileNotFoundError:
        raise ConfigurationError("git is not installed, and an earlier state is read with it. Install it.") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise ConfigurationError(
            f"git {' '.join(words[:2])} failed ({said or 'no such commit'}). Give a commit of this checkout."
        ) from None
