"""One attribute of an audit: methods fitted, evaluated on both parts, and set against what is possible at all.

The frontier is certified and about the training set: what no projection onto k directions can do for its groups. An
oblique map (LEACE) is no projection and may leave a smaller gap.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.errors import GroupError
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..methods import METHODS
from ..metrics.linear_map import linear_map
from ..reconstruction.frontier_curves import Curve, Hull, gap_curve
from ..reconstruction.group_errors import best_kept, group_matrices
from ..reconstruction.group_errors import errors as errors_of
from ..reconstruction.joint_range import JointRange
from .attacks import Attacks
from .clusters import clusters_table
from .decisions import Decisions
from .evaluation import COLUMNS, ROWS_A_FEATURE, Evaluation, Part, Row, own_errors
from .fitting import MEANS, PCA, Fitted, fit_method, rank
from .given import GIVEN, given_rows
from .groups import HELD_OUT, PARTS, TRAINING, VALIDATION
from .sample import Points, Sample, Tell

#: Blocks of each part in which a group has to have rows: with fewer it is absent from too many resampled blocks.
LEAST_BLOCKS = 5
#: Share of the variance that principal components are to retain.
RETAINED = 0.8
FRONTIER_COLUMNS = ["attribute", "k", "curve", "label", "x", "y", "bound"]


def compared_groups(sample: Sample, attribute: str) -> tuple[Sample, dict[str, int]]:
    """The sample without groups that have rows in too few blocks of a part, and the rows of these."""
    parts = [sample.blocked[part][attribute] for part in PARTS]
    cells = [pd.Series(part.counts).groupby(part.labels[attribute].astype(str)) for part in parts]
    rows = sample.groups[sample.groups["attribute"] == attribute].set_index("group")["rows"]
    compared = [label for label in rows.index if all(one.size().get(label, 0) >= LEAST_BLOCKS for one in cells)]
    left_out = rows.drop(compared).to_dict()
    if len(compared) < 2:
        told = ", ".join(f"{label} ({n} rows)" for label, n in rows.items())
        raise GroupError(
            f"{attribute} has the groups {told}, of which {len(compared)} have rows in {LEAST_BLOCKS} blocks or more "
            f"of each part ({', '.join(PARTS)}); needed are two. Merge groups, hold out another share, or take a "
            "larger table."
        )
    if not left_out:
        return sample, left_out

    def moments(part: GroupMoments) -> GroupMoments:
        at = np.isin(part.labels[attribute].astype(str), compared)
        return GroupMoments(part.labels[at], part.counts[at], part.means[at], part.scatters[at], part.feature_names)

    def some(points: Points) -> Points:
        at = points.groups[attribute].astype(str).isin(compared).to_numpy()
        y = None if points.y is None else points.y[at]
        return Points(points.X[at], points.groups[at].reset_index(drop=True), y, points.w[at])

    blocked = {part: {attribute: moments(sample.blocked[part][attribute])} for part in PARTS}
    given = compared_groups(sample.given, attribute)[0] if sample.given else None
    points = {part: some(sample.points[part]) for part in PARTS}
    return replace(sample, blocked=blocked, points=points, given=given), left_out


@dataclass(frozen=True, eq=False)
class Frontier:
    """What projections onto k directions can do for the groups of the training set."""

    labels: list[str]
    own: np.ndarray  # error of each group under its own best k directions, (G,)
    pca: np.ndarray  # and under those for all rows, (G,)
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


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found for one attribute, and what its recommendations rest on."""

    attribute: str
    rows: pd.DataFrame  # tidy, of all methods
    fits: dict[tuple[str, int], Fitted]  # by (method, k)
    k: int  # of the recommendation
    why_k: str
    retained: float  # share of the variance of the training set that PCA retains with k components
    enough: bool  # whether that is ``RETAINED``, or the number of components was asked for
    evaluations: dict[str, dict[str, Evaluation]]  # with k components, by part and method with an answer
    frontier: Frontier | None  # with k components; None where these are all the directions that vary
    losses: str  # why losses are not given; empty if they are
    left_out: Mapping[str, int]  # rows of each group that is not compared
    clusters: pd.DataFrame | None = None  # the numbers about clusters, where some are given

    @property
    def labels(self) -> list[str]:
        """The groups that are compared."""
        return self.evaluations[HELD_OUT][PCA].part.labels

    @cached_property
    def _lines(self) -> dict[tuple, dict]:
        here = self.rows.query(f"(k == {self.k} or method == {GIVEN!r}) and value == value").to_dict("records")
        return {(line["metric"], line["method"], line["part"], line["group"]): line for line in here}

    def row(self, metric: str, method: str = PCA, part: str = HELD_OUT, group: str = "") -> dict | None:
        """One number at k components, as a line of the table; None where it was not computed."""
        return self._lines.get((metric, method, part, group))


