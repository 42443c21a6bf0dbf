"""Null-it-out fair PCA (Lee et al. 2023), solved exactly: PCA without the directions that tell the groups apart."""

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy import linalg

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.errors import ComponentsError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.groups import label_text
from ..core.linalg import complement, span, symmetrise
from ..core.moments import GroupMoments, degrees
from ..core.options import ATTRIBUTES, COMPONENTS, SINGLE_GROUP, one_of, option, parameterised, whole
from .constraints import best_inside, require_groups

#: What is removed.
CONSTRAINT = one_of("all", "covariance", "mean", "vanilla")


@dataclass(frozen=True, eq=False)
class Contrast:
    """One comparison of the rows inside with the rows outside, each a set of groups given as booleans (G,)."""

    name: str
    inside: np.ndarray
    outside: np.ndarray


def contrasts(labels: np.ndarray, attributes: str = "marginal", on_single_group: str = "raise") -> tuple[Contrast, ...]:
    """The comparisons that these sorted group labels call for, one attribute after the other.

    Two groups are compared with each other (the second less the first), each of three or more with all other rows.
    """
    if labels.dtype.names and attributes == "intersection":
        labels = np.array([label_text(label) for label in labels])
    require_groups(labels, on_single_group, "there is nothing to be fair between")
    columns = {name: labels[name] for name in labels.dtype.names} if labels.dtype.names else {"group": labels}
    found = []
    for attribute, column in columns.items():
        values = np.unique(column)
        for value in values[1:] if len(values) < 3 else values:
            inside = column == value
            found.append(Contrast(f"{attribute}={value}", inside, ~inside))
    return tuple(found)


