"""The guide: which method for what, found by trying, and messages in the words that a reader will meet.

What a method takes and answers is not typed: every method of the comparison, with its setting there, fair kernel PCA
and the clusterers meet one small sample, once with three groups and, where they refuse, with two.
"""

import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from evenspan.core.errors import ConfigurationError, ExecutionError, FairError, GroupError
from evenspan.core.moments import GroupMoments
from evenspan.methods import METHODS
from evenspan.representation import FairKernelPCA

from ..papers.across import tables as across_tables
from ..papers.across.protocol import CLOSED, EXPECTED

KERNEL_MEANS, SHARES = "means, kernel", "shares in clusters"
ANY, TWO = "any number", "two"
MOMENTS, ROWS = "moments", "rows"
MET, BOUND, NONE = "certified optimal", "a bound", "none"
#: Methods outside of the linear comparison, with what they make alike.
FURTHER: Mapping[str, tuple[str, Callable[[], BaseEstimator]]] = {
    "Fair kernel PCA": (KERNEL_MEANS, lambda: FairKernelPCA(2)),
    "FKKM": (SHARES, lambda: FairKernelKMeans(2)),
    "FMKKM": (SHARES, lambda: FairMultipleKernelKMeans(2)),
    "FairSC": (SHARES, lambda: FairSpectralClustering(2)),
    "FFC": (SHARES, lambda: FairnessFirstClustering(2)),
    "VFC": (SHARES, lambda: VariationalFairClustering(2)),
}
#: The page of the book, below its root, that derives the method: that of the comparison, or one that says more.
CHAPTERS: Mapping[str, str] = across_tables.CHAPTERS | {
    "PCA": "foundations/moments",
    "u-FPCA": "papers/vu2022/findings",
    "c-FPCA": "papers/vu2022/findings",
    "RLACE": "papers/kleindessner2023/erasure",
    "Streaming null-it-out": "papers/lee2023/scale",
    "Fair kernel PCA": "papers/kleindessner2023/kernel",
    "FKKM": "papers/zhou2024/derivation",
    "FMKKM": "papers/zhou2024/multiple-kernels",
    "FairSC": "papers/zhou2024/rivals",
    "FFC": "papers/zhou2024/rivals",
    "VFC": "papers/zhou2024/rivals",
}
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
        whether the answer was ``"certified optimal"`` on the sample, came with ``"a bound"`` only, or with ``"none"``;
        ``certifies``: the problem that it speaks of; ``new rows``: whether rows that were not fitted can be
        transformed or assigned; ``quantities`` and ``label``: whether it takes sensitive columns that are numbers, and
        a favourable label; ``chapter``.
    """
    makers = {name: (method.equalises, lambda m=method: m.make(2, 0)) for name, method in METHODS.items()}
    # A hundred rounds of an adversary's game say here what its ten thousand say.
    makers["RLACE"] = (METHODS["RLACE"].equalises, lambda: METHODS["RLACE"].make(2, 0).set_params(max_iter=100))
    tried = {name: _tried(*maker) for name, maker in (makers | FURTHER).items()}
    rows = [{"method": name, **found, "chapter": CHAPTERS[name]} for name, found in tried.items()]
    return pd.DataFrame(rows)


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


# ---- errors and warnings raised on purpose ----

#: Characters of a line; longer ones would be cut off at the edge of a narrow screen.
NARROW = 84


@contextmanager
def told(*expected: type[BaseException], width: int = NARROW) -> Iterator[None]:
    """Print what the block raises or warns of, in the words of a terminal.

    The block must raise one of the errors in ``expected``, if there are any, and give every warning in it. Anything
    else that happens, and any of these that does not, is an error of the page.
    Lines have at most ``width`` characters.

    >>> with told(ZeroDivisionError):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    errors = tuple(kind for kind in expected if not issubclass(kind, Warning))
    wanted = [kind for kind in expected if issubclass(kind, Warning)]
    raised = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            yield
        except errors as error:
            raised = error
    for warning in heard:
        if not any(issubclass(warning.category, kind) for kind in wanted):
            raise ExecutionError(f"the block warned of something else: {spoken(warning.message)}")
    missing = [kind for kind in wanted if not any(issubclass(warning.category, kind) for warning in heard)]
    missing += [kind for kind in errors if raised is None]
    if missing or not expected:
        names = ", ".join(kind.__name__ for kind in missing) or "an exception or warning class"
        raise ExecutionError(f"the block was to give {names}, and did not. Correct the page.")
    texts = list(dict.fromkeys(spoken(warning.message) for warning in heard))
    texts += [] if raised is None else [spoken(raised)]
    # In one piece: print sends the end of a line by itself, which a busy kernel shows as an output of its own.
    lines = [line for text in texts for line in text.splitlines()]
    sys.stdout.write("".join(textwrap.fill(line, width, subsequent_indent="  ") + "\n" for line in lines))


def spoken(error: BaseException) -> str:
    """An error or warning as Python ends a traceback with it: ``GroupError: sensitive feature ...``."""
    return f"{type(error).__name__}: {error}"
