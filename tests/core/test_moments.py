"""Group moments: against the definition by another route, for every way of making them, and every refusal."""

import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from evenspan import GroupMoments
from evenspan.core import accumulator
from evenspan.core.errors import DataError, FeatureTypeError, GroupError
from evenspan.core.groups import encode_groups

from .samples import draw, two_attributes

FIELDS = ("labels", "counts", "means", "scatters")


def in_batches(X, groups, size=37):
    return GroupMoments.from_batches((X[a : a + size], groups[a : a + size]) for a in range(0, len(X), size))


def in_parts(X, groups, size=101):
    parts = [GroupMoments.from_data(X[a : a + size], groups[a : a + size]) for a in range(0, len(X), size)]
    return sum(parts[1:], start=parts[0])


WAYS = {"at once": GroupMoments.from_data, "batches": in_batches, "merged": in_parts}
every_way = pytest.mark.parametrize("make", WAYS.values(), ids=WAYS.keys())


def assert_same(a: GroupMoments, b: GroupMoments, rtol=1e-12):
    """Equal up to rounding relative to the size of each group's own moments."""
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.feature_names == b.feature_names
    np.testing.assert_allclose(a.counts, b.counts, rtol=rtol)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol, atol=rtol * np.abs(b.means).max())
    for S, T in zip(a.scatters, b.scatters, strict=True):
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
    assert (moments.n, moments.d, moments.G) == (380, 6, 3)
    for g, label in enumerate(moments.labels):
        rows = sample.rows(label)
        np.testing.assert_allclose(moments.means[g], np.mean(rows, axis=0), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(moments.scatters[g], np.cov(rows.T, ddof=0) * len(rows), rtol=1e-11, atol=1e-10)
    assert np.array_equal(moments.scatters, moments.scatters.transpose(0, 2, 1)), "symmetric to the last bit"


@every_way
def test_totals_follow_from_the_groups(make, sample):
    X = sample.X
    moments = make(X, sample.groups)
    np.testing.assert_allclose(moments.mean, np.mean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.scatter, np.cov(X.T, ddof=0) * len(X), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(moments.second_moment, X.T @ X, rtol=1e-12, atol=1e-9)
    within = moments.scatters.sum(axis=0)
    assert np.trace(moments.scatter) > 1.2 * np.trace(within), "the sample must have a between-group part to lose"


def exact(column: np.ndarray, other: np.ndarray) -> tuple[Fraction, Fraction]:
    """Mean of a column and sum of products of two about their means, in rational arithmetic."""
    a, b = [Fraction(float(v)) for v in column], [Fraction(float(v)) for v in other]
    return sum(a) / len(a), sum(x * y for x, y in zip(a, b, strict=True)) - sum(a) * sum(b) / len(a)


@pytest.mark.parametrize("make", [GroupMoments.from_data, in_batches], ids=["at once", "batches"])
@pytest.mark.parametrize("shift", [0.0, 1e8, -1e10])
def test_a_shift_costs_no_digits(make, shift):
    s = draw(counts=(60, 25, 12), d=4)
    # Multiples of 2^-10 below 2^34 are represented exactly, so that the shifted data are the shifted data.
    X = np.round(s.X * 1024) / 1024 + shift
    moments = make(X, s.groups)
    for g, label in enumerate(moments.labels):
        rows = X[s.groups == label]
        for i, j in itertools.product(range(4), repeat=2):
            mean, scatter = exact(rows[:, i], rows[:, j])
            bound = np.sqrt(moments.scatters[g, i, i] * moments.scatters[g, j, j])
            assert abs(float(Fraction(moments.scatters[g, i, j]) - scatter)) <= 1e-13 * bound
            assert abs(float(Fraction(moments.means[g, i]) - mean)) <= 2.0**-52 * abs(float(mean)) + 1e-14
    if shift:  # the textbook formula, as the control
        rows = X[s.groups == moments.labels[0]]
        _, scatter = exact(rows[:, 0], rows[:, 0])
        textbook = rows[:, 0] @ rows[:, 0] - len(rows) * np.mean(rows[:, 0], axis=0) ** 2
        assert abs(textbook - float(scatter)) > 1e-4 * float(scatter)


@pytest.mark.parametrize("order", ["drifting", "one far row first", "blocks far apart", "falling"])
@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_order_of_the_rows_costs_digits(order, shift, weighted):
    s = draw(counts=(60, 25, 12), d=4)
    X, groups = np.round(s.X * 1024) / 1024, s.groups
    if order == "one far row first":
        first = np.flatnonzero(groups == groups[0])[0]
        X[first] += 1000.0
    elif order == "blocks far apart":
        X += 300.0 * (np.arange(len(X)) // 20)[:, None]
    else:
        at = np.argsort(X[:, 1], kind="stable")
        at = at[::-1] if order == "falling" else at
        X, groups = X[at] * 16.0, groups[at]
        X[:, 2] += 4.0 * np.arange(len(X))
    X = X + shift
    weights = np.tile([1.0, 2.0, 1.0], len(X))[: len(X)] if weighted else np.ones(len(X))
    parts = [(X[a : a + 7], groups[a : a + 7], weights[a : a + 7]) for a in range(0, len(X), 7)]
    moments = GroupMoments.from_batches(parts if weighted else [part[:2] for part in parts])
    for g, label in enumerate(moments.labels):
        rows = np.repeat(X[groups == label], weights[groups == label].astype(int), axis=0)
        for i, j in itertools.product(range(4), repeat=2):
            mean, scatter = exact(rows[:, i], rows[:, j])
            bound = np.sqrt(moments.scatters[g, i, i] * moments.scatters[g, j, j])
            assert abs(float(Fraction(moments.scatters[g, i, j]) - scatter)) <= 1e-13 * bound
            assert abs(float(Fraction(moments.means[g, i]) - mean)) <= 2.0**-52 * abs(float(mean)) + 1e-12


def test_a_first_row_far_away_costs_the_many_after_it_no_digits():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(8000, 2)) * 1024) / 1024
    X[0] += 1e6
    groups = np.zeros(len(X), dtype=int)
    moments = GroupMoments.from_batches([(X[:1], groups[:1]), (X[1:], groups[1:])])
    for i, j in ((0, 0), (0, 1), (1, 1)):
        _, scatter = exact(X[:, i], X[:, j])
        assert abs(float((Fraction(moments.scatters[0, i, j]) - scatter) / scatter)) <= 1e-14


def test_merging_shifted_moments_loses_only_what_their_means_lost():
    s = draw(counts=(60, 25, 12), d=4)
    X = np.round(s.X * 1024) / 1024
    merged, whole = in_parts(X + 1e8, s.groups, size=20), GroupMoments.from_data(X, s.groups)
    # A stored mean near 1e8 is off by up to 7e-9, which enters the scatter once for each merge.
    np.testing.assert_allclose(merged.scatters, whole.scatters, rtol=0, atol=2e-8 * np.abs(whole.scatters).max())
    np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=0, atol=2e-8 * np.abs(whole.scatter).max())


