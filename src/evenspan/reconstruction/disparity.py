"""PCA with a small difference of two groups' reconstruction errors, along one family of eigenvalue problems."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.answer import Certificate
from ..core.linalg import top_eigenspace
from ..core.options import COMPONENTS, flag, option, parameterised
from .group_errors import ReconstructionEstimator, errors, require_two_groups
from .joint_range import JointRange


@dataclass(eq=False)
class Family:
    r"""The family of Pelegrina and Duarte: leading eigenvectors of a mixture, from PCA to the smallest difference.

    .. math:: H(\alpha) = \alpha \, (p_w M_w + p_b M_b) + (1 - \alpha) (M_w - M_b), \qquad 0 \le \alpha \le 1,

    w being the group that PCA leaves with the larger error and b the other.

    A leading eigenspace of :math:`H(\alpha)` minimises the mean error plus :math:`(1-\alpha)/\alpha` times the
    difference :math:`e_w - e_b`: the family is an arc of the boundary of the joint range, along which the difference
    never falls as :math:`\alpha` grows, while the mean error never rises.
    """

    matrices: np.ndarray
    shares: np.ndarray
    k: int

    def __post_init__(self):
        self.C = np.einsum("g,gde->de", self.shares, self.matrices)
        pca = errors(self.matrices, top_eigenspace(self.C, self.k)[1])
        self.worse = 0 if pca[0] > pca[1] else 1  # of equal errors the second, as released
        self.cap, self.order = float(pca.max(axis=0)), [self.worse, 1 - self.worse]
        self.joint = JointRange(*self.matrices[self.order], self.k)

    def basis(self, alpha: float) -> np.ndarray:
        """The leading eigenvectors of H(alpha)."""
        D = self.matrices[self.worse] - self.matrices[1 - self.worse]
        return top_eigenspace(alpha * self.C + (1.0 - alpha) * D, self.k)[1]

    def angle(self, alpha: float) -> float:
        """The direction of H(alpha) in the plane of (e_w, e_b)."""
        p_w, p_b = self.shares[self.order]
        return float(np.arctan2(alpha * (p_b + 1.0) - 1.0, alpha * (p_w - 1.0) + 1.0))

    def weights(self, angle: float) -> tuple[float, float]:
        """The same direction as x times the mean error plus y times the difference; alpha is x / (x + y)."""
        x = float(np.sqrt(2.0) * np.sin(angle + np.pi / 4))
        return x, float(np.cos(angle) - self.shares[self.worse] * x)

    def mean_error_bound(self, gap: float, alpha: float) -> float:
        """A lower bound on the mean error of every projection that has e_w - e_b at most ``gap``."""
        for near in (alpha, 1e-3, 1e-5, 1e-7):  # at 0, where only the difference counts, nothing is said of the mean
            self.joint.support(self.angle(near))
        known = [(found.value, *self.weights(found.angle)) for found in self.joint.known()]
        return max((value - y * gap) / x for value, x, y in known if x > 1e-8 and y > -1e-15)


def smallest_difference(family: Family, constrained: bool) -> tuple[np.ndarray, float, int]:
    """Where errors are equal, or most nearly so; if constrained, before e_w exceeds its value under PCA."""
    joint = family.joint
    found, at = joint.balanced(np.zeros(2), family.angle(1.0), family.angle(0.0))
    if constrained and joint.pair(found.basis(at))[0] > (1.0 + 1e-12) * family.cap:
        # Beyond the least error of w both errors grow.
        found, at = joint.crossing(np.array([-1.0, 0.0]), -family.cap, found.angle, 0.0)
    x, y = family.weights(found.angle)
    return found.basis(at), x / (x + y), joint.evaluations


@parameterised
class DisparityFairPCA(ReconstructionEstimator):
    r"""PCA with a small difference of two groups' reconstruction errors (u-FPCA and c-FPCA).

    .. math::

        \min_{\alpha \in [0, 1]} \; \big(e_0(V_\alpha) - e_1(V_\alpha)\big)^2, \qquad
        V_\alpha = \text{leading eigenvectors of } \alpha \, C + (1 - \alpha)(M_w - M_b) ,

    C the covariance of all rows, :math:`M_g` that of group g about the overall mean, w the group with the larger error
    under PCA. c-FPCA also asks that no group's error exceed the larger of the two errors under PCA.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d - 1, which None stands for.
    constrained : bool, default False
        False is u-FPCA: the difference may be closed by making both groups worse off than PCA does. True is c-FPCA.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows; what ``transform`` subtracts.
    alpha_ : float
        Where in the family the answer is; 1 is PCA.
    gap_, smallest_gap_ : float
        The absolute difference of the group errors, and a lower bound on it over all projections of rank k.
    cap_ : float
        The larger of the two errors under PCA.
    group_errors_, group_losses_ : ndarray of shape (2,)
        Mean squared reconstruction error and loss of each group, about the overall mean.
    certificate_, subspace_ : Certificate and FairSubspace
        The mean error over all rows, and the least that a projection with at most this difference can have: the last
        step, the difference being given. ``feasibility`` is how far the constraint is exceeded, relative to the cap.
        The answer by itself.
    group_labels_, group_counts_ : ndarray of shape (2,)
        The groups seen in ``fit``.
    converged_, n_iter_ : bool and int
        Always true: the search ends at neighbouring numbers. Eigenvalue problems solved.

    Guarantees
    ----------
    On the training sample, without the constraint, the difference is zero or ``smallest_gap_``,
    and no projection with at most this difference has a smaller mean error. With the constraint no error exceeds the
    cap, and no projection that respects the cap and leaves the same group worse off has a smaller difference.
    Closing the difference can leave both groups worse off than PCA does.

    Complexity
    ----------
    About fifteen eigendecompositions of order d. Fewer rows than features: in the span of the rows, of order n for d.

    References
    ----------
    G. D. Pelegrina and L. T. Duarte, A novel approach for Fair Principal Component Analysis based on
    eigendecomposition.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[4.0, 0, 0], [-4, 0, 0], [0, 1, 0], [0, -1, 0], [0, 3, 1], [0, -3, 1], [0, 0, -2]])
    >>> groups = ["a", "a", "a", "a", "b", "b", "b"]
    >>> fitted = DisparityFairPCA(1).fit(X, sensitive_features=groups)
    >>> round(fitted.gap_, 9)
    0.0
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    constrained: bool = option(flag(), default=False)

    _search = staticmethod(smallest_difference)

    def _solve(self, matrices, moments, k):
        require_two_groups(moments, "DisparityFairPCA", "Use MinMaxFairPCA or RobustFairPCA for more than two.")
        family = Family(matrices, moments.counts / moments.n, k)
        V, alpha, evaluations = self._search(family, self.constrained)
        reached, (low, high) = errors(matrices, V), family.joint.extreme_gaps()
        e_w, e_b = reached[family.order]
        over = max(float(reached.max(axis=0)) - family.cap, 0.0)
        # Relative to the cap; where k components lose nothing, the cap is rounding and the data have the size.
        size = float(np.trace(matrices, axis1=1, axis2=2).max())
        over /= family.cap if family.cap > 1e-9 * size else size
        certificate = Certificate(
            "mean error over projections of rank k with at most this difference of errors",
            float(family.shares @ reached),
            family.mean_error_bound(float(e_w - e_b), alpha),
            feasibility=over if self.constrained else 0.0,
            sense="min",
            evaluations=evaluations,
        )
        learnt = {
            "alpha_": alpha,
            "gap_": float(np.ptp(reached, axis=0)),
            "smallest_gap_": float(max(low, -high, 0.0)),  # no projection of this rank has a smaller one
            "cap_": family.cap,
            "converged_": True,
            "n_iter_": evaluations,
        }
        return V, certificate, learnt
