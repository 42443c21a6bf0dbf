"""What attackers find of the group in a representation: fitted to training rows, scored on others.

Attackers see points, not moments: at most ``FITTED`` training rows and ``SCORED`` of another part, the same for all
methods and attackers. The answer is the strongest attacker's. Its interval is about other scored rows, the attackers as
they are, and simultaneous over all of them: none of those that were tried is stronger than its upper end. A stronger
one may exist.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..core.answer import FairSubspace
from ..metrics import ATTACKERS, Panel
from ..metrics.attackers import FITTED
from ..metrics.linear_map import LinearMap, encoder
from .evaluation import Row, auc_row
from .sample import Points

#: Rows of a part that attackers are scored on at most.
SCORED = 4_000
#: Rows of a group below which nothing is read.
LEAST = 10


class Probes:
    """Rows to attack, dealt once and read in the representation of every method."""

    def __init__(self, fitting: Points, scoring: Mapping[str, Points], attribute: str, seed: int):
        def dealt(points: Points, most: int) -> tuple[np.ndarray, np.ndarray]:
            rows = np.random.default_rng((seed, 2)).permutation(len(points.X))[:most]
            return points.X[rows], points.groups[attribute].to_numpy(dtype=str)[rows]

        self._X, self._names = dealt(fitting, FITTED)
        self._scored = {part: dealt(points, SCORED) for part, points in scoring.items()}
        self.labels = np.unique(self._names)

    def rows(self, answer: FairSubspace | LinearMap) -> Iterator[tuple[str, Row]]:
        """What is found under a map, with the part that it was found on."""
        labels, codes = np.unique(self._names, return_inverse=True)
        few = {label for label in labels if (self._names == label).sum(axis=0) < LEAST}
        if len(labels) - len(few) < 2:
            yield from ((part, _nothing(labels)) for part in self._scored)
            return
        panel = Panel(self._X @ encoder(answer), codes, n_jobs=-1)
        for part, (Z, names) in self._scored.items():
            members = {label: names == label for label in labels}
            read = [
                label
                for label, member in members.items()
                if label not in few and min(member.sum(axis=0), (~member).sum(axis=0)) >= LEAST
            ]
            if not read:
                yield part, _nothing(labels)
                continue
            missing = [label for label in labels if label not in read]
            note = f"Without {', '.join(missing)}: fewer than {LEAST} rows among those read." if missing else ""
            asked = read[-1:] if len(labels) == 2 else read
            scores, found = panel.scores(Z @ encoder(answer)), {}
            for name in ATTACKERS:
                found[name] = [
                    auc_row(
                        f"{name} AUC", members[label], scores[name][:, list(labels).index(label)], label,
                        tests=len(asked) * len(ATTACKERS),
                    )
                    for label in asked
                ]  # fmt: skip
                if len(labels) > 2:
                    yield from ((part, replace(one, note="This group against all others.")) for one in found[name])
                yield part, replace(max(found[name], key=_value), group="", note=note)
            every = [one for rows in found.values() for one in rows]
            best = max(every, key=_value)
            of = f"{best.metric.removesuffix(' AUC')}" + (f", {best.group}" if len(labels) > 2 else "")
            note = " ".join(filter(None, (f"Strongest attacker: {of}.", note)))
            yield part, replace(best, metric="group AUC", high=max(one.high for one in every), group="", note=note)


def _value(row: Row) -> float:
    return row.value


def _nothing(labels) -> Row:
    note = f"Fewer than two of the groups {', '.join(labels)} have {LEAST} rows among those read."
    return Row("group AUC", np.nan, note=note)
