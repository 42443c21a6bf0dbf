"""Theorems of Vu et al. (2022): what the searches of ``theorems.ipynb`` share, and what follows from their numbers."""

from collections.abc import Callable, Mapping

import numpy as np

from evenspan.reconstruction.robust_descent import RobustObjective, radii

from ...claim_rules import HOLDS, IN_PART, NOT_SO, Answer, by_parts, by_share, by_truth, rule
from ...store import full
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


def plane_path(p, e, penalty, starts: np.ndarray, length: int) -> np.ndarray:
    """Algorithm 1 for the toy covariances: angles of U_0, ..., U_length, shape (length + 1, starts)."""
    f, path = RobustObjective.of(p, e, penalty), [np.array(starts)]
    for _ in range(length):
        c, s = np.cos(path[-1]), np.sin(path[-1])
        U, N = np.stack([c, s], axis=-1), np.stack([-s, c], axis=-1)
        images = np.einsum("gde,ne->ngd", COVARIANCES, U)
        gradient = f.gradient(np.maximum(np.einsum("ngd,nd->ng", images, U), 0.0))
        tangent = 2.0 * np.einsum("ng,ngd,nd->n", gradient, images, N)
        # Adding a tangent of length t to a unit vector and normalising turns it by arctan t.
        path.append(path[-1] - np.arctan(tangent / np.sqrt(length + 1.0)))
    return np.array(path)


def proximal(F, angle: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Moreau envelope at the angles, and the proximal gap |prox - U| / mu: by grid and ternary search."""

    def value(turn):
        return F(angle + turn) + (1.0 - np.cos(turn)) / mu

    # |U' - U|^2 / (2 mu) is at most F(U) - min F, which keeps the turn well inside this.
    grid = np.linspace(-1.0, 1.0, 31)
    turn = grid[np.stack([value(turn) for turn in grid]).argmin(axis=0)]
    low, high = turn - (grid[1] - grid[0]), turn + (grid[1] - grid[0])
    for _ in range(42):
        third = (high - low) / 3.0
        left = value(low + third) <= value(high - third)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    turn = np.where(value(0.5 * (low + high)) < F(angle), 0.5 * (low + high), 0.0)
    return np.minimum(value(turn), F(angle)), 2.0 * np.abs(np.sin(0.5 * turn)) / mu


# -- claims: judged by what the searches found -------------------------------------------------------------------------

#: Penalties for which some claims hold.
UP_TO = "up to the smaller share"

#: By claim: the answer to the numbers of its search, as :func:`~.readings.over_problems` gives them.
SEARCHED: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    # One counter-example to "only if" is enough.
    "V01": lambda found: by_truth(found["violation"] < rule("V01", "rounding") <= found["gap of the toy"]),
    "V02": lambda found: by_truth(found["violation"] < rule("V02", "searched")),
    "V03": lambda found: by_truth(
        found["violation"] < rule("V03", "searched")
        and found["problems"] >= rule("V03", "cases")
        and found["without the conditions"] > rule("V03", "control")
    ),
    "V04": lambda found: by_truth(max(found["violation"], found[UP_TO]) <= rule("V04", "rounding")),
    "V05": lambda found: by_truth(max(found["violation"], found[UP_TO]) <= rule("V05", "rounding")),
    "V06": lambda found: by_truth(
        found["violation"] < rule("V06", "differences") and found["problems"] > rule("V06", "points")
    ),
    "V07": lambda found: by_truth(max(found["violation"], found[UP_TO]) <= 0),
    "V08": lambda found: (
        NOT_SO if found["violation"] > 0 else HOLDS if found["fitted exponent"] <= rule("V08", "exponent") else IN_PART
    ),
    "V09": lambda found: by_truth(
        found["violation"] < rule("V09", "same subspace") and found["control"] > rule("V09", "control")
    ),
    "V10": lambda found: by_parts(
        [
            found["smallest slack"] > rule("V10", "widest slack"),
            found["smallest angle"] > rule("V10", "same subspace"),
        ]
    ),
    "V11": lambda found: by_truth(found["violation"] < rule("V11", "degrees")),
}


def searched(claim: str) -> Answer:
    """The answer to a theorem by the stored numbers of its search."""
    found = over_problems(full("vu2022-theorems", protocol=claim)).loc[claim].to_dict()
    return Answer(SEARCHED[claim](found), found)


def heavy_penalty() -> Answer:
    """V13: the limit of a growing penalty against the min-max loss, which the method that is named minimises."""
    rows = full("vu2022-theorems", protocol="V13")
    off = rows.pivot(index="split", columns="metric", values="value").rename(columns={"violation": "min-max loss"})
    equal = (off < rule("V13", "same subspace")).sum(axis=0)
    numbers = {f"limit is the {name}": f"{count} of {len(off)}" for name, count in equal.items()}
    return Answer(by_share(int(equal["min-max loss"]), len(off), rule("V13", "in part from")), numbers)


def radius_and_group_size() -> Answer:
    """V25: the ratio of the radii of a group and of one four times as large, by the formula used."""
    small, large = radii([100, 400], 0.1)
    same = abs(large / small - rule("V25", "ratio")) < rule("V25", "rounding")
    return Answer(by_truth(same), {"radius of a group four times as large": float(large / small)})


claims = {claim: lambda claim=claim: searched(claim) for claim in SEARCHED}
claims |= {"V13": heavy_penalty, "V25": radius_and_group_size}
