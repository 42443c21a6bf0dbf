"""How many different values a column has, and which: a sketch of fixed size that batches do not change."""

import numpy as np
import pandas as pd

#: Values that a sketch keeps. Up to this number all is exact; above, the number of values is known to about 3 %.
KEPT = 1024


class Sketch:
    r"""The values with the smallest hashes, each with the number of times it occurred.

    Which values are kept depends on their hashes alone: neither on the order of the rows nor on how they were cut into
    batches. A value that is kept at the end was kept from its first occurrence on, so its count is exact. If the
    k-th smallest hash is the fraction :math:`u` of the largest possible one, there are about :math:`(k - 1) / u`
    different values.

    References
    ----------
    Z. Bar-Yossef, T. S. Jayram, R. Kumar, D. Sivakumar and L. Trevisan (2002), Counting distinct elements in a data
    stream, section 2.

    Examples
    --------
    >>> sketch = Sketch()
    >>> sketch.add(np.array(["b", "a"], dtype=object), np.array([2, 1]))
    >>> sketch.add(np.array(["a"], dtype=object), np.array([4]))
    >>> sketch.counts_by_value()
    {'a': 5, 'b': 2}
    """

    def __init__(self):
        self.hashes = np.empty(0, dtype=np.uint64)
        self.counts = np.empty(0, dtype=np.int64)
        self.values = np.empty(0, dtype=object)

    def add(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Fold in values (m,), texts or float64, that occur ``counts`` (m,) times; a value may be among them twice."""
        if values.dtype.kind == "f":
            values = values + 0.0  # minus zero becomes zero
        hashes = pd.util.hash_array(values, categorize=False)
        if len(self.hashes) == KEPT:
            small = hashes <= self.hashes[-1]
            hashes, values, counts = hashes[small], values[small], counts[small]
        if not len(hashes):
            return
        together = np.concatenate([self.hashes, hashes])
        self.hashes, first, at = np.unique(together, return_index=True, return_inverse=True)
        summed = np.bincount(at, weights=np.concatenate([self.counts, counts])).astype(np.int64)
        self.values = np.concatenate([self.values, values.astype(object)])[first][:KEPT]
        self.hashes, self.counts = self.hashes[:KEPT], summed[:KEPT]

    @property
    def full(self) -> bool:
        """Whether there are more values than are kept."""
        return len(self.hashes) == KEPT

    @property
    def once(self) -> float:
        """Share of the different values that occur once."""
        return float(np.mean(self.counts == 1, axis=0)) if len(self.counts) else 0.0

    def distinct(self, n: int) -> int:
        """Number of different values among n."""
        if not self.full:
            return len(self.hashes)
        if self.once == 1.0:
            return n
        return min(n, round((KEPT - 1) / (float(self.hashes[-1]) / 2.0**64)))

    def counts_by_value(self) -> dict:
        """The kept values in order, with their counts."""
        order = np.argsort(self.values, kind="stable")
        return dict(zip(self.values[order].tolist(), self.counts[order].tolist(), strict=True))