@pytest.mark.parametrize("rows", [1, 40], ids=["first row", "first rows"])
def test_far_away_rows_at_the_start_spoil_nothing(rows):
    s = draw(counts=(300, 120, 60), d=4)
    groups = s.groups.astype("U9")
    groups[:rows] = "far"
    X = s.X.copy()
    X[:rows] = 3e9
    moments = GroupMoments.from_data(X, groups)
    clean = GroupMoments.from_data(s.X[rows:], s.groups[rows:])
    near = moments.labels != "far"
    np.testing.assert_allclose(moments.scatters[near], clean.scatters, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(moments.means[near], clean.means, rtol=1e-12, atol=1e-13)


@every_way
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 3])
def test_constant_columns_have_no_scatter_at_all(make, value, sample):
    X = sample.X.copy()
    X[:, 2] = value
    moments = make(X, sample.groups)
    assert not moments.scatters[:, 2].any()
    assert not moments.scatters[:, :, 2].any()
    assert (moments.means[:, 2] == value).all()
    assert moments.mean[2] == value
    assert not moments.scatter[2].any()


def test_a_group_of_one_row_is_that_row():
    X = np.array([[0.1, 0.2], [1.0, 5.0], [3.0, 7.0]])
    moments = GroupMoments.from_data(X, ["solo", "rest", "rest"])
    assert moments.means[1].tolist() == pytest.approx([0.1, 0.2], rel=1e-15)
    assert not moments.scatters[1].any()


# -- weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [None, 1], ids=["one block", "many blocks"])
def test_a_weight_is_a_number_of_repetitions(block, sample, monkeypatch):
    if block:
        monkeypatch.setattr(accumulator, "BLOCK_ENTRIES", block)
    weights = np.random.default_rng(0).integers(0, 4, len(sample.X))
    weighted = GroupMoments.from_data(sample.X, sample.groups, weights)
    repeated = GroupMoments.from_data(np.repeat(sample.X, weights, axis=0), np.repeat(sample.groups, weights))
    assert_same(weighted, repeated)
    assert_same(GroupMoments.from_batches([(sample.X, sample.groups, weights.tolist())]), repeated)
    plain = GroupMoments.from_data(sample.X, sample.groups)
    assert np.abs(weighted.means - plain.means).max() > 0.01, "weights must matter in this sample"


