r"""The exact min-max projection of two groups in many dimensions, without a full eigendecomposition.

Within the span of an orthonormal Q the problem is the same one for :math:`Q^\top S_g Q`, and small. Its answer is a
projector of the whole problem; the span grows by the residuals of that answer until they vanish, which gives a value,
a weight w, and offsets that are too small if anything. What they leave open is closed by three factorisations:

.. math::
    \operatorname{top}_k(H) \;\le\; \operatorname{tr} \Theta + \frac{\lVert R \rVert_F^2}{\theta_k - s},
    \qquad \Theta = V^\top H V, \quad R = H V - V \Theta, \quad s < \theta_k = \lambda_{\min}(\Theta) ,

whenever the Cholesky factorisation of :math:`s I - H + V D V^\top` exists for a diagonal D. For then no direction
orthogonal to V has a quotient above s, and :math:`tI + M \succeq H` with :math:`t = \theta_k` and
:math:`M = V(\Theta - tI + R^\top R / (\theta_k - s)) V^\top`, so that Ky Fan's dual :math:`k t + \operatorname{tr} M`
is the bound. It is needed at w, where it makes the dual value a lower bound, and for losses of both groups, where
it makes the value of V an upper one.
"""

from typing import Literal

import numpy as np

from ..core.answer import Certificate
from ..core.linalg import rest_is_below, symmetrise, top_eigenspace
from ..core.options import one_of
from .group_errors import require_rank
from .min_max import Search, solve_dense

#: Further columns that are carried along with the k wanted ones.
BUFFER = 2
#: Columns of a basis, as a multiple of the block, at which it is cut back to its leading Ritz vectors.
LONGEST = 15
#: Rounds of growth after which the dense solver takes over.
ROUNDS = 40
#: Residuals over the largest eigenvalue at which single precision is left. At d = 1000 it stalls below 4e-7.
SINGLE = 3e-6
#: Rows of the random block that a Krylov space in single precision grows from: fewer give a higher degree.
LANES = 4


def solve_min_max_krylov(
    S0: np.ndarray,
    S1: np.ndarray,
    k: int,
    objective: Literal["loss", "error"] = "loss",
    *,
    rtol: float = 1e-9,
    certify: bool = True,
) -> tuple[np.ndarray, Certificate]:
    """As ``solve_min_max``, from block Krylov spaces; meant for several hundred features and small k.

    Where eigenvalues tie at the cut, at the best weight or (for losses) in a group, where convergence is slow, or where
    the proof fails for any other reason, the dense solver is called and its answer returned.

    Parameters
    ----------
    S0, S1, k, objective
        As for ``solve_min_max``.
    rtol : float
        Largest gap over value that is accepted.
    certify : bool
        Prove by factorisations that no eigenvector was missed. Without, the certificate rests on residuals alone: it
        assumes that the Krylov spaces, which start from a random block, have found the leading eigenvectors.

    Returns
    -------
    V : ndarray of shape (d, k)
        Orthonormal basis.
    certificate : Certificate
        Value and bound include what the residuals leave open. ``evaluations`` counts the small eigenvalue problems.

    Complexity
    ----------
    O(d^2 k) for each of 10 to 30 block products, most of them in single precision, and d^3 / 3 for each factorisation
    (three for losses, one for errors). A factorisation is in single precision where the distance of the eigenvalues
    at the cut exceeds d units of rounding in it, a usual size of its error and not a worst case; otherwise in double
    precision.

    References
    ----------
    K. Fan (1949), On a theorem of Weyl concerning eigenvalues of linear transformations I.
    Y. Saad (2011), Numerical Methods for Large Eigenvalue Problems, section 6.9 (block Krylov spaces).
    """
    one_of("loss", "error").require("objective", objective)
    k = require_rank(k, len(S0))
    S = tuple(M if _symmetric(M) else symmetrise(M) for M in (S0, S1))
    answer = _Attempt(S, k, objective, rtol).run(certify) if 4 * (k + BUFFER) < len(S0) else None
    return solve_dense(*S, k, objective, rtol=rtol) if answer is None else answer


