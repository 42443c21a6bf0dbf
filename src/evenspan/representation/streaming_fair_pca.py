"""Fair streaming PCA (Lee et al. 2023): null-it-out from blocks of rows, without any d x d object."""

from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY
from itertools import chain
from typing import Self

import numpy as np

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.errors import ConfigurationError, DataError, FairWarning, GroupError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.groups import encode_groups, label_text, positions, union_labels
from ..core.inputs import require_generator, warn_caller
from ..core.moments import GroupMoments
from ..core.options import (
    ATTRIBUTES,
    DIMENSIONS,
    SEED,
    SINGLE_GROUP,
    Option,
    names,
    none,
    number,
    one_of,
    option,
    parameterised,
    whole,
)
from ..core.streams import ArrayStream, Stream, as_stream, telling
from .noisy_power import PHASES, BlockSums, FairPowerMethod, Operand, batch_sums
from .null_it_out import CONSTRAINT, contrasts, removable


class StreamEndedWarning(FairWarning):
    """A stream had fewer rows than the blocks that were asked for."""


# -- blocks: of a stream, or of known moments -------------------------------------------------------------------------


class BlockReader:
    """The sums of a stream, block by block; labels that nobody names are those met until there are two."""

    def __init__(self, stream: Stream, groups=None):
        self.stream, self.one_shot = stream, stream.one_shot
        batches = iter(stream)
        first = next(batches)
        known = stream.labels if groups is None else groups
        self.labels = encode_groups(first[1] if known is None else known)[0]
        if known is None and not self.one_shot:
            while len(self.labels) < 2 and (batch := next(batches, None)) is not None:
                self.labels = union_labels(self.labels, encode_groups(batch[1])[0])
        self._batches: Iterator = chain([first], batches)  # of what can be read only once
        self._rest = None  # of the last batch
        X = np.ascontiguousarray(first[0])
        self.d, pixels = X.shape[1], X.dtype.kind in "bu" and X.dtype.itemsize == 1
        self.dtype = np.dtype(np.float32 if pixels or X.dtype == np.float32 else np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # the first block will name the entry
            self.origin = np.nan_to_num(X.mean(axis=0, dtype=np.float64), posinf=0.0, neginf=0.0)

    def start_pass(self) -> None:
        """Begin at the first row; what can be read only once goes on where it is."""
        if not self.one_shot:
            self._batches, self._rest = iter(self.stream), None

    def read(self, rows: int | None, operand: Operand, G: int) -> BlockSums | None:
        """The sums over the next ``rows`` rows, or over all that are left; None when there are none."""
        total, wanted = None, np.inf if rows is None else rows
        while wanted > 0 and (batch := self._next()) is not None:
            X, codes = batch
            take = int(min(wanted, len(X)))
            self._rest = (X[take:], codes[take:]) if take < len(X) else None
            with telling(self.stream.place):
                part = batch_sums(X[:take], codes[:take], G, operand, self.stream.feature_names)
            total = part if total is None else total.__iadd__(part)
            wanted -= take
        return total

    def _next(self) -> tuple[np.ndarray, np.ndarray] | None:
        if self._rest is None and (found := next(self._batches, None)) is not None:
            X, groups = found
            with telling(self.stream.place):
                labels, codes = encode_groups(groups, len(X))
            if new := [label_text(label) for label in labels if label.item() not in self.labels.tolist()]:
                raise GroupError(
                    f"{self.stream.place}: group {new[0]!r} appears for the first time, after the comparisons were set "
                    f"up for {', '.join(map(label_text, self.labels))}. Name all groups at the start: groups=[...]."
                )
            self._rest = X, positions(labels, self.labels)[codes]
        return self._rest


class ExactSums:
    """Stands in for a reader of rows where the group moments are known: every block is the whole sample."""

    one_shot = False

    def __init__(self, moments: GroupMoments):
        self.moments, self.labels, self.d, self.dtype = moments, moments.labels, moments.d, np.dtype(np.float64)
        self.origin = moments.mean
        self.shifts = moments.means - self.origin

    def start_pass(self) -> None:
        """Nothing is read."""

    def read(self, rows: int | None, operand: Operand, G: int) -> BlockSums:
        """The sums that a pass over the sample would give."""
        counts, W = self.moments.counts, operand.W
        groups = zip(self.moments.scatters, counts, self.shifts, strict=True)
        products = np.stack([S @ W + count * np.outer(shift, shift @ W) for S, count, shift in groups])
        sides = operand.sides or (np.ones((G, W.shape[1])),)
        slabs = np.stack([np.einsum("gdw,gw->dw", products, side.astype(np.float64)) for side in sides])
        squares = float(np.trace(self.moments.scatter))
        return BlockSums(counts.copy(), counts[:, None] * self.shifts, slabs, squares, round(self.moments.n))


# -- the estimator ----------------------------------------------------------------------------------------------------


def _pair(value) -> tuple:
    """A value for both phases, or one for each of them."""
    return tuple(value) if isinstance(value, tuple | list) else (value, value)


LABELS = names("the labels of all groups") | none("those of the first batch")
BLOCKS = Option(
    lambda value: len(_pair(value)) == 2 and all(whole(1).allows(one) for one in _pair(value)),
    "a whole number of at least 1, or one for each of the two phases",
)


@parameterised
class StreamingFairPCA(SubspaceEstimator):
    r"""Null-it-out fair PCA of data that do not fit in memory: the fair noisy power method (FNPM).

    .. math::

        \max_{V^\top V = I_k} \operatorname{tr} V^\top \Sigma V
        \quad \text{subject to} \quad V^\top f = 0, \; V^\top P_m = 0 ,

    the problem of ``NullItOutPCA``, from blocks of rows. Phase 1 iterates :math:`W \leftarrow
    \mathrm{qr}((\hat\Sigma_1 - \hat\Sigma_0) W)` for :math:`P_m`, and takes the difference of all means read; with U an
    orthonormal basis of both, phase 2 iterates :math:`V \leftarrow \mathrm{qr}((I - UU^\top) \hat\Sigma (I - UU^\top)
    V)`. Each block is used once and forgotten.

    Parameters
    ----------
    n_components, n_gap_directions, constraint : as in ``NullItOutPCA``
        The numbers k of components and m of gap directions, and what is removed.
    center : {"overall", "group", "none"}, default "overall"
        The point about which second moments are taken: the running mean of all rows read; for the gap the mean of the
        group in the block, which makes it the gap of covariances; or zero, as in the authors' program.
    n_blocks : int or pair of int, default 10
        Blocks, which are power steps, of each phase.
    block_size : int or pair of int, optional
        Rows of a block; None makes a block of one pass over the whole stream, and the answer tends to that of
        ``NullItOutPCA``. Larger blocks mean less noise, more blocks a better converged iteration.
    on_missing : {"carry", "skip"}, default "carry"
        What happens at the end of a block in which a group has fewer than m rows, whose second moment has not even the
        rank: go on into the next block with the same sums, or leave the step out. The basis is not touched.
    mean_tol : float, optional
        Remove a mean gap only where the square of what the gap directions leave of it is more than this many times
        that of noise; 10 is cautious. Without it noise, along the directions of most variance, is removed as well.
    attributes, on_single_group : as in ``NullItOutPCA``
        What is compared.
    groups : array-like, optional
        All labels to expect. By default those of the array, or those met in a stream until there are two.
    random_state : int or numpy.random.Generator, default 0
        Seed of the random start.

    Attributes
    ----------
    nullified_, gap_directions_ : ndarray of shape (r, d) and (m, d)
        As in ``NullItOutPCA``; the gap directions are the last W of phase 1.
    gap_ritz_values_, relative_gaps_ : ndarray of shape (m,)
        Their Ritz values in the last block of phase 1, and the difference of the two second moments along them as a
        share of their sum, from 0 (no gap there) to 1.
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_ : as in ``NullItOutPCA``
        By decreasing variance in the last block, as Ritz values of the basis before its step; the mean of all rows.
    residual_ : float
        Part of the last product that lies outside the basis before the step, in [0, 1]. Small at a fixed point.
    blocks_, n_skipped_blocks_ : list of dict, int
        One entry a block: phase, block, n_rows, group_counts, ritz, change (sine of the largest angle between the
        basis before and after), skipped; and how many blocks lacked a group.
    certificate_ : Certificate
        Variance in the last block captured by the basis before the last step (the answer captures no less of it), all
        variance there as an upper bound, and the constraint residual.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups, and their rows (a row counts once for each time it was read).

    Guarantees
    ----------
    The answer is orthogonal to the removed directions to rounding. These are estimates: with blocks that are passes
    they converge to those of the sample, at the rate of the (m+1)-th to the m-th absolute eigenvalue of the gap per
    block; with fresh rows in each block the error is of the order of one over the square root of the rows in a block.
    The certificate is one block's, and its bound is not tight.

    Complexity
    ----------
    Two products of the rows with d x k (phase 1: d x 2m) matrices: O(n d (k + m)) time for a pass, and a QR for each
    block. Memory O(d (k + m)) and one batch, never d x d or n x d. Rows of single precision, and pixels of one byte,
    are computed with in single precision.

    References
    ----------
    J. Lee, H. Cho, S.-Y. Yun and C. Yun (2023), Fair streaming principal component analysis, "Fair noisy power method";
    M. Hardt and E. Price (2014), The noisy power method: a meta algorithm with applications, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> def batches():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(20):
    ...         group = rng.choice(["a", "b"], size=500)
    ...         X = rng.standard_normal((500, 6)) * [3, 2, 1, 1, 1, 1]
    ...         X[group == "b", 0] += 4
    ...         yield X, group
    >>> pca = StreamingFairPCA(2, 1, block_size=1000, n_blocks=5).fit(batches)
    >>> pca.components_.shape
    (2, 6)
    >>> bool(np.abs(pca.components_ @ pca.nullified_.T).max() < 1e-14)
    True
    """

    n_components: int = option(DIMENSIONS, default=2)
    n_gap_directions: int = option(whole(0), default=2)
    _: KW_ONLY
    constraint: str = option(CONSTRAINT, default="all")
    center: str = option(one_of("overall", "group", "none"), default="overall")
    n_blocks: int | tuple[int, int] = option(BLOCKS, default=10)
    block_size: int | tuple[int, int] | None = option(BLOCKS | none("whole passes"), default=None)
    on_missing: str = option(one_of("carry", "skip"), default="carry")
    mean_tol: float | None = option(number(0) | none("remove all"), default=None)
    attributes: str = option(ATTRIBUTES, default="marginal")
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    groups: Collection | None = option(LABELS, default=None)
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def fit(self, X, y=None, *, sensitive_features=None) -> Self:
        """Fit to a table, or to a stream of batches, from the beginning whatever was fitted before.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d), Stream, callable or iterator
            A table (a memory map is read batch by batch), or batches ``(X, groups)`` as ``as_stream`` takes them.
        y, sensitive_features : as in ``NullItOutPCA.fit``
            A stream brings its own groups, and they must be left out.

        Returns
        -------
        self
        """
        self._check_options()
        if not (isinstance(X, Stream) or callable(X) or hasattr(X, "__next__")):
            reader = BlockReader(ArrayStream(self._table(X, reset=True), sensitive_features), self.groups)
        elif sensitive_features is None:
            reader = BlockReader(as_stream(X), self.groups)
            self._set_features(reader.d, reader.stream.feature_names)
        else:
            raise ConfigurationError(
                "sensitive_features was given with a stream, whose batches bring their own groups. Leave it out."
            )
        return self._store(self._summary(self._run(reader)))

    def partial_fit(self, X, y=None, *, sensitive_features, phase="gap") -> Self:
        """Do one step with the block X.

        Call it with ``phase="gap"`` for all blocks of phase 1, then with ``phase="components"``, each step of which
        improves the answer. All labels must be known at the first call: they are ``groups``, or those in that block.
        After ``fit`` the first call begins anew. ``joblib.dump`` between two calls keeps all that is needed to go on;
        so does ``save`` once there are components.

        Parameters
        ----------
        X, y, sensitive_features : as in ``NullItOutPCA.fit``
            The rows of the block, and their groups.
        phase : {"gap", "components"}
            Which of the two iterations the block is for.

        Returns
        -------
        self
        """
        one_of(*PHASES).require("phase", phase)
        first = not (hasattr(self, "_power") and self._power.history)
        if first and phase == "components" and self.constraint != "vanilla":
            raise ConfigurationError(
                "phase='components' before any block of phase='gap', which learns what is removed: give those first."
            )
        if first:
            for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
                delattr(self, name)  # what fit learnt is of other rows
            self._check_options()
        batches = ArrayStream(self._table(X, reset=first), sensitive_features)
        reader = BlockReader(batches, self.groups if first else self._power.labels)
        self._power = power = self._begin(reader) if first else self._power
        if phase == "gap" and power.phase == "components":
            raise ConfigurationError(
                "phase='gap' after phase='components': what is removed is fixed when the second phase begins. Fit a "
                "new estimator (clone it) to begin again."
            )
        if phase != power.phase:
            power.end_gap_phase()
        reader.start_pass()
        power.step(reader.read(None, power.operand(), len(power.labels)))
        return self._store(self._summary(power)) if phase == "components" else self

    def _answer(self, moments: GroupMoments) -> Answer:
        return self._summary(self._run(ExactSums(moments)))

    def _run(self, reader: BlockReader | ExactSums) -> FairPowerMethod:
        self.__dict__.pop("_power", None)  # what an earlier fit or partial_fit left does not count
        sizes = _pair(self.block_size)
        if reader.one_shot and None in sizes:
            raise ConfigurationError(
                "block_size=None makes every block a pass over the stream, but this stream can be read only once. Give "
                "block_size, or a function that makes the stream anew."
            )
        power = self._begin(reader)
        for phase, wanted, size in zip(PHASES, _pair(self.n_blocks), sizes, strict=True):
            if phase == "gap" and power.constraint == "vanilla":
                wanted = 0
            elif phase == "gap" and size is None and power.n_gap_directions == 0:
                wanted = 1  # one pass gives the means of the groups; there is nothing to iterate on
            for done in range(wanted):
                if size is None or done == 0:
                    reader.start_pass()
                power.passes += phase == "gap" and size is None and done > 0
                sums = reader.read(size, power.operand(), len(power.labels))
                if sums is None:
                    seen = f"the stream ended after {done} of {wanted} blocks of {size} rows in phase {phase!r}"
                    if done == 0:
                        raise DataError(f"{seen}: not one row was left. Give more rows, or a stream to be read again.")
                    warn_caller(f"{seen}; the phase ends there. Ask for fewer or smaller blocks.", StreamEndedWarning)
                    break
                power.step(sums)
            if phase == "gap":
                power.end_gap_phase()
        return power

    def _begin(self, reader: BlockReader | ExactSums) -> FairPowerMethod:
        m, k = removable(self, reader.d), require_components(self.n_components, reader.d, reader.d, "")
        vanilla = self.constraint == "vanilla"
        found = () if vanilla else contrasts(reader.labels, self.attributes, self.on_single_group)
        m = m if found else 0
        # The second moment of fewer than m rows of a group has not even the rank.
        options = {name: getattr(self, name) for name in ("constraint", "center", "on_missing", "mean_tol")}
        rng, start = require_generator(self.random_state), (reader.labels, found, reader.origin, reader.dtype)
        return FairPowerMethod.begin(k, m, *start, rng, min_group=float(max(m, 1)), **options)

    def _summary(self, power: FairPowerMethod) -> Answer:
        basis, whole_variance, captured = power.basis, power.total_variance, float(power.variances.sum(axis=0))
        removed = float(np.abs(power.U.T @ basis).max(initial=0.0))
        problem = "variance in the last block captured by the basis before its step, without the removed directions"
        variances = np.maximum(power.variances, 0.0)
        learnt = {
            "nullified_": power.U.T,
            "gap_directions_": power.W.T,
            "gap_ritz_values_": power.ritz,
            "relative_gaps_": power.relative_gaps,
            "group_labels_": power.labels,
            "group_counts_": power.counts,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / (whole_variance if whole_variance > 0 else np.inf),
            "residual_": power.residual,
            "blocks_": power.history,
            "n_skipped_blocks_": sum(entry["skipped"] for entry in power.history),
        }
        mean = np.zeros(len(basis)) if self.center == "none" else power.mean
        return Answer(FairSubspace(basis, mean, Certificate(problem, captured, whole_variance, removed)), learnt)

    def _store(self, answer: Answer, moments: GroupMoments | None = None):
        for name, value in answer.learnt.items():
            setattr(self, name, value)
        self.subspace_, self.components_ = answer.subspace, answer.subspace.V.T
        self.mean_, self.certificate_ = answer.subspace.mean, answer.subspace.certificate
        self._warn_surplus(answer.subspace.certificate.dual, "in the last block")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
