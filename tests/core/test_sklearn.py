"""The scikit-learn contract: its own checks in full, routing, cloning, names, frames, pickles."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from evenspan import (
    JEVDPCA,
    LEACE,
    ConvexFairPCA,
    DisparityFairPCA,
    FairPCA,
    GroupMoments,
    MinMaxFairPCA,
    NullItOutPCA,
    RobustFairPCA,
    StandardPCA,
    StreamingFairPCA,
)

from .samples import angle, draw, group_gap, size


class SuppliesGroups:
    """Supplies groups, which scikit-learn's checks do not know of."""

    def fit(self, X, y=None, *, sensitive_features=None, sample_weight=None):
        if sensitive_features is None:
            sensitive_features = self.groups(X)
        return super().fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)

    def groups(self, X):
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 2


class GroupsOfRows:
    """Supplies groups that go with the rows: equal rows are in one group wherever they stand."""

    def groups(self, X):
        return np.floor(1e3 * np.asarray(X)[:, 0]) % 2


class WithGroups(SuppliesGroups, FairPCA):
    """Fair PCA with groups supplied."""


class MinMax(SuppliesGroups, MinMaxFairPCA):
    """Min-max fair PCA with groups supplied."""


class Robust(SuppliesGroups, RobustFairPCA):
    """Robust fair PCA with groups supplied."""


class Convex(SuppliesGroups, ConvexFairPCA):
    """Convex fair PCA with groups supplied."""


class Disparity(SuppliesGroups, DisparityFairPCA):
    """Disparity fair PCA with groups supplied."""


class Joint(SuppliesGroups, JEVDPCA):
    """JEVD-PCA with groups supplied."""


class LeastErasure(SuppliesGroups, LEACE):
    """LEACE with groups supplied."""


class NullItOut(SuppliesGroups, NullItOutPCA):
    """Null-it-out fair PCA with groups supplied."""


class Streaming(StreamingFairPCA):
    """Streaming fair PCA with groups supplied."""

    def fit(self, X, y=None, *, sensitive_features=None):
        if sensitive_features is None:
            sensitive_features = np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 2
        return super().fit(X, y, sensitive_features=sensitive_features)

    def partial_fit(self, X, y=None, *, sensitive_features=None):
        groups = np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 2
        super().partial_fit(X, y, sensitive_features=groups)
        return super().partial_fit(X, y, sensitive_features=groups, phase="components")


CHECKED = [
    StandardPCA(1),
    StandardPCA(1, center=False),
    StandardPCA(1, standardize=True),
    WithGroups(1),
    WithGroups(1, center=False),
    WithGroups(1, standardize=True),
    WithGroups(1, match="covariance"),
    WithGroups(1, tradeoff=0.5, tradeoff_power=3),
    MinMax(1),
    MinMax(1, objective="error", standardize=True),
    MinMax(1, solver="mw", max_iter=20),
    Robust(1),
    Robust(1, solver="subgradient", restarts=1, max_iter=20),
    Convex(1),
    Disparity(1),
    Joint(1),
    Joint(1, order="maxmin", centring="none"),
    Joint(1, mode="paper", standardize=True),
    LeastErasure(1),
    LeastErasure(),
    LeastErasure(1, shrinkage="auto"),
    NullItOut(1, 0),
    NullItOut(1, 1, constraint="covariance", gap="second_moment"),
    NullItOut(1, constraint="vanilla"),
    Streaming(1, 0),
    Streaming(1, 1, constraint="covariance"),
]


@parametrize_with_checks(CHECKED)
def test_checks_of_scikit_learn(estimator, check):
    repeats_rows = check.func.__name__ == "check_sample_weight_equivalence_on_dense_data"
    if repeats_rows and getattr(estimator, "match", "") == "covariance":
        pytest.skip("fewer distinct rows than features, so the covariances agree where there are no data: "
                    "test_a_weight_is_a_number_of_repetitions has the rows for it")  # fmt: skip
    if repeats_rows and isinstance(estimator, SuppliesGroups):
        # Groups by position would not be repeated along with the rows.
        estimator = type("OfRows", (GroupsOfRows, type(estimator)), {})(**estimator.get_params())
    check(estimator)


@pytest.fixture
def frame(sample) -> pd.DataFrame:
    return pd.DataFrame(sample.X, columns=["age", "income", "debt", "years", "visits", "score"])


