"""Networks in a stack are those that scikit-learn trains one by one, to the last bit."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from compendium.papers.kleindessner2023 import networks
from compendium.papers.kleindessner2023.networks import Networks
from evenspan.core.errors import DataError


def sample(n=230, k=3):
    """Rows for a batch of 200 and a smaller one, with labels that are not 0 and 1."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, k)) * [2.0, 1.0, 0.5]
    y = np.where(X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=n) > 0.3, 7, 2)
    return X, y


def test_weights_and_predictions_are_those_of_scikit_learn():
    X, y = sample()
    stack = X * np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1]])[:, None, :]
    other = np.random.default_rng(5).normal(size=(3, 70, 3))
    own, epochs = Networks().fit(stack, y), []
    for i, E in enumerate(stack):
        theirs = MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=10_000, random_state=999).fit(E, y)
        epochs.append(theirs.n_iter_)
        theta = np.concatenate([part.ravel() for part in theirs.coefs_ + theirs.intercepts_])
        np.testing.assert_array_equal(own.theta_[i], theta)
        np.testing.assert_array_equal(Networks().fit(E, y).theta_[0], theta)
        np.testing.assert_array_equal(own.predict(other)[i], theirs.predict(other[i]))
    assert len(set(epochs)) > 1, "they end at different times"
    assert len(np.unique(own.predict(other), axis=0)) > 1, "signs matter"


def test_what_cannot_be_learnt_and_what_is_not_finished_is_said(monkeypatch):
    X, y = sample()
    with pytest.raises(DataError, match="3 values"):
        Networks().fit(X, np.arange(len(X)) % 3)
    monkeypatch.setattr(networks, "MAX_EPOCHS", 5)
    with pytest.warns(ConvergenceWarning, match="1 network"):
        short = Networks().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=5, random_state=999).fit(X, y)
    np.testing.assert_array_equal(short.theta_[0, :30], theirs.coefs_[0].ravel())
