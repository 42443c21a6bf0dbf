"""The theorems of Zhou et al. (2024): the bound of Theorem 2, and what the searches of ``theorems.ipynb`` say of each.

A statement about all cases does not hold if one case contradicts it, and holds in part if all contradictions lie
outside a condition under which it can be proved.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ... import store
from ...claim_rules import HOLDS, IN_PART, NOT_SO, Answer, by_truth, rule

#: The probability with which Theorem 2 may fail.
DELTA = 0.05


def bound(
    n: int, c: int, t: int, largest: float, weight: float, *, b: float = 1.0, delta: float = DELTA,
    shift: float | None = None,
) -> float:  # fmt: skip
    """What Theorem 2 adds to the empirical error, as printed; it fails with a probability of at most ``delta``.

    For n samples in c clusters and t groups, the largest of which has ``largest`` of them; ``b`` is the largest entry
    of the kernels. The shift is that of the algorithm, ``weight * largest``, unless another one is given.
    """
    top = b + (weight * largest if shift is None else shift)
    bracket = (1 + c**2) * top - (1 + c**2 / t) * weight + c * np.sqrt(2 * (top - weight) * (top - weight / t))
    last = 4 * top - 2 * (1 + 1 / t) * weight
    return float(2 * np.sqrt(2 * np.pi / n) * bracket + last * np.sqrt(np.log(1 / delta) / (2 * n)))


def largest_error(largest: float, weight: float, b: float = 1.0) -> float:
    """What the error never exceeds when every centre is a mean of samples: the largest squared distance of two samples.

    Two samples of one group with the kernel value -b: 2 (b + shift - weight) + 2 (b + weight).
    """
    return 4 * b + 2 * weight * largest


# -- answers: each from the numbers that the search of its claim stored ------------------------------------------------

Found = Mapping[str, float]


def maximal_fairness(found: Found) -> str:
    """Z01: proved where a proportional clustering exists."""
    if found["outside the bounds"] or found["misses, proportional"]:
        return NOT_SO
    return IN_PART if any(number for name, number in found.items() if name.startswith("misses")) else HOLDS


def difference_of_matrices(found: Found) -> str:
    """Z02: the eigenvalues of the difference."""
    return by_truth(found["largest violation"] <= rule("Z02", "rounding"))


def shifted_kernel(found: Found) -> str:
    """Z03: proved for one kernel; of several the shift enters the weights."""
    rounding = rule("Z03", "rounding")
    one = found["runs with the same moves"] == found["tried"] and found["objective apart"] < rounding
    if not one or found["largest violation"] > rounding:
        return NOT_SO
    return IN_PART if found["several kernels, another best clustering"] else HOLDS


def weight_update(found: Found) -> str:
    """Z04: no other weights are better, and a solver finds the same."""
    best = found["largest violation"] <= rule("Z04", "rounding")
    return by_truth(best and found["weights apart"] < rule("Z04", "same weights"))


def convergence(found: Found) -> str:
    """Z05: no step raises the objective, and every run ends."""
    return by_truth(found["largest violation"] <= rule("Z05", "rounding") and found["converged"] == found["tried"])


def generalisation(found: Found) -> str:
    """Z06: for clusterings of the algorithm and for short centres; the function class contains far ones as well."""
    near = max(found["clusterings that fail"] / found["tried"], found["share that fails, centre of length 1"])
    return NOT_SO if near > DELTA else IN_PART if found["control"] > DELTA else HOLDS


def expressions(found: Found) -> str:
    """Z07: the second expression is no larger, and a larger shift widens the difference."""
    largest = max(found["largest violation"], found["largest fall with a larger shift"])
    return by_truth(largest <= rule("Z07", "rounding"))


JUDGED: dict[str, Callable[[Found], str]] = {
    "Z01": maximal_fairness,
    "Z02": difference_of_matrices,
    "Z03": shifted_kernel,
    "Z04": weight_update,
    "Z05": convergence,
    "Z06": generalisation,
    "Z07": expressions,
}


def answer(claim: str) -> Callable[[], Answer]:
    """A function that gives the answer of the stored search of a claim, with all that it counted."""

    def answered() -> Answer:
        rows = store.full("zhou2024-theorems", method=claim)
        pairs = zip(rows["metric"], rows["value"], strict=True)
        found = {name: int(value) if value.is_integer() else value for name, value in pairs}
        return Answer(JUDGED[claim](found), found)

    return answered
