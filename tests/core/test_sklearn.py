"""The contract with scikit-learn, for every estimator: its checks, routing, searches, names, frames, clones."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import evenspan
from evenspan.core.errors import GroupError

from .every import ALL, APART, CLUSTERERS, PLAIN, TRANSFORMERS, make
from .samples import group_gap, size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the iterative ones are stopped early here

FRAME = ["age", "income", "debt", "years", "visits"]
#: Where equal means are the method's own guarantee.
EQUAL_MEANS = ("FairPCA", "LEACE", "NullItOutPCA", "FairKernelPCA", "IteratedKernelErasure")
FAIR = [name for name in TRANSFORMERS if name not in PLAIN]
FAIR_CLUSTERERS = [name for name in CLUSTERERS if name not in PLAIN]


def bound(name: str, **options):
    """The estimator with groups supplied, of which scikit-learn's checks do not know: equal rows are in one group."""

    kind = getattr(evenspan, name)

    def groups(X, both=True):
        X = np.asarray(X.todense() if hasattr(X, "todense") else X)
        found = np.zeros(len(X), dtype=int)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if X.ndim == 2 and X.size:
                found = (np.floor(1e3 * np.nan_to_num(np.real(X[:, 0]).astype(float))) % 2).astype(int)
        if both and len(X) > 1 and len(np.unique(found)) == 1:
            found = np.arange(len(X)) % 2
        return found

    class Bound(kind):
        def fit(self, X, y=None, **given):
            if name not in PLAIN:
                given.setdefault("sensitive_features", groups(X))
            return super().fit(X, y, **given)

    # What the checks read of the method: whether it takes weights.
    Bound.fit.__signature__ = inspect.signature(kind.fit)
    if name in CLUSTERERS:
        Bound.fit_predict = lambda self, X, y=None, **given: self.fit(X, y, **given).labels_
    if name in APART:
        Bound.transform = lambda self, X: super(Bound, self).transform(X, sensitive_features=groups(X, both=False))
        Bound.fit_transform = lambda self, X, y=None: self.fit(X, y).transform(X)
    if hasattr(kind, "partial_fit"):

        def partial_fit(self, X, y=None, **given):
            given.setdefault("sensitive_features", groups(X))
            super(Bound, self).partial_fit(X, y, **given)
            return super(Bound, self).partial_fit(X, y, phase="components", **given)

        Bound.partial_fit = partial_fit
    Bound.__name__ = Bound.__qualname__ = f"Bound{name}"
    globals()[Bound.__name__] = Bound  # where pickle looks for it
    # scikit-learn reads the constructor of the class itself.
    Bound.__init__ = kind.__init__
    size = {"n_components": 1} if name in TRANSFORMERS else {"n_clusters": 2} if name in CLUSTERERS else {}
    return Bound(**size | options)


OPTIONS = {
    "StreamingFairPCA": {"n_gap_directions": 0},
    "NullItOutPCA": {"n_gap_directions": 0},
    "MMDFairPCA": {"max_iter": 2, "max_inner": 5, "max_mmd2": 0.1},
    "RLACE": {"max_iter": 20, "evaluate_every": 10},
    "FairKernelKMeans": {"fairness_weight": 1.0},
    "FairMultipleKernelKMeans": {"fairness_weight": 1.0},
}


@pytest.mark.parametrize("name", list(ALL))
def test_checks_of_scikit_learn(name):
    results = check_estimator(bound(name, **OPTIONS.get(name, {})), on_skip=None, on_fail=None)
    assert len(results) > 40
    failed = [f"{one['check_name']}: {one['exception']}" for one in results if one["status"] == "failed"]
    assert failed == []


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(9)
    at = np.repeat([0, 1], [110, 70])
    X = rng.normal(size=(180, 5)) * (1 + at[:, None]) + np.outer(at, [1.5, 0, -1, 0, 0])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=180) > 0.5).astype(int)
    order = rng.permutation(180)
    return pd.DataFrame(X[order], columns=FRAME), y[order], pd.Series(np.array(["f", "m"])[at][order], name="sex")


def test_all_components_restore_the_points(table):
    X = table[0].to_numpy() + 5.0
    model = evenspan.StandardPCA(5).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)


def test_groups_reach_every_method_in_a_pipeline(table):
    X, y, sex = table
    with sklearn.config_context(enable_metadata_routing=True):
        for name in TRANSFORMERS:
            pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), make(name), LogisticRegression())
            pipe.fit(X, y, sensitive_features=sex)
            T = pipe[:-1].transform(X)
            assert pipe.predict(X).shape == (180,), name
            assert pipe[1].feature_names_in_.tolist() == FRAME, name
            if name not in PLAIN:
                assert pipe[1].group_labels_.tolist() == ["f", "m"], name
                with pytest.raises((TypeError, GroupError), match="sensitive_features"):
                    pipe.fit(X, y)
            if name in EQUAL_MEANS:
                assert group_gap(T, sex) < 1e-9 * size(T), name
            else:
                assert np.isfinite(T).all(), name
        for name in FAIR_CLUSTERERS:
            alone = make(name).fit(StandardScaler().fit_transform(X), sensitive_features=sex)
            pipe = make_pipeline(StandardScaler(), make(name)).fit(X, sensitive_features=sex)
            assert np.array_equal(pipe[-1].labels_, alone.labels_), name
            with pytest.raises(TypeError, match="sensitive_features"):
                pipe.fit(X)
