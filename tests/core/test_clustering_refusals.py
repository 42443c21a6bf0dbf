"""What the clusterers refuse, what they warn of and go on with, and the words: seen, needed, what to do."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from evenspan.clustering.base_kernels import CentralPointWarning
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.fair_spectral import FairSpectralClustering
from evenspan.clustering.fairness_first import FairnessFirstClustering
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.clustering.kernels import KernelWarning
from evenspan.clustering.variational import VariationalFairClustering
from evenspan.clustering.weight_rule import WeightRule
from evenspan.core import inputs
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import (
    ConfigurationError,
    DataError,
    FairError,
    GroupError,
    LimitError,
    SingleGroupWarning,
)

from .samples import draw

S = draw(counts=(40, 25, 15))
X, GROUPS = S.X, S.groups  # 80 rows, 6 features, 3 groups
K = rbf_kernel(X, gamma=0.05)
PUBLIC = {
    "one kernel": FairKernelKMeans,
    "several kernels": FairMultipleKernelKMeans,
    "spectral": FairSpectralClustering,
    "variational": VariationalFairClustering,
    "fairness first": FairnessFirstClustering,
}


def spoilt(table, i, j, value):
    bad = np.array(table)
    bad[i, j] = value
    return bad


def one(data=X, groups=GROUPS, c=3, weight=1.0, **options):
    return FairKernelKMeans(c, weight, **options).fit(data, sensitive_features=groups)


def given(data, **options):
    return one(data, kernel="precomputed", **options)


def many(data=X, groups=GROUPS, c=3, weight=1.0, **options):
    return FairMultipleKernelKMeans(c, weight, **options).fit(data, sensitive_features=groups)


# -- of every clusterer (see also test_voice.py) ----------------------------------------------------------------------


@pytest.mark.parametrize("method", PUBLIC)
def test_empty_tables(method):
    with pytest.raises(ValueError, match="0 sample"):
        PUBLIC[method](1).fit(np.empty((0, 3)), sensitive_features=[])


QUICK = {"one kernel": {"fairness_weight": 1.0}, "several kernels": {"fairness_weight": 1.0, "max_iter": 50}}


@pytest.mark.parametrize("method", PUBLIC)
def test_one_group_has_no_fairness(method):
    model = PUBLIC[method](3, on_single_group="warn", **QUICK.get(method, {}))
    with pytest.warns(SingleGroupWarning, match="one group only") as told:
        model.fit(X, sensitive_features=["all"] * 80)
    assert told[0].filename == __file__
    assert model.counts_.counts.shape == (1, 3)
    assert np.isnan(model.counts_.mnce)
    assert model.counts_.fair_gap == 0.0
    assert model.counts_.balance == 1.0


def test_one_group_is_weight_zero():
    allowed = {"groups": ["all"] * 80, "on_single_group": "warn"}
    with pytest.warns(SingleGroupWarning):
        alone = one(weight=5.0, **allowed)
    assert np.array_equal(alone.labels_, one(weight=0.0).labels_)
    with pytest.warns(SingleGroupWarning):
        searched = one(weight="auto", **allowed)
    assert searched.fairness_weight_ == 1.0  # MNCE does not exist, so nothing can rise


@pytest.mark.parametrize("method", PUBLIC)
def test_a_group_of_one_point_is_no_error(method):
    groups = np.where(np.arange(80) == 5, "solo", GROUPS)
    model = PUBLIC[method](3, **QUICK.get(method, {})).fit(X, sensitive_features=groups)
    assert model.counts_.counts[list(model.group_labels_).index("solo")].sum() == 1
    assert model.counts_.balance == 0.0  # it cannot be in three clusters
    assert model.counts_.sizes.min() > 0


def test_counts_of_nothing_are_refused():
    with pytest.raises(GroupError, match="all counts are zero"):
        ClusterCounts(np.array(["a", "b"]), np.arange(2), np.zeros((2, 2), dtype=int))
    with pytest.raises(GroupError, match="is empty"):
        ClusterCounts.from_labels([], [])
    with pytest.raises(GroupError, match=r"from 0 to 1; seen were .*3"):
        ClusterCounts.from_labels([0, 3], ["a", "b"], n_clusters=2)


# -- kernels ----------------------------------------------------------------------------------------------------------

REFUSALS = {
    "not square": (lambda: given(K[:, :50]), DataError, ["(80, 50)", "square matrix (n, n)", "choose another kernel"]),
    "nan in a kernel": (lambda: given(spoilt(K, 3, 4, np.nan)), ValueError, ["NaN"]),
    "negative weight": (lambda: one(weight=-1.0), ConfigurationError, ["fairness_weight=-1.0", "at least 0"]),
    "weight nan": (lambda: one(weight=np.nan), ConfigurationError, ["fairness_weight=nan", "finite"]),
    "weight inf": (lambda: one(weight=np.inf), ConfigurationError, ["fairness_weight=inf", "finite"]),
    "weight text": (lambda: one(weight="much"), ConfigurationError, ["'much'", "'auto'", "WeightRule"]),
    "weight boolean": (lambda: one(weight=True), ConfigurationError, ["fairness_weight=True"]),
    "weight, several": (lambda: many(weight=-0.5), ConfigurationError, ["fairness_weight=-0.5", "at least 0"]),
    "weight, variational": (lambda: VariationalFairClustering(3, -2.0).fit(X, sensitive_features=GROUPS),
                            ConfigurationError, ["fairness_weight=-2.0", "at least 0"]),
    "weight on a curve": (lambda: FairKernelKMeans(3).curve(X, [1.0, -1.0], sensitive_features=GROUPS),
                          ConfigurationError, ["-1.0", "at least 0"]),
    "rule that stands": (lambda: WeightRule(step=0.0), ConfigurationError, ["step=0", "above 0"]),
    "rule negative": (lambda: WeightRule(start=-1.0), ConfigurationError, ["start=-1.0"]),
    "rule too small": (lambda: WeightRule(start=5.0, max_weight=2.0), ConfigurationError, ["max_weight=2.0"]),
    "kernel": (lambda: one(kernel="cosine"), ConfigurationError, ["kernel='cosine'", "rbf, polynomial"]),
    "gamma": (lambda: one(gamma=0.0), ConfigurationError, ["gamma=0.0", "above 0"]),
    "start": (lambda: one(init="k-means++"), ConfigurationError, ["init='k-means++'", "'relaxed'"]),
    "start too short": (lambda: one(init=[0, 1, 2]), ConfigurationError, ["(3,)", "80 points"]),
    "start of too many": (lambda: one(init=np.arange(80) % 5), ConfigurationError, ["5 different", "n_clusters=3"]),
    "sweeps": (lambda: one(max_iter=0), ConfigurationError, ["max_iter=0", "at least 1"]),
    "tolerance": (lambda: one(tol=-1.0), ConfigurationError, ["tol=-1.0", "at least 0"]),
    "a single matrix": (lambda: many(K, kernels="precomputed"), DataError, ["(80, 80)", "(m, n, n)", "X[None]"]),
    "no matrix": (lambda: many(np.empty((0, 3, 3)), kernels="precomputed"), DataError, ["(0, 3, 3)", "(m, n, n)"]),
    "stack not square": (lambda: many(np.ones((2, 80, 3)), kernels="precomputed"), DataError,
                         ["kernel 0 of the stack", "(80, 3)"]),
    "nan in a stack": (lambda: many(np.stack([K, spoilt(K, 0, 1, np.inf)]), kernels="precomputed"), DataError,
                       ["kernel 1 of the stack", "NaN or infinite"]),
    "kernels": (lambda: many(kernels="eleven"), ConfigurationError, ["kernels='eleven'", "'twelve' or 'precomputed'"]),
    "weights from": (lambda: many(weights_from="above"), ConfigurationError, ["'above'", "'shifted' or 'unshifted'"]),
    "rounds": (lambda: many(max_iter=0), ConfigurationError, ["max_iter=0"]),
    "equal points, one kernel": (lambda: one(np.ones((80, 3))), ConfigurationError, ["gamma='scale'", "gamma='auto'"]),
    "algorithm": (lambda: KernelKMeans(3, algorithm="exact").fit(X), ConfigurationError, ["'exact'", "'lloyd'"]),
    "starts": (lambda: KernelKMeans(3, n_init=0).fit(X), ConfigurationError, ["n_init=0"]),
    "affinity not square": (lambda: FairSpectralClustering(3, affinity="precomputed").fit(
        K[:, :50], sensitive_features=GROUPS), DataError, ["(80, 50)", "(n, n)"]),
    "affinity not symmetric": (lambda: FairSpectralClustering(3, affinity="precomputed").fit(
        spoilt(K, 0, 1, 0.0), sensitive_features=GROUPS), DataError, ["not symmetric", "(W + W.T) / 2"]),
    "affinity negative": (lambda: FairSpectralClustering(3, affinity="precomputed").fit(
        K - 0.5, sensitive_features=GROUPS), DataError, ["negative", "at least 0", "kernel_neighbour_graph"]),
    "graph without an edge": (lambda: FairSpectralClustering(3, affinity="precomputed").fit(
        np.zeros((80, 80)), sensitive_features=GROUPS), DataError, ["no edge", "at least one positive"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_was_seen_what_was_needed_and_what_to_do(name):
    act, error, parts = REFUSALS[name]
    with pytest.raises(error) as told:
        act()
    for part in parts:
        assert part in str(told.value)
    assert isinstance(told.value, FairError) or error is ValueError


@pytest.mark.parametrize("method", ["one kernel", "fairness first", "several kernels"])
def test_sparse_tables_are_refused_where_they_are_not_read(method):
    with pytest.raises((TypeError, DataError), match=r"(?i)sparse"):
        PUBLIC[method](3).fit(sparse.csr_matrix(X), sensitive_features=GROUPS)


# -- what goes on with a warning ----------------------------------------------------------------------------------


def test_a_kernel_that_is_not_symmetric_is_taken_as_its_symmetric_part():
    skew = K + 0.5 * np.eye(80) + 0.01 * np.triu(np.random.default_rng(0).normal(size=K.shape), 1)
    with pytest.warns(KernelWarning, match=r"not symmetric.*differ by up to.*\(K \+ K\.T\) / 2") as told:
        model = given(skew, max_iter=100)
    assert [warning.filename for warning in told] == [__file__]
    assert np.array_equal(model.labels_, given(0.5 * (skew + skew.T), max_iter=100).labels_)
    with pytest.warns(KernelWarning, match=r"kernel 1 of the stack is not symmetric"):
        many(np.stack([K, skew]), kernels="precomputed", max_iter=100)
    assert np.array_equal(given(K).labels_, one(gamma=0.05).labels_)  # and a symmetric one without a word


def test_a_kernel_that_is_not_semidefinite_still_ascends_and_its_bound_still_holds():
    with pytest.warns(KernelWarning, match=r"an eigenvalue is -0\.\d+.*raises its objective.*no sum of squared"):
        model = given(K - 0.5 * np.eye(80), weight=2.0, max_iter=100)
    assert np.all(np.diff(model.history_) >= -1e-12)
    assert model.converged_
    assert model.certificate_.dual >= model.certificate_.primal
    # A multiple of the identity is invisible to the row update: these are the labels of the semidefinite kernel.
    assert np.array_equal(model.labels_, given(K, weight=2.0, max_iter=100).labels_)
    with pytest.warns(KernelWarning, match="sigmoid kernel is not positive semidefinite"):
        one(kernel="sigmoid", gamma=0.5, max_iter=100)


def test_a_point_at_the_mean_of_the_feature_space_is_alike_to_no_other():
    half = X[:30] - X[:30].mean(axis=0)
    centred = np.vstack([half, -half, np.zeros((1, 6))])
    with pytest.warns(CentralPointWarning, match="1 of 61 points"):
        model = many(centred, np.arange(61) % 2, max_iter=100)
    assert model.counts_.sizes.min() > 0


def test_passes_used_up_are_told():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 20))
    with pytest.warns(ConvergenceWarning, match=r"after 1 sweeps.*Raise max_iter"):
        model = FairKernelKMeans(10, 1.0, max_iter=1).fit(noise, sensitive_features=rng.integers(0, 3, 300))
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match=r"last of 1 rounds. Raise max_iter"):
        model = FairMultipleKernelKMeans(10, 1.0, max_iter=1).fit(noise, sensitive_features=rng.integers(0, 3, 300))
    assert not model.converged_


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def scarce(monkeypatch):
    """A machine with 100 MiB left."""
    monkeypatch.setattr(inputs, "free_memory", lambda: 100 * 2**20)


def test_memory_that_is_not_there_is_named_with_what_avoids_it(scarce):
    rng = np.random.default_rng(0)
    large, groups = rng.normal(size=(6000, 2)) + 3.0 * rng.integers(0, 2, size=(6000, 2)), rng.integers(0, 2, 6000)
    for fit in (lambda: one(large, groups, 2), lambda: KernelKMeans(2).fit(large)):
        with pytest.raises(LimitError) as told:
            fit()
        for part in ("6000 points", "0.8 GiB", "kernel='linear'"):
            assert part in str(told.value)
    with pytest.raises(LimitError, match=r"twelve kernel matrices of 6000 rows.*4\.0 GiB"):
        many(large, groups, 2)
    # What is named does avoid it.
    assert one(large, groups, 2, kernel="linear", max_iter=100).counts_.n == 6000
