"""The table of methods: what each asks to be equal, how it is made and drawn, and every name that it goes by.

One row a method, by family and in the order of legends. The same word can mean different methods: ``FairPCA`` in the
tables of Vu et al. (2022) is the min-max loss of Samadi et al. (2018), which Rathore and Manwani (2025) call
``FairPCA_SDP_LP``; ``Fair PCA`` with a space is the mean matching of Kleindessner et al. (2023). A *variant* is the
same method with another setting or program.

Methods with ``make`` are compared and audited, each with one setting fixed before any result was seen. Errors and
losses are about the overall mean, the point that every answer subtracts and the judge reconstructs from; methods with a
choice of centring are told so. Elsewhere settings are those of the library or of the paper:

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

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from .core.errors import ConfigurationError
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
#: A marker of matplotlib. Triples are stars with so many points.
Marker = str | tuple[int, int, int]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Parameters
    ----------
    equalises : str
        What is asked to be equal between groups: the family of the method.
    marker : str or tuple
        How it is drawn. No two methods that can stand in one figure have the same marker.
    names : tuple of tuple of str
        Other names by variant; those in the first tuple mean the method as it is usually run.
    make : callable, optional
        ``make(k, seed)`` gives the unfitted estimator of a method that is compared and audited.
    points : bool
        Whether it needs the rows themselves.
    once : bool
        Whether its k components are the first of a fit to all.
    rows : int, optional
        How many training rows are drawn at most.
    splits : int
        The first splits that it is fitted on.
    stopped : callable, optional
        ``stopped(k, d, seed)`` takes the place of a fit to all that leaves fewer than k components.
    """

    equalises: str
    marker: Marker
    names: tuple[tuple[str, ...], ...] = ()
    make: Callable[[int | None, int], SubspaceEstimator] | None = None
    points: bool = False
    once: bool = False
    rows: int | None = None
    splits: int = 10
    stopped: Callable[[int, int, int], SubspaceEstimator] | None = None


