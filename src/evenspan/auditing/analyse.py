"""One attribute of an audit: methods fitted, judged on both parts, read, and set against what is possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.errors import GroupError
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..metrics.bootstrap import cells_of
from ..metrics.linear_map import LinearMap, linear_map
from .fitting import Fitted, fit_method, rank
from .frontier import Frontier, frontier
from .judge import COLUMNS, Judgement, Part, Row, own_directions
from .probes import Probes
from .progress import Progress
from .recommend import KEPT, Seen, smallest_k
from .sample import Points, Sample

#: Blocks of each part in which a group has to have rows: with fewer it is absent from too many resampled blocks.
LEAST_BLOCKS = 5
#: Seconds of one core for a method at one k and a cubed feature, with its share of frontier and intervals (50 rows,
#: 100 to 500 features).
SECONDS = 1.3e-8


# -- the groups that have enough rows in both parts --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kept:
    """Moments and points of the groups of one attribute that are compared, and the rows of those that are not."""

    attribute: str
    moments: Mapping[str, GroupMoments]  # blocked, by part: "fitting" and "held out"
    fitting_points: Points  # rows that methods and readers are fitted to
    scoring_points: Points  # rows that readers are scored on
    left_out: Mapping[str, int]  # rows of each group that is not compared

    @property
    def G(self) -> int:
        """Number of groups that are compared."""
        return len(np.unique(self.moments["fitting"].labels[self.attribute]))


def kept_groups(sample: Sample, attribute: str) -> Kept:
    """Leave the groups out that have rows in too few blocks of a part; ``GroupError`` if fewer than two are left."""
    moments = {"fitting": sample.fitting[attribute], "held out": sample.held_out[attribute]}
    kept = set.intersection(*(_enough(part, attribute) for part in moments.values()))
    rows = _rows(moments, attribute)
    left_out = {label: n for label, n in rows.items() if label not in kept}
    if len(kept) < 2:
        told = ", ".join(f"{label} ({n} rows)" for label, n in rows.items())
        raise GroupError(
            f"{attribute} has the groups {told}, of which {len(kept)} have rows in {LEAST_BLOCKS} blocks or more of "
            "both parts; needed are two. Merge groups, hold out another share, or take a larger table."
        )
    if not left_out:
        return Kept(attribute, moments, sample.fitting_points, sample.held_out_points, left_out)
    moments = {name: _some(part, attribute, kept) for name, part in moments.items()}
    points = (_some_points(points, attribute, kept) for points in (sample.fitting_points, sample.held_out_points))
    return Kept(attribute, moments, *points, left_out)


def _enough(moments: GroupMoments, attribute: str) -> set[str]:
    labels, _, group = cells_of(moments, attribute)  # one cell for each block and group that occur together
    blocks = np.bincount(group, minlength=len(labels))
    return {str(label) for label, n in zip(labels, blocks, strict=True) if n >= LEAST_BLOCKS}


def _rows(moments: Mapping[str, GroupMoments], attribute: str) -> dict[str, int]:
    rows: dict[str, int] = {}
    for part in moments.values():
        for label, n in zip(part.labels[attribute], part.counts, strict=True):
            rows[str(label)] = rows.get(str(label), 0) + int(n)
    return dict(sorted(rows.items()))


def _some(moments: GroupMoments, attribute: str, kept: set[str]) -> GroupMoments:
    cells = np.array([str(label) in kept for label in moments.labels[attribute]])
    parts = (moments.labels, moments.counts, moments.means, moments.scatters)
    return GroupMoments(*(part[cells] for part in parts), moments.feature_names)


def _some_points(points: Points, attribute: str, kept: set[str]) -> Points:
    rows = points.groups[attribute].astype(str).isin(kept).to_numpy()
    groups = points.groups[rows].reset_index(drop=True)
    return Points(points.X[rows], groups, None if points.y is None else points.y[rows])


# -- the analysis ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found for one attribute."""

    rows: pd.DataFrame  # tidy, of all methods
    fits: dict[tuple[str, int], Fitted]  # by (method, k)
    frontiers: dict[int, Frontier]  # by number of components
    seen: Seen  # what the recommendation sees
    why_k: str  # where its number of components is from
    left_out: Mapping[str, int]  # rows of each group that is not compared


