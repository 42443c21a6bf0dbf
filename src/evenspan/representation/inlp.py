"""Iterative null-space projection (Ravfogel et al. 2020): remove what linear classifiers use, one after another."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches

from ..core.errors import ConfigurationError
from ..core.estimator import require_components
from ..core.options import ATTRIBUTES, COMPONENTS, SEED, SINGLE_GROUP, Option, none, option, parameterised, whole
from .erasure import ErasingEstimator, majority_share

#: Weights below this, for features of unit size, count as zero: the value of the public program.
VANISHED = 1e-8
CLASSIFIER = Option(lambda value: hasattr(value, "fit"), "a classifier") | none("a linear support vector machine")


@parameterised
class INLP(ErasingEstimator):
    r"""Iterative null-space projection: the intersection of the null spaces of successive linear classifiers.

    .. math::

        W_{i+1} = \operatorname{train}(X P_i), \qquad
        P_i = I - \text{projector onto the span of the rows of } W_1, \dots, W_i .

    Parameters
    ----------
    n_components : int, optional
        The number of components k, at most the dimension that survives; None keeps all of it.
    max_iter : int, optional
        How many classifiers are removed. None goes on until a new one is no better than the majority share, or
        vanishes. The published tables remove d - k.
    classifier : estimator, optional
        Any linear classifier of scikit-learn with ``coef_``; None is ``LinearSVC`` (squared hinge, C = 1, primal)
        without intercept, as published. It is cloned; where its random state is None it gets one.
    attributes, on_single_group : as in ``FairPCA``
        With several attributes one classifier for each of them in every iteration, all of which are removed, or one
        for the combinations of their values; with "warn" nothing is erased for an attribute with one group.
    random_state : int, Generator or None, default 0
        Seed of classifiers that draw.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_, group_labels_, group_counts_
        As in ``StandardPCA``: orthonormal rows inside the surviving space.
    projection_, rank_removed_, n_iter_ : ndarray of shape (d, d), int, int
        The orthogonal projector onto the surviving space, d less its rank, and how many classifiers were removed.
    accuracies_, score_, majority_share_ : ndarray of shape (n_iter_ + 1,) or (n_iter_ + 1, p), float, float
        Training accuracy of each classifier (of each of p attributes), the last of which was trained on the erased
        points; its accuracy on the attribute that it tells best, and the share of the largest group there.
    converged_ : bool
        Whether that is at most the majority share, or the weights of the last classifier vanished.
    certificate_ : Certificate
        Variance of the components against Ky Fan's bound inside the surviving space. The choice of that space is
        heuristic and has no bound.

    Guarantees
    ----------
    P is an orthogonal projector, and every removed row w has P w = 0 to rounding. With ``converged_`` a classifier of
    the same kind is no more often right than the majority, or has no weights: means may still differ. The data are
    centred, so that the missing intercept is the zero of every score. Without an intercept a classifier can separate
    and stay below the majority share, so that the first one is removed whatever its accuracy.

    Complexity
    ----------
    One classifier and O(n d) times the rank removed, for each iteration; beside X one copy of it is held.

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

    n_components: int | None = option(COMPONENTS, default=None)
    _: KW_ONLY
    max_iter: int | None = option(whole(1) | none("until it is idle"), default=None)
    classifier: ClassifierMixin | None = option(CLASSIFIER, default=None)
    attributes: str = option(ATTRIBUTES, default="marginal")
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def _erased(self, X: np.ndarray, parts: list, mean: np.ndarray, rng) -> tuple[np.ndarray, dict]:
        d = X.shape[1]
        classifier = LinearSVC(dual=False, fit_intercept=False) if self.classifier is None else clone(self.classifier)
        if classifier.get_params(deep=False).get("random_state", 0) is None:
            classifier.set_params(random_state=int(rng.integers(2**31)))
        kept = 1 if self.n_components is None else require_components(self.n_components, d - 1, d, "")
        shares = np.array([majority_share(part) for part in parts])
        Q, accuracies, XP = np.zeros((d, 0)), [], np.empty(X.shape)
        while True:
            for rows in gen_batches(len(X), 4096):  # centred, and without their part in the span of Q
                np.subtract(X[rows], mean, out=XP[rows])
                XP[rows] -= (XP[rows] @ Q) @ Q.T
            if not accuracies:
                unit = max(float(np.linalg.norm(XP)) / np.sqrt(XP.size), 1.0)
            weights, found = [], []
            for part in parts:
                classifier.fit(XP, part)
                if not hasattr(classifier, "coef_"):
                    raise ConfigurationError(
                        f"classifier={classifier!r} has no coef_ after fitting; needed is a linear classifier, for "
                        "instance sklearn.linear_model.LogisticRegression()."
                    )
                weights.append(np.atleast_2d(classifier.coef_))
                found.append(float(classifier.score(XP, part)))
            accuracies.append(found)
            vanished = np.array([np.abs(W).max(axis=None) * unit <= VANISHED for W in weights], dtype=bool)
            silent = bool((vanished | (np.array(found) <= shares)).all())
            done = len(accuracies) - 1
            finished = done == self.max_iter if self.max_iter is not None else silent and done > 0
            # The same data give the same classifier again: whoever goes on changes nothing.
            useful = [W for W, nothing in zip(weights, vanished, strict=True) if not nothing]
            if finished or not useful:
                break
            wider = _extend(Q, np.vstack(useful))
            if wider.shape[1] == Q.shape[1] or (self.max_iter is None and wider.shape[1] > d - kept):
                break
            Q = wider
            if Q.shape[1] > d - kept:
                require_components(kept, d - Q.shape[1], d, f" less {Q.shape[1]} erased in {done + 1} iteration(s)")
        worst = int(np.argmax(np.array(found) - shares))
        return Q, {
            "accuracies_": np.array(accuracies)[:, 0] if len(parts) == 1 else np.array(accuracies),
            "n_iter_": done,
            "score_": found[worst],
            "majority_share_": float(shares[worst]),
            "converged_": silent,
        }


def _extend(Q: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns of Q and the rows of W; rows that add less than 1e-8 of their length do not."""
    rows = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), np.finfo(float).tiny)
    for _ in range(2):  # twice is enough
        rows = rows - (rows @ Q) @ Q.T
    _, s, new = np.linalg.svd(rows, full_matrices=False)
    new = new[s > VANISHED]
    added, _ = np.linalg.qr((new - (new @ Q) @ Q.T).T)
    return np.hstack([Q, added])
