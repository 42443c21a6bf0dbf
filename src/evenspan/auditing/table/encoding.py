"""A data frame as a table of numbers: the transformer that comes before every method."""

from dataclasses import asdict

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ...core.errors import ConfigurationError, DataError, FeatureTypeError
from .codes import ColumnCode, codes_of, encode, fills_from_means, with_fills
from .columns import MAX_CATEGORIES, use_of
from .scan import profile_columns
from .tables import FrameTable, no_such_column


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns the columns of a data frame into named, standardised numbers.

    Numbers stay, truth values become 0 and 1, dates become days since 1 January 1970, and a category becomes one
    feature for each of its values, named ``job=clerk`` (a single one if there are two values). Left out are constants,
    columns that name or number the rows, text of more than ``max_categories`` different values, and what ``exclude``
    names; ``uses_`` says why.

    Parameters
    ----------
    missing : {"error", "mean", "indicator"}
        What a missing cell does: it is an error; it becomes the mean of the column or its most frequent category; or
        that, and a further feature ``income missing`` is 1.
    unknown : {"error", "zero"}
        What a category does that did not occur in ``fit``: it is an error, or all features of the column are 0.
    standardize : bool
        Whether the mean of every feature is subtracted and its population standard deviation divided by.
    exclude : sequence of str
        Columns that are no features: the sensitive ones, the target.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows.
    max_categories : int
        Columns of text with more different values than these are left out.

    Attributes
    ----------
    codes_ : tuple of ColumnCode
        What each used column becomes.
    uses_ : tuple of ColumnUse
        For every column what it is, what it is used as, and why.
    mean_, scale_ : ndarray of shape (d,)
        What is subtracted and divided by; zeros and ones unless standardised.
    feature_names_in_ : ndarray of str
        The columns that ``fit`` saw, if they have names.

    Guarantees
    ----------
    ``transform`` looks at the columns it uses alone: they may stand in another order, others may be there or not. What
    it gives for a row does not depend on the other rows.

    Complexity
    ----------
    Time O(n d); the rows are read in batches, and the result (n, d) is the one table that is made.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
    >>> TableEncoder(standardize=False).fit_transform(frame)
        age  job=cook
    0  20.0       0.0
    1  40.0       1.0
    """

    def __init__(
        self,
        *,
        missing: str = "error",
        unknown: str = "error",
        standardize: bool = True,
        exclude=(),
        keep=(),
        max_categories: int = MAX_CATEGORIES,
    ):
        self.missing = missing
        self.unknown = unknown
        self.standardize = standardize
        self.exclude = exclude
        self.keep = keep
        self.max_categories = max_categories

    def fit(self, X, y=None):
        """Find out what the columns are, and learn categories, means and scales.

        Parameters
        ----------
        X : DataFrame of shape (n, p)
            Columns of numbers, truth values, dates or text. An array of numbers is taken as well.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_options()
        table = FrameTable(self._frame(X, reset=True))
        if table.n_rows == 1:
            raise DataError("the table has 1 sample (one row), so every column is constant; needed are more rows.")
        for option in ("exclude", "keep"):
            if absent := [name for name in getattr(self, option) if name not in table.columns]:
                raise DataError(no_such_column(absent[0], table.columns, f"{option}: the table"))
        kept = [name for name in table.columns if name not in self.exclude]
        profiles = profile_columns(table, kept)
        uses = tuple(use_of(profiles[name], self.max_categories, keep=name in self.keep) for name in kept)
        codes = codes_of(uses, profiles, self.missing)
        names = [code.name for code in codes]
        if self.missing != "error":
            codes = with_fills(codes, table.batches(names))
        sums = _Columns()
        row = 0
        for frame in table.batches(names):
            sums.add(encode(codes, frame, row=row))
            row += len(frame)
        return self.learnt(None, uses, codes, sums.mean, sums.scale())

    def transform(self, X) -> pd.DataFrame:
        """The features of some rows.

        Parameters
        ----------
        X : DataFrame of shape (n, p)
            At least the columns that are used, in any order.

        Returns
        -------
        DataFrame of shape (n, d)
            With the index of X.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        return pd.DataFrame(self.encoded(frame), index=frame.index, columns=self.get_feature_names_out())

    def encoded(self, frame: pd.DataFrame, row: int = 0) -> np.ndarray:
        """The features as an array.

        Parameters
        ----------
        frame : DataFrame of shape (n, p)
            With the columns that are used.
        row : int
            Rows before these, for what errors say.

        Returns
        -------
        ndarray of shape (n, d)
            As ``transform`` gives them.
        """
        for code in self.codes_:
            if code.name not in frame.columns:
                raise DataError(no_such_column(code.name, frame.columns, "the table to be transformed"))
        values = encode(self.codes_, frame, row=row, unknown=self.unknown)
        values -= self.mean_
        values /= self.scale_
        return values

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the features.

        Parameters
        ----------
        input_features : None or array-like of str
            If given, it must be the columns that ``fit`` saw.

        Returns
        -------
        ndarray of str objects
            Such as ``age``, ``job=clerk`` and ``income missing``.
        """
        check_is_fitted(self)
        if input_features is not None and list(input_features) != list(self._names_in()):
            raise DataError("input_features is not equal to feature_names_in_, the columns that fit saw.")
        return np.array([name for code in self.codes_ for name in code.features], dtype=object)

    def get_state(self) -> dict:
        """All that was given and learnt, as plain values and arrays.

        Returns
        -------
        dict
            Values are texts, numbers, truth values, None, lists and dicts of these, and one-dimensional arrays.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        return {
            "parameters": {**parameters, "exclude": list(self.exclude), "keep": list(self.keep)},
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": list(getattr(self, "feature_names_in_", [])),
            "codes": [{**asdict(code), "categories": list(code.categories)} for code in self.codes_],
            "uses": [{**asdict(use), "categories": list(use.categories)} for use in self.uses_],
            "mean": self.mean_,
            "scale": self.scale_,
        }

    @classmethod
    def from_state(cls, state: dict) -> "TableEncoder":
        """The encoder that ``get_state`` wrote down.

        Parameters
        ----------
        state : dict
            What ``get_state`` gave.

        Returns
        -------
        TableEncoder
            Fitted; transforms as the first one does, to the last bit.
        """
        from .columns import ColumnUse

        parameters = state["parameters"]
        encoder = cls(**parameters | {name: tuple(parameters[name]) for name in ("exclude", "keep")})
        encoder.n_features_in_ = int(state["n_features_in"])
        if names := list(state["feature_names_in"]):
            encoder.feature_names_in_ = np.array(names, dtype=object)
        codes = tuple(ColumnCode(**{**code, "categories": tuple(code["categories"])}) for code in state["codes"])
        uses = tuple(ColumnUse(**{**use, "categories": tuple(use["categories"])}) for use in state["uses"])
        encoder.codes_, encoder.uses_ = codes, uses
        encoder.mean_, encoder.scale_ = np.asarray(state["mean"], float), np.asarray(state["scale"], float)
        return encoder

    def learnt(self, columns, uses, codes, mean: np.ndarray, scale: np.ndarray) -> "TableEncoder":
        """Take over what passes over a table have found, in place of ``fit``.

        Parameters
        ----------
        columns : sequence of str or None
            The columns that were seen; None if they are known.
        uses : iterable of ColumnUse
            What each column is.
        codes : iterable of ColumnCode
            What each used column becomes.
        mean, scale : ndarray of shape (d,)
            Mean and standard deviation of the features.

        Returns
        -------
        self
        """
        if columns is not None:
            self.feature_names_in_, self.n_features_in_ = np.array(columns, dtype=object), len(columns)
        if self.missing != "error" and any(code.fill is None for code in codes):
            codes = fills_from_means(codes, mean)
        d = sum(len(code.features) for code in codes)
        self.uses_, self.codes_ = tuple(uses), tuple(codes)
        self.mean_ = mean if self.standardize else np.zeros(d)
        self.scale_ = scale if self.standardize else np.ones(d)
        return self

    def _check_options(self) -> None:
        for name, allowed in (("missing", ("error", "mean", "indicator")), ("unknown", ("error", "zero"))):
            if getattr(self, name) not in allowed:
                raise ConfigurationError(f"{name}={getattr(self, name)!r}; needed is one of {', '.join(allowed)}.")
        for name in ("exclude", "keep"):
            if isinstance(given := getattr(self, name), str):
                raise ConfigurationError(f"{name}={given!r}; needed is a list of names, such as [{given!r}].")
        if both := [name for name in self.keep if name in self.exclude]:
            raise ConfigurationError(f"column {both[0]!r} is to be kept, and also excluded. Name it once.")

    def _frame(self, X, *, reset: bool) -> pd.DataFrame:
        """X as a data frame whose columns have text as names; arrays of numbers get x0, x1, ..."""
        if sparse.issparse(X):
            raise FeatureTypeError("X is sparse, but a table of named columns is dense. Pass a data frame.")
        if isinstance(X, pd.DataFrame) or hasattr(X, "to_pandas"):
            frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
            if not len(frame) or not frame.shape[1]:
                raise DataError(
                    f"Found array with {len(frame)} sample(s) and {frame.shape[1]} feature(s); needed is 1."
                )
            if reset:
                validate_data(self, frame, skip_check_array=True)
            if frame.columns.map(lambda name: isinstance(name, str)).all():
                return frame
            return frame.set_axis([str(name) for name in frame.columns], axis=1)
        X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=1)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).infer_objects()

    def _names_in(self):
        return getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


class _Columns:
    """Running mean and scatter of every feature (Chan, Golub and LeVeque 1983, eq. 2.1)."""

    def __init__(self):
        self.n, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, X: np.ndarray) -> None:
        n, mean = len(X), X.mean(axis=0)
        delta, total = mean - self.mean, self.n + n
        self.squares = self.squares + ((X - mean) ** 2).sum(axis=0) + delta**2 * (self.n * n / total)
        self.mean, self.n = self.mean + delta * (n / total), total

    def scale(self) -> np.ndarray:
        """Population standard deviation; 1 where a feature is constant, by the rule of ``GroupMoments.scale``."""
        deviation = np.sqrt(self.squares / self.n)
        return np.where(deviation <= 1e-12 * np.hypot(self.mean, deviation), 1.0, deviation)
