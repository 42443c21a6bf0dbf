"""The answers to the claims of zhou2024, and that each search and each count can come out the other way."""

from fractions import Fraction
from itertools import chain, combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

from compendium import paths
from compendium.claim_rules import BOTH, HOLDS, IN_PART, NEITHER, NOT_SO, SECOND, UNDECIDED, Answer
from compendium.papers.zhou2024 import arithmetic, attainable, claims, theorems
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import row_updates
from evenspan.core.cluster_counts import balance_of

EVERY = dict(chain(*(of.items() for of in claims.CLAIMS.values())))
EXPECTED = dict.fromkeys(EVERY, HOLDS) | dict.fromkeys(("Z01", "Z03", "Z06"), IN_PART) | {"Z10": NOT_SO}


@pytest.fixture
def space(cells_of):
    """What the notebook on the theorems defines."""
    return cells_of("zhou2024-theorems", again=False)


def test_answers():
    listed = pd.read_csv(paths.data("paper", "claims.csv")).query("paper == 'zhou2024'")["id"]
    assert sorted(EVERY) == sorted(listed)
    found = {claim: answer() for claim, answer in EVERY.items() if claim != "Z11"}
    assert {claim: one.printed or one.here for claim, one in found.items()} == {
        claim: answer for claim, answer in EXPECTED.items() if claim != "Z11"
    }


def test_every_control_fails_clearly(space):
    wide = space["results"].pivot(index="method", columns="metric", values="value")
    assert set(wide.index) == set(theorems.CLAIMS)
    assert (wide["largest violation"] < 1e-9).all()
    assert (wide["control"] > 0.005).all()


# -- planted faults: each is noticed; and what a claim needs to hold --------------------------------------------------


def smaller_shift(K, codes, weight, shift=None):
    shift = 0.95 * weight * np.bincount(codes).max() if shift is None else shift
    return K + shift * np.eye(len(codes)) - weight * (codes[:, None] == codes)


def uneven_shift(K, codes, weight, shift=None):
    shift = weight * np.bincount(codes).max() if shift is None else shift
    rising = np.linspace(1.0, 2.0, len(codes))
    return K + shift * np.diag(rising) - weight * (codes[:, None] == codes)


def uneven(h):
    h = h * np.linspace(1.0, 1.1, len(h))
    return 1.0 / h / (1.0 / h).sum(axis=0)


def wrong_regulariser(table):
    return Fraction(int((table**2).sum(axis=None)))


#: The search, its arguments, what stands in the notebook in the place of what, and the answer.
FAULTS = {
    "another regulariser": ("Z01", {}, {"regulariser_of": wrong_regulariser}, NOT_SO),
    "two groups only": ("Z01", {}, {"ENUMERATED": ((2, 2, 12), (2, 3, 9))}, HOLDS),
    "less than the lemma asks": ("Z02", {"margin": 0.3}, {}, NOT_SO),
    "a smaller shift": ("Z03", {}, {"fair_kernel": smaller_shift}, NOT_SO),
    "a shift that differs between points": ("Z03", {}, {"fair_kernel": uneven_shift}, NOT_SO),
    "one kernel only": ("Z03", {}, {"WIDTHS": (0.25,)}, HOLDS),
    "other weights": ("Z04", {}, {"inverse_weights": uneven}, NOT_SO),
    "weights that make it worse": ("Z05", {"step_6": lambda h: np.eye(len(h))[int(h.argmax())]}, {}, NOT_SO),
    "too few rounds": ("Z05", {"most": 2}, {}, NOT_SO),
    "no far centres": ("Z06", {}, {"CENTRES": (0.5, 1.0)}, HOLDS),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault, space, monkeypatch):
    claim, given, replaced, answer = FAULTS[fault]
    for name, other in replaced.items():
        monkeypatch.setitem(space, name, other)
    assert theorems.judge(claim, space["SEARCHES"][claim][1](**given)) == answer


