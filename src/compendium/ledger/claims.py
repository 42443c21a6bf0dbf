"""The papers' claims and the answers that experiments computed for them.

The module ``claims`` of a paper answers them through ``CLAIMS``: for each experiment, by the number of a claim in
``data/paper/claims.csv``, a function of rows (:data:`~compendium.claim_rules.Rows`) that returns an
:class:`~compendium.claim_rules.Answer`, or raises a :class:`~compendium.store.MissingNumbersError` where rows that it
needs are missing. The ledger gives it the stored rows, and a reader's own run its own.
"""

import html
import importlib.util
from collections.abc import Sequence
from types import ModuleType

import pandas as pd

from evenspan.core.errors import ResultError

from .. import records
from ..catalogue import catalogue
from ..claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO, Answer, Claim, Numbers, Rows
from ..store import MissingNumbersError, full
from ..study import Study
from .table import ledger
from .verdicts import YES, Result

#: Possible answers, and the result whose mark they share.
ANSWERS: dict[str, Result] = {
    HOLDS: Result.DESCRIBED,
    IN_PART: Result.OTHER,
    NOT_SO: Result.NOT,
    NOT_JUDGED: Result.NO_TEST,
}
#: The three answers by their column, and what they are called.
SIDES = {"printed": "as printed", "program": "by the released program", "described": "as described"}


def answering() -> dict[str, ModuleType]:
    """The modules ``claims`` by room; a room that answers no claim of a paper, the comparison of all, has none."""
    names = {entry.room: f"compendium.papers.{entry.room}.claims" for entry in catalogue().values()}
    return {room: importlib.import_module(name) for room, name in names.items() if importlib.util.find_spec(name)}


def registered() -> dict[str, tuple[str, Claim]]:
    """Functions by the claim they answer, with the experiment that offers them."""
    modules, found = answering(), {}
    for entry in catalogue().values():
        offered = modules[entry.room].CLAIMS.get(entry.id, {}) if entry.room in modules else {}
        if twice := offered.keys() & found.keys():
            raise ResultError(f"{entry.id} and another experiment answer the claim {', '.join(twice)}; keep one.")
        found |= {claim: (entry.id, function) for claim, function in offered.items()}
    return found


def badge(answer: str) -> str:
    """The mark of an answer."""
    mark = next((result for name, result in ANSWERS.items() if answer == name), Result.NO_TEST)
    return f'<span class="{mark.css}">{html.escape(answer)}</span>' if answer else "–"


def shown(numbers: Numbers | str) -> str:
    """The numbers behind an answer in one line: ``rows: 54; lowest: 3 of 54``."""
    if isinstance(numbers, str):
        return numbers
    return "; ".join(f"{name}: {_one(value)}" for name, value in numbers.items())


def _one(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(_one, value)) if isinstance(value, (list, tuple)) else str(value)


def claims(ids: Sequence[str] | None = None, *, paper: str | None = None) -> pd.DataFrame:
    """Claims with what can be answered now: all, some, or those of a paper. To the columns of ``claims.csv`` come the
    three answers (``printed``, ``program``, ``described``), ``evidence``, ``experiment`` and ``agreement``: how many of
    the printed numbers that it rests on agree, by method."""
    frame = records.paper_table("claims", words=True).set_index("id", drop=False)
    frame = frame if paper is None else frame[frame["paper"] == paper]
    frame = (frame if ids is None else frame.loc[list(ids)]).reset_index(drop=True)
    if (judged := records.computed_once("claims")) is not None:
        return judged.set_index("id").loc[frame["id"]].reset_index()[judged.columns]
    return answered(frame, full, ledger())


def claims_of_run(ids: Sequence[str], study: Study) -> pd.DataFrame:
    """The same for a page: of a run that stands alone from its rows, and *not judged* where they do not suffice."""
    if not study.alone:
        return claims(ids)
    frame = records.paper_table("claims", words=True).set_index("id", drop=False)
    judged = answered(frame.loc[list(ids)].reset_index(drop=True), study.rows)
    # A recount of printed numbers, and its agreement with ours, are no answers of the run.
    return judged.assign(printed="", agreement="", described=judged["described"].replace("", NOT_JUDGED))


def answered(frame: pd.DataFrame, rows: Rows, judged: pd.DataFrame | None = None) -> pd.DataFrame:
    """Claims with the answers that some rows give, and the agreement of ``judged``, the ledger of these rows."""
    offered = registered()
    found = [_answer(*offered[claim], rows, judged) if claim in offered else _UNANSWERED for claim in frame["id"]]
    return frame.join(pd.DataFrame(found, columns=list(_UNANSWERED)))


_UNANSWERED = dict.fromkeys(SIDES, "") | {"described": NOT_JUDGED, "evidence": "", "agreement": "", "experiment": ""}


def _answer(experiment: str, claim: Claim, rows: Rows, judged: pd.DataFrame | None) -> dict[str, str]:
    try:
        answer = claim(rows)
    except MissingNumbersError as error:
        return _UNANSWERED | {"evidence": f"missing: {error}", "experiment": experiment}
    sides = {name: getattr(answer, name) or "" for name in SIDES}
    agreement = _agreement(judged, answer) if judged is not None and answer.cells else ""
    return sides | {"evidence": shown(answer.numbers), "agreement": agreement, "experiment": experiment}


def _agreement(judged: pd.DataFrame, answer: Answer) -> str:
    """How many of the tested numbers that an answer rests on agree, by method: as described, and by the program."""
    some = judged[judged["result"] != Result.NO_TEST.value]
    for column, values in answer.cells.items():
        some = some[some[column].isin(values)]
    # A method without another procedure is the same in the released program.
    by = (
        {"program": some["by_procedure"].where(some["by_procedure"] != "", some["described"])} if answer.program else {}
    )
    by |= {"described": some["described"]}
    found = {}
    for side, agree in by.items():
        counts = (agree == YES).groupby(some["method"], sort=False).agg(["sum", "size"])
        found[side] = ", ".join(f"{method} {good} of {tested}" for method, good, tested in counts.itertuples())
    return "; ".join(f"{SIDES[side]}: {words}" for side, words in found.items())
