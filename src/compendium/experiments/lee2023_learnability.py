"""Learnability (PAFO) of the fair noisy power method: the three experiments on errors, and what the samples depend on.

Each of the three is run with blocks of 10 to 10,000 rows, fresh in every block: both phases estimated; the true
directions given, so that only optimality can be missed; directions estimated and the exact answer for them, so that
only fairness can.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError

from . import lee2023_learnability_effects as effects
from .claim_rules import IN_PART, Answer
from .lee2023_learnability_claims import BOTH as BOTH
from .lee2023_learnability_claims import EXACT, EXPERIMENTS, GIVEN
from .lee2023_learnability_claims import claims as measured
from .lee2023_learnability_protocol import BLOCKS, NAMES, Setting, begin, feed, fresh, given_directions, judged, setting
from .lee2023_theorems import claims as theorems
from .lee2023_theorems import learns_equal_means

COLUMNS = effects.COLUMNS
#: Rows of a block, and runs for each size; those of every build are fewer.
SIZES, RUNS = tuple(round(10**e) for e in np.linspace(1.0, 4.0, 7)), 40
EMBEDDED_SIZES, EMBEDDED_RUNS = (10, 100, 316, 1000), 6
#: Share of the runs that may be worse than what is reported.
DELTA = 0.1


def tasks() -> list[dict]:
    """A unit of work for each population and experiment, for each factor, and for the three special effects."""
    slopes = [{"part": "slopes", "generator": name, "experiment": which} for name in NAMES for which in EXPERIMENTS]
    growth = [{"part": "growth", "factor": name} for name in effects.FACTORS]
    return slopes + growth + [{"part": name} for name in effects.SPECIAL]


def run_task(part: str, generator: str = "", experiment: str = "", factor: str = "") -> pd.DataFrame:
    """One of them with the sizes of the protocol."""
    if part == "slopes":
        return slope_rows(setting(generator), experiment, SIZES, RUNS)
    if part == "growth":
        return effects.growth(factor, effects.RUNS)
    return effects.SPECIAL[part](effects.SPECIAL_RUNS)


def run(delta: float) -> pd.DataFrame:
    """Everything with few runs, and blocks of at most 1000 rows."""
    if delta != DELTA:
        raise ConfigurationError(f"delta={delta}; the protocol drops the worst tenth of the runs.")
    frames = [
        slope_rows(setting(name), which, EMBEDDED_SIZES, EMBEDDED_RUNS) for name in NAMES for which in EXPERIMENTS
    ]
    frames += [effects.growth(factor, 4, effects.SIZES[:2]) for factor in effects.EMBEDDED_FACTORS]
    frames += [special(3) for special in effects.SPECIAL.values()]
    return pd.concat(frames, ignore_index=True)


def slope_rows(case: Setting, experiment: str, sizes: Iterable[int], runs: int) -> pd.DataFrame:
    """All measures for every run and size of one experiment."""
    rows = []
    for size in sizes:
        for run_number in range(runs):
            found = one_run(case, experiment, size, run_number)
            rows += [
                (case.name, experiment, case.k, run_number, "slopes", metric, value, size, BLOCKS, 1.0)
                for metric, value in found.items()
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


def one_run(case: Setting, experiment: str, size: int, seed: int) -> dict[str, float]:
    """What is measured after one run with blocks of ``size`` rows."""
    power, blocks = begin(case, (seed, size)), fresh(case, size, seed)
    if experiment == GIVEN:
        found = judged(case, feed(given_directions(power, case.U), blocks, BLOCKS).basis)
        return {name: found[name] for name in ("eps_o", "eps_o relative", "eps_f", "sine of V")}
    feed(power, blocks, BLOCKS).end_gap_phase()
    if experiment == EXACT:
        found = judged(case, case.exact(power.U), power)
        return {name: found[name] for name in ("eps_o", "eps_o relative", "eps_f", "sine of W", "sine of f")}
    return judged(case, feed(power, blocks, BLOCKS).basis, power)


def learnable() -> Answer | None:
    """L03: the rates on a population with a mean gap, and whether the loss falls at all without one (g = 0)."""
    rates = measured["L03"]()
    if rates is None:
        return None
    equal_means = learns_equal_means()
    answer = rates.here if rates.here == equal_means.here else IN_PART
    return Answer(answer, f"{rates.evidence} {equal_means.evidence}")


claims = {**theorems, **measured, "L03": learnable}
