"""Certificates: never below the truth, zero at the optimum, small near it, and never satisfied by a wrong answer.

Of a method whose certificate is about the whole problem, value and bound are compared with a search over all feasible
answers in two to five dimensions, from the rows alone.
"""

import dataclasses
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space, sqrtm
from scipy.optimize import linprog
from scipy.stats import ortho_group
from sklearn.metrics.pairwise import rbf_kernel

from compendium.book import guide
from evenspan import (
    INLP,
    LEACE,
    Certificate,
    FairKernelPCA,
    FairPCA,
    KernelKMeans,
    MinMaxFairPCA,
    NullItOutPCA,
    RobustFairPCA,
)
from evenspan.core.answer import ky_fan_certificate
from evenspan.methods import METHODS

from .samples import draw


def problem(spectrum, seed=0):
    Q = ortho_group.rvs(len(spectrum), random_state=seed)
    return Q @ np.diag(spectrum) @ Q.T, Q


@given(st.integers(1, 6), st.data())
def test_the_bound_is_never_below_the_truth(m, data):
    k = data.draw(st.integers(1, m))
    spectrum = sorted(data.draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m)), reverse=True)
    seed = data.draw(st.integers(0, 10_000))
    H, Q = problem(spectrum, seed) if m > 1 else (np.array([[float(spectrum[0])]]), np.eye(1))
    truth = float(sum(spectrum[:k]))
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=(m, k)))[0]
    picked = Q[:, np.random.default_rng(seed).permutation(m)[:k]]
    for A in (random, picked, Q[:, :k]):
        certificate = ky_fan_certificate(H, A, "")
        assert certificate.primal == pytest.approx(np.trace(A.T @ H @ A), abs=1e-12)
        assert certificate.dual >= truth - 1e-11
        assert certificate.gap >= truth - certificate.primal - 1e-11
        if truth - certificate.primal > 1e-6:
            assert not certificate.is_optimal()


def test_what_optimal_means():
    good = Certificate("p", primal=100.0, dual=100.0 + 5e-8)
    assert good.gap == pytest.approx(5e-8)
    assert good.is_optimal()  # 5e-10 of the objective
    assert not good.is_optimal(rtol=1e-10)
    assert not dataclasses.replace(good, dual=100.0 + 5e-7).is_optimal()
    assert not dataclasses.replace(good, feasibility=1e-8).is_optimal(), "an infeasible answer is no answer"
    assert not dataclasses.replace(good, dual=99.9).is_optimal(), "beating the bound means that something is wrong"
    assert Certificate("p", 0.0, 0.0).is_optimal()
    assert not Certificate("p", 0.0, 1e-300).is_optimal()
    assert not Certificate("p", float("nan"), 1.0).is_optimal()
    with pytest.raises(dataclasses.FrozenInstanceError):
        good.primal = 1.0


def test_what_is_certified_stands_beside_the_gap():
    shown = repr(Certificate("least error", 2.5, 2.0, sense="min", weights=(0.25, 0.75), scope="bound"))
    assert shown == "Certificate(bound, gap 0.5: least error; reached 2.5, bound 2, violation 0, weights (0.25, 0.75))"
    assert repr(Certificate("p", 1.0, 1.0)).startswith("Certificate(last step, gap 0: p;"), "nothing more is claimed"


# -- the whole problem, by search --------------------------------------------------------------------------------------

#: Step of the grids of angles, and how far from the optimum their best answer may be for that, relative to it.
STEP, CLOSE = 0.015, 5e-3


def directions(d: int) -> np.ndarray:
    """Unit vectors (N, d) of the plane or of space, in all directions up to sign."""
    turn = np.arange(0.0, np.pi, STEP)
    if d == 2:
        return np.column_stack([np.cos(turn), np.sin(turn)])
    tilt, turn = (grid.ravel() for grid in np.meshgrid(np.arange(0.0, np.pi / 2, STEP), 2 * turn, indexing="ij"))
    return np.column_stack([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), np.cos(tilt)])