def group_gap(moments: GroupMoments, contrast: Contrast, gap: str, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The gap matrix (d, d) and the mean gap f (d,) of one comparison.

    ``covariance`` is :math:`\Sigma_1 - \Sigma_0`, ``second_moment`` the same of moments about ``point``.
    """
    matrices, means = [], []
    for chosen in (contrast.inside, contrast.outside):
        part = (moments.labels[chosen], moments.counts[chosen], moments.means[chosen], moments.scatters[chosen])
        whole = GroupMoments(*part)
        count, mean, scatter = whole.n, whole.mean, whole.scatter
        if gap == "covariance":
            if whole.G == 1:
                whole.require_pairs("covariance")
            matrices.append(scatter / degrees(count))
        else:
            matrices.append(scatter / count + np.outer(mean - point, mean - point))
        means.append(mean)
    return symmetrise(matrices[0] - matrices[1]), means[0] - means[1]


def gap_eigenspace(gap: np.ndarray, m: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """The m eigenvalues of largest absolute value, in decreasing order of it, and their eigenvectors (d, m).

    The gap is indefinite, and a variance missing in one group tells as much as one in excess. Below 1e-12 times
    ``size`` an eigenvalue is rounding noise: there is nothing to remove.
    """
    values, vectors = np.linalg.eigh(gap)
    order = np.argsort(-np.abs(values), kind="stable")[:m]
    order = order[np.abs(values[order]) > 1e-12 * size]
    return values[order], vectors[:, order]


def balancing_directions(gap: np.ndarray, S: np.ndarray, m: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    r"""m directions (d, m) whose removal leaves least of the gap Q, and what each of them removes (m,).

    Eigenvalues :math:`a` and :math:`-b` of Q share a plane. In it :math:`w = \sqrt b\, e_a \pm \sqrt a\, e_b`, of which
    :math:`w^\top Q w = 0`, is kept with the sign of more variance S, and what is orthogonal to it removed.
    """
    values, vectors = np.linalg.eigh(gap)
    above = np.flatnonzero(values > 1e-12 * size)[::-1][:m]
    below = np.flatnonzero(values < -1e-12 * size)[:m]
    t = max(len(above), len(below))
    (a, A), (b, B) = (  # beside an eigenvalue without a partner is 0, and it costs its eigenvector
        (np.pad(np.abs(values[at]), (0, t - len(at))), np.pad(vectors[:, at], ((0, 0), (0, t - len(at)))))
        for at in (above, below)
    )
    kept = [np.sqrt(b) * A + sign * np.sqrt(a) * B for sign in (1.0, -1.0)]
    plus, minus = (np.einsum("dt,dt->t", W, S @ W) for W in kept)
    sign = np.where(plus >= minus, 1.0, -1.0)
    return np.maximum(a, b), (np.sqrt(a) * A - sign * np.sqrt(b) * B) / np.sqrt(a + b)


def nullified_basis(gap_directions: list[np.ndarray], mean_gaps: np.ndarray, *, floor: float = 0.0) -> np.ndarray:
    r"""Orthonormal basis U (d, r) of all directions to remove: those of the gaps, then what is left of the mean gaps.

    What is left of a mean gap is taken out of them twice, because one pass loses orthogonality where it is short; below
    a relative 1e-8 (1e-5 in single precision) it is nothing, as is a mean gap not longer than ``floor``.
    """
    rtol = 1e-8 if mean_gaps.dtype == np.float64 else 1e-5
    stacked = np.hstack(gap_directions) if gap_directions else mean_gaps[:, :0]
    U = stacked if len(gap_directions) == 1 else span(stacked, rtol=rtol)
    lengths = linalg.norm(mean_gaps, axis=0)
    F = mean_gaps[:, lengths > floor] / lengths[lengths > floor]
    for _ in range(2):
        F = F - U @ (U.T @ F)
    left = linalg.norm(F, axis=0)
    F = F[:, left > rtol]
    return np.hstack([U, F / linalg.norm(F) if F.shape[1] == 1 else span(F, rtol=rtol)])


def constrained_components(S: np.ndarray, U: np.ndarray, k: int) -> tuple[np.ndarray, Certificate]:
    """The k directions of largest S outside the span of U, from an explicit basis of its complement."""
    # Eigenvectors of the projected matrix itself could lie in the span of U where S has too small a rank.
    problem = "trace of V'SV over orthonormal V without the removed directions"
    return best_inside(S, complement(U), k, problem, U)


@parameterised
class NullItOutPCA(SubspaceEstimator):
    r"""PCA without the direction of the group means and the m directions in which the group covariances differ most.

    .. math::

        \max_{V^\top V = I_k} \operatorname{tr} V^\top \Sigma V
        \quad \text{subject to} \quad V^\top f = 0, \; V^\top P_m = 0 ,

    where :math:`f = \mu_1 - \mu_0` and the columns of :math:`P_m` are the eigenvectors of the gap matrix for its m
    eigenvalues of largest **absolute** value.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d less the number of removed directions, which None stands for.
    n_gap_directions : int, default 2
        The number m of directions of the gap matrix to remove; more make the groups more alike and keep less variance.
    constraint : {"all", "covariance", "mean", "vanilla"}, default "all"
        What is removed: gap directions and the mean gap, only one of the two, or nothing (standard PCA).
    gap : {"covariance", "second_moment"}, default "covariance"
        Difference of the group covariances, or of their second moments, which holds part of the mean gap as well.
    center : {"overall", "none"}, default "overall"
        Variance and second moments are about the overall mean, or the origin, as in the authors' streaming program.
    removal : {"eigenvectors", "balance"}, default "eigenvectors"
        "eigenvectors" is the paper. "balance" pairs every excess of variance in one group with one in the other and
        removes one direction for both: half as many directions leave as little of the gap, and keep more variance.
    attributes, on_single_group : as in ``FairPCA``
        What is compared; with "warn" nothing is removed for an attribute with one group.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_, group_labels_, group_counts_
        As in ``StandardPCA``: orthonormal rows, by decreasing variance.
    nullified_ : ndarray of shape (r, d)
        Orthonormal rows: a basis of everything removed, gap directions first.
    gap_directions_ : ndarray of shape (m, d)
        What is removed for the gap matrices of all comparisons, one after the other.
    certificate_ : Certificate
        Captured sum of squares, its upper bound given the removed directions, and the constraint residual: the last
        step, and the whole problem where no gap direction is removed.

    Guarantees
    ----------
    On the training sample the projected group means coincide (constraints "all", "mean"). For "all" and "covariance",
    the spectral norm of :math:`V^\top Q V`, Q the gap matrix, is at most its (m+1)-th largest absolute eigenvalue; with
    ``removal="balance"`` at most the larger of its (m+1)-th largest and (m+1)-th most negative eigenvalue in size, and
    no m directions leave less of Q in the rest of the space. No projection without the removed directions captures more
    variance. Of more than two groups each is compared with all other rows, and all these directions are removed.

    Complexity
    ----------
    O(n d^2 + d^3) time, O(G d^2) memory. For d in the tens of thousands use ``StreamingFairPCA``.

    References
    ----------
    J. Lee, H. Cho, S.-Y. Yun and C. Yun (2023), Fair streaming principal component analysis, "null it out" formulation;
    several groups as its remark on extensions suggests.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], [200, 100])
    >>> X = rng.normal(size=(300, 5)) + np.outer(group == "b", [4, 0, 0, 0, 0])
    >>> pca = NullItOutPCA(n_components=2, n_gap_directions=1).fit(X, sensitive_features=group)
    >>> T = pca.transform(X)
    >>> bool(np.abs(T[group == "a"].mean(axis=0) - T[group == "b"].mean(axis=0)).max() < 1e-12)
    True
    """

    n_components: int | None = option(COMPONENTS, default=2)
    n_gap_directions: int = option(whole(0), default=2)
    _: KW_ONLY
    constraint: str = option(CONSTRAINT, default="all")
    gap: str = option(one_of("covariance", "second_moment"), default="covariance")
    center: str = option(one_of("overall", "none"), default="overall")
    removal: str = option(one_of("eigenvectors", "balance"), default="eigenvectors")
    attributes: str = option(ATTRIBUTES, default="marginal")
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def _answer(self, moments: GroupMoments) -> Answer:
        m = removable(self, moments.d)
        groups = moments.cells() if self.attributes == "intersection" else moments
        centred = self.center == "overall"
        point = moments.mean if centred else np.zeros(moments.d)
        S = moments.scatter if centred else moments.second_moment
        # What tells gaps from rounding noise: the spread for the gap, and for the means also how far out they are.
        reach = float(np.trace(moments.second_moment)) / moments.n
        size = float(np.trace(moments.scatter)) / moments.n if centred or self.gap == "covariance" else reach
        directions, mean_gaps = [], []
        found = () if self.constraint == "vanilla" else contrasts(groups.labels, "marginal", self.on_single_group)
        for contrast in found:
            matrix, mean_gap = group_gap(groups, contrast, self.gap if m else "second_moment", point)
            mean_gaps.append(mean_gap)
            if m:
                balanced = self.removal == "balance"
                found_here = balancing_directions(matrix, S, m, size) if balanced else gap_eigenspace(matrix, m, size)
                directions.append(found_here[1])
        F = np.column_stack(mean_gaps) if self.constraint in ("all", "mean") and found else np.zeros((moments.d, 0))
        U = nullified_basis(directions, F, floor=4.0 * np.finfo(np.float64).eps * np.sqrt(reach))
        d, r = U.shape
        k = require_components(self.n_components, d - r, d, f" less {r} removed directions")
        V, certificate = constrained_components(S, U, k)
        if not directions:  # equal means are all that is asked, and no choice was made before
            certificate = replace(certificate, scope="whole problem")
        gaps = np.hstack(directions).T if directions else np.zeros((0, d))
        return Answer(FairSubspace(V, point, certificate), {"nullified_": U.T, "gap_directions_": gaps})


def removable(estimator, d: int) -> int:
    """The number m of gap directions that the constraint of an estimator asks for."""
    m = 0 if estimator.constraint in ("mean", "vanilla") else estimator.n_gap_directions
    if m >= d:
        raise ComponentsError(f"n_gap_directions={m}; of {d} feature(s) at most {d - 1} can go. Ask for fewer.")
    return int(m)
