"""The ledger in one sentence and two tables, and the block of them in the README."""

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import state as ledger_state
from compendium.ledger import table as ledger
from evenspan.core.errors import ResultError


@pytest.fixture
def counts():
    """Thirteen hundred numbers of two papers; another method would match a quarter of the tested ones, or half."""
    parts = [
        ("one2020", "as described", "0.25", 600),
        ("one2020", "other procedure", "0.25", 300),
        ("one2020", "not reproduced", "0.5", 200),
        ("two2021", "not a test", "1", 200),
    ]
    rows = pd.DataFrame([part[:3] for part in parts for _ in range(part[3])], columns=["paper", "result", "chance"])
    return ledger.counts(rows)


@pytest.fixture
def claims():
    answers = ["holds", "holds", "does not hold", "holds", "not judged"]
    return pd.DataFrame({"paper": ["two2021", *["one2020"] * 4], "answer": answers})


def test_the_sentence_and_the_tables(counts, claims):
    assert ledger_state.sentence(counts) == (
        "Of 1,100 numbers that can tell methods apart, 55 % are reproduced as described, 27 % only by another "
        "procedure that we name, 18 % not; another method would match 30 %."
    )
    counted = ledger_state.claim_counts(claims)
    assert counted.loc["one2020"].tolist() == [4, 2, 0, 1, 1]
    assert counted.loc["all"].tolist() == [5, 3, 0, 1, 1]


def test_the_block_is_made_anew_and_the_rest_is_kept(counts, claims):
    before, after = "# Title\n\\1 kept\n", "\nkept <!-- as it is -->\n"
    old = f"{before}{ledger_state.BEGIN}\nold | 7\n{ledger_state.END}{after}"
    new = ledger_state.readme(old, counts, claims)
    assert new.startswith(before)
    assert new.endswith(after)
    assert "old | 7" not in new
    assert ledger_state.sentence(counts) in new
    assert "| all | 1,300 | 200 | 1,100 | 600 | 300 | 200 | 30 % |" in new
    assert "| two2021 | 200 | 200 | 0 | 0 | 0 | 0 | – |" in new
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
    assert ledger_state.sentence(table) in block
    for row in ledger_state.shown(table).itertuples(index=False):
        assert f"| {' | '.join(row)} |" in block
