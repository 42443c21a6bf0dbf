"""PCA with a bound on the discrepancy of groups: the gradient, the solver, the limits, PCA as control, refusals."""

import numpy as np
import pytest

from evenspan import MMDFairPCA, StandardPCA, metrics
from evenspan.core.errors import DataError
from evenspan.core.estimator import NotConvergedWarning
from evenspan.representation import mmd_fair_pca
from evenspan.representation.mmd_fair_pca import DiscrepancyPenalty
from evenspan.representation.stiefel import minimise, retract, tangent

from .samples import angle, draw, two_attributes

PAIR = draw(counts=(90, 50), names=("crimson", "azure"), d=5, seed=3)
X, GROUPS = PAIR.X, PAIR.groups


def fitted(k=2, data=X, groups=GROUPS, **options):
    return MMDFairPCA(k, **options).fit(data, sensitive_features=groups)


def orthonormal(d, k, seed=0):
    return retract(np.random.default_rng(seed).normal(size=(d, k)))


@pytest.mark.parametrize("block", [7, 256])
def test_value_is_that_of_the_evaluation_and_the_gradient_that_of_differences(monkeypatch, block):
    monkeypatch.setattr(mmd_fair_pca, "BLOCK_ROWS", block)
    sample, V, sigma = draw(counts=(40, 25, 12), d=5), orthonormal(5, 3), 1.7
    rows = np.r_[0:77, 0:9]  # equal rows are merged
    Y, codes = (sample.X - sample.X.mean(axis=0))[rows], np.searchsorted(sample.labels, sample.groups)[rows]
    penalty = DiscrepancyPenalty(Y, codes, sigma)
    assert len(penalty.X) == 77
    total, largest, slope = penalty.evaluate(V)
    pairs = [
        metrics.mmd2((Y @ V)[np.isin(codes, pair)], codes[np.isin(codes, pair)], sigma)
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    assert total == pytest.approx(sum(pairs), rel=1e-12)
    assert largest == pytest.approx(max(pairs), rel=1e-12)
    for seed in range(3):
        H, h = np.random.default_rng(seed).normal(size=V.shape), 1e-5
        difference = (penalty.evaluate(V + h * H)[0] - penalty.evaluate(V - h * H)[0]) / (2 * h)
        assert np.vdot(slope, H) == pytest.approx(difference, rel=1e-6)


def test_the_solver_finds_leading_eigenspaces_and_stays_orthonormal():
    rng = np.random.default_rng(5)
    for d, k in ((9, 3), (6, 5), (12, 1)):
        A = rng.normal(size=(d, d)) * np.linspace(1, 3, d)
        A, seen, start = A @ A.T, [], orthonormal(d, k, seed=d)

        def objective(V, A=A, seen=seen):
            seen.append(float(np.abs(V.T @ V - np.eye(V.shape[1])).max()))
            return -float(np.trace(V.T @ A @ V)), -2.0 * A @ V

        found = minimise(objective, start, gradient_norm=1e-4, max_steps=500)
        assert max(seen) < 1e-13
        assert -found.value == pytest.approx(np.linalg.eigvalsh(A)[-k:].sum(axis=0), rel=1e-10)
        assert found.gradient_norm < 1e-4
        assert np.linalg.norm(tangent(found.V, -2.0 * A @ found.V)) == pytest.approx(found.gradient_norm, abs=1e-9)
        assert minimise(objective, start, gradient_norm=1e-7, max_steps=2).value > found.value


def test_the_tolerance_is_met_where_pca_violates_it():
    bound = 0.03
    model, pca = fitted(max_mmd2=bound), StandardPCA(2).fit(X)
    reached, controlled = (metrics.mmd2(m.transform(X), GROUPS, model.bandwidth_) for m in (model, pca))
    assert model.converged_
    assert model.mmd2_ == pytest.approx(reached, rel=1e-9)
    assert reached <= bound < 2 * bound < controlled
    assert model.bandwidth_ == pytest.approx(metrics.median_bandwidth(pca.transform(X)), rel=1e-12)
    kept, bound = model.certificate_.primal, model.certificate_.dual
    assert model.explained_variance_ratio_.sum(axis=0) == pytest.approx(kept, rel=1e-10)
    assert kept < bound == pytest.approx(pca.explained_variance_ratio_.sum(axis=0), rel=1e-12)
    _, mmd2, weight, move = model.trace_.T
    assert weight[0] == pytest.approx(1.0 / controlled, rel=1e-9)
    np.testing.assert_allclose(weight[1:] / weight[:-1], np.where(mmd2[:-1] > bound, 2.0, 1.0))
    assert max(move[-1], model.residual_) <= 1e-6


def test_equal_groups_give_pca_and_equal_rows_are_refused():
    doubled = np.vstack([X, X[::-1]])
    model = fitted(2, doubled, np.repeat(["a", "b"], len(X)))
    assert angle(model.components_.T, StandardPCA(2).fit(doubled).components_.T) < 1e-7
    assert model.converged_
    assert model.certificate_.is_optimal()
    with pytest.raises(DataError, match="all rows of X are equal"):
        fitted(2, np.ones_like(X))


def test_several_groups_bound_the_largest_pair_and_several_attributes_each_of_theirs():
    Y, groups = two_attributes()
    Y, groups = Y[::3], groups[::3]
    model, pca = fitted(2, Y, groups, max_mmd2=0.3), StandardPCA(2).fit(Y)
    found, control = ([metrics.mmd2(m.transform(Y), z, model.bandwidth_) for z in groups.T] for m in (model, pca))
    assert model.mmd2_ == pytest.approx(max(found), rel=1e-9)
    assert max(found) <= 0.3 < max(control)


def test_an_unmet_tolerance_is_told_and_an_idle_first_iteration_is_no_success():
    small = draw(counts=(30, 20), names=("a", "b"), d=5, seed=3)
    with pytest.warns(NotConvergedWarning, match="the squared discrepancy is .* for max_mmd2=1e-12"):
        model = fitted(2, small.X, small.groups, max_mmd2=1e-12, max_iter=4, max_inner=20)
    assert not model.converged_
    assert model.certificate_.feasibility == pytest.approx(model.mmd2_, rel=1e-6)
    rng, groups = np.random.default_rng(2), np.repeat(["a", "b"], [70, 50])
    Y = rng.normal(size=(120, 8)) * np.linspace(1, 1.25, 8)
    Y[groups == "b", 0] += 1.0
    model = fitted(2, Y, groups, max_mmd2=0.1)
    assert model.trace_[0, 3] == 0  # nothing was done, since the gradient was below the coarse limit,
    assert model.trace_[0, 1] < 0.1  # and the bound was met
    assert model.converged_
    assert model.n_iter_ > 1
    assert model.residual_ <= 1e-6
