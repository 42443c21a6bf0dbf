"""A data frame as a table of numbers: what each column becomes, and the transformer that comes before every method."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..core.accumulator import row_weights
from ..core.errors import DataError, FeatureTypeError
from ..core.inputs import first_few, warn_caller
from ..core.options import Options, flag, names, one_of, option, parameterised
from .columns import MISSING_CODES, ColumnUse, cleared, coded, listed, no_such_column, numbers, use_of, weights_of


@parameterised
class TableEncoder(Options, TransformerMixin, BaseEstimator):
    """Turns the columns of a data frame into named, standardised numbers.

    Numbers stay, truth values become 0 and 1, dates become days since 1 January 1970, and a category becomes one
    feature for each of its values, named ``job=clerk`` (a single one if there are two values); an ordered category of
    pandas becomes 0, 1, 2, ... in its order. Left out are constants, columns that name or number the rows, text of more
    than 50 different values, and what ``exclude`` names; ``uses_`` says why. Blanks around texts do not count, and an
    empty text is a missing cell.

    Parameters
    ----------
    missing : {"error", "mean", "indicator"}
        What a missing cell does: it is an error; it becomes the mean or the most frequent category; or that, and a
        further feature ``income missing`` is 1.
    unknown : {"error", "zero"}
        What a category does that did not occur in ``fit``: it is an error, or all features of the column are 0.
    standardize : bool
        Whether the mean of every feature is subtracted and its population standard deviation divided by.
    exclude : sequence of str
        Columns that are no features: the sensitive ones, the target.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows.
    missing_codes : list, or dict of lists by column
        What stands for no answer, such as ``[-999, 99]``: these cells are missing, in ``fit`` and in ``transform``.

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
    Time and memory O(n d).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
    >>> TableEncoder(standardize=False).fit_transform(frame)
        age  job=cook
    0  20.0       0.0
    1  40.0       1.0
    """

    _: KW_ONLY
    missing: str = option(one_of("error", "mean", "indicator"), default="error")
    unknown: str = option(one_of("error", "zero"), default="error")
    standardize: bool = option(flag(), default=True)
    exclude: Collection[str] = option(names("a list of names"), default=())
    keep: Collection[str] = option(names("a list of names"), default=())
    missing_codes: Sequence | Mapping[str, Sequence] = option(MISSING_CODES, default=())

    def fit(self, X, y=None, *, sample_weight=None) -> Self:
        """Find out what the columns of a data frame (or of an array) are; learn categories, means and scales.

        Rows count by ``sample_weight`` (n,), finite numbers of at least 0, where means and scales are learnt.
        """
        self._check_options()
        frame = cleared(self._frame(X, reset=True), self.missing_codes)[0]
        w = np.ones(len(frame))
        if sample_weight is not None:
            w = weights_of(pd.Series(row_weights(sample_weight, len(frame)), name="sample_weight"))
            frame, w = frame.iloc[np.flatnonzero(w)], w[w > 0] / w[w > 0].mean(axis=0)
        if len(frame) == 1:
            raise DataError("the table has 1 sample (one row), so every column is constant; needed are more rows.")
        coded_columns = self.missing_codes if isinstance(self.missing_codes, Mapping) else ()
        for argument, named in {"exclude": self.exclude, "keep": self.keep, "missing_codes": coded_columns}.items():
            if absent := [name for name in named if name not in frame.columns]:
                raise DataError(no_such_column(absent[0], frame.columns, f"{argument}: the table"))
        kept = [name for name in frame.columns if name not in self.exclude]
        uses = [use_of(frame[name], keep=name in self.keep) for name in kept]
        for use in uses:
            if use.warning:
                warn_caller(f"column {use.name!r}: {use.note}.")
        codes = codes_of(uses, self.missing)
        codes = codes if self.missing == "error" else with_fills(codes, frame, w)
        values = encode(codes, frame)
        mean = (w[:, None] * values).mean(axis=0)
        deviation = np.sqrt((w[:, None] * (values - mean) ** 2).mean(axis=0))
        scale = np.where(deviation <= 1e-12 * np.hypot(mean, deviation), 1.0, deviation)
        return self._learnt(uses, codes, mean, scale)

    def transform(self, X) -> pd.DataFrame:
        """The features (n, d) of some rows, with their index; X has at least the columns that are used."""
        check_is_fitted(self)
        frame = cleared(self._frame(X, reset=False), self.missing_codes)[0]
        for code in self.codes_:
            if code.name not in frame.columns:
                raise DataError(no_such_column(code.name, frame.columns, "the table to be transformed"))
        values = (encode(self.codes_, frame, unknown=self.unknown) - self.mean_) / self.scale_
        return pd.DataFrame(values, index=frame.index, columns=self.get_feature_names_out())

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the features, such as ``age``, ``job=clerk`` and ``income missing``."""
        check_is_fitted(self)
        seen = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        if input_features is not None and list(input_features) != list(seen):
            raise DataError("input_features is not equal to feature_names_in_, the columns that fit saw.")
        return np.array([name for code in self.codes_ for name in code.features], dtype=object)

    def _learnt(self, uses, codes, mean: np.ndarray, scale: np.ndarray, columns=None) -> "TableEncoder":
        """Take over what was found elsewhere, in place of ``fit``; ``columns`` are those of the table."""
        if columns is not None:
            self.feature_names_in_, self.n_features_in_ = np.array(columns, dtype=object), len(columns)
        self.uses_, self.codes_ = tuple(uses), tuple(codes)
        self.mean_ = mean if self.standardize else np.zeros(len(mean))
        self.scale_ = scale if self.standardize else np.ones(len(mean))
        return self

    def _frame(self, X, *, reset: bool) -> pd.DataFrame:
        """X as a data frame whose columns have text as names; arrays of numbers get x0, x1, ..."""
        if sparse.issparse(X):
            raise FeatureTypeError("X is sparse, but a table of named columns is dense. Pass a data frame.")
        frame = X.to_pandas() if hasattr(X, "to_pandas") else X
        if not isinstance(frame, pd.DataFrame):
            X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=1)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).infer_objects()
        if not len(frame) or not frame.shape[1]:
            raise DataError(f"Found array with {len(frame)} sample(s) and {frame.shape[1]} feature(s); needed is 1.")
        if reset:
            validate_data(self, frame, skip_check_array=True)
        return frame.set_axis([str(name) for name in frame.columns], axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


# -- what a column becomes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes features."""

    name: str
    used: str  # number, 0/1, days, categories or order
    categories: tuple[str, ...] = ()  # two of them become one feature, more one each; in order they are one number
    fill: float | str | None = None  # takes the place of a missing cell; None if it is refused
    indicator: bool = False  # whether a feature says that the cell was missing

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the column becomes."""
        first = len(self.categories) if self.used == "order" else len(self.categories) == 2
        names = tuple(f"{self.name}={category}" for category in self.categories[first:]) or (self.name,)
        return (*names, f"{self.name} missing") if self.indicator else names


def codes_of(uses: Iterable[ColumnUse], missing: str) -> tuple[ColumnCode, ...]:
    """The codes of the columns that are used; ``DataError`` if none is left, one is infinite, or names collide."""
    uses = list(uses)
    _require_finite({use.name: use.infinite for use in uses})
    used, says = [use for use in uses if use.used != "left out"], missing == "indicator"
    codes = tuple(ColumnCode(use.name, use.used, use.categories, None, says and use.missing > 0) for use in used)
    if not codes:
        reasons = first_few(f"{use.name!r} ({use.note})" for use in uses)
        raise DataError(f"no column is left to be a feature. Left out: {reasons or 'every column, on request'}.")
    names = [name for code in codes for name in code.features]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns would both give a feature {twice!r}. Rename one of the columns.")
    return codes


def encode(codes: Iterable[ColumnCode], frame: pd.DataFrame, *, row: int = 0, unknown: str = "error") -> np.ndarray:
    """The features (n, d) of some rows, in the units of the table; ``row`` counts the rows before them."""
    codes = tuple(codes)
    X = np.zeros((len(frame), sum(len(code.features) for code in codes)))
    at, missing, infinite = 0, {}, {}
    for code in codes:
        part = X[:, at : at + len(code.features)]
        at += part.shape[1]
        if code.categories:
            empty = _put_category(part, code, frame[code.name], row, unknown)
        else:
            part[:, 0] = values = numbers(code.used, frame[code.name], row)
            empty = np.flatnonzero(np.isnan(values))
            infinite[code.name] = int(np.isinf(values).sum(axis=0))
            part[empty, 0] = 0.0 if code.fill is None else code.fill
        if len(empty) and code.fill is None:
            missing[code.name] = len(empty)
        if code.indicator:
            part[empty, -1] = 1.0
    _require_finite(infinite)
    if missing:
        raise DataError(
            f"missing values (NaN or empty) in {listed(missing)} of {len(frame):,} rows. Drop these rows first, or fit "
            "with missing='mean' or missing='indicator'."
        )
    return X


def _put_category(part: np.ndarray, code: ColumnCode, series: pd.Series, row: int, unknown: str) -> np.ndarray:
    """Fill the features of a category in; returns the rows whose cells are missing."""
    cells, distinct = coded(series)
    position = {category: j for j, category in enumerate(code.categories)}
    at = np.array([position.get(text, -2) for text in distinct] + [position.get(code.fill, -1)])[cells]
    strange = np.flatnonzero(at == -2)
    if len(strange) and unknown == "error":
        found = distinct[cells[strange[0]]]
        raise DataError(
            f"column {code.name!r} has {found!r} in row {row + strange[0] + 1:,}, which did not occur when the encoder "
            f"was fitted; it knows {first_few(map(repr, code.categories))}. Correct the cell, or set unknown='zero' to "
            "give it none of these."
        )
    if code.used == "order" or len(code.categories) == 2:
        part[:, 0] = np.maximum(at, 0)
    else:
        rows = np.flatnonzero(at >= 0)
        part[rows, at[rows]] = 1.0
    return np.flatnonzero(cells < 0)


def with_fills(codes: tuple[ColumnCode, ...], frame: pd.DataFrame, w: np.ndarray) -> tuple[ColumnCode, ...]:
    """The codes with the mean of each column of numbers and the most frequent value of each category in some rows.

    Rows count by their weights w (n,).
    """
    filled = []
    for code in codes:
        if frame[code.name].isna().all():
            raise DataError(f"column {code.name!r} has no value in the rows that are fitted. Leave it out (exclude).")
        if code.categories:
            cells, words = coded(frame[code.name])
            counts = pd.Series(np.bincount(cells[cells >= 0], w[cells >= 0], len(words)), index=words)
            fill = counts.reindex(code.categories, fill_value=0).idxmax()
        else:
            values = numbers(code.used, frame[code.name])
            fill = float(np.nansum(w * values) / w[~np.isnan(values)].sum(axis=0))
        filled.append(replace(code, fill=fill))
    return tuple(filled)


def _require_finite(infinite: Mapping[str, int]) -> None:
    if found := {name: count for name, count in infinite.items() if count}:
        raise DataError(
            f"infinite values in {listed(found)}. Needed are finite numbers, below 1.8e308: correct the cells, leave "
            "them empty, or leave the columns out (exclude)."
        )
