"""The rows of a table: the group of each, those that miss cells, and which part each belongs to."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from ..core.errors import DataError, GroupError
from .columns import ColumnUse, coded, listed, readings
from .encode import ColumnCode

#: A sensitive column of more values than these holds values of another kind, of more numbers than these a quantity.
MAX_GROUPS, MAX_NUMBERS = 50, 20
SENSITIVE, CLUSTERS = "sensitive column", "column of clusters"  # clusters may be up to MAX_GROUPS numbers
#: The group of the rows whose sensitive cell is missing, where the rule for missing values admits it.
NO_LABEL = "(missing)"
#: Joins the names of attributes and the labels of groups to those of their intersection.
CROSS = " x "
#: A column that misses this share of its cells, so that less than a tenth of the rows is left, is named as the cause.
MOSTLY_MISSING = 0.8

#: Methods are fitted to the first part, chosen on the second, and described on the third.
PARTS = TRAINING, VALIDATION, HELD_OUT = "training", "validation", "held out"

#: Sorted labels (G,), and the position (n,) of every row's label among them; -1 where it is missing.
Labels = tuple[np.ndarray, np.ndarray]


def labels_of(series: pd.Series, role: str = SENSITIVE) -> Labels:
    """The groups of all rows by one sensitive column, or by the column of clusters."""
    codes, words = coded(series)
    numeric = bool(readings(words)) and len(words) > 0
    if len(words) > (most := MAX_NUMBERS if numeric and role == SENSITIVE else MAX_GROUPS):
        raise GroupError(
            f"{role} {series.name!r} has {len(words):,} different {'numbers' if numeric else 'values'}; "
            f"needed are at most {most}. Choose another column, or bin it into groups, numbers for instance by "
            f"pandas.cut(table[{series.name!r}], [0, 25, 60, 120]).astype(str)."
        )
    labels, at = np.unique(words.astype(str), return_inverse=True)
    if NO_LABEL in labels:
        raise GroupError(f"{role} {series.name!r} has the label {NO_LABEL!r}, which is taken. Rename it.")
    return labels, np.append(at, -1)[codes].astype(np.int16)


def used_rows(
    frame: pd.DataFrame, uses: Mapping[str, ColumnUse], sensitive: list[str], codes: Iterable[ColumnCode],
    target: str | None, rule: str, clusters: str | None = None,
) -> tuple[np.ndarray, dict[str, Labels], dict, list[str], list[str]]:  # fmt: skip
    """The rows that are used, and the groups they are in, by the rule "error", "drop", "mean" or "indicator".

    Returns their numbers (n_used,) in the table; the labels of each sensitive column and the codes (n_used,) of the
    rows, last those of clusters; for each the number of dropped rows by label; what was done; and what may be amiss.
    """
    named = dict.fromkeys(sensitive, SENSITIVE) | ({clusters: CLUSTERS} if clusters else {})
    n, relevant = len(frame), [*named, *([target] if target else []), *(code.name for code in codes)]
    counts = {name: uses[name].missing for name in relevant if uses[name].missing}
    counts = dict(sorted(counts.items(), key=lambda item: -item[1]))
    if counts and rule == "error":
        raise DataError(
            f"missing values in {listed(counts)} of {n:,} rows. Choose what happens to them: missing='drop' leaves out "
            "their rows, 'mean' puts in the mean or the most frequent category, 'indicator' does so and adds a feature "
            "that says so (on the command line --missing drop, and so on); or exclude the columns."
        )
    if target in counts and rule != "drop":
        raise DataError(
            f"target {target!r} misses {counts[target]:,} of {n:,} values, and a target is never filled in. Leave "
            "out these rows (missing='drop' leaves out every row with a missing value), or name no target."
        )
    groups, dropped, notes, mostly, rows = {}, {}, [], [], np.arange(n)
    if rule == "drop" and counts:
        rows = np.flatnonzero(frame[list(counts)].notna().to_numpy().all(axis=1))
        dropped[""] = {"": n - len(rows)}
        worst = next(iter(counts))
        if len(rows) < 0.1 * n and (not len(rows) or counts[worst] > MOSTLY_MISSING * n):
            raise DataError(
                f"dropping the rows with a missing value leaves {len(rows):,} of {n:,}, because {worst!r} misses "
                f"{counts[worst] / n:.0%} of its cells. Leave it out: exclude=[{worst!r}] (--exclude), or choose "
                f"missing='mean' or 'indicator'. Missing: {listed(counts)}."
            )
        share = f"{n - len(rows):,} of {n:,} rows ({1 - len(rows) / n:.1%})"
        notes.append(f"{share} were dropped because of missing values in {listed(counts)}; by group in the table")
    for name, role in named.items():
        labels, codes = labels_of(frame[name], role)
        kept = np.bincount(codes[rows] + 1, minlength=len(labels) + 1)
        if len(there := labels[kept[1:] > 0]) < 2:
            only = f"one group only, {str(there[0])!r}" if len(there) else "no group"
            after = " after rows with missing values were dropped" if len(rows) < n else ""
            raise GroupError(f"{role} {name!r} has {only}{after}; needed are two. Choose another column.")
        if len(rows) < n:
            lost = np.bincount(codes + 1, minlength=len(labels) + 1) - kept
            dropped[name] = dict(zip(labels.tolist(), lost[1:].tolist(), strict=True))
        elif kept[0]:
            notes.append(f"{kept[0]:,} rows without a value of {name} form the group {NO_LABEL}")
        names = np.append(labels, NO_LABEL)  # code -1 is its last entry
        found, at = np.unique(codes[rows], return_inverse=True)
        order = np.argsort(names[found])
        groups[name] = names[found][order], np.argsort(order)[at].astype(np.int16)
    if rule != "drop":
        filled = {name: count for name, count in counts.items() if name not in named}
        mostly = [f"{name!r} misses {k / n:.0%} of its cells" for name, k in counts.items() if k > MOSTLY_MISSING * n]
        if filled:
            more = "; a further feature says which cells these are" if rule == "indicator" else ""
            what = f"the mean or the most frequent category of the training set{more}"
            notes.append(f"missing values in {listed(filled)} of {n:,} rows were replaced by {what}")
    return rows, groups, dropped, notes, mostly


def intersection(groups: Mapping[str, Labels]) -> dict[str, Labels]:
    """Labels and codes of the combinations of all attributes that occur, under the joined names."""
    cells, at = np.unique(np.stack([codes for _, codes in groups.values()], axis=1), axis=0, return_inverse=True)
    columns = [labels for labels, _ in groups.values()]
    names = [CROSS.join(labels[g] for labels, g in zip(columns, cell, strict=True)) for cell in cells]
    labels, position = np.unique(names, return_inverse=True)
    if len(labels) < len(names):
        twice = next(name for j, name in enumerate(names) if name in names[:j])
        raise GroupError(f"two combinations of {CROSS.join(groups)} would both be called {twice!r}. Rename a label.")
    return {CROSS.join(groups): (labels, position[at.ravel()].astype(np.int16))}


def parts_of_rows(groups: Mapping[str, Labels], holdout: float, rng: np.random.Generator) -> np.ndarray:
    """The part (n,) of every row as its position in ``PARTS``: at random, validation and held out with a share each.

    Of every combination of groups each part has the same share to within two rows: rows are put in order of their
    groups, at random within, and taken at equal distances (systematic sampling), in turns for the two parts.
    """
    n = len(next(iter(groups.values()))[1])
    order = np.lexsort((rng.random(n), *(codes for _, codes in groups.values())))
    part = np.zeros(n, dtype=np.int8)
    taken = order[np.diff(np.floor(2.0 * holdout * np.arange(n + 1) + rng.random())) > 0]
    part[taken] = 1 + (np.arange(len(taken)) + rng.integers(2)) % 2
    return part


def groups_table(
    groups: Mapping[str, Labels], part: np.ndarray, dropped: Mapping, min_group: int, weights: np.ndarray | None
) -> pd.DataFrame:
    """One row for each group of each attribute: its rows in all and in each part, and whether it is small.

    With weights (n,) shares are weighted, every group has its effective size, and a last row, without names, is of all.
    """
    rows, w = [], np.ones(len(part)) if weights is None else weights
    everybody = {} if weights is None else {"": (np.array([""]), np.zeros(len(part), dtype=int))}
    for attribute, (labels, codes) in {**groups, **everybody}.items():
        counts = np.array([np.bincount(codes[part == i], minlength=len(labels)) for i in range(len(PARTS))])
        sums, squares = (np.bincount(codes, one, len(labels)) for one in (w, w**2))
        for label, in_parts, of, size in zip(labels, counts.T.tolist(), sums, sums**2 / squares, strict=True):
            n = sum(in_parts)
            few = f"{'fewer' if n < min_group else 'worth fewer'} than {min_group} rows"
            notes = [f"{few}: what is said of it is uncertain"] if size < min_group else []
            if n and n in in_parts:
                notes.append(f"all of its rows are in one part ({PARTS[in_parts.index(n)]})")
            rows.append({
                "attribute": attribute, "group": str(label), "rows": n, "share": of / w.sum(axis=0),
                **({} if weights is None else {"effective size": size}),
                **dict(zip(PARTS, in_parts, strict=True)), "small": bool(size < min_group),
                "dropped": dropped.get(attribute, {}).get(str(label), 0), "note": "; ".join(notes),
            })  # fmt: skip
    return pd.DataFrame(rows)
