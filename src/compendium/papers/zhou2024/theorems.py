"""The theorems of Zhou et al. (2024): the bound of Theorem 2, and the answers of the searches of ``theorems.ipynb``.

A statement about all cases does not hold if one case contradicts it, and holds in part if all contradictions lie
outside a condition under which it can be proved.
"""

from collections.abc import Mapping

import numpy as np

from ...claim_rules import Answer, Rows, by_truth, rule

CLAIMS = ("Z01", "Z02", "Z03", "Z04", "Z05", "Z06", "Z07")
DELTA = 0.05


def bound(n: int, c: int, t: int, largest: float, weight: float, *, b=1.0, delta=DELTA, shift=None) -> float:
    """What Theorem 2 adds to the empirical error, as printed; it fails with a probability of at most ``delta``.

    The largest of t groups has ``largest`` of n samples; b is the largest entry of the kernels."""
    top = b + (weight * largest if shift is None else shift)
    bracket = (1 + c**2) * top - (1 + c**2 / t) * weight + c * np.sqrt(2 * (top - weight) * (top - weight / t))
    last = 4 * top - 2 * (1 + 1 / t) * weight
    return float(2 * np.sqrt(2 * np.pi / n) * bracket + last * np.sqrt(np.log(1 / delta) / (2 * n)))


def largest_error(largest: float, weight: float, b: float = 1.0) -> float:
    """The largest squared distance of two samples, of one group and with the kernel value -b: no error exceeds it."""
    return 4 * b + 2 * weight * largest


def evaluate_search(claim: str, found: Mapping[str, float]) -> str:
    """The answer to a claim from what its search counted."""
    if claim == "Z06":  # for clusterings of the algorithm and short centres; the function class has far ones as well
        near = max(found["clusterings that fail"] / found["tried"], found["share that fails, centre of length 1"])
        return by_truth(max(near, found["control"]) <= DELTA, near <= DELTA)
    if claim == "Z01":  # proved where a proportional clustering exists
        exact = not (found["outside the bounds"] or found["misses, proportional"])
        missed = any(number for name, number in found.items() if name.startswith("misses"))
        return by_truth(exact and not missed, exact)
    rounding = rule(claim, "rounding")
    exact = found["largest violation"] <= rounding
    if claim == "Z03":  # proved for one kernel; of several the shift enters the weights
        exact = exact and found["runs with the same moves"] == found["tried"] and found["objective apart"] < rounding
        return by_truth(exact and not found["several kernels, another best clustering"], exact)
    if claim == "Z04":  # a solver finds the same weights
        exact = exact and found["weights apart"] < rule("Z04", "same weights")
    if claim == "Z05":
        exact = exact and found["converged"] == found["tried"]
    if claim == "Z07":  # a larger shift widens the difference
        exact = exact and found["largest fall with a larger shift"] <= rounding
    return by_truth(exact)


def answer(claim: str, rows: Rows) -> Answer:
    """The answer of the search of a claim, with all that it counted."""
    values = rows("zhou2024-theorems", method=claim).set_index("metric")["value"]
    found = {name: int(value) if value.is_integer() else value for name, value in values.items()}
    return Answer(evaluate_search(claim, found), found)
