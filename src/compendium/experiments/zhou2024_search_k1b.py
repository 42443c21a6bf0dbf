"""The search for the groups of K1b in Zhou et al. (2024). Candidates and rule were fixed before any was compared.

The table states two groups of equal size (see the arithmetic). **Candidates** are halves by the order of the file, by
the length of the documents, by the terms that come nearest to splitting them, and halves at random.

**Score.** K-means, relaxed kernel k-means and FKKM-f cluster without seeing any groups, with ten seeds. The means of
Bal and MNCE of the three are compared with the printed ones in units of the range of the metric over the eight printed
methods; the score is the mean of the six.

**Choice.** A named candidate is chosen if its groups are admissible and it scores better than all but a share of 0.05
(divided by the number of named candidates) of 1,000 random halves; otherwise the halves are random, with a seed that
was fixed without looking at its score.

**Are the printed balances those of random halves?** For every method's own clusters, the distribution of Bal over
random halves is computed, and where in it the printed balance lies.
"""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans

from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.metrics.clustering import clustering_accuracy, normalised_mutual_information

from ..data import load_clustering
from ..data.clustering import K1B_SEED, k1b_halves
from ..data.clustering_files import read_k1b
from .zhou2024_published import PublishedRule
from .zhou2024_search_arithmetic import admissible_range, binary_entropy, deviation, entropy_of_balance, printed

SEED = 20247
DATASET = "k1b"
SEEDS, DRAWS = 10, 1000
SPLITTING_TERMS = 5
LEVEL = 0.05
SEARCHED = ("K-means", "KKM", "FKKM-f")
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
FAIR_HALVES = 10


def searched() -> pd.DataFrame:
    """Everything about K1b on the raw data, as rows."""
    data = load_clustering(DATASET)
    counts, y = read_k1b()
    K = base_kernel(data.X, 7)
    clusters = blind_clusters(data.X, K, data.n_clusters)
    found = []
    for method, runs in clusters.items():
        for seed, labels in enumerate(runs):
            found.append(row(method, seed, "blind", "ACC", clustering_accuracy(y, labels)))
            found.append(row(method, seed, "blind", "NMI", normalised_mutual_information(y, labels)))
            found.append(row(method, seed, "blind", "smallest cluster", int(np.bincount(labels).min())))
    rng = np.random.default_rng(SEED)
    halves = np.stack([k1b_halves(len(y), [SEED, draw]) for draw in range(DRAWS)])
    scores = scores_of(halves, clusters)
    found += candidate_rows(counts, clusters, scores)
    found += balance_rows(clusters, y, rng)
    found += fair_rows(K, y, data.n_clusters)
    return frame(found)


def blind_clusters(X, K: np.ndarray, n_clusters: int) -> dict[str, list[np.ndarray]]:
    """Labels of three methods that do not see groups, for every seed."""
    found = {method: [] for method in SEARCHED}
    for seed in range(SEEDS):
        drawn = int(np.random.default_rng([SEED, seed]).integers(2**31))
        found["K-means"].append(KMeans(n_clusters, n_init=3, random_state=drawn).fit_predict(X))
        model = FairKernelKMeans(n_clusters, 0.0, kernel="precomputed", random_state=seed)
        model.fit(K, sensitive_features=k1b_halves(len(K)))
        found["KKM"].append(model.initial_labels_)
        found["FKKM-f"].append(model.labels_)
    return found


