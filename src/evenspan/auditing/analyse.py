"""One attribute of an audit: methods fitted, evaluated on both parts, and set against what is possible at all.

The frontier is certified and about the training set: what no projection onto k directions can do for its groups. For
any number of groups the least error of each and the average error against the worst error (and the worst loss); for
two in addition against the gaps. An oblique map (LEACE) is no projection and may leave a smaller gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.errors import GroupError
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..metrics.bootstrap import cells_of
from ..metrics.linear_map import linear_map
from ..reconstruction.frontier_curves import Curve, Hull, gap_curve
from ..reconstruction.group_errors import best_kept, group_matrices
from ..reconstruction.group_errors import errors as errors_of
from ..reconstruction.joint_range import JointRange
from .decisions import Decisions
from .evaluation import COLUMNS, HELD_OUT, TRAINING, Evaluation, Part, Row, larger_auc, own_errors
from .fitting import PCA, Fitted, fit_method, rank
from .passes import Points, Sample
from .progress import Progress
from .readers import Readers

#: Blocks of each part in which a group has to have rows: with fewer it is absent from too many resampled blocks.
LEAST_BLOCKS = 5
#: Share of the variance that principal components are to retain.
RETAINED = 0.8
#: Seconds of one core by the third power of the features: for each method and k, and for the frontier (768 features).
SECONDS, FRONTIER_SECONDS = 2e-8, 3e-8
FRONTIER_COLUMNS = ["attribute", "k", "curve", "label", "x", "y", "bound"]


# -- the groups that have enough rows in both parts --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComparedGroups:
    """Moments and points of the groups of one attribute that are compared, and the rows of those that are not."""

    attribute: str
    moments: Mapping[str, GroupMoments]  # blocked, by part
    training_points: Points
    scored_points: Points
    left_out: Mapping[str, int]

    @property
    def G(self) -> int:
        """Number of groups that are compared."""
        return len(np.unique(self.moments[TRAINING].labels[self.attribute]))


def compared_groups(sample: Sample, attribute: str) -> ComparedGroups:
    """Leave the groups out that have rows in too few blocks of a part; ``GroupError`` if fewer than two are left."""
    moments, rows, enough = {TRAINING: sample.fitting[attribute], HELD_OUT: sample.held_out[attribute]}, {}, []
    for part in moments.values():
        labels, _, group = cells_of(part, attribute)  # one cell for each block and group that occur together
        blocks = np.bincount(group, minlength=len(labels))
        enough.append({str(label) for label, n in zip(labels, blocks, strict=True) if n >= LEAST_BLOCKS})
        for label, n in zip(part.labels[attribute], part.counts, strict=True):
            rows[str(label)] = rows.get(str(label), 0) + int(n)
    compared = set.intersection(*enough)
    left_out = {label: n for label, n in sorted(rows.items()) if label not in compared}
    if len(compared) < 2:
        told = ", ".join(f"{label} ({n} rows)" for label, n in sorted(rows.items()))
        raise GroupError(
            f"{attribute} has the groups {told}, of which {len(compared)} have rows in {LEAST_BLOCKS} blocks or more "
            "of both parts; needed are two. Merge groups, hold out another share, or take a larger table."
        )
    points = [sample.fitting_points, sample.held_out_points]
    if left_out:
        moments = {name: _some(part, attribute, compared) for name, part in moments.items()}
        points = [_some_points(one, attribute, compared) for one in points]
    return ComparedGroups(attribute, moments, *points, left_out)


def _some(moments: GroupMoments, attribute: str, compared: set[str]) -> GroupMoments:
    cells = np.array([str(label) in compared for label in moments.labels[attribute]])
    parts = (moments.labels, moments.counts, moments.means, moments.scatters)
    return GroupMoments(*(part[cells] for part in parts), moments.feature_names)


def _some_points(points: Points, attribute: str, compared: set[str]) -> Points:
    rows = points.groups[attribute].astype(str).isin(compared).to_numpy()
    groups = points.groups[rows].reset_index(drop=True)
    return Points(points.X[rows], groups, None if points.y is None else points.y[rows])


# -- what is possible at all -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Frontier:
    """What projections onto k directions can do for the groups of the training set."""

    labels: list[str]
    own: np.ndarray  # error of each group under its own best k directions, (G,)
    pca: np.ndarray  # error of each group under the best k directions for all rows, (G,)
    curves: dict[str, Curve]  # average error against what the key says
    joint: JointRange | None  # all pairs of errors of two groups

    def rows(self, attribute: str, k: int) -> pd.DataFrame:
        """Tidy rows; the first point of a curve is PCA, the last its smallest y; no projection has less than bound."""
        found = [("own best", *row) for row in zip(self.labels, self.own, self.pca, self.own, strict=True)]
        for name, curve in self.curves.items():
            bounds = curve.least(curve.points[:, 0])
            labels = ["PCA", *[""] * (len(bounds) - 2), f"smallest {name}"][-len(bounds) :]
            found += [(name, *row) for row in zip(labels, *curve.points.T, bounds, strict=True)]
        return pd.DataFrame(found, columns=FRONTIER_COLUMNS[2:]).assign(attribute=attribute, k=k)[FRONTIER_COLUMNS]


def frontier(moments: GroupMoments, k: int, *, losses: bool) -> Frontier:
    """The frontier, with curves of losses if asked: some hundred eigenvalue problems of order d."""
    matrices, shares = group_matrices(moments), moments.counts / moments.n
    own = np.trace(matrices, axis1=1, axis2=2) - best_kept(matrices, k)
    pca = errors_of(matrices, top_eigenspace(np.tensordot(shares, matrices, axes=1), k)[1])
    offsets = {"error": np.zeros(len(own))} | ({"loss": own} if losses else {})
    hull, curves, joint = Hull(matrices, shares, k), {}, None
    if len(own) == 2:
        joint = JointRange(*matrices, k)
        curves = {f"{kind} gap": gap_curve(joint, shares, f"{kind} gap", o) for kind, o in offsets.items()}
        for found in joint.known():  # what was solved for the gaps is a start for the worst group
            hull.add(found.basis(0.0))
            hull.solved.append((np.array([np.cos(found.angle), np.sin(found.angle)]), found.value))
    curves |= {f"worst {kind}": hull.worst_curve(f"worst {kind}", o) for kind, o in offsets.items()}
    return Frontier([str(label) for label in moments.labels], own, pca, curves, joint)


# -- the analysis ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found for one attribute, and what its recommendations rest on."""

    attribute: str
    rows: pd.DataFrame  # tidy, of all methods
    fits: dict[tuple[str, int], Fitted]  # by (method, k)
    k: int  # of the recommendation
    why_k: str
    held_out: dict[str, Evaluation]  # with k components, by method with an answer
    frontier: Frontier | None  # with k components; None where these are all the directions that vary
    losses: str  # why losses are not given; empty if they are
    left_out: Mapping[str, int]  # rows of each group that is not compared

    def row(self, method: str, metric: str, part: str = HELD_OUT, group: str = "") -> pd.Series | None:
        """One number at k components; None where it was not computed."""
        rows = self.rows
        found = rows[
            (rows["k"] == self.k) & (rows["method"] == method) & (rows["metric"] == metric) & (rows["part"] == part)
            & (rows["group"] == group) & rows["value"].notna()
        ]  # fmt: skip
        return found.iloc[0] if len(found) else None


