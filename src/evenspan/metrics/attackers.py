"""Attackers: classifiers of several kinds that predict the group from a representation; the strongest one counts.

One kind sees what another does not: where a linear classifier is left with guessing, trees may still rank the groups. A
panel says more than its members, and less than a proof: a stronger attacker may exist.
"""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from ..core.errors import GroupError
from ..core.groups import encode_groups, positions
from .prediction import auc, settled

#: Rows that every attacker is fitted to at most, the same for all.
FITTED = 10_000
#: Coefficients up to which a logistic regression of more than two classes is quicker with all second derivatives.
MOST = 400

_LINEAR = {"max_iter": 10_000, "tol": 1e-6}
#: Unfitted attackers by name, for n rows in units of the spread of all columns together, and the jobs of the forest.
ATTACKERS: Mapping[str, Callable[[int, int | None], ClassifierMixin]] = {
    "linear": lambda n, jobs: LogisticRegression(**_LINEAR),
    "kernel": lambda n, jobs: make_pipeline(
        Nystroem(n_components=min(300, n), random_state=0), LogisticRegression(C=10.0, **_LINEAR)
    ),
    "boosting": lambda n, jobs: HistGradientBoostingClassifier(random_state=0),
    "forest": lambda n, jobs: ExtraTreesClassifier(200, min_samples_leaf=3, random_state=0, n_jobs=jobs),
    "neighbours": lambda n, jobs: _Neighbours(max(min(25, n // 8), 1), algorithm="brute"),
}


class _Neighbours(KNeighborsClassifier):
    """Nearest rows, whose votes have weights; which rows are nearest does not depend on these."""

    def fit(self, X, y, sample_weight=None):
        self._weight = sample_weight
        return super().fit(X, y)

    def predict_proba(self, X):
        if self._weight is None:
            return super().predict_proba(X)
        near = self.kneighbors(X, return_distance=False)
        votes = np.stack([(self._weight * (self._y == g))[near].sum(axis=1) for g in range(len(self.classes_))], axis=1)
        return votes / votes.sum(axis=1, keepdims=True)


def fitted(model: ClassifierMixin, X: np.ndarray, y: np.ndarray, weight: np.ndarray):
    """The model, or the last step of a pipeline, fitted to rows (n, k) with weights (n,); equal ones are left out."""
    step, last = (f"{model.steps[-1][0]}__", model[-1]) if isinstance(model, Pipeline) else ("", model)
    classes = len(np.unique(y)) if isinstance(last, LogisticRegression) else np.inf
    if classes == 2 or classes * (X.shape[1] if last is model else MOST) <= MOST:
        last.set_params(solver="newton-cholesky")
    return model.fit(X, y, **({f"{step}sample_weight": weight} if np.ptp(weight) else {}))


class Panel:
    """All attackers, fitted to a representation and to who is in which group.

    Parameters
    ----------
    E : ndarray of shape (n, k)
        The representation; every column in the same unit, whichever it is.
    codes : ndarray of shape (n,)
        The group of each row, from 0 to G - 1, each of them present.
    n_jobs : int, optional
        Threads of the forest, as joblib counts them.
    weight : ndarray of shape (n,), optional
        Positive weights of the rows, in any unit: every attacker is fitted with them. What counts rows does so still:
        the least of a leaf, the number of neighbours, whose votes are weighted.
    """

    def __init__(
        self, E: np.ndarray, codes: np.ndarray, n_jobs: int | None = None, weight: np.ndarray | None = None
    ):  # fmt: skip
        weight = np.ones(len(E)) if weight is None else weight / weight.mean(axis=0)
        self._offset = (weight[:, None] * E).mean(axis=0)
        self._scale = float(np.sqrt(np.mean(weight[:, None] * (E - self._offset) ** 2))) or 1.0
        X = self._units(E)
        self._models = {name: fitted(make(len(X), n_jobs), X, codes, weight) for name, make in ATTACKERS.items()}

    def _units(self, E: np.ndarray) -> np.ndarray:
        return (E - self._offset) / self._scale  # all digits: trees find groups in what rounding left of a column

    def scores(self, F: np.ndarray) -> dict[str, np.ndarray]:
        """By attacker the logarithms of the odds of every group (m, G) for other rows (m, k)."""
        X, found = self._units(F), {}
        for name, model in self._models.items():
            p = np.clip(model.predict_proba(X), 1e-12, 1.0 - 1e-12)
            found[name] = np.apply_along_axis(settled, 0, np.log(p) - np.log1p(-p))
        return found


def attack(fitting: tuple, scoring: tuple, *, n_jobs: int | None = None) -> dict[str, float]:
    """Area under the ROC curve of every attacker; with more than two groups, the largest of one against the rest.

    Parameters
    ----------
    fitting, scoring : tuple
        ``(representation (n, k), groups (n,))``; attackers are fitted to at most 10,000 rows of the first, drawn
        with seed 0.
    n_jobs : int, optional
        Threads of the forest, as joblib counts them.

    Returns
    -------
    dict of str to float
        By the names of ``ATTACKERS``; 0.5 is guessing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = np.repeat(["a", "b"], 300)
    >>> E = rng.normal(size=(600, 2)) * np.where(z == "a", 1.0, 3.0)[:, None]  # equal means, unequal spread
    >>> found = attack((E[::2], z[::2]), (E[1::2], z[1::2]))
    >>> found["linear"] < 0.6 < 0.8 < max(found.values())
    True
    """
    labels, codes = encode_groups(fitting[1], len(fitting[0]))
    seen, there = encode_groups(scoring[1], len(scoring[0]))
    if len(labels) < 2 or list(seen) != list(labels):
        raise GroupError(
            f"the scored sample has {len(seen)} groups, the fitted one {len(labels)}; needed are the same groups in "
            "both, two at least."
        )
    rows = np.random.default_rng(0).permutation(len(codes))[:FITTED]
    panel = Panel(np.asarray(fitting[0])[rows], codes[rows], n_jobs)
    truth = positions(seen, labels)[there]
    asked = [1] if len(labels) == 2 else range(len(labels))
    found = panel.scores(np.asarray(scoring[0]))
    return {name: max(auc(truth == g, scores[:, g]) for g in asked) for name, scores in found.items()}
