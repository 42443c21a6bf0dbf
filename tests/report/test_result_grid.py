"""The table of a printed table with many values of k: each cell printed, ours and the mark of its result."""

import pandas as pd

from compendium import protocol
from compendium.book import tables
from compendium.ledger import table
from compendium.ledger.table import ledger
from compendium.store import read_results

NPHA = "rathore2025_table5_npha/001"
COLUMNS = ["cell", "dataset", "method", "metric", "published", "ours", "verdict", "result", "deviation_digits"]
EMPTY = dict.fromkeys(("reason", "chance", "no_test", "by_procedure", "published_std", "ours_std"), "")


def test_a_cell_has_both_numbers_and_the_mark_of_its_result(monkeypatch):
    """Of a ledger of four numbers: two methods, two metrics, one of another data set."""
    rows = [
        (NPHA, "NPHA", "A", "R.E.", "1.23", "1.2049", "close", "as described", "-2.5"),
        (NPHA, "NPHA", "B", "R.E.", "1.00", "", "not yet run", "not a test", ""),
        (NPHA, "NPHA", "A", "V.E.", "0.77", "0.77", "exact", "as described", "0"),
        ("rathore2025_table2_diabetes/001", "Diabetes", "A", "R.E.", "9.99", "9.99", "exact", "as described", "0"),
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(k="1", table="Table 5", **EMPTY)
    monkeypatch.setattr(table, "ledger", lambda _: frame)
    study = protocol.study("rathore2025-tables", dataset="npha")
    study.results, study.told = read_results("rathore2025-tables", dataset="npha"), ""
    shown = tables.result_grid(study, "R.E.", caption="errors").data
    name = "rathore2025_table5_npha-001"
    mark = f'<span class="verdict verdict-described" id="{name}" title="close">as described</span>'
    assert f'1.23 | 1.20<br>{mark} <span class="off">-2.0\u00a0%</span>' in shown
    nothing = f'<span class="verdict verdict-no_test" id="{name}" title="not yet run">not a test</span>'
    assert f"1.00 | –<br>{nothing}</td>" in shown
    assert "0.77" not in shown  # another metric
    assert "9.99" not in shown  # another data set
    own = protocol.study("rathore2025-tables", dataset="npha", largest=3)
    own.results = study.results.assign(dataset="mine")
    assert "Nothing is printed" in tables.result_grid(own, "R.E.", caption="errors").data
    assert shown.index("<th>A</th>") < shown.index("<th>B</th>")


def test_a_readers_run_is_judged_in_the_place_of_what_is_stored():
    """With the stored rows every result is as it was; with one other number its cell is judged anew."""
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
