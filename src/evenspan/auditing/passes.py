"""Two passes over a table of any size: the first finds what it holds, the last one its moments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

from ..core.accumulator import MomentAccumulator
from ..core.errors import ConfigurationError, DataError, GroupError, LimitError
from ..core.inputs import require_generator, require_memory, require_range, whole_number
from ..core.moments import GroupMoments
from ..metrics.bootstrap import assign_blocks
from .columns import Target, use_of
from .described import columns_table, sentences
from .encode import ColumnCode, TableEncoder, codes_of, encode, with_fills
from .limits import TABLE
from .progress import Progress, progress_of
from .read import open_table
from .rows import Scan, groups_table, intersection, split, used_rows
from .table import Table

#: Name of the attribute that numbers the blocks in blocked moments.
BLOCK = "block"
#: Bytes that the blocked moments of one attribute and part may take before there are fewer blocks,
MOMENT_BYTES = 2**28
#: but not fewer than these.
LEAST_BLOCKS = 20
#: Bytes of what is known of each row between the passes: its number, part, groups, blocks, and the sorting of these.
ROW_BYTES = 64
#: Bytes of the points kept of one part.
POINT_BYTES = 2**28
_RULES = ("error", "drop", "mean", "indicator")


# -- what the passes leave ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Points:
    """Some rows of the encoded table, drawn at random, with their groups."""

    X: np.ndarray  # (n, d), in final units
    groups: pd.DataFrame  # one column of labels (text) for each attribute, named as the attribute
    y: np.ndarray | None = None  # the target: float64 if it is a number, text if it is a category

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)


@dataclass(frozen=True, eq=False)
class Sample:
    """What the passes over a table leave; everything that the analysis sees.

    All moments and points are in final units: those of the columns, or standardised by mean and scale of the fitting
    part when that was asked for. ``columns`` has one row for each column of the table, in its order: ``column``,
    ``kind``, ``used as``, ``missing``, ``distinct``, ``measure``, ``association with ATTRIBUTE`` for each sensitive
    column, ``proxy`` (of which attributes, joined by commas), ``note``. ``groups`` has one row for each group of each
    attribute: ``attribute``, ``group``, ``rows``, ``share``, ``fitting``, ``held out``, ``small``, ``dropped`` (rows
    lost to missing values), ``note``.
    """

    name: str  # of the file, or "table"
    n_rows: int  # rows seen
    n_used: int  # rows kept after the rule for missing values
    columns: pd.DataFrame
    groups: pd.DataFrame
    encoder: TableEncoder  # maps a raw data frame to the numeric table (n, d) in final units
    attributes: tuple[str, ...]  # the sensitive columns, and their intersection ("sex x race")
    target: str | None
    fitting: Mapping[str, GroupMoments]  # blocked moments: labels have the fields block and attribute
    held_out: Mapping[str, GroupMoments]
    fitting_points: Points
    held_out_points: Points
    notes: tuple[str, ...] = ()  # what was done to the data, in sentences
    warnings: tuple[str, ...] = ()  # those of the notes that are said again at the end: something may be amiss

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d numeric features, such as ``age`` and ``job=clerk``."""
        return tuple(str(name) for name in self.encoder.get_feature_names_out())

    @property
    def d(self) -> int:
        """Number of numeric features."""
        return len(self.feature_names)

    def moments(self, attribute: str | None = None, part: str = "fitting") -> GroupMoments:
        """The group moments of a part, "fitting" or "held_out", for one attribute (the first): blocks are merged."""
        name = self.attributes[0] if attribute is None else attribute
        if name not in self.attributes:
            raise GroupError(f"no attribute {name!r}; the attributes are {', '.join(self.attributes)}.")
        if part not in ("fitting", "held_out"):
            raise DataError(f"part={part!r}; needed is 'fitting' or 'held_out'.")
        return getattr(self, part)[name].marginal(name)


# -- the passes --------------------------------------------------------------------------------------------------------


