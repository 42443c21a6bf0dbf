"""What the reconstruction methods refuse, all in the same words: seen, needed, what to do."""

import numpy as np
import pytest

from evenspan import JEVDPCA, ConvexFairPCA, DisparityFairPCA, GroupMoments, JointRange, MinMaxFairPCA, RobustFairPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError

from .samples import draw

TWO, THREE = draw(counts=(200, 60)), draw()
METHODS = (MinMaxFairPCA, RobustFairPCA, ConvexFairPCA, DisparityFairPCA, JEVDPCA)
every_method = pytest.mark.parametrize("method", METHODS)


def alone(groups):
    """All rows in one group but the first."""
    return np.where(np.arange(len(groups)) == 0, "alone", "rest")


def refused(error, words, call):
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


@every_method
@pytest.mark.parametrize(
    ("k", "words"),
    [
        (6, ["n_components=6", "at most 5", "6 feature(s)", "fewer components"]),
        (7, ["n_components=7", "at most 5"]),
        (0, ["n_components=0", "whole number from 1 to 5"]),
        (2.5, ["n_components=2.5", "whole number"]),
    ],
)
def test_components(method, k, words):
    refused(ComponentsError, words, lambda: method(k).fit(TWO.X, sensitive_features=TWO.groups))


@every_method
def test_one_group(method):
    words = ["one group only ('all', 260", "at least two", "StandardPCA"]
    refused(GroupError, words, lambda: method(2).fit(TWO.X, sensitive_features=["all"] * 260))


@every_method
def test_a_group_of_one(method):
    words = ["'alone'", "1 sample(s)", "at least 2", "Merge"]
    refused(GroupError, words, lambda: method(2).fit(TWO.X, sensitive_features=alone(TWO.groups)))


@pytest.mark.parametrize("method", METHODS[:2] + METHODS[3:])
def test_a_group_without_variance(method):
    X = TWO.X.copy()
    X[TWO.groups == TWO.labels[0]] = 0.0
    X[TWO.groups != TWO.labels[0]] -= X[TWO.groups != TWO.labels[0]].mean(axis=0)
    words = ["no variance", str(TWO.labels[0]), "drop the group"]
    refused(DataError, words, lambda: method(2).fit(X, sensitive_features=TWO.groups))


@pytest.mark.parametrize(
    ("method", "options"), [(ConvexFairPCA, {}), (DisparityFairPCA, {}), (RobustFairPCA, {"solver": "exact"})]
)
def test_binary_methods_name_the_groups_and_a_way_out(method, options):
    words = ["two groups", "3", "azure", "beige", "crimson"]
    refused(GroupError, words, lambda: method(2, **options).fit(THREE.X, sensitive_features=THREE.groups))


@pytest.mark.filterwarnings("ignore::evenspan.core.estimator.NotConvergedWarning")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        (MinMaxFairPCA, {}),
        (RobustFairPCA, {"solver": "subgradient", "restarts": 1, "max_iter": 20}),
        (JEVDPCA, {}),
    ],
)
def test_methods_for_several_groups_take_three(method, options):
    fitted = method(2, **options).fit(THREE.X, sensitive_features=THREE.groups)
    assert fitted.group_errors_.shape == (3,)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (MinMaxFairPCA, {"objective": "loos"}, ["objective='loos'", "loss", "error"]),
        (RobustFairPCA, {"alpha": -1.0}, ["alpha=-1.0"]),
        (RobustFairPCA, {"penalty": -0.1}, ["penalty=-0.1"]),
        (RobustFairPCA, {"solver": "adam"}, ["solver='adam'", "exact", "subgradient"]),
        (ConvexFairPCA, {"delta": -0.5}, ["delta=-0.5"]),
        (JEVDPCA, {"mode": "printed"}, ["mode='printed'", "paper", "orthogonal"]),
        (JEVDPCA, {"center": "fitted"}, ["center='fitted'", "group", "overall", "none"]),
        (JEVDPCA, {"init": "random"}, ["init='random'", "pooled", "identity"]),
        (JEVDPCA, {"init": np.eye(6)}, ["init=array", "pooled", "identity"]),
        (JEVDPCA, {"max_iter": 0}, ["max_iter=0", "whole number", "None"]),
    ],
)
def test_settings(method, options, words):
    refused(ConfigurationError, words, lambda: method(2, **options).fit(TWO.X, sensitive_features=TWO.groups))


def test_the_joint_range_asks_for_two_groups():
    moments = GroupMoments.from_data(THREE.X, THREE.groups)
    refused(GroupError, ["two groups", "3"], lambda: JointRange.from_moments(moments, 2))
