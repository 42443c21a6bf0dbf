r"""Three questions about the groups, each with its own answer; for each a method to consider, if any, and its price.

**Answer.** The effect under principal components (:data:`CONCERNS`), on held-out rows, with its 95 % interval. It is
*significant* if it exceeds its 95 % null quantile, else *inconclusive*: a difference may be there that these rows do
not show, so nothing is recommended, in particular not PCA. Nor is it where PCA retains less than 80 % of the variance
with the largest k there is: then k is too small to say anything about the table.

**Method.** After a significant effect that is not below ``smallest`` (then PCA will do): of the methods made for
the question that leave at least half of the variance that PCA retains and of what it tells of the target, and with
a significantly smaller effect than PCA, that with the smallest; among those that do not differ significantly from
it that with the least average error. All of this is seen on validation rows; what is said of the method is seen on
held-out rows, which chose nothing. Differences of effects and errors are compared in the same samples of blocks;
those of two AUC by their standard errors, as if independent.

**Price.** Retained variance and errors before and after; with a target its accuracy and AUC and the selection rate,
of all rows and of every group.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigurationError
from ..methods import METHODS
from ..metrics import ATTACKERS
from .analyse import RETAINED, Analysis
from .evaluation import paired_difference
from .fitting import CLOSED, MEANS, PCA
from .groups import HELD_OUT, VALIDATION
from .page.blocks import plain as n
from .sample import Sample

#: What a method costs, before and after.
COSTS = ("average error", "retained variance", "target AUC", "target R2", "target accuracy", "selection rate")
#: Share of the variance that PCA retains, and of the target's AUC or R2 beyond guessing, that a method has to leave.
WORTH = 0.5
#: Words in names of columns that somebody may want to predict; and words that have to be alone, or beside some.
OUTCOMES = {
    "target", "outcome", "default", "approved", "accepted", "admitted", "hired", "risk", "recid", "recidivism",
    "passed", "score", "grade", "income", "salary", "diagnosis", "churn", "fraud", "gpa", "g3", "marks", "decision",
    "granted", "attrition", "exited", "subscribed", "survived", "readmitted",
}  # fmt: skip
ALONE = {"label", "class", "y", "result", "response", "points", "final", "success", "status"}
BESIDE = {"loan", "credit", "application", "approval", "admission", "exam", "test", "true", "is", "has"}


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
        "distance between group means (in standard deviations of the representation)", MEANS, 0.1,
    ),
    "errors": Concern(
        "error gap", "Are all groups reconstructed equally well?", "largest less smallest error of a group",
        ("errors", "losses"), 0.02,
    ),
    "classification": Concern(
        "group AUC", "Can the group be predicted?", f"AUC of the strongest of {len(ATTACKERS)} attackers", MEANS, 0.55,
    ),
}  # fmt: skip


def require_concern(concern: str) -> tuple[str, ...]:
    """The concerns of that name: one, or all."""
    if not isinstance(concern, str) or concern not in (*CONCERNS, "all"):
        raise ConfigurationError(f"concern={concern!r}; needed is one of {', '.join(map(repr, (*CONCERNS, 'all')))}.")
    return tuple(CONCERNS) if concern == "all" else (concern,)


@dataclass(frozen=True)
class Recommendation:
    """The answer to one question about one attribute; the method is empty where nothing is recommended."""

    attribute: str
    concern: str
    k: int
    method: str
    significant: bool
    figures: Mapping[str, float]  # effect, low, high, noise_q95; with a method: after, and the costs before and after
    reason: tuple[str, ...]  # why this method, or none
    price: tuple[str, ...] = ()  # what it costs beyond noise, and what is not known of it
    too_small: str = ""  # why k is too small for any advice

    @property
    def verdict(self) -> str:
        """Whether an effect of PCA was shown."""
        return "significant" if self.significant else "inconclusive"

    @property
    def advice(self) -> str:
        """What to consider, in a few words."""
        return {"": "nothing is recommended", PCA: "PCA will do"}.get(self.method, f"consider {self.method}")

    @property
    def line(self) -> dict:
        """The same as a line of a table."""
        head = {"attribute": self.attribute, "concern": self.concern, "verdict": self.verdict, "method": self.method}
        return head | {"k": self.k} | dict(self.figures) | {"reason": " ".join((*self.reason, *self.price))}

    @property
    def sentence(self) -> str:
        """The answer in a line, with its price."""
        f, what = self.figures, CONCERNS[self.concern]
        effect = (
            f"{what.effect} {n(f['effect'])} under PCA (95 % interval {n(f['low'])} to {n(f['high'])}; 95 % null "
            f"quantile {n(f['noise_q95'])}): {self.verdict}"
        )
        if self.too_small:
            return f"{self.attribute}, {self.concern}: nothing is recommended, {self.too_small}; {effect}."
        if "after" in f:
            left = f"{n(f['after'])} is left ({n(f['after low'])} to {n(f['after high'])})"
            costs = [f"{one} {n(f[f'{one} before'])} to {n(f[f'{one} after'])}" for one in COSTS if f"{one} after" in f]
            effect += f"; {self.advice} (k = {self.k}): {left}; its price: {', '.join(costs)}"
        else:
            effect += f"; {self.advice} (k = {self.k})"
        return " ".join((f"{self.attribute}, {self.concern}: {effect}.", *self.price))


def recommend(found: Analysis, concern: str) -> Recommendation:
    """Answer one question."""
    what, names = CONCERNS[concern], ("low", "high", "noise_q95")
    effect = found.row(what.effect)
    if effect is None:
        figures = dict.fromkeys(("effect", *names), np.nan)
        why = "Too few rows of each group: no classifier could be fitted and scored."
        return Recommendation(found.attribute, concern, found.k, "", False, figures, (why, found.why_k))
    figures = {"effect": effect["value"]} | {name: effect[name] for name in names}
    significant = bool(effect["value"] > effect["noise_q95"])
    if not found.enough:
        small = f"k = {found.k} is too small: PCA retains {found.retained:.0%} of the variance with it"
        why = (f"{small}; needed are {RETAINED:.0%}.",)
        return Recommendation(found.attribute, concern, found.k, "", significant, figures, why, too_small=small)
    nothing = f"These rows show no difference and rule out none of up to {n(effect['high'])}: more rows would tell."
    method, why = _method(found, what, effect) if significant else ("", [nothing])
    price: list[str] = []
    if method not in ("", PCA):
        after = found.row(what.effect, method)
        left = "still" if after["value"] > after["noise_q95"] else "not"
        why.append(f"What is left is {left} significant (null quantile {n(after['noise_q95'])}).")
        if concern == "classification":
            why.append(f"{after['note']} A stronger one may exist.")
            price.append("A stronger attacker than those that were tried may exist.")
        why.append(_certificate(found, method))
        price += _price(found, method)
        figures |= {"after": after["value"], "after low": after["low"], "after high": after["high"]}
        for metric in COSTS:
            for group in ("", *found.labels):
                of_group = "error" if group and metric == "average error" else metric
                for name, when in ((PCA, "before"), (method, "after")):
                    row = found.row(of_group, name, group=group)
                    if row is not None:
                        figures[f"{metric} {when}{', ' if group else ''}{group}"] = row["value"]
    reason = (*why, found.why_k)
    return Recommendation(found.attribute, concern, found.k, method, significant, figures, reason, tuple(price))


def _price(found: Analysis, method: str) -> list[str]:
    """What a method costs a prediction of the target beyond noise, and whose selection rates change places."""
    if all(found.row(metric) is None for metric in ("target R2", "target accuracy")):
        return ["Without a target (--target) it is open what that costs a prediction, and for whom."]
    told, lost = [], []
    for metric in ("target AUC", "target R2", "target accuracy"):
        for group in ("", *found.labels):
            before, after = (found.row(metric, name, group=group) for name in (PCA, method))
            if before and after and before["value"] - after["value"] > _noise(before, after):
                lost.append(f"{metric} of {group or 'all rows'} {n(before['value'])} to {n(after['value'])}")
    if lost:
        told.append(f"More is lost than noise: {'; '.join(lost)}.")
    labels = [label for label in found.labels if found.row("selection rate", group=label)]
    rates = {one: [found.row("selection rate", name, group=one)["value"] for name in (PCA, method)] for one in labels}
    if len(rates) > 1:
        high, low = (pick(rates, key=lambda label: rates[label][0]) for pick in (max, min))
        if rates[high][1] < rates[low][1]:
            what = (f"{label} {rates[label][0]:.0%} to {rates[label][1]:.0%}" for label in (high, low))
            told.append(f"Selection rates change places: {', '.join(what)}.")
    return told


def _keeps_target(found: Analysis, method: str) -> bool:
    """Whether a method leaves enough of what PCA tells of the target on validation rows, if that is anything."""
    for metric, guessing in (("target AUC", 0.5), ("target R2", 0.0)):
        before, after = (found.row(metric, name, VALIDATION) for name in (PCA, method))
        if before and after and before["low"] > guessing:
            return after["value"] - guessing >= WORTH * (before["value"] - guessing)
    return True


def _method(found: Analysis, what: Concern, effect: Mapping) -> tuple[str, list[str]]:
    """A method chosen on validation rows, or none, and why."""
    seen = found.evaluations[VALIDATION]
    scale = found.evaluations[HELD_OUT][PCA].average if what.effect == "error gap" else 1.0
    if effect["value"] < what.smallest * scale:
        size = f"{effect['value'] / scale:.1%} of the average error" if scale != 1.0 else n(effect["value"])
        return PCA, [f"That is small ({size}): this rule changes nothing below {what.smallest:g}."]
    made = [name for name in METHODS if METHODS[name].equalises in what.equalises and (name, found.k) in found.fits]
    able = [name for name in made if found.row(what.effect, name, VALIDATION) is not None]
    if not able:
        told = f"{', '.join(made)}; the reasons stand with the methods" if made else "none was asked for"
        return "", [f"No method made for this has an answer with k = {found.k} ({told}): nothing is recommended."]
    kept = {name: found.row("retained variance", name, VALIDATION)["value"] for name in (PCA, *able)}
    effects = {name: found.row(what.effect, name, VALIDATION)["value"] for name in (PCA, *able)}
    gains = {name: _difference(found, what.effect, PCA, name) for name in able}
    better = [name for name in able if gains[name][0] > gains[name][1]]
    if not better:
        best = min(able, key=effects.get)
        return "", [
            f"No method improves on PCA significantly on validation rows: {best} has {n(effects[best])}, PCA "
            f"{n(effects[PCA])}, and differences of up to {n(gains[best][1])} are noise. Nothing is recommended."
        ]
    worth = [name for name in better if kept[name] >= WORTH * kept[PCA] and _keeps_target(found, name)]
    if not worth:
        told = ", ".join(f"{name} {kept[name]:.0%}" for name in better)
        return "", [
            f"Nothing tried is worth its price on validation rows: PCA retains {kept[PCA]:.0%} of variance, {told}; "
            "each loses more than half of that, or of what PCA tells of the target."
        ]
    best = min(worth, key=effects.get)
    equal = [name for name in worth if np.less_equal(*_difference(found, what.effect, name, best))]
    method = min(equal, key=lambda name: float(f"{seen[name].average:.9g}"))  # of ties the first
    why = (
        f"On validation rows {method} brings the {what.effect} from {n(effects[PCA])} to {n(effects[method])}, a "
        f"difference of {n(gains[method][0])} where up to {n(gains[method][1])} is noise."
    )
    others = ", ".join(name for name in equal if name != method)
    if others:
        than = "" if method == best else f" than the best ({best})"
        why += f" Not significantly worse{than}, and with no smaller average error: {others}."
    return method, [why]


def _difference(found: Analysis, metric: str, one: str, other: str) -> tuple[float, float]:
    """How much larger a metric is under one method than under another on validation rows, and what of that is noise."""
    if metric in ("error gap", "scaled mean distance", "average error"):
        return paired_difference(*(found.evaluations[VALIDATION][name].statistic(metric) for name in (one, other)))
    a, b = found.row(metric, one, VALIDATION), found.row(metric, other, VALIDATION)
    return a["value"] - b["value"], _noise(a, b)


def _noise(one: Mapping, other: Mapping) -> float:
    """What a difference of two numbers may be by chance, by their intervals as if independent."""
    return float(np.hypot(*((row["high"] - row["low"]) / 2.0 for row in (one, other))))


def _certificate(found: Analysis, method: str) -> str:
    certificate = found.fits[method, found.k].estimator.certificate_
    if certificate.scope == "last step":
        return f"Its certificate is about its last step alone, on the training set ({certificate.problem})."
    if certificate.is_optimal(CLOSED):
        return f"It is certified optimal on the training set ({certificate.problem})."
    open_by = abs(certificate.gap) / max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    return f"By {certificate.problem} another answer could be better on the training set by at most {open_by:.1%}."


def ask_target(sample: Sample) -> str:
    """A question for the target where none was named and a feature may be one; empty otherwise."""
    used = sample.columns[sample.columns["used as"].isin(("number", "0/1", "categories", "days"))]["column"].astype(str)
    words = {name: set(re.split("[^a-z0-9]+", name.lower())) for name in used}
    found = [one for one, of in words.items() if of & OUTCOMES or (of & ALONE and of <= ALONE | BESIDE)]
    if sample.target is not None or not found:
        return ""
    return (
        f"Is {' or '.join(map(repr, found[:3]))} what is to be predicted? It is used as a feature now. With --target "
        f"(target={found[0]!r}) the report says how well it can be predicted before and after, and for whom."
    )
