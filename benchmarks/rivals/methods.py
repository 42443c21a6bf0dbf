"""One method fitted to one data set, in a process of its own: ``python methods.py METHOD DATA OUT``.

It runs in the environment of the method's library, so that this file imports NumPy alone and every method its own
library. A method is a function of the data that returns ``fit``, which alone is timed, and ``use``: what the fitted
method makes of rows. The settings are the defaults of the library unless its documentation asks for another one;
number of components, number of clusters and seed are given. No method sees the judge.

DATA holds ``X (n, d), groups (n,), y (n,), X_new, groups_new, k, clusters, least, seed``; groups are 0, 1, ... OUT has
what was made of ``X`` and ``X_new``, seconds and memory, or the error.
"""

import importlib
import importlib.metadata
import inspect
import json
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np

BATCH = 20_000
#: A fit that takes less is timed three times, and the median is taken: the first one also loads code.
SHORT = 2.0


@dataclass(frozen=True)
class Method:
    """One line of the comparison."""

    library: str  #: name of the distribution
    #: "representation" (``use`` rebuilds rows in the space of the features) or "clustering" (labels, centres)
    kind: str
    promise: str  #: the key of ``promises.PROMISES`` that its documentation gives; "" for none
    prepare: Callable  #: data -> (fit, use)
    label: bool = False  #: whether it is fitted to the label y as well
    #: What its documentation says and no run shows: feature -> ("module:object", words that stand there)
    said: dict[str, tuple[str, str]] = field(default_factory=dict)


METHODS: dict[str, Method] = {}


def method(name: str, library: str, kind: str, promise: str = "", **more):
    def add(prepare):
        METHODS[name] = Method(library, kind, promise, prepare, **more)
        return prepare

    return add


def batches(*arrays):
    for start in range(0, len(arrays[0]), BATCH):
        yield tuple(array[start : start + BATCH] for array in arrays)


def indicators(groups, first=0):
    """Columns (n, G - first) that say who is in group ``first``, ``first + 1``, ...: 0 or 1."""
    return (groups[:, None] == np.arange(first, groups.max() + 1)).astype(float)


def rebuilt(model, X, groups=None):
    return model.inverse_transform(model.transform(X))


# -- evenspan ---------------------------------------------------------------------------------------------------------

OURS_BATCHES = {"batches": ("evenspan:GroupMoments.from_batches", "in one pass")}


@method("StandardPCA", "evenspan", "representation", "as PCA", said=OURS_BATCHES)
def standard_pca(data):
    from evenspan import StandardPCA

    return lambda: StandardPCA(data.k).fit(data.X), rebuilt


@method("StandardPCA, batches", "evenspan", "representation", "as PCA", said=OURS_BATCHES)
def standard_pca_in_batches(data):
    from evenspan import GroupMoments, StandardPCA

    def fit():
        return StandardPCA(data.k).fit_moments(GroupMoments.from_batches(batches(data.X, data.groups)))

    return fit, rebuilt


@method("FairPCA", "evenspan", "representation", "equal means", said=OURS_BATCHES)
def fair_pca(data):
    from evenspan import FairPCA

    return lambda: FairPCA(data.k).fit(data.X, sensitive_features=data.groups), rebuilt


@method("LEACE (evenspan)", "evenspan", "representation", "no linear classifier", said=OURS_BATCHES)
def our_leace(data):
    from evenspan import LEACE

    return lambda: LEACE().fit(data.X, sensitive_features=data.groups), lambda model, X, groups: model.transform(X)


def labels_of(model, X=None, groups=None):
    centres = getattr(model, "cluster_centers_", getattr(model, "centers_", None))
    return {"labels": model.labels_} | ({} if centres is None else {"centres": centres})


@method("FairKernelKMeans", "evenspan", "clustering", "same shares")
def fair_kernel_k_means(data):
    from sklearn.preprocessing import normalize

    from evenspan import FairKernelKMeans

    def fit():
        # the rule for the weight presumes points of length one
        X = normalize(data.X - data.X.mean(axis=0))
        model = FairKernelKMeans(data.clusters, kernel="linear", random_state=data.seed)
        return model.fit(X, sensitive_features=data.groups)

    return fit, labels_of


