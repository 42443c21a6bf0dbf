"""The scikit-learn contract of the clusterers: its own checks, routing, cloning, names, frames, pickles."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.fair_spectral import FairSpectralClustering
from evenspan.clustering.fairness_first import FairnessFirstClustering
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.clustering.variational import VariationalFairClustering
from evenspan.clustering.weight_rule import WeightRule

from .samples import draw


class SuppliesGroups:
    """Supplies groups, which scikit-learn's checks do not know of."""

    def fit(self, X, y=None, *, sensitive_features=None):
        if sensitive_features is None:
            sensitive_features = np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 2
        return super().fit(X, y, sensitive_features=sensitive_features)

    def fit_predict(self, X, y=None, *, sensitive_features=None):
        return self.fit(X, y, sensitive_features=sensitive_features).labels_


class OneKernel(SuppliesGroups, FairKernelKMeans):
    """Fair kernel k-means with groups supplied."""


class ManyKernels(SuppliesGroups, FairMultipleKernelKMeans):
    """Fair multiple kernel k-means with groups supplied."""


class Spectral(SuppliesGroups, FairSpectralClustering):
    """Fair spectral clustering with groups supplied."""


class Variational(SuppliesGroups, VariationalFairClustering):
    """Variational fair clustering with groups supplied."""


class FairnessFirst(SuppliesGroups, FairnessFirstClustering):
    """Fairness-first clustering with groups supplied."""


CHECKED = [
    OneKernel(2, 1.0),
    OneKernel(2),
    OneKernel(2, 1.0, kernel="linear", center=True),
    OneKernel(2, 1.0, storage="blocks"),
    OneKernel(2, 1.0, swaps=True),
    OneKernel(2, 1.0, kernel="precomputed"),
    ManyKernels(2, 1.0),
    ManyKernels(2, weights_from="unshifted"),
    KernelKMeans(2),
    KernelKMeans(2, algorithm="lloyd"),
    KernelKMeans(2, kernel="precomputed"),
    Spectral(2),
    Spectral(2, affinity="rbf"),
    Variational(2),
    Variational(2, objective="k-median"),
    FairnessFirst(2),
    FairnessFirst(2, threshold=0.5, n_init=2),
]

PUBLIC = [
    FairKernelKMeans,
    FairMultipleKernelKMeans,
    FairSpectralClustering,
    VariationalFairClustering,
    FairnessFirstClustering,
]


#: Checks that know of no kernel matrices and pass tables of features.
NO_MATRIX = {"check_positive_only_tag_during_fit", "check_clustering"}


# Some of the checks' data fall apart into pieces that no graph of neighbours joins.
@pytest.mark.filterwarnings("ignore:eigenvalues . and . of the constrained Laplacian agree:UserWarning")
@parametrize_with_checks(CHECKED)
def test_checks_of_scikit_learn(estimator, check):
    if getattr(estimator, "kernel", "") == "precomputed" and check.func.__name__ in NO_MATRIX:
        pytest.skip("passes features in place of the kernel matrix")
    check(estimator)


# -- routing ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample():
    return draw(counts=(60, 40, 20))


@pytest.fixture(scope="module")
def frame(sample) -> pd.DataFrame:
    return pd.DataFrame(sample.X, columns=["age", "income", "debt", "years", "visits", "score"])


def made(estimator, **options):
    """With a fixed weight where there is one, and with the sweeps that these data need."""
    wanted = {"fairness_weight": 1.0, "max_sweeps": 100, "max_rounds": 100}
    known = estimator().get_params()
    return estimator(3, **{name: value for name, value in wanted.items() if name in known}, **options)


@pytest.mark.parametrize("estimator", PUBLIC)
def test_a_pipeline_routes_groups_without_being_told(estimator, sample):
    alone = made(estimator).fit(StandardScaler().fit_transform(sample.X), sensitive_features=sample.groups)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), made(estimator))
        pipe.fit(sample.X, sensitive_features=sample.groups)
        assert np.array_equal(pipe[-1].labels_, alone.labels_)
        labels = make_pipeline(StandardScaler(), made(estimator)).fit_predict(
            sample.X, sensitive_features=sample.groups
        )
        assert np.array_equal(labels, alone.labels_)
        with pytest.raises(TypeError, match="sensitive_features"):
            pipe.fit(sample.X)


def test_a_search_splits_groups_along_with_the_rows(sample):
    def most_balanced(model, X, y=None):
        return model.counts_.mnce

    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FairKernelKMeans(3, kernel="linear", center=True, normalize=True, max_sweeps=100),
            {"fairness_weight": [0.0, 5.0]},
            scoring=most_balanced,
            cv=2,
        )
        search.fit(sample.X, sensitive_features=sample.groups)
    assert search.best_params_ == {"fairness_weight": 5.0}
    assert search.best_estimator_.counts_.n == 120
    unfair, fair = search.cv_results_["mean_test_score"]
    assert unfair < fair - 0.2


# -- parameters and state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [*PUBLIC, KernelKMeans])
def test_every_parameter_is_stored_as_it_came(estimator):
    defaults = estimator().get_params()
    marks = {name: object() for name in defaults}
    model = estimator(**marks)
    assert model.get_params(deep=False) == marks
    assert all(getattr(model, name) is mark for name, mark in marks.items())
    assert clone(estimator(**defaults)).get_params() == defaults
    assert defaults["n_clusters"] == 8
    assert estimator(5).n_clusters == 5


