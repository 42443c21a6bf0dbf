"""Fitted estimators on disk, without pickles: ``save`` and ``load``, the values they write, and the file."""

import importlib
import inspect
import json
import math
import re
from dataclasses import fields

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .core import files
from .core.errors import ConfigurationError, FairWarning, ResultError
from .core.estimator import warn_caller

FORMAT = 1
PACKAGE = __package__
#: Learnt values and what scikit-learn keeps beside them; never a name that the class itself defines.
ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
OUTPUT, REQUESTS = "_sklearn_output_config", "_metadata_request"
STEP_PARAMETERS = ("memory", "verbose", "transform_input")


class OtherVersionWarning(FairWarning):
    """An estimator was saved by another version of the package than the one that loads it."""


def save(estimator, path) -> None:
    """Write a fitted estimator to one file, without pickling anything.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator of this package, ``TableEncoder``, or a ``sklearn.pipeline.Pipeline`` of those.
    path : str or Path
        Where to; by custom with the ending ``.npz``. A file that is there is replaced.

    Raises
    ------
    ConfigurationError
        A parameter or attribute is not a number, text, array, or list, tuple or dict of these (a callable kernel, a
        generator), or the class is none of this package. Nothing is written then.

    Guarantees
    ----------
    What ``load`` gives transforms as the estimator does, to the last bit on the same machine; parameters, learnt
    values, certificates, the kind of output and requested metadata are kept. Equal estimators give equal files. The
    file holds what ``fit`` learnt, which for kernel methods are rows of the fitting sample and for clusterings a label
    for each of them: treat it as such.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from evenspan import FairPCA
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(50, 4)), np.array(["f", "m"] * 25)
    >>> fitted = FairPCA(2).fit(X, sensitive_features=sex)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(fitted, pathlib.Path(folder) / "fair.npz")
    ...     again = load(pathlib.Path(folder) / "fair.npz")
    >>> bool((again.transform(X) == fitted.transform(X)).all())
    True
    """
    arrays: list[np.ndarray] = []
    content = _described(estimator, arrays)
    versions = {"evenspan": _exports().__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    write_file(path, {"format": FORMAT, "versions": versions, "estimator": content}, arrays)


def load(path):
    """Read a fitted estimator or pipeline that ``save`` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        Fitted. A file of another version of the package is read if everything in it still has a place, with an
        ``OtherVersionWarning``.

    Raises
    ------
    ResultError
        There is no such file, or it is damaged, altered or of another kind, or its version cannot be read.

    Guarantees
    ----------
    Nothing is unpickled and no code is taken from the file: it can only name exported estimators, their parameters and
    plain learnt values. The digest inside finds damage and careless edits; a file from someone you do not trust may
    still hold numbers of their choice.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from evenspan import StandardPCA
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(StandardPCA(1).fit([[0.0, 1.0], [2.0, 2.0], [1.0, 4.0]]), pathlib.Path(folder) / "pca.npz")
    ...     load(pathlib.Path(folder) / "pca.npz")
    StandardPCA(n_components=1)
    """
    header, arrays = read_file(path)
    version, present = header.get("versions", {}).get("evenspan"), _exports().__version__
    if header.get("format") != FORMAT:
        raise ResultError(
            f"{path} has format {header.get('format')!r} and was saved by evenspan {version}; this is evenspan "
            f"{present}, which reads format {FORMAT}. Load it with the version that saved it, or fit again."
        )
    try:
        estimator = _restored(header["estimator"], arrays)
    except Exception as error:  # what constructors and setters raise over values that no ``save`` has written
        raise ResultError(
            f"{path}, saved by evenspan {version}, does not describe an estimator of evenspan {present} ({error}). "
            "Load it with the version that saved it, or fit again."
        ) from error
    if version != present:
        warn_caller(
            f"{path} was saved by evenspan {version}, this is {present}: everything in it has a place, but methods may "
            "have changed in between. Fit again if the numbers matter.",
            OtherVersionWarning,
        )
    return estimator


# -- writing ------------------------------------------------------------------------------------------------------


def _described(estimator, arrays: list[np.ndarray]) -> dict:
    if type(estimator) is Pipeline:
        return _described_pipeline(estimator, arrays)
    name = type(estimator).__name__
    exported = _exports()
    if name not in exported.__all__ or type(estimator) is not getattr(exported, name):
        raise ConfigurationError(
            f"a {type(estimator).__module__}.{name} cannot be saved; needed is an estimator that evenspan exports, or "
            "a Pipeline of such. Save other steps by their own means (skops, joblib)."
        )
    if not isinstance(estimator, BaseEstimator):
        raise ConfigurationError(f"a {name} is no estimator. GroupMoments have a method save of their own.")
    check_is_fitted(estimator)
    found = {"class": name, "kept": _kept_by_scikit_learn(estimator, arrays)}
    if hasattr(estimator, "get_state"):
        return found | {"state": written(estimator.get_state(), f"{name}.get_state()", arrays)}
    params = estimator.get_params(deep=False)
    learnt = {k: v for k, v in vars(estimator).items() if k not in params and k not in (OUTPUT, REQUESTS)}
    return found | {
        part: {k: written(v, f"{name}.{k}", arrays) for k, v in sorted(values.items())}
        for part, values in (("parameters", params), ("learnt", learnt))
    }


def _described_pipeline(pipeline: Pipeline, arrays: list[np.ndarray]) -> dict:
    steps = []
    for name, step in pipeline.steps:
        plain = step is None or (isinstance(step, str) and step == "passthrough")
        steps.append([name, step if plain else _described(step, arrays)])
    parameters = {
        k: written(getattr(pipeline, k), f"Pipeline.{k}", arrays) for k in STEP_PARAMETERS if hasattr(pipeline, k)
    }
    return {"class": "Pipeline", "steps": steps, "parameters": parameters}


def _kept_by_scikit_learn(estimator, arrays: list[np.ndarray]) -> dict:
    """The kind of output chosen by ``set_output``, and metadata requested by ``set_fit_request`` and the like."""
    kept = {}
    if OUTPUT in vars(estimator):
        kept["output"] = written(getattr(estimator, OUTPUT), "set_output", arrays)
    if REQUESTS in vars(estimator):
        asked = json.loads(json.dumps(getattr(estimator, REQUESTS)._serialize()))
        given = {method: {k: v for k, v in wanted.items() if v is not None} for method, wanted in asked.items()}
        kept["requests"] = {method: wanted for method, wanted in given.items() if wanted}
    return kept


# -- reading ------------------------------------------------------------------------------------------------------


def _restored(content: dict, arrays: list[np.ndarray]):
    if content["class"] == "Pipeline":
        steps = [(name, _restored(s, arrays) if isinstance(s, dict) else s) for name, s in content["steps"]]
        return Pipeline(steps, **{k: value_of(v, arrays) for k, v in content["parameters"].items()})
    exported = _exports()
    cls = getattr(exported, content["class"]) if content["class"] in exported.__all__ else None
    if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
        raise ValueError(f"evenspan has no estimator {content['class']!r}")
    if "state" in content:
        estimator = cls.from_state(value_of(content["state"], arrays))
    else:
        estimator = cls(**{k: value_of(v, arrays) for k, v in content["parameters"].items()})
        for name, node in content["learnt"].items():
            if not ATTRIBUTE.fullmatch(name) or hasattr(cls, name) or name in content["parameters"]:
                raise ValueError(f"{content['class']} has no learnt value {name!r}")
            setattr(estimator, name, value_of(node, arrays))
    if "output" in content["kept"]:
        setattr(estimator, OUTPUT, value_of(content["kept"]["output"], arrays))
    with sklearn.config_context(enable_metadata_routing=True):
        for method, wanted in content["kept"].get("requests", {}).items():
            getattr(estimator, f"set_{method}_request")(**wanted)
    check_is_fitted(estimator)
    return estimator


def _exports():
    # By name: this room is below the package's front door, and what it exports may stand above.
    return importlib.import_module(PACKAGE)


# -- values as JSON and arrays ----------------------------------------------------------------------------------------


#: The frozen values that fitted estimators hold, and where they are defined.
VALUES = {
    "Certificate": "core.answer",
    "ClusterCounts": "core.cluster_counts",
    "FairSubspace": "core.answer",
    "Kernel": "core.kernels",
    "KernelDirections": "representation.fair_kernel_pca",
    "WeightRule": "clustering.weight_rule",
}


def written(value, where: str, arrays: list[np.ndarray]):
    """The JSON of a value; arrays in it are appended to ``arrays``.

    Parameters
    ----------
    value : object
        Plain values, arrays, lists, tuples and dicts of them, and the values of ``VALUES``.
    where : str
        What it is, for the message.
    arrays : list of ndarray
        Grows.

    Returns
    -------
    object
        JSON.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.ndarray):
        return _written_array(value, where, arrays)
    if isinstance(value, np.bool_ | np.number | np.str_):
        arrays.append(np.asarray(value))
        return {"scalar": len(arrays) - 1}
    if type(value) in (list, tuple):
        return {type(value).__name__: [written(v, f"{where}[{i}]", arrays) for i, v in enumerate(value)]}
    if type(value) is dict:
        pairs = [
            [written(k, f"a key of {where}", arrays), written(v, f"{where}[{k!r}]", arrays)] for k, v in value.items()
        ]
        return {"dict": pairs}
    name = type(value).__name__
    if name in VALUES and type(value) is _class(name):
        parts = {f.name: written(getattr(value, f.name), f"{where}.{f.name}", arrays) for f in fields(value)}
        return {"value": [name, parts]}
    raise ConfigurationError(
        f"{where} is a {type(value).__module__}.{name}, which cannot be written down without pickling it. Needed are "
        "numbers, texts, arrays, lists, tuples and dicts of these: a kernel by its name, random_state as a number."
    )


def value_of(node, arrays: list[np.ndarray]):
    """The value of a JSON node as ``written`` made it; ValueError if it made none like it.

    Parameters
    ----------
    node : object
        JSON.
    arrays : list of ndarray
        The arrays put aside.

    Returns
    -------
    object
        The value.
    """
    if node is None or type(node) in (bool, int, str, float):
        return node
    if type(node) is not dict or not node:
        raise ValueError(f"a {type(node).__name__} where a value was expected")
    kind, content = next(iter(node.items()))
    if kind == "number" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "array":
        return arrays[content].copy(order="K")  # of its own, whatever else has the same content
    if kind == "names":
        return np.array([str(name) for name in content], dtype=object)
    if kind == "scalar":
        return arrays[content][()]
    if kind == "list":
        return [value_of(v, arrays) for v in content]
    if kind == "tuple":
        return tuple(value_of(v, arrays) for v in content)
    if kind == "dict":
        return {value_of(k, arrays): value_of(v, arrays) for k, v in content}
    if kind == "value" and content[0] in VALUES:
        return _class(content[0])(**{name: value_of(v, arrays) for name, v in content[1].items()})
    raise ValueError(f"a value of the unknown kind {kind!r}")


def _written_array(value: np.ndarray, where: str, arrays: list[np.ndarray]):
    if value.dtype.kind == "O":
        if value.ndim == 1 and all(type(name) is str for name in value.tolist()):
            return {"names": value.tolist()}
        raise ConfigurationError(
            f"{where} is an array of Python objects, which cannot be written down without pickling them. Convert it to "
            "numbers or texts."
        )
    for i, known in enumerate(arrays):
        if _equal(known, value):  # what two attributes share is written once
            return {"array": i}
    arrays.append(value)
    return {"array": len(arrays) - 1}


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    alike = a.dtype == b.dtype and a.shape == b.shape and a.flags.f_contiguous == b.flags.f_contiguous
    return alike and a.tobytes() == b.tobytes()


def _class(name: str) -> type:
    return getattr(importlib.import_module(f"{PACKAGE}.{VALUES[name]}"), name)


# -- the file ---------------------------------------------------------------------------------------------------------


#: Marks the file as one of these.
KIND = "evenspan estimator"
WHAT, REMEDY = "a saved estimator, or only a part of one", "Save the estimator again."


def write_file(path, header: dict, arrays: list[np.ndarray]) -> None:
    """Write header and arrays; equal content gives equal bytes. What stood at the path is replaced at the end only."""
    text = json.dumps({"kind": KIND, **header}, sort_keys=True, allow_nan=False)
    files.write(path, {"header": np.array(text)} | {f"a{i}": array for i, array in enumerate(arrays)})


def read_file(path) -> tuple[dict, list[np.ndarray]]:
    """Header and arrays as ``write_file`` wrote them; ResultError for a file that is missing, damaged or other."""
    arrays = files.read(path, WHAT, REMEDY)
    with files.described(path, WHAT, REMEDY):
        if "scatters" in arrays:
            raise ValueError("it holds group moments: GroupMoments.load reads it")
        header = json.loads(str(arrays.pop("header")))
        if type(header) is not dict or header.get("kind") != KIND:
            raise ValueError("its header is of another kind")
        return header, [arrays[f"a{i}"] for i in range(len(arrays))]
