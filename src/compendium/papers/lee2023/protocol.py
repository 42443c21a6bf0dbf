"""Made populations with their true answers, the two phases run on fresh rows, and the evaluation of an answer.

The phases are those of :class:`~evenspan.representation.StreamingFairPCA`, driven one by one.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, tee
from typing import Any

import numpy as np

from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import top_eigenspace
from evenspan.representation.noisy_power import FairPowerMethod, batch_sums, random_basis
from evenspan.representation.null_it_out import NullItOutPCA, constrained_components, contrasts

from ...data.synthetic import GaussianPair, authors_pair, gap_controlled_pair

SEED, BLOCKS = 2023, 25  # blocks in each phase, as in the authors' program
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

    #: All directions to be removed, (d, m + 1); those of the covariance gap, (d, m); the best components without them.
    U = property(lambda self: self.fitted.nullified_.T)
    P = property(lambda self: self.fitted.gap_directions_.T)
    V = property(lambda self: self.fitted.components_.T)

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
BOTH, GIVEN, EXACT = EXPERIMENTS = ("both phases estimated", "true directions given", "exact answer for estimated U")


def chosen(names: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``known`` that a text names, with commas between them; none of them for an empty text."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigurationError(f"there is no {', '.join(unknown)}; known are {', '.join(known)}.")
    return {name: known[name] for name in wanted}


def fresh(case: Setting, size: int, *seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows that no other run and no other size has seen; drawn once for all methods that see them in turn."""
    return copy(_drawn(case.pair, size, seed))


