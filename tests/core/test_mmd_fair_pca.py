"""PCA with a bound on the discrepancy of groups: the gradient, the solver, the limits, PCA as control, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles

from evenspan import GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError
from evenspan.representation import mmd_fair_pca as mmd_penalty
from evenspan.representation.mmd_fair_pca import DiscrepancyPenalty, MMDFairPCA, UnmetToleranceWarning
from evenspan.representation.stiefel import minimise, retract, tangent

from .samples import angle, draw


def two_groups(counts=(90, 50), d=5, seed=3):
    sample = draw(counts=counts, names=("crimson", "azure"), d=d, seed=seed)
    return sample.X, sample.groups


def centred(X):
    return X - X.mean(axis=0)


def orthonormal(d, k, seed=0):
    return retract(np.random.default_rng(seed).normal(size=(d, k)))


def discrepancies(E, codes, bandwidth):
    """All pairs, by the judge's own routine."""
    G = codes.max() + 1
    return [
        metrics.mmd2(E[np.isin(codes, pair)], codes[np.isin(codes, pair)], bandwidth)
        for pair in ((g, h) for g in range(G) for h in range(g))
    ]


@pytest.mark.parametrize("block", [7, 256])
def test_value_is_the_judges_and_the_gradient_that_of_differences(monkeypatch, block):
    monkeypatch.setattr(mmd_penalty, "BLOCK_ROWS", block)
    sample = draw(counts=(40, 25, 12), d=5)
    codes = np.searchsorted(sample.labels, sample.groups)
    X, V, sigma = centred(sample.X), orthonormal(5, 3), 1.7
    X = np.vstack([X, X[:9]])  # equal rows are merged
    codes = np.concatenate([codes, codes[:9]])
    penalty = DiscrepancyPenalty(X, codes, sigma)
    assert len(penalty.X) == len(X) - 9
    total, largest, slope = penalty.evaluate(V)
    pairs = discrepancies(X @ V, codes, sigma)
    assert total == pytest.approx(sum(pairs), rel=1e-12)
    assert largest == pytest.approx(max(pairs), rel=1e-12)
    assert max(pairs) < 0.9 * sum(pairs)
    for seed in range(3):
        H = np.random.default_rng(seed).normal(size=V.shape)
        h = 1e-5
        difference = (penalty.evaluate(V + h * H)[0] - penalty.evaluate(V - h * H)[0]) / (2 * h)
        assert np.vdot(slope, H) == pytest.approx(difference, rel=1e-6)


def test_the_discrepancy_sees_the_subspace_alone_and_nothing_in_equal_samples():
    X, groups = two_groups()
    codes, V = (groups == "azure").astype(int), orthonormal(5, 3)
    penalty = DiscrepancyPenalty(centred(X), codes, 2.0)
    turned = penalty.evaluate(V @ orthonormal(3, 3, seed=1))
    assert turned[0] == pytest.approx(penalty.evaluate(V)[0], rel=1e-12)
    assert turned[0] > 0.05
    twice = DiscrepancyPenalty(np.vstack([X, X[::-1]]), np.repeat([0, 1], len(X)), 2.0)
    total, largest, slope = twice.evaluate(V)
    assert abs(total) < 1e-14
    assert 0 <= largest < 1e-14
    assert np.abs(slope).max() < 1e-13


def test_the_solver_finds_leading_eigenspaces_and_stays_orthonormal():
    rng = np.random.default_rng(5)
    for d, k in ((9, 3), (6, 5), (12, 1)):
        A = rng.normal(size=(d, d)) * np.linspace(1, 3, d)
        A = A @ A.T
        seen = []

        def objective(V, A=A, seen=seen):
            seen.append(float(np.abs(V.T @ V - np.eye(V.shape[1])).max()))
            return -float(np.trace(V.T @ A @ V)), -2.0 * A @ V

        start = orthonormal(d, k, seed=d)
        found = minimise(objective, start, gradient_norm=1e-4, max_steps=500)
        assert found.status == "stationary"
        assert max(seen) < 1e-13
        assert -found.value == pytest.approx(np.linalg.eigvalsh(A)[-k:].sum(axis=0), rel=1e-10)
        assert np.linalg.norm(tangent(found.V, -2.0 * A @ found.V)) == pytest.approx(found.gradient_norm, abs=1e-9)
        short = minimise(objective, start, gradient_norm=1e-7, max_steps=2)
        assert (short.status, short.steps) == ("stopped at max_steps", 2)
        assert short.value > found.value