def gaps(X, groups) -> np.ndarray:
    """Group means less the first of them, as columns."""
    means = np.array([X[groups == label].mean(axis=0) for label in np.unique(groups)])
    return (means[1:] - means[0]).T


def searched(fitted, X, groups, value):
    """An objective of the kept variances (N, G) of the groups at the answer, and at all projections of its rank."""
    d, k = X.shape[1], len(fitted.components_)
    rows = X - X.mean(axis=0)
    moments = [rows[groups == label].T @ rows[groups == label] / (groups == label).sum() for label in np.unique(groups)]

    def kept(U):  # one direction that is kept, or the only one that is not
        along = np.array([((U @ M) * U).sum(axis=1) for M in moments]).T
        return along if k == 1 else np.trace(moments, axis1=1, axis2=2) - along

    assert (d, k) in ((3, 1), (3, 2))
    answer = fitted.components_ if k == 1 else null_space(fitted.components_).T
    grid, sign = directions(3), {"max": 1.0, "min": -1.0}[fitted.certificate_.sense]
    nearest = grid[np.argmax(sign * value(kept(grid), moments))]  # optima can be kinks: a finer grid around the best
    finer = STEP * np.linspace(-1.0, 1.0, 101)
    around = nearest + np.stack(np.meshgrid(finer, finer), axis=-1).reshape(-1, 2) @ null_space(nearest[None]).T
    grid = np.vstack([grid, around / np.linalg.norm(around, axis=1, keepdims=True)])
    return fitted.certificate_, value(kept(answer), moments)[0], value(kept(grid), moments)


def of_errors(fitted, X, groups, objective, k=1):
    """As ``searched``, of the errors of the groups and the smallest that each could have."""

    def value(kept, moments):
        traces = np.trace(moments, axis1=1, axis2=2)
        return objective(traces - kept, traces - np.linalg.eigvalsh(moments)[:, -k:].sum(axis=1))

    return searched(fitted.set_params(n_components=k).fit(X, sensitive_features=groups), X, groups, value)


def pca(name, X, groups, k=1):
    fitted = METHODS[name].make(k, 0).fit(X, sensitive_features=groups)
    counts = np.unique(groups, return_counts=True)[1]
    return searched(fitted, X, groups, lambda kept, _: kept @ counts)


def min_max(name, X, groups, k=1):
    least = 0.0 if name.endswith("error") else 1.0
    return of_errors(METHODS[name].make(k, 0), X, groups, lambda e, low: (e - least * low).max(axis=1), k)


def robust(name, X, groups, k=1):
    made, counts = METHODS[name].make(k, 0), np.unique(groups, return_counts=True)[1]
    shares, root = counts / len(X), np.sqrt(made.alpha / np.sqrt(counts))

    def worst(e, _):  # a convex function of the errors under Q: largest at a corner of what they can be
        ends = np.array([np.maximum(np.sqrt(e) + sign * root, 0.0) ** 2 for sign in (-1, 1)])
        corners = [np.column_stack([ends[i, :, 0], ends[j, :, 1]]) for i, j in product((0, 1), (0, 1))]
        return np.max([q @ shares + made.penalty * np.abs(q[:, 0] - q[:, 1]) for q in corners], axis=0)

    return of_errors(made, X, groups, worst, k)


def equal_means(estimator, X, groups):
    """PCA along one direction, among all that give the groups equal means."""
    fitted, rows, free = estimator.fit(X, sensitive_features=groups), X - X.mean(axis=0), null_space(gaps(X, groups).T)
    assert np.abs(fitted.components_ @ gaps(X, groups)).max() < 1e-9
    values = [((rows @ U.T) ** 2).sum(axis=0) for U in (fitted.components_, directions(free.shape[1]) @ free.T)]
    return fitted.certificate_, values[0][0], values[1]


def kernel(X, groups):
    G = len(np.unique(groups))
    some = np.concatenate([np.flatnonzero(groups == label)[: 2 if G == 2 else 1 + (i < 2)] for i, label in
                           enumerate(np.unique(groups))])  # fmt: skip
    X, groups = X[some], groups[some]
    fitted = FairKernelPCA(1).fit(X, sensitive_features=groups)
    points = np.real(sqrtm(rbf_kernel(X, gamma=fitted.gamma_)))
    _, _, values = equal_means(FairPCA(1), points, groups)
    scores = fitted.transform(X)
    assert np.abs(gaps(scores, groups)).max() < 1e-9
    return fitted.certificate_, float(((scores - scores.mean(axis=0)) ** 2).sum(axis=0)[0]), values


