"""Saved estimators: every one comes back the same to the last bit; files that are not whole are refused."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import evenspan
from evenspan import (
    INLP,
    JEVDPCA,
    LEACE,
    RLACE,
    Certificate,
    ConvexFairPCA,
    DisparityFairPCA,
    FairKernelKMeans,
    FairKernelPCA,
    FairMultipleKernelKMeans,
    FairnessFirstClustering,
    FairPCA,
    FairSpectralClustering,
    FairSubspace,
    GroupMoments,
    KernelKMeans,
    MinMaxFairPCA,
    MMDFairPCA,
    NullItOutPCA,
    RobustFairPCA,
    StandardPCA,
    StreamingFairPCA,
    TableEncoder,
    VariationalFairClustering,
    WeightRule,
    load,
    save,
)
from evenspan.core.errors import ConfigurationError, DataError, ResultError
from evenspan.saving import OtherVersionWarning

TABLE = [
    StandardPCA(2),
    StandardPCA(2, standardize=True),
    StandardPCA(2, center="none"),
    FairPCA(2),
    FairPCA(2, standardize=True),
    FairPCA(2, match="covariance"),
    FairPCA(2, tradeoff=0.5),
    MinMaxFairPCA(2),
    MinMaxFairPCA(2, objective="error"),
    RobustFairPCA(2),
    RobustFairPCA(2, solver="subgradient", restarts=2, max_iter=20),
    ConvexFairPCA(2),
    DisparityFairPCA(2),
    JEVDPCA(2),
    LEACE(2),
    LEACE(),
    LEACE(keep="values", numeric_attributes=["old"]),
    NullItOutPCA(2, 1),
    StreamingFairPCA(2, 1),
    INLP(2),
    RLACE(2, max_iter=50),
    MMDFairPCA(2, max_iter=3, max_inner=10),
    FairKernelPCA(2),
    FairKernelPCA(2, kernel="polynomial", tradeoff=0.5, n_landmarks=30),
    FairKernelPCA(2, match="covariance"),
    FairKernelKMeans(3, 1.0),
    FairKernelKMeans(3, WeightRule(start=0.5, step=2.0)),
    FairMultipleKernelKMeans(3),
    FairSpectralClustering(3),
    FairnessFirstClustering(3),
    KernelKMeans(3),
    VariationalFairClustering(3),
]
QUIET = pytest.mark.filterwarnings("ignore::UserWarning")  # not every row here is asked to converge


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(6)
    at = np.repeat([0, 1], [70, 50])
    X = rng.normal(size=(120, 6)) * (1 + at[:, None]) + np.outer(at, [1, 0, 0, -1, 0, 0])
    frame = pd.DataFrame(X, columns=["age", "income", "debt", "years", "visits", "score"])
    return frame, pd.DataFrame({"sex": np.array(["f", "m"])[at], "old": rng.random(120) < 0.4})


def fitted(estimator, X, groups):
    model = sklearn.base.clone(estimator)
    target = np.arange(len(X)) ** 2 if getattr(model, "keep", None) else None
    return model.fit(X) if isinstance(model, KernelKMeans) else model.fit(X, target, sensitive_features=groups)


def same(a, b) -> bool:
    """Whether two learnt values agree in type, dtype and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and (
            a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()
        )  # fmt: skip
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__)
    return a == b or (a != a and b != b)  # nan


# -- round trips --------------------------------------------------------------------------------------------------


def test_the_table_has_every_exported_estimator():
    exported = {getattr(evenspan, name) for name in evenspan.__all__}
    estimators = {thing for thing in exported if isinstance(thing, type) and issubclass(thing, BaseEstimator)}
    assert estimators == {type(model) for model in TABLE} | {TableEncoder}


@QUIET
@pytest.mark.parametrize("estimator", TABLE, ids=str)
def test_what_comes_back_is_the_same_to_the_last_bit(estimator, sample, tmp_path):
    X, groups = sample
    one = isinstance(estimator, FairPCA | NullItOutPCA | LEACE | FairKernelPCA)  # these take two attributes
    model = fitted(estimator, X, groups if one else groups["sex"])
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert vars(again).keys() == vars(model).keys()
    assert [name for name in vars(model) if not same(vars(model)[name], vars(again)[name])] == []
    for part in (X, X[:1], X.iloc[::-1]):
        if hasattr(model, "transform"):
            assert same(again.transform(part), model.transform(part))
        if hasattr(model, "inverse_transform"):
            T = model.transform(part)
            assert same(again.inverse_transform(T), model.inverse_transform(T))
        if hasattr(model, "predict"):
            assert same(again.predict(part), model.predict(part))


