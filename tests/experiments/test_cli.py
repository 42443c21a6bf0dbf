"""The commands of the compendium, in this process and as programs, and the list of experiments that they read."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import evenspan
from compendium import cli as commands
from compendium import edits, paths, store, verify
from compendium.catalogue import catalogue, experiment
from compendium.engine import execute_cells
from compendium.errors import RegistryError
from compendium.ledger.verdicts import Result

NAME, FULL = "toy-table", ("--profile", "full")


def cli(*arguments: str):
    return CliRunner().invoke(commands.app, list(arguments))


def test_help_and_version_import_nothing_heavy():
    assert cli("--version").output == f"evenspan {evenspan.__version__}\n"
    code = (
        "import sys, evenspan; before = set(sys.modules); import compendium.cli; new = set(sys.modules) - before\n"
        "print(sorted({name.partition('.')[0] for name in new} & {'numpy', 'pandas', 'sklearn', 'scipy', 'papermill'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "toy-tables"], "There is no experiment 'toy-tables'. Did you mean toy-table?"),
        (["run", NAME, "-p", "k", "0"], "parameter 'k' is 0; needed is 1 or more."),
        (["run", "nothing"], "There is no experiment 'nothing'. The experiments are toy-table."),
        (["run", NAME, "-p", "depth", "3"], "no parameter 'depth'; its parameters are dataset (default toy), k"),
        (["run", NAME, "-p", "k", "ten"], "parameter 'k' is 'ten'. Input should be a valid integer"),
        (["run", NAME, "-p", "scale", "nan"], "'scale' is 'nan'. Input should be a finite number"),
        (["run", NAME, "-p", "dataset", "adult"], "'dataset' cannot be 'adult'; it can be toy, other."),
        (["run", NAME, "-p", "k"], "-p needs a name and a value"),
        (["run", NAME, "--execution", "toy-k3"], "no execution 'toy-k3'; its executions are toy-k10, toy-k2."),
        (["run", NAME, "--profile", "fast"], "no profile 'fast'; the profiles are embedded, full."),
        (["run", NAME, *FULL, "--task", "k3"], "no unit k3; its units are k10-pca, k10-fair_pca,"),
        (["ledger", "--check"], "ledger.csv is not what the results give"),
        (["data", "burn", "adult"], "There is no data 'burn'; there are list, fetch, verify, card and ship."),
        (["verify"], "Give experiments, --sample SECONDS, or both; or --all."),
        (["verify", "none"], "There is no experiment 'none'"),
    ],
)
def test_mistakes_are_told_in_plain_words(toy_checkout, arguments, said):
    result = cli(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.output + result.stderr


def test_the_embedded_profile_executes_the_notebook_with_typed_parameters(toy_checkout):
    result = cli("run", NAME, "-p", "k", "2", "-p", "scale", "3", "-p", "quick", "false")
    assert result.exit_code == 0, result.output
    made = toy_checkout / "_build" / "runs" / NAME / "toy-k2-scale3.0-quickfalse.ipynb"
    cells = json.loads(made.read_text())["cells"]
    said = "".join(text for cell in cells for output in cell.get("outputs", []) for text in output.get("text", ""))
    assert said == "toy 2 3.0 False embedded\n"


def test_the_full_profile_runs_what_is_asked_and_keeps_what_is_stored(toy_checkout, monkeypatch):
    notebooks = []
    monkeypatch.setattr(commands, "_run_notebook", lambda entry, setting: notebooks.append(setting["k"]))
    for asked, said in (
        (("--execution", "toy-k2", "--jobs", "2"), "3 computed, 0 stored already"),
        (("-p", "k", "2"), "0 computed, 3 stored already"),
        (("--task", "k10-pca"), "1 computed, 0 stored already"),
    ):
        assert f"{NAME}: {said}\n" in cli("run", NAME, *FULL, *asked).stdout
    assert notebooks == [2, 2], "a single unit is computed without the notebook"


def other_cells(root):
    """Exchange two words of a cell of the notebook; the digests that the stored results belong to."""
    path = root / experiment(NAME).notebook
    path.write_text(path.read_text().replace("print(dataset, k, scale", "print(k, dataset, scale"))
    return edits.committed_cells(experiment(NAME))


def test_results_belong_to_other_cells_where_none_counts_or_all_agree(finished, toy_checkout, shift, monkeypatch):
    monkeypatch.setattr(commands, "_run_notebook", lambda *given: None)
    cells, before = other_cells(toy_checkout), {path: path.read_bytes() for path in finished.iterdir()}
    assert "3 computed" in cli("run", NAME, *FULL, "--execution", "toy-k2").stdout
    assert {path: path.read_bytes() for path in finished.iterdir()} == before, "an edited run, kept apart"
    space = execute_cells(experiment(NAME), experiment(NAME).execution("toy-k2"), "full")
    assert set(space["results"]["source"]) == {"stored"}, "and not computed again in its notebook"
    assert space["study"].edited_reason
    assert cli("verify", "--sample", "9").exit_code == 0
    assert edits.committed_cells(experiment(NAME)) == cells, "of experiments that are named alone"
    shown = cli("verify", NAME, "--sample", "0")
    assert "6 of 6 units agree; the data of 0 are not at hand." in shown.output
    assert edits.committed_cells(experiment(NAME)) != cells
    edits_path = store.cells_of(NAME)
    edits_path.write_text("\n".join(cells))
    (toy_checkout / "data" / "versions.yml").write_text(f"protocols: {{{NAME}: 2}}\n")
    assert "0 of 0 units agree" in cli("verify", NAME).output
    assert edits.committed_cells(experiment(NAME)) == cells, "nothing was computed again"
    assert "3 computed" in cli("run", NAME, *FULL, "--execution", "toy-k2").stdout
    assert edits.committed_cells(experiment(NAME)) != cells
    assert {path: path.read_bytes() for path in finished.iterdir()} != before


def test_a_result_that_nobody_can_compute_again_is_found(finished, shift, toy_checkout):
    shift(finished / "toy-k10.json", "k10-pca", 1.001)
    cells = other_cells(toy_checkout)
    shown = cli("verify", NAME)
    assert shown.exit_code == 1
    assert "DIFFERS at toy PCA 10 0" in shown.output
    assert "5 of 6 units agree" in shown.output
    assert edits.committed_cells(experiment(NAME)) == cells


def test_units_without_their_data_are_told_and_are_no_disagreement(finished, monkeypatch):
    monkeypatch.setenv("FAKE_REFUSE", "1")
    shown = cli("verify", NAME)
    assert shown.exit_code == 3, "nothing was compared"
    assert "no data here: points.csv: not there." in shown.output
    assert "0 of 6 units agree; the data of 6 are not at hand." in shown.output


def test_a_sample_is_drawn_by_its_seed_and_has_two_units_of_each_method_of_what_is_named(finished, monkeypatch):
    everything = verify.chosen()
    assert everything == verify.chosen([NAME]) == [(NAME, name) for name in sorted(store.units_of(NAME))]
    assert verify.chosen([NAME], 0.0, "a") == everything, "there are two units of each of three methods"
    for unit in store.units_of(NAME).values():
        monkeypatch.setitem(unit.record, "seconds", 2.0)
    drawn = [verify.chosen((), 5.0, seed) for seed in "abcdefghij"]
    assert drawn == [verify.chosen((), 5.0, seed) for seed in "abcdefghij"]
    assert len(set(map(tuple, drawn))) > 1


def test_list_and_ledger_show_what_counts(finished, toy_checkout):
    assert cli("ledger").exit_code == cli("ledger", "--check").exit_code == 0
    (finished / "toy-k10.csv").unlink()
    (finished / "toy-k10.json").unlink()
    assert "is not what the results give" in cli("ledger", "--check").stderr
    assert "No number that can tell methods apart has been run.\n" in cli("ledger").stdout
    (toy_checkout / "data" / "versions.yml").write_text(f"protocols: {{{NAME}: 2}}\n")
    shown = cli("list").output
    assert re.search("toy-table.*toy-k10, toy-k2.*3 units, 3 of other data or versions", shown)


def test_data_commands_call_the_data_layer():
    assert "sklearn_diabetes" in cli("data", "list").stdout
    assert cli("data", "verify", "sklearn_diabetes").exit_code == 0
    for words, said in ((("verify", "adults"), "adult"), (("ship", "jaffe"), "its licence")):
        refused = cli("data", *words)
        assert (refused.exit_code, said in refused.stderr) == (2, True)


# -- as programs --------------------------------------------------------------------------------------------------


@pytest.fixture
def command(toy_checkout):
    """A function that starts a command of the compendium, as a program of its own."""
    started = []

    def command(*words, **environment):
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        program = [sys.executable, "-m", "compendium", *words]
        # Ctrl-C ends it, also where the tests themselves run in the background and ignore it.
        given |= {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
        started.append(subprocess.Popen(program, env=os.environ | environment, **given))
        return started[-1]

    yield command
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.machine
@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        (signal.SIGINT, 130, "Interrupted. What is finished is stored; the same command continues.\n"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_an_ended_run_goes_on_and_gives_the_same_rows(ended, code, said, finished, command, run_toy):
    whole = {path.name: path.read_bytes() for path in finished.glob("*.csv")}
    for path in finished.iterdir():
        path.unlink()
    process, end = command("run", NAME, *FULL, "--jobs", "2", FAKE_HANG="k2 Fair PCA"), time.monotonic() + 120
    while not (finished / "toy-k2.json").exists():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    process.send_signal(ended)
    assert (process.communicate(timeout=180)[1], process.returncode) == (said, code)
    left = 6 - len(store.units_of(NAME))
    assert len(run_toy()) == left < 6
    assert {path.name: path.read_bytes() for path in finished.glob("*.csv")} == whole


@pytest.mark.machine
def test_of_two_runs_one_works_and_the_other_waits_for_it(results, command):
    both = [command("run", NAME, *FULL, "--task", "k2-pca", FAKE_SECONDS="3") for _ in range(2)]
    text = "".join(one.communicate(timeout=240)[0] for one in both)
    assert [one.returncode for one in both] == [0, 0], text
    assert re.search(r"does this already \(run toy-table/toy-k\d+\); waiting until it has ended\.", text)
    assert sorted(re.findall(r"^toy-table: (\d) computed", text, re.MULTILINE)) == ["0", "1"], "once"
    assert store.summary(NAME) == "1 units"


# -- a paper computed again ---------------------------------------------------------------------------------------


def table_of(text: str) -> dict[str, list[str]]:
    """The last lines of the output, by their first column: this run and stored."""
    return {line[:24].strip(): line[24:].split() for line in text.splitlines()}


def test_a_paper_is_computed_again_beside_what_is_stored(finished, toy_checkout, monkeypatch):
    before = {path: path.read_bytes() for path in (toy_checkout / "data").rglob("*") if path.is_file()}
    shown = cli("reproduce", "kleindessner2023", "--jobs", "2")
    assert shown.exit_code == 0, shown.output
    assert "6 units, of which 0 are here already. The other 6 take about 0 s" in shown.output
    rows = table_of(shown.output)
    assert rows["numbers"] == ["48", "48"]
    assert rows["equal within the rules"] == ["48"]
    assert rows["differ"] == rows["units not computed"] == ["0"]
    for word in (one.value for one in Result):
        now, stored = rows[word]
        assert now == stored
    assert rows["holds"][0] == rows["holds"][1]
    assert before == {path: path.read_bytes() for path in (toy_checkout / "data").rglob("*") if path.is_file()}

    units = store.units_at(finished / "toy-k10.json")
    for row in units["k10-pca"].rows:
        row["value"] = "99"
    store.write(NAME, units, finished / "toy-k10.json")
    shown = cli("reproduce", "kleindessner2023")
    assert shown.exit_code == 1
    assert "6 are here already. The other 0 take" in shown.output
    assert "DIFFERS: toy-table, k10-pca: " in shown.output
    now, stored = table_of(shown.output)["not reproduced"]
    assert now < stored, "another number is stored, and this run has its own"

    (toy_checkout / "requirements.lock").write_text("another\n")
    monkeypatch.setenv("FAKE_REFUSE", "1")
    shown = cli("reproduce", "kleindessner2023")
    assert shown.exit_code == 3, "nothing was compared"
    assert "changed since the run that was interrupted: everything is computed anew." in shown.output
    assert "Not computed: toy-table: points.csv: not there. (6 units)" in shown.output
    assert "There is no paper 'zhou'; there are kleindessner2023, and all." in cli("reproduce", "zhou").output


def test_the_full_run_computes_what_is_missing_alone(finished):
    whole = {path.name: path.read_bytes() for path in finished.glob("*.csv")}
    (finished / "toy-k2.json").unlink()
    shown = cli("full")
    assert shown.exit_code == 0, shown.output
    assert "6 units, of which 3 are here already." in shown.output
    assert {path.name: path.read_bytes() for path in finished.glob("*.csv")} == whole


# -- the list of experiments --------------------------------------------------------------------------------------


def test_the_real_list_is_complete():
    for entry in catalogue().values():
        assert (paths.root() / entry.notebook).is_file()
        assert store.units_of(entry.id)
        assert all(paths.data("paper", f"{table}.csv").is_file() for table in entry.published)


def test_arguments_come_from_defaults_execution_and_command_line(toy_checkout):
    entry = experiment(NAME)
    given = {"k": "7", "scale": 2, "quick": "false", "dataset": "other"}
    assert entry.arguments("toy-k2", given=given) == {
        "dataset": "other", "k": 7, "scale": 2.0, "quick": False, "profile": "embedded",
    }  # fmt: skip
    assert entry.execution_for({**entry.execution("toy-k2"), "method": "PCA"}) == "toy-k2"
    assert entry.execution_for({"dataset": "toy"}) is None
    with pytest.raises(RegistryError, match="no parameter 'profile'"):
        entry.complete({"profile": "full"})


def test_a_mistake_in_the_list_names_entry_and_field(toy_checkout):
    path = toy_checkout / "experiments.yml"
    path.write_text(path.read_text() + "  colour: red\n  not_a_test: [{because: timing}]\n")
    with pytest.raises(
        ValueError, match=r"(?s)toy-table.not_a_test.0.reason\n  Field required.*toy-table.colour\n  Extra"
    ):
        catalogue()
