"""The encoder: against pandas by hand, by batches, as scikit-learn wants it, kept without pickle."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenspan import TableEncoder, load, save
from evenspan.core.errors import ConfigurationError, DataError

from .tables import people

SENSITIVE = ("sex", "race")
EXPECTED = {
    "check_transformer_preserve_dtypes": "transform gives a data frame of float64, which has no one dtype",
    "check_estimators_nan_inf": "the check rounds column 0 to a constant, which is left out: its cells do not matter",
}


@parametrize_with_checks([TableEncoder(), TableEncoder(missing="mean")], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def by_hand(frame: pd.DataFrame) -> pd.DataFrame:
    """What the encoder should make of ``people`` without standardising, by pandas alone."""
    days = (pd.to_datetime(frame["joined"]) - pd.Timestamp("1970-01-01")).dt.days
    parts = [frame[["age", "income"]], pd.get_dummies(frame["job"], prefix="job", prefix_sep="=")]
    parts += [(frame["married"] == "yes").rename("married=yes"), frame["employed"], days.rename("joined")]
    parts += [pd.get_dummies(frame["relation"], prefix="relation", prefix_sep="=")]
    return pd.concat([*parts, (frame["accepted"] == "yes").rename("accepted=yes")], axis=1).astype(float)


def test_the_encoder_does_what_pandas_does_by_hand():
    frame, expected = people(), by_hand(people())
    encoder = TableEncoder(standardize=False, exclude=SENSITIVE)
    pd.testing.assert_frame_equal(encoder.fit_transform(frame), expected, rtol=1e-12)
    as_text = frame.astype({"age": str, "income": str, "employed": str})
    pd.testing.assert_frame_equal(encoder.transform(as_text), expected, rtol=1e-12)
    standardised = TableEncoder(exclude=SENSITIVE).fit_transform(frame)
    expected = (expected - expected.mean()) / expected.std(ddof=0)
    pd.testing.assert_frame_equal(standardised, expected, rtol=1e-9, atol=1e-9)


def test_missing_cells_become_the_mean_the_most_frequent_category_and_are_told():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": ["x", "y", None, "y"], "c": ["p", "q", "r", None]})
    filled = TableEncoder(missing="mean", standardize=False).fit_transform(frame)
    assert filled["a"].tolist() == [1.0, 4.0, 3.0, 8.0]
    assert filled["b=y"].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert filled[["c=p", "c=q", "c=r"]].iloc[3].tolist() == [1.0, 0.0, 0.0]  # the first of equally frequent ones
    told = TableEncoder(missing="indicator", standardize=False).fit_transform(frame)
    assert list(told) == ["a", "a missing", "b=y", "b missing", "c=p", "c=q", "c=r", "c missing"]
    assert told["a missing"].tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(DataError, match=r"'a' \(1\), 'b' \(1\), 'c' \(1\)"):
        TableEncoder().fit(frame)


def test_an_ordered_category_is_one_number_and_codes_for_no_answer_are_missing_in_new_rows(tmp_path):
    size = pd.Categorical(["low", "high", "low", None], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"size": size, "pay": [10.0, -9.0, 30.0, 20.0], "job": [" a", "b ", "", "b"]})
    encoder = TableEncoder(missing="mean", standardize=False, missing_codes={"pay": [-9]}).fit(frame)
    assert list(encoder.transform(frame)) == ["size", "pay", "job=b"]
    assert encoder.transform(frame).to_numpy().tolist() == [[0, 10, 0], [2, 20, 1], [0, 30, 1], [0, 20, 1]]
    save(encoder, tmp_path / "encoder.npz")
    new = pd.DataFrame({"size": ["mid", "high"], "pay": [-9, -8], "job": ["a", "b"]})
    assert load(tmp_path / "encoder.npz").transform(new).to_numpy().tolist() == [[1, 20, 0], [2, -8, 1]]
    with pytest.raises(DataError, match=r"missing values .*'pay'"):
        TableEncoder(missing_codes=[-9]).fit(frame[["pay", "size"]].dropna().iloc[[0, 2]]).transform(new)
    with pytest.raises(DataError, match=r"'huge' in row 1.*knows 'low', 'mid', 'high'"):
        encoder.transform(new.assign(size="huge"))


def test_means_learnt_where_nothing_was_missing_fill_later_rows():
    frame = people()
    encoder = TableEncoder(missing="mean", standardize=False, exclude=SENSITIVE).fit(frame)
    filled = encoder.transform(frame.iloc[[0]].assign(age=np.nan, job=None, married=None)).iloc[0]
    assert filled["age"] == pytest.approx(frame["age"].mean())
    assert filled[f"job={frame['job'].mode()[0]}"] == 1.0
    assert filled["married=yes"] == float(frame["married"].mode()[0] == "yes")


def test_only_the_used_columns_matter_at_transform():
    frame = people().set_index(pd.Index(range(7, 407)))
    encoder = TableEncoder(exclude=SENSITIVE).fit(frame)
    less = frame.drop(columns=["sex", "race", "customer", "country"])[::-1].assign(more=1)
    less = less[sorted(less, reverse=True)]
    pd.testing.assert_frame_equal(encoder.transform(less), encoder.transform(frame)[::-1])
    new = frame.head(3).assign(job=["cook", "pilot", "cook"])
    zero = TableEncoder(exclude=SENSITIVE, unknown="zero", standardize=False).fit(frame).transform(new)
    assert zero[[name for name in zero if name.startswith("job=")]].sum(axis=1).tolist() == [1.0, 0.0, 1.0]


def changed(**cells) -> pd.DataFrame:
    """The first rows of ``people`` with other cells in row 2."""
    return people().head(4).assign(**{name: [*people()[name][:1], cell] * 2 for name, cell in cells.items()})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (people().rename(columns={"income": "incomes"}), r"no column 'income'\. Did you mean 'incomes'"),
        (changed(age="forty"), "'age' has 'forty' in row 2; needed is a number"),
        (changed(joined="31/12/2020"), "'joined' has '31/12/2020' in row 2; needed is a date"),
        (changed(employed="perhaps"), "'employed' has 'perhaps' in row 2; needed is true or false"),
        (changed(income=-np.inf), r"infinite values in 1 column: 'income' \(2\)"),
        (changed(age=np.nan), r"missing values .*'age' \(2\)"),
        (changed(job="pilot"), "'pilot' in row 2.*knows 'clerk', 'cook'"),
    ],
)
def test_cells_that_cannot_be_transformed_are_named_with_their_row(frame, message):
    with pytest.raises(DataError, match=message):
        TableEncoder(exclude=SENSITIVE).fit(people()).transform(frame)


def test_a_saved_encoder_is_the_same_encoder(tmp_path):
    frame = people()
    frame.loc[3:40, "job"] = None
    encoder = TableEncoder(missing="indicator", unknown="zero", exclude=SENSITIVE).fit(frame)
    save(encoder, tmp_path / "encoder.npz")
    back = load(tmp_path / "encoder.npz")
    pd.testing.assert_frame_equal(back.transform(frame), encoder.transform(frame), check_exact=True)
    assert (back.get_params(), back.uses_) == (encoder.get_params(), encoder.uses_)
    assert not hasattr(clone(back), "codes_")


@pytest.mark.parametrize(
    ("options", "frame", "error", "message"),
    [
        ({"missing": "drop"}, people(), ConfigurationError, "missing='drop'; needed is 'error', 'mean' or 'indicator'"),
        ({"exclude": "sex"}, people(), ConfigurationError, "needed is a list of names"),
        ({"missing_codes": {"gender": [9]}}, people(), DataError, "missing_codes: the table has no column 'gender'"),
        ({"missing_codes": 9}, people(), ConfigurationError, "missing_codes=9; needed is a list of codes"),
        ({"exclude": ["gender", "sexx"]}, people(), DataError, "no column 'gender'"),
        ({}, pd.DataFrame({"a": ["x", "y", "z"], "a=x": [1.0, 2.0, 3.5]}), DataError, "both give a feature 'a=x'"),
    ],
)
def test_what_cannot_be_fitted_is_refused(options, frame, error, message):
    with pytest.raises(error, match=message):
        TableEncoder(**options).fit(frame)
