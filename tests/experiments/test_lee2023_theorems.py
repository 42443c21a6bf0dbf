"""The answers to L01 and L02, and that each search can come out the other way."""

import numpy as np
import pytest

from compendium.experiments import lee2023_theorems as theorems
from evenspan.core.linalg import complement
from evenspan.representation import NullItOutPCA

EXPECTED = {"L01": "holds in part", "L02": "does not hold"}


@pytest.mark.parametrize("claim", sorted(EXPECTED))
def test_answers(claim):
    answer, evidence, _ = theorems.claims[claim]()
    assert answer == EXPECTED[claim], evidence
    assert evidence.endswith(".")
    assert len(evidence) < 600


def test_nothing_contradicts_the_equivalence_where_rows_abound(monkeypatch):
    monkeypatch.setattr(theorems, "SPARE_ROWS", (1, 2, 40))
    assert theorems.equivalent_programs().here == "holds"


@pytest.mark.parametrize("spare", [-1, 0])
def test_one_row_decides(monkeypatch, spare):
    """With k + m + 2 rows the projected covariance has rank k (n - 1 less m + 1), with one row less it has k - 1."""
    monkeypatch.setattr(theorems, "SPARE_ROWS", (spare, 40))
    assert theorems.equivalent_programs()[0] == ("holds" if spare == 0 else "holds in part")


def test_a_wrong_solver_is_noticed(monkeypatch):
    class Smallest(NullItOutPCA):
        def fit_moments(self, moments):
            super().fit_moments(moments)
            self.components_ = complement(np.vstack([self.components_, self.nullified_]).T).T[: len(self.components_)]
            return self

    monkeypatch.setattr(theorems, "NullItOutPCA", Smallest)
    assert theorems.equivalent_programs().here == "does not hold"


def test_a_projector_that_does_not_project_is_noticed(monkeypatch):
    right = theorems.projected_covariance
    monkeypatch.setattr(theorems, "projected_covariance", lambda Sigma, U: right(Sigma, U[:, 1:]))
    assert theorems.equivalent_programs().here == "does not hold"


def test_a_rival_within_the_feasible_directions_contradicts_nothing(monkeypatch):
    def inside(vectors, carries, U, k):
        return np.linalg.qr(np.hstack([vectors[:, carries], complement(np.hstack([vectors[:, carries], U]))])[:, :k])[0]

    monkeypatch.setattr(theorems, "rival_maximiser", inside)
    assert theorems.equivalent_programs().here == "holds"


def feasible(d):
    return [(k, m) for k in range(1, d) for m in range(1, d) if k + m + 1 <= d]


def test_where_the_removed_directions_leave_k_all_is_defined(monkeypatch):
    monkeypatch.setattr(theorems, "admitted", feasible)
    assert theorems.defined_everywhere().here == "holds"


def test_a_solver_that_refuses_is_noticed(monkeypatch):
    monkeypatch.setattr(theorems, "admitted", feasible)
    monkeypatch.setattr(theorems, "solvable", lambda moments, k, m: False)
    assert theorems.defined_everywhere().here == "does not hold"


def test_mean_gap_inside_the_gap_directions_leaves_one_more(monkeypatch):
    """With f in the span of P_m only m directions are removed, and k = d - m is feasible."""
    rng = np.random.default_rng(3)
    moments = theorems.few_rows(5, 40, rng)
    P = theorems.removed(moments, 2)[:, :2]
    assert not theorems.solvable(moments, 3, 2)
    inside = type(moments)(moments.labels, moments.counts, np.array([0 * P[:, 0], P @ [1.0, 2.0]]), moments.scatters)
    fitted = NullItOutPCA(3, 2).fit_moments(inside)
    assert len(fitted.nullified_) == 2
    assert np.abs(P.T @ fitted.components_.T).max() < 1e-10


def test_the_printed_column_for_equal_means_costs_variance_for_ever():
    answer, evidence, _ = theorems.learns_equal_means()
    assert answer == "does not hold", evidence


def test_without_that_column_the_loss_falls(monkeypatch):
    monkeypatch.setattr(theorems, "AS_PRINTED", "covariance")
    assert theorems.learns_equal_means().here == "holds"