def analyse(
    sample: Sample, attribute: str, asked: tuple[int, ...] | None, methods, n_boot: int, seed: int, tell: Tell,
    choice: bool = True,
) -> Analysis:  # fmt: skip
    """Everything about one attribute; for a ``choice`` by what attackers find these are cross-fitted, if it is open."""
    sample, left_out = compared_groups(sample, attribute)
    points = sample.points
    parts = [Part(part, sample.blocked[part][attribute], attribute, n_boot, (seed, i)) for i, part in enumerate(PARTS)]
    moments = parts[0].plain
    k, why_k, retained = _components(moments, asked)
    sizes = asked or (k,)

    here = sample.groups[sample.groups["attribute"] == attribute].set_index("group").loc[parts[0].labels]
    # Effective sizes are of all rows: of the training set they are taken to be its share of these.
    weighted = "effective size" in here
    training_rows = here["training"] * (here["effective size"] / here["rows"] if weighted else 1)
    own = own_errors(parts, sizes) if training_rows.min() >= ROWS_A_FEATURE * moments.d else {}
    attacks = Attacks(points, attribute, seed)
    decisions = {} if sample.target is None else {
        part: Decisions(points[TRAINING], points[part], attribute, seed) for part in (VALIDATION, HELD_OUT)
    }  # fmt: skip
    fits, rows, evaluations, attacked = {}, {}, {part: {} for part in PARTS}, {}
    for j, name in enumerate(methods):
        tell(f"Methods for {attribute}", j, len(methods))
        for size, fit in fit_method(name, sizes, moments, points[TRAINING], attribute, seed).items():
            fits[name, size] = fit
            if fit.estimator is None:
                rows[name, size] = [(TRAINING, Row("average error", np.nan, note=fit.note))]
                continue
            answer, found = linear_map(fit.estimator), rows.setdefault((name, size), [])
            for part, mine in zip(parts, own.get(size, [None] * len(parts)), strict=True):
                evaluation = Evaluation(part, answer, mine)
                found += [(part.name, row) for row in evaluation.rows(fit.note)]
                if size == k:
                    evaluations[part.name][name] = evaluation
            if size == k:
                attacked[name] = answer
            found += [(part, row) for part, one in decisions.items() for row in one.rows(answer)]
    tell(f"Attackers for {attribute}", 0, None)  # they take most of the time
    enough = retained >= RETAINED or (asked is not None and len(asked) == 1)
    for part in (HELD_OUT, VALIDATION):
        for name, found in zip(attacked, attacks.rows(list(attacked.values()), part), strict=True):
            rows[name, k] += [(part, row) for row in found]
        of_pca = next(row for _, row in rows[PCA, k] if row.metric == "group AUC")  # on held-out rows
        if not (choice and enough and of_pca.value > of_pca.noise_q95):
            break
        attacked = {name: one for name, one in attacked.items() if METHODS[name].equalises in (*MEANS, "nothing")}
    rows = [(attribute, size, name, *one) for (name, size), found in rows.items() for one in found]
    if sample.given is not None:
        size = sample.given.points[TRAINING].X.shape[1]
        rows += [(attribute, size, GIVEN, *one) for one in given_rows(sample, parts, n_boot, seed)]
    tell(f"What is possible for {attribute}", 0, None)
    possible = frontier(moments, k, losses=bool(own)) if k < rank(moments) else None
    tidy = pd.DataFrame([dict(zip(COLUMNS, head, strict=False)) | vars(row) for *head, row in rows], columns=COLUMNS)
    losses = "" if own else (
        f"Losses, the errors beyond those of each group's own best directions, are not given: "
        f"{training_rows.idxmin()} has {int(training_rows.min()):,} {'effective ' * weighted}training rows for "
        f"{moments.d} features, fewer than {ROWS_A_FEATURE} a feature, and its own directions would be noise."
    )  # fmt: skip
    grouped = clusters_table(sample, attribute, parts[0].labels, n_boot, seed) if sample.clusters else None
    return Analysis(attribute, tidy, fits, k, why_k, retained, enough, evaluations, possible, losses, left_out, grouped)


def _components(moments: GroupMoments, asked: tuple[int, ...] | None) -> tuple[int, str, float]:
    """The smallest number of components with which PCA retains ``RETAINED`` of the variance, or the largest."""
    # With more components than these, methods that match means have no answer.
    sizes = asked or range(1, max(moments.d - moments.G + 1, 1) + 1)
    values = top_eigenspace(moments.scatter, max(sizes))[0]
    shares = {k: float(values[:k].sum(axis=0) / np.trace(moments.scatter)) for k in sizes}
    k = next((k for k in sizes if shares[k] >= RETAINED), max(sizes))
    why = f"the smallest with at least {RETAINED:.0%}" if shares[k] >= RETAINED else "the largest looked at"
    why = "as asked for" if len(sizes) == 1 and asked else why
    return k, f"k = {k}, {why}: PCA retains {shares[k]:.0%} of the variance of the training set with it.", shares[k]
