"""Sparse tables: the answers of dense ones, without a dense table, wherever moments are all that a method needs."""

import numpy as np
import pytest
from scipy import sparse

from evenspan import GroupMoments
from evenspan.core.errors import DataError

from .every import ALL, PLAIN, fit, make
from .memory import peak_of
from .samples import group_gap, size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

N, D = 900, 40
#: Where the points themselves are needed, centred.
REFUSING = {"INLP", "RLACE", "MMDFairPCA", "FairKernelPCA", "IteratedKernelErasure", "KernelKMeans", "FairKernelKMeans",
            "FairMultipleKernelKMeans", "FairnessFirstClustering", "FairAlignmentClustering", "OutlierRobustFairPCA",
            "VariationalFairClustering"}  # fmt: skip


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


# -- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_dense_table(kind, weighted):
    weights = np.random.default_rng(0).integers(0, 4, N).astype(float) if weighted else None
    found, expected = (GroupMoments.from_data(table, GROUPS, weights) for table in (kind(X), DENSE))
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-14)
    assert error(found, expected) < 1e-13
    np.testing.assert_array_equal(found.scatters, found.scatters.transpose(0, 2, 1))


def test_fuller_columns_are_centred_before_they_are_multiplied():
    rng, far = np.random.default_rng(1), 1e7
    table = DENSE.copy()
    table[:, 0] = far + rng.normal(size=N)
    table[GROUPS == "azure", 7] = far + rng.normal(size=(GROUPS == "azure").sum())  # of one group only
    weights = rng.integers(1, 4, N).astype(float)
    assert sparse.csr_array(table).nnz < 0.08 * table.size
    for given in (None, weights):
        expected = GroupMoments.from_data(table, GROUPS, given)
        assert error(GroupMoments.from_data(sparse.csr_array(table), GROUPS, given), expected) < 1e-10
    rows = table[:, 0]  # the control: the squares are far^2, and so are their roundings
    assert abs(rows @ rows - N * rows.mean() ** 2 - N * rows.var()) > 1e-4 * N * rows.var()


# -- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_the_tag_says_sparse_exactly_where_it_is_taken(name):
    two = np.where(GROUPS == "azure", "f", "m")[:120]
    model = make(name)
    assert model.__sklearn_tags__().input_tags.sparse == (name not in REFUSING)
    if name in REFUSING:
        with pytest.raises((TypeError, DataError), match=r"(?i)sparse.*toarray"):
            fit(model, X[:120], two)


@pytest.mark.parametrize("name", ["FairPCA", "LEACE"])
def test_no_dense_table_is_made(name):
    tall, groups = words(60_000, 250, share=0.004)
    dense = 8 * tall.shape[0] * tall.shape[1]
    peak, fitted = peak_of(lambda: fit(make(name), tall, groups))
    assert peak < 0.25 * dense
    peak, T = peak_of(lambda: fitted.transform(tall))
    assert T.shape == (len(groups), 2)
    assert peak < 0.1 * dense
    assert name in PLAIN or group_gap(T, groups) < 1e-9 * size(T)