KNOWN: Mapping[str, Method] = {
    # -- nothing ------------------------------------------------------------------------------------------------------
    "PCA": Method(
        "nothing",
        "o",
        (
            ("StandardPCA", "vanilla", "Standard PCA", "PCA, new rows"),
            ("PCA of the women", "eigh", "scikit-learn PCA"),
            ("PCA of the women (uncentred)",),
            ("PCA of the men",),
        ),
        lambda k, seed: StandardPCA(k),
    ),
    "Random directions": Method("nothing", "8", (("random",),)),
    "K-means": Method("nothing", "s"),
    "KKM": Method(
        "nothing",
        "D",
        (
            (),
            ("KKM (average kernel)",),
            ("KKM (best kernel by its objective)",),
            ("KKM (best kernel by the classes, an oracle)",),
        ),
    ),
    "SC": Method("nothing", "^"),
    "MKKM": Method("nothing", "P"),
    "FKKM-f": Method("nothing", "<"),
    "FMKKM-f": Method("nothing", ">"),
    "Unconstrained classifier": Method("nothing", "h", (("no fairness",),)),
    "Constant classifier": Method("nothing", "d", (("constant",),)),
    # -- losses -------------------------------------------------------------------------------------------------------
    "Min-max loss": Method(
        "losses",
        "s",
        (
            ("FairPCA", "FairPCA_SDP_LP", "Samadi et al.", "min-max loss", "min-max optimum"),
            ("FairPCA (exact)", "min-max loss (certified)", "FairPCA_SDP_LP (uncentred)"),
            ("FairPCA (rank k)",),
        ),
        lambda k, seed: MinMaxFairPCA(k, objective="loss", center="global"),
    ),
    "JEVD-PCA": Method(
        "losses",
        "^",
        (
            ("JevdPCA",),
            ("JevdPCA (orthogonal)",),
            ("JevdPCA (from U = I)",),
            ("JevdPCA (raw columns)",),
            ("JevdPCA (uncentred)",),
        ),
        lambda k, seed: JEVDPCA(k, center="global"),
    ),
    # -- errors -------------------------------------------------------------------------------------------------------
    "Min-max error": Method(
        "errors",
        "D",
        (("FairPCA (error, exact)", "min-max error"),),
        lambda k, seed: MinMaxFairPCA(k, objective="error", center="global"),
    ),
    "Robust PCA (radius 0)": Method("errors", "v", make=lambda k, seed: RobustFairPCA(k, alpha=0.0, penalty=1.0)),
    "Robust PCA": Method(
        "errors",
        "P",
        (("RFPCA", "descent", "RFPCA, penalty 0.2"), ("RFPCA (exact)", "exact"), ("RFPCA, penalty 2.5",)),
        lambda k, seed: RobustFairPCA(k, alpha=0.1, penalty=1.0),
    ),
    "u-FPCA": Method("errors", "X", make=lambda k, seed: DisparityFairPCA(k)),
    "c-FPCA": Method(
        "errors",
        (4, 1, 0),
        (("covFairPCA",), ("covFairPCA (uncentred)",)),
        lambda k, seed: DisparityFairPCA(k, constrained=True),
    ),
    # -- means --------------------------------------------------------------------------------------------------------
    "Fair PCA": Method(
        "means",
        "<",
        (
            ("Fair PCA, lambda", "fair PCA", "Fair PCA, new rows"),
            ("Fair PCA, centred", "Fair PCA, lambda^3", "offline, mean", "Fair PCA, fitting rows"),
            ("Fair PCA, exact moments", "Algorithm 1 on the points", "as released, mean"),
            ("offline, second moment, mean",),
        ),
        lambda k, seed: FairPCA(k),
    ),
    "Convex PCA (mean)": Method(
        "means",
        ">",
        (("CFPCA-Mean Con.", "CFPCA, means"), ("CFPCA-Mean Con. (linear)",)),
        lambda k, seed: ConvexFairPCA(k, delta=0.1, standardize=False),
    ),
    "LEACE": Method("means", "p", ((), ("LEACE (all features)",)), lambda k, seed: LEACE(k)),
    "INLP": Method(
        "means",
        (3, 1, 0),
        ((), ("INLP, most variance",)),
        lambda k, seed: INLP(k, random_state=seed),
        points=True,
        once=True,
        stopped=lambda k, d, seed: INLP(k, max_iter=d - k, random_state=seed),
    ),
    "RLACE": Method(
        "means",
        (3, 1, 180),
        ((), ("RLACE, rank 1",)),
        lambda k, seed: RLACE(k, rank=1, random_state=seed),
        points=True,
        once=True,
        splits=3,
    ),
    "Fair kernel PCA": Method(
        "means", (5, 1, 180), (("Fair Kernel PCA", "Fair kernel PCA, lambda"), ("Fair kernel PCA, lambda^3",))
    ),
    "Streaming mean matching": Method(
        "means", (4, 1, 45), (("mean", "mean-matched", "mean constraint, streamed", "FNPM, mean"),)
    ),
    "Oracle LEACE": Method("means", (5, 0, 180)),
    # -- means and covariances ----------------------------------------------------------------------------------------
    "Fair PCA (covariance)": Method(
        "means and covariances",
        "*",
        (
            ("Fair PCA-S (0.5)", "Fair PCA-S", "Fair PCA-S (0.5), lambda"),
            ("Fair PCA-S (0.85)", "Fair PCA-S (0.85), lambda"),
            ("Fair PCA-S (0.5), lambda^3",),
            ("Fair PCA-S (0.85), lambda^3",),
        ),
        lambda k, seed: FairPCA(k, match="covariance"),
    ),
    "Convex PCA (both)": Method(
        "means and covariances",
        (6, 1, 0),
        (("FPCA (0, 0.01)", "CFPCA - Both Con."), ("FPCA (0.1, 0.01)", "CFPCA - Both Con. (mu as meant)")),
        lambda k, seed: ConvexFairPCA(
            k, delta=0.0, mu=0.01, covariance=True, tol=1e-3, max_iter=3000, standardize=False
        ),
    ),
    "Null-it-out PCA": Method(
        "means and covariances",
        "h",
        (("null it out, exact", "offline"), ("as released",), ("offline, second moment",)),
        lambda k, seed: NullItOutPCA(k, 2),
    ),
    "Streaming null-it-out": Method(
        "means and covariances",
        "d",
        (
            ("both phases estimated", "released", "about the running mean", "phase 1", "phase 1 (gap)", "FNPM"),
            ("true directions given", "carry", "about the group means", "m = 5, paired", "phase 2 (components)"),
            ("exact answer for estimated U", "carry to 20 rows", "about zero", "group moments"),
            ("carry to 100 rows",),
            ("skip",),
        ),
        lambda k, seed: StreamingFairPCA(k, 2, n_blocks=10, random_state=seed),
        points=True,
    ),
    "Oracle LEACE (covariance)": Method("means and covariances", (5, 0, 90)),
    # -- distributions, shares in clusters, predictions ---------------------------------------------------------------
    "MMD PCA": Method(
        "distributions",
        (8, 1, 0),
        (("MbF-PCA", "MbF-PCA (10^-3)"), ("MbF-PCA (10^-6)", "MbF-PCA (10^-5)", "MbF-PCA (10^-4)")),
        lambda k, seed: MMDFairPCA(k, random_state=seed),
        points=True,
        rows=MMD_ROWS,
        splits=3,
    ),
    "FairSC": Method("shares in clusters", "v"),
    "VFC": Method("shares in clusters", "X"),
    "FFC": Method("shares in clusters", "*"),
    "FKKM": Method("shares in clusters", "o", ((), ("FKKM (swaps)", "FKKM (average kernel)"))),
    "FMKKM": Method("shares in clusters", "p", ((), ("FMKKM (unshifted)",))),
    "Reductions": Method("predictions", "H", (("reductions",),)),
}

