"""Several processes in one checkout: they end with the one that started them, and nothing is done or lost twice."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compendium import store

pytestmark = pytest.mark.machine
RUN = ["run", "toy-table", "--profile", "full", "--jobs", "2"]
HANGS = {"FAKE_HANG": "k2 Fair PCA"}


@pytest.fixture
def command(toy_checkout):
    """A function that starts a command of the compendium, as a program of its own."""
    started = []

    def command(*words, **environment):
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        program = [sys.executable, "-m", "compendium", *words]
        started.append(subprocess.Popen(program, env=os.environ | environment, start_new_session=True, **given))
        return started[-1]

    yield command
    for process in started:
        process.kill()
        process.communicate()


def until(condition, seconds: float = 120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


def hidden(folder: Path) -> list[Path]:
    return [one for one in folder.rglob(".*") if one.is_file()]


def test_an_interrupted_run_says_so_in_one_line_and_goes_on(results, command, run_toy):
    process = command(*RUN, **HANGS)
    until(lambda: (results / "toy-k2.json").exists())
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (
        130, "Interrupted. What is finished is stored; the same command continues.\n"
    )  # fmt: skip
    run_toy()
    assert store.summary("toy-table") == "6 units"
    assert hidden(results) == []


def test_of_two_runs_one_works_and_the_other_waits_for_it(results, command):
    first, second = (command(*RUN, FAKE_SECONDS="0.3") for _ in range(2))
    said = [one.communicate(timeout=240) for one in (first, second)]
    assert [one.returncode for one in (first, second)] == [0, 0], said
    text = "".join(out for out, _ in said)
    assert re.search(r"does this already \(run toy-table/toy-k\d+\); waiting until it has ended\.", text)
    counted = [
        int(line.split()[1]) for line in text.splitlines() if line.startswith("toy-table:") and "computed" in line
    ]
    assert sum(counted) == 6, "each unit is computed once"
    assert store.summary("toy-table") == "6 units"
    assert hidden(results) == []


def test_a_refusal_of_the_system_and_names_that_are_no_text_are_told(toy_checkout, command):
    process = command("run", "\udcff")
    assert "There is no experiment" in process.communicate(timeout=60)[1]
    assert process.returncode == 2
    shutil.rmtree(toy_checkout / "data" / "results")
    (toy_checkout / "data" / "results").write_text("in the way")
    process = command("ledger")
    assert re.fullmatch(r"Error: the system refused: .*/data/.* is whole\.\n", process.communicate(timeout=60)[1])
    assert process.returncode == 2
