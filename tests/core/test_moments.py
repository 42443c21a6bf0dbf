"""Group moments: against the definition by another route, for every way of making them, and every refusal."""

import contextlib
import itertools
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from evenspan import GroupMoments, MinMaxFairPCA
from evenspan.core import accumulator
from evenspan.core.errors import ConfigurationError, DataError, FeatureTypeError, GroupError, ResultError

from .memory import peak_of
from .samples import draw, two_attributes

FIELDS = ("labels", "counts", "means", "kept")


def in_batches(X, groups, size=37, **kept):
    return GroupMoments.from_batches(((X[a : a + size], groups[a : a + size]) for a in range(0, len(X), size)), **kept)


def in_parts(X, groups, size=101, **kept):
    parts = [GroupMoments.from_data(X[a : a + size], groups[a : a + size], **kept) for a in range(0, len(X), size)]
    return sum(parts[1:], start=parts[0])


WAYS = {"at once": GroupMoments.from_data, "batches": in_batches, "merged": in_parts}
every_way = pytest.mark.parametrize("make", WAYS.values(), ids=WAYS.keys())


def assert_same(a: GroupMoments, b: GroupMoments, rtol=1e-12):
    """Equal up to rounding relative to the size of each group's own moments."""
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.feature_names == b.feature_names
    np.testing.assert_allclose(a.counts, b.counts, rtol=rtol)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol, atol=rtol * np.abs(b.means).max())
    assert a.kept.shape == b.kept.shape
    for S, T in zip(a.kept.reshape(-1, a.d, a.d), b.kept.reshape(-1, b.d, b.d), strict=True):
        np.testing.assert_allclose(S, T, rtol=rtol, atol=rtol * max(np.abs(T).max(), np.abs(b.means).max() ** 2))