def test_unit_weights_change_nothing_and_fractions_scale(sample):
    plain = GroupMoments.from_data(sample.X, sample.groups)
    assert_same(GroupMoments.from_data(sample.X, sample.groups, np.ones(380)), plain)
    half = GroupMoments.from_data(sample.X, sample.groups, np.full(380, 0.5))
    np.testing.assert_allclose(half.counts, plain.counts / 2)
    np.testing.assert_allclose(half.means, plain.means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(half.scatters, plain.scatters / 2, rtol=1e-12, atol=1e-12)


def test_a_block_without_weight_is_no_block(sample, monkeypatch):
    monkeypatch.setattr(accumulator, "BLOCK_ENTRIES", 1)
    weights = np.ones(380)
    weights[:256] = 0  # all of the first block
    left = GroupMoments.from_data(sample.X, sample.groups, weights)
    assert_same(left, GroupMoments.from_data(sample.X[256:], sample.groups[256:]))


# -- what may come in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, bool, object])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only", "reversed"])
def test_types_and_layouts_of_arrays(dtype, layout, sample):
    whole = np.abs(np.round(10 * sample.X)) % 2 if dtype is bool else np.clip(np.abs(np.round(10 * sample.X)), 0, 120)
    X = whole.astype(dtype)
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "strided":
        X = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "reversed":
        X = X[::-1][::-1]
    X.flags.writeable = layout != "read-only"
    before = X.copy()
    moments = GroupMoments.from_data(X, sample.groups)
    assert_same(moments, GroupMoments.from_data(whole, sample.groups))
    assert np.array_equal(X, before), "the input must not change"
    assert moments.means.dtype == moments.scatters.dtype == moments.counts.dtype == np.float64


def test_float32_is_summed_in_double_precision(sample):
    X = (sample.X + 1000).astype(np.float32)
    moments = GroupMoments.from_data(X, sample.groups)
    assert_same(moments, GroupMoments.from_data(X.astype(np.float64), sample.groups), rtol=1e-14)
    single = np.mean(X[sample.groups == "azure"], axis=0, dtype=np.float32)
    assert np.abs(single - moments.means[0]).max() > 1e-6, "single precision would be seen here"


def test_nothing_that_comes_in_is_changed(sample):
    X, groups, weights = sample.X.copy(), sample.groups.copy(), np.linspace(0.1, 2.0, 380)
    kept = X.copy(), groups.copy(), weights.copy()
    GroupMoments.from_data(X, groups, weights)
    in_batches(X, groups)
    for now, before in zip((X, groups, weights), kept, strict=True):
        assert np.array_equal(now, before)
        assert now.flags.writeable


def test_memory_maps_and_lists(sample, tmp_path):
    on_disk = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=sample.X.shape)
    on_disk[:] = sample.X
    read = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="r", shape=sample.X.shape)
    expected = GroupMoments.from_data(sample.X, sample.groups)
    assert_same(GroupMoments.from_data(read, sample.groups), expected)
    assert_same(GroupMoments.from_data(sample.X.tolist(), sample.groups.tolist()), expected)


def test_data_frames_of_several_types(sample):
    X = np.round(sample.X * 4)
    frame = pd.DataFrame(X, columns=list("uvwxyz"), index=np.arange(380)[::-1])
    frame = frame.astype({"u": "float32", "v": "int64", "w": "Int64", "x": "Float64"})
    frame["y"] = frame["y"] > 0
    frame["z"] = (frame["z"] > 0).astype("boolean")
    X[:, 4:] = X[:, 4:] > 0
    moments = GroupMoments.from_data(frame, pd.Series(sample.groups))  # rows are paired by order, not by index
    assert moments.feature_names == tuple("uvwxyz")
    np.testing.assert_allclose(moments.means, GroupMoments.from_data(X, sample.groups).means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.scatters, GroupMoments.from_data(X, sample.groups).scatters, atol=1e-9)
    assert GroupMoments.from_data(frame.rename(columns={"u": 1}), sample.groups).feature_names is None


@pytest.mark.parametrize("kind", ["C", "F", "frame", "float32"])
def test_memory_stays_far_below_a_copy(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20))
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, len(X))]
    copy = X.nbytes
    X = {"C": X, "F": np.asfortranarray(X), "frame": pd.DataFrame(X), "float32": X.astype(np.float32)}[kind]
    tracemalloc.start()
    GroupMoments.from_data(X, groups)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * copy


# -- labels -------------------------------------------------------------------------------------------------------

