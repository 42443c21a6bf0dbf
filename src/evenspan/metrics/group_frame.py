"""GroupFrame: metrics of a representation by group, as fairlearn's MetricFrame has them of predictions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, GroupError
from ..core.groups import attribute_columns, positions
from ..core.inputs import first_few, length, require_generator, warn_of_order
from ..core.moments import GroupMoments
from ..core.options import one_of, whole
from .bootstrap import BLOCK, assign_blocks, block_sums, multiplicities, quantiles, resampled
from .linear_map import GROUP_METRICS, linear_map, one_group

DEFAULT = ("error", "loss", "explained variance", "mean distance")
#: Named metrics that are functions of sums over blocks, so that a sample needs no moments.
SUMMED = ("error", "mean distance", "count")
Compare = Literal["between_groups", "to_overall"]


class GroupFrame:
    r"""Metrics of one or several fitted representations, for every group and for all rows, from group moments.

    Its members mean what they mean in fairlearn's ``MetricFrame`` (see Notes). The named metrics, with c the point that
    the map subtracts and k its components:

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
    X : array-like, DataFrame or sparse matrix of shape (n, d), optional
        Rows to judge on. Either these or ``moments``.
    moments : GroupMoments, optional
        Moments of the rows to judge on. For intervals they have the attribute "block", made by ``assign_blocks``.
    sensitive_features : array-like, Series, DataFrame, dict of arrays; or str, list of str
        With X: the groups of the rows; each combination of several columns that occurs is a group. With moments: which
        of their attributes make the groups, all but "block" unless given.
    sample_weight : array-like of shape (n,), optional
        Frequency weights, with X only.
    metrics : str, callable, sequence or dict of them
        Names from above, or functions ``metric(moments of one group, subspace) -> float``, which are given all rows as
        one group as well. For LEACE, which does not project, ``subspace`` is a map with ``V``, ``B`` and ``mean``.
    n_boot : int, optional
        Samples drawn for intervals; goes with ``ci_quantiles``.
    ci_quantiles : sequence of float, optional
        Quantiles of the samples that ``interval`` returns: ``[0.025, 0.975]`` for intervals of 95 per cent.
    n_blocks : int, optional
        Blocks that the rows of X are dealt to. Unless given 100, or as many as there are rows.
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
    Other than ``MetricFrame`` of fairlearn 0.15: there is no target and no control feature; combinations of attributes
    that do not occur have no row; ``interval`` stands for all that end in ``_ci``, draws blocks of rows, and refuses a
    group that is absent from more than one sample in twenty. A difference between groups is never negative: its
    interval does not contain 0 even where the groups do not differ.

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
        sample_weight=None,
        metrics=DEFAULT,
        n_boot=None,
        ci_quantiles=None,
        n_blocks=None,
        random_state=None,
    ):
        shares = [] if ci_quantiles is None else list(ci_quantiles)
        if (n_boot is None) != (not shares) or not all(0 < q < 1 for q in shares):
            raise ConfigurationError(
                f"n_boot={n_boot!r} and ci_quantiles={ci_quantiles!r}; needed are both, with quantiles between 0 and "
                "1, or neither for no intervals."
            )
        maps = estimator if isinstance(estimator, Mapping) else {"": estimator}
        answers, named = {name: linear_map(fitted) for name, fitted in maps.items()}, _named_metrics(metrics)
        self.ci_quantiles, self._layout = ci_quantiles, _layout(estimator, metrics, named)
        blocks = None if n_boot is None else (n_blocks, require_generator(random_state))
        blocked, self.sensitive_levels = input_moments(
            X, moments, sensitive_features, sample_weight, fitted=maps, blocks=blocks
        )
        plain = blocked.labels.dtype.names is None  # one attribute keeps no name
        groups = blocked if plain else blocked.marginal(*self.sensitive_levels)
        self._labels = groups.labels
        columns = [(name, metric, answer) for answer in answers.values() for name, metric in named.items()]
        self._values, self._samples = _values(groups, self._labels, columns), None
        if blocks is not None:
            self._samples = _sampled(blocked, self._labels, columns, whole(1).require("n_boot", n_boot), blocks[1])
            self.interval()  # a group in too few blocks is told here, not when the intervals are asked for

    @property
    def by_group(self) -> pd.DataFrame | pd.Series:
        """Metrics of every group: a Series for a single name or function, else a DataFrame with a column for each."""
        return self._rows(self._values[0])

    @property
    def overall(self) -> pd.Series | float:
        """Metrics of all rows together."""
        return self._row(self._values[1])

    def difference(self, method: Compare = "between_groups") -> pd.Series | float:
        """Largest absolute difference between two groups, or between a group and all rows ("to_overall")."""
        return self._row(_summary("difference", method, *self._values))

    def ratio(self, method: Compare = "between_groups") -> pd.Series | float:
        """Smallest ratio of two groups; or, "to_overall", of a group to all rows or the reverse, which is below 1."""
        return self._row(_summary("ratio", method, *self._values))

    def interval(self, of: str = "by_group", method: Compare = "between_groups") -> list:
        """Quantiles of what the samples give in place of ``by_group``, ``overall``, ``difference()`` or ``ratio()``.

        One entry for each of ``ci_quantiles``, of the form of what it is an interval of.
        """
        if self._samples is None:
            raise ConfigurationError("no samples were drawn. Pass n_boot=1000, ci_quantiles=[0.025, 0.975], say.")
        if of == "by_group":
            return [self._rows(found) for found in quantiles(self._samples[0], self.ci_quantiles, self._labels)]
        found = _summary(of, method, *self._samples)
        return [self._row(one[0]) for one in quantiles(found[:, None], self.ci_quantiles, ["all rows"])]

    def _rows(self, values: np.ndarray) -> pd.DataFrame | pd.Series:
        frame = pd.DataFrame(values, label_index(self._labels, self.sensitive_levels[0]), self._layout)
        return frame.iloc[:, 0] if self._layout.name == "single" else frame

    def _row(self, values: np.ndarray) -> pd.Series | float:
        return float(values[0]) if self._layout.name == "single" else pd.Series(values, index=self._layout)


