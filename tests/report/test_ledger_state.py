"""The ledger in one sentence and one table, and the block of them in the README."""

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import state as ledger_state
from compendium.ledger import table as ledger


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


def test_the_block_is_made_anew_and_the_rest_is_kept(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    begin, end = ledger_state.BEGIN, ledger_state.END
    (tmp_path / "README.md").write_text(f"# Title\n{begin}\nold | 7\n{end}\nkept\n")
    new = ledger_state.readme(counts)
    (tmp_path / "README.md").write_bytes(new)
    text = new.decode()
    assert text.startswith(f"# Title\n{begin}\n{ledger_state.sentence(counts)}")
    assert text.endswith(f"| all | 1,300 | 200 | 1,100 | 600 | 300 | 200 | 30 % |\n{end}\nkept\n")
    assert "| two2021 | 200 | 200 | 0 | 0 | 0 | 0 | – |" in text
    assert ledger_state.readme(counts) == new
