"""PCA with a bound on the discrepancy of groups: the gradient, the solver, the limits, PCA as control, refusals."""

import numpy as np
import pytest

from evenspan import GroupMoments, MMDFairPCA, StandardPCA, metrics
from evenspan.core import kernels
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, GroupError, SingleGroupWarning
from evenspan.representation import UnmetToleranceWarning, mmd_fair_pca
from evenspan.representation.mmd_fair_pca import DiscrepancyPenalty
from evenspan.representation.stiefel import minimise, retract, tangent

from .memory import peak_of
from .samples import angle, draw, two_attributes

PAIR = draw(counts=(90, 50), names=("crimson", "azure"), d=5, seed=3)
X, GROUPS = PAIR.X, PAIR.groups


def fitted(k=2, data=X, groups=GROUPS, y=None, **options):
    return MMDFairPCA(k, **options).fit(data, y, sensitive_features=groups)


def orthonormal(d, k, seed=0):
    return retract(np.random.default_rng(seed).normal(size=(d, k)))


@pytest.mark.parametrize("block", [7, 256])
def test_value_is_the_judges_and_the_gradient_that_of_differences(monkeypatch, block):
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
    assert penalty.evaluate(V @ orthonormal(3, 3, seed=1))[0] == pytest.approx(total, rel=1e-12)


def test_the_solver_finds_leading_eigenspaces_and_stays_orthonormal():
    rng = np.random.default_rng(5)
    for d, k in ((9, 3), (6, 5), (12, 1)):
        A = rng.normal(size=(d, d)) * np.linspace(1, 3, d)
        A, seen, start = A @ A.T, [], orthonormal(d, k, seed=d)

        def objective(V, A=A, seen=seen):
            seen.append(float(np.abs(V.T @ V - np.eye(V.shape[1])).max()))
            return -float(np.trace(V.T @ A @ V)), -2.0 * A @ V

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

    Y = X - X.mean(axis=0)
    C, penalty = Y.T @ Y / (Y**2).sum(axis=None), DiscrepancyPenalty(Y, (GROUPS == "azure").astype(int), 2.0)

    def objective(V):
        value, _, slope = penalty.evaluate(V)
        return 3.0 * value - float(np.trace(V.T @ C @ V)), 3.0 * slope - 2.0 * C @ V

    ours = minimise(objective, orthonormal(5, 2), gradient_norm=1e-7, max_steps=300)
    manifold = pymanopt.manifolds.Stiefel(5, 2)
    cost, gradient = (pymanopt.function.numpy(manifold)(lambda V, i=i: objective(V)[i]) for i in (0, 1))
    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    solver = pymanopt.optimizers.ConjugateGradient(min_gradient_norm=1e-6, max_iterations=500, verbosity=0)
    theirs = solver.run(problem, initial_point=orthonormal(5, 2))
    assert ours.status == "stationary"
    assert ours.value == pytest.approx(theirs.cost, rel=1e-6)
    assert ours.steps < theirs.iterations


@pytest.mark.parametrize(("tol", "penalty"), [(0.03, "released"), (0.1, "documented")])
def test_the_tolerance_is_met_where_pca_violates_it(tol, penalty):
    model, pca = fitted(tol=tol, penalty=penalty), StandardPCA(2).fit(X)
    reached, controlled = (metrics.mmd2(m.transform(X), GROUPS, model.bandwidth_) for m in (model, pca))
    assert model.converged_
    assert model.mmd2_ == pytest.approx(reached, rel=1e-9)
    assert reached <= tol < 2 * tol < controlled
    assert model.bandwidth_ == pytest.approx(metrics.median_bandwidth(pca.transform(X)), rel=1e-12)
    kept, bound = model.certificate_.primal, model.certificate_.dual
    assert kept < bound == pytest.approx(pca.explained_variance_ratio_.sum(axis=0), rel=1e-12)
    assert kept == pytest.approx(model.explained_variance_ratio_.sum(axis=0), rel=1e-10)
    assert (np.diff(model.explained_variance_) <= 0).all()
    assert model.certificate_.feasibility == 0
    explained, mmd2, weight, move = model.trace_.T
    assert len(explained) == model.n_iter_
    assert weight[0] == pytest.approx({"released": 1.0, "documented": 0.1}[penalty] / controlled, rel=1e-9)
    np.testing.assert_allclose(weight[1:] / weight[:-1], np.where(mmd2[:-1] > tol, 2.0, 1.0))
    assert max(move[-1], model.residual_) <= 1e-6


def test_on_a_grid_of_directions_nothing_meets_the_tolerance_and_keeps_much_more():
    plane = draw(counts=(90, 50), names=("crimson", "azure"), d=2, seed=3)
    Y, groups = plane.X * [1.0, 3.0], plane.groups
    model, m = fitted(1, Y, groups, tol=0.02), GroupMoments.from_data(Y, groups)
    angles = np.linspace(0, np.pi, 721)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, :, None]
    found = [(metrics.mmd2(Y @ v, groups, model.bandwidth_), metrics.explained_variance(m, v)) for v in lines]
    best = max(share for mmd2, share in found if mmd2 <= 0.02)
    # At a weight that leaves slack the penalty gives away a little; never more than is feasible.
    assert 0.8 * best <= model.certificate_.primal <= best + 1e-3
    assert best < model.certificate_.dual


