"""What the released program of zhou2024 does and the library does not: its rule for the fairness weight."""

from dataclasses import dataclass
from typing import ClassVar

from evenspan.clustering.weight_rule import WeightRule


@dataclass(frozen=True)
class PublishedRule(WeightRule):
    """The rule of the paper as released: it also ends at MNCE 0, if the second weight leaves MNCE there."""

    ends_at_zero: ClassVar[bool] = True
