"""What the estimators refuse, and the words in which they do: seen, needed, what to do."""

import numpy as np
import pandas as pd
import pytest

from evenspan import FairPCA, GroupMoments
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    FeatureTypeError,
    GroupError,
    SurplusComponentsWarning,
)

from .samples import draw

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups: at most 4 components
Y = (np.arange(380) % 3 == 0).astype(int)
TWO = pd.DataFrame({"colour": GROUPS, "shape": np.arange(380) % 2})
AGED = pd.DataFrame({"colour": GROUPS, "age": np.arange(380.0), "town": "x"})


def fit(data=X, groups=GROUPS, y=None, sample_weight=None, n_components=2, **options):
    return FairPCA(n_components, **options).fit(data, y, sensitive_features=groups, sample_weight=sample_weight)


EO = {"criterion": "equal_opportunity"}
REFUSALS = {
    "k too large": ({"n_components": 5}, ComponentsError, ["n_components=5", "at most 4", "6 feature(s)", "2 removed"]),
    "k with intersection": ({"groups": TWO, "attributes": "intersection"}, ComponentsError, ["at most 1", "5 removed"]),
    "k with a quantity": ({"groups": AGED[["colour", "age"]], "numeric_attributes": ["age"], "n_components": 4},
                          ComponentsError, ["at most 3", "3 removed"]),
    "nothing left": ({"data": X[:, :2], "n_components": 1}, ComponentsError, ["at most 0", "2 feature(s)"]),
    "one group": ({"groups": ["all"] * 380}, GroupError,
                  ["'group'", "one group only ('all'", "at least two", "on_single_group='warn'"]),
    "one value of an attribute": ({"groups": AGED[["colour", "town"]]}, GroupError, ["'town'", "one group only ('x'"]),
    "a group of one": ({"match": "covariance", "covariance_fraction": 0.4,
                        "groups": np.where(np.arange(380) == 5, "solo", GROUPS)}, GroupError,
                       ["'solo'", "less than 2 rows", "Merge or drop"]),
    "match": ({"match": "variance"}, ConfigurationError, ["match='variance'", "'mean' or 'covariance'"]),
    "trade-off": ({"tradeoff": 1.5}, ConfigurationError, ["tradeoff=1.5", "of at least 0 and at most 1, or None"]),
    "no target": (EO, DataError, ["equal_opportunity", "needs the target", "fit(X, y, sensitive_features=...)"]),
    "no favourable row": ({"y": Y, "positive_label": "yes", **EO}, DataError,
        ["no row has y == 'yes'", "[0, 1]", "positive_label"]),
    "group without favourable rows": ({"y": Y * (GROUPS != "beige"), **EO}, GroupError,
                                      ["'beige'", "no row with y == 1", "Merge or drop"]),
    "weights with a target": ({"y": Y, "sample_weight": np.ones(7), **EO}, DataError, ["(7,)", "380 rows"]),
    "unknown quantity": ({"groups": AGED, "numeric_attributes": ["income"]}, ConfigurationError,
                         ["['income']", "['colour', 'age', 'town']"]),
    "quantity not numeric": ({"groups": AGED, "numeric_attributes": ["town"]}, FeatureTypeError,
        ["['town']", "not numeric"]),
    "quantity missing": ({"groups": AGED.assign(age=np.nan)[["colour", "age"]], "numeric_attributes": ["age"]},
                         DataError, ["numeric attribute", "NaN", "Drop those rows"]),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_say_what_was_seen_needed_and_to_be_done(call, error, words):
    call = {"data": X, "groups": GROUPS, "y": None, "sample_weight": None, "n_components": 2} | call
    data, groups, y, weights, k = (call.pop(name) for name in ("data", "groups", "y", "sample_weight", "n_components"))
    model = FairPCA(k, **call)
    with pytest.raises(error) as caught:
        model.fit(data, y, sensitive_features=groups, sample_weight=weights)
    assert type(caught.value) is error
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert not hasattr(model, "components_")


def test_components_without_variance_are_warned_about():
    flat = np.c_[X[:, :3], X[:, :3] @ np.ones((3, 3))]  # rank 3, of which two go into the constraints
    with pytest.warns(SurplusComponentsWarning, match=r"2 of 3 components carry no variance.*n_components=1"):
        fit(data=flat, n_components=3)
    fit(data=flat, n_components=1)


def test_the_warning_points_to_the_callers_line():
    with pytest.warns(SurplusComponentsWarning) as caught:
        FairPCA(2).fit_moments(GroupMoments.from_data(np.ones((6, 4)), [0, 1] * 3))
    assert caught[0].filename == __file__


def test_moments_must_be_moments():
    with pytest.raises(DataError, match=r"got a ndarray; needed are GroupMoments\. Make them with .*from_data"):
        FairPCA(2).fit_moments(X)
    moments = GroupMoments.from_data(X, GROUPS)
    with pytest.raises(ConfigurationError, match=r"numeric_attributes needs the data themselves.*Call fit"):
        FairPCA(2, numeric_attributes=["age"]).fit_moments(moments)
    with pytest.raises(ComponentsError, match="at most 4"):
        FairPCA(5).fit_moments(moments)