def test_labels_of_every_kind_come_back(sample, tmp_path):
    X, groups = sample
    codes = pd.Series(np.arange(120) % 3)
    for labels in (groups, groups["old"], codes, codes.map({0: "ä", 1: "long name", 2: ""})):
        model = FairPCA(1).fit(X, sensitive_features=labels)
        save(model, tmp_path / "m.npz")
        found = load(tmp_path / "m.npz").group_labels_
        assert found.dtype == model.group_labels_.dtype
        assert found.tolist() == model.group_labels_.tolist()


def test_a_loaded_estimator_is_fitted_again_like_any_other(sample, tmp_path):
    X, groups = sample
    save(FairPCA(2, standardize=True).fit(X, sensitive_features=groups["sex"]), tmp_path / "m.npz")
    again = load(tmp_path / "m.npz").fit(X[:90], sensitive_features=groups["sex"][:90])
    fresh = FairPCA(2, standardize=True).fit(X[:90], sensitive_features=groups["sex"][:90])
    assert same(again.components_, fresh.components_)
    assert same(pickle.loads(pickle.dumps(again)).components_, fresh.components_)


def test_odd_parameters_come_back(sample, tmp_path):
    X, groups = sample
    model = FairPCA(np.int64(2), positive_label=float("nan"), numeric_attributes=["old"])
    model.fit(X, sensitive_features=groups)
    save(model, tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    assert again.n_components == 2
    assert type(again.n_components) is np.int64
    assert np.isnan(again.positive_label)
    assert again.numeric_attributes == ["old"]


def test_pipelines(sample, tmp_path):
    X, groups = sample
    table = X.assign(job=np.where(X["age"] > 0, "clerk", "cook"))
    encoder = TableEncoder().fit(table)
    pipe = Pipeline([("numbers", encoder), ("nothing", "passthrough"), ("fair", FairPCA(2))])
    pipe[-1].fit(encoder.transform(table), sensitive_features=groups["sex"])
    save(pipe, tmp_path / "pipe.npz")
    again = load(tmp_path / "pipe.npz")
    assert [name for name, _ in again.steps] == ["numbers", "nothing", "fair"]
    assert same(np.asarray(again.transform(table[:7])), np.asarray(pipe.transform(table[:7])))
    save(encoder, tmp_path / "encoder.npz")
    pd.testing.assert_frame_equal(load(tmp_path / "encoder.npz").transform(table), encoder.transform(table))
    with pytest.raises(DataError):
        load(tmp_path / "encoder.npz").transform(table.drop(columns="age"))


# -- what cannot be saved -----------------------------------------------------------------------------------------


def test_what_cannot_be_written_plainly_is_refused_and_leaves_no_file(sample, tmp_path):
    X, groups = sample
    path = tmp_path / "m.npz"

    def refused(match, model, error=ConfigurationError):
        with pytest.raises(error, match=match):
            save(model, path)
        assert list(tmp_path.iterdir()) == []

    callable_kernel = FairKernelPCA(2, kernel=lambda A, B: A @ B.T).fit(X, sensitive_features=groups["sex"])
    refused(r"FairKernelPCA\.kernel is a builtins\.function, which cannot be written down", callable_kernel)
    generator = FairKernelPCA(2, n_landmarks=30, random_state=np.random.default_rng(0))
    refused(r"random_state is a numpy\.random.*Generator", generator.fit(X, sensitive_features=groups["sex"]))
    refused("not fitted", FairPCA(2), sklearn.exceptions.NotFittedError)
    refused(r"StandardScaler cannot be saved; needed is an estimator that evenspan exports", StandardScaler().fit(X))
    refused("StandardScaler cannot be saved", make_pipeline(StandardScaler(), StandardPCA(2)).fit(X))
    refused("GroupMoments cannot be saved; needed is an estimator", GroupMoments.from_data(X, groups))

    class Own(FairPCA):
        """A subclass that load could not find."""

    refused("Own cannot be saved", Own(2).fit(X, sensitive_features=groups["sex"]))
    odd = FairPCA(2).fit(X, sensitive_features=groups["sex"])
    odd.note_ = np.array([object()], dtype=object)
    refused(r"FairPCA\.note_ is a numpy\.ndarray, which cannot", odd)


def test_a_failed_save_leaves_the_old_file(sample, tmp_path):
    X = sample[0]
    save(StandardPCA(2).fit(X), tmp_path / "m.npz")
    before = (tmp_path / "m.npz").read_bytes()
    with pytest.raises(ConfigurationError):
        save(StandardScaler().fit(X), tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == before


# -- files that are not whole -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(sample, tmp_path_factory):
    X, groups = sample
    path = tmp_path_factory.mktemp("saved") / "m.npz"
    save(FairPCA(2, tradeoff=0.5).fit(X, sensitive_features=groups), path)
    return path


def rewritten(file, target, change):
    """The file with its header as ``change`` leaves it."""
    with np.load(file) as entries:
        arrays = dict(entries)
    header = json.loads(str(arrays.pop("header")))
    change(header)
    np.savez(target, header=np.array(json.dumps(header)), **arrays)


def test_files_cut_short_other_files_and_none_are_refused(file, sample, tmp_path):
    X, groups = sample
    whole = file.read_bytes()
    for cut in (0, len(whole) // 2, len(whole) - 1):
        (tmp_path / f"cut{cut}.npz").write_bytes(whole[:cut])
    GroupMoments.from_data(X, groups["sex"]).save(tmp_path / "moments.npz")
    np.savez(tmp_path / "arrays.npz", X=X.to_numpy())
    for path in (*tmp_path.iterdir(), tmp_path / "missing.npz", tmp_path):
        with pytest.raises(ResultError, match="not a saved estimator, or only a part of one"):
            load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format=1), r"of evenspan 0\.1\.0, which evenspan 0\.1\.0 cannot read"),
        (lambda h: h["estimator"].update({"class": "os"}), "no attribute 'os'"),
        (lambda h: h["estimator"].update({"class": "Certificate"}), "no estimator 'Certificate'"),
        (lambda h: h["estimator"]["parameters"].update(colour=3), "unexpected keyword argument 'colour'"),
        (lambda h: h["estimator"]["learnt"].update(transform=3), "FairPCA has no learnt value 'transform'"),
        (lambda h: h["estimator"]["learnt"].update(__class__=3), "no learnt value '__class__'"),
        (lambda h: h["estimator"]["learnt"].update(mean_={"array": 99}), "index out of range"),
        (lambda h: h["estimator"]["learnt"].update(mean_={"Popen": {}}), "Popen"),
        (lambda h: h["estimator"].update(learnt={}), "not fitted"),
    ],
)  # fmt: skip
def test_files_packed_by_others_can_name_nothing_but_estimators(file, tmp_path, change, message):
    rewritten(file, tmp_path / "other.npz", change)
    with pytest.raises(ResultError, match=message):
        load(tmp_path / "other.npz")


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return exec, ("raise SystemExit('unpickled')",)

    np.savez(tmp_path / "trap.npz", header=np.array([Trap()], dtype=object))
    (tmp_path / "trap.pkl").write_bytes(pickle.dumps({"a": 1}))
    for name in ("trap.npz", "trap.pkl"):
        with pytest.raises(ResultError, match="not a saved estimator"):
            load(tmp_path / name)


def test_another_version_is_told(file, sample, tmp_path):
    rewritten(file, tmp_path / "old.npz", lambda h: h.update(version="0.0.9"))
    with pytest.warns(OtherVersionWarning, match=r"saved by evenspan 0\.0\.9, this is 0\.1\.0") as caught:
        again = load(tmp_path / "old.npz")
    assert caught[0].filename == __file__
    assert same(again.transform(sample[0]), load(file).transform(sample[0]))


def test_the_comparison_here_tells_differences():
    certificate = Certificate("a", 1.0, 2.0)
    subspace = FairSubspace(np.eye(3)[:, :1], np.zeros(3), certificate)
    assert same(subspace, FairSubspace(np.eye(3)[:, :1], np.zeros(3), Certificate("a", 1.0, 2.0)))
    assert not same(subspace, FairSubspace(np.eye(3)[:, :1], np.full(3, 1e-300), certificate))
    assert not same(subspace, FairSubspace(np.eye(3)[:, :1], np.zeros(3), Certificate("a", 1.0, 3.0)))
    assert not same((1.0,), [1.0])