def relaxed(name, X, groups):
    """Mixtures of projections, which all of the relaxation are."""
    fitted = METHODS[name].make(1, 0).fit(X, sensitive_features=groups)
    rows, f = X - X.mean(axis=0), gaps(X, groups)[:, 0]
    unit = len(X) * np.sqrt((rows**2).sum(axis=None))
    (value, _), (values, far) = (
        ((((rows @ U.T) ** 2).sum(axis=0) / unit), (U @ f) ** 2) for U in (fitted.components_, directions(3))
    )
    near = {"A_ub": far[None], "b_ub": [fitted.delta**2], "A_eq": np.ones((1, len(far))), "b_eq": [1.0]}
    return fitted.certificate_, value[0], np.array([-linprog(-values, **near).fun])


def erased(name, X, groups, keep=None):
    """I - P is given on what is erased (and kept), and free on the one direction that is orthogonal to it."""
    y = np.sin(X).sum(axis=1)
    d = len(np.unique(groups)) + (keep is not None)
    X, rows = X[:, :d], X[:, :d] - X[:, :d].mean(axis=0)
    fitted = LEACE(keep=keep).fit(X, y if keep else None, sensitive_features=groups)
    given = np.column_stack([gaps(X, groups), *([rows.T @ y] if keep else [])])
    changed = np.column_stack([gaps(X, groups), *([np.zeros(d)] if keep else [])])
    S, n, E = rows.T @ rows / len(X), null_space(given.T)[:, 0], changed @ np.linalg.pinv(given)
    assert np.abs((np.eye(d) - fitted.erasure_) @ given - changed).max() < 1e-9 * np.abs(given).max()
    best = np.abs(E @ S @ n / (n @ S @ n)).max() + 0.2  # far enough
    axis = np.linspace(-best, best, {2: 401, 3: 81}[d])
    W = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    values = np.trace(E @ S @ E.T) + 2.0 * W @ (E @ S @ n) + (W**2).sum(axis=1) * (n @ S @ n)
    return fitted.certificate_, ((fitted.transform(X) - X) ** 2).sum(axis=1).mean(axis=0), values


#: For each method whose certificate is about the whole problem: certificate, value at the answer, and at all answers.
ORACLES = {
    "PCA": pca, "Min-max loss": min_max, "Min-max error": min_max, "Robust PCA (radius 0)": robust,
    "Robust PCA": robust, "Convex PCA (mean)": relaxed,
    "Fair PCA": lambda name, X, groups: equal_means(METHODS[name].make(1, 0), X, groups),
}  # fmt: skip
#: Settings of other methods, or further ones.
VARIANTS = {
    "Null-it-out PCA, means": lambda name, X, groups: equal_means(NullItOutPCA(1, constraint="mean"), X, groups),
    "LEACE, all features": erased,
    "LEACE, values kept": lambda name, X, groups: erased(name, X, groups, keep="values"),
} | {f"{name}, two components": lambda name, X, groups: ORACLES[name.split(",")[0]](name.split(",")[0], X, groups, 2)
     for name in ("PCA", "Min-max loss", "Min-max error", "Robust PCA (radius 0)", "Robust PCA")}  # fmt: skip
#: Of three groups.
THREE = ("PCA", "Fair PCA", "LEACE, all features")


def require_whole(certificate, reached, values):
    """The bound is passed by nothing, and is as near to the best of all answers as these are dense; the answer too."""
    sign = {"max": 1.0, "min": -1.0}[certificate.sense]
    best = (sign * values).max(axis=0)
    size = abs(best)
    assert certificate.scope == "whole problem"
    assert reached == pytest.approx(certificate.primal, rel=1e-8), "another objective"
    assert best <= sign * certificate.dual + 1e-9 * size, "an answer passes the bound"
    assert sign * certificate.dual - best <= CLOSE * size, "the bound is loose"
    assert certificate.is_optimal(1e-6), "the answer does not reach it"


