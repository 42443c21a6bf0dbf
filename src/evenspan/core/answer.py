r"""The answer of every linear method: a subspace, where it is attached, a certificate, and what else was learnt.

A certificate is evidence of how far from optimal an answer can be, and of what problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .inputs import in_pandas
from .linalg import fix_signs, symmetrise

#: What a certificate is about.
Scope = Literal["whole problem", "bound", "last step"]


@dataclass(frozen=True)
class Certificate:
    """A value reached, a bound that no feasible answer can pass, and how well the constraints are met.

    ``scope`` is one of three words, by the problem that the docstring of the method states:

    - "whole problem": the certificate is about that problem, and the optimum is its bound;
    - "bound": no answer to the problem passes the bound, which can be out of reach, so that a gap may stay;
    - "last step": it is about one step alone, as a rule the last, and takes what the other steps did as given. Nothing
      is said about the method as a whole.

    Parameters
    ----------
    problem : str
        What was maximised or minimised, over what.
    primal : float
        The objective at the answer.
    dual : float
        A bound on the objective over all feasible answers, from a dual feasible point: an upper one where the
        objective is maximised, a lower one where it is minimised.
    feasibility : float
        Largest violation of the constraints, relative to the size of the data.
    sense : {"max", "min"}
        Whether the objective is maximised or minimised.
    weights : tuple of float, optional
        The dual point, where it is one weight for each group.
    evaluations : int, optional
        How many eigenvalue problems were solved to find it.
    scope : {"last step", "bound", "whole problem"}
        What is certified; "last step" says least.

    Examples
    --------
    >>> Certificate("largest trace over orthonormal V", primal=2.0, dual=2.5, scope="bound")
    Certificate(bound, gap 0.5: largest trace over orthonormal V; reached 2, bound 2.5, violation 0)
    """

    problem: str
    primal: float
    dual: float
    feasibility: float = 0.0
    sense: Literal["max", "min"] = "max"
    weights: tuple[float, ...] | None = None
    evaluations: int | None = None
    scope: Scope = "last step"

    def __repr__(self) -> str:
        found = f"reached {self.primal:.9g}, bound {self.dual:.9g}, violation {self.feasibility:.2g}"
        weights = "" if self.weights is None else f", weights ({', '.join(f'{w:.6g}' for w in self.weights)})"
        return f"Certificate({self.scope}, gap {self.gap:.3g}: {self.problem}; {found}{weights})"

    @property
    def gap(self) -> float:
        """The distance from the value reached to the bound, which is the most that any other answer can gain."""
        return self.dual - self.primal if self.sense == "max" else self.primal - self.dual

    def is_optimal(self, rtol: float = 1e-9) -> bool:
        """Whether gap and constraint violation are both below ``rtol``, the gap relative to the objective.

        The answer is then optimal for ``problem``: of scope "last step", for that step alone.
        """
        scale = max(abs(self.primal), abs(self.dual), np.finfo(float).tiny)
        return -rtol * scale <= self.gap <= rtol * scale and self.feasibility <= rtol


@dataclass(frozen=True, eq=False)
class FairSubspace:
    """An orthonormal basis with its offset; it can apply itself and nothing else.

    Parameters
    ----------
    V : ndarray of shape (d, k)
        Orthonormal columns. Only their span is identified; the sign convention makes printed loadings stable.
    mean : ndarray of shape (d,)
        Subtracted from a point before it is projected.
    certificate : Certificate
        How far from optimal the subspace can be.
    scale : ndarray of shape (d,), optional
        A point is divided by this after the mean was subtracted; V then lives in standardised coordinates.

    Examples
    --------
    >>> subspace = FairSubspace(np.array([[1.0], [0.0]]), np.array([1.0, 1.0]), Certificate("none", 1.0, 1.0))
    >>> subspace.apply(np.array([[3.0, 5.0]]))
    array([[2.]])
    >>> subspace.restore(np.array([[2.0]]))
    array([[3., 1.]])
    """

    V: np.ndarray
    mean: np.ndarray
    certificate: Certificate
    scale: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "V", fix_signs(self.V))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k) of the rows of X in the subspace."""
        return affine(in_pandas(X), self.V if self.scale is None else self.V / self.scale[:, None], self.mean)

    def restore(self, T: np.ndarray) -> np.ndarray:
        """The points (n, d) of the subspace that have coordinates T (n, k)."""
        A = self.V.T if self.scale is None else self.V.T * self.scale
        return in_pandas(T) @ A + self.mean


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns for its moments or points: the subspace, and what else was learnt on the way.

    ``learnt`` holds fitted attributes of the estimator by name, ``{"dual_weights_": ..., "n_iter_": ...}``.
    """

    subspace: FairSubspace
    learnt: Mapping[str, Any] = field(default_factory=dict)


def affine(X: np.ndarray, A: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """``(X - offset) @ A`` (n, k), without a centred or dense copy of X."""
    return X @ A - offset @ A


def ky_fan_certificate(
    H: np.ndarray, A: np.ndarray, problem: str, feasibility: float = 0.0, *, scope: Scope = "last step"
) -> Certificate:
    r"""Certify that the columns of A span a leading eigenspace of the symmetric H.

    The largest trace of :math:`A^\top H A` over orthonormal A with k columns has the dual

    .. math:: \min_{t,\, M \succeq 0} \; k t + \operatorname{tr} M \quad \text{subject to} \quad t I + M \succeq H ,

    because :math:`\operatorname{tr} HP \le k t + \operatorname{tr} MP \le k t + \operatorname{tr} M` for every
    projector P of rank k. At the answer :math:`M = A(\Theta - tI)A^\top` with :math:`\Theta = A^\top H A` and :math:`t`
    its smallest eigenvalue. The bound is made rigorous by raising t to the largest eigenvalue of :math:`H - M`, which
    one more eigenvalue computation gives: an error in A shows up as a positive gap.

    Complexity
    ----------
    O(d^3), about a third of the eigendecomposition it checks.

    References
    ----------
    K. Fan (1949), On a theorem of Weyl concerning eigenvalues of linear transformations I.
    """
    m, k = A.shape
    H = symmetrise(H)
    # Orthonormality is a constraint too: longer columns would reach more than any feasible answer can.
    feasibility = max(feasibility, float(np.abs(A.T @ A - np.eye(k)).max(initial=0.0)))
    theta = symmetrise(A.T @ H @ A)
    primal = float(np.trace(theta))
    if k == m:
        return Certificate(problem, primal, float(np.trace(H)), feasibility, scope=scope)
    t = float(np.linalg.eigvalsh(theta)[0])
    M = A @ (theta - t * np.eye(k)) @ A.T
    t_feasible = max(t, float(np.linalg.eigvalsh(symmetrise(H - M))[-1]))
    return Certificate(problem, primal, k * t_feasible + float(np.trace(M)), feasibility, scope=scope)
