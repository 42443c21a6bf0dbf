r"""Three questions about the groups, each with its own answer; and for each the method to use, if any, and its cost.

**Answer.** The effect under principal components (:data:`CONCERNS`), on held-out rows, with its 95 % interval. It is
*significant* if it exceeds its 95 % null quantile, else *inconclusive*: a difference may be there that these rows do
not show, so nothing is recommended, in particular not PCA.

**Method.** After a significant effect that is not below ``smallest`` (then PCA will do): of the methods made for the
question, and with a significantly smaller effect than PCA, that with the smallest; among those that do not differ
significantly from it that with the least average error. Differences of effects and errors are compared in the same
samples of blocks; those of two AUC by their standard errors, as if independent.

**Cost.** Average error and retained variance before and after; with a target its AUC for all rows and every group.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError
from ..methods import METHODS
from .analyse import Analysis
from .evaluation import paired_difference
from .fitting import CLOSED, PCA
from .page.blocks import plain as n
from .sample import Sample

#: What a method costs, before and after; accuracy only where there is no AUC.
COSTS = ("average error", "retained variance", "target AUC", "target R2", "target accuracy")
#: Words in names of columns that somebody may want to predict.
OUTCOMES = {
    "target", "label", "outcome", "class", "y", "default", "approved", "accepted", "admitted", "hired", "risk", "recid",
    "recidivism", "passed", "score", "grade", "result", "response", "income", "salary", "diagnosis", "churn", "fraud",
    "gpa", "g3", "marks", "points", "final", "decision", "granted", "success", "status", "attrition", "exited",
    "subscribed", "survived", "readmitted",
}  # fmt: skip


@dataclass(frozen=True)
class Concern:
    """What is to be alike: the effect that measures it, in words, and which methods are made for it."""

    effect: str
    question: str
    words: str  # the effect in a sentence
    equalises: tuple[str, ...]
    smallest: float  # an effect below this needs no method: a share of the average error for errors


_MEANS = ("means", "means and covariances", "distributions")
CONCERNS: Mapping[str, Concern] = {
    "means": Concern(
        "scaled mean distance", "Do the groups lie in the same place?",
        "distance between group means (in standard deviations of the representation)", _MEANS, 0.1,
    ),
    "errors": Concern(
        "error gap", "Are all groups reconstructed equally well?", "largest less smallest error of a group",
        ("errors", "losses"), 0.02,
    ),
    "classification": Concern(
        "group AUC", "Can the group be predicted?", "AUC of the better of two classifiers of the group", _MEANS, 0.55,
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

    @property
    def verdict(self) -> str:
        """Whether an effect of PCA was shown."""
        return "significant" if self.significant else "inconclusive"

    @property
    def advice(self) -> str:
        """What to use, in a few words."""
        return {"": "nothing is recommended", PCA: "PCA will do"}.get(self.method, f"use {self.method}")

    @property
    def line(self) -> dict:
        """The same as a line of a table."""
        head = {"attribute": self.attribute, "concern": self.concern, "verdict": self.verdict, "method": self.method}
        return head | {"k": self.k} | dict(self.figures) | {"reason": " ".join(self.reason)}

    @property
    def sentence(self) -> str:
        """The answer in a line, with what it costs."""
        f = self.figures
        costs = [f"{one} {n(f[f'{one} before'])} to {n(f[f'{one} after'])}" for one in COSTS if f"{one} after" in f]
        return (
            f"{self.attribute}, {self.concern}: {CONCERNS[self.concern].effect} {n(f['effect'])} (95 % interval "
            f"{n(f['low'])} to {n(f['high'])}; 95 % null quantile {n(f['noise_q95'])}): {self.verdict}; {self.advice} "
            f"(k = {self.k}){': ' if costs else ''}{', '.join(costs)}."
        )


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
    nothing = f"These rows show no difference and rule out none of up to {n(effect['high'])}: more rows would tell."
    method, why = _method(found, what, effect) if significant else ("", [nothing])
    if method not in ("", PCA):
        after = found.row(what.effect, method)
        left = "still" if after["value"] > after["noise_q95"] else "not"
        why.append(f"What is left is {left} significant (null quantile {n(after['noise_q95'])}).")
        why.append(_certificate(found, method))
        figures |= {"after": after["value"], "after low": after["low"], "after high": after["high"]}
        for metric in COSTS if found.row("target AUC") is None else COSTS[:4]:
            for group in ("", *found.held_out[PCA].part.labels):
                of_group = "error" if group and metric == "average error" else metric
                for name, when in ((PCA, "before"), (method, "after")):
                    row = found.row(of_group, name, group=group)
                    if row is not None:
                        figures[f"{metric} {when}{', ' if group else ''}{group}"] = row["value"]
    return Recommendation(found.attribute, concern, found.k, method, significant, figures, (*why, found.why_k))


def _method(found: Analysis, what: Concern, effect: pd.Series) -> tuple[str, list[str]]:
    scale = found.held_out[PCA].average if what.effect == "error gap" else 1.0
    if effect["value"] < what.smallest * scale:
        size = f"{effect['value'] / scale:.1%} of the average error" if scale != 1.0 else n(effect["value"])
        return PCA, [f"That is small ({size}): this rule changes nothing below {what.smallest:g}."]
    made = [name for name in METHODS if METHODS[name].equalises in what.equalises and (name, found.k) in found.fits]
    able = [name for name in made if found.row(what.effect, name) is not None]
    if not able:
        told = f"{', '.join(made)}; the reasons stand with the methods" if made else "none was asked for"
        return "", [f"No method made for this has an answer with k = {found.k} ({told}): nothing is recommended."]
    effects = {name: found.row(what.effect, name)["value"] for name in able}
    gains = {name: _difference(found, what.effect, PCA, name) for name in able}
    better = [name for name in able if gains[name][0] > gains[name][1]]
    best = min(better or able, key=effects.get)
    if not better:
        return "", [
            f"No method improves on PCA significantly: {best} has {n(effects[best])}, PCA {n(effect['value'])}, and "
            f"differences of up to {n(gains[best][1])} are noise. Nothing is recommended."
        ]
    equal = [name for name in better if np.less_equal(*_difference(found, what.effect, name, best))]
    method = min(equal, key=lambda name: float(f"{found.held_out[name].average:.9g}"))  # of ties the first
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
    a, b = found.row(metric, one), found.row(metric, other)
    return a["value"] - b["value"], float(np.hypot(*((row["high"] - row["low"]) / 2.0 for row in (a, b))))


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
    found = [name for name in used if OUTCOMES & set(re.split("[^a-z0-9]+", name.lower()))]
    if sample.target is not None or not found:
        return ""
    return (
        f"Is {' or '.join(map(repr, found[:3]))} what is to be predicted? It is used as a feature now. With --target "
        f"(target={found[0]!r}) the report says how well it can be predicted before and after, and for whom."
    )
