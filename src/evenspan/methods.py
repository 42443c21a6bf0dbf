"""The linear methods that are compared and audited: what each asks to be equal, how it is made and drawn.

One row a method, by family and in the order of legends, with one setting for all tables. Errors and losses are about
the overall mean, the point that every answer subtracts and the judge reconstructs from. Elsewhere settings are those
of the library or of the paper:

- the penalty of the robust method is 1 and its radius parameter 0.1, and 0 for a second row without ambiguity;
- the convex relaxation bounds the distance of the means by 0.1 standardised units, the value of the published tables.
  Its second row matches means and weighs the difference of the covariances by 0.01; it is solved to a gap of 1e-3 in at
  most 3,000 steps, because on some tables more does not close it;
- null-it-out removes two gap directions beside the mean gap, and the streaming version passes over the rows ten times
  in each phase;
- ``MMD PCA`` compares all pairs of rows: it is fitted on at most 400 rows of the training part, drawn with the split's
  seed, on the first three splits only;
- INLP goes on until a classifier learns nothing, RLACE (the first three splits only) erases one direction. What they
  leave does not depend on k, so they are fitted once a split, and the k directions of most variance are taken. Where
  INLP would leave fewer than k directions it is stopped when k are left, as in the published tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .core.errors import ConfigurationError
from .core.estimator import SubspaceEstimator
from .reconstruction import JEVDPCA, ConvexFairPCA, DisparityFairPCA, MinMaxFairPCA, RobustFairPCA, StandardPCA
from .representation import INLP, LEACE, RLACE, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA

#: Rows to which ``MMD PCA`` is fitted.
MMD_ROWS = 400
#: A marker of matplotlib. Triples are stars with so many points.
Marker = str | tuple[int, int, int]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    ``equalises`` is what is asked to be equal between groups: the family of the method. No two methods that can stand
    in one figure have the same marker. ``stopped(k, d, seed)`` takes the place of a fit to all that leaves fewer than k
    components.
    """

    equalises: str
    marker: Marker
    make: Callable[[int | None, int], SubspaceEstimator]  # of k and a seed
    points: bool = False  # whether it needs the rows themselves
    once: bool = False  # whether its k components are the first of a fit to all
    rows: int | None = None  # how many training rows are drawn at most
    splits: int = 10  # the first splits that it is fitted on
    stopped: Callable[[int, int, int], SubspaceEstimator] | None = None


METHODS: Mapping[str, Method] = {
    "PCA": Method("nothing", "o", lambda k, seed: StandardPCA(k)),
    "Min-max loss": Method("losses", "s", lambda k, seed: MinMaxFairPCA(k, objective="loss", center="overall")),
    "JEVD-PCA": Method("losses", "^", lambda k, seed: JEVDPCA(k, center="overall")),
    "Min-max error": Method("errors", "D", lambda k, seed: MinMaxFairPCA(k, objective="error", center="overall")),
    "Robust PCA (radius 0)": Method("errors", "v", lambda k, seed: RobustFairPCA(k, alpha=0.0, penalty=1.0)),
    "Robust PCA": Method("errors", "P", lambda k, seed: RobustFairPCA(k, alpha=0.1, penalty=1.0)),
    "u-FPCA": Method("errors", "X", lambda k, seed: DisparityFairPCA(k)),
    "c-FPCA": Method("errors", (4, 1, 0), lambda k, seed: DisparityFairPCA(k, constrained=True)),
    "Fair PCA": Method("means", "<", lambda k, seed: FairPCA(k)),
    "Convex PCA (mean)": Method("means", ">", lambda k, seed: ConvexFairPCA(k, delta=0.1)),
    "LEACE": Method("means", "p", lambda k, seed: LEACE(k)),
    "INLP": Method(
        "means",
        (3, 1, 0),
        lambda k, seed: INLP(k, random_state=seed),
        points=True,
        once=True,
        stopped=lambda k, d, seed: INLP(k, max_iter=d - k, random_state=seed),
    ),
    "RLACE": Method(
        "means", (3, 1, 180), lambda k, seed: RLACE(k, rank=1, random_state=seed), points=True, once=True, splits=3
    ),
    "Fair PCA (covariance)": Method("means and covariances", "*", lambda k, seed: FairPCA(k, match="covariance")),
    "Convex PCA (both)": Method(
        "means and covariances",
        (6, 1, 0),
        lambda k, seed: ConvexFairPCA(k, delta=0.0, mu=0.01, covariance=True, tol=1e-3, max_iter=3000),
    ),
    "Null-it-out PCA": Method("means and covariances", "h", lambda k, seed: NullItOutPCA(k, 2)),
    "Streaming null-it-out": Method(
        "means and covariances",
        "d",
        lambda k, seed: StreamingFairPCA(k, 2, n_blocks=10, random_state=seed),
        points=True,
    ),
    "MMD PCA": Method(
        "distributions",
        (8, 1, 0),
        lambda k, seed: MMDFairPCA(k, random_state=seed),
        points=True,
        rows=MMD_ROWS,
        splits=3,
    ),
}

#: Estimators that are one method whatever their settings.
_ESTIMATORS = {
    "StandardPCA": "PCA", "JEVDPCA": "JEVD-PCA", "FairKernelPCA": "Fair kernel PCA", "LEACE": "LEACE", "INLP": "INLP",
    "RLACE": "RLACE", "NullItOutPCA": "Null-it-out PCA", "MMDFairPCA": "MMD PCA", "FairSpectralClustering": "FairSC",
    "VariationalFairClustering": "VFC", "FairnessFirstClustering": "FFC", "FairAlignmentClustering": "FCA",
    "FairKernelKMeans": "FKKM", "FairMultipleKernelKMeans": "FMKKM", "KernelKMeans": "KKM",
    "SparseFairPCA": "Sparse fair PCA", "OutlierRobustFairPCA": "Outlier-robust fair PCA",
    "IteratedKernelErasure": "Iterated kernel erasure",
}  # fmt: skip


def of_estimator(estimator: SubspaceEstimator) -> str:
    """The method that an estimator of this library carries out, by its class and settings.

    >>> from evenspan import MinMaxFairPCA
    >>> of_estimator(MinMaxFairPCA(2, objective="loss"))
    'Min-max loss'
    """
    kind, chosen = type(estimator).__name__, estimator.get_params(deep=False)
    if kind in _ESTIMATORS:
        return _ESTIMATORS[kind]
    if kind == "MinMaxFairPCA":
        return f"Min-max {chosen['objective']}"
    if kind == "RobustFairPCA":
        return "Robust PCA" if chosen["alpha"] else "Robust PCA (radius 0)"
    if kind == "DisparityFairPCA":
        return "c-FPCA" if chosen["constrained"] else "u-FPCA"
    if kind == "FairPCA":
        return "Fair PCA (covariance)" if chosen["match"] == "covariance" else "Fair PCA"
    if kind == "ConvexFairPCA":
        return "Convex PCA (both)" if chosen["covariance"] else "Convex PCA (mean)"
    if kind == "StreamingFairPCA":
        return {"vanilla": "PCA", "mean": "Streaming mean matching"}.get(chosen["constraint"], "Streaming null-it-out")
    raise ConfigurationError(f"{kind} is no method of this library with a look; give the name of a method instead.")
