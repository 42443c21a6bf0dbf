"""From representation to decision: one fixed classifier of the target, fitted and evaluated alike on each map.

A logistic regression (C = 1, threshold 1/2) or a linear regression is fitted to the same training rows and evaluated on
the same held-out rows under every map, for all rows and for every group. Rates by group are fairlearn's.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest, norm
from sklearn.linear_model import LinearRegression, LogisticRegression

from .. import metrics
from ..metrics.bootstrap import interval
from ..metrics.linear_map import encoder
from .evaluation import LEVEL, Row
from .sample import Points

#: Training rows that the classifier is fitted to at most; rows of each class below which a group has no AUC.
FITTED, LEAST = 10_000, 10


class Decisions:
    """Rows with a target, read once and decided on under every map."""

    def __init__(self, training: Points, scored: Points, attribute: str, seed: int):
        rows = np.random.default_rng((seed, 4)).permutation(training.n)[:FITTED]
        self._X, self._y = training.X[rows], training.y[rows]
        self._scored, self._truth = scored.X, scored.y
        self._groups = scored.groups[attribute].to_numpy(dtype=str)
        self.classes = np.unique(np.concatenate([self._y, self._truth]))

    @property
    def binary(self) -> bool:
        """Whether the target has two values, so that there are rates."""
        return len(self.classes) == 2

    def rows(self, answer) -> Iterator[Row]:
        """What the classifier makes of the held-out rows under a map."""
        E, F = self._X @ encoder(answer), self._scored @ encoder(answer)
        offset, number = E.mean(axis=0), self._y.dtype.kind == "f" and not self.binary
        if len(np.unique(self._y)) < 2 or len(np.unique(self._truth)) < 2:
            yield Row(
                "target accuracy", np.nan, note="The target has one value only among the rows that are looked at."
            )
        elif number:
            yield from self._explained(LinearRegression().fit(E - offset, self._y).predict(F - offset))
        else:
            model = LogisticRegression(max_iter=10_000, tol=1e-8).fit(E - offset, self._y)
            predicted = model.predict(F - offset)
            yield from self._shares("target accuracy", (predicted == self._truth).astype(float))
            if self.binary:
                yield from self._areas(model.decision_function(F - offset))
                yield from self._rates(predicted == self.classes[1])

    def _members(self) -> Iterator[tuple[str, np.ndarray]]:
        yield "", np.ones(len(self._groups), dtype=bool)
        for label in np.unique(self._groups):
            yield str(label), self._groups == label

    def _shares(self, metric: str, hits: np.ndarray) -> Iterator[Row]:
        for group, inside in self._members():
            yield _share(metric, int(hits[inside].sum(axis=0)), int(inside.sum(axis=0)), group)

    def _areas(self, scores: np.ndarray) -> Iterator[Row]:
        positive = self._truth == self.classes[1]
        for group, inside in self._members():
            member = positive[inside]
            if min(member.sum(axis=0), (~member).sum(axis=0)) >= LEAST:
                area = metrics.auc(member, scores[inside])
                margin = norm.isf((1.0 - LEVEL) / 2.0) * metrics.auc_standard_error(member, scores[inside])
                yield Row("target AUC", area, max(area - margin, 0.0), min(area + margin, 1.0), group=group)

    def _rates(self, chosen: np.ndarray) -> Iterator[Row]:
        from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate, selection_rate

        truth = (self._truth == self.classes[1]).astype(int)
        rows = {"selection rate": truth >= 0, "false positive rate": truth == 0, "false negative rate": truth == 1}
        functions = dict(zip(rows, (selection_rate, false_positive_rate, false_negative_rate), strict=True))
        frame = MetricFrame(metrics=functions, y_true=truth, y_pred=chosen.astype(int), sensitive_features=self._groups)
        for metric, of in rows.items():
            for group, inside in self._members():
                rate = frame.by_group[metric][group] if group else frame.overall[metric]
                n = int((of & inside).sum(axis=0))
                if n:
                    yield _share(metric, round(float(rate) * n), n, group)

    def _explained(self, found: np.ndarray) -> Iterator[Row]:
        rng = np.random.default_rng(0)
        for group, inside in self._members():
            truth, left, n = self._truth[inside], (self._truth - found)[inside] ** 2, int(inside.sum(axis=0))
            if n >= LEAST and np.ptp(truth, axis=0) > 0:
                weights = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1.0 / n), size=200)]) / n
                shares = 1.0 - weights @ left / (weights @ truth**2 - (weights @ truth) ** 2)
                low, high = interval(shares[1:], LEVEL)
                yield Row("target R2", float(shares[0]), float(low), float(high), group=group)


def _share(metric: str, hits: int, n: int, group: str) -> Row:
    """A share of n rows with Wilson's interval."""
    found = binomtest(hits, n).proportion_ci(LEVEL, method="wilson")
    return Row(metric, hits / n, float(found.low), float(found.high), group=group)
