"""Every exported estimator in scikit-learn's machinery: checks, pipelines, searches, scorers, output, names."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import demographic_parity_difference
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

import evenspan
from evenspan import (
    INLP,
    JEVDPCA,
    LEACE,
    RLACE,
    ConvexFairPCA,
    DisparityFairPCA,
    FairKernelPCA,
    FairPCA,
    MinMaxFairPCA,
    MMDFairPCA,
    NullItOutPCA,
    RobustFairPCA,
    StandardPCA,
    StreamingFairPCA,
    TableEncoder,
)
from evenspan.core.errors import GroupError

from . import test_fair_kernel_pca, test_sklearn, test_sklearn_clusterers, test_sklearn_points
from .samples import group_gap, size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

TRANSFORMERS = [
    StandardPCA(2),
    FairPCA(2),
    FairPCA(2, tradeoff=0.5),
    MinMaxFairPCA(2),
    RobustFairPCA(2),
    ConvexFairPCA(2),
    DisparityFairPCA(2),
    JEVDPCA(2),
    LEACE(2),
    LEACE(),
    NullItOutPCA(2, 1),
    StreamingFairPCA(2, 1, n_blocks=2),
    INLP(2),
    RLACE(2, max_iter=30, evaluate_every=10),
    MMDFairPCA(2, max_iter=2, max_inner=5),
    FairKernelPCA(2),
]
#: Where equal means are the method's own guarantee.
EQUAL_MEANS = (FairPCA, LEACE, NullItOutPCA, FairKernelPCA)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(9)
    at = np.repeat([0, 1], [110, 70])
    X = rng.normal(size=(180, 5)) * (1 + at[:, None]) + np.outer(at, [1.5, 0, -1, 0, 0])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=180) > 0.5).astype(int)
    order = rng.permutation(180)
    frame = pd.DataFrame(X[order], columns=["age", "income", "debt", "years", "visits"])
    return frame, y[order], pd.Series(np.array(["f", "m"])[at][order], name="sex")


def test_every_exported_estimator_passes_scikit_learns_checks_somewhere():
    exported = {getattr(evenspan, name) for name in evenspan.__all__}
    exported = {thing for thing in exported if isinstance(thing, type) and issubclass(thing, BaseEstimator)}
    checked = set()
    for module in (test_sklearn, test_sklearn_points, test_sklearn_clusterers, test_fair_kernel_pca):
        lists = [mark.args[1] for test in vars(module).values() for mark in getattr(test, "pytestmark", [])
                 if mark.name == "parametrize" and "check" in str(mark.args[0])]  # fmt: skip
        assert lists, module
        for instances in lists:
            for instance, _ in (getattr(entry, "values", entry) for entry in instances):
                checked |= set(type(instance).__mro__)
    assert exported - checked == {TableEncoder}  # which is checked beside its own tests
    transformers = {kind for kind in exported if issubclass(kind, TransformerMixin)}
    assert transformers == {type(model) for model in TRANSFORMERS} | {TableEncoder}
    assert all(issubclass(kind, ClusterMixin) for kind in exported - transformers)


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_groups_reach_every_method_in_a_pipeline(model, table):
    X, y, sex = table
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), clone(model), LogisticRegression())
        pipe.fit(X, y, sensitive_features=sex)
        T = pipe[:-1].transform(X)
        assert pipe.predict(X).shape == (180,)
        assert pipe[1].group_labels_.tolist() == (["f", "m"])
        if not isinstance(model, StandardPCA):
            with pytest.raises((TypeError, GroupError), match="sensitive_features"):
                pipe.fit(X, y)
    if isinstance(model, EQUAL_MEANS) and getattr(model, "tradeoff", None) is None:
        assert group_gap(T, sex) < 1e-9 * size(T)
    else:
        assert np.isfinite(T).all()
    assert pipe[1].feature_names_in_.tolist() == X.columns.tolist()


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_a_search_splits_the_groups_for_every_method(model, table):
    X, y, sex = table
    if model.n_components is None:
        model = clone(model).set_params(n_components=2)
    name = type(model).__name__.lower()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(clone(model), LogisticRegression()), {f"{name}__n_components": [1, 2]}, cv=2
        )
        search.fit(X, y, sensitive_features=sex)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[0].n_components == search.best_params_[f"{name}__n_components"]


@pytest.mark.parametrize("model", [FairPCA(2), INLP(2), FairKernelPCA(2)], ids=str)
def test_groups_are_routed_to_fit_and_to_a_scorer(model, table):
    X, y, sex = table
    seen = []

    def disparity(y_true, y_pred, *, sensitive_features):
        seen.append((len(y_true), sensitive_features.index.tolist()))
        return demographic_parity_difference(y_true, y_pred, sensitive_features=sensitive_features)

    with sklearn.config_context(enable_metadata_routing=True):
        scoring = {
            "accuracy": "accuracy",
            "disparity": make_scorer(disparity).set_score_request(sensitive_features=True),
        }
        found = cross_validate(
            make_pipeline(StandardScaler(), clone(model), LogisticRegression()), X, y, cv=3, scoring=scoring,
            params={"sensitive_features": sex}, return_estimator=True, return_indices=True, error_score="raise",
        )  # fmt: skip
    assert [rows for rows, _ in seen] == [60, 60, 60]
    for fitted, train, test, (_, index), told in zip(
        found["estimator"],
        found["indices"]["train"],
        found["indices"]["test"],
        seen,
        found["test_disparity"],
        strict=True,
    ):
        assert index == sex.index[test].tolist()
        assert fitted[1].group_counts_.tolist() == sex.iloc[train].value_counts().sort_index().tolist()
        rates = pd.Series(fitted.predict(X.iloc[test])).groupby(sex.iloc[test].to_numpy()).mean()
        assert told == pytest.approx(rates.max() - rates.min())


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_every_method_hands_out_frames(model, table):
    X, _, sex = table
    fitted = clone(model).set_output(transform="pandas").fit(X.set_index(np.arange(180) + 5), sensitive_features=sex)
    out = fitted.transform(X[:9])
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == list(fitted.get_feature_names_out())
    assert out.index.tolist() == list(range(9))
    plain = clone(model).fit(X, sensitive_features=sex).transform(X[:9])
    np.testing.assert_array_equal(out.to_numpy(), plain)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(X.rename(columns={"age": "height"}))


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_clones_know_nothing_and_parameters_stay(model, table):
    X, _, sex = table
    fitted = clone(model)
    before = repr(fitted.get_params())
    fitted.fit(X, sensitive_features=sex)
    assert repr(fitted.get_params()) == before
    copy = clone(fitted)
    assert repr(copy.get_params()) == before
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.transform(X)
    np.testing.assert_array_equal(copy.fit(X, sensitive_features=sex).transform(X), fitted.transform(X))


def test_groups_reach_steps_inside_unions_and_column_transformers(table):
    X, y, sex = table
    with sklearn.config_context(enable_metadata_routing=True):
        columns = ColumnTransformer([("some", FairPCA(1), ["age", "income", "debt"])], remainder="passthrough")
        union = FeatureUnion([("fair", FairPCA(1)), ("erased", LEACE(1))])
        for part in (columns, union):
            pipe = make_pipeline(part, LogisticRegression()).fit(X, y, sensitive_features=sex)
            T = pipe[0].transform(X)
            assert group_gap(T[:, :1], sex) < 1e-9 * size(T)
