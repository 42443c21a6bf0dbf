"""Running sums behind the group moments: one pass over blocks of rows, merged by pairwise updates."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from .errors import DataError, GroupError
from .groups import encode_groups, label_text, positions, union_labels
from .inputs import feature_names, in_pandas, require_memory, require_range, row_blocks
from .options import one_of

# Rows times columns that are read at once; a quarter of them, 1 MiB, stay in cache while they are multiplied.
BLOCK_ENTRIES = 2**19
# Share of stored entries from which blocks of sparse rows are faster multiplied as dense ones (benchmarks/sparse.py).
DENSE = 0.08
# Up to so many features, products are faster formed by themselves than added to the sums in place.
NARROW = 512
# Up to so many groups, their sums are faster formed one after the other, by as many threads as there are.
FEW = 3
#: What is kept: the scatter of each group about its mean, or the total scatter of all rows about the overall mean.
SCATTERS = one_of("group", "total")

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]


def zeros(G: int, d: int, scatters: str = "group") -> Sums:
    """Counts, means and scatters of G empty groups: a scatter for each, or with "total" one (d, d) of all rows."""
    return np.zeros(G), np.zeros((G, d)), np.zeros((G, d, d) if scatters == "group" else (d, d))


def merge(total, at, part) -> None:
    r"""Merge moments ``part`` into ``total`` in place; group g of the part is group ``at[g]`` of the total.

    With :math:`\delta = m_b - m_a` and :math:`n = n_a + n_b` (Chan, Golub and LeVeque 1983, eq. 2.1)

    .. math:: m = m_a + \tfrac{n_b}{n} \delta, \qquad S = S_a + S_b + \tfrac{n_a n_b}{n} \delta\delta^\top .

    A total with one scatter is merged by the same formula, for all rows as one group; without any, by counts and means.
    """
    counts, means, scatters = total
    if scatters is not None and scatters.ndim == 2:
        (n_a, mean_a), (n_b, mean_b) = overall(counts, means), overall(*part[:2])
        scatters += total_scatter(*part)
        add_square(scatters, mean_b - mean_a, n_a * n_b / (n_a + n_b or 1.0))
        scatters = None
    for i, a in enumerate(at):
        n_b, delta = part[0][i], part[1][i] - means[a]
        n = counts[a] + n_b
        if scatters is not None:
            scatters[a] += part[2][i]
        if counts[a] > 0:
            if scatters is not None:
                add_square(scatters[a], delta, counts[a] * n_b / n)
            means[a] += (n_b / n) * delta
        else:
            means[a] = part[1][i]  # exactly, instead of 0 + (mean_b - 0) n_b / n_b
        counts[a] = n


def overall(counts: np.ndarray, means: np.ndarray) -> tuple[float, np.ndarray]:
    """Count and mean (d,) of all groups together; the mean of no rows is 0."""
    n = float(counts.sum(axis=0))
    # About the first group's mean, so that a common shift of the groups costs no digits of their differences.
    return n, means[0] + (counts / (n or 1.0)) @ (means - means[0])


def total_scatter(counts: np.ndarray, means: np.ndarray, scatters: np.ndarray) -> np.ndarray:
    """The scatter (d, d) of all rows about the overall mean."""
    if scatters.ndim == 2:
        return scatters
    between = np.sqrt(counts)[:, None] * (means - overall(counts, means)[1])
    return scatters.sum(axis=0) + between.T @ between  # a symmetric rank update: symmetric to the last bit


def squares(counts: np.ndarray, means: np.ndarray, scatters: np.ndarray) -> Sums:
    """Counts, means and sums of squares about them (K, d), of each group or, with one scatter, of all rows."""
    if scatters.ndim == 3:
        return counts, means, np.einsum("gdd->gd", scatters)
    with np.errstate(invalid="ignore"):  # what is not finite is found by who asks
        n, mean = overall(counts, means)
    return np.array([n]), mean[None], scatters.diagonal()[None]


def add_square(S: np.ndarray, v: np.ndarray, weight: float) -> None:
    """Add ``weight`` times vv' to S in place."""
    for rows in strips(len(S)):
        # Scaled after the product, which is then symmetric to the last bit, as the stored upper triangle needs.
        S[rows] += weight * np.outer(v[rows], v)


