"""The state of the ledger in words: one line for the first page, and the block of counts in ``README.md``."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from .claims import ANSWERS, CHANGED, SIDES, answered, claims
from .verdicts import Evidence, Kind

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
#: What is said of several numbers or claims; of one, the name itself fits.
_PLURAL = {
    "differs": "differ",
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
}


def claim_counts(judged: pd.DataFrame, side: str) -> pd.DataFrame:
    """Claims per paper (rows, the last is their total) and answer (columns), ``changed`` for those on changed results.

    Parameters
    ----------
    judged : DataFrame
        From :func:`compendium.ledger.claims.claims`.
    side : {"here", "printed"}
        Which answer is counted; claims without it are not.
    """
    said = answered(judged, side)
    papers = judged["paper"].unique()
    table = pd.crosstab(judged.loc[said.index, "paper"], said).reindex(sorted(papers), fill_value=0)
    table = table.reindex(columns=[*ANSWERS, CHANGED], fill_value=0)
    table.loc["total"] = table.sum(axis=0)
    table["claims"] = table.sum(axis=1)
    table.columns.name = None
    return table


def one_line(counts: pd.DataFrame, judged: pd.DataFrame) -> str:
    """The whole ledger in one line: numbers by evidence, how many agree and their control, and claims by answer.

    Parameters
    ----------
    counts : DataFrame
        From :func:`compendium.ledger.table.counts`.
    judged : DataFrame
        From :func:`compendium.ledger.claims.claims`.
    """
    numbers = counts.loc["total"]
    line = f"{numbers['numbers'].sum(axis=0):,} published numbers: {'; '.join(sentences(numbers, verdicts=False))}."
    line += f" {len(judged):,} claims"
    for side, name in SIDES.items():
        row = claim_counts(judged, side).loc["total"]
        line += f"; {name} {row['claims']:,}: {', '.join(_said(row, [*ANSWERS, CHANGED])) or 'none'}"
    return line + "."


def sentences(counts: pd.DataFrame, *, verdicts: bool = True) -> Iterator[str]:
    """One clause for each kind of evidence: its numbers, their verdicts, how many agree, and how many wrong ones would.

    Parameters
    ----------
    counts : DataFrame
        From :func:`compendium.ledger.table.counts`, the rows of one paper or of the total.
    verdicts : bool
        Whether the verdicts are counted one by one even where the share that agrees sums them up.
    """
    for evidence, row in counts.iterrows():
        alone = pd.isna(row["wrong method"])
        text = f"{row['numbers']:,.0f} {'without a number of ours' if evidence == Evidence.NONE.value else evidence}"
        text += f" ({', '.join(_said(row, [kind.value for kind in Kind]))})" if verdicts or alone else ""
        yield text if alone else f"{text}, {agreement(row)}"


def agreement(row: pd.Series) -> str:
    """How many agree, and how often a wrong method would: ``76 % agree, a wrong method would in 31 %``."""
    return f"{row['agree']:.0%} agree, a wrong method would in {row['wrong method']:.0%}".replace("%", " %")


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
            *_markdown(counted(counts)),
            *(
                line
                for side, name in SIDES.items()
                for line in ("", *_markdown(_of_claims(judged, side, f"claims, {name}")))
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
        raise ResultError(
            f"{path} states other counts than the ledger gives. Write them again: python -m compendium ledger"
        )


def _said(row: pd.Series, names: list[str]) -> Iterator[str]:
    for name in names:
        if row[name]:
            yield f"{row[name]:,.0f} {name if row[name] == 1 else _PLURAL.get(name, name)}"


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """A tally as text: what was counted, the shares in per cent with their controls, and the verdicts that occur.

    Parameters
    ----------
    table : DataFrame
        From :func:`compendium.ledger.table.tally` or :func:`compendium.ledger.table.counts`.
    """
    kinds = [kind.value for kind in Kind if table[kind.value].any()]
    shown = table[["numbers", *kinds]].map("{:,}".format)
    controlled = table["wrong method"].notna()
    for name in ("agree", "wrong method", "wrong data"):
        shown[name] = (100 * table[name]).map("{:.0f} %".format).where(controlled & table[name].notna(), "–")
    shown["most fail"] = table["most fail"].map("{:,}".format).where(controlled, "–")
    return shown[["numbers", "agree", "wrong method", "wrong data", "most fail", *kinds]].reset_index()


def _of_claims(judged: pd.DataFrame, side: str, title: str) -> pd.DataFrame:
    table = claim_counts(judged, side).rename_axis("paper").reset_index()
    return table[["paper", "claims", *ANSWERS, CHANGED]].rename(columns={"claims": title})


def _markdown(table: pd.DataFrame) -> Iterator[str]:
    yield f"| {' | '.join(table)} |"
    yield "|".join(["", *("---" if name in ("paper", "evidence") else "---:" for name in table), ""])
    for row in table.itertuples(index=False):
        yield f"| {' | '.join(str(value) for value in row)} |"
