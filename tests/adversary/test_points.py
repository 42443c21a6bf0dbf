"""Estimators that see the points, attacked: a refusal that names itself, or an answer that satisfies its theorem.

Of each draw what the answer says of itself is computed again from the points, and one relation is tried: an exact
change of scale by a power of two, the same points elsewhere, in another order, or with groups of other names.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from evenspan.clustering import twelve_kernels
from evenspan.clustering.estimator import plain_means
from evenspan.core.errors import FairError
from evenspan.core.groups import encode_groups
from evenspan.representation.mmd_fair_pca import WIDEST

from ..core.every import PLAIN, fit, make
from .strategies import Table, tables

# Frames are fitted, and the arrays in them asked about.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

#: Options of each estimator, one of which is drawn. Long searches are cut short: what is promised holds then, too.
OPTIONS = {
    "INLP": [{"max_iter": 2}, {}, {"select": "arbitrary", "max_iter": 1}, {"attributes": "intersection"}],
    "RLACE": [{"max_iter": 4, "evaluate_every": 4}, {"max_iter": 2, "attributes": "intersection"}],
    "MMDFairPCA": [{}, {"penalty": "documented", "tol": 0.5}, {"bandwidth": 1.0}, {"attributes": "intersection"}],
    "StreamingFairPCA": [{}, {"block_size": 7}, {"center": "none"}, {"constraint": "mean"}, {"center": "group"}],
    "FairKernelPCA": [
        {},
        {"kernel": "linear"},
        {"kernel": "polynomial"},
        {"kernel": "linear", "center": False},
        {"gamma": 0.5},
        {"n_landmarks": 8},
        {"kernel": "polynomial", "degree": 2, "n_landmarks": 8},
    ],
    "KernelKMeans": [
        {"kernel": "linear"},
        {"n_init": 2},
        {"kernel": "linear", "algorithm": "relaxed"},
        {"kernel": "polynomial", "n_init": 2},
        {"kernel": "linear", "storage": "blocks", "n_init": 2},
        {"kernel": "linear", "storage": "dense", "n_init": 2},
    ],
    "FairKernelKMeans": [
        {},
        {"kernel": "linear", "fairness_weight": 0.0},
        {"swaps": True, "storage": "blocks"},
        {"kernel": "linear", "swaps": True},
        {"fairness_weight": "auto"},
        {"kernel": "polynomial"},
    ],
    "FairMultipleKernelKMeans": [{}, {"weights_from": "unshifted"}, {"fairness_weight": 0.0}],
    "FairSpectralClustering": [{"n_neighbors": 4, "n_init": 1}, {"affinity": "rbf", "n_init": 1, "solver": "lanczos"}],
    "VariationalFairClustering": [
        {"max_bound_iter": 10, "max_iter": 4},
        {"fairness_weight": 0.0, "max_bound_iter": 10},
        {"objective": "k-median", "max_bound_iter": 10, "max_iter": 4},
        {"objective": "ncut", "max_bound_iter": 10, "max_iter": 4, "n_neighbors": 4},
    ],
    "FairnessFirstClustering": [{}, {"threshold": 0.0}, {"n_init": 2}],
    "FairAssignmentKMeans": [{"max_iter": 2, "n_init": 1}, {"min_balance": 0.0, "max_iter": 1}],
}
#: Searches that no option cuts short: what ends them, and with which value they end soon.
SEARCHES = {
    "MMDFairPCA": ("evenspan.representation.mmd_fair_pca.START_STEPS", 10),
    "FairAssignmentKMeans": ("evenspan.clustering.fair_assignment.PRICES", 3),
    "FairnessFirstClustering": (
        "evenspan.clustering.fairness_first.plain_means",
        lambda *args, **options: plain_means(*args, **options | {"n_init": 1}),
    ),
}
CLUSTERERS = {name for name in OPTIONS if "Cluster" in name or "KMeans" in name}
#: Those whose answer belongs to the unit of the features, by a penalty, a rate or a weight that does not grow with it.
WITH_UNIT = {"INLP", "RLACE", "VariationalFairClustering", "FairMultipleKernelKMeans"}
#: Those that a rounded mean does not lead to another local optimum.
STEADY = {"StreamingFairPCA", "FairKernelPCA"}
RELATIONS = ("none", "scale", "names", "shift", "order")


def numbers(table: Table) -> np.ndarray:
    return np.asarray(table.numbers, dtype=np.float64)


def answered(table: Table, name: str, model):
    """The fitted model; a refusal that even an ordinary table may meet is told as it is, any other one is a failure."""
    try:
        return fit(model, table.X, table.groups)
    except FairError as error:
        if table.ordinary and not too_much(name, model, table):
            raise AssertionError(f"refused: {error}") from error
        raise


def too_much(name: str, model, table: Table) -> bool:
    """Whether more was asked of an ordinary table than it has."""
    takes_sparse = model.__sklearn_tags__().input_tags.sparse
    if table.dtype in ("csr", "csc") and not takes_sparse:
        return True
    if "Cluster" in name or "KMeans" in name:
        return False
    if name == "FairKernelPCA" and abs(table.shift) > 1.0 and (model.kernel == "polynomial" or not model.center):
        return True
    if name == "FairKernelPCA" and model.gamma != "scale" and table.exponent:
        return True
    if name == "MMDFairPCA" and model.bandwidth != "median":
        X = numbers(table)
        if np.abs(X - X.mean(axis=0)).max(axis=None) > WIDEST * model.bandwidth:
            return True
    named = encode_groups(table.groups, table.n)[0]
    values = [len(np.unique(named[field])) for field in named.dtype.names or ()] or [len(named)]
    compared = 2 * sum(1 if value == 2 else value for value in values)  # a mean and a gap, or two classifiers, each
    compared = max(compared, len(named)) if getattr(model, "attributes", "") == "intersection" else compared
    return table.d < (model.n_components or 1) + compared


def finite(model) -> None:
    """All that was learnt is finite, but what is infinite by definition."""
    for name, value in vars(model).items():
        known = name in ("eigengap_", "fairness_error_", "soft_fairness_error_", "history_", "score_")
        if name.endswith("_") and not name.startswith("_") and not known and isinstance(value, float | np.ndarray):
            array = np.asarray(value)
            assert array.dtype.kind != "f" or np.isfinite(array).all(), name


# -- what the answers say of themselves, computed again ----------------------------------------------------------------


def subspaces(name: str, model, X: np.ndarray, codes: np.ndarray) -> None:
    A, certificate = model.components_, model.certificate_
    np.testing.assert_allclose(A @ A.T, np.eye(len(A)), atol=1e-5 if A.dtype == np.float32 else 1e-9)
    centred = X - X.mean(axis=0)
    total, rounding = float((centred**2).sum(axis=None)), 1e-6 if A.dtype == np.float32 else 1e-9
    # Products of the rows of a stream are formed in its precision: squares of that rounding are no variance.
    rel, share = (1e-3, 1e-13) if A.dtype == np.float32 else (1e-5, 1e-24)
    drowned = share * float((X[np.isfinite(X)] ** 2).sum()) / len(X) if name == "StreamingFairPCA" else 0.0
    assert certificate.gap >= -1e-6 * abs(certificate.dual) - drowned
    if name == "StreamingFairPCA":
        far = float((X**2).sum(axis=None))
        if model.block_size is None:
            known = far if model.center == "none" else total
            assert certificate.dual == pytest.approx(known / len(X), rel=rel, abs=share * far)
        assert np.abs(A @ model.nullified_.T).max(initial=0.0) <= 1e-3
        return
    reached = ((centred @ A.T) ** 2).sum(axis=0) / max(len(X) - 1, 1)
    lost = float(((3e-7 * X) ** 2).sum(axis=None))  # not the squares first: those of features of 1e155 overflow
    np.testing.assert_allclose(model.explained_variance_, reached, rtol=1e-6, atol=rounding * total + lost)
    if name == "MMDFairPCA":
        parts, bandwidth = [centred[codes == g] @ A.T for g in np.unique(codes)], model.bandwidth_
        if model.group_labels_.dtype.names is None:
            means = [[gaussian(a, b, bandwidth) for b in parts] for a in parts]
            pairs = [means[a][a] + means[b][b] - 2 * means[a][b] for a in range(len(parts)) for b in range(a)]
            assert model.mmd2_ == pytest.approx(max([*pairs, 0.0]), abs=1e-6)
        assert not model.converged_ or model.mmd2_ <= max(model.tol, 1e-14)
        return
    P = model.projection_
    np.testing.assert_allclose(P, P.T, atol=1e-9)
    np.testing.assert_allclose(P @ P, P, atol=1e-9)
    np.testing.assert_allclose(A @ P, A, atol=1e-9)
    assert model.rank_ == round(float(np.trace(P)))


def gaussian(a: np.ndarray, b: np.ndarray, bandwidth: float) -> float:
    squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return float(np.exp(-squares / (2 * bandwidth**2)).mean(axis=None))


def coordinates(name: str, model, X: np.ndarray, codes: np.ndarray) -> None:
    T, certificate = model.transform(X), model.certificate_
    assert np.isfinite(T).all()
    assert certificate.gap >= -1e-8 * abs(certificate.dual)
    labels, size = model.group_labels_, float(np.sqrt((T**2).sum(axis=0).max(axis=0)))
    columns = [labels] if labels.dtype.names is None else [labels[field] for field in labels.dtype.names]
    for column in columns:
        of = column[codes]
        for value in np.unique(of):
            inside = of == value
            if not inside.all():
                gap = T[inside].mean(axis=0) - T[~inside].mean(axis=0)
                assert np.abs(gap).max(axis=0) <= 1e-6 * size, f"means differ by {gap} of {size}"


def kernel_of(model, X: np.ndarray) -> np.ndarray:
    """The kernel matrix, by scikit-learn; the linear one is that of the centred points."""
    if model.kernel == "linear":
        return (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T
    given = {"gamma": model.gamma_} | ({"degree": model.degree, "coef0": model.coef0} if model.kernel != "rbf" else {})
    centred = X - X.mean(axis=0) if model.kernel == "rbf" else X
    return pairwise_kernels(centred, metric="poly" if model.kernel == "polynomial" else model.kernel, **given)


def squares(points: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squared distances to the means of the clusters."""
    return sum(float(((p - p.mean(axis=0)) ** 2).sum(axis=None)) for p in (points[labels == k] for k in set(labels)))


