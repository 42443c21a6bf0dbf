"""What kernels, graphs and clusterers refuse beyond ``test_voice.py``, and the words: seen, needed, what to do."""

import numpy as np
import pytest
from scipy import sparse

from evenspan import (
    ClusterCounts,
    FairKernelKMeans,
    FairMultipleKernelKMeans,
    FairnessFirstClustering,
    FairSpectralClustering,
    KernelKMeans,
    VariationalFairClustering,
    WeightRule,
)
from evenspan.clustering import center_and_normalise, kernel_neighbour_graph
from evenspan.core import inputs
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, FairError, GroupError, LimitError
from evenspan.core.kernels import resolve_kernel

from .samples import draw

S = draw(counts=(40, 25, 15))
X, GROUPS = S.X, S.groups  # 80 rows, 6 features, 3 groups
K = np.exp(-0.05 * ((X[:, None] - X) ** 2).sum(axis=2))
SKEW = K + 0.01 * np.triu(K, 1)


def holed(value):
    return np.where((np.arange(80)[:, None] == 3) & (np.arange(K.shape[1]) == 4), value, K)


def one(data=X, weight=1.0, **options):
    return FairKernelKMeans(3, weight, **options).fit(data, sensitive_features=GROUPS)


def given(data):
    return one(data, kernel="precomputed")


def many(stack):
    return FairMultipleKernelKMeans(3, 1.0, kernels="precomputed").fit(stack, sensitive_features=GROUPS)


def graph(W, c=3, **options):
    return FairSpectralClustering(c, affinity="precomputed", **options).fit(W, sensitive_features=GROUPS)


def kernel(kernel="rbf", data=X, gamma="scale", **params):
    return resolve_kernel(kernel, data, gamma=gamma, params=params).matrix(data)


