"""The ledger in one sentence and one table: for the first page, ``README.md`` and the command."""

import pandas as pd

from .. import paths
from .claims import ANSWERS, SIDES
from .verdicts import YES, Result

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"


def sentence(counts: pd.DataFrame) -> str:
    """What :func:`compendium.ledger.table.counts` says of all papers."""
    row = counts.loc["all"]
    if not row["tested"]:
        return "No number that can tell methods apart has been run."
    shares = [row[one.value] / row["tested"] for one in (Result.DESCRIBED, Result.OTHER, Result.NOT)]
    described, other, nothing, chance = (f"{100 * one:.0f} %" for one in (*shares, row["chance agreement"]))
    return (
        f"Of {row['tested']:,.0f} numbers that can tell methods apart, {described} are reproduced as described, "
        f"{other} only by another procedure that we name, {nothing} not; another method would match {chance}."
    )


def distances(frame: pd.DataFrame) -> str:
    """What rows of the ledger say of distances, and of evaluations that draw."""
    rows = frame[frame["result"] == Result.NOT.value]
    drawn = rows[rows["within_evaluation"] != ""]
    within = (drawn["within_evaluation"] == YES).sum(axis=0)
    chance = pd.to_numeric(drawn["chance_evaluation"]).mean(axis=0)
    said = "The ledger gives each number that is compared, but for times, its distance in units of what its rule allows"
    if drawn.empty:
        return f"{said}."
    return (
        f"{said}; of the {len(rows):,} that are not reproduced {len(drawn)} come from an evaluation that draws, and "
        f"{within} of these lie within two errors of that evaluation, as {100 * chance:.0f} % of other methods' would."
    )


def shown(counts: pd.DataFrame) -> pd.DataFrame:
    """A tally or the counts as text; a dash where nothing was tested."""
    text = counts.drop(columns="chance agreement").map("{:,.0f}".format)
    chance = (100 * counts["chance agreement"]).map("{:.0f} %".format)
    return text.assign(**{"chance agreement": chance.where(counts["tested"] > 0, "–")}).reset_index()


def claim_counts(judged: pd.DataFrame) -> pd.DataFrame:
    """Claims by answer (columns): for each paper, and at last all, a row for each of the three answers."""
    both = pd.concat([judged, judged.assign(paper="all")])
    long = both.melt("paper", list(SIDES), "side", "answer")
    table = long.groupby(["paper", "side"], sort=False)["answer"].value_counts().unstack(fill_value=0)
    table = table.reindex(columns=list(ANSWERS), fill_value=0).rename_axis(columns=None)
    table.insert(0, "claims", table.sum(axis=1))
    order = [(paper, side) for paper in both["paper"].unique() for side in SIDES]
    return table.loc[[row for row in order if table["claims"].get(row)]]


def readme(counts: pd.DataFrame, more: str) -> bytes:
    """``README.md`` with sentences and table of counts made anew; everything outside of the markers is kept."""
    before, _, rest = (paths.root() / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    table = shown(counts)
    rows = [table.columns, ["---", *["---:"] * (table.shape[1] - 1)], *table.itertuples(index=False)]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{before}{BEGIN}\n{sentence(counts)} {more}\n\n{lines}\n{END}{rest.partition(END)[2]}".encode()
