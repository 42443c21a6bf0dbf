"""The state of the ledger in words: one line for the first page, and the block of counts in ``README.md``."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from .. import paths
from ..errors import ResultError
from ..experiments import records
from .claims import ANSWERS, SIDES, STALE, claims, counted
from .verdicts import Kind

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
#: What is said of several numbers or claims; of one, the name itself fits.
_PLURAL = {
    "differs": "differ",
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
}


def claim_counts(judged: pd.DataFrame, side: str) -> pd.DataFrame:
    """Claims per paper (rows, the last is their total) and answer (columns); a stale answer counts as ``stale`` only.

    Parameters
    ----------
    judged : DataFrame
        From :func:`evenspan.report.claims.claims`.
    side : {"here", "printed"}
        Which answer is counted; claims without it are not.
    """
    said = counted(judged, side)
    papers = judged["paper"].unique()
    table = pd.crosstab(judged.loc[said.index, "paper"], said).reindex(sorted(papers), fill_value=0)
    table = table.reindex(columns=[*ANSWERS, STALE], fill_value=0)
    table.loc["total"] = table.sum(axis=0)
    table["claims"] = table.sum(axis=1)
    table.columns.name = None
    return table


def one_line(counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The whole ledger in one line: how many numbers have which verdict, how many claims which answer.

    Parameters
    ----------
    counts : DataFrame
        From :func:`evenspan.report.ledger.counts`.
    judged : DataFrame
        From :func:`evenspan.report.claims.claims`.
    """
    numbers = counts.loc["total"]
    kinds = ", ".join(_said(numbers, [kind.value for kind in Kind]))
    line = f"{numbers['numbers']:,} published numbers: {kinds}; {len(judged):,} claims"
    for side, name in SIDES.items():
        answered = claim_counts(judged, side).loc["total"]
        line += f"; {name} {answered['claims']:,}: {', '.join(_said(answered, [*ANSWERS, STALE])) or 'none'}"
    return line + "."


def readme(text: str, counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The text of ``README.md`` with its block of counts made anew; everything outside of the markers is kept.

    Raises
    ------
    ResultError
        The markers do not stand in the text exactly once, in this order.
    """
    if (text.count(BEGIN), text.count(END)) != (1, 1) or text.index(BEGIN) > text.index(END):
        raise ResultError(
            f"README.md needs the markers {BEGIN} and {END} once each, in this order; it has {text.count(BEGIN)} and "
            f"{text.count(END)}. Put them round the place of the counts."
        )
    block = "\n".join(
        [
            BEGIN,
            one_line(counts, judged),
            "",
            *_markdown(counts, "numbers", [kind.value for kind in Kind]),
            *(
                line
                for side, name in SIDES.items()
                for line in ("", *_markdown(claim_counts(judged, side), "claims", [*ANSWERS, STALE], f"claims, {name}"))
            ),
            END,
        ]
    )
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, text, flags=re.DOTALL)


def write_readme(counts: pd.DataFrame) -> Path | None:
    """Make the block of counts in ``README.md`` anew; None in a checkout that has no such file."""
    path = paths.root() / "README.md"
    if not path.is_file():
        return None
    records.write(path, readme(path.read_text(encoding="utf-8"), counts, claims()).encode())
    return path


def check_readme(counts: pd.DataFrame) -> None:
    """Raise if the counts in ``README.md`` are not those of the ledger."""
    path = paths.root() / "README.md"
    if path.is_file() and (text := path.read_text(encoding="utf-8")) != readme(text, counts, claims()):
        raise ResultError(f"{path} states other counts than the ledger gives. Write them again: evenspan ledger")


def _said(row: pd.Series, names: list[str]) -> Iterator[str]:
    for name in names:
        if row[name]:
            yield f"{row[name]:,} {name if row[name] == 1 else _PLURAL.get(name, name)}"


def _markdown(table: pd.DataFrame, whole: str, names: list[str], title: str = "") -> Iterator[str]:
    yield f"| paper | {title or whole} | {' | '.join(names)} |"
    yield "|---|" + "---:|" * (len(names) + 1)
    for paper, row in table.iterrows():
        yield f"| {paper} | {' | '.join(f'{row[name]:,}' for name in [whole, *names])} |"
