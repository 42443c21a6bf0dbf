"""Fair PCA: the theorem clause by clause, with PCA as the control that must fail, and optimality by other routes."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.linalg import null_space
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from evenspan import FairPCA, GroupMoments, StandardPCA

from .samples import Sample, angle, draw, group_gap, size

SAMPLES = {
    "three groups": draw(),
    "two groups": draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0),
    "fewer rows than features": Sample(np.random.default_rng(0).normal(size=(9, 20)) + np.arange(9)[:, None] % 3,
                                       np.array(list("abcabcabb"))),
}  # fmt: skip
# Covariance matching needs more rows: directions without data agree perfectly between groups, and would be chosen.
SAMPLES_BY_MATCH = [
    (s, m) for name, s in SAMPLES.items() for m in ("mean", "covariance") if m == "mean" or "fewer" not in name
]
OPTIONS = [
    (s, o)
    for s, m in SAMPLES_BY_MATCH
    for o in ([{"match": m}] if m == "covariance" else [{}, {"center": False}, {"standardize": True}])
]
every_sample_and_option = pytest.mark.parametrize(
    ("s", "options"), OPTIONS, ids=lambda v: str(v) if isinstance(v, dict) else f"{len(v.X)} rows"
)
every_sample = pytest.mark.parametrize("s", SAMPLES.values(), ids=SAMPLES.keys())


def indicator(groups) -> np.ndarray:
    """Centred indicator columns of the groups, (n, G)."""
    groups = np.asarray(groups)
    Z = (groups[:, None] == np.unique(groups)[None]).astype(float)
    return Z - np.mean(Z, axis=0)


def algorithm_1(X, Z, k) -> np.ndarray:
    """Algorithm 1 as printed: null space of Z'X, then the leading eigenvectors of R'X'XR."""
    R = null_space(Z.T @ X)
    _, vectors = np.linalg.eigh(R.T @ X.T @ X @ R)
    return R @ vectors[:, ::-1][:, :k]


def fitted(s: Sample, k=2, **options) -> FairPCA:
    return FairPCA(k, **options).fit(s.X, sensitive_features=s.groups)


def loadings(model) -> np.ndarray:
    return model.components_.T


# -- F1: equal means --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("s", "match"), SAMPLES_BY_MATCH)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_group_means_coincide_where_those_of_pca_do_not(s, k, center, standardize, match):
    options = {"center": center, "standardize": standardize}
    model = fitted(s, k, match=match, **options)
    scaled = s.X / np.std(s.X, axis=0) if standardize else s.X
    assert group_gap(model.transform(s.X), s.groups) <= 1e-12 * size(scaled)
    control = StandardPCA(k, **options).fit(s.X)
    assert group_gap(control.transform(s.X), s.groups) > 0.2 * size(scaled)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
    assert model.constraint_rank_ == len(s.labels) - 1
    assert model.certificate_.is_optimal()


@every_sample
def test_no_linear_score_is_correlated_with_a_group(s):
    T = fitted(s, 3).transform(s.X)
    weights = np.random.default_rng(0).normal(size=(3, 200))
    Z = indicator(s.groups)
    scores = T @ weights + 7.0
    covariance = Z.T @ (scores - np.mean(scores, axis=0))
    assert np.abs(covariance).max() <= 1e-9 * len(s.X) * size(s.X)
    control = PCA(3).fit_transform(s.X) @ weights
    assert np.abs(Z.T @ control).max() > 1e-2 * len(s.X) * size(s.X)


def test_the_guarantee_is_for_the_fitting_sample_only():
    train, test = draw(seed=1), draw(seed=1, counts=(190, 110, 70))
    T = fitted(train).transform(test.X)
    assert group_gap(T, test.groups) > 1e-4 * size(test.X)


# -- F2: optimality ---------------------------------------------------------------------------------------------


def objective_matrix(X, center):
    Y = X - np.mean(X, axis=0) if center else X
    return Y.T @ Y


@every_sample
@pytest.mark.parametrize("center", [True, False])
def test_eigenvalues_interlace(s, center):
    r = len(s.labels) - 1
    k = min(s.X.shape[1] - r, 5)
    model = fitted(s, k, center=center)
    S = objective_matrix(s.X, center)
    values = np.linalg.eigvalsh(S)[::-1]
    fair = np.diag(model.components_ @ S @ model.components_.T)
    assert (np.diff(fair) <= 1e-9 * values[0]).all(), "components come by decreasing eigenvalue"
    assert (fair <= values[:k] * (1 + 1e-12)).all()
    assert (fair >= values[r : r + k] - 1e-12 * values[0]).all()
    assert model.certificate_.primal == pytest.approx(fair.sum(axis=0), rel=1e-12)