def label_index(labels: np.ndarray, name: str) -> pd.Index:
    """Labels of groups as the index of a frame: one level for each of several attributes."""
    if labels.dtype.names:
        return pd.MultiIndex.from_tuples(labels.tolist(), names=labels.dtype.names)
    return pd.Index(labels.tolist(), name=name)


# -- values as plain arrays: groups (R, c), all rows (c,), one column for each metric of each map ----------------------


def _summary(of: str, method: Compare, by_group: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """Overall values, largest differences or smallest ratios, (..., c), as fairlearn has them; nan is left out."""
    one_of("overall", "difference", "ratio").require("of", of)
    between = one_of("between_groups", "to_overall").require("method", method) == "between_groups"
    if of == "overall":
        return overall
    most, least, whole = np.fmax.reduce(by_group, axis=-2), np.fmin.reduce(by_group, axis=-2), overall[..., None, :]
    if of == "difference":
        return most - least if between else np.fmax.reduce(np.abs(by_group - whole), axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is nan and x / 0 infinite
        ratios = by_group / whole
        return least / most if between else np.fmin.reduce(np.where(ratios > 1.0, 1.0 / ratios, ratios), axis=-2)


def _values(moments: GroupMoments, labels: np.ndarray, columns: list[tuple]) -> tuple[np.ndarray, np.ndarray]:
    """Every column for every group (R, c), nan for groups without rows, and for all rows (c,)."""
    by_group, pooled = np.full((len(labels), len(columns)), np.nan), moments.pooled()
    by_group[positions(moments.labels, labels)] = np.column_stack([_evaluate(column, moments) for column in columns])
    return by_group, np.array([_evaluate(column, pooled)[0] for column in columns])


def _sampled(
    moments: GroupMoments, labels: np.ndarray, columns: list[tuple], n_boot: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The same in samples of blocks: (n_boot, R, c) and (n_boot, c)."""
    draws = multiplicities(len(np.unique(moments.labels[BLOCK])), n_boot, rng)
    by_group, overall = np.full((n_boot, len(labels), len(columns)), np.nan), np.full((n_boot, len(columns)), np.nan)
    sums = {id(answer): block_sums(moments, answer) for _, metric, answer in columns if metric in SUMMED}
    for j, (_, metric, answer) in enumerate(columns):
        if metric in SUMMED:
            by_group[:, :, j] = _from_sums(metric, sums[id(answer)], draws)
            overall[:, j] = _from_sums(metric, sums[id(answer)].pooled(), draws)[:, 0]
    slow = [j for j, (_, metric, _) in enumerate(columns) if metric not in SUMMED]
    for b, sample in enumerate(resampled(moments, draws) if slow else ()):
        by_group[b][:, slow], overall[b, slow] = _values(sample, labels, [columns[j] for j in slow])
    return by_group, overall


def _evaluate(column: tuple, moments: GroupMoments) -> np.ndarray:
    name, metric, answer = column
    if isinstance(metric, str):
        return GROUP_METRICS[metric](moments, answer)
    found = [metric(one_group(moments, g), answer) for g in range(moments.G)]
    if any(np.shape(value) != () for value in found):
        raise DataError(f"metric {name!r} returned arrays of shape {np.shape(found[0])}; needed is a number.")
    return np.array(found, dtype=np.float64)


def _from_sums(metric: str, sums, draws: np.ndarray) -> np.ndarray:
    if metric == "count":
        counts = (draws @ sums.counts).astype(np.float64)
        return np.where(counts > 0, counts, np.nan)
    return sums.group_errors(draws) if metric == "error" else np.linalg.norm(sums.group_means(draws), axis=2)


# -- what may be given: rows or moments, maps, metrics -----------------------------------------------------------------


def input_moments(X, moments, sensitive_features, sample_weight, *, fitted, blocks) -> tuple[GroupMoments, list[str]]:
    """Moments by block (if ``blocks``, ``(n_blocks or None, generator)``, is given) and groups, and their names."""
    if (X is None) == (moments is None):
        given = "neither" if X is None else "both"
        raise ConfigurationError(f"X and moments: {given} given; needed is one of them.")
    make = _from_rows if moments is None else _from_moments
    made, names = make(X if moments is None else moments, sensitive_features, sample_weight, blocks)
    for one in fitted.values():
        if made.d != (d := len(linear_map(one).mean)):
            raise DataError(f"the rows have {made.d} features, the estimator was fitted to {d}. Pass the same ones.")
        wanted = tuple(getattr(one, "feature_names_in_", ()))
        if wanted and made.feature_names not in (None, wanted):
            seen, fitted_to = first_few(made.feature_names), first_few(wanted)
            raise DataError(
                f"the features are {seen}; the estimator was fitted to {fitted_to}. Pass them in this order."
            )
    return made, names


def _from_rows(X, sensitive_features, sample_weight, blocks) -> tuple[GroupMoments, list[str]]:
    n, columns = length(X), attribute_columns(sensitive_features)
    warn_of_order(X, sensitive_features=sensitive_features, sample_weight=sample_weight)
    if BLOCK in columns:
        raise GroupError("the name 'block' is taken, and cannot be that of a sensitive feature. Rename the column.")
    if any(len(values) != n for values in columns.values()):
        raise GroupError(f"sensitive_features and X ({n} rows) differ in length. Pass one entry for each row of X.")
    frame = pd.DataFrame(columns)
    if blocks is not None:
        n_blocks, rng = blocks
        frame.insert(0, BLOCK, assign_blocks(n, min(n, 100) if n_blocks is None else n_blocks, rng))
    return GroupMoments.from_data(X, frame, sample_weight), list(columns)


def _from_moments(moments, sensitive_features, sample_weight, blocks) -> tuple[GroupMoments, list[str]]:
    if not isinstance(moments, GroupMoments) or sample_weight is not None:
        raise DataError("needed are rows as X, or GroupMoments alone, which hold the weights of their rows.")
    others = [name for name in moments.attributes if name != BLOCK]
    chosen = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    chosen = others if chosen is None else list(chosen)
    if not chosen or not all(isinstance(name, str) and name in others for name in chosen):
        seen = f"sensitive_features={sensitive_features!r} with moments"
        raise GroupError(f"{seen}; needed are names of their attributes, which are {', '.join(others) or 'none'}.")
    return moments.marginal(*([BLOCK] if blocks is not None else []), *chosen), chosen


def _named_metrics(metrics) -> dict[str, str | Callable]:
    """Metrics by name: named ones by their own, functions by theirs, a dict by its keys."""
    several = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Sequence) else metrics
    named = metrics if isinstance(metrics, Mapping) else {
        metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric)): metric for metric in several
    }  # fmt: skip
    if not isinstance(metrics, Mapping) and len(named) < len(several):
        raise ConfigurationError(f"two of the {len(several)} metrics have the same name. Name them by a dict.")
    if not named:
        raise ConfigurationError("metrics is empty; needed is at least one.")
    for metric in named.values():
        if not callable(metric) and metric not in GROUP_METRICS:
            known = ", ".join(map(repr, GROUP_METRICS))
            raise ConfigurationError(
                f"no metric {metric!r}; needed is {known} or a function metric(moments, subspace)."
            )
    return named


def _layout(estimator, metrics, named: dict) -> pd.Index:
    """The columns: metrics, or estimators, or both; the name "single" stands for neither."""
    single = isinstance(metrics, str) or callable(metrics)
    if isinstance(estimator, Mapping) and not estimator:
        raise ConfigurationError("estimator is an empty dict; needed is at least one fitted estimator.")
    if not isinstance(estimator, Mapping):
        return pd.Index(list(named), name="single" if single else None)
    if single:
        return pd.Index(list(estimator), name="estimator")
    return pd.MultiIndex.from_product([list(estimator), list(named)], names=["estimator", "metric"])
