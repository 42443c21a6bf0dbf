"""The comparison with the reductions of Agarwal et al. (2018): samples, classifiers, weights, and what it says."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from evenspan.core.errors import ConfigurationError, SurplusComponentsWarning
from evenspan.reconstruction import StandardPCA
from evenspan.representation.fair_kernel_pca import FairKernelPCA

from ... import data
from ...claim_rules import rule
from ...data import Dataset
from ...records import in_order, spread

SEED = 1111
GOALS = {"DP": "demographic_parity", "EO": "equal_opportunity"}
#: Kernel PCA takes so many landmarks where there are more training points, or it would take longer than all the rest.
LANDMARKS = 1000

# Names in the rows.
FAIR = ("Fair PCA", "Fair PCA-S (0.5)", "Fair PCA-S (0.85)", "Fair kernel PCA")
REDUCTIONS, UNCONSTRAINED, CONSTANT = "reductions", "no fairness", "constant"
OTHERS = (REDUCTIONS, UNCONSTRAINED, CONSTANT)
LOGISTIC, SVM = "logistic regression", "kernel SVM"
#: Nearly without regularisation: the control of what the paper says of small weights of the second block.
LOOSE = f"{LOGISTIC} with 1/10000 of the penalty"
#: Penalties of the classifiers, per training point.
PENALTIES = {LOGISTIC: 0.01, LOOSE: 0.01 * 1e-4, SVM: 5e-5}
#: The power of lambda that weights the second block, as it is named in a method: released, and printed.
POWERS = {3: "lambda^3", 1: "lambda"}
DP, EO, SCORES = "DP violation", "EO violation", "score gap"
RATIO = f"time / {UNCONSTRAINED}"
VIOLATIONS = {"DP": DP, "EO": EO}
SMALL, FULL_SIZE = 0.1, "5000 points"  # a small lambda


def named(method: str, power: int) -> str:
    """The name of a representation with its second block weighted by lambda to that power."""
    return f"{method}, {POWERS[power]}"


def protocol_name(goal: str, classifier: str, size: str) -> str:
    """How goal, classifier and size stand in the column ``protocol``."""
    return f"{goal}, {classifier}, {size}"


def checked(goal: str) -> str:
    """The criterion of a goal, as the estimators call it."""
    if goal not in GOALS:
        raise ConfigurationError(f"goal={goal!r}; needed is one of {', '.join(GOALS)}.")
    return GOALS[goal]


def load(dataset: str, groups: str, target: str) -> Dataset:
    """A data set, or a CSV file with the column of its two ``groups`` and that of the ``target`` to predict."""
    if not dataset.endswith(".csv"):
        return data.load(dataset, groups, target)
    return data.of_two_groups(data.own_table(dataset, groups, target))


def drawn(data: Dataset, run: int, train: int, start: int, test: int) -> tuple[Dataset, Dataset]:
    """The first ``train`` rows after the permutation of a run and ``test`` rows from ``start``, standardised by them.

    The permutation is that of the authors' program (NumPy's legacy generator, seeded by 1111 times the run)."""
    if not train <= start or start + test > data.n:
        raise ConfigurationError(f"{start} and {test} rows do not fit the {data.n} rows of {data.name}. Ask for fewer.")
    order = np.random.RandomState(SEED * run).permutation(data.n)
    first, then = order[:train], order[start : start + test]
    mean, scale = data.X[first].mean(axis=0), data.X[first].std(axis=0)
    scale[scale <= 1e-12 * np.abs(data.X[first]).max(axis=0)] = 1.0
    return tuple(
        Dataset(data.name, (data.X[rows] - mean) / scale, data.y[rows], data.groups[rows], data.feature_names)
        for rows in (first, then)
    )


def bandwidth(train: Dataset) -> float:
    """The gamma of the kernel SVM: one over features times pooled variance."""
    return 1.0 / (train.d * float(train.X.var(axis=None)))


def classifier_for(name: str, train: Dataset) -> LogisticRegression | SVC:
    """An unfitted classifier whose penalty and kernel width are those of the standardised training part."""
    strength = 1.0 / (2.0 * train.n * PENALTIES[name])
    if name == SVM:
        return SVC(C=strength, gamma=bandwidth(train), cache_size=1000)
    # Without much penalty the columns of a small second block need a solver that scale does not slow down.
    return LogisticRegression(C=strength, max_iter=10_000, solver="newton-cholesky" if name == LOOSE else "lbfgs")


def with_kernel(name: str, train: Dataset, test: Dataset) -> tuple[BaseEstimator, Dataset, np.ndarray]:
    """What is fitted to the same rows again and again: a classifier, rows to fit it to, and others to predict.

    Of the kernel SVM the kernel is computed once, and stands in the place of the features."""
    classifier = classifier_for(name, train)
    if name != SVM:
        return classifier, train, test.X
    K, new = (rbf_kernel(X, train.X, classifier.gamma) for X in (train.X, test.X))
    seen = replace(train, X=K, feature_names=tuple(map(str, range(train.n))))
    return classifier.set_params(kernel="precomputed"), seen, new


def fitted(estimator: BaseEstimator, train: Dataset, classifier: str) -> BaseEstimator:
    """The fitted method; the kernel one has landmarks where it is large, and the bandwidth of an SVM behind it."""
    estimator = clone(estimator)
    if isinstance(estimator, FairKernelPCA):
        rows = train.n if estimator.criterion == "demographic_parity" else int((train.y == 1).sum(axis=0))
        gamma = bandwidth(train) if classifier == SVM else "scale"
        estimator.set_params(gamma=gamma, n_landmarks=LANDMARKS if rows > LANDMARKS else None)
    with warnings.catch_warnings():
        # Rare levels do not occur in every training part, and k = d - 1 asks for their directions all the same.
        warnings.simplefilter("ignore", SurplusComponentsWarning)
        return estimator.fit(train.X, train.y, sensitive_features=train.groups)


class BesidePCA(BaseEstimator):
    """An estimator with the second block that fair PCA has: as many coordinates of standard PCA, at full weight."""

    def __init__(self, estimator, goal="DP"):
        self.estimator = estimator
        self.goal = goal

    def fit(self, X, y, *, sensitive_features):
        """Fit both to the rows; for equal opportunity to those with y = 1."""
        rows = np.ones(len(X), bool) if self.goal == "DP" else y == 1
        given = {"sensitive_features": sensitive_features[rows]}
        self.fair_ = clone(self.estimator).fit(X[rows], **given)
        k = self.fair_.transform(X[:1]).shape[1]
        self.standard_ = StandardPCA(k, center="none").fit(X[rows], **given)
        return self

    def transform(self, X):
        """Coordinates (n, 2k)."""
        return np.hstack([self.fair_.transform(X), self.standard_.transform(X)])


def weighted(E: np.ndarray, weight: float) -> np.ndarray:
    """Both blocks side by side, the second multiplied by the weight (0 leaves columns of zeros, as released)."""
    k = E.shape[1] // 2
    return np.hstack([E[:, :k], weight * E[:, k:]])


def reduction(goal: str, bound: float, classifier, train: Dataset):
    """The fitted exponentiated gradient of fairlearn, which bounds the difference of each group from everybody.

    Two groups may be up to twice the bound apart. What is not set here is its default."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, TruePositiveRateParity

    constraint = (DemographicParity if goal == "DP" else TruePositiveRateParity)(difference_bound=bound)
    with warnings.catch_warnings():
        # fairlearn 0.15 uses what pandas and scikit-learn are going to remove.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="fairlearn")
        warnings.filterwarnings("ignore", category=FutureWarning, module="fairlearn")
        return ExponentiatedGradient(classifier, constraint).fit(train.X, train.y, sensitive_features=train.groups)


