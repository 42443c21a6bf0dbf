"""Options of the command, as anybody might write them: the work that was asked for, or an error that names a fault."""

import itertools
import json
import math
import os
from pathlib import Path

import click.testing
import pytest
import typer
from hypothesis import strategies as st
from nbformat.v4 import new_notebook
from papermill.exceptions import PapermillExecutionError
from typer.testing import CliRunner

from evenspan import cli
from evenspan.auditing import execution, notebook
from evenspan.core.errors import TOLD, ConfigurationError
from evenspan.methods import METHODS

from .test_places import content, fill

#: Values of each option, some of which mean something.
VALUES = {
    "--sensitive": ["team", "job", "", "\udcff", "\0", "team\nteam", "\x1b[31mred", "=1+1", "n" * 70_000, "block"],
    "--target": ["hired", "team", "", "\udc80", "x" * 5000],
    "-k": [
        "3", "2,5", "1..10", "0", "-1", "", ",", "1,,2", "10..1", "1..100000000000", "100000000000", "9" * 5000, "1..",
        "nan", "1e3", "٣", "²", "1.5", " 2 .. 3 ", "0003", "1..500", "1..501", "99999999999..5", "1,1", "0..2",
    ],
    "--methods": ["Fair PCA", "all", "PCA", "", "fair pca", "\x1b]0;title\x07", "\udcff", "LEACE"],
    "--concern": ["losses", "errors", "means", "", "Losses", "fairness"],
    "--missing": ["error", "drop", "mean", "indicator", "", "ignore"],
    "--exclude": ["nr", "team", "", "\udcff", "hired"],
    "--keep": ["nr", "team", "", "\0"],
    "--holdout": ["0.3", "0", "1", "-1", "nan", "inf", "-inf", "1e-320", "0.999999", "", "half", "30%", "0,3", "1e999"],
    "--bootstrap": ["20", "1000", "19", "0", "-5", "100000", "100001", "1000000000000", "9" * 5000, "1e3", "nan", ""],
    "--seed": ["0", "7", "-1", str(2**64), str(10**300), "9" * 5000, "1.0", "nan", "", "None"],
    "--output": ["report", "out/report", "", ".", "..", "t.csv", "t.csv/report", "/dev/null/x", "n" * 300, "r\udcff"],
}  # fmt: skip
TABLES = [
    "t.csv", "./t.csv", "t.xlsx::two words", "t.xlsx", "t.csv::", "nothing.csv", "", ".", "::", "b\udcff.csv",
    "t\0.csv", "n" * 300, "report", "t.csv/x", "loop",
]  # fmt: skip
FLAGS = ["--intersections", "--no-standardize", "--overwrite", "--no-such-option", "--bootstrap", "-z"]


def sizes_of(text: str) -> set[int]:
    """What -k means, read another way."""
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("..")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with tables, and a command whose notebook is filled without any work."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "t.xlsx", os.fsdecode(b"b\xff.csv")):
        (tmp_path / name).write_text("a,b,team\n1,2,x\n")
    (tmp_path / "loop").symlink_to("loop")
    begun = []

    def execute(parameters, stage, *_):
        begun.append(parameters)
        fill(stage, "new")
        settings = json.loads((stage / "settings.json").read_text())
        (stage / "settings.json").write_text(
            json.dumps(settings | {"answers": ["team: keep PCA \x1b[2J"], "warnings": []})
        )
        return new_notebook()

    monkeypatch.setattr(notebook, "_execute", execute)
    return tmp_path, begun