def test_no_worse_than_another_manifold_solver():
    import pymanopt

    X, groups = two_groups()
    X = centred(X)
    C = X.T @ X / (X**2).sum(axis=None)
    penalty = DiscrepancyPenalty(X, (groups == "azure").astype(int), 2.0)

    def objective(V):
        value, _, slope = penalty.evaluate(V)
        return 3.0 * value - float(np.trace(V.T @ C @ V)), 3.0 * slope - 2.0 * C @ V

    start = orthonormal(5, 2)
    ours = minimise(objective, start, gradient_norm=1e-7, max_steps=300)
    manifold = pymanopt.manifolds.Stiefel(5, 2)
    cost = pymanopt.function.numpy(manifold)(lambda V: objective(V)[0])
    gradient = pymanopt.function.numpy(manifold)(lambda V: objective(V)[1])
    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    solver = pymanopt.optimizers.ConjugateGradient(min_gradient_norm=1e-6, max_iterations=500, verbosity=0)
    theirs = solver.run(problem, initial_point=start)
    assert ours.status == "stationary"
    assert ours.value == pytest.approx(theirs.cost, rel=1e-6)
    assert ours.steps < theirs.iterations


@pytest.mark.parametrize("tolerance", [0.03, 0.1])
def test_the_tolerance_is_met_where_pca_violates_it(tolerance):
    X, groups = two_groups()
    fitted = MMDFairPCA(2, tol=tolerance).fit(X, sensitive_features=groups)
    pca = StandardPCA(2).fit(X, sensitive_features=groups)
    assert fitted.converged_
    reached = metrics.mmd2(fitted.transform(X), groups, fitted.bandwidth_)
    assert fitted.mmd2_ == pytest.approx(reached, rel=1e-9)
    assert reached <= tolerance < 2 * tolerance < metrics.mmd2(pca.transform(X), groups, fitted.bandwidth_)
    assert fitted.bandwidth_ == pytest.approx(metrics.median_bandwidth(pca.transform(X)), rel=1e-12)
    kept, bound = fitted.certificate_.primal, fitted.certificate_.dual
    assert bound == pytest.approx(pca.explained_variance_ratio_.sum(axis=0), rel=1e-12)
    assert kept < bound
    assert kept == pytest.approx(fitted.explained_variance_ratio_.sum(axis=0), rel=1e-10)
    assert (np.diff(fitted.explained_variance_) <= 0).all()
    assert fitted.certificate_.feasibility == 0
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(2), atol=1e-10)
    explained, mmd2, weight, move = fitted.trace_.T
    assert len(fitted.trace_) == fitted.n_iter_
    assert weight[0] == pytest.approx(1 / metrics.mmd2(pca.transform(X), groups, fitted.bandwidth_), rel=1e-9)
    raised = weight[1:] / weight[:-1]
    np.testing.assert_allclose(raised, np.where(mmd2[:-1] > tolerance, 2.0, 1.0))
    assert move[-1] <= 1e-6
    assert fitted.residual_ <= 1e-6
    assert explained[-1] == pytest.approx(kept, rel=1e-9)


def test_on_a_grid_of_directions_nothing_meets_the_tolerance_and_keeps_much_more():
    X, groups = two_groups(d=2)
    X = X * [1.0, 3.0]
    fitted = MMDFairPCA(1, tol=0.02).fit(X, sensitive_features=groups)
    m = GroupMoments.from_data(X, groups)
    angles = np.linspace(0, np.pi, 721)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, :, None]
    found = [(metrics.mmd2(X @ v, groups, fitted.bandwidth_), metrics.explained_variance(m, v)) for v in lines]
    best = max(share for mmd2, share in found if mmd2 <= 0.02)
    assert fitted.converged_
    # At a weight that leaves slack the penalty gives away a little; never more than is feasible.
    assert 0.8 * best <= fitted.certificate_.primal <= best + 1e-3
    assert best < fitted.certificate_.dual


def test_equal_groups_give_pca():
    X, _ = two_groups()
    doubled, groups = np.vstack([X, X[::-1]]), np.repeat(["a", "b"], len(X))
    fitted = MMDFairPCA(2).fit(doubled, sensitive_features=groups)
    pca = StandardPCA(2).fit(doubled, sensitive_features=groups)
    assert angle(fitted.components_.T, pca.components_.T) < 1e-7
    assert fitted.converged_
    assert fitted.certificate_.is_optimal()


def test_more_than_two_groups_bound_the_largest_pair():
    sample = draw(counts=(60, 40, 25), d=5)
    fitted = MMDFairPCA(2, tol=0.2).fit(sample.X, sensitive_features=sample.groups)
    pca = StandardPCA(2).fit(sample.X, sensitive_features=sample.groups)
    assert fitted.converged_
    assert metrics.mmd2(fitted.transform(sample.X), sample.groups, fitted.bandwidth_) <= 0.2
    assert metrics.mmd2(pca.transform(sample.X), sample.groups, fitted.bandwidth_) > 0.3


