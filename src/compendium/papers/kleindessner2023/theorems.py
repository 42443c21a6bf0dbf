"""The theorems of Kleindessner et al. (2023), put to the test on random problems.

A derivation shows why a theorem holds (the book gives them); a search for counter-examples shows that nothing was
overlooked, and comes out false if something was. Each search returns the largest violation it found and, where the
theorem says *only if*, how clearly the other side fails.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from evenspan.core.moments import GroupMoments
from evenspan.metrics import demographic_parity_difference, mean_gap
from evenspan.representation import FairKernelPCA, FairPCA
from evenspan.representation.constraints import fair_basis, mean_constraints

from ...claim_rules import Answer, by_truth, rule, told_by_name
from .protocol import CLASSIFIERS, SEED


def problems(number: int = 40, *, groups: tuple[int, ...] = (2, 3, 5)) -> Iterator[tuple]:
    """Random data sets: unequal groups, means and scales; ``(X, groups, rng)``."""
    for trial in range(number):
        rng = np.random.default_rng((SEED, trial))
        G, d = groups[trial % len(groups)], int(rng.integers(len(groups) + 4, 15))
        z = np.concatenate([np.arange(G).repeat(5), rng.choice(G, size=120, p=rng.dirichlet(np.full(G, 3.0)))])
        X = rng.normal(size=(len(z), d)) * rng.lognormal(size=d) * rng.lognormal(sigma=0.7, size=G)[z][:, None]
        yield X + rng.normal(size=(G, d))[z], z, rng


def correlation_iff_constraint() -> dict[str, float]:
    """K01: scores are uncorrelated with the groups for all w and b, if and only if Z'XU = 0."""
    inside, outside = 0.0, np.inf
    for X, z, rng in problems():
        R = fair_basis(mean_constraints(GroupMoments.from_data(X, z)), np.linalg.norm(X))
        feasible = R @ _orthonormal(rng, R.shape[1], 2)
        arbitrary = _orthonormal(rng, X.shape[1], 2)
        inside = max(inside, _largest_correlation(X @ feasible, z, rng))
        outside = min(outside, _largest_correlation(X @ arbitrary, z, rng))
    return {"largest correlation inside": inside, "smallest outside": outside}


def constraint_iff_equal_means() -> dict[str, float]:
    """K02: Z'XU = 0 if and only if the projected group means coincide; two groups, relative to the size of the data.

    Both sides are compared for projections that meet the constraint and for others, where neither may be zero.
    """
    worst, outside = 0.0, np.inf
    for X, z, rng in problems(groups=(2,)):
        moments = GroupMoments.from_data(X, z)
        centred = (z - z.mean(axis=0)) @ X
        n0, n1 = moments.counts
        other, fair = _orthonormal(rng, X.shape[1], 2), FairPCA(2).fit_moments(moments).components_.T
        for U in (other, fair):
            left = np.linalg.norm(centred @ U)
            right = n0 * n1 / moments.n * mean_gap(moments, U)
            worst = max(worst, abs(left - right) / np.linalg.norm(X))
        outside = min(outside, float(np.linalg.norm(centred @ other) / np.linalg.norm(X)))
    return {"largest difference": worst, "smallest |Z'XU| outside": outside}


def algorithm_is_optimal() -> dict[str, float]:
    """K03: no feasible subspace beats Algorithm 1; every k, random rivals and the certificate."""
    rivals, gap = -np.inf, 0.0
    for X, z, rng in problems(20, groups=(2,)):
        moments = GroupMoments.from_data(X, z)
        R, S = fair_basis(mean_constraints(moments), np.linalg.norm(X)), moments.second_moment
        for k in range(1, X.shape[1]):
            fitted = FairPCA(k, center=False).fit_moments(moments)
            reached = fitted.certificate_.primal
            for _ in range(20):
                # Half of the rivals are small rotations of the answer, where an error would be hardest to see.
                start = R @ _orthonormal(rng, R.shape[1], k)
                near = fitted.components_.T + 0.01 * R @ rng.normal(size=(R.shape[1], k))
                for U in (start, np.linalg.qr(near)[0]):
                    rivals = max(rivals, float(np.trace(U.T @ S @ U) / reached) - 1.0)
            gap = max(gap, fitted.certificate_.gap / reached)
    return {"best rival's advantage": rivals, "largest certified gap": gap}


def several_groups_and_attributes() -> dict[str, float]:
    """K08: the matrix form equalises all group means of every attribute at once; the control is PCA's gap."""
    fair, control = 0.0, np.inf
    for X, z, rng in problems(groups=(3, 5)):
        second = (X[:, 0] + rng.normal(size=len(z)) > 0).astype(int)
        moments = GroupMoments.from_data(X, np.column_stack([z, second]))
        U = FairPCA(1).fit_moments(moments).components_.T
        P = np.linalg.eigh(moments.scatter)[1][:, -1:]
        size = np.sqrt(np.trace(moments.scatter) / moments.n)
        attributes = [moments.marginal(attribute) for attribute in moments.attributes]
        fair = max(fair, *(mean_gap(groups, U) / size for groups in attributes))
        control = min(control, max(mean_gap(groups, P) / size for groups in attributes))
    return {"largest gap, fair PCA": fair, "smallest gap, PCA": control}


