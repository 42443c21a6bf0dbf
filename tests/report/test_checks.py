"""What chapters say of their checks, and how they show what became of printed numbers."""

import numpy as np
import pandas as pd
import pytest

from compendium.book.checks import agree
from compendium.ledger.verdict_bars import verdict_bars


def test_two_sides_that_agree_say_by_how_much_and_others_are_refused():
    assert agree([100.0, 1.0], [100.0, 1.0 + 1e-9]) == pytest.approx(1e-11)  # of the largest entry
    assert agree(np.full(3, 1e-12), np.zeros(3), atol=1e-9) == 1e-12  # nothing to be relative to
    with pytest.raises(AssertionError):
        agree([1.0, 2.0], [1.0, 2.0 + 1e-6])


def test_a_bar_is_as_long_as_a_method_has_numbers():
    rows = [("A", "exact"), ("A", "differs"), ("A", "exact"), ("B", "close"), ("", "exact")]
    fig = verdict_bars(pd.DataFrame(rows, columns=["method", "verdict"]), "method")
    (panel,) = fig.axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["A", "B"]
    widths = {bars.get_label(): [bar.get_width() for bar in bars] for bars in panel.containers}
    assert widths == {"exact": [2, 0], "close": [0, 1], "differs": [1, 0]}
    starts = {bars.get_label(): [bar.get_x() for bar in bars] for bars in panel.containers}
    assert starts == {"exact": [0, 0], "close": [2, 0], "differs": [2, 1]}
