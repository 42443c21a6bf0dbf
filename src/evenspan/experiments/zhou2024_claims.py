"""Claims of Zhou et al. (2024), all but Z11: theorems put to the test, and counts in Table 1, printed and ours.

The answers about the table are those of the printed numbers, because the claims are about them; their evidence also
gives the counts in our runs, where these are stored. Z11, on the pictures of two kernels, is answered in
``zhou2024_kernels``, which has the kernels of the data.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from .store import read_results
from .zhou2024_multiple_summary import PROTOCOL
from .zhou2024_summary import claims as of_the_table
from .zhou2024_theorems import claims as of_the_theory

#: The alternating methods among those of the full run with twelve kernels.
ALTERNATING = ("FMKKM", "FMKKM-f")


def converges() -> tuple[str, str]:
    """Z05: on made problems, and in the stored runs with twelve kernels on real data."""
    return with_stored(*of_the_theory["Z05"](), read_results("zhou2024-multiple"))


def with_stored(answer: str, evidence: str, rows: pd.DataFrame) -> tuple[str, str]:
    """The answer of the made problems, less where the objective of a stored run rises."""
    facts = rows[(rows["protocol"] == f"{PROTOCOL}: fit") & rows["method"].isin(ALTERNATING)]
    if facts.empty:
        return answer, evidence
    wide = facts.pivot_table(index=["dataset", "method", "split"], columns="metric", values="value")
    rising, resting = (wide["rises of the objective"] > 0).sum(axis=0), (wide["at rest"] == 1).sum(axis=0)
    evidence += (
        f" With twelve kernels on {wide.index.get_level_values('dataset').nunique()} data sets the objective rises in "
        f"{rising} of {len(wide)} runs; all points are at rest within the allowed rounds in {resting}, after "
        f"{wide['rounds'].min():.0f} to {wide['rounds'].max():.0f} of them."
    )
    return ("holds in part" if answer == "holds" and rising else answer), evidence


claims: Mapping[str, Callable[[], tuple[str, str] | None]] = of_the_theory | {"Z05": converges} | of_the_table
