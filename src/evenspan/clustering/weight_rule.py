"""How much fairness: the rule of the paper for the fairness weight."""

from collections.abc import Callable
from dataclasses import dataclass

from ..core.cluster_counts import ClusterCounts
from ..core.errors import FairWarning
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.options import Option, Options, number, one_of, option
from .estimator import WEIGHT


class WorseWeightWarning(FairWarning):
    """The search for a fairness weight ended at one that is less fair than another that it tried."""


@dataclass(frozen=True)
class WeightRule(Options):
    r"""Raise the fairness weight until fairness stops improving, and take the last one.

    The weights are :math:`\lambda = 1, 2, 3, \dots` with the defaults, all from the same start; the first at which MNCE
    rises by at most ``tolerance`` over the one before is the last. While MNCE is 0, the least fair value there is, the
    search does not end and the weight doubles: in this it differs from the rule of the paper, which can end there.

    Parameters
    ----------
    start, step : float
        The first weight, and what is added from one to the next.
    tolerance : float
        A rise of MNCE up to this is none.
    max_weight : float
        Weights above this are not tried; the search then ends undecided, which is recorded.

    References
    ----------
    Zhou, Li and Du (2024), whose program ends at the first weight that brings no rise, also at MNCE 0.

    Examples
    --------
    >>> from evenspan import WeightRule
    >>> WeightRule().search(lambda weight: (f"clusters of {weight:g}", min(weight, 3.0) / 3.0))
    ('clusters of 4', [1.0, 2.0, 3.0, 4.0], True)
    """

    start: float = option(WEIGHT, default=1.0)
    step: float = option(
        Option(number(0.0, low_open=True).allows, "a number above 0, otherwise the weight never rises"), default=1.0
    )
    tolerance: float = option(number(0.0), default=0.005)
    max_weight: float = option(WEIGHT, default=1000.0)

    def __post_init__(self):
        self._check_options()
        number(self.start).require("max_weight", self.max_weight)

    def search(self, evaluate: Callable[[float], tuple[object, float]]) -> tuple[object, list[float], bool]:
        """Try weights until the rule ends.

        Parameters
        ----------
        evaluate : callable
            ``evaluate(weight)`` gives a result and its MNCE.

        Returns
        -------
        tuple
            The result of the last weight, all weights tried, and whether the rule ended, rather than the weights.
        """
        weight, before, tried, result = self.start, 0.0, [], None
        while weight <= self.max_weight:
            result, mnce = evaluate(weight)
            tried.append(float(weight))
            if mnce == 0.0:
                weight = min(2.0 * weight, self.max_weight) if 0.0 < weight < self.max_weight else weight + self.step
                continue
            if not mnce - before > self.tolerance:  # nor can a NaN rise, the MNCE of a single group
                return result, tried, True
            weight, before = weight + self.step, mnce
        return result, tried, False


#: The fairness weight, or how it is found.
WEIGHT_OR_RULE = Option(lambda value: isinstance(value, WeightRule), "a WeightRule") | WEIGHT | one_of("auto")


def settle(
    fairness_weight, solve: Callable[[float], tuple[object, ClusterCounts, dict]]
) -> tuple[object, float, list[dict]]:
    """Solve for the weight given, or for those that a rule asks for: the last result, its weight, and what was tried.

    ``solve(weight)`` gives a result, its counts, and what else is recorded of it.
    """
    if not isinstance(fairness_weight, str | WeightRule):
        return solve(float(fairness_weight))[0], float(fairness_weight), []
    rule, search = WeightRule() if isinstance(fairness_weight, str) else fairness_weight, []

    def evaluate(weight: float) -> tuple[object, float]:
        result, counts, facts = solve(weight)
        search.append({"fairness_weight": weight, "mnce": counts.mnce, "balance": counts.balance, **facts})
        return result, counts.mnce

    result, weights, decided = rule.search(evaluate)
    best, end = max(search, key=lambda one: one["mnce"]), search[-1]
    if not decided:
        warn_caller(
            f"MNCE still rose, or was still 0, at the largest weight tried, {weights[-1]:g}. Raise max_weight.",
            NotConvergedWarning,
        )
    elif best["mnce"] - end["mnce"] > rule.tolerance:
        warn_caller(
            f"the rule ended at the weight {weights[-1]:g} with MNCE {end['mnce']:.3g}, but the weight "
            f"{best['fairness_weight']:g} reached {best['mnce']:.3g}. Pass that weight.",
            WorseWeightWarning,
        )
    return result, weights[-1], search
