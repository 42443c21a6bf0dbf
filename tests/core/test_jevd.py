"""JEVD-PCA: what joint eigenvectors are worth to the worst served group, and what is said when there are none."""

import numpy as np
import pytest

from compendium.papers.rathore2025.algorithm_1 import PrintedJEVDPCA
from evenspan import JEVDPCA, GroupMoments, MinMaxFairPCA
from evenspan.reconstruction import JointDiagonalisationWarning
from evenspan.reconstruction.group_errors import group_matrices, losses

from .samples import angle, draw

# -- the certificate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [JEVDPCA, PrintedJEVDPCA])
@pytest.mark.parametrize("centring", ["group", "overall"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_distance_from_fair_pca_is_certified(pair, method, centring, k):
    fitted = method(k, center=centring).fit(pair.X, sensitive_features=pair.groups)
    fair = MinMaxFairPCA(k, center=centring)
    fair.fit(pair.X, sensitive_features=pair.groups)
    assert fitted.certificate_.primal == pytest.approx(fitted.group_losses_.max())
    assert fitted.certificate_.dual == pytest.approx(fair.certificate_.dual, rel=1e-7)
    assert fitted.certificate_.gap > max(fair.certificate_.gap, 1e-3 * fitted.certificate_.primal)
    # Losses are equal at the optimum and not here.
    assert np.ptp(fair.group_losses_) < 1e-6 * fair.group_losses_.max() < np.ptp(fitted.group_losses_)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("method", [JEVDPCA, PrintedJEVDPCA])
def test_three_groups_have_a_bound_too(sample, method):
    fitted = method(2, center="group").fit(sample.X, sensitive_features=sample.groups)
    assert fitted.group_losses_.shape == (3,)
    assert fitted.group_labels_.tolist() == ["azure", "beige", "crimson"]
    certificate = fitted.certificate_
    assert 0.0 < certificate.dual < certificate.primal
    best = MinMaxFairPCA(2, center="group").fit(sample.X, sensitive_features=sample.groups)
    assert certificate.dual <= best.certificate_.primal < certificate.primal


# -- centring -------------------------------------------------------------------------------------------------------


def test_centring_names_the_point_that_moments_are_about(pair):
    moments = GroupMoments.from_data(pair.X, pair.groups)
    origin = group_matrices(moments, "none")
    for M, label in zip(origin, pair.labels, strict=True):
        rows = pair.rows(label)
        np.testing.assert_allclose(M, rows.T @ rows / len(rows), rtol=1e-12, atol=1e-12)
    bases = []
    for centring in ("group", "overall", "none"):
        fitted = JEVDPCA(2, center=centring).fit(pair.X + 1.0, sensitive_features=pair.groups)
        matrices = group_matrices(GroupMoments.from_data(pair.X + 1.0, pair.groups), centring)
        np.testing.assert_allclose(fitted.group_losses_, losses(matrices, fitted.components_.T), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fitted.mean_, pair.X.mean(axis=0) + 1.0)
        bases.append(fitted.components_.T)
    assert min(angle(bases[i], bases[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.01


def test_unfinished_work_is_warned_of():
    s = draw(counts=(150, 70), d=6, seed=0)
    with pytest.warns(JointDiagonalisationWarning, match=r"last of 1 steps.*Raise max_iter"):
        JEVDPCA(2, max_iter=1, center="group").fit(s.X, sensitive_features=s.groups)
