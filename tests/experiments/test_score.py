"""Answers to the printed numbers: the printed ones, ours, those of other methods, and files that are refused."""

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from compendium import cli, paths
from compendium.ledger import score, table

CELL, OTHER = "kleindessner2023_adult_k10/001", "vu2022_table4_linear_svm/001"


@pytest.fixture(scope="module")
def real():
    return score.stored()


@pytest.fixture
def words(tmp_path):
    """A function that writes answers (a frame with ``value`` and the like) and gives the word of each cell."""

    def words(frame: pd.DataFrame) -> pd.Series:
        frame[frame["value"] != ""].to_csv(tmp_path / "answers.csv", index=False, columns=[*score.COLUMNS])
        return score.judged(score.answers(tmp_path / "answers.csv"))["result"]

    return words


def named(frame: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Columns of the ledger under the names that they have in answers; those that are not named are blank."""
    return frame[["cell"]].assign(
        **{name: frame[columns[name]] if name in columns else "" for name in score.COLUMNS[1:]}
    )


OURS = {"value": "ours", "std": "ours_std", "n": "splits"}


def test_each_column_of_the_ledger_is_described_and_nothing_else():
    meaning = yaml.safe_load(paths.data("columns.yml").read_text(encoding="utf-8"))
    assert list(meaning) == list(table.COLUMNS)
    assert len({*meaning.values()}) == len(meaning)
    assert all(text.endswith(".") for text in meaning.values())


def test_the_task_form_has_each_printed_number_and_no_value(real):
    tasks = score.tasks()
    assert tasks["cell"].tolist() == table.published()["cell"].sort_values().tolist()
    assert not {"published", "published_std", "ours", "ours_std", "deviation_digits"} & {*tasks}
    assert (tasks["test"] == "yes").sum() == (real["result"] != "not a test").sum()
    assert ((tasks["test"] == "yes") == (tasks["no_test"] == "")).all()
    assert {*tasks["scored_against"]} <= {*real}
    assert (real["verdict"][tasks["rule"] == "exact"] != "close").all(), "no grade that the rule excludes"
    assert (real["verdict"][tasks["rule"] == "exact or close"] == "close").any()


def test_the_printed_numbers_agree_and_what_is_a_test_does_not_depend_on_answers(real, words):
    test = real["result"] != "not a test"
    printed = words(named(real, value="published"))
    assert (printed[test] == "agrees").all()
    wrong = words(named(real, value="published").assign(value="-77"))
    for found in (printed, wrong, words(named(real[~test], value="published"))):
        assert ((found == "not a test") == ~test).all()
    assert (wrong[test] == "differs").all()
    assert (words(named(real[~test], value="published"))[test] == "missing").all()


def test_ours_agree_where_the_ledger_says_so(real, words):
    found, test = words(named(real, **OURS)), real["result"] != "not a test"
    assert ((found == "agrees") == (test & real["verdict"].isin(["exact", "close"])))[test].all()
    assert 0 < (found == "agrees").sum() < test.sum()
    assert not (found == "missing").any()


def test_other_methods_agree_as_often_as_the_chance_agreement_says(real, words):
    """Each number answered by each other method of its table; where a table has no methods, by other data."""
    here = real[~real["verdict"].isin(["unavailable", "not yet run"])].copy()
    stem = here["cell"].str.rpartition("/")[0]
    beside = here["dataset"].where(here["method"] != "", here["paper"])
    groups = here.groupby([stem, beside, *(here[name] for name in ("metric", "k", "split"))]).indices.values()
    agree, asked = np.zeros(len(real)), np.zeros(len(real))
    for shift in range(1, max(map(len, groups))):
        others = []
        for group in groups:
            if shift < len(group):
                rows = here.iloc[np.roll(group, shift)].assign(cell=here["cell"].to_numpy()[group])
                others.append(named(rows, **OURS))
        found = words(pd.concat(others))
        agree += found == "agrees"
        asked += found.isin(["agrees", "differs"])
    test = (real["result"] != "not a test").to_numpy()
    share, chance = agree[test] / asked[test], real["chance"][test].astype(float)
    assert (share <= chance + 1e-3).all()  # as the spread of an answer counts at most as that of ours
    assert share.mean() == pytest.approx(chance.mean(), abs=0.01)
    assert share.mean() < (words(named(real, **OURS))[test] == "agrees").mean() / 2


def test_a_spread_of_ones_own_widens_no_rule(real, words):
    """A value within 2 % agrees with a spread and not without; no spread brings in another value."""
    row = real[real["cell"] == CELL]
    near, far = (f"{float(row['published'].item()) * factor:.6f}" for factor in (1.015, 1.03))
    given = [(near, "0.5", "10"), (near, "", ""), (near, "0.5", "1"), (near, "0", "10"), (far, "1e9", "2")]
    found = [
        words(named(row).assign(value=value, std=std, n=n))[real["cell"] == CELL].item() for value, std, n in given
    ]
    assert found == ["agrees", "differs", "differs", "differs", "differs"]
    fixed = real[(score.tasks()["rule"] == "exact") & (real["verdict"] == "exact") & (real["published"] > "1")].iloc[
        [0]
    ]
    value = str(float(fixed["published"].item()) * 1.015)
    assert words(named(fixed).assign(value=value, std="9", n="10"))[fixed.index].item() == "differs"


def test_the_command_counts_by_table_and_paper_beside_chance(tmp_path, real):
    (tmp_path / "a.csv").write_text(f"cell,value\n\n{CELL},21.77\n{OTHER},7\n")
    result = CliRunner().invoke(cli.app, ["score", str(tmp_path / "a.csv"), "--out", str(tmp_path / "w.csv")])
    assert result.exit_code == 0, result.output
    *lines, limit = result.output.splitlines()
    assert limit == score.LIMIT
    assert "a file that copies them passes" in limit
    rows = [line.split() for line in lines]
    tested = real["result"] != "not a test"
    chance = f"{100 * real['chance'][tested].astype(float).mean():.0f}"
    assert rows[-1][:2] == ["all", "all"]
    assert [*rows[-1][2:8], rows[-1][-2]] == [
        f"{number:,}" for number in (len(real), (~tested).sum(), tested.sum(), 1, 1, tested.sum() - 2)
    ] + [chance]
    assert sum(row[0] == "rathore2025" for row in rows) == 6, "five tables and the paper"
    written = pd.read_csv(tmp_path / "w.csv", dtype=str, keep_default_na=False).set_index("cell")
    assert written.loc[[CELL, OTHER], "word"].tolist() == ["agrees", "differs"]
    assert len(written) == len(real)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "there is no answer"),
        ("cell,value\n", 1, "there is no answer"),
        ("\n", 1, "the columns are missing"),
        ("cell,value,note\n", 1, "the columns are cell, value, note"),
        ("cell,std\n", 1, "the columns are cell, std"),
        ("cell,value,value\n", 1, "the columns are cell, value, value"),
        (f"cell,value\n{CELL},1\nnone/001,1\n", 3, "the cell 'none/001' is not in the ledger"),
        (f"cell,value\n{CELL},1\n{OTHER},1\n{CELL},1\n", 4, f"the cell '{CELL}' is there for the second time"),
        (f"cell,value\n{CELL},nan\n", 2, "value is 'nan'"),
        (f"cell,value\n{CELL},1e999\n", 2, "value is '1e999'"),
        (f"cell,value\n{CELL},\n", 2, "value is ''"),
        (f'cell,value\n{CELL},"21,77"\n', 2, "value is '21,77'"),
        (f"cell,value\n{CELL},21,77\n", 2, "the number of fields is 3"),
        (f"cell,value\n{CELL}\n", 2, "the number of fields is 1"),
        (f'cell,value\n"{CELL},1\n{OTHER},1\n', 2, "unexpected end of data"),
        (f"cell,value,std\n{CELL},1,-0.1\n", 2, "std is -0.1"),
        (f"cell,value,std\n{CELL},1,inf\n", 2, "std is 'inf'"),
        *((f"cell,value,n\n{CELL},1,{n}\n", 2, f"n is '{n}'") for n in ("0", "-1", "2.5", "ten")),
        (f"cell,value\n{CELL},1\n\xff,1\n".encode("latin-1"), 3, "the cell '\ufffd' is not in the ledger"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(tmp_path, text, line, said):
    (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    result = CliRunner().invoke(cli.app, ["score", str(tmp_path / "a.csv")])
    assert result.exit_code == 2
    assert f"a.csv, line {line}: {said}" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_there_is_an_error_in_one_line(tmp_path):
    result = CliRunner().invoke(cli.app, ["score", str(tmp_path / "none.csv")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
