"""Fair kernel PCA: equal means where kernel PCA has none, linear fair PCA as a case, and the problem as printed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from evenspan import FairKernelPCA, FairPCA
from evenspan.core import inputs
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, LimitError
from evenspan.core.kernels import KernelWarning

from .samples import draw, group_gap, size, two_attributes

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups
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
        T, K, A = model.transform(X), kernel_matrix(model), model.dual_coef_[:, :k]
        T, second = T[:, :k], T[:, k:]
        control = KernelPCA(k, kernel="precomputed").fit_transform(K)
        assert group_gap(T, GROUPS) <= 1e-11 * np.sqrt(np.linalg.norm(K))
        assert group_gap(control, GROUPS) > 0.2 * size(control)
        np.testing.assert_allclose(A.T @ K @ A, np.eye(k), atol=1e-8)
        np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-10)
        if center == "overall":
            np.testing.assert_allclose(gram(second), 0.25 * gram(control), atol=1e-8 * np.linalg.norm(K))
        assert model.certificate_.is_optimal()


LINEAR = {
    "three groups": {},
    "covariance": {"match": "covariance", "covariance_fraction": 0.6},
    "weighted quantity": {"groups": AGED, "numeric_attributes": ["age"], "sample_weight": 1.0 + np.arange(380) % 4},
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


def test_where_zero_lies_does_not_matter_to_the_linear_kernel():
    here, there = (fitted(data=data, kernel="linear").transform(data) for data in (X, X + 1e6))
    assert group_gap(there, GROUPS) <= 1e-9 * size(there)
    np.testing.assert_allclose(gram(there), gram(here), atol=1e-7 * np.linalg.norm(gram(here)))


def test_a_precomputed_kernel_is_the_same():
    new, K = X[:50] + 0.1, rbf_kernel(X, gamma=0.1)
    for options in ({}, {"criterion": "equal_opportunity"}):
        direct = fitted(3, y=Y, tradeoff=0.5, gamma=0.1, **options)
        model = fitted(3, K, y=Y, kernel="precomputed", tradeoff=0.5, **options)
        np.testing.assert_allclose(model.transform(rbf_kernel(new, X, gamma=0.1)), direct.transform(new), atol=1e-8)
    assert fitted(y=Y, criterion="equal_opportunity").gamma_ == fitted(2, X[Y == 1], GROUPS[Y == 1]).gamma_


def test_an_indefinite_kernel_is_told_and_never_chosen_and_what_is_refused_is_said(monkeypatch):
    with pytest.warns(KernelWarning, match=r"negative eigenvalue \(-0\."):
        model = fitted(3, X / X.std(axis=0) - 0.5, kernel="sigmoid", gamma=0.5, kernel_params={"coef0": 0.0})
    assert (model.eigenvalues_ > 0).all()
    with pytest.raises(DataError, match="no positive eigenvalue"), pytest.warns(KernelWarning):
        fitted(2, -rbf_kernel(X), kernel="precomputed")
    for options, error, words in (
        ({"k": 5, "kernel": "linear"}, ComponentsError, "n_components=5.*at most 4"),
        ({"kernel": "precomputed"}, DataError, "square kernel matrix"),
        ({"kernel": "precomputed", "data": np.triu(rbf_kernel(X))}, DataError, "not symmetric"),
        ({"n_landmarks": 381}, ConfigurationError, "380 fitted rows"),
    ):
        with pytest.raises(error, match=f"(?s){words}"):
            fitted(**options)
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**24)
    many, groups = np.random.default_rng(0).normal(size=(1700, 3)), np.arange(1700) % 2
    with pytest.raises(LimitError, match=r"1700 rows with 1700 anchors.*n_landmarks=1000"):
        fitted(2, many, groups, match="covariance")
    assert fitted(2, many, groups, n_landmarks=50).dual_coef_.shape == (50, 2)
