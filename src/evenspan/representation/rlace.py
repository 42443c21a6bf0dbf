"""Relaxed linear adversarial concept erasure (Ravfogel et al. 2022): a game between a projection and a predictor."""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss

from ..core.errors import ComponentsError, DataError
from ..core.estimator import require_components
from ..core.linalg import span_of_rows, symmetrise
from ..core.moments import GroupMoments
from ..core.options import Option, number, whole
from ..reconstruction.fantope import clip_to_sum
from .erasure import ERASURE_OPTIONS, ErasingEstimator, fit_counting, majority_share, surviving_basis

#: Weight of the penalty of every probe; share of the learning rate by which both players shrink a step; rows of a
#: stochastic gradient.
ALPHA, WEIGHT_DECAY, BATCH_ROWS = 1e-4, 1e-4, 128


class FantopePoint:
    """A symmetric matrix with eigenvalues in [0, 1] and given trace, kept as its eigendecomposition.

    A low-rank step and the projection back change few eigenvectors: the projection none, and the step, of an eigenvalue
    that occurs m times, at most as many as its rank. So only the eigenvalues that occur seldom, and that many of each
    of the others, enter the eigenvalue problem of a step. Nothing is approximated.
    """

    def __init__(self, A: np.ndarray, trace: int):
        values, vectors = linalg.eigh(symmetrise(A), driver="evd", check_finite=False)
        self.trace, self.values, self.vectors = trace, clip_to_sum(values, trace), np.asfortranarray(vectors)

    def times(self, B: np.ndarray) -> np.ndarray:
        """The product with B (d, m)."""
        return self.vectors @ (self.values[:, None] * (self.vectors.T @ B))

    def step(self, factor: float, U: np.ndarray, M: np.ndarray) -> None:
        """Move to the projection of ``factor * A + U M U'`` for U of shape (d, t) and symmetric M (t, t)."""
        C = self.vectors.T @ U
        active = self._concentrate(C)
        S = C[active] @ M @ C[active].T
        S[np.diag_indices_from(S)] += factor * self.values[active]
        new, W = linalg.eigh(S, driver="evd", check_finite=False)
        values = factor * self.values
        values[active] = new
        self.vectors[:, active] = self.vectors[:, active] @ W
        self.values = clip_to_sum(values, self.trace)

    def _concentrate(self, C: np.ndarray) -> np.ndarray:
        """Rotate the eigenvectors of each repeated eigenvalue so that few of them see U; which do, as positions."""
        t = C.shape[1]
        active = np.ones(len(self.values), dtype=bool)
        _, member, counts = np.unique(self.values, return_inverse=True, return_counts=True)
        for repeated in np.flatnonzero(counts > t):
            at = np.flatnonzero(member == repeated)
            reflectors, tau, _, _ = linalg.lapack.dgeqrf(C[at])
            block = np.asfortranarray(self.vectors[:, at])
            block, _, _ = linalg.lapack.dormqr("R", "N", reflectors, tau, block, 64 * len(block))
            self.vectors[:, at] = block
            C[at] = 0.0
            C[at[:t]] = np.triu(reflectors[:t])
            active[at[t:]] = False
        return np.flatnonzero(active)

    def orthonormalise(self) -> None:
        """Remove the rounding that many steps leave in the eigenvectors."""
        Q, T = np.linalg.qr(self.vectors)
        self.vectors = np.asfortranarray(Q * np.sign(np.diag(T)))

    def leading(self, r: int) -> np.ndarray:
        """Eigenvectors (d, r) of the r largest eigenvalues."""
        return self.vectors[:, np.argsort(self.values, kind="stable")[::-1][:r]]


