"""The guide: what each method takes and answers, found by trying it on one small sample, and messages that it gives."""

import inspect
import re
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
    FairAlignmentClustering,
    FairKernelKMeans,
    FairMultipleKernelKMeans,
    FairnessFirstClustering,
    FairSpectralClustering,
    VariationalFairClustering,
)
from evenspan.core.errors import ConfigurationError, ExecutionError, FairWarning, GroupError
from evenspan.core.estimator import PointsEstimator
from evenspan.methods import METHODS
from evenspan.reconstruction import OutlierRobustFairPCA, SparseFairPCA
from evenspan.representation import FairKernelPCA, IteratedKernelErasure, MMDFairPCA

from ..papers.across import tables as across_tables

KERNEL_MEANS, SHARES, LENGTHS = "means, kernel", "shares in clusters", "lengths kept"
ANY, TWO = "any number", "two"
MOMENTS, ROWS, BATCHES = "moments", "rows", "batches"
EACH, EITHER, COMBINED = "each", "each, or combined", "combined"
#: The words of certificates (``evenspan.Certificate.scope``), of no certificate, and of a closed one.
WHOLE, BOUND, STEP, NONE, MET = "whole problem", "bound", "last step", "none", "certified optimal"
#: Methods outside of the linear comparison, with what they make alike.
FURTHER: Mapping[str, tuple[str, Callable[[], BaseEstimator]]] = {
    "Sparse fair PCA": ("losses", lambda: SparseFairPCA(2)),
    "Outlier-robust fair PCA": (LENGTHS, lambda: OutlierRobustFairPCA(2)),
    "Fair kernel PCA": (KERNEL_MEANS, lambda: FairKernelPCA(2)),
    "Iterated kernel erasure": (KERNEL_MEANS, lambda: IteratedKernelErasure(2)),
    "FKKM": (SHARES, lambda: FairKernelKMeans(2)),
    "FMKKM": (SHARES, lambda: FairMultipleKernelKMeans(2)),
    "FairSC": (SHARES, lambda: FairSpectralClustering(2)),
    "FFC": (SHARES, lambda: FairnessFirstClustering(2)),
    "FCA": (SHARES, lambda: FairAlignmentClustering(2)),
    "VFC": (SHARES, lambda: VariationalFairClustering(2)),
}
#: The page of the book, below its root, that derives the method.
CHAPTERS: Mapping[str, str] = across_tables.CHAPTERS | {
    "Sparse fair PCA": "papers/vu2022/sparse",
    "Outlier-robust fair PCA": "papers/vu2022/sparse",
    "Fair kernel PCA": "papers/kleindessner2023/kernel",
    "Iterated kernel erasure": "across/concealment",
    "FKKM": "papers/zhou2024/derivation",
    "FMKKM": "papers/zhou2024/multiple-kernels",
    "FairSC": "papers/zhou2024/rivals",
    "FFC": "papers/zhou2024/rivals",
    "FCA": "papers/zhou2024/rivals",
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
    """One row for each method: class, groups, moments or rows, certificate, what it takes and says, and its chapter."""
    makers = {name: (method.equalises, lambda m=method: m.make(2, 0)) for name, method in METHODS.items()}
    # A hundred rounds of an adversary's game say here what its ten thousand say.
    makers["RLACE"] = (METHODS["RLACE"].equalises, lambda: METHODS["RLACE"].make(2, 0).set_params(max_iter=100))
    tried = {name: _tried(*maker) for name, maker in (makers | FURTHER).items()}
    rows = [{"method": name, **found, "chapter": CHAPTERS[name]} for name, found in tried.items()]
    return pd.DataFrame(rows)


def _tried(alike: str, make: Callable[[], BaseEstimator]) -> dict:
    X, three, two = sample()
    with warnings.catch_warnings():
        for category in (FairWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        fitted, groups, refusal = make().fit(X.astype(np.float32), sensitive_features=two), ANY, ""
        certificate, more = getattr(fitted, "certificate_", None), None
        try:
            more = getattr(make().fit(X, sensitive_features=three), "certificate_", None)
        except (GroupError, ConfigurationError) as error:
            groups, refusal = TWO, str(error)
        points = not hasattr(fitted, "fit_moments") or isinstance(fitted, PointsEstimator)
    return {
        "class": type(fitted).__name__,
        "alike": alike,
        "groups": groups,
        "refusal": refusal,
        "needs": ROWS if points else MOMENTS,
        "certificate": NONE if certificate is None else certificate.scope,
        "of three groups": "–" if refusal else NONE if more is None else more.scope,
        "closed": certificate is not None and certificate.is_optimal(1e-6),
        "certifies": "" if certificate is None else certificate.problem,
        "new rows": hasattr(fitted, "transform") or hasattr(fitted, "predict"),
        "quantities": "numeric_attributes" in fitted.get_params(),
        "label": "criterion" in fitted.get_params(),
        "weights": "sample_weight" in inspect.signature(fitted.fit).parameters,
        "attributes": _attributes(fitted),
        "sparse": fitted.__sklearn_tags__().input_tags.sparse,
        "single precision": hasattr(fitted, "transform") and fitted.transform(X).dtype == np.float32,
        "streams": BATCHES if hasattr(fitted, "partial_fit") else "" if points else MOMENTS,
        "target": bool({"criterion", "keep"} & fitted.get_params().keys()),
        "one group": "on_single_group" in fitted.get_params(),
    }


def _attributes(fitted: BaseEstimator) -> str:
    """What is compared where the groups are several columns."""
    if "attributes" in fitted.get_params():
        return EITHER
    return EACH if isinstance(fitted, MMDFairPCA) else COMBINED


def certified(method: str, shares: Mapping[str, float]) -> str:
    """The word of a method, or of what it is a variant of, and the share of its fits that are proved optimal.

    A closed certificate of the last step proves nothing of that kind. Of other methods there is the share, or a dash.
    """
    words = facts().set_index("method")["certificate"]
    word = words.get(method, words.get(re.split(r" \(|-f$", method)[0], ""))
    share = f"{shares[method]:.0%}" if method in shares and word not in (STEP, NONE) else ""
    return ", ".join(filter(None, [word, share])) or "–"


@contextmanager
def told(*expected: type[BaseException], width: int = 84) -> Iterator[None]:
    """Print the errors and warnings of the block, which have to be ``expected``, in lines that fit a narrow screen."""
    raised = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            yield
        except tuple(kind for kind in expected if not issubclass(kind, Warning)) as error:
            raised.append(error)
    seen = [*(warning.message for warning in heard), *raised]
    texts = list(dict.fromkeys(f"{type(one).__name__}: {one}" for one in seen))
    missing = [kind.__name__ for kind in expected if not any(isinstance(one, kind) for one in seen)]
    if missing or not expected or not all(isinstance(one, expected) for one in seen):
        named = ", ".join(kind.__name__ for kind in expected)
        raise ExecutionError(f"the block was to give {named or 'something'} and gave {'; '.join(texts) or 'nothing'}")
    # In one piece: print sends the end of a line by itself, which a busy kernel shows as an output of its own.
    lines = [line for text in texts for line in text.splitlines()]
    sys.stdout.write("".join(textwrap.fill(line, width, subsequent_indent="  ") + "\n" for line in lines))
