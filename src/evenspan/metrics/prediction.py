"""The judge of what can be learnt downstream: accuracy and group disparities of classifiers on a representation."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from ..core.errors import ConfigurationError, DataError, GroupError
from ..core.groups import encode_groups, label_text

Protocol = Literal["released", "held-out"]

#: The three downstream classifiers of Kleindessner et al. (2023), with the settings of the public program.
CLASSIFIERS: dict[str, Callable] = {
    "Kernel SVM": lambda: SVC(kernel="rbf", gamma=1.0, C=1.0),
    "Linear SVM": lambda: SVC(kernel="linear", C=1.0),
    "MLP": lambda: MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=10_000, random_state=999),
}


def accuracy(y: np.ndarray, prediction: np.ndarray) -> float:
    """Share of predictions that equal the label."""
    return float(np.mean(np.asarray(y) == np.asarray(prediction), axis=0))


def demographic_parity_difference(prediction: np.ndarray, groups, *, positive_label=1) -> float:
    """Largest less smallest share of positive predictions over the groups."""
    return _spread_of_rates(np.asarray(prediction) == positive_label, groups, f"predictions of {positive_label!r}")


def equal_opportunity_difference(y: np.ndarray, prediction: np.ndarray, groups, *, positive_label=1) -> float:
    """Largest less smallest share of positive predictions among the rows with a positive label, over the groups."""
    favourable = np.asarray(y) == positive_label
    labels, codes = encode_groups(groups, len(favourable))
    without = np.flatnonzero(np.bincount(codes[favourable], minlength=len(labels)) == 0)
    if len(without):
        raise GroupError(
            f"group {label_text(labels[without[0]])!r} has no row with label {positive_label!r}, so its true "
            f"positive rate does "
            "not exist. Merge or drop the group."
        )
    hits = np.asarray(prediction)[favourable] == positive_label
    return _spread_of_rates(hits, np.asarray(groups)[favourable], f"rows with label {positive_label!r}")


def downstream(classifier: str, train: tuple, test: tuple, *, protocol: Protocol) -> dict[str, float]:
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
        "accuracy": accuracy(y, prediction),
        "demographic_parity": demographic_parity_difference(prediction, groups),
        "equal_opportunity": equal_opportunity_difference(y, prediction, groups),
    }


def _spread_of_rates(hits: np.ndarray, groups, what: str) -> float:
    labels, codes = encode_groups(groups, len(hits))
    if len(labels) < 2:
        raise GroupError(f"all {len(hits)} {what} are of one group; a difference needs two.")
    rates = np.bincount(codes, weights=hits) / np.bincount(codes)
    return float(np.ptp(rates, axis=0))
