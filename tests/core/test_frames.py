"""Tables and columns of polars and pyarrow: the same answers as from arrays, and names kept."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenspan import ArrayStream, ClusterCounts, FairPCA, GroupFrame, GroupMoments, StreamingFairPCA
from evenspan.core.errors import DataError, FeatureTypeError, GroupError
from evenspan.core.groups import encode_groups
from evenspan.core.inputs import RowOrderWarning, in_pandas

from .every import ALL, CLUSTERERS, PLAIN, TRANSFORMERS, fit, make
from .samples import draw, two_attributes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

S = draw(counts=(90, 60), names=("f", "m"))
NAMES = ["age", "income", "debt", "years", "visits", "score"]
POLARS = pl.DataFrame(S.X, schema=NAMES)
TABLES = {"polars": POLARS, "pyarrow": POLARS.to_arrow(), "batch": POLARS.to_arrow().combine_chunks().to_batches()[0]}
FIELDS = ("labels", "counts", "means", "scatters")


def assert_same(found: GroupMoments, expected: GroupMoments):
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


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
    if hasattr(plain, "inverse_transform"):
        back = plain.inverse_transform(out.to_numpy())
        np.testing.assert_allclose(fitted.inverse_transform(out), back, atol=1e-12 * np.abs(back).max())
    # The control: without names, columns in another order would be taken for those of the fit.
    for strange in (POLARS[:, ::-1], POLARS[:, ::-1].to_arrow()):
        with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
            fitted.transform(strange)
    assert not np.allclose(plain.transform(S.X[:, ::-1]), T)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(POLARS.rename({"age": "height"}))


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_clusterer_finds_the_same_clusters(name):
    plain = fit(make(name), S.X, S.groups)
    for table in TABLES.values():
        model = fit(make(name), table, pl.Series("sex", S.groups))
        np.testing.assert_array_equal(model.labels_, plain.labels_)
    if name not in PLAIN:
        counted = ClusterCounts.from_labels(pl.Series(plain.labels_), pa.array(S.groups.tolist()))
        np.testing.assert_array_equal(counted.counts, plain.counts_.counts)


@pytest.mark.parametrize("kind", TABLES)
def test_moments_of_tables_batches_and_streams_are_those_of_arrays(kind):
    table, sex = TABLES[kind], pa.chunked_array([S.groups[:50].tolist(), S.groups[50:].tolist()])
    expected = GroupMoments.from_data(S.X, S.groups)
    found = GroupMoments.from_data(table, sex)
    assert_same(found, expected)
    assert found.feature_names == tuple(NAMES)
    parts = [(table[a : a + 40] if kind != "batch" else table.slice(a, 40), sex[a : a + 40]) for a in range(0, 150, 40)]
    arrays = [(S.X[a : a + 40], S.groups[a : a + 40]) for a in range(0, 150, 40)]
    assert_same(GroupMoments.from_batches(parts), GroupMoments.from_batches(arrays))
    if kind != "batch":
        stream = ArrayStream(table, sex, batch_size=40)
        assert_same(GroupMoments.from_batches(stream), GroupMoments.from_batches(arrays))
        assert stream.feature_names == tuple(NAMES)
        online, plain = (
            StreamingFairPCA(2, n_gap_directions=1, n_blocks=2).fit(X, sensitive_features=groups)
            for X, groups in ((table, sex), (S.X, S.groups))
        )
        np.testing.assert_allclose(online.components_, plain.components_, atol=1e-12)


def test_columns_of_any_kind_of_number_are_numbers():
    columns = {
        "small": pl.Series([1, 0, 7, 2], dtype=pl.Int8),
        "yes": pl.Series([True, False, True, True]),
        "single": pl.Series([0.5, 1.25, -3.0, 0.0], dtype=pl.Float32),
    }
    table, groups = pl.DataFrame(columns), list("aabb")
    expected = np.column_stack([np.array(column.to_list(), dtype=float) for column in columns.values()])
    for one in (table, table.to_arrow()):
        assert_same(GroupMoments.from_data(one, groups), GroupMoments.from_data(expected, groups))
        fitted = FairPCA(1).fit(one, sensitive_features=groups)
        np.testing.assert_array_equal(fitted.transform(one), fitted.subspace_.apply(expected))


# -- groups -----------------------------------------------------------------------------------------------------------

TEXT = ["f", "m", "m", "f", "x"]
COLUMNS = {
    "polars text": pl.Series("sex", TEXT),
    "polars categories": pl.Series("sex", TEXT, dtype=pl.Categorical),
    "polars enumeration": pl.Series("sex", TEXT, dtype=pl.Enum(["x", "m", "f"])),
    "polars table": pl.DataFrame({"sex": TEXT}),
    "arrow array": pa.array(TEXT),
    "arrow chunks": pa.chunked_array([TEXT[:2], TEXT[2:]]),
    "arrow codes": pa.array(TEXT).dictionary_encode(),
    "arrow table": pa.table({"sex": pa.array(TEXT).dictionary_encode()}),
    "arrow batch": pa.RecordBatch.from_pydict({"sex": TEXT}),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_groups_of_any_column_are_those_of_its_text(kind):
    labels, codes = encode_groups(COLUMNS[kind], 5)
    assert labels.tolist() == ["f", "m", "x"]
    assert labels[codes].tolist() == TEXT


@pytest.mark.parametrize("values", [[3, 1, 3, 2], [True, False, True, True]])
def test_groups_of_numbers_and_booleans_stay_such(values):
    expected = encode_groups(np.array(values))
    for column in (pl.Series(values), pa.array(values), pa.chunked_array([values])):
        for found, wanted in zip(encode_groups(column), expected, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_several_attributes_keep_their_names():
    X, cells = two_attributes()
    frame = pd.DataFrame(cells, columns=["race", "sex"])
    expected = FairPCA(2).fit(X, sensitive_features=frame)
    for table in (pl.DataFrame(cells, schema=["race", "sex"]), pa.Table.from_pandas(frame, preserve_index=False)):
        fitted = FairPCA(2).fit(X, sensitive_features=table)
        assert fitted.group_labels_.dtype.names == ("race", "sex")
        np.testing.assert_array_equal(fitted.components_, expected.components_)


def test_quantities_among_the_attributes():
    age = np.random.default_rng(0).normal(40, 9, len(S.X))
    options = {"numeric_attributes": ["age"]}
    plain = FairPCA(2, **options).fit(S.X, sensitive_features=pd.DataFrame({"sex": S.groups, "age": age}))
    table = pl.DataFrame({"sex": S.groups, "age": age})
    for one in (table, table.to_arrow()):
        fitted = FairPCA(2, **options).fit(S.X, sensitive_features=one)
        np.testing.assert_array_equal(fitted.components_, plain.components_)
    missing = table.with_columns(pl.when(pl.col("age") > 30).then(pl.col("age")).alias("age"))
    with pytest.raises(DataError, match=r"a numeric attribute.*holds NaN"):
        FairPCA(2, **options).fit(S.X, sensitive_features=missing)


def test_the_judge_takes_tables_and_names_its_rows_after_the_columns():
    model = FairPCA(2).fit(S.X, sensitive_features=S.groups)
    sex = pl.Series("sex", S.groups)
    expected = GroupFrame(estimator=model, X=S.X, sensitive_features=pd.Series(S.groups, name="sex"))
    for X, groups in ((POLARS, sex), (POLARS.to_arrow(), sex.to_frame().to_arrow())):
        frame = GroupFrame(estimator=model, X=X, sensitive_features=groups)
        pd.testing.assert_frame_equal(frame.by_group, expected.by_group)
        assert frame.by_group.index.name == "sex"
    apart = GroupFrame(estimator=model, X=POLARS, sensitive_features={"sex": sex})
    pd.testing.assert_frame_equal(apart.by_group, expected.by_group)
    unnamed = GroupFrame(estimator=model, X=POLARS, sensitive_features=pa.array(S.groups.tolist()))
    assert unnamed.by_group.index.name == "group"


def test_a_null_among_coded_labels_becomes_no_label():
    coded = pa.array(["f", "m", None, "f"]).dictionary_encode()
    assert np.asarray(pa.chunked_array([coded])).tolist() == [
        "f",
        "m",
        "m",
        "f",
    ]  # the control: what pyarrow makes of it
    assert in_pandas(coded).isna().tolist() == [False, False, True, False]
    X = np.arange(8.0).reshape(4, 2)
    for batches in (ArrayStream(X, pa.chunked_array([coded])), [(X, coded)]):
        with pytest.raises(GroupError, match=r"batch 1.*'group' has 1 missing value"):
            GroupMoments.from_batches(batches)
    with pytest.raises(DataError, match=r"1 missing"):
        make("LEACE", 1, keep="classes").fit(X, coded, sensitive_features=list("abab"))
    for column in (
        coded,
        pa.chunked_array([coded]),
        pa.table({"group": coded}),
        pl.Series("group", ["f", "m", None, "f"]),
    ):
        with pytest.raises(GroupError, match=r"'group' has 1 missing value"):
            encode_groups(column)


# -- refusals ---------------------------------------------------------------------------------------------------------

NULLS = POLARS.with_columns(debt=pl.Series([None, None, *S.X[2:, 2]]), score=pl.Series([*S.X[1:, 5], None]))
NAN = POLARS.with_columns(pl.Series("years", [np.nan, *S.X[1:, 3]]))
REFUSALS = {
    "nulls": (NULLS, DataError, ["NaN"]),
    "text": (POLARS.with_columns(age=pl.lit("old")), FeatureTypeError, ["1 of 6", "'age'", "Encode"]),
    "a date": (POLARS.with_columns(age=pl.lit("2020-01-01").str.to_date()), FeatureTypeError, ["'age' (date"]),
    "a query": (POLARS.lazy(), DataError, ["LazyFrame", "collect()"]),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_refusals_say_which_column_and_how_many(kind):
    table, error, words = REFUSALS[kind]
    fitted = FairPCA(2).fit(POLARS, sensitive_features=S.groups)
    calls = [
        lambda: GroupMoments.from_data(table, S.groups),
        lambda: FairPCA(2).fit(table, sensitive_features=S.groups),
        lambda: fitted.transform(table),
        lambda: make("FairnessFirstClustering").fit(table, sensitive_features=S.groups),
    ]
    for call in calls:
        with pytest.raises(error) as caught:
            call()
        assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_nan_is_counted_too():
    for name in ("FairPCA", "FairKernelPCA", "FairnessFirstClustering"):
        with pytest.raises(DataError, match=r"NaN or inf.*'years' \(1\)"):
            fit(ALL[name](2), NAN, S.groups)


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