# -- the definition -----------------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("block", [None, 1], ids=["one block", "many blocks"])
def test_moments_are_those_of_the_definition(make, block, sample, monkeypatch):
    if block:
        monkeypatch.setattr(accumulator, "BLOCK_ENTRIES", block)
    moments = make(sample.X, sample.groups)
    assert moments.labels.tolist() == ["azure", "beige", "crimson"]
    assert moments.counts.tolist() == [120, 60, 200]
    np.testing.assert_allclose(moments.second_moment, sample.X.T @ sample.X, rtol=1e-12, atol=1e-9)
    assert_same(moments.pooled(), GroupMoments.from_data(sample.X, ["all"] * 380))
    for g, label in enumerate(moments.labels):
        rows = sample.rows(label)
        np.testing.assert_allclose(moments.means[g], np.mean(rows, axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(moments.scatters[g], np.cov(rows.T, ddof=0) * len(rows), rtol=1e-11, atol=1e-10)
    assert np.array_equal(moments.scatters, moments.scatters.transpose(0, 2, 1)), "symmetric to the last bit"


def exact(column: np.ndarray, other: np.ndarray) -> tuple[Fraction, Fraction]:
    """Mean of a column and sum of products of two about their means, in rational arithmetic."""
    a, b = [Fraction(float(v)) for v in column], [Fraction(float(v)) for v in other]
    return sum(a) / len(a), sum(x * y for x, y in zip(a, b, strict=True)) - sum(a) * sum(b) / len(a)


@pytest.mark.parametrize("order", ["drifting", "one far row first"])
@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_order_of_the_rows_costs_digits(order, shift, weighted):
    s = draw(counts=(60, 25, 12), d=4)
    X, groups = np.round(s.X * 1024) / 1024, s.groups
    if order == "one far row first":
        first = np.flatnonzero(groups == groups[0])[0]
        X[first] += 1000.0
    else:
        at = np.argsort(X[:, 1], kind="stable")
        X, groups = X[at] * 16.0, groups[at]
        X[:, 2] += 4.0 * np.arange(len(X))
    X = X + shift
    weights = np.tile([1.0, 2.0, 1.0], len(X))[: len(X)] if weighted else np.ones(len(X))
    parts = [(X[a : a + 7], groups[a : a + 7], weights[a : a + 7]) for a in range(0, len(X), 7)]
    parts = parts if weighted else [part[:2] for part in parts]
    moments, together = GroupMoments.from_batches(parts), GroupMoments.from_batches(parts, scatters="total")
    np.testing.assert_array_equal(together.counts, moments.counts)
    np.testing.assert_allclose(together.means, moments.means, rtol=2.0**-51, atol=1e-12)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    for i, j in itertools.product(range(4), repeat=2):
        bound = np.sqrt(together.scatter[i, i] * together.scatter[j, j])
        scatter = exact(repeated[:, i], repeated[:, j])[1]
        assert abs(float(Fraction(together.scatter[i, j]) - scatter)) <= 1e-13 * bound
    for g, label in enumerate(moments.labels):
        rows = np.repeat(X[groups == label], weights[groups == label].astype(int), axis=0)
        for i, j in itertools.product(range(4), repeat=2):
            mean, scatter = exact(rows[:, i], rows[:, j])
            bound = np.sqrt(moments.scatters[g, i, i] * moments.scatters[g, j, j])
            assert abs(float(Fraction(moments.scatters[g, i, j]) - scatter)) <= 1e-13 * bound
            assert abs(float(Fraction(moments.means[g, i]) - mean)) <= 2.0**-52 * abs(float(mean)) + 1e-12
    if shift:  # the textbook formula, as the control
        rows = np.repeat(X[:, 1], weights.astype(int))
        textbook = rows @ rows - len(rows) * np.mean(rows, axis=0) ** 2
        assert abs(textbook - float(exact(rows, rows)[1])) > 1e-10 * textbook


# -- weights ------------------------------------------------------------------------------------------------------


def test_a_weight_is_a_number_of_repetitions(sample, monkeypatch):
    monkeypatch.setattr(accumulator, "BLOCK_ENTRIES", 1)
    weights = np.random.default_rng(0).integers(0, 4, len(sample.X))
    weighted = GroupMoments.from_data(sample.X, sample.groups, weights)
    repeated = GroupMoments.from_data(np.repeat(sample.X, weights, axis=0), np.repeat(sample.groups, weights))
    assert_same(weighted, repeated)
    assert_same(GroupMoments.from_batches([(sample.X, sample.groups, weights.tolist())]), repeated)


# -- what may come in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["F", "frame", "float32"])
def test_memory_stays_far_below_a_copy(kind):
    X, groups = np.random.default_rng(0).normal(size=(200_000, 20)), np.arange(200_000) % 3
    table = {"F": np.asfortranarray(X), "frame": pd.DataFrame(X), "float32": X.astype(np.float32)}[kind]
    peak, _ = peak_of(lambda: GroupMoments.from_data(table, groups))
    assert peak < 0.5 * X.nbytes


# -- one scatter for all groups -----------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("shift", [0.0, 0.1, 30.0], ids=lambda shift: f"shift {shift}")
@pytest.mark.parametrize("block", [None, 1], ids=["one block", "many blocks"])
def test_one_scatter_is_that_of_all_rows(make, shift, block, sample, crossed, monkeypatch):
    if block:
        monkeypatch.setattr(accumulator, "BLOCK_ENTRIES", block)
    for X, groups in ((sample.X + shift, sample.groups), crossed):
        before, whole = X.copy(), GroupMoments.from_data(X, groups)
        together = make(X, groups, scatters="total")
        assert_same(together, whole.total(), rtol=1e-13)
        np.testing.assert_array_equal(together.scatter, together.scatter.T)
        np.testing.assert_array_equal(X, before)
        weights = np.random.default_rng(0).integers(0, 3, len(X))
        for table in (X, X.astype(np.float32), pd.DataFrame(X), sparse.csr_array(X * (X - shift > 1.0))):
            one, each = (GroupMoments.from_data(table, groups, weights, scatters=kept) for kept in ("total", "group"))
            assert_same(one, each.total(), rtol=1e-13)


def test_many_groups_and_features_take_the_same_sums(monkeypatch):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(700, 30)) + 2.0, rng.integers(0, 40, 700)
    expected = GroupMoments.from_data(X, groups).total()
    monkeypatch.setattr(accumulator, "NARROW", 5)
    assert_same(GroupMoments.from_data(X, groups, scatters="total"), expected, rtol=1e-13)
    about_zero = GroupMoments.from_data(X - 2.0, groups).total()
    assert_same(GroupMoments.from_data(X - 2.0, groups, scatters="total"), about_zero, rtol=1e-13)


def test_what_moments_can_do_those_with_one_scatter_can(crossed, tmp_path):
    X, groups = crossed
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    each, one = (GroupMoments.from_data(frame, groups, scatters=kept) for kept in ("group", "total"))
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(each.d, 2)))[0]
    for change in (
        lambda m: m.marginal("attribute1"), lambda m: m.cells(), lambda m: m.select(["x2", 0]),
        lambda m: m.project(V, offset=m.mean), lambda m: m.standardised(), lambda m: m.pooled().total(),
        lambda m: m + m, lambda m: each + m,
    ):  # fmt: skip
        assert_same(change(one), change(each).total(), rtol=1e-12)
    assert_same(one + each, (each + each).total(), rtol=1e-12)
    for name in ("mean", "scatter", "second_moment"):
        np.testing.assert_allclose(getattr(one, name), getattr(each, name), rtol=1e-12, atol=1e-9)
    assert one.size == pytest.approx(np.linalg.norm(X), rel=1e-12)
    one.save(tmp_path / "file")
    loaded = GroupMoments.load(tmp_path / "file")
    assert all(np.array_equal(getattr(loaded, field), getattr(one, field)) for field in FIELDS)


