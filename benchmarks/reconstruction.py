"""Speed of the reconstruction-error family, as ratios measured side by side in one process.

As in ``run.py``: both sides of a pair are timed in turn on the same data in every round, and the median, smallest and
largest ratio over the rounds are shown. The differences of values that are compared are printed below.
"""

import argparse

import numpy as np
from evenspan.reconstruction.samadi import run
from run import ratios
from scipy.linalg import eigh

from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import criteria_offsets, solve_multi_criteria
from evenspan.reconstruction.relaxation import relax


def two_groups(d: int, seed: int = 0, power: float = 1.0) -> np.ndarray:
    """Covariance matrices of two groups from d samples each of a distribution with eigenvalues 1 / j^power."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(2, d, d)) / np.arange(1, d + 1) ** (0.5 * power)
    return np.array([A.T @ A / d for A in factors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=1000, help="for the comparison with eigensolvers")
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    d, k = given.features, given.components
    small, middle = two_groups(60, 1), two_groups(22, 2)
    rates = [0.1, *np.linspace(0.25, 4.25, 17)]

    spectra = {"fast (1/j^2)": two_groups(d, power=2.0), "slow (1/sqrt j)": two_groups(d, power=0.5)}
    pairs = {}
    for name, S in spectra.items():
        for objective in ("loss", "error"):
            pairs[f"exact {objective} / full eigh, {name}"] = (
                lambda S=S, objective=objective: solve_min_max(*S, k, objective),
                lambda S=S: eigh(S[0], driver="evd"),
            )
    pairs |= {
        "exact min-max / weights, 1000 steps, one rate, d=22": (
            lambda: solve_min_max(*middle, 3),
            lambda: run(middle, 3, [0.1]),
        ),
        "weights with 18 rates / with one rate, d=22": (
            lambda: run(middle, 3, rates),
            lambda: run(middle, 3, [4.25]),
        ),
    }
    many = np.concatenate([two_groups(d, seed, power=0.6) for seed in range(8)])
    pairs[f"sixteen groups, rank 3 with its bound / weights, 100 steps, d={d}"] = (
        lambda: solve_multi_criteria(many, 3, "loss"),
        lambda: run(many, 3, [1.0], iterations=100, scale=True),
    )
    a = criteria_offsets(small, 5, "loss")
    pairs["relaxation / exact min-max, d=60"] = (lambda: relax(small, 5, a), lambda: solve_min_max(*small, 5))
    print(f"k = {k} at d = {d}, two groups, {given.rounds} rounds\n")
    print(f"{'ratio':<56}{'median':>10}{'min':>10}{'max':>10}")
    for name, (ours, reference) in pairs.items():
        r = ratios(ours, reference, given.rounds)
        print(f"{name:<56}{np.median(r):>10.2f}{r.min():>10.2f}{r.max():>10.2f}", flush=True)
    print()
    for name, S in spectra.items():
        found = solve_min_max(*S, k)[1]
        print(f"d={d}, {name}: value {found.primal:.10g}, relative gap {found.gap / found.primal:.1e}")
    (_, found), weighed = solve_multi_criteria(many, 3, "loss"), run(many, 3, [1.0], iterations=100, scale=True)[0]
    for name, value, bound in (
        ("bound and descent", found.primal, found.dual),
        ("weights", weighed.value, weighed.bound),
    ):
        print(f"sixteen groups, d={d}, {name}: value {value:.10g}, relative gap {(value - bound) / value:.1e}")
    value, exact = relax(small, 5, a).value, solve_min_max(*small, 5)[1].primal
    print(f"relaxation less exact, d=60: {value - exact:.1e} of {exact:.6g}")


if __name__ == "__main__":
    main()
