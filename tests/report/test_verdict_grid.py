"""The table of a printed table with many values of k: each cell printed, ours and the mark of its verdict."""

import pandas as pd

from compendium import protocol
from compendium.ledger import verdict_grid

ROW = {"cell": "rathore2025_table5_npha/001", "table": "Table 5", "dataset": "NPHA"}
ROW |= {"reason": "", "control": "", "evidence": ""}


def test_a_cell_has_both_numbers_and_the_mark_of_its_verdict(monkeypatch):
    """Of a ledger of four numbers: two methods, two metrics, one of another data set."""
    rows = [
        ROW | {"method": "A", "metric": "R.E.", "k": "1", "published": "1.23", "ours": "1.2049", "verdict": "close"},
        ROW | {"method": "B", "metric": "R.E.", "k": "1", "published": "1.00", "ours": "", "verdict": "not yet run"},
        ROW | {"method": "A", "metric": "V.E.", "k": "1", "published": "0.77", "ours": "0.77", "verdict": "exact"},
        ROW
        | {"cell": "rathore2025_table2_diabetes/001", "dataset": "Diabetes", "method": "A", "metric": "R.E."}
        | {"k": "1", "published": "9.99", "ours": "9.99", "verdict": "exact"},
    ]
    monkeypatch.setattr(verdict_grid, "ledger", lambda: pd.DataFrame(rows))
    study = protocol.study("rathore2025-tables", dataset="npha")
    shown = verdict_grid.verdict_grid(study, "R.E.", caption="errors").data
    assert '1.23 | 1.20<br><span class="verdict verdict-close">close</span>' in shown
    assert '1.00 | –<br><span class="verdict verdict-pending">not yet run</span>' in shown
    assert "0.77" not in shown  # another metric
    assert "9.99" not in shown  # another data set
    own = protocol.study("rathore2025-tables", dataset="npha", largest=3)
    assert "Nothing is printed" in verdict_grid.verdict_grid(own, "R.E.", caption="errors").data
    assert shown.index("<th>A</th>") < shown.index("<th>B</th>")
