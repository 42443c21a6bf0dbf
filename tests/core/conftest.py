"""Samples shared by the tests of the core."""

import numpy as np
import pytest

from .samples import Sample, draw, two_attributes

#: Read by a type checker, and never run.
collect_ignore = ["typed"]


@pytest.fixture
def sample() -> Sample:
    """Three groups: 200, 120 and 60 rows, 6 features."""
    return draw()


@pytest.fixture
def pair() -> Sample:
    """Two groups: 150 and 70 rows, 5 features."""
    return draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0)


@pytest.fixture
def crossed() -> tuple[np.ndarray, np.ndarray]:
    """8 features, and two attributes whose effects on the mean interact."""
    return two_attributes()
