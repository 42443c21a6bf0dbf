"""What an answer to a claim is, and the numbers by which claims and findings in words are judged.

A claim may have two answers: whether the paper agrees with its own tables (*printed*), and whether our computation or
our stored runs bear it out (*here*). A claim about a table is judged by one rule, applied to the printed and to our
numbers.

"Much faster" or "comparable" have no numbers in the papers. Ours stand in ``data/tolerances.yml``, sections ``claims``
and ``findings``, each with a name, the claim or finding that it is for and what it means in words; a function that
answers a claim asks for them by these names and types none.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, NamedTuple

import pandas as pd
import yaml
from pydantic import Field, StrictFloat, StrictInt, TypeAdapter, ValidationError

from evenspan.core.errors import ResultError

from .. import paths
from ..catalogue import Entry, Text, said

FILE, SECTIONS = "tolerances.yml", ("claims", "findings")
COLUMNS = ["claim", "rule", "value", "words"]
HOLDS, IN_PART, NOT_SO = "holds", "holds in part", "does not hold"
#: Named states that are no answers: with its reason in the evidence, and waiting for results.
NOT_COMPUTABLE, OPEN = "not computable", "not yet judged"


class Answer(NamedTuple):
    """Both answers to a claim and their evidence; None where an answer makes no sense.

    ``here`` is what our computation or our stored runs say, ``printed`` whether the paper agrees with what it prints.
    """

    here: str | None
    evidence: str
    printed: str | None = None


#: What gives numbers: those that are printed, or ours.
Source = Callable[..., pd.DataFrame]


class MissingNumbersError(ResultError):
    """Stored numbers that a claim needs are not there (yet)."""


def by_truth(true: object) -> str:
    """True: holds; false: does not hold."""
    return HOLDS if true else NOT_SO


def by_parts(parts: Iterable[bool]) -> str:
    """All: holds; some: holds in part; none: does not hold."""
    parts = [bool(part) for part in parts]
    return HOLDS if all(parts) else IN_PART if any(parts) else NOT_SO


def by_count(count: int, claimed: float, others: Iterable[int]) -> str:
    """Best so many times as claimed: holds; best more often than any other: holds in part; else does not hold."""
    return HOLDS if count == claimed else IN_PART if count > max(others) else NOT_SO


def both(told: Callable[[Source], tuple[str, str]], printed: Source, ours: Source) -> Answer:
    """One rule applied to the printed and to our numbers.

    Parameters
    ----------
    told : callable
        Gives the answer of a source of numbers and its evidence, without a full stop.
    printed, ours
        The two sources; ours may raise :class:`MissingNumbersError`.
    """
    theirs, words = told(printed)
    try:
        mine, own = told(ours)
    except MissingNumbersError:
        return Answer(OPEN, f"Printed: {words}.", theirs)
    return Answer(mine, f"Printed: {words}. Ours: {own}.", theirs)


class Rule(Entry):
    """A number with its meaning; ``said`` are the words of the claim that it is taken from, empty if it is ours."""

    value: StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    words: Text
    said: Text = Field("", validate_default=False)


Rules = Mapping[str, Mapping[str, Rule]]
_SECTION = TypeAdapter(dict[str, Annotated[dict[str, Rule], Field(min_length=1)]])


def rule(claim: str, name: str) -> float:
    """The number of a rule.

    Parameters
    ----------
    claim : str
        Number of the claim, as in ``data/paper/claims.csv``, or key of the finding.
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
            f"{FILE} has no rule {name!r} for {claim}; it has {have}. Add it to its section, with its value "
            "and its words, or correct the name."
        )
    return found[claim][name].value


def rules() -> Rules:
    """All rules by claim or finding, and name, in the order of the file."""
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
def _read(path: Path, changed: int) -> Rules:
    found = {}
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name in SECTIONS:
            section = _SECTION.validate_python((given if isinstance(given, dict) else {}).get(name))
            if twice := found.keys() & section.keys():
                raise ResultError(f"{path.name}: {', '.join(twice)} has rules in both sections. Give it one.")
            found |= section
    except yaml.YAMLError as error:
        raise ResultError(f"{path.name} is not YAML ({error}). Correct it; the rules are defined there.") from error
    except ValidationError as error:
        wanted = "rules by name, each with value (a number: 1.0e-9, not 1e-9), words and perhaps said"
        raise ResultError(f"{path.name}, section {name}: {said(error)}. It needs {wanted}.") from None
    return MappingProxyType(found)