#: The linear methods that are compared and audited.
METHODS: Mapping[str, Method] = {name: method for name, method in KNOWN.items() if method.make is not None}


# -- from names and estimators to methods ------------------------------------------------------------------------------

#: Variants by the number of gap directions that are removed, and by the way the directions are found.
GAP_DIRECTIONS = (5, 10, 2, 15, 25, 50, 1, 3, 4)
_M = r"m ?= ?(?P<m>\d+)"
#: Names made by a rule: pattern of the whole name, method; a group ``m`` gives the variant.
RULES = tuple(
    (re.compile(pattern), method)
    for pattern, method in (
        (r".*\bJEVD \((paper|orthogonal)\).*", "JEVD-PCA"),
        (r"(in|out) \| \w+ \| PCA( of the (wo)?men)? \|  \| ", "PCA"),
        (r"PCA of (all rows|equal weights|(wo)?men) about .*", "PCA"),
        (r"(?P<method>[cu]-FPCA), (golden section|safe search), about .*", ""),
        (r"min-max loss, (means|sums) about .*", "Min-max loss"),
        (r"min-max error, (means|sums) about .*", "Min-max error"),
        (rf"(FNPM|fair), {_M}|{_M.replace('<m>', '<n>')}", "Streaming null-it-out"),
        (rf"(offline(, second moment)?|as released), {_M}", "Null-it-out PCA"),
        (r"random, .*|random basis .*", "Random directions"),
    )
)


class Meaning(NamedTuple):
    """The method that a name means, and which of its variants: 0 is the method as it is usually run."""

    method: str
    variant: int


@cache
def _by_name() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for method, row in KNOWN.items():
        for number, names in enumerate(row.names or ((),)):
            for name in (method, *names) if number == 0 else names:
                if found.setdefault(name, Meaning(method, number)).method != method:
                    raise ConfigurationError(f"The name {name!r} is given to {found[name].method} and to {method}.")
    return found


def meaning(name: str) -> Meaning:
    """The method that a name means, as it stands in a result or in a paper's table.

    >>> meaning("covFairPCA (uncentred)")
    Meaning(method='c-FPCA', variant=1)
    """
    if (found := _by_name().get(name)) is not None:
        return found
    for pattern, method in RULES:
        if (hit := pattern.fullmatch(name)) is not None:
            parts = hit.groupdict()
            m = parts.get("m") or parts.get("n")
            number = GAP_DIRECTIONS.index(int(m)) if m and int(m) in GAP_DIRECTIONS else 0
            return Meaning(method or parts["method"], number)
    raise ConfigurationError(f"No method is known by the name {name!r}. Give it to a method in evenspan/methods.py.")


#: Estimators that are one method whatever their settings.
_ESTIMATORS = {
    "StandardPCA": "PCA", "JEVDPCA": "JEVD-PCA", "FairKernelPCA": "Fair kernel PCA", "LEACE": "LEACE", "INLP": "INLP",
    "RLACE": "RLACE", "NullItOutPCA": "Null-it-out PCA", "MMDFairPCA": "MMD PCA", "FairSpectralClustering": "FairSC",
    "VariationalFairClustering": "VFC", "FairnessFirstClustering": "FFC",
    "FairKernelKMeans": "FKKM", "FairMultipleKernelKMeans": "FMKKM", "KernelKMeans": "KKM",
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
    if kind == "OracleLEACE":
        return "Oracle LEACE (covariance)" if chosen["match"] == "covariance" else "Oracle LEACE"
    if kind == "FairPCA":
        return "Fair PCA (covariance)" if chosen["match"] == "covariance" else "Fair PCA"
    if kind == "ConvexFairPCA":
        return "Convex PCA (both)" if chosen["covariance"] else "Convex PCA (mean)"
    if kind == "StreamingFairPCA":
        return {"vanilla": "PCA", "mean": "Streaming mean matching"}.get(chosen["constraint"], "Streaming null-it-out")
    raise ConfigurationError(f"{kind} is no method of this library with a look; give the name of a method instead.")
