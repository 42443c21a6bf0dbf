"""What the estimators refuse, and the words in which they do: seen, needed, what to do."""

import numpy as np
import pandas as pd
import pytest

from evenspan import FairError, FairPCA, GroupMoments, StandardPCA
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


def spoilt(i, j, value):
    bad = X.copy()
    bad[i, j] = value
    return bad


def fit(data=X, groups=GROUPS, y=None, sample_weight=None, n_components=2, **options):
    return FairPCA(n_components, **options).fit(data, y, sensitive_features=groups, sample_weight=sample_weight)


EO = {"criterion": "equal_opportunity"}
REFUSALS = {
    "k too large": ({"n_components": 5}, ComponentsError,
        ["n_components=5", "at most 4", "6 feature(s)", "2 removed", "fewer"]),
    "k = d": ({"n_components": 6}, ComponentsError, ["n_components=6", "at most 4"]),
    "k huge": ({"n_components": 10**9}, ComponentsError, ["at most 4"]),
    "k = 0": ({"n_components": 0}, ComponentsError, ["n_components=0", "whole number from 1 to 4"]),
    "k negative": ({"n_components": -2}, ComponentsError, ["n_components=-2", "from 1 to 4"]),
    "k fractional": ({"n_components": 2.0}, ComponentsError, ["n_components=2.0", "whole number"]),
    "k boolean": ({"n_components": True}, ComponentsError, ["n_components=True", "whole number"]),
    "k text": ({"n_components": "2"}, ComponentsError, ["n_components='2'", "whole number"]),
    "k None": ({"n_components": None}, ComponentsError, ["n_components=None", "whole number"]),
    "k with two attributes": ({"groups": TWO, "n_components": 4}, ComponentsError, ["at most 3", "3 removed"]),
    "k with intersection": ({"groups": TWO, "attributes": "intersection", "n_components": 2}, ComponentsError,
                            ["at most 1", "5 removed"]),
    "k with a quantity": ({"groups": AGED[["colour", "age"]], "numeric_attributes": ["age"], "n_components": 4},
                          ComponentsError, ["at most 3", "3 removed"]),
    "nothing left": ({"data": X[:, :2], "n_components": 1}, ComponentsError,
        ["at most 0", "2 feature(s)", "2 removed"]),
    "one group": ({"groups": ["all"] * 380}, GroupError,
                  ["'group'", "one group only ('all')", "at least two", "on_single_group='warn'"]),
    "one value of an attribute": ({"groups": AGED[["colour", "town"]]}, GroupError, ["'town'", "one group only ('x'"]),
    "no groups": ({"groups": None}, GroupError, ["None", "one group label for each row"]),
    "missing label": ({"groups": pd.Series(GROUPS).where(np.arange(380) > 2)}, GroupError,
        ["3 missing", "Drop those rows"]),
    "lengths": ({"groups": GROUPS[:100]}, GroupError, ["100 rows", "X has 380"]),
    "nan": ({"data": spoilt(7, 2, np.nan)}, DataError, ["NaN or inf", "2 (1)", "Impute or drop"]),
    "inf": ({"data": spoilt(379, 0, np.inf)}, DataError, ["NaN or inf", "0 (1)"]),
    "nan in a frame": ({"data": pd.DataFrame(spoilt(0, 1, np.nan), columns=list("uvwxyz"))}, DataError, ["'v' (1)"]),
    "text column": ({"data": pd.DataFrame(X, columns=list("uvwxyz")).assign(w="high")}, FeatureTypeError,
                    ["'w'", "not numeric", "Encode"]),
    "text in an array": ({"data": np.c_[X.astype(object)[:, :5], GROUPS]}, FeatureTypeError,
        ["column 5 of X", "not numeric", "Encode"]),
    "a group of one": ({"match": "covariance", "covariance_fraction": 0.4,
                        "groups": np.where(np.arange(380) == 5, "solo", GROUPS)}, GroupError,
                       ["'solo'", "less than 2 rows", "Merge or drop"]),
    "match": ({"match": "variance"}, ConfigurationError, ["match='variance'", "'mean' or 'covariance'"]),
    "criterion": ({"criterion": "parity"}, ConfigurationError,
        ["criterion='parity'", "'demographic_parity' or 'equal_opportunity'"]),
    "attributes": ({"attributes": "both"}, ConfigurationError, ["attributes='both'", "'marginal' or"]),
    "on_single_group": ({"on_single_group": "ignore"}, ConfigurationError, ["on_single_group='ignore'", "'raise' or"]),
    "fraction 0": ({"covariance_fraction": 0.0}, ConfigurationError,
        ["covariance_fraction=0.0", "greater than 0 and at most 1"]),
    "fraction 2": ({"covariance_fraction": 2}, ConfigurationError,
        ["covariance_fraction=2", "greater than 0 and at most 1"]),
    "fraction nan": ({"covariance_fraction": np.nan}, ConfigurationError,
        ["covariance_fraction=nan", "greater than 0 and at most 1"]),
    "trade-off": ({"tradeoff": 1.5}, ConfigurationError, ["tradeoff=1.5", "of at least 0 and at most 1, or None"]),
    "trade-off negative": ({"tradeoff": -0.1}, ConfigurationError, ["tradeoff=-0.1"]),
    "trade-off no number": ({"tradeoff": "a"}, ConfigurationError,
        ["tradeoff='a'", "of at least 0 and at most 1, or None"]),
    "no target": (EO, DataError, ["equal_opportunity", "needs the target", "fit(X, y, sensitive_features=...)"]),
    "target length": ({"y": Y[:50], **EO}, DataError, ["shape (50,)", "(380,), as many as X has rows"]),
    "no favourable row": ({"y": Y, "positive_label": "yes", **EO}, DataError,
        ["no row has y == 'yes'", "[0, 1]", "positive_label"]),
    "group without favourable rows": ({"y": Y * (GROUPS != "beige"), **EO}, GroupError,
                                      ["'beige'", "no row with y == 1", "Merge or drop"]),
    "favourable rows of one group": ({"y": Y, "groups": np.where(Y, "a", "b"), **EO}, GroupError,
        ["'b'", "no row with y == 1"]),
    "weights with a target": ({"y": Y, "sample_weight": np.ones(7), **EO}, DataError, ["(7,)", "380 rows"]),
    "weights": ({"sample_weight": -np.ones(380)}, DataError, ["negative", ">= 0"]),
    "weights of a group": ({"sample_weight": (GROUPS != "azure") * 1.0}, GroupError, ["'azure'", "weight zero"]),
    "unknown quantity": ({"groups": AGED, "numeric_attributes": ["income"]}, ConfigurationError,
                         ["['income']", "['colour', 'age', 'town']"]),
    "quantity out of range": ({"groups": AGED, "numeric_attributes": [3]}, ConfigurationError, ["[3]", "position"]),
    "quantity not numeric": ({"groups": AGED, "numeric_attributes": ["town"]}, FeatureTypeError,
        ["['town']", "not numeric"]),
    "quantity missing": ({"groups": AGED.assign(age=np.nan)[["colour", "age"]], "numeric_attributes": ["age"]},
                         DataError, ["numeric attribute", "NaN", "Drop those rows"]),
    "continuous": ({"groups": np.linspace(0, 1, 380)}, GroupError,
        ["380 distinct", "continuous", "numeric_attributes"]),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_say_what_was_seen_needed_and_to_be_done(call, error, words):
    with pytest.raises(error) as caught:
        fit(**call)
    assert type(caught.value) is error
    assert isinstance(caught.value, FairError)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_a_refused_fit_leaves_no_fitted_state():
    for call, error, _ in REFUSALS.values():
        call = dict(call)
        model = FairPCA(call.pop("n_components", 2), **{k: v for k, v in call.items() if k in FairPCA().get_params()})
        arguments = {"data": X, "groups": GROUPS, "y": None, "sample_weight": None} | {
            k: v for k, v in call.items() if k in ("data", "groups", "y", "sample_weight")
        }
        with pytest.raises(error):
            model.fit(arguments["data"], arguments["y"], sensitive_features=arguments["groups"],
                      sample_weight=arguments["sample_weight"])  # fmt: skip
        assert not hasattr(model, "components_")
        assert not [name for name in vars(model) if name.startswith("_")]


def test_groups_are_required_and_only_by_name():
    with pytest.raises(TypeError, match="sensitive_features"):
        FairPCA(2).fit(X)
    with pytest.raises(TypeError, match="positional"):
        FairPCA(2).fit(X, None, GROUPS)
    StandardPCA(2).fit(X)


def test_the_largest_k_named_is_possible_and_one_more_is_not():
    for options, largest in (({}, 4), ({"groups": TWO}, 3), ({"groups": TWO, "attributes": "intersection"}, 1)):
        assert fit(n_components=largest, **options).components_.shape == (largest, 6)
        with pytest.raises(ComponentsError, match=f"at most {largest} are"):
            fit(n_components=largest + 1, **options)
    assert fit(n_components=np.int64(4)).components_.shape == (4, 6)
    with pytest.raises(
        ComponentsError, match=r"n_components=7, but at most 6 are possible: 6 feature\(s\)\. Ask for fewer"
    ):
        StandardPCA(7).fit(X)


def test_components_without_variance_are_warned_about():
    flat = np.c_[X[:, :3], X[:, :3] @ np.ones((3, 3))]  # rank 3, of which two go into the constraints
    with pytest.warns(SurplusComponentsWarning, match=r"2 of 3 components carry no variance.*n_components=1"):
        fit(data=flat, n_components=3)
    fit(data=flat, n_components=1)
    with pytest.warns(SurplusComponentsWarning, match=r"2 of 2 components .* Check the data"):
        StandardPCA(2).fit(np.ones((5, 3)))
    with pytest.warns(SurplusComponentsWarning, match=r"1 of 5 components"):
        StandardPCA(5).fit(X[:5])


def test_the_warning_points_to_the_callers_line():
    with pytest.warns(SurplusComponentsWarning) as caught:
        StandardPCA(2).fit(np.ones((5, 3)))
    assert caught[0].filename == __file__
    with pytest.warns(SurplusComponentsWarning) as caught:
        FairPCA(2).fit(np.ones((6, 4)), sensitive_features=[0, 1] * 3)
    assert caught[0].filename == __file__
    with pytest.warns(SurplusComponentsWarning) as caught:
        FairPCA(2).fit_moments(GroupMoments.from_data(np.ones((6, 4)), [0, 1] * 3))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="one group only") as caught:
        FairPCA(2, on_single_group="warn").fit(X, sensitive_features=["a"] * 380)
    assert caught[0].filename == __file__


