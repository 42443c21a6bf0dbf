"""Theorems of Vu et al. (2022): what the searches of ``theorems.ipynb`` share, and what follows from their numbers."""

from collections.abc import Callable
from functools import partial

import numpy as np

from evenspan.reconstruction.robust_descent import RobustObjective, radii

from ...claim_rules import Answer, Rows, by_share, by_truth, rule, unjudged
from ...store import MissingNumbersError
from .protocol import COVARIANCES
from .readings import over_problems


def random_pair(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two positive definite matrices of unequal size and shape, and shares."""
    roots = rng.normal(size=(2, d, d)) * rng.lognormal(sigma=0.7, size=(2, 1, d))
    share = rng.uniform(0.1, 0.9)
    return roots.swapaxes(1, 2) @ roots / d, np.array([share, 1.0 - share])


def complement_errors(M: np.ndarray, U: np.ndarray) -> np.ndarray:
    """<UU', M_g> of every group g, shape (..., groups): its error if U (..., d, d - k) spans what is left out."""
    return np.stack([np.einsum("...dk,de,...ek->...", U, S, U) for S in M], axis=-1)


def constants(M, p, e, penalty, columns: int) -> tuple[float, float]:
    """The printed constant (9), a maximum of terms, and the one that the triangle inequality gives, a sum."""
    largest, total = [], []
    steep = [np.linalg.eigvalsh(S)[-1] / np.sqrt(np.linalg.eigvalsh(S)[0]) for S in M]
    for a, b in ((0, 1), (1, 0)):
        values = np.linalg.eigvalsh((p[a] + penalty) * M[a] + (p[b] - penalty) * M[b])
        roots = (p[a] + penalty) * np.sqrt(e[a]) * steep[a], abs(p[b] - penalty) * np.sqrt(e[b]) * steep[b]
        largest += [2 * roots[0], 2 * roots[1], 2 * np.sqrt(columns) * values[-1]]
        # Where C is indefinite its spectral norm, and not the largest eigenvalue, bounds the change.
        total.append(2 * sum(roots) + 2 * np.sqrt(columns) * np.abs(values).max())
    return float(max(largest)), float(max(total))


def plane_objective(p, e, penalty) -> Callable[[np.ndarray], np.ndarray]:
    """F of the toy covariances as a function of the angle of U in the plane."""
    f = RobustObjective.of(p, e, penalty)
    first, second, cross = 0.5 * COVARIANCES[:, 0, 0], 0.5 * COVARIANCES[:, 1, 1], COVARIANCES[:, 0, 1]

    def F(angle):
        turn = np.cos(2 * angle)[..., None] * (first - second) + np.sin(2 * angle)[..., None] * cross
        return f.value(first + second + turn)

    return F


#: Penalties for which some claims hold.
UP_TO = "up to the smaller share"
#: By claim: numbers of its search, as :func:`~.readings.over_problems` gives them, each with the rule that limits it.
BELOW = {
    "V01": {"violation": "rounding"},
    "V02": {"violation": "searched"},
    "V03": {"violation": "searched"},
    "V04": {"violation": "rounding", UP_TO: "rounding"},
    "V05": {"violation": "rounding", UP_TO: "rounding"},
    "V06": {"violation": "differences"},
    "V09": {"violation": "same subspace"},
    "V11": {"violation": "degrees"},
}
ABOVE = {
    "V01": {"gap of the toy": "rounding"},  # one counter-example to "only if" is enough
    "V03": {"without the conditions": "control"},
    "V09": {"control": "control"},
    "V10": {"smallest slack": "widest slack", "smallest angle": "same subspace"},
}
#: The least number of problems, by its rule, and numbers that two claims need beside those of the rules.
TRIED = {"V03": "cases", "V06": "points"}
NEEDED = {"V07": {"violation", UP_TO}, "V08": {"violation", "fitted exponent"}}


def searched(claim: str, rows: Rows) -> Answer:
    """The answer to a theorem by the numbers of its search; none by fewer problems than its rule asks for."""
    found = over_problems(rows("vu2022-theorems", protocol=claim)).loc[claim].dropna().to_dict()
    for name in NEEDED.get(claim, {*BELOW.get(claim, {}), *ABOVE.get(claim, {})}):
        if name not in found:
            raise MissingNumbersError(f"none of the problems of vu2022-theorems that were tried gives {claim}, {name}")
    if found["problems"] < (least := rule(claim, TRIED[claim]) if claim in TRIED else 0):
        raise MissingNumbersError(f"{claim} is judged by {least:g} problems; {found['problems']:g} were tried")
    parts = [found[name] <= rule(claim, limit) for name, limit in BELOW.get(claim, {}).items()]
    parts += [found[name] >= rule(claim, limit) for name, limit in ABOVE.get(claim, {}).items()]
    if claim == "V07":
        parts = [max(found["violation"], found[UP_TO]) <= 0]
    return Answer(by_truth(all(parts), claim == "V10" and any(parts)), found)


def heavy_penalty(rows: Rows) -> Answer:
    """V13: the limit of a growing penalty against the smallest larger *error*, which the paper says Samadi et al. seek.

    Beside it the smallest larger loss, which the method of Samadi et al. minimises."""
    off = (
        rows("vu2022-theorems", protocol="V13")
        .pivot(index="split", columns="metric", values="value")
        .rename(columns={"violation": "min-max loss"})
    )
    equal = (off < rule("V13", "same subspace")).sum(axis=0)
    numbers = {f"limit is the {name}": f"{count} of {len(off)}" for name, count in equal.items()}
    return Answer(by_share(int(equal["min-max error"]), len(off), rule("V13", "in part from")), numbers)


def radius_and_group_size(rows: Rows) -> Answer:
    """V25: the ratio of the radii of a group and of one four times as large, by the formula used."""
    small, large = radii([100, 400], 0.1)
    same = abs(large / small - rule("V25", "ratio")) < rule("V25", "rounding")
    return Answer(by_truth(same), {"radius of a group four times as large": float(large / small)})


claims = {claim: partial(searched, claim) for claim in sorted({*BELOW, *ABOVE, "V07"})}
claims["V08"] = unjudged(
    "an upper bound that lies far above every gap, by its constant and by its exponent", partial(searched, "V08")
)
claims |= {"V13": heavy_penalty, "V25": radius_and_group_size}
