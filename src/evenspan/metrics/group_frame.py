"""GroupFrame: metrics of a representation by group, as fairlearn's MetricFrame has them of predictions."""

from . import group_values
from .bootstrap import generator, quantiles
from .group_input import column_layout, input_moments, named_answers, named_metrics, resampling_options
from .group_results import GroupResults
from .group_values import Column, groups_of, regrouped

DEFAULT = ("error", "loss", "explained variance", "mean distance")


class GroupFrame(GroupResults):
    r"""Metrics of one or several fitted representations, for every group and for all rows.

    What fairlearn's ``MetricFrame`` is for predictions, without a target: names and meanings of the members are the
    same, the differences are listed under Notes. Everything is computed from group moments, so that rows are needed
    once at most. The named metrics, with c the point that the map subtracts and k its components:

    - ``"error"``: mean squared distance between a row and its reconstruction,
      :math:`e_g = \frac1{n_g} \sum_{i \in g} \lVert x_i - \hat x_i \rVert^2`;
    - ``"loss"``: the error less the smallest that k directions through c could have for the group on the same rows;
    - ``"relative error"``: the error over the mean squared distance of the group's rows from c;
    - ``"explained variance"``: share kept of the group's variance about its own mean;
    - ``"mean distance"``: length of the mean of the group's coordinates, its distance from c in the representation;
    - ``"count"``: rows, or the sum of their weights.

    Parameters
    ----------
    estimator : fitted linear estimator, FairSubspace, or dict of them
        What is judged; a dict judges several side by side, under its keys.
    X : array-like or DataFrame of shape (n, d), optional
        Rows to judge on. Either these or ``moments``.
    moments : GroupMoments, optional
        Moments of the rows to judge on. For intervals they have the attribute "block", made by ``assign_blocks``.
    sensitive_features : array-like, Series, DataFrame, dict of arrays; or str, list of str
        With X: the groups of the rows; each combination of several columns that occurs is a group. With moments: which
        of their attributes make the groups, all that are not used otherwise unless given.
    control_features : like sensitive_features, optional
        Groups are compared within each combination of these, never across.
    sample_weight : array-like of shape (n,), optional
        Frequency weights, with X only.
    metrics : str, callable, sequence or dict of them
        Names from above, or functions ``metric(moments of one group, subspace) -> float``; all rows together are given
        to them as one group as well. For LEACE, which does not project, ``subspace`` is a map with ``V``, ``B`` and
        ``mean``.
    n_boot : int, optional
        Samples drawn for intervals; goes with ``ci_quantiles``.
    ci_quantiles : sequence of float, optional
        Quantiles of the samples to return, each between 0 and 1: ``[0.025, 0.975]`` for intervals of 95 per cent.
    n_blocks : int, optional
        Blocks that the rows of X are dealt to. Unless given 100, or as many as there are rows, or fewer, down to 20,
        where moments in so many blocks would take more than 256 MB.
    random_state : None, int or Generator
        Seed of the blocks and the samples.

    Guarantees
    ----------
    ``by_group["error"]`` is ``metrics.group_errors`` of the same moments. Intervals are percentiles over samples of
    blocks of rows (``metrics.bootstrap``): they say how the numbers vary with the rows judged on, for the map as it was
    fitted, and nothing about another fit.

    Complexity
    ----------
    Moments of n rows: O(n d^2). A sample of m blocks: O(m G k) for "error", "mean distance" and "count", and O(m G d^2)
    plus the metrics for others; "loss" solves an eigenvalue problem for each group in each sample.

    Notes
    -----
    Different from ``MetricFrame`` of fairlearn 0.15: there is no target; metrics see moments and return one number,
    so there is no ``errors`` argument; combinations of attributes that do not occur have no row instead of nan; an
    attribute without a name is called ``group``, as elsewhere here; a group that is absent from more than one sample in
    twenty is an error, not a quantile of the rest; blocks of rows are drawn instead of rows. A difference between
    groups is never negative, so its interval does not contain 0 even where the groups do not differ.

    References
    ----------
    H. Weerts et al. (2023), Fairlearn: Assessing and improving fairness of AI systems.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import StandardPCA
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * np.where(sex == "f", 1.0, 2.0)[:, None]
    >>> frame = GroupFrame(estimator=StandardPCA(2).fit(X), X=X, sensitive_features=sex, metrics="error")
    >>> frame.by_group.round(1)
    group
    f    1.8
    m    6.0
    Name: error, dtype: float64
    >>> round(frame.difference(), 1), round(frame.ratio(), 2)
    (4.3, 0.29)
    """

    def __init__(
        self,
        *,
        estimator,
        X=None,
        moments=None,
        sensitive_features=None,
        control_features=None,
        sample_weight=None,
        metrics=DEFAULT,
        n_boot=None,
        ci_quantiles=None,
        n_blocks=None,
        random_state=None,
    ):
        self._n_boot, self._ci_quantiles = resampling_options(n_boot, ci_quantiles)
        self._answers, self._metrics = named_answers(estimator), named_metrics(metrics)
        self._layout = column_layout(estimator, metrics)
        rng = generator(random_state)
        blocked, control, sensitive = input_moments(
            X, moments, sensitive_features, control_features, sample_weight,
            fitted=estimator, blocks=None if self._n_boot is None else (n_blocks, rng),
        )  # fmt: skip
        self._control, self._sensitive = control, sensitive
        cells = regrouped(blocked, (*control, *sensitive))
        self._groups = groups_of(cells, control)
        self._columns = [
            Column(name, metric, answer) for answer in self._answers.values() for name, metric in self._metrics.items()
        ]
        self._by_group, self._overall = group_values.values(cells, self._groups, self._columns)
        if self._n_boot is not None:
            samples = group_values.sampled(blocked, self._groups, self._columns, self._n_boot, rng)
            self._group_samples, self._overall_samples = samples
            # At once: a group in too few blocks is told here, not when the intervals are asked for.
            self._by_group_ci = quantiles(self._group_samples, self._ci_quantiles, self._groups.labels)
