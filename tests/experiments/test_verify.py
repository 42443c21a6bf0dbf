"""Numbers computed again: what is drawn, what differs is found, and what agrees is no longer stale."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from evenspan.cli import app
from evenspan.errors import ConfigurationError
from evenspan.experiments import records, store
from evenspan.report import ledger, verify

NAME = "toy-table"


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *arguments])


def touch(checkout):
    with (checkout / "toy_project" / "protocol.py").open("a") as source:
        source.write("\n# changed\n")


def test_the_tasks_behind_the_numbers(finished):
    behind = verify.numbers()
    assert behind["toy_k10/001"] == ((NAME, "k10-pca"),)
    assert {task for several in behind.values() for task in several} < {(NAME, one.name) for one in store.inspect(NAME)}
    assert verify.of_cells(["toy_k10/001", "toy_k10/005"]) == [(NAME, "k10-pca")]
    with pytest.raises(ConfigurationError, match=r"behind toy_k10/999\. A cell is written as in toy_k10/001"):
        verify.of_cells(["toy_k10/999"])


def test_a_sample_is_drawn_by_its_seed(finished):
    everything = verify.sample("100%", "a")
    assert everything == sorted({task for several in verify.numbers().values() for task in several})
    drawn = [verify.sample("1", seed) for seed in "abcdefghij"]
    assert drawn == [verify.sample("1", seed) for seed in "abcdefghij"]
    assert len(set(map(tuple, drawn))) > 1
    for wrong in ("0", "1000", "-1", "half", "0.001%"):
        with pytest.raises(ConfigurationError, match=r"must be a count from 1 to"):
            verify.sample(wrong, "a")


def test_the_parts_are_a_division(finished):
    tasks = sorted({task for several in verify.numbers().values() for task in several})
    dealt = [verify.part(f"{number}/2") for number in range(2)]
    assert Counter(task for share in dealt for task in share) == Counter(tasks)
    assert verify.part("7/2") == dealt[1]
    for wrong in ("1", "1/0", "1/99", "a/b"):
        with pytest.raises(ConfigurationError, match=r"must be I/N"):
            verify.part(wrong)


def test_what_agrees_is_said_and_leaves_the_results_alone(finished):
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    shown = run("--cell", "toy_k10/001")
    assert shown.exit_code == 0, shown.output
    assert "1 of 1 tasks agree; 2 published numbers rest on them." in shown.output
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_a_result_that_nobody_can_compute_again_is_found(finished):
    csv, record = finished / "k10-pca.csv", finished / "k10-pca.json"
    rows = csv.read_text().splitlines()
    value = rows[1].split(",")[6]
    csv.write_text(csv.read_text().replace(value, str(float(value) + 0.001), 1))
    stated = json.loads(record.read_text()) | {"sha256": records.digest(csv.read_bytes())}
    record.write_text(json.dumps(stated))
    shown = run("--all", "--renew")
    assert shown.exit_code == 1
    assert "toy-table k10-pca: the stored result differs by more than the tolerance" in shown.output
    assert json.loads(record.read_text()) == stated, "what differs must not take the place of what is stored"


def test_what_agrees_when_computed_again_is_no_longer_stale(finished, toy_checkout):
    fresh = ledger.ledger()
    touch(toy_checkout)
    stale = ledger.ledger()
    assert set(stale["state"]) == {"touched", ""}, "labelled, and counted all the same"
    assert stale.drop(columns="state").equals(fresh.drop(columns="state"))
    assert run("--experiment", NAME, "--stale", "--renew").exit_code == 0
    assert ledger.ledger().equals(fresh)
    assert run("--stale").output.strip() == "Nothing of this is stale."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give one of --sample"),
        (["--all", "--sample", "2"], "Give one of --sample"),
        (["--files", "--all"], "--files compares files only"),
        (["--experiment", "none"], "There is no experiment none"),
    ],
)
def test_options_that_do_not_fit_are_refused(finished, arguments, said):
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert said in " ".join(shown.output.split())