@pytest.mark.parametrize("estimator", PUBLIC)
def test_a_clone_is_not_fitted_and_fits_the_same(estimator, sample):
    model = made(estimator, random_state=3)
    before = repr(model)
    model.fit(sample.X, sensitive_features=sample.groups)
    assert repr(model) == before
    copy = clone(model)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(copy)
    assert np.array_equal(copy.fit(sample.X, sensitive_features=sample.groups).labels_, model.labels_)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.counts_.counts, model.counts_.counts)


@pytest.mark.parametrize("estimator", PUBLIC)
def test_what_every_fit_leaves(estimator, sample):
    model = made(estimator).fit(sample.X, sensitive_features=sample.groups)
    assert model.labels_.shape == (120,)
    assert model.labels_.dtype == np.int64
    assert set(model.labels_) == {0, 1, 2}
    assert model.counts_.counts.shape == (3, 3)
    assert np.array_equal(model.counts_.labels, ["azure", "beige", "crimson"])
    assert np.array_equal(model.group_labels_, model.counts_.labels)
    assert model.group_counts_.tolist() == [40, 20, 60]
    for j, label in enumerate(model.group_labels_):
        assert np.array_equal(np.bincount(model.labels_[sample.groups == label], minlength=3), model.counts_.counts[j])
    assert np.array_equal(model.fit_predict(sample.X, sensitive_features=sample.groups), model.labels_)


@pytest.mark.parametrize("estimator", PUBLIC)
def test_groups_have_to_be_given(estimator, sample):
    with pytest.raises(TypeError, match="sensitive_features"):
        made(estimator).fit(sample.X)
    with pytest.raises(TypeError, match="sensitive_features"):
        made(estimator).fit_predict(sample.X)
    assert np.array_equal(KernelKMeans(3).fit(sample.X).labels_, KernelKMeans(3).fit_predict(sample.X))


# -- names and kinds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", PUBLIC)
def test_frames_and_names_of_groups_change_nothing(estimator, frame, sample):
    plain = made(estimator).fit(sample.X, sensitive_features=sample.groups)
    named = made(estimator).fit(frame, sensitive_features=pd.Series(sample.groups, name="colour"))
    assert named.feature_names_in_.tolist() == frame.columns.tolist()
    assert named.n_features_in_ == 6
    assert np.array_equal(named.labels_, plain.labels_)
    numbers = np.unique(sample.groups, return_inverse=True)[1]
    for groups in (numbers, list(sample.groups), pd.DataFrame({"colour": sample.groups}), sample.groups.astype(object)):
        assert np.array_equal(made(estimator).fit(sample.X, sensitive_features=groups).labels_, plain.labels_)
    booleans = made(estimator).fit(sample.X, sensitive_features=sample.groups == "azure")
    assert booleans.group_labels_.tolist() == [False, True]


@pytest.mark.parametrize("estimator", PUBLIC)
def test_two_attributes_are_their_combinations(estimator, sample):
    shape = np.array(["round", "square"])[np.arange(120) % 2]
    pairs = pd.DataFrame({"colour": sample.groups, "shape": shape})
    joined = np.array([f"{a} {b}" for a, b in zip(sample.groups, shape, strict=True)])
    by_pair = made(estimator).fit(sample.X, sensitive_features=pairs)
    by_name = made(estimator).fit(sample.X, sensitive_features=joined)
    assert by_pair.group_labels_.dtype.names == ("colour", "shape")
    assert len(by_pair.group_labels_) == 6
    assert np.array_equal(by_pair.labels_, by_name.labels_)


def test_kernel_matrices_are_split_as_such(sample):
    K = rbf_kernel(sample.X)
    for model in (FairKernelKMeans(3, 1.0, kernel="precomputed"), KernelKMeans(3, kernel="precomputed")):
        assert model.__sklearn_tags__().input_tags.pairwise
    assert not FairKernelKMeans(3, kernel="rbf").__sklearn_tags__().input_tags.pairwise
    given = FairKernelKMeans(3, 1.0, kernel="precomputed").fit(K, sensitive_features=sample.groups)
    made_of_points = FairKernelKMeans(3, 1.0, gamma=1 / 6).fit(sample.X, sensitive_features=sample.groups)
    assert np.array_equal(given.labels_, made_of_points.labels_)


@pytest.mark.parametrize("estimator", [FairSpectralClustering, VariationalFairClustering])
def test_sparse_features(estimator, sample):
    X = np.where(np.abs(sample.X) > 1.0, sample.X, 0.0)
    dense = made(estimator).fit(X, sensitive_features=sample.groups)
    given = made(estimator).fit(sparse.csr_matrix(X), sensitive_features=sample.groups)
    assert np.array_equal(dense.labels_, given.labels_)


def test_a_rule_survives_cloning():
    rule = WeightRule(first=0.5, growth=2.0)
    copy = clone(FairKernelKMeans(3, rule))
    assert copy.fairness_weight == rule
    assert (
        repr(FairKernelKMeans(3, 2.0, center=True))
        == "FairKernelKMeans(center=True, fairness_weight=2.0, n_clusters=3)"
    )
