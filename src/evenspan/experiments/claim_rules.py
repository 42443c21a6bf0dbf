"""The numbers by which claims in words are judged: ``data/tolerances.yml``, section ``claims``.

"Much faster" or "comparable" have no numbers in the papers. Ours stand in one file, each with a name, the claim that it
is for and what it means in words; a function that answers a claim asks for them by these names and types none.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd
import yaml

from .. import paths
from ..errors import ResultError

FILE = "tolerances.yml"
COLUMNS = ["claim", "rule", "value", "words"]


class Rule(NamedTuple):
    """A number with its meaning; ``said`` are the words of the claim that it is taken from, empty if it is ours."""

    value: float
    words: str
    said: str = ""


def rule(claim: str, name: str) -> float:
    """The number of a rule.

    Parameters
    ----------
    claim : str
        Number of the claim, as in ``data/paper/claims.csv``.
    name : str
        Name of the rule.

    Returns
    -------
    int or float

    Examples
    --------
    >>> rule("V14", "data sets")
    11
    """
    found = rules()
    if name not in found.get(claim, {}):
        have = ", ".join(found.get(claim, {})) or "none"
        raise ResultError(
            f"{FILE} has no rule {name!r} for the claim {claim}; it has {have}. Add it to the section claims, with "
            "its value and its words, or correct the name."
        )
    return found[claim][name].value


def rules() -> Mapping[str, Mapping[str, Rule]]:
    """All rules by claim and name, in the order of the file."""
    path = paths.data(FILE)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error}). Restore it; the rules are defined there.") from error


def described() -> pd.DataFrame:
    """One line for each rule: ``claim``, ``rule``, ``value``, ``words``."""
    return pd.DataFrame(
        [
            (claim, name, one.value, f"{one.words} (the claim: “{one.said}”)" if one.said else one.words)
            for claim, named in rules().items()
            for name, one in named.items()
        ],
        columns=COLUMNS,
    ).astype({"value": object})


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Mapping[str, Mapping[str, Rule]]:
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ResultError(f"{path.name} is not YAML ({error}). Correct it; the rules are defined there.") from error
    section = given.get("claims") if isinstance(given, dict) else None
    if not isinstance(section, dict):
        raise ResultError(f"{path.name} has no section claims with rules by claim, but {section!r}. Restore it.")
    found = {}
    for claim, named in section.items():
        if not isinstance(named, dict) or not named:
            raise ResultError(f"{path.name}: the claim {claim} needs rules by name, but has {named!r}.")
        found[claim] = MappingProxyType({name: _checked(f"{claim}, {name}", one) for name, one in named.items()})
    return MappingProxyType(found)


def _checked(where: str, given: object) -> Rule:
    known = isinstance(given, dict) and {"value", "words"} <= set(given) <= {*Rule._fields}
    if not known:
        raise ResultError(f"{FILE}, {where} needs the entries value and words, perhaps said, but holds {given!r}.")
    value, texts = given["value"], [given["words"], given.get("said", "-")]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ResultError(f"{FILE}, {where} needs a number as its value, but holds {value!r}. Write 1.0e-9, not 1e-9.")
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ResultError(f"{FILE}, {where} needs text as words and said, but holds {texts!r}.")
    return Rule(**given)
