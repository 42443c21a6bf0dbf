"""What the samples needed depend on, factor by factor; rare groups, centring, and the order of the gap's eigenvalues.

Every factor changes one thing of the gap-controlled population. Fairness is measured on the exact answer for estimated
directions, optimality with the true directions given, so that each needs one phase only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

from evenspan.representation.noisy_power import random_basis

from . import lee2023_judge as judge
from .lee2023_learnability_protocol import (
    BASE,
    BLOCKS,
    GAPS,
    SEED,
    SHARED,
    Setting,
    begin,
    feed,
    fresh,
    gap_controlled,
    given_directions,
    judged,
)

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "size", "blocks", "parameter"]
#: Rows of a block and runs for each, in the experiments on factors; runs in the others.
SIZES, RUNS, SPECIAL_RUNS = (316, 1000, 3162), 20, 20


@dataclass(frozen=True)
class Factor:
    """A quantity that is varied: its levels, the population at a level, and how the bound grows with it.

    Parameters
    ----------
    levels : tuple of float
        Values of the factor.
    population : callable
        The setting at a level.
    bound : mapping of str to float
        For eps_f and eps_o, the largest exponent with which the factor enters the bound on the samples.
    center : str
        Centring of the first phase.
    against : callable
        What the exponent is taken with respect to, for a setting and a level; the level itself by default.
    blocks : callable
        Blocks of the two phases at a level. Where eigenvalues come near each other the iteration itself needs more.
    """

    levels: tuple[float, ...]
    population: Callable[[float], Setting]
    bound: dict[str, float]
    center: str = "none"
    against: Callable[[Setting, float], float] = lambda case, level: level
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
DIRECTIONS, COMPONENTS = "exact answer for estimated U", "true directions given"
EMBEDDED_FACTORS = ("m", "scale of group gaps")


def growth(factor: str, runs: int, sizes: tuple[int, ...] = SIZES) -> pd.DataFrame:
    """Both gaps and the angles behind them, for every level of a factor, size and run."""
    chosen, rows = FACTORS[factor], []
    for level in chosen.levels:
        case, blocks = chosen.population(level), chosen.blocks(level)
        for size in sizes:
            for seed in range(runs):
                power = begin(case, (seed, size), center=chosen.center)
                feed(power, fresh(case, size, seed), blocks[0]).end_gap_phase()
                fair = judged(case, case.exact(power.U), power)
                best = given_directions(begin(case, (seed, size)), case.U)
                best = judged(case, feed(best, fresh(case, size, seed), blocks[1]).basis)
                key = (case.k, seed, f"growth in {factor}")
                for method, found, number, names in (
                    (DIRECTIONS, fair, blocks[0], ("eps_f", "sine of W")),
                    (COMPONENTS, best, blocks[1], ("eps_o", "eps_o relative", "sine of V")),
                ):
                    at = (size, number, chosen.against(case, level))
                    rows += [(case.name, method, *key, name, found[name], *at) for name in names]
    return pd.DataFrame(rows, columns=COLUMNS)


# -- a rare group ---------------------------------------------------------------------------------------------------

#: Share of the rare group, rows of a block and number of blocks.
RARE = {"p": 0.02, "size": 50, "blocks": 400}
RELEASED = "released"
#: What happens where a group is missing, and from how many rows of each group on a step is made.
ON_MISSING = {
    "skip": ("skip", 1),
    "carry": ("carry", 1),
    "carry to 20 rows": ("carry", 20),
    "carry to 100 rows": ("carry", 100),
}


def rare_group(runs: int) -> pd.DataFrame:
    """The first phase where most blocks hold one or no row of the rare group."""
    # Means this close leave the second moments about zero, which the released program takes, with the same directions.
    near = {"mean_norm": 0.5, "p": RARE["p"], "name": "gap-controlled, rare group"}
    case = gap_controlled(d=20, shared=(3.0, 2.0), gaps=(5.0, -4.5), **near)
    rows, size = [], RARE["size"]
    for seed in range(runs):
        W, missing = released(case, fresh(case, size, seed), RARE["blocks"], np.random.default_rng((SEED, seed)))
        found = {RELEASED: (W, missing)}
        for name, (on_missing, least) in ON_MISSING.items():
            power = begin(case, (seed, size), on_missing=on_missing, min_group=least)
            feed(power, fresh(case, size, seed), RARE["blocks"])
            found[name] = power.W, sum(entry["skipped"] for entry in power.history)
        for method, (W, without) in found.items():
            values = {"sine of W": judge.subspace_sine(W, case.P), "blocks without a step": without / RARE["blocks"]}
            rows += [
                (case.name, method, case.k, seed, "rare group", metric, value, size, RARE["blocks"], RARE["p"])
                for metric, value in values.items()
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


def released(case: Setting, blocks: Iterator, number: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The first phase as the authors' program does it, and how many of its products were zero.

    It weights the sum over each group by the number of rows of the other. Without one group the product is zero, and
    its orthonormal factor, which does not depend on the data, takes the place of everything learnt before.
    """
    W, zeros = random_basis(case.pair.d, case.m, rng, np.float64), 0
    for X, groups in islice(blocks, number):
        inside = groups == 1
        n_1 = int(inside.sum(axis=0))
        products = [X[rows].T @ (X[rows] @ W) for rows in (~inside, inside)]
        gap = (len(X) - n_1) * products[1] - n_1 * products[0]
        zeros += not gap.any()
        W = np.linalg.qr(gap).Q
    return W, zeros


