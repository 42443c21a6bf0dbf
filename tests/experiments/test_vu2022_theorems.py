"""The answers to the theorem claims of vu2022, and that each search can come out the other way."""

import numpy as np
import pytest

from compendium.experiments import vu2022_convergence as convergence
from compendium.experiments import vu2022_theorems as theorems

EXPECTED = {
    "V01": "does not hold",
    "V02": "holds",
    "V03": "holds",
    "V04": "does not hold",
    "V05": "does not hold",
    "V06": "holds",
    "V07": "does not hold",
    "V08": "holds",
    "V09": "holds",
    "V10": "holds in part",
    "V11": "does not hold",
    "V13": "holds in part",
    "V25": "does not hold",
}


def test_every_theorem_claim_is_here():
    assert set(theorems.claims) == set(EXPECTED)


@pytest.mark.parametrize("claim", sorted(EXPECTED))
def test_answers(claim):
    answer, evidence, _ = theorems.claims[claim]()
    assert answer == EXPECTED[claim], evidence
    assert evidence.endswith(".")


def test_no_fair_direction_no_counter_example(monkeypatch):
    monkeypatch.setattr(theorems, "COVARIANCES", np.array([np.diag([3.0, 2.0]), np.diag([1.0, 0.5])]))
    assert theorems.fair_projection_iff_low_rank().here == "holds"


def test_a_wrong_worst_case_is_noticed(monkeypatch):
    monkeypatch.setattr(theorems, "worst_case", lambda v, q, e: v * (q + e))
    assert theorems.worst_case_formula().here == "does not hold"


def test_a_wrong_reformulation_is_noticed(monkeypatch):
    monkeypatch.setattr(theorems, "closed_form", theorems.printed_objective)
    assert theorems.reformulation().here == "does not hold"


def test_below_the_smaller_share_all_is_well(monkeypatch):
    monkeypatch.setattr(theorems, "GRID", ())
    assert theorems.weight_matrices_semidefinite().here == "holds"


def test_a_wrong_subgradient_is_noticed(monkeypatch):
    right = convergence.printed_branch
    monkeypatch.setattr(convergence, "printed_branch", lambda q, p, e, penalty, a: right(1.1 * q, p, e, penalty, a))
    assert convergence.subgradient().here == "does not hold"


def test_a_larger_constant_would_do(monkeypatch):
    right = convergence.constants
    monkeypatch.setattr(convergence, "constants", lambda *given: (right(*given)[1],) * 2)
    assert convergence.lipschitz().here == "holds"


def test_a_descent_that_stands_still_does_not_decay(monkeypatch):
    right = convergence.plane_path

    def still(p, e, penalty, starts, length):
        path, steepness = right(p, e, penalty, starts, length)
        return np.broadcast_to(path[0], path.shape), steepness

    monkeypatch.setattr(convergence, "plane_path", still)
    assert convergence.decay().here != "holds"


def test_restored_theorem_b2_has_the_right_minimiser(monkeypatch):
    monkeypatch.setattr(theorems, "printed_objective", theorems.closed_form)
    assert theorems.several_groups_as_printed().here == "holds"


def test_radii_inverse_to_the_size_would_be_found(monkeypatch):
    monkeypatch.setattr(theorems, "radii", lambda counts, alpha: alpha / np.asarray(counts))
    assert theorems.radius_and_group_size().here == "holds"
