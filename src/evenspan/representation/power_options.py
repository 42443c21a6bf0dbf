"""What the fair noisy power method may be asked for, and what is said when it may not."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ..core.errors import ConfigurationError
from ..core.estimator import require_components
from .null_it_out import require_options

CENTRES = ("global", "none", "group")


@dataclass(frozen=True)
class PowerOptions:
    """What is iterated on; the fields are the options of ``StreamingFairPCA`` of the same names."""

    n_components: int
    n_gap_directions: int
    constraint: str
    center: str
    on_missing: str = "carry"
    min_group: float = 1.0
    strength: float = 1.0
    gap_tol: float | None = None
    mean_tol: float | None = None


def power_options(estimator, d: int) -> PowerOptions:
    """The options of a ``StreamingFairPCA``, each of them checked."""
    m = require_options(estimator, d)
    k = require_components(estimator.n_components, d, d, "")
    if estimator.center not in CENTRES:
        raise ConfigurationError(f"center={estimator.center!r}; needed is one of {', '.join(CENTRES)}.")
    if estimator.on_missing not in ("carry", "skip"):
        raise ConfigurationError(f"on_missing={estimator.on_missing!r}; needed is 'carry' or 'skip'.")
    tol, least = estimator.gap_tol, estimator.min_group
    if tol is not None and not (isinstance(tol, Real) and not isinstance(tol, bool) and 0 <= tol <= 1):
        raise ConfigurationError(f"gap_tol={tol!r}; needed is None or a share from 0 to 1.")
    if least is not None and (not isinstance(least, Real) or isinstance(least, bool) or not least >= 1):
        raise ConfigurationError(f"min_group={least!r}; needed is None or a number of rows of at least 1.")
    noise = estimator.mean_tol
    if noise is not None and not (isinstance(noise, Real) and not isinstance(noise, bool) and noise >= 0):
        raise ConfigurationError(f"mean_tol={noise!r}; needed is None or a number of at least 0.")
    return PowerOptions(
        k,
        m,
        estimator.constraint,
        estimator.center,
        estimator.on_missing,
        float(max(m, 1) if least is None else least),
        float(estimator.strength),
        None if tol is None else float(tol),
        None if noise is None else float(noise),
    )


def require_room(options: PowerOptions, comparisons: int, d: int) -> None:
    """Whether k directions can be left when every comparison removes what it may; one comparison decides it at once.

    With several, or with a tolerance, the number of directions is known only after the first phase.
    """
    removed = options.n_gap_directions + (options.constraint in ("all", "mean"))
    undecided = options.gap_tol is not None or options.mean_tol is not None
    if comparisons == 1 and not undecided:
        require_components(options.n_components, d - removed, d, f" less {removed} removed directions")


def precision(dtype) -> np.dtype:
    """Single or double."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ConfigurationError(f"dtype={dtype!r}; needed is 'float32', 'float64' or None.")
    return found


def require_blocks(n_blocks, block_size, one_shot: bool) -> tuple[tuple[int, int], tuple[int | None, int | None]]:
    """Number and size of the blocks of both phases."""
    counts = _pair("n_blocks", n_blocks)
    sizes = (None, None) if block_size is None else _pair("block_size", block_size)
    if one_shot and None in sizes:
        raise ConfigurationError(
            "block_size=None makes every block a pass over the stream, but this stream can be read only once. Give "
            "block_size, or a function that makes the stream anew."
        )
    return counts, sizes


def _pair(name: str, value) -> tuple[int, int]:
    values = tuple(value) if isinstance(value, tuple | list) else (value, value)
    whole = all(isinstance(v, int | np.integer) and not isinstance(v, bool) and v >= 1 for v in values)
    if len(values) != 2 or not whole:
        raise ConfigurationError(
            f"{name}={value!r}; needed is a whole number of at least 1, or one for each of the two phases."
        )
    return int(values[0]), int(values[1])
