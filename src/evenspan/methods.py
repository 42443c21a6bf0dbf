"""The linear methods that are compared and audited, each with one setting fixed before any result was seen.

Errors and losses are about the overall mean, the point that every answer subtracts and the judge reconstructs from;
methods with a choice of centring are told so. Elsewhere settings are those of the library or of the paper:

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

from .core.estimator import SubspaceEstimator
from .reconstruction import (
    JEVDPCA,
    ConvexFairPCA,
    DisparityFairPCA,
    MinMaxFairPCA,
    RobustFairPCA,
    StandardPCA,
)
from .representation import INLP, LEACE, RLACE, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA

#: Rows to which ``MMD PCA`` is fitted.
MMD_ROWS = 400


@dataclass(frozen=True)
class Method:
    """One row of the comparison.

    ``make(k, seed)`` gives the unfitted estimator; ``equalises`` says what it asks to be equal between groups. With
    ``points`` it needs the rows themselves; ``once`` tells methods whose k components are the first of a fit to all,
    ``rows`` how many training rows are drawn at most, and ``splits`` the first splits it is fitted on.
    ``stopped(k, d, seed)`` takes the place of a fit to all that leaves fewer than k components.
    """

    make: Callable[[int | None, int], SubspaceEstimator]
    equalises: str
    points: bool = False
    once: bool = False
    rows: int | None = None
    splits: int = 10
    stopped: Callable[[int, int, int], SubspaceEstimator] | None = None


METHODS: Mapping[str, Method] = {
    "PCA": Method(lambda k, seed: StandardPCA(k), "nothing"),
    "Min-max loss": Method(lambda k, seed: MinMaxFairPCA(k, objective="loss", centring="fitted"), "losses"),
    "JEVD-PCA": Method(lambda k, seed: JEVDPCA(k, centring="global"), "losses"),
    "Min-max error": Method(lambda k, seed: MinMaxFairPCA(k, objective="error", centring="fitted"), "errors"),
    "Robust PCA (radius 0)": Method(lambda k, seed: RobustFairPCA(k, alpha=0.0, penalty=1.0), "errors"),
    "Robust PCA": Method(lambda k, seed: RobustFairPCA(k, alpha=0.1, penalty=1.0), "errors"),
    "u-FPCA": Method(lambda k, seed: DisparityFairPCA(k), "errors"),
    "c-FPCA": Method(lambda k, seed: DisparityFairPCA(k, constrained=True), "errors"),
    "Fair PCA": Method(lambda k, seed: FairPCA(k), "means"),
    "Convex PCA (mean)": Method(lambda k, seed: ConvexFairPCA(k, delta=0.1, standardize=False), "means"),
    "LEACE": Method(lambda k, seed: LEACE(k), "means"),
    "INLP": Method(
        lambda k, seed: INLP(k, random_state=seed),
        "means",
        points=True,
        once=True,
        stopped=lambda k, d, seed: INLP(k, max_iter=d - k, random_state=seed),
    ),
    "RLACE": Method(lambda k, seed: RLACE(k, rank=1, random_state=seed), "means", points=True, once=True, splits=3),
    "Fair PCA (covariance)": Method(lambda k, seed: FairPCA(k, match="covariance"), "means and covariances"),
    "Convex PCA (both)": Method(
        lambda k, seed: ConvexFairPCA(
            k, delta=0.0, mu=0.01, covariance=True, tol=1e-3, max_iter=3000, standardize=False
        ),
        "means and covariances",
    ),
    "Null-it-out PCA": Method(lambda k, seed: NullItOutPCA(k, 2), "means and covariances"),
    "Streaming null-it-out": Method(
        lambda k, seed: StreamingFairPCA(k, 2, n_blocks=10, random_state=seed), "means and covariances", points=True
    ),
    "MMD PCA": Method(
        lambda k, seed: MMDFairPCA(k, random_state=seed), "distributions", points=True, rows=MMD_ROWS, splits=3
    ),
}
