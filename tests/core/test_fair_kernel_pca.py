"""Fair kernel PCA: equal means where kernel PCA has none, linear fair PCA as a case, and the problem as printed."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh, null_space
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from evenspan import FairKernelPCA, FairPCA
from evenspan.core import inputs
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError, LimitError
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
    {"kernel": "polynomial", "kernel_params": {"degree": 2}, "gamma": "auto"},
    {"kernel": lambda A, B: np.exp(-0.1 * np.abs(A[:, None] - B[None]).sum(axis=2))},
]
both_centrings = pytest.mark.parametrize("center", ["overall", "none"])


def fitted(k=2, data=X, groups=GROUPS, y=None, sample_weight=None, **options) -> FairKernelPCA:
    return FairKernelPCA(k, **options).fit(data, y, sensitive_features=groups, sample_weight=sample_weight)


def kernel_matrix(model, data=X) -> np.ndarray:
    return model.kernel_.matrix(data, np.arange(len(data)))


def gram(T) -> np.ndarray:
    return T @ T.T


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda o: f"{o['kernel']!s:.10}")
@both_centrings
def test_group_means_coincide_where_those_of_kernel_pca_do_not(kernel, center):
    for k in (1, 3):
        model = fitted(k, center=center, tradeoff=0.5, **kernel)
        T, K = model.transform(X), kernel_matrix(model)
        T, second = T[:, :k], T[:, k:]
        control = KernelPCA(k, kernel="precomputed").fit_transform(K)
        assert group_gap(T, GROUPS) <= 1e-11 * np.sqrt(np.linalg.norm(K))
        assert group_gap(control, GROUPS) > 0.2 * size(control)
        A = model.dual_coef_[:, :k]
        np.testing.assert_allclose(A.T @ K @ A, np.eye(k), atol=1e-8)
        np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-10)
        if center == "overall":
            np.testing.assert_allclose(gram(second), 0.25 * gram(control), atol=1e-8 * np.linalg.norm(K))
        assert (model.eigenvalues_ <= 4 * np.square(second).sum(axis=0) * (1 + 1e-12)).all()
        assert model.constraint_rank_ == 2
        assert model.certificate_.is_optimal()
        assert center == "none" or np.abs(T.sum(axis=0)).max() <= 1e-9 * size(T)


LINEAR = {
    "three groups": {},
    "tradeoff": {"tradeoff": 0.5},
    "covariance": {"match": "covariance", "covariance_fraction": 0.6},
    "weighted quantity": {"groups": AGED, "numeric_attributes": ["age"], "sample_weight": 1.0 + np.arange(380) % 4},
    "two attributes, covariance": {"data": CROSSED, "groups": CELLS, "match": "covariance"},
    "intersection": {"data": CROSSED, "groups": CELLS, "attributes": "intersection"},
}


@pytest.mark.parametrize("case", LINEAR)
@both_centrings
def test_the_linear_kernel_gives_linear_fair_pca_with_all_rows_and_with_landmarks(case, center):
    options = dict(LINEAR[case])
    data, groups, weights = options.pop("data", X), options.pop("groups", GROUPS), options.pop("sample_weight", None)
    linear = FairPCA(2, center=center, **options).fit(data, sensitive_features=groups, sample_weight=weights)
    new = data[:40] + np.linspace(0, 1, data.shape[1])
    expected = gram(linear.transform(new))
    # Six or eight landmarks in general position span all linear features.
    for n_landmarks in (None, 30):
        given = {"kernel": "linear", "center": center, "n_landmarks": n_landmarks, **options}
        model = fitted(2, data, groups, None, weights, **given)
        np.testing.assert_allclose(gram(model.transform(new)), expected, atol=1e-8 * np.linalg.norm(expected))
        assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
        assert model.group_counts_.tolist() == linear.group_counts_.tolist()


@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_where_zero_lies_does_not_matter_to_the_linear_kernel(n_landmarks):
    here, there = (fitted(data=data, kernel="linear", n_landmarks=n_landmarks) for data in (X, X + 1e6))
    T = there.transform(X + 1e6)
    assert group_gap(T, GROUPS) <= 1e-9 * size(T)
    np.testing.assert_allclose(gram(T), gram(here.transform(X)), atol=1e-7 * np.linalg.norm(gram(T)))
    assert there.certificate_.is_optimal()


@both_centrings
@pytest.mark.parametrize("s", [S, PAIR], ids=["three groups", "two groups"])
def test_the_generalised_eigenproblem_as_printed_has_the_same_solution(s, center):
    model = fitted(3, s.X, s.groups, gamma=3.0, center=center)  # narrow: well conditioned, as the problem needs
    n = len(s.X)
    J = np.eye(n) - 1.0 / n if center == "overall" else np.eye(n)
    # centred, K is singular: its range is left
    U = np.linalg.svd(J)[0][:, : n - 1] if center == "overall" else np.eye(n)
    K, Z = J @ kernel_matrix(model, s.X) @ J, (s.groups[:, None] == s.labels[None, 1:]).astype(float)
    R = U @ null_space((Z - Z.mean(axis=0)).T @ K @ U)
    A = R @ eigh(gram(R.T @ K), R.T @ K @ R)[1][:, ::-1][:, :3]
    T = model.transform(s.X)
    np.testing.assert_allclose(gram(T), gram(K @ A), atol=1e-8 * np.linalg.norm(gram(T)))


@both_centrings
def test_landmarks_give_equal_means_and_come_closer(center):
    whole, off = gram(fitted(3, center=center).transform(X)), []
    for m in (20, 90, 380):
        model = fitted(3, n_landmarks=m, center=center)
        T, K = model.transform(X), model.kernel_.block(model.X_fit_, model.X_fit_)
        assert group_gap(T, GROUPS) <= 1e-11 * size(T)
        np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(3), atol=1e-8)
        off.append(np.linalg.norm(gram(T) - whole) / np.linalg.norm(whole))
    assert off[0] > 3 * off[1]
    assert off[2] < 1e-8
    assert not np.array_equal(fitted(n_landmarks=20, random_state=4).X_fit_, fitted(n_landmarks=20).X_fit_)


def test_weights_are_repetitions_and_the_width_is_that_of_favourable_rows():
    weights = np.random.default_rng(0).integers(0, 4, 380)
    repeated = fitted(2, np.repeat(X, weights, axis=0), np.repeat(GROUPS, weights))
    np.testing.assert_allclose(fitted(sample_weight=weights).transform(X), repeated.transform(X), atol=1e-9)
    favourable = fitted(y=Y, criterion="equal_opportunity")
    assert favourable.gamma_ == fitted(2, X[Y == 1], GROUPS[Y == 1]).gamma_ != fitted().gamma_


def test_a_precomputed_kernel_is_the_same():
    new, K = X[:50] + 0.1, rbf_kernel(X, gamma=0.1)
    for options in ({}, {"n_landmarks": 380}, {"criterion": "equal_opportunity"}):
        direct = fitted(3, y=Y, tradeoff=0.5, gamma=0.1, **options)
        model = fitted(3, K, y=Y, kernel="precomputed", tradeoff=0.5, **options)
        np.testing.assert_allclose(model.transform(rbf_kernel(new, X, gamma=0.1)), direct.transform(new), atol=1e-8)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not direct.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_an_indefinite_kernel_is_told_and_never_chosen(n_landmarks):
    scaled = X / X.std(axis=0) - 0.5
    with pytest.warns(IndefiniteKernelWarning, match=r"negative eigenvalue \(-0\."):
        model = fitted(3, scaled, kernel="sigmoid", gamma=0.5, kernel_params={"coef0": 0.0}, n_landmarks=n_landmarks)
    T = model.transform(scaled)
    assert group_gap(T, GROUPS) < 1e-10 * size(T)
    assert (model.eigenvalues_ > 0).all()
    with pytest.raises(DataError, match="no positive eigenvalue"), pytest.warns(IndefiniteKernelWarning):
        fitted(2, -rbf_kernel(X), kernel="precomputed", n_landmarks=n_landmarks)


def test_what_is_refused_is_said(monkeypatch):
    for options, error, words in (
        ({"k": 5, "kernel": "linear"}, ComponentsError, "n_components=5.*at most 4"),
        ({"k": 9, "n_landmarks": 8}, ComponentsError, "at most 6"),
        ({"groups": np.r_[["one"], GROUPS[1:]], "match": "covariance"}, GroupError, "'one' has less than 2 rows"),
        ({"criterion": "equal_opportunity"}, DataError, "needs the target"),
        ({"kernel": "gaussian"}, ConfigurationError, "kernel='gaussian'"),
        ({"kernel": "precomputed"}, DataError, "square kernel matrix"),
        ({"kernel": "precomputed", "data": np.triu(rbf_kernel(X))}, DataError, "not symmetric"),
        ({"n_landmarks": 381}, ConfigurationError, "380 fitted rows"),
    ):
        with pytest.raises(error, match=f"(?s){words}"):
            fitted(**options)
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**24)
    many, groups = np.random.default_rng(0).normal(size=(1700, 3)), np.arange(1700) % 2
    for match in ("mean", "covariance"):
        with pytest.raises(LimitError, match=r"1700 rows with 1700 anchors.*n_landmarks=1000"):
            fitted(2, many, groups, match=match)
        assert fitted(2, many, groups, match=match, n_landmarks=50).dual_coef_.shape == (50, 2)
