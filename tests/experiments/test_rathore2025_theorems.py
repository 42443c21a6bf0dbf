"""The theorems of Rathore and Manwani (2025): answers from what was tried, and that each can come out otherwise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from compendium.papers.rathore2025 import claims, theorems
from compendium.records import whole
from compendium.store import full
from evenspan.reconstruction.joint_diagonalisation import joint_criterion, joint_diagonalise
from evenspan.reconstruction.min_max import solve_min_max

CLAIMS = claims.CLAIMS[claims.THEOREMS]
ANSWERS = {
    "R01": "holds", "R02": "holds", "R03": "does not hold", "R04": "does not hold", "R05": "does not hold",
    "R26": "holds in part",
}  # fmt: skip


def test_answers():
    assert {claim: function().here for claim, function in CLAIMS.items()} == ANSWERS


@pytest.mark.parametrize(
    ("claim", "method", "metric", "value", "answer"),
    [
        ("R01", "exact solver", "difference", 0.1, "does not hold"),
        ("R01", "control", "difference", 0.0, "holds in part"),
        ("R02", "orthonormal", "difference", 0.1, "does not hold"),
        ("R02", "control", "difference", 0.0, "does not hold"),
        ("R03", "columns of U", "difference", 0.0, "holds"),
        ("R04", "", "difference", 0.0, "holds"),
        ("R05", "Algorithm 1", "difference", 0.0, "holds"),
        ("R26", "rotations", "difference", 0.0, "holds"),
        ("R26", "rotations", "above Jacobi", 0.1, "does not hold"),
    ],
)
def test_other_rows_give_another_answer(reads, claim, method, metric, value, answer):
    rows = full(claims.THEOREMS)
    changed = rows["protocol"].eq(claim) & rows["method"].str.startswith(method) & rows["metric"].eq(metric)
    reads(claims, rows.assign(value=rows["value"].mask(changed, value)))
    assert CLAIMS[claim]().here == answer


def stretched(S, mode="paper", **settings):
    found = joint_diagonalise(S, "orthogonal", **settings)
    return replace(found, U=found.U * (1.0 + 1e-6))


rotation = theorems.rotation


@pytest.mark.parametrize(
    ("claim", "name", "planted", "answer"),
    [
        ("R01", "solve_min_max", lambda A, B, k, kind: solve_min_max(A, B, k, "error"), "does not hold"),
        ("R02", "rotation", lambda rng, d: 1.1 * rotation(rng, d), "does not hold"),
        # A criterion that sees lengths.
        ("R04", "joint_criterion", lambda U, S: joint_criterion(U, S) + np.linalg.norm(U.T @ U - np.eye(5)), "holds"),
        ("R05", "joint_diagonalise", lambda S, mode="", **given: joint_diagonalise(S, "orthogonal", **given), "holds"),
        ("R05", "joint_diagonalise", stretched, "does not hold"),
    ],
)
def test_what_is_planted_is_noticed(cells_of, reads, monkeypatch, claim, name, planted, answer):
    space = cells_of(claims.THEOREMS, datasets="npha", pairs=2)
    monkeypatch.setitem(space, name, planted)
    monkeypatch.setattr(theorems, name, planted, raising=False)
    rows = space["on_data"]("npha") if claim == "R05" else space["CLAIMS"][claim]()
    reads(claims, whole(pd.DataFrame(rows)))
    assert CLAIMS[claim]().here == answer


def test_the_counterexample_and_the_search():
    """No column with equal losses, and a better projection that is no joint eigenvector."""
    S = np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])])
    one = theorems.column_choices(S, np.eye(3)).query("r == 1")
    assert one[["loss of A", "loss of B"]].round(9).to_numpy().tolist() == [[0, 5], [1, 3], [3, 0]]
    assert one["optimum"].iloc[0] == pytest.approx(1.8, abs=1e-9)
    assert theorems.brute_force(S, 1, np.random.default_rng(0))[0] == pytest.approx(1.8, abs=1e-6)
