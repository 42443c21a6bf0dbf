"""What an audit keeps of a table: moments of every group in blocks of rows, some points, and what was done."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ..core.accumulator import MomentAccumulator
from ..core.cluster_counts import ClusterCounts
from ..core.errors import ConfigurationError, DataError
from ..core.inputs import as_representation, require_generator, require_memory
from ..core.moments import GroupMoments
from ..core.options import number, one_of
from ..metrics.bootstrap import assign_blocks
from ..metrics.prediction import effective_size
from .association import columns_table, sentences
from .columns import no_such_column, target_of, target_values, use_of, weights_of
from .doubts import doubts
from .encode import TableEncoder, codes_of, encode, with_fills
from .groups import CLUSTERS, PARTS, TRAINING, groups_table, intersection, parts_of_rows, used_rows
from .read import Table, open_table

#: Names that a column gets which has none, in ``read`` or by pandas.
UNNAMED = re.compile(r"Unnamed: .*|column \d+")
#: Name of the attribute that numbers the blocks in blocked moments.
BLOCK = "block"
#: Bytes that the blocked moments of one attribute and part may take before there are fewer blocks, and the fewest.
MOMENT_BYTES, LEAST_BLOCKS = 2**28, 20
#: Bytes of the points kept of one part, and entries of the rows that are encoded at a time.
POINT_BYTES, BATCH_ENTRIES = 2**28, 2**22

#: Hears of each stage of the work, and of how many of its units are done: ``tell(stage, done, total)``.
Tell = Callable[[str, float, float | None], None]


def silent(stage: str, done: float, total: float | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class Points:
    """Some rows of the encoded table, drawn at random, with their groups."""

    X: np.ndarray  # (n, d), in final units
    groups: pd.DataFrame  # one column of labels (text) for each attribute, named as the attribute; CLUSTERS
    y: np.ndarray | None = None  # the target: float64 if it is a number, text if it is a category
    w: np.ndarray = None  # (n,) weights, of mean 1 over all rows that are used; ones unless given

    def __post_init__(self):
        if self.w is None:
            object.__setattr__(self, "w", np.ones(len(self.X)))


@dataclass(frozen=True, eq=False)
class Sample:
    """What is kept of a table; everything that the analysis sees.

    All moments and points are in final units: those of the columns, or standardised by mean and scale of the fitting
    part when that was asked for.
    """

    name: str  # of the file, or "table"
    n_rows: int  # rows seen
    n_used: int  # rows kept: with a weight above 0, and after the rule for missing values
    # One row for each column: column, kind, examples, used as, missing, distinct, association with ATTRIBUTE
    # for each sensitive column, proxy (of which attributes, joined by commas), note.
    columns: pd.DataFrame
    # One row for each group of each attribute: attribute, group, rows, share, those of each part, small, dropped, note;
    # with weights also the effective size, and a last row, without names, of all rows.
    groups: pd.DataFrame
    encoder: TableEncoder  # maps a raw data frame to the numeric table (n, d) in final units
    attributes: tuple[str, ...]  # the sensitive columns, and their intersection ("sex x race")
    target: str | None
    # By part, then attribute: labels have the fields block, attribute; with weights counts are their sums.
    blocked: Mapping[str, Mapping[str, GroupMoments]]
    points: Mapping[str, Points]  # by part
    clusters: Mapping[str, ClusterCounts] = field(default_factory=dict)  # by attribute, of all rows; empty without
    given: "Sample | None" = None  # the same for a given representation of the rows in place of the features
    notes: tuple[str, ...] = ()  # what was done to the data, in sentences
    warnings: tuple[str, ...] = ()  # said first in the report and at the end in the terminal: something may be amiss

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d numeric features, such as ``age`` and ``job=clerk``."""
        return tuple(str(name) for name in self.encoder.get_feature_names_out())

    @property
    def d(self) -> int:
        """Number of numeric features."""
        return len(self.feature_names)

    def moments(self, attribute: str | None = None, part: str = TRAINING) -> GroupMoments:
        """The group moments of a part for one attribute (the first): blocks are merged."""
        name = attribute or self.attributes[0]
        return self.blocked[part][name].marginal(name)