def read_sample(
    table,
    *,
    sensitive,
    target: str | None = None,
    missing: str = "error",
    intersections: bool = False,
    standardize: bool = True,
    holdout: float = 0.3,
    exclude=(),
    keep=(),
    n_blocks: int = 100,
    max_points: int = 20_000,
    min_group: int = 30,
    random_state=0,
    progress=False,
    batch_rows: int | None = None,
) -> Sample:
    """Read a table in batches and keep what an audit needs: moments of every group, some points, and what was done.

    Parameters
    ----------
    table, sensitive, target, missing, intersections, standardize, holdout, exclude, keep, random_state, progress
        As of ``evenspan.audit``. With "mean" and "indicator" rows without a sensitive value form the group
        ``(missing)``. The size of the batches changes nothing.
    n_blocks : int
        Blocks of rows for the bootstrap; fewer (at least 20) where the moments would take more than 256 MiB.
    max_points : int
        Rows that are kept of each part.
    min_group : int
        Groups of fewer rows are flagged as small.
    batch_rows : int, optional
        Rows read at a time; about 32 MiB unless given.

    Returns
    -------
    Sample
        What the analysis sees.
    """
    table = open_table(table)
    sensitive, exclude, keep = options(table, sensitive, target, exclude, keep, missing, holdout, intersections)
    tell, rng = progress_of(progress), require_generator(random_state)
    for name, value, least in (("n_blocks", n_blocks, 2), ("max_points", max_points, 1), ("min_group", min_group, 1)):
        whole_number(name, value, least)

    n_rows = table.n_rows or getattr(table, "guessed_rows", None) or 0
    require_memory(ROW_BYTES * n_rows, f"{table.name} with {n_rows:,} rows", "Take some of the rows, drawn at random.")
    scan = Scan(table, sensitive, keep_missing=missing == "drop", rows=batch_rows, tell=tell)
    features = [name for name in table.columns if name not in {*sensitive, *exclude, target}]
    uses = [use_of(scan.profiles[name], keep=name in keep) for name in features]
    aim = None if target is None else Target.of(scan.profiles[target])
    codes = codes_of(uses, scan.profiles, missing)
    d = sum(len(code.features) for code in codes)
    _require_few(codes, d)
    rows, groups, dropped, notes = used_rows(scan, codes, target, missing)
    split_rng, block_rng, point_rng = rng.spawn(3)
    held = split(groups, holdout, split_rng)
    if intersections:
        groups |= intersection(groups)
    work = LastPass(table, codes, aim, _types(scan, codes, aim), rows, held, groups, batch_rows, tell)
    _require_room(groups, held, d)
    blocks = {name: _blocks(len(labels), held, d, n_blocks, block_rng) for name, (labels, _) in groups.items()}
    chosen = _chosen(held, d, max_points, point_rng)
    if missing in ("mean", "indicator") and any(scan.profiles[code.name].missing for code in codes):
        work.codes = codes = with_fills(codes, work.fitting_frames())
    sums, points, drawn = work.run(blocks, chosen)

    names = tuple(name for code in codes for name in code.features)
    moments, reference = finish(sums, names, standardize)
    rule = "error" if missing == "drop" else missing
    encoder = TableEncoder(
        missing=rule,
        standardize=standardize,
        exclude=tuple(name for name in (*sensitive, target, *exclude) if name),
        keep=tuple(keep),
    ).learnt(table.columns, uses, codes, reference.mean, reference.scale())
    for one in points.values():
        one.X[...] = (one.X - encoder.mean_) / encoder.scale_
    sensitive_groups = pd.DataFrame({name: groups[name][0][groups[name][1][chosen]] for name in sensitive})
    warnings = [
        f"column {use.name!r} was left out: {use.note}. Write them so and audit again"
        for use in uses
        if use.used == "left out" and scan.profiles[use.name].badly_written
    ]
    columns, found = columns_table(scan, table.columns, uses, aim, drawn, sensitive_groups)
    return Sample(
        name=table.name,
        n_rows=scan.n,
        n_used=len(rows),
        columns=columns,
        groups=groups_table(groups, held, dropped, min_group),
        encoder=encoder,
        attributes=tuple(groups),
        target=target,
        fitting={name: moments[False, name] for name in groups},
        held_out={name: moments[True, name] for name in groups},
        fitting_points=points[False],
        held_out_points=points[True],
        notes=sentences([*warnings, *table.notes, *notes, *found, *_told(names, reference, blocks, n_blocks, chosen)]),
        warnings=sentences(warnings),
    )