def mirror(S: np.ndarray) -> np.ndarray:
    """S (d, d), its upper triangle copied to the lower one in place."""
    for rows in strips(len(S)):
        rest, corner = slice(rows.stop, None), np.triu(S[rows, rows])
        S[rows, rows] = corner + np.triu(corner, 1).T
        S[rest, rows] = S[rows, rest].T
    return S


def strips(d: int, step: int = 256) -> Iterator[slice]:
    """The rows of a matrix, so few at a time that copies of them need no memory to speak of."""
    return (slice(start, min(start + step, d)) for start in range(0, d, step))


class MomentAccumulator:
    """Sums over all rows seen so far; ``add`` folds in a table, ``result`` hands the moments over.

    With ``scatters="group"`` there is a scatter for each group, with "total" one of all rows about the overall mean.
    Means are kept relative to ``origin``, a point inside the data, because differences of large nearly equal means
    would lose the digits that the pairwise update needs.
    """

    def __init__(self, scatters: str = "group"):
        self.scatters = SCATTERS.require("scatters", scatters)
        self.labels: np.ndarray | None = None  # (G,) sorted
        self.origin: np.ndarray | None = None  # (d,)
        self.names: tuple[str, ...] | None = None
        self.total = None  # counts (G,), means about the origin (G, d), upper triangles of the scatter or scatters

    def add(self, X, sensitive_features, sample_weight=None) -> None:
        """Fold in the rows of X."""
        X = in_pandas(X)
        n, d, rows = row_blocks(X)
        if n == 0:
            raise DataError("X has 0 rows; needed is at least one.")
        if d == 0:
            raise DataError(f"X has 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
        labels, codes = encode_groups(sensitive_features, n)
        weights = row_weights(sample_weight, n)
        # Missing and infinite entries are found afterwards, in the moments; see inputs.require_range.
        with np.errstate(invalid="ignore", over="ignore"):
            self._make_room(labels, n, d, feature_names(X), rows)
            if len(labels) < len(self.labels):
                codes = positions(labels, self.labels)[codes]
            if sparse.issparse(X) and X.nnz < DENSE * n * d:
                self._add_sparse(X.tocsr(), codes, weights)
                return
            each = self.scatters == "group"
            step = max(BLOCK_ENTRIES // (4 * d), d, 256) if each else max(2 * BLOCK_ENTRIES // d, 256)
            fold, start, size = (self._add_by_group, 0, step) if each else (self._add_together, 0, 256)
            space = np.empty((min(step, n), d))  # once, because fresh memory costs more than a pass over it
            while start < n:
                part = slice(start, min(start + size, n))
                block, w = np.asarray(rows(part.start, part.stop)), None if weights is None else weights[part]
                fold(block, codes[part], w, space[: len(block)])
                start, size = part.stop, min(2 * size, step)  # few rows tell where the centre of the next lies

    def combine(self, other: "MomentAccumulator") -> None:
        """Fold in the sums over other rows, whose origin may be another point."""
        if other.total is None:
            return
        if self.total is None:
            self.labels, self.origin, self.names = other.labels, other.origin, other.names
            self.scatters = other.scatters
            self.total = tuple(part.copy() for part in other.total)
            return
        self._make_room(other.labels, 1, len(other.origin), other.names, None)
        self.names = self.names or other.names
        counts, means, scatters = other.total
        # Both origins lie inside the data: their difference keeps the digits that means about zero would have lost.
        shifted = means + (other.origin - self.origin)
        merge(self.total, positions(other.labels, self.labels), (counts, shifted, scatters))

    def result(self, X=None) -> tuple:
        """Labels, counts, means, scatters and names; no sums are left. X is only read to explain bad entries."""
        if self.total is None:
            raise DataError("no batch was given; needed is at least one.")
        counts, means, scatters = self.total
        if not counts.all():
            empty = label_text(self.labels[np.flatnonzero(counts == 0)[0]])
            raise GroupError(f"group {empty!r} has total weight zero. Drop its rows or give it positive weight.")
        means += self.origin
        require_range(*squares(counts, means, scatters), X, self.names)
        for S in scatters.reshape(-1, *scatters.shape[-2:]):
            mirror(S)
        self.total = None
        return self.labels, counts, means, scatters, self.names

    def require_finite(self, X) -> None:
        """DataError naming the columns if an entry was missing or infinite; X, the last table, is read to count."""
        counts, means, found = squares(*self.total)  # one bad entry spoils those of its column
        if not (np.isfinite(means).all() and np.isfinite(found).all()):
            require_range(counts, means + self.origin, found, X, self.names)

    def _add_by_group(self, block: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, Y: np.ndarray) -> None:
        order = np.argsort(codes, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(codes))
        Y[place] = block  # reads the block in its order, which is twice as fast as block[order]
        bounds = np.searchsorted(codes[order], np.arange(len(self.labels) + 1))
        for g in np.flatnonzero(bounds[1:] > bounds[:-1]):
            inside = slice(bounds[g], bounds[g + 1])
            self._add_group(g, Y[inside], None if weights is None else weights[order[inside]])

    def _add_group(self, g: int, Y: np.ndarray, weights: np.ndarray | None) -> None:
        r"""Fold rows Y of group g, which are overwritten, into the sums.

        The rows are centred about c, the mean :math:`m_a` of the group so far, as rounded. With their mean
        :math:`c + q` and :math:`\delta = c + q - m_a` the update of ``merge`` becomes

        .. math:: S = S_a + Y^\top Y - n_b\, qq^\top + \tfrac{n_a n_b}{n} \delta\delta^\top .

        The difference costs no digits while :math:`n_b q_j^2` is at most the scatter of feature j so far. Otherwise
        (in the first rows of a group, or when it drifts) the rows are centred once more, about c + q.
        """
        counts, means, scatters = self.total
        n_a, n_b = counts[g], float(len(Y)) if weights is None else float(weights.sum(axis=0))
        if n_b == 0:
            return
        centre, n = self.origin + means[g], n_a + n_b
        Y -= centre
        q = (np.ones(len(Y)) if weights is None else weights) @ Y / n_b
        delta = centre - self.origin - means[g] + q
        S = scatters[g].T  # in the order of Fortran: the routines work in place, on the lower triangle
        a, b = np.sqrt(n_a * n_b / n) * delta, np.sqrt(n_b) * q
        if (b * b <= S.diagonal()).all():
            blas.dsyr2(0.5, a - b, a + b, lower=1, a=S, overwrite_a=1)  # aa' - bb'
        else:
            Y -= q
            blas.dsyr(1.0, a, lower=1, a=S, overwrite_a=1)
        if weights is not None:
            Y *= np.sqrt(weights)[:, None]
        blas.dsyrk(1.0, Y.T, beta=1.0, c=S, lower=1, overwrite_c=1)
        means[g] += n_b / n * delta
        counts[g] = n

    def _add_together(self, block: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, Y: np.ndarray) -> None:
        r"""Fold rows of all groups into the sums, in the order in which they come.

        As in ``_add_group``, with all rows as the group; their centre c is 0 while no feature has a mean larger than
        its standard deviation, and such rows need no copy.
        """
        counts, means, S = self.total
        new = np.bincount(codes, weights, minlength=len(counts))
        n_b = float(new.sum(axis=0))
        if n_b == 0:
            return
        n_a, mean_a = overall(counts, means)
        centre, n = self.origin + mean_a, n_a + n_b
        if (max(n_a, n_b) * centre**2 <= S.diagonal()).all() and weights is None and block.dtype == np.float64:
            centre, Y, root = np.zeros_like(centre), block, np.ones(len(Y))
        else:
            np.subtract(block, centre, out=Y)
            root = np.ones(len(Y)) if weights is None else np.sqrt(weights)
            if weights is not None:
                Y *= root[:, None]
        if len(counts) <= FEW:
            sums = np.array([np.where(codes == g, root, 0.0) @ Y for g in range(len(counts))])
        else:
            bounds = np.arange(len(codes) + 1)
            sums = sparse.csc_array((root, codes.astype(np.int32), bounds), shape=(len(counts), len(Y))) @ Y
        q = sums.sum(axis=0) / n_b
        delta = centre - self.origin - mean_a + q
        if (n_b * q**2 <= S.diagonal()).all():
            add_square(S, q, -n_b)
        else:
            Y = Y - root[:, None] * q
        add_square(S, delta, n_a * n_b / n)
        if S.shape[0] <= NARROW:
            S += Y.T @ Y
        else:
            blas.dsyrk(1.0, Y.T, beta=1.0, c=S.T, lower=1, overwrite_c=1)
        at = np.flatnonzero(new)
        shifted = centre - self.origin + sums[at] / new[at, None]
        means[at] += (new / (counts + new))[at, None] * (shifted - means[at])
        counts += new

    def _add_sparse(self, X, codes: np.ndarray, weights: np.ndarray | None) -> None:
        r"""Fold in sparse rows: the products of their stored entries, centred afterwards.

        With :math:`q` the mean of the rows of a group, :math:`S = Y^\top Y - n_b\, qq^\top`. By Cauchy and Schwarz a
        column of which a share f is stored has :math:`n_b q_j^2 \le \tfrac{f}{1 - f} S_{jj}`: up to one half the
        difference costs no digits. Fuller columns, of which a dense copy takes less than twice as much memory, are
        centred before they are multiplied.
        """
        for g in np.flatnonzero(np.bincount(codes, minlength=len(self.labels))):
            inside = np.flatnonzero(codes == g)
            Y = sparse.csr_array(X[inside], dtype=np.float64)
            Y.sum_duplicates()
            w = np.ones(len(inside)) if weights is None else weights[inside]
            n_b = float(w.sum(axis=0))
            if n_b == 0:
                continue
            fuller = np.bincount(Y.indices, minlength=Y.shape[1]) > len(inside) / 2
            full, mean = np.flatnonzero(fuller), Y.T @ w / n_b
            q, F = np.where(fuller, 0.0, mean), Y[:, full].toarray() - mean[full]
            mean[full] += (drift := w @ F / n_b)  # what rounding left of large means
            F -= drift
            Y.data[fuller[Y.indices]] = 0.0
            Y.eliminate_zeros()
            F *= np.sqrt(w)[:, None]
            Y.data *= np.repeat(np.sqrt(w), np.diff(Y.indptr))
            S = (Y.T @ Y).toarray()
            S -= np.outer(n_b * q, q)
            S[:, full] = Y.T @ F
            S[full] = S[:, full].T
            S[np.ix_(full, full)] = F.T @ F
            merge(self.total, [g], (np.array([n_b]), (mean - self.origin)[None], S[None]))

    def _make_room(self, labels: np.ndarray, n: int, d: int, names: tuple[str, ...] | None, rows) -> None:
        if self.total is None:
            # A median, because a single far-away row as the origin would cost all others their last digits.
            middle = np.median(np.asarray(rows(0, min(n, 101)), dtype=np.float64), axis=0)
            self.origin = np.where(np.isfinite(middle), middle, 0.0)
            count = len(labels) if self.scatters == "group" else 1
            require_memory(
                8.0 * (count + 2) * d**2,
                f"moments of {len(labels)} group(s) of {d:,} features",
                "Reduce the features first, for instance by sklearn.random_projection, or take StreamingFairPCA.",
            )
            self.labels, self.names, self.total = labels, names, zeros(len(labels), d, self.scatters)
            return
        if d != len(self.origin):
            raise DataError(f"a batch has {d} features, the batches before it had {len(self.origin)}.")
        if names and self.names and names != self.names:
            raise DataError(f"a batch has features {names[:5]}, the batches before it {self.names[:5]}.")
        merged = union_labels(self.labels, labels)
        if len(merged) > len(self.labels):
            (counts, means, scatters), at = self.total, positions(self.labels, merged)
            self.total = zeros(len(merged), d, self.scatters)
            self.total[0][at], self.total[1][at] = counts, means
            self.total[2][at if self.scatters == "group" else ...] = scatters
            self.labels = merged


def row_weights(sample_weight, n: int) -> np.ndarray | None:
    """The weights as an array (n,) of finite numbers that are not negative; None stays None."""
    if sample_weight is None:
        return None
    weights = np.asarray(in_pandas(sample_weight), dtype=np.float64)
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}; needed is one weight for each of the {n} rows of X.")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("sample_weight holds negative, NaN or infinite entries; needed are finite weights >= 0.")
    return weights
