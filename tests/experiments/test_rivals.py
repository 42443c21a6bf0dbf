"""The comparison beside other libraries: its promises with controls that break them, and what is stored."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from compendium import paths
from compendium.book import rivals as report
from evenspan import LEACE, FairPCA, StandardPCA


@pytest.fixture
def bench(monkeypatch):
    """The modules of the comparison by name."""
    monkeypatch.syspath_prepend(paths.root() / "benchmarks" / "rivals")
    return importlib.import_module


@pytest.fixture(scope="module")
def data():
    """Three groups of unequal size, mean and scale; columns standardised."""
    rng = np.random.default_rng(7)
    groups = rng.permutation(np.repeat([0, 1, 2], [300, 180, 90]))
    X = rng.normal(size=(570, 6)) @ rng.normal(size=(6, 6)) * (1.0 + 0.4 * groups[:, None])
    X += np.array([[0, 0, 0, 0, 0, 0], [1, -1, 0, 2, 0, 0], [0, 2, 1, 0, 0, -1]])[groups]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return SimpleNamespace(X=X, groups=groups, k=3, least=4, centres=np.array([2, 1, 1]))


def rebuilt(model, data):
    model.fit(data.X, sensitive_features=data.groups)
    return model.inverse_transform(model.transform(data.X))


def within(data, change):
    """Every group changed by itself."""
    Z = data.X.copy()
    for g in np.unique(data.groups):
        Z[data.groups == g] = change(data.X[data.groups == g])
    return Z


def whitened(part):
    centred = part - part.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
    return centred @ (vectors / np.sqrt(values)) @ vectors.T


def filtered(data):
    """Columns made orthogonal to the indicators without centring, which leaves the first group where it was."""
    S = (data.groups[:, None] == [1, 2]).astype(float)
    return data.X - S @ np.linalg.lstsq(S, data.X)[0]


def ranks(part):
    return (part.argsort(axis=0).argsort(axis=0) + 0.5) / len(part)


REPRESENTATIONS = {
    "as PCA": (lambda data: rebuilt(StandardPCA(3), data), lambda data: rebuilt(FairPCA(3), data)),
    "equal means": (lambda data: rebuilt(FairPCA(3), data), lambda data: rebuilt(StandardPCA(3), data)),
    "no linear classifier": (
        lambda data: LEACE().fit_transform(data.X, sensitive_features=data.groups),
        lambda data: rebuilt(StandardPCA(3), data),
    ),
    "uncorrelated": (lambda data: within(data, lambda part: part - part.mean(axis=0)), filtered),
    "orthogonal": (filtered, lambda data: data.X),
    "equal covariances": (
        lambda data: within(data, whitened),
        lambda data: within(data, lambda part: part - part.mean(axis=0)),
    ),
    "equal distributions": (lambda data: within(data, ranks), lambda data: within(data, whitened) * data.X),
    "hard to read": (lambda data: rebuilt(FairPCA(3), data), lambda data: data.X),
}


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_a_promise_about_rows_holds_where_it_is_kept_and_not_for_its_control(bench, data, name):
    promises = bench("promises")
    one = promises.PROMISES[name]
    kept, broken = (make(data) for make in REPRESENTATIONS[name])
    assert promises.held(name, one.measure(data, {"Z": kept}))
    assert one.measure(data, {"Z": broken}) > 1.2 * one.bound


def dealt(data):
    """Rows of every group dealt over three clusters in turn."""
    labels = np.empty(len(data.groups), dtype=int)
    for g in np.unique(data.groups):
        labels[data.groups == g] = np.arange((data.groups == g).sum()) % 3
    return labels


def test_promises_about_clusters_hold_where_they_are_kept_and_not_for_k_means(bench, data):
    promises = bench("promises")
    first = [np.flatnonzero(data.groups == g) for g in range(3)]
    asked = data.X[np.concatenate([first[0][:2], first[1][:1], first[2][:1]])]
    near = np.repeat(data.X.mean(axis=0, keepdims=True), 4, axis=0) + 1e3  # far from all: equally far
    kept = {
        "balance": {"labels": dealt(data)},
        "same shares": {"labels": dealt(data)},
        "centres as asked": {"labels": dealt(data), "centres": asked},
        "similar distances": {"labels": dealt(data), "centres": near},
    }
    assert set(kept) | set(REPRESENTATIONS) == set(promises.PROMISES)
    model = KMeans(4, n_init=1, random_state=0).fit(data.X)
    control = {"labels": model.labels_, "centres": data.X[first[0][:4]]}
    for name, made in kept.items():
        one = promises.PROMISES[name]
        assert promises.held(name, one.measure(data, made)), name
        assert not promises.held(name, one.measure(data, control)), name
    assert np.isnan(promises.PROMISES["centres as asked"].measure(data, {"labels": dealt(data)}))


def test_stored_tasks_are_complete_and_their_promises_judged_by_their_bounds():
    rows, made = report.read(), report.record()
    assert len(rows) == len(made["tasks"])
    assert not rows.duplicated(["dataset", "split", "method"]).any()
    assert (rows["message"].notna() ^ rows["seconds"].notna()).all()
    for name, some in rows[rows["message"].isna()].dropna(subset="promise").groupby("promise"):
        assert (some["held"].astype(bool) == (some[name] <= made["bounds"][name])).all()
