"""The rule for the fairness weight, on hand-made sequences of MNCE."""

from itertools import islice

import pytest

from evenspan.clustering.weight_rule import WeightRule
from evenspan.core.errors import ConfigurationError


def searched(rule, mnce):
    """Search with MNCE values given in the order of the weights; more calls than values fail."""
    values, calls = iter(mnce), []

    def evaluate(weight):
        calls.append(weight)
        return f"clusters of {weight:g}", next(values)

    result, weights, decided = rule.search(evaluate)
    assert weights == calls
    assert result == f"clusters of {weights[-1]:g}"
    return weights, decided


@pytest.mark.parametrize(
    ("mnce", "weights"),
    [
        ([0.0], [1]),  # nothing is fair at the first weight
        ([0.005], [1]),  # a rise of exactly the tolerance is none
        ([0.00501, 0.00501], [1, 2]),
        ([0.5, 0.8, 0.9, 0.904], [1, 2, 3, 4]),
        ([0.5, 0.5049], [1, 2]),
        ([0.5, 0.506, 0.512, 0.518, 0.518], [1, 2, 3, 4, 5]),  # neighbours are compared, not the first
        ([0.6, 0.3, 0.99], [1, 2]),  # a single dip ends the search, and the dip is what is returned
        ([0.9, 0.9], [1, 2]),
        ([1.0, 1.0], [1, 2]),
        ([float("nan")], [1]),  # a single group
    ],
)
def test_rule_of_the_paper(mnce, weights):
    assert searched(WeightRule(), mnce) == (weights, True)


@pytest.mark.parametrize(
    ("mnce", "weights"),
    [
        ([0.6, 0.3, 0.9, 0.9, 0.9], [1, 2, 3, 4, 5]),  # the dip is passed over
        ([0.6, 0.3, 0.601], [1, 2, 3]),  # back at the best so far is no rise over it
        ([0.6, 0.3, 0.606, 0.606, 0.606], [1, 2, 3, 4, 5]),
        ([0.004, 0.003], [1, 2]),
        ([0.0, 0.2, 0.2, 0.2], [1, 2, 3, 4]),
        ([float("nan"), float("nan")], [1, 2]),
    ],
)
def test_patience_of_two(mnce, weights):
    assert searched(WeightRule(patience=2), mnce) == (weights, True)


def test_patience_counts_weights_in_a_row():
    mnce = [0.5, 0.4, 0.6, 0.5, 0.7, 0.7, 0.7, 0.7]
    assert searched(WeightRule(patience=3), mnce) == ([1, 2, 3, 4, 5, 6, 7, 8], True)


def test_first_step_and_growth():
    assert list(islice(WeightRule().weights(), 4)) == [1.0, 2.0, 3.0, 4.0]
    assert list(islice(WeightRule(first=0.0, step=0.25).weights(), 3)) == [0.0, 0.25, 0.5]
    assert list(islice(WeightRule(growth=2).weights(), 5)) == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert list(islice(WeightRule(first=2, step=0.5, growth=3.0).weights(), 4)) == [2.0, 2.5, 4.0, 8.5]


def test_largest_weight_is_tried_and_ends_the_search_undecided():
    assert searched(WeightRule(largest=3), [0.1, 0.2, 0.3]) == ([1, 2, 3], False)
    assert searched(WeightRule(largest=3.5), [0.1, 0.2, 0.3]) == ([1, 2, 3], False)
    assert searched(WeightRule(largest=3), [0.1, 0.2, 0.2]) == ([1, 2, 3], True)  # decided by the last one
    assert searched(WeightRule(largest=1.0), [0.9]) == ([1], False)
    assert list(WeightRule().weights())[-1] == 1000.0


def test_tolerance():
    assert searched(WeightRule(tolerance=0.0), [0.5, 0.5001, 0.5001]) == ([1, 2, 3], True)
    assert searched(WeightRule(tolerance=0.25), [0.5, 0.75]) == ([1, 2], True)  # exactly the tolerance is no rise


@pytest.mark.parametrize(
    "arguments",
    [
        {"first": -1.0},
        {"first": "one"},
        {"step": 0.0},
        {"step": -1.0},
        {"growth": 0.5},
        {"tolerance": -0.1},
        {"tolerance": float("nan")},
        {"patience": 0},
        {"patience": 1.5},
        {"largest": 0.5},
        {"first": 5.0, "largest": 4.0},
        {"largest": float("inf")},
    ],
)
def test_refusals(arguments):
    with pytest.raises(ConfigurationError, match="|".join(arguments)):
        WeightRule(**arguments)
