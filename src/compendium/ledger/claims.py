"""The papers' claims and the answers that experiments computed for them.

The room of a paper answers claims through ``CLAIMS`` in its module ``claims``: for each experiment a mapping from the
number of a claim in ``data/paper/claims.csv`` to a function without arguments that returns a
:class:`~compendium.claim_rules.Answer`, or raises a :class:`~compendium.store.MissingNumbersError` as long as results
that it needs are missing. No answer is typed by hand.
"""

import html
import importlib.util
from collections.abc import Callable, Sequence
from types import ModuleType

import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from ..catalogue import catalogue
from ..claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO, Answer, Numbers
from ..store import MissingNumbersError
from .verdicts import Result

#: Possible answers, and the result whose mark they share.
ANSWERS: dict[str, Result] = {
    HOLDS: Result.DESCRIBED,
    IN_PART: Result.OTHER,
    NOT_SO: Result.NOT,
    NOT_JUDGED: Result.NO_TEST,
}


def answering() -> dict[str, ModuleType]:
    """The modules ``claims`` by room; a room that answers no claim of a paper, the comparison of all, has none."""
    names = {entry.room: f"compendium.papers.{entry.room}.claims" for entry in catalogue().values()}
    return {room: importlib.import_module(name) for room, name in names.items() if importlib.util.find_spec(name)}


def registered() -> dict[str, tuple[str, Callable[[], Answer]]]:
    """Functions by the claim they answer, with the experiment that offers them."""
    found: dict[str, tuple[str, Callable]] = {}
    known, modules = set(_table()["id"]), answering()
    for entry in catalogue().values():
        offered = modules[entry.room].CLAIMS.get(entry.id, {}) if entry.room in modules else {}
        for claim, function in offered.items():
            if claim not in known:
                raise ResultError(f"{entry.id} answers the claim {claim!r}, which is not in claims.csv.")
            if claim in found:
                raise ResultError(f"{entry.id} and {found[claim][0]} both answer the claim {claim}; keep one.")
            found[claim] = (entry.id, function)
    return found


def badge(answer: str) -> str:
    """The mark of an answer."""
    return f'<span class="{ANSWERS[answer].css}">{html.escape(answer)}</span>' if answer else "–"


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
    """Claims with what can be answered now: all, some, or those of a paper.

    Returns
    -------
    DataFrame
        The columns of ``claims.csv``; the ``answer``, which is that of our computation (``here``) or, of a claim about
        the printed tables alone, that of a recount (``printed``); both, empty where one makes no sense; ``evidence``;
        and the ``experiment`` that computed them.
    """
    frame = _table()
    if paper is not None:
        frame = frame[frame["paper"] == paper].reset_index(drop=True)
    if ids is not None:
        if unknown := [claim for claim in ids if claim not in set(frame["id"])]:
            raise ResultError(f"claims.csv has no claim {', '.join(unknown)}; it has {', '.join(frame['id'])}.")
        frame = frame.set_index("id").loc[list(ids)].reset_index()
    if (judged := records.computed_once("claims")) is not None:
        return judged.set_index("id").loc[frame["id"]].reset_index()[judged.columns]
    offered = registered()
    rows = [_answer(claim, *offered[claim]) if claim in offered else _UNANSWERED for claim in frame["id"]]
    return frame.join(pd.DataFrame(rows, columns=list(_UNANSWERED)))


_UNANSWERED = {"answer": NOT_JUDGED, "printed": "", "here": NOT_JUDGED, "evidence": "", "experiment": ""}


def _answer(claim: str, experiment: str, function: Callable[[], Answer]) -> dict[str, str]:
    try:
        answer = function()
    except MissingNumbersError:
        return _UNANSWERED
    given = {one for one in (answer.printed, answer.here) if one is not None}
    if not given or not given <= set(ANSWERS) or not answer.numbers:
        needed = f"one of {', '.join(ANSWERS)}, with the numbers behind it"
        raise ResultError(f"{experiment} answers the claim {claim} with {answer!r}; needed is {needed}.")
    sides = {"answer": answer.here or answer.printed, "printed": answer.printed or "", "here": answer.here or ""}
    return sides | {"evidence": shown(answer.numbers), "experiment": experiment}


def _table() -> pd.DataFrame:
    path = paths.data("paper", "claims.csv")
    if not path.is_file():
        raise ResultError(f"{path} is missing. Restore it from the repository.")
    return pd.read_csv(path, dtype=str, keep_default_na=False)
