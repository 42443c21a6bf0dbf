"""What is possible at all: what no projection onto k directions can do for the groups of the fitting part, certified.

Errors are about the overall mean of the fitting part. For any number of groups: what each one's own best k directions
leave of it, and the average error against the worst error and against the worst loss. For two groups in addition the
average error against the gaps of errors and losses, and the boundary of all pairs of errors that projections reach.

Oblique maps (LEACE) are no projections: they may leave smaller gaps at the same error, never a smaller average error
than principal components do.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..reconstruction.frontier_curves import Curve, Hull, gap_curve
from ..reconstruction.group_errors import best_kept, group_matrices
from ..reconstruction.group_errors import errors as errors_of
from ..reconstruction.joint_range import JointRange

COLUMNS = ["attribute", "k", "curve", "label", "x", "y", "bound"]
#: Directions in which the joint range of two groups is drawn.
DIRECTIONS = 90
#: What x and y are; ``bound`` is what y is at least for every projection with an average error of at most x.
CURVES = {
    "own best": ("smallest error of the group that k directions can leave", "its error under PCA"),
    "worst error": ("average error", "largest error of a group"),
    "worst loss": ("average error", "largest loss of a group"),
    "error gap": ("average error", "largest less smallest error"),
    "loss gap": ("average error", "largest less smallest loss"),
    "joint range": ("error of the first group", "error of the second group"),
}


@dataclass(frozen=True, eq=False)
class Frontier:
    """The curves of one attribute and number of components, and the pairs of errors for two groups."""

    labels: list[str]  # of the groups
    k: int
    own: np.ndarray  # error of each group under its own best k directions, (G,)
    pca: np.ndarray  # error of each group under the best k directions for all rows, (G,)
    curves: dict[str, Curve] = field(default_factory=dict)  # by what y is
    range: np.ndarray | None = None  # the closed boundary (m, 2) of all pairs of errors, for two groups

    def rows(self, attribute: str) -> pd.DataFrame:
        """Tidy rows; the first point of a curve is PCA, the last its smallest y."""
        found = [(label, self.own[g], self.pca[g], self.own[g], "own best") for g, label in enumerate(self.labels)]
        for name, curve in self.curves.items():
            bounds = curve.least(curve.points[:, 0])
            labels = ["PCA", *[""] * (len(bounds) - 2), f"smallest {name}"][-len(bounds) :]
            found += [(*row, name) for row in zip(labels, *curve.points.T, bounds, strict=True)]
        if self.range is not None:
            found += [("", *pair, np.nan, "joint range") for pair in self.range]
            found.append(("PCA", *self.pca, np.nan, "joint range"))
        table = pd.DataFrame(found, columns=["label", "x", "y", "bound", "curve"])
        return table.assign(attribute=attribute, k=self.k)[COLUMNS]


def frontier(moments: GroupMoments, k: int) -> Frontier:
    """What projections onto k directions can do for these groups of the fitting part.

    Complexity
    ----------
    About 150 eigenvalue problems of order d for two groups and k, 200 to 1,000 for more groups.
    """
    matrices = group_matrices(moments)
    shares = moments.counts / moments.n
    traces = np.trace(matrices, axis1=1, axis2=2)
    own = traces - best_kept(matrices, k)
    pca = errors_of(matrices, top_eigenspace(np.tensordot(shares, matrices, axes=1), k)[1])
    hull, zero, curves, boundary = Hull(matrices, shares, k), np.zeros(len(own)), {}, None
    if len(own) == 2:
        joint = JointRange(*matrices, k)
        curves = {name: gap_curve(joint, shares, name, o) for name, o in (("error gap", zero), ("loss gap", own))}
        boundary = joint.boundary(DIRECTIONS)
        for found in joint.known():  # what was solved for the gaps is a start for the worst group
            hull.add(found.basis(0.0))
            hull.solved.append((np.array([np.cos(found.angle), np.sin(found.angle)]), found.value))
    for name, offsets in (("worst error", zero), ("worst loss", own)):
        curves[name] = hull.worst_curve(name, offsets)
    return Frontier([str(label) for label in moments.labels], k, own, pca, curves, boundary)
