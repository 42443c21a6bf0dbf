"""The trade-off of Zhou et al. (2024): fairness and quality over the fairness weight, beside all rivals.

The slides give the objective and a table; which weights belong to it, how the curves look, how far the row update is
from the best answer and what Theorem 2 amounts to is computed here. The full run stores the counts of classes, groups
and clusters of every clustering, from which every build of the book judges all of them again, and repeats the whole on
a made set whose clusters cross its groups.
"""

import pandas as pd

from evenspan.core.errors import ConfigurationError

from ..data.clustering import load_clustering
from .store import read_results
from .zhou2024_judge import JointCounts, judge_clustering
from .zhou2024_methods import made_set
from .zhou2024_tradeoff_runs import COUNTED, PARTS, Case, part_rows

SEED = 0
DATASETS = ("jaffe", "mnist_usps", "credit_card", "k1b")
MADE = "made set"
MADE_SEEDS = 3
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "weight", "value", "counts"]


def tasks() -> list[dict]:
    """One unit of work for each data set and part."""
    return [{"dataset": name, "part": part} for name in DATASETS for part in PARTS]


def run_task(dataset: str, part: str) -> pd.DataFrame:
    """One part on the data of the paper, all seeds."""
    if part not in PARTS:
        raise ConfigurationError(f"part={part!r}; needed is one of {', '.join(PARTS)}.")
    return _frame(part_rows(Case(load_clustering(dataset)), part))


def run(dataset: str) -> pd.DataFrame:
    """All stored clusterings of a data set judged again from their counts, and every part on a made set."""
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(DATASETS)}.")
    stored = read_results("zhou2024-tradeoff")
    case = Case(made_set())
    made = (row for part in PARTS for row in part_rows(case, part, MADE_SEEDS))
    found = _frame((MADE, *row[1:]) for row in made)
    return pd.concat([judged_again(stored[stored["dataset"] == dataset]), found], ignore_index=True)


def judged_again(stored: pd.DataFrame) -> pd.DataFrame:
    """Every metric of the judge from the stored counts."""
    rows, names = [], COLUMNS[:5]
    if len(stored):
        for line in stored[stored["metric"] == COUNTED].to_dict("records"):
            values = judge_clustering(JointCounts.from_text(line["counts"]))
            key = [line[name] for name in names]
            rows += [(*key, metric, line["weight"], value, "") for metric, value in values.items()]
    return _frame(rows)


def _frame(rows) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    return frame.astype({"k": "Int64", "value": float, "weight": float, "counts": str})


__all__ = ["SEED", "run", "run_task", "tasks"]