# -- centring, and the order of eigenvalues ---------------------------------------------------------------------------

SHIFTS = (0.0, 1.5, 3.0)
CENTRE_SIZE = 1000
CENTRES = {"none": "about zero", "global": "about the running mean", "group": "about the group means"}


def centre(runs: int) -> pd.DataFrame:
    """Both phases about zero, the running mean or the group means, as the overall mean moves away from zero."""
    rows = []
    for length in SHIFTS:
        case = gap_controlled().shifted(length)
        for seed in range(runs):
            for center, name in CENTRES.items():
                power, blocks = begin(case, (seed, CENTRE_SIZE), center=center), fresh(case, CENTRE_SIZE, seed)
                feed(power, blocks, BLOCKS).end_gap_phase()
                found = judged(case, feed(power, blocks, BLOCKS).basis, power)
                if length:
                    mean = case.pair.moments().mean
                    found["share of the mean in W"] = float(np.linalg.norm(power.W.T @ mean) / np.linalg.norm(mean))
                key, at = (case.name, name, case.k, seed, "shifted mean"), (CENTRE_SIZE, BLOCKS, length)
                rows += [(*key, metric, value, *at) for metric, value in found.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


#: Gaps, and how many directions are asked for. In the last case both orders agree.
ORDERS = (((5.0, -8.0, 3.0), 1), ((5.0, -8.0, 3.0), 2), ((-8.0, -6.0, 5.0, 4.0), 2), ((8.0, 5.0, -3.0), 2))
SIGNED, ABSOLUTE = "sine to the largest", "sine to the largest in absolute value"


def order(runs: int) -> pd.DataFrame:
    """Which eigenvectors of the gap the first phase finds: those of the largest values, or of the largest sizes."""
    rows = []
    for number, (gaps, m) in enumerate(ORDERS):
        case = gap_controlled(d=30, gaps=gaps, m=m)
        values, vectors = np.linalg.eigh(case.pair.covariance_difference)
        largest = {SIGNED: vectors[:, np.argsort(-values)[:m]], ABSOLUTE: vectors[:, np.argsort(-np.abs(values))[:m]]}
        for seed in range(runs):
            power = begin(case, (seed, CENTRE_SIZE), center="group")
            feed(power, fresh(case, CENTRE_SIZE, seed), BLOCKS)
            rows += [
                (order_name(number), "phase 1", case.k, seed, "order of eigenvalues", metric,
                 judge.subspace_sine(power.W, target), CENTRE_SIZE, BLOCKS, m)
                for metric, target in largest.items()
            ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def order_name(number: int) -> str:
    """A case of ``ORDERS`` in words."""
    gaps, m = ORDERS[number]
    return f"gaps {', '.join(f'{gap:g}' for gap in gaps)}; m = {m}"


SPECIAL: dict[str, Callable[[int], pd.DataFrame]] = {
    "rare group": rare_group,
    "shifted mean": centre,
    "order of eigenvalues": order,
}
