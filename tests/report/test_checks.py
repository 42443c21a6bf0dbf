"""What chapters say of their checks."""

import numpy as np
import pytest

from compendium.book.checks import agree


def test_two_sides_that_agree_say_by_how_much_and_others_are_refused():
    assert agree([100.0, 1.0], [100.0, 1.0 + 1e-9]) == pytest.approx(1e-11)  # of the largest entry
    assert agree(np.full(3, 1e-12), np.zeros(3), atol=1e-9) == 1e-12  # nothing to be relative to
    with pytest.raises(AssertionError):
        agree([1.0, 2.0], [1.0, 2.0 + 1e-6])
