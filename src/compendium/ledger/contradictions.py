"""Where the papers contradict themselves or one another: described in ``data/paper/contradictions.csv``, resolved here.

The file holds neutral descriptions only: what is said, where, and what is held against it. Which of the two holds is
computed, by a check for every contradiction: a recount of the printed tables, a computation, or our stored runs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pandas as pd

from evenspan.core.errors import ResultError
from evenspan.reconstruction.min_max import solve_min_max

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
    Answer,
    Outcome,
)
from ..papers.kleindessner2023.readings import summary
from ..papers.rathore2025 import protocol as rathore
from ..papers.vu2022.readings import agreement
from ..store import MissingNumbersError, full
from .claims import answering, registered, shown
from .verdicts import Result

COLUMNS = ("id", "paper", "kind", "where", "says", "against", "known_by")
KINDS = ("tables against prose", "tables against each other", "definitions", "theory", "references", "between papers")
#: How an outcome is known: the printed tables counted again, a computation of ours, a proof with its check, or reading.
KNOWN_BY = ("recount", "computation", "derivation", "reading")
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
Check = Callable[[], Outcome]


@cache
def checks() -> Mapping[str, Check]:
    """The checks by contradiction: what follows from claims, and those of the rooms (``CONTRADICTIONS``)."""
    found = dict(CHECKS)
    for _, module in sorted(answering().items()):
        found |= getattr(module, "CONTRADICTIONS", {})
    return found


def described() -> pd.DataFrame:
    """The descriptions, one row a contradiction, checked."""
    path = paths.data("paper", "contradictions.csv")
    if not path.is_file():
        raise ResultError(f"{path} is missing. Restore it from the repository.")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(frame.columns) != COLUMNS:
        raise ResultError(f"{path} must have the columns {', '.join(COLUMNS)}, but has {', '.join(frame)}.")
    for column, allowed in (("kind", KINDS), ("known_by", KNOWN_BY)):
        if unknown := sorted(set(frame[column]) - set(allowed)):
            raise ResultError(f"{path}, {column}: {', '.join(unknown)}; possible are {', '.join(allowed)}.")
    if frame["id"].duplicated().any() or set(frame["id"]) != set(checks()):
        odd = sorted(set(frame["id"]) ^ set(checks())) or sorted(frame.loc[frame["id"].duplicated(), "id"])
        raise ResultError(
            f"{path} and the checks must name the same contradictions, each once; look at {', '.join(odd)}."
        )
    if blank := [row["id"] for row in frame.to_dict("records") if not all(value.strip() for value in row.values())]:
        raise ResultError(f"{path} has empty cells in {', '.join(blank)}. Describe both places.")
    return frame


def resolved(ids: Sequence[str] | None = None, *, paper: str | None = None) -> pd.DataFrame:
    """The descriptions with ``outcome`` and ``evidence``, computed now; all, those of ``ids``, or those of a paper."""
    frame = described()
    if paper is not None:
        frame = frame[frame["paper"] == paper]
    if ids is not None:
        if unknown := [name for name in ids if name not in set(frame["id"])]:
            raise ResultError(f"There is no contradiction {', '.join(unknown)}; there are {', '.join(frame['id'])}.")
        frame = frame[frame["id"].isin(ids)]
    if (known := records.computed_once("contradictions")) is not None:
        return known[known["id"].isin(frame["id"])].reset_index(drop=True)
    found = []
    for name in frame["id"]:
        try:
            outcome, evidence = checks()[name]()
        except MissingNumbersError:
            outcome, evidence = PENDING, "Results that it needs are not stored in this checkout."
        if outcome not in MARKS or not evidence:
            raise ResultError(f"The check of {name} gave {outcome!r}; possible are {', '.join(MARKS)}, with evidence.")
        found.append((outcome, shown(evidence)))
    columns = pd.DataFrame(found, columns=["outcome", "evidence"], index=frame.index)
    return pd.concat([frame, columns], axis=1).reset_index(drop=True)


# ---- outcomes that follow from claims ----


def answer_of(claim: str) -> Answer:
    """The computed answers to a claim of ``claims.csv`` with their evidence."""
    if claim not in (found := registered()):
        raise ResultError(f"No protocol answers the claim {claim} that resolves a contradiction. Restore its function.")
    return found[claim][1]()


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

    def __call__(self) -> Outcome:
        found = {claim: answer_of(claim) for claim in self.claims}
        if any(getattr(answer, self.side) == NOT_JUDGED for answer in found.values()):
            raise MissingNumbersError(f"Not judged yet: {', '.join(self.claims)}.")
        answers = [getattr(answer, self.side) or "" for answer in found.values()]
        words = [f"{shown(found[c].numbers)} (Claim {c}: {answer}.)" for c, answer in zip(found, answers, strict=True)]
        return self.of(answers), " ".join([*words, self.also]).rstrip()


def larger_loss_or_error() -> Outcome:
    """X32: which objective gives the printed numbers of the method of Samadi et al., in both papers."""
    equal, total = {"loss": 0, "error": 0}, 0
    for name in ("diabetes", "npha"):
        moments, theirs = rathore.moments(name), rathore.printed(name)["FairPCA_SDP_LP"][list(rathore.PRINTED)]
        S, total = rathore.matrices(moments, "global"), total + theirs.size
        for kind in equal:
            ours = [rathore.judged(moments, solve_min_max(*S, k, kind)[0]) for k in theirs.index]
            off = (pd.DataFrame(ours, index=theirs.index) - theirs).abs()
            equal[kind] += int((off <= rathore.HALF_DIGIT).sum(axis=None))
    named = ("FairPCA", "FairPCA (exact)", "FairPCA (error, exact)")
    rows = full("vu2022-tables", "method", method=named)
    off = agreement(rows[rows["dataset"] != "lfw_24x24"], dict.fromkeys(named, "FairPCA"))
    off = off[off["table"].isin(["Table 1", "Table 3"])].groupby("ours")["median deviation"].max()
    nearer = off["FairPCA (exact)"] < off["FairPCA (error, exact)"]
    return (FIRST if equal["loss"] == total > equal["error"] and nearer else UNDECIDED), (
        f"Of {total} numbers printed by Rathore and Manwani for Diabetes and NPHA the smallest larger loss gives "
        f"{equal['loss']}, the smallest larger error {equal['error']}. In Tables 1 and 3 of Vu et al. the median "
        f"deviation of the FairPCA column is at most {off['FairPCA (exact)']:.2%} from the exact solution for the "
        f"loss and {off['FairPCA (error, exact)']:.2%} from that for the error ({off['FairPCA']:.2%} from their "
        "program, which takes the loss). Both papers ran the loss; the sentence about the error describes something "
        "else."
    )


def two_discrepancies() -> Outcome:
    """X33: what is printed as MMD^2 by Kleindessner et al., against the squared distance of the means."""
    rows = full("kleindessner2023-table", dataset="adult", k=10, method="Fair PCA")
    mean = summary(rows).set_index(["protocol", "metric"])["mean"]
    cells = pd.read_csv(paths.data("paper", "kleindessner2023_adult_k10.csv"))
    theirs = float(cells[(cells["method"] == "Fair PCA") & (cells["metric"] == "MMD^2")]["value"].iloc[0])
    kernel, square = mean["released", "MMD^2"], mean["held-out", "mean gap"] ** 2
    inside, zero = mean["in sample", "MMD^2"], mean["in sample", "mean gap"]
    agrees = abs(kernel - theirs) <= 0.0005 < abs(square - theirs)
    return (BOTH if agrees and zero < 1e-9 < inside else UNDECIDED), (
        f"Printed {theirs:g} for Fair PCA; with a Gaussian kernel on the test parts ours is {kernel:.4f}. On the "
        f"training parts the means coincide (distance {zero:.0e}) and the kernel still finds {inside:.4f}, since it "
        f"sees more than means; on the test parts the square of the mean distance is {square:.3f}. Two quantities "
        "have one name: a kernel distance of distributions there, the squared distance of means in the other paper."
    )


# ---- all checks ----

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
    "X32": larger_loss_or_error,
    "X33": two_discrepancies,
}
