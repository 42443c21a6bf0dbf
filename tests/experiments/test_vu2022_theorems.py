"""The answers to the theorem claims of vu2022, and that each search can come out the other way."""

import numpy as np
import pytest

from compendium.papers.vu2022 import theorems

ANSWERS = {
    "V01": "does not hold", "V02": "holds", "V03": "holds", "V04": "does not hold", "V05": "does not hold",
    "V06": "holds", "V07": "does not hold", "V08": "holds", "V09": "holds", "V10": "holds in part",
    "V11": "does not hold", "V13": "holds in part", "V25": "does not hold",
}  # fmt: skip
branch, constants, path = theorems.printed_branch, theorems.constants, theorems.plane_path


def test_answers():
    found = {claim: function() for claim, function in theorems.claims.items()}
    assert {claim: answer.here for claim, answer in found.items()} == ANSWERS
    assert all(answer.numbers.endswith(".") for answer in found.values())


def still(p, e, penalty, starts, length):
    """A descent that does not move."""
    angles, steepness = path(p, e, penalty, starts, length)
    return np.broadcast_to(angles[0], angles.shape), steepness


@pytest.mark.parametrize(
    ("claim", "name", "planted", "answer"),
    [
        # No direction with equal errors.
        ("V01", "COVARIANCES", np.array([np.diag([3.0, 2.0]), np.diag([1.0, 0.5])]), "holds"),
        ("V02", "worst_case", lambda v, q, e: v * (q + e), "does not hold"),
        ("V03", "closed_form", theorems.printed_objective, "does not hold"),
        # Penalties below the smaller share only.
        ("V04", "GRID", (), "holds"),
        ("V06", "printed_branch", lambda q, p, e, penalty, a: branch(1.1 * q, p, e, penalty, a), "does not hold"),
        # The larger constant, a sum.
        ("V07", "constants", lambda *given: (constants(*given)[1],) * 2, "holds"),
        ("V08", "plane_path", still, "holds in part"),
        ("V11", "printed_objective", theorems.closed_form, "holds"),
        ("V25", "radii", lambda counts, alpha: alpha / np.asarray(counts), "holds"),
    ],
)
def test_what_is_planted_is_noticed(monkeypatch, claim, name, planted, answer):
    monkeypatch.setattr(theorems, name, planted)
    assert theorems.claims[claim]().here == answer
