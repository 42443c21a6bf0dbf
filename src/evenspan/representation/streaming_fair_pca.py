"""Fair streaming PCA (Lee et al. 2023): null-it-out from blocks of rows, without any d x d object."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..core import files
from ..core.answer import Answer, Certificate, FairSubspace
from ..core.dask_cluster import connected
from ..core.dask_tables import DaskStream
from ..core.errors import ConfigurationError, DataError, FairWarning
from ..core.estimator import SubspaceEstimator, require_components, require_generator, warn_caller
from ..core.groups import encode_groups
from ..core.moments import GroupMoments
from ..core.options import PRECISION, Option, number, one_of, whole
from ..core.streams import ArrayStream, Stream, as_stream
from .block_readers import BlockReader, DaskReader, ExactSums
from .noisy_power import PHASES, BlockSums, FairPowerMethod, PowerOptions
from .null_it_out import COMPARISON_OPTIONS, contrasts, removable


class StreamEndedWarning(FairWarning):
    """A stream had fewer rows than the blocks that were asked for."""


def steps(power: FairPowerMethod, reader, n_blocks: tuple[int, int], sizes: tuple) -> Iterator[None]:
    """Do all blocks of both phases that are not done yet; yields after each.

    ``reader`` gives the sums of blocks: ``start_pass(row)`` goes to a row of the data, ``read(rows, operand, G)``
    returns the ``BlockSums`` over so many rows (None: all that are left), or None at the end.
    """
    for phase, wanted, size in zip(PHASES, n_blocks, sizes, strict=True):
        if phase == "gap" and power.phase == "components":
            continue
        if phase == "gap" and power.options.constraint == "vanilla":
            wanted = 0
        elif phase == "gap" and size is None and power.options.n_gap_directions == 0:
            wanted = 1  # one pass gives the means of the groups; without gap directions there is nothing to iterate on
        done = [entry for entry in power.history if entry["phase"] == phase]
        if size is not None and wanted:
            # What can be read only once goes on where the phase before has ended.
            reader.start_pass(sum(entry["n_rows"] for entry in (power.history if reader.one_shot else done)))
        for done_before in range(len(done), wanted):
            if size is None:
                reader.start_pass()
                power.passes = done_before + 1 if phase == "gap" else power.passes
            sums = reader.read(size, power.operand(), len(power.labels))
            if sums is None:
                seen = f"the stream ended after {done_before} of {wanted} blocks of {size} rows in phase {phase!r}"
                if done_before == 0:
                    raise DataError(
                        f"{seen}: not one row was left. Give a stream that can be read again, or more rows."
                    )
                warn_caller(f"{seen}; the phase ends there. Ask for fewer or smaller blocks.", StreamEndedWarning)
                break
            power.add(sums)
            power.end_block()
            yield
        if phase == "gap":
            power.end_gap_phase()


def _pair(value) -> tuple:
    """A value for both phases, or one for each of them."""
    return tuple(value) if isinstance(value, tuple | list) else (value, value)


BLOCKS = Option(
    lambda value: len(_pair(value)) == 2 and all(whole(1).allows(one) for one in _pair(value)),
    "a whole number of at least 1, or one for each of the two phases",
)


#: Of the checkpoint's format. Version 3 has a digest, and that of the first rows.
VERSION = 3
WHAT, REMEDY = "a checkpoint of this version of evenspan", "Delete it, or name another file."


def save_state(path, power: FairPowerMethod, sizes: tuple, first_rows: str) -> None:
    """Write the state, in full or not at all: a run killed in between leaves the file of the block before."""
    state = {name: value for name, value in vars(power).items() if value is not None}
    del state["options"], state["contrasts"]  # the run that goes on has its own
    if (pending := state.pop("pending", None)) is not None:
        state |= {f"pending_{name}": value for name, value in vars(pending).items()}
    state["history"] = json.dumps(power.history).encode()  # as text, an array takes four bytes a letter
    identity = json.dumps(_identity(power, sizes)).encode()
    head = {"version": VERSION, "identity": identity, "first_rows": first_rows}
    files.write(path, head | state, compressed=False)  # between two blocks time counts


def load_state(path, fresh: FairPowerMethod, sizes: tuple, first_rows: str) -> FairPowerMethod:
    """The state in the file, for a run that begins as ``fresh`` does; another run's file is refused."""
    arrays = files.read(path, WHAT, REMEDY)
    with files.described(path, WHAT, REMEDY):
        state = {name: array if array.ndim else array.item() for name, array in arrays.items()}
        if state.pop("version") != VERSION:
            raise ValueError("it has another version")
        identity, begun_with = json.loads(state.pop("identity")), state.pop("first_rows")
        pending = {name: state.pop(name) for name in list(state) if name.startswith("pending_")}
        state["pending"] = BlockSums(**{k.removeprefix("pending_"): v for k, v in pending.items()}) if pending else None
        # What json made lists were tuples.
        state["history"] = [
            {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
            for entry in json.loads(state["history"])
        ]
        power = FairPowerMethod(options=fresh.options, contrasts=fresh.contrasts, **state)
        same_labels = np.array_equal(power.labels, fresh.labels)
        wanted = _identity(fresh, sizes)
        different = [name for name in wanted if identity.get(name) != wanted[name]]
    if not same_labels or begun_with != first_rows:
        raise ConfigurationError(
            f"{path} was written for other data, or for these rows in another order. Delete it, or name another file."
        )
    if different:
        shown = ", ".join(f"{name}={identity.get(name)!r} (now {wanted[name]!r})" for name in different)
        raise ConfigurationError(f"{path} was written with {shown}. Delete it, name another file, or use its options.")
    return power


def _identity(power: FairPowerMethod, sizes: tuple) -> dict:
    given = asdict(power.options) | {"block_size": sizes, "precision": power.W.dtype.name}
    return json.loads(json.dumps(given, default=float))


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
    center : {"global", "none", "group"}, default "global"
        The point about which second moments are taken: the running mean of all rows read, zero (the authors'
        program), or for the gap the mean of the group in the block, which makes it the gap of covariances.
    n_blocks : int or pair of int, default 10
        Blocks, which are power steps, of each phase.
    block_size : int or pair of int, optional
        Rows of a block; None makes a block of one pass over the whole stream, and the answer tends to that of
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
        sampling noise alone would leave; 10 is a cautious choice. Without it, noise of equal means is removed as well,
        and it points along the directions of most variance.
    attributes, on_single_group : as in ``NullItOutPCA``
        What is compared.
    groups : array-like, optional
        All labels to expect. By default those of the array, or those met in a stream until there are two.
    dtype : {"float32", "float64"}, optional
        Precision of the computation; by default that of the data (pixels of one byte: float32).
    random_state : int or numpy.random.Generator, default 0
        Seed of the random start.

    Attributes
    ----------
    nullified_, gap_directions_ : ndarray of shape (r, d) and (m, d)
        As in ``NullItOutPCA``; the gap directions are the last W of phase 1.
    gap_ritz_values_, relative_gaps_ : ndarray of shape (m,)
        Their Ritz values in the last block of phase 1, in squared units of the data, and the difference of the two
        second moments along them as a share of their sum, from 0 (no gap there) to 1.
    components_, mean_, subspace_ : as in ``NullItOutPCA``
        By decreasing variance in the last block; the mean of all rows read, or zero.
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

    _options: ClassVar[Mapping[str, Option]] = {
        **COMPARISON_OPTIONS,
        "center": one_of("global", "none", "group"),
        "n_blocks": BLOCKS,
        "block_size": BLOCKS.or_none("whole passes"),
        "on_missing": one_of("carry", "skip"),
        "min_group": number(1).or_none("n_gap_directions"),
        "gap_tol": number(0, 1).or_none("remove all"),
        "mean_tol": number(0).or_none("remove all"),
        "dtype": PRECISION.or_none("that of the data"),
    }

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
        attributes="marginal",
        on_single_group="raise",
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
        self.attributes = attributes
        self.on_single_group = on_single_group
        self.groups = groups
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X, y=None, *, sensitive_features=None, checkpoint=None):
        """Fit to a table, or to a stream of batches, from the beginning whatever was fitted before.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d), Stream, callable or iterator
            A table (a memory map is read batch by batch), or batches ``(X, groups)`` as ``as_stream`` takes them. The
            chunks of a Dask collection or ``DaskStream`` are summed on a cluster, and a block is whole chunks.
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row of a table; a stream brings its own, and this must be left out.
        checkpoint : str or Path, optional
            A file that is written after every block. Where it exists already, the run that wrote it is continued after
            its last completed block; it must be of the same options and data. Compared are the labels, and the digest
            of the first 1024 rows with their groups, which costs less than a millisecond for 100 features; what lies
            behind them is taken to be the same.

        Returns
        -------
        self
        """
        self._check_options()
        if checkpoint is not None:
            files.require_place("checkpoint", checkpoint)
        with ExitStack() as cluster:
            reader = self._reader(X, sensitive_features, cluster)
            return self._store(self._summary(self._run(reader, checkpoint)))

    def partial_fit(self, X, y=None, *, sensitive_features, phase="gap", end_block=True):
        """Read one batch; with ``end_block`` do a step with all that was read since the last one.

        Call it with ``phase="gap"`` for all blocks of phase 1, then with ``phase="components"``. After the first step
        of phase 2 there is an answer, which every further one improves. All labels must be known at the first call:
        they are ``groups``, or else those in that batch. After ``fit`` the first call begins anew.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (b, d)
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
        if first:
            for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
                delattr(self, name)  # what fit learnt is of other rows
            self._check_options()
        table = self._table(X, reset=first)
        reader = BlockReader(ArrayStream(table, sensitive_features), self.groups if first else self._power.labels)
        if first:
            self._power = self._begin(reader)
        reader.dtype = self._power.W.dtype
        power = self._power
        one_of(*PHASES).require("phase", phase)
        if phase == "gap" and power.phase == "components":
            raise ConfigurationError(
                "phase='gap' after phase='components': what is removed is fixed when the second phase begins. Fit a "
                "new estimator (clone it) to begin again."
            )
        if phase != power.phase:
            power.end_gap_phase()
        reader.start_pass()
        power.add(reader.read(None, power.operand(), len(power.labels)))
        if end_block:
            power.end_block()
            if power.phase == "components":
                self._store(self._summary(power))
        return self

    def _answer(self, moments: GroupMoments) -> Answer:
        return self._summary(self._run(ExactSums(moments)))

    def _run(self, reader, checkpoint=None) -> FairPowerMethod:
        self.__dict__.pop("_power", None)  # what an earlier fit or partial_fit left does not count
        n_blocks, sizes = _pair(self.n_blocks), _pair(self.block_size)
        if reader.one_shot and None in sizes:
            raise ConfigurationError(
                "block_size=None makes every block a pass over the stream, but this stream can be read only once. Give "
                "block_size, or a function that makes the stream anew."
            )
        power = self._begin(reader)
        if checkpoint is not None and Path(checkpoint).exists():
            power = load_state(checkpoint, power, sizes, reader.first_rows)
        for _ in steps(power, reader, n_blocks, sizes):
            if checkpoint is not None:
                save_state(checkpoint, power, sizes, reader.first_rows)
        return power

    def _begin(self, reader) -> FairPowerMethod:
        m, k = removable(self, reader.d), require_components(self.n_components, reader.d, reader.d, "")
        vanilla = self.constraint == "vanilla"
        found = () if vanilla else contrasts(reader.labels, self.attributes, self.on_single_group)
        options = PowerOptions(
            n_components=k,
            n_gap_directions=m if found else 0,
            constraint=self.constraint,
            center=self.center,
            on_missing=self.on_missing,
            min_group=float(max(m, 1) if self.min_group is None else self.min_group),
            strength=float(self.strength),
            gap_tol=self.gap_tol,
            mean_tol=self.mean_tol,
        )
        # With several comparisons, or a tolerance, how many directions go is known only after the first phase.
        if len(found) == 1 and self.gap_tol is None and self.mean_tol is None:
            removed = options.n_gap_directions + (self.constraint in ("all", "mean"))
            require_components(k, reader.d - removed, reader.d, f" less {removed} removed directions")
        dtype = reader.dtype if self.dtype is None else np.dtype(self.dtype)
        rng = require_generator(self.random_state)
        return FairPowerMethod.begin(options, reader.labels, found, reader.origin, dtype, rng)

    def _summary(self, power: FairPowerMethod) -> Answer:
        basis, whole_variance = power.basis, power.total_variance
        removed = float(np.abs(power.U.T @ basis).max(initial=0.0)) if self.strength == 1 else 0.0
        problem = "variance in the last block captured by the basis before its step, without the removed directions"
        certificate = Certificate(problem, power.captured, whole_variance, removed)
        variances = np.maximum(power.variances, 0.0)
        learnt = {
            "nullified_": power.U.T,
            "gap_directions_": power.W.T,
            "gap_ritz_values_": np.zeros(0) if power.ritz is None else power.ritz,
            "relative_gaps_": np.zeros(0) if power.relative_gaps is None else power.relative_gaps,
            "group_labels_": power.labels,
            "group_counts_": power.counts,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / (whole_variance if whole_variance > 0 else np.inf),
            "residual_": power.residual,
            "history_": power.history,
            "n_skipped_blocks_": sum(entry["skipped"] for entry in power.history),
        }
        mean = np.zeros(len(basis)) if self.center == "none" else power.mean
        return Answer(FairSubspace(basis, mean, certificate), learnt)

    def _store(self, answer: Answer, moments: GroupMoments | None = None):
        for name, value in answer.learnt.items():
            setattr(self, name, value)
        self.subspace_, self.components_ = answer.subspace, answer.subspace.V.T
        self.mean_, self.certificate_ = answer.subspace.mean, answer.subspace.certificate
        self._warn_surplus(answer.subspace.certificate.dual, "in the last block")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _reader(self, X, sensitive_features, cluster: ExitStack):
        on_cluster = isinstance(X, DaskStream) or hasattr(X, "__dask_graph__")
        batches = isinstance(X, Stream) or (not on_cluster and (callable(X) or hasattr(X, "__next__")))
        if batches and sensitive_features is not None:
            raise ConfigurationError(
                "sensitive_features was given with a stream, whose batches bring their own groups. Leave it out."
            )
        if not (on_cluster or batches):
            table = self._table(X, reset=True)
            labels = encode_groups(sensitive_features, table.shape[0])[0] if self.groups is None else self.groups
            return BlockReader(ArrayStream(table, sensitive_features), labels)
        if on_cluster:
            stream = X if batches else DaskStream(X, sensitive_features)
            reader = DaskReader(stream, cluster.enter_context(connected(stream.client)), self.groups)
        else:
            reader = BlockReader(as_stream(X), self.groups)
        self._set_features(reader.d, reader.stream.feature_names)
        return reader