def test_one_scatter_gives_no_group_its_own():
    X = np.arange(24.0).reshape(8, 3) % 7
    moments = GroupMoments.from_data(X, list("aabbccab"), scatters="total")
    for ask in (lambda: moments.scatters, lambda: MinMaxFairPCA(1).fit_moments(moments)):
        with pytest.raises(
            DataError, match=r'3 group\(s\) hold one scatter.*; needed is one for each.*scatters="group"'
        ):
            ask()
    with pytest.raises(ConfigurationError, match=r"scatters='each'; needed is 'group' or 'total'"):
        GroupMoments.from_data(X, list("aabbccab"), scatters="each")


# -- labels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [list, pd.Series, pd.Categorical, lambda v: v[:, None]])
@pytest.mark.parametrize("expected", [["b", "q", "zebra"], [1, 2, 200], [-1.0, 0.0, 2.0]])
def test_labels_of_every_kind(expected, box):
    X, codes = np.arange(16.0).reshape(8, 2) ** 2, np.array([2, 0, 1, 0, 2, 2, 1, 0])
    moments = GroupMoments.from_data(X, box(np.array(expected)[codes]))
    assert moments.labels.tolist() == expected
    assert {type(label) for label in moments.labels.tolist()} <= {str, int}
    np.testing.assert_allclose(moments.means, [np.mean(X[codes == g], axis=0) for g in range(3)])


@pytest.mark.parametrize("names", [("colour", "shape"), ("attribute0", "attribute1")], ids=["frame", "array"])
def test_several_attributes(names, crossed):
    X, groups = crossed
    moments = GroupMoments.from_data(X, pd.DataFrame(groups, columns=names) if names[0] == "colour" else groups)
    assert moments.attributes == names
    assert moments.labels.tolist() == [(c, s) for c in "abc" for s in "xy"]
    assert moments.counts.tolist() == [120, 60, 45, 80, 30, 55]
    for label, mean in zip(moments.labels.tolist(), moments.means, strict=True):
        np.testing.assert_allclose(mean, np.mean(X[(groups == label).all(axis=1)], axis=0), rtol=1e-11, atol=1e-13)
    for j, name in enumerate(names):
        assert_same(moments.marginal(name), GroupMoments.from_data(X, groups[:, j]))
    texts = [f"{names[0]}={c}, {names[1]}={s}" for c, s in groups]
    assert_same(moments.cells(), GroupMoments.from_data(X, texts))


# -- merging ------------------------------------------------------------------------------------------------------


entries = st.integers(-64, 64).map(lambda v: v / 4)
tables = hnp.arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=entries)


@st.composite
def labelled_tables(draw_):
    X = draw_(tables)
    groups = draw_(hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)))
    return X, groups


@given(labelled_tables(), st.data())
def test_any_split_merges_to_the_whole(table, data):
    X, groups = table
    cuts = sorted(data.draw(st.lists(st.integers(1, len(X) - 1), max_size=5, unique=True)))
    parts = [GroupMoments.from_data(X[a:b], groups[a:b]) for a, b in itertools.pairwise([0, *cuts, len(X)])]
    whole = GroupMoments.from_data(X, groups)
    for order in (parts, parts[::-1], data.draw(st.permutations(parts))):
        assert_same(sum(order[1:], start=order[0]), whole)
    batches = [(X[a:b], groups[a:b]) for a, b in itertools.pairwise([0, *cuts, len(X)])]
    assert_same(GroupMoments.from_batches(iter(batches)), whole)


@given(labelled_tables(), st.data())
def test_projecting_moments_is_projecting_data(table, data):
    X, groups = table
    k = data.draw(st.integers(1, 3))
    V = data.draw(hnp.arrays(np.float64, (X.shape[1], k), elements=entries))
    offset = data.draw(hnp.arrays(np.float64, X.shape[1], elements=entries))
    moments = GroupMoments.from_data(X, groups)
    scale = max(1.0, float(np.abs(V).max()) * 16 * X.shape[1])
    for given_offset, projected in ((None, X @ V), (offset, (X - offset) @ V)):
        a, b = moments.project(V, offset=given_offset), GroupMoments.from_data(projected, groups)
        np.testing.assert_allclose(a.means, b.means, atol=1e-13 * scale)
        np.testing.assert_allclose(a.scatters, b.scatters, atol=1e-12 * len(X) * scale**2)


