"""Samples of an audit made from arrays, and tables whose groups differ in a known way."""

import numpy as np
import pandas as pd

from evenspan.auditing.passes import Points, Sample
from evenspan.core.moments import GroupMoments
from evenspan.metrics.bootstrap import assign_blocks


class Names:
    """Stands for an encoder: nothing but the names of the features."""

    def __init__(self, names):
        self.names = names

    def get_feature_names_out(self):
        return np.array(self.names)


def rows(sizes=(900, 500, 300), d=6, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of groups with other means, scales and directions of variance, and their labels."""
    rng, X, labels = np.random.default_rng(seed), [], []
    for g, n in enumerate(sizes):
        scales = np.roll(np.linspace(3.0, 0.5, d), 2 * g) * (1.0 + 0.3 * g)
        X.append(rng.normal(size=(n, d)) * scales + 0.5 * g * rng.normal(size=d))
        labels += [f"g{g}"] * n
    return np.vstack(X), np.array(labels)


def frame(X: np.ndarray, labels: np.ndarray, name: str = "team") -> pd.DataFrame:
    """A table of numbers with one sensitive column, and a target that one feature tells something about."""
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    noise = np.random.default_rng(1).normal(size=len(X))
    return table.assign(**{name: labels, "hired": np.where(X[:, 0] + noise > 0, "yes", "no")})


def sample(X, labels, *, held=0.4, n_blocks=40, attribute="team", y=None, seed=0) -> Sample:
    """A sample as the passes leave it, the features as they are."""
    names = [f"x{j}" for j in range(X.shape[1])]
    out = np.random.default_rng(seed).random(len(X)) < held
    moments, points = {}, []
    for part, rows in (("fitting", ~out), ("held out", out)):
        table, groups = pd.DataFrame(X[rows], columns=names), labels[rows]
        points.append(Points(X[rows], pd.DataFrame({attribute: groups}), None if y is None else y[rows]))
        if rows.any():
            blocks = pd.DataFrame({"block": assign_blocks(len(table), n_blocks, seed), attribute: groups})
            moments[part] = {attribute: GroupMoments.from_data(table, blocks)}
    counts = pd.Series(labels).value_counts(sort=False)
    columns = pd.DataFrame(
        {"column": names, "kind": "numeric", "used as": "number", "missing": 0, "proxy": "", "note": ""}
    )
    groups = pd.DataFrame(
        {"attribute": attribute, "group": counts.index, "rows": counts.to_numpy(), "share": counts / len(X),
         "small": counts.to_numpy() < 30, "note": ""}
    )  # fmt: skip
    return Sample(
        "table", len(X), len(X), columns, groups, Names(names), (attribute,), None if y is None else "hired",
        moments["fitting"], moments.get("held out", {}), *points,
    )  # fmt: skip
