"""No projection passes the frontier, and the frontier is reached: against random and exhaustive projections."""

import numpy as np
import pytest

from evenspan import DisparityFairPCA, MinMaxFairPCA
from evenspan.auditing.analyse import frontier
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import errors, group_matrices

from .tables import plain, rows

K = 2
WORST = ("worst error", "worst loss")
GAPS = ("error gap", "loss gap")


def moments(G=2):
    return GroupMoments.from_data(*rows((900, 500, 300, 200)[:G], 6))


def measures(E, own, shares):
    """Average error and every y, for errors (..., G)."""
    losses = E - own
    y = E.max(axis=-1), losses.max(axis=-1), np.ptp(E, axis=-1), np.ptp(losses, axis=-1)
    return E @ shares, dict(zip((*WORST, *GAPS), y, strict=True))


def near(found, rng, n=4000):
    """Errors of random projections, most of them near those that mixtures of the groups ask for."""
    matrices, G, d, _ = found, *found.shape
    for i in range(n):
        v = rng.dirichlet(np.ones(G)) - (i % 3 == 0) * rng.random() * np.eye(G)[rng.integers(G)]
        V = top_eigenspace(np.tensordot(v, matrices, axes=1), K)[1]
        noise = rng.choice([0.0, 0.01, 0.1, 1.0])
        yield errors(matrices, np.linalg.qr(V + noise * rng.normal(size=(d, K)))[0])


@pytest.mark.parametrize("G", [2, 3, 4])
def test_no_projection_is_below_a_bound_and_the_ends_are_reached(G):
    seen = moments(G)
    found, matrices = frontier(seen, K, losses=True), group_matrices(seen)
    E = np.array(list(near(matrices, np.random.default_rng(G))))
    x, y = measures(E, found.own, seen.counts / seen.n)
    assert set(found.curves) == {*WORST, *(GAPS if G == 2 else ())}
    for name, curve in found.curves.items():
        scale = curve.points[0, 0]
        assert (y[name] >= curve.least(x) - 1e-9 * scale).all()
        assert (x >= curve.cheapest(y[name]) - 1e-9 * scale).all()
        # The control: bounds raised by a hundredth of the way from PCA to the smallest y are passed.
        drop = 0.01 * (curve.points[0, 1] - curve.points[-1, 1])
        assert (curve.points[:, 1] < curve.least(curve.points[:, 0]) + drop).any()
        # Points are attained from PCA on, and meet their bounds at both ends.
        (x_on, y_on), bound = curve.points.T, curve.least(curve.points[:, 0])
        assert ((np.diff(x_on) > 0) & (np.diff(y_on) < 0)).all()
        assert ((bound <= y_on + 1e-9 * scale) & (y_on - bound <= 10 * drop)).all()
        assert np.isclose(y_on[-1], bound[-1], atol=0.2 * drop if G > 2 else 1e-6 * scale)
        pca = np.trace(seen.scatter) / seen.n - top_eigenspace(seen.scatter / seen.n, K)[0].sum(axis=0)
        assert np.isclose(scale, pca, rtol=1e-10)


def test_ends_of_the_curves_are_the_certified_optima_by_another_route():
    seen = moments(2)
    curves = frontier(seen, K, losses=True).curves
    for objective in ("error", "loss"):
        exact = MinMaxFairPCA(K, objective=objective, center="overall").fit_moments(seen)
        assert np.isclose(curves[f"worst {objective}"].points[-1, 1], exact.objective_, rtol=1e-6)
    disparity = DisparityFairPCA(K).fit_moments(seen)
    last = curves["error gap"].points[-1]
    assert np.isclose(last[0], seen.counts @ disparity.group_errors_ / seen.n, rtol=1e-6)
    assert np.isclose(last[1], disparity.gap_, atol=1e-8)


def test_a_line_that_is_the_average_up_to_rounding_bounds_nothing():
    """Such a line, of slope 1e-17, has any height at the point of PCA: of these shares every third put it too high."""
    table = plain(500)
    seen = GroupMoments.from_data(table[list("abcd")].to_numpy(), table["team"].to_numpy())
    for size in range(22, 34):
        ratio = np.array([1.0, size / 30.0])
        scatters = seen.scatters * ratio[:, None, None]
        weighted = GroupMoments(seen.labels, seen.counts * ratio, seen.means, scatters)
        for name, curve in frontier(weighted, 2, losses=True).curves.items():
            assert (curve.least(curve.points[:, 0]) <= curve.points[:, 1] * (1 + 1e-9) + 1e-12).all(), (size, name)