def options(table: Table | None, sensitive, target, exclude, keep, missing, holdout, intersections) -> list[list[str]]:
    """The names of the sensitive, the excluded and the kept columns, after every argument has been looked at.

    Without a table, whether it has columns of these names is not asked.
    """
    sensitive, exclude, keep = ([one] if isinstance(one, str) else list(one) for one in (sensitive, exclude, keep))
    if table is not None:
        for name, columns in (("sensitive", sensitive), ("exclude", exclude), ("keep", keep)):
            table.require(columns, name)
        table.require([] if target is None else [target], "target")
    if not sensitive or len(set(sensitive)) < len(sensitive):
        raise ConfigurationError(f"sensitive={sensitive!r}; needed is at least one column, and each of them once.")
    if BLOCK in sensitive:
        raise ConfigurationError(
            f"a sensitive column is named {BLOCK!r}, as the blocks of the bootstrap are. Rename it."
        )
    if both := [name for name in sensitive if name == target or name in exclude]:
        raise ConfigurationError(f"column {both[0]!r} is sensitive, and also the target or excluded. Name it once.")
    if target in exclude:
        raise ConfigurationError(f"column {target!r} is the target, and also excluded. A target is never a feature.")
    if both := [name for name in keep if name in {*sensitive, *exclude, target}]:
        raise ConfigurationError(f"column {both[0]!r} is to be kept, and also sensitive, the target or excluded.")
    if intersections and len(sensitive) < 2:
        raise ConfigurationError("intersections=True needs two sensitive columns or more; one was named.")
    if missing not in _RULES:
        raise ConfigurationError(f"missing={missing!r}; needed is one of {', '.join(_RULES)}.")
    if isinstance(holdout, bool) or not isinstance(holdout, Real) or not 0 < holdout < 1:
        raise ConfigurationError(f"holdout={holdout!r}; needed is a share above 0 and below 1, such as 0.3.")
    return [sensitive, exclude, keep]


def _types(scan: Scan, codes: tuple[ColumnCode, ...], target: Target | None) -> dict[str, str]:
    """How columns without types of their own are read, so that all batches are read alike."""
    names = [code.name for code in codes] + ([target.name] if target else [])
    return {name: "number" if scan.profiles[name].types.keys() == {"number"} else "text" for name in names}


def _require_room(groups: Mapping, held: np.ndarray, d: int) -> None:
    if min(int(held.sum(axis=0)), int((~held).sum(axis=0))) < 2:
        raise DataError(
            f"{len(held)} rows are used, {int(held.sum(axis=0))} of them held out; needed are two in each part. Use "
            "more rows, or another holdout."
        )
    # Cells of blocks and groups that can have rows, in both parts and with the copy that standardising makes of one.
    cells = sum(min(2 * LEAST_BLOCKS * len(labels), len(held)) for labels, _ in groups.values())
    require_memory(
        (cells + max(len(labels) for labels, _ in groups.values()) + 8) * d * d * 8,
        f"{len(groups)} attribute(s) of {d:,} features",
        "Leave out columns (exclude), or name fewer sensitive columns.",
    )


def _require_few(codes: tuple[ColumnCode, ...], d: int) -> None:
    if d <= (most := TABLE["features"][0]):
        return
    wide = sorted(codes, key=lambda code: -len(code.features))[:3]
    shown = ", ".join(f"{code.name!r} ({len(code.features)})" for code in wide)
    raise LimitError(
        f"the table has {d:,} features after encoding, most of them from {shown}; an audit takes {most:,}, since its "
        "time grows with their third power. Leave out columns (exclude), or reduce them first, for instance to the "
        "leading principal components."
    )