@every_sample
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("k", [1, 3])
def test_no_random_feasible_projection_keeps_more(s, center, k):
    model = fitted(s, k, center=center)
    S = objective_matrix(s.X, center)
    R = null_space(indicator(s.groups).T @ s.X)
    rng = np.random.default_rng(0)
    competitors = []
    for i in range(100):
        # Half of them close by: far away ones are easily beaten.
        start = R.T @ loadings(model) if i % 2 else np.zeros((R.shape[1], k))
        A, _ = np.linalg.qr(start + 10.0 ** -(i % 10) * rng.normal(size=start.shape))
        competitors.append(np.trace((R @ A).T @ S @ (R @ A)))
    reached = np.trace(model.components_ @ S @ model.components_.T)
    assert max(competitors) <= reached * (1 + 1e-12)
    assert np.median(competitors) < reached * (1 - 1e-12)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_brute_force_on_the_feasible_circle(center, seed):
    s = draw(counts=(60, 25), names=("a", "b"), d=3, seed=seed)
    S = objective_matrix(s.X, center)
    c = np.mean(s.rows("a"), axis=0) - np.mean(s.rows("b"), axis=0)
    first = np.cross(c, [1.0, 0, 0])
    first /= np.linalg.norm(first)
    second = np.cross(c, first) / np.linalg.norm(c)
    angles = np.linspace(0, np.pi, 20_001)
    circle = np.cos(angles) * first[:, None] + np.sin(angles) * second[:, None]
    values = np.einsum("in,ij,jn->n", circle, S, circle)
    model = fitted(s, 1, center=center)
    reached = float((model.components_ @ S @ model.components_.T)[0, 0])
    assert values.max() <= reached * (1 + 1e-12)
    assert values.max() >= reached * (1 - 1e-6)
    assert angle(loadings(model), circle[:, [np.argmax(values)]]) < 2 * np.pi / 20_000
    sphere = np.random.default_rng(0).normal(size=(3, 1000))
    sphere /= np.linalg.norm(sphere, axis=0)
    unconstrained = np.einsum("in,ij,jn->n", sphere, S, sphere).max()
    assert unconstrained > reached, "the constraint must cost something here"


@pytest.mark.parametrize("center", [True, False])
def test_brute_force_with_three_groups_leaves_one_direction(center):
    s = draw(counts=(60, 25, 20), d=3)
    means = [np.mean(s.rows(label), axis=0) for label in s.labels]
    only = np.cross(means[0] - means[1], means[0] - means[2])[:, None]
    assert angle(loadings(fitted(s, 1, center=center)), only / np.linalg.norm(only)) < 1e-7


