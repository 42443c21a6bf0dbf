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

**Which method.** Of the methods made for the concern those whose value is significantly smaller than that of principal
components; if there are none, these are kept. Of the others the one with the smallest value, and among those whose
value cannot be told from it the one with the least average error.

All of it is on held-out rows. *Significantly* means: the difference is larger than the 95 % quantile of its deviations
when the blocks of rows are resampled, the same blocks for both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigurationError
from ..methods import METHODS
from .fitting import CLOSED, PCA, Fitted
from .frontier import Frontier
from .judge import LEVEL, Judgement, Row, told_apart
from .sample import Sample

#: Share of the variance that principal components are to keep.
KEPT = 0.8
#: Gap of errors or losses, as a share of the average error, below which there is nothing to mend; the same for means,
#: as a share of the standard deviation along a kept direction.
SMALL, NEAR = 0.02, 0.1
#: What columns are used as that enter the methods.
FEATURES = ("number", "0/1", "categories", "days")


# -- what may have to be alike, and what the rule sees -----------------------------------------------------------------


@dataclass(frozen=True)
class Concern:
    """What is to be alike."""

    gap: str  # the metric that tells whether it is alike under principal components
    metric: str  # the metric that methods compete in
    words: str  # what is to be alike, for a reader
    equalises: tuple[str, ...]  # what the methods that are made for it say they equalise


CONCERNS: Mapping[str, Concern] = {
    "losses": Concern("loss gap", "worst loss", "nobody much worse off than with directions of their own", ("losses",)),
    "errors": Concern("error gap", "error gap", "all groups rebuilt equally well", ("errors",)),
    "means": Concern(
        "mean distance",
        "mean distance",
        "the means of all groups in the same place",
        ("means", "means and covariances", "distributions"),
    ),
}


def require_concern(concern: str) -> Concern:
    """The concern of that name."""
    if not isinstance(concern, str) or concern not in CONCERNS:
        raise ConfigurationError(f"concern={concern!r}; needed is one of {', '.join(map(repr, CONCERNS))}.")
    return CONCERNS[concern]


@dataclass(frozen=True, eq=False)
class Seen:
    """What the rule sees of one attribute: at k components, the methods, what they do, and what is possible."""

    attribute: str
    k: int
    fits: Mapping[str, Fitted]  # by method
    judged: Mapping[str, Judgement]  # by method with an answer, on held-out rows
    fitted: Mapping[str, Judgement]  # the same on the fitting part
    rows: Mapping[str, Sequence[Row]]  # what was measured on the part of ``judged``, with what readers find
    frontier: Frontier | None  # of the fitting part; None where k directions are all that vary

    def row(self, method: str, metric: str) -> Row | None:
        """One number about all rows; None where it was not measured."""
        found = (r for r in self.rows[method] if r.metric == metric and not r.group and np.isfinite(r.value))
        return next(found, None)

    def made_for(self, what: Concern) -> list[str]:
        """The methods that were asked for and are made for a concern, with or without an answer."""
        return [name for name in self.fits if METHODS[name].equalises in what.equalises]

    def possible(self, method: str, what: Concern) -> dict[str, float]:
        """How a method stands to the frontier of the fitting part; nothing where there is no such curve for it."""
        curves = {} if self.frontier is None else self.frontier.curves
        curve, estimator = curves.get(what.metric), self.fits[method].estimator
        # The frontier is one of projections; encoder and decoder of an oblique map differ.
        if curve is None or not np.allclose(estimator.components_, estimator.subspace_.V.T):
            return {}
        y, x = self.fitted[method].statistic(what.metric)[0], self.fitted[method].average
        return {
            "cheapest": min(float(curve.cheapest(y)), x),  # bounds are met to rounding
            "average, fitting": x,
            "average of PCA, fitting": self.fitted[PCA].average,
            "metric, fitting": y,
            "smallest possible": float(curve.points[-1, 1]),
        }


# -- the rule ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recommendation:
    """What to use for one attribute, and what that rests on."""

    attribute: str
    concern: str  # what was to be alike
    method: str  # "PCA" where principal components may be kept
    k: int
    reason: tuple[str, ...]  # the gap under PCA, the step of the rule that decided, and more
    limits: tuple[str, ...]  # what these numbers do not say
    figures: Mapping[str, float]  # the numbers themselves

    @property
    def keeps_pca(self) -> bool:
        """Whether principal components are kept."""
        return self.method == PCA


