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
from operator import attrgetter

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
#: Parts of the validation rows for the choice of a method.
FOLDS = 3


class Probes:
    """Rows to attack, dealt once and read in the representation of every method."""

    def __init__(self, points: Mapping[str, Points], attribute: str, seed: int):
        rng = np.random.default_rng((seed, 2))
        #: By part, rows (n, d), groups (n,) and weights (n,), in an order drawn once.
        self._dealt = {}
        for part in (VALIDATION, HELD_OUT):
            of, rows = points[part], rng.permutation(len(points[part].X))
            self._dealt[part] = of.X[rows], of.groups[attribute].to_numpy(dtype=str)[rows], of.w[rows]

    def rows(self, answer: FairSubspace | LinearMap, *, choice: bool) -> Iterator[tuple[str, Row]]:
        """What is found under a map, with the part that it was found on: validation rows too for the ``choice``."""
        B = encoder(answer)
        fresh, held_out = ((X @ B, *rest) for X, *rest in self._dealt.values())

        def some(rows: tuple, at) -> tuple:
            return tuple(one[at] for one in rows)

        if choice:
            fold, deals = np.arange(len(fresh[0])) % FOLDS, []
            for i in range(FOLDS):
                fit, score = np.flatnonzero(fold != i)[:FITTED], np.flatnonzero(fold == i)[: SCORED // FOLDS]
                deals.append((some(fresh, fit), some(fresh, score)))
            yield from ((VALIDATION, row) for row in _attacked(deals))
        deal = some(fresh, slice(FITTED)), some(held_out, slice(SCORED))
        yield from ((HELD_OUT, row) for row in _attacked([deal]))


def _attacked(deals: list[tuple[tuple, tuple]]) -> Iterator[Row]:
    """Rows of all attackers: of deals of (representation, groups, weights) to fit, and to score, put together."""
    fits = [(names, v) for (_, names, v), _ in deals]
    scored, w = (np.concatenate([score[i] for _, score in deals]) for i in (1, 2))
    labels = np.unique(np.concatenate([scored, *(names for names, _ in fits)])).tolist()
    sizes = {one: min(effective_size(v[names == one]) for names, v in (*fits, (scored, w))) for one in labels}
    read = [label for label in labels if sizes[label] >= LEAST]
    missing = [label for label in labels if label not in read]
    rows = "effective rows" if np.ptp(w) else "rows"
    note = f"Without {', '.join(missing)}: fewer than {LEAST} {rows} among those read." if missing else ""
    if len(read) < 2:
        yield Row("group AUC", np.nan, note=note)
        return
    found: dict[str, list[np.ndarray]] = {name: [] for name in ATTACKERS}
    for (E, names, v), (F, *_) in deals:
        kept = np.isin(names, read)
        panel = Panel(E[kept], np.searchsorted(read, names[kept]), n_jobs=-1, weight=v[kept])
        for name, scores in panel.scores(F).items():
            found[name].append(scores)
    asked, areas = read[1:] if len(labels) == 2 else read, []
    for name, parts in found.items():
        scores, tests = np.concatenate(parts), len(asked) * len(ATTACKERS)
        mine = [auc_row(f"{name} AUC", scored == one, scores[:, read.index(one)], w, one, tests) for one in asked]
        if len(asked) > 1:
            yield from (replace(one, note="This group against all others.") for one in mine)
        yield replace(max(mine, key=attrgetter("value")), group="", note=note)
        areas += mine
    best = max(areas, key=attrgetter("value"))
    of = best.metric.removesuffix(" AUC") + (f", {best.group}" if len(asked) > 1 else "")
    told = " ".join(filter(None, (f"Strongest attacker: {of}.", note)))
    yield replace(best, metric="group AUC", high=max(one.high for one in areas), group="", note=told)