def clusters(name: str, model, X: np.ndarray, codes: np.ndarray) -> None:
    labels, c = model.labels_, model.n_clusters
    assert labels.shape == (len(X),)
    assert ((labels >= 0) & (labels < c)).all()
    if name not in ("FairSpectralClustering",):
        assert len(set(labels.tolist())) == c, "a cluster is empty"
    if name != "KernelKMeans":
        counted = np.zeros((len(model.group_labels_), c), dtype=int)
        np.add.at(counted, (codes, labels), 1)
        np.testing.assert_array_equal(model.counts_.counts, counted)
    centred = X - X.mean(axis=0)
    rounding = 1e-9 * float((centred**2).sum(axis=None)) + float(((3e-13 * X) ** 2).sum(axis=None))
    if name in ("KernelKMeans", "FairKernelKMeans"):
        K = kernel_of(model, X)
        weight = 0.0 if name == "KernelKMeans" else model.fairness_weight_
        size = float(np.abs(np.diagonal(K)).sum(axis=0)) + weight * len(X)
        M = K - weight * (codes[:, None] == codes)
        assert model.objective_ == pytest.approx(trace(M, labels), abs=1e-7 * size)
        assert model.certificate_.gap >= 0
        if name == "FairKernelKMeans":
            assert model.objective_ >= trace(M, model.initial_labels_) - 1e-9 * size
    elif name == "FairMultipleKernelKMeans":
        assert model.kernel_weights_.sum(axis=0) == pytest.approx(1.0)
        assert (model.kernel_weights_ >= 0).all()
        if model.weights_from == "shifted":
            # Differences of traces of kernels of unit diagonal: what falls may be rounding of n. A kernel that centring
            # has cost digits is indefinite by rounding, and what falls may be of that size.
            below = max(0.0, *(-float(np.linalg.eigvalsh(K)[0]) for K in twelve_kernels(X)))
            assert (np.diff(model.history_) <= 1e-9 * max(abs(model.history_[0]), len(X)) + 2 * len(X) * below).all()
    elif name == "FairSpectralClustering":
        H = model.embedding_
        assert model.constraint_residual_ <= 1e-7
        assert model.inertia_ == pytest.approx(squares(H, labels), rel=1e-6, abs=1e-9 * float((H**2).sum(axis=None)))
    elif name == "VariationalFairClustering":
        np.testing.assert_allclose(model.soft_labels_.sum(axis=1), 1.0)
        if model.objective != "ncut":
            to_centre = ((X - model.centers_[labels]) ** 2).sum(axis=1)
            known = to_centre if model.objective == "k-means" else np.sqrt(to_centre)
            slack = rounding if model.objective == "k-means" else 1e-5 * np.sqrt(rounding * 1e9 * len(X))
            assert model.clustering_energy_ == pytest.approx(float(known.sum(axis=0)), rel=1e-6, abs=slack)
    else:
        assert model.inertia_ == pytest.approx(squares(X, labels), rel=1e-7, abs=rounding)
        if name == "FairnessFirstClustering":
            steps = [stage["inertia"] for stage in model.stages_]
            assert (np.diff(steps) <= rounding).all()
            assert model.stages_[1]["balance"] >= model.threshold * model.stages_[0]["balance"] - 1e-9
        else:
            assert model.certificate_.gap >= -max(1e-6 * model.inertia_, rounding)
            asked = model._promises(c)
            assert all(found >= one.balance - 1e-9 for found, one in zip(model.balances_, asked, strict=True))