def test_equal_opportunity_looks_at_the_favourable_rows_only():
    X, groups = two_groups()
    y = np.where(np.arange(len(X)) % 3 == 0, "yes", "no")
    chosen = y == "yes"
    fitted = MMDFairPCA(2, tol=0.05, criterion="equal_opportunity", positive_label="yes")
    fitted.fit(X, y, sensitive_features=groups)
    assert fitted.converged_
    E = fitted.transform(X)
    assert metrics.mmd2(E[chosen], groups[chosen], fitted.bandwidth_) == pytest.approx(fitted.mmd2_, rel=1e-9)
    other = MMDFairPCA(2, tol=0.05).fit(X, sensitive_features=groups)
    assert angle(fitted.components_.T, other.components_.T) > 1e-3
    with pytest.raises(DataError, match="y is missing"):
        fitted.fit(X, sensitive_features=groups)
    with pytest.raises(DataError, match=r"y has shape \(2,\)"):
        fitted.fit(X, ["yes", "no"], sensitive_features=groups)
    with pytest.raises(GroupError, match="'azure' has no row with label 'yes'"):
        fitted.fit(X, np.where(groups == "azure", "no", "yes"), sensitive_features=groups)


def test_rows_labels_rotations_and_frames_do_not_matter():
    X, groups = two_groups()
    first = MMDFairPCA(2, tol=0.05, random_state=4).fit(X, sensitive_features=groups)
    again = MMDFairPCA(2, tol=0.05, random_state=4).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(first.components_, again.components_)
    order = np.random.default_rng(0).permutation(len(X))
    renamed = np.where(groups == "azure", 0, 1)[order]
    moved = MMDFairPCA(2, tol=0.05, random_state=4).fit(X[order] + 5.0, sensitive_features=renamed)
    assert angle(first.components_.T, moved.components_.T) < 1e-4
    frame = pd.DataFrame(X, columns=list("abcde"))
    framed = MMDFairPCA(2, tol=0.05, random_state=4).fit(frame, sensitive_features=groups)
    assert subspace_angles(framed.components_.T, first.components_.T).max() < 1e-6


def test_an_unmet_tolerance_is_told():
    X, groups = two_groups(counts=(30, 20))
    with pytest.warns(UnmetToleranceWarning, match="the squared discrepancy is .* for tol=1e-12"):
        fitted = MMDFairPCA(2, tol=1e-12, max_iter=4, max_inner=20).fit(X, sensitive_features=groups)
    assert not fitted.converged_
    assert fitted.mmd2_ > 1e-12
    assert fitted.n_iter_ == 4
    assert fitted.certificate_.feasibility == pytest.approx(fitted.mmd2_, rel=1e-6)


def test_an_idle_first_iteration_is_no_success():
    rng = np.random.default_rng(2)
    groups = np.repeat(["a", "b"], [70, 50])
    X = rng.normal(size=(120, 8)) * np.linspace(1, 1.25, 8)
    X[groups == "b", 0] += 1.0
    fitted = MMDFairPCA(2, tol=0.1).fit(X, sensitive_features=groups)
    move, mmd2 = fitted.trace_[0, 3], fitted.trace_[0, 1]
    assert move == 0  # nothing was done, since the gradient was below the coarse limit,
    assert mmd2 < 0.1  # and the bound was met
    assert fitted.converged_
    assert fitted.n_iter_ > 1
    assert fitted.residual_ <= 1e-6


def test_components_at_rest_above_the_tolerance_are_no_success():
    X, groups = two_groups(counts=(30, 20), d=2)
    with pytest.warns(UnmetToleranceWarning):  # with k = d there is nothing to choose
        fitted = MMDFairPCA(2, tol=1e-4).fit(X, sensitive_features=groups)
    assert not fitted.converged_
    assert fitted.trace_[:, 3].max() < 1e-6
    assert fitted.mmd2_ > 1e-4
    assert fitted.trace_[-1, 2] > 1e10  # the weight passed its limit


def test_refusals():
    X, groups = two_groups()
    for setting, words in (
        ({"tol": 0}, "tol=0;"),
        ({"bandwidth": -1.0}, "bandwidth=-1.0"),
        ({"bandwidth": "mean"}, "bandwidth='mean'"),
        ({"penalty": "other"}, "penalty='other'"),
        ({"criterion": "other"}, "criterion='other'"),
        ({"growth": 1.0}, "growth=1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"tol": "small"}, "tol='small'"),
        ({"growth": None}, "growth=None"),
        ({"max_inner": 0}, "max_inner=0"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            MMDFairPCA(2, **setting).fit(X, sensitive_features=groups)
    with pytest.raises(ComponentsError):
        MMDFairPCA(6).fit(X, sensitive_features=groups)
    with pytest.raises(GroupError, match=r"one group only \('a'"):
        MMDFairPCA(2).fit(X, sensitive_features=["a"] * len(X))
    with pytest.raises(DataError, match="all rows of X are equal"):
        MMDFairPCA(2).fit(np.ones_like(X), sensitive_features=groups)
    with pytest.raises(ConfigurationError, match="needs the points"):
        MMDFairPCA(2).fit_moments(GroupMoments.from_data(X, groups))
