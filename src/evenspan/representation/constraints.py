"""What equal group means ask of a direction: the constraints, and the space in which they hold."""

from numbers import Integral

import numpy as np
import pandas as pd
from scipy import sparse

from ..core.accumulator import BLOCK_ENTRIES, row_weights
from ..core.answer import Certificate, ky_fan_certificate
from ..core.errors import ConfigurationError, DataError, FeatureTypeError, GroupError, SingleGroupWarning
from ..core.groups import encode_groups, label_text
from ..core.inputs import in_pandas, row_blocks, warn_caller
from ..core.linalg import complement, top_eigenspace
from ..core.moments import GroupMoments


def require_groups(labels: np.ndarray, on_single_group: str, consequence: str) -> None:
    """GroupError, or a warning, when an attribute takes one value only; ``consequence`` says what follows from it."""
    for attribute in labels.dtype.names or ("group",):
        values = np.unique(labels[attribute] if labels.dtype.names else labels)
        if len(values) == 1:
            seen = f"attribute {attribute!r} has one group only ({label_text(values[0])!r}, one class): {consequence}"
            if on_single_group == "raise":
                raise GroupError(f"{seen}. Pass at least two groups, or set on_single_group='warn'.")
            warn_caller(f"{seen}.", SingleGroupWarning)


def codes_by_attribute(labels: np.ndarray, codes: np.ndarray, attributes: str) -> list[np.ndarray]:
    """The group of each row (n,), from 0: for each attribute by itself, or one for the combinations of their values."""
    if labels.dtype.names is None or attributes == "intersection":
        return [codes]
    return [np.unique(labels[name], return_inverse=True)[1][codes] for name in labels.dtype.names]


def mean_constraints(moments: GroupMoments) -> np.ndarray:
    """The columns c of the constraint c'U = 0, one for each group of each attribute, shape (d, sum of group counts).

    The column of group g is X'z with z its centred indicator, which the moments give as n_g (m_g - m). It is divided
    by the length of z, so that small groups weigh as much as large ones when the rank is decided.
    """
    columns = []
    for attribute in moments.attributes:
        groups = moments.marginal(attribute)
        lengths = np.sqrt(groups.counts * (1.0 - groups.counts / groups.n))
        gaps = groups.counts[:, None] * (groups.means - groups.mean)
        # A group that holds all rows has length 0, and gap 0.
        columns.append((gaps / np.where(lengths > 0, lengths, 1.0)[:, None]).T)
    return np.hstack(columns)


def fair_basis(constraints: np.ndarray, size: float) -> np.ndarray:
    """Orthonormal basis R (d, d - r) of all directions u with ``constraints.T @ u = 0``.

    ``size`` is the Frobenius norm of X. A column shorter than 1e-12 times that is rounding noise of equal means,
    and must not remove a direction.
    """
    return complement(constraints, atol=1e-12 * size)


def best_inside(
    S: np.ndarray, basis: np.ndarray, k: int, problem: str, constraints: np.ndarray, size: float = 1.0
) -> tuple[np.ndarray, Certificate]:
    """The k directions V of largest V'SV in the span of an orthonormal basis (d, r), certified inside that span."""
    H = basis.T @ S @ basis
    _, A = top_eigenspace(H, k)
    V = basis @ A
    residual = float(np.abs(constraints.T @ V).max(initial=0.0)) / size
    return V, ky_fan_certificate(H, A, problem, residual)


def split_attributes(sensitive_features, numeric_attributes) -> tuple:
    """The group columns of ``sensitive_features`` (None where there are none) and its numeric columns (n, q)."""
    if not len(numeric_attributes):
        return sensitive_features, None
    table = pd.DataFrame(in_pandas(sensitive_features))
    by_position = dict(enumerate(table.columns))
    numeric_attributes = [numeric_attributes] if isinstance(numeric_attributes, str) else numeric_attributes
    names = [by_position.get(name, name) if isinstance(name, Integral) else name for name in numeric_attributes]
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ConfigurationError(
            f"numeric_attributes names {missing}, but sensitive_features has the columns {list(table.columns)}. Name "
            "one of those, or give its position."
        )
    try:
        quantities = table[names].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise FeatureTypeError(
            f"numeric attribute(s) {names} are not numeric: {error}. Leave groups out of numeric_attributes."
        ) from error
    rest = table.drop(columns=names)
    return (rest if rest.shape[1] else np.full(len(table), "all")), quantities


