"""Where the papers contradict themselves or one another: described in ``data/paper/contradictions.csv``, resolved here.

The file says neutrally what is said, where, and what is held against it. Which of the two holds is computed: it follows
from ``claims``, or from a check of a room (``CONTRADICTIONS``), a recount, a computation, or our stored runs.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from .. import records
from ..claim_rules import BOTH, FIRST, HOLDS, IN_PART, NEITHER, NOT_JUDGED, NOT_SO, PART, PENDING, SECOND, UNDECIDED
from ..store import MissingNumbersError, full
from .claims import answering, registered, shown
from .verdicts import Result

#: Possible outcomes in the order of the page, and the result whose mark they share.
MARKS = {
    FIRST: Result.DESCRIBED,
    SECOND: Result.NOT,
    PART: Result.OTHER,
    BOTH: Result.DESCRIBED,
    NEITHER: Result.NOT,
    UNDECIDED: Result.NO_TEST,
    PENDING: Result.NO_TEST,
}
#: Columns of the outcomes that follow from answers, the weakest first, and what they are where they are blank.
OUTCOMES = {"not_so": (NOT_SO, SECOND), "in_part": (IN_PART, PART), "holds": (HOLDS, FIRST)}


def described() -> pd.DataFrame:
    """The descriptions, one row a contradiction."""
    return records.paper_table("contradictions", words=True)


def resolved() -> pd.DataFrame:
    """The descriptions with ``outcome`` and ``evidence``, computed now."""
    if (known := records.computed_once("contradictions")) is not None:
        return known
    frame, checks, found = described(), {}, []
    for module in answering().values():
        checks |= getattr(module, "CONTRADICTIONS", {})
    for row in frame.to_dict("records"):
        try:
            outcome, evidence = by_claims(row) if row["claims"] else checks[row["id"]]()
        except MissingNumbersError:
            outcome, evidence = PENDING, "Results that it needs are not stored in this checkout."
        found.append((outcome, shown(evidence)))
    return frame.join(pd.DataFrame(found, columns=["outcome", "evidence"]))


def by_claims(row: Mapping[str, str]) -> tuple[str, str]:
    """What follows from claims: the weakest of their answers on one side decides.

    That is ``printed`` where a recount holds the tables against the words, and else ``described``. A claim that no
    outcome could turn decides nothing."""
    side, known = "printed" if row["known_by"] == "recount" else "described", registered()
    found = {claim: known[claim][1](full) for claim in row["claims"].split()}
    answers = [getattr(answer, side) or "" for answer in found.values()]
    if any(getattr(one, side) == NOT_JUDGED and "reason" not in one.numbers for one in found.values()):
        raise MissingNumbersError(f"Not judged yet: {row['claims']}.")
    words = [f"{shown(found[c].numbers)} (Claim {c}: {answer}.)" for c, answer in zip(found, answers, strict=True)]
    return outcome_of(row, answers), " ".join([*words, row["also"]]).rstrip()


def outcome_of(row: Mapping[str, str], answers: Iterable[str]) -> str:
    """The outcome of a contradiction for these answers to its claims."""
    outcomes = {answer: row[column] or default for column, (answer, default) in OUTCOMES.items()}
    if not set(answers) <= set(outcomes):
        return UNDECIDED
    return next(outcome for answer, outcome in outcomes.items() if answer in answers)
