"""Fair PCA with its trade-off against the reductions of Agarwal et al. (2018), a figure of Kleindessner et al. (2023).

Run r permutes all rows with NumPy's legacy generator (``RandomState``) seeded by 1111 r; the first 5,000 are for
training and the next 5,000 for testing, standardised by the former. Representation and classifier are fitted on the
training part. The reductions train one classifier after the other: with logistic regression the printed protocol is
run whole, with the kernel SVM its 440 fits take most of a minute each at 5,000 points. There the comparison is made
at 1,000 training points, for both methods, and a few fits at full size check it (see ``STUDIES``).
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, SurplusComponentsWarning
from evenspan.representation import FairPCA
from evenspan.representation.fair_kernel_pca import FairKernelPCA

from ..data import Dataset, load
from .kleindessner2023_reductions_claims import (
    CONSTANT,
    DP,
    EO,
    FAIR,
    FULL_SIZE,
    LOGISTIC,
    LOOSE,
    LOOSE_PENALTY,
    REDUCTIONS,
    SCORES,
    SMALL,
    SVM,
    UNCONSTRAINED,
    claims,
    named,
    protocol_name,
)

DATASETS = ("adult_uci", "bank_marketing")
#: No build ships these data. It runs the same code on bundled ones, which say nothing about the paper.
SUBSTITUTE = "sklearn_diabetes"
GOALS = {"DP": "demographic_parity", "EO": "equal_opportunity"}
SEED = 1111
TRADEOFFS = tuple(round(0.1 * step, 1) for step in range(11))
BOUNDS = (0.001, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
#: Penalties of the two classifiers, per training point.
PENALTIES = {LOGISTIC: 0.01, LOOSE: 0.01 * LOOSE_PENALTY, SVM: 5e-5}
#: Kernel PCA takes these many landmarks where there are more training points: an eigenproblem of 5,000 for every run
#: would take longer than everything else.
LANDMARKS = 1000
#: Bounds at which reductions with the kernel SVM are also fitted at full size.
CHECKED = (0.001, 0.05)
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "parameter", "value"]


@dataclass(frozen=True)
class Study:
    """One classifier at one size: how much of the printed protocol is run, and what the column ``protocol`` says."""

    classifier: str
    size: str
    train: int
    start: int
    test: int
    runs: int
    together: int
    powers: tuple[int, ...]
    bounds: tuple[float, ...]
    tradeoffs: tuple[float, ...] = TRADEOFFS


STUDIES: Mapping[str, Study] = {
    "logistic": Study(LOGISTIC, FULL_SIZE, 5000, 5000, 5000, 10, 5, (3, 1), BOUNDS),
    "svm": Study(SVM, "reduced to 1000 of 5000 points and 5 of 10 runs", 1000, 5000, 5000, 5, 5, (3,), BOUNDS),
    "full-size svm": Study(SVM, "reduced to 1 of 10 runs and 2 of 11 bounds", 5000, 5000, 5000, 1, 1, (3,), CHECKED),
}
EMBEDDED = (
    Study(LOGISTIC, "substitute of 300 points", 300, 300, 142, 1, 1, (3, 1), BOUNDS[::5], TRADEOFFS[::5]),
    Study(SVM, "substitute of 300 points", 300, 300, 142, 1, 1, (3,), BOUNDS[::5], TRADEOFFS[::5]),
)


def tasks() -> list[dict]:
    """One unit of work for each data set, goal, study and handful of runs."""
    return [
        {"dataset": dataset, "goal": goal, "study": name, "first": first}
        for dataset in DATASETS
        for goal in GOALS
        for name, study in STUDIES.items()
        for first in range(0, study.runs, study.together)
    ]


def run_task(dataset: str, goal: str, study: str, first: int) -> pd.DataFrame:
    """Every point of every curve, for the runs from ``first``."""
    chosen = STUDIES[study]
    data, runs = load(dataset), range(first, min(first + chosen.together, chosen.runs))
    return framed([row for run in runs for row in one_run(data, goal, chosen, run)])


def run(goal: str) -> pd.DataFrame:
    """The same on bundled data, with shorter grids, for every build of the book."""
    data = load(SUBSTITUTE)
    return framed([row for s in EMBEDDED for run in range(s.runs) for row in one_run(data, goal, s, run)])


def drawn(data: Dataset, run: int, train: int, start: int, test: int) -> tuple[Dataset, Dataset]:
    """The first ``train`` rows after the permutation of a run and ``test`` rows from ``start``, standardised."""
    if not train <= start or start + test > data.n:
        raise ConfigurationError(
            f"{train} training rows and {test} test rows from row {start} on do not fit the {data.n} rows of "
            f"{data.name}. Ask for fewer."
        )
    order = np.random.RandomState(SEED * run).permutation(data.n)
    first, then = order[:train], order[start : start + test]
    mean, scale = data.X[first].mean(axis=0), data.X[first].std(axis=0)
    scale[scale <= 1e-12 * np.abs(data.X[first]).max(axis=0)] = 1.0
    return tuple(
        Dataset(data.name, (data.X[rows] - mean) / scale, data.y[rows], data.groups[rows], data.feature_names)
        for rows in (first, then)
    )


def classifier_for(name: str, train: Dataset) -> LogisticRegression | SVC:
    """An unfitted classifier whose penalty and kernel width are those of the standardised training part."""
    strength = 1.0 / (2.0 * train.n * PENALTIES[name])
    if name == SVM:
        return SVC(C=strength, gamma=bandwidth(train), cache_size=1000)
    # Without much penalty the columns of a small second block need a solver that scale does not slow down.
    return LogisticRegression(C=strength, max_iter=10_000, solver="newton-cholesky" if name == LOOSE else "lbfgs")


def bandwidth(train: Dataset) -> float:
    """The gamma of the kernel SVM: one over features times pooled variance."""
    return 1.0 / (train.d * float(train.X.var(axis=None)))


def representation(method: str, goal: str, train: Dataset, gamma: float | str = "scale"):
    """The fitted method with both blocks at their full weight, which is what lambda = 1 gives."""
    d, options = train.d, {"center": False, "tradeoff": 1.0, "criterion": GOALS[goal]}
    if method == "Fair kernel PCA":
        fitted_rows = train.n if goal == "DP" else int((train.y == 1).sum(axis=0))
        landmarks = LANDMARKS if fitted_rows > LANDMARKS else None
        unfitted = FairKernelPCA(d - 1, gamma=gamma, n_landmarks=landmarks, random_state=0, **options)
    else:
        k, fraction = {"Fair PCA": (d - 1, 1.0), "Fair PCA-S (0.5)": (d // 4, 0.5), "Fair PCA-S (0.85)": (d // 2, 0.85)}[method]  # noqa: E501  # fmt: skip
        match = "mean" if method == "Fair PCA" else "covariance"
        unfitted = FairPCA(k, match=match, covariance_fraction=fraction, **options)
    with warnings.catch_warnings():
        # Rare levels do not occur in every training part, and k = d - 1 asks for their directions all the same.
        warnings.simplefilter("ignore", SurplusComponentsWarning)
        return unfitted.fit(train.X, train.y, sensitive_features=train.groups)


def weighted(E: np.ndarray, weight: float) -> np.ndarray:
    """Both blocks side by side, the second multiplied by the weight (0 leaves columns of zeros, as released)."""
    k = E.shape[1] // 2
    return np.hstack([E[:, :k], weight * E[:, k:]])


def reduction(goal: str, bound: float, classifier, train: Dataset):
    """The fitted exponentiated gradient of fairlearn; what is not set here is its default.

    fairlearn bounds the difference of each group from everybody, so that two groups may be up to twice the bound apart.
    """
    try:
        from fairlearn.reductions import DemographicParity, ExponentiatedGradient, TruePositiveRateParity
    except ImportError:
        raise ConfigurationError(
            "the comparison with reductions needs fairlearn, which is not installed. Install evenspan[experiments]."
        ) from None
    constraint = (DemographicParity if goal == "DP" else TruePositiveRateParity)(difference_bound=bound)
    with warnings.catch_warnings():
        # fairlearn 0.15 uses what pandas and scikit-learn are going to remove.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="fairlearn")
        warnings.filterwarnings("ignore", category=FutureWarning, module="fairlearn")
        return ExponentiatedGradient(classifier, constraint).fit(train.X, train.y, sensitive_features=train.groups)


def one_run(data: Dataset, goal: str, study: Study, run: int) -> Iterator[tuple]:
    """Rows of one run: trivial classifiers, every representation at every lambda, reductions at every bound."""
    if goal not in GOALS:
        raise ConfigurationError(f"goal={goal!r}; needed is one of {', '.join(GOALS)}.")
    train, test = drawn(data, run, study.train, study.start, study.test)

    def judged(method: str, k: int | None, parameter: float, prediction, classifier=study.classifier, more=None):
        values = {
            "accuracy": metrics.accuracy(test.y, prediction),
            DP: metrics.demographic_parity_difference(prediction, test.groups),
            EO: metrics.equal_opportunity_difference(test.y, prediction, test.groups),
        } | (more or {})
        protocol = protocol_name(goal, classifier, study.size)
        for metric, value in values.items():
            yield data.name, method, k, run, protocol, metric, parameter, value

    for name, trivial in ((UNCONSTRAINED, classifier_for(study.classifier, train)), (CONSTANT, DummyClassifier())):
        yield from judged(name, None, 0.0, trivial.fit(train.X, train.y).predict(test.X))
    for method in FAIR:
        fitted = representation(method, goal, train, bandwidth(train) if study.classifier == SVM else "scale")
        parts = fitted.transform(train.X), fitted.transform(test.X)
        k = parts[0].shape[1] // 2
        names = [(study.classifier, power, at) for power in study.powers for at in study.tradeoffs]
        if (method, goal, study.classifier) == (FAIR[0], "DP", LOGISTIC):
            names += [(LOOSE, 1, at) for at in (0.0, SMALL, 1.0)]
        known: dict[tuple, tuple] = {}
        for classifier, power, at in names:
            weight = at**power
            if (classifier, weight) not in known:
                known[classifier, weight] = _predicted(classifier, weight, parts, train)
            prediction, more = known[classifier, weight]
            yield from judged(named(method, power), k, at, prediction, classifier, more)
    for bound in study.bounds:
        fitted = reduction(goal, bound, classifier_for(study.classifier, train), train)
        yield from judged(REDUCTIONS, None, bound, fitted.predict(test.X, random_state=SEED * run))


def _predicted(name: str, weight: float, parts: tuple, train: Dataset) -> tuple[np.ndarray, dict[str, float]]:
    """Predictions on the test part; of a linear classifier also how far the groups' mean training scores are apart."""
    own, new = (weighted(E, weight) for E in parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = classifier_for(name, train).fit(own, train.y)
    if name == SVM:
        return fitted.predict(new), {}
    scores = fitted.decision_function(own)
    means = [scores[train.groups == group].mean(axis=0) for group in np.unique(train.groups)]
    return fitted.predict(new), {SCORES: float(np.ptp(means, axis=0) / scores.std(axis=0))}


def framed(rows: list) -> pd.DataFrame:
    """Rows as a tidy table; what is no representation has no k."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.assign(k=pd.array(frame["k"].astype(object).where(frame["k"].notna(), None), dtype="Int64"))


__all__ = ["STUDIES", "claims", "drawn", "one_run", "reduction", "representation", "run", "run_task", "tasks"]
