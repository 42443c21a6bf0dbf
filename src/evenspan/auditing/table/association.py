"""How much one column says about the group of a row, on a scale from 0 (nothing) to 1 (everything)."""

import numpy as np
from scipy.stats import rankdata

#: From this association with a sensitive column on, a column is flagged as its proxy.
PROXY = 0.6
#: Numbers of at most so many different values may be codes: they are also compared as categories.
FEW_VALUES = 20


def association(values: np.ndarray, groups: np.ndarray, *, category: bool) -> tuple[str, float]:
    r"""The measure that fits, and its value.

    Categories: Cramér's V, corrected for what chance gives. Numbers and two groups: :math:`|2\,\mathrm{AUC} - 1|`.
    Numbers and more groups: eta, the root of the share of variance between the groups, corrected for chance. Numbers of
    few different values are also taken as categories, and the larger of the two is reported.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers, or codes of categories.
    groups : ndarray of shape (n,)
        Codes of the groups.
    category : bool
        Whether the values are codes of categories.

    Returns
    -------
    measure : str
        Its name; empty if nothing can be said: one group, one value or fewer than three rows.
    value : float
        From 0 to 1; NaN if nothing can be said.
    """
    if len(values) < 3 or len(np.unique(groups)) < 2 or len(distinct := np.unique(values)) < 2:
        return "", float("nan")
    few = [("Cramér's V", cramers_v(values, groups))] if category or len(distinct) <= FEW_VALUES else []
    if category:
        return few[0]
    two = len(np.unique(groups)) == 2
    return max(
        [("|2 AUC - 1|", gini(values, groups)) if two else ("eta", eta(values, groups)), *few], key=lambda m: m[1]
    )


def cramers_v(values: np.ndarray, groups: np.ndarray) -> float:
    r"""Cramér's V with the correction of Bergsma: 0 on average, up to the cut at 0, when the two are independent.

    .. math:: V^2 = \frac{\max(0,\ \chi^2 / n - (r - 1)(c - 1) / (n - 1))}{\min(\tilde r - 1, \tilde c - 1)},
              \qquad \tilde r = r - \frac{(r - 1)^2}{n - 1}

    References
    ----------
    W. Bergsma (2013), A bias-correction for Cramér's V and Tschuprow's T, eqs. (5) and (6).
    """
    _, a = np.unique(values, return_inverse=True)
    _, b = np.unique(groups, return_inverse=True)
    r, c, n = a.max() + 1, b.max() + 1, len(a)
    table = np.bincount(a * c + b, minlength=r * c).reshape(r, c)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    chi = float(((table - expected) ** 2 / expected).sum(axis=None))
    square = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(square / smaller))) if smaller > 0 else 0.0


def gini(values: np.ndarray, groups: np.ndarray) -> float:
    r"""``|2 AUC - 1|``: 0 if the values of the two groups are mixed, 1 if all of one lie above all of the other."""
    first = groups == np.unique(groups)[0]
    n, m = int(first.sum(axis=0)), int((~first).sum(axis=0))
    area = (rankdata(values)[first].sum(axis=0) - n * (n + 1) / 2) / (n * m)
    return float(abs(2 * area - 1))


def eta(values: np.ndarray, groups: np.ndarray) -> float:
    """Root of the share of variance between the groups, less what chance gives (Kelley's epsilon squared)."""
    _, codes = np.unique(groups, return_inverse=True)
    counts, n = np.bincount(codes), len(values)
    centred = values - values.mean(axis=0)
    means = np.bincount(codes, weights=centred) / counts
    within = float(((centred - means[codes]) ** 2).sum(axis=0))
    total = float((centred**2).sum(axis=0))
    if n <= len(counts) or total == 0:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - within / (n - len(counts)) / (total / (n - 1)))))
