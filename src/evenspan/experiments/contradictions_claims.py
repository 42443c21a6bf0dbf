"""What the checks of contradictions share: possible outcomes, and the answers of claims read as outcomes."""

from collections.abc import Callable

from ..errors import ResultError
from .catalogue import catalogue

#: What is said is right and the objection is not; the other way round; each in some cases; both, in the reading that
#: the evidence names; neither; not to be decided from what is at hand.
FIRST, SECOND, PART = "the statement holds", "the objection holds", "each in part"
BOTH, NEITHER, OPEN = "both hold as read here", "neither holds", "cannot be decided"

#: Outcome and evidence; None as long as stored results that are needed are missing.
Outcome = tuple[str, str] | None
Check = Callable[[], Outcome]


def answer_of(claim: str) -> tuple[str, str] | None:
    """The computed answer to a claim of ``claims.csv`` with its evidence; None if it cannot be answered yet."""
    for entry in catalogue().values():
        offered = getattr(entry.protocol(), "claims", {})
        if claim in offered:
            return offered[claim]()
    raise ResultError(
        f"No protocol answers the claim {claim}; a contradiction is resolved by it. Restore its function."
    )


def by_claim(claim: str, **outcomes: str) -> Check:
    """A check that takes over the answer to a claim: holds, in part, does not hold; names may be given other outcomes.

    Parameters
    ----------
    claim : str
    **outcomes : str
        ``holds``, ``in_part`` or ``not_so`` -> the outcome in that case.
    """
    known = {"holds": FIRST, "in_part": PART, "not_so": SECOND} | outcomes
    names = {"holds": "holds", "holds in part": "in_part", "does not hold": "not_so"}

    def check() -> Outcome:
        answer = answer_of(claim)
        if answer is None:
            return None
        return known[names[answer[0]]] if answer[0] in names else OPEN, f"{answer[1]} (Claim {claim}: {answer[0]}.)"

    return check


def by_count(good: int, total: int) -> str:
    """The first place holds in all cases, in some, or in none."""
    return FIRST if good == total else PART if good else SECOND