# -- changing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("train", [380, 250], ids=["itself", "training part"])
def test_standardised_is_standardising_the_data(train, sample):
    X = sample.X.copy()
    X[:, 3] = 0.1  # constant: stays 0, divided by 1
    scale = np.std(X[:train], axis=0)
    scale[3] = 1.0
    expected = GroupMoments.from_data((X - np.mean(X[:train], axis=0)) / scale, sample.groups)
    reference = GroupMoments.from_data(X[:train], sample.groups[:train])
    got = GroupMoments.from_data(X, sample.groups).standardised(reference)
    assert_same(got, expected, rtol=1e-11)
    assert not got.means[:, 3].any()
    assert not got.scatters[:, 3].any()
    assert reference.scale()[3] == 1.0


# -- refusals: what was seen, what is needed, what to do ------------------------------------------------------------

X0 = np.arange(24.0).reshape(8, 3) % 7
G0 = np.array(list("aabbccab"))
FRAME = pd.DataFrame(X0, columns=["age", "income", "debt"])


REFUSALS = {
    "nan": (np.where(np.arange(24).reshape(8, 3) % 12 == 1, np.nan, X0), G0, None, DataError,
            ["NaN or inf", "1 (2)", "finite", "Impute or drop"]),
    "nan in a frame": (FRAME.assign(income=[np.nan, np.inf] * 4), G0, None, DataError, ["'income' (8)"]),
    "lengths": (X0, G0[:5], None, GroupError, ["5 rows", "X has 8", "one entry for each row", "same order"]),
    "more labels": (X0, [*G0, "a"], None, GroupError, ["9 rows", "X has 8"]),
    "text column": (FRAME.assign(income=list("abcdefgh")), G0, None, FeatureTypeError,
                    ["1 of 3", "'income'", "not numeric", "Encode", "drop"]),
    "text in an array": (np.array([["1", "x"]] * 8), G0, None, FeatureTypeError, ["column 1", "not numeric"]),
    "complex": (X0 * 1j, G0, None, DataError, ["complex", "real", "X.real"]),
    "1-D": (X0[:, 0], G0, None, DataError, ["1 dimension(s)", "(8,)", "n rows and d columns", "reshape"]),
    "no rows": (X0[:0], G0[:0], None, DataError, ["0 rows", "at least one"]),
    "no groups": (X0, None, None, GroupError, ["None", "one group label for each row"]),
    "missing label": (X0, [*"aabbcca", None], None, GroupError, ["'group'", "1 missing", "Drop those rows", "own"]),
    "mixed": (X0, np.array(["a", 1] * 4, dtype=object), None, GroupError,
              ["'group'", "numbers, strings", "of one kind"]),
    "continuous": (X0, np.linspace(0, 1, 8), None, GroupError,
                   ["8 distinct", "continuous", "Bin", "numeric_attributes"]),
    "twice the same attribute": (X0, pd.DataFrame([["a", "b"]] * 8, columns=["s", "s"]), None, GroupError,
                                 ["same name", "s, s", "Rename"]),
    "empty group": (X0, G0, (G0 != "c") * 1.0, GroupError, ["'c'", "weight zero", "Drop its rows", "positive weight"]),
    "negative weight": (X0, G0, -np.ones(8), DataError, ["negative", "finite weights >= 0"]),
    "short weights": (X0, G0, np.ones(7), DataError, ["(7,)", "one weight for each of the 8 rows"]),
}  # fmt: skip


