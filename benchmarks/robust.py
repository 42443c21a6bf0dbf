"""Speed of robust fair PCA: the exact solver on the paper's whole grid beside the published descent on one point of it.

As in ``run.py``: both sides of a pair are timed in turn on the same data in every round, and the median, smallest and
largest ratio over the rounds are shown. The data are shipped moments of whole tables, standardised.
"""

import argparse
import itertools

import numpy as np
from run import ratios

from compendium.data import group_moments
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.robust_descent import descend
from evenspan.reconstruction.robust_exact import solve_exact

GRID = list(itertools.product((0.05, 0.1, 0.15), (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["wine_quality", "biodeg", "german_credit"])
    parser.add_argument("--components", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"k = {given.components}, 18 points of the grid, 20 starts of 1000 steps, {given.rounds} rounds\n")
    print(f"{'ratio':<56}{'median':>10}{'min':>10}{'max':>10}{'excess':>10}")
    for name in given.data:
        moments = group_moments(name).standardised()
        matrices, k = group_matrices(moments), given.components

        def exact(matrices=matrices, moments=moments, k=k):
            joint = JointRange(*matrices, k)
            return [
                solve_exact(joint, moments.counts / moments.n, alpha / np.sqrt(moments.counts), penalty)[1].primal
                for alpha, penalty in GRID
            ]

        def descent(settings, matrices=matrices, moments=moments, k=k, **options):
            rng = np.random.default_rng(0)
            return descend(matrices, moments.counts, k, settings, restarts=20, iterations=1000, rng=rng, **options)

        excess = float((descent(GRID).objective / exact() - 1.0).max())
        one = ratios(exact, lambda: descent(GRID[4:5], warm_start=False), given.rounds)
        whole = ratios(exact, lambda: descent(GRID), given.rounds)
        for text, r in (("one point", one), ("18 points in one batch", whole)):
            label = f"{name}: exact grid / descent, {text}"
            print(f"{label:<56}{np.median(r):>10.3f}{r.min():>10.3f}{r.max():>10.3f}{excess:>10.1e}", flush=True)
    print(
        "\nexcess: how far the best start of the descent stays above the exact optimum, at the worst point of the grid"
    )


if __name__ == "__main__":
    main()
