"""Clusters that somebody has: who is in which, whether chance gives as much, and what a fair clustering would cost."""

import numpy as np
import pandas as pd

from ..clustering.costs import fair_costs
from ..metrics import ClusterFrame
from .evaluation import LEVEL, simultaneous
from .groups import CLUSTERS
from .page.blocks import plain as n
from .sample import Sample

#: Rows at most that k-means and the fair clustering are fitted to.
ROWS = 2_000
WORDS = {"attribute": "", "clusters": "given", "cluster": "", "group": "", "note": ""}
DIFFERS, SAME = "differs from all rows beyond chance", "given, same rows"


def clusters_table(sample: Sample, attribute: str, labels: list[str], n_boot: int, seed: int) -> pd.DataFrame:
    """Lines for every cluster and group, for every cluster, and for all clusters together, of the groups ``labels``.

    A cluster whose distance exceeds its ``null_quantile`` differs: in one of twenty deals at random any does. 95 % of
    these have at least the balance and the MNCE of the line "dealt at random". Costs are of at most ``ROWS`` rows.
    """
    frame = ClusterFrame(sample.clusters[attribute].select(labels))
    chance = frame.by_chance(n_boot, (seed, 5))
    null = simultaneous(np.array([one.by_cluster["distance"] for one in chance]))
    each = frame.by_cluster.reset_index().assign(null_quantile=null)
    each["note"] = np.where(each["distance"] > null * (1.0 + 1e-9), DIFFERS, "")  # equal ones are rounded
    low = pd.DataFrame([one.overall for one in chance]).quantile(1.0 - LEVEL)
    of_all = pd.DataFrame({"given": frame.overall, "dealt at random": low}).loc[["balance", "MNCE"]].T
    groups = pd.concat([one.groups for one in sample.points.values()])
    rows = np.random.default_rng((seed, 6)).permutation(len(groups))[:ROWS]
    X = np.concatenate([one.X for one in sample.points.values()])[rows]
    costs = fair_costs(X, *groups[[CLUSTERS, attribute]].to_numpy(dtype=str)[rows].T, seed=seed)
    of_all = pd.concat([of_all.assign(count=frame.counts.n), costs.rename({"given": SAME}).assign(count=len(X))])
    found = pd.concat([frame.shares, each, of_all.rename_axis("clusters").reset_index()])
    found = found.rename(columns={"count": "rows"}).assign(attribute=attribute).fillna(WORDS)
    return found[[*WORDS, *found.columns.difference(WORDS, sort=False)]].reset_index(drop=True)


def clusters_sentence(table: pd.DataFrame) -> str:
    """The answer about the clusters for one attribute, with the price of fair ones."""
    each, by = table[table["distance"].notna()], table[table["cluster"] == ""].set_index("clusters")
    apart = each[each["note"] == DIFFERS].sort_values("distance", ascending=False)[["cluster", "distance"]].to_numpy()
    most = f" ({', '.join(f'{name} by {value:.0%}' for name, value in apart[:5])} of its rows)" if len(apart) else ""
    left = by["share of squares"].dropna().items()
    costs = ", ".join(f"{name} {share:.0%} (balance {n(by['balance'][name])})" for name, share in left)
    return (
        f"{table['attribute'][0]}, clusters: {len(apart)} of {len(each)} differ from all rows beyond chance{most}; "
        f"balance {n(by['balance']['given'])}, MNCE {n(by['MNCE']['given'])}. Squares left within clusters: {costs}."
    )