@pytest.fixture
def target(sample) -> np.ndarray:
    return (sample.X[:, 3] + np.random.default_rng(0).normal(size=380) > 0).astype(int)


# -- routing ------------------------------------------------------------------------------------------------------


def test_a_pipeline_routes_groups_without_being_told(sample, target):
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), FairPCA(2), LogisticRegression())
        pipe.fit(sample.X, target, sensitive_features=sample.groups)
        T = pipe[:-1].transform(sample.X)
        assert group_gap(T, sample.groups) < 1e-12 * size(T)
        assert T.shape == (380, 2)
        with pytest.raises(TypeError, match="sensitive_features"):
            pipe.fit(sample.X, target)


def test_groups_are_split_along_with_the_rows(sample, target):
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FairPCA(1), LogisticRegression())
        search = GridSearchCV(pipe, {"fairpca__n_components": [1, 2, 4], "fairpca__center": [True, False]}, cv=3)
        search.fit(sample.X, target, sensitive_features=sample.groups)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        best = search.best_estimator_[0]
        assert best.n_components == search.best_params_["fairpca__n_components"]
        assert group_gap(best.transform(sample.X), sample.groups) < 1e-12 * size(sample.X)
        scores = cross_val_score(pipe, sample.X, target, cv=3, params={"sensitive_features": sample.groups})
        assert len(scores) == 3


def test_a_search_sees_groups_as_frames_too(frame, sample, target):
    groups = pd.DataFrame({"colour": sample.groups, "shape": np.arange(380) % 2})
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FairPCA(2), LogisticRegression())
        search = GridSearchCV(
            pipe, {"fairpca__attributes": ["marginal", "intersection"], "fairpca__n_components": [1]}, cv=3
        )
        search.fit(frame, target, sensitive_features=groups)
    assert search.best_estimator_[0].group_labels_.dtype.names == ("colour", "shape")


def test_weights_are_routed_on_request(sample, target):
    weights = np.random.default_rng(0).integers(1, 5, 380).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FairPCA(2).set_fit_request(sample_weight=True), LogisticRegression().set_fit_request())
        pipe[-1].set_fit_request(sample_weight=False)
        pipe.fit(sample.X, target, sensitive_features=sample.groups, sample_weight=weights)
    alone = FairPCA(2).fit(sample.X, sensitive_features=sample.groups, sample_weight=weights)
    assert np.array_equal(pipe[0].components_, alone.components_)


def test_fit_transform_passes_the_groups(sample):
    for model in (FairPCA(2), FairPCA(2, tradeoff=0.3)):
        T = model.fit_transform(sample.X, sensitive_features=sample.groups)
        assert np.array_equal(T, model.transform(sample.X))
    with pytest.raises(TypeError, match="sensitive_features"):
        FairPCA(2).fit_transform(sample.X)


# -- parameters and state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [StandardPCA, FairPCA, MinMaxFairPCA, RobustFairPCA, ConvexFairPCA, DisparityFairPCA, JEVDPCA]
)
def test_every_parameter_is_stored_as_it_came(estimator):
    defaults = estimator().get_params()
    marks = {name: object() for name in defaults}
    model = estimator(**marks)
    assert model.get_params(deep=False) == marks
    assert all(getattr(model, name) is mark for name, mark in marks.items())
    copy = clone(estimator(**defaults))
    assert copy.get_params() == defaults
    assert defaults["n_components"] == 2


def test_a_clone_is_not_fitted_and_fits_the_same(sample):
    model = FairPCA(3, match="covariance", tradeoff=0.2).fit(sample.X, sensitive_features=sample.groups)
    copy = clone(model)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.transform(sample.X)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.inverse_transform(np.zeros((1, 6)))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(copy)
    copy.fit(sample.X, sensitive_features=sample.groups)
    assert np.array_equal(copy.transform(sample.X), model.transform(sample.X))


@pytest.mark.parametrize("options", [{}, {"tradeoff": 0.5}, {"standardize": True}, {"match": "covariance"}], ids=str)
def test_pickles_keep_everything(options, frame, sample):
    model = FairPCA(2, **options).fit(frame, sensitive_features=sample.groups)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(frame), model.transform(frame))
    assert again.certificate_ == model.certificate_
    assert again.group_labels_.tolist() == model.group_labels_.tolist()
    moments = GroupMoments.from_data(frame, sample.groups)
    copy = pickle.loads(pickle.dumps(moments))
    assert np.array_equal(copy.scatters, moments.scatters)
    assert copy.feature_names == moments.feature_names