def read_sample(
    table, *, sensitive, target: str | None = None, weights: str | None = None, missing: str = "error",
    intersections: bool = False, standardize: bool = True, holdout: float = 0.33, exclude=(), keep=(),
    n_blocks: int = 100, max_points: int = 20_000, min_group: int = 30, random_state=0, tell: Tell = silent,
    clusters: str | None = None, representation=None, expect: Callable[..., str] = lambda *sizes: "", **reading,
) -> Sample:  # fmt: skip
    """Read a table and keep what an audit needs; the arguments are those of ``evenspan.audit``, ``reading`` among them.

    Of each part ``max_points`` rows are kept; groups of fewer than ``min_group`` (effective) rows are flagged as small.
    ``expect`` says of the numbers of rows, features and attributes how long it all takes, or nothing.
    """
    rng = require_generator(random_state)
    tell("reading the table", 0, None)
    table = open_table(table, **reading)
    given = sensitive, target, exclude, keep, missing, holdout, intersections, weights, clusters
    sensitive, exclude, keep = options(table, *given)
    frame, uses = table.frame, {}
    w = np.ones(len(frame)) if weights is None else weights_of(frame[weights])
    # A given representation stands behind the features in every row, until moments and points are complete.
    E = np.empty((len(frame), 0)) if representation is None else as_representation(representation, len(frame))
    if unweighted := int((w == 0).sum(axis=0)):
        frame, E, w = frame.iloc[np.flatnonzero(w)], E[w > 0], w[w > 0]
    features = [name for name in table.columns if name not in {*sensitive, *exclude, target, weights, clusters}]
    for j, name in enumerate(table.columns):
        tell("reading the columns", j, len(table.columns))
        index = bool(UNNAMED.fullmatch(name)) and (j == 0 or name.startswith("Unnamed"))
        uses[name] = use_of(frame[name], keep=name in keep, index=index, feature=name in features)
    if target is not None:
        uses[target] = target_of(uses[target], frame[target])
    uses |= {clusters: replace(uses[clusters], used="clusters", note="")} if clusters else {}
    codes = codes_of([uses[name] for name in features], missing)
    width = sum(len(code.features) for code in codes)
    d = width + E.shape[1]
    rows, groups, dropped, notes, mostly = used_rows(frame, uses, sensitive, codes, target, missing, clusters)
    w = w[rows] / w[rows].mean(axis=0)
    if weights is not None:
        worth = f"{len(rows):,} rows are worth {effective_size(w):,.0f} of equal weight (effective sample size)"
        notes.append(f"rows count by their weights in {weights!r}: {worth}")
        notes += [f"{unweighted:,} rows of weight 0 were left out"] * bool(unweighted)
        notes += ["clusters are counted by rows, without weights"] * bool(clusters)
    clustered = groups.pop(clusters) if clusters else ()
    split_rng, block_rng, point_rng = rng.spawn(3)
    part = parts_of_rows(groups, holdout, split_rng)
    groups |= intersection(groups) if intersections else {}
    _require_room(groups, part, d)
    blocks = {}
    for name, (labels, _) in groups.items():
        m = min(n_blocks, max(LEAST_BLOCKS, MOMENT_BYTES // (len(labels) * d * d * 8)))
        blocks[name] = _by_part(part, lambda n, m=m: assign_blocks(n, min(m, n), block_rng))
        if (m := int(blocks[name].max(axis=0)) + 1) < n_blocks:
            notes.append(f"intervals of {name} rest on {m} blocks of rows instead of {n_blocks}")
    most = min(max_points, max(POINT_BYTES // (8 * d), 100))
    chosen = _by_part(part, lambda n: point_rng.permutation(n) < most).astype(bool)
    if not chosen.all():
        notes.append(f"what needs rows rests on {int(chosen.sum(axis=0)):,} drawn at random of {len(chosen):,}")
    if missing in ("mean", "indicator"):
        codes = with_fills(codes, frame.iloc[rows[part == 0]], w[part == 0])

    sums = {(i, name): MomentAccumulator() for i in range(len(PARTS)) for name in groups}
    points = [[] for _ in PARTS]
    names = [*(name for code in codes for name in code.features), *(f"{j} (given)" for j in range(d - width))]
    step, stage = max(BATCH_ENTRIES // d, 256), f"reading the rows{expect(len(rows), d, len(groups))}"
    for start in range(0, len(rows), step):
        tell(stage, start, len(rows))
        at = slice(start, min(start + step, len(rows)))
        X = np.hstack([encode(codes, frame.iloc[rows[at]], row=int(rows[start])), E[rows[at]]])
        for i in range(len(PARTS)):
            inside = part[at] == i
            Z = pd.DataFrame(X[inside], columns=names, copy=False)
            for name, (labels, code) in groups.items():
                if len(Z):  # structured labels, as a data frame with these two columns gives them
                    two = pd.DataFrame({BLOCK: blocks[name][at][inside], name: labels[code[at][inside]]})
                    sums[i, name].add(Z, two, None if weights is None else w[at][inside])
            points[i].append(X[inside & chosen[at]])
    moments = {key: GroupMoments(*sums.pop(key).result()) for key in list(sums)}
    beside = {key: one.select(range(width, d)) for key, one in moments.items()} if width < d else {}
    moments = {key: one.select(range(width)) for key, one in moments.items()} if width < d else moments
    reference = moments[0, sensitive[0]].pooled()
    if standardize:
        moments = {key: moments[key].standardised(reference) for key in moments}

    left_out = tuple(name for name in (*sensitive, target, weights, clusters, *exclude) if name)
    rule = "error" if missing == "drop" else missing
    encoder = TableEncoder(missing=rule, standardize=standardize, exclude=left_out, keep=tuple(keep))
    encoder.set_params(missing_codes=reading.get("missing_codes", ()))
    encoder._learnt([uses[name] for name in features], codes, reference.mean, reference.scale(), table.columns)
    drawn, named = {}, groups | ({CLUSTERS: clustered} if clusters else {})
    for i, what in enumerate(PARTS):
        some = chosen & (part == i)
        names_of = pd.DataFrame({name: labels[code[some]] for name, (labels, code) in named.items()})
        X = np.concatenate(points[i])
        y = None if target is None else target_values(uses[target], frame[target].iloc[rows[some]])
        drawn[what] = Points((X[:, :width] - encoder.mean_) / encoder.scale_, names_of, y, w[some])
    became = {name: "was left out" if use.used == "left out" else "is a category" for name, use in uses.items()}
    warnings = [f"column {one!r} {became[one]}: {uses[one].warning}" for one in features if uses[one].warning]
    warnings += [f"{one}; leave the column out if it says nothing" for one in mostly]
    warnings = [*table.doubts, *doubts(frame, uses, features, [*sensitive, *filter(None, [target])]), *warnings]
    of_drawn = pd.DataFrame({name: groups[name][0][groups[name][1][chosen]] for name in sensitive})
    columns, found = columns_table(uses, features, target, weights, frame.iloc[rows[chosen]], of_drawn, w[chosen])
    sample = Sample(
        name=table.name, n_rows=len(table.frame), n_used=len(rows), columns=columns,
        groups=groups_table(groups, part, dropped, min_group, None if weights is None else w),
        encoder=encoder, attributes=tuple(groups), target=target,
        blocked={what: {name: moments[i, name] for name in groups} for i, what in enumerate(PARTS)}, points=drawn,
        clusters={name: ClusterCounts.from_codes(*own, *clustered) for name, own in groups.items() if clusters},
        notes=sentences([*warnings, *table.notes, *notes, *found]),
        warnings=sentences(warnings),
    )  # fmt: skip
    blocked = {what: {name: beside[i, name] for name in groups if beside} for i, what in enumerate(PARTS)}
    own = {what: replace(drawn[what], X=np.concatenate(points[i])[:, width:]) for i, what in enumerate(PARTS)}
    return replace(sample, given=replace(sample, blocked=blocked, points=own) if beside else None)


def options(
    table: Table | None, sensitive, target, exclude, keep, missing, holdout, intersections, weights=None, clusters=None
) -> list[list[str]]:
    """The names of the sensitive, the excluded and the kept columns, after every argument has been looked at."""
    sensitive, exclude, keep = ([one] if isinstance(one, str) else list(one) for one in (sensitive, exclude, keep))
    targets, weights, clusters = ([] if one is None else [one] for one in (target, weights, clusters))
    roles = {"sensitive": sensitive, "target": targets, "weights": weights, "clusters": clusters}
    roles |= {"exclude": exclude, "keep": keep}
    taken: dict[str, str] = {}
    for role, columns in roles.items():
        for name in columns:
            if table is not None and name not in table.columns:
                raise DataError(no_such_column(name, table.columns, f"{role}: {table.name}"))
            if taken.setdefault(name, role) != role:
                raise ConfigurationError(f"column {name!r} is named as {taken[name]} and {role}. Name it once.")
    if not sensitive or len(set(sensitive)) < len(sensitive) or BLOCK in sensitive:
        needed = f"needed is at least one column, each of them once, none of them named {BLOCK!r}"
        raise ConfigurationError(f"sensitive={sensitive!r}; {needed}.")
    if intersections and len(sensitive) < 2:
        raise ConfigurationError("intersections=True needs two sensitive columns or more; one was named.")
    one_of("error", "drop", "mean", "indicator").require("missing", missing)
    number(0, 0.5, low_open=True, high_open=True).require("holdout", holdout)
    return [sensitive, exclude, keep]


def _require_room(groups: Mapping, part: np.ndarray, d: int) -> None:
    sizes = np.bincount(part, minlength=len(PARTS))
    if sizes.min() < 2:
        told = ", ".join(f"{n} {what}" for n, what in zip(sizes.tolist(), PARTS, strict=True))
        needed = "needed are two in each part. Use more rows, or another holdout"
        raise DataError(f"{len(part)} rows are used ({told}); {needed}.")
    # Cells of blocks and groups that can have rows, in all parts, and the copies that standardising makes.
    cells = sum(min(len(PARTS) * LEAST_BLOCKS * len(labels), len(part)) for labels, _ in groups.values())
    what = f"{len(groups)} attribute(s) of {d:,} features"
    require_memory(16 * cells * d * d, what, "Leave out columns (exclude), or name fewer sensitive columns.")


def _by_part(part: np.ndarray, of_part) -> np.ndarray:
    """What a function of the number of rows gives for the rows of each part."""
    found = np.empty(len(part), dtype=np.int32)
    for i in range(len(PARTS)):
        found[part == i] = of_part(int((part == i).sum(axis=0)))
    return found
