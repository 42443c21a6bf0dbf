"""From representation to decision: one fixed classifier of the target, fitted and evaluated alike on each map.

It is a logistic regression (C = 1, threshold 1/2) or a linear one. Rates by group are fairlearn's. Weights count in the
fit and in every number, effective sizes in intervals.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from ..metrics import settled
from ..metrics.attackers import fitted
from ..metrics.bootstrap import interval
from ..metrics.linear_map import encoder
from ..metrics.prediction import effective_size, wilson
from .evaluation import LEVEL, Row, auc_row
from .sample import Points

#: Training rows that the classifier is fitted to at most; effective rows of a class below which a group has no AUC.
FITTED, LEAST = 10_000, 10


class Decisions:
    """Rows with a target, decided on under every map; there are rates if it has two values."""

    def __init__(self, training: Points, scored: Points, attribute: str, seed: int):
        rows = np.random.default_rng((seed, 4)).permutation(len(training.X))[:FITTED]
        self._X, self._y, self._fitted_w = training.X[rows], training.y[rows], training.w[rows]
        self._scored, self._truth, self._w = scored.X, scored.y, scored.w
        self._groups = scored.groups[attribute].to_numpy(dtype=str)
        groups = {str(label): self._groups == label for label in np.unique(self._groups)}
        self._members = {"": np.ones(len(scored.X), dtype=bool)} | groups
        classes = np.unique(np.concatenate([self._y, self._truth]))
        self._second, self._binary = classes[-1], len(classes) == 2

    def rows(self, answer) -> Iterator[Row]:
        """What the classifier makes of the held-out rows under a map."""
        E, F = self._X @ encoder(answer), self._scored @ encoder(answer)
        offset = E.mean(axis=0)
        if len(np.unique(self._y)) < 2 or len(np.unique(self._truth)) < 2:
            yield Row("target accuracy", np.nan, note="The rows that are looked at have one value of the target only.")
        elif self._y.dtype.kind == "f" and not self._binary:
            model = fitted(LinearRegression(), E - offset, self._y, self._fitted_w)
            yield from self._explained(model.predict(F - offset))
        else:
            model = fitted(LogisticRegression(max_iter=10_000, tol=1e-8), E - offset, self._y, self._fitted_w)
            predicted = model.predict(F - offset)
            hits = predicted == self._truth
            for group, inside in self._members.items():
                share = float(self._w[inside & hits].sum(axis=0) / self._w[inside].sum(axis=0))
                yield _share("target accuracy", share, effective_size(self._w[inside]), group)
            if self._binary:
                yield from self._areas(settled(model.decision_function(F - offset)))
                yield from self._rates(predicted == self._second)

    def _areas(self, scores: np.ndarray) -> Iterator[Row]:
        positive = self._truth == self._second
        for group, inside in self._members.items():
            member, w = positive[inside], self._w[inside]
            if min(effective_size(w[member]), effective_size(w[~member])) >= LEAST:
                yield auc_row("target AUC", member, scores[inside], w, group)

    def _rates(self, chosen: np.ndarray) -> Iterator[Row]:
        from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate, selection_rate

        truth = (self._truth == self._second).astype(int)
        rows = {"selection rate": truth >= 0, "false positive rate": truth == 0, "false negative rate": truth == 1}
        functions = dict(zip(rows, (selection_rate, false_positive_rate, false_negative_rate), strict=True))
        frame = MetricFrame(
            metrics=functions, y_true=truth, y_pred=chosen.astype(int), sensitive_features=self._groups,
            sample_params={metric: {"sample_weight": self._w} for metric in functions},
        )  # fmt: skip
        for metric, of in rows.items():
            for group, inside in self._members.items():
                rate = frame.by_group[metric][group] if group else frame.overall[metric]
                if (of & inside).any():
                    yield _share(metric, float(rate), effective_size(self._w[of & inside]), group)

    def _explained(self, found: np.ndarray) -> Iterator[Row]:
        rng = np.random.default_rng(0)
        for group, inside in self._members.items():
            truth, left, n = self._truth[inside], (self._truth - found)[inside] ** 2, int(inside.sum(axis=0))
            if effective_size(self._w[inside]) >= LEAST and np.ptp(truth, axis=0) > 0:
                weights = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1.0 / n), size=200)]) * self._w[inside]
                weights /= weights.sum(axis=1, keepdims=True)
                shares = 1.0 - weights @ left / (weights @ truth**2 - (weights @ truth) ** 2)
                low, high = interval(shares[1:], LEVEL)
                yield Row("target R2", float(shares[0]), float(low), float(high), group=group)


def _share(metric: str, p: float, n: float, group: str) -> Row:
    """A share of n (effective) rows with Wilson's interval."""
    return Row(metric, p, *map(float, wilson(p, n, LEVEL)), group=group)
