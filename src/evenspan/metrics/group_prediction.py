"""The judge of what a representation still says about the group: readers that predict it, and how well they do."""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from ..core.errors import ConfigurationError, GroupError
from ..core.groups import encode_groups, label_text, positions

#: A linear reader and one that sees all else; the kernel's width follows the spread of the representation.
READERS: dict[str, Callable] = {
    "linear": lambda: LogisticRegression(C=1.0, max_iter=10_000, tol=1e-8),
    "kernel": lambda: SVC(kernel="rbf", gamma="scale", C=1.0),
}

#: Scores that differ by less than this, in units of a logistic or margin score, are ties: rounding tells nothing.
TIED = 1e-6


def group_auc(reader: str, fitting: tuple, scoring: tuple) -> float:
    """How well a reader fitted on one sample ranks the groups of another: area under the ROC curve, 0.5 by chance.

    Parameters
    ----------
    reader : str
        A key of ``READERS``.
    fitting, scoring : tuple
        ``(embedding (n, k), groups (n,))`` of each sample; the same twice for the area in sample.

    Returns
    -------
    float
        With more than two groups, the largest over one group against the rest.
    """
    labels, codes = encode_groups(fitting[1], len(fitting[0]))
    if len(labels) < 2:
        raise GroupError(f"all {len(codes)} rows are of one group; there is nothing to predict.")
    seen, seen_codes = encode_groups(scoring[1], len(scoring[0]))
    unknown = [label for label in seen.tolist() if label not in labels.tolist()]
    if unknown or len(seen) < 2:
        raise GroupError(
            f"the scored sample has the groups {', '.join(map(label_text, seen))}, the fitting sample "
            f"{', '.join(map(label_text, labels))}; needed are at least two of the fitted ones and no others."
        )
    truth = positions(seen, labels)[seen_codes]
    return max(
        auc(truth == g, reader_scores(reader, fitting[0], codes == g, scoring[0]))
        for g in ([1] if len(labels) == 2 else np.unique(truth))
    )


def reader_scores(reader: str, E: np.ndarray, member: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Scores (m,) of ``others`` (m, k) from a reader fitted to E (n, k) and to who is a member (n,).

    Both are first centred by the mean of E: an offset that all points share tells nothing about the group, but slows
    the linear reader down and widens the kernel.
    """
    if reader not in READERS:
        raise ConfigurationError(f"reader={reader!r}; needed is one of {', '.join(READERS)}.")
    offset = E.mean(axis=0)
    return READERS[reader]().fit(E - offset, member).decision_function(others - offset)


def auc(member: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve of scores (n,) for who is a member (n,); 0.5 where all scores are tied."""
    return 0.5 if np.ptp(scores, axis=0) < TIED else float(roc_auc_score(member, scores))
