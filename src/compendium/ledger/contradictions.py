"""Where the papers contradict themselves or one another: described in ``data/paper/contradictions.csv``, resolved here.

The file holds neutral descriptions only: what is said, where, and what is held against it. Which of the two holds is
computed, by a check for every contradiction: a recount of the printed tables, a computation, or our stored runs.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from .. import paths, records
from ..claim_rules import (
    BOTH,
    FIRST,
    HOLDS,
    IN_PART,
    NEITHER,
    NOT_JUDGED,
    NOT_SO,
    PART,
    PENDING,
    SECOND,
    UNDECIDED,
    Numbers,
)
from ..store import MissingNumbersError
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
#: Raises MissingNumbersError as long as stored results that are needed are missing.
Check = Callable[[], tuple[str, Numbers | str]]


def checks() -> Mapping[str, Check]:
    """The checks by contradiction: what follows from claims, and those of the rooms (``CONTRADICTIONS``)."""
    found = dict(CHECKS)
    for module in answering().values():
        found |= getattr(module, "CONTRADICTIONS", {})
    return found


def described() -> pd.DataFrame:
    """The descriptions, one row a contradiction."""
    return pd.read_csv(paths.data("paper", "contradictions.csv"), dtype=str, keep_default_na=False)


def resolved() -> pd.DataFrame:
    """The descriptions with ``outcome`` and ``evidence``, computed now."""
    if (known := records.computed_once("contradictions")) is not None:
        return known
    frame, check, found = described(), checks(), []
    for name in frame["id"]:
        try:
            outcome, evidence = check[name]()
        except MissingNumbersError:
            outcome, evidence = PENDING, "Results that it needs are not stored in this checkout."
        found.append((outcome, shown(evidence)))
    return frame.join(pd.DataFrame(found, columns=["outcome", "evidence"]))


class ByClaim:
    """A check that follows from claims: the weakest of their answers on one side decides.

    The side ``printed`` decides where the tables are held against the words; ``here`` where theory, a computation or
    our runs are. So a contradiction and a claim about the same thing are one computation, and cannot disagree.
    ``holds``, ``in_part`` and ``not_so`` are the outcomes of the answers; ``also`` is what else is to be said.
    """

    def __init__(self, *claims: str, side="here", also="", holds=FIRST, in_part=PART, not_so=SECOND) -> None:
        self.claims, self.side, self.also = claims, side, also
        self.outcomes = {NOT_SO: not_so, IN_PART: in_part, HOLDS: holds}  # the weakest answer first

    def of(self, answers: list[str]) -> str:
        """The outcome for these answers to the claims."""
        if not set(answers) <= set(self.outcomes):
            return UNDECIDED
        return next(outcome for answer, outcome in self.outcomes.items() if answer in answers)

    def __call__(self) -> tuple[str, str]:
        known = registered()
        found = {claim: known[claim][1]() for claim in self.claims}
        answers = [getattr(answer, self.side) or "" for answer in found.values()]
        if NOT_JUDGED in answers:
            raise MissingNumbersError(f"Not judged yet: {', '.join(self.claims)}.")
        words = [f"{shown(found[c].numbers)} (Claim {c}: {answer}.)" for c, answer in zip(found, answers, strict=True)]
        return self.of(answers), " ".join([*words, self.also]).rstrip()


#: Claim V08 is the rate of Theorem 4.3.
_RATE = "The rate itself is that of the best iterate; claim V08 judges it."
_NOTATION = (
    "Read as 'a size of this order suffices', with each accuracy told by its exponent and S as the difference of the "
    "group covariances, the sizes can be compared with runs."
)
_REFERENCES = (
    "Of the two numbers of the reference the one in the timing paragraph is that of a data repository; the other is "
    "meant."
)
CHECKS: Mapping[str, Check] = {
    # Words against printed times: our times decide.
    "X01": ByClaim("R11"),
    "X02": ByClaim("R09"),
    "X03": ByClaim("R12", "R13", side="printed"),
    "X04": ByClaim("R15", side="printed"),
    "X05": ByClaim("R17", side="printed"),
    "X09": ByClaim("R21"),
    "X11": ByClaim("R22", holds=SECOND, not_so=FIRST),
    "X12": ByClaim("R05"),
    "X13": ByClaim("R03"),
    "X14": ByClaim("R24", also=_REFERENCES),
    "X16": ByClaim("L02"),
    "X17": ByClaim("L04", holds=BOTH, in_part=UNDECIDED, not_so=UNDECIDED, also=_NOTATION),
    # The sentences describe the table without the faces: there both hold.
    "X19": ByClaim("V18", "V20", side="printed", in_part=BOTH),
    "X20": ByClaim("V21", side="printed"),
    "X21": ByClaim("V17", side="printed"),
    "X22": ByClaim("V25"),
    "X24": ByClaim("V01"),
    "X25": ByClaim("V11"),
    "X26": ByClaim("V04", "V05", in_part=SECOND),
    "X27": ByClaim("V07", holds=UNDECIDED, in_part=UNDECIDED, also=_RATE),
    "X28": ByClaim("Z10", side="printed"),
}
