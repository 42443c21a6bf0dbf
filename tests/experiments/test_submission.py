"""A class of a reader's own on the leaderboard: rows, page, ranks with their controls, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from compendium import cli
from compendium.book import leaderboard, submission
from compendium.papers.across.protocol import METRICS
from compendium.records import TIDY

CLASSES = """
import numpy as np
from evenspan import FairPCA
class Twin(FairPCA):
    pass
class LEACE(FairPCA):
    pass
class Randomly:
    def __init__(self, n_components, random_state=0):
        self.n_components, self.random_state = n_components, random_state
    def fit(self, X, y=None, *, sensitive_features):
        rng = np.random.default_rng(self.random_state)
        self.components_ = np.linalg.qr(rng.normal(size=(X.shape[1], self.n_components)))[0].T
class Large(Randomly):
    most = 20
    def fit(self, X, y=None, *, sensitive_features):
        if X.shape[1] > self.most:
            raise ValueError("not today")
        super().fit(X, sensitive_features=sensitive_features)
class Never(Large):
    most = 0
class Halves:
    def __init__(self, n_clusters):
        self.n_clusters = n_clusters
    def fit(self, X, y=None, *, sensitive_features):
        self.labels_ = np.arange(len(X)) % self.n_clusters
"""
SMALL = ("--table", "npha", "--table", "german", "--sizes", "2")


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """A function that submits a class: what the command said; its rows and the page."""
    (tmp_path / "my_file.py").write_text(CLASSES)
    monkeypatch.setenv("EVENSPAN_BUILD", str(tmp_path / "build"))

    def submit(name, *options):
        words = ["submit", f"{tmp_path / 'my_file.py'}:{name}", "--out", str(tmp_path / "out"), *options]
        said, page = CliRunner().invoke(cli.app, words), tmp_path / "out" / f"{name}.html"
        return said, *((None, "") if said.exit_code else (pd.read_csv(page.with_suffix(".csv")), page.read_text()))

    return submit


def test_a_class_on_two_tables_gives_rows_and_a_page_and_goes_on(submit):
    said, rows, page = submit("Randomly", *SMALL, "--splits", "1")
    assert said.stdout.startswith("2 tables, 0 of them stored already, 2 fits. One to 12 rows took ")
    assert [line.partition(":")[0] for line in said.stdout.splitlines()[1:3]] == ["[1/2] npha", "[2/2] german"]
    assert list(rows)[:8] == ["task", *TIDY]
    assert [set(rows[name]) for name in ("dataset", "method", "k")] == [{"npha", "german"}, {"Randomly"}, {2}]
    assert "<strong>Randomly</strong>" in page
    again, same, _ = submit("Randomly", *SMALL, "--splits", "1")
    assert again.stdout.startswith("2 tables, 2 of them stored already, 0 fits. ")
    assert again.stdout.count(": stored already") == 2
    pd.testing.assert_frame_equal(rows, same)


def test_a_twin_of_our_method_has_its_ranks_and_random_directions_are_behind(submit):
    stored = leaderboard.rows_of(["across-methods"], 0.0)[0].query("dataset in ['npha', 'german']")
    rows = pd.concat([stored, *(submit(name, *SMALL)[1] for name in ("Twin", "Randomly"))])
    found = {metric: leaderboard.ranks(metric, 2, rows) for metric in METRICS}
    for ranks in found.values():
        np.testing.assert_array_equal(ranks["Twin"], ranks["Fair PCA"])
    cost = found["relative error"].mean().sort_values()
    assert (cost.index[0], cost.index[-1]) == ("PCA", "Randomly")
    assert set(submission.fits(rows[rows["method"] == "Twin"])["certified"]) == {"yes"}
    assert set(submission.fits(rows[rows["method"] == "Randomly"])["certified"]) == {"no"}


def test_a_failure_is_a_reason_where_it_happened(submit):
    _, rows, page = submit("Large", *SMALL, "--splits", "1")
    assert rows.groupby("dataset")["value"].count()["german"] == 1  # the number of splits
    assert re.findall(r"<td>(\w+)</td>\s*<td>2</td>\s*<td>Large failed in fit", page) == ["german"]


def test_a_clustering_is_measured_by_its_balance(submit):
    _, rows, page = submit("Halves", "--table", "har_means", "--splits", "1")
    (balance,) = rows.loc[rows["metric"] == "Bal", "value"]
    assert f"{balance:.3g}</td>" in page


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("None", (), "has no class None. Name one that it has."),
        ("LEACE", (), "LEACE is a name of LEACE already. Give your class another name."),
        ("Never", (), "Never failed in fit (ValueError: not today). Correct it."),
        ("Twin", ("--table", "compas"), "There is no table compas. Twin can have adult, bank_marketing,"),
        ("Twin", ("--sizes", "10", "--table", "ecoli"), "has a value on no table: sizes=10 leave none"),
        ("Twin", ("--table", "obesety"), "There is no table obesety. Did you mean obesity?"),
        ("Twin", ("--sizes", "3"), "sizes='3'; the others are stored at 2, 5, 10."),
        ("Halves", ("--table", "ecoli"), "There is no table ecoli. Halves can have credit_card, har_means."),
    ],
)
def test_what_cannot_be_submitted_is_told_in_a_sentence(submit, name, options, said):
    done, rows, _ = submit(name, *options)
    assert (done.exit_code, rows) == (2, None)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_board_says_what_differs_and_one_table_has_none():
    rows, errors = leaderboard.rows_of(["across-methods"], 0.0)[0], leaderboard.CONCERNS[1]
    found, difference = leaderboard.board(errors, rows)
    rank = found["average rank"].astype(float)
    far = rank > rank.min() + difference + 0.1
    assert found["differs from the best"].tolist() == ["yes" if one else "no" for one in far]
    assert far.any()
    assert leaderboard.board(errors, rows[rows["dataset"] == "adult"]) is None