class _Span:
    """Orthonormal rows, with their images under one or two matrices, in the precision of these."""

    def __init__(self, matrices: tuple[np.ndarray, ...], rows: np.ndarray, block: int):
        self.matrices, self.block, self.m, self.last = matrices, block, 0, 0
        longest, kind = LONGEST * block + len(rows), matrices[0].dtype
        self.Q = np.empty((longest, rows.shape[1]), kind)
        self.images = [np.empty_like(self.Q) for _ in matrices]
        self.small = np.zeros((len(matrices), longest, longest))
        self.add(rows.astype(kind, copy=False))

    def projected(self) -> np.ndarray:
        return self.small[:, : self.m, : self.m]

    def rows(self, Y: np.ndarray) -> np.ndarray:
        return Y.T.astype(self.Q.dtype, copy=False) @ self.Q[: self.m]

    def add(self, rows: np.ndarray) -> bool:
        """Append what is new in the rows; whether anything is."""
        Q, noise = self.Q[: self.m], 50.0 * float(np.finfo(self.Q.dtype).eps)
        sizes = np.sqrt(np.einsum("md,md->m", rows, rows))
        rows = rows / np.where(sizes > 0, sizes, 1)[:, None]
        for _ in range(2):
            if self.m:
                rows = rows - (rows @ Q.T) @ Q
            values, rotation = np.linalg.eigh(rows @ rows.T)
            new = values > noise
            rows = (rotation[:, new] / np.sqrt(values[new])).T @ rows
        old, self.last, self.m = self.m, self.m, self.m + len(rows)
        self.Q[old : self.m] = rows
        for A, S, small in zip(self.images, self.matrices, self.small, strict=True):
            np.matmul(rows, S, out=A[old : self.m])
            cross = A[old : self.m] @ self.Q[: self.m].T
            small[old : self.m, : self.m] = cross
            small[:old, old : self.m] = cross[:, :old].T
        return self.m > old

    def power(self, weights: tuple[float, ...], steps: int) -> bool:
        """Append the images of the last rows, and so on; whether anything is new."""
        kind = self.Q.dtype.type
        for _ in range(steps):
            parts = [kind(w) * A[self.last : self.m] for w, A in zip(weights, self.images, strict=True)]
            if not self.add(sum(parts[1:], start=parts[0])):
                return False
        return True

    def residual(self, weights: tuple[float, ...], values: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Rows of the residuals of Ritz vectors QY under the weighted sum of the matrices."""
        kind = self.Q.dtype.type
        R = (Y * -values).T.astype(kind, copy=False) @ self.Q[: self.m]
        for w, A in zip(weights, self.images, strict=True):
            R += (kind(w) * Y.T).astype(kind, copy=False) @ A[: self.m]
        return R

    def grow(self, weights: tuple[float, ...], Y: np.ndarray, R: np.ndarray) -> bool:
        """Append residuals and their images; a basis that would be too long is cut to its leading Ritz vectors."""
        if self.m + 2 * len(R) > len(self.Q):
            keep = Y[:, : 2 * self.block]
            n = keep.shape[1]
            self.Q[:n] = self.rows(keep)
            for A in self.images:
                A[:n] = keep.T.astype(A.dtype, copy=False) @ A[: self.m]
            self.small[:, :n, :n] = keep.T @ self.projected() @ keep
            self.m = n
        if not self.add(R):
            return False
        if self.Q.dtype == np.float32:
            self.power(weights, 1)
        return True


def _symmetric(M: np.ndarray) -> bool:
    """Whether M is symmetric up to rounding, from its product with a random vector from both sides."""
    x = np.random.default_rng(1).normal(size=len(M))
    left, right = x @ M, M @ x
    return bool(np.abs(left - right).max(axis=0) <= 1e-14 * np.sqrt(len(M)) * np.abs(left).max(axis=0))


class _Attempt:
    """One problem; every method gives None or False where the dense solver has to take over."""

    def __init__(self, S: tuple[np.ndarray, np.ndarray], k: int, objective: str, rtol: float):
        self.S, self.k, self.objective, self.rtol = S, k, objective, rtol
        self.d, self.evaluations = len(S[0]), 0
        self.single: tuple[np.ndarray, ...] = ()

    def run(self, certify: bool) -> tuple[np.ndarray, Certificate] | None:
        d, k, b = self.d, self.k, self.k + BUFFER
        loss = self.objective == "loss"
        if not all(1e-12 < np.trace(S) < 1e12 for S in self.S):  # squares have to stay within single precision
            return None
        rng = np.random.default_rng(0)  # any block will do; a fixed one gives the same answer every time
        steps, leading = -(-b // LANES), []
        self.single = tuple(S.astype(np.float32) for S in self.S)
        # In single precision first, as far as that goes: half the time for each product.
        for S in self.single:
            span = _Span((S,), rng.normal(size=(LANES, d)), b)
            found = self.lead(span, 0.0 if loss else 0.1, steps)
            if found is None:
                return None
            leading.append(span.rows(found[1][:, :b]))
        a = np.array([np.trace(S) for S in self.S])
        groups = []
        if loss:
            groups = [_Span((S,), rows, b) for S, rows in zip(self.S, leading, strict=True)]
            a = np.array([top_eigenspace(span.projected()[0], k)[0].sum(axis=0) for span in groups])
        joint = _Span(self.single, np.vstack(leading), b)
        small = Search(*joint.projected(), k)
        _, value, w, _ = small.solve(a, 1e-6, {end: small.eigen(end) for end in (0.0, 1.0)})
        self.evaluations += small.evaluations
        found = self.balance(joint, a, w, 0.0)
        if found is None:
            return None
        w, values, Y, _ = found
        joint = _Span(self.S, joint.rows(Y[:, :b]), b)
        floor = 64.0 * np.finfo(float).eps * float(np.abs(a).sum(axis=0) + values[:k].sum(axis=0))
        for _ in range(3):
            allowed = max(0.3 * self.rtol * abs(value), floor)
            excess = np.zeros(2)
            for g, span in enumerate(groups):
                found = self.lead(span, allowed)
                if found is None:
                    return None
                values, Y, R = found
                a[g] = values[:k].sum(axis=0)
                excess[g] = self.excess(span, values, Y, R, (1.0 - g, float(g)), certify)
                if not np.isfinite(excess[g]):
                    return None
            found = self.balance(joint, a, w, allowed)
            if found is None:
                return None
            w, values, Y, R = found
            kept = np.array([np.vdot(Y[:, :k], H @ Y[:, :k]) for H in joint.projected()])
            value = float((a + excess - kept).max())
            dual = float(w * a[0] + (1.0 - w) * a[1] - values[:k].sum(axis=0))
            if value - dual <= max(0.8 * self.rtol * abs(value), 2.0 * floor):
                dual -= self.excess(joint, values, Y, R, (w, 1.0 - w), certify)
                if not value - dual <= max(self.rtol * abs(value), 4.0 * floor):
                    return None
                problem = f"largest {self.objective} of the two groups over projectors of rank {k}"
                weights = (w, 1.0 - w)
                return joint.rows(Y[:, :k]).T, Certificate(problem, value, dual, 0.0, "min", weights, self.evaluations)
        return None

    def lead(self, span: _Span, allowed: float, steps: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Ritz values and coordinates, and residuals of the leading block, once what these leave open is allowed."""
        if steps and not span.power((1.0,), 2 * steps):
            return None
        for _ in range(ROUNDS):
            values, Y = top_eigenspace(span.projected()[0], span.m)
            self.evaluations += 1
            n = min(span.block, len(values))
            R = span.residual((1.0,), values[:n], Y[:, :n])
            if self.settled(values, R, allowed):
                return values, Y, R
            fits = span.m + steps * (span.m - span.last) <= len(span.Q)
            if not (span.power((1.0,), steps) if steps and fits else span.grow((1.0,), Y, R)):
                return None
        return None

    def settled(self, values: np.ndarray, R: np.ndarray, allowed: float) -> bool:
        """Whether residuals are small enough, or as small as single precision makes them."""
        distance = values[self.k - 1] - values[self.k]
        size = float(np.vdot(R[: self.k], R[: self.k]))
        if R.dtype == np.float32 and size <= self.k * (SINGLE * float(values[0])) ** 2:
            return True
        return distance > 0 and size <= 0.25 * distance * allowed

    def balance(self, span: _Span, a: np.ndarray, w: float, allowed: float):
        """The best weight within the span, which grows until what its residuals leave open is allowed."""
        n = span.block
        for _ in range(ROUNDS):
            w, values, Y = self.newton(span.projected(), a, w, allowed)
            R = span.residual((w, 1.0 - w), values[:n], Y[:, :n])
            if self.settled(values, R, allowed):
                return w, values, Y, R
            if not span.grow((w, 1.0 - w), Y, R):
                return None
        return None

    def newton(self, H: np.ndarray, a: np.ndarray, w: float, allowed: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Newton's method for the weight, from a good one; what it does not solve shows as a gap."""
        k, D = self.k, H[0] - H[1]
        for _ in range(8 if allowed else 2):
            values, Y = top_eigenspace(w * H[0] + (1.0 - w) * H[1], len(D))
            self.evaluations += 1
            DY = Y.T @ (D @ Y[:, :k])
            slope = float(a[0] - a[1] - np.trace(DY[:k]))
            inward = min(max(w + slope, 0.0), 1.0) != w
            if abs(slope) <= max(0.1 * allowed, 1e-15 * a.sum(axis=0)) or not inward:
                break
            distance = np.maximum(values[:k] - values[k:, None], 1e-14 * abs(values[0]))
            bend = 2.0 * float((DY[k:] ** 2 / distance).sum(axis=None))
            step = min(max(w + slope / bend, 0.0), 1.0) if bend > 0 else w
            if step == w:
                break
            w = step
        return w, values, Y

    def excess(self, span: _Span, values, Y, R, weights: tuple[float, float], certify: bool) -> float:
        """How far above the sum of the leading Ritz values that of the eigenvalues can be; infinite if unproved."""
        k, d = self.k, self.d
        distance = float(values[k - 1] - values[k])
        s = float(values[k] + 0.75 * distance)
        unit = float(np.finfo(np.float32).eps)
        if certify:
            exact = 0.5 * distance <= d * unit * abs(s) + 8.0 * unit * abs(float(values[0]))
            if exact and 0.5 * distance <= d * np.finfo(float).eps * abs(values[0]):
                return np.inf
            kind = np.float64 if exact else np.float32
            factors = [(kind(v), S) for v, S in zip(weights, self.S if exact else self.single, strict=True) if v != 0]
            H = factors[0][0] * factors[0][1]
            for v, S in factors[1:]:
                H += v * S
            if not rest_is_below(H, s, values[:k], span.rows(Y[:, :k]).T.astype(kind)):
                return np.inf
        return float(np.vdot(R[:k], R[:k]) / (values[k - 1] - s))
