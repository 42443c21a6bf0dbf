"""The answers to the claims of zhou2024, and that each search and each count can come out the other way."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import entropy

from compendium import store
from compendium.claim_rules import BOTH, HOLDS, NEITHER, NOT_SO, SECOND, UNDECIDED
from compendium.papers.zhou2024 import arithmetic, attainable, claims, theorems
from evenspan.metrics.clustering import balance, mnce


def test_one_run_states_the_share_of_its_groups():
    """Bal and MNCE of any clustering of two groups give back the entropy of the groups; of three they do not."""
    shares = np.array([0.0, 0.1, 0.4, 0.5, 1.0])
    np.testing.assert_allclose(arithmetic.binary_entropy(shares), [entropy([p, 1 - p]) for p in shares], atol=1e-12)
    assert arithmetic.entropy_of_balance(0.5) == pytest.approx(entropy([1, 2]))
    assert arithmetic.share_of_entropy(entropy([0.3, 0.7])) == pytest.approx(0.3)
    assert np.isnan(arithmetic.share_of_entropy(0.7))
    rng = np.random.default_rng(0)
    groups, labels = (rng.random(500) < 0.3).astype(int), rng.integers(0, 4, 500)
    low, high = arithmetic.implied_range(balance(labels, groups), mnce(labels, groups))
    assert low < entropy(np.bincount(groups)) < high
    three = rng.choice(3, 500, p=[0.6, 0.3, 0.1])
    low, high = arithmetic.implied_range(balance(labels, three), mnce(labels, three))
    assert not low < entropy(np.bincount(three)) < high
    assert np.isnan(arithmetic.implied_range(0.0, 0.5)).all()


@pytest.fixture
def space(cells_of):
    """What the notebook on the theorems defines."""
    return cells_of("zhou2024-theorems", again=False)


def test_every_control_fails_clearly(space):
    wide = space["results"].pivot(index="method", columns="metric", values="value")
    assert set(wide.index) == set(theorems.CLAIMS)
    assert (wide["largest violation"] < 1e-9).all()
    assert (wide["control"] > 0.005).all()


def smaller_shift(K, codes, weight, shift=None):
    shift = 0.95 * weight * np.bincount(codes).max() if shift is None else shift
    return K + shift * np.eye(len(codes)) - weight * (codes[:, None] == codes)


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
    assert theorems.evaluate_search(claim, space["SEARCHES"][claim][1](**given)) == answer


def test_a_bound_that_is_too_small_is_noticed(space, monkeypatch):
    bound, second = theorems.bound, space["second_expression"]
    monkeypatch.setitem(space, "second_expression", lambda **given: 1.01 * second(**given))
    assert theorems.evaluate_search("Z07", space["expressions"]()) == NOT_SO
    monkeypatch.setattr(theorems, "bound", lambda *given, **named: 0.005 * bound(*given, **named))
    assert theorems.evaluate_search("Z06", space["generalisation"]()) == NOT_SO


def test_contradictions_come_out_and_can_come_out_otherwise(monkeypatch):
    found = {name: check() for name, check in claims.CONTRADICTIONS.items()}
    assert {name: outcome for name, (outcome, _) in found.items()} == {"X29": BOTH, "X30": BOTH, "X31": SECOND}
    monkeypatch.setattr(arithmetic, "HALF_DIGIT", 1e-6)
    assert claims.balance_of_many_groups()[0] == UNDECIDED
    monkeypatch.setattr(arithmetic, "shares_allowed", lambda dataset: (0.5, 0.4))
    assert claims.single_runs()[0] == NEITHER


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


def test_the_smallest_regulariser_is_that_of_all_tables():
    for t, largest in ((2, 11), (3, 8), (4, 7)):
        for sizes in combinations_with_replacement(range(1, largest), t):
            for c in (1, 2, 3, sum(sizes)):
                if c <= sum(sizes) <= largest:
                    found = attainable.smallest_regulariser(sizes, c)
                    assert found.value == min(map(attainable.regulariser_of, attainable.tables(sizes, c)))
                    assert abs(found.gap) < 1e-10
                    assert (found.table.shape, tuple(found.table.sum(axis=1))) == ((t, c), sizes)


def test_the_pictures_are_answered_from_each_data_set_that_no_search_found():
    def of(*datasets):
        here = store.read_results("zhou2024-kernels", dataset=datasets)
        return lambda experiment, *every, **which: store.complete(here, "this run", *every, **which)

    one, both = (claims.other_structure(of(*names)) for names in (("jaffe",), ("jaffe", "mnist_usps")))
    assert one.described in (HOLDS, NOT_SO)
    assert set(one.numbers) < set(both.numbers)
    found = store.read_results("zhou2024-kernels", dataset="jaffe").assign(dataset="credit_card")
    with pytest.raises(store.MissingNumbersError, match="this run with dataset jaffe"):
        claims.other_structure(lambda experiment, *every, **which: store.complete(found, "this run", *every, **which))
