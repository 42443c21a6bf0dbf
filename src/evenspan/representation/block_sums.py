"""What the noisy power method takes from the rows: sums that add, never a d x d object."""

from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError


@dataclass(eq=False)
class BlockSums:
    r"""Sums over rows x with groups, all taken about one origin o near the data. ``a + b`` are those of all rows.

    Parameters
    ----------
    counts : ndarray of shape (G,)
        Rows of each group.
    sums : ndarray of shape (G, d)
        :math:`\sum_i (x_i - o)` over the rows of each group, in double precision.
    products : ndarray of shape (L, d, w)
        :math:`\sum_i l(i)\, (x_i - o)(x_i - o)^\top W` for the operand W (d, w): one slab where all rows count alike,
        two (rows inside, rows outside each comparison) for the gap.
    squares : float
        :math:`\sum_i \|x_i - o\|^2`; 0 where it was not asked for.
    rows : int
        Number of rows.
    """

    counts: np.ndarray
    sums: np.ndarray
    products: np.ndarray
    squares: float = 0.0
    rows: int = 0

    def __iadd__(self, other: "BlockSums") -> "BlockSums":
        self.counts += other.counts
        self.sums += other.sums
        self.products += other.products
        self.squares += other.squares
        self.rows += other.rows
        return self

    def __add__(self, other: "BlockSums") -> "BlockSums":
        copy = BlockSums(self.counts.copy(), self.sums.copy(), self.products.copy(), self.squares, self.rows)
        copy += other
        return copy


@dataclass(frozen=True, eq=False)
class Operand:
    """What every batch of a block is multiplied with.

    Parameters
    ----------
    W : ndarray of shape (d, w)
        The columns; its dtype is that of the computation.
    sides : tuple of ndarray of shape (G, w)
        For each slab of products, which groups count in which column (booleans); empty when all rows count.
    origin : ndarray of shape (d,)
        A point near the data.
    squares : bool
        Whether the sum of squares is wanted.
    """

    W: np.ndarray
    sides: tuple[np.ndarray, ...]
    origin: np.ndarray
    squares: bool = False


def batch_sums(X: np.ndarray, codes: np.ndarray, G: int, operand: Operand) -> BlockSums:
    """The sums of one batch X (q, d) with group codes (q,): two products with X, and no other object larger than d x w.

    The rows are never shifted. The inner product is, (X - o)'W = XW - o'W, and the outer one is corrected afterwards
    by a matrix of rank one.
    """
    W, origin = operand.W, operand.origin
    X = np.ascontiguousarray(X, dtype=W.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        # Narrow times wide: OpenBLAS needs a third less time for (W'X')' and (Z'X)' than for XW and X'Z.
        Y = (W.T @ X.T).T - origin @ W
        slabs = [Y * side[codes] for side in operand.sides] or [Y]
        Z = np.hstack([*slabs, codes[:, None] == np.arange(G)]).astype(W.dtype, copy=False)
        products = np.ascontiguousarray(Z.T) @ X
        totals = Z.sum(axis=0, dtype=np.float64)
        for row, total in zip(products, totals.astype(W.dtype), strict=True):
            row -= total * origin
    # One entry that is not finite makes its whole feature's products so, whatever it is multiplied with.
    if not np.isfinite(products[-G:]).all() or not np.isfinite(Y).all():
        raise DataError(_not_finite(X))
    L, w = len(slabs), W.shape[1]
    sums = products[L * w :].astype(np.float64)
    squares = 0.0
    if operand.squares:
        lengths = np.einsum("qd,qd->q", X, X).astype(np.float64)
        total = float(lengths.sum(axis=0))
        far = origin.astype(np.float64)
        count = float(totals[-G:].sum(axis=0))
        squares = total - 2.0 * float(far @ sums.sum(axis=0)) - count * float(far @ far)
    slab_products = products[: L * w].reshape(L, w, X.shape[1]).transpose(0, 2, 1)
    return BlockSums(totals[-G:].copy(), sums, slab_products, squares, len(X))


def about(product: np.ndarray, total: np.ndarray, count: float, shift: np.ndarray, W: np.ndarray) -> np.ndarray:
    r"""The product :math:`\sum_i (x_i - c)(x_i - c)^\top W` about another point c, from that about the origin o.

    With :math:`\delta = c - o` and :math:`s = \sum_i (x_i - o)` it is
    :math:`A - s (\delta^\top W) - \delta (s^\top W) + n\, \delta (\delta^\top W)`.
    """
    shift, total = shift.astype(W.dtype), total.astype(W.dtype)
    inner = shift @ W
    # Column after column in memory, as the products are.
    moved = np.outer(W.dtype.type(count) * inner - total @ W, shift).T
    moved -= np.outer(inner, total).T
    moved += product
    return moved


def _not_finite(X: np.ndarray) -> str:
    bad = ~np.isfinite(X)
    columns = np.flatnonzero(bad.any(axis=0))
    if not len(columns):
        return f"products of the rows overflow {X.dtype}: the values are finite but too large. Rescale the data."
    shown = ", ".join(f"{j} ({int(bad[:, j].sum(axis=0))})" for j in columns[:5]) + (
        ", ..." if len(columns) > 5 else ""
    )
    first = int(np.flatnonzero(bad.any(axis=1))[0])
    return (
        f"NaN or inf in column (number of entries) {shown}; the first is in row {first} of the batch. Needed are "
        "finite numbers. Impute or drop the rows; evenspan never fills in values by itself."
    )
