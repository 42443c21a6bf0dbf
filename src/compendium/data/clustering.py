"""Data sets of Zhou, Li and Du (2024): features or kernels, true classes, groups, and a number of clusters."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from evenspan.core.errors import ConfigurationError

from ..errors import RegistryError, did_you_mean
from . import clustering_files as files
from .clustering_files import standardised, tf_idf, unit_rows
from .credit_card import CREDIT_CARD, CREDIT_CARD_ALL, EACH, credit_card_arrays
from .fetch import place
from .tables import read_own, table

#: The groups of K1b are not published: two halves at random, drawn with this seed.
K1B_SEED = 2024


@dataclass(frozen=True, eq=False)
class ClusterData:
    """What there is to cluster, and what the clusters are compared with."""

    name: str  #: by which ``load_clustering`` knows it
    X: np.ndarray | sparse.csr_matrix | None = field(
        repr=False
    )  #: features (n, d), scaled as ``note`` says; None where there are kernels
    kernels: np.ndarray | None = field(repr=False)  #: ready-made kernels (m, n, n), where only these were published
    y: np.ndarray | None = field(repr=False)  #: true classes (n,), None where unknown; no method may see them
    groups: np.ndarray = field(repr=False)  #: value of the sensitive attribute (n,)
    n_clusters: int  #: number of clusters to look for: that of the classes where they are known
    note: str  #: how the features were scaled, and what is not as in the paper

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.groups)


def clusterings() -> tuple[str, ...]:
    """Names that ``load_clustering`` knows."""
    return tuple(SOURCES)


def load_clustering(name: str) -> ClusterData:
    """One data set of the paper on fair kernel k-means, ready to be clustered; ``SOURCES`` says what rests on a search.

    The archives of ``har`` and ``daily_sports`` have to be put into folders of these names in mirror or cache."""
    if name not in SOURCES:
        known = did_you_mean(name, SOURCES) or f"There are {', '.join(SOURCES)}."
        raise RegistryError(f"There is no clustering data set {name!r}. {known}")
    read, scale, note = SOURCES[name]
    X, y, groups = read()
    X, kernels = (None, X) if scale is None else (scale(X), None)
    return ClusterData(name, X, kernels, y, groups, len(np.unique(y)), note)


def own_clustering(path: str, groups: str, classes: str = "", n_clusters: int = 0) -> ClusterData:
    """A CSV file with a column of ``groups`` and perhaps one of true ``classes``; all others are numbers.

    As the authors do, columns are standardised and rows have unit length. Unless told, clusters are as many as classes.
    """
    named = {"groups": groups} | ({"classes": classes} if classes else {})
    table = read_own(path, **named)
    X = table.drop(columns=list(set(named.values())))
    for name in X.columns.difference(X.select_dtypes("number").columns, sort=False):
        raise ConfigurationError(f"{path}: the column {name} is not numeric; distances need numbers. Leave it out.")
    if X.shape[1] < 2 or not np.isfinite(X.to_numpy(float)).all():
        raise ConfigurationError(f"{path}: needed are two columns of features or more, with a number in every row.")
    if (labels := table[groups].unique()).size < 2:
        raise ConfigurationError(f"{path} has the groups {', '.join(map(str, labels))}; needed are two or more.")
    found = n_clusters or (table[classes].nunique() if classes else 0)
    if not 2 <= found <= len(table):
        why = "" if classes else "; without a column of classes say how many"
        raise ConfigurationError(f"n_clusters={found}; of {len(table)} rows 2 to {len(table)} can be looked for{why}.")
    y = table[classes].to_numpy() if classes else None
    note = "A table of one's own: columns standardised, rows of unit length."
    return ClusterData(path, unit_rows(standardised(X.to_numpy(float))), None, y, table[groups].to_numpy(), found, note)


def k1b_halves(n: int) -> np.ndarray:
    """Two groups at random whose sizes differ by at most one, 0 and 1."""
    groups = np.zeros(n, dtype=np.int64)
    groups[np.random.default_rng(K1B_SEED).permutation(n)[: n // 2]] = 1
    return groups


def _mnist_usps_large() -> tuple:
    (usps, digits), (mnist, others) = files.read_usps(), files.read_mnist(side=16)
    groups = np.repeat(["MNIST", "USPS"], [len(others), len(digits)])
    return np.vstack([mnist, usps]), np.concatenate([others, digits]), groups


def _one_group(name: str, read: Callable) -> tuple:
    X, y = read()
    return X, y, np.repeat(name, len(y))


def _k1b() -> tuple:
    counts, y = files.read_k1b()
    return counts, y, k1b_halves(len(y))


def _standard(X: np.ndarray) -> np.ndarray:
    return unit_rows(standardised(X))


ONE_SOURCE = "Raw pixels, rows of unit length. Has no groups of its own: everything is one group."

#: How each is read (features or kernels, true classes, groups), how its features are scaled (None for kernels), and
#: what is to be said of both.
SOURCES: dict[str, tuple[Callable[[], tuple], Callable | None, str]] = {
    "jaffe": (files.read_jaffe, None, "The authors' twelve kernels, as published; no features."),
    "mnist_usps": (
        files.read_mnist_usps,
        unit_rows,
        "Raw pixels, rows of unit length. The slides give no size: this pair fits their balances, and may be theirs.",
    ),
    "credit_card": (
        lambda: credit_card_arrays(table("credit_card"), EACH),
        np.asarray,
        f"Not stated by the paper: {CREDIT_CARD}. All but the rows was selected by a recorded search; these rows are "
        "those whose share of men four printed columns state.",
    ),
    "k1b": (
        _k1b,
        lambda counts: unit_rows(tf_idf(counts)),
        "tf-idf (count times 1 + the log of (1 + n) / (1 + documents with the term)), rows of unit length. The groups "
        f"of the paper are not stated: these are two halves at random, drawn with seed {K1B_SEED}.",
    ),
    "har": (
        lambda: files.load_har(place("har")),
        _standard,
        "As published by UCI (data set 240), standardised, rows of unit length; read from the reader's own copy.",
    ),
    "daily_sports": (
        lambda: files.load_daily_sports(place("daily_sports")),
        _standard,
        "All 125 x 45 readings of each segment (UCI data set 256), standardised, rows of unit length; read from the "
        "reader's own copy. The paper does not say which features it used.",
    ),
    "har_means": (
        files.read_har_means,
        _standard,
        "A substitute: averages by person and activity, standardised, rows of unit length; not the paper's HAR.",
    ),
    "credit_card_all": (
        lambda: credit_card_arrays(table("credit_card")),
        np.asarray,
        f"Not stated by the paper, selected by a recorded search: {CREDIT_CARD_ALL}.",
    ),
    "mnist_usps_large": (
        _mnist_usps_large,
        unit_rows,
        "MNIST test images shrunk to 16 x 16 and all of USPS, raw pixels, rows of unit length; not the paper's pair.",
    ),
    "usps": (lambda: _one_group("USPS", files.read_usps), unit_rows, ONE_SOURCE),
    "mnist": (lambda: _one_group("MNIST", files.read_mnist), unit_rows, ONE_SOURCE),
}
