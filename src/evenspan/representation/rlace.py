"""Relaxed linear adversarial concept erasure (Ravfogel et al. 2022): a game between a projection and a predictor."""

from dataclasses import KW_ONLY
from itertools import pairwise

import numpy as np
from scipy import linalg
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss

from ..core.errors import ComponentsError
from ..core.estimator import require_components
from ..core.linalg import eigenpairs, span_of_rows, symmetrise
from ..core.options import ATTRIBUTES, COMPONENTS, SEED, SINGLE_GROUP, none, number, option, parameterised, whole
from ..reconstruction.fantope import clip_to_sum
from .erasure import ErasingEstimator, majority_share, surviving_basis

#: Weight of the penalty of every probe; share of the learning rate by which both players shrink a step; rows of a
#: stochastic gradient.
ALPHA, WEIGHT_DECAY, BATCH_ROWS = 1e-4, 1e-4, 128


class FantopePoint:
    """A symmetric matrix with eigenvalues in [0, 1] and given trace, kept as its eigendecomposition.

    A low-rank step changes few eigenvectors, and the projection none: of an eigenvalue that occurs m times, at most as
    many as the rank of the step. Only so many enter the eigenvalue problem, and nothing is approximated.
    """

    def __init__(self, A: np.ndarray, trace: int):
        values, vectors = eigenpairs(symmetrise(A))
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
        new, W = eigenpairs(S)
        values = factor * self.values
        values[active] = new
        self.vectors[:, active] = self.vectors[:, active] @ W
        self.values = clip_to_sum(values, self.trace)

    def _concentrate(self, C: np.ndarray) -> np.ndarray:
        """Rotate the eigenvectors of the eigenvalues 0 and 1 so that few of them see U; which do, as positions."""
        t = C.shape[1]
        active = np.ones(len(self.values), dtype=bool)
        for bound in (0.0, 1.0):  # where clipping makes ties; one between them costs time alone
            at = np.flatnonzero(self.values == bound)
            if len(at) <= t:
                continue
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