def test_all_that_is_sold_as_whole_has_an_oracle():
    facts = guide.facts().set_index("method")
    assert set(facts.index[facts["certificate"] == guide.WHOLE]) == set(ORACLES)
    assert set(facts.index[facts["of three groups"] == guide.WHOLE]) == {*THREE} & {*ORACLES}


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("name", [*ORACLES, *VARIANTS])
def test_no_answer_to_the_whole_problem_passes_the_bound(name, seed):
    sample = draw(counts=(70, 40), d=3, seed=seed)
    certificate, reached, values = (ORACLES | VARIANTS)[name](name, sample.X, sample.groups)
    require_whole(certificate, reached, values)
    out = 0.02 * abs(certificate.dual) * {"max": 1.0, "min": -1.0}[certificate.sense]
    for wrong, why in (
        (dataclasses.replace(certificate, dual=certificate.dual - out), "passes the bound"),
        (dataclasses.replace(certificate, dual=certificate.dual + out), "is loose"),
        (dataclasses.replace(certificate, scope="bound"), "whole problem"),
    ):
        with pytest.raises(AssertionError, match=why):
            require_whole(wrong, reached, values)
    worse = certificate.primal - out  # that of an answer that was turned away
    with pytest.raises(AssertionError, match="does not reach it"):
        require_whole(dataclasses.replace(certificate, primal=worse), worse, values)


@pytest.mark.parametrize("name", THREE)
def test_nor_of_three_groups(name):
    sample = draw(counts=(40, 30, 20), d={"PCA": 3}.get(name, 4), seed=3)
    require_whole(*(ORACLES | VARIANTS)[name](name, sample.X, sample.groups))


@pytest.mark.parametrize("counts", [(70, 40), (40, 30, 20)])
def test_fair_kernel_pca_is_the_best_of_all_and_claims_less(counts):
    certificate, reached, values = kernel(*dataclasses.astuple(draw(counts=counts, d=4, seed=3)))
    assert certificate.scope == "last step", "Lanczos steps do not prove that no eigenvalue was overlooked"
    require_whole(dataclasses.replace(certificate, scope="whole problem"), reached, values)


@pytest.mark.parametrize("estimator", [
    FairPCA(1, match="covariance", covariance_fraction=0.3), NullItOutPCA(1, 1), INLP(1, max_iter=2)
])  # fmt: skip
def test_the_last_step_is_not_the_whole_problem(estimator):
    """The search finds a direction of equal means that keeps more than the bound of what was left says."""
    sample = draw(counts=(70, 40), d=3, seed=1)
    if isinstance(estimator, INLP):
        fitted = estimator.fit(sample.X, sensitive_features=sample.groups)
        found = fitted.certificate_, fitted.certificate_.primal, equal_means(FairPCA(1), sample.X, sample.groups)[2]
    else:
        found = equal_means(estimator, sample.X, sample.groups)
    assert found[0].scope == "last step"
    assert found[0].is_optimal()
    with pytest.raises(AssertionError, match="an answer passes the bound"):
        require_whole(dataclasses.replace(found[0], scope="whole problem"), *found[1:])


def test_settings_that_certify_less():
    sample = draw(counts=(70, 40), d=4, seed=2)
    for estimator, scope in (
        (MinMaxFairPCA(2, nested=True), "bound"),
        (RobustFairPCA(1, alpha=0.0, penalty=0.0, solver="subgradient", n_init=2), "bound"),
        (KernelKMeans(2), "bound"),
        (FairPCA(2, match="covariance", covariance_fraction=1.0), "whole problem"),  # nothing is left out before
        (FairKernelPCA(1, n_landmarks=20), "last step"),
        (NullItOutPCA(1, 1, constraint="covariance"), "last step"),
    ):
        told = {} if isinstance(estimator, KernelKMeans) else {"sensitive_features": sample.groups}
        assert estimator.fit(sample.X, **told).certificate_.scope == scope, estimator
