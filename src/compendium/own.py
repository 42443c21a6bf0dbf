"""A method of a reader's own beside those of a room: the class that the parameter ``method`` names, as FILE:CLASS."""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone

from evenspan.core.answer import Certificate, FairSubspace
from evenspan.core.errors import ConfigurationError, FairError
from evenspan.core.estimator import PointsEstimator

from . import paths, records
from .method_styles import resolve_name


def method_fingerprint(method: str) -> str:
    """A method with the digest of its file, so that an edited file is another run; blank without a method."""
    return f"{method}, {records.digest(_file(method).read_bytes())[:8]}" if method else ""


def _file(method: str) -> Path:
    place, _, name = method.rpartition(":")
    if not (place and name.isidentifier()):
        raise ConfigurationError(f"method={method!r}; needed is FILE:CLASS, such as my_file.py:MyEstimator.")
    if not (file := paths.resolve_user_path(place)).is_file() or file.suffix != ".py":
        raise ConfigurationError(f"method={method!r}: there is no Python file {file.absolute()}. Correct the path.")
    return file


def load(method: str) -> type:
    """The class that ``FILE:CLASS`` names, which has ``fit(X, y=None, *, sensitive_features)``."""
    file, name = _file(method), method.rpartition(":")[2]
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigurationError(f"{file} cannot be run ({type(error).__name__}: {error}). Correct it.") from error
    if not inspect.isclass(kind := getattr(module, name, None)):
        raise ConfigurationError(f"{file} has no class {name}. Name one that it has.")
    if "sensitive_features" not in inspect.signature(getattr(kind, "fit", lambda: None)).parameters:
        raise ConfigurationError(f"{name} needs fit(X, y=None, *, sensitive_features). Write it so.")
    return kind


def is_clustering(kind: type) -> bool:
    """Whether a class sets ``labels_``, by a fit to twelve made rows that also says what is wrong with it."""
    X, groups = np.random.default_rng(0).normal(size=(12, 4)), np.tile(["a", "b"], 6)
    size = "n_clusters" if "n_clusters" in inspect.signature(kind).parameters else "n_components"
    one = Estimator(kind, **{size: 2}).fit(X, sensitive_features=groups)
    found = hasattr(one.one_, "labels_")
    _ = one.labels_ if found else one.subspace_  # refuses what has not the shape that is needed
    return found


def methods(method: str, wrap: Callable[[type], object]) -> dict[str, object]:
    """A line for a table of methods: the name of the class, and the class wrapped for the paper; none without one."""
    if not method:
        return {}
    kind = load(method)
    if known := resolve_name(kind.__name__).method:
        raise ConfigurationError(f"{kind.__name__} is a name of {known} already. Give your class another name.")
    return {kind.__name__: wrap(kind)}


def fitted(estimator, moments, rows: Callable | None = None):
    """A copy fitted to moments; a class of one's own that cannot be, to ``rows()``, which have ``X`` and ``groups``."""
    if not getattr(estimator, "of_rows", False) or rows is None:
        return clone(estimator).fit_moments(moments)
    points = rows()
    return clone(estimator).fit(points.X, sensitive_features=points.groups)


class Estimator(BaseEstimator):
    """A class of one's own in use like ours: linear with ``n_components``, a clustering with ``n_clusters``."""

    def __init__(self, kind, n_components=None, n_clusters=None, random_state=0):
        self.kind, self.n_components, self.n_clusters, self.random_state = kind, n_components, n_clusters, random_state

    @property
    def of_rows(self) -> bool:
        """Whether the class cannot be fitted to group moments."""
        return not hasattr(self.kind, "fit_moments") or issubclass(self.kind, PointsEstimator)

    def fit(self, X, y=None, *, sensitive_features):
        """Fit an instance to rows."""
        given = {} if y is None else {"y": y}
        return self._fit("fit", len(X), np.mean(X, axis=0), X, sensitive_features=sensitive_features, **given)

    def fit_moments(self, moments):
        """Fit an instance to group moments."""
        if self.of_rows:
            why = "there are group moments here and no rows to fit to. Give it fit_moments(moments)"
            raise ConfigurationError(f"{self.kind.__name__} has no fit_moments; {why}.")
        return self._fit("fit_moments", 0, moments.mean, moments)

    def _fit(self, how: str, rows: int, centre: np.ndarray, *given, **named):
        size = "n_clusters" if self.n_components is None else "n_components"
        known, asked = inspect.signature(self.kind).parameters, {size: getattr(self, size)}
        seed = {"random_state": self.random_state} if "random_state" in known else {}
        self.rows_, self.centre_ = rows, centre
        try:
            self.one_ = self.kind(**asked, **seed) if size in known else self.kind(*asked.values(), **seed)
            getattr(self.one_, how)(*given, **named)
        except FairError:
            raise
        except Exception as error:
            said = f"{self.kind.__name__} failed in {how} ({type(error).__name__}: {error})"
            raise ConfigurationError(f"{said}. Correct it.") from error
        return self

    def _learnt(self, name: str, *shape: int) -> np.ndarray:
        found, whose = np.asarray(getattr(self.one_, name, None)), f"{self.kind.__name__}.{name}"
        if found.shape != shape or found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            seen = f"has shape {found.shape}" if found.shape else "is missing after fit"
            raise ConfigurationError(f"{whose} {seen}; needed here are finite numbers of shape {shape}. Set it in fit.")
        return found

    @property
    def subspace_(self) -> FairSubspace:
        """The directions, about ``mean_`` or the mean of what was fitted to."""
        W = self._learnt("components_", self.n_components, len(self.centre_)).astype(float)
        if (off := np.abs(W @ W.T - np.eye(len(W))).max(axis=None)) > 1e-6:
            why = f"has rows that are not orthonormal (off by {off:.1g}). Make them so"
            raise ConfigurationError(f"{self.kind.__name__}.components_ {why}.")
        mean = self._learnt("mean_", len(self.centre_)) if hasattr(self.one_, "mean_") else self.centre_
        given = getattr(self.one_, "certificate_", None)
        sold = isinstance(given, Certificate) and given.scope != "last step"  # which is no proof of the answer
        proof = given if sold else Certificate("one's own", np.nan, np.nan)
        return FairSubspace(W.T, mean, proof)

    labels_ = property(lambda self: self._learnt("labels_", self.rows_))
    components_ = property(lambda self: self.subspace_.V.T)
    mean_ = property(lambda self: self.subspace_.mean)
    certificate_ = property(lambda self: self.subspace_.certificate)

    def transform(self, X):
        """Coordinates of rows, as the class gives them or its directions do."""
        return np.asarray(self.one_.transform(X)) if hasattr(self.one_, "transform") else self.subspace_.apply(X)

    def inverse_transform(self, T):
        """The points with these coordinates."""
        return self.subspace_.restore(T)
