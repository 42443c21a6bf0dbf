"""The sentences of a recommendation, each with the numbers that it rests on."""

from collections.abc import Sequence

import numpy as np

from .concerns import Concern, Seen
from .fitting import CLOSED, PCA
from .judging import Row, told_apart


def start(seen: Seen, what: Concern) -> str:
    """What principal components do."""
    return (
        f"Under PCA with k = {seen.k} the {what.gap} between the groups of {seen.attribute} is "
        f"{said(seen.row(PCA, what.gap))} {seen.where}."
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
        f"{method} brings the {what.metric} from {n(before)} to {said(after)} {seen.where}. That is {n(gained[0])} "
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
    )
    return [*found, _certificate(seen, method), *_possible(seen, what, method)]


def _beside(what: Concern, method: str, best: str, alike: Sequence[str], candidates: Sequence[str]) -> str:
    others = [name for name in alike if name not in (method, best)]
    head = f"Of the {len(candidates)} methods made for this ({', '.join(candidates)})"
    if method != best:
        more = f", nor are {', '.join(others)}" if others else ""
        return (
            f"{head} {best} has the smallest {what.metric}; {method} is not told apart from it{more}, and has the "
            "least average error of these."
        )
    if not others:
        return f"{head} it has the smallest {what.metric}; no other one is as good and told apart from PCA."
    return (
        f"{head} it has the smallest {what.metric}; {', '.join(others)} cannot be told apart from it, but have no "
        "smaller average error."
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
        f"{n(found['metric, fitting'])} has an average error {cheapest / pca - 1.0:.2%} above PCA's or more; this one "
        f"is {paid / pca - 1.0:.2%} above it. The smallest {what.metric} that was reached there is "
        f"{n(found['smallest possible'])}."
    ]


def limits(seen: Seen, concern: str, method: str) -> list[str]:
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
        change = judged.errors / seen.judged[PCA].errors - 1.0
        worse, better = ([labels[g] for g in np.flatnonzero(s * change > 1e-9)] for s in (1.0, -1.0))
        return [
            f"Errors come closer in two ways: compared with PCA, {method} serves {', '.join(better) or 'nobody'} "
            f"better and {', '.join(worse) or 'nobody'} worse."
        ]
    found = seen.row(method, "kernel AUC")
    left = f": with {method} a reader with a kernel still has an AUC of {said(found)}" if found else ""
    return [f"Equal means say nothing about how groups are spread, nor about how well they are rebuilt{left}."]


def said(row: Row) -> str:
    """A value with its interval."""
    return f"{n(row.value)} (95 % interval {n(row.low)} to {n(row.high)})"


def n(value: float) -> str:
    """A number to three digits."""
    return "0" if abs(value) < 1e-9 else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