@parameterised
class RLACE(ErasingEstimator):
    r"""Linear adversarial erasure: the projection on which the best linear predictor of the group does worst.

    .. math::

        \max_{A \in \mathcal{F}_r} \; \min_{\theta, b} \; \sum_i \ell\big(z_i,\, \theta^\top (I - A) x_i + b\big),
        \qquad \mathcal{F}_r = \{ 0 \preceq A \preceq I,\; \operatorname{tr} A = r \},

    with the logistic loss (softmax for several groups), by alternating steps of stochastic gradients; erased are the r
    leading eigenvectors of A. For the squared loss and r = G - 1 the optimal erased space is that of the mean
    differences, so that the projection is that of ``FairPCA``. For the logistic loss no other space of that dimension
    makes a constant the best predictor, if G - 1 is the rank of the mean differences: a game played to its end finds
    it.

    Parameters
    ----------
    n_components : as in ``INLP``
        At most d - r components; with rank = d - k there is no choice.
    rank : int, optional
        How many directions are erased; the published tables erase d - k. None is the number of groups less one (summed
        over attributes), which can suffice.
    max_iter : int, default 10000
        Steps of each player.
    learning_rate : float, default 0.005
        Length of the steps, for standardised features.
    epsilon, evaluate_every : float, default 0.0015, and int, default 1000
        Probes are made every so many steps; the game ends when the accuracy of one is this close to the majority share.
    attributes, on_single_group : as in ``FairPCA``
        With several attributes one predictor for each of them, whose losses add up, or one for the combinations of
        their values; with "warn" nothing is erased for an attribute with one group.
    random_state : int, Generator or None, default 0
        Seed of the start, the batches and the probes.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_, group_labels_, group_counts_
        As in ``StandardPCA``: orthonormal rows inside the surviving space.
    projection_, rank_removed_ : ndarray of shape (d, d), int
        The orthogonal projector onto the surviving space, and d less its rank.
    score_, majority_share_, converged_ : float, float, bool
        Accuracy on the training sample of a solved logistic regression on what ``projection_`` keeps (of the attribute
        that is told best), the share of the largest group, and whether they differ by less than ``epsilon``.
    probes_, n_iter_ : ndarray of shape (number of probes, 3), int
        Step, loss and accuracy of each probe, and the steps of each player.
    certificate_ : Certificate
        Variance of the components against Ky Fan's bound inside the surviving space. The game itself has no bound.

    Guarantees
    ----------
    The projection is orthogonal and of rank d - r. That the game reaches a saddle point is not guaranteed, nor, for
    groups of unequal size, that means are equal where no classifier beats the majority. Probes, stochastic gradients
    as in the public program, are noisy: the game can go on although nothing is left, or end by chance. The answer is
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

    n_components: int | None = option(COMPONENTS, default=None)
    _: KW_ONLY
    rank: int | None = option(whole(1) | none("one less than the groups"), default=None)
    max_iter: int = option(whole(1), default=10_000)
    learning_rate: float = option(number(0, low_open=True), default=0.005)
    epsilon: float = option(number(0, low_open=True), default=0.0015)
    evaluate_every: int = option(whole(1), default=1000)
    attributes: str = option(ATTRIBUTES, default="marginal")
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def _erased(self, X: np.ndarray, parts: list, mean: np.ndarray, rng) -> tuple[np.ndarray, dict]:
        n, d = X.shape
        r = sum(int(part.max(axis=0)) for part in parts) if self.rank is None else self.rank
        if r >= d:
            raise ComponentsError(
                f"rank={r}; needed is at most {d - 1} for these {d} feature(s): something must survive."
            )
        if self.n_components is not None:
            require_components(self.n_components, d - r, d, f" less {r} erased")
        X = np.ascontiguousarray(X - mean)  # the same to the last bit however X lies in memory
        basis = span_of_rows(X, 0) if r < n else None
        if basis is None:
            return self._play(X, parts, r, rng)
        erased, learnt = self._play(X @ basis, parts, r, rng)
        return basis @ erased, learnt  # no predictor sees what lies outside the span of the rows

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
        probes, best, nearest = [], None, np.inf
        for step in range(self.max_iter):
            rows = rng.choice(n, b, replace=False)
            batch = X[rows]
            delta = _residuals(batch, theta - point.times(theta), bias, Z[rows], heads)
            # The gradient of the loss in A is -X' delta theta'; A climbs.
            point.step(shrink, np.hstack([-(batch.T @ delta), theta]), swap)
            rows = rng.choice(n, b, replace=False)
            batch = X[rows]
            delta = _residuals(batch, theta - point.times(theta), bias, Z[rows], heads)
            gradient = batch.T @ delta
            theta = shrink * theta - rate * (gradient - point.times(gradient))
            bias = shrink * bias - rate * delta.sum(axis=0)
            if step % self.evaluate_every == 0 or step == self.max_iter - 1:
                point.orthonormalise()
                erased = point.leading(r)
                loss, accuracy, distance = _probe(X @ surviving_basis(erased), parts, rng)
                if best is None or loss > best[0]:
                    best = loss, erased
                probes.append((step, loss, accuracy))
                nearest = min(nearest, distance)
            if step > 1 and nearest < self.epsilon:
                break
        score, share = _solved_score(X, parts, best[1])
        return best[1], {
            "score_": score,
            "majority_share_": share,
            "converged_": score - share < self.epsilon,
            "probes_": np.array(probes),
            "n_iter_": step + 1,
        }


def _probe(T: np.ndarray, parts: list, rng) -> tuple[float, float, float]:
    """Loss of the best of three logistic classifiers on the points T, summed over attributes, and accuracy.

    The accuracy is that of the attribute where it is farthest from the majority share, and this distance the third.
    """
    total, seen = 0.0, []
    for part in parts:
        found = []
        for _ in range(3):
            probe = SGDClassifier(
                loss="log_loss", alpha=ALPHA, max_iter=25_000, tol=1e-4, n_iter_no_change=15,
                random_state=int(rng.integers(2**31)),
            ).fit(T, part)  # fmt: skip
            loss = float(log_loss(part, probe.predict_proba(T), labels=probe.classes_))
            found.append((loss, float(probe.score(T, part))))
        loss, accuracy = min(found, key=lambda pair: pair[0])
        total += loss
        seen.append((abs(accuracy - majority_share(part)), accuracy))
    distance, accuracy = max(seen, key=lambda pair: pair[0])
    return total, accuracy, distance


def _solved_score(X: np.ndarray, parts: list, erased: np.ndarray) -> tuple[float, float]:
    """Accuracy of a solved logistic regression, and the majority share beside it."""
    T = X @ surviving_basis(erased) * np.sqrt(X.size) / np.linalg.norm(X)  # the penalty is for unit size
    found = []
    for part in parts:
        probe = LogisticRegression(C=1.0 / (ALPHA * len(X)), max_iter=10_000)  # the objective of the probes
        probe.fit(T, part)
        found.append((float(probe.score(T, part)), majority_share(part)))
    return max(found, key=lambda pair: pair[0] - pair[1])


def _residuals(X: np.ndarray, weights: np.ndarray, bias: np.ndarray, Z: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Predicted probabilities less the indicators, divided by the number of rows: the gradient in the scores.

    Columns ``heads[j]`` to ``heads[j + 1]`` belong to attribute j.
    """
    scores = X @ weights + bias
    for a, b in pairwise(heads):
        scores[:, a:b] = expit(scores[:, a:b]) if b - a == 1 else softmax(scores[:, a:b], axis=1)
    return (scores - Z) / len(X)