@pytest.mark.parametrize("center", [True, False])
def test_a_general_optimiser_finds_nothing_better(center):
    s = draw(counts=(60, 25, 20), d=5)
    k = 2
    S = objective_matrix(s.X, center) / len(s.X)
    C = indicator(s.groups)[:, 1:].T @ s.X / len(s.X)  # a redundant constraint would stop SLSQP early
    constraints = [
        {"type": "eq", "fun": lambda u: (C @ u.reshape(5, k)).ravel()},
        {"type": "eq", "fun": lambda u: (u.reshape(5, k).T @ u.reshape(5, k) - np.eye(k))[np.triu_indices(k)]},
    ]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(5):
        start = np.linalg.qr(rng.normal(size=(5, k)))[0].ravel()
        run = optimize.minimize(
            lambda u: -np.trace(u.reshape(5, k).T @ S @ u.reshape(5, k)),
            start,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        found += [-run.fun] if run.success else []
    model = fitted(s, k, center=center)
    reached = np.trace(model.components_ @ S @ model.components_.T)
    assert max(found) == pytest.approx(reached, rel=1e-6)


def test_the_certificate_notices_a_basis_that_is_not_fair(monkeypatch):
    s = SAMPLES["three groups"]
    assert fitted(s).certificate_.feasibility < 1e-12
    monkeypatch.setattr("evenspan.representation.fair_pca.fair_basis", lambda constraints, size: np.eye(6))
    certificate = fitted(s).certificate_
    assert certificate.gap <= 1e-9 * certificate.primal
    assert certificate.feasibility > 1e-2
    assert not certificate.is_optimal()


# -- F3: equivalent routes ----------------------------------------------------------------------------------------


@every_sample
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("center", [True, False])
def test_algorithm_1_as_printed_gives_the_same_space(s, k, center):
    Y = s.X - np.mean(s.X, axis=0) if center else s.X
    for columns in (slice(None), slice(1, None)):  # all indicator columns, or all but one
        assert angle(loadings(fitted(s, k, center=center)), algorithm_1(Y, indicator(s.groups)[:, columns], k)) < 1e-7


def test_two_groups_by_the_binary_algorithm():
    s = SAMPLES["two groups"]
    z = (s.groups == "woman") * 1.0
    assert (
        angle(loadings(fitted(s, 3)), algorithm_1(s.X - np.mean(s.X, axis=0), (z - z.mean(axis=0))[:, None], 3)) < 1e-7
    )


@every_sample
@pytest.mark.parametrize("center", [True, False])
def test_leading_space_of_the_projected_matrix(s, center):
    C = s.X.T @ indicator(s.groups)
    Pi = np.eye(s.X.shape[1]) - C @ np.linalg.pinv(C, rcond=1e-10)
    _, vectors = np.linalg.eigh(Pi @ objective_matrix(s.X, center) @ Pi)
    assert angle(loadings(fitted(s, 3, center=center)), vectors[:, ::-1][:, :3]) < 1e-7


@every_sample
def test_the_largest_k_leaves_the_whole_fair_space(s):
    R = null_space(indicator(s.groups).T @ s.X)
    k = R.shape[1]
    if k <= len(s.X) - 3:
        model = fitted(s, k)
    else:
        with pytest.warns(UserWarning, match="carry no variance"):
            model = fitted(s, k)
    np.testing.assert_allclose(model.components_.T @ model.components_, R @ R.T, atol=1e-9)
    assert model.certificate_.is_optimal()


@every_sample_and_option
def test_fitting_moments_is_fitting_data(s, options):
    direct = fitted(s, 2, **options)
    moments = FairPCA(2, **options).fit_moments(GroupMoments.from_data(s.X, s.groups))
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(direct, name), getattr(moments, name), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(direct.transform(s.X), moments.transform(s.X), rtol=1e-12, atol=1e-12)


# -- F4: the probe ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [SAMPLES["three groups"], SAMPLES["two groups"]], ids=["three", "two"])
def test_linear_probes_find_nothing_in_the_fair_embedding(s):
    share = np.unique(s.groups, return_counts=True)[1].max() / len(s.X)
    results = {}
    for name, T in {
        "fair": fitted(s, 2).transform(s.X),
        "pca": StandardPCA(2).fit_transform(s.X),
    }.items():
        T = StandardScaler().fit_transform(T)
        probe = LogisticRegression(C=1e6, tol=1e-10, max_iter=5000).fit(T, s.groups)
        Z = indicator(s.groups)
        slopes, *_ = np.linalg.lstsq(np.c_[T, np.ones(len(T))], Z, rcond=None)
        results[name] = (
            float(np.abs(probe.coef_).max()),
            float(probe.score(T, s.groups)),
            float(np.abs(slopes[:2]).max()),
            float(r2_score(Z, np.c_[T, np.ones(len(T))] @ slopes)),
        )
    slope, accuracy, least_squares, explained = results["fair"]
    assert slope < 1e-4
    assert accuracy == pytest.approx(share)
    assert least_squares < 1e-12
    assert abs(explained) < 1e-12
    slope, accuracy, least_squares, explained = results["pca"]
    assert slope > 0.5
    assert accuracy > share + 0.05
    assert least_squares > 0.05
    assert explained > 0.05


# -- F8: equal means ----------------------------------------------------------------------------------------------


def mirrored(s: Sample, offset) -> Sample:
    """Every row with its mirror image: all group means are equal, up to the rounding that the offset causes."""
    centred = s.X - np.mean(s.X, axis=0)
    return Sample(np.vstack([centred, -centred]) + offset, np.tile(s.groups, 2))


@every_sample
@pytest.mark.parametrize(
    ("options", "offset"),
    # About zero, an offset of 1e6 would leave only four digits to the second eigenvector.
    [({}, 0.0), ({}, 3.7), ({}, 1e6), ({"standardize": True}, 1e6), ({"center": False}, 0.0), ({"center": False}, 3.7)],
    ids=str,
)
def test_equal_means_give_pca(s, offset, options):
    m = mirrored(s, offset)
    model = fitted(m, 2, **options)
    assert model.constraint_rank_ == 0
    control = StandardPCA(2, **options).fit(m.X)
    assert angle(loadings(model), loadings(control)) < 1e-7
    np.testing.assert_allclose(model.explained_variance_, control.explained_variance_, rtol=1e-9)


def test_a_small_but_real_gap_is_not_rounding():
    m = mirrored(SAMPLES["two groups"], 0.0)
    tilted = Sample(m.X + 1e-7 * np.outer(m.groups == "man", [1, 2, 0, -1, 1]), m.groups)
    model = fitted(tilted, 2)
    assert model.constraint_rank_ == 1
    direction = np.array([1, 2, 0, -1, 1]) / np.sqrt(7)
    assert np.abs(model.components_ @ direction).max() < 1e-6
    assert np.abs(StandardPCA(2).fit(tilted.X).components_ @ direction).max() > 0.1


def test_one_group_with_other_mean_among_equal_ones():
    m = mirrored(SAMPLES["three groups"], 0.0)
    moved = Sample(m.X + np.outer(m.groups == "azure", np.arange(6.0)), m.groups)
    model = fitted(moved, 2)
    assert model.constraint_rank_ == 1, "two of the three means coincide"
    assert group_gap(model.transform(moved.X), moved.groups) < 1e-12 * size(moved.X)


# -- scales and special features ----------------------------------------------------------------------------------


@every_sample_and_option
@pytest.mark.parametrize("factor", [1e-30, 1e-8, 1e8, 1e30])
def test_the_unit_of_measurement_does_not_matter(s, factor, options):
    model, scaled = fitted(s, 2, **options), fitted(Sample(factor * s.X, s.groups), 2, **options)
    assert angle(loadings(model), loadings(scaled)) < 1e-7
    assert scaled.constraint_rank_ == model.constraint_rank_
    assert scaled.certificate_.is_optimal()
    np.testing.assert_allclose(scaled.explained_variance_ratio_, model.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_where_zero_lies_matters_only_without_centring(shift):
    s = SAMPLES["three groups"]
    moved = Sample(s.X + shift * np.array([1, 0, -1, 2, 0, 1]), s.groups)
    assert angle(loadings(fitted(s)), loadings(fitted(moved))) < 1e-7
    np.testing.assert_allclose(fitted(moved).transform(moved.X), fitted(s).transform(s.X), atol=1e-8 * shift)
    assert angle(loadings(fitted(s, center=False)), loadings(fitted(moved, center=False))) > 0.1


@pytest.mark.parametrize("s", [SAMPLES["three groups"], SAMPLES["two groups"]], ids=["three", "two"])
def test_features_of_very_different_scale(s):
    scales = 10.0 ** np.linspace(-2, 2, s.X.shape[1])
    wide = Sample(s.X * scales, s.groups)
    k = s.X.shape[1] - len(s.labels) + 1
    model = fitted(wide, k)
    assert group_gap(model.transform(wide.X), wide.groups) < 1e-12 * size(wide.X)
    assert model.constraint_rank_ == len(s.labels) - 1
    T = fitted(wide, k, standardize=True).transform(wide.X)
    np.testing.assert_allclose(T, fitted(s, k, standardize=True).transform(s.X), atol=1e-9)


def test_the_protected_attribute_may_be_a_feature():
    s = SAMPLES["two groups"]
    X = np.c_[s.X, s.groups == "man"]
    model = FairPCA(3).fit(X, sensitive_features=s.groups)
    assert group_gap(model.transform(X), s.groups) < 1e-12 * size(X)
    alone = FairPCA(1).fit(
        np.c_[s.groups == "man", np.random.default_rng(0).normal(size=220)], sensitive_features=s.groups
    )
    assert abs(alone.components_[0, 0]) < 0.2, "almost nothing of the attribute itself can be kept"


def test_several_indicator_features_and_no_other_difference():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], (40, 25, 15))
    X = np.c_[np.eye(3)[codes], rng.normal(size=(80, 3))]
    X[:, 3:] -= np.array([np.mean(X[codes == g, 3:], axis=0) for g in range(3)])[codes]
    model = FairPCA(3).fit(X, sensitive_features=codes)
    assert model.constraint_rank_ == 2
    assert np.abs(model.components_[:, :3]).max() < 1e-12