def smallest_k(shares: Mapping[int, float]) -> int:
    """The smallest number of components at which the share of variance is ``KEPT``, or the largest number."""
    enough = [k for k, share in shares.items() if share >= KEPT]
    return min(enough) if enough else max(shares)


def recommend(seen: Seen, concern: str, why_k: str, limits: Sequence[str] = ()) -> Recommendation:
    """Apply the rule; ``why_k`` says where k is from, ``limits`` what is not said whatever is recommended."""
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
        "price": _above(judged[method].average, judged[PCA].average),
    }
    reason = (start(seen, what), *why, why_k)
    unsaid = (*limits_of(seen, concern, method), *limits)
    found = figures | seen.possible(method, what)
    return Recommendation(seen.attribute, concern, method, seen.k, reason, unsaid, found)


def _decided(seen: Seen, concern: str) -> tuple[str, list[str]]:
    what, judged = CONCERNS[concern], seen.judged
    gap = seen.row(PCA, what.gap)
    if not gap.value > gap.chance:
        return PCA, [by_chance(gap)]
    if concern == "losses" and (turned := _other_way(seen)):
        return PCA, [other_way(seen, *turned)]
    scale = judged[PCA].spread if concern == "means" else judged[PCA].average
    least = NEAR if concern == "means" else SMALL
    if gap.value < least * scale:
        return PCA, [small(gap, concern, gap.value / scale, least)]

    candidates = [name for name in seen.made_for(what) if name in judged]
    if not candidates:
        return PCA, [nobody(seen, what)]
    values = {name: judged[name].statistic(what.metric) for name in candidates}
    gained = {name: told_apart(judged[PCA].statistic(what.metric), values[name]) for name in candidates}
    better = [name for name in candidates if gained[name][0] > gained[name][1]]
    best = min(better or candidates, key=lambda name: values[name][0])
    if not better:
        return PCA, [no_gain(seen, what, best, candidates, gained[best][1])]
    alike = [name for name in better if _not_above(values[name], values[best])]
    # Averages that differ by rounding only are ties; the first of them is taken.
    method = min(alike, key=lambda name: float(f"{judged[name].average:.9g}"))
    return method, advantages(seen, what, method, best, alike, candidates, gained[method])


def _not_above(one, best) -> bool:
    difference, chance = told_apart(one, best)
    return difference <= chance


def _above(value: float, base: float) -> float:
    """By what share of itself a number is exceeded; without bound where it is 0 and the other is not."""
    if base > 0:
        return value / base - 1.0
    return np.inf if value > 0 else 0.0


def _other_way(seen: Seen) -> tuple[int, int] | None:
    """The groups of largest and smallest loss, unless they differ in the same direction on the fitting rows too."""
    losses, before = seen.judged[PCA].losses, seen.fitted[PCA].losses
    worst, best = int(np.argmax(losses)), int(np.argmin(losses))
    return None if before[worst] > before[best] else (worst, best)


# -- its reasons, each with the numbers that it rests on ---------------------------------------------------------------


def start(seen: Seen, what: Concern) -> str:
    """What principal components do."""
    return (
        f"Under PCA with k = {seen.k} the {what.gap} between the groups of {seen.attribute} is "
        f"{said(seen.row(PCA, what.gap))} on held-out rows."
    )


def by_chance(gap: Row) -> str:
    """The gap cannot be told from none, between no pair of groups."""
    return (
        f"In groups of this size chance alone gives up to {n(gap.chance)} (95 %): it cannot be told from no "
        "difference, so keep PCA."
    )


def other_way(seen: Seen, worst: int, best: int) -> str:
    """The gap of the losses is turned round on the fitting rows."""
    labels, losses = seen.judged[PCA].part.labels, seen.fitted[PCA].losses
    return (
        f"On the fitting rows it is the other way round: {labels[worst]} loses {n(losses[worst])} there, "
        f"{labels[best]} {n(losses[best])}. A group's own directions fit its fitting rows too well and others too "
        "badly, the more so the smaller the group; that alone can make such a gap, so keep PCA."
    )


