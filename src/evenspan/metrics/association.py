"""How much one column says about another: Cramér's V of categories, and of numbers in bins."""

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from .prediction import effective_size

#: Numbers of more different values than these are compared as bins.
BINS = 20


def binned(values: np.ndarray) -> np.ndarray:
    """Numbers (n,) as codes: of each value where these are few (they may be codes), else of bins of equal frequency."""
    if len(pd.unique(values[~np.isnan(values)])) <= BINS:
        return pd.factorize(values)[0]
    return pd.qcut(pd.Series(values), BINS, labels=False, duplicates="drop").fillna(-1).to_numpy(dtype=int)


def cramers_v(values: np.ndarray, groups: np.ndarray, weight: np.ndarray | None = None) -> float:
    r"""Cramér's V with the correction of Bergsma: 0 on average, up to the cut at 0, when the two are independent.

    It goes to 1, where one code (n,) determines the other; codes below 0 are missing, and NaN is said of one value.

    With weights (n,) of the rows, n is the effective size (:func:`.prediction.effective_size`).

    .. math:: V^2 = \frac{\max(0,\ \chi^2 / n - (r - 1)(c - 1) / (n - 1))}{\min(\tilde r - 1, \tilde c - 1)},
              \qquad \tilde r = r - \frac{(r - 1)^2}{n - 1}

    References
    ----------
    W. Bergsma (2013), A bias-correction for Cramér's V and Tschuprow's T, eqs. (5) and (6).
    """
    known = values >= 0
    weight = (np.ones(len(values)) if weight is None else weight)[known]
    (rows, i), (columns, j) = (np.unique(codes[known], return_inverse=True) for codes in (values, groups))
    table, n = np.zeros((len(rows), len(columns))), effective_size(weight)
    np.add.at(table, (i, j), weight)
    table *= n / max(table.sum(axis=None), np.finfo(float).tiny)
    r, c = table.shape
    if min(r, c) < 2:
        return float("nan")
    chi = chi2_contingency(table, correction=False).statistic
    square = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(square / smaller))) if smaller > 0 else 0.0
