"""The synthetic experiments and the illustration: what the samples are, and what matching moments does."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from compendium import records
from compendium.papers.kleindessner2023 import synthetic
from evenspan import FairPCA, GroupMoments, StandardPCA

N = 150


def mean_of(rows, protocol, metric):
    return rows.loc[(rows["protocol"] == protocol) & (rows["metric"] == metric), "value"].mean()


@pytest.fixture(scope="session")
def small(cells_of):
    """The notebook with fewer points, one dimension and two splits."""
    return cells_of("kleindessner2023-synthetic", n=N, draws=5, dimensions="20", splits=2)


@pytest.fixture(scope="session")
def equal(small):
    """The first experiment by method."""
    rows = small["results"]
    return dict(list(rows[rows["dataset"].str.startswith("equal")].drop(columns="task").groupby("method")))


def test_exact_moments_are_those_of_the_distributions():
    exact, train = synthetic.exact_moments(50_000), synthetic.equal_moments(5, 50_000)
    drawn = GroupMoments.from_data(train.X, train.groups)
    np.testing.assert_allclose(drawn.means, exact.means, atol=0.03)
    np.testing.assert_allclose(drawn.scatters / 49_999, exact.scatters / 49_999, atol=0.05)
    assert not np.ptp(exact.scatters, axis=0).any()


def test_with_exact_moments_there_is_nothing_to_match(equal):
    """Fair PCA on the moments of the distributions is PCA, and leaves PCA's discrepancy; PCA is the control."""
    moments = synthetic.exact_moments(N)
    fair, pca = (method(2).fit_moments(moments).components_.T for method in (FairPCA, StandardPCA))
    assert subspace_angles(fair[:, :1], pca[:, :1]).max() < 1e-7
    pca, exact = (mean_of(equal[name], "fresh sample", "MMD^2") for name in ("PCA", synthetic.EXACT))
    assert abs(exact / pca - 1.0) < 0.05
    assert pca > 0.05


def test_with_two_of_three_components_the_noise_of_the_means_decides(equal):
    """On a sample Fair PCA must give up the direction of the mean difference, and loses variance with it."""
    for name in ("Fair PCA", "LEACE"):
        assert mean_of(equal[name], "in sample", "mean gap") < 1e-12 < mean_of(equal["PCA"], "in sample", "mean gap")
    assert mean_of(equal["Fair PCA"], "fresh sample", "%Var") < 60 < mean_of(equal["PCA"], "fresh sample", "%Var")
    train, _ = synthetic.equal_samples(N, 1)
    fitted = FairPCA(2).fit(train.X, sensitive_features=train.groups)
    gap = np.subtract(*(train.X[train.groups == g].mean(axis=0) for g in (1, 0)))
    removed = np.linalg.svd(fitted.components_)[2][2]
    assert abs(removed @ gap) == pytest.approx(np.linalg.norm(gap))


def test_matching_the_whole_distribution_does_something(equal):
    """The discrepancy penalty on a small sample: far below PCA's discrepancy, also on fresh points."""
    matched, pca = equal[synthetic.MATCHED], equal["PCA"]
    assert set(matched["split"]) == {0}
    assert mean_of(matched, "in sample", "converged") in (0.0, 1.0)
    assert mean_of(matched, "fresh sample", "MMD^2") < 0.5 * mean_of(pca, "fresh sample", "MMD^2")


def test_latent_rows_judge_the_test_part(small):
    rows = small["results"]
    records.checked(rows.drop(columns="task"), "synthetic")
    rows = rows[rows["dataset"] == "latent_groups-d20"]
    assert set(rows["method"]) == {*small["latent_methods"](20)}
    assert set(rows["split"]) == {0, 1}
    pca, fair, kernel = (rows[rows["method"] == name] for name in ("PCA", "Fair PCA", "Fair Kernel PCA"))
    assert mean_of(fair, "test", "linear separability") > 0.3 > mean_of(pca, "test", "linear separability")
    assert mean_of(fair, "test", "MMD^2") < 0.5 * mean_of(pca, "test", "MMD^2")
    assert mean_of(fair, "test", "mean gap") > 1e-6, "the guarantee is in sample"
    assert set(kernel["metric"]) == {"linear separability", "mean gap"}
    train, test = next(synthetic.latent_splits(20, 2))
    assert (train.n, test.n) == (336, 144)
    V = StandardPCA(5).fit(train.X, sensitive_features=train.groups).components_.T
    C = np.cov(test.X, rowvar=False)
    wanted = 100 * np.trace(V.T @ C @ V) / np.trace(C)
    first = pca[(pca["split"] == 0) & (pca["metric"] == "%Var")]
    assert first["value"].item() == pytest.approx(wanted, rel=1e-10)


def test_standardising_methods_are_judged_on_the_points_as_they_are():
    """Loadings found on standardised features keep a share of the variance of the raw ones, whatever their units."""
    train, test = next(synthetic.latent_splits(20, 2))
    fitted = FairPCA(5, standardize=True).fit(train.X, sensitive_features=train.groups)
    E = synthetic.embedding(fitted, test.X)
    np.testing.assert_allclose(E, test.X @ fitted.components_.T)
    assert synthetic.kept_variance(test.X, E) > 3 * synthetic.kept_variance(test.X, fitted.transform(test.X))


@pytest.fixture(scope="session")
def illustration(cells_of):
    return cells_of("kleindessner2023-illustration", draws=10)


def test_covariance_matching_closes_the_gap_and_costs_error(illustration):
    rows = illustration["results"]
    wide = rows.pivot(index="split", columns=["metric", "method"], values="value")
    gap, error = wide["covariance gap"], wide["reconstruction error"]
    assert (gap["Fair PCA-S (0.5)"] < 0.02 * gap["Fair PCA"]).all()
    assert (error["Fair PCA-S (0.5)"] > error["Fair PCA"]).all()
    assert (error["Fair PCA"] > error["PCA"]).all()
    assert wide["mean gap"][["Fair PCA", "Fair PCA-S (0.5)"]].max(axis=None) < 1e-10
    assert wide["mean gap"]["PCA"].min(axis=0) > 1e-3
