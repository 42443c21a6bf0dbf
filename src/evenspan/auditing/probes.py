"""What attackers find of the group in a representation: fitted and scored on rows that the map was not fitted to.

On the training rows of a map the groups are as alike as it made them; on others they may not be. So attackers are
fitted to validation rows, at most ``FITTED`` and the same for all methods and attackers, and scored on held-out rows,
at most ``SCORED``. For the choice of a method they are cross-fitted: to two thirds of the validation rows, scored on
the last third, three times.

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
from .evaluation import Row, auc_row
from .groups import HELD_OUT, VALIDATION
from .sample import Points

#: Rows that attackers are scored on at most.
SCORED = 4_000
#: Rows of a group, among those fitted or those scored, below which nothing is read of it.
LEAST = 10
#: Parts of the validation rows for the choice of a method.
FOLDS = 3


class Probes:
    """Rows to attack, dealt once and read in the representation of every method."""

    def __init__(self, points: Mapping[str, Points], attribute: str, seed: int):
        rng = np.random.default_rng((seed, 2))
        self._X, self._names = {}, {}
        for part in (VALIDATION, HELD_OUT):
            rows = rng.permutation(len(points[part].X))
            self._X[part] = points[part].X[rows]
            self._names[part] = points[part].groups[attribute].to_numpy(dtype=str)[rows]

    def rows(self, answer: FairSubspace | LinearMap, *, choice: bool) -> Iterator[tuple[str, Row]]:
        """What is found under a map, with the part that it was found on: validation rows too for the ``choice``."""
        B = encoder(answer)
        E, F, names, others = self._X[VALIDATION] @ B, self._X[HELD_OUT] @ B, *self._names.values()
        if choice:
            fold = np.arange(len(E)) % FOLDS
            deals = []
            for i in range(FOLDS):
                fit, score = np.flatnonzero(fold != i)[:FITTED], np.flatnonzero(fold == i)[: SCORED // FOLDS]
                deals.append((E[fit], names[fit], E[score], names[score]))
            yield from ((VALIDATION, row) for row in _attacked(deals))
        deal = E[:FITTED], names[:FITTED], F[:SCORED], others[:SCORED]
        yield from ((HELD_OUT, row) for row in _attacked([deal]))


def _attacked(deals: list[tuple[np.ndarray, ...]]) -> Iterator[Row]:
    """Rows of all attackers, of deals of representation and groups to fit, and to score; scores are put together."""
    fitted, scored = ([deal[i] for deal in deals] for i in (1, 3))
    labels, every = np.unique(np.concatenate([*fitted, *scored])).tolist(), np.concatenate(scored)
    least = {label: min((names == label).sum(axis=0) for names in (*fitted, every)) for label in labels}
    read = [label for label in labels if least[label] >= LEAST]
    missing = [label for label in labels if label not in read]
    note = f"Without {', '.join(missing)}: fewer than {LEAST} rows among those read." if missing else ""
    if len(read) < 2:
        yield Row("group AUC", np.nan, note=note)
        return
    found: dict[str, list[np.ndarray]] = {name: [] for name in ATTACKERS}
    for E, names, F, _ in deals:
        kept = np.isin(names, read)
        for name, scores in Panel(E[kept], np.searchsorted(read, names[kept]), n_jobs=-1).scores(F).items():
            found[name].append(scores)
    asked, areas = read[1:] if len(labels) == 2 else read, []
    for name, parts in found.items():
        scores = np.concatenate(parts)
        mine = [
            auc_row(f"{name} AUC", every == one, scores[:, read.index(one)], one, len(asked) * len(ATTACKERS))
            for one in asked
        ]
        if len(asked) > 1:
            yield from (replace(one, note="This group against all others.") for one in mine)
        yield replace(max(mine, key=_value), group="", note=note)
        areas += mine
    best = max(areas, key=_value)
    of = best.metric.removesuffix(" AUC") + (f", {best.group}" if len(asked) > 1 else "")
    told = " ".join(filter(None, (f"Strongest attacker: {of}.", note)))
    yield replace(best, metric="group AUC", high=max(one.high for one in areas), group="", note=told)


def _value(row: Row) -> float:
    return row.value
