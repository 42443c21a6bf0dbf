"""What probes find of the group in a representation: fitted to training rows, scored on held-out ones.

Probes see points, not moments: at most ``FITTED`` training rows for each kind of probe, and ``SCORED`` of the held-out
part, the same for all methods. Intervals are about other scored rows, the probe as it is: they do not say how another
training sample, or another probe, would change it.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from .. import metrics
from ..core.answer import FairSubspace
from ..metrics.linear_map import LinearMap, encoder
from .evaluation import LEVEL, Row, auc_row
from .sample import Points

#: Rows that a probe is fitted to at most (the kernel's time grows with their square), and rows it is scored on.
FITTED = {"linear": 10_000, "kernel": 1_500}
SCORED = {"linear": 4_000, "kernel": 2_000}
#: Rows of a group below which nothing is read.
LEAST = 10


class Probes:
    """Rows to read, dealt once and read in the representation of every method: points of the training set, held out."""

    def __init__(self, fitting: Points, scoring: Points, attribute: str, seed: int):
        rng = np.random.default_rng((seed, 2))
        orders = [rng.permutation(len(points.X))[: max(FITTED.values())] for points in (fitting, scoring)]
        self._X, self._Z = (points.X[rows] for points, rows in zip((fitting, scoring), orders, strict=True))
        names = [points.groups[attribute].to_numpy(dtype=str) for points in (fitting, scoring)]
        self._fitted, self._scored = (one[rows] for one, rows in zip(names, orders, strict=True))
        self._labels = sorted({*names[0], *names[1]})

    def rows(self, answer: FairSubspace | LinearMap) -> Iterator[Row]:
        """What is found under a map."""
        labels = self._labels[1:] if len(self._labels) == 2 else self._labels
        for kind in metrics.PROBES:
            name, found, missing = f"{kind} AUC", [], []
            n, m = FITTED[kind], SCORED[kind]
            E, F = self._X[:n] @ encoder(answer), self._Z[:m] @ encoder(answer)
            for label in labels:
                inside, member = self._fitted[:n] == label, self._scored[:m] == label
                if min(side.sum(axis=0) for side in (member, ~member, inside, ~inside)) < LEAST:
                    missing.append(label)
                    continue
                null, scores = _by_chance(member, len(labels)), metrics.probe_scores(kind, E, inside, F)
                found.append(replace(auc_row(name, member, scores, label), noise_q95=null))
            note = f"Without {', '.join(missing)}: fewer than {LEAST} rows among those read." if missing else ""
            if not found:
                yield Row(name, np.nan, note=note)
                continue
            if len(labels) > 1:
                yield from (replace(one, note="This group against all others.") for one in found)
                note = " ".join(filter(None, ("The largest of one group against all others.", note)))
            yield replace(max(found, key=lambda one: one.value), group="", note=note)


def _by_chance(member: np.ndarray, probes: int) -> float:
    """The area that scores without any information exceed in one of twenty cases, with any of so many readers.

    By the normal approximation of the rank sum.
    """
    inside = int(member.sum(axis=0))
    outside = len(member) - inside
    deviation = np.sqrt((inside + outside + 1.0) / (12.0 * inside * outside))
    return float(0.5 + norm.ppf(1.0 - (1.0 - LEVEL) / probes) * deviation)