def analyse(
    groups: ComparedGroups,
    sizes: Sequence[int],
    methods: Sequence[str],
    asked: bool,
    n_boot: int,
    seed: int,
    tell: Progress,
) -> Analysis:
    """Everything about one attribute. Unless numbers of components were ``asked`` for, only PCA is tried with all."""
    attribute, points = groups.attribute, groups.training_points
    parts = [Part(name, one, attribute, n_boot, (seed, i)) for i, (name, one) in enumerate(groups.moments.items())]
    moments = parts[0].plain
    k, why_k = _components(moments, sizes, asked)
    tried = {name: tuple(sizes) if asked or name == PCA else (k,) for name in methods}
    work = sum(map(len, tried.values()))

    seconds = (SECONDS * (work - len(sizes)) + FRONTIER_SECONDS * groups.G / 2) * moments.d**3
    expected = f" ({moments.d} features: about {max(seconds / 60, 1):.0f} min)" if seconds >= 20 else ""
    tell.stage(f"Methods for {attribute}{expected}", work)
    own = own_errors(parts, sizes)
    probes = Readers(points, groups.scored_points, attribute, n_boot, seed)
    decisions = None if points.y is None else Decisions(points, groups.scored_points, attribute, seed)
    fits, rows, held_out = {}, [], {}
    for name in methods:
        for size, fit in fit_method(name, tried[name], moments, points, attribute, seed).items():
            fits[name, size] = fit
            tell.advance()
            if fit.estimator is None:
                rows += [
                    (attribute, size, name, part.name, Row("average error", np.nan, note=fit.note)) for part in parts
                ]
                continue
            answer, found = linear_map(fit.estimator), []
            for part, mine in zip(parts, own.get(size, [None, None]), strict=True):
                evaluation = Evaluation(part, answer, mine)
                found += [(part.name, row) for row in evaluation.rows()]
            if size == k:
                held_out[name] = evaluation
            if asked or size == k:
                seen = [row for row in probes.rows(answer) if not row.metric.startswith("target")]
                seen += [larger_auc(seen, groups.G), *(decisions.rows(answer) if decisions else ())]
                found += [(HELD_OUT, row) for row in seen]
            found += [(TRAINING, row) for row in _of_fit(fit)]
            rows += [(attribute, size, name, part, row) for part, row in found]

    tell.stage(f"What is possible for {attribute}", 1)
    possible = frontier(moments, k, losses=bool(own)) if k < rank(moments) else None
    tell.advance()
    losses = "" if own else _no_losses(moments)
    return Analysis(attribute, _tidy(rows), fits, k, why_k, held_out, possible, losses, groups.left_out)