def _undone(top: Path, before: dict) -> None:
    """Remove the report, so that the next draw finds what the first did."""
    for name in sorted(content(top).keys() - before.keys(), reverse=True):
        path = top / name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_options_are_understood_or_named_before_the_work(attack, here):
    top, begun = here
    before, runner, command = content(top), click.testing.CliRunner(), typer.main.get_command(cli.app)

    def body(case):
        table, words, flags = case
        begun.clear()
        given = [word for option, value in words for word in (option, value)]
        result = runner.invoke(command, ["audit", table, *given, *flags])
        assert not isinstance(result.exception, Exception), result.exception
        assert "\x1b" not in result.output
        assert "Traceback" not in result.output
        if result.exit_code == TOLD:
            assert not begun
            assert content(top) == before
            assert "rror" in result.stderr
            raise ConfigurationError(result.stderr)
        assert result.exit_code == 0
        (parameters,) = begun
        place = Path(dict(words).get("--output", "report"))
        assert {name: what for name, what in content(top).items() if name in before} == before
        assert (place / "report.html").read_text() == "new"
        _undone(top, before)
        named, mark, sheet = parameters["table"].partition("::")
        assert (mark, sheet) == (("::", table.partition("::")[2]) if "::" in table else ("", ""))
        assert os.path.normpath(place.absolute() / named) == os.path.normpath(top / table.partition("::")[0])
        assert parameters["k"] is None or set(parameters["k"]) == sizes_of(dict(words)["-k"])
        assert 0 < parameters["holdout"] < 1
        assert math.isfinite(parameters["holdout"])
        assert 20 <= parameters["n_boot"] <= 100_000
        assert parameters["random_state"] >= 0
        assert parameters["methods"] in (None, "all") or set(parameters["methods"]) <= set(METHODS)
        assert len(set(parameters["sensitive"])) == len(parameters["sensitive"]) > 0
        json.dumps(parameters, ensure_ascii=False).encode()

    # One or two options of any kind beside what makes a good command, so that a fault is seldom hidden by another.
    good = [("--sensitive", "team")]
    word = st.sampled_from([(option, value) for option in VALUES for value in VALUES[option]])
    words = st.lists(word, max_size=2).map(lambda more: (good + more) if "--sensitive" not in dict(more) else more)
    tables = st.one_of(st.just("t.csv"), st.just("t.csv"), st.sampled_from(TABLES))
    flags = st.one_of(st.just([]), st.just([]), st.lists(st.sampled_from(FLAGS), max_size=1))
    attack("options of evenspan audit", "options", st.tuples(tables, words, flags), body)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("t.csv -o t.csv", "Error: t.csv is a file; needed is the name of a folder for the report. Name another one."),
        ("t.csv -o t.csv/report", "Error: The report cannot be written to t.csv/report"),
        ("t.csv -o .", "Error: The table t.csv is in ., where the report goes."),
        ("t.csv -k 1..100000000000", "Error: -k 1..100000000000 asks for more than 500 components"),
        ("t.csv --bootstrap 100001", "Error: n_boot=100,001; needed are at most 100,000 draws"),
        ("t.csv -s team", "sensitive=['team', 'team']"),
        ("t.csv --exclude team", "column 'team' is sensitive, and also"),
        ("t.csv --intersections", "intersections=True needs two"),
        ("t.csv --holdout nan", "holdout=nan; needed is a share above 0"),
        ("t.csv -m PCAs", "'PCAs'"),
        ("nothing.csv", "Error: There is no nothing.csv in"),
    ],
)
def test_what_is_said(here, words, said):
    result = CliRunner().invoke(cli.app, ["audit", *words.split(), "-s", "team"])
    assert result.exit_code == TOLD
    assert said in result.stderr.replace(str(here[0]), ".")


def test_what_the_notebook_says_of_the_table_is_said_as_it_was_named(tmp_path, monkeypatch):
    """Also of a table whose name is in the message as a word, and of an output that is named like it."""
    monkeypatch.chdir(tmp_path)

    def run_kernel(prepared, executed, parameters, *_):
        said = f"{parameters['table']}: t.csv report has 1 row in all ... needed are two. Add rows."
        raise PapermillExecutionError(0, 1, "", "DataError", said, [])

    monkeypatch.setattr(execution, "run_kernel", run_kernel)
    for table, output in itertools.product(("t.csv", "report", str(tmp_path / "t.csv")), ("out", "t.csv.d", "a/t.csv")):
        Path(table).write_text("a,b\n")
        result = CliRunner().invoke(cli.app, ["audit", table, "-s", "team", "-o", output])
        said = f"Error: {table}: t.csv report has 1 row in all ... needed are two. Add rows.\n"
        assert (result.exit_code, result.stderr) == (TOLD, said)
