"""The fair noisy power method (FNPM): sums over blocks of rows, two power iterations on them, and their whole state."""

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ..core.errors import DataError, FairWarning, GroupError
from ..core.estimator import require_components, warn_caller
from ..core.running import BLOCK_ENTRIES
from .null_it_out import Contrast, nullified_basis

PHASES = ("gap", "components")
#: Squared sines above this are differences of squares of cosines from 1; smaller ones are measured directly.
NEAR = 1e-3


class SmallBlockWarning(FairWarning):
    """A block of the second phase had fewer rows than there are components."""


@dataclass(frozen=True)
class PowerOptions:
    """What is iterated on; the fields are the options of ``StreamingFairPCA`` of the same names."""

    n_components: int
    n_gap_directions: int
    constraint: str
    center: str
    on_missing: str = "carry"
    min_group: float = 1.0
    strength: float = 1.0
    gap_tol: float | None = None
    mean_tol: float | None = None


@dataclass(eq=False)
class BlockSums:
    r"""Sums over rows x with groups, all taken about one origin o near the data; those of more rows are added.

    ``products`` are :math:`\sum_i l(i)\, (x_i - o)(x_i - o)^\top W` for the operand W: one slab where all rows count
    alike, two (rows inside, rows outside each comparison) for the gap.
    """

    counts: np.ndarray  # (G,) rows of each group
    sums: np.ndarray  # (G, d) sums of x - o over them, in double precision
    products: np.ndarray  # (L, d, w)
    squares: float = 0.0  # sum of squared lengths of x - o; 0 where it was not asked for
    rows: int = 0

    def __sizeof__(self) -> int:
        # What a cluster weighs them by, to decide where they are added.
        return self.counts.nbytes + self.sums.nbytes + self.products.nbytes

    def __iadd__(self, other: "BlockSums") -> "BlockSums":
        self.counts += other.counts
        self.sums += other.sums
        self.products += other.products
        self.squares += other.squares
        self.rows += other.rows
        return self

    def copy(self) -> "BlockSums":
        """The same sums, in memory of their own."""
        return BlockSums(self.counts.copy(), self.sums.copy(), self.products.copy(), self.squares, self.rows)


@dataclass(frozen=True, eq=False)
class Operand:
    """What every batch of a block is multiplied with."""

    W: np.ndarray  # (d, w), in the dtype of the computation
    sides: tuple[np.ndarray, ...]  # for each slab which groups count in which column (G, w); empty when all rows count
    origin: np.ndarray  # (d,) a point near the data
    squares: bool = False  # whether the sum of squares is wanted

    def __sizeof__(self) -> int:
        return sum(part.nbytes for part in (self.W, self.origin, *self.sides))


def batch_sums(X: np.ndarray, codes: np.ndarray, G: int, operand: Operand) -> BlockSums:
    """The sums of one batch X (q, d) with group codes (q,): two products with X, and no other object larger than d x w.

    The rows are never shifted. The inner product is, (X - o)'W = XW - o'W, and the outer one is corrected afterwards
    by a matrix of rank one.
    """
    # What came over a network may begin at any byte. NumPy would copy it for each product, which adds in another order.
    W, origin = np.require(operand.W, requirements=["ALIGNED"]), operand.origin
    X = np.require(X, W.dtype, ["C_CONTIGUOUS", "ALIGNED"])
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
        if not np.isfinite(total):
            raise DataError(_not_finite(X))
        count = float(totals[-G:].sum(axis=0))
        squares = total - 2.0 * float(far @ sums.sum(axis=0)) - count * float(far @ far)
        if squares < np.sqrt(np.finfo(X.dtype).eps) * total:  # the difference has lost its digits
            squares = _squares_about(X, far)
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


