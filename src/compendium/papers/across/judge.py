"""The one judge of the comparison: moments and points of the held-out part, in units of the training part.

An answer maps a point x to ``t = B'(x - m)`` and back to ``m + V t``; V has orthonormal columns and B = V for every
method but LEACE, whose map is oblique. Errors are mean squared distances between point and reconstruction, in squared
standard deviations, summed over features. The loss of a group is its error less that of the best k directions for it,
fitted to the group's training rows about the overall mean: on held-out rows it can be negative.

The linear reader is Fisher's discriminant of the projected training rows; it is fitted to the group and, where there is
one, to the label. Its AUC and its accuracy are those on the held-out rows. Scores that are tied to rounding tell
nothing and have the AUC 0.5. The reader of the group sees the same training rows as the methods: where a method makes
their means equal it finds no direction at all. What a reader fitted to other rows could find is in ``mean distance``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenspan import metrics
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices

from .data import Parts

#: Directions of relative variance below this are not used by the reader.
RCOND = 1e-10


@dataclass(frozen=True, eq=False)
class Answer:
    """``t = encoder' (x - mean)`` and back to ``mean + decoder t``; both (d, k)."""

    encoder: np.ndarray
    decoder: np.ndarray
    mean: np.ndarray

    @cached_property
    def map(self) -> np.ndarray:
        """The map of centred points to their reconstructions, (d, d)."""
        return self.decoder @ self.encoder.T


@dataclass(frozen=True)
class Metric:
    """A measure: the criterion it stands for, whether less is better, and what its unit is."""

    criterion: str
    lower: bool
    unit: str


METRICS: Mapping[str, Metric] = {
    "relative error": Metric("lose little of all rows", True, "error of PCA on the same split = 1"),
    "explained variance": Metric("keep the variance of all rows", False, "share"),
    "worst error": Metric("serve the worst group well", True, "squared standard deviations"),
    "error gap": Metric("equal errors", True, "squared standard deviations"),
    "worst loss": Metric("small losses for every group", True, "squared standard deviations"),
    "loss gap": Metric("equal losses", True, "squared standard deviations"),
    "mean distance": Metric("equal means", True, "squared distance of the projected means"),
    "covariance distance": Metric("equal covariances", True, "share of the largest variance after the projection"),
    "group AUC": Metric("hide the group from a linear reader", True, "area; 0.5 is nothing"),
    "label accuracy": Metric("keep the label, by accuracy", False, "share"),
    "label AUC": Metric("keep the label, by ranking", False, "area; 0.5 is nothing"),
}
POINTS = ("group AUC", "label accuracy", "label AUC")
#: What the name of a metric ends with that is a deviation over splits, and the digits that are stored.
DEVIATION, DIGITS = ", deviation", 7
#: Stored beside the metrics; not criteria.
FACTS = ("certified", "seconds")


