r"""Three questions about the groups, each with its own answer; and for each the method to use, if any, and its cost.

- ``"means"``: do the groups lie in the same place? The effect is the largest distance between the means of two groups
  after the projection, in standard deviations of the representation.
- ``"errors"``: are all groups reconstructed equally well? The effect is the largest less the smallest error.
- ``"classification"``: can the group be predicted? The effect is the AUC of the better of two classifiers.

**Answer.** The effect under principal components, on held-out rows, with its 95 % interval. It is *significant* if it
exceeds its 95 % null quantile, else *inconclusive*: a difference may be there that these rows do not show, so nothing
is recommended, in particular not PCA.

**Method.** After a significant effect that is not below ``smallest`` (then PCA will do): of the methods made for the
question those whose effect is significantly smaller than that of PCA. Of these the one with the smallest effect, and
among those that do not differ significantly from it the one with the least average error. Differences of effects and
errors are compared in the same samples of blocks; those of two AUC by their standard errors, as if independent.

**Cost.** Average error and retained variance before and after; with a target its AUC for all rows and every group.

**Components.** The number that was asked for; otherwise the smallest with which PCA retains 80 % of the variance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from ..core.errors import ConfigurationError
from ..methods import METHODS
from .analyse import Analysis
from .evaluation import LEVEL, TRAINING, paired_difference
from .fitting import CLOSED, PCA
from .passes import Sample

#: What columns are used as that enter the methods.
FEATURES = ("number", "0/1", "categories", "days")
#: Words in names of columns that somebody may want to predict.
OUTCOMES = {
    "target", "label", "outcome", "class", "y", "default", "approved", "accepted", "admitted", "hired", "risk", "recid",
    "recidivism", "passed", "score", "grade", "result", "response", "income", "salary", "diagnosis", "churn", "fraud",
    "gpa", "decision", "granted", "loan_status", "credit_risk", "two_year_recid",
}  # fmt: skip


@dataclass(frozen=True)
class Concern:
    """What is to be alike: the effect that measures it, in words, and which methods are made for it."""

    effect: str
    question: str
    words: str  # the effect in a sentence
    equalises: tuple[str, ...]
    smallest: float  # an effect below this needs no method: a share of the average error for errors


CONCERNS: Mapping[str, Concern] = {
    "means": Concern(
        "scaled mean distance", "Do the groups lie in the same place?",
        "distance between group means (in standard deviations of the representation)",
        ("means", "means and covariances", "distributions"), 0.1,
    ),
    "errors": Concern(
        "error gap", "Are all groups reconstructed equally well?", "largest less smallest error of a group",
        ("errors", "losses"), 0.02,
    ),
    "classification": Concern(
        "group AUC", "Can the group be predicted?", "AUC of the better of two classifiers of the group",
        ("means", "means and covariances", "distributions"), 0.55,
    ),
}  # fmt: skip


def require_concern(concern: str) -> tuple[str, ...]:
    """The concerns of that name: one, or all."""
    if not isinstance(concern, str) or concern not in (*CONCERNS, "all"):
        raise ConfigurationError(f"concern={concern!r}; needed is one of {', '.join(map(repr, (*CONCERNS, 'all')))}.")
    return tuple(CONCERNS) if concern == "all" else (concern,)


@dataclass(frozen=True)
class Recommendation:
    """The answer to one question about one attribute."""

    attribute: str
    concern: str
    k: int
    method: str  # "PCA" where that will do; empty where nothing is recommended
    significant: bool
    figures: Mapping[str, float]  # effect, low, high, noise_q95; with a method: after, costs before and after
    reason: tuple[str, ...]  # why this method, or none
    costs: tuple[str, ...]
    limits: tuple[str, ...]  # what these numbers do not say

    @property
    def verdict(self) -> str:
        """Whether an effect of PCA was shown: "significant" or "inconclusive"."""
        return "significant" if self.significant else "inconclusive"

    @property
    def advice(self) -> str:
        """What to use, in a few words."""
        if self.method == PCA:
            return "PCA will do"
        return f"use {self.method}" if self.method else "nothing is recommended"

    @property
    def sentence(self) -> str:
        """The answer in a line."""
        effect = interval_text(self.figures["effect"], self.figures["low"], self.figures["high"])
        return (
            f"{self.attribute}, {self.concern}: {CONCERNS[self.concern].effect} {effect}, 95 % null quantile "
            f"{n(self.figures['noise_q95'])}: {self.verdict}; {self.advice} (k = {self.k})."
        )


def recommend(found: Analysis, concern: str, limits: Sequence[str] = ()) -> Recommendation:
    """Answer one question; ``limits`` say what is not known whatever is recommended."""
    what, effect = CONCERNS[concern], found.row(PCA, CONCERNS[concern].effect)
    if effect is None:
        nothing = dict.fromkeys(("effect", "low", "high", "noise_q95"), np.nan)
        why = "Too few rows of each group: no classifier could be fitted and scored."
        return Recommendation(
            found.attribute, concern, found.k, "", False, nothing, (why, found.why_k), (), tuple(limits)
        )
    figures = {"effect": effect["value"]} | {name: effect[name] for name in ("low", "high", "noise_q95")}
    significant = bool(effect["value"] > effect["noise_q95"])
    method, why = _method(found, what, effect) if significant else ("", [_inconclusive(what, effect)])
    costs = []
    if method not in ("", PCA):
        after = found.row(method, what.effect)
        figures |= {"after": after["value"], "after low": after["low"], "after high": after["high"]}
        costs = _costs(found, method, figures)
        left = "still" if after["value"] > after["noise_q95"] else "not"
        why += [f"What is left is {left} significant (null quantile {n(after['noise_q95'])})."]
        why += [_certificate(found, method), *_unavoidable(found, what, method)]
    said = (*_limits(found, concern, method), *limits)
    reason = (*why, found.why_k)
    return Recommendation(found.attribute, concern, found.k, method, significant, figures, reason, tuple(costs), said)


def _inconclusive(what: Concern, effect: pd.Series) -> str:
    return (
        f"Groups of this size would reach {n(effect['noise_q95'])} by chance in one of twenty samples. These rows show "
        f"no difference and rule out none of up to {n(effect['high'])}: more rows would tell."
    )


def _method(found: Analysis, what: Concern, effect: pd.Series) -> tuple[str, list[str]]:
    scale = found.held_out[PCA].average if what.effect == "error gap" else 1.0
    if effect["value"] < what.smallest * scale:
        size = f"{effect['value'] / scale:.1%} of the average error" if scale != 1.0 else n(effect["value"])
        return PCA, [f"That is small ({size}): this rule changes nothing below {what.smallest:g}."]
    made = [name for name in METHODS if METHODS[name].equalises in what.equalises and (name, found.k) in found.fits]
    able = [name for name in made if found.row(name, what.effect) is not None]
    if not able:
        told = "; ".join(f"{name}: {found.fits[name, found.k].note}" for name in made) or "none was asked for"
        return "", [f"No method made for this has an answer here ({told}): nothing is recommended."]
    effects = {name: found.row(name, what.effect)["value"] for name in able}
    gains = {name: _difference(found, what.effect, PCA, name) for name in able}
    better = [name for name in able if gains[name][0] > gains[name][1]]
    best = min(better or able, key=effects.get)
    if not better:
        return "", [
            f"No method improves on PCA significantly: {best} has {n(effects[best])}, PCA {n(effect['value'])}, and "
            f"differences of up to {n(gains[best][1])} are noise. Nothing is recommended."
        ]
    equal = [name for name in better if np.less_equal(*_difference(found, what.effect, name, best))]
    # Averages that differ by rounding only are ties; the first of them is taken.
    method = min(equal, key=lambda name: float(f"{found.held_out[name].average:.9g}"))
    why = (
        f"{method} brings the {what.effect} from {n(effect['value'])} to {n(effects[method])} on held-out rows, a "
        f"difference of {n(gains[method][0])} where up to {n(gains[method][1])} is noise."
    )
    others = ", ".join(name for name in equal if name != method)
    if others:
        why += f" Not significantly worse than the best ({best}), but with no smaller average error: {others}."
    return method, [why]


def _difference(found: Analysis, metric: str, one: str, other: str) -> tuple[float, float]:
    """How much larger a metric is under one method than under another, and what of that is noise."""
    if metric in ("error gap", "scaled mean distance", "average error"):
        return paired_difference(*(found.held_out[name].statistic(metric) for name in (one, other)))
    a, b = found.row(one, metric), found.row(other, metric)
    errors = [(row["high"] - row["low"]) / (2.0 * norm.isf((1.0 - LEVEL) / 2.0)) for row in (a, b)]
    return a["value"] - b["value"], float(norm.isf((1.0 - LEVEL) / 2.0) * np.hypot(*errors))


# -- what it costs, and how near it is to what is possible -------------------------------------------------------------


def _costs(found: Analysis, method: str, figures: dict) -> list[str]:
    said = []
    for metric in ("average error", "retained variance", "target AUC", "target R2", "target accuracy"):
        pair = [found.row(name, metric) for name in (PCA, method)]
        if any(row is None for row in pair):
            continue
        before, after = (row["value"] for row in pair)
        figures |= {f"{metric} before": before, f"{metric} after": after}
        text = f"The {metric} goes from {n(before)} to {n(after)}"
        if metric == "average error":
            figures["price"] = after / before - 1.0 if before > 0 else np.nan
            text += f" ({figures['price']:+.1%})" if before > 0 else ""
        if metric == "retained variance":
            said.append(f"The retained variance goes from {before:.1%} to {after:.1%}.")
            continue
        parts = []
        for group in found.held_out[PCA].part.labels:
            of_group = "error" if metric == "average error" else metric
            both = [found.row(name, of_group, group=group) for name in (PCA, method)]
            if all(row is not None for row in both):
                figures |= {f"{metric} before, {group}": both[0]["value"], f"{metric} after, {group}": both[1]["value"]}
                parts.append(f"{group} from {n(both[0]['value'])} to {n(both[1]['value'])}")
        said.append(f"{text} for all rows" + (f"; for {', '.join(parts)}." if parts else "."))
        if metric == "target AUC":  # accuracy says less
            break
    return said


def _certificate(found: Analysis, method: str) -> str:
    certificate = found.fits[method, found.k].estimator.certificate_
    if certificate.is_optimal(CLOSED):
        return f"It is certified optimal on the training set ({certificate.problem})."
    size = max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    return (
        f"By its own measure ({certificate.problem}) another answer could be better on the training set by at most "
        f"{abs(certificate.gap) / size:.1%}."
    )


def _unavoidable(found: Analysis, what: Concern, method: str) -> list[str]:
    """What every projection with so small an effect costs at least, on the training set."""
    curve = None if found.frontier is None else found.frontier.curves.get(what.effect)
    estimator = found.fits[method, found.k].estimator
    # The frontier is one of projections; encoder and decoder of an oblique map differ.
    if curve is None or not np.allclose(estimator.components_, estimator.subspace_.V.T):
        return []
    y, x, pca = (found.row(*one, TRAINING)["value"] for one in (
        (method, what.effect), (method, "average error"), (PCA, "average error")))  # fmt: skip
    least = min(float(curve.cheapest(y)), x)  # bounds are met to rounding
    return [
        f"On the training set every projection with a {what.effect} of at most {n(y)} has an average error "
        f"{least / pca - 1.0:.2%} above that of PCA or more; this one is {x / pca - 1.0:.2%} above it."
    ]


# -- what the numbers do not say ---------------------------------------------------------------------------------------


def _limits(found: Analysis, concern: str, method: str) -> list[str]:
    if concern == "means":
        return ["Equal means say nothing about how groups are spread, nor about how well they are reconstructed."]
    if concern == "classification":
        return ["What a classifier finds depends on it: a linear one and one with a Gaussian kernel were tried."]
    said = [found.losses] if found.losses else []
    if method in ("", PCA):
        return said
    change = found.held_out[method].errors - found.held_out[PCA].errors
    labels = found.held_out[PCA].part.labels
    size = 1e-9 * found.held_out[PCA].average
    worse, better = ([labels[g] for g in np.flatnonzero(sign * change > size)] for sign in (1.0, -1.0))
    return [
        f"Errors come closer in two ways: compared with PCA, {method} reconstructs {', '.join(better) or 'no group'} "
        f"better and {', '.join(worse) or 'no group'} worse.",
        *said,
    ]


def of_attribute(sample: Sample, found: Analysis, methods: int) -> list[str]:
    """What is not said of the groups of one attribute, whatever is recommended for them."""
    said, attribute = [], found.attribute
    if found.left_out:
        groups = ", ".join(f"{group} ({n} row{'s' * (n != 1)})" for group, n in found.left_out.items())
        said.append(f"Nothing is said of {groups}: too few rows to be compared. They are left out of all numbers.")
    said += [
        f"The {methods} methods were compared on the held-out rows on which the recommended one is described: its "
        "numbers there are a little too good. These rows are from the same table; another year or place is another "
        "matter.",
        f"Intervals ({LEVEL:.0%}) are about other rows from the same source for the projection as it is fitted, not "
        "about another training set.",
    ]
    groups = sample.groups[(sample.groups["attribute"] == attribute) & sample.groups["small"].astype(bool)]
    small = [str(group) for group in groups["group"] if str(group) not in found.left_out]
    if small:
        said.append(f"Small groups ({', '.join(small)}): their numbers are mostly noise.")
    if proxies := _proxies(sample, attribute):
        said.append(f"The group can nearly be predicted from features that are used: {', '.join(proxies)}.")
    if sample.target is not None:
        said.append(f"No method looked at {sample.target}. If it is recorded with a bias, that stays.")
    if others := [name for name in sample.attributes if name != attribute]:
        said.append(f"This is about {attribute} alone; what a method does to {', '.join(others)} was not looked at.")
    return said


def _proxies(sample: Sample, attribute: str) -> list[str]:
    names = {part.strip() for part in attribute.split(" x ")} | {attribute}
    columns = sample.columns
    return [
        str(name)
        for name, proxy, use in zip(columns["column"], columns["proxy"], columns["used as"], strict=True)
        if use in FEATURES and names & {part.strip() for part in str(proxy or "").split(",")}
    ]


def ask_target(sample: Sample) -> str:
    """A question for the target where none was named and a feature may be one; empty otherwise."""
    if sample.target is not None:
        return ""
    used = sample.columns[sample.columns["used as"].isin(FEATURES)]["column"].astype(str)
    found = [
        name for name in used if OUTCOMES & {name.lower(), *name.lower().replace("-", "_").replace(" ", "_").split("_")}
    ]
    if not found:
        return ""
    return (
        f"Is {' or '.join(map(repr, found[:3]))} what is to be predicted? It is used as a feature now. With --target "
        f"(target={found[0]!r}) the report says how well it can be predicted before and after, and for whom."
    )


def n(value: float) -> str:
    """A number to three digits."""
    return "0" if abs(value) < 1e-9 else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def interval_text(value: float, low: float, high: float) -> str:
    """A value with its interval, for a sentence."""
    return f"{n(value)} (95 % interval {n(low)} to {n(high)})"
