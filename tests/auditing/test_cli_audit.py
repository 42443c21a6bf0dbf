"""``evenspan audit``: from a table to a folder, whole or not at all; what cannot be done is said in one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenspan.auditing import command, notebook
from evenspan.auditing.run import audit, expected
from evenspan.core.errors import ConfigurationError

from .tables import plain

COMMAND = [sys.executable, "-m", "evenspan", "audit"]
QUICK = ["--sensitive", "team", "-k", "1..2", "--methods", "Min-max error", "--bootstrap", "40"]


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "my::people.csv"
    plain(300).assign(nr=range(1, 301)).to_csv(path, index=False)
    return path


def run(*words, cwd, **more):
    """As a user has it: no checkout named; the terminal shows ASCII, and another kernel is called python3."""
    foreign = cwd / "jupyter" / "kernels" / "python3"
    foreign.mkdir(parents=True, exist_ok=True)
    (foreign / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "other", "language": "python"}')
    own = {"JUPYTER_PATH": str(cwd / "jupyter"), "JUPYTER_PREFER_ENV_PATH": "0", "PYTHONIOENCODING": "ascii"}
    environment = {name: value for name, value in os.environ.items() if name not in ("EVENSPAN_ROOT", "CI")} | own
    with subprocess.Popen([*COMMAND, *map(str, words)], cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:  # fmt: skip
        if more.get("interrupt"):
            line = process.stderr.readline()
            while line and "Methods" not in line:
                line = process.stderr.readline()
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    return process.returncode, out, err


@pytest.mark.slow
def test_from_a_table_to_a_report_and_again_with_other_parameters(table, monkeypatch):
    plain(300).assign(größe=[1, 3, 0] * 100).to_csv(table.parent / "größe.csv", index=False)
    code, out, err = run("größe.csv", *QUICK, "--weights", "größe", "-o", "außen/report", cwd=table.parent)
    assert code == 0, err
    folder = table.parent / "außen" / "report"
    assert "report.html" in out
    assert sum(line.startswith("team, ") for line in out.splitlines()) == 3
    assert "Methods for team" in err  # progress, a line each
    assert "100 rows of weight 0 were left out" in (folder / "report.html").read_text(encoding="utf-8")
    groups = pd.read_csv(folder / "tables" / "groups.csv")
    assert groups["effective size"].round(6).tolist() == [64.0, 96.0, 160.0]  # of 80, 120 and 200 rows: 4^2 / (2 * 10)
    names = {"report.html", "audit.ipynb", "tables", "figures", "transformers", "settings.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert [path.name for path in folder.parent.iterdir()] == ["report"]
    executed = json.loads((folder / "audit.ipynb").read_text())
    assert all(cell["execution_count"] for cell in executed["cells"] if cell["cell_type"] == "code")
    for name in ("audit.ipynb", "report.html", "settings.json"):
        assert str(table.parent) not in (folder / name).read_text()
    assert executed["metadata"]["kernelspec"]["name"] == "python3"

    # The notebook that lies there is itself a notebook with parameters, and writes its folder anew.
    import papermill

    given: dict = {}
    exec(next("".join(c["source"]) for c in executed["cells"] if "injected" in str(c["metadata"])), {}, given)
    path = folder / "audit.ipynb"
    papermill.execute_notebook(path, path, given | {"k": [3]}, cwd=folder, progress_bar=False)
    assert set(pd.read_csv(folder / "tables" / "methods.csv")["k"]) == {3}
    monkeypatch.chdir(table.parent)
    again = CliRunner().invoke(command.app, ["audit", table.name, *QUICK, "-o", "außen/report"])
    assert (again.exit_code, "audit.ipynb" in again.stderr, "--overwrite" in again.stderr) == (2, True, True)  # changed


@pytest.mark.slow
def test_an_error_and_an_interruption_are_one_line_and_leave_nothing(table):
    for words, told in (
        (("--sensitive", "colour"), "team"),
        (("--sensitive", "team", "--missing", "ignore"), "'error', 'drop', 'mean' or 'indicator'"),
        (("--sensitive", "team", "-m", "all", "-m", "LEACE"), "methods has 'all'"),
    ):
        code, _, err = run(table.name, *words, "-o", "report", cwd=table.parent)
        (said,) = [line for line in err.splitlines() if line.startswith("Error: ")]
        assert (code, told in said, "Traceback" in err) == (2, True, False), words
    code, out, err = run(table.name, *QUICK, "--bootstrap", "20000", "-o", "report", cwd=table.parent, interrupt=True)
    assert (code, out, err.splitlines()[-1:]) == (130, "", ["Interrupted. Nothing was written to report."])
    assert "Traceback" not in err
    time.sleep(1.0)  # a kernel that went on would write
    assert sorted(path.name for path in table.parent.iterdir()) == ["jupyter", table.name]


def test_refused_before_a_kernel_is_started(table, monkeypatch):
    monkeypatch.chdir(table.parent)
    monkeypatch.setattr("papermill.execute_notebook", lambda *_, **__: pytest.fail("the kernel was started"))
    (table.parent / "mine").mkdir()
    (table.parent / "mine" / "letter.txt").touch()
    for words, said in (
        ("-k 3..1", "-k '3..1' cannot be read"),
        ("-k 0..2", "3, or 2,5, or 1..10"),
        ("--missing-codes 'a=1; 2'", "'income=-999; trust=8,9'"),
        ("-o .", "is in ., where the report goes"),
        ("-o mine", "1 file(s) that no audit wrote, or that were changed since (letter.txt)"),
        ("-o './my::people.csv'", "is a file"),
    ):
        result = CliRunner().invoke(command.app, ["audit", table.name, "-s", "team", *shlex.split(words)])
        assert (result.exit_code, result.stderr.count("Error: "), said in result.stderr) == (2, 1, True), words
    assert "There is no nothing.csv" in CliRunner().invoke(command.app, ["audit", "nothing.csv", "-s", "team"]).stderr
    monkeypatch.setattr(notebook, "NEEDED", ("papermill", "no_such_package"))
    with pytest.raises(ConfigurationError, match=r"no_such_package.*evenspan\[audit\]"):
        notebook.run({}, table.parent / "report")


def test_options_and_progress(capsys):
    assert [command.sizes(text) for text in ("3", "2,5", "1..4, 9,2")] == [[3], [2, 5], [1, 2, 3, 4, 9]]
    for text, codes in (("", {}), ("-9, x", ["-9", "x"]), (" a=b=-9,8 ; c=1;", {"a=b": ["-9", "8"], "c": ["1"]})):
        assert command.codes_by_column(text) == codes
    heard: list = []
    for progress in (lambda *step: heard.append(step), True, False):
        audit(plain(200), sensitive="team", k=1, methods=["LEACE"], n_boot=20, progress=progress)
    assert heard[:2] == [("reading the table", 0, None), ("reading the columns", 0, 5)]
    assert heard[-4:] == [
        ("Methods for team", 0, 2),
        ("Methods for team", 1, 2),
        ("Attackers for team", 0, None),
        ("What is possible for team", 0, None),
    ]
    stages = ["reading the table", "reading the columns", "reading the rows", "Methods for team", "Attackers for team"]
    assert capsys.readouterr().err.splitlines() == [*stages, "What is possible for team"]


def test_what_takes_long_is_said_before_the_work(monkeypatch, capsys):
    usual = {"methods": 11, "sizes": 1}
    assert expected(400, 12, 1, **usual) == expected(1000, 50, 1, **usual) == ""
    assert expected(2_000_000, 20, 1, **usual).startswith(" (2,000,000 rows, 20 features: about ")
    more = (expected(48_842, d, attributes, **usual) for d, attributes in ((100, 1), (100, 2), (768, 2)))
    seconds = [int(one.replace(",", "").split()[-2]) for one in more]
    assert 15 < seconds[0] < seconds[1] < seconds[2]
    assert seconds[2] % 60 == 0
    monkeypatch.setattr("evenspan.auditing.run.LONG", 0)
    audit(plain(200), sensitive="team", k=1, methods=["LEACE"], n_boot=20, progress=True)
    assert "reading the rows (200 rows, 4 features: about 10 s)" in capsys.readouterr().err.splitlines()