@dataclass(frozen=True, eq=False)
class Judge:
    """What all answers with k components on one split are measured against."""

    parts: Parts
    k: int

    @cached_property
    def base(self) -> float:
        """Mean error of PCA of the training part on the held-out part."""
        V = top_eigenspace(self.parts.train.scatter, self.k)[1]
        return self._mean(self._errors(self.parts.test, V @ V.T, self.parts.train.mean))

    @cached_property
    def own(self) -> np.ndarray:
        """Held-out error of every group with the best k directions of its training rows, (G,)."""
        found = []
        for g, M in enumerate(group_matrices(self.parts.train, "fitted")):
            V = top_eigenspace(M, self.k)[1]
            found.append(self._errors(self.parts.test, V @ V.T, self.parts.train.mean)[g])
        return np.array(found)

    def judged(self, answer: Answer) -> Iterator[tuple[str, float, str]]:
        """Rows ``(metric, value, reason)``."""
        test = self.parts.test
        errors = self._errors(test, answer.map, answer.mean)
        losses = errors - self.own
        B = answer.encoder
        yield "relative error", self._mean(errors) / self.base, ""
        yield "explained variance", metrics.retained_variance(test, B), ""
        yield "worst error", float(errors.max(axis=0)), ""
        yield "error gap", float(np.ptp(errors, axis=0)), ""
        yield "worst loss", float(losses.max(axis=0)), ""
        yield "loss gap", float(np.ptp(losses, axis=0)), ""
        yield "mean distance", metrics.mean_gap(test, B) ** 2, ""
        projected = test.project(B)
        largest = float(np.linalg.norm(projected.scatter / (test.n - 1.0), ord=2))
        if largest > 0:
            yield "covariance distance", metrics.covariance_gap(projected) / largest, ""
        else:
            yield "covariance distance", np.nan, "no variance is left after the projection"
        yield from self._read(B)

    def _read(self, B: np.ndarray) -> Iterator[tuple[str, float, str]]:
        parts = self.parts
        if parts.test_points is None:
            for metric in POINTS:
                yield metric, np.nan, "a reader is judged on points, and only moments are at hand"
            return
        T = parts.test_points.X @ B
        member = parts.test_points.groups == parts.train.labels[1]
        yield "group AUC", metrics.auc(member, discriminant(parts.train.project(B), T)), ""
        if parts.by_label is None:
            yield "label accuracy", np.nan, "the data set has no label"
            yield "label AUC", np.nan, "the data set has no label"
            return
        scores, y = discriminant(parts.by_label.project(B), T), parts.test_points.y
        yield "label accuracy", metrics.accuracy(y, (scores > 0).astype(int)), ""
        yield "label AUC", metrics.auc(y == 1, scores), ""

    def _errors(self, sample: GroupMoments, P: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return metrics.operator_errors(sample, P, mean=mean, centring="fitted")

    def _mean(self, errors: np.ndarray) -> float:
        return float(self.parts.test.counts @ errors / self.parts.test.n)


def discriminant(moments: GroupMoments, T: np.ndarray) -> np.ndarray:
    r"""Fisher's score of the rows of T (m, k), the logarithm of the odds of the second of two classes.

    .. math:: s(t) = w^\top \big(t - \tfrac12 (m_0 + m_1)\big) + \log \frac{n_1}{n_0}, \qquad w = W^{+} (m_1 - m_0)

    with W the covariance within the classes.
    """
    W = moments.scatters.sum(axis=0) / moments.n
    w = np.linalg.pinv(W, rcond=RCOND, hermitian=True) @ (moments.means[1] - moments.means[0])
    return (T - 0.5 * moments.means.sum(axis=0)) @ w + np.log(moments.counts[1] / moments.counts[0])


def summarised(per_split: list[dict[str, tuple[float, str]]]) -> dict[str, tuple[float | None, str]]:
    """Mean and sample deviation of one method over the splits, to seven digits; or why there is no mean.

    ``certified`` is the share of splits whose certificate closed: that of the method's own problem, which for the
    erasures is only the choice of directions in what they leave. ``seconds`` is the mean time of a fit, without that
    of the moments for methods that need no more.
    """
    rows: dict[str, tuple[float | None, str]] = {}
    for metric in (*METRICS, *FACTS):
        missing = [reason for value, reason in (split[metric] for split in per_split) if not _finite(value)]
        if missing:
            told = missing[0]
            if len(missing) < len(per_split):
                told = f"no value on {len(missing)} of {len(per_split)} splits: {told}"
            rows[metric] = (None, told)
            continue
        values = np.array([split[metric][0] for split in per_split])
        rows[metric] = (_rounded(values.mean(axis=0)), "")
        if metric in METRICS and len(values) > 1:
            rows[metric + DEVIATION] = (_rounded(values.std(axis=0, ddof=1)), "")
    return rows | {"splits": (float(len(per_split)), "")}


def _finite(value: float | None) -> bool:
    return value is not None and np.isfinite(value)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
