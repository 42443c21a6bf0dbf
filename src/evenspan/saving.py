"""Fitted estimators on disk, without pickles: parameters and learnt values as JSON, their arrays beside it."""

import importlib
import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .core.errors import ConfigurationError, FairWarning
from .core.files import reading, replacing
from .core.inputs import warn_caller

FORMAT = 2
#: The frozen values that fitted estimators hold, and where they are defined.
VALUES = {
    "BlockSums": "representation.noisy_power",
    "Certificate": "core.answer",
    "ClusterCounts": "core.cluster_counts",
    "ColumnCode": "auditing.encode",
    "ColumnUse": "auditing.columns",
    "Contrast": "representation.null_it_out",
    "FairPowerMethod": "representation.noisy_power",
    "FairSubspace": "core.answer",
    "Kernel": "core.kernels",
    "WeightRule": "clustering.weight_rule",
}
#: The axes of learnt arrays: d features, k components, G groups, ...; equal letters are equal sizes, blanks say "or".
SHAPES = {"components_": "kd", "axes_": "dk", "V": "dk", "dual_coef_": "mk", "X_fit_": "md m", "centers_": "cd"}
SHAPES |= {"explained_variance_": "k", "explained_variance_ratio_": "k", "offset_": "k", "projection_": "dd"}
SHAPES |= {"mean": "d", "mean_": "d", "scale": "d", "scale_": "d", "group_labels_": "G", "group_counts_": "G"}


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

    Guarantees
    ----------
    What ``load`` gives transforms as the estimator does, and goes on with ``partial_fit``, to the last bit on the same
    machine. The file holds what ``fit`` learnt: for kernel methods rows of the training sample, for clusterings a label
    for each of them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from evenspan import FairPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> fitted = FairPCA(2).fit(X, sensitive_features=["f", "m"] * 25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(fitted, pathlib.Path(folder) / "fair.npz")
    ...     again = load(pathlib.Path(folder) / "fair.npz")
    >>> bool((again.transform(X) == fitted.transform(X)).all())
    True
    """
    arrays: list[np.ndarray] = []
    header = {"format": FORMAT, "version": _exports().__version__, "estimator": _described(estimator, arrays)}
    with replacing(path) as file:
        np.savez(file, header=np.array(json.dumps(header)), **{f"a{i}": array for i, array in enumerate(arrays)})


def load(path) -> BaseEstimator:
    """Read a fitted estimator or pipeline that ``save`` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        Fitted; with an ``OtherVersionWarning`` if another version of the package wrote it.

    Guarantees
    ----------
    Nothing is unpickled and no code is taken from the file: it can only name exported estimators, their parameters and
    plain learnt values. A file from someone you do not trust may still hold numbers of their choice.
    """
    present = _exports().__version__
    with reading(path, "a saved estimator", "Save it again.") as file, np.load(file, allow_pickle=False) as entries:
        if sum(one.file_size for one in entries.zip.infolist()) > Path(path).stat().st_size:
            raise ValueError("it would unpack to more bytes than it has; save packs nothing")
        header = json.loads(str(entries["header"]))
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']}, that of evenspan {present} is {FORMAT}")
        arrays = [entries[f"a{i}"] for i in range(len(entries.files) - 1)]
        version, estimator = header["version"], _restored(header["estimator"], arrays)
    if version != present:
        warn_caller(
            f"{path} was saved by evenspan {version}, this is {present}: methods may have changed in "
            "between. Fit again if the numbers matter.",
            OtherVersionWarning,
        )
    return estimator


def _described(estimator, arrays: list[np.ndarray]) -> dict:
    """The JSON of an estimator; arrays in it are appended to ``arrays``."""
    name, exported = type(estimator).__name__, _exports()
    if type(estimator) is Pipeline:
        steps = [(step, part if isinstance(part, str) else _described(part, arrays)) for step, part in estimator.steps]
        return {"class": name, "steps": steps}
    if type(estimator) is not getattr(exported, name, None) or not isinstance(estimator, BaseEstimator):
        raise ConfigurationError(f"a {name} cannot be saved; needed is an estimator of evenspan or a Pipeline of them.")
    check_is_fitted(estimator)
    params = estimator.get_params(deep=False)
    learnt = {
        key: value for key, value in vars(estimator).items() if key not in params and (key[0] != "_" or key == "_power")
    }
    described = {"class": name}
    for part, values in {"parameters": params, "learnt": learnt}.items():
        described[part] = {key: _written(value, f"{name}.{key}", arrays) for key, value in values.items()}
    return described


def _restored(content: dict, arrays: list[np.ndarray]):
    """The estimator that ``_described`` wrote down."""
    if content["class"] == "Pipeline":
        return Pipeline([(name, _restored(s, arrays) if isinstance(s, dict) else s) for name, s in content["steps"]])
    cls = getattr(_exports(), content["class"])
    if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
        raise ValueError(f"evenspan has no estimator {content['class']!r}")
    estimator = cls(**{name: _value(node, arrays) for name, node in content["parameters"].items()})
    for name, node in content["learnt"].items():
        if (name[0] == "_" and name != "_power") or hasattr(cls, name) or name in content["parameters"]:
            raise ValueError(f"{content['class']} has no learnt value {name!r}")
        setattr(estimator, name, _value(node, arrays))
    check_is_fitted(estimator)
    estimator._check_options()
    d = len(estimator.get_feature_names_out()) if hasattr(estimator, "codes_") else estimator.n_features_in_
    _require_shapes(vars(estimator), {"d": d})
    return estimator


def _require_shapes(values: dict, sizes: dict[str, int]) -> None:
    """Refuse arrays that no fit leaves beside each other; ``sizes`` are those of the axes known so far."""
    for name, value in values.items():
        if is_dataclass(value):
            _require_shapes(vars(value), sizes)
        elif name in SHAPES and value is not None:
            axes = {len(axes): axes for axes in SHAPES[name].split()}.get(np.ndim(value))
            if not axes or any(sizes.setdefault(*one) != one[1] for one in zip(axes, np.shape(value), strict=True)):
                raise ValueError(f"{name} has shape {np.shape(value)}, which no fit leaves beside the others")


def _written(value, where: str, arrays: list[np.ndarray]):
    """The JSON of a value: what JSON does not have stands in an object with one key, its kind."""
    name = type(value).__name__
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and all(type(v) is str for v in value.ravel()):
        return {"names": value.tolist()}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if type(value) in (list, tuple):
        return {name: [_written(part, f"{where}[{i}]", arrays) for i, part in enumerate(value)]}
    if type(value) is dict:
        return {name: [[_written(part, f"{where}[{k!r}]", arrays) for part in (k, v)] for k, v in value.items()]}
    if name in VALUES and type(value) is _class(name):
        return {name: {f.name: _written(getattr(value, f.name), f"{where}.{f.name}", arrays) for f in fields(value)}}
    raise ConfigurationError(
        f"{where} is a {name}, which cannot be written down without pickling it. Needed are numbers, texts, arrays, "
        "lists, tuples and dicts of these: a kernel by its name, random_state as a number."
    )


def _value(node, arrays: list[np.ndarray]):
    """The value that ``_written`` wrote down."""
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind == "names":
        return np.array(content, dtype=object)
    if kind in ("array", "scalar"):
        return arrays[content] if kind == "array" else arrays[content][()]
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(_value(part, arrays) for part in content)
    if kind == "dict":
        return {_value(key, arrays): _value(part, arrays) for key, part in content}
    return _class(kind)(**{name: _value(part, arrays) for name, part in content.items()})


def _class(name: str) -> type:
    return getattr(importlib.import_module(f"{__package__}.{VALUES[name]}"), name)


def _exports():
    # By name: this room is below the package's front door, and what it exports may stand above.
    return importlib.import_module(__package__)