class RLACE(ErasingEstimator):
    r"""Linear adversarial erasure: the projection on which the best linear predictor of the group does worst.

    .. math::

        \max_{A \in \mathcal{F}_r} \; \min_{\theta, b} \; \sum_i \ell\big(z_i,\, \theta^\top (I - A) x_i + b\big),
        \qquad \mathcal{F}_r = \{ 0 \preceq A \preceq I,\; \operatorname{tr} A = r \},

    with the logistic loss (softmax for several groups), by alternating steps of stochastic gradients; the erased space
    is that of the r leading eigenvectors of A. For the squared loss the game has a closed form: with r = G - 1 the
    optimal erased space is that of the mean differences, so that the projection is that of ``FairPCA``. For the
    logistic loss no other space of that dimension makes a constant the best predictor, if G - 1 is the rank of the mean
    differences, so that a game played to its end finds the same.

    Parameters
    ----------
    n_components : int, optional
        The number of components k, at most d - r; None keeps all d - r directions that survive.
    rank : int, optional
        How many directions are erased. None is the number of groups less one (summed over attributes), which can
        suffice; the published tables erase d - k.
    select : as in ``INLP``
        With rank = d - k there is no choice.
    max_iter : int, default 10000
        Steps of each player.
    learning_rate : float, default 0.005
        Length of the steps, for standardised features.
    epsilon : float, default 0.0015
        The game ends when a probe's accuracy is this close to the majority share.
    evaluate_every : int, default 1000
        Steps between probes; a smaller number can end the game sooner.
    attributes : {"marginal", "intersection"}, default "marginal"
        With several attributes: one predictor for each of them, whose losses add up, or one for the combinations of
        their values.
    on_single_group : as in ``FairPCA``
        With "warn" nothing is erased for an attribute with one group.
    random_state : int, Generator or None, default 0
        Seed of the start, the batches and the probes.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_ : as in ``StandardPCA``
        Orthonormal rows inside the surviving space.
    projection_, rank_ : ndarray of shape (d, d), int
        The orthogonal projector onto the surviving space, and its rank.
    score_, majority_share_ : float
        Accuracy on the fitting sample of a logistic regression of the group on what ``projection_`` keeps, with the
        penalty of the probes, on data scaled to root mean square 1; and the share of the largest group. With several
        attributes, those of the one that is told best beyond that share.
    loss_ : float
        The logistic loss of the probe of ``projection_``, the largest of all probes.
    history_, n_iter_ : ndarray of shape (number of probes, 3), int
        Step, loss and accuracy of each probe, and the steps of each player.
    converged_ : bool
        Whether ``score_`` is less than ``epsilon`` above the majority share.
    probe_warnings_ : int
        How many probes reported that they had not converged.
    certificate_ : Certificate
        Variance of the components against Ky Fan's bound inside the surviving space. The game itself has no bound.
    subspace_, group_labels_, group_counts_ : as in ``StandardPCA``
        The answer, and the groups of the fitting sample.

    Guarantees
    ----------
    The projection is orthogonal and of rank d - r. A is in the fantope after every step, exactly. That the game
    reaches a saddle point is not guaranteed; ``converged_`` says whether a solved logistic regression is more often
    right than the majority, which for groups of unequal size it need not be while means still differ. The probes
    during the game, stochastic gradients as in the public program, are noisy: they can do worse than a constant, so
    that the game goes on to ``max_iter`` although nothing is left, or meet the majority share by chance. The answer is
    the probed A of largest loss, which need not be the one that ended the game.

    Complexity
    ----------
    A step costs O(b d + d f + f^3) for batches of b rows, f being the number of eigenvalues of A that differ from all
    others, at most d. With more than twice as many features as rows, the game is played in the span of the n rows.

    References
    ----------
    S. Ravfogel, M. Twiton, Y. Goldberg and R. Cotterell (2022), Linear adversarial concept erasure, section 4;
    its Proposition 3.1 for the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], [130, 70])
    >>> X = rng.normal(size=(200, 3)) + np.outer(sex == "m", [3, 0, 0])
    >>> fitted = RLACE(epsilon=0.01, evaluate_every=200).fit(X, sensitive_features=sex)
    >>> fitted.converged_, bool(np.abs(fitted.projection_[0, 0]) < 0.1)
    (True, True)
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **ERASURE_OPTIONS,
        "rank": whole(-(2**62)).or_none("one less than the groups"),  # its range depends on d, and has its own words
        "max_iter": whole(1),
        "learning_rate": number(0, low_open=True),
        "epsilon": number(0, low_open=True),
        "evaluate_every": whole(1),
    }

    def __init__(
        self,
        n_components=None,
        *,
        rank=None,
        select="pca",
        max_iter=10_000,
        learning_rate=0.005,
        epsilon=0.0015,
        evaluate_every=1000,
        attributes="marginal",
        on_single_group="raise",
        random_state=0,
    ):
        self.n_components = n_components
        self.rank = rank
        self.select = select
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.evaluate_every = evaluate_every
        self.attributes = attributes
        self.on_single_group = on_single_group
        self.random_state = random_state

    def _erased(self, X: np.ndarray, parts: list, moments: GroupMoments, rng) -> tuple[np.ndarray, dict]:
        d = moments.d
        r = sum(int(part.max(axis=0)) for part in parts) if self.rank is None or not parts else self.rank
        if parts and not 1 <= r < d:
            raise ComponentsError(
                f"rank={r}, but there are {d} feature(s): needed is a number of erased directions from 1 to {d - 1}, "
                "so that something survives."
            )
        if self.n_components is not None:
            require_components(self.n_components, d - r, d, f" less {r} erased")
        X = np.ascontiguousarray(X - moments.mean)  # the same to the last bit however X lies in memory
        basis = span_of_rows(X, 0) if r < len(X) else None
        if not parts:
            erased, learnt = np.zeros((d, 0)), NOTHING_TO_PLAY
        elif basis is None:
            erased, learnt = self._play(X, parts, r, rng)
        else:  # no predictor sees what lies outside the span of the rows
            erased, learnt = self._play(X @ basis, parts, r, rng)
            erased = basis @ erased
        return erased, learnt | {"converged_": learnt["score_"] - learnt["majority_share_"] < self.epsilon}

    def _unfinished(self, learnt: dict) -> str:
        return (
            f"after {learnt['n_iter_']} step(s) a logistic regression has accuracy {learnt['score_']:.4f}, more than "
            f"{self.epsilon:g} above the majority share {learnt['majority_share_']:.4f}. Raise rank or max_iter, or "
            "standardise the data."
        )

    def _play(self, X: np.ndarray, parts: list, r: int, rng: np.random.Generator) -> tuple[np.ndarray, dict]:
        """The erased space (d, r) of the best probe, and what happened as fitted attributes."""
        n, d = X.shape
        b = min(BATCH_ROWS, n)
        # Two groups need one column of scores, more of them one each.
        shown = [(part[:, None] == np.arange(part.max(axis=0) + 1)).astype(np.float64) for part in parts]
        shown = [Z[:, -1:] if Z.shape[1] == 2 else Z for Z in shown]
        Z, heads = np.hstack(shown), np.cumsum([0] + [one.shape[1] for one in shown])
        m = Z.shape[1]
        point = FantopePoint(0.1 * rng.normal(size=(d, d)), r)
        reach = 1.0 / np.sqrt(d)
        theta, bias = rng.uniform(-reach, reach, (d, m)), rng.uniform(-reach, reach, m)
        rate, shrink = self.learning_rate, 1.0 - self.learning_rate * WEIGHT_DECAY
        swap = 0.5 * rate * np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(m))
        probes, unheard = [], 0
        for step in range(self.max_iter):
            rows = rng.choice(n, b, replace=False)
            delta = _residuals(X[rows], theta - point.times(theta), bias, Z[rows], heads)
            # The gradient of the loss in A is -X' delta theta'; A climbs.
            point.step(shrink, np.hstack([-(X[rows].T @ delta), theta]), swap)
            rows = rng.choice(n, b, replace=False)
            delta = _residuals(X[rows], theta - point.times(theta), bias, Z[rows], heads)
            gradient = X[rows].T @ delta
            theta = shrink * theta - rate * (gradient - point.times(gradient))
            bias = shrink * bias - rate * delta.sum(axis=0)
            if step % self.evaluate_every == 0 or step == self.max_iter - 1:
                point.orthonormalise()
                probe, quiet = _probe(X, parts, point.leading(r), step, rng)
                probes.append(probe)
                unheard += quiet
            if step > 1 and min(p.off for p in probes) < self.epsilon:
                break
        best = max(probes, key=lambda p: p.loss)
        score, share, quiet = _solved_score(X, parts, best.erased)
        return best.erased, {
            "loss_": best.loss,
            "score_": score,
            "majority_share_": share,
            "history_": np.array([[p.step, p.loss, p.accuracy] for p in probes]),
            "n_iter_": step + 1,
            "probe_warnings_": unheard + quiet,
        }


class _Probe(NamedTuple):
    step: int
    loss: float
    accuracy: float
    off: float  # from the majority share
    erased: np.ndarray


#: What is learnt where no attribute has more than one group.
NOTHING_TO_PLAY = {
    "loss_": 0.0,
    "score_": 1.0,
    "majority_share_": 1.0,
    "history_": np.zeros((0, 3)),
    "n_iter_": 0,
    "probe_warnings_": 0,
}


def _probe(X: np.ndarray, parts: list, erased: np.ndarray, step: int, rng) -> tuple[_Probe, int]:
    """For each attribute the best of three logistic classifiers, trained on the coordinates that the projection keeps.

    Their losses add up; the accuracy is that of the attribute whose accuracy is farthest from the majority share.
    """
    T, losses, seen, unheard = X @ surviving_basis(erased), [], [], 0
    for part in parts:
        found = []
        for _ in range(3):
            probe = SGDClassifier(
                loss="log_loss", alpha=ALPHA, max_iter=25_000, tol=1e-4, n_iter_no_change=15,
                random_state=int(rng.integers(2**31)),
            )  # fmt: skip
            unheard += fit_counting(probe, T, part)
            loss = float(log_loss(part, probe.predict_proba(T), labels=probe.classes_))
            found.append((loss, float(probe.score(T, part))))
        loss, accuracy = min(found, key=lambda pair: pair[0])
        losses.append(loss)
        seen.append((abs(accuracy - majority_share(part)), accuracy))
    off, accuracy = max(seen, key=lambda pair: pair[0])
    return _Probe(step, sum(losses), accuracy, off, erased.copy()), unheard


def _solved_score(X: np.ndarray, parts: list, erased: np.ndarray) -> tuple[float, float, int]:
    """Accuracy of a solved logistic regression, the majority share beside it, and how many did not converge."""
    T, found, unheard = X @ surviving_basis(erased), [], 0
    T = T * np.sqrt(X.size) / max(float(np.linalg.norm(X)), np.finfo(float).tiny)  # the penalty is for unit size
    for part in parts:
        probe = LogisticRegression(C=1.0 / (ALPHA * len(X)), max_iter=10_000)  # the objective of the probes
        unheard += fit_counting(probe, T, part)
        found.append((float(probe.score(T, part)), majority_share(part)))
    return *max(found, key=lambda pair: pair[0] - pair[1]), unheard


def _residuals(X: np.ndarray, weights: np.ndarray, bias: np.ndarray, Z: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Predicted probabilities less the indicators, divided by the number of rows: the gradient in the scores.

    Columns ``heads[j]`` to ``heads[j + 1]`` belong to attribute j.
    """
    scores = X @ weights + bias
    if not np.isfinite(scores).all():
        raise DataError(
            f"the game diverged at features of size {np.abs(X).max(axis=None):.1e}. Standardise the data (for instance "
            "with sklearn.preprocessing.StandardScaler) or lower learning_rate."
        )
    for a, b in pairwise(heads):
        scores[:, a:b] = expit(scores[:, a:b]) if b - a == 1 else softmax(scores[:, a:b], axis=1)
    return (scores - Z) / len(X)
