"""What the estimators refuse, and the words in which they do: seen, needed, what to do."""

import numpy as np
import pandas as pd
import pytest

from evenspan import FairKernelPCA, FairPCA, GroupMoments
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


EO = {"criterion": "equal_opportunity"}
REFUSALS = {
    "k too large": ({"n_components": 5}, ComponentsError, ["n_components=5", "at most 4", "6 dimension(s) less 2"]),
    "k with intersection": ({"groups": TWO, "attributes": "intersection"}, ComponentsError, ["at most 1", "5 removed"]),
    "nothing left": ({"data": X[:, :2], "n_components": 1}, ComponentsError, ["possible: 2 feature(s)", "Add"]),
    "one value of an attribute": ({"groups": AGED[["colour", "town"]]}, GroupError, ["'town'", "one group only ('x'"]),
    "a group of one": ({"match": "covariance", "covariance_fraction": 0.4,
                        "groups": np.where(np.arange(380) == 5, "solo", GROUPS)}, GroupError,
                       ["'solo'", "needs at least 2", "Merge it"]),
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
    data, groups = call.get("data", X), call.get("groups", GROUPS)
    options = {name: call[name] for name in call.keys() & FairPCA().get_params().keys()}
    model = FairPCA(**options)
    with pytest.raises(error) as caught:
        model.fit(data, call.get("y"), sensitive_features=groups, sample_weight=call.get("sample_weight"))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert not hasattr(model, "components_")


def test_components_without_variance_are_warned_about():
    flat = np.c_[X[:, :3], X[:, :3] @ np.ones((3, 3))]  # rank 3, of which two go into the constraints
    with pytest.warns(SurplusComponentsWarning, match=r"2 of 3 components carry no variance.*n_components=1"):
        FairPCA(3).fit(flat, sensitive_features=GROUPS)
    FairPCA(1).fit(flat, sensitive_features=GROUPS)


def test_the_warning_points_to_the_callers_line():
    with pytest.warns(SurplusComponentsWarning) as caught:
        FairPCA(2).fit_moments(GroupMoments.from_data(np.ones((6, 4)), [0, 1] * 3))
    assert caught[0].filename == __file__


def test_moments_must_be_moments():
    with pytest.raises(DataError, match="got a ndarray; needed is GroupMoments"):
        FairPCA(2).fit_moments(X)
    moments = GroupMoments.from_data(X, GROUPS)
    with pytest.raises(ConfigurationError, match=r"numeric_attributes needs the data themselves.*Call fit"):
        FairPCA(2, numeric_attributes=["age"]).fit_moments(moments)
    with pytest.raises(ComponentsError, match="at most 4"):
        FairPCA(5).fit_moments(moments)


def test_a_kernel_has_as_many_dimensions_as_rows():
    with pytest.raises(ComponentsError, match=r"at most \d+: there are \d+ dimension\(s\) less"):
        FairKernelPCA(400).fit(X[::6], sensitive_features=GROUPS[::6])
