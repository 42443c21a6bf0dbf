"""The rule for the fairness weight, on hand-made sequences of MNCE."""

from types import SimpleNamespace

import pytest

from compendium.papers.zhou2024.base_kernels import base_kernel
from compendium.papers.zhou2024.protocol import PublishedRule
from evenspan import FairKernelKMeans
from evenspan.clustering.weight_rule import WeightRule, WorseWeightWarning, settle
from evenspan.core.errors import ConfigurationError

from .clustering_samples import crossed

NONE = float("nan")  # MNCE of a single group


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
    ("rule", "mnce", "weights"),
    [
        (PublishedRule(), [0.0], [1]),  # nothing is fair at the first weight, and the paper's rule takes it
        (WeightRule(), [0.0, 0.0, 0.0, 0.3, 0.3], [1, 2, 4, 8, 9]),  # ours goes on, in doubling steps
        (WeightRule(), [0.005], [1]),  # a rise of exactly the tolerance is none
        (WeightRule(), [0.00501, 0.00501], [1, 2]),
        (WeightRule(), [0.5, 0.506, 0.512, 0.518, 0.518], [1, 2, 3, 4, 5]),  # neighbours are compared, not the first
        (WeightRule(), [0.6, 0.3, 0.99], [1, 2]),  # a single dip ends the search, and the dip is what is returned
        (WeightRule(), [NONE], [1]),
        (PublishedRule(patience=2), [0.6, 0.3, 0.9, 0.9, 0.9], [1, 2, 3, 4, 5]),  # the dip is passed over
        (PublishedRule(patience=2), [0.6, 0.3, 0.601], [1, 2, 3]),  # back at the best so far is no rise over it
        (PublishedRule(start=2, step=0.5, growth=3.0), [0.1, 0.2, 0.3, 0.3], [2.0, 2.5, 4.0, 8.5]),
        (WeightRule(max_weight=3), [0.1, 0.2, 0.2], [1, 2, 3]),  # decided by the last one
    ],
)
def test_the_weights_tried(rule, mnce, weights):
    assert searched(rule, mnce) == (weights, True)


def test_the_largest_weight_ends_the_search_undecided():
    assert searched(WeightRule(max_weight=3.5), [0.1, 0.2, 0.3]) == ([1, 2, 3], False)
    assert searched(WeightRule(max_weight=1.0), [0.9]) == ([1], False)
    weights, decided = searched(WeightRule(), [0.0] * 11)
    assert (weights[-1], decided) == (1000.0, False)


def test_the_search_does_not_end_at_the_least_fair_point_and_says_when_its_end_is_worse():
    sample, options = crossed(), {"kernel": "precomputed", "max_iter": 100}
    X, codes = base_kernel(sample.X, 1), sample.codes
    paper = FairKernelKMeans(3, PublishedRule(), **options).fit(X, sensitive_features=codes)
    assert (paper.fairness_weight_, paper.counts_.mnce) == (1.0, 0.0)
    model = FairKernelKMeans(3, "auto", **options).fit(X, sensitive_features=codes)
    assert model.fairness_weight_ > 1.0
    assert model.counts_.mnce > 0.5
    dip = iter([0.6, 0.3])
    with pytest.warns(WorseWeightWarning, match=r"ended at the weight 2 with MNCE 0.3, but the weight 1 reached 0.6"):
        settle(WeightRule(), lambda weight: (None, SimpleNamespace(mnce=next(dip), balance=0.0), {}))


@pytest.mark.parametrize(
    "arguments",
    [{"start": -1.0}, {"step": 0.0}, {"tolerance": NONE}, {"max_weight": 0.5}, {"start": 5.0, "max_weight": 4.0}],
)
def test_refusals(arguments):
    with pytest.raises(ConfigurationError, match="|".join(arguments)):
        WeightRule(**arguments)
