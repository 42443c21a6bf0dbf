"""Speed of joint diagonalisation, as ratios to one eigendecomposition of the same size, measured side by side.

As in ``run.py``: both sides of a pair are timed in turn on the same data in every round, and the median, smallest and
largest ratio over the rounds are shown, with the number of steps. Matrices that share their eigenvectors up to sampling
error need few steps; how near they come to sharing them is shown by what is left beside the diagonals.
"""

import argparse

import numpy as np
from run import ratios
from scipy.linalg import eigh

from compendium.papers.rathore2025.jacobi import jacobi_diagonalise
from evenspan.reconstruction.joint_diagonalisation import joint_diagonalise


def two_groups(d: int, rows: int, power: float, common: bool, seed: int = 0) -> np.ndarray:
    """Covariance matrices of two samples with variances near 1 / j^power, along common directions or each its own."""
    rng = np.random.default_rng(seed)
    spread = np.arange(1, d + 1) ** (-0.5 * power)
    if common:
        factors = rng.normal(size=(2, rows, d)) * spread * np.exp(0.25 * rng.normal(size=(2, 1, d)))
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        factors = factors @ Q
    else:
        factors = np.array([rng.normal(size=(rows, d)) * spread @ _near_one(d, rng) for _ in range(2)])
    return factors.transpose(0, 2, 1) @ factors / rows


def _near_one(d: int, rng: np.random.Generator) -> np.ndarray:
    """A random rotation by moderate angles."""
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    return np.linalg.solve(np.eye(d) - 0.25 * (A - A.T), np.eye(d) + 0.25 * (A - A.T))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    d = given.features
    spectra = {
        "common directions, 100 d rows": two_groups(d, 100 * d, 1.0, True),
        "common directions, 10 d rows": two_groups(d, 10 * d, 1.0, True),
        "common directions, 2 d rows": two_groups(d, 2 * d, 1.0, True),
        "own directions, fast (1/j^2)": two_groups(d, 2 * d, 2.0, False),
        "own directions, slow (1/j)": two_groups(d, 2 * d, 1.0, False),
    }
    print(f"d = {d}, two matrices, {given.rounds} rounds; over one eigh(driver='evd')\n")
    print(f"{'joint_diagonalise':<48}{'median':>8}{'min':>8}{'max':>8}{'steps':>7}{'left':>9}{'above':>9}")
    for name, S in spectra.items():
        finest = joint_diagonalise(S).criterion
        middle = np.trace(S, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
        left = finest / float(((S - middle) ** 2).sum(axis=None))
        for rtol in (1e-7, 1e-10):
            r = ratios(
                lambda S=S, rtol=rtol: joint_diagonalise(S, rtol=rtol),
                lambda S=S: eigh(S[0], driver="evd", check_finite=False),
                given.rounds,
            )
            found = joint_diagonalise(S, rtol=rtol)
            label = f"{name}, rtol={rtol:g}"
            steps = f"{found.n_iter}{'' if found.status == 'converged' else '+'}"
            print(
                f"{label:<48}{np.median(r):>8.1f}{r.min():>8.1f}{r.max():>8.1f}{steps:>7}{left:>9.0e}"
                f"{found.criterion / finest - 1.0:>9.0e}",
                flush=True,
            )
    print("\nsteps: + where 300 were not enough; left: share of the squares that stays beside the diagonals;")
    print("above: how far the criterion is above that with rtol=1e-10")
    S = two_groups(60, 120, 1.0, True)
    r = ratios(lambda: jacobi_diagonalise(S), lambda: joint_diagonalise(S), given.rounds)
    difference = joint_diagonalise(S).criterion / jacobi_diagonalise(S).criterion - 1.0
    print(
        f"\ncyclic Jacobi / rotations of all pairs at once, d = 60: {np.median(r):.1f}, values differ by "
        f"{difference:.0e}"
    )


if __name__ == "__main__":
    main()