def analyse(
    groups: Kept, sizes: Sequence[int], methods: Sequence[str], given: bool, n_boot: int, seed: int, tell: Progress
) -> Analysis:
    """Everything about one attribute, for numbers of components and methods with PCA among them.

    ``given`` says whether the one number of components was asked for; ``n_boot`` and ``seed`` are of the intervals.
    """
    attribute, points = groups.attribute, groups.fitting_points
    parts = [
        Part(name, moments, attribute, n_boot, (seed, i)) for i, (name, moments) in enumerate(groups.moments.items())
    ]
    last, moments = parts[-1], parts[0].plain
    probes = Probes(points, groups.scoring_points, attribute, n_boot, seed)
    k, why_k = _components(moments, sizes, given)

    minutes = SECONDS * len(methods) * len(sizes) * moments.d**3 / 60
    expected = f" ({moments.d} features: about {minutes:.0f} min)" if minutes >= 1 else ""
    tell.stage(f"Methods for {attribute}{expected}", len(methods) * len(sizes))
    own = _own(parts, sizes)
    fits, rows, kept = {}, [], {}
    for name in methods:
        for size, fit in fit_method(name, sizes, moments, points, attribute, seed).items():
            fits[name, size] = fit
            found, judgements = _judged(fit, parts, own[size], probes)
            rows += [(attribute, size, name, *row) for row in found]
            if size == k and judgements:
                kept[name] = (judgements, [row for part, row in _by_part(found) if part == last.name])
            tell.advance()

    tell.stage(f"What is possible for {attribute}", len(sizes))
    frontiers, most = {}, rank(moments)
    for size in sizes:
        if size < most:  # with as many directions as vary nobody has an error
            frontiers[size] = frontier(moments, size)
        tell.advance()
    seen = Seen(
        attribute, k, {name: fits[name, k] for name in methods}, {name: found[0][-1] for name, found in kept.items()},
        {name: found[0][0] for name, found in kept.items()}, {name: found[1] for name, found in kept.items()},
        frontiers.get(k),
    )  # fmt: skip
    return Analysis(pd.DataFrame(rows, columns=COLUMNS), fits, frontiers, seen, why_k, groups.left_out)


def _components(moments, sizes: Sequence[int], given: bool) -> tuple[int, str]:
    values = top_eigenspace(moments.scatter, max(sizes))[0]
    shares = {k: float(values[:k].sum(axis=0) / np.trace(moments.scatter)) for k in sizes}
    if given:
        (k,) = sizes
        return (
            k,
            f"k = {k} is what was asked for; PCA keeps {shares[k]:.0%} of the variance of the fitting part with it.",
        )
    k = smallest_k(shares)
    if shares[k] >= KEPT:
        return (
            k,
            f"k = {k} is the smallest number looked at with which PCA keeps {KEPT:.0%} of the variance: "
            f"{shares[k]:.0%}.",
        )
    return k, (
        f"k = {k} is the largest number looked at; PCA keeps {shares[k]:.0%} of the variance with it, less than "
        f"{KEPT:.0%}."
    )


def _own(parts: Sequence[Part], sizes: Sequence[int]) -> dict[int, list[np.ndarray]]:
    """Squared residuals by block (m, G) of every part, each group under its own best directions."""
    moments = parts[0].plain
    bases = own_directions(moments, max(sizes))
    found = {}
    for k in sizes:
        found[k] = []
        for part in parts:
            by_group = [
                part.sums(LinearMap(V[:, :k], V[:, :k], moments.mean)).errors[:, g] for g, V in enumerate(bases)
            ]
            found[k].append(np.column_stack(by_group))
    return found


def _judged(fit: Fitted, parts: Sequence[Part], own: Sequence[np.ndarray], probes: Probes):
    """Rows (part, group, metric, value, low, high, chance, bound, note) and the judgements, none without an answer."""
    if fit.estimator is None:
        missing = (np.nan, np.nan, np.nan, np.nan, np.nan, fit.note)
        return [(part.name, "", "average error", *missing) for part in parts], []
    answer, rows, judgements = linear_map(fit.estimator), [], []
    for part, mine in zip(parts, own, strict=True):
        judgement = Judgement(part, answer, mine)
        judgements.append(judgement)
        for row in judgement.rows():
            rows.append(_laid_out(part.name, row, fit.note if row.metric == "average error" else ""))
    rows += [_laid_out("held out", row) for row in probes.rows(answer)]
    certificate = fit.estimator.certificate_
    size = max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    rows.append(_laid_out("fitting", Row("certificate", abs(certificate.gap) / size, note=certificate.problem)))
    rows.append(_laid_out("fitting", Row("seconds", fit.seconds)))
    return rows, judgements


def _laid_out(part: str, row: Row, note: str = "") -> tuple:
    return part, row.group, row.metric, row.value, row.low, row.high, row.chance, row.bound, row.note or note


def _by_part(rows):
    for part, group, metric, value, low, high, chance, bound, note in rows:
        yield part, Row(metric, value, low, high, chance, group, note, bound)