def test_integers_and_booleans_are_numbers():
    s = SAMPLES["three groups"]
    X = np.round(3 * s.X).astype(np.int32)
    model = FairPCA(2).fit(X, sensitive_features=s.groups)
    assert group_gap(model.transform(X), s.groups) < 1e-12 * size(X)
    assert model.transform(X).dtype == np.float64
    assert FairPCA(2).fit(X > 0, sensitive_features=s.groups).transform(X > 0).shape == (380, 2)


# -- what the fitted object says ----------------------------------------------------------------------------------


@every_sample_and_option
def test_reported_variances_are_those_of_the_embedding(s, options):
    model = fitted(s, 2, **options)
    T = model.transform(s.X)
    np.testing.assert_allclose(model.explained_variance_, np.var(T, axis=0, ddof=1), rtol=1e-10)
    Y = s.X / np.std(s.X, axis=0) if options.get("standardize") else s.X
    total = np.var(Y, axis=0, ddof=1).sum(axis=0)
    np.testing.assert_allclose(model.explained_variance_ratio_, np.var(T, axis=0, ddof=1) / total, rtol=1e-10)


@every_sample
def test_transform_and_back(s):
    for options in ({}, {"center": False}, {"standardize": True}):
        model = fitted(s, 2, **options)
        V, X = loadings(model), s.X
        mean, scale = np.mean(X, axis=0), np.std(X, axis=0)
        if options.get("standardize"):
            expected = (X - mean) / scale @ V
            back = expected @ V.T * scale + mean
        elif options:
            expected, back = X @ V, X @ V @ V.T
        else:
            expected = (X - mean) @ V
            back = expected @ V.T + mean
        np.testing.assert_allclose(model.transform(X), expected, atol=1e-11)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), back, atol=1e-11)
        np.testing.assert_allclose(model.transform(back), expected, atol=1e-10)
        if options.get("center", True):
            np.testing.assert_allclose(np.mean(model.transform(X), axis=0), 0, atol=1e-12)


