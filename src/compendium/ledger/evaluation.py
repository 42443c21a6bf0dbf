"""How far a number moves while the subspaces stay as they are: evaluations that draw folds or starts, drawn again.

Each draw gives a mean over the splits. Beside a printed number stands whether the mean of all draws lies within some
errors of it (rule ``evaluation`` of ``data/tolerances.yml``), and how often that of another method does. Neither grade
nor result looks at it.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import pandas as pd

from ..catalogue import catalogue
from ..claim_rules import RuleFile
from ..store import read_results
from .verdicts import NO, YES

#: The rows of a draw by their protocol: what the published tables call the sample, what is drawn, and which draw.
DRAW = r"^(?:(?P<part>.+), )?(?:signs|folds) (?P<draw>\d+)$"
#: What of a drawn number names it, beside its sample.
NAMES = ["dataset", "method", "metric", "k"]


class Evaluation(NamedTuple):
    """Mean over the draws, and the error with which a single draw may be compared with it."""

    mean: float
    error: float

    def near(self, published: str, rules: RuleFile) -> bool:
        """Whether a printed number lies within the errors that the rule allows."""
        return abs(Decimal(self.mean) - Decimal(published)) <= rules.evaluation["errors"] * Decimal(self.error)


#: By file, printed name of the data, method, metric, k and sample, as in the keys of the ledger.
Evaluations = Mapping[tuple, Evaluation]


def of_draws(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, error and number of the draws among some rows, by sample (``part``) and by what names a number."""
    rows = rows.join(rows["protocol"].str.extract(DRAW))
    rows = rows[rows["draw"].notna()].assign(part=rows["part"].fillna(""), k=rows["k"].astype("string").fillna(""))
    by = [*NAMES, "part"]
    found = rows.groupby([*by, "draw"], sort=False)["value"].mean().groupby(level=by, sort=False)
    table = found.agg(["mean", "std", "count"]).rename(columns={"count": "draws"}).reset_index()
    return table.assign(error=table.pop("std") * (1.0 + 1.0 / table["draws"]) ** 0.5)


def evaluations() -> Evaluations:
    """The stored draws of all published tables that name an experiment with some."""
    found = {}
    for entry in catalogue().values():
        if not entry.evaluation:
            continue
        rows = pd.concat([read_results(name) for name in (entry.id, entry.evaluation)], ignore_index=True)
        for one in of_draws(rows[rows["dataset"].isin(entry.published_datasets)]).itertuples():
            for stem, name in product(entry.published, entry.published_datasets[one.dataset]):
                found[stem, name, one.method, one.metric, one.k, one.part] = Evaluation(one.mean, one.error)
    return found


def columns(cell, described: str | None, others: Iterable[str], found: Evaluations, rules: RuleFile) -> dict[str, str]:
    """Columns of the ledger for a cell: of our number, of our method ``described``, of other methods of its place."""

    def near(method: str) -> bool | None:
        one = found.get((cell.stem, cell.dataset, method, cell.metric, cell.k, cell.split))
        return None if one is None else one.near(cell.value, rules)

    if (ours := near(cell.method)) is None:
        return {}
    mean, error = found[cell.stem, cell.dataset, cell.method, cell.metric, cell.k, cell.split]
    beside = [one for one in map(near, others) if one is not None]
    words = {True: YES, False: NO, None: ""}
    return {
        "evaluation_mean": f"{mean:.10g}",
        "evaluation_error": f"{error:.4g}",
        "within_evaluation": words[ours],
        "described_within": words[near(described or cell.method)],
        "chance_evaluation": f"{sum(beside) / len(beside):.4g}" if beside else "",
    }