@lru_cache(maxsize=1)
def _drawn(pair: GaussianPair, size: int, seed: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return tee(pair.stream(size, (SEED, *seed, size)), 1)[0]


def begin(case: Setting, seed: tuple[int, ...], *, center="none", on_missing="carry", min_group=1) -> FairPowerMethod:
    """The method before its first block, with a random start."""
    origin, rng = np.zeros(case.pair.d), np.random.default_rng((SEED, *seed, 0))
    options = {"constraint": "all", "center": center, "on_missing": on_missing, "min_group": min_group}
    return FairPowerMethod.begin(
        case.k, case.m, LABELS, contrasts(LABELS), origin, np.dtype(np.float64), rng, **options
    )


def feed(power: FairPowerMethod, blocks: Iterator[tuple[np.ndarray, np.ndarray]], number: int) -> FairPowerMethod:
    """Steps of the current phase with so many blocks."""
    for X, groups in islice(blocks, number):
        power.step(batch_sums(X, groups, 2, power.operand()))
    return power


def estimated(case: Setting, seed: tuple[int, int], number: int, **options) -> tuple[FairPowerMethod, Iterator]:
    """The first phase of a run with blocks of a size (``seed``), and the blocks that are left for the second."""
    power, stream = begin(case, seed, **options), fresh(case, seed[1], seed[0])
    feed(power, stream, number).end_gap_phase()
    return power, stream


def with_directions(case: Setting, seed: tuple[int, int], number: int) -> np.ndarray:
    """The components after the second phase with the true directions."""
    power = begin(case, seed)
    power.U, power.phase = case.U, "components"
    return feed(power, fresh(case, seed[1], seed[0]), number).basis


def optimality_gap(V: np.ndarray, target: np.ndarray, covariance: np.ndarray, *, relative: bool = False) -> float:
    r"""Variance that V keeps less than the target: :math:`\operatorname{tr}(T^\top \Sigma T - V^\top \Sigma V)`.

    Below zero where V violates the constraints and keeps more; ``relative`` to the most that k directions can keep."""
    lost = float(np.einsum("dk,dk->", target, covariance @ target)) - float(np.einsum("dk,dk->", V, covariance @ V))
    return lost / float(top_eigenspace(covariance, V.shape[1])[0].sum(axis=0)) if relative else lost


def fairness_gap(V: np.ndarray, U: np.ndarray) -> float:
    r""":math:`\lVert U^\top V \rVert_2` for forbidden directions U: sine of the largest angle to their complement."""
    return float(np.linalg.norm(U.T @ V, ord=2)) if U.shape[1] else 0.0


def subspace_sine(V: np.ndarray, target: np.ndarray) -> float:
    r"""Sine of the largest angle between two subspaces, :math:`\lVert T - V V^\top T \rVert_2`; orthonormal columns."""
    return float(np.linalg.norm(target - V @ (V.T @ target), ord=2)) if target.shape[1] else 0.0


def evaluate(case: Setting, V: np.ndarray, power: FairPowerMethod | None = None) -> dict[str, float]:
    """Everything measured of an answer, and of the first phase before it where there was one."""
    moments, C = case.pair.moments(), case.pair.covariance
    found = {
        "eps_o": optimality_gap(V, case.V, C),
        "eps_o relative": optimality_gap(V, case.V, C, relative=True),
        "eps_f": fairness_gap(V, case.U),
        "sine of V": subspace_sine(V, case.V),
        "mean gap": metrics.mean_gap(moments, V),
        "covariance gap": metrics.covariance_gap(moments, V),
    }
    if power is not None:
        found["sine of W"] = subspace_sine(power.W, case.P)
        lines = (power.mean_gaps[:, 0], case.pair.mean_difference)
        found["sine of f"] = subspace_sine(*(a[:, None] / np.linalg.norm(a) for a in lines))
    return found


def shares_left(pair: GaussianPair, V: np.ndarray) -> dict[str, float]:
    """Variance kept, as a share of what PCA can keep, and what is left of the two gaps, as shares of their sizes."""
    moments = pair.moments()
    best = top_eigenspace(pair.covariance, V.shape[1])[1]
    return {
        "variance kept": 1.0 - optimality_gap(V, best, pair.covariance, relative=True),
        "mean gap": metrics.mean_gap(moments, V) / float(np.linalg.norm(pair.mean_difference)),
        "covariance gap": metrics.covariance_gap(moments, V) / metrics.covariance_gap(moments),
    }


@dataclass(frozen=True)
class Factor:
    """A quantity that is varied: its levels, the population at a level, and how the bound grows with it."""

    levels: tuple[float, ...]
    population: Callable[[float], Setting]
    #: For eps_f and eps_o, the largest exponent with which the factor enters the bound on the samples.
    bound: dict[str, float]
    #: Centring of the first phase.
    center: str = "none"
    #: What the exponent is taken with respect to, for a setting and a level.
    against: Callable[[Setting, float], float] = lambda case, level: level
    #: Blocks of the two phases at a level. Where eigenvalues come near each other the iteration itself needs more.
    blocks: Callable[[float], tuple[int, int]] = lambda level: (BLOCKS, BLOCKS)


def alternating(m: int) -> np.ndarray:
    """Gaps of m directions with alternating signs; the smallest has size 3.5 for every m."""
    return np.linspace(5.0, 3.5, m + 1)[1:] * (-1.0) ** np.arange(m)


FACTORS = {
    # The bound has d; the directions left to err in are fewer by those that are kept or removed.
    "d": Factor((30, 60, 120, 240), lambda d: gap_controlled(d=int(d)), {"eps_f": 1, "eps_o": 1},
                against=lambda case, d: d - case.k - case.m - 1),
    "k": Factor((1, 2, 4, 8), lambda k: gap_controlled(shared=np.linspace(6.0, 4.0, int(k) + 1)[1:]),
                {"eps_f": 2, "eps_o": 2}),
    "m": Factor((1, 2, 4, 8), lambda m: gap_controlled(gaps=alternating(int(m))), {"eps_f": 1, "eps_o": 0}),
    # About group means: about zero the gap matrix itself would change with p.
    "p": Factor((0.5, 0.25, 0.1, 0.05), lambda p: gap_controlled(p=p), {"eps_f": -1, "eps_o": 0}, center="group"),
    # The next eigenvalue comes nearer, and all others stay: no variance changes its size with the gap. It has the sign
    # of the last one removed: eigenvalues of opposite sign are far from each other whatever their absolute values.
    "gap of groups": Factor((0.75, 1.5, 3.0), lambda gap: gap_controlled(gaps=(*GAPS, gap - 3.5), m=len(GAPS)),
                            {"eps_f": -3, "eps_o": 0}, blocks=lambda gap: (round(3 * BLOCKS / gap), BLOCKS)),
    "gap of variances": Factor((0.75, 1.5, 3.0), lambda gap: gap_controlled(shared=(*SHARED, 4.0 - gap), k=len(SHARED)),
                               {"eps_f": -2, "eps_o": -3}, blocks=lambda gap: (BLOCKS, round(3 * BLOCKS / gap))),
    "scale of group gaps": Factor((0.5, 1.0, 2.0), lambda c: gap_controlled(gaps=c * np.array(GAPS)),
                                  {"eps_f": -3, "eps_o": 0}),
    "scale of all gaps": Factor((0.5, 1.0, 2.0), lambda c: gap_controlled(
        gaps=c * np.array(GAPS), shared=BASE + c * (np.array(SHARED) - BASE)), {"eps_f": -3, "eps_o": -3}),
}  # fmt: skip


#: Share of the rare group, rows of a block and number of blocks.
RARE, RELEASED = {"p": 0.02, "size": 50, "blocks": 400}, "released"
#: Gaps, and how many directions are asked for. In the last case both orders agree.
ORDERS = (((5.0, -8.0, 3.0), 1), ((5.0, -8.0, 3.0), 2), ((-8.0, -6.0, 5.0, 4.0), 2), ((8.0, 5.0, -3.0), 2))
SIGNED, ABSOLUTE = "sine to the largest", "sine to the largest in absolute value"


def released(case: Setting, blocks: Iterator, number: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The first phase as the authors' program does it, and how many of its products were zero.

    Without one group the product is zero: its factor, which knows no data, replaces everything learnt before."""
    W, zeros = random_basis(case.pair.d, case.m, rng, np.float64), 0
    for X, groups in islice(blocks, number):
        inside = groups == 1
        n_1 = int(inside.sum(axis=0))
        products = [X[rows].T @ (X[rows] @ W) for rows in (~inside, inside)]
        gap = (len(X) - n_1) * products[1] - n_1 * products[0]
        zeros += not gap.any()
        W = np.linalg.qr(gap).Q
    return W, zeros


def order_name(gaps: tuple[float, ...], m: int) -> str:
    """A case of ``ORDERS`` in words."""
    return f"gaps {', '.join(f'{gap:g}' for gap in gaps)}; m = {m}"
