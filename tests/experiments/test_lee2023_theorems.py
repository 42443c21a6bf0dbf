"""The answers to L01, L02 and to L03 with equal means, and that each search can come out the other way."""

import numpy as np
import pandas as pd
import pytest

from compendium import records
from compendium.papers.lee2023 import claims
from evenspan.core.linalg import complement
from evenspan.representation import NullItOutPCA


class Smallest(NullItOutPCA):
    """A wrong solver: components of the smallest variance."""

    def fit_moments(self, moments):
        super().fit_moments(moments)
        self.components_ = complement(np.vstack([self.components_, self.nullified_]).T).T[: len(self.components_)]
        return self


class Unconstrained(NullItOutPCA):
    """A wrong solver: plain PCA."""

    def fit_moments(self, moments):
        super().fit_moments(moments)
        self.components_ = np.linalg.eigh(moments.scatter)[1][:, : -self.n_components - 1 : -1].T
        return self


def within_the_feasible(vectors, carries, U, k):
    """A rival that keeps the constraint."""
    return np.linalg.qr(np.hstack([vectors[:, carries], complement(np.hstack([vectors[:, carries], U]))])[:, :k])[0]


@pytest.fixture(scope="module")
def notebook(cells_of):
    """Names of the notebook with few problems."""
    return cells_of("lee2023-theorems", tables_tried=10, features="3, 4", runs=2)


@pytest.fixture
def searched(notebook, monkeypatch):
    """A function that searches for counter-examples to a claim again, with some names of the notebook changed."""

    def searched(claim, **changed):
        for name, value in changed.items():
            monkeypatch.setitem(notebook["searched"].__globals__, name, value)
        return records.checked(records.whole(notebook["searched"](claim)), claim)

    return searched


@pytest.mark.parametrize(
    ("claim", "answers", "changed", "answer"),
    [
        ("L01", claims.equivalent_programs, {}, "holds in part"),
        ("L01", claims.equivalent_programs, {"NullItOutPCA": Smallest}, "does not hold"),
        ("L01", claims.equivalent_programs, {"rival_maximiser": within_the_feasible}, "holds"),
        ("L02", claims.defined_everywhere, {}, "does not hold"),
        ("L03", claims.equal_means, {}, "does not hold"),
    ],
)
def test_every_search_has_its_answer_and_can_come_out_the_other_way(claim, answers, changed, answer, searched, reads):
    reads(claims, searched(claim, **changed))
    assert answers().here == answer


def test_one_row_decides_whether_the_maximisers_agree(searched):
    """With k + m + 2 rows the projected covariance has rank k (n - 1 less m + 1), with one row less it has k - 1."""
    for spare, method in ((0, "rank of k"), (-1, "smaller rank")):
        assert set(searched("L01", SPARE_ROWS=(spare,))["method"]) == {method}


def test_where_there_is_room_the_problem_is_defined_and_a_wrong_solver_is_noticed(searched, reads):
    for changed, answer in (({}, "holds"), ({"NullItOutPCA": Unconstrained}, "does not hold")):
        rows = searched("L02", **changed)
        reads(claims, rows[rows["method"] == "room for k"])
        assert claims.defined_everywhere().here == answer


def test_learning_is_judged_by_the_loss_and_by_the_control(reads):
    for printed, control, answer in ((0.1, 0.1, "holds"), (0.9, 0.1, "does not hold"), (0.1, 0.9, "does not hold")):
        values = {"method": ["as printed"] * 2 + ["without"] * 2, "block": [1000, 16_000] * 2}
        rows = pd.DataFrame(values | {"value": [1.0, printed, 1.0, control]})
        reads(claims, rows.assign(protocol="L03"))
        assert claims.equal_means().here == answer


def test_mean_gap_inside_the_gap_directions_leaves_one_more(notebook):
    """With f in the span of P_m only m directions are removed, and k = d - m is feasible."""
    moments = notebook["few_rows"](5, 40, np.random.default_rng(3))
    P = notebook["removed"](moments, 2)[:, :2]
    inside = type(moments)(moments.labels, moments.counts, np.array([0 * P[:, 0], P @ [1.0, 2.0]]), moments.scatters)
    fitted = NullItOutPCA(3, 2).fit_moments(inside)
    assert len(fitted.nullified_) == 2
    assert np.abs(P.T @ fitted.components_.T).max() < 1e-10
