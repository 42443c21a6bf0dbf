"""``evenspan audit``: from a table to a folder, whole or not at all; what cannot be done is said in one line."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenspan import cli
from evenspan.auditing import command as cli_audit
from evenspan.auditing import execution, notebook, sample
from evenspan.auditing.progress import FileProgress, Follower
from evenspan.auditing.recommend import CONCERNS
from evenspan.core.errors import ConfigurationError

from .tables import plain

COMMAND = [sys.executable, "-m", "evenspan", "audit"]
QUICK = ["--sensitive", "team", "-k", "1..2", "--methods", "Min-max loss", "--methods", "Fair PCA", "--bootstrap", "40"]


def environment() -> dict[str, str]:
    """As a user has it: no checkout named, and none around the working folder."""
    return {name: value for name, value in os.environ.items() if name not in ("EVENSPAN_ROOT", "CI")}


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "my people.csv"
    paid = [f"${v:,}" for v in range(10_000, 10_300)]
    plain(300).assign(nr=range(1, 301), paid=paid).to_csv(path, index=False)
    return path


def run(*words, cwd, **kwargs):
    return subprocess.run(
        [*COMMAND, *map(str, words)], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=600, **kwargs
    )


@pytest.mark.slow
def test_from_a_table_to_a_report_and_again_with_other_parameters(table, tmp_path_factory, monkeypatch):
    done = run(table.name, *QUICK, "--keep", "nr", "-o", "out/report", cwd=table.parent)
    assert done.returncode == 0, done.stderr
    folder = table.parent / "out" / "report"
    assert "out/report/report.html" in done.stdout
    assert "team: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Column 'paid' was left out: looks like numbers")
    assert "reading the rows" in done.stderr  # progress, a line each
    assert {path.name for path in folder.iterdir()} == {
        "report.html", "audit.ipynb", "tables", "figures", "transformers", "settings.json",
    }  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["report"]
    executed = json.loads((folder / "audit.ipynb").read_text())
    assert all(cell["execution_count"] for cell in executed["cells"] if cell["cell_type"] == "code")
    assert str(table.parent) not in (folder / "audit.ipynb").read_text()
    assert str(table.parent) not in (folder / "report.html").read_text()
    assert "my people.csv" in (folder / "report.html").read_text()
    assert len(pd.read_csv(folder / "tables" / "methods.csv")) > 50
    assert any((folder / "transformers").glob("*.npz"))
    assert pd.read_csv(folder / "tables" / "columns.csv", index_col="column").loc["nr", "used as"] == "number"

    # The notebook that lies there is itself a notebook with parameters, and writes its folder anew; also if temporary
    # files lie too deep for sockets.
    deep = tmp_path_factory.mktemp("t" * 120)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with execution.clean_room() as room:
        execution.run_kernel(folder / "audit.ipynb", room / "again.ipynb", {**_given(folder), "k": [3]}, folder, room)
    assert json.loads((folder / "settings.json").read_text())["k"] == [3]
    assert set(pd.read_csv(folder / "tables" / "methods.csv")["k"]) == {3}

    refused = run(table.name, *QUICK, "-o", "out/report", cwd=table.parent)
    assert refused.returncode == 2
    assert "--overwrite" in refused.stderr


def _given(folder: Path) -> dict:
    cells = json.loads((folder / "audit.ipynb").read_text())["cells"]
    injected = [c for c in cells if "injected-parameters" in c["metadata"].get("tags", [])]
    names: dict = {}
    exec("".join(injected[0]["source"]), {}, names)
    return names


@pytest.mark.slow
def test_an_error_of_evenspan_arrives_as_one_line(table):
    done = run(table.name, "--sensitive", "colour", "-o", "report", cwd=table.parent)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(said) == 1
    assert "colour" in said[0]
    assert "team" in said[0]
    assert "Traceback" not in done.stderr
    assert "../" not in said[0]
    assert sorted(path.name for path in table.parent.iterdir()) == [table.name]


@pytest.mark.slow
def test_what_is_no_error_of_evenspan_keeps_the_notebook(table, monkeypatch):
    broken = json.loads(notebook.source().read_text())
    broken["cells"][3]["source"] = "raise ValueError('not foreseen')"
    own = table.parent / "broken.ipynb"
    own.write_text(json.dumps(broken))
    monkeypatch.setattr(notebook, "source", lambda: own)
    with pytest.raises(notebook.ExecutionError, match="ValueError: not foreseen"):
        notebook.run({"table": "../my people.csv"}, table.parent / "report")
    assert (table.parent / "report.failed.ipynb").is_file()
    assert not (table.parent / "report").exists()


def test_refused_before_a_kernel_is_started(table, monkeypatch):
    monkeypatch.chdir(table.parent)
    monkeypatch.setattr(notebook, "_execute", lambda *_: pytest.fail("the kernel was started"))
    (table.parent / "mine").mkdir()
    (table.parent / "mine" / "letter.txt").touch()
    for words, said in (
        ("-k 3..1", "-k '3..1' cannot be read"),
        ("-k many", "3, or 2,5, or 1..10"),
        ("--missing ignore", "error, drop, mean, indicator"),
        ("--concern all", "'losses', 'errors', 'means'"),
        ("-m all -m LEACE", "--methods all goes with no other"),
        ("-o .", "The table my people.csv is in ."),
        ("-o mine", "not from an audit (letter.txt)"),
        ("-o ./my\\ people.csv", "is a file"),
    ):
        result = CliRunner().invoke(cli.app, ["audit", table.name, "-s", "team", *shlex.split(words)])
        assert (result.exit_code, result.stderr.count("Error: "), said in result.stderr) == (2, 1, True), words
    assert "There is no nothing.csv" in CliRunner().invoke(cli.app, ["audit", "nothing.csv", "-s", "team"]).stderr


def test_sizes_are_read_as_written_and_the_options_are_those_of_the_library():
    assert [cli_audit.sizes(text) for text in ("3", "2,5", "1..4, 9,2")] == [[3], [2, 5], [1, 2, 3, 4, 9]]
    assert tuple(CONCERNS) == cli_audit.CONCERNS
    assert cli_audit.MISSING == sample._RULES
    with pytest.raises(ConfigurationError, match="cannot be read"):
        cli_audit.sizes("0..2")


def test_a_missing_package_is_named_with_its_extra(table, monkeypatch):
    monkeypatch.setattr(notebook, "NEEDED", ("papermill", "no_such_package"))
    with pytest.raises(ConfigurationError, match=r"no_such_package.*evenspan\[audit\]"):
        notebook.run({}, table.parent / "report")


def test_progress_is_followed_line_by_line(tmp_path):
    path = tmp_path / "steps"
    follower = Follower(path)
    assert follower.news() == []
    told = FileProgress(path)
    told.stage("reading", 2)
    told.advance(1)
    told.advance(1)
    with path.open("a") as file:
        file.write('{"stage": "half a li')
    assert [(step["stage"], step["done"]) for step in follower.news()] == [("reading", 0), ("reading", 2)]
    assert follower.news() == []
    with path.open("a") as file:
        file.write('ne", "done": 0, "total": null}\n')
    assert [step["stage"] for step in follower.news()] == ["half a line"]
