"""The history of the rules: the committed counts are those of ledgers of the time; each version judges as told."""

import subprocess

import pandas as pd
import pytest
import yaml

from compendium.ledger import history, table


@pytest.fixture(scope="module")
def now():
    return table.ledger()


def test_the_committed_counts_are_those_of_the_repository(git):
    commits = {commit for one in history.history().versions for commit in one.ledgers}
    for commit in commits:
        if subprocess.run(["git", "cat-file", "-e", commit], cwd=table.paths.root(), capture_output=True).returncode:
            pytest.skip("this checkout has a part of the history only")
    for name, made in history.from_git().items():
        committed = (history.folder() / f"{name}.csv").read_text()
        assert made.to_csv(index=False, lineterminator="\n") == committed, "python -m compendium ledger --history"


def test_each_version_allows_what_its_commit_does(git):
    """The rules as they were committed; the first file had no share for numbers without spread, and judged seconds."""
    for one in history.history().versions:
        commit, _ = one.committed
        shown = subprocess.run(
            ["git", "show", f"{commit}:data/tolerances.yml"], cwd=table.paths.root(), capture_output=True, text=True
        )
        if shown.returncode:
            pytest.skip("this checkout has a part of the history only")
        rules = yaml.safe_load(shown.stdout)["close"]
        found = {
            "relative": rules["relative"], "relative_without_spread": rules.get("relative_without_spread", 0.02),
            "deviations": rules.get("standard_deviations", 0), "standard_errors": rules.get("standard_errors", 0),
        }  # fmt: skip
        told = one.allowed.model_dump()
        assert {name: float(told[name]) for name in found} == found


def test_the_last_line_of_the_history_is_the_present_ledger(now):
    counts = history.then("counts").iloc[-1]
    assert counts[list(history.WORDS)].to_dict() == now["result"].value_counts().reindex(history.WORDS).to_dict()
    assert counts[list(history.COUNTED)].to_dict() == (
        now["verdict"].value_counts().reindex(history.COUNTED, fill_value=0).to_dict()
    )


CELL = {"published": "10.00", "published_std": "", "printed_digits": "2", "unit": "", "paper": "vu2022"}


@pytest.mark.parametrize(
    ("printed", "ours", "passing"),
    [
        ({}, {"ours": "10.005"}, [1, 2, 3, 4]),  # rounds to it
        ({}, {"ours": "10.1"}, [1]),  # without spread 2 % no longer suffice
        ({}, {"ours": "10.1", "ours_std": "0.01"}, [1, 2, 3, 4]),
        ({}, {"ours": "13", "ours_std": "2"}, [1]),  # two deviations between splits, ours
        ({"published_std": "2"}, {"ours": "13"}, [1]),  # or the published
        ({"paper": "zhou2024"}, {"ours": "11", "ours_std": "2"}, [1, 2, 3]),  # two standard errors of 16 starts
        ({"unit": "s"}, {"ours": "10"}, [1]),
        ({}, {"ours": "20", "ours_std": "1"}, []),
    ],
)
def test_each_version_judges_by_what_it_allowed(printed, ours, passing):
    row = {"ours_std": "", "splits": "16"} | ours
    found = [one.version for one in history.history().versions if history.agrees(one.allowed, CELL | printed, row)]
    assert found == passing


def test_the_present_version_judges_as_the_ledger_does(now):
    """Of the tested numbers those graded exact or close, and its chance agreement where others stand beside."""
    found = history.today(now).set_index("version")
    tested = now[now["result"] != "not a test"]
    assert found.at[4, "agree"] == tested["verdict"].isin(["exact", "close"]).sum()
    assert found.at[4, "tested"] == len(tested)
    by_table = tested[tested["method"] != ""]
    assert found.at[4, "chance agreement"] == pytest.approx(pd.to_numeric(by_table["chance"]).mean(), abs=2e-3)
