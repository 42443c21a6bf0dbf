"""Tables and columns of polars and pyarrow: the same answers as from arrays, and names kept."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenspan import ArrayStream, FairPCA, GroupFrame, GroupMoments
from evenspan.core.errors import DataError, FeatureTypeError, GroupError
from evenspan.core.groups import encode_groups
from evenspan.core.inputs import RowOrderWarning

from .every import TRANSFORMERS, fit, make
from .samples import draw

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

S = draw(counts=(90, 60), names=("f", "m"))
NAMES = ["age", "income", "debt", "years", "visits", "score"]
POLARS = pl.DataFrame(S.X, schema=NAMES)
TABLES = {"polars": POLARS, "pyarrow": POLARS.to_arrow(), "batch": POLARS.to_arrow().combine_chunks().to_batches()[0]}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_method_learns_the_same_from_a_table_and_hands_out_polars(name):
    plain = fit(make(name), S.X, S.groups)
    T = plain.transform(S.X)
    for table, groups in ((POLARS, pl.Series("sex", S.groups)), (POLARS.to_arrow(), pa.array(S.groups.tolist()))):
        fitted = fit(make(name), table, groups)
        assert fitted.feature_names_in_.tolist() == NAMES
        np.testing.assert_allclose(fitted.transform(table), T, atol=1e-12 * np.abs(T).max())
    out = fitted.set_output(transform="polars").transform(POLARS[:9])
    assert isinstance(out, pl.DataFrame)
    assert out.columns == list(fitted.get_feature_names_out()) == [f"{name.lower()}{j}" for j in range(2)]
    np.testing.assert_allclose(out.to_numpy(), T[:9], atol=1e-12 * np.abs(T).max())
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        fitted.transform(POLARS[:, ::-1])


@pytest.mark.parametrize("kind", TABLES)
def test_moments_of_tables_and_batches_are_those_of_arrays(kind):
    table, sex = TABLES[kind], pa.chunked_array([S.groups[:50].tolist(), S.groups[50:].tolist()])
    expected = GroupMoments.from_data(S.X, S.groups)
    for found in (GroupMoments.from_data(table, sex), GroupMoments.from_batches([(table, sex)])):
        assert found.feature_names == tuple(NAMES)
        for field in ("labels", "counts", "means", "scatters"):
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
    if kind != "batch":
        stream = ArrayStream(table, sex, batch_size=40)
        np.testing.assert_allclose(
            GroupMoments.from_batches(stream).scatters, expected.scatters, rtol=1e-12, atol=1e-11
        )


TEXT = ["f", "m", "m", "f", "x"]
COLUMNS = {
    "polars text": pl.Series("sex", TEXT),
    "polars enumeration": pl.Series("sex", TEXT, dtype=pl.Enum(["x", "m", "f"])),
    "polars table": pl.DataFrame({"sex": TEXT}),
    "arrow chunks": pa.chunked_array([TEXT[:2], TEXT[2:]]),
    "arrow codes": pa.array(TEXT).dictionary_encode(),
    "arrow batch": pa.RecordBatch.from_pydict({"sex": TEXT}),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_groups_of_any_column_are_those_of_its_text(kind):
    labels, codes = encode_groups(COLUMNS[kind], 5)
    assert labels.tolist() == ["f", "m", "x"]
    assert labels[codes].tolist() == TEXT


def test_a_null_among_coded_labels_becomes_no_label():
    coded = pa.array(["f", "m", None, "f"]).dictionary_encode()
    control = np.asarray(pa.chunked_array([coded])).tolist()
    assert control == ["f", "m", "m", "f"]  # what pyarrow makes of it
    for column in (coded, pa.chunked_array([coded]), pl.Series("group", ["f", "m", None, "f"])):
        with pytest.raises(GroupError, match=r"'group' has 1 missing value"):
            encode_groups(column)
    with pytest.raises(DataError, match=r"1 missing"):
        make("LEACE", 1, keep="classes").fit(np.arange(8.0).reshape(4, 2), coded, sensitive_features=list("abab"))


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (POLARS.with_columns(debt=pl.Series([None, *S.X[1:, 2]])), DataError, "NaN"),
        (POLARS.with_columns(age=pl.lit("old")), FeatureTypeError, "1 of 6 .*'age'.* Encode"),
        (POLARS.lazy(), DataError, r"LazyFrame .* collect\(\)"),
    ],
)
def test_refusals_name_the_column(table, error, words):
    fitted = FairPCA(2).fit(POLARS, sensitive_features=S.groups)
    for call in (
        lambda: GroupMoments.from_data(table, S.groups),
        lambda: fitted.transform(table),
        lambda: make("FairnessFirstClustering").fit(table, sensitive_features=S.groups),
    ):
        with pytest.raises(error, match=words):
            call()


def test_the_same_row_labels_in_another_order_are_told():
    """Rows are paired by position, as everywhere in scikit-learn; labels that disagree are hardly meant so."""
    X = pd.DataFrame(S.X, index=[f"row {i}" for i in range(len(S.X))])
    sex = pd.Series(S.groups, index=X.index)
    turned = sex.iloc[::-1]
    for call in (
        lambda: FairPCA(2).fit(X, sensitive_features=turned),
        lambda: GroupFrame(estimator=FairPCA(2).fit(S.X, sensitive_features=S.groups), X=X, sensitive_features=turned),
    ):
        with pytest.warns(RowOrderWarning, match=r"'row 0', .* paired by position, not by label"):
            call()
    FairPCA(2).fit(X, sensitive_features=sex)
    FairPCA(2).fit(X, sensitive_features=sex.reset_index(drop=True))  # other labels say nothing of an order