@method("FairnessFirstClustering", "evenspan", "clustering", "balance")
def fairness_first(data):
    from evenspan import FairnessFirstClustering

    def fit():
        model = FairnessFirstClustering(data.clusters, threshold=1.0, random_state=data.seed)
        return model.fit(data.X, sensitive_features=data.groups)

    return fit, labels_of


@method("VariationalFairClustering (evenspan)", "evenspan", "clustering", "same shares")
def our_variational(data):
    from evenspan import VariationalFairClustering

    def fit():
        model = VariationalFairClustering(data.clusters, random_state=data.seed)
        return model.fit(data.X, sensitive_features=data.groups)

    return fit, labels_of


# -- scikit-learn and dask-ml: the controls, and batches ---------------------------------------------------------------


@method("PCA", "scikit-learn", "representation", "as PCA")
def pca(data):
    from sklearn.decomposition import PCA

    return lambda: PCA(data.k).fit(data.X), rebuilt


@method("IncrementalPCA", "scikit-learn", "representation", "as PCA",
        said={"batches": ("sklearn.decomposition:IncrementalPCA", "partial_fit")})  # fmt: skip
def incremental_pca(data):
    from sklearn.decomposition import IncrementalPCA

    def fit():
        model = IncrementalPCA(data.k)
        for (X,) in batches(data.X):
            if len(X) >= data.k:  # fewer rows than components are refused
                model.partial_fit(X)
        return model

    return fit, rebuilt


@method("PCA (dask-ml)", "dask-ml", "representation", "as PCA",
        said={"batches": ("dask_ml.decomposition:PCA", 'uses the "tsqr" algorithm')})  # fmt: skip
def dask_pca(data):
    import dask.array as da
    from dask_ml.decomposition import PCA

    def fit():
        model = PCA(data.k, svd_solver="full", random_state=data.seed)
        return model.fit(da.from_array(data.X, chunks=(BATCH, data.X.shape[1])))

    def use(model, X, groups):
        return np.asarray(model.transform(X)) @ model.components_ + model.mean_

    return fit, use


@method("KMeans", "scikit-learn", "clustering")
def k_means(data):
    from sklearn.cluster import KMeans

    return lambda: KMeans(data.clusters, n_init=1, random_state=data.seed).fit(data.X), labels_of


# -- fairlearn, scikit-lego: the sensitive columns stand first among the features --------------------------------------


def with_columns(make):
    """A filter that finds the indicators of the groups, all but the first, in the first columns of its input."""

    def prepare(data):
        S = indicators(data.groups, 1)
        joined = np.hstack([S, data.X])

        def use(model, X, groups):
            if groups is None:
                return model.transform(X)
            return model.transform(np.hstack([indicators(groups, 1)[:, : S.shape[1]], X]))

        return lambda: make(list(range(S.shape[1]))).fit(joined), use

    return prepare


@method("CorrelationRemover", "fairlearn", "representation", "uncorrelated")
def correlation_remover(data):
    from fairlearn.preprocessing import CorrelationRemover

    return with_columns(lambda columns: CorrelationRemover(sensitive_feature_ids=columns))(data)


@method("InformationFilter", "scikit-lego", "representation", "orthogonal")
def information_filter(data):
    from sklego.preprocessing import InformationFilter

    return with_columns(lambda columns: InformationFilter(columns=columns))(data)


# -- concept-erasure ---------------------------------------------------------------------------------------------------


def eraser(name, concept, *, needs_groups, **options):
    """Fitted by its own ``update``, batch by batch; float64, because the promise is of equality."""

    def prepare(data):
        import concept_erasure
        import torch

        X, Z = torch.from_numpy(data.X), torch.from_numpy(concept(data.groups))
        size = Z.shape[1] if Z.ndim > 1 else int(Z.max()) + 1

        def fit():
            fitter = getattr(concept_erasure, name)(X.shape[1], size, dtype=torch.float64, **options)
            for part in batches(X, Z):
                fitter.update(*part)
            return fitter.eraser

        def use(model, X, groups):
            given = [] if not needs_groups or groups is None else [torch.from_numpy(concept(groups))]
            return model(torch.from_numpy(X), *given).numpy()

        return fit, use

    return prepare


