"""The fair noisy power method (Lee et al. 2023, Algorithm 2): sums over blocks of rows, and two power iterations.

In the order of the algorithm: the sums of a block, one power step, the gap step of phase 1, what is removed after it,
the component step of phase 2. Nothing here is larger than d x (k + 2m).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ..core.accumulator import BLOCK_ENTRIES
from ..core.errors import DataError, GroupError
from ..core.estimator import require_components
from ..core.inputs import refuse_entries
from .null_it_out import Contrast, nullified_basis

PHASES = ("gap", "components")


# -- the sums of a block ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class BlockSums:
    r"""Sums over rows x with groups, about one origin o near the data.

    ``products`` are :math:`\sum_i (x_i - o)(x_i - o)^\top W` over all rows, or over those inside and outside.
    """

    counts: np.ndarray  # (G,) rows of each group
    sums: np.ndarray  # (G, d) sums of x - o over them, in double precision
    products: np.ndarray  # (L, d, w)
    squares: float = 0.0  # sum of squared lengths of x - o; 0 where it was not asked for
    rows: int = 0

    def __iadd__(self, other: "BlockSums") -> "BlockSums":
        self.counts += other.counts
        self.sums += other.sums
        self.products += other.products
        self.squares += other.squares
        self.rows += other.rows
        return self


@dataclass(frozen=True, eq=False)
class Operand:
    """What every batch of a block is multiplied with."""

    W: np.ndarray  # (d, w), in the precision of the computation
    sides: tuple[np.ndarray, ...]  # for each slab which groups count in which column (G, w); empty when all rows count
    origin: np.ndarray  # (d,) a point near the data
    squares: bool = False  # whether the sum of squares is wanted


def batch_sums(X: np.ndarray, codes: np.ndarray, G: int, operand: Operand, names=None) -> BlockSums:
    """The sums of one batch X (q, d) with group codes (q,): two products with X, and nothing else larger than d x w."""
    # The rows are never shifted: the inner product is, (X - o)'W = XW - o'W; the outer one is corrected by rank one.
    W, origin = operand.W, operand.origin
    X = np.ascontiguousarray(X, W.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        # Narrow times wide: OpenBLAS needs a third less time for (W'X')' and (Z'X)' than for XW and X'Z.
        Y = (W.T @ X.T).T - origin @ W
        slabs = [Y * side[codes] for side in operand.sides] or [Y]
        Z = np.hstack([*slabs, codes[:, None] == np.arange(G)]).astype(W.dtype, copy=False)
        products = np.ascontiguousarray(Z.T) @ X
        totals = Z.sum(axis=0, dtype=np.float64)
        for row, total in zip(products, totals.astype(W.dtype), strict=True):
            row -= total * origin
    sums = products[-G:].astype(np.float64)
    if not np.isfinite(sums).all():  # one bad entry spoils the sum of its column
        refuse_entries(X, names)
    squares, step = 0.0, max(BLOCK_ENTRIES // X.shape[1], 1)  # a few rows at a time: no copy is large
    for part in (X[start : start + step] - origin for start in range(0, len(X) if operand.squares else 0, step)):
        squares += float(np.einsum("qd,qd->q", part, part).sum(axis=0, dtype=np.float64))
    slab_products = products[:-G].reshape(len(slabs), W.shape[1], X.shape[1]).transpose(0, 2, 1)
    return BlockSums(totals[-G:].copy(), sums, slab_products, squares, len(X))


def about(product: np.ndarray, total: np.ndarray, count: float, shift: np.ndarray, W: np.ndarray) -> np.ndarray:
    r"""The product A about another point: :math:`A - s (\delta^\top W) - \delta (s^\top W) + n \delta (\delta^\top W)`.

    Here :math:`\delta` is the shift of the point and s the sum of the n rows about the origin.
    """
    shift, total = shift.astype(W.dtype), total.astype(W.dtype)
    inner = shift @ W
    # Column after column in memory, as all tall matrices are.
    moved = np.outer(W.dtype.type(count) * inner - total @ W, shift).T
    moved -= np.outer(inner, total).T
    moved += product
    return moved


# -- one power step ---------------------------------------------------------------------------------------------------


def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B column after column in memory, as all tall matrices are kept here: sums of two kinds of order are slow."""
    return (B.T @ A.T).T


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis (d, w) of the span of tall columns, in their own precision.

    Two rounds of Cholesky-QR (Yamamoto et al. 2015); reflections where the columns are too nearly dependent for it.
    """
    Q, identity = columns, np.eye(columns.shape[1], dtype=columns.dtype)
    for reach in (np.inf, 0.1):
        products = Q.T @ Q
        lengths = np.sqrt(np.diag(products))
        if not lengths.all() or not linalg.norm(products - identity) <= reach:
            break
        try:
            factor = np.linalg.cholesky(products / np.outer(lengths, lengths), upper=True)
        except np.linalg.LinAlgError:
            break
        Q = times(Q, np.linalg.inv(factor) / lengths[:, None])
    else:
        return Q
    return linalg.qr(columns, mode="economic", check_finite=False)[0]


def random_basis(d: int, width: int, rng: np.random.Generator, dtype) -> np.ndarray:
    """Orthonormal columns (d, width) of uniformly random direction."""
    return orthonormal(rng.standard_normal((d, width)).astype(dtype, copy=False))


def ordered_by_size(product: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One power step on the symmetric H: a basis of the columns of ``product`` = HW; ``inner`` is W'HW.

    Its order is that of the Ritz values of W, by absolute value. Also these values, and the rotation of W to them.
    """
    inner = inner.astype(np.float64)
    values, rotation = np.linalg.eigh(0.5 * (inner + inner.T))
    order = np.argsort(-np.abs(values), kind="stable")
    values, rotation = values[order], rotation[:, order].astype(product.dtype)
    return orthonormal(times(product, rotation)), values, rotation


