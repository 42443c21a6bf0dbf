"""What is measured of one fitted method of the table: rows ``(protocol, metric, value, reason)``.

``released`` fits and scores every classifier on the same test points, as published; ``held-out`` fits it on the
training part. ``in sample`` and ``held-out`` gaps are those of the training and of the test part.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, DataError, FairError
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import ConvexFairPCA, StandardPCA

from ...data import Dataset
from .methods import KERNEL, fit

#: The three downstream classifiers, with the settings of the public program.
CLASSIFIERS: dict[str, Callable] = {
    "Kernel SVM": lambda: SVC(kernel="rbf", gamma=1.0, C=1.0),
    "Linear SVM": lambda: SVC(kernel="linear", C=1.0),
    "MLP": lambda: MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=10_000, random_state=999),
}
#: Columns of the published table, and those of them that a classifier decides.
PREDICTION_METRICS = [f"{metric} ({name})" for name in CLASSIFIERS for metric in ("%Acc", "Delta_DP")]
METRICS = ["%Var", "MMD^2", *PREDICTION_METRICS]

DRAWS = 20

Row = tuple[str, str, float, str]


def bandwidth(moments: GroupMoments, train: Dataset, k: int) -> float:
    """The MMD bandwidth shared by all methods: the median heuristic on standard PCA of the training part."""
    return metrics.median_bandwidth(fit(StandardPCA(k), moments).transform(train.X))


def judge_moments(name: str, fitted: BaseEstimator, train: GroupMoments, test: GroupMoments) -> Iterator[Row]:
    """Metrics that group moments determine."""
    if name == KERNEL:
        return
    V = fitted.components_.T
    yield "released", "%Var", 100.0 * metrics.retained_variance(test, V), ""
    yield "in sample", "mean gap", metrics.mean_gap(train, V), ""
    yield "held-out", "mean gap", metrics.mean_gap(test, V), ""
    yield "in sample", "covariance gap", metrics.covariance_gap(train, V), ""
    yield "held-out", "covariance gap", metrics.covariance_gap(test, V), ""


def judge_released(name: str, fitted: BaseEstimator, test: Dataset, bandwidth: float) -> Iterator[Row]:
    """What the published table needs of the test points; ``bandwidth`` is that of the MMD, shared by all methods."""
    part = fitted.transform(test.X), test.y, test.groups
    if name != KERNEL:
        yield "released", "MMD^2", metrics.mmd2(part[0], test.groups, bandwidth), ""
    for classifier in CLASSIFIERS:
        yield from judge_classifier(classifier, None, part, "released")


def judge_points(name: str, fitted: BaseEstimator, train: Dataset, test: Dataset, bandwidth: float) -> Iterator[Row]:
    """What else needs the points: the held-out protocol, and readers that try to tell the group."""
    parts = [(fitted.transform(part.X), part.y, part.groups) for part in (train, test)]
    if name != KERNEL:
        yield "in sample", "MMD^2", metrics.mmd2(parts[0][0], train.groups, bandwidth), ""
    # The accuracy of the constant prediction, to recognise a classifier that has learnt nothing.
    yield "released", "%Majority", 100.0 * max(np.mean(test.y == 1, axis=0), np.mean(test.y != 1, axis=0)), ""
    for classifier in CLASSIFIERS:
        yield from judge_classifier(classifier, *parts, "held-out")
    for reader in metrics.READERS:
        for protocol, part in zip(("in sample", "held-out"), parts, strict=True):
            area = metrics.group_auc(reader, parts[0][::2], part[::2])
            yield protocol, f"AUC of the group ({reader})", area, ""


def downstream(
    classifier: str, train: tuple, test: tuple, *, protocol: Literal["released", "held-out"]
) -> dict[str, float]:
    """Accuracy, demographic-parity and equal-opportunity difference of one classifier on a representation.

    Parameters
    ----------
    classifier : str
        A key of ``CLASSIFIERS``.
    train, test : tuple
        ``(embedding (n, k), labels (n,), groups (n,))`` of each part.
    protocol : {"released", "held-out"}
        "released", as in the published tables: fitted and scored on the same test points. "held-out": fitted on the
        training part, scored on the test part.

    Returns
    -------
    dict
        ``accuracy``, ``demographic_parity``, ``equal_opportunity``, each as a share.
    """
    if classifier not in CLASSIFIERS:
        raise ConfigurationError(f"classifier={classifier!r}; needed is one of {', '.join(CLASSIFIERS)}.")
    if protocol not in ("released", "held-out"):
        raise ConfigurationError(f"protocol={protocol!r}; needed is 'released' or 'held-out'.")
    E, y, groups = test
    fit_E, fit_y, _ = test if protocol == "released" else train
    if len(np.unique(fit_y)) < 2:
        raise DataError("the labels take one value only, so there is nothing to learn.")
    prediction = CLASSIFIERS[classifier]().fit(fit_E, fit_y).predict(E)
    return {
        "accuracy": metrics.accuracy(y, prediction),
        "demographic_parity": metrics.demographic_parity_difference(prediction, groups),
        "equal_opportunity": metrics.equal_opportunity_difference(y, prediction, groups),
    }


def judge_classifier(classifier: str, train: tuple | None, test: tuple, protocol: str) -> Iterator[Row]:
    """Accuracy and disparities of one classifier; where they do not exist, the reason."""
    try:
        judged = downstream(classifier, train, test, protocol=protocol)
    except FairError as error:  # a class or a group is absent in this part
        judged, reason = dict.fromkeys(("accuracy", "demographic_parity", "equal_opportunity"), np.nan), str(error)
    else:
        reason = ""
    yield protocol, f"%Acc ({classifier})", 100.0 * judged["accuracy"], reason
    yield protocol, f"Delta_DP ({classifier})", judged["demographic_parity"], reason
    yield protocol, f"Delta_EO ({classifier})", judged["equal_opportunity"], reason


def judge_bases(fitted: BaseEstimator, test: Dataset, seed: int) -> Iterator[Row]:
    """The MLP on the same representation with bases that a solver might as well have returned.

    Columns by increasing eigenvalue, as the authors' program orders them, with random signs; the same signs on every
    split of a draw, so that each draw gives one column of the table.
    """
    T = fitted.transform(test.X)[:, ::-1]
    for draw in range(DRAWS):
        signs = np.random.default_rng((seed, draw)).choice([-1.0, 1.0], size=T.shape[1])
        for _, metric, value, reason in judge_classifier("MLP", None, (T * signs, test.y, test.groups), "released"):
            if metric in PREDICTION_METRICS:
                yield f"signs {draw:02d}", metric, value, reason


def judge_fit(fitted: BaseEstimator) -> Iterator[Row]:
    """Whether an iterative method converged, after how many steps, and how large its residual was left.

    Of a convex program, which is solved or fails, the steps alone.
    """
    if hasattr(fitted, "n_iter_"):
        yield "fit", "iterations", float(np.max(fitted.n_iter_, axis=None)), ""
    if hasattr(fitted, "converged_") and not isinstance(fitted, ConvexFairPCA):
        reason = "" if fitted.converged_ else "not converged: the last iterate is judged"
        yield "fit", "converged", float(fitted.converged_), reason
    if hasattr(fitted, "residual_"):
        yield "fit", "residual", float(fitted.residual_), ""


def judge_draw(rows: Iterable[Row], draw: int) -> Iterator[Row]:
    """The columns of the published table among the rows of a method that was fitted again from another seed."""
    for protocol, metric, value, reason in rows:
        if protocol == "released" and metric in METRICS:
            yield f"seed {draw:02d}", metric, value, reason
