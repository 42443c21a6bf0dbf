"""The answers to the theorem claims of vu2022, and that each search can come out the other way."""

import numpy as np
import pandas as pd
import pytest

from compendium.catalogue import experiment
from compendium.papers.vu2022 import methods, theorems
from compendium.papers.vu2022.readings import over_problems
from compendium.protocol import asked
from evenspan.reconstruction.min_max import solve_min_max

ANSWERS = {
    "V01": "does not hold", "V02": "holds", "V03": "holds", "V04": "does not hold", "V05": "does not hold",
    "V06": "holds", "V07": "does not hold", "V08": "holds", "V09": "holds", "V10": "holds in part",
    "V11": "does not hold", "V13": "does not hold", "V25": "does not hold",
}  # fmt: skip


def test_answers():
    assert {claim: function().here for claim, function in theorems.claims.items()} == ANSWERS


@pytest.fixture(scope="module")
def search():
    """The function of a unit of the notebook, whose cells define what it uses."""
    entry = experiment("vu2022-theorems")
    return asked(entry, entry.complete({}))[1]


@pytest.mark.parametrize(
    ("claim", "name", "planted", "answer"),
    [
        # No direction with equal errors.
        ("V01", "COVARIANCES", np.array([np.diag([3.0, 2.0]), np.diag([1.0, 0.5])]), "holds"),
        ("V02", "worst_case", lambda v, q, e: v * (q + e), "does not hold"),
        ("V03", "closed_form", methods.printed_objective, "does not hold"),
        # Penalties below the smaller share only.
        ("V04", "GRID", (), "holds"),
        # The larger constant, a sum.
        ("V07", "constants", lambda *given: (theorems.constants(*given)[1],) * 2, "holds"),
        # A descent that does not move.
        ("V08", "plane_path", lambda p, e, penalty, starts, n: np.tile(starts, (n + 1, 1)), "holds in part"),
        ("V11", "printed_objective", methods.closed_form, "holds"),
    ],
)
def test_what_is_planted_is_noticed(search, monkeypatch, claim, name, planted, answer):
    monkeypatch.setitem(search.__globals__, name, planted)
    found = over_problems(pd.DataFrame(search(claim))).loc[claim]
    assert theorems.judged(claim, found) == answer


def test_the_limit_is_compared_with_the_method_that_is_named(reads, search, monkeypatch):
    monkeypatch.setitem(search.__globals__, "solve_min_max", lambda *given: solve_min_max(*given[:3], "error"))
    reads(theorems, pd.DataFrame(search("V13")))
    assert theorems.heavy_penalty().here == "holds in part", "with the other objective it does on most pairs"


def test_a_radius_inverse_to_the_size_would_be_noticed(monkeypatch):
    monkeypatch.setattr(theorems, "radii", lambda counts, alpha: alpha / np.asarray(counts))
    assert theorems.radius_and_group_size().here == "holds"
