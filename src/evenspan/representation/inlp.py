"""Iterative null-space projection (Ravfogel et al. 2020): remove what linear classifiers use, one after another."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ..core.answer import FairSubspace
from ..core.errors import ConfigurationError
from ..core.estimator import PointsEstimator, require_components, require_generator, warn_caller
from ..core.moments import GroupMoments
from .erasure import IncompleteErasureWarning, require_groups, require_select, surviving_subspace

#: Weights below this, for features of unit size, count as zero: the value of the public program.
VANISHED = 1e-8


class INLP(PointsEstimator):
    r"""Iterative null-space projection: the intersection of the null spaces of successive linear classifiers.

    .. math::

        W_{i+1} = \operatorname{train}(X P_i), \qquad
        P_i = I - \text{projector onto the span of the rows of } W_1, \dots, W_i .

    Parameters
    ----------
    n_components : int, optional
        The number of components k, at most the dimension that survives; None keeps all of it.
    n_iterations : int, optional
        How many classifiers are removed. None goes on until a new one is no better than the majority share, or
        vanishes. The published tables remove d - k.
    select : {"pca", "arbitrary"}, default "pca"
        Which k directions of the surviving space become the components: those of largest variance, or a random
        subspace, which is what the published rows amount to.
    classifier : estimator, optional
        Any linear classifier of scikit-learn with ``coef_``; None is ``LinearSVC`` (squared hinge, C = 1, primal)
        without intercept, as published. It is cloned; where its random state is None it gets one.
    min_accuracy : float, default 0.0
        A classifier with smaller training accuracy is not removed, which ends the iteration.
    random_state : int, Generator or None, default 0
        Seed of the random subspace, and of classifiers that draw.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal rows inside the surviving space.
    projection_ : ndarray of shape (d, d)
        The orthogonal projector P onto the surviving space.
    rank_ : int
        Rank of P.
    n_iter_ : int
        How many classifiers were removed.
    accuracies_ : ndarray of shape (removed + 1,)
        Training accuracy of each classifier; the last was trained on the erased points and not removed.
    score_, majority_share_ : float
        The last of them, and the share of the largest group.
    vanished_ : bool
        Whether the weights of the last classifier vanished; every further iteration would repeat it.
    converged_ : bool
        Whether they did, or ``score_`` is at most the majority share. Not if the first classifier vanished only because
        the features are small.
    classifier_warnings_ : int
        How many classifiers reported that they had not converged.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (k,)
        Variance along each component, and as a share of the total.
    certificate_ : Certificate
        Variance of the components against Ky Fan's bound inside the surviving space. The choice of that space is
        heuristic and has no bound.
    subspace_ : FairSubspace
        The answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups of the fitting sample.

    Guarantees
    ----------
    P is an orthogonal projector, and every removed row w has P w = 0 to rounding. With ``converged_`` a classifier of
    the same kind is no more often right than the majority, or has no weights: means may still differ. The data are
    centred, so that the missing intercept is the zero of every score. Classifiers without intercept can stay below the
    majority share although they separate; then only vanished weights show that nothing is left, so the first classifier
    is removed whatever its accuracy. The penalty of the classifier is fixed: on features far smaller than 1 its weights
    vanish at once, nothing is removed, and a warning says so.

    Complexity
    ----------
    One classifier and O(n d) times the rank removed, for each iteration.

    References
    ----------
    S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg (2020), Null it out, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) + np.outer(sex == "m", [3, 0, 0, 0])
    >>> fitted = INLP(2).fit(X, sensitive_features=sex)
    >>> fitted.converged_, bool(fitted.accuracies_[0] > 0.9)
    (True, True)
    """

    def __init__(
        self,
        n_components=None,
        *,
        n_iterations=None,
        select="pca",
        classifier=None,
        min_accuracy=0.0,
        random_state=0,
    ):
        self.n_components = n_components
        self.n_iterations = n_iterations
        self.select = select
        self.classifier = classifier
        self.min_accuracy = min_accuracy
        self.random_state = random_state

    def _answer_points(self, X: np.ndarray, codes: np.ndarray, moments: GroupMoments) -> FairSubspace:
        self._require_options()
        require_groups(moments, "INLP")
        rng = require_generator(self.random_state)
        kept = 1 if self.n_components is None else require_components(self.n_components, moments.d - 1, moments.d, "")
        self.majority_share_ = float(moments.counts.max(axis=0) / moments.n)
        X = np.ascontiguousarray(X - moments.mean)  # the same to the last bit however X lies in memory
        erased = self._iterate(X, codes, kept, self._make_classifier(rng))
        self.projection_ = np.eye(moments.d) - erased @ erased.T
        self.rank_ = moments.d - erased.shape[1]
        answer = surviving_subspace(erased, moments, self.n_components, self.select, rng)
        if not self.converged_:
            warn_caller(
                f"after {self.n_iter_} iteration(s) a new classifier still has training accuracy {self.score_:.4f} "
                f"(the majority has {self.majority_share_:.4f}). {self._advice()}",
                IncompleteErasureWarning,
            )
        return answer

    def _iterate(self, X: np.ndarray, codes: np.ndarray, kept: int, classifier) -> np.ndarray:
        """Orthonormal basis (d, r) of the span of all removed weights."""
        d = X.shape[1]
        unit = float(np.linalg.norm(X)) / np.sqrt(X.size)
        Q, accuracies, self.classifier_warnings_ = np.zeros((d, 0)), [], 0
        while True:
            XP = X - (X @ Q) @ Q.T
            self.classifier_warnings_ += _fit_counting(classifier, XP, codes)
            W = np.atleast_2d(classifier.coef_)
            accuracies.append(float(classifier.score(XP, codes)))
            self.vanished_ = bool(np.abs(W).max(axis=None) * unit <= VANISHED)
            silent = self.vanished_ or accuracies[-1] <= self.majority_share_
            done = len(accuracies) - 1
            finished = done == self.n_iterations if self.n_iterations is not None else silent and done > 0
            # The same data give the same classifier again: whoever goes on changes nothing.
            if finished or self.vanished_ or accuracies[-1] < self.min_accuracy:
                break
            wider = _extend(Q, W)
            if wider.shape[1] == Q.shape[1] or (self.n_iterations is None and wider.shape[1] > d - kept):
                break
            Q = wider
            if Q.shape[1] > d - kept:
                require_components(kept, d - Q.shape[1], d, f" less {Q.shape[1]} erased in {done + 1} iteration(s)")
        self.accuracies_, self.n_iter_ = np.array(accuracies), len(accuracies) - 1
        self.score_ = accuracies[-1]
        if self.vanished_ and not self.n_iter_ and unit > 0:
            # A fixed penalty hides everything in small features: features of unit size show whether there is anything.
            self.classifier_warnings_ += _fit_counting(classifier, X / unit, codes)
            silent = bool(np.abs(classifier.coef_).max(axis=None) <= VANISHED)
        self.converged_ = silent
        return Q

    def _make_classifier(self, rng: np.random.Generator):
        seed = int(rng.integers(2**31))
        if self.classifier is None:
            return LinearSVC(dual=False, fit_intercept=False, random_state=seed)
        classifier = clone(self.classifier)
        if "random_state" in (known := classifier.get_params(deep=False)) and known["random_state"] is None:
            classifier.set_params(random_state=seed)
        return classifier

    def _advice(self) -> str:
        if self.vanished_:
            return (
                "Its weights vanished because the features are too small for its penalty. Standardise the data (for "
                "instance with sklearn.preprocessing.StandardScaler)."
            )
        if self.score_ < self.min_accuracy:
            return "Lower min_accuracy to remove it."
        if self.n_iterations is not None:
            return "Raise n_iterations."
        return "Ask for fewer components." if (self.n_components or 1) > 1 else "Removing it, too, would leave nothing."

    def _require_options(self) -> None:
        require_select(self.select)
        N = self.n_iterations
        if N is not None and (not isinstance(N, Integral) or isinstance(N, bool) or N < 1):
            raise ConfigurationError(f"n_iterations={N!r}; needed is None or a whole number of at least 1.")
        if not isinstance(self.min_accuracy, Real) or not 0 <= self.min_accuracy <= 1:
            raise ConfigurationError(f"min_accuracy={self.min_accuracy!r}; needed is a share from 0 to 1.")


def _fit_counting(classifier, X: np.ndarray, codes: np.ndarray) -> int:
    """Fit, and count the reports of missing convergence; other warnings are passed on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, codes)
    if not hasattr(classifier, "coef_"):
        raise ConfigurationError(
            f"classifier={classifier!r} has no coef_ after fitting; needed is a linear classifier, for instance "
            "sklearn.linear_model.LogisticRegression()."
        )
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):
            warn_caller(str(warning.message), warning.category)
    return sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def _extend(Q: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns of Q and the rows of W; rows that add less than 1e-8 of their length do not."""
    rows = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), np.finfo(float).tiny)
    for _ in range(2):  # twice is enough
        rows = rows - (rows @ Q) @ Q.T
    _, s, new = np.linalg.svd(rows, full_matrices=False)
    new = new[s > VANISHED]
    new = new - (new @ Q) @ Q.T
    added, _ = np.linalg.qr(new.T)
    return np.hstack([Q, added])