def test_equal_groups_and_single_ones_give_pca():
    doubled = np.vstack([X, X[::-1]])
    equal = fitted(2, doubled, np.repeat(["a", "b"], len(X)))
    with pytest.warns(SingleGroupWarning, match="one group only"):
        single = fitted(2, doubled, np.full(280, "all"), on_single_group="warn")
    for model in (equal, single):
        assert angle(model.components_.T, StandardPCA(2).fit(doubled).components_.T) < 1e-7
        assert model.converged_
        assert model.certificate_.is_optimal()


def test_several_groups_bound_the_largest_pair_and_several_attributes_each_of_theirs():
    three = draw(counts=(60, 40, 25), d=5)
    model, pca = fitted(2, three.X, three.groups, tol=0.2), StandardPCA(2).fit(three.X)
    assert metrics.mmd2(model.transform(three.X), three.groups, model.bandwidth_) <= 0.2
    assert metrics.mmd2(pca.transform(three.X), three.groups, model.bandwidth_) > 0.3
    Y, groups = two_attributes()
    Y, groups = Y[::3], groups[::3]
    model = fitted(2, Y, groups, tol=0.3)
    found = [metrics.mmd2(model.transform(Y), labels, model.bandwidth_) for labels in groups.T]
    assert model.mmd2_ == pytest.approx(max(found), rel=1e-9)


def test_an_unmet_tolerance_is_told():
    small = draw(counts=(30, 20), names=("a", "b"), d=5, seed=3)
    with pytest.warns(UnmetToleranceWarning, match="the squared discrepancy is .* for tol=1e-12"):
        model = fitted(2, small.X, small.groups, tol=1e-12, max_iter=4, max_inner=20)
    assert not model.converged_
    assert model.n_iter_ == 4
    assert model.certificate_.feasibility == pytest.approx(model.mmd2_, rel=1e-6)
    assert model.mmd2_ > 1e-12
    with pytest.warns(UnmetToleranceWarning):  # with k = d there is nothing to choose
        model = fitted(2, small.X[:, :2], small.groups, tol=1e-4)
    assert not model.converged_
    assert model.trace_[:, 3].max() < 1e-6
    assert model.trace_[-1, 2] > 1e10  # the weight passed its limit


def test_an_idle_first_iteration_is_no_success():
    rng, groups = np.random.default_rng(2), np.repeat(["a", "b"], [70, 50])
    Y = rng.normal(size=(120, 8)) * np.linspace(1, 1.25, 8)
    Y[groups == "b", 0] += 1.0
    model = fitted(2, Y, groups, tol=0.1)
    assert model.trace_[0, 3] == 0  # nothing was done, since the gradient was below the coarse limit,
    assert model.trace_[0, 1] < 0.1  # and the bound was met
    assert model.converged_
    assert model.n_iter_ > 1
    assert model.residual_ <= 1e-6


def test_neither_all_distances_nor_copies_of_the_points_are_held(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(kernels, "PAIRS", 2**16)
    monkeypatch.setattr(kernels, "DRAWN", 100)
    Y, groups = rng.normal(size=(1200, 100)), np.repeat([0, 1, 2], 400)
    penalty_alone, _ = peak_of(lambda: DiscrepancyPenalty(Y, groups, 1.0))
    monkeypatch.setattr(mmd_fair_pca, "START_STEPS", 5)  # every step holds the same
    with pytest.warns(UnmetToleranceWarning):
        peak, _ = peak_of(lambda: fitted(2, Y, groups, max_iter=1, max_inner=1))
    assert peak < penalty_alone + 1.5 * Y.nbytes + 40 * kernels.PAIRS


def test_what_is_refused_is_said():
    for setting, words in (
        ({"tol": 0}, "tol=0;"),
        ({"tol": "small"}, "tol='small'"),
        ({"bandwidth": -1.0}, r"bandwidth=-1\.0"),
        ({"bandwidth": "mean"}, "bandwidth='mean'"),
        ({"penalty": "other"}, "penalty='other'"),
        ({"max_iter": 2.5}, r"max_iter=2\.5"),
        ({"max_inner": 0}, "max_inner=0"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            fitted(**setting)
    with pytest.raises(ComponentsError):
        fitted(6)
    with pytest.raises(GroupError, match=r"one group only \('a'"):
        fitted(groups=["a"] * len(X))
    with pytest.raises(DataError, match="all rows of X are equal"):
        fitted(2, np.ones_like(X))
    with pytest.raises(ConfigurationError, match="needs the points"):
        MMDFairPCA(2).fit_moments(GroupMoments.from_data(X, GROUPS))
