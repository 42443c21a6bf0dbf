r"""The worst-case fair objective of group errors, for two groups and for more, and the published descent on it.

With :math:`q_b = \operatorname{tr} M_b (I - VV^\top)` the error of group b, the largest expected error within a
Wasserstein-type ball of radius e about its moments, times a factor v of either sign, is

.. math:: h(v, q, e) = v\,(\sqrt q + \sqrt e)^2 \;\; (v \ge 0), \qquad v \max(\sqrt q - \sqrt e, 0)^2 \;\; (v < 0),

and the objective is the largest, over ordered pairs of groups :math:`a \ne a'`, of

.. math:: J_{aa'}(q) = \sum_b h\bigl(p_b + \lambda [b = a] - \lambda [b = a'],\, q_b,\, \varepsilon_b\bigr) .

For two groups this is Theorem 3.2 of Vu et al. (2022) without its conditions; for more it is Theorem B.2 with the sum
put back that its statement drops. Group errors, radii and penalties may carry leading axes; groups are the last one.

The published iteration moves an orthonormal U of shape (d, d - k), the complement of V:

.. math:: U \leftarrow \operatorname{orth}\bigl(U - \gamma (I - UU^\top) H U\bigr), \qquad H = 2 \sum_g c_g M_g .

With :math:`UU^\top = I - VV^\top` the step is :math:`-\gamma VV^\top H U`, and a vector :math:`v = Vy + Uz` is
orthogonal to :math:`U - \gamma VV^\top HU` exactly if :math:`z = \gamma U^\top H V y`. The complement of the new U is
therefore spanned by

.. math:: V \leftarrow \operatorname{orth}\bigl(V + \gamma (I - VV^\top) H V\bigr) ,

the same iteration at O(d^2 k) instead of O(d^2 (d - k)) per step. The objective and the step depend on the span only,
so the retraction (QR or polar) changes the basis of the iterates and nothing else.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.linalg import top_eigenspace
from .group_errors import best_kept


def radii(counts, alpha) -> np.ndarray:
    """Radius of the ball of every group, alpha / sqrt(N_g), shape (..., G) for alpha of shape (...)."""
    alpha = np.asarray(alpha, dtype=float)
    return alpha[..., None] / np.sqrt(np.asarray(counts, dtype=float))


def worst_case(v, q, e) -> np.ndarray:
    """Largest value of v times an expected error, over the ball of radius e about a distribution with error q."""
    v = np.asarray(v, dtype=float)
    side = np.where(v < 0, -1.0, 1.0)
    return v * np.maximum(np.sqrt(np.maximum(q, 0.0)) + side * np.sqrt(e), 0.0) ** 2


@dataclass(frozen=True, eq=False)
class RobustObjective:
    """The objective with all that does not depend on the errors: factors and signed root radii (..., pairs, G).

    A row of each is a branch, of the ordered pairs in lexicographic order; 0 counts as positive.
    """

    factors: np.ndarray
    shifts: np.ndarray

    @classmethod
    def of(cls, shares, radii, penalty) -> "RobustObjective":
        """For shares (G,), radii (..., G) and penalty (...)."""
        shares, penalty = np.asarray(shares, dtype=float), np.asarray(penalty, dtype=float)
        pairs = ordered_pairs(len(shares))
        signs = np.zeros((len(pairs), len(shares)))
        signs[np.arange(len(pairs)), pairs[:, 0]] = 1.0
        signs[np.arange(len(pairs)), pairs[:, 1]] = -1.0
        factors = shares + penalty[..., None, None] * signs
        roots = np.sqrt(np.asarray(radii, dtype=float))[..., None, :]
        return cls(factors, np.where(factors < 0, -1.0, 1.0) * roots)

    def branches(self, q) -> np.ndarray:
        """J of every ordered pair of groups, shape (..., G (G - 1)); for two groups J_0 and J_1."""
        roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
        return (self.factors * np.maximum(roots + self.shifts, 0.0) ** 2).sum(axis=-1)

    def value(self, q) -> np.ndarray:
        """The objective, shape (...)."""
        return self.branches(q).max(axis=-1)

    def slopes(self, q) -> np.ndarray:
        """Derivative of every branch with respect to every error, shape (..., pairs, G)."""
        # Without a radius there is no term with the root. At q = 0 it is left out: M_g U = 0 there, and any finite
        # coefficient gives the same subgradient.
        roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
        none = np.zeros(np.broadcast_shapes(self.shifts.shape, roots.shape))
        ratios = np.divide(self.shifts, roots, out=none, where=roots > 0)
        return self.factors * np.maximum(1.0 + ratios, 0.0)

    def gradient(self, q) -> np.ndarray:
        """Derivative of the largest branch (the first one on ties) with respect to every error, shape (..., G)."""
        first = self.branches(q).argmax(axis=-1)
        return np.take_along_axis(self.slopes(q), first[..., None, None], axis=-2)[..., 0, :]


def ordered_pairs(G: int) -> np.ndarray:
    """All (a, a') with a different from a', in lexicographic order, shape (G (G - 1), 2)."""
    return np.array([(a, b) for a in range(G) for b in range(G) if a != b])


def objective(q, shares, radii, penalty) -> np.ndarray:
    """The worst-case error plus penalised difference for group errors q (..., G), shape (...)."""
    return RobustObjective.of(shares, radii, penalty).value(q)


def smallest_errors(matrices: np.ndarray, k: int) -> np.ndarray:
    """The smallest error any projection of rank k leaves each group: sum of the d - k smallest eigenvalues, (G,)."""
    return np.trace(matrices, axis1=1, axis2=2) - best_kept(matrices, k)


class Conditions(NamedTuple):
    """Conditions (i) and (ii) of Theorem 3.2: penalty less share, and radius less smallest possible error, (..., G).

    One that is not positive holds, and every group needs one.
    """

    penalty_excess: np.ndarray
    radius_excess: np.ndarray

    @property
    def hold(self) -> np.ndarray:
        """Whether the theorem applies, shape (...)."""
        return (np.minimum(*self) <= 0).all(axis=-1)


def conditions(matrices: np.ndarray, k: int, radii, shares, penalty) -> Conditions:
    """The conditions for radii (..., G) and penalty (...)."""
    radii, shares = np.asarray(radii, dtype=float), np.asarray(shares, dtype=float)
    excess = np.asarray(penalty, dtype=float)[..., None] - shares
    # Rounding must not turn a radius of zero into a violation where the smallest error is zero.
    floor = np.maximum(smallest_errors(matrices, k), 0.0)
    return Conditions(*np.broadcast_arrays(excess, radii - floor))


#: A Gram matrix with larger entries is not factored: Cholesky loses its condition number in orthonormality.
STEEP = 1e3


class Descent(NamedTuple):
    """Basis and value of the best start of every setting, (S, d, k) and (S,); the value of every start, (S, R)."""

    V: np.ndarray
    objective: np.ndarray
    runs: np.ndarray


def descend(
    matrices: np.ndarray,
    counts,
    k: int,
    settings,
    *,
    restarts: int = 20,
    iterations: int = 1000,
    rng: np.random.Generator | None = None,
    starts: np.ndarray | None = None,
    warm_start: bool = True,
) -> Descent:
    """The descent for all settings (alpha, penalty) in one batch, each from random starts or ``starts`` (S, R, d, k).

    With ``warm_start`` the last start is the leading eigenvectors of the pooled second moment, as released. The step
    size is 1 / sqrt(iterations + 1), as published.
    """
    matrices, counts = np.ascontiguousarray(matrices, dtype=float), np.asarray(counts, dtype=float)
    asked, shares = np.array(settings, dtype=float).reshape(-1, 2), counts / counts.sum(axis=0)
    balls = radii(counts, asked[:, 0])
    starts = random_starts(rng, len(asked), restarts, len(matrices[0]), k) if starts is None else starts.swapaxes(2, 3)
    if warm_start:
        _, pooled = top_eigenspace(np.einsum("g,gde->de", shares, matrices), k)
        starts = np.concatenate([starts, np.broadcast_to(pooled.T, (len(asked), 1, *pooled.T.shape))], axis=1)
    R = starts.shape[1]
    f = RobustObjective.of(shares, np.repeat(balls, R, axis=0), np.repeat(asked[:, 1], R))
    rows, values = _iterate(matrices, f, starts.reshape(len(asked) * R, k, -1), iterations)
    runs = values.reshape(len(asked), R)
    best, every = runs.argmin(axis=1), np.arange(len(asked))
    V = rows.reshape(starts.shape)[every, best].swapaxes(1, 2)
    return Descent(np.ascontiguousarray(V), runs[every, best], runs)


def random_starts(rng: np.random.Generator, settings: int, restarts: int, d: int, k: int) -> np.ndarray:
    """Uniformly random subspaces as orthonormal rows, shape (settings, restarts, k, d)."""
    return np.linalg.qr(rng.normal(size=(settings, restarts, d, k)))[0].swapaxes(2, 3)


def _iterate(matrices, f: RobustObjective, rows, iterations: int):
    """Batch of V' (B, k, d) after the last step, and the objective there."""
    (B, k, d), G = rows.shape, len(matrices)
    V, images = np.array(rows, order="C"), np.empty((G, B, k, d))
    totals, length = np.trace(matrices, axis1=1, axis2=2), 1.0 / np.sqrt(iterations + 1.0)

    def errors_of(V):
        for M, image in zip(matrices, images, strict=True):
            np.matmul(V.reshape(B * k, d), M, out=image.reshape(B * k, d))
        return totals - np.einsum("bn,gbn->bg", V.reshape(B, k * d), images.reshape(G, B, k * d))

    for _ in range(iterations):
        # The tangent step (I - VV') H V, where H = 2 sum_g c_g M_g, as rows.
        slopes = 2.0 * f.gradient(errors_of(V))
        step = images[0] * slopes[:, 0, None, None]
        for image, slope in zip(images[1:], slopes.T[1:], strict=True):
            step += image * slope[:, None, None]
        step -= (step @ V.swapaxes(1, 2)) @ V
        step *= length
        V = _orthonormalised(step + V)
    return V, f.value(errors_of(V))


def _orthonormalised(W: np.ndarray) -> np.ndarray:
    """Orthonormal rows with the span of the rows of every W (B, k, d)."""
    # W is I plus something orthogonal to it, so that its Gram matrix is never below I, and Cholesky is safe where the
    # step is not long.
    gram = W @ W.swapaxes(1, 2)
    if gram.max() > STEEP:
        return np.ascontiguousarray(np.linalg.qr(W.swapaxes(1, 2))[0].swapaxes(1, 2))
    return np.linalg.inv(np.linalg.cholesky(gram)) @ W
