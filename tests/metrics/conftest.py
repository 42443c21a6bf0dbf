"""One sample for all judges: three groups of unequal size, mean and scale, crossed with a second attribute."""

import numpy as np
import pandas as pd
import pytest

COUNTS = (200, 120, 60)


def draw(rng, counts=COUNTS):
    """Rows (n, 5) of three groups, in the order of the groups, and the place of each row's group."""
    at = np.repeat(np.arange(3), counts)
    centres = np.array([[0, 0, 1, 0, 2.0], [3, 1, 0, 0, 0], [0, -2, 0, 1, 1]])
    scales = np.array([1.0, 2.5, 0.5])
    return centres[at] + scales[at, None] * rng.normal(size=(len(at), 5)) * [3, 2, 1, 1, 0.5] + 20.0, at


@pytest.fixture(scope="session")
def sample():
    """380 rows in random order, and a frame with their ``colour`` (three groups), ``shape`` and ``block`` (of 17)."""
    rng = np.random.default_rng(8)
    X, at = draw(rng)
    order = rng.permutation(len(X))
    frame = pd.DataFrame({
        "colour": np.array(["azure", "beige", "crimson"])[at[order]],
        "shape": rng.choice([1, 2, 3], len(X)),
        "block": rng.permutation(np.arange(len(X)) % 17),
    })  # fmt: skip
    return X[order], frame