def trace(M: np.ndarray, labels: np.ndarray) -> float:
    return sum(float(M[np.ix_(labels == k, labels == k)].sum(axis=None)) / (labels == k).sum() for k in set(labels))


# -- the relations -----------------------------------------------------------------------------------------------------


def seen(name: str, model, X: np.ndarray) -> np.ndarray:
    """What of an answer is compared: the clusters, the projector, or inner products of coordinates by their size."""
    if name in CLUSTERERS:
        return model.labels_
    if name == "FairKernelPCA":
        T = model.transform(X)
        return T @ T.T / max(float((T**2).sum(axis=None)), np.finfo(float).tiny)
    return model.components_.T @ model.components_


def relate(relation: str, table: Table, name: str, model, options: dict) -> None:
    """Try one relation on a table of plain numbers."""
    X, rng = numbers(table), np.random.default_rng(table.seed)
    groups, before = table.groups, seen(name, model, numbers(table))
    again = make(name, getattr(model, "n_clusters", None) or model.n_components, **options)
    labels, codes = (np.zeros(1), None) if name in PLAIN else encode_groups(table.groups, len(X))
    single = labels.dtype.names is None
    if relation == "names" and single:
        groups = np.array(["p", "q", "r", "s"])[codes]
        np.testing.assert_array_equal(seen(name, fit(again, table.X, groups), X), before)
    elif relation == "scale" and scales(name, model):
        factor = 2.0 ** int(rng.integers(-40, 40))
        if np.array_equal(X * factor / factor, X):
            found = fit(again, X * factor, groups)
            plain = before
            if table.dtype != "float64":  # single precision, or a sparse matrix, goes other ways
                plain = seen(name, fit(clone(again), X, groups), X)
            np.testing.assert_allclose(seen(name, found, X * factor), plain, rtol=1e-9, atol=1e-9)
    elif relation in ("shift", "order") and name in STEADY and table.ordinary and stays(relation, model, table):
        order = rng.permutation(len(X)) if relation == "order" else np.arange(len(X))
        moved = X[order] + (100.0 * 2.0**table.exponent if relation == "shift" else 0.0)
        groups = groups.iloc[order] if hasattr(groups, "iloc") else np.asarray(groups)[order]
        if relation == "order" and single and (name == "FairKernelPCA" or len(labels) == 2):
            # Names that sort otherwise. More comparisons would begin at other random directions.
            groups = np.array(["r", "q", "s", "p"])[codes[order]]
        found, back = seen(name, fit(again, moved, groups), moved), np.argsort(order)
        if name == "FairKernelPCA":
            found = found[np.ix_(back, back)]
        np.testing.assert_allclose(found, before, atol=1e-5)