CODES = np.array([2, 0, 1, 0, 2, 2, 1, 0])
LABELS = {
    "strings": (np.array(["b", "q", "zebra"]), ["b", "q", "zebra"]),
    "wide strings": (np.array(["b", "q", "zebra"], dtype="U40"), ["b", "q", "zebra"]),
    "objects": (np.array(["b", "q", "zebra"], dtype=object), ["b", "q", "zebra"]),
    "integers": (np.array([-3, 0, 10]), [-3, 0, 10]),
    "small integers": (np.array([1, 2, 200], dtype=np.uint8), [1, 2, 200]),
    "unsigned": (np.array([1, 2, 200], dtype=np.uint64), [1, 2, 200]),
    "float integers": (np.array([-1.0, 0.0, 2.0]), [-1, 0, 2]),
    "boxed integers": (np.array([np.int64(1), np.int64(2), 3], dtype=object), [1, 2, 3]),
}


@pytest.mark.parametrize(("values", "expected"), LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("box", [np.asarray, list, tuple, pd.Series, pd.Index, pd.Categorical, lambda v: v[:, None]])
def test_labels_of_every_kind(values, expected, box):
    X = np.arange(16.0).reshape(8, 2) ** 2
    moments = GroupMoments.from_data(X, box(values[CODES]))
    assert moments.labels.tolist() == expected
    assert [type(label) for label in moments.labels.tolist()] == [type(label) for label in expected]
    assert moments.counts.tolist() == [3, 2, 3]
    for g in range(3):
        np.testing.assert_allclose(moments.means[g], np.mean(X[g == CODES], axis=0))


@pytest.mark.parametrize("kinds", [1, 2, 8, 9, 30])
@pytest.mark.parametrize("late", [False, True])
def test_strings_of_few_and_of_many_kinds_are_told_apart_alike(kinds, late):
    rng = np.random.default_rng(kinds)
    values = np.array([f"group {j}" for j in rng.permutation(kinds)])[rng.permutation(np.arange(600) % kinds)]
    values = np.sort(values)[::-1] if late else values  # most kinds come after the first rows
    labels, codes = encode_groups(values)
    assert labels.tolist() == sorted(set(values))
    assert [labels[code] for code in codes] == values.tolist()


@pytest.mark.parametrize("dtype", ["category", "string", "str", "object"])
def test_text_columns_of_pandas(dtype, sample):
    labels = pd.Series(sample.groups, dtype=dtype)
    assert_same(GroupMoments.from_data(sample.X, labels), GroupMoments.from_data(sample.X, sample.groups))


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "boolean", "bool", "Float64", "category"])
def test_number_columns_of_pandas(dtype, pair):
    labels = pd.Series((pair.groups == "woman").astype(int)).astype(dtype)
    moments = GroupMoments.from_data(pair.X, labels)
    assert moments.labels.tolist() == ([False, True] if dtype in ("boolean", "bool") else [0, 1])
    assert moments.counts.tolist() == [70, 150]


def test_unused_categories_are_no_groups(pair):
    labels = pd.Categorical(pair.groups, categories=["man", "nobody", "woman"])
    assert GroupMoments.from_data(pair.X, labels).labels.tolist() == ["man", "woman"]


def several(groups) -> dict:
    """The same two attributes in the containers that can hold them."""
    structured = np.array([tuple(row) for row in groups], dtype=[("colour", "U1"), ("shape", "U1")])
    frame = pd.DataFrame(groups, columns=["colour", "shape"])
    return {"frame": frame, "categories": frame.astype("category"), "structured": structured, "array": groups,
            "lists": groups.tolist()}  # fmt: skip


@pytest.mark.parametrize("container", several(np.array([["a", "b"]])))
def test_several_attributes(container, crossed):
    X, groups = crossed
    moments = GroupMoments.from_data(X, several(groups)[container])
    names = ("attribute0", "attribute1") if container in ("array", "lists") else ("colour", "shape")
    assert moments.attributes == names
    assert moments.labels.tolist() == [(c, s) for c in "abc" for s in "xy"]
    assert moments.counts.tolist() == [120, 60, 45, 80, 30, 55]
    for label, mean in zip(moments.labels.tolist(), moments.means, strict=True):
        np.testing.assert_allclose(mean, np.mean(X[(groups == label).all(axis=1)], axis=0), rtol=1e-11, atol=1e-13)
    for j, name in enumerate(names):
        assert_same(moments.marginal(name), GroupMoments.from_data(X, groups[:, j]))
    texts = [f"{names[0]}={c}, {names[1]}={s}" for c, s in groups]
    assert_same(moments.cells(), GroupMoments.from_data(X, texts))
    half = len(X) // 2
    parts = [GroupMoments.from_data(X[part], several(groups[part])[container]) for part in (np.s_[:half], np.s_[half:])]
    assert_same(parts[0] + parts[1], moments)


