"""The scikit-learn side of every linear method, written once."""

from abc import abstractmethod
from functools import wraps
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .accumulator import squares
from .answer import Answer, Certificate, FairSubspace
from .errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    FairWarning,
    FeatureTypeError,
    SurplusComponentsWarning,
)
from .groups import encode_groups
from .inputs import (
    feature_names,
    in_pandas,
    is_frame,
    require_numeric_columns,
    require_points,
    require_range,
    row_blocks,
    warn_caller,
    warn_of_order,
)
from .linalg import one_thread
from .moments import GroupMoments, degrees
from .options import COMPONENTS, Options
from .streams import Stream


class NotConvergedWarning(FairWarning, ConvergenceWarning):
    """An iteration was stopped by its limit; the certificate says how far the answer is from optimal."""


def no_stream(X):
    """X; DataError saying what to call with a stream, which brings its own groups."""
    if isinstance(X, Stream):
        other = (
            "fit_moments(GroupMoments.from_batches(stream)) where there is one, or StreamingFairPCA(...).fit(stream)"
        )
        raise DataError(f"fit got a {type(X).__name__}; needed is a table. Call {other}.")
    return X


class FairEstimator(Options, BaseEstimator):
    """Base of all estimators that see groups."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if (fit := vars(cls).get("fit")) and not hasattr(cls, "partial_fit"):
            cls.fit = wraps(fit)(lambda self, X, *args, **given: fit(self, no_stream(X), *args, **given))

    # Lets a Pipeline or a search route the groups without a call to set_fit_request.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012


class FairTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FairEstimator):
    """Base of those that give coordinates: in double precision, or single where ``fit`` saw nothing else."""

    dtype_: str

    def _seen(self, X):
        """X, which ``fit`` sees; all sums are in double precision."""
        kinds = {*X.dtypes} if is_frame(X) else {X.dtype}
        self.dtype_ = "float32" if kinds == {np.dtype(np.float32)} else "float64"
        return X

    def _given(self, T: np.ndarray) -> np.ndarray:
        return T.astype(self.dtype_, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SubspaceEstimator(FairTransformer):
    """Base of the linear estimators: ``fit`` reduces X to group moments, ``fit_moments`` does the rest.

    A method lists its options and implements ``_answer(moments) -> Answer``. Rows and moments give the same answer.
    """

    _scatters = "group"  # what the method needs of the moments; "total" where means and one scatter are enough

    # Made by ``fit``; each method adds its own.
    subspace_: FairSubspace
    components_: np.ndarray
    mean_: np.ndarray
    certificate_: Certificate
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    group_labels_: np.ndarray
    group_counts_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    if TYPE_CHECKING:  # scikit-learn's own has no types

        def fit_transform(self, X, y=None, *, sensitive_features, **fit_params) -> np.ndarray: ...
        def get_feature_names_out(self, input_features=None) -> np.ndarray: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...

    @abstractmethod
    def _answer(self, moments: GroupMoments) -> Answer:
        """The subspace for these moments, and what else was learnt."""

    def fit(self, X, y=None, *, sensitive_features, sample_weight=None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Numeric features: frames of pandas, polars or pyarrow, tensors of torch, sparse rows, which stay sparse.
        y : array-like of shape (n,), optional
            Target; used only where the method says so.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row: strings, booleans or whole numbers; p columns are p attributes.
        sample_weight : array-like of shape (n,), optional
            Non-negative frequency weights.

        Returns
        -------
        self
        """
        X = self._table(X, reset=True)
        return self._fit_moments(self._moments(X, sensitive_features, sample_weight))

    def fit_moments(self, moments: GroupMoments) -> Self:
        """Fit to group moments, which are all that ``fit`` takes from the data.

        Parameters
        ----------
        moments : GroupMoments
            The moments of the training sample.

        Returns
        -------
        self
        """
        if not isinstance(moments, GroupMoments):
            raise DataError(f"fit_moments got a {type(moments).__name__}; needed is GroupMoments.from_data(X, groups).")
        self._set_features(moments.d, moments.feature_names)
        return self._fit_moments(moments)

    def _set_features(self, d: int, names) -> None:
        self.n_features_in_, self.dtype_ = d, "float64"
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _moments(self, X, sensitive_features, sample_weight) -> GroupMoments:
        warn_of_order(X, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return GroupMoments.from_data(X, sensitive_features, sample_weight, scatters=self._scatters)

    def _fit_moments(self, moments: GroupMoments):
        self._check_options()
        return self._solved(moments)

    def _solved(self, moments: GroupMoments, *columns):
        """Store the answer to moments of features in range, and to columns of products with the features."""
        require_range(*squares(moments.counts, moments.means, moments.kept), None, moments.feature_names)
        with one_thread(moments.d):
            return self._store(self._answer(moments, *columns), moments)

    def _store(self, answer: Answer, moments: GroupMoments):
        """Make what the answer learnt, and how much variance it keeps, attributes of the estimator."""
        for name, value in answer.learnt.items():
            setattr(self, name, value)
        self.subspace_ = answer.subspace
        self.components_ = self.subspace_.V.T
        self.mean_ = self.subspace_.mean
        self.certificate_ = self.subspace_.certificate
        self.group_labels_ = moments.labels
        self.group_counts_ = moments.counts
        seen = moments if self.subspace_.scale is None else moments.standardised()
        total = seen.scatter
        variances = np.einsum("dk,dk->k", self.subspace_.V, total @ self.subspace_.V) / degrees(moments.n)
        overall = float(np.trace(total) / degrees(moments.n))
        self.explained_variance_ = np.maximum(variances, 0.0)
        self.explained_variance_ratio_ = self.explained_variance_ / overall if overall > 0 else np.zeros_like(variances)
        self._warn_surplus(overall)
        return self

    def _warn_surplus(self, overall: float, where: str = "on the training sample") -> None:
        if surplus := int((self.explained_variance_ <= 1e-12 * overall).sum(axis=0)):
            k = len(self.components_)
            warn_caller(
                f"{surplus} of {k} components carry no variance {where}: their directions are arbitrary. "
                f"{f'Ask for n_components={k - surplus}.' if k > surplus else 'Check the data.'}",
                SurplusComponentsWarning,
            )

    def transform(self, X) -> np.ndarray:
        """Coordinates of X in the fitted subspace; groups are not needed.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Points with the features of the training sample.

        Returns
        -------
        ndarray of shape (n, k)
        """
        check_is_fitted(self)
        return self._given(self.subspace_.apply(self._finite_table(X)))

    def inverse_transform(self, T) -> np.ndarray:
        """The points of the subspace with the coordinates T.

        Parameters
        ----------
        T : array-like of shape (n, k)
            Coordinates as ``transform`` returns them.

        Returns
        -------
        ndarray of shape (n, d)
        """
        return self._given(self.subspace_.restore(self._coordinates(T)[:, : len(self.components_)]))

    def _coordinates(self, T) -> np.ndarray:
        check_is_fitted(self)
        T = np.asarray(in_pandas(T), dtype=np.float64)
        if T.ndim != 2 or T.shape[1] != self._n_features_out:
            raise DataError(f"T has shape {T.shape}; needed is (n, {self._n_features_out}), as transform returns it.")
        return T

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _table(self, X, *, reset: bool):
        """X to be fitted to: missing and infinite entries are found in the moments, without a pass over X."""
        X = in_pandas(X)
        if not is_frame(X):
            X = self._finite_table(X, reset=reset, ensure_all_finite=False)
            return self._seen(X) if reset else X
        require_numeric_columns(X)
        validated(self, X, reset=reset, skip_check_array=True)  # a data frame is read block by block later
        return self._seen(X) if reset else X

    def _finite_table(self, X, *, reset: bool = False, **checks):
        """X as a NumPy array or, where the method takes it, a sparse matrix of rows."""
        X = in_pandas(X)
        require_numeric_columns(X)
        accepted = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return validated(self, X, dtype="numeric", accept_sparse=accepted, reset=reset, **checks)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True  # moments and maps of sparse rows need no dense table
        return tags


class PointsEstimator(SubspaceEstimator):
    """Base of the linear estimators that moments do not determine: they implement ``_answer_points`` instead."""

    @abstractmethod
    def _answer_points(self, X: np.ndarray, codes: np.ndarray, moments: GroupMoments) -> Answer:
        """The subspace for the rows of X (n, d), row i being of group ``moments.labels[codes[i]]``."""

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        X = self._table(X, reset=True)
        self._check_options()
        moments = self._moments(X, sensitive_features, None)
        _, codes = encode_groups(sensitive_features, X.shape[0])
        return self._store(self._answer_points(np.asarray(X, dtype=np.float64), codes, moments), moments)

    def fit_moments(self, moments: GroupMoments) -> Self:
        raise ConfigurationError(f"{type(self).__name__} needs the points: call fit(X, sensitive_features=...).")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # the points are centred, and then no entry is zero
        return tags

    def _answer(self, moments: GroupMoments) -> Answer:
        raise NotImplementedError


def validated(estimator: BaseEstimator, X, **checks) -> np.ndarray:
    """X as scikit-learn's ``validate_data`` gives it; its errors become DataError, naming a column of text."""
    try:
        return validate_data(estimator, X, **checks)
    except (ValueError, TypeError, OverflowError) as error:
        if any(word in str(error) for word in ("could not convert", "strings", "too large")):
            row_blocks(np.asarray(X))  # names the column that is not numeric
        kind = FeatureTypeError if isinstance(error, TypeError) else DataError
        needed = " Needed is a table of real numbers, with a row for each sample."
        if any(words in str(error) for words in ("seen at fit time", "names should match", "is expecting")):
            needed = " Needed are the columns of the training sample, in their order."
        elif "names are only supported" in str(error):
            needed = ""  # the message says what to do
        raise kind(f"{str(error).strip()}{needed}") from error


def numeric_table(estimator: BaseEstimator, X, dtype=(np.float64, np.float32), **checks) -> np.ndarray:
    """X as an array in the precision that it has; an error names the columns that are not numeric or not finite."""
    X = in_pandas(X)
    require_numeric_columns(X)
    table = validated(estimator, X, dtype=dtype, ensure_all_finite=False, **checks)
    require_points(table, feature_names(X))
    return table


def require_components(n_components, largest: int, d: int, why: str) -> int:
    """``n_components`` as an int between 1 and ``largest``, which None stands for; the message says why it is that.

    There are d dimensions: the features, or as many as rows in the feature space of a kernel.
    """
    if largest < 1:
        raise ComponentsError(
            f"n_components={n_components!r}, and no component is possible: {d} feature(s){why}. Add features, or "
            "merge groups."
        )
    if COMPONENTS.require("n_components", n_components) is None:
        return largest
    if n_components > largest:
        raise ComponentsError(
            f"n_components={n_components!r}; needed is a whole number of at most {largest}: there are {d} dimension(s)"
            f"{why}. Ask for fewer components."
        )
    return int(n_components)
