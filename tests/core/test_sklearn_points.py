"""scikit-learn's own checks for the linear methods that need the points, with groups supplied."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenspan import INLP, RLACE, MMDFairPCA
from evenspan.core.errors import ConfigurationError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # no row here is asked to converge


class WithGroups:
    """Alternating groups, which scikit-learn's checks do not know of."""

    def fit(self, X, y=None, *, sensitive_features=None):
        if sensitive_features is None:
            rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
            sensitive_features = np.arange(rows) % 2
        return super().fit(X, y, sensitive_features=sensitive_features)


class Discrepancy(WithGroups, MMDFairPCA):
    """Few and short iterations: the checks are about the interface."""

    def __init__(self, n_components=1, *, max_iter=5, max_inner=20, random_state=0):
        super().__init__(n_components, tol=0.1, max_iter=max_iter, max_inner=max_inner, random_state=random_state)


class Classifiers(WithGroups, INLP):
    """INLP with groups supplied."""


class Game(WithGroups, RLACE):
    """A short game."""

    def __init__(self, n_components=None, *, max_iter=20, evaluate_every=10, random_state=0):
        super().__init__(n_components, max_iter=max_iter, evaluate_every=evaluate_every, random_state=random_state)


@parametrize_with_checks([Discrepancy(), Classifiers(), Game()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("random_state", ["a", -1, 0.5])
@pytest.mark.parametrize("method", [MMDFairPCA, INLP, RLACE])
def test_a_seed_of_the_wrong_kind_is_refused(method, random_state):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ConfigurationError, match=f"random_state={random_state!r}; needed is None, a whole number"):
        method(1, random_state=random_state).fit(X, sensitive_features=np.arange(20) % 2)