def scales(name: str, model) -> bool:
    """Whether the answer must be the same, or grow, with the unit of the features."""
    if name in WITH_UNIT or getattr(model, "bandwidth", "median") != "median":
        return False
    if name in ("FairKernelPCA", "KernelKMeans", "FairKernelKMeans"):
        fixed = getattr(model, "gamma", "scale") != "scale" or model.kernel == "polynomial"
        return not fixed and (model.kernel != "linear" or getattr(model, "fairness_weight", 0.0) == 0.0)
    return True


def stays(relation: str, model, table: Table) -> bool:
    """Whether a shift, or another order, leaves this answer as it is."""
    if getattr(model, "gamma", "scale") != "scale" and table.exponent:
        return False  # too wide a kernel, or too narrow a one in which all points are alike
    if relation == "order":
        return getattr(model, "block_size", None) is None and getattr(model, "n_landmarks", None) is None
    return model.center not in (False, "none") and getattr(model, "kernel", "linear") == "linear"


@pytest.mark.parametrize("name", OPTIONS)
def test_points(name, attack, monkeypatch):
    if name in SEARCHES:
        monkeypatch.setattr(*SEARCHES[name])
    check = clusters if name in CLUSTERERS else coordinates if name == "FairKernelPCA" else subspaces

    def body(case):
        table, options, relation, size = case
        if name not in CLUSTERERS:
            size = min(size, 2)
        if name == "INLP" and relation == "none":
            size = None
        model = make(name, size, **options)
        answered(table, name, model)
        X = numbers(table)
        codes = np.zeros(len(X), dtype=int) if name in PLAIN else encode_groups(table.groups, len(X))[1]
        finite(model)
        check(name, model, X, codes)
        if size is not None and (name not in PLAIN or relation == "scale"):
            relate(relation, table, name, model, options)

    wide = {} if name in CLUSTERERS else {"d": st.integers(1, 12)}
    if name == "StreamingFairPCA":
        wide["shift"] = st.sampled_from([0.0, -1000.0, 1e7, -1e8])
    case = st.tuples(tables(**wide), st.sampled_from(OPTIONS[name]), st.sampled_from(RELATIONS), st.integers(1, 4))
    attack(name, "estimator", case, body)
