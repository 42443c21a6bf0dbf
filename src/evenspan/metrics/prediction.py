"""The judge of predictions of the group: classifiers that tell the group from a representation."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from ..core.errors import ConfigurationError, GroupError
from ..core.groups import encode_groups, label_text, positions

#: A linear reader and one that sees all else; the kernel's width follows the spread of the representation.
PROBES: dict[str, Callable] = {
    "linear": lambda: LogisticRegression(C=10.0, max_iter=10_000, tol=1e-8),
    "kernel": lambda: SVC(kernel="rbf", gamma="scale", C=1.0),
}

#: Log-odds, margins and probabilities that all differ by less than this are what rounding leaves of a classifier that
#: found nothing. They have no unit of the data.
ROUNDING = 1e-6


def group_auc(reader: str | ClassifierMixin, fitting: tuple, scoring: tuple) -> float:
    """How well a classifier fitted on one sample ranks the groups of another: area under the ROC curve, 0.5 by chance.

    The reader is a key of ``PROBES`` or an unfitted classifier, which is cloned; a sample is ``(embedding (n, k),
    groups (n,))``. With more than two groups, the largest area over one group against the rest.
    """
    labels, codes = encode_groups(fitting[1], len(fitting[0]))
    if len(labels) < 2:
        raise GroupError(f"all {len(codes)} rows are of one group; there is nothing to predict.")
    seen, seen_codes = encode_groups(scoring[1], len(scoring[0]))
    unknown = [label for label in seen.tolist() if label not in labels.tolist()]
    if unknown or len(seen) < 2:
        raise GroupError(
            f"the scored sample has the groups {', '.join(map(label_text, seen))}, the training sample "
            f"{', '.join(map(label_text, labels))}; needed are at least two of the fitted ones and no others."
        )
    truth = positions(seen, labels)[seen_codes]
    return max(
        auc(truth == g, probe_scores(reader, fitting[0], codes == g, scoring[0]))
        for g in ([1] if len(labels) == 2 else np.unique(truth))
    )


def probe_scores(reader: str | ClassifierMixin, E: np.ndarray, member: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Scores (m,) of ``others`` (m, k) from a classifier fitted to E (n, k) and to who is a member (n,).

    Both are first centred by the mean of E: an offset that all points share tells nothing about the group, but slows
    the linear classifier down and widens the kernel. For a reader that is named they are divided by the root of the
    mean variance, so that its penalty has no unit; a classifier of yours gets them in the unit they have. Classifiers
    without a decision function give probabilities. Scores that differ by rounding alone are equal.
    """
    if isinstance(reader, str) and reader not in PROBES:
        raise ConfigurationError(
            f"reader={reader!r}; needed is one of {', '.join(PROBES)}, or a classifier of scikit-learn."
        )
    offset = E.mean(axis=0)
    X, Z = E - offset, others - offset
    if isinstance(reader, str):
        size = float(np.sqrt((X**2).mean(axis=None))) or 1.0
        X, Z, reader = X / size, Z / size, PROBES[reader]()
    fitted = clone(reader).fit(X, member)
    if hasattr(fitted, "decision_function"):
        return settled(fitted.decision_function(Z))
    return settled(fitted.predict_proba(Z)[:, 1])


def settled(scores: np.ndarray) -> np.ndarray:
    """Scores (m,) of a classifier, all equal to their mean where they differ by less than ``ROUNDING``."""
    return np.full(len(scores), scores.mean(axis=0)) if np.ptp(scores, axis=0) < ROUNDING else scores


def wilson(share, n, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of Wilson's interval of shares of n (effective) rows, any shape."""
    share, z = np.asarray(share, dtype=float), ndtri(0.5 + 0.5 * level)
    size = 2.0 * (n + z**2)
    middle, reach = (2.0 * n * share + z**2) / size, z / size * np.sqrt(4.0 * n * share * (1.0 - share) + z**2)
    return np.where(share > 0, middle - reach, 0.0), np.where(share < 1, middle + reach, 1.0)


def effective_size(weight: np.ndarray) -> float:
    r"""How many rows of equal weight say as much as rows of these weights: :math:`(\sum w)^2 / \sum w^2`; 0 of none.

    References
    ----------
    L. Kish (1965), Survey sampling, section 11.7.

    Examples
    --------
    >>> effective_size(np.array([2.0, 2.0, 2.0])), effective_size(np.array([3.0, 1.0]))
    (3.0, 1.6)
    """
    return float(weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0)) if len(weight) else 0.0


def auc(member: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Area under the ROC curve of scores (n,), in any unit, for who is a member (n,); ties count half.

    With weights (n,) a pair of rows counts the product of theirs.
    """
    return float(roc_auc_score(member, scores, sample_weight=weight))


def placements(member: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Share of the (weight of the) rows of the other kind that each row (n,) is ranked right against, ties half."""
    weight = np.ones(len(scores)) if weight is None else weight
    inside, outside = (_below(scores[of], weight[of], scores) for of in (member, ~member))
    return np.where(member, outside, 1.0 - inside)


def _below(of: np.ndarray, weight: np.ndarray, scores: np.ndarray) -> np.ndarray:
    order = np.argsort(of)
    sums = np.concatenate([[0.0], np.cumsum(weight[order])])
    left, right = (np.searchsorted(of[order], scores, side=side) for side in ("left", "right"))
    return 0.5 * (sums[left] + sums[right]) / sums[-1]


def auc_standard_error(member: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> float:
    r"""Standard error of ``auc(member, scores)`` for scores that are given: the scored rows vary, the classifier not.

    .. math:: \sqrt{ s_1^2 / m + s_0^2 / n }

    with :math:`s_1^2` and :math:`s_0^2` the sample variances of the placements of the m members and of the n others.
    With weights the variances are weighted, and m and n are effective sizes, :math:`(\sum w)^2 / \sum w^2`.

    It is 0 where the two are ranked without one mistake, so that an interval from it has no width there.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson (1988), Comparing the areas under two or more correlated
    receiver operating characteristic curves: a nonparametric approach, Biometrics 44(3).
    """
    weight = np.ones(len(scores)) if weight is None else weight
    right, square = placements(member, scores, weight), 0.0
    sizes = [effective_size(weight[of]) for of in (member, ~member)]
    if min(member.sum(axis=0), (~member).sum(axis=0)) < 2 or min(sizes) <= 1.0:
        raise GroupError(f"{sizes[0]:.3g} members and {sizes[1]:.3g} others; needed are at least two of each.")
    for of, n in zip((member, ~member), sizes, strict=True):
        w = weight[of] * (n / weight[of].sum(axis=0))
        mean = (w * right[of]).sum(axis=0) / n
        square += (w * (right[of] - mean) ** 2).sum(axis=0) / (n - 1.0) / n
    return float(np.sqrt(square))
