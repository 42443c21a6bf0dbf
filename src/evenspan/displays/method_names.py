"""Every name under which a method appears in stored results and in the papers' tables, and the method that it means.

The same word can mean different methods: ``FairPCA`` in the tables of Vu et al. (2022) is the min-max loss of Samadi et
al. (2018), which Rathore and Manwani (2025) call ``FairPCA_SDP_LP``; ``Fair PCA`` with a space is the mean matching of
Kleindessner et al. (2023). A *variant* is the same method with another setting or program.
"""

import re
from functools import cache
from typing import NamedTuple

from ..core.errors import ConfigurationError
from ..core.estimator import SubspaceEstimator


class Meaning(NamedTuple):
    """The method that a name means, and which of its variants: 0 is the method as it is usually run."""

    method: str
    variant: int


#: By method: its other names, the first of them variant 1. A tuple holds names that stand for one variant; those in the
#: first tuple are variant 0.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "PCA": (
        ("StandardPCA", "vanilla", "Standard PCA", "PCA, new rows"),
        ("PCA of the women", "eigh", "scikit-learn PCA"),
        ("PCA of the women (uncentred)",),
        ("PCA of the men",),
    ),
    "Random directions": (("random",),),
    "Min-max loss": (
        ("FairPCA", "FairPCA_SDP_LP", "Samadi et al.", "min-max loss", "min-max optimum"),
        ("FairPCA (exact)", "min-max loss (certified)", "FairPCA_SDP_LP (uncentred)"),
        ("FairPCA (rank k)",),
    ),
    "JEVD-PCA": (
        ("JevdPCA",),
        ("JevdPCA (orthogonal)",),
        ("JevdPCA (from U = I)",),
        ("JevdPCA (raw columns)",),
        ("JevdPCA (uncentred)",),
    ),
    "Min-max error": (("FairPCA (error, exact)", "min-max error"),),
    "Robust PCA": (
        ("RFPCA", "descent", "RFPCA, penalty 0.2"),
        ("RFPCA (exact)", "exact"),
        ("RFPCA, penalty 2.5",),
    ),
    "c-FPCA": (("covFairPCA",), ("covFairPCA (uncentred)",)),
    "Fair PCA": (
        ("Fair PCA, lambda", "fair PCA", "Fair PCA, new rows"),
        ("Fair PCA, centred", "Fair PCA, lambda^3", "offline, mean", "Fair PCA, fitting rows"),
        ("Fair PCA, exact moments", "Algorithm 1 on the points", "as released, mean"),
        ("offline, second moment, mean",),
    ),
    "Streaming mean matching": (("mean", "mean-matched", "mean constraint, streamed", "FNPM, mean"),),
    "Convex PCA (mean)": (("CFPCA-Mean Con.", "CFPCA, means"), ("CFPCA-Mean Con. (linear)",)),
    "Fair kernel PCA": (("Fair Kernel PCA", "Fair kernel PCA, lambda"), ("Fair kernel PCA, lambda^3",)),
    "INLP": ((), ("INLP, most variance",)),
    "RLACE": ((), ("RLACE, rank 1",)),
    "Fair PCA (covariance)": (
        ("Fair PCA-S (0.5)", "Fair PCA-S", "Fair PCA-S (0.5), lambda"),
        ("Fair PCA-S (0.85)", "Fair PCA-S (0.85), lambda"),
        ("Fair PCA-S (0.5), lambda^3",),
        ("Fair PCA-S (0.85), lambda^3",),
    ),
    "Convex PCA (both)": (
        ("FPCA (0, 0.01)", "CFPCA - Both Con."),
        ("FPCA (0.1, 0.01)", "CFPCA - Both Con. (mu as meant)"),
    ),
    "Null-it-out PCA": (("null it out, exact", "offline"), ("as released",), ("offline, second moment",)),
    "Streaming null-it-out": (
        ("both phases estimated", "released", "about the running mean", "phase 1", "phase 1 (gap)", "FNPM"),
        ("true directions given", "carry", "about the group means", "m = 5, paired", "phase 2 (components)"),
        ("exact answer for estimated U", "carry to 20 rows", "about zero", "group moments"),
        ("carry to 100 rows",),
        ("skip",),
    ),
    "MMD PCA": (("MbF-PCA", "MbF-PCA (10^-3)"), ("MbF-PCA (10^-6)", "MbF-PCA (10^-5)", "MbF-PCA (10^-4)")),
    "Reductions": (("reductions",),),
    "Unconstrained classifier": (("no fairness",),),
    "Constant classifier": (("constant",),),
    "KKM": (
        (),
        ("KKM (average kernel)",),
        ("KKM (best kernel by its objective)",),
        ("KKM (best kernel by the classes, an oracle)",),
    ),
    "FKKM": ((), ("FKKM (swaps)", "FKKM (average kernel)")),
    "FMKKM": ((), ("FMKKM (unshifted)",)),
}
#: Fills by the number of gap directions that are removed, and by the way the directions are found.
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
#: What stands in the column of methods and is none: a pattern of the whole name, and what it is.
NO_METHODS = {
    r"certified frontier|bound": "a bound that no method passes",
    r"K|classes|cluster, group|group, cluster": "a quantity of a kernel, true classes, an order of counting",
    r"eigenvectors of .*": "sets of eigenvectors that are compared with printed rows",
    r"random (columns|rows|halves.*)|\w+ coded \d.*": "a change of the data",
    r"(z?fygpa|zfygpa|decile\d\w*), .* \| .*": "columns and rows of a data set",
    r".+ \((\d+)\) \| .+|age above .*|education, .*|married|sex": "a choice of classes and groups",
    r"without and with term \d+|fewer and more .*|first and second half .*": "a choice of groups",
    r"odd and even places .*": "a choice of groups by place",
    r"clusters of equal size|the true classes": "an answer that is made, not found",
}