def test_attributes_of_different_types_keep_their_types(crossed):
    X, groups = crossed
    frame = pd.DataFrame({"sex": groups[:, 1] == "x", "site": [{"a": 7, "b": -1, "c": 30}[c] for c in groups[:, 0]]})
    moments = GroupMoments.from_data(X, frame)
    assert moments.labels.tolist() == [(sex, site) for sex in (False, True) for site in (-1, 7, 30)]
    assert moments.marginal("site").labels.tolist() == [-1, 7, 30]
    assert moments.marginal("sex").labels.tolist() == [False, True]
    # As text, 30 comes before 7.
    assert_same(moments.cells(), GroupMoments.from_data(X, [f"sex={a}, site={b}" for a, b in frame.to_numpy()]))


def test_only_combinations_that_occur_are_groups(crossed):
    X, groups = crossed
    keep = ~((groups[:, 0] == "b") & (groups[:, 1] == "x"))
    moments = GroupMoments.from_data(X[keep], groups[keep])
    assert ("b", "x") not in moments.labels.tolist()
    assert moments.G == 5
    assert moments.marginal("attribute0").counts.tolist() == [180, 80, 85]


def test_one_attribute_has_itself_as_margin(sample):
    moments = GroupMoments.from_data(sample.X, sample.groups)
    assert moments.attributes == ("group",)
    assert_same(moments.marginal("group"), moments)
    assert_same(moments.cells(), moments)


# -- merging ------------------------------------------------------------------------------------------------------


def test_a_group_may_be_missing_on_either_side(sample):
    order = np.argsort(sample.groups, kind="stable")  # azure, beige, crimson: the cut leaves crimson on one side only
    X, groups = sample.X[order], sample.groups[order]
    first, second = GroupMoments.from_data(X[:150], groups[:150]), GroupMoments.from_data(X[150:], groups[150:])
    assert first.labels.tolist() == ["azure", "beige"]
    assert second.labels.tolist() == ["beige", "crimson"]
    whole = GroupMoments.from_data(X, groups)
    for merged in (first + second, second + first, in_batches(X, groups), in_batches(X[::-1], groups[::-1])):
        assert_same(merged, whole)
    assert first.labels.tolist() == ["azure", "beige"], "addition must not change its terms"
    assert first.n == 150


