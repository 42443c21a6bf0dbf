"""The ledger in one sentence and two tables: for the first page, ``README.md`` and the command."""

import re
from pathlib import Path

import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from .claims import ANSWERS, claims
from .verdicts import Result

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"


def sentence(counts: pd.DataFrame) -> str:
    """What :func:`compendium.ledger.table.counts` says of all papers."""
    row = counts.loc["all"]
    if not row["tested"]:
        return "No number that can tell methods apart has been run."
    described, other, nothing = (
        f"{row[one.value] / row['tested']:.0%}".replace("%", " %")
        for one in (Result.DESCRIBED, Result.OTHER, Result.NOT)
    )
    chance = f"{row['chance agreement']:.0%}".replace("%", " %")
    return (
        f"Of {row['tested']:,.0f} numbers that can tell methods apart, {described} are reproduced as described, "
        f"{other} only by another procedure that we name, {nothing} not; another method would match {chance}."
    )


def shown(counts: pd.DataFrame) -> pd.DataFrame:
    """A tally or the counts as text; a dash where nothing was tested."""
    text = counts.drop(columns="chance agreement").map("{:,.0f}".format)
    chance = (100 * counts["chance agreement"]).map("{:.0f} %".format)
    return text.assign(**{"chance agreement": chance.where(counts["tested"] > 0, "–")}).reset_index()


def claim_counts(judged: pd.DataFrame) -> pd.DataFrame:
    """Claims per paper (rows, the last is that of all) and answer (columns)."""
    table = pd.crosstab(judged["paper"], judged["answer"])
    table = table.reindex(index=sorted(judged["paper"].unique()), columns=list(ANSWERS), fill_value=0)
    table.loc["all"] = table.sum(axis=0)
    return table.assign(claims=table.sum(axis=1))[["claims", *ANSWERS]].rename_axis(index="paper", columns=None)


def readme(text: str, counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The text of ``README.md`` with its block of counts made anew; everything outside of the markers is kept."""
    if (text.count(BEGIN), text.count(END)) != (1, 1) or text.index(BEGIN) > text.index(END):
        raise ResultError(f"README.md needs the markers {BEGIN} and {END} once each, in this order. Put them back.")
    tables = [_markdown(shown(counts)), _markdown(claim_counts(judged).reset_index())]
    block = "\n\n".join([f"{BEGIN}\n{sentence(counts)}", *tables]) + f"\n{END}"
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
        raise ResultError(f"{path} states other counts than the ledger gives. Write it: python -m compendium ledger")


def _markdown(table: pd.DataFrame) -> str:
    lines = [f"| {' | '.join(table)} |", "|".join(["", "---", *["---:"] * (table.shape[1] - 1), ""])]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in table.itertuples(index=False))])
