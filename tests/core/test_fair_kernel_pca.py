"""Fair kernel PCA: equal means where kernel PCA has none, linear fair PCA as a case, and the problem as printed."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from evenspan.representation.fair_kernel_pca import IndefiniteKernelWarning, leading_pairs, unit_columns, witnesses
from scipy.linalg import eigh, null_space
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenspan import FairPCA
from evenspan.core import kernels
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, FeatureTypeError, GroupError
from evenspan.representation import fair_kernel_pca as kernel_space
from evenspan.representation.fair_kernel_pca import FairKernelPCA

from .samples import draw, group_gap, size, two_attributes
from .test_sklearn import GroupsOfRows, SuppliesGroups

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups
PAIR = draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)
Y = (np.arange(380) % 3 == 0).astype(int)
KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.02},
    {"kernel": "polynomial", "degree": 2, "gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": lambda A, B: np.exp(-0.1 * np.abs(A[:, None] - B[None]).sum(axis=2))},
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda o: f"{o['kernel']!s:.10} {o.get('gamma', '')}")
both_centrings = pytest.mark.parametrize("center", [True, False])


def fitted(k=2, data=X, groups=GROUPS, y=None, sample_weight=None, **options) -> FairKernelPCA:
    return FairKernelPCA(k, **options).fit(data, y, sensitive_features=groups, sample_weight=sample_weight)


def kernel_matrix(model, data=X) -> np.ndarray:
    return model._kernel.matrix(data, np.arange(len(data)))


def gram(T) -> np.ndarray:
    return T @ T.T


def centred_indicators(groups) -> np.ndarray:
    Z = (np.asarray(groups)[:, None] == np.unique(groups)[None]).astype(float)
    return Z - np.mean(Z, axis=0)


# -- F1, F6: equal means, unit length -----------------------------------------------------------------------------


@every_kernel
@both_centrings
@pytest.mark.parametrize("k", [1, 3])
def test_group_means_coincide_where_those_of_kernel_pca_do_not(kernel, center, k):
    model = fitted(k, center=center, **kernel)
    T = model.transform(X)
    K = kernel_matrix(model)
    assert group_gap(T, GROUPS) <= 1e-12 * np.sqrt(np.linalg.norm(K))
    control = KernelPCA(k, kernel="precomputed").fit_transform(K)
    assert group_gap(control, GROUPS) > 0.2 * size(control)
    np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-10)
    assert model.constraint_rank_ == 2
    assert model.certificate_.is_optimal()
    if center:
        assert np.abs(T.sum(axis=0)).max() <= 1e-9 * size(T)


@pytest.mark.parametrize("n_landmarks", [20, 90])
@both_centrings
def test_landmarks_give_equal_means_too(n_landmarks, center):
    model = fitted(3, n_landmarks=n_landmarks, center=center)
    T = model.transform(X)
    assert group_gap(T, GROUPS) <= 1e-11 * size(T)
    assert model.dual_coef_.shape == (n_landmarks, 3)
    K = model._kernel.block(model.X_fit_, model.X_fit_)
    np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_, np.square(T).sum(axis=0), rtol=1e-8)
    whole = fitted(3, center=center)
    assert model.certificate_.primal <= whole.certificate_.dual * (1 + 1e-12), "fewer directions cannot hold more"
    assert model.certificate_.primal > 0.5 * whole.certificate_.primal


def test_more_landmarks_come_closer_and_all_are_exact():
    whole = gram(fitted(3).transform(X))
    off = [np.linalg.norm(gram(fitted(3, n_landmarks=m).transform(X)) - whole) for m in (10, 40, 160, 380)]
    assert off[0] > 3 * off[1] > 9 * off[2]
    assert off[3] < 1e-8 * np.linalg.norm(whole)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"center": False},
        {"tradeoff": 0.4},
        {"criterion": "equal_opportunity"},
        {"numeric_attributes": [1]},
        {"kernel": "polynomial"},
    ],
    ids=str,
)
def test_all_rows_as_landmarks_are_the_full_answer(options):
    groups = pd.DataFrame({"colour": GROUPS, "age": X[:, 1] ** 2}) if "numeric_attributes" in options else GROUPS
    rows = int(Y.sum(axis=0)) if "criterion" in options else 380
    one = fitted(2, groups=groups, y=Y, **options)
    other = fitted(2, groups=groups, y=Y, n_landmarks=rows, **options)
    assert one.constraint_rank_ == other.constraint_rank_
    assert one.gamma_ == other.gamma_
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(other.transform(X), one.transform(X), atol=1e-7 * size(one.transform(X)))


def test_the_guarantee_is_for_the_fitting_sample_only():
    test = draw(seed=1, counts=(190, 110, 70))
    assert group_gap(fitted().transform(test.X), test.groups) > 1e-4


# -- F6: the linear kernel is fair PCA ----------------------------------------------------------------------------


CROSSED, CELLS = two_attributes()
AGED = pd.DataFrame({"colour": GROUPS, "age": X[:, 1] ** 2 + 40})
LINEAR = {
    "three groups": {},
    "tradeoff": {"tradeoff": 0.5, "tradeoff_power": 3},
    "covariance": {"match": "covariance", "covariance_fraction": 0.6},
    "equal opportunity": {"criterion": "equal_opportunity"},
    "quantity": {"groups": AGED, "numeric_attributes": ["age"]},
    "two attributes": {"data": CROSSED, "groups": CELLS},
    "two attributes, covariance": {"data": CROSSED, "groups": CELLS, "match": "covariance"},
    "intersection": {"data": CROSSED, "groups": CELLS, "attributes": "intersection"},
}


@pytest.mark.parametrize("case", LINEAR)
@both_centrings
def test_the_linear_kernel_gives_linear_fair_pca(case, center):
    options = dict(LINEAR[case])
    data, groups = options.pop("data", X), options.pop("groups", GROUPS)
    y = np.arange(len(data)) % 2
    linear = FairPCA(2, center=center, **options).fit(data, y, sensitive_features=groups)
    model = fitted(2, data, groups, y, kernel="linear", center=center, **options)
    expected, found = linear.transform(data), model.transform(data)
    assert expected.shape == found.shape
    np.testing.assert_allclose(gram(found), gram(expected), atol=1e-8 * np.linalg.norm(gram(expected)))
    new = data[:40] + np.linspace(0, 1, data.shape[1])
    np.testing.assert_allclose(
        gram(model.transform(new)), gram(linear.transform(new)), atol=1e-8 * np.linalg.norm(gram(linear.transform(new)))
    )
    assert model.constraint_rank_ == linear.constraint_rank_
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    assert model.rank_ == data.shape[1] - linear.constraint_rank_
    assert model.group_labels_.tolist() == linear.group_labels_.tolist()
    assert model.group_counts_.tolist() == linear.group_counts_.tolist()


# -- the problem as printed ---------------------------------------------------------------------------------------


def as_printed(K, Z, k, ridge=0.0) -> np.ndarray:
    """Coefficients of max tr A'KKA with A'KA = I, Z'KA = 0: the generalised eigenproblem in the null space of Z'K."""
    R = null_space(Z.T @ K)
    left, right = R.T @ K @ K @ R, R.T @ K @ R + ridge * np.eye(R.shape[1])
    _, B = eigh((left + left.T) / 2, (right + right.T) / 2)
    return R @ B[:, ::-1][:, :k]


@both_centrings
@pytest.mark.parametrize("s", [S, PAIR], ids=["three groups", "two groups"])
def test_the_generalised_eigenproblem_has_the_same_solution(s, center):
    # A narrow kernel is well conditioned, as the problem as printed needs.
    model = fitted(3, s.X, s.groups, gamma=3.0, center=center)
    K = kernel_matrix(model, s.X)
    assert np.linalg.cond(K) < 1e6
    n = len(K)
    J = np.eye(n) - 1.0 / n if center else np.eye(n)
    # Centred, the kernel matrix is singular: its own range is where the problem lives.
    U = np.linalg.svd(J)[0][:, : n - 1] if center else np.eye(n)
    Kc = J @ K @ J
    Z = centred_indicators(s.groups)[:, 1:]
    reached = as_printed_within(Kc, Z, 3, U)
    T = model.transform(s.X)
    np.testing.assert_allclose(gram(T), gram(Kc @ reached), atol=1e-8 * np.linalg.norm(gram(T)))


def as_printed_within(K, Z, k, U) -> np.ndarray:
    """The same with coefficients U b for an orthonormal U."""
    R = null_space(Z.T @ K @ U)
    left, right = R.T @ U.T @ K @ K @ U @ R, R.T @ U.T @ K @ U @ R
    _, B = eigh((left + left.T) / 2, (right + right.T) / 2)
    return U @ R @ B[:, ::-1][:, :k]


def test_the_ridge_of_the_public_program_changes_next_to_nothing():
    rows = np.repeat(np.round(PAIR.X, 1), 2, axis=0)  # a singular kernel matrix, where the program adds 1e-5
    groups = np.repeat(PAIR.groups, 2)
    model = fitted(3, rows, groups, center=False)
    K = kernel_matrix(model, rows)
    assert np.linalg.matrix_rank(K) <= 220
    A = as_printed(K, centred_indicators(groups)[:, 1:], 3, ridge=1e-5)
    T = model.transform(rows)
    off = np.linalg.norm(gram(T) - gram(K @ A)) / np.linalg.norm(gram(T))
    assert 1e-12 < off < 1e-5


@both_centrings
def test_no_random_feasible_directions_keep_more(center):
    model = fitted(2, PAIR.X, PAIR.groups, center=center)
    n = len(PAIR.X)
    J = np.eye(n) - 1.0 / n if center else np.eye(n)
    K = J @ kernel_matrix(model, PAIR.X) @ J
    values, Q = np.linalg.eigh(K)
    kept = values > 1e-9 * values[-1]
    Psi = Q[:, kept] * np.sqrt(values[kept])  # empirical features: Psi @ Psi.T is K
    R = null_space(centred_indicators(PAIR.groups)[:, :1].T @ Psi)
    rng = np.random.default_rng(0)
    best = np.linalg.lstsq(Psi @ R, model.transform(PAIR.X), rcond=None)[0]
    np.testing.assert_allclose(best.T @ best, np.eye(2), atol=1e-8)
    reached = model.certificate_.primal
    for i in range(60):
        A, _ = np.linalg.qr((best if i % 2 else 0 * best) + 10.0 ** -(i % 8) * rng.normal(size=best.shape))
        assert np.linalg.norm(Psi @ R @ A) ** 2 <= reached * (1 + 1e-10)
    assert np.linalg.norm(Psi @ R @ best) ** 2 == pytest.approx(reached, rel=1e-8)


def test_the_deflated_direction_is_the_witness_of_the_mmd():
    model = fitted(2, PAIR.X, PAIR.groups)
    K = kernel_matrix(model, PAIR.X)
    z = (PAIR.groups == "man") * 1.0
    n1, n0 = z.sum(axis=0), (1 - z).sum(axis=0)
    witness = K @ z / n1 - K @ (1 - z) / n0
    mmd2 = (z / n1 - (1 - z) / n0) @ witness
    zc = z - z.mean(axis=0)
    np.testing.assert_allclose(K @ zc, n0 * n1 / len(z) * witness, rtol=1e-10, atol=1e-10)
    assert zc @ K @ zc == pytest.approx((n0 * n1 / len(z)) ** 2 * mmd2, rel=1e-10)
    B, W = witnesses(K, unit_columns(z[:, None], np.ones(220)))
    np.testing.assert_array_equal(W, K @ B)
    np.testing.assert_allclose(B.T @ K @ B, [[1.0]], rtol=1e-10)
    deflated = K - K @ B @ B.T @ K
    assert np.abs(deflated @ zc).max() < 1e-12 * np.linalg.norm(K)
    assert np.linalg.eigvalsh(deflated)[0] > -1e-12 * np.linalg.norm(K)
    np.testing.assert_allclose(
        fitted(2, PAIR.X, PAIR.groups, center=False).eigenvalues_, np.linalg.eigvalsh(deflated)[:-3:-1], rtol=1e-10
    )


@both_centrings
def test_eigenvalues_interlace(center):
    fair = fitted(8, center=center, tradeoff=1.0)
    standard = fair.standard_directions_.eigenvalues
    assert (fair.eigenvalues_ <= standard * (1 + 1e-12)).all()
    assert (fair.eigenvalues_[:6] >= standard[2:] * (1 - 1e-12)).all()
    assert fair.standard_directions_.certificate.is_optimal()


# -- equal opportunity, trade-off, several attributes -------------------------------------------------------------


def test_equal_opportunity_is_fitted_on_the_favourable_rows():
    favourable = Y == 1
    model = fitted(2, y=Y, criterion="equal_opportunity")
    T = model.transform(X)
    assert group_gap(T[favourable], GROUPS[favourable]) < 1e-12 * size(T)
    assert group_gap(T, GROUPS) > 1e-3 * size(T)
    alone = fitted(2, X[favourable], GROUPS[favourable])
    assert model.gamma_ == alone.gamma_ != fitted(2).gamma_
    np.testing.assert_allclose(alone.transform(X), T, atol=1e-10)
    assert model.X_fit_.shape == (127, 6)


def test_tradeoff_appends_standard_kernel_pca():
    K = kernel_matrix(fitted())
    for weight in (0.0, 0.5, 1.0):
        model = fitted(2, tradeoff=weight, tradeoff_power=3)
        T = model.transform(X)
        np.testing.assert_array_equal(T[:, :2], fitted(2).transform(X))
        control = KernelPCA(2, kernel="precomputed").fit_transform(K)
        np.testing.assert_allclose(gram(T[:, 2:]), weight**6 * gram(control), atol=1e-10)
        assert model.get_feature_names_out().tolist() == [f"fairkernelpca{i}" for i in range(4)]
        assert model.tradeoff_weight_ == weight**3


def test_attributes_by_themselves_or_combined():
    cells = np.array([a + b for a, b in CELLS])
    marginal = fitted(2, CROSSED, CELLS).transform(CROSSED)
    joint = fitted(2, CROSSED, CELLS, attributes="intersection").transform(CROSSED)
    for j in (0, 1):
        assert group_gap(marginal, CELLS[:, j]) < 1e-12
    assert group_gap(marginal, cells) > 1e-3
    assert group_gap(joint, cells) < 1e-12


@pytest.mark.parametrize("entries", [2**20, 1], ids=["one block", "blocks of 16 rows"])
def test_quantities_become_uncorrelated(monkeypatch, entries):
    monkeypatch.setattr(kernels, "BLOCK_ENTRIES", entries)
    for options in ({}, {"n_landmarks": 100}):
        T = fitted(2, groups=AGED, numeric_attributes=["age"], **options).transform(X)
        age = AGED["age"].to_numpy()
        assert np.abs((age - age.mean(axis=0)) @ T).max() < 1e-9 * np.linalg.norm(age)
        assert group_gap(T, GROUPS) < 1e-11
        only = fitted(2, groups=AGED[["age"]], numeric_attributes=["age"], **options)
        assert only.constraint_rank_ == 1


def test_covariances_come_closer():
    def gap(T):
        first, second = (np.cov(T[PAIR.groups == label].T) for label in ("woman", "man"))
        return np.linalg.norm(first - second)

    plain = fitted(2, PAIR.X, PAIR.groups).transform(PAIR.X)
    matched = fitted(2, PAIR.X, PAIR.groups, match="covariance", covariance_fraction=0.9)
    assert gap(matched.transform(PAIR.X)) < 0.2 * gap(plain)
    assert group_gap(matched.transform(PAIR.X), PAIR.groups) < 1e-10
    everything = fitted(2, PAIR.X, PAIR.groups, match="covariance", covariance_fraction=1.0)
    np.testing.assert_allclose(gram(everything.transform(PAIR.X)), gram(plain), atol=1e-8)
    assert matched.certificate_.primal < everything.certificate_.primal


# -- invariances --------------------------------------------------------------------------------------------------


@both_centrings
@pytest.mark.parametrize("tradeoff", [None, 0.5])
def test_labels_order_and_repetition_do_not_matter(center, tradeoff):
    options = {"center": center, "tradeoff": tradeoff}
    T = fitted(3, **options).transform(X)
    renamed = pd.Series(GROUPS).map({"azure": 12, "beige": -3, "crimson": 0}).to_numpy()
    order = np.random.default_rng(0).permutation(380)
    weights = np.random.default_rng(1).integers(0, 4, size=380)
    for model in (
        fitted(3, groups=renamed, **options),
        fitted(3, X[order], GROUPS[order], **options),
        fitted(3, np.r_[X, X], np.r_[GROUPS, GROUPS], **options),
        fitted(3, sample_weight=np.full(380, 2.5), **options),
    ):
        np.testing.assert_allclose(model.transform(X), T, atol=1e-10)
    weighted = fitted(3, sample_weight=weights, **options)
    repeated = fitted(3, np.repeat(X, weights, axis=0), np.repeat(GROUPS, weights), **options)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-10)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-10)
    assert weighted.rank_ <= (weights > 0).sum(axis=0)
    assert weighted.group_counts_.tolist() == repeated.group_counts_.tolist()


@pytest.mark.parametrize("change", ["unit", "shift", "rotation"])
def test_rbf_with_scale_knows_distances_only(change):
    if change == "unit":
        moved = 1e12 * X
    elif change == "shift":
        moved = X + 1e3
    else:
        moved = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    # The pooled variance counts differences between the columns' means; a rotation changes those.
    gamma = fitted().gamma_ if change == "rotation" else "scale"
    np.testing.assert_allclose(fitted(2, moved, gamma=gamma).transform(moved), fitted().transform(X), atol=1e-8)


def test_equal_means_remove_nothing():
    mirrored = np.r_[X, -X]
    groups = np.r_[GROUPS, GROUPS]
    model = fitted(3, mirrored, groups, kernel="linear")
    assert model.constraint_rank_ == 0
    control = KernelPCA(3, kernel="linear").fit_transform(mirrored)
    np.testing.assert_allclose(gram(model.transform(mirrored)), gram(control), atol=1e-8)
    for options in ({}, {"n_landmarks": 380}):  # for the RBF kernel they are apart all the same
        assert fitted(3, mirrored, groups, **options).constraint_rank_ == 2


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 3e-7, 1e-8, 1e-9])
@both_centrings
def test_means_that_are_almost_equal(apart, center):
    moved = np.r_[X, -X] + apart * np.outer(np.r_[GROUPS, GROUPS] == "azure", [1.0, 0, 2, 0, 0, 0])
    groups = np.r_[GROUPS, GROUPS]
    model = fitted(3, moved, groups, kernel="linear", center=center)
    linear = FairPCA(3, center=center).fit(moved, sensitive_features=groups)
    assert model.constraint_rank_ == linear.constraint_rank_ == 1
    assert model.certificate_.is_optimal()
    T = model.transform(moved)
    assert group_gap(T, groups) < 1e-11 * size(T)
    # The data themselves say where such a small difference points to no more digits than this.
    expected = gram(linear.transform(moved))
    np.testing.assert_allclose(gram(T), expected, atol=(1e-12 + 1e-16 / apart) * np.linalg.norm(expected))


def test_one_group_is_kernel_pca_when_that_is_wanted():
    with pytest.warns(UserWarning, match="one group only"):
        model = fitted(2, groups=["all"] * 380, on_single_group="warn")
    control = KernelPCA(2, kernel="rbf", gamma=model.gamma_).fit(X)
    np.testing.assert_allclose(gram(model.transform(X)), gram(control.transform(X)), atol=1e-8)
    assert model.constraint_rank_ == 0


def test_repeated_rows_and_constant_features():
    rows = np.repeat(np.round(X[:60], 1), 3, axis=0)
    groups = np.resize(["a", "b", "b"], 180)  # equal rows in different groups
    rows[:, 2] = 7.0
    rows[groups == "a", 0] += 1.0
    for options in ({}, {"n_landmarks": 120}, {"center": False}):
        model = fitted(3, rows, groups, **options)
        T = model.transform(rows)
        assert model.rank_ < 180
        assert group_gap(T, groups) < 1e-11
        assert model.certificate_.is_optimal()


# -- solvers ------------------------------------------------------------------------------------------------------


def spectrum(values) -> np.ndarray:
    V, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(len(values), len(values))))
    H = (V * values) @ V.T
    return (H + H.T) / 2


@pytest.mark.parametrize("repeats", [1, 8])
def test_leading_pairs_of_large_matrices(repeats):
    values = np.r_[np.full(repeats, 5.0), np.linspace(3, 0, 600 - repeats)]
    H = spectrum(values)
    everything, theta, vectors = leading_pairs(H, 6)
    np.testing.assert_allclose(everything, values, atol=1e-12)
    np.testing.assert_allclose(theta, values[:6], rtol=1e-12)
    np.testing.assert_allclose(H @ vectors, vectors * theta, atol=1e-11)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)


@pytest.mark.parametrize("failure", ["misses one", "stops"])
def test_an_iteration_that_fails_is_noticed(failure, monkeypatch):
    values = np.r_[np.full(2, 5.0), np.linspace(3, 0, 598)]
    H = spectrum(values)

    def one_time_only(H, k, **_):
        if failure == "stops":
            raise ArpackNoConvergence("no", np.zeros(0), np.zeros((600, 0)))
        theta, V = np.linalg.eigh(H)
        return np.delete(theta, -2)[-k:], np.delete(V, -2, axis=1)[:, -k:]

    monkeypatch.setattr(kernel_space, "eigsh", one_time_only)
    _, theta, vectors = leading_pairs(H, 6)
    np.testing.assert_allclose(theta, values[:6], rtol=1e-12)
    np.testing.assert_allclose(vectors.T @ H @ vectors, np.diag(values[:6]), atol=1e-11)


def test_both_solvers_agree():
    s = draw(counts=(400, 200, 100))
    by_lanczos = fitted(5, s.X, s.groups)
    dense = fitted(50, s.X, s.groups)
    np.testing.assert_allclose(by_lanczos.transform(s.X), dense.transform(s.X)[:, :5], atol=1e-9)
    np.testing.assert_array_equal(by_lanczos.transform(s.X), fitted(5, s.X, s.groups).transform(s.X))


def test_the_certificate_notices_directions_that_are_not_fair(monkeypatch):
    assert fitted().certificate_.feasibility < 1e-12
    monkeypatch.setattr(kernel_space, "witnesses", lambda K, Z: (np.zeros((len(K), 0)),) * 2)
    certificate = fitted().certificate_
    assert certificate.feasibility > 1e-2
    assert not certificate.is_optimal()


def test_the_certificate_notices_directions_that_are_not_the_best(monkeypatch):
    def second_best(H, k):
        values, theta, vectors = leading_pairs(H, k + 1)
        return values, theta[1:], vectors[:, 1:]

    monkeypatch.setattr(kernel_space, "leading_pairs", second_best)
    certificate = fitted().certificate_
    assert certificate.gap > 1e-2 * certificate.primal
    assert certificate.feasibility < 1e-9


# -- indefinite and precomputed kernels ---------------------------------------------------------------------------


def test_a_precomputed_kernel_is_the_same():
    direct = fitted(3, tradeoff=0.5)
    K = kernel_matrix(direct)
    new = X[:50] + 0.1
    for options in ({}, {"n_landmarks": 380}, {"criterion": "equal_opportunity"}):
        direct = fitted(3, y=Y, tradeoff=0.5, gamma=0.1, **options)
        K = rbf_kernel(X, gamma=0.1)
        model = fitted(3, K, y=Y, kernel="precomputed", tradeoff=0.5, **options)
        np.testing.assert_allclose(model.transform(rbf_kernel(new, X, gamma=0.1)), direct.transform(new), atol=1e-8)
    assert model.gamma_ is None
    assert model.X_fit_.tolist() == np.flatnonzero(Y).tolist()
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not direct.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_an_indefinite_kernel_is_told_and_never_chosen(n_landmarks):
    scaled = StandardScaler().fit_transform(X)
    with pytest.warns(IndefiniteKernelWarning, match=r"eigenvalue -.*means of the output still coincide"):
        model = fitted(3, scaled, kernel="sigmoid", gamma=0.5, coef0=0.0, n_landmarks=n_landmarks, center=False)
    T = model.transform(scaled)
    assert group_gap(T, GROUPS) < 1e-10 * size(T)
    assert (model.eigenvalues_ > 0).all()
    if n_landmarks is None:
        K = kernel_matrix(model, scaled)
        assert np.linalg.eigvalsh(K)[0] < -1e-3 * np.linalg.norm(K)
        np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(3), atol=1e-9)


def test_a_kernel_in_which_means_have_a_negative_distance():
    with pytest.raises(DataError, match=r"squared distance between group means is negative.*'rbf'"):
        fitted(2, -rbf_kernel(X), kernel="precomputed")
    with pytest.raises(DataError, match="no positive eigenvalue"), pytest.warns(IndefiniteKernelWarning):
        fitted(2, -rbf_kernel(X), kernel="precomputed", n_landmarks=30)


# -- refusals -----------------------------------------------------------------------------------------------------


def spoilt(value):
    bad = X.copy()
    bad[7, 2] = value
    return bad


REFUSALS = {
    "k too large": ({"k": 5, "kernel": "linear"}, ComponentsError, ["n_components=5", "at most 4", "380 rows", "rank 4",
                                                                     "2 constraint(s)", "fewer"]),
    "k too large for landmarks": ({"k": 9, "n_landmarks": 8}, ComponentsError, ["at most 6", "8 landmarks", "rank 6"]),
    "k = n": ({"k": 380, "gamma": 5.0}, ComponentsError, ["n_components=380", "at most 377"]),
    "k = 0": ({"k": 0}, ComponentsError, ["n_components=0", "whole number from 1"]),
    "k fractional": ({"k": 2.0}, ComponentsError, ["n_components=2.0", "whole number"]),
    "k boolean": ({"k": True}, ComponentsError, ["n_components=True"]),
    "nothing left": ({"k": 1, "data": X[:, :1], "kernel": "linear"}, ComponentsError, ["at most 0"]),
    "zero kernel": ({"data": np.zeros((380, 2)), "kernel": "linear"}, ComponentsError, ["at most 0"]),
    "one group": ({"groups": ["all"] * 380}, GroupError, ["one group only ('all'", "on_single_group='warn'"]),
    "no groups": ({"groups": None}, GroupError, ["None", "one group label"]),
    "missing label": ({"groups": pd.Series(GROUPS).where(np.arange(380) > 2)}, GroupError, ["3 missing"]),
    "lengths": ({"groups": GROUPS[:100]}, GroupError, ["100 rows", "X has 380"]),
    "a group of one": ({"groups": np.r_[["one"], GROUPS[1:]], "match": "covariance"}, GroupError, ["'one' has 1 row"]),
    "group without favourable row": ({"y": np.where(GROUPS == "beige", 0, Y), "criterion": "equal_opportunity"},
                                     GroupError, ["'beige' has no row with y == 1"]),
    "no target": ({"criterion": "equal_opportunity"}, DataError, ["needs the target"]),
    "group without weight": ({"sample_weight": (GROUPS != "beige") * 1.0}, GroupError, ["'beige' has total weight"]),
    "negative weight": ({"sample_weight": np.full(380, -1.0)}, DataError, ["sample_weight", "negative"]),
    "nan": ({"data": spoilt(np.nan)}, DataError, ["NaN or inf", "2 (1)"]),
    "inf": ({"data": spoilt(np.inf)}, DataError, ["NaN or inf", "2 (1)"]),
    "too large": ({"data": spoilt(1e200)}, DataError, ["2", "overflow", "Rescale"]),
    "text": ({"data": pd.DataFrame(X).assign(town="x").rename(columns=str)}, FeatureTypeError, ["'town'"]),
    "constant data": ({"data": np.full((380, 2), 3.0)}, ConfigurationError, ["equal 3", "gamma='auto'"]),
    "kernel": ({"kernel": "gaussian"}, ConfigurationError, ["kernel='gaussian'", "rbf"]),
    "gamma": ({"gamma": -1}, ConfigurationError, ["gamma=-1", "'scale'"]),
    "not square": ({"kernel": "precomputed"}, DataError, ["(380, 6)", "square kernel matrix"]),
    "not symmetric": ({"kernel": "precomputed", "data": np.triu(rbf_kernel(X))}, DataError, ["not symmetric"]),
    "no landmarks": ({"n_landmarks": 0}, ConfigurationError, ["n_landmarks=0", "at least 1"]),
    "many landmarks": ({"n_landmarks": 381}, ConfigurationError, ["n_landmarks=381", "380"]),
    "seed": ({"n_landmarks": 5, "random_state": "a"}, ConfigurationError, ["random_state='a'", "numpy Generator"]),
    "landmarks fractional": ({"n_landmarks": 5.0}, ConfigurationError, ["n_landmarks=5.0"]),
    "match": ({"match": "variance"}, ConfigurationError, ["match='variance'", "covariance"]),
    "criterion": ({"criterion": "parity"}, ConfigurationError, ["criterion='parity'"]),
    "fraction": ({"covariance_fraction": 0}, ConfigurationError, ["covariance_fraction=0"]),
    "tradeoff": ({"tradeoff": 1.5}, ConfigurationError, ["tradeoff=1.5"]),
    "attributes": ({"attributes": "all"}, ConfigurationError, ["attributes='all'"]),
    "quantity": ({"numeric_attributes": ["height"]}, ConfigurationError, ["height"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_refused_is_said(case):
    options, error, words = REFUSALS[case]
    with pytest.raises(error) as told:
        fitted(**options)
    for word in words:
        assert word in str(told.value), str(told.value)


def test_new_points_are_checked():
    model = fitted()
    with pytest.raises(ValueError, match="NaN"):
        model.transform(spoilt(np.nan))
    with pytest.raises(ValueError, match="6 features"):
        model.transform(X[:, :5])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        FairKernelPCA().transform(X)


# -- the scikit-learn side ----------------------------------------------------------------------------------------


class Kernelised(SuppliesGroups, FairKernelPCA):
    """Fair kernel PCA with groups supplied."""


CHECKED = [
    Kernelised(1, gamma="auto"),
    Kernelised(1, kernel="linear", center=False),
    Kernelised(1, gamma="auto", tradeoff=0.5),
    Kernelised(1, gamma="auto", match="covariance"),
]


@parametrize_with_checks(CHECKED)
def test_checks_of_scikit_learn(estimator, check):
    repeats_rows = check.func.__name__ == "check_sample_weight_equivalence_on_dense_data"
    if repeats_rows and estimator.match == "covariance":
        pytest.skip("fewer distinct rows than features, as for fair PCA: the covariances agree where there are no data")
    if repeats_rows:
        estimator = type("OfRows", (GroupsOfRows, type(estimator)), {})(**estimator.get_params())
    check(estimator)


def test_frames_strings_and_names():
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model = FairKernelPCA(2).set_output(transform="pandas").fit(frame, sensitive_features=pd.Series(GROUPS))
    out = model.transform(frame[:5])
    assert out.columns.tolist() == ["fairkernelpca0", "fairkernelpca1"]
    assert model.feature_names_in_.tolist() == list("uvwxyz")
    assert model.n_features_in_ == 6
    np.testing.assert_allclose(out.to_numpy(), fitted().transform(X[:5]), atol=1e-12)
    assert FairKernelPCA(2).fit_transform(frame, sensitive_features=GROUPS).shape == (380, 2)
    assert fitted(2, np.round(X).astype(int)).transform(X > 0).dtype == np.float64


def test_clones_pickles_and_second_fits():
    model = FairKernelPCA(2, kernel="polynomial", tradeoff=0.2, n_landmarks=50, random_state=3)
    before = model.get_params()
    model.fit(X, sensitive_features=GROUPS)
    assert model.get_params() == before
    again = clone(model).fit(X, sensitive_features=GROUPS)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    other = clone(model).set_params(random_state=4).fit(X, sensitive_features=GROUPS)
    assert not np.array_equal(other.X_fit_, model.X_fit_)
    second = again.set_params(tradeoff=None, n_landmarks=None).fit(PAIR.X, sensitive_features=PAIR.groups)
    fresh = fitted(2, PAIR.X, PAIR.groups, kernel="polynomial")
    assert set(vars(second)) == set(vars(fresh))
    np.testing.assert_array_equal(second.transform(PAIR.X), fresh.transform(PAIR.X))


def test_pipelines_and_searches():
    target = (X[:, 3] > 0).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), FairKernelPCA(2), LogisticRegression())
        search = GridSearchCV(pipe, {"fairkernelpca__gamma": ["scale", 0.5]}, cv=3)
        search.fit(X, target, sensitive_features=GROUPS)
        T = search.best_estimator_[:-1].transform(X)
    assert group_gap(T, GROUPS) < 1e-11
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(FairKernelPCA(2, kernel="precomputed"), LogisticRegression())
        search = GridSearchCV(pipe, {"fairkernelpca__n_components": [1, 2]}, cv=3)
        search.fit(rbf_kernel(X, gamma=0.1), target, sensitive_features=GROUPS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
