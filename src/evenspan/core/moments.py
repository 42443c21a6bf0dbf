"""Group moments: count, mean and scatter of every group. The one currency of the linear methods."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from numpy.lib.recfunctions import repack_fields

from .accumulator import MomentAccumulator, merge, overall, total_scatter, zeros
from .errors import DataError, GroupError
from .files import reading, replacing
from .groups import label_text, positions, union_labels
from .inputs import batch_names, first_few
from .streams import FunctionStream, telling

#: Of the files that ``save`` writes; those of format 2 are the same, but always hold a scatter for each group.
FORMAT = 3
ARRAYS = ("labels", "counts", "means", "kept")


@dataclass(frozen=True, eq=False)
class GroupMoments:
    r"""Count, mean and scatter of every group: sufficient for every linear method and every linear metric.

    For group :math:`g` with rows :math:`x_i` and weights :math:`w_i` (all 1 unless given),

    .. math::

        n_g = \sum_{i \in g} w_i, \qquad
        m_g = \frac{1}{n_g} \sum_{i \in g} w_i x_i, \qquad
        S_g = \sum_{i \in g} w_i (x_i - m_g)(x_i - m_g)^\top .

    Moments add: ``a + b`` are the moments of the two samples together, also when a group occurs in one of them only.

    Methods that match means (``FairPCA``, ``LEACE``, ``StandardPCA``) need one scatter only, that of all rows about the
    overall mean. Moments with ``scatters="total"`` hold no other: d^2 + G d numbers instead of G d^2. They can do all
    else that moments can, and refuse to give ``scatters``.

    Parameters
    ----------
    labels : ndarray of shape (G,)
        Sorted group labels. A structured dtype has one field per attribute.
    counts : ndarray of shape (G,)
        Rows per group, or the sum of their weights. A weight of 2 means the same as a row given twice. Variances have
        the divisor n - 1, or n where all weights sum to at most 1.
    means : ndarray of shape (G, d)
        Group means.
    kept : ndarray of shape (G, d, d) or (d, d)
        Sums of squares and products, not divided by anything: of each group about its own mean, or of all rows about
        the overall mean.
    feature_names : tuple of str, optional
        Names of the d features.

    Guarantees
    ----------
    One pass over the data, read in blocks; no copy of X larger than a block. The sums are taken about a point inside
    the data, so that adding a constant to a feature loses no digits of its scatter but those that the shifted data have
    lost. Sparse rows are not made dense: only features that are mostly not zero are centred before they are multiplied.

    Complexity
    ----------
    Time O(n d^2), memory O(G d^2), or with one scatter O(d^2 + G d), and one block. Of sparse rows with s stored
    entries each, time O(n s^2) where s is small.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983), Algorithms for computing the sample variance, eq. (2.1).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]])
    >>> moments = GroupMoments.from_data(X, ["a", "a", "b"])
    >>> moments
    GroupMoments(n=3, d=2, groups: a (2), b (1))
    >>> moments.means
    array([[2., 2.],
           [5., 8.]])
    """

    labels: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    kept: np.ndarray
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self):
        G, d = self.means.shape
        if self.labels.shape != (G,) or self.counts.shape != (G,) or self.kept.shape not in ((G, d, d), (d, d)):
            shapes = ", ".join(f"{part} {getattr(self, part).shape}" for part in ARRAYS)
            raise DataError(
                f"moments do not fit together: {shapes}; needed are (G,), (G,), (G, d), (G, d, d) or (d, d)."
            )
        if self.feature_names is not None and len(self.feature_names) != d:
            raise DataError(f"{len(self.feature_names)} feature names were given for {d} features.")
        if not np.array_equal(self.labels, np.unique(self.labels)) or not (self.counts > 0).all():
            seen = f"labels {self.labels.tolist()} with counts {self.counts.tolist()}"
            raise DataError(f"{seen}; needed are sorted labels without repetition and positive counts.")
        for name in ARRAYS:
            view = getattr(self, name).view()  # the caller's own array stays as writeable as it was
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    # -- making ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_data(cls, X, sensitive_features, sample_weight=None, *, scatters: str = "group") -> "GroupMoments":
        """Moments of a table X (n, d), which may be sparse, a memory map or a frame, read block by block.

        Several columns of labels make each combination of their values a group; weights (n,) are not negative. With
        ``scatters="total"`` one scatter is kept, that of all rows, instead of one for each group.
        """
        sums = MomentAccumulator(scatters)
        sums.add(X, sensitive_features, sample_weight)
        return cls(*sums.result(X))

    @classmethod
    def from_batches(cls, batches: Iterable, *, scatters: str = "group") -> "GroupMoments":
        """Moments of a stream, a function that makes one, or an iterable of batches, in one pass.

        A batch is ``(X, sensitive_features)`` or, outside of a ``Stream``, ``(X, sensitive_features, sample_weight)``.
        """
        batches = FunctionStream(batches) if callable(batches) else batches
        sums, named = MomentAccumulator(scatters), None
        for number, batch in enumerate(batches, 1):
            if not isinstance(batch, tuple | list) or not 2 <= len(batch) <= 3:
                raise DataError(f"batch {number} is a {type(batch).__name__}; needed is (X, groups[, weights]).")
            named = batch_names(batch[0], named)
            with telling(getattr(batches, "place", f"batch {number}")):
                sums.add(*batch)
                sums.names = sums.names or getattr(batches, "feature_names", None)
                sums.require_finite(batch[0])
        return cls(*sums.result())

    @classmethod
    def from_dask(cls, X, sensitive_features, *, scatters: str = "group") -> "GroupMoments":
        """Moments of a Dask array or data frame, and labels or names of columns, as in ``DaskStream``.

        They are summed where the chunks lie, by the current cluster: scatters travel for each chunk, never rows.
        """
        from .dask import summed_chunks

        return cls(*summed_chunks(X, sensitive_features, scatters).result())

    def __add__(self, other: "GroupMoments") -> "GroupMoments":
        if not isinstance(other, GroupMoments):
            return NotImplemented
        names = self.feature_names or other.feature_names
        if self.d != other.d or names != (other.feature_names or names):
            seen = f"{self.d} and {other.d}, {_some(self)} and {_some(other)}"
            raise DataError(f"moments of different features cannot be added: {seen}. Select the same on both sides.")
        labels = union_labels(self.labels, other.labels)
        total = zeros(len(labels), self.d, "group" if self.kept.ndim == other.kept.ndim == 3 else "total")
        for part in (self, other):
            merge(total, positions(part.labels, labels), (part.counts, part.means, part.kept))
        return GroupMoments(labels, *total, names)

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def G(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.means.shape[1]

    @property
    def n(self) -> float:
        """Number of rows (sum of weights) over all groups."""
        return float(self.counts.sum(axis=0))

    @property
    def scatters(self) -> np.ndarray:
        """Sums of squares and products of each group about its own mean, shape (G, d, d)."""
        if self.kept.ndim == 2:
            raise DataError(
                f"these moments of {self.G} group(s) hold one scatter, that of all rows together; needed is one for "
                'each group. Keep them: scatters="group", the default, where the moments are made from the data.'
            )
        return self.kept

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean over all rows, shape (d,)."""
        return _frozen(overall(self.counts, self.means)[1])

    @cached_property
    def scatter(self) -> np.ndarray:
        """Sum of squares and products about the overall mean, shape (d, d)."""
        return _frozen(total_scatter(self.counts, self.means, self.kept))

    @property
    def second_moment(self) -> np.ndarray:
        """Sum of squares and products about zero, ``X.T @ X`` of the rows, shape (d, d)."""
        return self.scatter + self.n * np.outer(self.mean, self.mean)

    @property
    def size(self) -> float:
        """Root of the sum of all squares, the Frobenius norm of the rows."""
        return float(np.sqrt(np.trace(self.scatter) + self.n * self.mean @ self.mean))

    def require_pairs(self, what: str) -> None:
        """GroupError unless every group has two rows: a weight of at least 2, or a scatter."""
        if (self.counts >= 2).all():
            return
        own, whole = np.trace(self.scatters, axis1=1, axis2=2) / self.counts, np.trace(self.scatter) / self.n
        for g in np.flatnonzero((self.counts < 2) & (own <= 1e-20 * whole)):
            raise GroupError(
                f"group {label_text(self.labels[g])!r} has {self.counts[g]:g} sample(s); its {what} needs at least 2. "
                "Merge it with another group, or drop it."
            )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that make up the labels; ``("group",)`` when there is one."""
        return self.labels.dtype.names or ("group",)

    def position(self, feature) -> int:
        """The position of a feature, from 0, that is given by its name or its position."""
        if isinstance(feature, str) and feature in (self.feature_names or ()):
            return self.feature_names.index(feature)
        if isinstance(feature, Integral) and not isinstance(feature, bool) and -self.d <= feature < self.d:
            return int(feature)
        raise DataError(f"no feature {feature!r}; needed is a position below {self.d} or a name: {_some(self)}.")

    def __repr__(self) -> str:
        shown = (f"{label_text(label)} ({count:g})" for label, count in zip(self.labels, self.counts, strict=True))
        return f"GroupMoments(n={self.n:g}, d={self.d}, groups: {first_few(shown)})"

    # -- changing: each returns new moments -----------------------------------------------------------------------

    def total(self) -> "GroupMoments":
        """The same groups with one scatter, that of all rows about the overall mean."""
        return GroupMoments(self.labels, self.counts, self.means, self.scatter, self.feature_names)

    def pooled(self) -> "GroupMoments":
        """The moments of all rows as one group, labelled ``all``."""
        counts, labels = np.array([self.n]), np.array(["all"])
        return GroupMoments(labels, counts, self.mean[None], self.scatter[None], self.feature_names)

    def marginal(self, *attributes: str) -> "GroupMoments":
        """The moments grouped by one or some of several attributes: cells with the same values are merged."""
        if unknown := [name for name in attributes if name not in self.attributes]:
            raise GroupError(f"no attribute {unknown[0]!r}; the attributes are {', '.join(self.attributes)}.")
        if self.labels.dtype.names is None:
            return self
        one = len(attributes) == 1
        values = self.labels[attributes[0]] if one else repack_fields(self.labels[list(attributes)])
        labels, at = np.unique(values, return_inverse=True)
        counts, means, kept = zeros(len(labels), self.d, "group" if (each := self.kept.ndim == 3) else "total")
        merge((counts, means, kept if each else None), at, (self.counts, self.means, self.kept))
        return GroupMoments(labels, counts, means, kept if each else self.kept, self.feature_names)

    def cells(self) -> "GroupMoments":
        """The same groups with plain text labels: combinations of several attributes become groups of one."""
        if self.labels.dtype.names is None:
            return self
        texts = np.array([label_text(label) for label in self.labels])
        o = np.argsort(texts, kind="stable")
        kept = self.kept[o] if self.kept.ndim == 3 else self.kept
        return GroupMoments(texts[o], self.counts[o], self.means[o], kept, self.feature_names)

    def select(self, features) -> "GroupMoments":
        """The moments of some features, given by position or name, in the order given."""
        index = [self.position(feature) for feature in features]
        names = tuple(self.feature_names[j] for j in index) if self.feature_names else None
        return GroupMoments(self.labels, self.counts, self.means[:, index], self.kept[..., index, :][..., index], names)

    def project(self, V: np.ndarray, *, offset: np.ndarray | None = None) -> "GroupMoments":
        """The moments of ``(x - offset) @ V`` for V of shape (d, k): what a linear map does to every group."""
        centred = self.means if offset is None else self.means - offset
        kept = V.T @ self.kept @ V
        return GroupMoments(self.labels, self.counts, centred @ V, 0.5 * (kept + kept.swapaxes(-1, -2)))

    def standardised(self, reference: "GroupMoments | None" = None) -> "GroupMoments":
        """The moments in units of the mean and population standard deviation of ``reference``, or of their own."""
        reference = self if reference is None else reference
        scale = reference.scale()
        means, kept = (self.means - reference.mean) / scale, self.kept / np.outer(scale, scale)
        return GroupMoments(self.labels, self.counts, means, kept, self.feature_names)

    def scale(self) -> np.ndarray:
        """Population standard deviation of every feature over all rows; 1 where a feature is constant."""
        deviation = np.sqrt(np.diag(self.scatter) / self.n)
        size = np.hypot(self.mean, deviation)
        return np.where(deviation <= 1e-12 * size, 1.0, deviation)

    # -- keeping --------------------------------------------------------------------------------------------------

    def save(self, path) -> None:
        """Write a compressed ``.npz`` without pickles; of the scatters the upper triangles are stored."""
        attributes = self.labels.dtype.names or ()
        columns = [self.labels[name] for name in attributes] or [self.labels]
        with replacing(path) as file:
            np.savez_compressed(
                file,
                version=FORMAT,
                attributes=np.array(attributes, dtype=str),
                counts=self.counts,
                means=self.means,
                scatters=self.kept[..., *np.triu_indices(self.d)],
                feature_names=np.array(self.feature_names or (), dtype=str),
                **{f"labels.{i}": column for i, column in enumerate(columns)},
            )

    @classmethod
    def load(cls, path) -> "GroupMoments":
        """Read what ``save`` wrote; a file that is missing, damaged or of another kind is a ``ResultError``."""
        with reading(path, "a moments file", "Make it again.") as file, np.load(file, allow_pickle=False) as arrays:
            if arrays["version"] not in (2, FORMAT):
                raise ValueError(f"it has format {arrays['version']}; this evenspan reads formats 2 and {FORMAT}")
            names, means, triangles = arrays["attributes"].tolist(), arrays["means"], arrays["scatters"]
            columns = [arrays[f"labels.{i}"] for i in range(len(names) or 1)]
            labels = columns[0]
            if names:
                fields = [(name, column.dtype) for name, column in zip(names, columns, strict=True)]
                labels = np.array(list(zip(*columns, strict=True)), dtype=fields)
            above, below = np.triu_indices(d := means.shape[1])
            kept = np.zeros((*triangles.shape[:-1], d, d))
            kept[..., above, below] = kept[..., below, above] = triangles
            return cls(labels, arrays["counts"], means, kept, tuple(arrays["feature_names"].tolist()) or None)


def degrees(counts: np.ndarray | float) -> np.ndarray:
    """What sums of squares are divided by for a variance: n - 1, or n where weights sum to at most 1."""
    return np.where(np.asarray(counts) > 1.0, counts - 1.0, counts)


def _frozen(array: np.ndarray) -> np.ndarray:
    """The array, which everybody who asks for it shares, made read-only."""
    array.flags.writeable = False
    return array


def _some(moments: GroupMoments) -> str:
    return "unnamed" if moments.feature_names is None else first_few(moments.feature_names)
