"""The batched descent is the published iteration, and it stops short of the optimum where the step is too long."""

import numpy as np
import pytest

from compendium.papers.vu2022.methods import clip_lambda, u_form
from evenspan.core.linalg import complement, top_eigenspace
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.robust_descent import (
    RobustObjective,
    _iterate,
    descend,
    objective,
    radii,
    random_starts,
)
from evenspan.reconstruction.robust_exact import solve_exact

from .samples import angle
from .test_robust_objective import COUNTS, problem

SETTINGS = [(0.05, 0.0), (0.1, 0.5), (0.15, 2.5)]


@pytest.mark.parametrize("G", [2, 3])
def test_v_form_and_u_form_reach_the_same_projector(G):
    matrices, shares, _ = problem(G, d=6)
    # A scale at which the step is a fraction of the largest stable one: a longer one blows up rounding errors.
    matrices /= np.linalg.norm(matrices, 2, axis=(1, 2)).max(axis=0)
    f = RobustObjective.of(shares, radii(COUNTS[G], 0.3), 0.4)
    k = 2
    for seed in range(5):
        start = random_starts(np.random.default_rng(seed), 1, 1, 6, k)[0]
        one = RobustObjective(f.factors[None], f.shifts[None])
        V = _iterate(matrices, one, start, 40)[0][0].T
        U = u_form(matrices, f, complement(start[0].T), 40)
        np.testing.assert_allclose(V @ V.T, np.eye(6) - U @ U.T, atol=1e-8)


def test_bases_stay_orthonormal_with_huge_steps():
    matrices, _, rng = problem()
    V = descend(1e4 * matrices, COUNTS[2], 2, SETTINGS, rng=rng, restarts=3, iterations=50).V
    np.testing.assert_allclose(V.swapaxes(1, 2) @ V, np.broadcast_to(np.eye(2), (3, 2, 2)), atol=1e-12)


def test_every_run_is_independent_of_the_batch():
    matrices, shares, _ = problem()
    together = descend(matrices, COUNTS[2], 2, SETTINGS, rng=np.random.default_rng(5), restarts=4, iterations=60)
    starts = random_starts(np.random.default_rng(5), 3, 4, 5, 2)
    for s, (alpha, penalty) in enumerate(SETTINGS):
        f = RobustObjective.of(shares, radii(COUNTS[2], alpha)[None], np.array([penalty]))
        alone = [_iterate(matrices, f, starts[s, r : r + 1], 60)[1][0] for r in range(4)]
        np.testing.assert_allclose(together.runs[s, :4], alone, rtol=1e-9)
    given = descend(matrices, COUNTS[2], 2, SETTINGS, starts=starts.swapaxes(2, 3), iterations=60)
    np.testing.assert_array_equal(given.runs, together.runs)
    assert together.runs.shape == (3, 5)
    np.testing.assert_array_equal(together.objective, together.runs.min(axis=1))
    values = [
        objective(errors(matrices, V), shares, radii(COUNTS[2], alpha), penalty)
        for V, (alpha, penalty) in zip(together.V, SETTINGS, strict=True)
    ]
    np.testing.assert_allclose(values, together.objective, rtol=1e-12)


def test_without_radius_and_penalty_it_is_pca():
    matrices, shares, rng = problem()
    run = descend(matrices, COUNTS[2], 2, [(0.0, 0.0)], rng=rng, restarts=3, iterations=3000, warm_start=False)
    assert angle(run.V[0], top_eigenspace(np.einsum("g,gde->de", shares, matrices), 2)[1]) < 1e-8


def test_never_below_the_exact_optimum_and_short_of_it_where_the_penalty_is_heavy():
    matrices, shares, rng = problem(seed=4)
    settings = [(a, p) for a in (0.05, 0.15) for p in (0.0, 1.0, 2.5)]
    joint = JointRange(*matrices, 2)
    exact = np.array([solve_exact(joint, shares, radii(COUNTS[2], a), p)[1].primal for a, p in settings])
    published = descend(matrices, COUNTS[2], 2, settings, rng=rng, iterations=300).objective / exact - 1.0
    assert published.min() > -1e-9
    assert published[0] < 1e-6
    assert published.max() > 1e-3


def test_the_released_program_lowers_the_penalty_where_its_own_conditions_fail():
    matrices = np.array([np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 0.001, 0.0])])
    settings, clipped = clip_lambda(matrices, np.array([75.0, 25.0]), 1, [(0.1, 0.2), (0.1, 1.0), (0.0, 1.0)])
    np.testing.assert_array_equal(clipped, [False, True, False])
    np.testing.assert_array_equal(settings[:, 1], [0.2, 0.25, 1.0])