# -- names ----------------------------------------------------------------------------------------------------------


def test_output_names(sample):
    model = FairPCA(2).fit(sample.X, sensitive_features=sample.groups)
    assert model.get_feature_names_out().tolist() == ["fairpca0", "fairpca1"]
    model = FairPCA(2, tradeoff=0).fit(sample.X, sensitive_features=sample.groups)
    assert model.get_feature_names_out().tolist() == ["fairpca0", "fairpca1", "fairpca2", "fairpca3"]
    assert StandardPCA(1).fit(sample.X).get_feature_names_out().tolist() == ["standardpca0"]


@pytest.mark.parametrize("tradeoff", [None, 0.5])
def test_frames_out(tradeoff, frame, sample):
    model = FairPCA(2, tradeoff=tradeoff).set_output(transform="pandas")
    out = model.fit(frame.set_index(np.arange(380) + 7), sensitive_features=sample.groups).transform(frame[:5])
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == model.get_feature_names_out().tolist()
    assert out.index.tolist() == frame.index[:5].tolist()
    plain = FairPCA(2, tradeoff=tradeoff).fit(sample.X, sensitive_features=sample.groups)
    np.testing.assert_allclose(out.to_numpy(), plain.transform(sample.X[:5]), rtol=1e-12)
    whole = model.fit_transform(frame, sensitive_features=sample.groups)
    assert whole.shape == (380, 2 if tradeoff is None else 4)


def test_input_names_come_from_frames_and_from_moments(frame, sample):
    from_frame = FairPCA(2).fit(frame, sensitive_features=sample.groups)
    from_moments = FairPCA(2).fit_moments(GroupMoments.from_data(frame, sample.groups))
    for model in (from_frame, from_moments):
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert model.feature_names_in_.dtype == object
        assert model.n_features_in_ == 6
        reordered = frame[frame.columns[::-1]]
        with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
            model.transform(reordered)
        with pytest.raises(ValueError, match=r"(?s)feature names.*unseen.*wealth"):
            model.transform(frame.rename(columns={"income": "wealth"}))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.transform(sample.X)
    unnamed = from_moments.fit_moments(GroupMoments.from_data(sample.X, sample.groups))
    assert not hasattr(unnamed, "feature_names_in_")
    assert unnamed.transform(sample.X).shape == (380, 2)


def test_frames_and_arrays_give_the_same(frame, sample):
    mixed = frame.astype({"age": "float32"}).assign(visits=frame["visits"] > 0, score=(10 * frame["score"]).astype(int))
    by_frame = FairPCA(2).fit(mixed, sensitive_features=pd.Series(sample.groups, name="colour"))
    by_array = FairPCA(2).fit(mixed.to_numpy(dtype=float), sensitive_features=sample.groups)
    assert angle(by_frame.components_.T, by_array.components_.T) < 1e-7
    np.testing.assert_allclose(by_frame.transform(mixed), by_array.transform(mixed.to_numpy(dtype=float)), atol=1e-9)


def test_nullable_columns_are_numbers(frame, sample):
    nullable = frame.round().astype("Int64")
    model = FairPCA(2).fit(nullable, sensitive_features=sample.groups)
    assert group_gap(model.transform(nullable), sample.groups) < 1e-12 * size(sample.X)


def test_one_row_at_a_time(sample):
    model = FairPCA(2).fit(sample.X, sensitive_features=sample.groups)
    rows = np.vstack([model.transform(row[None]) for row in sample.X[:20]])
    np.testing.assert_allclose(rows, model.transform(sample.X[:20]), atol=1e-13)


def test_the_text_shows_what_was_changed_only():
    assert repr(FairPCA(3, match="covariance")) == "FairPCA(match='covariance', n_components=3)"


def test_a_test_subclass_differs_in_nothing_else(sample):
    s = draw()
    groups = np.arange(380) % 2
    bound, free = WithGroups(2).fit(s.X), FairPCA(2).fit(s.X, sensitive_features=groups)
    assert np.array_equal(bound.components_, free.components_)
