"""Sparse tables: the answers of dense ones, without a dense table, wherever moments are all that a method needs."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from evenspan import ArrayStream, FairPCA, GroupFrame, GroupMoments, OracleLEACE
from evenspan.core.errors import DataError

from .every import ALL, PLAIN, TRANSFORMERS, fit, make
from .memory import peak_of
from .samples import angle, group_gap, size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

N, D = 900, 40
KINDS = {
    "csr array": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csc array": sparse.csc_array,
    "csc matrix": sparse.csc_matrix,
    "coo array": sparse.coo_array,
    "lil matrix": sparse.lil_matrix,
}
#: Where the points themselves are needed, centred.
REFUSING = {"INLP", "RLACE", "MMDFairPCA", "FairKernelPCA", "KernelKMeans", "FairKernelKMeans",
            "FairMultipleKernelKMeans", "FairnessFirstClustering"}  # fmt: skip


def words(n=N, d=D, share=0.05, seed=3) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts of words in texts by three kinds of authors, who prefer different ones; and the author of each."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(["crimson", "azure", "beige"], [n // 2, n // 3, n - n // 2 - n // 3])[rng.permutation(n)]
    liked = share * rng.dirichlet(np.full(d, 0.7), size=3) * d
    rates = liked[np.unique(groups, return_inverse=True)[1]]
    return sparse.csr_array(rng.poisson(np.minimum(rates, 4 * share)).astype(float)), groups


X, GROUPS = words()
DENSE = X.toarray()


def error(found: GroupMoments, expected: GroupMoments) -> float:
    """Largest error of an entry of the scatters, relative to the spreads of its two features."""
    spread = np.sqrt(np.einsum("gjj->gj", expected.scatters))
    allowed = spread[:, :, None] * spread[:, None, :]
    difference = np.abs(found.scatters - expected.scatters)
    assert not difference[allowed == 0].any()
    return float((difference / np.where(allowed > 0, allowed, 1.0)).max())


def uncentred(X: np.ndarray, groups: np.ndarray) -> GroupMoments:
    """The control: sums of products about zero, less those of the means."""
    plain = GroupMoments.from_data(X, groups)
    parts = [(X[groups == label], mean) for label, mean in zip(plain.labels, plain.means, strict=True)]
    scatters = np.array([rows.T @ rows - len(rows) * np.outer(mean, mean) for rows, mean in parts])
    return GroupMoments(plain.labels, plain.counts, plain.means, scatters)


# -- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_dense_table(kind, weighted):
    weights = np.random.default_rng(0).integers(0, 4, N).astype(float) if weighted else None
    found, expected = (GroupMoments.from_data(table, GROUPS, weights) for table in (KINDS[kind](X), DENSE))
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-14)
    assert error(found, expected) < 1e-13
    np.testing.assert_array_equal(found.scatters, found.scatters.transpose(0, 2, 1))


@pytest.mark.parametrize("far", [1e3, 1e7])
def test_fuller_columns_are_centred_before_they_are_multiplied(far):
    rng = np.random.default_rng(1)
    table = DENSE.copy()
    table[:, 0] = far + rng.normal(size=N)
    table[GROUPS == "azure", 7] = far + rng.normal(size=(GROUPS == "azure").sum())  # of one group only
    weights = rng.integers(1, 4, N).astype(float)
    assert sparse.csr_array(table).nnz < 0.08 * table.size
    for given in (None, weights):
        expected = GroupMoments.from_data(table, GROUPS, given)
        assert error(GroupMoments.from_data(sparse.csr_array(table), GROUPS, given), expected) < 1e-10
    # The control: the squares are far^2, and so are their roundings.
    lost = error(uncentred(table, GROUPS), GroupMoments.from_data(table, GROUPS))
    assert 1e-19 * far**2 < lost
    assert far < 1e7 or lost > 1e-4


@pytest.mark.parametrize("share", [1e-4, 0.3, 0.49, 0.51, 0.9, 1 - 1e-4])
def test_how_full_a_column_is_costs_no_digits(share):
    n = 20_000
    rng = np.random.default_rng(2)
    table = np.zeros((n, 20))
    table[: int(share * n), 3] = 1e8 + rng.normal(size=int(share * n))  # all spread is between nothing and something
    table[rng.permutation(n)[:500], 5] = 1.0
    groups = np.repeat(["a", "b"], [n - 5, 5])
    found, expected = (GroupMoments.from_data(one, groups) for one in (sparse.csr_array(table), table))
    assert error(found, expected) < 1e-12
    if share > 0.99:
        assert error(uncentred(table, groups), expected) > 1e-11


def test_entries_given_twice_or_as_zeros_are_what_they_add_up_to():
    rows, columns, values = [0, 0, 1, 2, 3, 3], [1, 1, 0, 1, 1, 2], [2.0, 3.0, 1.0, -4.0, 0.0, 6.0]
    twice = sparse.csr_array((values, columns, [0, 2, 3, 4, 6]), shape=(4, 30))
    assert twice.nnz == len(rows)
    expected = GroupMoments.from_data(twice.toarray(), list("aabb"))
    found = GroupMoments.from_data(twice, list("aabb"))
    np.testing.assert_allclose(found.means, expected.means, atol=1e-15)
    np.testing.assert_allclose(found.scatters, expected.scatters, atol=1e-14)
    np.testing.assert_array_equal(twice.data, values)  # the caller's own table stays as it was


def test_fuller_tables_are_read_in_dense_blocks():
    full, groups = words(share=0.5)
    found, expected = GroupMoments.from_data(full, groups), GroupMoments.from_data(full.toarray(), groups)
    for field in ("counts", "means", "scatters"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


def test_batches_and_streams_of_sparse_rows():
    expected = GroupMoments.from_data(DENSE, GROUPS)
    batches = [(X[a : a + 250], GROUPS[a : a + 250]) for a in range(0, N, 250)]
    for found in (
        GroupMoments.from_batches(batches),
        GroupMoments.from_batches([batches[0], (batches[1][0].toarray(), batches[1][1]), *batches[2:]]),
        GroupMoments.from_batches(ArrayStream(X, GROUPS, batch_size=250)),
        sum((GroupMoments.from_data(*batch) for batch in batches[1:]), GroupMoments.from_data(*batches[0])),
    ):
        np.testing.assert_allclose(found.means, expected.means, atol=1e-14)
        assert error(found, expected) < 1e-13


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, ["NaN or inf", "4 (1)"]), (1e200, ["column(s) 4 of X", "up to 1e+30"])]
)
def test_bad_entries_are_found_and_counted(value, words):
    broken = sparse.lil_array(X)
    broken[17, 4] = value
    for call in (GroupMoments.from_data, lambda X, groups: FairPCA(2).fit(X, sensitive_features=groups)):
        with pytest.raises(DataError) as caught:
            call(broken.tocsr(), GROUPS)
        assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


# -- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in TRANSFORMERS if name not in REFUSING])
def test_every_method_of_moments_learns_and_maps_the_same(name):
    two = np.where(GROUPS == "azure", "f", "m")
    dense = fit(make(name), DENSE, two)
    for kind in ("csr array", "csc matrix"):
        table = KINDS[kind](X)
        fitted = fit(make(name), table, two)
        assert angle(fitted.components_.T, dense.components_.T) < 1e-6
        T = fitted.transform(table)
        assert type(T) is np.ndarray
        np.testing.assert_allclose(T, fitted.transform(DENSE), atol=1e-12 * np.abs(T).max())
        np.testing.assert_allclose(
            T, dense.transform(DENSE), atol=1e-10 * np.abs(T).max() if name == "FairPCA" else 1e-5
        )


@pytest.mark.parametrize("kind", KINDS)
def test_equal_means_hold_on_sparse_rows(kind):
    table = KINDS[kind](X)
    T = FairPCA(3).fit_transform(table, sensitive_features=GROUPS)
    plain = make("StandardPCA", 3).fit_transform(table)
    assert group_gap(T, GROUPS) < 1e-10 * size(T) < 0.1 * size(T) < group_gap(plain, GROUPS)


@pytest.mark.parametrize("options", [{}, {"n_components": 3}])
def test_what_is_erased_is_gone_from_sparse_rows(options):
    T = ALL["LEACE"](**options).fit_transform(X, sensitive_features=GROUPS)
    assert type(T) is np.ndarray
    assert group_gap(T, GROUPS) < 1e-10 * size(T)
    assert group_gap(DENSE, GROUPS) > 0.1 * size(DENSE)
    if not options:
        U = OracleLEACE().fit_transform(X, sensitive_features=GROUPS)
        assert group_gap(U, GROUPS) < 1e-10 * size(U)
        assert np.linalg.norm(U - DENSE) < np.linalg.norm(T - DENSE)


def test_quantities_and_the_judge_beside_sparse_rows():
    frame = pd.DataFrame({"author": GROUPS, "age": np.random.default_rng(0).normal(40, 9, N) + DENSE[:, 5]})
    options = {"numeric_attributes": ["age"]}
    found, expected = (FairPCA(2, **options).fit(one, sensitive_features=frame) for one in (X, DENSE))
    assert angle(found.components_.T, expected.components_.T) < 1e-8
    T = found.transform(X)
    assert np.abs(np.corrcoef(T.T, frame["age"])[2, :2]).max() < 1e-10
    judged = [GroupFrame(estimator=found, X=one, sensitive_features=GROUPS).by_group for one in (X, DENSE)]
    pd.testing.assert_frame_equal(*judged, rtol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_the_tag_says_sparse_exactly_where_it_is_taken(name):
    two = np.where(GROUPS == "azure", "f", "m")[:120]
    model = make(name)
    assert model.__sklearn_tags__().input_tags.sparse == (name not in REFUSING)
    if name not in REFUSING:
        fit(model, X[:120], two)
        return
    with pytest.raises((TypeError, DataError), match=r"(?i)sparse.*toarray"):
        fit(model, X[:120], two)
    fitted = fit(model, DENSE[:120], two)
    if name in TRANSFORMERS:
        with pytest.raises(TypeError, match=r"(?i)sparse.*toarray"):
            fitted.transform(X[:120])


@pytest.mark.parametrize("name", ["FairPCA", "StandardPCA", "LEACE"])
def test_no_dense_table_is_made(name):
    tall, groups = words(60_000, 250, share=0.004)
    dense = 8 * tall.shape[0] * tall.shape[1]
    peak, fitted = peak_of(lambda: fit(make(name), tall, groups))
    assert peak < 0.25 * dense
    peak, T = peak_of(lambda: fitted.transform(tall))
    assert T.shape == (len(groups), 2)
    assert peak < 0.1 * dense
    assert name in PLAIN or group_gap(T, groups) < 1e-9 * size(T)


@pytest.mark.exhaustive
def test_a_process_fits_what_would_be_three_gigabytes_in_a_fifth_of_it():
    code = """
import resource
import numpy as np
from scipy import sparse
from evenspan import FairPCA

rng = np.random.default_rng(0)
X = sparse.random_array((200_000, 2_000), density=0.001, rng=rng, format="csr")
groups = rng.integers(0, 2, 200_000)
T = FairPCA(5).fit(X, sensitive_features=groups).transform(X)
assert np.linalg.norm(T[groups == 0].mean(axis=0) - T[groups == 1].mean(axis=0)) < 1e-12
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 < 600 < 0.2 * 200_000 * 2_000 * 8 / 2**20