def test_a_bound_that_is_too_small_is_noticed(space, monkeypatch):
    bound, second = theorems.bound, space["second_expression"]
    monkeypatch.setitem(space, "second_expression", lambda **given: 1.01 * second(**given))
    assert theorems.judge("Z07", space["expressions"]()) == NOT_SO
    monkeypatch.setattr(theorems, "bound", lambda *given, **named: 0.005 * bound(*given, **named))
    assert theorems.judge("Z06", space["generalisation"]()) == NOT_SO


# -- counts in the printed table, and ours ----------------------------------------------------------------------------


def changed(monkeypatch, dataset, method, metric, **values):
    cells = claims.printed()
    row = (cells["dataset"] == dataset) & (cells["method"] == method) & (cells["metric"] == metric)
    assert row.sum() == 1
    cells.loc[row, list(values)] = list(values.values())
    monkeypatch.setattr(claims, "printed", lambda: cells)


@pytest.mark.parametrize(
    ("claim", "method", "metric", "value"),
    [("Z08", "VFC", "Bal", 0.999), ("Z08", "VFC", "MNCE", 0.999), ("Z09", "FKKM", "ACC", 0.9)],
)
def test_another_best_method_is_noticed(monkeypatch, claim, method, metric, value):
    changed(monkeypatch, "k1b", method, metric, mean=value)
    assert EVERY[claim]().printed != HOLDS


def test_complete_marks_would_hold_and_a_lost_underline_is_noticed(monkeypatch):
    for metric in claims.METRICS:
        changed(monkeypatch, "jaffe", "FKKM", metric, bold=True)
    assert EVERY["Z10"]().printed == HOLDS
    changed(monkeypatch, "k1b", "VFC", "MNCE", second=False)
    assert (EVERY["Z10"]().printed, EVERY["Z10"]().numbers["others"]) == (NOT_SO, ["K1b MNCE"])


def test_stored_runs_that_rise_are_noticed():
    wide = pd.DataFrame({"method": ["FMKKM", "FMKKM-f"], "at rest": [1.0, 0.0]})
    wide = wide.assign(dataset="jaffe", split=0, **{"rises of the objective": 0.0})
    runs = wide.melt(["dataset", "method", "split"], var_name="metric")
    made = Answer(HOLDS, {"tried": 1})
    found = claims.with_stored(made, runs)
    assert (found.here, found.numbers["real data, converged"]) == (HOLDS, 1)
    rising = runs.assign(value=runs["value"] + (runs["metric"] == "rises of the objective"))
    assert claims.with_stored(made, rising).here == IN_PART


def test_contradictions_come_out_and_can_come_out_otherwise(monkeypatch):
    found = {name: check() for name, check in claims.CONTRADICTIONS.items()}
    assert {name: outcome for name, (outcome, _) in found.items()} == {"X29": BOTH, "X30": BOTH, "X31": SECOND}
    monkeypatch.setattr(arithmetic, "HALF_DIGIT", 1e-6)
    assert claims.balance_of_many_groups()[0] == UNDECIDED
    monkeypatch.setattr(arithmetic, "shares_allowed", lambda dataset: (0.5, 0.4))
    assert claims.single_runs()[0] == NEITHER
    balances = pd.Series([0.2, 0.35, 0.5, 0.6], index=list("abcd"))
    entropies = arithmetic.entropy_of_balance(balances) / float(arithmetic.binary_entropy(0.4))
    monkeypatch.setattr(arithmetic, "printed", lambda dataset: pd.DataFrame({"Bal": balances, "MNCE": entropies}).T)
    outcome, numbers = claims.single_runs()
    assert (outcome, numbers["pairs in different orders"]) == (BOTH, 0), "all columns can be single runs"


# -- what can be reached ----------------------------------------------------------------------------------------------


