"""Save a fitted estimator or a pipeline of them, and load it again."""

import importlib
import inspect
import json
import re

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..core.errors import ConfigurationError, FairError, FairWarning, ResultError
from ..core.estimator import warn_caller
from . import archive
from .values import read, written

FORMAT = 1
PACKAGE = __package__.rpartition(".")[0]
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
    archive.write(path, {"format": FORMAT, "versions": versions, "estimator": content}, arrays)


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
    header, arrays = archive.read(path)
    version, present = header.get("versions", {}).get("evenspan"), _exports().__version__
    if header.get("format") != FORMAT:
        raise ResultError(
            f"{path} has format {header.get('format')!r} and was saved by evenspan {version}; this is evenspan "
            f"{present}, which reads format {FORMAT}. Load it with the version that saved it, or fit again."
        )
    try:
        estimator = _restored(header["estimator"], arrays)
    except (FairError, KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
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
        return Pipeline(steps, **{k: read(v, arrays) for k, v in content["parameters"].items()})
    exported = _exports()
    cls = getattr(exported, content["class"]) if content["class"] in exported.__all__ else None
    if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
        raise ValueError(f"evenspan has no estimator {content['class']!r}")
    if "state" in content:
        estimator = cls.from_state(read(content["state"], arrays))
    else:
        estimator = cls(**{k: read(v, arrays) for k, v in content["parameters"].items()})
        for name, node in content["learnt"].items():
            if not ATTRIBUTE.fullmatch(name) or hasattr(cls, name) or name in content["parameters"]:
                raise ValueError(f"{content['class']} has no learnt value {name!r}")
            setattr(estimator, name, read(node, arrays))
    if "output" in content["kept"]:
        setattr(estimator, OUTPUT, read(content["kept"]["output"], arrays))
    with sklearn.config_context(enable_metadata_routing=True):
        for method, wanted in content["kept"].get("requests", {}).items():
            getattr(estimator, f"set_{method}_request")(**wanted)
    check_is_fitted(estimator)
    return estimator


def _exports():
    # By name: this room is below the package's front door, and what it exports may stand above.
    return importlib.import_module(PACKAGE)
