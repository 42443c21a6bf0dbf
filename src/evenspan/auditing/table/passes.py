"""Two passes over a table of any size: the first finds what it holds, the last one its moments."""

from collections.abc import Mapping
from numbers import Real

import numpy as np
import pandas as pd

from ...core.errors import ConfigurationError, DataError
from ...core.estimator import require_generator
from ...core.inputs import whole_number
from ...core.moments import GroupMoments
from ...metrics.bootstrap import assign_blocks
from ..progress import progress_of
from ..sample import BLOCK, Sample
from .codes import ColumnCode, codes_of, with_fills
from .columns import use_of
from .described import columns_table, sentences
from .encoding import TableEncoder
from .last_pass import LastPass, finish
from .missing import used_rows
from .parts import groups_table, intersection, split
from .scan import Scan
from .tables import Table, open_table
from .target import Target

#: Bytes that the blocked moments of one attribute and part may take before there are fewer blocks,
MOMENT_BYTES = 2**28
#: but not fewer than these.
LEAST_BLOCKS = 20
#: Bytes that all moments together may take; a table of more features is refused.
ALL_BYTES = 2**32
#: Bytes of the points kept of one part.
POINT_BYTES = 2**28
_RULES = ("error", "drop", "mean", "indicator")


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
    table : DataFrame, str or Path
        A data frame, or a CSV, TSV, Parquet, Arrow, Feather or Excel file; see ``open_table``.
    sensitive : str or list of str
        The columns of the groups.
    target : str, optional
        A column to be predicted; never a feature.
    missing : {"error", "drop", "mean", "indicator"}
        What a missing cell does: it is an error; its row is dropped; it becomes the mean (or the most frequent
        category) of the fitting part; or that, with a further feature that says so. With the last two, rows without a
        sensitive value form the group ``(missing)``.
    intersections : bool
        Whether each combination of the sensitive columns is a group too, under the attribute ``"sex x race"``.
    standardize : bool
        Whether features are standardised by the mean and the population standard deviation of the fitting part.
    holdout : float
        Share of the rows that are held out, in every group as nearly as can be.
    exclude : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows.
    n_blocks : int
        Blocks of rows for the bootstrap; fewer (at least 20) where the moments would take more than 256 MiB.
    max_points : int
        Rows that are kept of each part.
    min_group : int
        Groups of fewer rows are flagged as small.
    random_state : None, int or Generator
        Decides the split, the blocks and the points; the size of the batches does not.
    progress : bool
        Whether to tell how far the work is.
    batch_rows : int, optional
        Rows read at a time; about 32 MiB unless given.

    Returns
    -------
    Sample
        What the analysis sees.
    """
    table = open_table(table)
    sensitive, exclude, keep = _options(table, sensitive, target, exclude, keep, missing, holdout, intersections)
    tell, rng = progress_of(progress), require_generator(random_state)
    for name, value, least in (("n_blocks", n_blocks, 2), ("max_points", max_points, 1), ("min_group", min_group, 1)):
        whole_number(name, value, least)

    scan = Scan(table, sensitive, keep_missing=missing == "drop", rows=batch_rows, tell=tell)
    features = [name for name in table.columns if name not in {*sensitive, *exclude, target}]
    uses = [use_of(scan.profiles[name], keep=name in keep) for name in features]
    aim = None if target is None else Target.of(scan.profiles[target])
    codes = codes_of(uses, scan.profiles, missing)
    rows, groups, dropped, notes = used_rows(scan, codes, target, missing)
    split_rng, block_rng, point_rng = rng.spawn(3)
    held = split(groups, holdout, split_rng)
    if intersections:
        groups |= intersection(groups)
    d = sum(len(code.features) for code in codes)
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
        notes=sentences([*table.notes, *notes, *found, *_told(names, reference, blocks, n_blocks, chosen, max_points)]),
    )


def _options(table: Table, sensitive, target, exclude, keep, missing, holdout, intersections) -> list[list[str]]:
    """The names of the sensitive, the excluded and the kept columns, after every argument has been looked at."""
    sensitive, exclude, keep = ([one] if isinstance(one, str) else list(one) for one in (sensitive, exclude, keep))
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
    G = sum(len(labels) for labels, _ in groups.values())
    least = 2 * LEAST_BLOCKS * G * d * d * 8
    if least > ALL_BYTES:
        raise DataError(
            f"{d:,} features in {G} groups need {least / 2**30:.1f} GiB of moments, more than {ALL_BYTES / 2**30:.0f} "
            "GiB. Leave out columns (exclude), or name fewer sensitive columns."
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


def _told(names, reference: GroupMoments, blocks: Mapping, n_blocks: int, chosen: np.ndarray, max_points: int) -> list:
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
