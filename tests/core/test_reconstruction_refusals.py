"""What the reconstruction methods refuse, all in the same words: seen, needed, what to do."""

import numpy as np
import pytest

from evenspan import JEVDPCA, ConvexFairPCA, DisparityFairPCA, GroupMoments, JointRange, MinMaxFairPCA, RobustFairPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError

from .samples import draw

TWO, THREE = draw(counts=(200, 60)), draw()
FLAT = TWO.X.copy()
FLAT[TWO.groups == TWO.labels[0]] = 0.0
FLAT[TWO.groups != TWO.labels[0]] -= FLAT[TWO.groups != TWO.labels[0]].mean(axis=0)
ALONE = np.where(np.arange(260) == 0, "alone", "rest")
METHODS = (MinMaxFairPCA, RobustFairPCA, ConvexFairPCA, DisparityFairPCA, JEVDPCA)


def refused(error, words, call):
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("k", "X", "groups", "error", "words"),
    [
        (6, TWO.X, TWO.groups, ComponentsError, ["n_components=6", "at most 5", "6 dimension(s)", "fewer components"]),
        (0, TWO.X, TWO.groups, ComponentsError, ["n_components=0", "whole number of at least 1"]),
        (2.5, TWO.X, TWO.groups, ComponentsError, ["n_components=2.5", "whole number"]),
        (2, TWO.X, ["all"] * 260, GroupError, ["one group only ('all', 260", "at least two", "StandardPCA"]),
        (2, TWO.X, ALONE, GroupError, ["'alone'", "1 sample(s)", "at least 2", "Merge"]),
        (2, FLAT, TWO.groups, DataError, ["no variance", str(TWO.labels[0]), "drop the group"]),
    ],
)
def test_samples(method, k, X, groups, error, words):
    options = {"standardize": False} if method is ConvexFairPCA else {}  # nor is a group flat beside one that is not
    refused(error, words, lambda: method(k, **options).fit(X, sensitive_features=groups))


@pytest.mark.filterwarnings("ignore::evenspan.core.estimator.NotConvergedWarning")
def test_binary_methods_name_the_groups_and_a_way_out_and_the_others_take_three():
    words = ["two groups", "3", "azure", "beige", "crimson"]
    for method in (ConvexFairPCA, DisparityFairPCA, RobustFairPCA):
        refused(GroupError, words, lambda m=method: m(2).fit(THREE.X, sensitive_features=THREE.groups))
    moments = GroupMoments.from_data(THREE.X, THREE.groups)
    refused(GroupError, words, lambda: JointRange.from_moments(moments, 2))
    for method in (MinMaxFairPCA(2), RobustFairPCA(2, solver="subgradient", n_init=2, max_iter=20), JEVDPCA(2)):
        assert method.fit_moments(moments).group_errors_.shape == (3,)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (MinMaxFairPCA, {"objective": "loos"}, ["objective='loos'", "loss", "error"]),
        (MinMaxFairPCA, {"center": "none"}, ["center='none'"]),
        (RobustFairPCA, {"alpha": -1.0}, ["alpha=-1.0"]),
        (RobustFairPCA, {"penalty": float("nan")}, ["penalty=nan"]),
        (RobustFairPCA, {"solver": "adam"}, ["solver='adam'", "exact", "subgradient"]),
        (RobustFairPCA, {"n_init": 0}, ["n_init=0"]),
        (RobustFairPCA, {"solver": "subgradient", "random_state": "a"}, ["random_state='a'"]),
        (ConvexFairPCA, {"delta": -0.5}, ["delta=-0.5"]),
        (ConvexFairPCA, {"mu": 0.1}, ["mu=0.1 with covariance=False"]),
        (ConvexFairPCA, {"covariance": True}, ["mu=0.0 with covariance=True"]),
        (JEVDPCA, {"center": "fitted"}, ["center='fitted'", "group", "overall", "none"]),
        (JEVDPCA, {"init": np.eye(6)}, ["init=array", "pooled", "identity"]),
        (JEVDPCA, {"max_iter": 0}, ["max_iter=0", "whole number"]),
    ],
)
def test_settings(method, options, words):
    refused(ConfigurationError, words, lambda: method(2, **options).fit(TWO.X, sensitive_features=TWO.groups))


def test_matrices():
    refused(ComponentsError, ["at most 2"], lambda: JointRange(np.eye(3), np.eye(3), 3))
    refused(DataError, ["(3, 3) and (2, 2)"], lambda: JointRange(np.eye(3), np.eye(2), 1))
