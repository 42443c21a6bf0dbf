"""Figures 3 and 7 to 16 of Vu et al. (2022): errors of both groups against the number of components, 50 / 50 splits."""

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError

from ..data import half_moments, load
from ..data.fold_store import WITH_HALVES, parts_of
from ..data.protocol_splits import HALF_SEEDS
from .claim_rules import Answer, rule
from .store import read_results
from .vu2022_methods import METHODS
from .vu2022_protocol import SEED, Problem, prepared

DATASETS = WITH_HALVES
LARGEST = 20
#: The settings that the paper fixes: alpha and lambda, and the learning rate.
SETTINGS: dict[str, tuple] = {
    "PCA": (),
    "RFPCA": (0.15, 0.5),
    "RFPCA (exact)": (0.15, 0.5),
    "FairPCA": (0.1,),
    "FairPCA (exact)": (),
}
EMBEDDED = ("PCA", "RFPCA (exact)", "FairPCA (exact)")
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in DATASETS]


def run_task(dataset: str) -> pd.DataFrame:
    """All methods and numbers of components from the data points."""
    data = load(dataset)
    return _curves(dataset, {seed: parts_of(data, seed, halves=True) for seed in HALF_SEEDS}, tuple(SETTINGS))


def run(dataset: str) -> pd.DataFrame:
    """PCA and the exact solvers from shipped moments."""
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(DATASETS)}.")
    return _curves(dataset, {seed: half_moments(dataset, seed) for seed in HALF_SEEDS}, EMBEDDED)


def components(d: int) -> range:
    """2, 4, ..., 20, below the number of features."""
    return range(2, min(LARGEST, d - 1) + 1, 2)


def _curves(dataset: str, splits: dict, methods: tuple[str, ...]) -> pd.DataFrame:
    rows = []
    for seed, parts in splits.items():
        train, test = (prepared(parts[part], parts["train"], scaled=True) for part in ("train", "test"))
        for k in components(train.d):
            for name in methods:
                problem = Problem(train, k, 1000, np.random.default_rng((SEED, seed, k)))
                (answer,) = METHODS[name].solve(problem, [SETTINGS[name]])
                for protocol, sample in (("in-sample", train), ("out-of-sample", test)):
                    for group, error in enumerate(answer.errors(sample, train.means)):
                        rows.append((dataset, name, k, seed, protocol, f"error of group {group}", float(error)))
    return pd.DataFrame(rows, columns=COLUMNS)


def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over the splits of the gap between the two group errors, by method, protocol and k."""
    index = ["dataset", "method", "protocol", "k", "split", *(["source"] if "source" in rows else [])]
    wide = rows.pivot(index=index, columns="metric", values="value")
    gap = (wide["error of group 0"] - wide["error of group 1"]).abs().rename("gap").reset_index()
    keys = [name for name in index if name != "split"]
    return gap.groupby(keys, sort=False)["gap"].mean().reset_index()


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each group over the splits, by method, protocol and k."""
    keys = ["dataset", "method", "protocol", "k", "metric", *(["source"] if "source" in rows else [])]
    found = rows.groupby(keys, sort=False)["value"].mean().reset_index()
    order = {name: place for place, name in enumerate(SETTINGS)}
    return found.sort_values("method", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def smaller_gap_over_k() -> Answer | None:
    """V27: RFPCA has a smaller gap than PCA and FairPCA over a range of k; counted over all data sets and k."""
    rows = read_results("vu2022-components", protocol="out-of-sample", method=["RFPCA", "PCA", "FairPCA"])
    if rows.empty:
        return None
    found = gaps(rows).pivot(index=["dataset", "k"], columns="method", values="gap")
    smaller = (found["RFPCA"] < found["PCA"]) & (found["RFPCA"] < found["FairPCA"])
    per = smaller.groupby(level="dataset").agg(["sum", "size"])
    evidence = "Out of sample RFPCA has the smallest gap of the three at "
    evidence += ", ".join(f"{row['sum']} of {row['size']} values of k on {name}" for name, row in per.iterrows()) + "."
    biodeg = per.loc["biodeg"] if "biodeg" in per.index else None
    share = smaller.mean(axis=0)
    most = share > rule("V27", "most, with all of Biodeg") and biodeg is not None and biodeg["sum"] == biodeg["size"]
    holds = share > rule("V27", "nearly all") or most
    return Answer("holds" if holds else "holds in part" if share > rule("V27", "some") else "does not hold", evidence)


claims = {"V27": smaller_gap_over_k}