def _blocks(G: int, held: np.ndarray, d: int, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
    """The block of every row in its part."""
    m = min(n_blocks, max(LEAST_BLOCKS, MOMENT_BYTES // (G * d * d * 8)))
    blocks = np.empty(len(held), dtype=np.int32)
    for part in (False, True):
        inside = held == part
        n = int(inside.sum(axis=0))
        blocks[inside] = assign_blocks(n, min(m, n), rng)
    return blocks


def _chosen(held: np.ndarray, d: int, max_points: int, rng: np.random.Generator) -> np.ndarray:
    """Which rows (n,) become points: as many as allowed of each part, drawn at random."""
    most = min(max_points, max(POINT_BYTES // (8 * d), 100))
    chosen = np.zeros(len(held), dtype=bool)
    for part in (False, True):
        inside = np.flatnonzero(held == part)
        chosen[rng.choice(inside, min(most, len(inside)), replace=False)] = True
    return chosen


def _told(names, reference: GroupMoments, blocks: Mapping, n_blocks: int, chosen: np.ndarray) -> list:
    """What else was done that a reader has to know."""
    notes = []
    flat = np.flatnonzero(np.diag(reference.scatters[0]) <= 1e-24 * reference.n * reference.means[0] ** 2)
    if len(flat):
        shown = ", ".join(names[j] for j in flat[:5]) + (", ..." if len(flat) > 5 else "")
        notes.append(f"{len(flat)} feature(s) have one value only in the fitting part: {shown}")
    for name, block in blocks.items():
        m = int(block.max(axis=0)) + 1
        if m < n_blocks:
            notes.append(f"intervals of {name} rest on {m} blocks of rows instead of {n_blocks}")
    if not chosen.all():
        notes.append(f"what needs rows rests on {int(chosen.sum(axis=0)):,} drawn at random of {len(chosen):,}")
    return notes


# -- the last pass -----------------------------------------------------------------------------------------------------


@dataclass
class LastPass:
    """All that is known of a table before its features are read."""

    table: Table
    codes: tuple[ColumnCode, ...]
    target: Target | None
    types: Mapping[str, str]  # how the columns of a CSV file are read: number or text
    rows: np.ndarray  # numbers (n,) of the rows that are used
    held: np.ndarray  # which of these are held out
    groups: Mapping[str, tuple[np.ndarray, np.ndarray]]  # labels (G,) and codes (n,) of each attribute
    batch_rows: int | None  # rows read at a time
    tell: Progress

    def batches(self, columns: list[str]) -> Iterator[tuple[pd.DataFrame, slice]]:
        """The rows that are used, and where they stand among all that are."""
        row, at = 0, 0
        for frame in self.table.batches(columns, types=self.types, rows=self.batch_rows):
            stop = int(np.searchsorted(self.rows, row + len(frame)))
            if stop > at:
                whole = stop - at == len(frame)
                yield (frame if whole else frame.iloc[self.rows[at:stop] - row]), slice(at, stop)
            self.tell.advance(len(frame))
            row, at = row + len(frame), stop

    def fitting_frames(self) -> Iterator[pd.DataFrame]:
        """The rows of the fitting part, for what takes the place of missing cells."""
        self.tell.stage("means of the columns with missing values", len(self.rows))
        for frame, at in self.batches([code.name for code in self.codes]):
            yield frame[~self.held[at]]

    def run(self, blocks: Mapping[str, np.ndarray], chosen: np.ndarray) -> tuple[dict, dict, pd.DataFrame]:
        """Read the features of every row, given the blocks (n,) of each attribute and which rows (n,) become points.

        Returns the sums by (held out or not, attribute) and the points by part, both in the units of the table, and the
        cells of the chosen rows as they stand in the table.
        """
        self.tell.stage("reading the rows", len(self.rows))
        sums = {(part, name): MomentAccumulator() for part in (False, True) for name in self.groups}
        X_points, y_points, drawn = {False: [], True: []}, {False: [], True: []}, []
        wanted = [code.name for code in self.codes] + ([self.target.name] if self.target else [])
        for frame, at in self.batches(wanted):
            X = encode(self.codes, frame, row=int(self.rows[at.start]))
            for part in (False, True):
                inside = np.flatnonzero(self.held[at] == part)
                if not len(inside):
                    continue
                Z = X[inside]
                for name, (labels, codes) in self.groups.items():
                    here = at.start + inside
                    # Structured labels, as a data frame with these two columns gives them.
                    sums[part, name].add(Z, pd.DataFrame({BLOCK: blocks[name][here], name: labels[codes[here]]}))
                picked = chosen[at][inside]
                X_points[part].append(Z[picked])
                if self.target:
                    y_points[part].append(self.target.values(frame[self.target.name].iloc[inside[picked]]))
            drawn.append(frame[chosen[at]])
        points = {
            part: Points(
                np.concatenate(X_points[part]),
                self._labels(chosen & (self.held == part)),
                np.concatenate(y_points[part]) if self.target else None,
            )
            for part in (False, True)
        }
        return sums, points, pd.concat(drawn, ignore_index=True)

    def _labels(self, rows: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({name: labels[codes[rows]] for name, (labels, codes) in self.groups.items()})


def finish(sums: dict, names: tuple[str, ...], standardize: bool) -> tuple[dict, GroupMoments]:
    """The moments of what was summed, in final units, and those of the whole fitting part in the units of the table.

    The first of the sums is of the fitting part. They are used up: of a wide table, memory has no room for them twice.
    """
    moments, reference = {}, None
    for key in list(sums):
        labels, counts, means, scatters = _whole(sums.pop(key), names)
        reference = reference or GroupMoments(labels, counts, means, scatters, names).pooled()
        if standardize:
            scale = reference.scale()
            means = (means - reference.mean) / scale
            scatters /= np.outer(scale, scale)
        moments[key] = GroupMoments(labels, counts, means, scatters, names)
    return moments, reference


def _whole(sums: MomentAccumulator, names: tuple[str, ...]) -> tuple:
    """What ``MomentAccumulator.result`` gives, with the scatters completed in place."""
    counts, means, scatters = sums.total
    require_range(counts, means + sums.origin, np.einsum("gdd->gd", scatters), None, names)
    for S in scatters:
        S[...] = np.triu(S) + np.triu(S, 1).T
    return sums.labels, counts, means + sums.origin, scatters
