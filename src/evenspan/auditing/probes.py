"""What probes find of the group in a representation: fitted to training rows, scored on held-out ones.

Probes see points, not moments: at most ``FITTED`` training rows for each kind of probe, and ``SCORED`` of
the held-out part, the same for all methods. Intervals have the scored rows resampled, the probe as it is: they do not
say how another fitting sample, or another probe, would change it. Areas are resampled to first order, by what each row
contributes.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm

from .. import metrics
from ..core.answer import FairSubspace
from ..metrics.bootstrap import interval
from ..metrics.linear_map import LinearMap, encoder
from .evaluation import LEVEL, Row
from .sample import Points

#: Rows that a probe is fitted to at most (the kernel's time grows with their square), and rows it is scored on.
FITTED = {"linear": 10_000, "kernel": 1_500}
SCORED = {"linear": 4_000, "kernel": 2_000}
#: Rows of a group below which nothing is read.
LEAST = 10


class Probes:
    """Rows to read, dealt once and read in the representation of every method.

    ``fitting`` are points of the training set, ``scoring`` held-out ones; ``n_boot`` samples of the scored rows are the
    same for all methods.
    """

    def __init__(self, fitting: Points, scoring: Points, attribute: str, n_boot: int, seed: int):
        self.fitting, self.scoring, self.n_boot, self.seed = fitting, scoring, n_boot, seed
        names = [points.groups[attribute].to_numpy(dtype=str) for points in (fitting, scoring)]
        self._labels = sorted({*names[0], *names[1]})
        self._codes = tuple(np.searchsorted(self._labels, of_part) for of_part in names)
        rng = np.random.default_rng((seed, 2))
        self._orders = rng.permutation(fitting.n), rng.permutation(scoring.n)
        self._drawn: dict[int, np.ndarray] = {}

    def rows(self, answer: FairSubspace | LinearMap) -> Iterator[Row]:
        """What is found under a map."""
        labels = self._labels[1:] if len(self._labels) == 2 else self._labels
        for kind in metrics.READERS:
            name, found, missing = f"{kind} AUC", [], []
            at, to = self._orders[0][: FITTED[kind]], self._orders[1][: SCORED[kind]]
            E, F = self.fitting.X[at] @ encoder(answer), self.scoring.X[to] @ encoder(answer)
            for label in labels:
                inside, member = (
                    codes == self._labels.index(label) for codes in (self._codes[0][at], self._codes[1][to])
                )
                if min(side.sum(axis=0) for side in (member, ~member, inside, ~inside)) < LEAST:
                    missing.append(label)
                    continue
                value, drawn = self._area(member, metrics.reader_scores(kind, E, inside, F))
                low, high = map(float, interval(drawn, LEVEL))
                found.append((value, low, high, _by_chance(member, len(labels)), label))
            note = f"Without {', '.join(missing)}: fewer than {LEAST} rows among those read." if missing else ""
            if not found:
                yield Row(name, np.nan, note=note)
                continue
            if len(labels) > 1:
                yield from (Row(name, *one, "This group against all others.") for one in found)
                note = " ".join(filter(None, ("The largest of one group against all others.", note)))
            yield Row(name, *max(found, key=lambda one: one[0])[:4], note=note)

    def _weights(self, n: int) -> np.ndarray:
        """How often each of n scored rows is in each sample, (draws, n); the same for all methods."""
        if n not in self._drawn:
            rng = np.random.default_rng((self.seed, 3))
            self._drawn[n] = rng.multinomial(n, np.full(n, 1.0 / n), size=self.n_boot).astype(np.float32)
        return self._drawn[n]

    def _area(self, member: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The area under the curve (``metrics.auc``), and in every sample to first order in the weights of the rows."""
        share, weights, right = member.mean(axis=0), self._weights(len(scores)), metrics.placements(member, scores)
        area = float(right[member].mean(axis=0))
        influence = (right - area) / np.where(member, share, 1.0 - share)
        return area, np.clip(area + weights @ influence / len(scores), 0.0, 1.0)


def _by_chance(member: np.ndarray, probes: int) -> float:
    """The area that scores without any information exceed in one of twenty cases, with any of so many readers.

    By the normal approximation of the rank sum.
    """
    inside = int(member.sum(axis=0))
    outside = len(member) - inside
    deviation = np.sqrt((inside + outside + 1.0) / (12.0 * inside * outside))
    return float(0.5 + norm.ppf(1.0 - (1.0 - LEVEL) / probes) * deviation)
