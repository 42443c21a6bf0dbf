"""Numbers computed again: what is chosen, what differs is found, and what agrees is current again."""

from collections import Counter

import pytest
from typer.testing import CliRunner

from compendium import processes, states, store, verify
from compendium.cli import app
from compendium.ledger import table as ledger
from evenspan.auditing.execution import numeric_environment
from evenspan.core.errors import ConfigurationError

NAME = "toy-table"


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *arguments])


def touch(checkout):
    with (checkout / "toy_project" / "protocol.py").open("a") as source:
        source.write("\n# changed\n")


def test_the_tasks_behind_the_numbers(finished):
    behind = verify.numbers()
    assert behind["toy_k10/001"] == ((NAME, "k10-pca"),)
    assert {task for several in behind.values() for task in several} < {
        (NAME, one.name) for one in states.inspect(NAME)
    }
    assert verify.of_cells(["toy_k10/001", "toy_k10/005"]) == [(NAME, "k10-pca")]
    with pytest.raises(ConfigurationError, match=r"behind toy_k10/999\. A cell is written as in toy_k10/001"):
        verify.of_cells(["toy_k10/999"])


@pytest.fixture
def numbers(finished, monkeypatch):
    """What stands behind the numbers of the ledger, read once; who draws from it asks for it with every draw."""
    behind = verify.numbers()
    monkeypatch.setattr(verify, "numbers", lambda: behind)
    return behind


def test_a_sample_is_drawn_by_its_seed(numbers):
    everything = verify.sample("100%", "a")
    assert everything == sorted({task for several in numbers.values() for task in several})
    drawn = [verify.sample("1", seed) for seed in "abcdefghij"]
    assert drawn == [verify.sample("1", seed) for seed in "abcdefghij"]
    assert len(set(map(tuple, drawn))) > 1
    for wrong in ("1000", "0.001%"):
        with pytest.raises(ConfigurationError, match=r"must be a count from 1 to"):
            verify.sample(wrong, "a")


def test_the_parts_are_a_division(numbers, monkeypatch):
    tasks = sorted({task for several in numbers.values() for task in several})
    took = dict(zip(tasks, (3.0, 2.0, 4.0), strict=True))
    monkeypatch.setattr(verify, "_seconds", lambda chosen: {task: took[task] for task in chosen})
    limit = 6.0
    parts = []
    while verify.part(len(parts), limit) not in parts:
        parts.append(verify.part(len(parts), limit))
    assert len(parts) == 2
    assert Counter(task for part in parts for task in part) == Counter(tasks)
    assert all(sum(took[task] for task in part) <= limit for part in parts)
    assert [verify.part(len(parts) + i, limit) for i in range(len(parts))] == parts
    short = {task for task in tasks if took[task] <= 3.5}
    assert {task for number in range(9) for task in verify.part(number, 3.5)} == short < set(tasks)


def test_what_agrees_is_said_and_leaves_the_results_alone(finished, monkeypatch):
    asked, real = [], processes.run

    def spy(command, env):
        asked.append(env)
        return real(command, env)

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.setattr(processes, "run", spy)
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    shown = run("--cell", "toy_k10/001")
    assert shown.exit_code == 0, shown.output
    assert "1 of 1 tasks agree; 2 published numbers rest on them." in shown.output
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before
    [environment] = asked
    assert numeric_environment().items() <= environment.items(), "the routines of the stored numbers"


