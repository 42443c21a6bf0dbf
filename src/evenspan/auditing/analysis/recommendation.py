r"""Which method, how many components, and why: a fixed rule whose every step is a number in the tables.

**Components.** As asked for; otherwise the smallest number at which principal components keep ``KEPT`` of the variance
of the fitting part, or the largest that was looked at.

**Is there anything to mend?** What is compared depends on the concern:

- ``"losses"`` (nobody much worse off than with directions of their own): the gap of the losses, and the worst loss of a
  method. The default, because equal losses can always be had for two groups, while equal errors may not exist.
- ``"errors"`` (groups are rebuilt equally well): the gap of the errors.
- ``"means"`` (groups lie in the same place): the largest distance between two means.

Principal components are kept if the gap under them is

- within what chance alone gives; or
- for losses, not between the same two groups in the same direction on the fitting rows: a small group's own directions
  fit its fitting rows too well, so that its loss is too large there and too small on others; or
- below ``SMALL`` of their average error (``NEAR`` of the standard deviation along a kept direction, for means).

**Which method.** Of the methods made for the concern those whose value is told apart from that of principal components,
and smaller; if there are none, these are kept. Of the others the one with the smallest value, and among those whose
value cannot be told from it the one with the least average error.

All of it is on held-out rows, unless nothing was held out. *Told apart* means: the difference is larger than the 95 %
quantile of its deviations when the blocks of rows are resampled, the same blocks for both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import reasons
from .concerns import CONCERNS, Seen, require_concern
from .fitting import PCA
from .judging import told_apart

__all__ = ["CONCERNS", "KEPT", "NEAR", "SMALL", "Recommendation", "recommend", "require_concern", "smallest_k"]

#: Share of the variance that principal components are to keep.
KEPT = 0.8
#: Gap of errors or losses, as a share of the average error, below which there is nothing to mend; the same for means,
#: as a share of the standard deviation along a kept direction.
SMALL, NEAR = 0.02, 0.1


@dataclass(frozen=True)
class Recommendation:
    """What to use for one attribute, and what that rests on.

    Parameters
    ----------
    attribute : str
        The groups that it is for.
    concern : str
        What was to be alike.
    method : str
        Name of the method; ``"PCA"`` where principal components may be kept.
    k : int
        Number of components.
    reason : tuple of str
        Sentences with the numbers that led to it: the gap under PCA, the step of the rule that decided, and more.
    limits : tuple of str
        What these numbers do not say.
    figures : mapping of str to float
        The numbers themselves.
    """

    attribute: str
    concern: str
    method: str
    k: int
    reason: tuple[str, ...]
    limits: tuple[str, ...]
    figures: Mapping[str, float]

    @property
    def keeps_pca(self) -> bool:
        """Whether principal components are kept."""
        return self.method == PCA


def smallest_k(shares: Mapping[int, float]) -> int:
    """The smallest number of components at which the share of variance is ``KEPT``, or the largest number."""
    enough = [k for k, share in shares.items() if share >= KEPT]
    return min(enough) if enough else max(shares)


def recommend(seen: Seen, concern: str, why_k: str, limits: Sequence[str] = ()) -> Recommendation:
    """Apply the rule.

    Parameters
    ----------
    seen : Seen
        Of one attribute.
    concern : str
        A key of ``CONCERNS``.
    why_k : str
        A sentence that says where the number of components is from.
    limits : sequence of str
        What the numbers do not say whatever is recommended.

    Returns
    -------
    Recommendation
    """
    what, judged = require_concern(concern), seen.judged
    gap = seen.row(PCA, what.gap)
    method, why = _decided(seen, concern)
    figures = {
        "gap": gap.value,
        "low": gap.low,
        "high": gap.high,
        "chance": gap.chance,
        "before": judged[PCA].statistic(what.metric)[0],
        "after": judged[method].statistic(what.metric)[0],
        "average before": judged[PCA].average,
        "average after": judged[method].average,
        "price": judged[method].average / judged[PCA].average - 1.0,
    }
    said = (reasons.start(seen, what), *why, why_k)
    said_not = (*reasons.limits(seen, concern, method), *limits)
    found = figures | seen.possible(method, what)
    return Recommendation(seen.attribute, concern, method, seen.k, said, said_not, found)


def _decided(seen: Seen, concern: str) -> tuple[str, list[str]]:
    what, judged = CONCERNS[concern], seen.judged
    gap = seen.row(PCA, what.gap)
    if not gap.value > gap.chance:
        return PCA, [reasons.by_chance(gap)]
    if concern == "losses" and seen.held_out and (other_way := _other_way(seen)):
        return PCA, [reasons.other_way(seen, *other_way)]
    scale = judged[PCA].spread if concern == "means" else judged[PCA].average
    least = NEAR if concern == "means" else SMALL
    if gap.value < least * scale:
        return PCA, [reasons.small(gap, concern, gap.value / scale, least)]

    candidates = [name for name in seen.made_for(what) if name in judged]
    if not candidates:
        return PCA, [reasons.nobody(seen, what)]
    values = {name: judged[name].statistic(what.metric) for name in candidates}
    gained = {name: told_apart(judged[PCA].statistic(what.metric), values[name]) for name in candidates}
    better = [name for name in candidates if gained[name][0] > gained[name][1]]
    best = min(better or candidates, key=lambda name: values[name][0])
    if not better:
        return PCA, [reasons.no_gain(seen, what, best, candidates, gained[best][1])]
    alike = [name for name in better if _not_above(values[name], values[best])]
    # Averages that differ by rounding only are ties; the first of them is taken.
    method = min(alike, key=lambda name: float(f"{judged[name].average:.9g}"))
    return method, reasons.advantages(seen, what, method, best, alike, candidates, gained[method])


def _not_above(one, best) -> bool:
    difference, chance = told_apart(one, best)
    return difference <= chance


def _other_way(seen: Seen) -> tuple[int, int] | None:
    """The groups of largest and smallest loss, unless they differ in the same direction on the fitting rows too."""
    losses, before = seen.judged[PCA].losses, seen.fitted[PCA].losses
    worst, best = int(np.argmax(losses)), int(np.argmin(losses))
    return None if before[worst] > before[best] else (worst, best)
