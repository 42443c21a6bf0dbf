"""From rows or moments, with sensitive and control features, to moments grouped by both and by blocks."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from ..core.accumulator import merge, zeros
from ..core.containers import in_pandas
from ..core.errors import ConfigurationError, DataError, GroupError
from ..core.inputs import length, whole_number
from ..core.moments import GroupMoments
from .bootstrap import BLOCK, assign_blocks
from .linear_map import GROUP_METRICS, linear_map

#: Moments in blocks take no more bytes than this, but there are at least ``FEWEST`` blocks.
MOST_BYTES = 256 * 2**20
USUAL, FEWEST = 100, 20


def input_moments(X, moments, sensitive_features, control_features, sample_weight, *, fitted, blocks):
    """Moments by block (if ``blocks`` is given), control and sensitive features, in this order, and these names.

    Parameters
    ----------
    X, moments, sensitive_features, control_features, sample_weight
        As ``GroupFrame`` takes them.
    fitted : estimator, subspace or dict of them
        For the names of the features.
    blocks : None or tuple
        ``(n_blocks or None, generator)`` where intervals are wanted.

    Returns
    -------
    tuple
        GroupMoments, names of the control features, names of the sensitive features.
    """
    if (X is None) == (moments is None):
        given = "neither" if X is None else "both"
        raise ConfigurationError(f"X and moments: {given} given; needed is one of them.")
    if moments is None:
        made = _from_rows(X, sensitive_features, control_features, sample_weight, blocks)
    else:
        made = _from_moments(moments, sensitive_features, control_features, sample_weight, blocks)
    for one in fitted.values() if isinstance(fitted, Mapping) else [fitted]:
        _require_features(made[0], one)
    return made


def default_blocks(n: int, G: int, d: int) -> int:
    """How many blocks n rows of G groups with d features are dealt to, unless told."""
    affordable = MOST_BYTES // (8 * G * d * d)
    return min(n, max(FEWEST, min(USUAL, affordable)))


def _from_rows(X, sensitive_features, control_features, sample_weight, blocks):
    n = length(X)
    sensitive = _named_columns(sensitive_features, "sensitive_features")
    control = {} if control_features is None else _named_columns(control_features, "control_features", "control")
    twice = (set(sensitive) & set(control)) | ({BLOCK} & {*sensitive, *control})
    if twice:
        raise GroupError(
            f"the name(s) {', '.join(sorted(twice))} cannot be used: every sensitive and control feature needs a name "
            "of its own, and 'block' is taken. Rename the columns."
        )
    columns = {**control, **sensitive}
    for name, values in columns.items():
        if len(values) != n:
            raise GroupError(f"{name!r} has {len(values)} rows but X has {n}. Pass one entry for each row of X.")
    frame = pd.DataFrame({name: pd.Series(in_pandas(values)).to_numpy() for name, values in columns.items()})
    if blocks is not None:
        n_blocks, rng = blocks
        G = len(frame.drop_duplicates())
        d = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else np.asarray(X).shape[-1]
        m = default_blocks(n, G, d) if n_blocks is None else whole_number("n_blocks", n_blocks, 2)
        frame.insert(0, BLOCK, assign_blocks(n, m, rng))
    return GroupMoments.from_data(X, frame, sample_weight), tuple(control), tuple(sensitive)


def _from_moments(moments, sensitive_features, control_features, sample_weight, blocks):
    if not isinstance(moments, GroupMoments):
        raise DataError(f"moments is a {type(moments).__name__}; needed are GroupMoments, or rows as X.")
    if sample_weight is not None:
        raise ConfigurationError("sample_weight goes with X; moments already hold the weights of their rows.")
    if blocks is not None and BLOCK not in moments.attributes:
        raise GroupError(
            f"these moments have the attribute(s) {', '.join(moments.attributes)} and no 'block', so no samples can be "
            "drawn. Collect them with a data frame {'block': assign_blocks(n, 100), ...} as sensitive_features."
        )
    control = _chosen(moments, control_features, "control_features")
    sensitive = _chosen(moments, sensitive_features, "sensitive_features")
    sensitive = sensitive or tuple(name for name in moments.attributes if name not in (*control, BLOCK))
    if not sensitive or set(control) & set(sensitive) or BLOCK in (*control, *sensitive):
        raise GroupError(
            f"sensitive features {', '.join(sensitive) or 'none'} and control features {', '.join(control) or 'none'} "
            f"of moments with {', '.join(moments.attributes)}; needed is at least one sensitive feature, none of them "
            "twice, and not 'block'."
        )
    kept = (*((BLOCK,) if blocks is not None else ()), *control, *sensitive)
    return regrouped(moments, kept), control, sensitive


def regrouped(moments: GroupMoments, names: tuple[str, ...]) -> GroupMoments:
    """The moments grouped by some of the attributes; cells that agree in them are merged."""
    if names == moments.attributes or moments.labels.dtype.names is None:  # one attribute keeps no name
        return moments
    if len(names) == 1:
        return moments.marginal(names[0])
    fields = np.empty(moments.G, dtype=[(name, moments.labels.dtype[name]) for name in names])
    for name in names:
        fields[name] = moments.labels[name]
    labels, at = np.unique(fields, return_inverse=True)
    return merged_cells(moments, at, labels)


def merged_cells(moments: GroupMoments, at: np.ndarray, labels: np.ndarray) -> GroupMoments:
    """The moments of other groups with these labels, of which ``at`` tells for every group which it belongs to."""
    total = zeros(len(labels), moments.d)
    merge(total, at, (moments.counts, moments.means, moments.scatters))
    return GroupMoments(labels, *total, moments.feature_names)


def _chosen(moments: GroupMoments, names, argument: str) -> tuple[str, ...]:
    if names is None:
        return ()
    chosen = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in chosen if not isinstance(name, str) or name not in moments.attributes]
    if unknown:
        raise GroupError(
            f"{argument}: the moments have no attribute {unknown[0]!r}, but {', '.join(moments.attributes)}. With "
            "moments, pass names of their attributes."
        )
    return chosen


def _named_columns(features, argument: str, unnamed: str = "group") -> dict[str, object]:
    """Columns of sensitive or control features by name; a column without a name is called ``unnamed``."""
    if features is None:
        raise GroupError(f"{argument} is None; needed is one group label for each row of X.")
    features = in_pandas(features)
    if isinstance(features, Mapping):
        return {str(name): values for name, values in features.items()}
    if isinstance(features, pd.DataFrame):
        if features.columns.has_duplicates or not len(features.columns):
            raise GroupError(f"{argument} has the columns {list(features.columns)}; needed are different names.")
        return {str(name): features[name] for name in features.columns}
    if isinstance(features, pd.Series):
        return {features.name if isinstance(features.name, str) else unnamed: features}
    values = features if isinstance(features, np.ndarray) else np.asarray(features, dtype=object)
    if values.dtype.names:
        return {name: values[name] for name in values.dtype.names}
    if values.ndim == 1:
        return {unnamed: values}
    if values.ndim == 2 and values.shape[1] == 1:
        return {unnamed: values[:, 0]}
    if values.ndim == 2:
        return {f"{'attribute' if unnamed == 'group' else unnamed}{j}": values[:, j] for j in range(values.shape[1])}
    raise GroupError(f"{argument} has shape {values.shape}; needed is (n,) for one feature or (n, p) for p features.")


def _require_features(moments: GroupMoments, fitted) -> None:
    d = getattr(fitted, "n_features_in_", None)
    d = len(fitted.mean) if d is None else d
    if moments.d != d:
        raise DataError(f"the rows have {moments.d} features, the estimator was fitted to {d}. Pass the same features.")
    names = getattr(fitted, "feature_names_in_", None)
    if names is not None and moments.feature_names is not None and tuple(names) != moments.feature_names:
        raise DataError(
            f"the features are {', '.join(moments.feature_names[:5])}, ...; the estimator was fitted to "
            f"{', '.join(map(str, names[:5]))}, ... Pass the same features in the same order."
        )


def named_answers(estimator) -> dict[str, object]:
    """Maps by name: one is named by the empty text, a dict by its keys."""
    if isinstance(estimator, Mapping):
        if not estimator:
            raise ConfigurationError("estimator is an empty dict; needed is at least one fitted estimator.")
        return {name: linear_map(fitted) for name, fitted in estimator.items()}
    return {"": linear_map(estimator)}


def named_metrics(metrics) -> dict[str, str | Callable]:
    """Metrics by name: named ones by their own, functions by theirs, a dict by its keys."""
    if isinstance(metrics, Mapping):
        named = dict(metrics)
    else:
        several = metrics if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
        named = {metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric)): metric
                 for metric in several}  # fmt: skip
        if len(named) < len(several):
            raise ConfigurationError(f"two of the {len(several)} metrics have the same name. Name them by a dict.")
    if not named:
        raise ConfigurationError("metrics is empty; needed is at least one.")
    for metric in named.values():
        if not callable(metric) and metric not in GROUP_METRICS:
            raise ConfigurationError(
                f"no metric {metric!r}; needed is one of {', '.join(map(repr, GROUP_METRICS))} or a function "
                "metric(moments, subspace)."
            )
    return named


def column_layout(estimator, metrics) -> pd.Index:
    """The columns: metrics, or estimators, or both; the name "single" stands for neither."""
    names = list(named_metrics(metrics))
    single = isinstance(metrics, str) or callable(metrics)
    if not isinstance(estimator, Mapping):
        return pd.Index(names, name="single" if single else None)
    if single:
        return pd.Index(list(estimator), name="estimator")
    return pd.MultiIndex.from_product([list(estimator), names], names=["estimator", "metric"])


def resampling_options(n_boot, ci_quantiles) -> tuple[int | None, tuple[float, ...] | None]:
    """Both options checked; they go together."""
    if (n_boot is None) != (ci_quantiles is None):
        raise ConfigurationError(
            f"n_boot={n_boot!r} and ci_quantiles={ci_quantiles!r}; needed are both, or neither for no intervals."
        )
    if n_boot is None:
        return None, None
    shares = tuple(ci_quantiles)
    if not shares or not all(isinstance(q, float | np.floating) and 0 < q < 1 for q in shares):
        raise ConfigurationError(f"ci_quantiles={ci_quantiles!r}; needed are numbers between 0 and 1.")
    return whole_number("n_boot", n_boot, 1), shares