def centred_columns(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each column the z (n,) with the constraint X'z: less its mean, of length one, times the weights; or zero."""
    if not np.isfinite(columns).all():
        raise DataError(
            "a numeric attribute, or the target to keep, holds NaN or infinite values. Drop those rows or impute them."
        )
    Z = columns - np.average(columns, axis=0, weights=weights)
    # Once more: what rounding left of the mean of large values would be multiplied by the mean of X.
    Z -= np.average(Z, axis=0, weights=weights)
    lengths = np.sqrt(weights @ Z**2)
    constant = lengths <= 1e-12 * np.sqrt(weights @ columns**2)
    Z *= weights[:, None] * np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, lengths))
    return Z


def quantity_constraints(X, quantities: np.ndarray | None, weights: np.ndarray | None) -> np.ndarray | None:
    """The columns X'z for each numeric attribute z, centred and of unit length, shape (d, q); 0 for a constant z."""
    if quantities is None:
        return None
    weights = np.ones(len(quantities)) if weights is None else np.asarray(in_pandas(weights), dtype=np.float64)
    Z = centred_columns(quantities, weights)
    if sparse.issparse(X):
        return X.T @ Z
    n, d, rows = row_blocks(X)
    step = max(BLOCK_ENTRIES // d, 256)
    return sum(np.asarray(rows(a, a + step), dtype=np.float64).T @ Z[a : a + step] for a in range(0, n, step))


def _target(y, option: str, n: int, ndim: int = 1) -> np.ndarray:
    y = None if y is None else np.asarray(in_pandas(y))
    if y is None or len(y) != n or y.ndim > ndim or pd.isna(y).any():
        seen = "there is none" if y is None else f"it has shape {y.shape}, {int(pd.isna(y).sum(axis=None))} missing"
        raise DataError(
            f"{option} needs the target, and {seen}; needed is fit(X, y, sensitive_features=...) with y of shape "
            f"({n},){' or (n, s)' if ndim == 2 else ''}, as many as X has rows, and none missing."
        )
    return y


def target_columns(y, keep: str | None, n: int) -> np.ndarray | None:
    """The columns (n, s) whose covariance is to be kept: of numbers themselves, or an indicator of each class of y."""
    if keep is None:
        return None
    y = _target(y, f"keep={keep!r}", n, 2 if keep == "values" else 1)
    if keep == "classes":
        return pd.get_dummies(pd.Series(y)).to_numpy(dtype=np.float64)
    try:
        return y.astype(np.float64).reshape(n, -1)
    except (TypeError, ValueError) as error:
        raise DataError(f"keep='values' and y is not numeric: {error}. Set keep='classes'.") from error


def favourable_rows(y, positive_label, groups, n: int, attributes: str, sample_weight=None) -> tuple:
    """Groups and row weights for equal opportunity: weight 0 for all rows but those with ``y == positive_label``."""
    y = _target(y, "criterion='equal_opportunity'", n)
    favourable = y == positive_label
    if not favourable.any():
        raise DataError(
            f"no row has y == {positive_label!r}; y takes the values {np.unique(y)[:5].tolist()}. "
            "Set positive_label to the favourable one."
        )
    labels, codes = encode_groups(groups, n)
    occupied = np.bincount(codes[favourable], minlength=len(labels)) > 0
    for part in codes_by_attribute(labels, np.arange(len(labels)), attributes):
        without = (np.bincount(part, weights=occupied) == 0)[part]
        if without.any():
            raise GroupError(
                f"group {label_text(labels[without][0])!r} has no row with y == {positive_label!r}, so its mean among "
                "those does not exist. Merge or drop the group."
            )
    # Rows of a combination without favourable rows carry no weight, so that it does not matter which label they get;
    # under their own, the combination would be a group of total weight zero.
    codes = np.where(occupied, np.arange(len(labels)), np.argmax(occupied))[codes]
    weights = row_weights(sample_weight, n)
    return labels[codes], favourable.astype(np.float64) * (1.0 if weights is None else weights)
