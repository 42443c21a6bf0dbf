"""How much fairness: the rule of the paper for the fairness weight, and its variations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import ConfigurationError
from ..inputs import whole_number
from .estimator import number_at_least


@dataclass(frozen=True)
class WeightRule:
    r"""Raise the fairness weight until fairness stops improving, and take the last one.

    With the defaults, the rule of the paper: :math:`\lambda = 1, 2, 3, \dots` from the same start, ended by the first
    weight at which MNCE rises by at most ``tolerance``. Before the first weight MNCE counts as 0.

    Parameters
    ----------
    first, step : float
        The first weight, and what is added from one to the next.
    growth : float
        Factor from one step to the next; 2 doubles the steps.
    tolerance : float
        A rise of MNCE up to this is none.
    patience : int
        How many weights in a row must bring no rise over the best so far; the paper's rule has 1.
    largest : float
        Weights above this are not tried; the search then ends undecided, which is recorded.

    References
    ----------
    Zhou, Li and Du (2024); the rule is that of the released program.
    """

    first: float = 1.0
    step: float = 1.0
    growth: float = 1.0
    tolerance: float = 0.005
    patience: int = 1
    largest: float = 1000.0

    def __post_init__(self):
        for name, least in (("first", 0.0), ("tolerance", 0.0), ("growth", 1.0), ("largest", self.first)):
            number_at_least(name, getattr(self, name), least)
        if number_at_least("step", self.step, 0.0) == 0.0:
            raise ConfigurationError("step=0; needed is a number above 0, otherwise the weight never rises.")
        whole_number("patience", self.patience, 1)

    def weights(self) -> Iterator[float]:
        """The weights in the order in which they are tried.

        Yields
        ------
        float
        """
        weight, step = float(self.first), float(self.step)
        while weight <= self.largest:
            yield weight
            weight, step = weight + step, step * self.growth

    def search(self, evaluate: Callable[[float], tuple[object, float]]) -> tuple[object, list[float], bool]:
        """Try weights until the rule ends.

        Parameters
        ----------
        evaluate : callable
            ``evaluate(weight)`` gives a result and its MNCE.

        Returns
        -------
        result : object
            That of the last weight tried.
        weights : list of float
            All weights tried.
        decided : bool
            Whether the rule ended, rather than the weights.
        """
        tried, best, waited, result = [], 0.0, 0, None
        for weight in self.weights():
            result, mnce = evaluate(weight)
            tried.append(weight)
            # with a single group MNCE does not exist (NaN) and nothing can rise
            waited = 0 if mnce - best > self.tolerance else waited + 1
            if waited >= self.patience:
                return result, tried, True
            # the paper compares neighbours; with patience a rise must be one over the best so far
            best = mnce if self.patience == 1 else max(best, mnce)
        return result, tried, False
