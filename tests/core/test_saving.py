"""Saved estimators: every one comes back the same to the last bit; files that are not whole are refused."""

import json
import resource
import signal
import zipfile
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import evenspan as es
from evenspan.core.errors import ConfigurationError, ResultError
from evenspan.saving import OtherVersionWarning

from .every import ALL, TRANSFORMERS, make

TABLE = [
    *(make(name, 2 if name in TRANSFORMERS else 3) for name in ALL),
    es.StandardPCA(2, standardize=True),
    es.FairPCA(2, tradeoff=0.5),
    es.LEACE(keep="values", numeric_attributes=["old"]),
    es.FairKernelPCA(2, kernel="polynomial", tradeoff=0.5, n_landmarks=30),
    es.FairKernelPCA(2, kernel="precomputed"),
    es.FairKernelKMeans(3, es.WeightRule(start=0.5, step=2.0)),
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
    return model.fit(X) if isinstance(model, es.KernelKMeans) else model.fit(X, target, sensitive_features=groups)


def equal(a, b) -> bool:
    """Whether two learnt values agree in type and every bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and joblib.hash(a) == joblib.hash(b)


@QUIET
@pytest.mark.parametrize("estimator", TABLE, ids=str)
def test_what_comes_back_is_the_same_to_the_last_bit(estimator, sample, tmp_path):
    X, groups = sample
    X = X @ X.to_numpy().T if getattr(estimator, "kernel", "") == "precomputed" else X
    one = isinstance(estimator, es.FairPCA | es.NullItOutPCA | es.LEACE | es.FairKernelPCA)  # these take two attributes
    model = fitted(estimator, X, groups if one else groups["sex"])
    es.save(model, tmp_path / "model.npz")
    again = es.load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert vars(again).keys() == vars(model).keys()
    assert [name for name in vars(model) if not equal(vars(model)[name], vars(again)[name])] == []
    for method in ("transform", "predict"):
        if hasattr(model, method):
            assert equal(getattr(again, method)(X), getattr(model, method)(X))


def test_blocks_go_on_from_the_file_as_if_nothing_had_happened(sample, tmp_path):
    X, groups = sample
    model = es.StreamingFairPCA(2, 1)
    for phase in ("gap", "gap", "components"):
        model.partial_fit(X, sensitive_features=groups["sex"], phase=phase)
    es.save(model, tmp_path / "model.npz")
    again = es.load(tmp_path / "model.npz")
    with pytest.raises(ConfigurationError, match="fixed when the second phase begins"):
        again.partial_fit(X, sensitive_features=groups["sex"], phase="gap")
    for one in (model, again):
        one.partial_fit(X[:80], sensitive_features=groups["sex"][:80], phase="components")
    assert equal(again.components_, model.components_)
    assert again.blocks_ == model.blocks_


def test_pipelines(sample, tmp_path):
    X, groups = sample
    table = X.assign(job=np.where(X["age"] > 0, "clerk", "cook"))
    encoder = es.TableEncoder().fit(table)
    pipe = Pipeline([("numbers", encoder), ("nothing", "passthrough"), ("fair", es.FairPCA(2))])
    pipe[-1].fit(encoder.transform(table), sensitive_features=groups["sex"])
    es.save(pipe, tmp_path / "pipe.npz")
    again = es.load(tmp_path / "pipe.npz")
    assert [name for name, _ in again.steps] == ["numbers", "nothing", "fair"]
    assert equal(np.asarray(again.transform(table[:7])), np.asarray(pipe.transform(table[:7])))


def test_what_cannot_be_written_plainly_is_refused_and_leaves_no_file(sample, tmp_path):
    X, groups = sample
    path = tmp_path / "m.npz"

    callable_kernel = es.FairKernelPCA(2, kernel=lambda A, B: A @ B.T).fit(X, sensitive_features=groups["sex"])
    for match, model, error in (
        (r"FairKernelPCA\.kernel is a function, which cannot be written", callable_kernel, ConfigurationError),
        ("not fitted", es.FairPCA(2), sklearn.exceptions.NotFittedError),
        (
            "StandardScaler cannot be saved",
            make_pipeline(StandardScaler(), es.StandardPCA(2)).fit(X),
            ConfigurationError,
        ),
    ):
        with pytest.raises(error, match=match):
            es.save(model, path)
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def file(sample, tmp_path_factory):
    X, groups = sample
    path = tmp_path_factory.mktemp("saved") / "m.npz"
    es.save(es.FairPCA(2, tradeoff=0.5).fit(X, sensitive_features=groups), path)
    return path


def rewritten(file, target, change):
    """The file with its header as ``change`` leaves it."""
    with np.load(file) as entries:
        arrays = dict(entries)
    header = json.loads(str(arrays.pop("header")))
    change(header)
    np.savez(target, header=np.array(json.dumps(header)), **arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format=1), "its format is 1, that of evenspan 0.1.0 is 2"),
        (lambda h: h["estimator"].update({"class": "Certificate"}), "no estimator 'Certificate'"),
        (lambda h: h["estimator"]["parameters"].update(colour=3), "unexpected keyword argument 'colour'"),
        (lambda h: h["estimator"]["learnt"].update(transform=3), "FairPCA has no learnt value 'transform'"),
        (lambda h: h["estimator"]["learnt"].update(mean_={"array": 99}), "index out of range"),
        (lambda h: h["estimator"]["learnt"].update(mean_={"Popen": {}}), "Popen"),
        (lambda h: h["estimator"].update(learnt={}), "not fitted"),
        (lambda h: h.pop("version"), "KeyError: 'version'"),
        (lambda h: h["estimator"]["parameters"].update(n_components="five"), "n_components='five'; needed is"),
        (lambda h: h["estimator"]["learnt"].update(components_="hello"), r"components_ has shape \(\)"),
        (lambda h: h["estimator"]["learnt"].update(mean_={"array": -1}), r"mean_ has shape \(2,\)"),
        (lambda h: h["estimator"]["learnt"]["subspace_"]["FairSubspace"].update(mean=3), r"mean has shape \(\)"),
    ],
)  # fmt: skip
def test_files_packed_by_others_can_name_nothing_but_estimators(file, tmp_path, change, message):
    rewritten(file, tmp_path / "other.npz", change)
    with pytest.raises(ResultError, match=message):
        es.load(tmp_path / "other.npz")


WIDE = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}


class Trap:
    """Would end the tests if it were unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def test_files_cut_short_other_files_and_none_are_refused(file, tmp_path):
    (tmp_path / "cut.npz").write_bytes(file.read_bytes()[:-1])
    np.savez(tmp_path / "trap.npz", header=np.array([Trap()], dtype=object))
    np.savez(tmp_path / "deep.npz", header=np.array("[" * 100_000))
    with zipfile.ZipFile(tmp_path / "wide.npz", "w") as archive:  # 8 TB by its head
        archive.writestr("header.npy", np.lib.format.magic(1, 0) + b"\x76\0" + f"{WIDE!s:<117}\n".encode())
    for path in (*tmp_path.iterdir(), tmp_path / "missing.npz", tmp_path):
        with pytest.raises(ResultError, match="not a saved estimator, or not whole"):
            es.load(path)


def test_another_version_is_told(file, sample, tmp_path):
    rewritten(file, tmp_path / "old.npz", lambda h: h.update(version="0.0.9"))
    with pytest.warns(OtherVersionWarning, match=r"saved by evenspan 0\.0\.9, this is 0\.1\.0") as caught:
        again = es.load(tmp_path / "old.npz")
    assert caught[0].filename == __file__
    assert equal(again.transform(sample[0]), es.load(file).transform(sample[0]))


def test_a_file_that_would_unpack_to_more_than_it_has_is_not_unpacked(file, tmp_path):
    with np.load(file) as entries:
        np.savez_compressed(tmp_path / "packed.npz", **entries, much=np.zeros(10**6))
    with pytest.raises(ResultError, match=r"packed.npz is not a saved .*would unpack to more"):
        es.load(tmp_path / "packed.npz")


def test_on_a_full_disk_the_earlier_file_stays_and_is_named(file, tmp_path):
    moments = es.GroupMoments.from_data(np.random.default_rng(0).normal(size=(90, 60)), ["f", "m", "x"] * 30)
    for write, path in ((partial(es.save, es.load(file)), tmp_path / "m.npz"), (moments.save, tmp_path / "g.npz")):
        write(path)
        path.chmod(0o600)
        before, ignored = path.read_bytes(), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            with pytest.raises(OSError, match=r"too large; nothing was written to: .*[mg]\.npz"):
                write(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        assert path.read_bytes() == before
        write(path)
        assert path.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"m.npz", "g.npz"}
