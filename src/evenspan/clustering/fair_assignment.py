"""K-means with a promised balance: every cluster has at least a stated share of each group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from ..core.answer import Certificate
from ..core.errors import ConfigurationError, DataError, NotSolvedError
from ..core.estimator import NotConvergedWarning, warn_caller
from ..core.groups import label_text
from ..core.options import Option, number, one_of, whole
from .estimator import CentreClusterer, FairClusterer, plain_means
from .transport import squared_distances, transport

#: Gap between value and bound of an assignment, over its value, at which it is solved; and the most prices tried.
SOLVED, PRICES = 1e-4, 200
#: Share of the balance of the whole sample that is promised where nothing is asked for.
USUAL = 0.9


class FairAssignmentKMeans(CentreClusterer):
    r"""K-means none of whose clusters is less balanced than promised.

    With :math:`n_{jk}` the points of group j in cluster k, a low

    .. math::

        \min_{l, M} \sum_{i=1}^n \lVert x_i - m_{l_i} \rVert^2
        \quad \text{subject to} \quad n_{jk} \ge \beta\, n_{j'k} \quad \text{for all groups } j, j'
        \text{ and every cluster } k

    is sought by turns: the cheapest fair assignment to given centres, then the means of the clusters. An assignment is
    a linear programme over fractional ones, :math:`x_{ik} \ge 0` with :math:`\sum_k x_{ik} = 1`. Its dual has a price
    for each group and cluster, whatever the number of points, and

    .. math:: \sum_i \min_k \bigl(\lVert x_i - m_k \rVert^2 + p_{g(i) k}\bigr)

    is a bound for every price that the balance allows. Prices are found by column generation; the fractional counts are
    rounded to whole ones that keep the promise, and every group is divided in these numbers at the least cost.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters c.
    min_balance : float in [0, 1], optional
        The promised :math:`\beta`: the smallest count of a group by the largest, in every cluster. At most the balance
        of the whole sample; None promises nine tenths of it, or less where whole numbers of points allow less.
    attributes : {"marginal", "intersection"}, default "marginal"
        With several columns of sensitive features: every column has its groups and its promise, or the combinations of
        their values are the groups.
    n_init : int, default 1
        Starts by k-means, of which the answer with the lowest sum of squares is kept.
    max_iter : int, default 100
        Largest number of turns.
    tol : float, default 1e-4
        Turns end when the sum of squares falls by less than this share.
    random_state : int or numpy Generator, default 0
        For the starts.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do with one group only, to which there is nothing to be fair.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : ndarray, ClusterCounts, ndarray, ndarray
        Cluster (n,) of each point, none empty; the counts :math:`n_{jk}`; the groups (G,) and their sizes. With several
        attributes the groups are the combinations.
    centers_, inertia_ : ndarray of shape (c, d), float
        Means of the clusters, and the sum of squared distances to them.
    certificate_ : Certificate
        The sum of squares beside a bound on that of any assignment to ``centers_`` that keeps the promise. Other
        centres can be better: of k-means itself nobody knows the optimum.
    balances_ : ndarray of shape (p,)
        The balance reached in the worst cluster, for each attribute that was promised something.
    n_iter_ : int
        Turns.
    converged_ : bool
        Whether the last turn lowered the sum of squares by less than ``tol``.

    Guarantees
    ----------
    Every cluster keeps the promise exactly, for every attribute, or an error says that whole numbers of points cannot
    keep it. The certificate's gap holds what rounding and the end of column generation have lost.

    Complexity
    ----------
    O(n c (d + t)) for a turn with t prices, some dozens; O(n c log n) for the division at the end. Memory O(n (c + t)).

    References
    ----------
    S. Bera, D. Chakrabarty, N. Flores and M. Negahbani (2019), Fair algorithms for clustering, section 3 (the
    programme). Prices and rounding by counts are ours.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f", "m"] * 60)
    >>> X = rng.normal(size=(120, 2)) + 6.0 * np.outer(sex == "m", [1, 0]) + 2.0 * np.outer(np.arange(120) < 60, [0, 1])
    >>> model = FairAssignmentKMeans(2, min_balance=0.8).fit(X, sensitive_features=sex)
    >>> bool(model.counts_.balance >= 0.8)
    True
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **FairClusterer._options,
        "min_balance": number(0.0, 1.0).or_none("nine tenths of the sample's own"),
        "attributes": one_of("marginal", "intersection"),
        "n_init": whole(1),
        "max_iter": whole(1),
        "tol": number(0.0),
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        min_balance=None,
        attributes="marginal",
        n_init=1,
        max_iter=100,
        tol=1e-4,
        random_state=0,
        on_single_group="raise",
    ):
        self.n_clusters = n_clusters
        self.min_balance = min_balance
        self.attributes = attributes
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.on_single_group = on_single_group

    def fit(self, X, y=None, *, sensitive_features):
        X, codes, c, rng = self._sample(X, sensitive_features)
        X, promises = np.asarray(X, dtype=np.float64), self._promises(c)
        mean = X.mean(axis=0)
        found = min((self._run(X - mean, codes, c, promises, rng) for _ in range(self.n_init)), key=lambda one: one[0])
        self.inertia_, labels, bound, self.n_iter_, self.converged_ = found
        self._store_labels(labels, codes, c)
        self.centers_ = np.array([X[labels == k].mean(axis=0) for k in range(c)])
        self.balances_ = np.array([_balance(one.members @ self.counts_.counts) for one in promises])
        problem = "sum of squared distances to these centres over all assignments that keep the promised balance"
        self.certificate_ = Certificate(problem, self.inertia_, bound, 0.0, "min")
        if not self.converged_:
            warn_caller(
                f"after {self.max_iter} turns the sum of squares still falls by more than tol={self.tol:g} of it. "
                "Raise max_iter to go on.",
                NotConvergedWarning,
            )
        return self

    def _promises(self, c: int) -> "list[Promise]":
        """What each attribute is promised, over the groups as they are told apart."""
        names = self.group_labels_.dtype.names
        columns = [self.group_labels_[name] for name in names] if self.attributes == "marginal" and names else [None]
        promises = []
        for column in columns:
            groups = self.group_labels_ if column is None else np.unique(column)
            members = np.eye(len(groups)) if column is None else (column == groups[:, None]).astype(float)
            sizes = members @ self.group_counts_
            own = _balance(sizes[:, None])
            # Clusters of one size with each group divided evenly, but for one row more or less, have the second.
            usual = min(USUAL * own, sizes.min(axis=0) // c / -(-sizes.max(axis=0) // c))
            asked = usual if self.min_balance is None else float(self.min_balance)
            if asked > own:
                raise ConfigurationError(
                    f"min_balance={self.min_balance}, but the balance of the whole sample between the groups "
                    f"{', '.join(map(label_text, groups))} is {own:.4g}, and one cluster at least is no better. Ask "
                    f"for at most {own:.4g}."
                )
            promises.append(Promise(members, asked))
        return promises

    def _run(self, X, codes, c, promises, rng):
        centres = plain_means(X, c, seed=int(rng.integers(2**31)), n_init=1).cluster_centers_
        value, prices, converged, turns = np.inf, np.zeros((len(self.group_counts_), c)), False, 0
        while turns < self.max_iter and not converged:
            costs = squared_distances(X, centres)
            assignment = assign(costs, codes, promises, prices)
            prices, before, value = assignment.prices, value, assignment.value
            converged = before - value <= self.tol * abs(value)
            centres, turns = assignment.means(X, centres), turns + 1
        best = np.inf, None, -np.inf
        while True:  # whole numbers of points, and their own means
            labels = assignment.rounded(costs, promises)
            centres = np.array([X[labels == k].mean(axis=0) for k in range(c)])
            inertia = float(((X - centres[labels]) ** 2).sum(axis=None))
            if not inertia < best[0]:
                return *best, turns, converged
            costs = squared_distances(X, centres)
            assignment = assign(costs, codes, promises, prices)
            best = inertia, labels, assignment.bound


@dataclass(frozen=True, eq=False)
class Promise:
    """What one attribute is promised: its groups as sums of the groups told apart, (J, G) of 0 and 1; the balance."""

    members: np.ndarray
    balance: float


@dataclass(frozen=True, eq=False)
class Assignment:
    """A fractional assignment as a mixture of whole ones.

    Parameters
    ----------
    value, bound : float
        Its cost, and what no assignment that keeps the promises is below, from ``prices``.
    prices : ndarray of shape (G, c)
        Of every group in every cluster.
    columns : list of lists of (labels, share, counts)
        For each group the whole assignments of its points in the mixture.
    uniform : ndarray of shape (G,)
        The share of what spreads a group over all clusters in proportion to ``sizes``.
    sizes, codes : ndarray of shape (c,) and (n,)
        Shares of the clusters without promises; the group of each point.
    """

    value: float
    bound: float
    prices: np.ndarray
    columns: list
    uniform: np.ndarray
    sizes: np.ndarray
    codes: np.ndarray

    def means(self, X: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """Means of the fractional clusters, (c, d)."""
        c = len(centres)
        sums, weights = np.zeros_like(centres), np.zeros(c)
        for g, columns in enumerate(self.columns):
            points = X[self.codes == g]
            for labels, share, counts in columns:
                picked = csr_array((np.full(len(labels), share), (labels, np.arange(len(labels)))), (c, len(labels)))
                sums += picked @ points
                weights += share * counts
            spread = self.uniform[g] * self.sizes
            sums += np.outer(spread, points.sum(axis=0))
            weights += spread * len(points)
        return np.where(weights[:, None] > 0, sums / np.maximum(weights, np.finfo(float).tiny)[:, None], centres)

    def counts(self) -> np.ndarray:
        """Fractional counts (G, c)."""
        sizes = np.bincount(self.codes, minlength=len(self.columns))
        found = (self.uniform * sizes)[:, None] * self.sizes
        for g, columns in enumerate(self.columns):
            for _, share, counts in columns:
                found[g] += share * counts
        return found

    def rounded(self, costs: np.ndarray, promises: list[Promise]) -> np.ndarray:
        """Labels (n,): whole counts next to the fractional ones that keep all promises, then the cheapest division."""
        labels = np.empty(len(costs), dtype=np.intp)
        for g, capacities in enumerate(whole_counts(self.counts(), promises)):
            members = self.codes == g
            labels[members] = transport(costs[members] + self.prices[g], capacities)  # prices put most rows in place
        return labels


def assign(costs: np.ndarray, codes: np.ndarray, promises: list[Promise], prices: np.ndarray) -> Assignment:
    r"""The cheapest fractional assignment for costs (n, c) that keeps the promises, from prices (G, c) to start with.

    .. math:: \min_{N, T} \sum_g F_g(N_g) \quad \text{subject to} \quad
        \beta_a T_{ak} \le \sum_{g \in j} N_{gk} \le T_{ak} \text{ for every group j of attribute a,}

    where :math:`F_g` is the least cost of dividing group g in the numbers :math:`N_g`. It is convex, and known where it
    was tried: at prices every point goes where cost and price are lowest. Multipliers u of the upper and v of the lower
    limits give new prices :math:`\sum (u - v)`; with :math:`\sum_j u \le \beta \sum_j v` for every cluster the priced
    costs are a bound, since the terms in T then cannot lower them.
    """
    G, c = prices.shape
    sizes = np.bincount(costs.argmin(axis=1), minlength=c) / len(costs)
    parts = [costs[codes == g] for g in range(G)]
    uniform = np.array([part.sum(axis=0) @ sizes for part in parts])
    columns: list[list] = [[] for _ in range(G)]
    bound, best = -np.inf, prices
    for _ in range(PRICES):
        dual = 0.0
        for g, part in enumerate(parts):
            priced = part + prices[g]
            labels, rows = priced.argmin(axis=1), np.arange(len(part))
            dual += float(priced[rows, labels].sum(axis=0))
            cost, counts = float(part[rows, labels].sum(axis=0)), np.bincount(labels, minlength=c)
            columns[g].append((labels.astype(np.min_scalar_type(c)), cost, counts))
        if dual > bound:
            bound, best = dual, prices
        value, shares, prices = _master(columns, uniform, sizes, promises)
        if value - bound <= SOLVED * abs(value):
            break
    mixture = [
        [(labels, share, counts) for (labels, _, counts), share in zip(columns[g], shares[g, 1:], strict=True) if share]
        for g in range(G)
    ]
    return Assignment(value, bound, best, mixture, shares[:, 0], sizes, codes)


def _master(columns: list, uniform: np.ndarray, sizes: np.ndarray, promises: list[Promise]):
    """The best mixture that keeps the promises: its value, its shares, those of ``uniform`` first, and the prices."""
    G, c, each = len(columns), len(sizes), len(columns[0]) + 1
    tried = np.array([[counts for _, _, counts in own] for own in columns])
    counts = np.concatenate([tried[:, :1].sum(axis=2, keepdims=True) * sizes, tried], axis=1)  # (G, each, c)
    cost = np.column_stack([uniform, [[one[1] for one in columns[g]] for g in range(G)]]).ravel()
    scale, n = max(float(uniform.sum(axis=0)), np.finfo(float).tiny), float(counts[:, 0].sum(axis=None))
    upper, lower = [], []
    for a, promise in enumerate(promises):
        tops = np.zeros((c, len(promises) * c))
        tops[:, a * c : (a + 1) * c] = np.eye(c)
        for members in promise.members:  # what each share adds to the counts of a group in every cluster, (c, G each)
            inside = (counts * members[:, None, None]).reshape(G * each, c).T / n
            upper.append(np.hstack([inside, -tops]))
            lower.append(np.hstack([-inside, promise.balance * tops]))
    found = linprog(
        np.append(cost / scale, np.zeros(len(promises) * c)),
        A_ub=np.vstack(upper + lower),
        b_ub=np.zeros(2 * c * len(upper)),
        A_eq=np.hstack([np.kron(np.eye(G), np.ones(each)), np.zeros((G, len(promises) * c))]),
        b_eq=np.ones(G),
        method="highs",
    )
    if found.status != 0:
        raise NotSolvedError(f"HiGHS did not solve the assignment (status {found.status}: {found.message}).")
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0).reshape(2, -1, c) * scale / n
    prices, at = np.zeros((G, c)), 0
    for promise in promises:
        u, v = multipliers[:, at : at + len(promise.members)]
        at += len(promise.members)
        allowed = promise.balance * v.sum(axis=0)
        asked = u.sum(axis=0)
        u = u * np.where(asked > allowed, allowed / np.where(asked > 0, asked, 1.0), 1.0)
        prices += promise.members.T @ (u - v)
    return found.fun * scale, found.x[: G * each].reshape(G, each), prices


def whole_counts(counts: np.ndarray, promises: list[Promise]) -> np.ndarray:
    """Whole counts (G, c) next to the given ones, with the same sums over clusters, that keep every promise.

    A small integer programme: the sum of the distances is least, and no cluster is empty.
    """
    G, c = counts.shape
    sizes, m, tops = np.rint(counts.sum(axis=1)), G * c, len(promises) * c
    counts = counts.round(6)
    # The variables are the counts, their distances from the given ones, and the largest count of an attribute's groups.
    pick = np.eye(m).reshape(G, c, m)

    def limits(of_counts, of_distances, of_tops, least, most):
        parts = [np.zeros((len(of_counts), width)) if part is None else part
                 for part, width in ((of_counts, m), (of_distances, m), (of_tops, tops))]  # fmt: skip
        return LinearConstraint(np.hstack(parts), least, most)

    rows = [
        limits(pick.sum(axis=1), None, None, sizes, sizes),
        limits(pick.sum(axis=0), None, None, 1.0, np.inf),
        limits(np.eye(m), -np.eye(m), None, -np.inf, counts.ravel()),
        limits(np.eye(m), np.eye(m), None, counts.ravel(), np.inf),
    ]
    for a, promise in enumerate(promises):
        top = np.zeros((c, tops))
        top[:, a * c : (a + 1) * c] = np.eye(c)
        for inside in np.tensordot(promise.members, pick, axes=1):
            rows.append(limits(inside, None, -top, -np.inf, 0.0))
            rows.append(limits(inside, None, -promise.balance * top, 0.0, np.inf))
    most = np.concatenate([np.repeat(sizes, c), np.repeat(sizes, c), np.full(tops, sizes.sum(axis=0))])
    # The solver stumbles over some tables with presolve, over few without it, and not in another unit of the distances.
    for unit, presolve in ((1.0, True), (1.0, False), (10.0, True), (10.0, False)):
        found = milp(
            np.concatenate([np.zeros(m), np.full(m, unit), np.zeros(tops)]),
            integrality=np.concatenate([np.ones(m), np.zeros(m + tops)]),
            bounds=Bounds(0.0, most),
            constraints=rows,
            options={"time_limit": 10.0, "mip_rel_gap": 0.01, "presolve": presolve},
        )
        if found.status != 4:
            break
    if found.x is None and found.status != 2:
        raise NotSolvedError(f"HiGHS did not round the counts (status {found.status}: {found.message}).")
    if found.x is None:
        asked = ", ".join(f"{promise.balance:.4g}" for promise in promises)
        raise DataError(
            f"no whole numbers of points keep a balance of {asked} in {c} clusters, with groups of "
            f"{sizes.astype(int).tolist()} rows. Ask for fewer clusters, or for a smaller min_balance."
        )
    return np.rint(found.x[:m]).astype(np.int64).reshape(G, c)


def _balance(counts: np.ndarray) -> float:
    """The smallest count of a group (J, c) by the largest, in the worst cluster."""
    return float((counts.min(axis=0) / np.maximum(counts.max(axis=0), 1)).min(axis=0))
