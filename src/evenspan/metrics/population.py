r"""Bounds on the gaps that a fitted map leaves in the population: from counts and moments, without the rows.

What a method makes equal, it makes equal on its sample. In the population that the rows were drawn from, means and
errors differ from those of the sample by noise, of which the moments tell the size. Both bounds have the form

.. math:: \text{gap of the population} \;\le\; \max_{g < h} \big( \text{gap}_{gh} + t_{\nu,\,1 - \alpha / 2P} \, s_{gh}
          \big) , \qquad s_{gh}^2 = s_g^2 + s_h^2 ,

with a squared standard error s_g^2 of each group, the P pairs of G groups sharing the risk :math:`\alpha`, and Welch's
degrees of freedom :math:`\nu`. They hold with probability :math:`1 - \alpha` as the groups grow.

**Means.** With A (d, k) the map to coordinates and :math:`\delta` the error of the difference of two sample means,

.. math:: \lVert A^\top (\mu_g - \mu_h) \rVert \le \lVert A^\top (m_g - m_h) \rVert + \lVert A^\top \delta \rVert ,
          \qquad A^\top \delta \approx \mathcal N \big( 0, \; A^\top (C_g / n_g + C_h / n_h) A \big) .

Its squared length is a sum of chi-squares weighted by eigenvalues of that matrix, whose trace is
:math:`s_{gh}^2`. Of all weights with this sum, one alone makes the upper tail heaviest (Székely and Bakirov, for a
square above 1.54 times the sum): the quantile of one normal number of variance :math:`s_{gh}^2` is enough for any
spectrum. That A was fitted to the same rows changes :math:`A^\top \delta` in second order only. The first term alone,
which is 0 for a method that matches means, is no bound.

**Errors.** The error of a group is a mean over its rows, so its variance takes fourth moments. Moments in blocks have
them: given the counts :math:`n_{bg}`, the errors :math:`e_{bg}` of the m blocks with rows of group g are means of
independent rows, and

.. math:: s_g^2 = \frac{1}{(m - 1) \, n_g} \sum_b n_{bg} (e_{bg} - e_g)^2

is the squared standard error of :math:`e_g` without bias, for any distribution. A map is better on the rows that it was
fitted to than on others. Therefore the fit is repeated without each fold of blocks, and judged on that fold.

References
----------
G. J. Székely and N. K. Bakirov (2003), Extremal probabilities for Gaussian quadratic forms.
B. L. Welch (1947), The generalization of 'Student's' problem when several different population variances are involved.
R. R. Bahadur and L. J. Savage (1956), The nonexistence of certain statistical procedures in nonparametric problems.
"""

import warnings

import numpy as np
from scipy.spatial.distance import pdist
from scipy.special import stdtrit
from sklearn.base import clone

from ..core.errors import ConfigurationError, FairWarning, GroupError
from ..core.groups import label_text
from ..core.moments import GroupMoments
from ..core.options import whole
from .bootstrap import BLOCK, block_sums, cells_of, resampled
from .linear_map import encoder, linear_map


def mean_gap_bound(moments: GroupMoments, fitted, *, level: float = 0.95, attribute: str | None = None) -> float:
    r"""What the largest distance between two group means after the map is at most in the population, at a level.

    .. math:: \max_{g < h} \Big( \lVert A^\top (m_g - m_h) \rVert + t_{\nu,\,1 - \alpha / 2P} \sqrt{s_g^2 + s_h^2}
              \Big) , \qquad s_g^2 = \operatorname{tr} A^\top S_g A \, / \, (n_g (n_g - 1))

    Parameters
    ----------
    moments : GroupMoments
        Of the rows that the map was fitted to, or of others.
    fitted : fitted linear estimator, FairSubspace or LinearMap
        The map; A takes centred rows to its coordinates.
    level : float
        :math:`1 - \alpha`, at least 0.8.
    attribute : str, optional
        Which attribute makes the groups; each combination of all but "block" unless given.

    Returns
    -------
    float
        In the units of the map, as ``mean_gap``.

    Guarantees
    ----------
    At least the level as groups grow, for rows drawn independently, any distribution with variances, and directions
    that settle. Counts have to be numbers of rows, not other weights. How often it held on tables that are known whole,
    and how loose it was, is in the book (*Gaps on new rows*).

    Complexity
    ----------
    O(G d^2 k), no row is read.

    Examples
    --------
    >>> from evenspan import FairPCA
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(600, 4)), np.repeat(["a", "b"], [400, 200])
    >>> moments = GroupMoments.from_data(X + (groups == "a")[:, None], groups)
    >>> fitted = FairPCA(2).fit_moments(moments)  # its gap on these rows is 0
    >>> bool(0.1 < mean_gap_bound(moments, fitted) < 0.4)
    True
    """
    names = [name for name in moments.attributes if name != BLOCK] if attribute is None else [attribute]
    seen = moments.marginal(*names)
    _require_several(seen.labels, seen.counts, "rows")
    seen = seen.project(encoder(linear_map(fitted)))
    squared = np.trace(seen.scatters, axis1=1, axis2=2) / (seen.counts * (seen.counts - 1.0))
    return largest_at_most(pdist(seen.means), squared, seen.counts - 1.0, level)


