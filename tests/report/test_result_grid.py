"""A reader's run is judged in the place of what is stored."""

import pandas as pd

from compendium import protocol
from compendium.ledger.table import ledger
from compendium.store import read_results


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
