"""Data sets of Zhou, Li and Du (2024): features or kernels, true classes, groups, and a number of clusters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from evenspan.core.errors import ConfigurationError, DataError, RegistryError

from . import clustering_files as files
from .clustering_files import standardised, tf_idf, unit_rows
from .credit_card import CREDIT_CARD, CREDIT_CARD_ALL, CreditCard, credit_card_arrays, credit_card_table
from .fetch import place

__all__ = [
    "CREDIT_CARD",
    "K1B_SEED",
    "ClusterData",
    "CreditCard",
    "clusterings",
    "k1b_halves",
    "load_clustering",
    "own_clustering",
]

#: The groups of K1b are not published: two halves at random, drawn with this seed.
K1B_SEED = 2024


@dataclass(frozen=True, eq=False)
class ClusterData:
    """What there is to cluster, and what the clusters are compared with.

    Attributes
    ----------
    name : str
        Name by which ``load_clustering`` knows it.
    X : ndarray or csr_matrix of shape (n, d), or None
        Features, scaled as ``note`` says; None where only kernels were published.
    kernels : ndarray of shape (m, n, n), or None
        Ready-made kernels, where there are any.
    y : ndarray of shape (n,), or None
        True classes, which no method may see; None where they are unknown.
    groups : ndarray of shape (n,)
        Value of the sensitive attribute.
    n_clusters : int
        Number of clusters to look for: that of the classes.
    note : str
        How the features were scaled, and what is not as in the paper.
    """

    name: str
    X: np.ndarray | sparse.csr_matrix | None
    kernels: np.ndarray | None
    y: np.ndarray | None
    groups: np.ndarray
    n_clusters: int
    note: str

    def __post_init__(self):
        if self.X is None and self.kernels is None:
            raise DataError(f"{self.name}: there are neither features nor kernels; give one of them.")
        shapes = {"groups": self.groups.shape} | ({} if self.y is None else {"y": self.y.shape})
        shapes |= {} if self.X is None else {"X": self.X.shape}
        shapes |= {} if self.kernels is None else {"kernels": self.kernels.shape}
        wanted = {name: (self.n,) for name in ("groups", "y") if name in shapes}
        wanted |= {} if self.X is None else {"X": (self.n, self.X.shape[-1])}
        wanted |= {} if self.kernels is None else {"kernels": (len(self.kernels), self.n, self.n)}
        if shapes != wanted:
            raise DataError(f"{self.name}: the shapes are {shapes}; needed are {wanted}.")
        if not 1 <= self.n_clusters <= self.n:
            raise DataError(f"{self.name}: n_clusters={self.n_clusters}; needed is 1 to {self.n}.")

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.groups)

    @property
    def group_sizes(self) -> dict:
        """Samples of each group."""
        labels, counts = np.unique(self.groups, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        what = f"{len(self.kernels)} kernels" if self.X is None else f"d={self.X.shape[1]}"
        sizes = self.group_sizes
        return f"ClusterData({self.name}: n={self.n}, {what}, {self.n_clusters} clusters, {len(sizes)} group(s))"


def clusterings() -> tuple[str, ...]:
    """Names that ``load_clustering`` knows."""
    return tuple(LOADERS)


def load_clustering(name: str) -> ClusterData:
    """One data set of the paper on fair kernel k-means, ready to be clustered.

    Files come from the mirror or the cache and are compared with their recorded SHA-256 before they are read. Two of
    the paper's six data sets, ``har`` and ``daily_sports``, are not in the registry: they are read from folders of
    these names in the mirror or the cache, where the reader has put the original archives.

    Parameters
    ----------
    name : str
        One of ``clusterings()``. ``har_means`` is a substitute for ``har``, ``mnist_usps_large`` a larger pair than
        the paper's. What the paper does not say about ``credit_card`` and ``k1b`` rests on a recorded search;
        ``credit_card_all`` is its selection, ``credit_card`` a sample of 5,000 rows with the same settings.

    Returns
    -------
    ClusterData
    """
    if name not in LOADERS:
        raise RegistryError(f"there is no clustering data set {name!r}; there are {', '.join(LOADERS)}.")
    return LOADERS[name]()


def own_clustering(path: str, groups: str, classes: str = "", clusters: int = 0) -> ClusterData:
    """A CSV file with a column of ``groups`` and perhaps one of true ``classes``; all others are numbers.

    Columns are standardised and rows scaled to unit length, as the authors prepare their data. There are as many
    clusters as classes unless their number is given.
    """
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"dataset={path!r} cannot be read ({error}). Give the path of a CSV file.") from error
    named = {"groups": groups} | ({"classes": classes} if classes else {})
    for said, name in named.items():
        if name not in table:
            raise ConfigurationError(f"{said}={name!r}; {path} has the columns {', '.join(table)}. Name one of these.")
    X = table.drop(columns=list(set(named.values())))
    for name in table.columns[table.isin([np.nan, np.inf, -np.inf]).any(axis=0)]:
        raise ConfigurationError(f"{path}: the column {name} has cells without a value. Leave out their rows.")
    for name in X.columns.difference(X.select_dtypes("number").columns, sort=False):
        raise ConfigurationError(
            f"{path}: the column {name} is not numeric (its first cell is {X[name].iloc[0]!r}); distances need "
            "numbers. Leave it out, or write it as columns of numbers."
        )
    if X.shape[1] < 2:
        raise ConfigurationError(f"{path} has {X.shape[1]} columns of features; rows of unit length need two or more.")
    if (labels := table[groups].unique()).size < 2:
        raise ConfigurationError(f"{path} has the groups {', '.join(map(str, labels))}; needed are two or more.")
    found = clusters or (table[classes].nunique() if classes else 0)
    if not 2 <= found <= len(table):
        why = "" if classes else "; without a column of classes say how many"
        raise ConfigurationError(f"clusters={found}; of {len(table)} rows 2 to {len(table)} can be looked for{why}.")
    y = table[classes].to_numpy() if classes else None
    note = "A table of one's own: columns standardised, rows of unit length."
    return ClusterData(path, unit_rows(standardised(X.to_numpy(float))), None, y, table[groups].to_numpy(), found, note)


def k1b_halves(n: int, seed: int | list[int] = K1B_SEED) -> np.ndarray:
    """Two groups at random whose sizes differ by at most one, 0 and 1."""
    groups = np.zeros(n, dtype=np.int64)
    groups[np.random.default_rng(seed).permutation(n)[: n // 2]] = 1
    return groups


def _jaffe() -> ClusterData:
    kernels, y, groups = files.read_jaffe()
    return _data("jaffe", None, kernels, y, groups, "The authors' twelve kernels, as published; no features.")


def _mnist_usps() -> ClusterData:
    X, y, groups = files.read_mnist_usps()
    note = "Raw pixels, rows of unit length. The slides give no size: this pair fits their balances, and may be theirs."
    return _data("mnist_usps", unit_rows(X), None, y, groups, note)


def _mnist_usps_large() -> ClusterData:
    (usps, digits), (mnist, others) = files.read_usps(), files.read_mnist(side=16)
    groups = np.repeat(["MNIST", "USPS"], [len(others), len(digits)])
    note = "MNIST test images shrunk to 16 x 16 and all of USPS, raw pixels, rows of unit length; not the paper's pair."
    X, y = unit_rows(np.vstack([mnist, usps])), np.concatenate([others, digits])
    return _data("mnist_usps_large", X, None, y, groups, note)


def _one_source(name: str) -> ClusterData:
    X, y = {"usps": files.read_usps, "mnist": files.read_mnist}[name]()
    note = "Raw pixels, rows of unit length. Has no groups of its own: everything is one group."
    return _data(name, unit_rows(X), None, y, np.repeat(name.upper(), len(y)), note)


def _credit_card() -> ClusterData:
    note = (
        f"Not stated by the paper: {CREDIT_CARD}. All but the rows was selected by a recorded search; these rows are "
        "those whose share of men four printed columns state."
    )
    return _data("credit_card", *_credit_card_arrays(CREDIT_CARD), note)


def _credit_card_all() -> ClusterData:
    note = f"Not stated by the paper, selected by a recorded search: {CREDIT_CARD_ALL}."
    return _data("credit_card_all", *_credit_card_arrays(CREDIT_CARD_ALL), note)


def _credit_card_arrays(choice: CreditCard) -> tuple:
    X, y, groups = credit_card_arrays(credit_card_table(), choice)
    return X, None, y, groups


def _k1b() -> ClusterData:
    counts, y = files.read_k1b()
    note = (
        "tf-idf (count times 1 + the log of (1 + n) / (1 + documents with the term)), rows of unit length. The groups "
        f"of the paper are not stated: these are two halves at random, drawn with seed {K1B_SEED}."
    )
    return _data("k1b", unit_rows(tf_idf(counts)), None, y, k1b_halves(len(y)), note)


def _har_means() -> ClusterData:
    X, y, groups = files.read_har_means()
    note = "A substitute: averages by person and activity, standardised, rows of unit length; not the paper's HAR."
    return _data("har_means", unit_rows(standardised(X)), None, y, groups, note)


def _har() -> ClusterData:
    X, y, groups = files.load_har(place("har"))
    note = "As published by UCI (data set 240), standardised, rows of unit length; read from the reader's own copy."
    return _data("har", unit_rows(standardised(X)), None, y, groups, note)


def _daily_sports() -> ClusterData:
    X, y, groups = files.load_daily_sports(place("daily_sports"))
    note = (
        "All 125 x 45 readings of each segment (UCI data set 256), standardised, rows of unit length; read from the "
        "reader's own copy. The paper does not say which features it used."
    )
    return _data("daily_sports", unit_rows(standardised(X)), None, y, groups, note)


def _data(name, X, kernels, y, groups, note) -> ClusterData:
    return ClusterData(name, X, kernels, y, groups, len(np.unique(y)), note)


LOADERS: dict[str, Callable[[], ClusterData]] = {
    "jaffe": _jaffe,
    "mnist_usps": _mnist_usps,
    "credit_card": _credit_card,
    "k1b": _k1b,
    "har": _har,
    "daily_sports": _daily_sports,
    "har_means": _har_means,
    "credit_card_all": _credit_card_all,
    "mnist_usps_large": _mnist_usps_large,
    "usps": lambda: _one_source("usps"),
    "mnist": lambda: _one_source("mnist"),
}
