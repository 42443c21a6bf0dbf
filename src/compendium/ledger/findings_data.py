"""Evidence for findings about data and results: where printed numbers come from, and what decides them."""

from ..claim_rules import rule
from ..papers.vu2022.readings import PUBLISHED
from .findings_evidence import Evidence, beside_printed


def same_splits() -> Evidence:
    """How many printed numbers come out in all decimals with the splits, folds and starts of the authors' program."""
    found = beside_printed({name: name for name in PUBLISHED})
    errors = found[found["table"] != "Table 4"]
    robust = errors[errors["ours"] == "RFPCA"]
    same, numbers = robust["four decimals"].sum(), robust["numbers"].sum()
    return Evidence(
        supported=same > rule("same-splits", "share of the numbers") * numbers,
        sentence=(
            f"Of RFPCA, which needs rows, folds and starts, {same} of {numbers} printed errors and gaps are equal "
            f"to ours in all four decimals; of all four methods {errors['four decimals'].sum()} of "
            f"{errors['numbers'].sum()}."
        ),
        table=found.rename(columns={"ours": "method"}),
        caption="Printed numbers of Vu et al. beside means over the published splits, full run",
    )
