"""The ledger in one line, and the block of counts in the README."""

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import state as ledger_state
from compendium.ledger import table as ledger
from evenspan.core.errors import ResultError


@pytest.fixture
def counts():
    """Thirteen hundred numbers of two papers; another method would pass in a quarter, in all, or nothing is there."""
    parts = [
        ("one2020", "exact", "discriminating", "0.25", 1071),
        ("one2020", "differs", "discriminating", "0.25", 29),
        ("two2021", "close", "not discriminating", "1", 80),
        ("two2021", "same rank", "measured time", "0", 15),
        ("two2021", "differs", "measured time", "0", 5),
        ("two2021", "not computable", "none", "", 100),
    ]
    names = ["paper", "verdict", "evidence", "control"]
    rows = pd.DataFrame([part[:4] for part in parts for _ in range(part[4])], columns=names)
    return ledger.counts(rows.assign(method="A", control_data=""))


@pytest.fixture
def claims():
    here = ["holds", "", "does not hold", "holds", "not yet judged"]
    printed = ["", "holds", "holds in part", "", ""]
    papers = ["two2021", *["one2020"] * 4]
    return pd.DataFrame({"paper": papers, "here": here, "printed": printed})


def test_one_line_says_what_is_there_and_nothing_else(counts, claims):
    assert ledger_state.one_line(counts, claims) == (
        "1,300 published numbers: "
        "1,100 discriminating, 97 % agree, a wrong method would in 25 %; "
        "80 not discriminating, 100 % agree, a wrong method would in 100 %; "
        "20 measured time, 75 % agree, a wrong method would in 0 %; "
        "100 without a number of ours (100 not computable). "
        "5 claims; reproduced here 4: 2 hold, 1 does not hold, 1 not yet judged; "
        "as printed 2: 1 holds, 1 holds in part."
    )
    assert next(ledger_state.sentences(counts.loc["total"])) == (
        "1,100 discriminating (1,071 exact, 29 differ), 97 % agree, a wrong method would in 25 %"
    )


def test_each_side_is_counted_by_itself(claims):
    assert ledger_state.claim_counts(claims, "here").loc["one2020"].to_dict() == {
        "holds": 1, "holds in part": 0, "does not hold": 1, "not computable": 0, "not yet judged": 1, "claims": 3,
    }  # fmt: skip
    printed = ledger_state.claim_counts(claims, "printed")
    assert printed.loc["total", ["holds", "holds in part", "claims"]].tolist() == [1, 1, 2]
    assert printed.loc["two2021", "claims"] == 0


def test_the_block_is_made_anew_and_the_rest_is_kept(counts, claims):
    before, after = "# Title\n\\1 kept\n", "\nkept <!-- as it is -->\n"
    old = f"{before}{ledger_state.BEGIN}\nold | 7\n{ledger_state.END}{after}"
    new = ledger_state.readme(old, counts, claims)
    assert new.startswith(before)
    assert new.endswith(after)
    assert "old | 7" not in new
    assert ledger_state.one_line(counts, claims) in new
    assert "| paper | evidence | numbers | agree | wrong method | wrong data | most fail | exact | close |" in new
    assert "| total | discriminating | 1,100 | 97 % | 25 % | – | 1,100 | 1,071 | 0 | 0 | 29 | 0 |" in new
    assert "| total | none | 100 | – | – | – | – | 0 | 0 | 0 | 0 | 100 |" in new
    assert "| two2021 | 1 | 1 | 0 | 0 | 0 | 0 |" in new
    assert ledger_state.readme(new, counts, claims) == new


def test_a_text_without_a_place_for_the_counts_is_refused(counts, claims):
    begin, end = ledger_state.BEGIN, ledger_state.END
    for text in ("no markers", f"{begin} only the first", f"{end} turned round {begin}", f"{begin}{end}{begin}{end}"):
        with pytest.raises(ResultError, match="needs the markers"):
            ledger_state.readme(text, counts, claims)


def test_the_readme_says_what_the_committed_ledger_says():
    text = (paths.root() / "README.md").read_text(encoding="utf-8")
    block = text.partition(ledger_state.BEGIN)[2].partition(ledger_state.END)[0]
    table = ledger.counts(pd.read_csv(ledger.path(), dtype=str, keep_default_na=False))
    for row in ledger_state.counted(table).itertuples(index=False):
        assert f"| {' | '.join(row)} |" in block
