"""What attackers find of the group in a representation: fitted and scored on rows that the map was not fitted to.

On the training rows of a map the groups are as alike as it made them; on others they may not be. So attackers are
fitted to validation rows, at most ``FITTED`` and the same for all methods and attackers, and scored on held-out rows,
at most ``SCORED``. For the choice of a method they are fitted to half of the validation rows, scored on the others.
The answer is the strongest attacker's. Its interval is about other scored rows, the attackers as they are, and
simultaneous over all of them: none of those that were tried is stronger than its upper end. A stronger one may exist.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..core.answer import FairSubspace
from ..metrics import ATTACKERS, Panel
from ..metrics.attackers import FITTED
from ..metrics.linear_map import LinearMap, encoder
from ..metrics.prediction import effective_size
from .evaluation import Row, auc_row
from .groups import HELD_OUT, VALIDATION
from .sample import Points

#: Rows that attackers are scored on at most.
SCORED = 4_000
#: Rows of a group (effective ones), among those fitted or those scored, below which nothing is read of it.
LEAST = 10


class Probes:
    """Rows to attack, dealt once and read in the representation of every method."""

    def __init__(self, points: Mapping[str, Points], attribute: str, seed: int):
        rng = np.random.default_rng((seed, 2))
        rows = {part: rng.permutation(len(points[part].X)) for part in (VALIDATION, HELD_OUT)}
        fresh, half = rows[VALIDATION], len(rows[VALIDATION]) // 2

        def dealt(part: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            of = points[part]
            return of.X[rows], of.groups[attribute].to_numpy(dtype=str)[rows], of.w[rows]

        #: By the part that is scored, rows that attackers are fitted to and rows that they are scored on.
        self._dealt = {
            VALIDATION: (dealt(VALIDATION, fresh[:half][:FITTED]), dealt(VALIDATION, fresh[half:][:SCORED])),
            HELD_OUT: (dealt(VALIDATION, fresh[:FITTED]), dealt(HELD_OUT, rows[HELD_OUT][:SCORED])),
        }

    def rows(self, answer: FairSubspace | LinearMap) -> Iterator[tuple[str, Row]]:
        """What is found under a map, with the part that it was found on."""
        B = encoder(answer)
        for part, ((X, *fitting), (Z, *scoring)) in self._dealt.items():
            yield from ((part, row) for row in _attacked((X @ B, *fitting), (Z @ B, *scoring)))


def _attacked(fitting: tuple, scoring: tuple) -> Iterator[Row]:
    """Both are a representation (n, k), labels (n,) and weights (n,)."""
    (E, fitted, v), (F, scored, w) = fitting, scoring
    labels = sorted({*fitted, *scored})
    sizes = {label: [effective_size(v[fitted == label]), effective_size(w[scored == label])] for label in labels}
    read = [label for label in labels if min(sizes[label]) >= LEAST]
    missing = [label for label in labels if label not in read]
    rows = "effective rows" if np.ptp(v) or np.ptp(w) else "rows"
    note = f"Without {', '.join(missing)}: fewer than {LEAST} {rows} among those read." if missing else ""
    if len(read) < 2:
        yield Row("group AUC", np.nan, note=note)
        return
    kept = np.isin(fitted, read)
    scores = Panel(E[kept], np.searchsorted(read, fitted[kept]), n_jobs=-1, weight=v[kept]).scores(F)
    asked = read[1:] if len(labels) == 2 else read
    found, tests = [], len(asked) * len(ATTACKERS)
    for name in ATTACKERS:
        areas = [
            auc_row(f"{name} AUC", scored == one, scores[name][:, read.index(one)], w, one, tests) for one in asked
        ]
        if len(asked) > 1:
            yield from (replace(one, note="This group against all others.") for one in areas)
        yield replace(max(areas, key=_value), group="", note=note)
        found += areas
    best = max(found, key=_value)
    of = best.metric.removesuffix(" AUC") + (f", {best.group}" if len(asked) > 1 else "")
    told = " ".join(filter(None, (f"Strongest attacker: {of}.", note)))
    yield replace(best, metric="group AUC", high=max(one.high for one in found), group="", note=told)


def _value(row: Row) -> float:
    return row.value
