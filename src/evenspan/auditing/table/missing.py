"""The rule for missing values: which rows are used, and what that does to the groups."""

from collections.abc import Iterable

import numpy as np

from ...core.errors import DataError, GroupError
from .codes import ColumnCode
from .parts import require_groups
from .scan import NO_LABEL, Scan

_CHOICES = (
    "Choose what happens to them: missing='drop' leaves out their rows, 'mean' puts in the mean or the most frequent "
    "category, 'indicator' does so and adds a feature that says so (on the command line --missing drop, and so on)"
)


def used_rows(scan: Scan, codes: Iterable[ColumnCode], target: str | None, rule: str) -> tuple:
    """The rows that are used, and the groups they are in.

    Parameters
    ----------
    scan : Scan
        The first pass.
    codes : iterable of ColumnCode
        The columns that are used.
    target : str or None
        The column to be predicted.
    rule : {"error", "drop", "mean", "indicator"}
        What a missing cell does.

    Returns
    -------
    rows : ndarray of shape (n_used,)
        Their numbers in the table.
    groups : dict
        For each sensitive column its labels (G,) and the codes (n_used,) of the rows.
    dropped : dict
        For each sensitive column the number of dropped rows by label.
    notes : list of str
        What was done.
    """
    names = [code.name for code in codes]
    relevant = [*scan.labels, *([target] if target else []), *names]
    counts = {name: scan.profiles[name].missing for name in relevant if scan.profiles[name].missing}
    if counts and rule == "error":
        raise DataError(f"missing values in {_listed(counts, scan.n)}. {_CHOICES}; or exclude the columns.")
    if target in counts and rule != "drop":
        raise DataError(
            f"target {target!r} misses {counts[target]:,} of {scan.n:,} values, and a target is never filled in. Leave "
            "out these rows (missing='drop' leaves out every row with a missing value), or name no target."
        )
    groups = {name: labels.result() for name, labels in scan.labels.items()}
    for name, (labels, code) in groups.items():
        require_groups(name, np.bincount(code[code >= 0], minlength=len(labels)), labels)
    if rule == "drop":
        return _dropped(scan, groups, counts)
    notes = []
    for name in groups:
        if name in counts:
            groups[name] = _with_missing(name, *groups[name])
            notes.append(f"{counts[name]:,} rows without a value of {name} form the group {NO_LABEL}")
    if filled := {name: count for name, count in counts.items() if name not in scan.labels}:
        what = "the mean or the most frequent category of the fitting part"
        more = "; a further feature says which cells these are" if rule == "indicator" else ""
        notes.append(f"missing values in {_listed(filled, scan.n)} were replaced by {what}{more}")
    return np.arange(scan.n), groups, {}, notes


def _dropped(scan: Scan, groups: dict, counts: dict[str, int]) -> tuple:
    if not counts:
        return np.arange(scan.n), groups, {}, []
    lost = scan.missing.rows(counts)
    rows = np.flatnonzero(~lost)
    if not len(rows):
        raise DataError(
            f"every row misses a value, so none is left: {_listed(counts, scan.n)}. Choose missing='mean' or "
            "'indicator', or exclude the columns that miss most."
        )
    kept, dropped = {}, {}
    share = f"{len(lost) - len(rows):,} of {len(lost):,} rows ({1 - len(rows) / len(lost):.1%})"
    notes = [f"{share} were dropped because of missing values in {_listed(counts, scan.n)}"]
    for name, (labels, codes) in groups.items():
        before = np.bincount(codes[codes >= 0], minlength=len(labels))
        after = np.bincount(codes[rows], minlength=len(labels))
        require_groups(name, after, labels, " after rows with missing values were dropped")
        dropped[name] = dict(zip(labels.tolist(), (before - after).tolist(), strict=True))
        shares = zip(labels, (before - after) / before, strict=True)
        notes.append(f"dropped by {name}: " + ", ".join(f"{part:.1%} of {label}" for label, part in shares))
        there = np.flatnonzero(after > 0)
        if gone := labels[after == 0].tolist():
            notes.append(f"no row of {name} {', '.join(map(repr, gone))} is left")
        position = np.full(len(labels), -1, dtype=np.int16)
        position[there] = np.arange(len(there))
        kept[name] = (labels[there], position[codes[rows]])
    return rows, kept, dropped, notes


def _with_missing(name: str, labels: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if NO_LABEL in labels:
        raise GroupError(f"sensitive column {name!r} has missing values and the label {NO_LABEL!r}. Rename the label.")
    wider = np.unique(np.append(labels, NO_LABEL))
    position = np.append(np.searchsorted(wider, labels), np.searchsorted(wider, NO_LABEL))
    return wider, position[codes].astype(np.int16)


def _listed(counts: dict[str, int], n: int) -> str:
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(counts.items())[:8])
    more = ", ..." if len(counts) > 8 else ""
    return f"{len(counts)} column{'s' if len(counts) > 1 else ''} of {n:,} rows: {shown}{more}"
