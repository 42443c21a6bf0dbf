r"""The MLP of the published protocol: small networks with two classes, any number of them trained side by side.

A network with the layers :math:`A_0 = X`, :math:`A_i = \max(A_{i-1} W_i + b_i, 0)` and a logistic last one is trained
by Adam (Kingma and Ba 2015) on the mean logistic loss of a batch and :math:`\alpha / (2 b) \sum_i \lVert W_i \rVert^2`,
until the loss of an epoch has not fallen by ``TOL`` for more than ``PATIENCE`` epochs.

Settings, start and order of the rows are those of ``MLPClassifier(hidden_layer_sizes=(10, 5), max_iter=10_000,
random_state=999)`` of scikit-learn, and so are all predictions: the same operations in the same order. There most of
the time goes into what surrounds the small products of a batch. Here all parameters of a network are one row of a
matrix, and networks for the same labels stand in a stack: they see the rows in the same order.
"""

import warnings
from itertools import pairwise

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from evenspan.core.errors import DataError

HIDDEN, SEED, MAX_EPOCHS = (10, 5), 999, 10_000
BATCH, ALPHA, TOL, PATIENCE = 200, 1e-4, 1e-4, 10
#: Of Adam: the rate, how much of both moments is kept from step to step, and what is added to the deviation.
RATE, KEPT, ADDED = 1e-3, (0.9, 0.999), 1e-8


class Networks:
    """Classifiers for labels (n,) of two values, one for each embedding (n, k) of a stack (m, n, k), or for one alone.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    theta_ : ndarray of shape (m, p)
        All weights, then all intercepts, of each network.

    Complexity
    ----------
    O(m n k) an epoch.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Networks":
        """Train all networks, each until its own loss stands still."""
        self.classes_, target = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise DataError(f"the labels take {len(self.classes_)} values; a network with one score needs two.")
        n, k = X.shape[-2:]
        X, rng = X.reshape(-1, n, k), np.random.RandomState(SEED)
        self.theta_ = np.tile(_start(rng, k), (len(X), 1))
        training, order = _Training(self.theta_, X.shape[-1]), np.arange(n)
        left, best, stale = np.arange(len(X)), np.full(len(X), np.inf), np.zeros(len(X), dtype=int)
        for _ in range(MAX_EPOCHS):
            order = order[_permutation(rng, n)]
            shuffled, z = X[:, order], target[order].astype(float)
            scores, penalty = np.empty((len(X), n)), 0.0
            for start in range(0, n, BATCH):
                rows = slice(start, start + BATCH)
                penalty = penalty + 0.5 * ALPHA * np.einsum("mp,mp->m", training.weights, training.weights)
                scores[:, rows] = training.step(shuffled[:, rows], z[rows])
            loss = (penalty - _log(np.where(z > 0, scores, 1.0 - scores)).sum(axis=1)) / n
            stale = np.where(loss > best - TOL, stale + 1, 0)
            best = np.minimum(best, loss)
            if (done := stale > PATIENCE).any():
                self.theta_[left[done]] = training.theta[done]
                X, left, best, stale = (found[~done] for found in (X, left, best, stale))
                training.keep(~done)
                if not len(left):
                    return self
        self.theta_[left] = training.theta
        warnings.warn(
            f"{len(left)} network(s) still learn after {MAX_EPOCHS} epochs.", ConvergenceWarning, stacklevel=2
        )
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels (n,) or (m, n), shaped as X (n, k) or (m, n, k)."""
        scores = _forward(_layers(self.theta_, X.shape[-1]), X.reshape(-1, *X.shape[-2:]))[-1]
        return self.classes_[(scores[..., 0] > 0.5).astype(int)].reshape(X.shape[:-1])


class _Training:
    """Parameters (m, p) on their way, with the running moments of their gradients."""

    def __init__(self, theta: np.ndarray, k: int):
        self.k, self.t = k, 0
        self._hold(theta.copy(), np.zeros_like(theta), np.zeros_like(theta))

    def _hold(self, theta: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        self.theta, self.first, self.second, self.slope = theta, first, second, np.empty_like(theta)
        self.layers, self.slopes = _layers(theta, self.k), _layers(self.slope, self.k)
        weights = sum(W.shape[1] * W.shape[2] for W, _ in self.layers)
        self.weights, self.weight_slopes = theta[:, :weights], self.slope[:, :weights]

    def keep(self, some: np.ndarray) -> None:
        """Go on with some of the networks."""
        self._hold(self.theta[some], self.first[some], self.second[some])

    def step(self, X: np.ndarray, z: np.ndarray) -> np.ndarray:
        """One step on a batch (m, b, k) with targets (b,); the scores (m, b) before it."""
        values = _forward(self.layers, X)
        delta = values[-1] - z[:, None]
        for i in (2, 1, 0):
            slope, intercept = self.slopes[i]
            np.matmul(values[i].swapaxes(1, 2), delta, out=slope)
            delta.sum(axis=1, keepdims=True, out=intercept)
            if i:
                delta = delta @ self.layers[i][0].swapaxes(1, 2)
                delta *= values[i] > 0
        self.weight_slopes += ALPHA * self.weights
        self.slope /= len(z)
        self._adam()
        return values[-1][..., 0]

    def _adam(self) -> None:
        self.t += 1
        for moment, kept, power in ((self.first, KEPT[0], self.slope), (self.second, KEPT[1], self.slope**2)):
            moment *= kept
            moment += (1 - kept) * power
        rate = RATE * np.sqrt(1 - KEPT[1] ** self.t) / (1 - KEPT[0] ** self.t)
        self.theta += -rate * self.first / (np.sqrt(self.second) + ADDED)


def _start(rng: np.random.RandomState, k: int) -> np.ndarray:
    """Parameters (p,) drawn uniformly, as wide as Glorot and Bengio (2010) advise; layer by layer."""
    weights, intercepts = [], []
    for into, out in pairwise((k, *HIDDEN, 1)):
        reach = np.sqrt(6.0 / (into + out))
        weights.append(rng.uniform(-reach, reach, into * out))
        intercepts.append(rng.uniform(-reach, reach, out))
    return np.concatenate(weights + intercepts)


def _permutation(rng: np.random.RandomState, n: int) -> np.ndarray:
    order = np.arange(n)
    rng.shuffle(order)
    return order


def _layers(theta: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Views of the weights (m, into, out) and intercepts (m, 1, out) of every layer."""
    sizes = list(pairwise((k, *HIDDEN, 1)))
    ends = np.cumsum([0] + [into * out for into, out in sizes] + [out for _, out in sizes])
    parts = [theta[:, a:b] for a, b in pairwise(ends)]
    return [(parts[i].reshape(-1, into, out), parts[i + len(sizes)][:, None, :]) for i, (into, out) in enumerate(sizes)]


def _log(shares: np.ndarray) -> np.ndarray:
    tiny = np.finfo(float).eps
    return np.log(np.clip(shares, tiny, 1.0 - tiny))


def _forward(layers: list, X: np.ndarray) -> list[np.ndarray]:
    """The values of every layer, X first."""
    values = [X]
    for i, (W, b) in enumerate(layers):
        A = values[-1] @ W
        A += b
        values.append(expit(A, out=A) if i == len(layers) - 1 else np.maximum(A, 0.0, out=A))
    return values
