"""What must not change the answer, for every estimator from one table. A new method adds a row.

A linear method is compared by the principal angles of its subspaces, a kernel method by the inner products of its
coordinates (which no rotation of equal variances changes), a clusterer by its partition. Each relation names those that
break it. The control is that other groups do give another answer.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import ortho_group

from evenspan import GroupFrame, GroupMoments, StandardPCA, metrics

from .every import ALL, PLAIN, fit, make
from .samples import angle, draw, two_attributes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some are stopped early here

EVERY = frozenset({"unit", "rotate", "shift", "far", "duplicate", "moments"})
KERNEL = frozenset({"unit", "rotate", "shift", "far"})


def _subspace(model, X) -> np.ndarray:
    return model.components_.T


def _products(model, X) -> np.ndarray:
    T = model.transform(X)
    return T @ T.T


def _together(model, X) -> np.ndarray:
    return model.labels_[:, None] == model.labels_[None]


@dataclass(frozen=True)
class Method:
    """An estimator with the data it is for, how answers are compared, and which changes leave its answer alone."""

    name: str
    options: dict = field(default_factory=dict)
    groups: int = 3
    attributes: int = 1
    target: bool = False
    supports: frozenset = EVERY
    seen: Callable = _subspace
    tol: float = 0.0  # an angle is the root of the gain at which ascents end

    def model(self):
        return make(self.name, 2 if self.seen is not _together else 3, **self.options)

    def fit(self, X, groups, y) -> np.ndarray:
        return self.seen(fit(self.model(), X, groups, y if self.target else None), X)

    def differ(self, one: np.ndarray, other: np.ndarray) -> float:
        """0 for equal answers: an angle, a relative difference, or the share of pairs of points."""
        if self.seen is _subspace:
            return angle(one, other)
        if self.seen is _products:
            return float(np.abs(one / np.trace(one) - other / np.trace(other)).max() * len(one))
        return float((one != other).mean())


def kernel(name, supports=KERNEL, **options) -> Method:
    return Method(name, options, supports=supports, seen=_products)


def clusters(name, supports=KERNEL, **options) -> Method:
    return Method(name, options, supports=supports, seen=_together)


METHODS = {
    "PCA": Method("StandardPCA"),
    "PCA about zero": Method("StandardPCA", {"center": "none"}, supports=EVERY - {"shift", "far"}),
    "Fair PCA": Method("FairPCA"),
    "Fair PCA about zero": Method("FairPCA", {"center": "none"}, supports=EVERY - {"shift", "far"}),
    "Fair PCA, marginal": Method("FairPCA", {"attributes": "marginal"}, attributes=2),
    # The divisors n_g - 1 change by different factors.
    "Fair PCA-S": Method("FairPCA", {"match": "covariance"}, supports=EVERY - {"duplicate"}),
    # Constant features are a property of the axes.
    "Fair PCA, equal opportunity": Method(
        "FairPCA", {"criterion": "equal_opportunity"}, target=True, supports=EVERY - {"moments"}
    ),
    "Min-max loss": Method("MinMaxFairPCA", groups=2),
    "Min-max error": Method("MinMaxFairPCA", {"objective": "error", "center": "overall"}, groups=2),
    # The radius of a ball shrinks with the number of rows, and has the unit of the features squared.
    "RFPCA": Method("RobustFairPCA", {"alpha": 0.2}, groups=2, supports=EVERY - {"unit", "duplicate"}),
    "CFPCA": Method("ConvexFairPCA", {"delta": 0.1, "standardize": True}, groups=2, supports=EVERY - {"rotate"}),
    # A price of loadings belongs to the axes and has a unit.
    "Sparse": Method("SparseFairPCA", {"penalty": 3.0, "tol": 1e-12}, supports=EVERY - {"unit", "rotate"}, tol=1e-5),
    "Outlier-robust": Method("OutlierRobustFairPCA", supports=EVERY - {"moments"}),
    "u-FPCA": Method("DisparityFairPCA", groups=2),
    "JEVD-PCA": Method("JEVDPCA"),
    "LEACE": Method("LEACE"),
    "LEACE, keeping classes": Method("LEACE", {"keep": "classes"}, target=True, supports=EVERY - {"moments"}),
    # The divisors n_g - 1 change by different factors.
    "Null it out": Method("NullItOutPCA", {"n_gap_directions": 1}, groups=2, supports=EVERY - {"duplicate"}),
    "Null it out, two attributes": Method("NullItOutPCA", {"n_gap_directions": 0}, attributes=2),
    # Every block is a pass, and there are so many that nothing is left of the random start.
    "FNPM": Method("StreamingFairPCA", {"n_gap_directions": 1, "n_blocks": 100}, groups=2, supports=EVERY),
    # Its classifiers are penalised, and see points.
    "INLP": Method("INLP", groups=2, supports=frozenset({"rotate", "shift", "far"})),
    # A game of so many steps on drawn batches, and a descent that is stopped early: neither forgets its rounding.
    "RLACE": Method("RLACE", {"rank": 1}, groups=2, supports=frozenset()),
    "MMD PCA": Method("MMDFairPCA", {"max_iter": 5, "max_inner": 30}, groups=2, supports=frozenset()),
    # gamma="scale" is scikit-learn's: the variance of all entries together, which moves with the origin.
    "Fair kernel PCA": kernel("FairKernelPCA", frozenset({"unit"})),
    "Fair kernel PCA, fixed width": kernel("FairKernelPCA", KERNEL - {"unit"}, gamma=0.05),
    "Iterated kernel erasure": kernel("IteratedKernelErasure", frozenset({"unit", "shift", "far"})),
    "Kernel k-means": clusters("KernelKMeans", KERNEL - {"unit"}, gamma=0.05),
    "FKKM": clusters("FairKernelKMeans", KERNEL - {"unit"}, gamma=0.05),
    # Powers of inner products know the origin and the unit.
    "Multiple FKKM": clusters("FairMultipleKernelKMeans", frozenset()),
    "Fair spectral": clusters("FairSpectralClustering", n_neighbors=30),
    "Variational": clusters("VariationalFairClustering", KERNEL - {"unit"}, fairness_weight=300.0),
    "Fairness first": clusters("FairnessFirstClustering"),
    "Alignment": Method("FairAlignmentClustering", groups=2, supports=KERNEL, seen=_together),
}
#: Starts are drawn row by row and points are visited in the order of the rows, as in the papers.
DRAWN = {"INLP", "RLACE", "MMD PCA"} | {name for name, method in METHODS.items() if method.seen is _together}


def data_for(method: Method, seed=1):
    """Features, groups and a target."""
    if method.seen is not _subspace:
        s = draw(counts=(60, 40, 20)[: method.groups], seed=seed)
        X, groups = s.X, s.groups
    elif method.attributes == 1:
        s = draw(counts=(200, 120, 60)[: method.groups], seed=seed)
        X, groups = s.X, s.groups
    else:
        X, groups = two_attributes(seed=seed)
    return X, groups, (np.random.default_rng(seed).random(len(X)) < 0.6).astype(int)


@functools.cache
def answer(name: str) -> np.ndarray:
    """What a method of the table says of its data; every relation starts from it."""
    return METHODS[name].fit(*data_for(METHODS[name]))


def moved(change: Callable, methods=None, tol: float = 1e-7) -> list[str]:
    """The methods whose answers differ by more than ``tol`` after ``change(X, groups, y) -> (X, groups, y, back)``."""
    offenders = []
    for name, method in METHODS.items():
        if methods is None or name in methods:
            *changed, back = change(*data_for(method))
            found = method.differ(answer(name), back(method.fit(*changed), method))
            offenders += [f"{name}: {found:.1e}"] if found > max(tol, method.tol) else []
    return offenders


def supporting(change: str) -> set[str]:
    return {name for name, method in METHODS.items() if change in method.supports}


def same(a, method):
    return a


def test_every_estimator_has_a_row():
    assert {method.name for method in METHODS.values()} == set(ALL)


def test_the_order_of_the_rows():
    def change(X, groups, y):
        order = np.random.default_rng(0).permutation(len(X))
        back = np.argsort(order)
        return X[order], groups[order], y[order], lambda a, m: a if m.seen is _subspace else a[np.ix_(back, back)]

    assert moved(change, set(METHODS) - DRAWN) == []


@pytest.mark.parametrize("names", [["z", "y", "x", "w", "v"], [9, -4, 7, 0, 1]], ids=["reversed", "numbers"])
def test_the_names_of_the_groups(names):
    def change(X, groups, y):
        table = groups if groups.ndim > 1 else groups[:, None]
        old = np.unique(table).tolist()
        renamed = np.array([[names[old.index(value)] for value in row] for row in table.tolist()])
        return X, renamed, y, same

    # These draw for one group after the other, in the order of their names.
    assert moved(change, set(METHODS) - {"INLP", "RLACE", "Fairness first"}) == []


def test_but_other_groups_give_another_answer():
    unmoved = set()
    for name, method in METHODS.items():
        X, groups, y = data_for(method)
        shuffled = np.random.default_rng(0).permutation(groups)
        if method.differ(answer(name), method.fit(X, shuffled, y)) < 1e-3:
            unmoved.add(name)
    assert unmoved == {name for name, method in METHODS.items() if method.name in PLAIN}


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_all_features(factor):
    assert moved(lambda X, groups, y: (factor * X, groups, y, same), supporting("unit")) == []


def test_rotated_features_give_the_rotated_answer():
    def change(X, groups, y):
        Q = ortho_group.rvs(X.shape[1], random_state=0)
        return X @ Q, groups, y, lambda a, m: Q @ a if m.seen is _subspace else a

    assert moved(change, supporting("rotate")) == []


@pytest.mark.parametrize(("size", "tol", "change"), [(1e4, 1e-7, "shift"), (1e8, 1e-5, "far")])
def test_the_origin(size, tol, change):
    """Coordinates of 1e8 leave eight digits to the differences; no method may lose more than that."""

    def shifted(X, groups, y):
        return X + size * np.random.default_rng(0).normal(size=X.shape[1]), groups, y, same

    assert moved(shifted, supporting(change), tol) == []


def test_everything_twice():
    def change(X, groups, y):
        twice = np.tile(np.arange(len(X)), 2)
        return X[twice], groups[twice], y[twice], same

    assert moved(change, supporting("duplicate")) == []


def test_merged_moments():
    offenders = []
    for name in supporting("moments"):
        method = METHODS[name]
        X, groups, _ = data_for(method)
        moments = GroupMoments.from_data(X[:90], groups[:90]) + GroupMoments.from_data(X[90:], groups[90:])
        found = method.differ(answer(name), method.seen(method.model().fit_moments(moments), X))
        offenders += [f"{name}: {found:.1e}"] if found > max(1e-7, method.tol) else []
    assert offenders == []


def priced(factor: float) -> dict:
    """Methods whose parameters have a unit, that of the features or its square.

    Not VariationalFairClustering: as in its paper it starts from a softmax of squared distances, which have one.
    """
    return {
        "RFPCA": make("RobustFairPCA", 2, alpha=0.2 * factor**2),
        "Sparse": make("SparseFairPCA", 2, penalty=3.0 * factor**2, tol=1e-10),
        "CFPCA": make("ConvexFairPCA", 2, delta=0.1 * factor),
        "Fair kernel PCA": make("FairKernelPCA", 2, gamma=0.05 / factor**2),
        "Kernel k-means": make("KernelKMeans", 3, gamma=0.05 / factor**2),
        "FKKM": make("FairKernelKMeans", 3, gamma=0.05 / factor**2),
    }


def judged(X: np.ndarray, groups, factor: float) -> dict[str, np.ndarray]:
    """What the judge says of one representation, in the units of the features taken out."""
    moments, V = GroupMoments.from_data(X, groups), np.eye(X.shape[1])[:, :2]
    E, member = X @ V, groups == groups[0]
    fitted = StandardPCA(2).fit_moments(moments)
    frame = GroupFrame(estimator=fitted, X=X, sensitive_features=groups, metrics=list(metrics.GROUP_METRICS))
    found = {
        "mean gap": metrics.mean_gap(moments, V) / factor,
        "covariance gap": metrics.covariance_gap(moments, V) / factor**2,
        "mmd2": metrics.mmd2(E, groups, metrics.median_bandwidth(E)),
        "bandwidth": metrics.median_bandwidth(E) / factor,
        "explained variance": metrics.explained_variance(moments, V),
        "retained variance": metrics.retained_variance(moments, V),
        "group errors": metrics.group_errors(moments, fitted.subspace_) / factor**2,
        "error gap": metrics.error_gap(moments, fitted.subspace_) / factor**2,
        "mean gap bound": metrics.mean_gap_bound(moments, fitted) / factor,
        "auc": metrics.auc(member, X[:, 0]),
        "auc standard error": metrics.auc_standard_error(member, X[:, 0]),
        **{f"group auc, {probe}": metrics.group_auc(probe, (E, groups), (E, groups)) for probe in metrics.PROBES},
    }
    units = {"error": factor**2, "loss": factor**2, "mean distance": factor}
    found |= {name: column.to_numpy() / units.get(name, 1.0) for name, column in frame.by_group.items()}
    return found


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_features_and_parameters_and_of_what_is_judged(factor):
    offenders = []
    for name, model in priced(factor).items():
        method = METHODS[name] if name != "Fair kernel PCA" else METHODS["Fair kernel PCA, fixed width"]
        X, groups, _ = data_for(method)
        one, other = (
            method.seen(fit(each, u * X, groups), u * X) for each, u in ((priced(1.0)[name], 1.0), (model, factor))
        )
        found = method.differ(one, other)
        offenders += [f"{name}: {found:.1e}"] if found > 2e-5 else []
    X, groups, _ = data_for(METHODS["Fair PCA"])
    one, other = judged(X, groups, 1.0), judged(factor * X, groups, factor)
    for name, value in one.items():
        found = float(np.abs(np.asarray(other[name]) / np.asarray(value) - 1.0).max())
        offenders += [f"{name}: {found:.1e}"] if not found <= 1e-7 else []
    assert offenders == []
