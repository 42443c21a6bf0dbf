"""Numbers that Lee et al. (2022) distribute with their code for the same splits: a second opinion beside the poster's.

Means over the ten splits, test part. They are quoted as reference, not judged: the poster prints none of them.
"""

import pandas as pd

from .kleindessner2023_summary import summary

#: (method, k, metric) -> value on COMPAS, German Credit and Adult Income
DISTRIBUTED = {
    ("PCA", 2, "%Var"): (39.28, 11.42, 7.78),
    ("PCA", 2, "MMD^2"): (0.092, 0.147, 0.349),
    ("FPCA (0.1, 0.01)", 2, "%Var"): (35.06, 7.43, 4.05),
    ("FPCA (0.1, 0.01)", 2, "MMD^2"): (0.012, 0.017, 0.016),
    ("FPCA (0, 0.01)", 10, "%Var"): (87.44, 29.74, 15.52),
    ("FPCA (0, 0.01)", 10, "MMD^2"): (0.015, 0.020, 0.004),
    ("MbF-PCA (10^-3)", 2, "%Var"): (33.95, 10.17, 6.03),
    ("MbF-PCA (10^-3)", 2, "MMD^2"): (0.005, 0.018, 0.005),
    ("MbF-PCA (10^-3)", 10, "%Var"): (87.75, 34.10, 18.71),
    ("MbF-PCA (10^-3)", 10, "MMD^2"): (0.013, 0.020, 0.005),
}
DATASETS = ("compas", "german", "adult")


def beside_distributed(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours, mean and standard deviation over the splits, beside every distributed number."""
    found = summary(rows)
    ours = found[found["protocol"] == "released"].set_index(["dataset", "method", "k", "metric"])[["mean", "std"]]
    printed = pd.DataFrame(
        [
            (dataset, method, k, metric, value)
            for (method, k, metric), values in DISTRIBUTED.items()
            for dataset, value in zip(DATASETS, values, strict=True)
        ],
        columns=["dataset", "method", "k", "metric", "distributed"],
    )
    return printed.join(ours, on=["dataset", "method", "k", "metric"])