def error_gap_bound(
    moments: GroupMoments, fitted, *, level: float = 0.95, attribute: str | None = None, folds: int | None = 5
) -> float:
    r"""What the largest difference between two group errors is at most in the population, at a level.

    .. math:: \max_{g < h} \Big( \lvert e_g - e_h \rvert + t_{\nu,\,1 - \alpha / 2P} \sqrt{s_g^2 + s_h^2} \Big) ,
              \qquad s_g^2 = \frac{1}{(m_g - 1) \, n_g} \sum_b n_{bg} (e_{bg} - e_g)^2

    Parameters
    ----------
    moments : GroupMoments
        With the attribute "block", which ``assign_blocks`` deals, and at least one more.
    fitted : fitted linear estimator, FairSubspace or LinearMap
        The map. With ``folds`` an estimator with ``fit_moments``, whose settings are used again.
    level, attribute
        As in ``mean_gap_bound``.
    folds : int or None
        Where the moments are of the rows that the map was fitted to: the fit is repeated without each of so many folds
        of blocks, and every block is judged under the map that did not see it. None for moments of other rows.

    Returns
    -------
    float
        In squared units of the map, as ``error_gap``.

    Guarantees
    ----------
    At least the level as blocks and groups grow, for rows drawn independently and errors with a variance. It does *not*
    hold where a few rows carry much of a group's error: rare categories in units of their standard deviation, counts
    with heavy tails. A sample without such a row cannot tell of it, and no bound that holds for all distributions is of
    any use (Bahadur and Savage). How often it held, table by table, is in the book (*Gaps on new rows*).

    Complexity
    ----------
    One fit and O(m G d^2 k) for each fold.

    Examples
    --------
    >>> import pandas as pd
    >>> from evenspan import StandardPCA
    >>> from evenspan.metrics import assign_blocks
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], 300)
    >>> X = rng.normal(size=(600, 4)) * np.where(sex == "f", 1.0, 1.5)[:, None]
    >>> moments = GroupMoments.from_data(X, pd.DataFrame({"block": assign_blocks(600, 50, 0), "sex": sex}))
    >>> fitted = StandardPCA(2).fit_moments(moments.marginal("sex"))
    >>> bool(2.5 < error_gap_bound(moments, fitted) < 4)  # the population's is 2 * (1.5**2 - 1) = 2.5
    True
    """
    if folds is None:
        sums = block_sums(moments, linear_map(fitted), attribute)
        return bound_of_blocks(sums.labels, sums.counts, sums.errors, level)
    if not hasattr(fitted, "fit_moments"):
        raise ConfigurationError(
            f"folds={folds} repeats the fit, and a {type(fitted).__name__} cannot be fitted. Pass the estimator, or "
            "folds=None with moments of rows that it was not fitted to."
        )
    labels, block, _ = cells_of(moments, attribute)
    m, folds = int(block.max(axis=0)) + 1, whole(2).require("folds", folds)
    if folds > m:
        raise ConfigurationError(f"folds={folds} of {m} blocks; needed is a block for each fold at least.")
    errors, again = np.empty((m, len(labels))), clone(fitted)
    others = np.not_equal.outer(np.arange(folds), np.arange(m) % folds).astype(float)  # the blocks of each fit
    for fold, part in enumerate(resampled(moments, others, attribute)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairWarning)  # what the fit to all rows has said already
            sums = block_sums(moments, linear_map(again.fit_moments(part)), attribute)
        errors[fold::folds] = sums.errors[fold::folds]
    return bound_of_blocks(labels, sums.counts, errors, level)


def bound_of_blocks(labels: np.ndarray, counts: np.ndarray, errors: np.ndarray, level: float) -> float:
    """The bound for groups with these rows (m, G) and sums of squared residuals (m, G) in m blocks."""
    _require_several(labels, (counts > 0).sum(axis=0), "blocks")
    n, degrees = counts.sum(axis=0), (counts > 0).sum(axis=0) - 1.0
    means = errors.sum(axis=0) / n
    apart = errors - counts * means  # n_bg (e_bg - e_g)
    squares = np.divide(apart**2, counts, out=np.zeros_like(apart), where=counts > 0)
    return largest_at_most(pdist(means[:, None]), squares.sum(axis=0) / (degrees * n), degrees, level)


def largest_at_most(gaps: np.ndarray, squared: np.ndarray, degrees: np.ndarray, level: float) -> float:
    """The largest of the gaps (P,) of all pairs plus its margin; squared standard errors (G,) with their degrees (G,).

    0 for a single group.
    """
    if not 0.8 <= level < 1.0:
        raise ConfigurationError(f"level={level!r}; needed is at least 0.8 and below 1, for instance 0.95.")
    g, h = np.triu_indices(len(squared), 1)
    both, parts = squared[g] + squared[h], squared**2 / degrees
    # Welch: as many degrees as a variance estimated from both groups has; what has no noise has any.
    nu = np.divide(both**2, parts[g] + parts[h], out=np.ones_like(both), where=both > 0)
    risk = (1.0 - level) / max(len(g), 1)
    return float((gaps + stdtrit(nu, 1.0 - risk / 2.0) * np.sqrt(both)).max(initial=0.0))


def _require_several(labels: np.ndarray, counts: np.ndarray, what: str) -> None:
    if (counts < 2).any():
        first = int(np.argmin(counts, axis=0))
        raise GroupError(
            f"group {label_text(labels[first])!r} has {counts[first]:g} of the {what}; needed are 2, or nothing tells "
            "how far chance moves it. Merge it with another group, or leave it out."
        )
