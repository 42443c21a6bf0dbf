"""What the experiments need besides the library: covFairPCA as published, and rules for columns of a joint basis."""

import numpy as np

from evenspan.reconstruction.disparity import DisparityFairPCA, Family
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.jevd import largest_columns

#: What the released program allows an error to exceed the larger error of PCA by, and where its search ends.
RELEASED_SLACK, RELEASED_WIDTH = 1e-6, 1e-6
ORDERS = ("pooled", "average", "maxmin", "as_is")


def search_reference(family: Family, constrained: bool) -> tuple[np.ndarray, float, int]:
    """Golden section on the squared difference as printed; nothing is checked at the alpha returned."""
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    low, high, evaluations = 0.0, 1.0, 0
    while high - low > RELEASED_WIDTH:
        first, second = high - (high - low) / golden, low + (high - low) / golden
        at_first, at_second = (errors(family.matrices, family.basis(alpha)) for alpha in (first, second))
        evaluations += 2
        better = np.ptp(at_first, axis=0) < np.ptp(at_second, axis=0)
        if better and (not constrained or (at_first <= family.cap + RELEASED_SLACK).all()):
            high = second
        else:
            low = first
    alpha = 0.5 * (low + high)
    return family.basis(alpha), alpha, evaluations + 1


class CovFairPCA(DisparityFairPCA):
    """c-FPCA by golden section, as its authors and the tables have it: the constraint can be missed at the end."""

    _search = staticmethod(search_reference)

    def __init__(self, n_components=2, *, constrained=True):
        super().__init__(n_components, constrained=constrained)


def order_columns(U: np.ndarray, matrices: np.ndarray, shares: np.ndarray, k: int, order: str = "pooled") -> np.ndarray:
    r"""Which k columns of a joint basis, compared at length 1, become components; the paper does not say.

    By decreasing :math:`u^\top (\sum_g p_g S_g) u` ("pooled"); the same with equal shares ("average"); greedily, with
    the largest loss of the columns so far as small as possible ("maxmin"); or as they stand ("as_is")."""
    if order == "as_is":
        return np.arange(k)
    if order == "pooled":
        return largest_columns(U, matrices, shares)[:k]
    unit = U / np.linalg.norm(U, axis=0)
    forms, eigenvalues = np.einsum("dj,gdj->gj", unit, matrices @ unit), np.linalg.eigvalsh(matrices)[:, ::-1]
    if order == "average":
        return np.argsort(-forms.mean(axis=0), kind="stable")[:k]
    lost, left, chosen = np.zeros(len(forms)), np.ones(forms.shape[1], dtype=bool), []
    for j in range(k):
        lost = lost + eigenvalues[:, j]
        largest = np.where(left, (lost[:, None] - forms).max(axis=0), np.inf)
        # Columns that tie but for rounding errors: the first of them.
        best = int(np.argmax(largest <= largest.min() + 1e-10 * eigenvalues[:, 0].max()))
        lost, left[best] = lost - forms[:, best], False
        chosen.append(best)
    return np.array(chosen)
