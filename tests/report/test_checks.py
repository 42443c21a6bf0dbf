"""What chapters say of their checks, and how they show what became of printed numbers."""

import numpy as np
import pandas as pd
import pytest

from compendium.book.checks import agree
from compendium.ledger.heat import bars


def test_two_sides_that_agree_say_by_how_much_and_others_are_refused():
    assert agree([100.0, 1.0], [100.0, 1.0 + 1e-9]) == pytest.approx(1e-11)  # of the largest entry
    assert agree(np.full(3, 1e-12), np.zeros(3), atol=1e-9) == 1e-12  # nothing to be relative to
    with pytest.raises(AssertionError):
        agree([1.0, 2.0], [1.0, 2.0 + 1e-6])


def test_a_bar_is_as_long_as_a_method_has_numbers():
    rows = [
        ("A", "as described"),
        ("A", "not reproduced"),
        ("A", "as described"),
        ("B", "not a test"),
        ("", "not a test"),
    ]
    fig = bars(pd.DataFrame(rows, columns=["method", "result"]), "method")
    (panel,) = fig.axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["B", "A"]
    widths = {one.get_label(): [bar.get_width() for bar in one] for one in panel.containers}
    assert widths == {"as described": [0, 2], "not reproduced": [0, 1], "not a test": [1, 0]}