REFUSALS = {
    "not square": (lambda: given(K[:, :50]), DataError, ["(80, 50)", "square matrix (n, n)"]),
    "not symmetric": (lambda: given(SKEW), DataError, ["precomputed kernel is not symmetric", "(S + S.T) / 2"]),
    "nan in a kernel": (lambda: given(holed(np.nan)), DataError, ["NaN"]),
    "weight nan": (lambda: one(weight=np.nan), ConfigurationError, ["fairness_weight=nan", "finite"]),
    "weight text": (lambda: one(weight="much"), ConfigurationError, ["'much'", "'auto'", "WeightRule"]),
    "weight on a curve": (lambda: FairKernelKMeans(3).curve(X, [1.0, -1.0], sensitive_features=GROUPS),
                          ConfigurationError, ["-1.0", "at least 0"]),
    "weight on another": (lambda: VariationalFairClustering(3).curve(X, [-2.0], sensitive_features=GROUPS),
                          ConfigurationError, ["a fairness weight=-2.0"]),
    "threshold": (lambda: FairnessFirstClustering(3, threshold=1.1).fit(X, sensitive_features=GROUPS),
                  ConfigurationError, ["threshold=1.1", "at most 1"]),
    "rule": (lambda: WeightRule(start=5.0, max_weight=2.0), ConfigurationError, ["max_weight=2.0"]),
    "start": (lambda: one(init="k-means++"), ConfigurationError, ["init='k-means++'", "'relaxed'"]),
    "start too short": (lambda: one(init=[0, 1, 2]), ConfigurationError, ["(3,)", "80 points"]),
    "start of too many": (lambda: one(init=np.arange(80) % 5), ConfigurationError, ["5 different", "n_clusters=3"]),
    "one matrix": (lambda: many(K), DataError, ["(80, 80)", "(m, n, n)", "X[None]"]),
    "stack not square": (lambda: many(np.ones((2, 80, 3))), DataError, ["(2, 80, 3)", "(m, n, n)"]),
    "nan in a stack": (lambda: many(np.stack([K, holed(np.inf)])), DataError, ["kernel 1 of the stack", "finite"]),
    "skew in a stack": (lambda: many(np.stack([K, SKEW])), DataError, ["kernel 1 of the stack is not symmetric"]),
    "graph not square": (lambda: graph(K[:, :50]), DataError, ["(80, 50)", "(n, n)"]),
    "graph not symmetric": (lambda: graph(sparse.csr_array(SKEW)), DataError, ["affinity matrix is not symmetric"]),
    "graph negative": (lambda: graph(K - 0.5), DataError, ["down to -0.", "at least 0", "kernel_neighbour_graph"]),
    "graph without an edge": (lambda: graph(np.diag(np.arange(80.0) > 1)), DataError, ["2 row(s) without an edge"]),
    "kernel of a graph": (lambda: kernel_neighbour_graph(SKEW), DataError, ["kernel matrix is not symmetric"]),
    "clusters beyond the constraints": (lambda: graph(K, 79), ComponentsError, ["n_clusters=79", "only 78", "2 group"]),
    "clusters beyond Lanczos": (lambda: graph(K, 78, solver="lanczos"), ComponentsError, ["'lanczos'", "at most 77"]),
    "equal points": (lambda: VariationalFairClustering(2).fit(np.ones((80, 2)), sensitive_features=GROUPS), DataError,
                     ["1 different", "n_clusters=2", "at most 1"]),
    "kernel": (lambda: kernel("poly"), ConfigurationError, ["kernel='poly'", "polynomial", "function"]),
    "gamma": (lambda: kernel(gamma=0), ConfigurationError, ["gamma=0", "'scale' or 'auto'", "greater than 0"]),
    "parameter": (lambda: kernel("polynomial", power=2), ConfigurationError, ["{'power': 2}", "'coef0', 'degree'"]),
    "constant": (lambda: one(np.full((80, 3), 7.5)), ConfigurationError, ["all entries", "7.5", "gamma='auto'"]),
    "function of a shape": (lambda: kernel(lambda A, B: np.ones(len(A))), DataError, ["(80,)", "two tables"]),
    "function not symmetric": (lambda: kernel(lambda A, B: A[:, :1] + 2 * B[:, 0]), DataError, ["not symmetric"]),
    "overflow": (lambda: kernel("polynomial", 1e120 * X, 1.0), DataError, ["NaN or infinite", "gamma or degree"]),
    "a stack": (lambda: center_and_normalise(np.ones((2, 3, 3))), DataError, ["(2, 3, 3)", "a square matrix"]),
    "at the mean": (lambda: center_and_normalise(np.vstack([X, -X, X[:1] * 0]) @ np.vstack([X, -X, X[:1] * 0]).T),
                    DataError, ["1 of 161 samples", "row 160", "Drop"]),
    "indefinite": (lambda: center_and_normalise(-np.eye(4)), DataError, ["square -0.75", "positive semidefinite"]),
    "cluster labels": (lambda: ClusterCounts.from_labels([0, 3], ["a", "b"], 3), GroupError, ["seen were 0, 3"]),
    "fractions": (lambda: ClusterCounts.from_labels([0.0, 1.0], ["a", "b"], 3), GroupError, ["from 0 to 2"]),
    "negative counts": (lambda: ClusterCounts(ROWS, ROWS, np.array([[1, -1], [1, 1]])), GroupError, ["whole numbers"]),
}  # fmt: skip
ROWS = np.arange(2)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_was_seen_what_was_needed_and_what_to_do(name):
    act, error, parts = REFUSALS[name]
    with np.errstate(all="ignore"), pytest.raises(error) as told:
        act()
    assert isinstance(told.value, FairError)
    assert [part for part in parts if part not in str(told.value)] == []


def test_memory_that_is_not_there_is_named_with_what_avoids_it(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 100 * 2**20)  # 100 MiB are left
    large = np.random.default_rng(0).normal(size=(6000, 2))
    for fit, words in ((lambda: KernelKMeans(2).fit(large), r"6000 points.*0\.8 GiB.*kernel='linear'"),
                       (lambda: FairMultipleKernelKMeans(2).fit(large, sensitive_features=np.arange(6000) % 2),
                        r"3 kernel matrices of 6000 rows")):  # fmt: skip
        with pytest.raises(LimitError, match=words):
            fit()
    assert len(KernelKMeans(2, kernel="linear", n_init=1).fit(large).labels_) == 6000  # what is named does avoid it
