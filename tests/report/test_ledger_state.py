"""The ledger in one line, and the block of counts in the README."""

import pandas as pd
import pytest

from evenspan import paths
from evenspan.errors import ResultError
from evenspan.report import ledger, ledger_state


@pytest.fixture
def counts():
    """Twelve hundred numbers of two papers; the counts of no two verdicts are equal."""
    kinds = ["exact"] * 1100 + ["differs"] * 71 + ["stale"] * 29
    papers = ["one2020"] * 900 + ["two2021"] * 300
    return ledger.counts(pd.DataFrame({"paper": papers, "verdict": kinds, "published": "1"}))


@pytest.fixture
def claims():
    here = ["holds", "holds", "does not hold", "holds", "not yet judged"]
    printed = ["", "holds", "holds in part", "", ""]
    states = ["current", "stale", "current", "current", ""]
    papers = ["two2021", *["one2020"] * 4]
    return pd.DataFrame({"paper": papers, "here": here, "printed": printed, "state": states})


def test_one_line_says_what_is_there_and_nothing_else(counts, claims):
    assert ledger_state.one_line(counts, claims) == (
        "1,200 published numbers: 1,100 exact, 71 differ, 29 stale; "
        "5 claims; reproduced here 5: 2 hold, 1 does not hold, 1 not yet judged, 1 stale; "
        "as printed 2: 1 holds, 1 holds in part."
    )


def test_a_stale_answer_is_no_answer(counts, claims):
    table = ledger_state.claim_counts(claims, "here")
    assert table.loc["one2020"].to_dict() == {
        "holds": 1, "holds in part": 0, "does not hold": 1, "not computable": 0, "not yet judged": 1, "stale": 1,
        "claims": 4,
    }  # fmt: skip
    current = ledger_state.claim_counts(claims.assign(state="current"), "here")
    assert current.loc["total", ["holds", "stale"]].tolist() == [3, 0]
    printed = ledger_state.claim_counts(claims, "printed")
    assert printed.loc["total", ["holds", "holds in part", "stale", "claims"]].tolist() == [1, 1, 0, 2]
    assert printed.loc["two2021", "claims"] == 0


def test_the_block_is_made_anew_and_the_rest_is_kept(counts, claims):
    before, after = "# Title\n\\1 kept\n", "\nkept <!-- as it is -->\n"
    old = f"{before}{ledger_state.BEGIN}\nold | 7\n{ledger_state.END}{after}"
    new = ledger_state.readme(old, counts, claims)
    assert new.startswith(before)
    assert new.endswith(after)
    assert "old | 7" not in new
    assert ledger_state.one_line(counts, claims) in new
    assert "| total | 1,200 | 1,100 | 0 | 0 | 71 | 29 | 0 | 0 |" in new
    assert "| two2021 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in new
    assert ledger_state.readme(new, counts, claims) == new


@pytest.mark.parametrize(
    "text",
    [
        "no markers",
        f"{ledger_state.BEGIN} only the first",
        f"{ledger_state.END} turned round {ledger_state.BEGIN}",
        f"{ledger_state.BEGIN}{ledger_state.END} twice {ledger_state.BEGIN}{ledger_state.END}",
    ],
)
def test_a_text_without_a_place_for_the_counts_is_refused(counts, claims, text):
    with pytest.raises(ResultError, match="needs the markers"):
        ledger_state.readme(text, counts, claims)


def test_the_readme_says_what_the_committed_ledger_says():
    text = (paths.root() / "README.md").read_text(encoding="utf-8")
    block = text.partition(ledger_state.BEGIN)[2].partition(ledger_state.END)[0]
    table = ledger.counts(pd.read_csv(ledger.path(), dtype=str, keep_default_na=False))
    for paper, row in table.iterrows():
        assert f"| {paper} | {' | '.join(f'{row[name]:,}' for name in ['numbers', *table.columns[:-1]])} |" in block