def test_the_smallest_regulariser_and_the_largest_balance_are_those_of_all_tables():
    for t, largest in ((2, 11), (3, 8), (4, 7)):
        for sizes in combinations_with_replacement(range(1, largest), t):
            for c in (1, 2, 3, sum(sizes)):
                if c <= sum(sizes) <= largest:
                    every = list(attainable.tables(sizes, c))
                    found = attainable.smallest_regulariser(sizes, c)
                    assert found.value == min(map(attainable.regulariser_of, every))
                    assert abs(found.gap) < 1e-10
                    value, table = attainable.largest_balance(sizes, c)
                    assert float(value) == balance_of(table) == max(map(balance_of, every))
                    assert (value == 0) == (sizes[0] < c)
                    for counts in (found.table, table):
                        assert (counts.shape, tuple(counts.sum(axis=1))) == ((t, c), sizes)


def test_on_jaffe_nothing_is_below_the_bound_and_its_clustering_has_not_the_largest_balance():
    sizes, c = attainable.JAFFE
    found, (value, rival) = attainable.smallest_regulariser(sizes, c), attainable.largest_balance(sizes, c)
    assert found.value == Fraction(457, 15) > Fraction(sum(size**2 for size in sizes), sum(sizes))
    # The bound is one for this number of clusters: fewer clusters reach less.
    assert attainable.smallest_regulariser(sizes, 2).value < found.bound
    assert value == Fraction(7, 8)
    assert balance_of(rival) == float(value) > balance_of(found.table)


# -- Algorithm 1 with dense matrices, and the estimators against it ---------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.2, 5.0])
def test_the_estimators_make_the_same_sweeps_and_end_with_the_same_weights(weight, space):
    fair_kernel = space["fair_kernel"]
    rng = np.random.default_rng(3)
    codes = rng.choice(3, p=[0.5, 0.3, 0.2], size=50)
    kernels = space["gaussian_kernels"](space["crossed_points"](codes, rng), (0.25, 0.5, 2.0))
    start, moves = rng.permutation(np.arange(50) % 3), 0
    found, labels = row_updates(DenseGram(kernels[1]), codes, start, 3, weight, max_sweeps=3), start
    for _ in range(found.n_sweeps):
        labels, made = space["sweep"](fair_kernel(kernels[1], codes, weight), labels, 3)
        moves += len(made)
    assert np.array_equal(found.labels, labels)
    assert found.n_moves == moves > 0
    objective = np.trace(fair_kernel(kernels[1], codes, weight, 0.0) @ space["projector"](labels, 3))
    assert found.objective == pytest.approx(objective, rel=1e-9)
    labels, weights, history, _ = space["alternate"](
        fair_kernel(kernels, codes, weight), start, 3, space["inverse_weights"], 100
    )
    model = FairMultipleKernelKMeans(3, weight, kernels="precomputed", init=start, max_iter=100)
    model.fit(kernels, sensitive_features=codes)
    assert np.array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.kernel_weights_, weights, rtol=1e-8)
    assert model.objective_ == pytest.approx(history[-1], rel=1e-8)


# -- Theorem 2 --------------------------------------------------------------------------------------------------------


def test_the_bound_against_its_formula_by_hand_and_what_it_grows_with(space):
    bound = theorems.bound
    # c = t = 1 and no fairness: 2 sqrt(2 pi / n) (2 + sqrt 2) + 4 sqrt(log(1/delta) / 2n)
    expected = 2 * np.sqrt(2 * np.pi / 8) * (2 + np.sqrt(2)) + 4 * np.sqrt(np.log(10) / 16)
    assert bound(8, 1, 1, 8, 0.0, delta=0.1) == pytest.approx(expected)
    assert space["second_expression"](8, 1, 1, 8, 0.0, delta=0.1) == pytest.approx(expected)
    base = {"n": 500, "c": 5, "t": 3, "largest": 200, "weight": 0.5}
    for name, more in (("weight", 0.6), ("c", 6), ("largest", 220)):
        assert bound(**(base | {name: more})) > bound(**base)
    assert bound(**(base | {"n": 600})) < bound(**base)
    # With the largest group a share of n it grows like the root of n.
    assert bound(**(base | {"n": 50000, "largest": 20000})) / bound(**base) == pytest.approx(10.0, rel=0.02)