def _squares_about(X: np.ndarray, far: np.ndarray) -> float:
    """The sum of squared lengths of the rows of X less the point, a few rows at a time."""
    step = max(BLOCK_ENTRIES // X.shape[1], 1)
    parts = (X[start : start + step] - far for start in range(0, len(X), step))
    return sum(float(np.vdot(part, part)) for part in parts)


def _not_finite(X: np.ndarray) -> str:
    bad = ~np.isfinite(X)
    columns = np.flatnonzero(bad.any(axis=0))
    if not len(columns):
        return f"products of the rows overflow {X.dtype}: the values are finite but too large. Rescale the data."
    shown = ", ".join(f"{j} ({int(bad[:, j].sum(axis=0))})" for j in columns[:5])
    shown += ", ..." if len(columns) > 5 else ""
    first = int(np.flatnonzero(bad.any(axis=1))[0])
    return (
        f"NaN or inf in column (number of entries) {shown}; the first is in row {first} of the batch. Needed are "
        "finite numbers. Impute or drop the rows; evenspan never fills in values by itself."
    )


def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B column after column in memory, as all tall matrices are kept here: sums of two kinds of order are slow."""
    return (B.T @ A.T).T


def exponent_of(values: np.ndarray) -> int:
    """The power of two next above the largest absolute value; 0 if there is none."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis (d, w) of the span of tall columns, in their own precision.

    Two rounds with the Cholesky factor of the w x w products of the columns take a fraction of the time that
    Householder's reflections take. The second ends at a basis that is orthonormal to rounding if the first ended near
    one (Yamamoto et al. 2015, CholeskyQR2). Where it did not, the columns are too nearly dependent for their products,
    and the reflections are done.
    """
    columns = np.ldexp(columns, -exponent_of(columns))  # exact, and the squares of squares below fit
    Q, identity = columns, np.eye(columns.shape[1], dtype=columns.dtype)
    for reach in (np.inf, 0.1):
        products = Q.T @ Q
        lengths = np.sqrt(np.diag(products))
        if not lengths.all() or not linalg.norm(products - identity) <= reach:
            break
        try:
            # By numpy, like the products: scipy may bring a second set of threads, and the two wait for each other.
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


def subspace_change(before: np.ndarray, after: np.ndarray) -> float:
    """Sine of the largest principal angle between the spans of two orthonormal bases (d, w)."""
    if not after.shape[1]:
        return 0.0
    inner = before.T @ after
    squared = 1.0 - float(np.linalg.svd(inner.astype(np.float64), compute_uv=False)[-1]) ** 2
    if squared < NEAR:  # the difference has lost its digits
        outside = after - times(before, inner)
        squared = float(np.linalg.eigvalsh(outside.T @ outside)[-1])
    return float(np.sqrt(min(max(squared, 0.0), 1.0)))


def ordered_by_size(product: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One power step on the symmetric H: an orthonormal basis of the columns of ``product`` = HW.

    ``inner`` is W'HW (w, w). The columns follow the Ritz values of W, by decreasing absolute value. Also these values
    (w,), and the rotation (w, w) of W that they belong to.
    """
    inner = inner.astype(np.float64)
    exponent = exponent_of(inner)  # LAPACK would scale what is very small or large by another factor, which rounds
    inner = np.ldexp(inner, -exponent)
    values, rotation = np.linalg.eigh(0.5 * (inner + inner.T))
    values = np.ldexp(values, exponent)
    order = np.argsort(-np.abs(values), kind="stable")
    values, rotation = values[order], rotation[:, order].astype(product.dtype)
    return orthonormal(times(product, rotation)), values, rotation


def taken_out(V: np.ndarray, U: np.ndarray, strength: float = 1.0) -> np.ndarray:
    """V less ``strength`` times its part in the span of the orthonormal U; never as a d x d projector."""
    return V - times(U, strength * (U.T @ V)) if U.shape[1] else V


@dataclass(eq=False)
class FairPowerMethod:
    """State of the method between blocks, O(d (k + m)) numbers. Sums go in, a basis comes out.

    A block is what is added between two calls of ``end_block``. ``end_gap_phase`` fixes what is removed and begins the
    second phase.
    """

    options: PowerOptions
    labels: np.ndarray
    contrasts: tuple[Contrast, ...]
    origin: np.ndarray  # (d,)
    W: np.ndarray  # (d, C m), orthonormal for each comparison
    V: np.ndarray  # (d, k)
    U: np.ndarray | None = None  # (d, r) once the first phase has ended
    counts: np.ndarray | None = None  # (G,) of all rows of completed blocks
    sums: np.ndarray | None = None  # (G, d) about the origin
    phase: str = "gap"
    pending: BlockSums | None = None
    fresh: int = 0  # rows added since the last end of a block
    squares: float = 0.0  # of all rows of the first phase about the origin, where they are needed
    passes: int = 1  # how often each row of the first phase was read
    ritz: np.ndarray | None = None  # of the last gap step (C m,)
    relative_gaps: np.ndarray | None = None
    variances: np.ndarray | None = None
    total_variance: float = np.nan
    captured: float = np.nan
    residual: float = np.nan
    history: list[dict] = field(default_factory=list)

    @classmethod
    def begin(cls, options, labels, found, origin, dtype, rng) -> "FairPowerMethod":
        """The random start."""
        d, m = len(origin), options.n_gap_directions
        W = [random_basis(d, m, rng, dtype) for _ in found]
        V = random_basis(d, options.n_components, rng, dtype)
        return cls(options, labels, tuple(found), origin.astype(dtype), np.hstack(W) if W else V[:, :0], V)

    def operand(self) -> Operand:
        """What the batches of the current block are multiplied with."""
        if self.phase == "components":
            return Operand(taken_out(self.V, self.U, self.options.strength), (), self.origin, squares=True)
        m, G = self.options.n_gap_directions, len(self.labels)
        sides = tuple(
            np.repeat(np.array([getattr(c, side) for c in self.contrasts], dtype=bool).reshape(-1, G).T, m, axis=1)
            for side in ("inside", "outside")
        )
        return Operand(self.W, sides, self.origin, squares=self.options.mean_tol is not None)

    def add(self, sums: BlockSums) -> None:
        """Fold in the sums of some rows of the current block."""
        self.fresh += sums.rows
        if self.pending is None:
            self.pending = sums
        else:
            self.pending += sums

    def end_block(self) -> dict:
        """Do one step with what was added since the last one, and say what it did."""
        if self.fresh == 0:
            raise DataError("a block ended without a row; needed is at least one.")
        block, fresh, self.fresh = self.pending, self.fresh, 0
        if not np.isfinite(block.products).all():
            raise DataError(
                f"products of the rows of a block overflow {self.W.dtype}: the values are finite but too large. "
                "Rescale the data, or use dtype='float64'."
            )
        last = self.history[-1] if self.history else None
        number = last["block"] + 1 if last and last["phase"] == self.phase else 1
        counts = tuple(float(count) for count in block.counts)
        entry = {"phase": self.phase, "block": number, "n_rows": fresh, "group_counts": counts}
        waiting = self.phase == "gap" and self._lacks_a_group(block.counts)
        if not (waiting and self.options.on_missing == "carry"):
            self.pending = None
            self._count(block)
        if waiting:
            entry |= {"skipped": True, "change": 0.0, "ritz": None}
        else:
            change = self._gap_step(block) if self.phase == "gap" else self._component_step(block)
            ritz = self.ritz if self.phase == "gap" else self.variances
            entry |= {"skipped": False, "change": change, "ritz": tuple(float(value) for value in ritz)}
        self.history.append(entry)
        return entry

    def end_gap_phase(self) -> None:
        """Fix the removed directions U from the last W and the means of all rows seen, and begin the second phase."""
        if self.pending is not None:  # carried to the end of the stream: its rows still count for the means
            self._count(self.pending)
            self.pending, self.fresh = None, 0
        if self.options.constraint == "vanilla":
            self.U = self.V[:, :0]
        else:
            absent = [str(label) for label, count in zip(self.labels, self.counts, strict=True) if count == 0]
            if absent:
                raise GroupError(
                    f"group(s) {', '.join(absent)} never appeared in {self.counts.sum(axis=0):g} rows. Give a stream "
                    "that holds all groups, or leave the label out of groups=."
                )
            if self.options.n_gap_directions and all(entry["skipped"] for entry in self.history):
                raise GroupError(
                    "no block had rows of all groups, so the gap of the groups was never estimated. Use larger blocks, "
                    "or on_missing='carry'."
                )
            self.U = self._removed()
        d, r = self.U.shape
        require_components(self.options.n_components, d - r, d, f" less {r} removed directions")
        self.phase = "components"

    @property
    def mean(self) -> np.ndarray:
        """Mean of all rows seen, (d,) in double precision."""
        return self.origin.astype(np.float64) + self.sums.sum(axis=0) / self.counts.sum(axis=0)

    @property
    def mean_gaps(self) -> np.ndarray:
        """Differences of the means (d, C), rows inside less rows outside, over all rows seen."""

        def mean(chosen):
            return self.sums[chosen].sum(axis=0) / self.counts[chosen].sum(axis=0)

        gaps = [mean(contrast.inside) - mean(contrast.outside) for contrast in self.contrasts]
        return np.column_stack(gaps) if gaps else np.zeros((len(self.origin), 0))

    def mean_gap_ratios(self, removed: np.ndarray) -> np.ndarray:
        r"""Squared length of each mean gap outside the removed directions, over what noise alone would make it (C,).

        The noise of :math:`\hat f` is :math:`(1/n_1 + 1/n_0) \operatorname{tr} \Sigma`, with the variance of all
        rows. A row that is read again tells nothing new.
        """
        rest = taken_out(self.mean_gaps, removed)
        shift, count = self.sums.sum(axis=0) / self.counts.sum(axis=0), float(self.counts.sum(axis=0))
        variance = self.squares / count - float(shift @ shift)
        sizes = [(self.counts[c.inside].sum(axis=0), self.counts[c.outside].sum(axis=0)) for c in self.contrasts]
        noise = self.passes * np.array([variance * (1.0 / inside + 1.0 / outside) for inside, outside in sizes])
        return np.einsum("dc,dc->c", rest, rest) / noise

    @property
    def basis(self) -> np.ndarray:
        """The answer after the last step (d, k), orthogonal to U to rounding when the strength is 1."""
        if self.options.strength < 1 or not self.U.shape[1]:
            return self.V
        # Rounding leaves a part in the span of U that grows with the number of columns: taken out once more.
        rest = taken_out(self.V, self.U)
        V = orthonormal(rest)
        if np.abs(self.U.T @ V).max(initial=0.0) <= 1e3 * np.finfo(V.dtype).eps:
            return V
        # Columns without variance may lie in the span of U as a whole; reflections that begin with U move them out.
        return linalg.qr(np.hstack([self.U, rest]), mode="economic", check_finite=False)[0][:, self.U.shape[1] :]

    def _count(self, block: BlockSums) -> None:
        self.counts = block.counts.copy() if self.counts is None else self.counts + block.counts
        self.sums = block.sums.copy() if self.sums is None else self.sums + block.sums
        self.squares += block.squares if self.phase == "gap" else 0.0

    def _gap_step(self, block: BlockSums) -> float:
        m, bases, values, relative, change = self.options.n_gap_directions, [], [], [], 0.0
        if m == 0:
            self.ritz = np.zeros(0)
            return 0.0
        for c, contrast in enumerate(self.contrasts):
            columns = slice(c * m, (c + 1) * m)
            W, moments = self.W[:, columns], []
            for slab, chosen in zip(block.products, (contrast.inside, contrast.outside), strict=True):
                moments.append(self._second_moment(slab[:, columns], block, chosen, W))
            gap = moments[0] - moments[1]
            basis, ritz, rotation = ordered_by_size(gap, W.T @ gap)
            sizes = [np.einsum("dm,dm->m", W @ rotation, M @ rotation) for M in moments]
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
        if self.options.center == "group":
            return about(product, total, count, total / count, W) / (count - 1.0)
        return about(product, total, count, self._shift(), W) / count

    def _component_step(self, block: BlockSums) -> float:
        if block.rows < self.options.n_components:
            warn_caller(
                f"a block has {block.rows} row(s) for {self.options.n_components} components: some of them are "
                "arbitrary after it. Make the blocks larger.",
                SmallBlockWarning,
            )
        total, count, shift = block.sums.sum(axis=0), float(block.counts.sum(axis=0)), self._shift()
        operand = taken_out(self.V, self.U, self.options.strength)
        product = about(block.products[0], total, count, shift, operand) / count
        product = taken_out(product, self.U, self.options.strength)
        before = self.V
        inner = before.T @ product
        self.V, self.variances, _ = ordered_by_size(product, inner)
        self.total_variance = (block.squares - 2.0 * float(shift @ total) + count * float(shift @ shift)) / count
        self.captured = float(self.variances.sum(axis=0))
        if self.total_variance < np.sqrt(np.finfo(before.dtype).eps) * block.squares / count:
            self.total_variance = max(self.total_variance, self.captured)  # the difference has lost its digits
        exponent = exponent_of(product)  # what is left is a share, and has no unit
        product, inner = np.ldexp(product, -exponent), np.ldexp(inner, -exponent)
        size = float(linalg.norm(product))
        share = 1.0 - (float(linalg.norm(inner)) / size) ** 2 if size > 0 else 0.0
        if size > 0 and share < NEAR:
            share = (float(linalg.norm(product - times(before, inner))) / size) ** 2
        self.residual = float(np.sqrt(share))
        return subspace_change(before, self.V)

    def _shift(self) -> np.ndarray:
        """From the origin to the point about which second moments are taken."""
        if self.options.center == "none":
            return -self.origin.astype(np.float64)
        return self.sums.sum(axis=0) / self.counts.sum(axis=0)

    def _removed(self) -> np.ndarray:
        options, dtype = self.options, self.W.dtype
        directions = []
        if options.n_gap_directions:
            kept = self.relative_gaps > (-np.inf if options.gap_tol is None else options.gap_tol)
            halves = [np.split(columns, len(self.contrasts), axis=-1) for columns in (self.W, kept)]
            directions = [W[:, chosen] for W, chosen in zip(*halves, strict=True)]
        F = self.mean_gaps if options.constraint in ("all", "mean") else self.mean_gaps[:, :0]
        if options.mean_tol is not None and F.shape[1]:
            stacked = nullified_basis(directions, F[:, :0].astype(dtype))
            F = F[:, self.mean_gap_ratios(stacked) > options.mean_tol]
        # Means that differ by less than the rounding of the means themselves are equal.
        reach = linalg.norm(self.sums / self.counts[:, None], axis=1).max(axis=0) + linalg.norm(self.origin)
        return nullified_basis(directions, F.astype(dtype), floor=4.0 * float(np.finfo(np.float64).eps * reach))

    def _lacks_a_group(self, counts: np.ndarray) -> bool:
        needed = max(self.options.min_group, 2.0 if self.options.center == "group" else 1.0)
        return any(counts[chosen].sum(axis=0) < needed for c in self.contrasts for chosen in (c.inside, c.outside))
