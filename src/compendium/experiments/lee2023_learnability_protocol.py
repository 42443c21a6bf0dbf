"""The populations of the learnability experiments, their true answers, and the two phases run on fresh rows.

The phases are those of :class:`~evenspan.representation.StreamingFairPCA`, driven one by one, so that the second can
be given the true directions and the first can be followed by the exact answer for the directions it found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from evenspan import metrics
from evenspan.representation.noisy_power import FairPowerMethod, PowerOptions, batch_sums
from evenspan.representation.null_it_out import NullItOutPCA, constrained_components, contrasts

from ..data.synthetic_gaps import GaussianPair, authors_pair, gap_controlled_pair
from . import lee2023_judge as judge

SEED = 2023
#: Blocks in each phase, as in the authors' program.
BLOCKS = 25
LABELS = np.array([0, 1])
#: The gap-controlled population, from which every other one differs in one thing.
BASE, SHARED, GAPS, MEAN_NORM = 0.5, (6.0, 5.0, 4.0), (5.0, -4.5, 4.0, -3.5), 2.0


@dataclass(frozen=True, eq=False)
class Setting:
    """A population with the numbers of components and of gap directions, and the true answer for it."""

    name: str
    pair: GaussianPair
    k: int
    m: int

    @cached_property
    def fitted(self) -> NullItOutPCA:
        """The exact solution for the moments of the population: covariances about the mean."""
        return NullItOutPCA(self.k, self.m).fit_moments(self.pair.moments())

    @property
    def U(self) -> np.ndarray:
        """All directions to be removed, (d, m + 1)."""
        return self.fitted.nullified_.T

    @property
    def P(self) -> np.ndarray:
        """Directions of the covariance gap, (d, m)."""
        return self.fitted.gap_directions_.T

    @property
    def V(self) -> np.ndarray:
        """The best components without them, (d, k)."""
        return self.fitted.components_.T

    def exact(self, U: np.ndarray) -> np.ndarray:
        """The best components without the directions U, for the true covariance."""
        return constrained_components(self.pair.covariance, U, self.k)[0]

    def shifted(self, length: float) -> "Setting":
        """The same with both means moved by a vector of random direction, orthogonal to their difference."""
        f = self.pair.mean_difference
        move = np.random.default_rng((SEED, 7)).standard_normal(self.pair.d)
        move -= f * (move @ f) / (f @ f)
        return replace(self, pair=self.pair.shifted(length * move / np.linalg.norm(move)))


def gap_controlled(
    d=60, shared=SHARED, gaps=GAPS, p=0.5, mean_norm=MEAN_NORM, k=None, m=None, name="gap-controlled"
) -> Setting:
    """The population with prescribed gaps; k and m are the numbers of large variances and gaps unless given."""
    pair = gap_controlled_pair(d, shared, BASE, gaps, mean_norm, p, SEED)
    return Setting(name, pair, len(shared) if k is None else k, len(gaps) if m is None else m)


def setting(name: str) -> Setting:
    """One of the three populations of the main experiment."""
    return {
        "gap-controlled": gap_controlled,
        # The poster states d, k and m; a gap of rank m is our reading.
        "authors d=10": lambda: Setting(name, authors_pair(10, 0.5, 3, 1.0, 0.3, 3.0, 1.0, SEED), 2, 3),
        "authors d=30": lambda: Setting(name, authors_pair(30, 0.5, 3, 2.0, 0.3, 4.0, 2.0, SEED), 3, 3),
    }[name]()


NAMES = ("gap-controlled", "authors d=10", "authors d=30")


def fresh(case: Setting, size: int, *seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows that no other run and no other size has seen."""
    return iter(case.pair.stream(size, (SEED, *seed, size)))


def begin(case: Setting, seed: tuple[int, ...], *, center="none", on_missing="carry", min_group=1) -> FairPowerMethod:
    """The method before its first block, with a random start."""
    options = PowerOptions(case.k, case.m, "all", center, on_missing, min_group)
    d, rng = case.pair.d, np.random.default_rng((SEED, *seed, 0))
    return FairPowerMethod.begin(options, LABELS, contrasts(LABELS), np.zeros(d), np.dtype(np.float64), rng)


def feed(power: FairPowerMethod, blocks: Iterator[tuple[np.ndarray, np.ndarray]], number: int) -> FairPowerMethod:
    """Steps of the current phase with so many blocks."""
    for X, groups in islice(blocks, number):
        power.add(batch_sums(X, groups, 2, power.operand()))
        power.end_block()
    return power


def given_directions(power: FairPowerMethod, U: np.ndarray) -> FairPowerMethod:
    """The second phase with directions that were not estimated."""
    power.U, power.phase = U, "components"
    return power


def judged(case: Setting, V: np.ndarray, power: FairPowerMethod | None = None) -> dict[str, float]:
    """Everything measured of an answer, and of the first phase before it where there was one."""
    moments, C = case.pair.moments(), case.pair.covariance
    found = {
        "eps_o": judge.optimality_gap(V, case.V, C),
        "eps_o relative": judge.optimality_gap(V, case.V, C, relative=True),
        "eps_f": judge.fairness_gap(V, case.U),
        "sine of V": judge.subspace_sine(V, case.V),
        "mean gap": metrics.mean_gap(moments, V),
        "covariance gap": metrics.covariance_gap(moments, V),
    }
    if power is not None:
        found["sine of W"] = judge.subspace_sine(power.W, case.P)
        found["sine of f"] = judge.direction_sine(power.mean_gaps[:, 0], case.pair.mean_difference)
    return found
