"""Fair PCA (Kleindessner et al. 2023): no linear function of the projected data tells the groups apart."""

from collections.abc import Collection
from dataclasses import KW_ONLY, replace
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.answer import Answer, FairSubspace
from ..core.errors import ConfigurationError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.inputs import warn_of_order
from ..core.linalg import smallest_eigenspace, symmetrise
from ..core.moments import GroupMoments, degrees
from ..core.options import (
    ATTRIBUTES,
    COMPONENTS,
    QUANTITIES,
    SINGLE_GROUP,
    anything,
    flag,
    none,
    number,
    one_of,
    option,
    parameterised,
)
from ..reconstruction.standard_pca import principal_subspace, require_center
from .constraints import (
    best_inside,
    fair_basis,
    favourable_rows,
    mean_constraints,
    quantity_constraints,
    require_groups,
    split_attributes,
)

#: What one group only has as its consequence.
NOTHING = "there is nothing to be fair between, and fair PCA is standard PCA"


def covariance_disagreement(moments: GroupMoments, R: np.ndarray) -> np.ndarray:
    """A symmetric matrix whose null directions, within the basis R, have equal covariance with all else in every group.

    Two groups: the difference T of their covariances. More: the sum of squared differences over all pairs of groups,
    which has the eigenvectors of T when there are two. Several attributes add up.
    """
    matrices = []
    for attribute in moments.attributes:
        groups = moments.marginal(attribute)
        groups.require_pairs("covariance")
        sizes = degrees(groups.counts)
        covariances = [symmetrise(R.T @ S @ R) / n for S, n in zip(groups.scatters, sizes, strict=True)]
        if len(moments.attributes) == 1 and groups.G == 2:
            return covariances[0] - covariances[1]
        centre = sum(covariances) / groups.G
        # The sum over pairs of (A_g - A_h)^2 is G times the sum of (A_g - mean)^2.
        matrices.append(groups.G * sum((A - centre) @ (A - centre) for A in covariances))
    return sum(matrices)


