"""Claims of Zhou et al. (2024), all but Z11: theorems put to the test, and counts in Table 1, printed and ours.

Z11, on the pictures of two kernels, is answered in
``zhou2024_kernels``, which has the kernels of the data.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from .claim_rules import HOLDS, IN_PART, Answer
from .store import read_results
from .zhou2024_multiple_summary import PROTOCOL
from .zhou2024_summary import claims as of_the_table
from .zhou2024_theorems import claims as of_the_theory

#: The alternating methods among those of the full run with twelve kernels.
ALTERNATING = ("FMKKM", "FMKKM-f")


def converges() -> Answer:
    """Z05: on made problems, and in the stored runs with twelve kernels on real data."""
    facts = read_results("zhou2024-multiple", protocol=f"{PROTOCOL}: fit", method=ALTERNATING)
    return with_stored(of_the_theory["Z05"](), facts)


def with_stored(answer: Answer, facts: pd.DataFrame) -> Answer:
    """The answer of the made problems, less where the objective of a stored run rises."""
    if facts.empty:
        return answer
    wide = facts.pivot_table(index=["dataset", "method", "split"], columns="metric", values="value")
    rising, resting = (wide["rises of the objective"] > 0).sum(axis=0), (wide["at rest"] == 1).sum(axis=0)
    evidence = (
        f"{answer.evidence} With twelve kernels on {wide.index.get_level_values('dataset').nunique()} data sets the "
        f"objective rises in {rising} of {len(wide)} runs; all points are at rest within the allowed rounds in "
        f"{resting}, after {wide['rounds'].min():.0f} to {wide['rounds'].max():.0f} of them."
    )
    return Answer(IN_PART if answer.here == HOLDS and rising else answer.here, evidence)


claims: Mapping[str, Callable[[], Answer | None]] = of_the_theory | {"Z05": converges} | of_the_table
