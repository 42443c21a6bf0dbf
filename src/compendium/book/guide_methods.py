"""What a method takes and what it answers, found by trying it: the guide's table is not typed.

Every method of the comparison, with its setting there, fair kernel PCA and the clusterers meet one small sample, once
with three groups and, where they refuse, with two.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering import (
    FairKernelKMeans,
    FairMultipleKernelKMeans,
    FairnessFirstClustering,
    FairSpectralClustering,
    VariationalFairClustering,
)
from evenspan.core.errors import ConfigurationError, FairError, GroupError
from evenspan.core.moments import GroupMoments
from evenspan.methods import METHODS
from evenspan.representation import FairKernelPCA

from ..papers.across.protocol import CLOSED, EXPECTED

#: Methods outside of the linear comparison, with what they make alike.
KERNEL: Mapping[str, Callable[[], BaseEstimator]] = {"Fair kernel PCA": lambda: FairKernelPCA(2)}
CLUSTERERS: Mapping[str, Callable[[], BaseEstimator]] = {
    "FKKM": lambda: FairKernelKMeans(2),
    "FMKKM": lambda: FairMultipleKernelKMeans(2),
    "FairSC": lambda: FairSpectralClustering(2),
    "FFC": lambda: FairnessFirstClustering(2),
    "VFC": lambda: VariationalFairClustering(2),
}
#: The page of the book, below its root, that derives the method.
CHAPTERS: Mapping[str, str] = {
    "PCA": "foundations/moments",
    "Min-max loss": "papers/vu2022/min-max",
    "JEVD-PCA": "papers/rathore2025/derivation",
    "Min-max error": "papers/vu2022/min-max",
    "Robust PCA (radius 0)": "papers/vu2022/derivation",
    "Robust PCA": "papers/vu2022/derivation",
    "u-FPCA": "papers/vu2022/findings",
    "c-FPCA": "papers/vu2022/findings",
    "Fair PCA": "papers/kleindessner2023/derivation",
    "Convex PCA (mean)": "papers/kleindessner2023/relaxations",
    "LEACE": "papers/kleindessner2023/erasure",
    "INLP": "papers/kleindessner2023/erasure",
    "RLACE": "papers/kleindessner2023/erasure",
    "Fair PCA (covariance)": "papers/kleindessner2023/derivation",
    "Convex PCA (both)": "papers/kleindessner2023/relaxations",
    "Null-it-out PCA": "papers/lee2023/derivation",
    "Streaming null-it-out": "papers/lee2023/scale",
    "MMD PCA": "papers/kleindessner2023/penalty",
    "Fair kernel PCA": "papers/kleindessner2023/kernel",
    "FKKM": "papers/zhou2024/derivation",
    "FMKKM": "papers/zhou2024/multiple-kernels",
    "FairSC": "papers/zhou2024/rivals",
    "FFC": "papers/zhou2024/rivals",
    "VFC": "papers/zhou2024/rivals",
}
KERNEL_MEANS, SHARES = "means, kernel", "shares in clusters"
ANY, TWO = "any number", "two"
MOMENTS, ROWS = "moments", "rows"
MET, BOUND, NONE = "met", "a bound", "none"
#: Rows of the three groups, and features, of the sample on which everything is tried.
SIZES, FEATURES = (12, 8, 5), 10


def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table (n, d) whose groups differ in size, mean and spread, with its three groups and the last two as one."""
    rng = np.random.default_rng(0)
    three = np.repeat(["a", "b", "c"], SIZES)
    X = rng.normal(size=(len(three), FEATURES)) * np.linspace(2.0, 0.5, FEATURES)
    for label, shift, spread in zip("abc", (0.0, 1.0, 2.0), (1.0, 1.5, 0.7), strict=True):
        own = three == label
        X[own, -1] += shift
        X[own] *= spread * np.exp(0.4 * rng.normal(size=FEATURES))
    return X / X.std(axis=0), three, np.where(three == "c", "b", three)


@cache
def facts() -> pd.DataFrame:
    """One row for each method, in the order of the comparison.

    Returns
    -------
    DataFrame
        ``method``; ``class``; ``alike``: what it asks to be alike between groups; ``groups``: ``"two"`` or
        ``"any number"``; ``refusal``: what it says to three; ``needs``: ``"moments"`` or ``"rows"``; ``certificate``:
        whether the bound that comes with the answer was ``"met"`` on the sample, stayed ``"a bound"``, or there is
        ``"none"``; ``certifies``: the problem that it speaks of; ``new rows``: whether rows that were not fitted can be
        transformed or assigned; ``quantities`` and ``label``: whether it takes sensitive columns that are numbers, and
        a favourable label; ``chapter``.
    """
    makers = {name: (method.equalises, lambda m=method: m.make(2, 0)) for name, method in METHODS.items()}
    makers |= {name: (KERNEL_MEANS, make) for name, make in KERNEL.items()}
    makers |= {name: (SHARES, make) for name, make in CLUSTERERS.items()}
    rows = [{"method": name, **_tried(*maker), "chapter": CHAPTERS[name]} for name, maker in makers.items()]
    return pd.DataFrame(rows)


def shortlist(*, alike: str | None = None, groups: int = 2, rows: bool = True) -> list[str]:
    """Methods that answer a question, in the order of the comparison.

    Parameters
    ----------
    alike : str, optional
        One of the values of ``facts()["alike"]``; everything unless given.
    groups : int
        How many groups there are.
    rows : bool
        Whether the rows themselves are at hand, and not only moments.

    Returns
    -------
    list of str
    """
    table = facts()
    if alike is not None:
        kinds = list(dict.fromkeys(table["alike"]))
        if alike not in kinds:
            raise ConfigurationError(f"alike={alike!r}; needed is one of {', '.join(map(repr, kinds))}.")
        table = table[table["alike"] == alike]
    table = table if groups <= 2 else table[table["groups"] == ANY]
    return list((table if rows else table[table["needs"] == MOMENTS])["method"])


def _tried(alike: str, make: Callable[[], BaseEstimator]) -> dict:
    X, three, two = sample()
    with warnings.catch_warnings():
        for category in (*EXPECTED, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        try:
            fitted, groups, refusal = make().fit(X, sensitive_features=three), ANY, ""
        except (GroupError, ConfigurationError) as error:
            fitted, groups, refusal = make().fit(X, sensitive_features=two), TWO, str(error)
        needs = MOMENTS if _answers_from(make(), GroupMoments.from_data(X, two)) else ROWS
    certificate = getattr(fitted, "certificate_", None)
    return {
        "class": type(fitted).__name__,
        "alike": alike,
        "groups": groups,
        "refusal": refusal,
        "needs": needs,
        "certificate": NONE if certificate is None else MET if certificate.is_optimal(CLOSED) else BOUND,
        "certifies": "" if certificate is None else certificate.problem,
        "new rows": hasattr(fitted, "transform") or hasattr(fitted, "predict"),
        "quantities": "numeric_attributes" in fitted.get_params(),
        "label": "criterion" in fitted.get_params(),
    }


def _answers_from(estimator: BaseEstimator, moments: GroupMoments) -> bool:
    """Whether an estimator fits to group moments; one that says that it needs the points does not."""
    if not hasattr(estimator, "fit_moments"):
        return False
    try:
        estimator.fit_moments(moments)
    except ConfigurationError as error:
        if "needs the points" not in str(error):
            raise
        return False
    except FairError as error:
        raise ConfigurationError(f"{type(estimator).__name__} does not fit to the sample: {error}") from error
    return True