@parameterised
class FairPCA(SubspaceEstimator):
    r"""PCA among the projections that give all groups the same mean.

    .. math::

        \max_{U^\top U = I_k} \operatorname{tr} U^\top S U
        \quad \text{subject to} \quad m_g^\top U = m_h^\top U \text{ for all groups } g, h .

    The constraint says the same as: no linear function of the projected data is correlated with group membership.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d less the rank of the constraints (as a rule the number of groups less 1),
        which None stands for.
    match : {"mean", "covariance"}, default "mean"
        "covariance" is the paper's Fair PCA-S: keep only the directions in which the group covariances disagree
        least, then keep the most variance among those.
    covariance_fraction : float, default 0.5
        With ``match="covariance"``: the share of the d directions to keep, in (0, 1]. Smaller means closer covariances
        and less variance; 1 is the same as ``match="mean"``.
    center : {"overall", "none"}, default "overall"
        Maximise variance about the mean and subtract it in ``transform``. "none", as the authors do, takes second
        moments about the origin.
    standardize : bool, default False
        Divide every feature by its population standard deviation first, with ``center="overall"``.
    tradeoff : float in [0, 1], optional
        Append the k coordinates of standard PCA, multiplied by this; the output then has 2k columns, and only the first
        k carry the guarantee. 0 keeps the shape and appends zeros; the authors' program takes its cube.
    criterion, positive_label : {"demographic_parity", "equal_opportunity"}, default the first, and default 1
        "equal_opportunity" fits everything on the rows with ``y == positive_label`` only, and needs y.
    attributes : {"marginal", "intersection"}, default "marginal"
        With several attributes: equal means for the groups of each by itself, or for each combination of values.
    numeric_attributes : sequence of column names or positions, default ()
        Columns of ``sensitive_features`` that are quantities, not groups: every projected feature becomes uncorrelated
        with them.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do when there is one group only; with "warn" the answer is standard PCA.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_, group_labels_, group_counts_
        As in ``StandardPCA``: orthonormal rows, by decreasing eigenvalue.
    certificate_ : Certificate
        Objective, upper bound and constraint residual: of the whole problem, of ``match="covariance"`` the last step.
    rank_removed_ : int
        The number r of directions that the constraints remove.
    standard_subspace_ : FairSubspace
        Standard PCA on the same rows; None without ``tradeoff``.

    Guarantees
    ----------
    On the training sample the projected group means coincide to rounding, and no other projection of rank k with that
    property keeps more. On new data the gap is of the order of one over the square root of the group sizes.

    Complexity
    ----------
    O(n d^2 + d^3) time, as PCA; O(d^2 + G d) memory beyond the data, with ``match="covariance"`` O(G d^2).

    References
    ----------
    Kleindessner, Donini, Russell and Zafar (2023), problem (3) and Algorithm 1; several groups, equal opportunity,
    trade-off and covariance matching from its section on variants and extensions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) + np.outer(sex == "m", [3, 1, 0, 0])
    >>> T = FairPCA(2).fit_transform(X, sensitive_features=sex)
    >>> bool(np.allclose(T[sex == "f"].mean(axis=0), T[sex == "m"].mean(axis=0)))
    True
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    match: str = option(one_of("mean", "covariance"), default="mean")
    covariance_fraction: float = option(number(0, 1, low_open=True), default=0.5)
    center: str = option(one_of("overall", "none"), default="overall")
    standardize: bool = option(flag(), default=False)
    tradeoff: float | None = option(number(0, 1) | none("no second block"), default=None)
    criterion: str = option(one_of("demographic_parity", "equal_opportunity"), default="demographic_parity")
    positive_label: object = option(anything("a value of y"), default=1)
    attributes: str = option(ATTRIBUTES, default="marginal")
    numeric_attributes: Collection = option(QUANTITIES, default=())
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    @property
    def _scatters(self) -> str:
        return "group" if self.match == "covariance" else "total"

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None) -> Self:
        X = self._table(X, reset=True)
        self._check_options()
        groups, quantities = split_attributes(sensitive_features, self.numeric_attributes)
        weights = sample_weight
        if self.criterion == "equal_opportunity":
            warn_of_order(X, sensitive_features=sensitive_features, y=y, sample_weight=sample_weight)
            groups, weights = favourable_rows(
                y, self.positive_label, groups, X.shape[0], self.attributes, sample_weight
            )
        moments = self._moments(X, groups, weights)
        return self._solved(moments, quantity_constraints(X, quantities, weights))

    def _answer(self, moments: GroupMoments, quantities: np.ndarray | None = None) -> Answer:
        require_center(self)
        if quantities is None and len(self.numeric_attributes):
            raise ConfigurationError(
                "numeric_attributes needs the data themselves: group moments hold no products of features with them. "
                "Call fit(X, sensitive_features=...) instead."
            )
        groups = moments.cells() if self.attributes == "intersection" else moments
        if not len(self.numeric_attributes):
            require_groups(groups.labels, self.on_single_group, NOTHING)
        quantities = np.zeros((groups.d, 0)) if quantities is None else quantities
        mean, scale = (moments.mean if self.center == "overall" else np.zeros(moments.d)), None
        if self.standardize:
            mean, scale = moments.mean, moments.scale()
            groups, quantities = groups.standardised(), quantities / scale[:, None]
        S = groups.scatter if self.center == "overall" else groups.second_moment
        size = groups.size

        constraints = np.hstack([mean_constraints(groups), quantities])
        R = fair_basis(constraints, size)
        removed = groups.d - R.shape[1]
        k = require_components(self.n_components, R.shape[1], groups.d, f" less {removed} removed by the constraints")
        problem, scope = "trace of U'SU over orthonormal U with equal group means", "whole problem"
        if self.match == "covariance":
            kept = max(k, int(self.covariance_fraction * groups.d))
            if kept < R.shape[1]:
                disagreement = covariance_disagreement(groups, R)
                R = R @ smallest_eigenspace(disagreement, kept, preference=R.T @ S @ R)
                scope = "last step"
                problem += f", inside the {kept} directions in which the group covariances disagree least"
        U, certificate = best_inside(S, R, k, problem, constraints, size if size > 0 else 1.0)
        certificate = replace(certificate, scope=scope)
        learnt = {"rank_removed_": removed, "standard_subspace_": None}
        if self.tradeoff is not None:
            standard = principal_subspace(groups, k, center=self.center)
            learnt["standard_subspace_"] = FairSubspace(standard.V, mean, standard.certificate, scale)
        return Answer(FairSubspace(U, mean, certificate, scale), learnt)

    def transform(self, X) -> np.ndarray:
        check_is_fitted(self)
        # Not through super().transform, whose output scikit-learn may already have turned into a data frame.
        X = self._finite_table(X)
        fair = self.subspace_.apply(X)
        if self.standard_subspace_ is None:
            return self._given(fair)
        return self._given(np.hstack([fair, self.tradeoff * self.standard_subspace_.apply(X)]))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_) * (1 if self.standard_subspace_ is None else 2)
