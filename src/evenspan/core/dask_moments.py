"""Group moments of a Dask collection: the sums of each chunk where it lies, merged along a fixed tree."""

from .dask_chunks import ChunkedTable
from .dask_cluster import connected
from .errors import DataError
from .running import RunningMoments


def running_moments(X, sensitive_features, client=None) -> RunningMoments:
    """The running sums of all rows of a Dask array or data frame; ``GroupMoments.from_dask`` makes moments of them."""
    table = ChunkedTable(X, sensitive_features)
    with connected(client) as own:
        sums = table.map_reduce(chunk_sums, merged_sums, own)
    if sums.total is None:
        raise DataError(f"X has no rows in any of its {len(table.chunks)} chunks; needed is at least one.")
    return sums


def chunk_sums(X, groups, operand=None) -> RunningMoments:
    """The sums of one chunk, which may be empty."""
    sums = RunningMoments()
    if len(X):
        sums.add(X, groups)
        sums.require_finite(X)
    return sums


def merged_sums(parts: list[RunningMoments]) -> RunningMoments:
    """The sums of several chunks, merged from left to right."""
    total = RunningMoments()
    for part in parts:
        total.combine(part)
    return total