@pytest.mark.parametrize("G", [2, 3, 8, 9, 30])
def test_many_groups_and_new_ones_in_later_batches(G):
    rng = np.random.default_rng(G)
    X, codes = rng.normal(size=(600, 3)), rng.integers(0, G, 600)
    codes[:300] %= max(G // 2, 1)  # the others appear in the second half
    for labels in (np.arange(G), np.array([f"group {g:02d}" for g in range(G)]), np.arange(G, dtype=np.uint8)):
        groups = labels[codes]
        moments = in_batches(X, groups, size=50)
        assert_same(moments, GroupMoments.from_data(X, groups))
        for g in range(G):
            np.testing.assert_allclose(moments.means[g], np.mean(X[codes == g], axis=0), rtol=1e-12, atol=1e-14)
        assert moments.labels.tolist() == labels.tolist()
    if G == 2:
        truth = codes == 1
        assert_same(in_batches(X, truth, size=50), GroupMoments.from_data(X, truth))


def test_labels_known_from_earlier_batches_may_come_in_another_form(sample):
    X, groups = sample.X, sample.groups
    whole = GroupMoments.from_data(X, groups)
    wide = groups[200:300].astype("U30")
    assert_same(
        GroupMoments.from_batches([(X[:200], groups[:200]), (X[200:300], wide), (X[300:], groups[300:].tolist())]),
        whole,
    )
    numbers = np.unique(groups, return_inverse=True)[1]
    parts = [(X[:200], numbers[:200].astype(np.int8)), (X[200:], numbers[200:].astype(float))]
    assert_same(GroupMoments.from_batches(parts), GroupMoments.from_data(X, numbers))


def test_names_survive_a_merge(sample):
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    named, bare = GroupMoments.from_data(frame, sample.groups), GroupMoments.from_data(sample.X, sample.groups)
    assert (named + bare).feature_names == (bare + named).feature_names == tuple("uvwxyz")
    assert (bare + bare).feature_names is None
    assert GroupMoments.from_batches([(frame, sample.groups)]).feature_names == tuple("uvwxyz")


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
    if len(parts) >= 3:
        a, b, c = parts[:3]
        assert_same((a + b) + c, a + (b + c))
    batches = [(X[a:b], groups[a:b]) for a, b in itertools.pairwise([0, *cuts, len(X)])]
    assert_same(GroupMoments.from_batches(iter(batches)), whole)


@given(labelled_tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, random):
    X, groups = table
    order = list(range(len(X)))
    random.shuffle(order)
    assert_same(GroupMoments.from_data(X[order], groups[order]), GroupMoments.from_data(X, groups))


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


def test_pooled_is_one_group(sample):
    pooled = GroupMoments.from_data(sample.X, sample.groups).pooled()
    assert_same(pooled, GroupMoments.from_data(sample.X, ["all"] * 380))


def test_select_by_position_name_and_order(sample):
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    moments = GroupMoments.from_data(frame, sample.groups)
    expected = GroupMoments.from_data(frame[["z", "u", "w"]], sample.groups)
    for chosen in (["z", "u", "w"], [5, 0, 2], [-1, "u", 2], np.array([5, 0, 2])):
        assert_same(moments.select(chosen), expected)


@pytest.mark.parametrize("reference", [False, True], ids=["itself", "training part"])
def test_standardised_is_standardising_the_data(reference, sample):
    X = sample.X.copy()
    X[:, 3] = 0.1  # constant: stays 0, divided by 1
    train = np.arange(380) < 250
    base = X[train] if reference else X
    scale = np.std(base, axis=0)
    scale[3] = 1.0
    expected = GroupMoments.from_data((X - np.mean(base, axis=0)) / scale, sample.groups)
    moments = GroupMoments.from_data(X, sample.groups)
    got = moments.standardised(GroupMoments.from_data(X[train], sample.groups[train]) if reference else None)
    assert_same(got, expected, rtol=1e-11)
    assert not got.means[:, 3].any()
    assert moments.scale()[3] == 1.0
    if not reference:
        np.testing.assert_allclose(np.diag(got.scatter) / 380, [1, 1, 1, 0, 1, 1], atol=1e-12)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_what_counts_as_constant_does_not_depend_on_units(factor, sample):
    moments = GroupMoments.from_data(sample.X * factor, sample.groups)
    np.testing.assert_allclose(moments.scale(), np.std(sample.X, axis=0) * factor, rtol=1e-10)


def test_moments_are_frozen_but_their_makers_arrays_are_not(sample):
    moments = GroupMoments.from_data(sample.X, sample.groups)
    for name in FIELDS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(moments, name)[0] = getattr(moments, name)[1]
    with pytest.raises(AttributeError):
        moments.counts = np.ones(3)
    counts, means = np.array([2.0]), np.zeros((1, 3))
    GroupMoments(np.array(["a"]), counts, means, np.zeros((1, 3, 3)))
    assert counts.flags.writeable
    assert means.flags.writeable


def test_the_text_of_moments_is_short(sample):
    assert repr(GroupMoments.from_data(sample.X, sample.groups)) == (
        "GroupMoments(n=380, d=6, groups: azure (120), beige (60), crimson (200))"
    )
    many = GroupMoments.from_data(sample.X, np.arange(380) % 9)
    assert repr(many).endswith("4 (42), 5 (42), ...)")


# -- refusals: what was seen, what is needed, what to do ------------------------------------------------------------

X0 = np.arange(24.0).reshape(8, 3) % 7
G0 = np.array(list("aabbccab"))
FRAME = pd.DataFrame(X0, columns=["age", "income", "debt"])


def with_entries(*entries, frame=False):
    X = X0.copy()
    for i, j, value in entries:
        X[i, j] = value
    return pd.DataFrame(X, columns=FRAME.columns) if frame else X


REFUSALS = {
    "nan": (with_entries((0, 1, np.nan), (3, 1, np.nan), (4, 2, np.nan)), G0, None, DataError,
            ["NaN or inf", "1 (2), 2 (1)", "finite", "Impute or drop"]),
    "inf": (with_entries((7, 0, -np.inf)), G0, None, DataError, ["NaN or inf", "0 (1)", "finite", "Impute or drop"]),
    "all nan": (np.full((8, 3), np.nan), G0, None, DataError, ["0 (8), 1 (8), 2 (8)"]),
    "nan in a frame": (with_entries((0, 1, np.nan), (5, 1, np.inf), frame=True), G0, None, DataError,
                       ["'income' (2)", "Impute or drop"]),
    "missing in a nullable column": (FRAME.assign(debt=pd.Series([None, *range(7)], dtype="Int64")), G0, None,
                                     DataError, ["'debt' (1)"]),
    "overflow": (with_entries((2, 2, 1e200)), G0, None, DataError, ["column(s) 2 of X hold", "up to 1e+30", "Rescale"]),
    "lengths": (X0, G0[:5], None, GroupError, ["5 rows", "X has 8", "one entry for each row", "same order"]),
    "text column": (FRAME.assign(income=list("abcdefgh")), G0, None, FeatureTypeError,
                    ["1 of 3", "'income'", "not numeric", "Encode", "drop"]),
    "categorical column": (FRAME.assign(debt=pd.Categorical([1] * 8)), G0, None, FeatureTypeError,
                           ["'debt'", "category"]),
    "date column": (FRAME.assign(age=pd.Timestamp("2020-01-01")), G0, None, FeatureTypeError, ["'age'", "datetime"]),
    "text in an array": (np.array([["1", "x"]] * 8), G0, None, FeatureTypeError,
                         ["column 1", "not numeric", "drop it"]),
    "object in an array": (np.array([[1, 2, None]] * 8), G0, None, DataError, ["2 (8)"]),
    "complex": (X0 * 1j, G0, None, DataError, ["complex", "real", "X.real"]),
    "sparse and complex": (sparse.csr_array(X0 * 1j), G0, None, DataError, ["complex", "X.real"]),
    "a sparse vector": (sparse.coo_array(X0[:, 0]), G0, None, DataError, ["1 dimension(s)", "(8,)"]),
    "1-D": (X0[:, 0], G0, None, DataError, ["1 dimension(s)", "(8,)", "n rows and d columns", "reshape"]),
    "3-D": (X0[None], G0, None, DataError, ["3 dimension(s)", "n rows and d columns"]),
    "no rows": (X0[:0], G0[:0], None, DataError, ["0 rows", "at least one"]),
    "no columns": (X0[:, :0], G0, None, DataError, ["0 feature", "minimum of 1"]),
    "no groups": (X0, None, None, GroupError, ["None", "one group label for each row"]),
    "missing label": (X0, [*"aabbcca", None], None, GroupError, ["'group'", "1 missing", "Drop those rows", "own"]),
    "nan among text": (X0, [*"aabbcc", np.nan, np.nan], None, GroupError, ["'group'", "2 missing"]),
    "nan label": (X0, [0, 1, 0, 1, np.nan, np.nan, 1, 0.0], None, GroupError, ["2 missing"]),
    "missing in a column": (X0, pd.DataFrame({"sex": G0, "site": [1, None] * 4}), None, GroupError,
                            ["'site'", "4 missing"]),
    "missing nullable": (X0, pd.Series([1, None] * 4, dtype="Int64"), None, GroupError, ["4 missing"]),
    "missing category": (X0, pd.Categorical([*"aabbcca", None]), None, GroupError, ["1 missing"]),
    "mixed": (X0, np.array(["a", 1] * 4, dtype=object), None, GroupError,
              ["'group'", "numbers, strings", "of one kind"]),
    "booleans and numbers": (X0, np.array([True, 3] * 4, dtype=object), None, GroupError,
                             ["booleans, numbers"]),
    "continuous": (X0, np.linspace(0, 1, 8), None, GroupError,
                   ["8 distinct", "continuous", "Bin", "numeric_attributes"]),
    "dates": (X0, np.array(["2020-01-01"] * 8, "M8[D]"), None, GroupError,
              ["date", "strings, booleans or whole"]),
    "lists": (X0, pd.Series([["a"]] * 8), None, GroupError, ["'group'", "list", "whole numbers"]),
    "3-D groups": (X0, G0.reshape(8, 1, 1), None, GroupError, ["(8, 1, 1)", "(n,)", "(n, p)"]),
    "0-D groups": (X0, "a", None, GroupError, ["()", "(n,)"]),
    "no attributes": (X0, pd.DataFrame(index=range(8)), None, GroupError, ["without columns", "at least one"]),
    "twice the same attribute": (X0, pd.DataFrame([["a", "b"]] * 8, columns=["s", "s"]), None, GroupError,
                                 ["same name", "s, s", "Rename"]),
    "empty group": (X0, G0, (G0 != "c") * 1.0, GroupError, ["'c'", "weight zero", "Drop its rows", "positive weight"]),
    "negative weight": (X0, G0, -np.ones(8), DataError, ["negative", "finite weights >= 0"]),
    "nan weight": (X0, G0, np.full(8, np.nan), DataError, ["NaN", "finite weights >= 0"]),
    "short weights": (X0, G0, np.ones(7), DataError, ["(7,)", "one weight for each of the 8 rows"]),
    "2-D weights": (X0, G0, np.ones((8, 1)), DataError, ["(8, 1)", "one weight for each"]),
}  # fmt: skip


@pytest.mark.parametrize(("X", "groups", "weights", "error", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_say_what_was_seen_needed_and_to_be_done(X, groups, weights, error, words):
    with pytest.raises(error) as caught:
        GroupMoments.from_data(X, groups, weights)
    assert type(caught.value) is error
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_many_bad_columns_are_cut_short():
    with pytest.raises(DataError, match=r"0 \(1\), 1 \(1\), 2 \(1\), 3 \(1\), 4 \(1\), \.\.\."):
        GroupMoments.from_data(np.vstack([np.full((1, 9), np.nan), np.zeros((3, 9))]), list("aabb"))


def test_a_mistake_far_down_is_found(monkeypatch):
    X, groups = np.zeros((20_000, 2)), np.arange(20_000) % 2
    X[19_999, 1] = np.nan
    with pytest.raises(DataError, match=r"1 \(1\)"):
        GroupMoments.from_data(X, groups)


def test_batches_are_checked_like_tables(sample):
    X, groups = sample.X, sample.groups
    with pytest.raises(DataError, match=r"no batch.*at least one"):
        GroupMoments.from_batches([])
    with pytest.raises(DataError, match="5 features, the batches before it had 6"):
        GroupMoments.from_batches([(X, groups), (X[:, :5], groups)])
    bad = X.copy()
    bad[3, 4] = np.nan
    with pytest.raises(DataError, match=r"batch 2 \(rows 380:760\): X contains NaN or inf: .* 4 \(1\)\. Needed are"):
        GroupMoments.from_batches([(X, groups), (bad, groups), (X, groups)])
    with pytest.raises(DataError, match=r"batch 2 is a ndarray; needed is \(X, sensitive_features\) or"):
        GroupMoments.from_batches([(X, groups), X])
    with pytest.raises(DataError, match="batch 1 is a tuple"):
        GroupMoments.from_batches([(X, groups, None, None)])
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    with pytest.raises(DataError, match=r"features .*'v', 'u'.* before it"):
        GroupMoments.from_batches([(frame, groups), (frame[list("vuwxyz")], groups)])
    with pytest.raises(DataError, match=r"batch 2 .*'z' \(1\)"):
        GroupMoments.from_batches([(frame, groups), (frame.where(frame != frame.iloc[3, 5]), groups)])
    with pytest.raises(GroupError, match=r"batch 2 \(rows 380:760\): .*1 missing value"):
        GroupMoments.from_batches([(X, groups), (X, [*groups[1:], None])])
    with pytest.raises(GroupError, match=r"batch 2 .*strings, whole numbers"):
        GroupMoments.from_batches([(X, groups), (X, np.arange(380) % 2)])


def test_addition_needs_the_same_features_and_labels(sample):
    moments = GroupMoments.from_data(sample.X, sample.groups)
    with pytest.raises(DataError, match=r"6 and 5 features.*Select the same"):
        moments + moments.select(range(5))
    frame = pd.DataFrame(sample.X, columns=list("uvwxyz"))
    a, b = GroupMoments.from_data(frame, sample.groups), GroupMoments.from_data(frame[list("vuwxyz")], sample.groups)
    with pytest.raises(DataError, match=r"u, v, w, x, y, \.\.\. and v, u, w"):
        a + b
    for other in (np.arange(380) % 2, np.arange(380) % 2 == 0):
        with pytest.raises(GroupError, match=r"different kinds .* Use the same"):
            moments + GroupMoments.from_data(sample.X, other)
    with pytest.raises(TypeError):
        moments + 1
    X, groups = two_attributes()
    one = GroupMoments.from_data(X, pd.DataFrame(groups, columns=["colour", "shape"]))
    for other in (pd.DataFrame(groups, columns=["colour", "form"]), groups[:, 0],
                  pd.DataFrame({"colour": groups[:, 0], "shape": groups[:, 1] == "x"})):  # fmt: skip
        with pytest.raises(GroupError, match="different kinds"):
            one + GroupMoments.from_data(X, other)


def test_unknown_features_and_attributes_are_named(sample):
    moments = GroupMoments.from_data(pd.DataFrame(sample.X, columns=list("uvwxyz")), sample.groups)
    with pytest.raises(DataError, match=r"no feature 'q'; the features are u, v, w, x, y, \.\.\."):
        moments.select(["u", "q"])
    with pytest.raises(DataError, match="no feature at position 6; there are 6"):
        moments.select([6])
    with pytest.raises(DataError, match="flatnonzero"):
        moments.select(np.arange(6) > 3)
    with pytest.raises(DataError, match=r"1\.5 is neither"):
        moments.select([1.5])
    with pytest.raises(GroupError, match="no attribute 'sex'; the attributes are group"):
        moments.marginal("sex")


def test_parts_that_do_not_fit_are_refused():
    labels, counts, means, scatters = np.array(["a", "b"]), np.ones(2), np.zeros((2, 3)), np.zeros((2, 3, 3))
    GroupMoments(labels, counts, means, scatters)
    with pytest.raises(DataError, match=r"do not fit .*needed are \(G,\)"):
        GroupMoments(labels, counts, means, scatters[:, :2])
    with pytest.raises(DataError, match="2 feature names were given for 3"):
        GroupMoments(labels, counts, means, scatters, ("a", "b"))
    for wrong in (np.array(["b", "a"]), np.array(["a", "a"])):
        with pytest.raises(DataError, match="sorted labels without repetition"):
            GroupMoments(wrong, counts, means, scatters)
    with pytest.raises(DataError, match="positive counts"):
        GroupMoments(labels, np.array([1.0, 0.0]), means, scatters)
