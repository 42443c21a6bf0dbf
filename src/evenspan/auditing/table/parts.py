"""Rows of a table dealt to a fitting and a held-out part, and the groups in each."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from ...core.errors import GroupError

#: Joins the names of attributes and the labels of groups to those of their intersection.
CROSS = " x "


def intersection(groups: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels and codes of the combinations of all attributes that occur, under the joined names."""
    columns = [labels[codes] for labels, codes in groups.values()]
    texts = pd.Series(columns[0], dtype=object)
    for column in columns[1:]:
        texts = texts + CROSS + pd.Series(column, dtype=object)
    labels, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    return {CROSS.join(groups): (labels, codes.astype(np.int16))}


def split(groups: Mapping[str, tuple[np.ndarray, np.ndarray]], holdout: float, rng: np.random.Generator) -> np.ndarray:
    """Which rows (n,) are held out: at random, in every combination of groups the same share as nearly as can be.

    Every group of every attribute with two rows or more gets at least one row in both parts, except where groups of
    three attributes or more contradict each other.
    """
    coded = np.stack([codes for _, codes in groups.values()], axis=1)
    _, cell = np.unique(coded, axis=0, return_inverse=True)
    cell = cell.ravel()
    n = len(cell)
    keys = rng.random(n)
    order = np.lexsort((keys, cell))
    starts = np.append(0, np.cumsum(np.bincount(cell)))
    held = np.zeros(n, dtype=bool)
    carried = rng.random()  # what rounding leaves over in one cell goes to the next, so that the shares add up
    for start, stop in pairwise(starts):
        wanted = holdout * (stop - start) + carried
        take = int(min(max(np.floor(wanted), 0), stop - start))
        carried = wanted - take
        held[order[start : start + take]] = True
    for _ in groups:
        for _, codes in groups.values():
            _repair(held, codes, coded, keys)
    return held


def _repair(held: np.ndarray, codes: np.ndarray, coded: np.ndarray, keys: np.ndarray) -> None:
    """Move a row of each group that is in one part only to the other, where it leaves no group behind if possible."""
    total, inside = np.bincount(codes), np.bincount(codes, weights=held)
    for group in np.flatnonzero((total >= 2) & ((inside == 0) | (inside == total))):
        rows = np.flatnonzero(codes == group)
        there = held[rows[0]]
        left = [np.bincount(column[held == there], minlength=column.max() + 1) for column in coded.T]
        spare = np.min([count[column[rows]] for count, column in zip(left, coded.T, strict=True)], axis=0)
        held[rows[np.lexsort((keys[rows], -np.minimum(spare, 2)))[0]]] = not there


def require_groups(name: str, counts: np.ndarray, labels: np.ndarray, after: str = "") -> None:
    """``GroupError`` unless at least two groups have rows."""
    there = labels[counts > 0]
    if len(there) < 2:
        only = f"one group only, {str(there[0])!r}" if len(there) else "no group"
        raise GroupError(
            f"sensitive column {name!r} has {only}{after}; needed are at least two. Choose another column, or a table "
            "with other rows."
        )


def groups_table(
    groups: Mapping[str, tuple[np.ndarray, np.ndarray]],
    held: np.ndarray,
    dropped: Mapping[str, Mapping[str, int]],
    min_group: int,
) -> pd.DataFrame:
    """One row for each group of each attribute: its rows in all and in each part, and whether it is small."""
    rows = []
    for attribute, (labels, codes) in groups.items():
        total = np.bincount(codes, minlength=len(labels))
        out = np.bincount(codes, weights=held, minlength=len(labels)).astype(int)
        for label, n, m in zip(labels, total, out, strict=True):
            notes = [f"fewer than {min_group} rows: what is said of it is uncertain"] if n < min_group else []
            if n in (m, n - m) and n:
                notes.append(f"all of its rows are in the {'held-out' if m else 'fitting'} part")
            rows.append(
                {
                    "attribute": attribute,
                    "group": str(label),
                    "rows": int(n),
                    "share": n / len(held),
                    "fitting": int(n - m),
                    "held out": int(m),
                    "small": bool(n < min_group),
                    "dropped": dropped.get(attribute, {}).get(str(label), 0),
                    "note": "; ".join(notes),
                }
            )
    return pd.DataFrame(rows)
