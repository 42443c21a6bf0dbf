"""The state of the ledger in words: one line for the first page, and the block of counts in ``README.md``.

``counts`` is from :func:`compendium.ledger.table.counts`, ``judged`` from :func:`compendium.ledger.claims.claims`.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from .claims import ANSWERS, SIDES, claims
from .verdicts import Evidence, Kind

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
#: What is said of several numbers or claims; of one, the name itself fits.
PLURAL = {
    "differs": "differ",
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
}


def claim_counts(judged: pd.DataFrame, side: str) -> pd.DataFrame:
    """Claims per paper (rows, the last is their total) and answer (columns).

    ``side``, "here" or "printed", says which answer is counted; claims without it are not.
    """
    said = judged[judged[side] != ""]
    table = pd.crosstab(said["paper"], said[side])
    table = table.reindex(index=sorted(judged["paper"].unique()), columns=list(ANSWERS), fill_value=0)
    table.loc["total"] = table.sum(axis=0)
    return table.assign(claims=table.sum(axis=1)).rename_axis(index="paper", columns=None)


def one_line(counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The whole ledger in one line: numbers by evidence, how many agree and their control, and claims by answer."""
    numbers = counts.loc["total"]
    line = f"{numbers['numbers'].sum(axis=0):,} published numbers: {'; '.join(sentences(numbers, verdicts=False))}."
    line += f" {len(judged):,} claims"
    for side, name in SIDES.items():
        row = claim_counts(judged, side).loc["total"]
        line += f"; {name} {row['claims']:,}: {', '.join(said(row, ANSWERS)) or 'none'}"
    return line + "."


def summary(counts: pd.DataFrame) -> Iterator[str]:
    """One line for each paper and kind of evidence."""
    papers = counts.index.unique("paper")
    width = max(map(len, papers))
    for paper in papers:
        for line in sentences(counts.loc[paper]):
            yield f"{paper:<{width}}  {line}"


def sentences(counts: pd.DataFrame, *, verdicts: bool = True) -> Iterator[str]:
    """One clause for each kind of evidence: its numbers, their verdicts, how many agree, and how many wrong ones would.

    ``counts`` are those of one paper or of the total. Without ``verdicts`` these are counted one by one only where no
    share that agrees sums them up.
    """
    for evidence, row in counts.iterrows():
        alone = pd.isna(row["wrong method"])
        text = f"{row['numbers']:,.0f} {'without a number of ours' if evidence == Evidence.NONE.value else evidence}"
        text += f" ({', '.join(said(row, [kind.value for kind in Kind]))})" if verdicts or alone else ""
        yield text if alone else f"{text}, {agreement(row)}"


def agreement(row: pd.Series) -> str:
    """How many agree, and how often a wrong method would: ``76 % agree, a wrong method would in 31 %``."""
    return f"{row['agree']:.0%} agree, a wrong method would in {row['wrong method']:.0%}".replace("%", " %")


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """A tally or counts as text: what was counted, shares in per cent with their controls, verdicts that occur."""
    kinds = [kind.value for kind in Kind if table[kind.value].any()]
    shown = table[["numbers", *kinds]].map("{:,}".format)
    controlled = table["wrong method"].notna()
    for name in ("agree", "wrong method", "wrong data"):
        shown[name] = (100 * table[name]).map("{:.0f} %".format).where(controlled & table[name].notna(), "–")
    shown["most fail"] = table["most fail"].map("{:,}".format).where(controlled, "–")
    return shown[["numbers", "agree", "wrong method", "wrong data", "most fail", *kinds]].reset_index()


def readme(text: str, counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The text of ``README.md`` with its block of counts made anew; everything outside of the markers is kept."""
    if (text.count(BEGIN), text.count(END)) != (1, 1) or text.index(BEGIN) > text.index(END):
        raise ResultError(
            f"README.md needs the markers {BEGIN} and {END} once each, in this order; it has {text.count(BEGIN)} and "
            f"{text.count(END)}. Put them round the place of the counts."
        )
    lines = [BEGIN, one_line(counts, judged), "", *_markdown(counted(counts))]
    for side, name in SIDES.items():
        table = claim_counts(judged, side).reset_index()[["paper", "claims", *ANSWERS]]
        lines += ["", *_markdown(table.rename(columns={"claims": f"claims, {name}"}))]
    block = "\n".join([*lines, END])
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
        raise ResultError(
            f"{path} states other counts than the ledger gives. Write them again: python -m compendium ledger"
        )


def said(row: pd.Series, names: Iterable[str]) -> Iterator[str]:
    """The numbers of a row that are not zero, each with its name as a sentence says it: ``2 hold in part``."""
    for name in names:
        if row[name]:
            yield f"{row[name]:,.0f} {name if row[name] == 1 else PLURAL.get(name, name)}"


def _markdown(table: pd.DataFrame) -> Iterator[str]:
    yield f"| {' | '.join(table)} |"
    yield "|".join(["", *("---" if name in ("paper", "evidence") else "---:" for name in table), ""])
    for row in table.itertuples(index=False):
        yield f"| {' | '.join(str(value) for value in row)} |"