for _name, _fitter, _promise, _concept, _options in (
    ("LEACE (concept-erasure)", "LeaceFitter", "no linear classifier", indicators, {}),
    ("Oracle LEACE", "OracleFitter", "no linear classifier", indicators, {}),
    ("Quadratic LEACE", "QuadraticFitter", "equal covariances", lambda groups: groups, {}),
    ("Quadratic LEACE, no shrinkage", "QuadraticFitter", "equal covariances", lambda groups: groups,
     {"shrinkage": False}),
):  # fmt: skip
    METHODS[_name] = Method(
        "concept-erasure", "representation", _promise,
        eraser(_fitter, _concept, needs_groups=_fitter != "LeaceFitter", **_options),
        said={"batches": (f"concept_erasure:{_fitter}.update", "with a new batch of data")},
    )  # fmt: skip


# -- AIF360: labelled data frames with the protected attribute among the columns ---------------------------------------


def labelled(X, groups, y):
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset

    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(group=groups.astype(float), y=y.astype(float))
    return BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["group"])


@method("LFR", "aif360", "representation", "hard to read", label=True)
def lfr(data):
    from aif360.algorithms.preprocessing import LFR

    train = labelled(data.X, data.groups, data.y)
    others = [{"group": float(g)} for g in range(1, data.groups.max() + 1)]

    def fit():
        return LFR(unprivileged_groups=others, privileged_groups=[{"group": 0.0}], seed=data.seed).fit(train)

    def use(model, X, groups):
        if groups is None:
            raise ValueError("transform takes a data set with the protected attribute")
        Z = model.transform(labelled(X, groups, np.arange(len(X)) % 2))
        return Z.features[:, [Z.feature_names.index(f"x{j}") for j in range(X.shape[1])]]

    return fit, use


@method("LFR, scikit-learn interface", "aif360", "representation", "hard to read", label=True)
def lfr_sklearn(data):
    import pandas as pd
    from aif360.sklearn.preprocessing import LearnedFairRepresentations

    frame = pd.DataFrame(data.X, index=pd.Index(data.groups, name="group"))

    def fit():
        return LearnedFairRepresentations("group", random_state=data.seed).fit(frame, data.y, priv_group=0)

    return fit, lambda model, X, groups: model.transform(pd.DataFrame(X)).to_numpy()


@method("DisparateImpactRemover", "aif360", "representation", "equal distributions")
def disparate_impact_remover(data):
    from aif360.algorithms.preprocessing import DisparateImpactRemover

    train = labelled(data.X, data.groups, data.y)

    def use(repaired, X, groups):
        if X is not data.X:
            raise NotImplementedError("it has fit_transform alone")
        return repaired.features[:, [repaired.feature_names.index(f"x{j}") for j in range(X.shape[1])]]

    return lambda: DisparateImpactRemover(sensitive_attribute="group").fit_transform(train), use


# -- holisticai and fair-kmeans: clusters of two groups ----------------------------------------------------------------


def holistic(name, promise, options):
    def prepare(data):
        import holisticai.bias.mitigation as mitigation

        return lambda: getattr(mitigation, name)(**options(data)).fit(data.X, *masks(data.groups)), labels_of

    return Method("holisticai", "clustering", promise, prepare)


def masks(groups):
    return groups == 0, groups == 1


def fairlets(decomposition):
    return lambda data: {"n_clusters": data.clusters, "decomposition": decomposition, "p": 1, "q": data.least,
                         "seed": data.seed}  # fmt: skip


METHODS |= {
    "Fairlets, vanilla": holistic("FairletClustering", "balance", fairlets("Vanilla")),
    "Fairlets, scalable": holistic("FairletClustering", "balance", fairlets("Scalable")),
    "VariationalFairClustering (holisticai)": holistic(
        "VariationalFairClustering", "same shares", lambda data: {"n_clusters": data.clusters, "seed": data.seed}
    ),
    "FairKMedianClustering": holistic(
        "FairKMedianClustering", "similar distances", lambda data: {"n_clusters": data.clusters, "seed": data.seed}
    ),
}