#: What distinguishes curves; the first four distinguish panels.
CURVE = ["dataset", "goal", "classifier", "size", "method", "weight"]
PANEL = CURVE[:4]


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each parameter value of each method: accuracy and violations, mean over the runs."""
    keys = ["dataset", "protocol", "method", "parameter"]
    grouped = rows.pivot_table(index=keys, columns="metric", values="value", aggfunc="mean")
    found = grouped.join(rows.groupby(keys)["split"].nunique().rename("runs")).reset_index()
    found[["goal", "classifier", "size"]] = found.pop("protocol").str.split(", ", expand=True)
    found[["method", "weight"]] = found["method"].str.partition(", ")[[0, 2]]
    place = {name: i for i, name in enumerate((LOGISTIC, SVM, LOOSE, *FAIR, REDUCTIONS, UNCONSTRAINED, CONSTANT))}
    order = lambda c: c.map(place) if c.name in ("method", "classifier") else c  # noqa: E731
    return found.sort_values([*CURVE, "parameter"], key=order, ignore_index=True)


def dominated(points: pd.DataFrame, by: pd.DataFrame, violation: str) -> float:
    """Share of the points that some point of the other curve clearly dominates."""
    ahead = np.subtract.outer(-points["accuracy"].to_numpy(), -by["accuracy"].to_numpy())
    fairer = np.subtract.outer(points[violation].to_numpy(), by[violation].to_numpy())
    clear = (np.minimum(ahead, fairer) >= 0.0) & (np.maximum(ahead, fairer) > rule("K15", "clearly"))
    return float(clear.any(axis=1).mean(axis=0))


def dominance(found: pd.DataFrame) -> pd.DataFrame:
    """For every panel and representation, with the released weight: points dominated by reductions, and conversely."""
    rows = []
    for keys, panel in found.groupby(PANEL, sort=False):
        other, violation = panel[panel["method"] == REDUCTIONS], VIOLATIONS[keys[1]]
        for method, own in panel[panel["weight"] == POWERS[3]].groupby("method", sort=False):
            if len(other):
                shares = dominated(own, other, violation), dominated(other, own, violation)
                rows.append((*keys, method, len(own), len(other), *shares))
    columns = ["points", "reductions' points", "dominated by reductions", "of reductions dominated"]
    return pd.DataFrame(rows, columns=[*PANEL, "method", *columns])


def trends(found: pd.DataFrame) -> pd.DataFrame:
    """For every curve over lambda: rank correlations of accuracy and of the violation with lambda, and both ends."""
    rows = []
    some = found[found["method"].isin(FAIR) & (found["classifier"] != LOOSE)].sort_values("parameter", kind="stable")
    for keys, line in some.groupby(CURVE, sort=False):
        row = dict(zip(CURVE, keys, strict=True)) | {"runs": line["runs"].iloc[0]}
        for name, values in {"accuracy": line["accuracy"], "violation": line[VIOLATIONS[keys[1]]]}.items():
            row[f"tau of {name}"] = np.nan_to_num(line["parameter"].corr(values, method="kendall"))
            row |= {f"{name} at 0": values.iloc[0], f"{name} at 1": values.iloc[-1]}
        rows.append(row)
    ends = [f"{name} {what}" for name in ("accuracy", "violation") for what in ("at 0", "at 1")]
    return pd.DataFrame(rows, columns=[*CURVE, "runs", "tau of accuracy", "tau of violation", *ends])


def hidden(found: pd.DataFrame) -> pd.DataFrame:
    """How much of the second block a classifier uses at a small lambda: gap of the mean training scores of the groups.

    As a ``share`` of the gap at lambda = 1. Without the second block the gap is 0."""
    some = found[(found["method"] == "Fair PCA") & (found["goal"] == "DP") & found[SCORES].notna()]
    wide = some.pivot(index=["dataset", "classifier", "weight"], columns="parameter", values=SCORES)
    wide = wide.reindex(columns=[SMALL, 1.0]).dropna()  # a run of one's own may have other values of lambda
    return (wide[SMALL] / wide[1.0]).rename("share").reset_index()


def constant(found: pd.DataFrame) -> pd.Series:
    """Which points lie on curves along which the classifier is constant on every test part: they show nothing."""
    still = (found[[DP, EO]] == 0.0).all(axis=1) & found["method"].isin(FAIR)
    return still.groupby([found[name] for name in CURVE]).transform("all")


def time_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """For each n and method: fitting time over that of the unconstrained classifier, mean and range."""
    some = rows[rows["metric"] == RATIO]
    n = some["protocol"].str.extract(r"(\d+) points")[0].astype(int)
    found = spread(some.assign(n=n).sort_values("n"), ["method", "n"], "mean", "smallest", "largest", number="fits")
    return in_order(found, (*FAIR, REDUCTIONS))
