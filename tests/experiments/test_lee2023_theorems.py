"""The answers to L01, L02 and to L03 with equal means, and that each search can come out the other way."""

import numpy as np
import pytest

from compendium.papers.lee2023 import theorems
from evenspan.core.linalg import complement
from evenspan.representation import NullItOutPCA


class Smallest(NullItOutPCA):
    """A wrong solver: components of the smallest variance."""

    def fit_moments(self, moments):
        super().fit_moments(moments)
        self.components_ = complement(np.vstack([self.components_, self.nullified_]).T).T[: len(self.components_)]
        return self


def within_the_feasible(vectors, carries, U, k):
    """A rival that keeps the constraint."""
    return np.linalg.qr(np.hstack([vectors[:, carries], complement(np.hstack([vectors[:, carries], U]))])[:, :k])[0]


def feasible(d):
    """The k and m for which the removed directions leave k."""
    return [(k, m) for k in range(1, d) for m in range(1, d) if k + m + 1 <= d]


right = theorems.projected_covariance


@pytest.mark.parametrize(
    ("search", "changed", "answer"),
    [
        ("equivalent_programs", {}, "holds in part"),
        ("defined_everywhere", {}, "does not hold"),
        ("learns_equal_means", {}, "does not hold"),
        # nothing contradicts the equivalence where rows abound; one row decides: with k + m + 2 rows the projected
        # covariance has rank k (n - 1 less m + 1), with one row less it has k - 1
        ("equivalent_programs", {"SPARE_ROWS": (1, 2, 40)}, "holds"),
        ("equivalent_programs", {"SPARE_ROWS": (0, 40)}, "holds"),
        ("equivalent_programs", {"SPARE_ROWS": (-1, 40)}, "holds in part"),
        ("equivalent_programs", {"NullItOutPCA": Smallest}, "does not hold"),
        # a projector that does not project
        ("equivalent_programs", {"projected_covariance": lambda Sigma, U: right(Sigma, U[:, 1:])}, "does not hold"),
        ("equivalent_programs", {"rival_maximiser": within_the_feasible}, "holds"),
        ("defined_everywhere", {"admitted": feasible}, "holds"),
        # a solver that refuses
        ("defined_everywhere", {"admitted": feasible, "solvable": lambda moments, k, m: False}, "does not hold"),
        # without the printed column for equal means the loss falls
        ("learns_equal_means", {"AS_PRINTED": "covariance"}, "holds"),
    ],
)
def test_every_search_has_its_answer_and_can_come_out_the_other_way(monkeypatch, search, changed, answer):
    for name, value in changed.items():
        monkeypatch.setattr(theorems, name, value)
    found, evidence, _ = getattr(theorems, search)()
    assert found == answer, evidence
    assert evidence.endswith(".")
    assert len(evidence) < 600


def test_mean_gap_inside_the_gap_directions_leaves_one_more():
    """With f in the span of P_m only m directions are removed, and k = d - m is feasible."""
    moments = theorems.few_rows(5, 40, np.random.default_rng(3))
    P = theorems.removed(moments, 2)[:, :2]
    assert not theorems.solvable(moments, 3, 2)
    inside = type(moments)(moments.labels, moments.counts, np.array([0 * P[:, 0], P @ [1.0, 2.0]]), moments.scatters)
    fitted = NullItOutPCA(3, 2).fit_moments(inside)
    assert len(fitted.nullified_) == 2
    assert np.abs(P.T @ fitted.components_.T).max() < 1e-10
