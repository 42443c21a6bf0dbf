"""Fair kernel PCA: equal means where kernel PCA has none, linear fair PCA as a case, and the problem as printed."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh, null_space
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from evenspan import FairKernelPCA, FairPCA
from evenspan.core import inputs
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    FeatureTypeError,
    GroupError,
    LimitError,
    SingleGroupWarning,
)
from evenspan.representation import IndefiniteKernelWarning

from .samples import draw, group_gap, size, two_attributes

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups
PAIR = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
Y = (np.arange(380) % 3 == 0).astype(int)
AGED = pd.DataFrame({"colour": GROUPS, "age": X[:, 1] ** 2 + 40})
CROSSED, CELLS = two_attributes()
KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.02},
    {"kernel": "polynomial", "kernel_params": {"degree": 2}, "gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": lambda A, B: np.exp(-0.1 * np.abs(A[:, None] - B[None]).sum(axis=2))},
]
both_centrings = pytest.mark.parametrize("center", ["overall", "none"])


def fitted(k=2, data=X, groups=GROUPS, y=None, sample_weight=None, **options) -> FairKernelPCA:
    return FairKernelPCA(k, **options).fit(data, y, sensitive_features=groups, sample_weight=sample_weight)


def kernel_matrix(model, data=X) -> np.ndarray:
    return model.kernel_.matrix(data, np.arange(len(data)))


def gram(T) -> np.ndarray:
    return T @ T.T


def indicators(groups) -> np.ndarray:
    Z = (np.asarray(groups)[:, None] == np.unique(groups)[None]).astype(float)
    return Z - Z.mean(axis=0)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda o: f"{o['kernel']!s:.10} {o.get('gamma', '')}")
@both_centrings
def test_group_means_coincide_where_those_of_kernel_pca_do_not(kernel, center):
    for k in (1, 3):
        model = fitted(k, center=center, tradeoff=1.0, **kernel)
        T, K = model.transform(X)[:, :k], kernel_matrix(model)
        control = KernelPCA(k, kernel="precomputed").fit_transform(K)
        assert group_gap(T, GROUPS) <= 1e-11 * np.sqrt(np.linalg.norm(K))
        assert group_gap(control, GROUPS) > 0.2 * size(control)
        A = model.dual_coef_[:, :k]
        np.testing.assert_allclose(A.T @ K @ A, np.eye(k), atol=1e-8)
        np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-10)
        standard = np.square(model.transform(X)[:, k:]).sum(axis=0)
        assert (model.eigenvalues_ <= standard * (1 + 1e-12)).all()
        assert model.constraint_rank_ == 2
        assert model.certificate_.is_optimal()
        assert center == "none" or np.abs(T.sum(axis=0)).max() <= 1e-9 * size(T)


LINEAR = {
    "three groups": {},
    "tradeoff": {"tradeoff": 0.5, "tradeoff_power": 3},
    "covariance": {"match": "covariance", "covariance_fraction": 0.6},
    "equal opportunity": {"criterion": "equal_opportunity"},
    "quantity": {"groups": AGED, "numeric_attributes": ["age"]},
    "weighted quantity": {"groups": AGED, "numeric_attributes": ["age"], "sample_weight": 1.0 + np.arange(380) % 4},
    "two attributes": {"data": CROSSED, "groups": CELLS},
    "two attributes, covariance": {"data": CROSSED, "groups": CELLS, "match": "covariance"},
    "intersection": {"data": CROSSED, "groups": CELLS, "attributes": "intersection"},
}


@pytest.mark.parametrize("case", LINEAR)
@both_centrings
def test_the_linear_kernel_gives_linear_fair_pca_with_all_rows_and_with_landmarks(case, center):
    options = dict(LINEAR[case])
    data, groups, weights = options.pop("data", X), options.pop("groups", GROUPS), options.pop("sample_weight", None)
    y = np.arange(len(data)) % 2
    linear = FairPCA(2, center=center, **options).fit(data, y, sensitive_features=groups, sample_weight=weights)
    new = data[:40] + np.linspace(0, 1, data.shape[1])
    expected = gram(linear.transform(new))
    # Six or eight landmarks in general position span all linear features.
    for n_landmarks in (None, 30):
        given = {"kernel": "linear", "center": center, "n_landmarks": n_landmarks, **options}
        model = fitted(2, data, groups, y, weights, **given)
        np.testing.assert_allclose(gram(model.transform(new)), expected, atol=1e-8 * np.linalg.norm(expected))
        assert model.constraint_rank_ == linear.constraint_rank_
        assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
        assert model.group_counts_.tolist() == linear.group_counts_.tolist()


@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_where_zero_lies_does_not_matter_to_the_linear_kernel(n_landmarks):
    here = fitted(kernel="linear", n_landmarks=n_landmarks)
    far = X + 1e6
    there = fitted(data=far, kernel="linear", n_landmarks=n_landmarks)
    T = there.transform(far)
    assert group_gap(T, GROUPS) <= 1e-9 * size(T)
    np.testing.assert_allclose(gram(T), gram(here.transform(X)), atol=1e-7 * np.linalg.norm(gram(T)))
    assert here.constraint_rank_ == there.constraint_rank_ == 2
    assert there.certificate_.is_optimal()


@both_centrings
@pytest.mark.parametrize("s", [S, PAIR], ids=["three groups", "two groups"])
def test_the_generalised_eigenproblem_as_printed_has_the_same_solution(s, center):
    model = fitted(3, s.X, s.groups, gamma=3.0, center=center)  # narrow: well conditioned, as the problem needs
    n = len(s.X)
    J = np.eye(n) - 1.0 / n if center == "overall" else np.eye(n)
    # centred, K is singular: its range is left
    U = np.linalg.svd(J)[0][:, : n - 1] if center == "overall" else np.eye(n)
    K, Z = J @ kernel_matrix(model, s.X) @ J, indicators(s.groups)[:, 1:]
    R = U @ null_space(Z.T @ K @ U)
    A = R @ eigh(gram(R.T @ K), R.T @ K @ R)[1][:, ::-1][:, :3]
    T = model.transform(s.X)
    np.testing.assert_allclose(gram(T), gram(K @ A), atol=1e-8 * np.linalg.norm(gram(T)))


def test_landmarks_give_equal_means_and_come_closer():
    for center in ("overall", "none"):
        whole = gram(fitted(3, center=center).transform(X))
        off = []
        for m in (20, 90, 380):
            model = fitted(3, n_landmarks=m, center=center)
            T, K = model.transform(X), model.kernel_.block(model.X_fit_, model.X_fit_)
            assert group_gap(T, GROUPS) <= 1e-11 * size(T)
            np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(3), atol=1e-8)
            np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-8)
            off.append(np.linalg.norm(gram(T) - whole) / np.linalg.norm(whole))
        assert off[0] > 3 * off[1]
        assert off[2] < 1e-8
    other = fitted(3, n_landmarks=20, random_state=4)
    assert not np.array_equal(other.X_fit_, fitted(3, n_landmarks=20).X_fit_)


def test_equal_opportunity_tradeoff_attributes_and_quantities():
    favourable = Y == 1
    model = fitted(y=Y, criterion="equal_opportunity")
    alone = fitted(2, X[favourable], GROUPS[favourable])
    assert model.gamma_ == alone.gamma_ != fitted().gamma_
    np.testing.assert_allclose(alone.transform(X), model.transform(X), atol=1e-10)
    assert group_gap(model.transform(X), GROUPS) > 1e-3
    T = fitted(tradeoff=0.5, tradeoff_power=3).transform(X)
    control = KernelPCA(2, kernel="precomputed").fit_transform(kernel_matrix(fitted()))
    np.testing.assert_allclose(T[:, :2], fitted().transform(X), atol=1e-12)
    np.testing.assert_allclose(gram(T[:, 2:]), 0.5**6 * gram(control), atol=1e-10)
    cells = np.array([a + b for a, b in CELLS])
    marginal = fitted(2, CROSSED, CELLS).transform(CROSSED)
    assert max(group_gap(marginal, CELLS[:, j]) for j in (0, 1)) < 1e-12 < 1e-3 < group_gap(marginal, cells)
    assert group_gap(fitted(2, CROSSED, CELLS, attributes="intersection").transform(CROSSED), cells) < 1e-12
    weights = 1.0 + np.arange(380) % 3
    for n_landmarks in (None, 100):
        options = {"numeric_attributes": ["age"], "n_landmarks": n_landmarks}
        T = fitted(groups=AGED, sample_weight=weights, **options).transform(X)
        age = AGED["age"].to_numpy() - np.average(AGED["age"], weights=weights)
        assert np.abs((weights * age) @ T).max() < 1e-8 * np.linalg.norm(age)
        assert fitted(groups=AGED[["age"]], **options).constraint_rank_ == 1


def test_covariances_come_closer():
    def gap(**options):
        T = fitted(2, PAIR.X, PAIR.groups, **options).transform(PAIR.X)
        assert group_gap(T, PAIR.groups) < 1e-10
        return np.linalg.norm(np.subtract(*(np.cov(T[PAIR.groups == label].T) for label in ("woman", "man"))))

    assert gap(match="covariance", covariance_fraction=0.9) < 0.2 * gap()
    assert gap(match="covariance", covariance_fraction=1.0) == pytest.approx(gap(), rel=1e-6)


def test_repeated_rows_weights_and_one_group():
    rows, groups = np.repeat(np.round(X[:60], 1), 3, axis=0), np.resize(["a", "b", "b"], 180)
    rows[groups == "a", 0] += 1.0
    for options in ({}, {"n_landmarks": 120}, {"center": "none"}):
        model = fitted(3, rows, groups, **options)
        assert group_gap(model.transform(rows), groups) < 1e-11
    weights = np.random.default_rng(0).integers(0, 4, 380)
    repeated = fitted(2, np.repeat(X, weights, axis=0), np.repeat(GROUPS, weights))
    np.testing.assert_allclose(fitted(sample_weight=weights).transform(X), repeated.transform(X), atol=1e-9)
    with pytest.warns(SingleGroupWarning, match="one group only"):
        model = fitted(groups=["all"] * 380, on_single_group="warn")
    control = KernelPCA(2, kernel="rbf", gamma=model.gamma_).fit_transform(X)
    np.testing.assert_allclose(gram(model.transform(X)), gram(control), atol=1e-8)


def test_a_precomputed_kernel_is_the_same():
    new, K = X[:50] + 0.1, rbf_kernel(X, gamma=0.1)
    for options in ({}, {"n_landmarks": 380}, {"criterion": "equal_opportunity"}):
        direct = fitted(3, y=Y, tradeoff=0.5, gamma=0.1, **options)
        model = fitted(3, K, y=Y, kernel="precomputed", tradeoff=0.5, **options)
        np.testing.assert_allclose(model.transform(rbf_kernel(new, X, gamma=0.1)), direct.transform(new), atol=1e-8)
    assert model.X_fit_.tolist() == np.flatnonzero(Y).tolist()
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not direct.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_an_indefinite_kernel_is_told_and_never_chosen(n_landmarks):
    options = {
        "kernel": "sigmoid",
        "gamma": 0.5,
        "kernel_params": {"coef0": 0.0},
        "center": "none",
        "n_landmarks": n_landmarks,
    }
    with pytest.warns(IndefiniteKernelWarning, match=r"negative eigenvalue \(-0\..*means of the output still coincide"):
        model = fitted(3, X / X.std(axis=0) - 0.5, **options)
    T = model.transform(X / X.std(axis=0) - 0.5)
    assert group_gap(T, GROUPS) < 1e-10 * size(T)
    assert (model.eigenvalues_ > 0).all()


REFUSED = [
    ({"k": 5, "kernel": "linear"}, ComponentsError, "n_components=5.*at most 4"),
    ({"k": 9, "n_landmarks": 8}, ComponentsError, "at most 6"),
    ({"k": 2.0}, ComponentsError, "whole number"),
    ({"data": np.zeros((380, 2)), "kernel": "linear"}, DataError, "no positive eigenvalue"),
    ({"groups": ["all"] * 380}, GroupError, "one group only.*on_single_group='warn'"),
    ({"groups": GROUPS[:100]}, GroupError, "100 rows"),
    ({"groups": np.r_[["one"], GROUPS[1:]], "match": "covariance"}, GroupError, "'one' has 1 row"),
    ({"criterion": "equal_opportunity"}, DataError, "needs the target"),
    ({"data": np.where(X[7, 2] == X, np.nan, X)}, DataError, r"NaN or inf.*2 \(1\)"),
    ({"data": np.where(X[7, 2] == X, 1e200, X)}, DataError, "up to 1e.30"),
    ({"data": pd.DataFrame(X).assign(town="x").rename(columns=str)}, FeatureTypeError, "'town'"),
    ({"kernel": "gaussian"}, ConfigurationError, "kernel='gaussian'"),
    ({"kernel": "precomputed"}, DataError, "square kernel matrix"),
    ({"kernel": "precomputed", "data": np.triu(rbf_kernel(X))}, DataError, "not symmetric"),
    ({"n_landmarks": 0}, ConfigurationError, "n_landmarks=0"),
    ({"n_landmarks": 381}, ConfigurationError, "at most the 380 fitted rows"),
    ({"n_landmarks": 5, "random_state": "a"}, ConfigurationError, "random_state='a'"),
    ({"match": "variance"}, ConfigurationError, "match='variance'"),
    ({"tradeoff": 1.5}, ConfigurationError, "tradeoff"),
]  # fmt: skip


def test_what_is_refused_is_said():
    for options, error, words in REFUSED:
        with pytest.raises(error, match=f"(?s){words}"):
            fitted(**options)
    with pytest.raises(DataError, match="no positive eigenvalue"), pytest.warns(IndefiniteKernelWarning):
        fitted(2, -rbf_kernel(X), kernel="precomputed", n_landmarks=30)


@pytest.mark.parametrize("match", ["mean", "covariance"])
def test_memory_is_looked_at_before_whatever_is_matched(match, monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**24)
    many, groups = np.random.default_rng(0).normal(size=(1700, 3)), np.arange(1700) % 2
    with pytest.raises(LimitError, match=r"1700 rows with 1700 anchors.*n_landmarks=1000"):
        fitted(2, many, groups, match=match)
    assert fitted(2, many, groups, match=match, n_landmarks=50).dual_coef_.shape == (50, 2)