def small(gap: Row, concern: str, share: float, least: float) -> str:
    """The gap is too small to act upon."""
    unit = "the standard deviation along a kept direction" if concern == "means" else "the average error"
    return f"That is {share:.1%} of {unit}, and this rule acts from {least:.0%} on: keep PCA."


def nobody(seen: Seen, what: Concern) -> str:
    """No method is made for the concern, or none has an answer."""
    made = seen.made_for(what)
    if not made:
        return "None of the methods that were asked for is made for this: PCA is what is left."
    told = "; ".join(f"{name}: {seen.fits[name].reason}" for name in made)
    return f"None of the methods made for this has an answer here ({told}): PCA is what is left."


def no_gain(seen: Seen, what: Concern, method: str, candidates: Sequence[str], chance: float) -> str:
    """The best method cannot be told from principal components."""
    after, before = (seen.judged[name].statistic(what.metric)[0] for name in (method, PCA))
    return (
        f"Of the methods made for this ({', '.join(candidates)}) {method} leaves a {what.metric} of {n(after)}, PCA "
        f"one of {n(before)}: chance alone makes differences of up to {n(chance)}, so keep PCA."
    )


def advantages(
    seen: Seen, what: Concern, method: str, best: str, alike: Sequence[str], candidates: Sequence[str],
    gained: tuple[float, float],
) -> list[str]:  # fmt: skip
    """What a method brings, beside which others, at what price, and how near that is to what is possible."""
    before, after = seen.judged[PCA].statistic(what.metric)[0], seen.row(method, what.metric)
    found = [
        f"{method} brings the {what.metric} from {n(before)} to {said(after)} on held-out rows. That is {n(gained[0])} "
        f"less, and chance alone makes up to {n(gained[1])}."
    ]
    if what.gap != what.metric:
        found.append(f"The {what.gap} becomes {said(seen.row(method, what.gap))}.")
    if len(candidates) > 1:
        found.append(_beside(what, method, best, alike, candidates))
    price, chance = told_apart(*(seen.judged[name].statistic("average error") for name in (method, PCA)))
    base = seen.judged[PCA].average
    found.append(
        f"The price: the average error goes from {n(base)} to {n(base + price)} ({price / base:+.1%}; chance makes up "
        f"to {chance / base:.1%})."
        if base > 0
        else f"The price: PCA makes no error on these rows, {method} one of {n(price)} (chance: {n(chance)})."
    )
    return [*found, _certificate(seen, method), *_possible(seen, what, method)]


def _beside(what: Concern, method: str, best: str, alike: Sequence[str], candidates: Sequence[str]) -> str:
    others = [name for name in alike if name not in (method, best)]
    head = f"Of the {len(candidates)} methods made for this ({', '.join(candidates)})"
    if method != best:
        more = f", nor do {', '.join(others)}" if others else ""
        return (
            f"{head} {best} has the smallest {what.metric}; {method} does not differ significantly from it{more}, and "
            "has the least average error of these."
        )
    if not others:
        return f"{head} it has the smallest {what.metric}; no other one that differs significantly from PCA is as good."
    return (
        f"{head} it has the smallest {what.metric}; {', '.join(others)} are not significantly worse, but "
        "have no smaller average error."
    )


def _certificate(seen: Seen, method: str) -> str:
    certificate = seen.fits[method].estimator.certificate_
    if certificate.is_optimal(CLOSED):
        return (
            "Its certificate closed: on the fitting rows no other answer is better by its own measure "
            f"({certificate.problem})."
        )
    size = max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    return (
        f"Its certificate is open: by its own measure ({certificate.problem}) another answer could be better on the "
        f"fitting rows, by at most {abs(certificate.gap) / size:.1%}."
    )


def _possible(seen: Seen, what: Concern, method: str) -> list[str]:
    found = seen.possible(method, what)
    if not found:
        return []
    pca, cheapest, paid = found["average of PCA, fitting"], found["cheapest"], found["average, fitting"]
    return [
        f"What is unavoidable: on the fitting rows every projection whose {what.metric} is at most "
        f"{n(found['metric, fitting'])} has an average error {_above(cheapest, pca):.2%} above PCA's or more; this one "
        f"is {_above(paid, pca):.2%} above it. The smallest {what.metric} that was reached there is "
        f"{n(found['smallest possible'])}."
    ]


