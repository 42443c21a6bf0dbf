"""The quicker network against scikit-learn's."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from compendium.networks import Network


@pytest.mark.parametrize(("n", "hidden", "labels"), [(450, (10, 5), 2), (90, (8,), 2), (120, (6,), 3)])
def test_network_is_that_of_scikit_learn(n, hidden, labels):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=n), [0.0, 1.0][: labels - 1])
    theirs, ours = (kind(hidden, max_iter=3000, random_state=1).fit(X, y) for kind in (MLPClassifier, Network))
    assert theirs.n_iter_ == ours.n_iter_
    assert theirs.loss_curve_ == pytest.approx(ours.loss_curve_, rel=1e-10)
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-8, atol=1e-10)