@method("FairKCenterClustering", "holisticai", "clustering", "centres as asked")
def fair_k_center(data):
    from holisticai.bias.mitigation import FairKCenterClustering

    # its source numbers the groups as they first occur in the rows, which its documentation does not say
    asked = data.centres[np.argsort([np.flatnonzero(data.groups == g)[0] for g in range(len(data.centres))])]

    def fit():
        # none given in advance: the default adds a hundred random centres to those asked for
        model = FairKCenterClustering(req_nr_per_group=asked, nr_initially_given=0, seed=data.seed)
        model.fit(data.X, *masks(data.groups))
        return model

    return fit, lambda model, X, groups: {"labels": model.labels_, "centres": model.centroids}


@method("FairKMeans", "fair-kmeans", "clustering", "same shares")
def fair_k_means(data):
    from fair_kmeans import FairKMeans

    counts = np.bincount(data.groups)
    weights = None
    if len(counts) == 2 and counts[0] != counts[1]:  # the weights of both colours must be equal in sum
        weights = (counts[::-1] // np.gcd(*counts))[data.groups].tolist()

    def fit():
        model = FairKMeans(data.clusters, random_state=data.seed)
        return model.fit(data.X, color=data.groups, sample_weight=weights)

    return fit, labels_of


# -- the process -------------------------------------------------------------------------------------------------------


def resident(line: str) -> float:
    """Resident memory of this process in MiB, where Linux tells: "VmRSS" is that of now, "VmHWM" the largest so far."""
    status = Path("/proc/self/status")
    told = status.read_text(encoding="utf-8") if status.is_file() else f"{line}: nan"
    return float(told.partition(f"{line}:")[2].split()[0]) / 1024


def check_words(said) -> None:
    """What is said to stand in the documentation of an object stands in its source."""
    for place, words in said.values():
        module, _, path = place.partition(":")
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        if words not in " ".join(inspect.getsource(found).split()):
            raise LookupError(f"{place} does not say {words!r}")


def run(one: Method, data) -> tuple[dict, dict]:
    """What the method made of the rows, as arrays; seconds, memory, and what ``use`` asks for new rows."""
    check_words(one.said)
    fit, use = one.prepare(data)
    largest_so_far = Path("/proc/self/clear_refs")
    if largest_so_far.is_file():
        largest_so_far.write_text("5")  # what was needed to read the data is not the method's
    before, seconds = resident("VmRSS"), []
    while not seconds or (seconds[0] < SHORT and len(seconds) < 3):
        start = time.perf_counter()
        model = fit()
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            after = resident("VmHWM")
    found = {"seconds": statistics.median(seconds), "memory": after - before}
    if one.kind == "clustering":
        return use(model, data.X, data.groups), found
    arrays, found["new_rows"] = {"Z": use(model, data.X, data.groups)}, "no"
    for asks, groups in (("features", None), ("features and group", data.groups_new)):
        try:
            arrays["Z_new"], found["new_rows"] = use(model, data.X_new, groups), asks
            break
        except Exception as error:  # what it raises without the groups is the library's affair
            found["refused"] = f"{type(error).__name__}: {error}"
    return arrays, found


def main(name: str, source: Path, target: Path) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with np.load(source) as stored:
        data = SimpleNamespace(**{key: value if value.ndim else value.item() for key, value in stored.items()})
    one, arrays = METHODS[name], {}
    try:
        arrays, found = run(one, data)
    except Exception as error:  # whatever a library raises is its result
        found = {"message": f"{type(error).__name__}: {error}"}
    packages = {entry.name.lower(): entry.version for entry in importlib.metadata.distributions()}
    found |= {"version": packages[one.library], "packages": packages, "python": sys.version.split()[0]}
    np.savez(target, **{key: np.asarray(value) for key, value in arrays.items()})
    target.with_suffix(".json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
