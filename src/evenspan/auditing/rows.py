"""The rows of a table: the group of each, those that miss cells, and which are held out."""

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from ..core.errors import DataError, GroupError
from .cells import looks_numeric, require_plain, text_of, texts
from .columns import profile_columns
from .encode import ColumnCode
from .limits import TABLE
from .progress import Progress
from .table import Table

#: A sensitive column of more numbers than these is a quantity, not a group.
MAX_NUMBERS = 20
#: A sensitive column of more different texts than these names no groups.
MAX_GROUPS = TABLE["groups"][0]
#: The group of the rows whose sensitive cell is missing, where the rule for missing values admits it.
NO_LABEL = "(missing)"
#: Joins the names of attributes and the labels of groups to those of their intersection.
CROSS = " x "
_CHOICES = (
    "Choose what happens to them: missing='drop' leaves out their rows, 'mean' puts in the mean or the most frequent "
    "category, 'indicator' does so and adds a feature that says so (on the command line --missing drop, and so on)"
)


# -- the first pass ----------------------------------------------------------------------------------------------------


class Scan:
    """What the first pass over a table finds: profiles of its columns, the groups, which rows miss which cells.

    ``keep_missing`` says whether the last is remembered; ``rows`` are read at a time.
    """

    def __init__(self, table: Table, sensitive: list[str], *, keep_missing: bool, rows: int | None, tell: Progress):
        self.labels = {name: Labels(name) for name in sensitive}
        self.missing = MissingCells(table.columns if keep_missing else ())
        tell.stage("reading the columns", table.n_rows or getattr(table, "guessed_rows", None))
        batches = self._watched(table.batches(types=dict.fromkeys(sensitive, "text"), rows=rows), tell)
        self.profiles = profile_columns(table, table.columns, batches, as_text=sensitive, rows=rows)
        self.n = self.missing.n

    def _watched(self, batches: Iterable[pd.DataFrame], tell: Progress) -> Iterable[pd.DataFrame]:
        for frame in batches:
            for name, labels in self.labels.items():
                labels.add(frame[name])
            self.missing.add(frame)
            yield frame
            tell.advance(len(frame))


class Labels:
    """The groups of all rows by one sensitive column: a code of two bytes for each row."""

    def __init__(self, name: str):
        self.name = name
        self._code_of: dict[str, int] = {}
        self._codes: list[np.ndarray] = []

    def add(self, series: pd.Series) -> None:
        """Fold in the next rows."""
        cells, distinct = texts(series)
        known = np.array([self._code_of.setdefault(text, len(self._code_of)) for text in distinct] + [-1])
        if len(self._code_of) > 30_000:
            self._refuse()
        self._codes.append(known[cells].astype(np.int16))

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted labels, and the position of every row's label among them; -1 where it is missing."""
        require_plain(self.name, self._code_of)
        names = np.array(list(self._code_of), dtype=object)
        if any("." in name for name in names) and looks_numeric(names).all():
            names = np.array([text_of(float(name)) for name in names], dtype=object)  # 1 and 1.0 are one group
        labels, at = np.unique(names.astype(str), return_inverse=True)
        if len(labels) > (MAX_NUMBERS if looks_numeric(labels.astype(object)).all() else MAX_GROUPS):
            self._refuse()
        return labels, np.append(at, -1)[np.concatenate(self._codes)].astype(np.int16)

    def _refuse(self) -> None:
        names = np.array(list(self._code_of), dtype=object)
        if looks_numeric(names).all():
            raise GroupError(
                f"sensitive column {self.name!r} has {len(names):,} different numbers, from {names[0]} on, so it looks "
                f"like a quantity; needed are at most {MAX_NUMBERS}. Bin it into groups, for instance "
                f"table[{self.name!r}] = pandas.cut(table[{self.name!r}], [0, 25, 60, 120]).astype(str)."
            )
        raise GroupError(
            f"sensitive column {self.name!r} has {len(names):,} different values, from {names[0]!r} on; needed are "
            f"at most {MAX_GROUPS} groups. Merge values into groups, or choose another column."
        )


class MissingCells:
    """Which rows miss which of some columns: one bit for each cell of the columns that miss any."""

    def __init__(self, columns: Collection[str]):
        self.columns = set(columns)
        self._parts: list[tuple[int, str, np.ndarray]] = []
        self.n = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Fold in the next rows."""
        for name in frame.columns:
            if name in self.columns and frame[name].hasnans:
                self._parts.append((self.n, name, np.packbits(frame[name].isna().to_numpy())))
        self.n += len(frame)

    def rows(self, columns: Iterable[str]) -> np.ndarray:
        """Whether a row misses any of the columns, (n,)."""
        wanted, found = set(columns), np.zeros(self.n + 7, dtype=bool)
        for start, name, bits in self._parts:
            if name in wanted:
                cells = np.unpackbits(bits).astype(bool)
                found[start : start + len(cells)] |= cells
        return found[: self.n]


# -- missing cells -----------------------------------------------------------------------------------------------------


def used_rows(scan: Scan, codes: Iterable[ColumnCode], target: str | None, rule: str) -> tuple:
    """The rows that are used, and the groups they are in, by the rule "error", "drop", "mean" or "indicator".

    Returns their numbers (n_used,) in the table; for each sensitive column its labels (G,) and the codes (n_used,) of
    the rows; for each sensitive column the number of dropped rows by label; and what was done.
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


# -- groups and parts --------------------------------------------------------------------------------------------------


def require_groups(name: str, counts: np.ndarray, labels: np.ndarray, after: str = "") -> None:
    """``GroupError`` unless at least two groups have rows."""
    there = labels[counts > 0]
    if len(there) < 2:
        only = f"one group only, {str(there[0])!r}" if len(there) else "no group"
        raise GroupError(
            f"sensitive column {name!r} has {only}{after}; needed are at least two. Choose another column, or a table "
            "with other rows."
        )


def intersection(groups: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels and codes of the combinations of all attributes that occur, under the joined names."""
    cells, at = np.unique(np.stack([codes for _, codes in groups.values()], axis=1), axis=0, return_inverse=True)
    columns = [labels for labels, _ in groups.values()]
    names = [CROSS.join(labels[g] for labels, g in zip(columns, cell, strict=True)) for cell in cells]
    labels, position = np.unique(names, return_inverse=True)
    if len(labels) < len(names):
        twice = next(name for j, name in enumerate(names) if name in names[:j])
        raise GroupError(
            f"two combinations of {CROSS.join(groups)} would both be called {twice!r}, because labels hold {CROSS!r}. "
            "Rename one of the labels."
        )
    return {CROSS.join(groups): (labels, position[at.ravel()].astype(np.int16))}


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
                    "training": int(n - m),
                    "held out": int(m),
                    "small": bool(n < min_group),
                    "dropped": dropped.get(attribute, {}).get(str(label), 0),
                    "note": "; ".join(notes),
                }
            )
    return pd.DataFrame(rows)
