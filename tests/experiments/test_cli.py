"""The command line, in this process and as a real program."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import compendium.data
import evenspan
from compendium import cli as commands
from compendium import edits
from compendium.catalogue import experiment
from compendium.cli import app
from evenspan.core.errors import FetchError


def cli(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_help_and_version():
    result = cli("--help")
    assert result.exit_code == 0
    for command in ("list", "run", "data", "ledger", "live"):
        assert f" {command} " in result.output
    assert cli("--version").output == f"evenspan {evenspan.__version__}\n"
    assert "NAME VALUE" in cli("run", "--help").output


def test_the_command_line_imports_nothing_heavy():
    code = (
        "import sys, evenspan; before = set(sys.modules); import compendium.cli; new = set(sys.modules) - before\n"
        "print(sorted({name.partition('.')[0] for name in new} & {'numpy', 'pandas', 'sklearn', 'scipy', 'papermill'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_list_shows_what_counts(finished):
    record = finished / "toy-k2.json"
    record.write_text(record.read_text().replace('"protocol": 1', '"protocol": 2', 1))
    result = cli("list")
    assert result.exit_code == 0
    assert "toy-table" in result.output
    assert "toy-k10, toy-k2" in result.output
    assert "6 units, 1 of other data or versions" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nothing"], "There is no experiment 'nothing'; the experiments are toy-table."),
        (["run", "toy-table", "-p", "depth", "3"], "toy-table has no parameter 'depth'; its parameters are dataset"),
        (["run", "toy-table", "-p", "k", "ten"], "parameter 'k' is 'ten'. Input should be a valid integer"),
        (["run", "toy-table", "-p", "dataset", "adult"], "'dataset' cannot be 'adult'; it can be toy, other."),
        (["run", "toy-table", "-p", "k"], "-p needs a name and a value"),
        (["run", "toy-table", "--execution", "toy-k3"], "no execution 'toy-k3'; its executions are toy-k10, toy-k2."),
        (["run", "toy-table", "--profile", "fast"], "no profile 'fast'; the profiles are embedded, full."),
        (
            ["run", "toy-table", "--profile", "full", "--task", "k3"],
            "no unit k3; its units are k10-pca, k10-fair_pca,",
        ),
        (["ledger", "--check"], "ledger.csv is not what the results give"),
        (["run", "toy-table", "--colour", "red"], "No such option"),
        (["run", "toy-table", "--profile", "full", "--jobs", "-1"], "Invalid value for '--jobs'"),
        (["data", "burn", "adult"], "There is no data 'burn'; there are list, fetch, verify, card and ship."),
    ],
)
def test_mistakes_are_told_in_plain_words(toy_checkout, arguments, said):
    result = cli(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output + result.stderr


def test_the_program_ends_with_code_2_and_no_traceback(toy_checkout):
    command = [sys.executable, "-m", "compendium", "run", "toy-table", "-p", "k", "ten"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: toy-table: parameter 'k' is 'ten'.")


def test_the_embedded_profile_executes_the_notebook_with_typed_parameters(toy_checkout):
    result = cli("run", "toy-table", "-p", "k", "2", "-p", "scale", "3", "-p", "quick", "false")
    assert result.exit_code == 0, result.output
    made = toy_checkout / "_build" / "runs" / "toy-table" / "toy-k2-scale3.0-quickfalse.ipynb"
    cells = json.loads(made.read_text())["cells"]
    said = "".join(text for cell in cells for output in cell.get("outputs", []) for text in output.get("text", ""))
    assert said == "toy 2 3.0 False embedded\n"
    assert str(made) in result.output


def test_a_failing_notebook_is_told(toy_checkout):
    result = cli("run", "toy-table", "-p", "k", "13")
    assert result.exit_code == 2
    assert "AssertionError: thirteen" in result.stderr


def test_the_full_profile_runs_what_is_asked_and_keeps_what_is_stored(toy_checkout, monkeypatch):
    result = cli("run", "toy-table", "--profile", "full", "--execution", "toy-k2", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert "toy-table: 3 computed, 0 stored already\n" in result.stdout
    assert (toy_checkout / "_build" / "runs" / "toy-table" / "toy-k2.ipynb").is_file()
    notebooks = []
    monkeypatch.setattr(commands, "_run_notebook", lambda entry, setting, profile: notebooks.append(setting))
    again = cli("run", "toy-table", "--profile", "full", "-p", "k", "2")
    assert "toy-table: 0 computed, 3 stored already\n" in again.stdout
    one = cli("run", "toy-table", "--profile", "full", "--task", "k10-pca")
    assert "toy-table: 1 computed, 0 stored already\n" in one.stdout
    whole = {"dataset": "toy", "k": 2, "scale": 1.5, "quick": True}
    assert notebooks == [whole], "a single unit is computed without the notebook"


def test_other_cells_of_a_committed_notebook_have_every_unit_computed_anew(git, finished, toy_checkout, monkeypatch):
    def commit():
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "cells"]):
            named = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
            subprocess.run(named, cwd=toy_checkout, check=True)

    def full(execution):
        return cli("run", "toy-table", "--profile", "full", "--execution", execution).stdout

    entry, notebooks = experiment("toy-table"), []
    monkeypatch.setattr(commands, "_run_notebook", lambda entry, setting, profile: notebooks.append(setting["k"]))
    path, before = toy_checkout / entry.notebook, edits.committed_cells(entry)
    (toy_checkout / ".gitignore").write_text("_build\n")
    path.write_text(path.read_text().replace("print(dataset, k, scale", "print(k, dataset, scale"))
    commit()
    assert "toy-table: 3 computed, 0 stored already" in full("toy-k2")
    assert (edits.committed_cells(entry), notebooks) == (before, []), "units of other cells are left"
    assert "toy-table: 0 computed, 3 stored already" in full("toy-k2"), "those of this commit stay"
    assert "toy-table: 3 computed, 0 stored already" in full("toy-k10")
    assert edits.committed_cells(entry) != before
    assert notebooks == [10]


def test_a_failing_unit_is_told(toy_checkout, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "PCA")
    result = cli("run", "toy-table", "--profile", "full", "-p", "k", "2")
    assert result.exit_code == 2
    assert "1 of 3 units failed." in result.stderr
    assert "k2-pca: ValueError: PCA was told to fail" in result.stderr


def test_ledger_writes_shows_and_checks(finished):
    written = cli("ledger")
    assert written.exit_code == 0
    assert "as described" in written.stdout
    assert (finished.parents[1] / "ledger.csv").is_file()
    assert cli("ledger", "--check").exit_code == 0
    (finished / "toy-k10.csv").unlink()
    (finished / "toy-k10.json").unlink()
    assert "is not what the results give" in cli("ledger", "--check").stderr
    summary = cli("ledger", "--summary")
    assert summary.stdout == "No number that can tell methods apart has been run.\n"


def test_data_commands_call_the_data_layer(monkeypatch):
    listed = cli("data", "list")
    assert listed.exit_code == 0
    assert "adult" in listed.stdout
    assert "sklearn_diabetes" in listed.stdout
    assert cli("data", "verify", "sklearn_diabetes").exit_code == 0
    unknown = cli("data", "verify", "adults")
    assert unknown.exit_code == 2
    assert "adult" in unknown.stderr

    def unreachable(name):
        raise FetchError(f"{name} is not reachable")

    monkeypatch.setattr(compendium.data, "fetch", unreachable)
    failed = cli("data", "fetch", "adult")
    assert (failed.exit_code, failed.stderr) == (2, "Error: adult is not reachable\n")
    monkeypatch.setattr(compendium.data, "card", lambda name: f"# {name}")
    assert cli("data", "card", "adult").stdout == "# adult\n"
    refused = cli("data", "ship", "jaffe")
    assert refused.exit_code == 2
    assert "its licence" in refused.stderr
