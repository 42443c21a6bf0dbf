"""Certificates: evidence, carried by every optimised answer, of how far from optimal it can be."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .linalg import symmetrise


@dataclass(frozen=True)
class Certificate:
    """A value reached, a bound that no feasible answer can pass, and how well the constraints are met.

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
    """

    problem: str
    primal: float
    dual: float
    feasibility: float = 0.0
    sense: Literal["max", "min"] = "max"
    weights: tuple[float, ...] | None = None
    evaluations: int | None = None

    @property
    def gap(self) -> float:
        """The distance from the value reached to the bound, which is the most that any other answer can gain."""
        return self.dual - self.primal if self.sense == "max" else self.primal - self.dual

    def is_optimal(self, rtol: float = 1e-9) -> bool:
        """Whether gap and constraint violation are both below ``rtol``, the gap relative to the objective."""
        scale = max(abs(self.primal), abs(self.dual), np.finfo(float).tiny)
        return -rtol * scale <= self.gap <= rtol * scale and self.feasibility <= rtol


def ky_fan_certificate(H: np.ndarray, A: np.ndarray, problem: str, feasibility: float = 0.0) -> Certificate:
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
        return Certificate(problem, primal, float(np.trace(H)), feasibility)
    t = float(np.linalg.eigvalsh(theta)[0])
    M = A @ (theta - t * np.eye(k)) @ A.T
    t_feasible = max(t, float(np.linalg.eigvalsh(symmetrise(H - M))[-1]))
    return Certificate(problem, primal, k * t_feasible + float(np.trace(M)), feasibility)