def test_new_points_need_no_groups():
    train, test = draw(seed=1), draw(seed=9, counts=(5, 3, 2))
    model = fitted(train)
    np.testing.assert_allclose(
        model.transform(test.X), (test.X - np.mean(train.X, axis=0)) @ loadings(model), atol=1e-12
    )


def test_the_groups_seen_are_kept():
    s = SAMPLES["three groups"]
    model = fitted(s)
    assert model.group_labels_.tolist() == ["azure", "beige", "crimson"]
    assert model.group_counts_.tolist() == [120, 60, 200]


def test_fitting_changes_nothing_that_was_given():
    s = SAMPLES["three groups"]
    X, groups = s.X.copy(), s.groups.copy()
    model = FairPCA(2, tradeoff=0.5, standardize=True, match="covariance")
    before = model.get_params()
    model.fit(X, sensitive_features=groups).transform(X)
    assert np.array_equal(X, s.X)
    assert np.array_equal(groups, s.groups)
    assert model.get_params() == before


def test_fitting_again_forgets_the_first_fit():
    s, t = SAMPLES["three groups"], SAMPLES["two groups"]
    model = FairPCA(2, tradeoff=0.5).fit(pd.DataFrame(s.X, columns=list("uvwxyz")), sensitive_features=s.groups)
    again = model.set_params(tradeoff=None).fit(t.X, sensitive_features=t.groups)
    fresh = fitted(t)
    assert np.array_equal(again.components_, fresh.components_)
    assert not hasattr(again, "feature_names_in_")
    assert again.transform(t.X).shape == (220, 2)
    assert set(vars(again)) == set(vars(fresh))


@every_sample
def test_standard_pca_is_that_of_scikit_learn(s):
    for k in (1, 3, 5):
        ours, theirs = StandardPCA(k).fit(s.X), PCA(k).fit(s.X)
        assert angle(loadings(ours), loadings(theirs)) < 1e-7
        np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
        np.testing.assert_allclose(np.abs(ours.transform(s.X)), np.abs(theirs.transform(s.X)), atol=1e-9)
        assert ours.certificate_.is_optimal()
        grouped = StandardPCA(k).fit(s.X, sensitive_features=s.groups)
        assert angle(loadings(ours), loadings(grouped)) < 1e-7
    uncentred = StandardPCA(2, center=False).fit(s.X + 1.0)
    _, _, Vt = np.linalg.svd(s.X + 1.0, full_matrices=False)
    assert angle(loadings(uncentred), Vt[:2].T) < 1e-7
    standard = StandardPCA(2, standardize=True).fit(s.X)
    assert angle(loadings(standard), loadings(PCA(2).fit(StandardScaler().fit_transform(s.X)))) < 1e-7
