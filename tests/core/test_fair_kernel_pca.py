"""Fair kernel PCA: equal means where kernel PCA has none, linear fair PCA as a case, and the problem as printed."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space
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


def by_definition(K, columns, weights, k, center) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (n, k) and eigenvalues: PCA of points with inner products K in directions without the columns."""
    values, vectors = np.linalg.eigh(K)
    points = vectors * np.sqrt(np.maximum(values, 0.0))
    points = points - np.average(points, axis=0, weights=weights) * (center == "overall")
    columns = (columns - np.average(columns, axis=0, weights=weights)) * weights[:, None]
    lengths = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    R = null_space((points.T @ (columns / lengths)).T, rcond=1e-8)
    values, vectors = np.linalg.eigh(R.T @ (points.T * weights) @ points @ R)
    return points @ R @ vectors[:, : -k - 1 : -1], values[: -k - 1 : -1]


COLOURS, SOME = pd.get_dummies(GROUPS).to_numpy(float), np.arange(380) % 4 * (1.0 + np.sin(np.arange(380)))
AGE, BOTH = (X[:, 1:2] ** 2 + 40), pd.DataFrame({"colour": GROUPS, "half": Y})
DEFINED = {
    "three groups": ({}, COLOURS, None),
    "weights, some zero": ({}, COLOURS, SOME),
    "trade-off": ({"tradeoff": 0.3}, COLOURS, SOME),
    "equal opportunity": ({"criterion": "equal_opportunity"}, COLOURS, SOME),
    "two attributes": ({"groups": BOTH}, np.column_stack([COLOURS, Y]), SOME),
    "intersection": (
        {"groups": BOTH, "attributes": "intersection"}, np.column_stack([COLOURS, COLOURS * Y[:, None]]), None
    ),
    "quantity": ({"groups": AGED, "numeric_attributes": ["age"]}, np.column_stack([COLOURS, AGE]), SOME),
    "precomputed": ({"kernel": "precomputed"}, COLOURS, SOME),
    "a function": (KERNELS[2], COLOURS, SOME),
    "polynomial": (KERNELS[1], COLOURS, None),
}  # fmt: skip


@pytest.mark.parametrize("case", DEFINED)
@both_centrings
def test_the_answer_is_that_of_the_definition(case, center):
    options, columns, given = DEFINED[case]
    data = rbf_kernel(X, gamma=0.02) if case == "precomputed" else X
    for k in (2, 20):
        model = fitted(**{"k": k, "data": data, "y": Y, "sample_weight": given, "center": center, **options})
        weights = (np.ones(380) if given is None else given) * (Y if "criterion" in options else 1.0)
        K, kept = model.kernel_.matrix(data), weights > 0
        blocks = [columns] if model.tradeoff is None else [columns, np.ones((380, 1))]
        blocks = [by_definition(K[np.ix_(kept, kept)], one[kept], weights[kept], k, center) for one in blocks]
        expected = np.hstack([factor * T for factor, (T, _) in zip((1.0, model.tradeoff), blocks, strict=False)])
        size = np.sqrt(np.linalg.norm(K))
        np.testing.assert_allclose(np.abs(model.transform(data)[kept]), np.abs(expected), atol=1e-10 * size)
        np.testing.assert_allclose(model.eigenvalues_, blocks[0][1], atol=1e-12 * np.linalg.norm(K))
        assert model.certificate_.is_optimal()
        assert model.certificate_.scope == "last step"
        assert model.certificate_.primal == pytest.approx(blocks[0][1].sum(), rel=1e-12)


def test_eigenvalues_that_coincide_are_all_found():
    turn = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    ring, halves = np.column_stack([np.cos(turn), np.sin(turn)]), np.arange(400) % 2
    for gamma in (0.5, 50.0):
        model, again = (fitted(5, ring, halves, gamma=gamma) for _ in range(2))
        _, values = by_definition(kernel_matrix(model, ring), halves[:, None].astype(float), np.ones(400), 5, "overall")
        assert values[0] - values[1] < 1e-9 * values[0]
        np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-10)
        np.testing.assert_array_equal(model.dual_coef_, again.dual_coef_)


def test_the_start_does_not_matter_and_there_is_no_second_matrix():
    few = np.random.default_rng(0).normal(size=(1500, 3))
    groups = (few[:, 0] > 0.5).astype(int)
    tracemalloc.start()
    model = fitted(3, few, groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * 8 * 1500**2
    assert 0 < model.certificate_.dual - model.certificate_.primal < 1e-9 * model.certificate_.primal  # its residual
    other = fitted(3, few, groups, random_state=1)
    np.testing.assert_allclose(model.transform(few), other.transform(few), atol=1e-11 * size(few))


def test_means_that_coincide_take_no_direction():
    level = X - np.array([X[label == GROUPS].mean(axis=0) for label in GROUPS])
    model = fitted(2, level, kernel="linear")
    assert model.rank_removed_ == 0
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.svd(level)[1][:2] ** 2, rtol=1e-10)


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
    with pytest.warns(KernelWarning, match="negative eigenvalue"):  # though a small one
        fitted(2, rbf_kernel(X, gamma=0.02) - 1e-6 * np.eye(380), kernel="precomputed")
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