@pytest.mark.parametrize(("X", "groups", "weights", "error", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_say_what_was_seen_needed_and_to_be_done(X, groups, weights, error, words):
    with pytest.raises(error) as caught:
        GroupMoments.from_data(X, groups, weights)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_batches_and_addition_need_the_same_features_and_labels(sample):
    X, groups = sample.X, sample.groups
    for batches, error, words in (
        ([], DataError, "no batch was given"),
        ([(X, groups), (X[:, :5], groups)], DataError, "5 features, the batches before it had 6"),
        ([(X, groups), X], DataError, r"batch 2 is a ndarray; needed is \(X, groups"),
        ([(X, groups), (X, np.arange(380) % 2)], GroupError, "strings, whole numbers"),
    ):
        with pytest.raises(error, match=words):
            GroupMoments.from_batches(batches)
    moments = GroupMoments.from_data(sample.X, sample.groups)
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    a, b = GroupMoments.from_data(frame, sample.groups), GroupMoments.from_data(frame[list("vuwxyz")], sample.groups)
    for one, other in ((moments, moments.select(range(5))), (a, b)):
        with pytest.raises(DataError, match=r"different features .* Select the same"):
            one + other
    X, groups = two_attributes()
    several = GroupMoments.from_data(X[:380, :6], pd.DataFrame(groups[:380], columns=["colour", "shape"]))
    for other in (several, GroupMoments.from_data(sample.X, np.arange(380) % 2)):
        with pytest.raises(GroupError, match=r"different kinds .* Use the same"):
            moments + other


def test_a_batch_without_names_after_one_with_names_is_taken_by_position_with_a_warning(sample):
    frame, X = pd.DataFrame(sample.X, columns=list("uvwxyz")), sample.X
    for batches, warned in (([frame, X], True), ([frame, frame], False), ([X, X], False)):
        for source in ([(one, sample.groups) for one in batches], lambda b=batches: [(o, sample.groups) for o in b]):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                assert GroupMoments.from_batches(source).n == 2 * len(X)
            assert ["u, v, w, x, y, ...: its columns are taken by position" in str(w.message) for w in heard] == (
                [True] if warned else []
            )


def test_features_are_selected_by_name_or_position_and_unknown_ones_are_named(sample):
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    moments = GroupMoments.from_data(frame, sample.groups)
    for chosen in (["z", "u", "w"], [-1, "u", 2]):
        assert_same(moments.select(chosen), GroupMoments.from_data(frame[["z", "u", "w"]], sample.groups))
    for features in (["q"], [6], [True]):
        with pytest.raises(DataError, match=r"no feature .*; needed is a position below 6 or a name: u, v"):
            moments.select(features)
    with pytest.raises(GroupError, match="no attribute 'sex'; the attributes are group"):
        moments.marginal("sex")


def test_parts_that_do_not_fit_are_refused_and_those_that_do_are_frozen():
    labels, counts, means, scatters = np.array(["a", "b"]), np.ones(2), np.zeros((2, 3)), np.zeros((2, 3, 3))
    with pytest.raises(ValueError, match="read-only"):
        GroupMoments(labels, counts, means, scatters).means[0] = 1.0
    means[0] = 0.0  # the caller's own array stays writeable
    for parts in (
        (labels, counts, means, scatters[:, :2]),
        (labels, counts, means, scatters, ("a", "b")),
        (labels[::-1], counts, means, scatters),
        (labels, np.array([1.0, 0.0]), means, scatters),
    ):
        with pytest.raises(DataError, match=r"do not fit together|2 feature names .* for 3|sorted labels .* positive"):
            GroupMoments(*parts)


# -- on disk --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["strings", "numbers", "two attributes", "named features"])
def test_what_is_saved_is_loaded_to_the_last_bit(kind, sample, crossed, tmp_path):
    X, groups = crossed if kind == "two attributes" else (sample.X, sample.groups)
    groups = np.unique(groups, return_inverse=True)[1] if kind == "numbers" else groups
    X = pd.DataFrame(X, columns=list("uvwxyz")) if kind == "named features" else X
    moments = GroupMoments.from_data(X, groups)
    moments.save(tmp_path / "file")
    loaded = GroupMoments.load(tmp_path / "file")
    assert loaded.feature_names == moments.feature_names
    for field in FIELDS:
        assert getattr(loaded, field).dtype == getattr(moments, field).dtype
        assert np.array_equal(getattr(loaded, field), getattr(moments, field))


def test_damaged_files_and_other_things_are_not_moments(sample, tmp_path):
    path = tmp_path / "file.npz"
    GroupMoments.from_data(sample.X, sample.groups).save(path)
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-300])
    np.savez(tmp_path / "other.npz", version=2, counts=np.ones(3))
    np.savez(tmp_path / "old.npz", version=1)
    for name in ("cut", "other.npz", "old.npz", "absent"):
        with pytest.raises(ResultError, match=r"is not a moments file, .* Make it again"):
            GroupMoments.load(tmp_path / name)


def test_a_moments_file_in_which_a_bit_is_turned_is_refused_or_the_same(sample, tmp_path):
    path = tmp_path / "file.npz"
    whole = GroupMoments.from_data(sample.X, sample.groups)
    whole.save(path)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with contextlib.suppress(ResultError):
            assert np.array_equal(GroupMoments.load(path).scatters, whole.scatters)
