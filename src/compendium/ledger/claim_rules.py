"""What an answer to a claim is, and the numbers by which claims and findings in words are judged.

A claim may have two answers: whether the paper agrees with its own tables (*printed*), and whether our computation or
our stored runs bear it out (*here*). A claim about a table is judged by one rule, applied to the printed and to our
numbers.

"Much faster" or "comparable" have no numbers in the papers. Ours stand in ``data/tolerances.yml``, sections ``claims``
and ``findings``, each with a name, the claim or finding that it is for and what it means in words; a function that
answers a claim asks for them by these names and types none.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from evenspan.core.errors import ResultError

from ..store import MissingNumbersError
from .verdicts import ClaimRule, rule_file

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


def by_share(good: int, total: int, in_part: float) -> str:
    """Everywhere: holds; in at least this share of the cases: holds in part; in fewer: does not hold."""
    return HOLDS if good == total else IN_PART if good >= in_part * total else NOT_SO


def both(told: Callable[[Source], tuple[str, str]], printed: Source, ours: Source) -> Answer:
    """One rule applied to the printed and to our numbers, which may be missing.

    ``told`` gives the answer of a source of numbers and its evidence, without a full stop.
    """
    theirs, words = told(printed)
    try:
        mine, own = told(ours)
    except MissingNumbersError:
        return Answer(OPEN, f"Printed: {words}.", theirs)
    return Answer(mine, f"Printed: {words}. Ours: {own}.", theirs)


def told_by_name(values: Mapping[str, float] | pd.Series, form: str) -> str:
    """Named numbers as they stand in an evidence: ``PCA 1.20, LEACE 1.05`` with the format ``.2f``."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def rules() -> dict[str, Mapping[str, ClaimRule]]:
    """All rules by claim or finding, and name, in the order of the file."""
    given = rule_file()
    if twice := given.claims.keys() & given.findings.keys():
        raise ResultError(f"tolerances.yml: {', '.join(twice)} has rules in both sections. Give it one.")
    return {**given.claims, **given.findings}


def rule(claim: str, name: str) -> float:
    """The number of a rule of a claim, by its number in ``data/paper/claims.csv``, or of a finding, by its key.

    >>> rule("V14", "data sets")
    11
    """
    named = rules().get(claim, {})
    if name not in named:
        raise ResultError(
            f"tolerances.yml has no rule {name!r} for {claim}; it has {', '.join(named) or 'none'}. Add it to its "
            "section, with its value and its words, or correct the name."
        )
    return named[name].value
