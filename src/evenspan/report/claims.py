"""The papers' claims and the answers that experiments computed for them.

A protocol module answers claims of its paper through an attribute ``claims``: a mapping from the number of a claim in
``data/paper/claims.csv`` to a function without arguments that returns ``(answer, evidence)``, or None as long as the
results it needs are missing. No answer is typed by hand.
"""

import html
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from .. import paths
from ..errors import ResultError
from ..experiments.catalogue import catalogue
from ..experiments.store import watched
from .verdicts import Kind

STALE = Kind.CHANGED.value
OPEN = "not yet judged"
#: Possible answers, and the verdict whose mark they share.
ANSWERS: dict[str, Kind] = {
    "holds": Kind.EXACT,
    "holds in part": Kind.ORDER,
    "does not hold": Kind.DIFFERS,
    "not computable": Kind.NA,
    OPEN: Kind.PENDING,
}


@dataclass(frozen=True)
class ClaimAnswer:
    """An answer, the evidence it was computed from, the experiment that computed it, and the state of its results.

    The state is ``current``, or ``stale`` if a stored result that was read is.
    """

    answer: str
    evidence: str
    experiment: str
    state: str = "current"


def registered() -> dict[str, tuple[str, Callable[[], tuple[str, str] | None]]]:
    """Functions by the claim they answer, with the experiment that offers them."""
    found: dict[str, tuple[str, Callable]] = {}
    seen = set()
    known = set(_table()["id"])
    for entry in catalogue().values():
        module = entry.protocol()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        offered: Mapping = getattr(module, "claims", {})
        for claim, function in offered.items():
            if claim not in known:
                raise ResultError(f"{module.__name__} answers the claim {claim!r}, which is not in claims.csv.")
            if claim in found:
                raise ResultError(f"{module.__name__} and {found[claim][0]} both answer the claim {claim}; keep one.")
            found[claim] = (entry.id, function)
    return found


def answers(ids: Collection[str]) -> dict[str, ClaimAnswer]:
    """What can be answered now of these claims, by claim."""
    found: dict[str, ClaimAnswer] = {}
    known: dict[str, dict] = {}
    for claim, (experiment, function) in registered().items():
        if claim not in ids:
            continue
        answer, state, _ = watched(function, known)
        if answer is None:
            continue
        if answer[0] not in ANSWERS or answer[0] == OPEN or not answer[1].strip():
            raise ResultError(
                f"{experiment} answers the claim {claim} with {answer!r}; needed is one of "
                f"{', '.join(name for name in ANSWERS if name != OPEN)}, with evidence."
            )
        found[claim] = ClaimAnswer(answer[0], answer[1], experiment, state)
    return found


def badge(answer: str, state: str = "current") -> str:
    """The mark of an answer; a stale one is shown as such first, and counts as nothing else."""
    if state == STALE:
        return f'{Kind.CHANGED.badge()} <span class="ledger-before">before: {html.escape(answer)}</span>'
    return f'<span class="{ANSWERS[answer].css}">{html.escape(answer)}</span>'


def claims(ids: Sequence[str] | None = None, *, paper: str | None = None) -> pd.DataFrame:
    """Claims with ``answer``, ``evidence``, ``experiment``, ``state``: all, those of ``ids``, or those of a paper."""
    frame = _table()
    if paper is not None:
        frame = frame[frame["paper"] == paper].reset_index(drop=True)
    if ids is not None:
        if unknown := [claim for claim in ids if claim not in set(frame["id"])]:
            raise ResultError(f"claims.csv has no claim {', '.join(unknown)}; it has {', '.join(frame['id'])}.")
        frame = frame.set_index("id").loc[list(ids)].reset_index()
    found = answers(list(frame["id"]))
    nothing = ClaimAnswer(OPEN, "", "", "")
    for name in ("answer", "evidence", "experiment", "state"):
        frame[name] = [getattr(found.get(claim, nothing), name) for claim in frame["id"]]
    return frame


def _table() -> pd.DataFrame:
    path = paths.data("paper", "claims.csv")
    if not path.is_file():
        raise ResultError(f"{path} is missing. Restore it from the repository.")
    return pd.read_csv(path, dtype=str, keep_default_na=False)
