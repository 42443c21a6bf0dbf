"""Every exported estimator, once: how the tests that walk over all of them make it quickly."""

from sklearn.base import BaseEstimator, ClusterMixin

import evenspan

#: Constructor arguments that make a fit quick, or give a method without a default what it needs.
QUICK = {
    "StreamingFairPCA": {"n_gap_directions": 1, "n_blocks": 2},
    "NullItOutPCA": {"n_gap_directions": 1},
    "MMDFairPCA": {"max_iter": 2, "max_inner": 5},
    "RLACE": {"max_iter": 30, "evaluate_every": 10},
    "FairKernelKMeans": {"fairness_weight": 1.0},
    "FairMultipleKernelKMeans": {"fairness_weight": 1.0},
}
#: Not to be made like the others: ``TableEncoder`` takes tables of mixed columns. It is checked beside its own tests.
APART = {"TableEncoder"}


def _kinds(clusters: bool) -> dict[str, type[BaseEstimator]]:
    exported = {name: getattr(evenspan, name) for name in evenspan.__all__}
    return {
        name: thing
        for name, thing in exported.items()
        if isinstance(thing, type) and issubclass(thing, BaseEstimator) and name not in APART
        if issubclass(thing, ClusterMixin) == clusters
    }


#: The estimators that reduce points to coordinates, and those that put them into clusters.
TRANSFORMERS, CLUSTERERS = _kinds(False), _kinds(True)
ALL = TRANSFORMERS | CLUSTERERS
#: The two that need no groups: what everything else is compared with.
PLAIN = {"StandardPCA", "KernelKMeans"}


def make(name: str, size: int = 2, **options) -> BaseEstimator:
    """The estimator with ``size`` components or clusters, as quick as it can be."""
    return ALL[name](size, **(QUICK.get(name, {}) | options))


def fit(estimator: BaseEstimator, X, groups, y=None) -> BaseEstimator:
    """Fit; the two that know no groups are not told of them."""
    told = {} if type(estimator).__name__ in PLAIN else {"sensitive_features": groups}
    return estimator.fit(X, y, **told)
