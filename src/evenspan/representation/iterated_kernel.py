"""Iterated kernel erasure: fair kernel PCA of what fair kernel PCA left, round after round."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..core.estimator import numeric_table
from ..core.inputs import require_generator
from ..core.options import ATTRIBUTES, DIMENSIONS, GAMMA, SEED, SINGLE_GROUP, option, parameterised, whole
from .fair_kernel_pca import LANDMARKS, FairKernelPCA, KernelMap


@parameterised
class IteratedKernelErasure(KernelMap):
    r"""Rounds of fair kernel PCA, each with a Gaussian kernel of what the round before has left.

    With :math:`T_0` the standardised features, and :math:`\varphi_r` the feature map of the Gaussian kernel whose width
    follows the spread of the rows of :math:`T_{r-1}`, round r = 1, ..., R solves

    .. math::

        T_r = \varphi_r(T_{r-1})\, V_r, \qquad
        V_r = \arg\max_{V^\top V = I_k} \; \sum_i \bigl\lVert V^\top \tilde\varphi_r(t_i) \bigr\rVert^2
        \quad \text{subject to} \quad V^\top (m_{r,g} - m_{r,h}) = 0 \text{ for all groups } g, h,

    where :math:`\tilde\varphi_r(t_i)` are the images of the rows less their mean, and :math:`m_{r,g}` their means by
    group. One round is ``FairKernelPCA`` of the standardised features.

    Parameters
    ----------
    n_components : int, default 2
        The number of components k of every round. What few components leave out is lost as well as what is erased:
        compare with as many rounds without erasure, ``on_single_group="warn"`` and one group.
    n_rounds : int, default 3
        The number of rounds R.
    gamma : {"scale", "auto"} or float, default "scale"
        The factor in the kernel of every round, as in ``FairKernelPCA``.
    attributes, on_single_group : as in ``FairPCA``
        What is compared; with "warn" and one group it is kernel PCA, round after round.
    n_landmarks, random_state : int, optional, and int, Generator or None, default 0
        Represent points by kernel values with so many random rows, which every round draws anew; None takes all rows.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (d,)
        What is subtracted from the features before the first round, and what they are divided by: 1 if constant.
    kernels_, anchors_, dual_coefs_, offsets_ : list of Kernel, and of ndarray of shape (m, d or k), (m, k) and (k,)
        For each round what ``FairKernelPCA`` calls ``kernel_``, ``X_fit_``, ``dual_coef_`` and ``offset_``.
    certificates_ : list of Certificate
        For each round the variance that it keeps, given the rounds before it. How much of the group is left to other
        classifiers has no certificate.
    group_labels_, group_counts_ : as in ``FairPCA``
        The groups of the training sample.

    Guarantees
    ----------
    On the training sample the group means of the output of every round coincide to rounding, so that no linear
    classifier fitted to it, by a convex loss, does better than a constant. That is all: nothing is promised about a
    classifier with another kernel, trees, or new rows, and more rounds need not hide more.

    Complexity
    ----------
    R times that of ``FairKernelPCA``, and of its kernel values once more.

    References
    ----------
    Kleindessner, Donini, Russell and Zafar (2023) for a round. Ravfogel, Vargas, Goldberg and Cotterell (2022),
    Kernelized concept erasure, find that what is erased with one kernel is found with another, which is the reason to
    go on. Akbari, Afshari and Boddeti (2025), Obliviator, compose kernels step by step as well, each step lowering a
    measure of dependence. That each step is fair kernel PCA, in closed form, is ours.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ring = np.array(["inner"] * 60 + ["outer"] * 40)
    >>> turn, radius = rng.uniform(0, 2 * np.pi, 100), np.where(ring == "outer", 2.0, 1.0)
    >>> X = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    >>> T = IteratedKernelErasure(2).fit_transform(X, sensitive_features=ring)
    >>> bool(np.allclose(T[ring == "inner"].mean(axis=0), T[ring == "outer"].mean(axis=0)))
    True
    """

    n_components: int = option(DIMENSIONS, default=2)
    _: KW_ONLY
    n_rounds: int = option(whole(1), default=3)
    gamma: float | str = option(GAMMA, default="scale")
    attributes: str = option(ATTRIBUTES, default="marginal")
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    n_landmarks: int | None = option(LANDMARKS, default=None)
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features.
        y : ignored
            There for pipelines.
        sensitive_features : as in ``FairPCA.fit``
            The groups.

        Returns
        -------
        self
        """
        self._check_options()
        rng = require_generator(self.random_state)
        T = self._seen(numeric_table(self, X, order="C", ensure_min_samples=2)).astype(np.float64, copy=False)
        scaler = StandardScaler().fit(T)
        self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        T = (T - self.mean_) / self.scale_
        shared = {name: getattr(self, name) for name in ("gamma", "attributes", "on_single_group", "n_landmarks")}
        rounds = []
        for _ in range(self.n_rounds):
            rounds.append(FairKernelPCA(self.n_components, random_state=rng, **shared))
            T = rounds[-1].fit(T, sensitive_features=sensitive_features).transform(T)
        self.kernels_, self.anchors_ = [one.kernel_ for one in rounds], [one.X_fit_ for one in rounds]
        self.dual_coefs_, self.offsets_ = [one.dual_coef_ for one in rounds], [one.offset_ for one in rounds]
        self.certificates_ = [one.certificate_ for one in rounds]
        self.group_labels_, self.group_counts_ = rounds[-1].group_labels_, rounds[-1].group_counts_
        return self

    def _maps(self):
        return zip(self.kernels_, self.anchors_, self.dual_coefs_, self.offsets_, strict=True)

    def _mapped(self, T: np.ndarray) -> np.ndarray:
        return super()._mapped((T - self.mean_) / self.scale_)

    @property
    def _n_features_out(self) -> int:
        return self.dual_coefs_[-1].shape[1]