def subspace_change(before: np.ndarray, after: np.ndarray) -> float:
    """Sine of the largest principal angle between the spans of two orthonormal bases (d, w)."""
    outside = taken_out(after, before).astype(np.float64)
    squared = np.linalg.eigvalsh(outside.T @ outside).max(initial=0.0)
    return float(np.sqrt(min(squared, 1.0)))


def taken_out(V: np.ndarray, U: np.ndarray) -> np.ndarray:
    """V without its part in the span of the orthonormal U; never by a d x d projector."""
    return V - times(U, U.T @ V) if U.shape[1] else V


# -- the method -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class FairPowerMethod:
    """State of the method between blocks, O(d (k + m)) numbers. Sums of a block go in, a basis comes out.

    ``end_gap_phase`` begins the second phase; a gap step needs ``min_group`` rows of each group.
    """

    labels: np.ndarray
    contrasts: tuple[Contrast, ...]
    origin: np.ndarray  # (d,)
    W: np.ndarray  # (d, C m), orthonormal for each comparison
    V: np.ndarray  # (d, k)
    n_gap_directions: int
    constraint: str
    center: str
    on_missing: str = "carry"
    min_group: float = 1.0
    mean_tol: float | None = None
    U: np.ndarray | None = None  # (d, r) once the first phase has ended
    counts: np.ndarray | float = 0.0  # (G,) of all rows of completed blocks
    sums: np.ndarray | float = 0.0  # (G, d) about the origin
    phase: str = "gap"
    carried: BlockSums | None = None  # of blocks that lacked a group
    squares: float = 0.0  # of all rows of the first phase about the origin, where they are needed
    passes: int = 1  # how often each row of the first phase was read
    ritz: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the last gap step (C m,)
    relative_gaps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    variances: np.ndarray | None = None
    total_variance: float = np.nan
    residual: float = np.nan
    history: list[dict] = field(default_factory=list)

    @classmethod
    def begin(cls, n_components, n_gap_directions, labels, found, origin, dtype, rng, **options) -> "FairPowerMethod":
        """The random start."""
        d, m = len(origin), n_gap_directions
        W = [random_basis(d, m, rng, dtype) for _ in found if m]
        V = random_basis(d, n_components, rng, dtype)
        return cls(labels, tuple(found), origin.astype(dtype), np.hstack(W) if W else V[:, :0], V, m, **options)

    def operand(self) -> Operand:
        """What the batches of the current block are multiplied with."""
        if self.phase == "components":
            return Operand(taken_out(self.V, self.U), (), self.origin, squares=True)
        m, G = self.n_gap_directions, len(self.labels)
        sides = tuple(
            np.repeat(np.array([getattr(c, side) for c in self.contrasts], dtype=bool).reshape(-1, G).T, m, axis=1)
            for side in ("inside", "outside")
        )
        return Operand(self.W, sides, self.origin, squares=self.mean_tol is not None)

    def step(self, block: BlockSums) -> None:
        """Do one step with the sums of a block, where they hold rows of all groups."""
        fresh = block.rows
        if self.carried is not None:
            self.carried += block
            block, self.carried = self.carried, None
        if not np.isfinite(block.products).all():
            raise DataError(
                f"products of the rows overflow {self.W.dtype}: the values are too large. Rescale the data."
            )
        gap, change, ritz = self.phase == "gap", 0.0, None
        needed = max(self.min_group, 2.0 if self.center == "group" else 1.0)
        parts = (block.counts[chosen].sum(axis=0) for c in self.contrasts for chosen in (c.inside, c.outside))
        skipped = gap and any(rows < needed for rows in parts)
        counts = tuple(float(count) for count in block.counts)
        if skipped and self.on_missing == "carry":
            self.carried = block
        else:
            self._count(block)
        if not skipped:
            change = self._gap_step(block) if gap else self._component_step(block)
            ritz = tuple(float(value) for value in (self.ritz if gap else self.variances))
        number = sum(entry["phase"] == self.phase for entry in self.history) + 1
        entry = {"phase": self.phase, "block": number, "n_rows": fresh, "group_counts": counts, "ritz": ritz}
        self.history.append(entry | {"change": change, "skipped": skipped})

    def _count(self, block: BlockSums) -> None:
        self.counts = self.counts + block.counts
        self.sums = self.sums + block.sums
        self.squares += block.squares if self.phase == "gap" else 0.0

    def _shift(self) -> np.ndarray:
        """From the origin to the point about which second moments are taken."""
        if self.center == "none":
            return -self.origin.astype(np.float64)
        return self.sums.sum(axis=0) / self.counts.sum(axis=0)

    # -- phase 1: the directions in which the groups differ -----------------------------------------------------------

    def _gap_step(self, block: BlockSums) -> float:
        m, bases, values, relative, change = self.n_gap_directions, [], [], [], 0.0
        if m == 0:
            return 0.0
        for c, contrast in enumerate(self.contrasts):
            columns = slice(c * m, (c + 1) * m)
            W = self.W[:, columns]
            inside, outside = (
                self._second_moment(slab[:, columns], block, chosen, W)
                for slab, chosen in zip(block.products, (contrast.inside, contrast.outside), strict=True)
            )
            basis, ritz, rotation = ordered_by_size(inside - outside, W.T @ (inside - outside))
            sizes = [np.einsum("dm,dm->m", W @ rotation, M @ rotation) for M in (inside, outside)]
            whole = sizes[0] + sizes[1]
            relative.append(np.divide(np.abs(sizes[0] - sizes[1]), whole, out=np.zeros_like(whole), where=whole > 0))
            change = max(change, subspace_change(W, basis))
            bases.append(basis)
            values.append(ritz)
        self.W, self.ritz, self.relative_gaps = np.hstack(bases), np.concatenate(values), np.concatenate(relative)
        return change

    def _second_moment(self, product: np.ndarray, block: BlockSums, chosen: np.ndarray, W: np.ndarray) -> np.ndarray:
        """The second moment of the chosen groups in this block times W: about zero, the running mean or their own."""
        total, count = block.sums[chosen].sum(axis=0), float(block.counts[chosen].sum(axis=0))
        if self.center == "group":
            return about(product, total, count, total / count, W) / (count - 1.0)
        return about(product, total, count, self._shift(), W) / count

    # -- between the phases: what is removed --------------------------------------------------------------------------

    def end_gap_phase(self) -> None:
        """Fix the removed directions U from the last W and the means of all rows seen, and begin the second phase."""
        if self.carried is not None:  # to the end of the stream: its rows still count for the means
            self._count(self.carried)
            self.carried = None
        if self.constraint == "vanilla":
            self.U = self.V[:, :0]
        else:
            absent = [str(label) for label, count in zip(self.labels, self.counts, strict=True) if count == 0]
            if absent or (self.n_gap_directions and all(entry["skipped"] for entry in self.history)):
                seen = f"group(s) {', '.join(absent)} never appeared" if absent else "no block had rows of all groups"
                raise GroupError(
                    f"{seen} in {self.counts.sum(axis=0):g} rows. Give a stream that holds all groups, leave the label "
                    "out of groups=, or use larger blocks."
                )
            self.U = self._removed()
        (d, r), k = self.U.shape, self.V.shape[1]
        require_components(k, d - r, d, f" less {r} removed directions")
        self.phase = "components"

    @property
    def mean(self) -> np.ndarray:
        """Mean of all rows seen, (d,) in double precision."""
        return self.origin.astype(np.float64) + self.sums.sum(axis=0) / self.counts.sum(axis=0)

    @property
    def mean_gaps(self) -> np.ndarray:
        """Differences of the means (d, C), rows inside less rows outside, over all rows seen."""
        sides = [(c.inside, c.outside) for c in self.contrasts]
        gaps = [np.subtract(*(self.sums[s].sum(axis=0) / self.counts[s].sum(axis=0) for s in both)) for both in sides]
        return np.column_stack(gaps) if gaps else np.zeros((len(self.origin), 0))

    def _removed(self) -> np.ndarray:
        directions = np.split(self.W, len(self.contrasts), axis=1) if self.n_gap_directions else []
        F = self.mean_gaps if self.constraint in ("all", "mean") else self.mean_gaps[:, :0]
        if self.mean_tol is not None and F.shape[1]:
            # The squared length of what is left of each mean gap, over what noise alone would make it,
            # (1/n_1 + 1/n_0) tr(Sigma) with the variance of all rows; rows that are read again tell nothing new.
            rest = taken_out(F, nullified_basis(directions, F[:, :0].astype(self.W.dtype)))
            shift, count = self.sums.sum(axis=0) / self.counts.sum(axis=0), float(self.counts.sum(axis=0))
            variance = self.squares / count - float(shift @ shift)
            sizes = [(self.counts[c.inside].sum(axis=0), self.counts[c.outside].sum(axis=0)) for c in self.contrasts]
            noise = self.passes * np.array([variance * (1.0 / inside + 1.0 / outside) for inside, outside in sizes])
            F = F[:, np.einsum("dc,dc->c", rest, rest) / noise > self.mean_tol]
        # Means that differ by less than the rounding of the means themselves are equal.
        reach = linalg.norm(self.sums / self.counts[:, None], axis=1).max(axis=0) + linalg.norm(self.origin)
        return nullified_basis(directions, F.astype(self.W.dtype), floor=4.0 * float(np.finfo(np.float64).eps * reach))

    # -- phase 2: the components without them -------------------------------------------------------------------------

    def _component_step(self, block: BlockSums) -> float:
        total, count, shift = block.sums.sum(axis=0), float(block.counts.sum(axis=0)), self._shift()
        product = about(block.products[0], total, count, shift, taken_out(self.V, self.U)) / count
        product, before = taken_out(product, self.U), self.V
        inner = before.T @ product
        self.V, self.variances, _ = ordered_by_size(product, inner)
        self.total_variance = (block.squares - 2.0 * float(shift @ total) + count * float(shift @ shift)) / count
        size = float(linalg.norm(product))
        self.residual = float(linalg.norm(product - times(before, inner))) / size if size > 0 else 0.0
        return subspace_change(before, self.V)

    @property
    def basis(self) -> np.ndarray:
        """The answer after the last step (d, k), orthogonal to U to rounding."""
        if not self.U.shape[1]:
            return self.V
        rest = taken_out(self.V, self.U)  # once more, of what rounding left in the span of U
        V = orthonormal(rest)
        if np.abs(self.U.T @ V).max(initial=0.0) <= 1e3 * np.finfo(V.dtype).eps:
            return V
        # Columns without variance may lie in the span of U as a whole; reflections that begin with U move them out.
        return linalg.qr(np.hstack([self.U, rest]), mode="economic", check_finite=False)[0][:, self.U.shape[1] :]
