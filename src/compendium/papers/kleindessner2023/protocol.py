"""The protocol of the table: its rows, how a method is fitted, what is measured of it; and a stopwatch.

Measured are rows ``(protocol, metric, value, reason)``: ``released`` fits and scores every classifier on the same test
points, as published; ``held-out`` fits it on the training part.
"""

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from fairlearn.metrics import demographic_parity_difference, equal_opportunity_difference
from scipy import linalg
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, DataError, FairError, GroupError, SurplusComponentsWarning
from evenspan.core.estimator import NotConvergedWarning
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import ConvexFairPCA, StandardPCA
from evenspan.reconstruction.convex import CollapsedRelaxationWarning
from evenspan.representation import INLP, LEACE, RLACE, FairKernelPCA, FairPCA, MMDFairPCA
from evenspan.representation.erasure import IncompleteErasureWarning

from ...data import Dataset

SEED = 2023
KERNEL = "Fair Kernel PCA"
#: The rows that the poster prints, in its order, and ours.
PRINTED = ("PCA", "FPCA (0.1, 0.01)", "FPCA (0, 0.01)", "MbF-PCA (10^-3)", "MbF-PCA (10^-6)", "INLP", "RLACE",
           "Fair PCA", KERNEL, "Fair PCA-S (0.5)", "Fair PCA-S (0.85)")  # fmt: skip
METHODS = (*PRINTED, "INLP, most variance", "RLACE, rank 1", "LEACE")

#: Methods that draw at random, those that group moments do not determine, and those whose certificate must close.
DRAWING = (MMDFairPCA, INLP, RLACE)
OF_POINTS = (*DRAWING, FairKernelPCA)
EXACT = (StandardPCA, FairPCA, FairKernelPCA, LEACE)
#: Said by the fitted estimator as well, where the results keep it.
EXPECTED = (SurplusComponentsWarning, CollapsedRelaxationWarning, NotConvergedWarning, IncompleteErasureWarning)
#: The three downstream classifiers, with the settings of the public program.
CLASSIFIERS: dict[str, Callable] = {
    "Kernel SVM": lambda: SVC(kernel="rbf", gamma=1.0, C=1.0),
    "Linear SVM": lambda: SVC(kernel="linear", C=1.0),
    "MLP": lambda: MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=10_000, random_state=999),
}
#: Who tells the group from a representation, with a penalty for the unit of the standardised columns.
READERS = {
    "linear": LogisticRegression(C=1.0, max_iter=10_000, tol=1e-8),
    "kernel": SVC(kernel="rbf", gamma="scale", C=1.0),
}
#: Columns of the published table, and those of them that a classifier decides.
PREDICTION_METRICS = [f"{metric} ({name})" for name in CLASSIFIERS for metric in ("%Acc", "Delta_DP")]
METRICS = ["%Var", "MMD^2", *PREDICTION_METRICS]

Row = tuple[str, str, float, str]


def fit(estimator: BaseEstimator, moments: GroupMoments, train: Dataset | None = None, *, seed: int = SEED):
    """A fitted copy, checked against its own certificate where that has to close; ``seed`` goes to those that draw."""
    fitted, name = clone(estimator), type(estimator).__name__
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        if not of_points(fitted):
            fitted.fit_moments(moments)
        elif train is None:
            raise ConfigurationError(f"{name} needs the points of the training part, not their moments only.")
        else:
            fitted.fit(train.X, sensitive_features=train.groups)
    if isinstance(fitted, EXACT) and not fitted.certificate_.is_optimal():
        raise ArithmeticError(f"{name} is not certified optimal: {fitted.certificate_}")
    return fitted


def of_points(estimator: BaseEstimator) -> bool:
    """Whether group moments do not determine what is fitted."""
    return isinstance(estimator, OF_POINTS) or getattr(estimator, "of_rows", False)


def bandwidth(moments: GroupMoments, train: Dataset, k: int) -> float:
    """The MMD bandwidth shared by all methods: the median heuristic on standard PCA of the training part."""
    return metrics.median_bandwidth(fit(StandardPCA(k), moments).transform(train.X))


def evaluate_moments(name: str, fitted: BaseEstimator, train: GroupMoments, test: GroupMoments) -> Iterator[Row]:
    """Metrics that group moments determine."""
    if name == KERNEL:
        return
    try:
        V = fitted.components_.T
    except ConfigurationError as error:  # a class of one's own may give coordinates alone
        yield "released", "%Var", np.nan, str(error)
        return
    yield "released", "%Var", 100.0 * metrics.retained_variance(test, V), ""
    for metric, gap in (("mean gap", metrics.mean_gap), ("covariance gap", metrics.covariance_gap)):
        yield "in sample", metric, gap(train, V), ""
        yield "held-out", metric, gap(test, V), ""


def evaluate_classifier(classifier: str, fitting: tuple, scoring: tuple, protocol: str) -> Iterator[Row]:
    """Accuracy in per cent, demographic-parity and equal-opportunity difference of one classifier, or the reason.

    Both parts, which may be the same, are ``(embedding (n, k), labels (n,), groups (n,))``."""
    (E, y, groups), values, reason = scoring, (np.nan, np.nan, np.nan), ""
    try:
        if len(np.unique(fitting[1])) < 2:
            raise DataError("the labels take one value only, so there is nothing to learn.")
        prediction = CLASSIFIERS[classifier]().fit(*fitting[:2]).predict(E)
        if len(np.unique(groups)) < 2 or len(np.unique(groups[y == 1])) < len(np.unique(groups)):
            raise GroupError("there is one group only, or one without a label of 1: its rates do not exist.")
        parity, opportunity = (
            rates(y, prediction, sensitive_features=groups)
            for rates in (demographic_parity_difference, equal_opportunity_difference)
        )
        values = 100.0 * accuracy_score(y, prediction), parity, opportunity
    except FairError as error:  # a class or a group is absent in this part
        reason = str(error)
    for metric, value in zip(("%Acc", "Delta_DP", "Delta_EO"), values, strict=True):
        yield protocol, f"{metric} ({classifier})", value, reason


def evaluate_fit(fitted: BaseEstimator) -> Iterator[Row]:
    """Whether an iterative method converged, after how many steps, and how large its residual was left."""
    if hasattr(fitted, "n_iter_"):
        yield "fit", "iterations", float(np.max(fitted.n_iter_, axis=None)), ""
    if hasattr(fitted, "converged_") and not isinstance(fitted, ConvexFairPCA):
        reason = "" if fitted.converged_ else "not converged: the last iterate is judged"
        yield "fit", "converged", float(fitted.converged_), reason
    if hasattr(fitted, "residual_"):
        yield "fit", "residual", float(fitted.residual_), ""


def seconds(work: Callable[[], object], attempts: int = 1) -> tuple[float, object]:
    """What the work costs when nothing else disturbs it, the shortest of several timings; and what it returned."""
    spent = []
    for _ in range(attempts):
        start = time.perf_counter()
        answer = work()
        spent.append(time.perf_counter() - start)
    return min(spent), answer


def algorithm_1(X: np.ndarray, groups: np.ndarray, k: int) -> np.ndarray:
    """Algorithm 1 of the paper as printed, for two groups: on the points, with a null space by singular values."""
    z = (groups == np.unique(groups)[1]).astype(np.float64)
    R = linalg.null_space(((z - z.mean(axis=0)) @ X)[None, :])
    XR = X @ R
    m = XR.shape[1]
    _, A = linalg.eigh(XR.T @ XR, subset_by_index=(m - k, m - 1))
    return R @ A
