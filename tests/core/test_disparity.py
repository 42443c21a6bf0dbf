"""u-FPCA and c-FPCA: monotone family, closed gaps, the cap, ties; PCA as control."""

import numpy as np
import pytest

from compendium.papers.rathore2025.methods import CovFairPCA
from evenspan import GroupMoments, StandardPCA, metrics
from evenspan.reconstruction.disparity import DisparityFairPCA


def sample(seed=0, d=6, spread=1.0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], [140, 60])
    X = rng.normal(size=(200, d)) * np.exp(-np.arange(d) / 4)
    mix = rng.normal(size=(d, d))
    X[groups == "b"] = spread * X[groups == "b"] @ mix * 0.5 + rng.normal(size=d)
    return X, groups


def pca_errors(X, groups, k):
    return metrics.group_errors(GroupMoments.from_data(X, groups), StandardPCA(k).fit(X).subspace_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3])
def test_gaps_and_the_cap(seed, k):
    X, groups = sample(seed)
    pca = pca_errors(X, groups, k)
    models = [model(k, constrained=capped) for model in (DisparityFairPCA, CovFairPCA) for capped in (False, True)]
    found = [model.fit(X, sensitive_features=groups) for model in models]
    free, capped, published, _ = found
    assert free.gap_ == pytest.approx(free.smallest_gap_, abs=1e-8 * pca.max())
    assert free.gap_ <= capped.gap_ + 1e-9 * pca.max()
    assert capped.gap_ <= np.ptp(pca) + 1e-12
    assert capped.group_errors_.max() <= pca.max() * (1 + 1e-9)
    assert np.ptp(pca) > free.gap_ + 0.05 * pca.max()  # PCA leaves the groups with different errors
    for fitted in found:
        assert fitted.gap_ == pytest.approx(np.ptp(fitted.group_errors_), abs=1e-12)
        assert abs(fitted.certificate_.gap) <= 1e-6 * fitted.certificate_.primal
    assert capped.certificate_.feasibility < 1e-9
    assert published.gap_ == pytest.approx(free.gap_, abs=1e-3 * pca.max())


def test_tied_eigenvalues_where_the_sign_changes():
    # Along the family the leading direction jumps from the first axis to the last: only a combination closes the gap.
    M = np.array([np.diag([6.0, 1.0, 0.0]), np.diag([0.0, 1.0, 4.0])])
    moments = GroupMoments(np.array(["a", "b"]), np.array([10.0, 10.0]), np.zeros((2, 3)), 10.0 * M)
    safe = DisparityFairPCA(1).fit_moments(moments)
    published = CovFairPCA(1, constrained=False).fit_moments(moments)
    assert safe.gap_ < 1e-9 < 1.0 < published.gap_
    assert safe.certificate_.is_optimal(1e-8)
    capped = DisparityFairPCA(1, constrained=True).fit_moments(moments)
    assert capped.group_errors_.max() <= capped.cap_ * (1 + 1e-9)


def test_a_gap_that_no_projection_closes_is_certified():
    M = np.array([np.diag([1.0, 2.0, 3.0]), np.diag([5.0, 7.0, 9.0])])
    moments = GroupMoments(np.array(["a", "b"]), np.array([30.0, 10.0]), np.zeros((2, 3)), M * [[[30]], [[10]]])
    fitted = DisparityFairPCA(1).fit_moments(moments)
    assert fitted.alpha_ == 0.0
    assert fitted.gap_ == pytest.approx(9.0, rel=1e-12)  # differences 4, 5, 6 on the diagonal: two of them remain
    assert fitted.smallest_gap_ == pytest.approx(9.0, rel=1e-12)


def test_brute_force_in_the_plane():
    X, groups = sample(3, d=2)
    fitted = DisparityFairPCA(1).fit(X, sensitive_features=groups)
    Z = X - X.mean(axis=0)
    angles = np.linspace(0, np.pi, 20_001)
    lines = np.stack([-np.sin(angles), np.cos(angles)])
    pairs = np.stack([((Z[groups == g] @ lines) ** 2).mean(axis=0) for g in "ab"])
    assert fitted.gap_ <= np.abs(pairs[0] - pairs[1]).min() + 1e-6
    capped = DisparityFairPCA(1, constrained=True).fit(X, sensitive_features=groups)
    worse = int(np.argmax(pca_errors(X, groups, 1)))
    allowed = (pairs.max(axis=0) <= capped.cap_) & (pairs[worse] >= pairs[1 - worse])
    assert capped.gap_ <= np.abs(pairs[0] - pairs[1])[allowed].min() + 1e-6


def test_as_many_components_as_the_data_have_directions():
    """Nothing is lost and nothing is to be shared: the cap is zero, and nothing is divided by it."""
    X = np.zeros((40, 4))
    X[:, :2] = np.random.default_rng(2).integers(-4, 5, size=(40, 2))
    with np.errstate(divide="raise", invalid="raise"):
        fitted = DisparityFairPCA(2, constrained=True).fit(X, sensitive_features=np.arange(40) % 2)
    assert 0.0 <= fitted.certificate_.feasibility < 1e-9  # a cap of minus rounding made it -1
    assert fitted.gap_ < 1e-12


def test_a_cap_that_the_released_search_exceeds_is_told_by_the_certificate():
    rng = np.random.default_rng(116)
    d = int(rng.integers(2, 6))
    k, n = int(rng.integers(1, d)), rng.integers(5, 40, size=2)
    X = np.vstack([rng.normal(size=(m, d)) * rng.uniform(0.1, 3, size=d) + rng.normal(size=d) for m in n])
    groups = np.repeat(["a", "b"], n)
    models = {"published": CovFairPCA(k), "ours": DisparityFairPCA(k, constrained=True)}
    fits = {name: model.fit(X, sensitive_features=groups) for name, model in models.items()}
    over = {name: fitted.group_errors_.max() / fitted.cap_ - 1.0 for name, fitted in fits.items()}
    assert over["published"] > 1e-6 > 1e-9 > over["ours"]
    for name, fitted in fits.items():
        assert fitted.certificate_.feasibility == pytest.approx(max(over[name], 0.0), rel=1e-6, abs=1e-12)
