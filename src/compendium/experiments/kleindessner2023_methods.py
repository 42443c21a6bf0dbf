"""The methods of the table of Kleindessner et al. (2023), named as printed, with the settings of the public program.

Rows that the paper does not have are marked as ours: LEACE, which appeared later, and INLP and RLACE as they are meant
to be used, where the surviving directions are chosen for their variance.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from evenspan.core.errors import ConfigurationError, SurplusComponentsWarning
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import ConvexFairPCA, StandardPCA
from evenspan.reconstruction.convex import CollapsedRelaxationWarning
from evenspan.representation import INLP, LEACE, RLACE, FairKernelPCA, FairPCA, MMDFairPCA
from evenspan.representation.erasure import IncompleteErasureWarning
from evenspan.representation.mmd_fair_pca import UnmetToleranceWarning

from ..data import Dataset

#: Seed of every method that draws.
SEED = 2023

#: Said by the fitted estimator as well, where the results keep it.
EXPECTED = (
    SurplusComponentsWarning,  # COMPAS has training rank 9 and the paper's grid asks for 10 components
    CollapsedRelaxationWarning,
    UnmetToleranceWarning,
    IncompleteErasureWarning,
)


@dataclass(frozen=True)
class Method:
    """How one row of the table is made.

    ``make(k, d, seed)`` gives the unfitted estimator. With ``points``, moments do not determine the answer; ``draws``
    tells the methods that depend on the seed, ``exact`` those whose certificate must close.
    """

    make: Callable[[int, int, int], BaseEstimator]
    points: bool = False
    draws: bool = False
    exact: bool = True
    linear: bool = True
    ours: bool = False


METHODS: dict[str, Method] = {
    "PCA": Method(lambda k, d, seed: StandardPCA(k)),
    "FPCA (0.1, 0.01)": Method(lambda k, d, seed: _olfat_aswani(k, 0.1), exact=False),
    "FPCA (0, 0.01)": Method(lambda k, d, seed: _olfat_aswani(k, 0.0), exact=False),
    "MbF-PCA (10^-3)": Method(
        lambda k, d, seed: MMDFairPCA(k, tol=1e-3, random_state=seed), points=True, draws=True, exact=False
    ),
    "MbF-PCA (10^-6)": Method(
        lambda k, d, seed: MMDFairPCA(k, tol=1e-6, random_state=seed), points=True, draws=True, exact=False
    ),
    "INLP": Method(
        lambda k, d, seed: INLP(k, max_iter=d - k, select="arbitrary", random_state=seed),
        points=True,
        draws=True,
        exact=False,
    ),
    "RLACE": Method(lambda k, d, seed: RLACE(k, rank=d - k, random_state=seed), points=True, draws=True, exact=False),
    "Fair PCA": Method(lambda k, d, seed: FairPCA(k, center=False)),
    "Fair Kernel PCA": Method(lambda k, d, seed: FairKernelPCA(k, center=False), points=True, linear=False),
    "Fair PCA-S (0.5)": Method(lambda k, d, seed: _covariance_matching(k, 0.5)),
    "Fair PCA-S (0.85)": Method(lambda k, d, seed: _covariance_matching(k, 0.85)),
    "INLP, most variance": Method(
        lambda k, d, seed: INLP(k, max_iter=d - k, select="pca", random_state=seed),
        points=True,
        exact=False,
        ours=True,
    ),
    "RLACE, rank 1": Method(
        lambda k, d, seed: RLACE(k, rank=1, select="pca", random_state=seed),
        points=True,
        draws=True,
        exact=False,
        ours=True,
    ),
    "LEACE": Method(lambda k, d, seed: LEACE(k), ours=True),
}

#: The rows that the poster prints, in its order, and ours.
PRINTED = tuple(name for name, method in METHODS.items() if not method.ours)
OURS = tuple(name for name, method in METHODS.items() if method.ours)


def method(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise ConfigurationError(f"method={name!r}; needed is one of {', '.join(METHODS)}.")
    return METHODS[name]


def fit(name: str, k: int, moments: GroupMoments, train: Dataset | None = None, *, seed: int = SEED) -> BaseEstimator:
    """The fitted method, checked against its own certificate where that has to close.

    ``train`` is needed by the methods that group moments do not determine.
    """
    row = method(name)
    estimator = row.make(k, moments.d, seed)
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        if row.points:
            if train is None:
                raise ConfigurationError(f"{name} needs the points of the training part, not their moments only.")
            fitted = estimator.fit(train.X, sensitive_features=train.groups)
        else:
            fitted = estimator.fit_moments(moments)
    if row.exact and not fitted.certificate_.is_optimal():
        raise ArithmeticError(f"{name} is not certified optimal: {fitted.certificate_}")
    return fitted


def _covariance_matching(k: int, fraction: float) -> FairPCA:
    return FairPCA(k, center=False, match="covariance", covariance_fraction=fraction)


def _olfat_aswani(k: int, delta: float) -> ConvexFairPCA:
    return ConvexFairPCA(k, delta=delta, mu=0.01, covariance=True, penalty="sum", tol=1e-5)