def _components(moments: GroupMoments, sizes: Sequence[int], asked: bool) -> tuple[int, str]:
    """The smallest number of components with which PCA retains ``RETAINED`` of the variance, or the largest."""
    values = top_eigenspace(moments.scatter, max(sizes))[0]
    shares = {k: float(values[:k].sum(axis=0) / np.trace(moments.scatter)) for k in sizes}
    k = next((k for k in sizes if shares[k] >= RETAINED), max(sizes))
    if asked and len(sizes) == 1:
        return k, f"k = {k} was asked for; PCA retains {shares[k]:.0%} of the variance of the training set with it."
    if shares[k] >= RETAINED:
        return k, f"k = {k} is the smallest number looked at with which PCA retains {RETAINED:.0%} of the variance."
    return k, f"k = {k} is the largest number looked at; PCA retains {shares[k]:.0%} of the variance with it."


def _of_fit(fit: Fitted) -> list[Row]:
    certificate = fit.estimator.certificate_
    size = max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    return [
        Row("certificate", abs(certificate.gap) / size, note=certificate.problem),
        Row("seconds", fit.seconds, note=fit.note),
    ]


def _no_losses(moments: GroupMoments) -> str:
    label, n = min(zip(moments.labels, moments.counts, strict=True), key=lambda one: one[1])
    return (
        f"Losses, the errors beyond those of each group's own best directions, are not given: {label} has {int(n):,} "
        f"training rows for {moments.d} features, fewer than ten a feature, and its own directions would be noise."
    )


def _tidy(rows: list[tuple]) -> pd.DataFrame:
    heads = ("attribute", "k", "method", "part")
    return pd.DataFrame([dict(zip(heads, head, strict=True)) | vars(row) for *head, row in rows], columns=COLUMNS)
