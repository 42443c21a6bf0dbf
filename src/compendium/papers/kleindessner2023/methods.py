"""The rows of the table of Kleindessner et al. (2023), named as printed, and how its methods are fitted.

Their settings, those of the public program, stand in the notebooks. Rows that the paper does not have are marked as
ours: LEACE, which appeared later, and INLP and RLACE as they are meant to be used, where the surviving directions are
chosen for their variance.
"""

import warnings

from sklearn.base import BaseEstimator, clone

from evenspan.core.errors import ConfigurationError, SurplusComponentsWarning
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.reconstruction.convex import CollapsedRelaxationWarning
from evenspan.representation import INLP, LEACE, RLACE, FairKernelPCA, FairPCA, MMDFairPCA
from evenspan.representation.erasure import IncompleteErasureWarning
from evenspan.representation.mmd_fair_pca import UnmetToleranceWarning

from ...data import Dataset

#: Seed of every method that draws.
SEED = 2023
KERNEL = "Fair Kernel PCA"
#: The rows that the poster prints, in its order, and ours.
PRINTED = ("PCA", "FPCA (0.1, 0.01)", "FPCA (0, 0.01)", "MbF-PCA (10^-3)", "MbF-PCA (10^-6)", "INLP", "RLACE",
           "Fair PCA", KERNEL, "Fair PCA-S (0.5)", "Fair PCA-S (0.85)")  # fmt: skip
OURS = ("INLP, most variance", "RLACE, rank 1", "LEACE")
METHODS = PRINTED + OURS

#: Methods that draw at random, those that group moments do not determine, and those whose certificate must close.
DRAWING = (MMDFairPCA, INLP, RLACE)
OF_POINTS = (*DRAWING, FairKernelPCA)
EXACT = (StandardPCA, FairPCA, FairKernelPCA, LEACE)
#: Said by the fitted estimator as well, where the results keep it.
EXPECTED = (
    SurplusComponentsWarning,  # COMPAS has training rank 9 and the paper's grid asks for 10 components
    CollapsedRelaxationWarning,
    UnmetToleranceWarning,
    IncompleteErasureWarning,
)


def fit(estimator: BaseEstimator, moments: GroupMoments, train: Dataset | None = None, *, seed: int = SEED):
    """A fitted copy of the estimator, checked against its own certificate where that has to close.

    ``train`` is needed by the methods that group moments do not determine; ``seed`` goes to those that draw.
    """
    fitted, name = clone(estimator), type(estimator).__name__
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        if not isinstance(fitted, OF_POINTS):
            fitted.fit_moments(moments)
        elif train is None:
            raise ConfigurationError(f"{name} needs the points of the training part, not their moments only.")
        else:
            fitted.fit(train.X, sensitive_features=train.groups)
    if isinstance(fitted, EXACT) and not fitted.certificate_.is_optimal():
        raise ArithmeticError(f"{name} is not certified optimal: {fitted.certificate_}")
    return fitted
