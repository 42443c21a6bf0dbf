"""What the checks of contradictions share: possible outcomes, and the answers of claims read as outcomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evenspan.core.errors import ResultError

from .claim_rules import HOLDS, IN_PART, NOT_SO, Answer
from .claim_rules import OPEN as PENDING
from .claims import registered

#: What is said is right and the objection is not; the other way round; each in some cases; both, in the reading that
#: the evidence names; neither; not to be decided from what is at hand.
FIRST, SECOND, PART = "the statement holds", "the objection holds", "each in part"
BOTH, NEITHER, OPEN = "both hold as read here", "neither holds", "cannot be decided"

#: Outcome and evidence; None as long as stored results that are needed are missing.
Outcome = tuple[str, str] | None
Check = Callable[[], Outcome]


def answer_of(claim: str) -> Answer | None:
    """The computed answers to a claim of ``claims.csv`` with their evidence; None if it cannot be answered yet."""
    if claim in (found := registered()):
        return found[claim][1]()
    raise ResultError(
        f"No protocol answers the claim {claim}; a contradiction is resolved by it. Restore its function."
    )


@dataclass(frozen=True)
class ByClaim:
    """A check that follows from claims: the weakest of their answers on one side decides.

    ``printed`` decides where the tables are held against the words; ``here`` where theory, a computation or our runs
    are. So a contradiction and a claim about the same thing are one computation, and cannot disagree.

    Parameters
    ----------
    claims : tuple of str
    side : {"printed", "here"}
    outcomes : mapping of str to str
        Outcome of an answer, where it is not the usual one: the statement holds, each in part, the objection holds.
    also : str
        What else is to be said.
    """

    claims: tuple[str, ...]
    side: str
    outcomes: Mapping[str, str] = field(default_factory=dict)
    also: str = ""

    def of(self, answers: list[str]) -> str:
        """The outcome for these answers to the claims."""
        known = {NOT_SO: SECOND, IN_PART: PART, HOLDS: FIRST}
        weakest = next((one for one in known if one in answers), "") if set(answers) <= set(known) else ""
        return self.outcomes.get(weakest, known[weakest]) if weakest else OPEN

    def __call__(self) -> Outcome:
        found = {claim: answer_of(claim) for claim in self.claims}
        if any(answer is None or getattr(answer, self.side) == PENDING for answer in found.values()):
            return None
        answers = [getattr(answer, self.side) or "" for answer in found.values()]
        words = [f"{found[c].evidence} (Claim {c}: {answer}.)" for c, answer in zip(found, answers, strict=True)]
        return self.of(answers), " ".join([*words, *([self.also] if self.also else [])])


def by_claim(*claims: str, side: str = "here", also: str = "", **outcomes: str) -> ByClaim:
    """A :class:`ByClaim`; the outcomes are named ``holds``, ``in_part`` and ``not_so``."""
    names = {"holds": HOLDS, "in_part": IN_PART, "not_so": NOT_SO}
    return ByClaim(claims, side, {names[name]: outcome for name, outcome in outcomes.items()}, also)


def by_count(good: int, total: int) -> str:
    """The first place holds in all cases, in some, or in none."""
    return FIRST if good == total else PART if good else SECOND
