"""Tables of polars and pyarrow, and tensors: the same answers as from arrays, and names kept."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from evenspan import LEACE, FairPCA, GroupFrame, GroupMoments, StreamingFairPCA, metrics
from evenspan.core.errors import DataError, FeatureTypeError, GroupError
from evenspan.core.groups import encode_groups
from evenspan.core.inputs import RowOrderWarning

from .every import TRANSFORMERS, fit, make
from .samples import draw

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

S = draw(counts=(90, 60), names=("f", "m"))
NAMES = ["age", "income", "debt", "years", "visits", "score"]
POLARS = pl.DataFrame(S.X, schema=NAMES)


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


class Tensor:
    """Stands in for a tensor of torch on another device, or with a gradient: NumPy cannot read it where it is."""

    def __init__(self, values, at_hand=False, detached=False):
        self.values, self.at_hand, self.detached = np.asarray(values), at_hand, detached
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, f"torch.{self.values.dtype}"

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        return Tensor(self.values[key], self.at_hand, self.detached)

    def detach(self):
        return Tensor(self.values, self.at_hand, True)

    def cpu(self):
        return Tensor(self.values, True, self.detached)

    def numpy(self, force=False):
        if not (self.at_hand and self.detached):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        return self.values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_method_learns_the_same_from_tensors(name):
    codes = (S.groups == "m").astype(np.int64)
    with pytest.raises(TypeError, match="cuda:0"):
        np.asarray(Tensor(S.X))
    plain, fitted = fit(make(name), S.X, codes), fit(make(name), Tensor(S.X), Tensor(codes))
    T = plain.transform(S.X)
    np.testing.assert_array_equal(fitted.transform(Tensor(S.X)), T)
    if hasattr(plain, "inverse_transform"):
        np.testing.assert_array_equal(fitted.inverse_transform(Tensor(T)), plain.inverse_transform(T))


def test_metrics_and_subspaces_take_tensors():
    codes, values = (S.groups == "m").astype(np.int64), (S.X[:, 0] > 0).astype(np.int64)
    rows, groups, found = Tensor(S.X), Tensor(codes), Tensor(values)
    assert metrics.mmd2(rows, groups, 1.0) == metrics.mmd2(S.X, codes, 1.0)
    assert metrics.balance(found, groups) == metrics.balance(values, codes)
    subspace = FairPCA(2).fit(S.X, sensitive_features=codes).subspace_
    T = subspace.apply(S.X)
    np.testing.assert_array_equal(subspace.apply(rows), T)
    np.testing.assert_array_equal(subspace.restore(Tensor(T)), subspace.restore(T))


def test_batches_of_tensors():
    codes, weights = (S.groups == "m").astype(np.int64), np.arange(1.0, 151.0)
    parts = [slice(a, a + 40) for a in range(0, 150, 40)]
    rows = GroupMoments.from_batches([(S.X[part], codes[part], weights[part]) for part in parts])
    sums = GroupMoments.from_batches([tuple(Tensor(one[part]) for one in (S.X, codes, weights)) for part in parts])
    np.testing.assert_array_equal(sums.labels, [0, 1])
    np.testing.assert_array_equal(sums.scatters, rows.scatters)

    stream = StreamingFairPCA(2, 1, n_blocks=3)
    from_rows = clone(stream).fit(lambda: [(S.X[part], codes[part]) for part in parts])
    from_tensors = clone(stream).fit(lambda: [[Tensor(S.X[part]), Tensor(codes[part])] for part in parts])
    np.testing.assert_array_equal(from_tensors.components_, from_rows.components_)
    blocks = [clone(stream), clone(stream)]
    for pca, kind in zip(blocks, (Tensor, np.asarray), strict=True):
        for phase in ("gap", "components"):
            pca.partial_fit(kind(S.X), sensitive_features=kind(codes), phase=phase)
    np.testing.assert_array_equal(blocks[0].components_, blocks[1].components_)


TEXT = ["f", "m", "m", "f", "x"]
COLUMNS = {
    "polars text": pl.Series("sex", TEXT),
    "polars enumeration": pl.Series("sex", TEXT, dtype=pl.Enum(["x", "m", "f"])),
    "arrow chunks": pa.chunked_array([TEXT[:2], TEXT[2:]]),
    "arrow codes": pa.array(TEXT).dictionary_encode(),
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


def test_refusals_name_the_column():
    for table, error, words in (
        (POLARS.with_columns(debt=pl.Series([None, *S.X[1:, 2]])), DataError, "NaN"),
        (POLARS.with_columns(age=pl.lit("old")), FeatureTypeError, "1 of 6 .*'age'.* Encode"),
        (POLARS.lazy(), DataError, r"LazyFrame .* collect\(\)"),
    ):
        with pytest.raises(error, match=words):
            GroupMoments.from_data(table, S.groups)


def test_refusals_of_columns_speak_of_columns():
    table = POLARS.to_pandas()
    fitted = FairPCA(2).fit(table, sensitive_features=S.groups)
    for wrong in (table.rename(columns={table.columns[0]: "other"}), table.iloc[:, :4]):
        with pytest.raises(DataError, match="Needed are the columns of the training sample, in their order"):
            fitted.transform(wrong)
    with pytest.raises(FeatureTypeError, match=r"data type\.$"):
        FairPCA(2).fit(table.rename(columns={table.columns[0]: 1}), sensitive_features=S.groups)


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
    wide, y = X.reset_index(drop=True), pd.Series(np.arange(len(X)) % 2, index=X.index)
    table = pd.Series(S.groups).reset_index(drop=True)
    later = pd.Series(S.groups, index=np.arange(1, len(X) + 1))  # all labels but one are those of other rows
    for call, name in (
        (lambda: FairPCA(2).fit(wide, sensitive_features=later), "sensitive_features"),
        (lambda: FairPCA(2).fit(X, sensitive_features=sex, sample_weight=1.0 + y[::-1]), "sample_weight"),
        (lambda: FairPCA(2, criterion="equal_opportunity").fit(X, y[::-1], sensitive_features=sex), "y"),
        (lambda: FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=turned), "sensitive_features"),
        (lambda: LEACE(2, keep="classes").fit(X, y[::-1], sensitive_features=sex), "y"),
    ):
        with pytest.warns(RowOrderWarning, match=f"and {name} has them as"):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowOrderWarning)
        FairPCA(2).fit(wide, y[::-1], sensitive_features=table)  # y is not used
        FairPCA(2, criterion="equal_opportunity").fit(X, y, sensitive_features=sex, sample_weight=1.0 + y)
    FairPCA(2).fit(X, sensitive_features=sex)
    FairPCA(2).fit(X, sensitive_features=sex.reset_index(drop=True))  # other labels say nothing of an order
