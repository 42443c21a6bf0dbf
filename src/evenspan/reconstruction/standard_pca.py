"""Standard PCA: the control that every fair method is measured against."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np

from ..core.answer import Answer, FairSubspace, ky_fan_certificate
from ..core.errors import ConfigurationError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..core.options import COMPONENTS, flag, one_of, option, parameterised


def require_center(estimator) -> None:
    """ConfigurationError where standardised features, which are centred, are asked for about the origin."""
    if estimator.standardize and estimator.center == "none":
        raise ConfigurationError(
            "center='none' with standardize=True: standardised features are centred. Take center='overall', or divide "
            "the features by their deviations yourself."
        )


def principal_subspace(moments: GroupMoments, k: int, *, center: str = "overall") -> FairSubspace:
    """The k leading eigenvectors of the total scatter, or of the second moment about the origin (``"none"``)."""
    H = moments.scatter if center == "overall" else moments.second_moment
    _, V = top_eigenspace(H, k)
    mean = moments.mean if center == "overall" else np.zeros(moments.d)
    return FairSubspace(V, mean, ky_fan_certificate(H, V, "trace of V'SV over orthonormal V", scope="whole problem"))


@parameterised
class StandardPCA(SubspaceEstimator):
    r"""Principal component analysis on group moments.

    .. math:: \max_{V^\top V = I_k} \operatorname{tr} V^\top S V, \qquad S = \sum_i (x_i - m)(x_i - m)^\top .

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d, which None stands for.
    center : {"overall", "none"}, default "overall"
        Subtract the mean; "none" takes second moments about the origin instead.
    standardize : bool, default False
        Divide every feature by its population standard deviation first, with ``center="overall"``; constant features
        stay 0.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows by decreasing eigenvalue; what ``transform`` subtracts, zero with ``center="none"``.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (k,)
        Variance along each component (divisor n - 1), about the mean whatever ``center`` is; its share of the whole.
    certificate_, subspace_ : Certificate and FairSubspace
        The eigenvalue sum reached and Ky Fan's bound on it; the answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``; they do not influence the answer.

    Guarantees
    ----------
    No projection of rank k leaves a smaller squared error on the training sample. Nothing is promised about groups.

    Complexity
    ----------
    O(n d^2 + d^3) time, O(d^2) memory beyond the data.

    References
    ----------
    Kleindessner et al. (2023), eq. (1).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> StandardPCA(1).fit(X).components_
    array([[1., 0.]])
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    center: str = option(one_of("overall", "none"), default="overall")
    standardize: bool = option(flag(), default=False)

    _scatters = "total"

    def fit(self, X, y=None, *, sensitive_features=None, sample_weight=None) -> Self:
        X = self._table(X, reset=True)
        groups = np.full(X.shape[0], "all") if sensitive_features is None else sensitive_features
        return self._fit_moments(self._moments(X, groups, sample_weight))

    def _answer(self, moments: GroupMoments) -> Answer:
        require_center(self)
        k = require_components(self.n_components, moments.d, moments.d, "")
        if not self.standardize:
            return Answer(principal_subspace(moments, k, center=self.center))
        answer = principal_subspace(moments.standardised(), k)
        return Answer(FairSubspace(answer.V, moments.mean, answer.certificate, moments.scale()))
