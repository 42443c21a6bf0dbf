"""The table of a printed table with many values of k: each cell printed, ours and the mark of its verdict."""

import pandas as pd

from compendium import protocol
from compendium.ledger import table, verdict_grid
from compendium.ledger.table import ledger
from compendium.store import read_results

ROW = {"cell": "rathore2025_table5_npha/001", "table": "Table 5", "dataset": "NPHA"}
ROW |= {"reason": "", "control": "", "evidence": "", "deviation_digits": "", "published_std": "", "ours_std": ""}


def test_a_cell_has_both_numbers_and_the_mark_of_its_verdict(monkeypatch):
    """Of a ledger of four numbers: two methods, two metrics, one of another data set."""
    rows = [
        ROW
        | {"method": "A", "metric": "R.E.", "k": "1", "published": "1.23", "ours": "1.2049", "verdict": "close"}
        | {"deviation_digits": "-2.5"},
        ROW | {"method": "B", "metric": "R.E.", "k": "1", "published": "1.00", "ours": "", "verdict": "not yet run"},
        ROW | {"method": "A", "metric": "V.E.", "k": "1", "published": "0.77", "ours": "0.77", "verdict": "exact"},
        ROW
        | {"cell": "rathore2025_table2_diabetes/001", "dataset": "Diabetes", "method": "A", "metric": "R.E."}
        | {"k": "1", "published": "9.99", "ours": "9.99", "verdict": "exact"},
    ]
    monkeypatch.setattr(table, "ledger", lambda _: pd.DataFrame(rows))
    study = protocol.study("rathore2025-tables", dataset="npha")
    study.results, study.told = read_results("rathore2025-tables", dataset="npha"), ""
    shown = verdict_grid.verdict_grid(study, "R.E.", caption="errors").data
    name = "rathore2025_table5_npha-001"
    mark = f'<span class="verdict verdict-close" id="{name}">close</span> <span class="off">-2.0\u00a0%</span>'
    assert f"1.23 | 1.20<br>{mark}" in shown
    assert f'1.00 | –<br><span class="verdict verdict-pending" id="{name}">not yet run</span></td>' in shown
    assert "0.77" not in shown  # another metric
    assert "9.99" not in shown  # another data set
    own = protocol.study("rathore2025-tables", dataset="npha", largest=3)
    own.results = study.results.assign(dataset="mine")
    assert "Nothing is printed" in verdict_grid.verdict_grid(own, "R.E.", caption="errors").data
    assert shown.index("<th>A</th>") < shown.index("<th>B</th>")


def test_a_readers_run_is_judged_in_the_place_of_what_is_stored():
    """With the stored rows every verdict and control is as it was; with one other number its cell is judged anew."""
    study = protocol.study("rathore2025-tables", dataset="npha")
    rows = read_results("rathore2025-tables", dataset="npha")
    place = (rows["method"] == "StandardPCA") & (rows["metric"] == "MMD^2") & (rows["k"] == 2)
    assert place.sum() == 1
    stored = ledger()
    stored = stored[stored["cell"].str.rpartition("/")[0].isin(study.entry.published)].reset_index(drop=True)
    study.results, study.told = rows, ""
    pd.testing.assert_frame_equal(ledger(study), stored)
    study.results = rows.assign(value=rows["value"].mask(place, 77.0))
    found = ledger(study)
    (other,) = found.index[found["ours"] != stored["ours"]]
    cell = ["dataset", "method", "metric", "k", "ours", "verdict"]
    assert list(found.loc[other, cell]) == ["NPHA", "StandardPCA", "MMD^2", "2", "77", "differs"]
    assert stored.loc[other, "verdict"] == "exact"
