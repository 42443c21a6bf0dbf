"""Units computed again: which are chosen, what differs is found, and cells belong to rows that agreed."""

import pytest
from typer.testing import CliRunner

from compendium import edits, store, verify
from compendium.catalogue import experiment
from compendium.cli import app
from evenspan.core.errors import RegistryError

NAME = "toy-table"


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *arguments])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_sample_is_drawn_by_its_seed_and_has_two_units_of_each_method_of_what_is_named(finished, monkeypatch):
    everything = verify.chosen()
    assert everything == verify.chosen([NAME]) == [(NAME, name) for name in sorted(store.units_of(NAME))]
    assert verify.chosen([NAME], 0.0, "a") == everything, "there are two units of each of three methods"
    for unit in store.units_of(NAME).values():
        monkeypatch.setitem(unit.record, "seconds", 2.0)
    drawn = [verify.chosen((), 5.0, seed) for seed in "abcdefghij"]
    assert drawn == [verify.chosen((), 5.0, seed) for seed in "abcdefghij"]
    assert {len(one) for one in drawn} == {2}
    assert len(set(map(tuple, drawn))) > 1
    assert verify.chosen((), 1.0, "a") == []
    with pytest.raises(RegistryError, match="There is no experiment 'toy'; the experiments are toy-table"):
        verify.chosen(["toy"])


def test_what_agrees_is_said_and_the_cells_are_those_of_the_rows(finished, toy_checkout):
    before, entry = contents(finished), experiment(NAME)
    path = toy_checkout / entry.notebook
    path.write_text(path.read_text().replace("print(dataset, k, scale", "print(k, dataset, scale"))
    cells = edits.committed_cells(entry)
    shown = run("--sample", "9")
    assert (shown.exit_code, edits.committed_cells(entry)) == (0, cells), shown.output
    shown = run(NAME, "--sample", "0")
    assert shown.exit_code == 0, shown.output
    assert "6 of 6 units agree; the data of 0 are not at hand." in shown.output
    assert edits.committed_cells(entry) != cells
    assert contents(finished) == before


def test_a_result_that_nobody_can_compute_again_is_found(finished, shift, toy_checkout):
    shift(finished / "toy-k10.json", "k10-pca", 1.001)
    before, cells = contents(finished), edits.committed_cells(experiment(NAME))
    path = toy_checkout / experiment(NAME).notebook
    path.write_text(path.read_text().replace("print(dataset, k, scale", "print(k, dataset, scale"))
    shown = run("--all")
    assert shown.exit_code == 1
    assert "DIFFERS at toy PCA 10 0" in shown.output
    assert "5 of 6 units agree" in shown.output
    assert run(NAME).exit_code == 1
    assert (contents(finished), edits.committed_cells(experiment(NAME))) == (before, cells)


def test_where_nothing_was_computed_again_the_cells_stay(finished, toy_checkout):
    (toy_checkout / "data" / "versions.yml").write_text("protocols: {toy-table: 2}\n")
    entry = experiment(NAME)
    path, cells = toy_checkout / entry.notebook, edits.committed_cells(entry)
    path.write_text(path.read_text().replace("print(dataset, k, scale", "print(k, dataset, scale"))
    assert "0 of 0 units agree" in run(NAME).output
    assert edits.committed_cells(entry) == cells


def test_units_without_their_data_are_told_and_are_no_disagreement(finished, monkeypatch):
    monkeypatch.setenv("FAKE_REFUSE", "1")
    shown = run(NAME)
    assert shown.exit_code == 0
    assert "no data here: points.csv: not there." in shown.output
    assert "0 of 6 units agree; the data of 6 are not at hand." in shown.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give experiments, --sample SECONDS, or both; or --all."),
        (["--all", "--sample", "2"], "Give experiments, --sample SECONDS, or both; or --all."),
        (["--sample", "-1"], "value for '--sample'"),
        (["--all", "--jobs", "0"], "value for '--jobs'"),
        (["none"], "There is no experiment 'none'"),
    ],
)
def test_options_that_do_not_fit_are_refused(toy_checkout, arguments, said):
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert said in " ".join(shown.output.split())
