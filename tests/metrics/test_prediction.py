"""The judge of predictions: rates by hand, and protocols that can be told apart."""

import numpy as np
import pytest

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError

PREDICTION = np.array([1, 1, 0, 0, 1, 0, 0, 0])
LABEL = np.array([1, 0, 1, 0, 1, 1, 1, 0])
GROUPS = np.array(["a", "a", "a", "b", "b", "b", "c", "c"])


def test_demographic_parity_by_hand():
    assert metrics.demographic_parity_difference(PREDICTION, GROUPS) == pytest.approx(2 / 3 - 0)  # 2/3, 1/3, 0


def test_equal_opportunity_divides_by_the_positives_of_the_group():
    # a: 1 of 2 positives, b: 1 of 2, c: 0 of 1. Divided by group sizes it would be 1/3, 1/3, 0.
    assert metrics.equal_opportunity_difference(LABEL, PREDICTION, GROUPS) == pytest.approx(0.5)


def test_accuracy():
    assert metrics.accuracy(LABEL, PREDICTION) == pytest.approx(4 / 8)


def test_positive_label_may_be_anything():
    words = np.where(PREDICTION == 1, "yes", "no")
    same = metrics.demographic_parity_difference(words, GROUPS, positive_label="yes")
    assert same == metrics.demographic_parity_difference(PREDICTION, GROUPS)


@pytest.fixture(scope="module")
def noise():
    """Labels that have nothing to do with the points: only memory can score above one half."""
    rng = np.random.default_rng(2)

    def part(n):
        return rng.normal(size=(n, 8)), rng.integers(0, 2, n), rng.integers(0, 2, n)

    return part(150), part(150)


@pytest.mark.parametrize("classifier", sorted(metrics.CLASSIFIERS))
def test_released_scores_memory_and_held_out_does_not(noise, classifier):
    train, test = noise
    released = metrics.downstream(classifier, train, test, protocol="released")["accuracy"]
    held_out = metrics.downstream(classifier, train, test, protocol="held-out")["accuracy"]
    assert abs(held_out - 0.5) < 0.15
    if classifier == "Kernel SVM":
        assert released > 0.9


def test_held_out_reads_only_the_training_part(noise):
    train, test = noise
    E, y, groups = test
    flipped = (E, 1 - y, groups)
    one = metrics.downstream("Linear SVM", train, test, protocol="held-out")
    other = metrics.downstream("Linear SVM", train, flipped, protocol="held-out")
    assert one["demographic_parity"] == other["demographic_parity"]  # the same predictions
    assert one["accuracy"] == pytest.approx(1 - other["accuracy"])


def test_refusals(noise):
    train, test = noise
    with pytest.raises(ConfigurationError, match=r"Kernel SVM, Linear SVM, MLP"):
        metrics.downstream("Forest", train, test, protocol="released")
    with pytest.raises(ConfigurationError, match=r"released.*held-out"):
        metrics.downstream("MLP", train, test, protocol="train")
    with pytest.raises(DataError, match="one value only"):
        metrics.downstream("MLP", train, (test[0], np.ones(150), test[2]), protocol="released")
    with pytest.raises(GroupError, match="needs two"):
        metrics.demographic_parity_difference(PREDICTION, np.zeros(8, dtype=int))
    with pytest.raises(GroupError, match=r"'c'.*no row with label 1"):
        metrics.equal_opportunity_difference(np.where(GROUPS == "c", 0, LABEL), PREDICTION, GROUPS)
