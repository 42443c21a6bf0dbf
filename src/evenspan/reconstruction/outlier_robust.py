"""Fair PCA of lengths: the mean of lengths in the place of the mean of squares, which outliers decide."""

from dataclasses import KW_ONLY

import numpy as np

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.estimator import PointsEstimator
from ..core.linalg import principal_axes, top_eigenspace
from ..core.options import COMPONENTS, flag, number, option, parameterised, whole
from .group_errors import errors, group_matrices, losses, require_rank, require_several_groups
from .min_max import solve
from .minorisation import Tangents, ascend


def lengths_kept(X: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> Tangents:
    """Tangents of the mean length of V'x over the rows x of every group."""
    parts = [X[codes == g] for g in range(len(counts))]

    def tangents(V):
        images = [part @ V for part in parts]
        lengths = [np.linalg.norm(image, axis=1, keepdims=True) for image in images]
        units = [image / np.where(length > 0, length, 1.0) for image, length in zip(images, lengths, strict=True)]
        means = np.array([length.mean(axis=0)[0] for length in lengths])
        return means, np.array([part.T @ unit / len(part) for part, unit in zip(parts, units, strict=True)])

    return tangents


@parameterised
class OutlierRobustFairPCA(PointsEstimator):
    r"""PCA for the group that keeps least, measured by lengths, so that few far rows weigh little.

    .. math::
        \max_{V^\top V = I} \; \min_g \; \frac{1}{n_g} \sum_{i \in g} \bigl\lVert V^\top (x_i - m) \bigr\rVert

    in the place of the mean of the squared lengths, whose largest terms decide.

    Parameters
    ----------
    n_components : int or None, default 2
        The rank k, at most d - 1, which None stands for.
    standardize : bool, default False
        Divide every feature by its population standard deviation first.
    tol : float, default 1e-6
        A step that can gain no more than this share of the largest mean length of a group is the last one.
    max_iter : int, default 1000
        Largest number of steps from each of two starts: the components that keep most of the variance of the group that
        keeps least, and those of PCA of the rows at length 1 (spherical PCA).

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows; what ``transform`` subtracts, the overall mean.
    group_lengths_ : ndarray of shape (G,)
        The mean length that is kept of every group.
    group_losses_, group_errors_ : ndarray of shape (G,)
        Mean squared errors about ``mean_``, outliers included, and what they exceed a group's own components by.
    objective_ : float
        The least of the lengths.
    certificate_, subspace_ : Certificate and FairSubspace
        The objective and an upper bound; the answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``.
    converged_, n_iter_ : bool and int
        Whether the last step could gain no more than ``tol``; steps of the better start.

    Guarantees
    ----------
    The objective rises with every step, to a stationary point. No mean length exceeds the root of the mean square, so
    the certified optimum of the least variance kept gives the bound; it is met only where all rows of a group keep the
    same length. The mean, which outliers move, is not protected.

    Complexity
    ----------
    O(n d k) a step, beside one exact fit of moments.

    References
    ----------
    Babu & Stoica (2023) state that the approach admits outliers. Their full text was not at hand: this criterion, which
    is convex and needs no parameter, is one that fits their abstract.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [2.0, 2.0, 0.1]
    >>> X[:4] = [0.0, 0.0, 20.0]
    >>> groups = np.arange(200) % 2
    >>> for method in (StandardPCA(2), OutlierRobustFairPCA(2)):
    ...     print(np.abs(method.fit(X, sensitive_features=groups).components_[:, 2]).max().round(1))
    1.0
    0.3
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    standardize: bool = option(flag(), default=False)
    tol: float = option(number(0, low_open=True), default=1e-6)
    max_iter: int = option(whole(1), default=1000)

    def _answer_points(self, X, codes, moments):
        require_several_groups(moments, type(self).__name__)
        k = require_rank(self.n_components, moments.d)
        seen, rows, scale = moments, X - moments.mean, None
        if self.standardize:
            scale = moments.scale()
            seen, rows = moments.standardised(), rows / scale
        matrices = group_matrices(seen)
        start, bound = solve(matrices, k, "error", np.zeros(moments.G))
        sphere = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        starts = start, top_eigenspace(sphere.T @ sphere, k)[1]
        tangents = lengths_kept(rows, codes, moments.counts)
        size = float(np.sqrt(np.trace(matrices, axis1=1, axis2=2).max(axis=0)))
        V, learnt = ascend(tangents, starts, size, 0.0, self.tol, self.max_iter)
        V = principal_axes(V, seen.scatter)
        lengths = tangents(V)[0]
        least = float(lengths.min(axis=0))
        certificate = Certificate(
            f"least mean length kept of a group over projectors of rank {k}",
            least,
            float(np.sqrt(max(-bound.dual, 0.0))),
            scope="bound",
        )
        measured = {"group_errors_": errors(matrices, V), "group_losses_": losses(matrices, V)}
        return Answer(
            FairSubspace(V, moments.mean, certificate, scale),
            {**measured, **learnt, "group_lengths_": lengths, "objective_": least},
        )