def bal_and_mnce(groups: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bal and MNCE of many groupings in two, (m, n) of 0 and 1, for one clustering; shape (m,) each."""
    sizes = np.bincount(labels)
    ones = np.stack([groups[:, labels == k].sum(axis=1) for k in np.flatnonzero(sizes)], axis=1)
    return from_counts(ones, sizes[sizes > 0])


def from_counts(ones: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bal and MNCE from the members of one group in each cluster, (m, c), and the cluster sizes (c,)."""
    fewer = np.minimum(ones, sizes - ones)
    balance = (fewer / (sizes - fewer)).min(axis=1)
    return balance, entropy_of_balance(balance) / binary_entropy(ones.sum(axis=1) / sizes.sum(axis=0))


def scores_of(groups: np.ndarray, clusters: dict[str, list[np.ndarray]]) -> np.ndarray:
    """The score of each of many groupings (m, n)."""
    means = {}
    for method, runs in clusters.items():
        pairs = [bal_and_mnce(groups, labels) for labels in runs]
        for metric, values in zip(("Bal", "MNCE"), zip(*pairs, strict=True), strict=True):
            means[method, metric] = np.mean(values, axis=0)
    return deviation(means, printed(DATASET))


def named_groups(counts: sparse.csr_matrix) -> dict[str, np.ndarray]:
    """Groupings in two that the file itself offers."""
    n = counts.shape[0]
    place = np.arange(n)
    terms = np.diff(counts.indptr)
    words = np.asarray(counts.sum(axis=1)).ravel()
    found = {
        "first and second half of the file": (place >= n // 2).astype(int),
        "odd and even places in the file": place % 2,
        "fewer and more different terms": _upper_half(terms),
        "fewer and more words": _upper_half(words),
    }
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    nearest = np.argsort(np.abs(documents - n / 2), kind="stable")[:SPLITTING_TERMS]
    for term in nearest:
        found[f"without and with term {term}"] = (counts[:, [term]].toarray().ravel() > 0).astype(int)
    return found


def _upper_half(values: np.ndarray) -> np.ndarray:
    """Exact halves by size; equal values in the order of the file."""
    found = np.zeros(len(values), dtype=int)
    found[np.argsort(values, kind="stable")[len(values) // 2 :]] = 1
    return found


def candidate_rows(counts, clusters: dict, scores: np.ndarray) -> list[tuple]:
    """Each named candidate, the random half with the fixed seed, and the distribution of scores of random halves."""
    low, high = admissible_range(DATASET)
    named = named_groups(counts)
    n = counts.shape[0]
    groupings = named | {f"random halves, seed {K1B_SEED}": k1b_halves(n)}
    found = []
    for name, groups in groupings.items():
        score = float(scores_of(groups[None], clusters)[0])
        share = float(groups.mean(axis=0))
        values = {
            "score": score,
            "size of one group": int(groups.sum(axis=0)),
            "admissible": int(low <= binary_entropy(share) <= high),
            "share of random halves that score as well": float((scores <= score).mean(axis=0)),
        }
        for method, runs in clusters.items():
            pairs = np.array([[v[0] for v in bal_and_mnce(groups[None], labels)] for labels in runs])
            values |= {f"{method} Bal": pairs[:, 0].mean(axis=0), f"{method} MNCE": pairs[:, 1].mean(axis=0)}
        found += [row(name, "all", "candidates", metric, value) for metric, value in values.items()]
    for share in QUANTILES:
        found.append(row("random halves", "all", "candidates", f"score, quantile {share}", np.quantile(scores, share)))
    return found


def cluster_sizes(clusters: dict, y: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Cluster sizes that the distribution of balances is computed for: those of each method, and two for reference."""
    n, c = len(y), len(np.unique(y))
    found = {method: [np.bincount(labels) for labels in runs] for method, runs in clusters.items()}
    return found | {"the true classes": [np.bincount(y)], "clusters of equal size": [np.full(c, n // c)]}


def balance_rows(clusters: dict, y: np.ndarray, rng: np.random.Generator) -> list[tuple]:
    """Quantiles of Bal and MNCE over random halves by cluster sizes, and where each printed balance lies in them."""
    theirs, n, found = printed(DATASET), len(y), []
    for name, sizes in cluster_sizes(clusters, y).items():
        drawn = [from_counts(rng.multivariate_hypergeometric(s, n // 2, size=DRAWS), s) for s in sizes]
        balances, entropies = (np.concatenate(values) for values in zip(*drawn, strict=True))
        for metric, values in (("Bal", balances), ("MNCE", entropies)):
            found.append(row(name, "all", "random halves", f"{metric}, mean", values.mean(axis=0)))
            for share in QUANTILES:
                found.append(
                    row(name, "all", "random halves", f"{metric}, quantile {share}", np.quantile(values, share))
                )
        for method in theirs.columns:
            below = float((balances <= theirs.loc["Bal", method]).mean(axis=0))
            found.append(row(name, "all", "random halves", f"share below the printed Bal of {method}", below))
    return found


def fair_rows(K: np.ndarray, y: np.ndarray, n_clusters: int) -> list[tuple]:
    """The control: what the fair method itself reaches when the halves are random."""
    found = []
    for draw in range(FAIR_HALVES):
        groups = k1b_halves(len(y), [SEED, DRAWS + draw])
        model = FairKernelKMeans(n_clusters, PublishedRule(), kernel="precomputed", random_state=draw)
        labels = model.fit(K, sensitive_features=groups).labels_
        balance, mnce = (float(values[0]) for values in bal_and_mnce(groups[None], labels))
        values = {
            "ACC": clustering_accuracy(y, labels),
            "NMI": normalised_mutual_information(y, labels),
            "Bal": balance,
            "MNCE": mnce,
            "fairness weight": model.fairness_weight_,
        }
        found += [row("FKKM", draw, "fair on random halves", metric, value) for metric, value in values.items()]
    return found


def row(method, split, protocol, metric, value) -> tuple:
    """One tidy row of this data set."""
    return DATASET, method, None, split, protocol, metric, float(value)


def frame(rows: list[tuple]) -> pd.DataFrame:
    """Tidy rows as a frame."""
    columns = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
    return pd.DataFrame(rows, columns=columns).astype({"k": "Int64"})
