"""Where the papers contradict themselves or one another: described in ``data/paper/contradictions.csv``, resolved here.

The file holds neutral descriptions only: what is said, where, and what is held against it. Which of the two holds is
computed, by a check for every contradiction: a recount of the printed tables, a computation, or our stored runs.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths
from ..states import COUNTED, watched
from .contradictions_claims import BOTH, FIRST, NEITHER, OPEN, PART, SECOND, Check
from .contradictions_others import checks as others
from .contradictions_rathore2025 import checks as rathore2025

COLUMNS = ("id", "paper", "kind", "where", "says", "against", "known_by")
KINDS = (
    "tables against prose",
    "tables against each other",
    "definitions",
    "theory",
    "references",
    "between papers",
)
#: How an outcome is known: the printed tables counted again, a computation of ours, a proof with its check, or reading.
KNOWN_BY = ("recount", "computation", "derivation", "reading")
#: Possible outcomes in the order of the page.
OUTCOMES = (FIRST, SECOND, PART, BOTH, NEITHER, OPEN)
PENDING = "not yet computed"

checks: Mapping[str, Check] = {**rathore2025, **others}


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
    if frame["id"].duplicated().any() or set(frame["id"]) != set(checks):
        odd = sorted(set(frame["id"]) ^ set(checks)) or sorted(frame.loc[frame["id"].duplicated(), "id"])
        raise ResultError(
            f"{path} and the checks must name the same contradictions, each once; look at {', '.join(odd)}."
        )
    if blank := [row["id"] for row in frame.to_dict("records") if not all(value.strip() for value in row.values())]:
        raise ResultError(f"{path} has empty cells in {', '.join(blank)}. Describe both places.")
    return frame


def resolved(ids: Sequence[str] | None = None, *, paper: str | None = None) -> pd.DataFrame:
    """The descriptions with ``outcome`` and ``evidence``, computed now; all, those of ``ids``, or those of a paper.

    ``changed`` names the experiments behind an outcome whose stored results changed or are damaged.
    """
    frame = described()
    if paper is not None:
        frame = frame[frame["paper"] == paper]
    if ids is not None:
        if unknown := [name for name in ids if name not in set(frame["id"])]:
            raise ResultError(f"There is no contradiction {', '.join(unknown)}; there are {', '.join(frame['id'])}.")
        frame = frame[frame["id"].isin(ids)]
    found = []
    known: dict[str, dict] = {}
    for name in frame["id"]:
        answer, state, behind = watched(checks[name], known)
        outcome, evidence = answer or (PENDING, "Results that it needs are not stored in this checkout.")
        if outcome not in (*OUTCOMES, PENDING) or not evidence.strip():
            raise ResultError(
                f"The check of {name} gave {outcome!r}; possible are {', '.join(OUTCOMES)}, with evidence."
            )
        found.append((outcome, evidence, ", ".join(behind if state not in COUNTED else ())))
    columns = pd.DataFrame(found, columns=["outcome", "evidence", "changed"], index=frame.index)
    return pd.concat([frame, columns], axis=1).reset_index(drop=True)
