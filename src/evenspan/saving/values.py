"""Values as JSON and arrays: what may be written down, and how it comes back the same.

A plain value (None, truth value, whole number, text, finite number) stands for itself; everything else is a JSON object
with one key that says what it is. Arrays are put aside under a number. Nothing here can name code to be run: a value of
this package is one of ``VALUES`` and is made by its constructor from plain fields.
"""

import importlib
import math
from dataclasses import fields

import numpy as np

from ..core.errors import ConfigurationError

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


def read(node, arrays: list[np.ndarray]):
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
        return [read(v, arrays) for v in content]
    if kind == "tuple":
        return tuple(read(v, arrays) for v in content)
    if kind == "dict":
        return {read(k, arrays): read(v, arrays) for k, v in content}
    if kind == "value" and content[0] in VALUES:
        return _class(content[0])(**{name: read(v, arrays) for name, v in content[1].items()})
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
    package = __package__.rpartition(".")[0]
    return getattr(importlib.import_module(f"{package}.{VALUES[name]}"), name)
