"""Which stored numbers differ between a commit and now: what *Numbers changed* in ``CHANGELOG.md`` counts."""

import csv
import io
import math
import subprocess
import tarfile
from typing import NamedTuple

from evenspan.core.errors import ConfigurationError

from .. import paths
from ..recheck import tolerances

_FOLDER = "data/results/full"
#: Values by everything else that a row says, but for its unit and the reason of a missing one.
_Numbers = dict[tuple, float]


class Change(NamedTuple):
    """One experiment: how many of the numbers that are in both states differ, and how many are new or gone."""

    experiment: str
    both: int
    differing: int
    new: int
    gone: int
    largest: float


def changed(commit: str) -> list[Change]:
    """Compare the results of the full runs with those of a commit, which may be a tag, a branch or a hash.

    Returns the experiments with a number that differs, is new or is gone, in the order of their names. Two numbers
    differ if they are further apart than ``data/tolerances.yml`` allows a task that is computed again; ``largest`` is
    the largest relative difference among them.
    """
    git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    then: dict[str, _Numbers] = {}
    if git("ls-tree", commit, "--", _FOLDER):
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "--", _FOLDER))) as tar:
            for member in tar:
                if member.name.endswith(".csv"):
                    text = tar.extractfile(member).read().decode()
                    then.setdefault(member.name.split("/")[3], {}).update(_numbers(text))
    now: dict[str, _Numbers] = {}
    for path in sorted(paths.root().joinpath(_FOLDER).glob("*/*.csv")):
        now.setdefault(path.parent.name, {}).update(_numbers(path.read_text(encoding="utf-8")))
    found = [_change(name, then.get(name, {}), now.get(name, {})) for name in sorted(then.keys() | now.keys())]
    return [one for one in found if one.differing or one.new or one.gone]


def _change(name: str, then: _Numbers, now: _Numbers) -> Change:
    allowed, both = tolerances(name), then.keys() & now.keys()
    apart = []
    for key in both:
        said = dict(key)
        if differs := _difference(then[key], now[key], *allowed.of(said["metric"], said.get("method", ""))):
            apart.append(differs)
    new, gone = len(now.keys() - then.keys()), len(then.keys() - now.keys())
    return Change(name, len(both), len(apart), new, gone, max(apart, default=0.0))


def _difference(old: float, new: float, rtol: float, atol: float) -> float:
    """Relative difference of two numbers that do not agree, infinite if one of them is missing; zero if they agree."""
    if old == new or (math.isnan(old) and math.isnan(new)) or abs(new - old) <= atol + rtol * abs(old):
        return 0.0
    relative = abs(new - old) / max(abs(old), abs(new))
    return math.inf if math.isnan(relative) else relative


def _numbers(text: str) -> _Numbers:
    apart = ("value", "reason", "task")
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        key = tuple((name, said) for name, said in sorted(row.items()) if said and name not in apart)
        found[key] = float(row["value"] or "nan")
    return found


def git(*words: str) -> bytes:
    """What git says of the checkout."""
    try:
        command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
        return subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise ConfigurationError("git is not installed; it is needed to read the checkout. Install it.") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise ConfigurationError(
            f"git {' '.join(words[:2])} failed ({said or 'no such commit'}). Run it in a clone, with a commit of it."
        ) from None