def test_a_result_that_nobody_can_compute_again_is_found_and_not_counted(finished, shift, run_toy):
    shift(finished / "toy-k10.json", "k10-pca", 1.001)
    table = (finished / "toy-k10.csv").read_bytes()
    shown = run("--all", "--confirm")
    assert shown.exit_code == 1
    assert "toy-table k10-pca: 1 of 9 numbers differ from the stored ones by more than the tolerance" in shown.output
    assert (finished / "toy-k10.csv").read_bytes() == table, "what differs does not take the place of what is stored"
    found = {one.name: (one.state, one.reason) for one in states.inspect(NAME)}
    assert found.pop("k10-pca")[1].startswith("computed again it disagreed: toy PCA 10 0")
    assert {state for state, _ in found.values()} == {"current"}
    judged = ledger.ledger().set_index("cell").loc["toy_k10/001"]
    assert (judged["verdict"], judged["state"]) == ("changed", "changed")
    assert run_toy()[0] == ["k10-pca"]
    assert {one.state for one in states.inspect(NAME)} == {"current"}


def test_what_was_edited_under_counts_and_is_current_once_it_was_computed_again(finished, toy_checkout):
    fresh = ledger.ledger()
    touch(toy_checkout)
    touched = ledger.ledger()
    assert set(touched["state"]) == {"touched", ""}
    assert touched.drop(columns="state").equals(fresh.drop(columns="state"))
    assert run("--touched", "--confirm").exit_code == 0
    for record in store.read_records(NAME).values():
        assert store.latest_seconds(record | {"seconds": 1e9}) == record["computed_again"]["seconds"] < 1e9
        assert store.latest_seconds({"seconds": 5.0}) == 5.0  # made, and never computed again
    assert ledger.ledger().equals(fresh)
    assert run("--touched").output.strip() == "Nothing of this is to be computed again."


def test_the_cheapest_units_over_edited_code_come_first(finished, toy_checkout):
    assert verify.touched(1000.0) == []
    touch(toy_checkout)
    assert len(verify.touched()) == 6
    took = verify._seconds(verify.touched())
    cheapest = min(took, key=lambda task: (took[task], task))
    assert verify.touched(took[cheapest]) == [cheapest]
    chosen = {name.partition("-")[2] for _, name in verify.touched(1000.0)}
    assert (len(verify.touched(1000.0)), chosen) == (3, {"pca", "fair_pca", "fair_pca_s_0.5"})
    assert verify.touched(0.0) == []


def test_a_changed_number_is_no_witness_for_the_order_of_others(finished, toy_checkout, monkeypatch):
    asked, judge = [], ledger.judge
    monkeypatch.setattr(
        ledger, "judge", lambda *given, **named: asked.append(named.get("peers", ())) or judge(*given, **named)
    )
    ledger.ledger()
    assert "20" in {peer.published for peers in asked for peer in peers}, "as long as it is current, it is one"
    (toy_checkout / "data" / "versions.yml").write_text("methods: {PCA: 2}\n")
    asked.clear()
    judged = ledger.ledger().set_index("cell").loc["toy_k10/001"]
    assert (judged["verdict"], judged["evidence"]) == ("changed", "none")
    assert "another version of method PCA was declared since" in judged["reason"]
    assert {peer.published for peers in asked for peer in peers} == {"15.2", "14"}
    assert (ledger.ledger()["verdict"] == "changed").sum() == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give one of --sample"),
        *((["--sample", bad], f"sample '{bad}' must be") for bad in ("0", "-5", "x", "500%", "0%", "1e3", "9" * 400)),
        *((["--part", bad, "--seconds", "9"], "value for '--part'") for bad in ("0/5", "-1", "1.5")),
        *((["--part", "0", "--seconds", bad], "value for '--seconds'") for bad in ("0", "-1", "nan", "inf", "x")),
        *((["--all", "--jobs", bad], "value for '--jobs'") for bad in ("0", "-1", "1025", "two")),
        (["--part", "3"], "--part needs --seconds"),
        (["--all", "--seconds", "3"], "goes with --part and --touched"),
        (["--all", "--sample", "2"], "Give one of --sample"),
        (["--files", "--all"], "--files compares files only"),
        (["--experiment", "none"], "There is no experiment none"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_read(toy_checkout, monkeypatch, arguments, said):
    monkeypatch.setattr(verify, "ledger", None)
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert said in " ".join(shown.output.split())
