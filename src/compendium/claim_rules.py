"""What a room says of a claim or a contradiction, and the numbers in ``data/tolerances.yml`` by which it judges.

A claim has up to three answers, and none overrides another: what the paper's own numbers say (*as printed*), what the
rows of the released program say (*by the released program*), and what our computation says of the method as the paper
describes it (*as described*). An answer comes with the numbers behind it, by name.

"Much faster" or "comparable" have no numbers in the papers. Ours stand in ``data/tolerances.yml``, each with a name and
what it means in words; a function that answers a claim asks for them by these names and types none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, NamedTuple

import pandas as pd
import yaml
from pydantic import AfterValidator, Field, StrictFloat, StrictInt

from evenspan.core.errors import ResultError

from . import paths
from .catalogue import Entry
from .store import MissingNumbersError

HOLDS, IN_PART, NOT_SO = "holds", "holds in part", "does not hold"
#: Data, results or a measure are missing, or no outcome could make it false; the reason stands among the numbers.
NOT_JUDGED = "not judged"

#: Of a contradiction: what is said is right and the objection is not; the other way round; each in some cases; both, in
#: the reading that the numbers name; neither; not to be decided from what is available; its results are not stored.
FIRST, SECOND, PART = "the statement holds", "the objection holds", "each in part"
BOTH, NEITHER, UNDECIDED = "both hold as read here", "neither holds", "cannot be decided"
PENDING = "not yet computed"

#: What stands behind an answer, by name: numbers, counts such as ``"3 of 4"``, or a reason.
Numbers = Mapping[str, object]


class Answer(NamedTuple):
    """The three answers to a claim and the numbers behind them; None where nothing is asked of that side.

    ``cells`` says which printed numbers the last two rest on, by columns of the ledger: their agreement is shown."""

    described: str | None
    numbers: Numbers
    printed: str | None = None
    program: str | None = None
    cells: Mapping[str, Sequence[str]] = MappingProxyType({})


#: Outcome of a contradiction and the numbers behind it.
Outcome = tuple[str, Numbers]


#: What gives numbers: those that are printed, or ours.
Source = Callable[..., pd.DataFrame]
#: Rows of experiments: ``rows(experiment, *every, **where)`` gives those that have one of the values of each column in
#: ``where``, and raises a :class:`~compendium.store.MissingNumbersError` that names what is missing if there are none,
#: or none for one of the values of a column in ``every``. The ledger gives the stored ones, by
#: :func:`compendium.store.full`; a reader's own run gives those of its experiment.
Rows = Callable[..., pd.DataFrame]
#: What answers a claim: a function of rows.
Claim = Callable[[Rows], Answer]


def by_truth(true: object, in_part: object = False) -> str:
    """True: holds; false: does not hold, or in part."""
    return HOLDS if true else IN_PART if in_part else NOT_SO


def unjudged(reason: str, answer: Claim = lambda rows: Answer(NOT_JUDGED, {}), printed: str | None = None) -> Claim:
    """A claim that no outcome available can bear out or refute; the numbers of ``answer`` stand beside the reason."""
    return lambda rows: Answer(NOT_JUDGED, {"reason": reason} | {**answer(rows).numbers}, printed)


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


def three_answers(
    rule: Callable[[Source], Outcome],
    printed: Source | None,
    described: Source,
    program: Source | None = None,
    cells: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Answer:
    """One rule, which gives an answer and the numbers behind it, applied to numbers of every origin."""
    sources = {"printed": printed, "released program": program, "described": described}
    answers, numbers = dict.fromkeys(sources), {}
    for side, source in sources.items():
        if source is None:
            continue
        try:
            answers[side], found = rule(source)
        except MissingNumbersError as error:
            answers[side], found = NOT_JUDGED, {"missing": str(error)}
        numbers |= {f"{name}, {side}": value for name, value in found.items()}
    return Answer(answers["described"], numbers, answers["printed"], answers["released program"], cells)


Number = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
_Size = Annotated[Number, Field(ge=0), AfterValidator(lambda size: Decimal(str(size)))]
_Sizes = Mapping[str, _Size]


class ClaimRule(Entry):
    """A number with its meaning; ``said`` are the words of the claim that it is taken from, empty if it is ours."""

    value: Number
    words: str
    said: str = ""


_ClaimRules = Mapping[str, Annotated[Mapping[str, ClaimRule], Field(min_length=1)]]


class RuleFile(Entry):
    """The file ``data/tolerances.yml``; ``recheck`` is read where results are computed again."""

    significant_digits: StrictInt
    exact: _Sizes
    close: _Sizes
    evaluation: _Sizes
    same_ordering: _Sizes
    column: _Sizes
    recheck: dict
    claims: _ClaimRules
    findings: _ClaimRules


def rule_file() -> RuleFile:
    """The rules by which numbers, claims and findings are judged, checked."""
    remedy = "Correct it (a number is written 1.0e-9, not 1e-9), or restore it; its head says what is needed."
    return paths.read(paths.data("tolerances.yml"), _read, remedy)


@lru_cache(maxsize=4)
def _read(content: bytes) -> RuleFile:
    return RuleFile.model_validate(yaml.load(content, Loader=yaml.CSafeLoader))


def rules() -> dict[str, Mapping[str, ClaimRule]]:
    """All rules by claim or finding, and name, in the order of the file."""
    return {**rule_file().claims, **rule_file().findings}


def rule(claim: str, name: str) -> float:
    """The number of a rule of a claim, by its number in ``data/paper/claims.csv``, or of a finding, by its key."""
    named = rules().get(claim, {})
    if name not in named:
        raise ResultError(f"tolerances.yml has no rule {name!r} for {claim}; it has {', '.join(named) or 'none'}.")
    return named[name].value
