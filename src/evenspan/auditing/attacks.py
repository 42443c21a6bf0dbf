"""What attackers find of the group in a representation: fitted and scored on rows that the map was not fitted to.

On the training rows of a map the groups are as alike as it made them; on others they may not be. So attackers are
fitted to validation rows, at most ``FITTED`` and the same for all methods and attackers, and scored on held-out rows,
at most ``SCORED``. For the choice of a method they are cross-fitted: to two thirds of the validation rows, scored on
the last third, three times.

The answer is the strongest attacker's. Its interval is about other scored rows, the attackers as they are, and
simultaneous over all of them: none of those that were tried is stronger than its upper end. A stronger one may exist.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

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
#: Rows of a group (effective ones), among those fitted or those scored, below which nothing is said of it.
LEAST = 10
#: Parts of the validation rows for the choice of a method.
FOLDS = 3
#: Fewer rows than these are attacked one map after another: threads would wait for each other.
THREADED = 1_000


class Attacks:
    """Rows to attack, dealt once, in the representation of every method."""

    def __init__(self, points: Mapping[str, Points], attribute: str, seed: int):
        rng = np.random.default_rng((seed, 2))
        #: By part, rows (n, d), groups (n,) and weights (n,), in an order drawn once.
        self._dealt = {}
        for part in (VALIDATION, HELD_OUT):
            of, rows = points[part], rng.permutation(len(points[part].X))
            self._dealt[part] = of.X[rows], of.groups[attribute].to_numpy(dtype=str)[rows], of.w[rows]

    def rows(self, answers: Sequence[FairSubspace | LinearMap], part: str = HELD_OUT) -> list[list[Row]]:
        """What is found under each map on held-out rows, or by cross-fitting on validation rows."""
        fresh, scored = self._dealt[VALIDATION], self._dealt[part]
        fold, deals = np.arange(len(fresh[0])) % FOLDS, [(slice(FITTED), slice(SCORED))]
        if part == VALIDATION:
            some = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(FOLDS)]
            deals = [(fit[:FITTED], score[: SCORED // FOLDS]) for fit, score in some]
        fits = [(fresh[1][fit], fresh[2][fit]) for fit, _ in deals]
        truth, w = (np.concatenate([scored[i][score] for _, score in deals]) for i in (1, 2))
        labels = np.unique(np.concatenate([truth, *(names for names, _ in fits)])).tolist()
        sizes = {one: min(effective_size(v[names == one]) for names, v in (*fits, (truth, w))) for one in labels}
        told = [label for label in labels if sizes[label] >= LEAST]
        missing = [label for label in labels if label not in told]
        unit = "effective rows" if np.ptp(w) else "rows"
        note = f"Without {', '.join(missing)}: fewer than {LEAST} {unit} among those attacked." if missing else ""
        if len(told) < 2:
            return [[Row("group AUC", np.nan, note=note)] for _ in answers]
        asked = told[1:] if len(labels) == 2 else told

        def scores(answer, fit, score) -> dict[str, np.ndarray]:
            E, (names, v) = (fresh[0] @ encoder(answer))[fit], (fresh[1][fit], fresh[2][fit])
            kept = np.isin(names, told)
            with threadpool_limits(1):  # a thread has limits of its own
                panel = Panel(E[kept], np.searchsorted(told, names[kept]), weight=v[kept])
                found = panel.scores((scored[0] @ encoder(answer))[score])
            return {name: one[:, [told.index(label) for label in asked]] for name, one in found.items()}

        jobs = (delayed(scores)(answer, *deal) for answer in answers for deal in deals)
        found = Parallel(-1 if len(fresh[0]) >= THREADED else 1, prefer="threads")(jobs)
        each = [found[i : i + len(deals)] for i in range(0, len(found), len(deals))]
        return [list(_areas(parts, truth, w, asked, note)) for parts in each]


def _areas(parts: list[dict[str, np.ndarray]], truth: np.ndarray, w: np.ndarray, asked, note: str) -> Iterator[Row]:
    """Rows of all attackers, from their scores (m, groups ``asked``) of the parts of the scored rows."""
    areas, tests = [], len(asked) * len(ATTACKERS)
    for name in ATTACKERS:
        scores = np.concatenate([part[name] for part in parts])
        mine = [auc_row(f"{name} AUC", truth == one, scores[:, i], w, one, tests) for i, one in enumerate(asked)]
        if len(asked) > 1:
            yield from (replace(one, note="This group against all others.") for one in mine)
        yield replace(max(mine, key=attrgetter("value")), group="", note=note)
        areas += mine
    best = max(areas, key=attrgetter("value"))
    of = best.metric.removesuffix(" AUC") + (f", {best.group}" if len(asked) > 1 else "")
    told = " ".join(filter(None, (f"Strongest attacker: {of}.", note)))
    yield replace(best, metric="group AUC", high=max(one.high for one in areas), group="", note=told)
