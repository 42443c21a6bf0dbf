"""Fair streaming PCA (Lee et al. 2023): null-it-out from blocks of rows, without any d x d object."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..core.answer import Certificate, FairSubspace
from ..core.dask_tables import DaskStream
from ..core.errors import ConfigurationError, DataError
from ..core.estimator import SubspaceEstimator, require_generator
from ..core.groups import encode_groups
from ..core.moments import GroupMoments
from ..core.streams import ArrayStream, Stream, as_stream
from . import power_checkpoint
from .block_reader import BlockReader, ExactSums
from .contrasts import contrasts
from .dask_power import dask_reader
from .noisy_power import FairPowerMethod, require_phase
from .power_options import power_options, precision, require_blocks, require_room
from .power_run import steps

_GROUPS_TWICE = "sensitive_features was given with a stream, whose batches bring their own groups. Leave it out."


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
    n_components : int, default 2
        The number of components k.
    n_gap_directions : int, default 2
        The number m of gap directions to remove.
    constraint : {"all", "covariance", "mean", "vanilla"}, default "all"
        What is removed, as in ``NullItOutPCA``.
    center : {"global", "none", "group"}, default "global"
        The point about which second moments are taken: the running mean of all rows read, zero (the authors'
        program), or for the gap the mean of the group in the block, which makes it the gap of covariances.
    n_blocks : int or pair of int, default 10
        Blocks, which are power steps, of each phase.
    block_size : int or pair of int, optional
        Rows of a block. By default a block is one pass over the whole stream, and the answer tends to that of
        ``NullItOutPCA``. Larger blocks mean less noise, more blocks a better converged iteration.
    on_missing : {"carry", "skip"}, default "carry"
        What happens at the end of a block in which a group has fewer than ``min_group`` rows: go on into the next
        block with the same sums, or leave the step out. The basis is not touched in either case.
    min_group : int, optional
        Rows of each group that a step of phase 1 needs, by default m (at least 1, and 2 with ``center="group"``): the
        second moment of fewer rows has not even the rank. Many more are worth while for a rare group.
    strength : float in [0, 1], default 1
        Less than 1 only shrinks the coordinates along the removed directions, by the factor 1 - strength.
    gap_tol : float, optional
        Remove only gap directions along which the two second moments differ by more than this share of their sum, from
        0 to 1. Without it, m directions are removed even where the groups do not differ.
    mean_tol : float, optional
        Remove a mean gap only where what the gap directions leave of it is, squared, more than this many times what
        sampling noise alone would leave; 10 is a cautious choice. Without it, noise of equal means is removed like a
        gap, and it points along the directions of most variance.
    groups : array-like, optional
        All labels to expect. By default those of the array, or those met in a stream until there are two.
    dtype : {"float32", "float64"}, optional
        Precision of the computation; by default that of the data (pixels of one byte: float32).
    random_state : int or numpy.random.Generator, default 0
        Seed of the random start.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal rows, by decreasing variance in the last block.
    nullified_ : ndarray of shape (r, d)
        Orthonormal rows: everything removed.
    gap_directions_ : ndarray of shape (m, d)
        The last W of phase 1 as rows, those of all comparisons one after the other.
    gap_ritz_values_ : ndarray of shape (m,)
        Their Ritz values in the last block of phase 1, in squared units of the data.
    relative_gaps_ : ndarray of shape (m,)
        Difference of the two second moments along them as a share of their sum, from 0 (no gap there) to 1.
    mean_ : ndarray of shape (d,)
        What ``transform`` subtracts: the mean of all rows read, or zero.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (k,)
        Ritz values of the basis before the last step in the last block, and their share of all variance there.
    residual_ : float
        Part of the last product that lies outside the basis before the step, in [0, 1]. Small at a fixed point.
    history_ : list of dict
        One entry a block: phase, block, n_rows, group_counts, ritz, change (sine of the largest angle between the
        basis before and after), skipped.
    n_skipped_blocks_ : int
        Blocks that lacked a group.
    certificate_ : Certificate
        Variance in the last block captured by the basis before the last step (the answer captures no less of it), all
        variance there as an upper bound, and the constraint residual.
    subspace_ : FairSubspace
        The answer.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups, and their rows among all rows read (a row counts once for each time it was read).

    Guarantees
    ----------
    The answer is orthogonal to the removed directions to rounding. These are estimates: with blocks that are passes
    they converge to those of the sample, at the rate of the (m+1)-th to the m-th absolute eigenvalue of the gap per
    block; with fresh rows in each block the error is of the order of one over the square root of the rows in a block.
    The certificate is one block's, and its bound is not tight.

    Complexity
    ----------
    Two products of the rows with d x k (phase 1: d x 2m) matrices: O(n d (k + m)) time for a pass, and a QR for each
    block. Memory O(d (k + m)) and one batch, never d x d or n x d.

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

    def __init__(
        self,
        n_components=2,
        n_gap_directions=2,
        *,
        constraint="all",
        center="global",
        n_blocks=10,
        block_size=None,
        on_missing="carry",
        min_group=None,
        strength=1.0,
        gap_tol=None,
        mean_tol=None,
        groups=None,
        dtype=None,
        random_state=0,
    ):
        self.n_components = n_components
        self.n_gap_directions = n_gap_directions
        self.constraint = constraint
        self.center = center
        self.n_blocks = n_blocks
        self.block_size = block_size
        self.on_missing = on_missing
        self.min_group = min_group
        self.strength = strength
        self.gap_tol = gap_tol
        self.mean_tol = mean_tol
        self.groups = groups
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X, y=None, *, sensitive_features=None, checkpoint=None):
        """Fit to a table, or to a stream of batches.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), Stream, callable or iterator
            A table (a memory map is read batch by batch), or batches ``(X, groups)`` as ``as_stream`` takes them. The
            chunks of a Dask collection or ``DaskStream`` are summed on a cluster, and a block is whole chunks.
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row of a table; a stream brings its own, and this must be left out.
        checkpoint : str or Path, optional
            A file that is written after every block. Where it exists already, the run that wrote it is continued after
            its last completed block; it must be of the same options and data.

        Returns
        -------
        self
        """
        with self._reader(X, sensitive_features) as reader:
            return self._run(reader, checkpoint)

    def fit_moments(self, moments: GroupMoments):
        """Fit to group moments: the same iteration with the exact products of the sample in every block.

        Parameters
        ----------
        moments : GroupMoments
            The moments of the fitting sample.

        Returns
        -------
        self
        """
        if not isinstance(moments, GroupMoments):
            raise DataError(
                f"fit_moments got a {type(moments).__name__}; needed are GroupMoments. Make them with "
                "GroupMoments.from_data(X, sensitive_features), or call fit(X, sensitive_features=...)."
            )
        self._set_features(moments.d, moments.feature_names)
        return self._run(ExactSums(moments))

    def partial_fit(self, X, y=None, *, sensitive_features, phase="gap", end_block=True):
        """Read one batch; with ``end_block`` do a step with all that was read since the last one.

        Call it with ``phase="gap"`` for all blocks of phase 1, then with ``phase="components"``. After the first step
        of phase 2 there is an answer, which every further one improves. All labels must be known at the first call:
        they are ``groups``, or else those in that batch.

        Parameters
        ----------
        X : array-like or DataFrame of shape (b, d)
            A batch of rows.
        y : array-like of shape (b,), optional
            Not used.
        sensitive_features : array-like of shape (b,) or (b, p), Series or DataFrame
            Their groups.
        phase : {"gap", "components"}
            Which of the two iterations the batch is for.
        end_block : bool
            False keeps the sums for the next call.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_power")
        table = self._table(X, reset=first)
        reader = BlockReader(ArrayStream(table, sensitive_features), self.groups if first else self._power.labels)
        if first:
            self._power = self._begin(reader)
        reader.dtype = self._power.W.dtype
        power = self._power
        if require_phase(phase, power.phase) == "components" and power.phase == "gap":
            power.end_gap_phase()
        reader.start_pass()
        power.add(reader.read(None, power.operand(), len(power.labels)))
        if end_block:
            power.end_block()
            if power.phase == "components":
                self._finish(power)
        return self

    # -- the run ----------------------------------------------------------------------------------------------------

    def _run(self, reader, checkpoint=None):
        n_blocks, sizes = require_blocks(self.n_blocks, self.block_size, reader.one_shot)
        power = self._begin(reader)
        if checkpoint is not None and Path(checkpoint).exists():
            power = power_checkpoint.load(checkpoint, power, sizes)
        for _ in steps(power, reader, n_blocks, sizes):
            if checkpoint is not None:
                power_checkpoint.save(checkpoint, power, sizes)
        return self._finish(power)

    def _begin(self, reader) -> FairPowerMethod:
        options = power_options(self, reader.d)
        found = () if self.constraint == "vanilla" else contrasts(reader.labels)
        require_room(options, len(found), reader.d)
        dtype = reader.dtype if self.dtype is None else precision(self.dtype)
        rng = require_generator(self.random_state)
        return FairPowerMethod.begin(options, reader.labels, found, reader.origin, dtype, rng)

    def _finish(self, power: FairPowerMethod):
        basis = power.basis
        removed = float(np.abs(power.U.T @ basis).max(initial=0.0)) if self.strength == 1 else 0.0
        certificate = Certificate(
            "variance in the last block captured by the basis before its step, without the removed directions",
            power.captured,
            power.total_variance,
            removed,
        )
        mean = np.zeros(len(basis)) if self.center == "none" else power.mean
        self.subspace_ = FairSubspace(basis, mean, certificate)
        self.components_ = self.subspace_.V.T
        self.mean_, self.certificate_ = mean, certificate
        self.nullified_ = power.U.T
        self.gap_directions_ = power.W.T
        self.gap_ritz_values_ = np.zeros(0) if power.ritz is None else power.ritz
        self.relative_gaps_ = np.zeros(0) if power.relative_gaps is None else power.relative_gaps
        self.group_labels_, self.group_counts_ = power.labels, power.counts
        self.explained_variance_ = np.maximum(power.variances, 0.0)
        whole = power.total_variance
        self.explained_variance_ratio_ = self.explained_variance_ / whole if whole > 0 else np.zeros(basis.shape[1])
        self._warn_surplus(whole, "in the last block")
        self.residual_ = power.residual
        self.history_ = power.history
        self.n_skipped_blocks_ = sum(entry["skipped"] for entry in power.history)
        return self

    @contextmanager
    def _reader(self, X, sensitive_features):
        on_cluster = isinstance(X, DaskStream)
        if on_cluster or hasattr(X, "__dask_graph__"):
            if on_cluster and sensitive_features is not None:
                raise ConfigurationError(_GROUPS_TWICE)
            with dask_reader(X, sensitive_features, self.groups) as reader:
                self._set_features(reader.d, reader.stream.feature_names)
                yield reader
            return
        if isinstance(X, Stream) or callable(X) or hasattr(X, "__next__"):
            if sensitive_features is not None:
                raise ConfigurationError(_GROUPS_TWICE)
            stream = as_stream(X)
            reader = BlockReader(stream, self.groups)
            self._set_features(reader.d, stream.feature_names)
            yield reader
            return
        table = self._table(X, reset=True)
        labels = encode_groups(sensitive_features, len(table))[0] if self.groups is None else self.groups
        yield BlockReader(ArrayStream(table, sensitive_features), labels)

    def _set_features(self, d: int, names) -> None:
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _answer(self, moments: GroupMoments) -> FairSubspace:
        return self.fit_moments(moments).subspace_
