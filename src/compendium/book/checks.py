"""What a chapter says of an identity that it checks: how far its two sides are apart."""

import numpy as np
from numpy.typing import ArrayLike


def agree(found: ArrayLike, expected: ArrayLike, *, rtol: float = 1e-7, atol: float = 0.0) -> float:
    """The largest deviation of two sides of an identity, which have to agree as for ``numpy.testing.assert_allclose``.

    It is relative to the largest entry of ``expected``, and absolute where that is zero."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    off, size = np.abs(np.subtract(found, expected)).max(), np.abs(expected).max()
    return float(off / size if size else off)