def limits_of(seen: Seen, concern: str, method: str) -> list[str]:
    """What the numbers of this very recommendation do not say."""
    judged, labels = seen.judged[method], seen.judged[method].part.labels
    high, low = int(np.argmax(judged.errors)), int(np.argmin(judged.errors))
    if concern == "losses":
        return [
            f"Losses compare a group with itself, not with others: with {method} the error of {labels[high]} is "
            f"{n(judged.errors[high])}, that of {labels[low]} {n(judged.errors[low])}."
        ]
    if concern == "errors":
        if method == PCA:
            return []
        change = np.array([_above(*pair) for pair in zip(judged.errors, seen.judged[PCA].errors, strict=True)])
        worse, better = ([labels[g] for g in np.flatnonzero(s * change > 1e-9)] for s in (1.0, -1.0))
        return [
            f"Errors come closer in two ways: compared with PCA, {method} serves {', '.join(better) or 'nobody'} "
            f"better and {', '.join(worse) or 'nobody'} worse."
        ]
    found = seen.row(method, "kernel AUC")
    left = f": with {method} a classifier with a kernel still has an AUC of {said(found)}" if found else ""
    return [f"Equal means say nothing about how groups are spread, nor about how well they are rebuilt{left}."]


def said(row: Row) -> str:
    """A value with its interval."""
    return f"{n(row.value)} (95 % interval {n(row.low)} to {n(row.high)})"


def n(value: float) -> str:
    """A number to three digits."""
    return "0" if abs(value) < 1e-9 else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


# -- what the numbers of an audit do not say, whatever is recommended --------------------------------------------------


def of_attribute(sample: Sample, attribute: str, methods: int, left_out: Mapping[str, int] | None = None) -> list[str]:
    """Sentences about the groups of one attribute, whatever is recommended for them."""
    said = []
    if left_out:
        said.append(
            "Nothing was said of "
            + ", ".join(f"{group} ({n} row{'s' * (n != 1)})" for group, n in left_out.items())
            + ": too few rows to be compared. They are left out of all numbers; merge them with other groups to have "
            "them counted."
        )
    said.append(
        f"The methods ({methods}) were compared on the same held-out rows on which the one named is described: its "
        "numbers there are a little too good. The rows are from the same table; another year or place is another "
        "matter."
    )
    said.append(
        f"Intervals are about other rows from the same source ({LEVEL:.0%}), for the projection as it is fitted; they "
        "do not say how another fitting sample would change it."
    )
    groups = sample.groups[sample.groups["attribute"] == attribute]
    small = groups.loc[groups["small"].astype(bool), "group"].astype(str).tolist()
    small = [group for group in small if group not in (left_out or {})]
    if small:
        said.append(
            f"Small groups ({', '.join(small)}): their numbers are mostly noise, and equality with noise is no gain."
        )
    proxies = _proxies(sample, attribute)
    if proxies:
        said.append(
            f"Columns that tell much of {attribute} are among the features ({', '.join(proxies)}). Classifiers other "
            "than the two that were tried may find it through them."
        )
    else:
        said.append(
            "What a classifier finds of the group depends on the classifier: a linear one and one with a Gaussian "
            "kernel were tried, on some thousand rows."
        )
    if sample.target is None:
        said.append("No target was named: what is left to predict, and how equally, was not looked at.")
    else:
        said.append(
            f"No method looked at {sample.target}. If it is recorded with a bias, that stays; whether predictions from "
            "the representation treat groups alike has to be measured on the predictions."
        )
    others = [name for name in sample.attributes if name != attribute]
    if others:
        said.append(f"This is about {attribute} alone; what the method does to {', '.join(others)} was not looked at.")
    return said


def _proxies(sample: Sample, attribute: str) -> list[str]:
    columns = sample.columns
    if "proxy" not in columns:
        return []
    names = {part.strip() for part in attribute.split(" x ")} | {attribute}
    return [
        str(name)
        for name, proxy, use in zip(columns["column"], columns["proxy"], columns["used as"], strict=True)
        if use in FEATURES and names & {part.strip() for part in str(proxy or "").split(",")}
    ]