@cache
def _by_name() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for method, variants in NAMES.items():
        for number, names in enumerate(variants):
            for name in (method, *names) if number == 0 else names:
                if found.setdefault(name, Meaning(method, number)).method != method:
                    raise ConfigurationError(f"The name {name!r} is given to {found[name].method} and to {method}.")
    return found


def meaning(name: str, known: frozenset[str] = frozenset()) -> Meaning:
    """The method that a name means.

    Parameters
    ----------
    name : str
        As it stands in a result or in a paper's table.
    known : set of str, optional
        Methods that have no other name.

    Raises
    ------
    ConfigurationError
        If the name is unknown: it has to be added to this file.
    """
    if (found := _by_name().get(name)) is not None:
        return found
    if name in known:
        return Meaning(name, 0)
    for pattern, method in RULES:
        if (hit := pattern.fullmatch(name)) is not None:
            parts = hit.groupdict()
            m = parts.get("m") or parts.get("n")
            number = GAP_DIRECTIONS.index(int(m)) if m and int(m) in GAP_DIRECTIONS else 0
            return Meaning(method or parts["method"], number)
    raise ConfigurationError(
        f"No method is known by the name {name!r}. Say in report/method_names.py which method it means, or that it is "
        "none."
    )


def no_method(name: str) -> str:
    """What a name in the column of methods stands for if it is none; empty if it may be one."""
    return next((what for pattern, what in NO_METHODS.items() if re.fullmatch(pattern, name)), "")


def of_estimator(estimator: SubspaceEstimator) -> str:
    """The method that an estimator of this library carries out, by its class and settings.

    >>> from evenspan import MinMaxFairPCA
    >>> of_estimator(MinMaxFairPCA(2, objective="loss"))
    'Min-max loss'
    """
    kind, chosen = type(estimator).__name__, estimator.get_params(deep=False)
    simple = {
        "StandardPCA": "PCA", "JEVDPCA": "JEVD-PCA", "FairKernelPCA": "Fair kernel PCA", "LEACE": "LEACE",
        "INLP": "INLP", "RLACE": "RLACE", "NullItOutPCA": "Null-it-out PCA", "MMDFairPCA": "MMD PCA",
        "FairSpectralClustering": "FairSC", "VariationalFairClustering": "VFC", "FairnessFirstClustering": "FFC",
        "FairKernelKMeans": "FKKM", "FairMultipleKernelKMeans": "FMKKM", "KernelKMeans": "KKM",
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
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
        by_constraint = {"vanilla": "PCA", "mean": "Streaming mean matching", "all": "Streaming null-it-out"}
        return by_constraint[chosen["constraint"]]
    raise ConfigurationError(f"{kind} is no method of this library with a look; give the name of a method instead.")