def test_moments_must_be_moments():
    with pytest.raises(DataError, match=r"got a ndarray; needed are GroupMoments\. Make them with .*from_data"):
        FairPCA(2).fit_moments(X)
    moments = GroupMoments.from_data(X, GROUPS)
    with pytest.raises(ConfigurationError, match=r"numeric_attributes needs the data themselves.*Call fit"):
        FairPCA(2, numeric_attributes=["age"]).fit_moments(moments)
    with pytest.raises(GroupError, match="one group only"):
        FairPCA(2).fit_moments(moments.pooled())
    with pytest.raises(ComponentsError, match="at most 4"):
        FairPCA(5).fit_moments(moments)


def test_coordinates_must_have_the_width_of_the_embedding():
    model = fit()
    with pytest.raises(DataError, match=r"T has shape \(4, 3\); needed is \(n, 2\), as transform"):
        model.inverse_transform(np.zeros((4, 3)))
    with pytest.raises(DataError, match=r"needed is \(n, 4\)"):
        fit(tradeoff=0.5).inverse_transform(np.zeros((4, 2)))
    with pytest.raises(DataError, match=r"T has shape \(2,\)"):
        model.inverse_transform(np.zeros(2))


def test_new_data_are_checked_like_the_first():
    model = fit()
    with pytest.raises(ValueError, match="NaN"):
        model.transform(spoilt(0, 0, np.nan))
    with pytest.raises(ValueError, match="5 features, but FairPCA is expecting 6"):
        model.transform(X[:, :5])
    with pytest.raises(FeatureTypeError, match="'w'"):
        model.transform(pd.DataFrame(X, columns=list("uvwxyz")).assign(w="high"))