def kernel_version() -> dict[str, float]:
    """K12: with the linear kernel it is fair PCA; with any kernel no linear score of the outputs tells the groups."""
    same, fair, control = 0.0, 0.0, np.inf
    for X, z, rng in problems(6):
        linear = FairKernelPCA(2, kernel="linear", center=False).fit(X, sensitive_features=z).transform(X)
        direct = FairPCA(2, center=False).fit(X, sensitive_features=z).transform(X)
        same = max(same, float(np.abs(linear @ linear.T - direct @ direct.T).max(axis=None)) / np.linalg.norm(X) ** 2)
        T = FairKernelPCA(2).fit(X, sensitive_features=z).transform(X)
        one = FairKernelPCA(2, on_single_group="warn")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # kernel PCA is what one group for all gives
            plain = one.fit(X, sensitive_features=np.zeros(len(X), dtype=int)).transform(X)
        fair = max(fair, _largest_correlation(T, z, rng))
        control = min(control, _largest_correlation(plain, z, rng))
    return {"largest difference": same, "largest correlation": fair, "smallest, kernel PCA": control}


def independence_gives_parity() -> Answer:
    """K13: models trained on a representation that is independent of the group satisfy demographic parity.

    The rate of positive predictions is estimated on new points, so what remains is compared with its standard error;
    the control has equal group means and unequal spreads, which is all that fair PCA promises.
    """
    worst, n = {"independent": 0.0, "control": 0.0}, 20_000
    for trial in range(2):
        rng = np.random.default_rng((SEED, 13, trial))
        z, new = rng.integers(0, 2, 600), rng.integers(0, 2, n)
        draws = [rng.normal(size=(len(g), 3)) for g in (z, new)]
        y = (draws[0][:, 0] + z + 0.5 * rng.normal(size=len(z)) > 0.5).astype(int)  # groups differ in their labels
        spreads = [F * np.where(g == 1, 2.0, 0.5)[:, None] for F, g in zip(draws, (z, new), strict=True)]
        for make in CLASSIFIERS.values():
            for kind, (F, F_new) in zip(worst, (draws, spreads), strict=True):
                prediction = make().fit(F, y).predict(F_new)
                rate = prediction.mean(axis=0)
                if 0 < rate < 1:  # a constant prediction satisfies it trivially
                    error = np.sqrt(rate * (1 - rate) * (1 / (new == 0).sum(axis=0) + 1 / (new == 1).sum(axis=0)))
                    worst[kind] = max(worst[kind], demographic_parity_difference(prediction, new) / error)
    evidence = (
        f"Three classifiers, seed {SEED}, {n:,} new points: largest disparity of an independent representation "
        f"{worst['independent']:.1f} standard errors; with equal means and unequal spreads {worst['control']:.0f}."
    )
    holds = worst["independent"] < rule("K13", "standard errors") < worst["control"]
    return Answer(by_truth(holds), evidence)


def _orthonormal(rng: np.random.Generator, d: int, k: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


def _largest_correlation(T: np.ndarray, z: np.ndarray, rng: np.random.Generator) -> float:
    scores = T @ rng.normal(size=(T.shape[1], 50)) + rng.normal(size=50)
    indicators = (z[:, None] == np.unique(z)).astype(float)
    return float(np.abs(np.corrcoef(scores.T, indicators.T)[:50, 50:]).max())


def _answer(search: dict[str, float], rounding: float, control: float = 0.0) -> Answer:
    """Holds if nothing is above rounding, and each control (its name begins with "smallest") above its threshold."""
    good = [value >= control if name.startswith("smallest") else value <= rounding for name, value in search.items()]
    return Answer(by_truth(all(good)), f"Random problems, seed {SEED}: {told_by_name(search, '.2g')}.")


claims = {
    "K01": lambda: _answer(correlation_iff_constraint(), rule("K01", "rounding"), rule("K01", "control")),
    "K02": lambda: _answer(constraint_iff_equal_means(), rule("K02", "rounding"), rule("K02", "control")),
    "K03": lambda: _answer(algorithm_is_optimal(), rule("K03", "rounding")),
    "K08": lambda: _answer(several_groups_and_attributes(), rule("K08", "rounding"), rule("K08", "control")),
    "K12": lambda: _answer(kernel_version(), rule("K12", "rounding"), rule("K12", "control")),
    "K13": independence_gives_parity,
}
