"""The task store against a small experiment, with real processes and real interruptions."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenspan.datasets
from evenspan.errors import ConfigurationError, RegistryError, ResultError
from evenspan.experiments import experiment, recheck, records, store, tasks
from evenspan.experiments.catalogue import task_id

NAMES = [f"k{k}-{method}" for k in (2, 10) for method in ("pca", "fair_pca", "fair_pca_s_0.5")]


def contents(folder: Path, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def fixed(folder: Path) -> dict[str, dict]:
    """The records without the fields that two equal runs may differ in."""
    return {
        path.name: {key: value for key, value in json.loads(path.read_text()).items() if key not in records.VARYING}
        for path in sorted(folder.glob("*.json"))
    }


def test_a_run_computes_every_task_once(finished):
    assert list(experiment("toy-table").tasks()) == NAMES
    assert sorted(contents(finished, "*")) == sorted(f"{name}.{kind}" for name in NAMES for kind in ("csv", "json"))
    assert tasks.state("toy-table") == "full 6 of 6"
    before = contents(finished, "*")
    again = tasks.run("toy-table", progress=False)
    assert (again.done, again.kept) == ((), tuple(NAMES))
    assert contents(finished, "*") == before


def test_the_record_says_what_the_result_was_made_from(finished):
    record = json.loads((finished / "k2-pca.json").read_text())
    assert record["sha256"] == records.digest((finished / "k2-pca.csv").read_bytes())
    assert record["parameters"] == {"k": 2, "method": "PCA"}
    assert (record["experiment"], record["task"], record["seed"]) == ("toy-table", "k2-pca", 7)
    assert record["command"] == "evenspan run toy-table --profile full --task k2-pca"
    assert record["data_sha256"] is None
    assert record["commit"].startswith("unknown: fatal: not a git repository")
    assert record["packages"]["numpy"] == np.__version__
    assert record["seconds"] >= 0
    assert record["peak_memory_mib"] > 20
    assert set(record) >= records.VARYING


def test_results_read_back_as_they_were(finished):
    frame = tasks.read_results("toy-table")
    assert list(frame.columns) == [*records.TIDY, "reason", "task"]
    assert len(frame) == 6 * 9
    module = experiment("toy-table").protocol()
    want = module.run_task(k=10, method="PCA").sort_values(["metric", "protocol", "split"])
    got = frame[frame["task"] == "k10-pca"].sort_values(["metric", "protocol", "split"])
    assert (got["value"].to_numpy() == want["value"].to_numpy()).all()
    assert got["split"].map(type).eq(int).all()
    assert frame["k"].dtype == "Int64"


def test_nothing_stored_gives_an_empty_frame(results):
    frame = tasks.read_results("toy-table")
    assert (len(frame), list(frame.columns)) == (0, [*records.TIDY, "task"])
    assert frame["k"].dtype == "Int64"
    assert tasks.state("toy-table") == "full 0 of 6"


def test_the_bytes_do_not_depend_on_the_order_of_rows_or_the_number_of_cores(finished, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    before = contents(finished, "*.csv")
    for path in finished.glob("k2-*pca.*"):
        path.unlink()
    tasks.run("toy-table", jobs=1, progress=False)
    assert contents(finished, "*.csv") == before
    frame = experiment("toy-table").protocol().run_task(k=2, method="PCA")
    shuffled = frame.sample(frac=1, random_state=3)[list(reversed(frame.columns))]
    assert records.to_csv(shuffled) == records.to_csv(frame) == before["k2-pca.csv"]


DAMAGES = {
    "k2-pca": (lambda csv, record: csv.write_bytes(csv.read_bytes()[:-1]), "CSV is damaged"),
    "k2-fair_pca": (lambda csv, record: csv.unlink(), "CSV is missing"),
    "k2-fair_pca_s_0.5": (lambda csv, record: record.unlink(), "record is missing"),
    "k10-pca": (lambda csv, record: record.write_text("{"), "record is damaged"),
    "k10-fair_pca": (
        lambda csv, record: record.write_text(record.read_text().replace('"k": 10', '"k": 11')),
        "record states other parameters",
    ),
    "k10-fair_pca_s_0.5": (
        lambda csv, record: record.write_text(record.read_text().replace('_sha256": null', '_sha256": "a"')),
        "its data changed since",
    ),
}


def test_what_is_damaged_or_outdated_is_computed_again_and_said(finished, capfd):
    before = contents(finished, "*.csv")
    for name, (damage, _) in DAMAGES.items():
        damage(finished / f"{name}.csv", finished / f"{name}.json")
    assert tasks.state("toy-table") == "full 0 of 6, 6 outdated"
    assert tasks.run("toy-table").done
    shown = capfd.readouterr().err.splitlines()
    for name, (_, said) in DAMAGES.items():
        assert any(line.startswith(f"{name} is computed again") and said in line for line in shown)
    assert contents(finished, "*.csv") == before
    assert tasks.state("toy-table") == "full 6 of 6"


@pytest.mark.parametrize(
    "damage",
    [
        lambda csv, record: csv.write_bytes(csv.read_bytes().replace(b"PCA", b"PCB", 1)),
        lambda csv, record: record.write_text("[]"),
        lambda csv, record: record.write_bytes(b"\xff"),
    ],
)
def test_one_altered_byte_is_seen(finished, damage):
    damage(finished / "k2-pca.csv", finished / "k2-pca.json")
    assert tasks.state("toy-table") == "full 5 of 6, 1 outdated"


def test_reading_refuses_what_does_not_belong_together(finished):
    csv = finished / "k2-pca.csv"
    original = csv.read_bytes()
    csv.write_bytes(original.replace(b"2,0", b"2,1", 1))
    with pytest.raises(ResultError, match=r"k2-pca.csv was altered.*evenspan run toy-table --profile full"):
        tasks.read_results("toy-table")
    csv.unlink()
    with pytest.raises(ResultError, match=r"k2-pca.csv is missing"):
        tasks.read_results("toy-table")
    csv.write_bytes(original)
    (finished / "k2-pca.json").unlink()
    assert "k2-pca" not in set(tasks.read_results("toy-table")["task"])


def test_other_data_makes_a_result_outdated(toy_checkout, monkeypatch):
    entry = experiment("toy-table")
    task = {"dataset": "toy", "k": 2}
    monkeypatch.setattr(evenspan.datasets, "checksum", lambda name: f"{name}-first", raising=False)
    frame = entry.protocol().run_task(k=2, method="PCA")
    folder = store.folder_of("toy-table", "full")
    store.store(entry, task, frame, folder=folder, profile="full", seconds=1.0)
    assert store._inspect_all(entry, {task_id(task): task}, folder)[0].status == "finished"
    monkeypatch.setattr(evenspan.datasets, "checksum", lambda name: f"{name}-second")
    found = store._inspect_all(entry, {task_id(task): task}, folder)[0]
    assert (found.status, found.stale, found.reason) == ("outdated", True, "its data changed since")


def test_changed_sources_make_results_stale_and_keep_them(finished, toy_checkout, capfd):
    assert not any(task.stale for task in store.inspect("toy-table"))
    before = contents(finished, "*")
    with (toy_checkout / "toy_project" / "protocol.py").open("a") as source:
        source.write("\n# changed\n")
    assert tasks.state("toy-table") == "full 6 of 6, 6 stale"
    assert tasks.run("toy-table").done == ()
    assert "6 of these are stale" in capfd.readouterr().err
    assert contents(finished, "*") == before


def test_the_state_of_what_a_build_stored(toy_checkout, monkeypatch):
    monkeypatch.setattr(evenspan.datasets, "checksum", lambda name: f"checksum of {name}")
    frame = experiment("toy-table").protocol().run_task(k=2, method="PCA")
    csv = tasks.save("toy-table", experiment("toy-table").arguments("toy-k2"), frame, seconds=0.0)
    states = store.inspect_build("toy-table")
    assert {name: one.status for name, one in states.items()} == {"toy-k10": "missing", "toy-k2": "finished"}
    csv.write_text("damaged")
    assert store.inspect_build("toy-table")["toy-k2"].status == "outdated"


def start(jobs: int, seconds: float = 0.4) -> subprocess.Popen:
    # A shell without job control starts background processes deaf to Ctrl-C, and their children inherit that.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"from evenspan.experiments import tasks; tasks.run('toy-table', jobs={jobs})"
    return subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"FAKE_SECONDS": str(seconds)}, stderr=subprocess.DEVNULL
    )


def until(condition, seconds: float = 120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_a_run_ended_again_and_again_ends_with_the_same_bytes(finished):
    results, whole, described = finished, contents(finished, "*.csv"), fixed(finished)
    for path in results.glob("*"):
        path.unlink()
    for ending, enough in ((signal.SIGKILL, 1), (signal.SIGINT, 3), (signal.SIGTERM, 4)):
        before = contents(results, "*.json")
        process = start(jobs=2)
        until(lambda: len(list(results.glob("*.json"))) >= enough)  # noqa: B023 - used within this turn only
        process.send_signal(ending)
        assert process.wait(timeout=120) != 0
        # What was finished before is kept as it was.
        assert before.items() <= contents(results, "*.json").items()
    half = contents(results, "*.json")
    assert 4 <= len(half) < len(NAMES)
    summary = tasks.run("toy-table", jobs=2, progress=False)
    assert len(summary.kept) == len(half)
    assert half.items() <= contents(results, "*.json").items()
    assert (contents(results, "*.csv"), fixed(results)) == (whole, described)


def test_workers_end_with_a_killed_parent(results):
    process = start(jobs=1, seconds=20)
    log = results.parents[3] / "_build" / "failed" / "toy-table" / "k2-pca.txt"
    until(log.exists)
    workers = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    process.kill()
    process.wait()
    assert workers
    until(lambda: not any(Path(f"/proc/{pid}/status").exists() and alive(pid) for pid in workers))
    assert contents(results, "*") == {}


def alive(pid: int) -> bool:
    # An ended process that nobody has waited for yet is listed as a zombie.
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_failure_does_not_stop_the_others_and_keeps_its_text(results, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_FAIL", "Fair PCA")
    summary = tasks.run("toy-table", jobs=3)
    assert not summary.ok
    assert summary.failed == {f"k{k}-fair_pca": "ValueError: Fair PCA was told to fail" for k in (2, 10)}
    assert len(summary.done) == 4
    text = (results.parents[3] / "_build" / "failed" / "toy-table" / "k2-fair_pca.txt").read_text()
    assert "Traceback" in text
    assert "run_task" in text
    assert "k2-fair_pca failed: ValueError" in capfd.readouterr().err
    monkeypatch.delenv("FAKE_FAIL")
    assert tasks.run("toy-table", progress=False).done == ("k2-fair_pca", "k10-fair_pca")


def test_an_error_raised_on_purpose_is_told_whole_and_without_a_traceback(results, monkeypatch):
    monkeypatch.setenv("FAKE_REFUSE", "1")
    summary = tasks.run("toy-table", only=["k2-pca"], progress=False)
    assert summary.failed == {"k2-pca": "points.csv: not there.\n  to do: fetch it"}


def test_tasks_are_chosen_by_name_or_value(toy_checkout):
    assert tasks.select("toy-table", {"k": 10}) == NAMES[3:]
    assert tasks.select("toy-table", {"k": 10}, ["k10-pca"]) == ["k10-pca"]
    with pytest.raises(RegistryError, match=r"has no task k3-pca; its tasks are k2-pca, .*k10-fair_pca_s_0.5"):
        tasks.select("toy-table", names=["k3-pca"])
    with pytest.raises(RegistryError, match=r"no task in its full protocol with k = 11; its tasks are k2-pca"):
        tasks.select("toy-table", {"k": 11})
    with pytest.raises(ConfigurationError, match="run by the notebook"):
        tasks.run("toy-table", profile="embedded")
    with pytest.raises(ConfigurationError, match="jobs is 0"):
        tasks.run("toy-table", jobs=0, progress=False)


def test_checking_again_agrees_and_finds_a_changed_number(finished):
    comparisons, failed = tasks.check("toy-table", ["k2-pca"], progress=False)
    assert not failed
    assert [(c.name, c.rows, c.largest_absolute, c.ok) for c in comparisons] == [("k2-pca", 9, 0.0, True)]
    csv, record = finished / "k2-pca.csv", finished / "k2-pca.json"
    frame = records.read_csv(csv)
    frame.loc[0, "value"] *= 1 + 1e-4
    csv.write_bytes(records.to_csv(frame))
    record.write_bytes(records.to_json(records.read(record) | {"sha256": records.digest(csv.read_bytes())}))
    [comparison], _ = tasks.check("toy-table", ["k2-pca"], progress=False)
    assert not comparison.ok
    assert comparison.largest_relative == pytest.approx(1e-4, rel=1e-3)
    assert "PCA" in comparison.where


def test_checking_fails_for_what_is_not_finished(finished):
    (finished / "k2-pca.csv").write_bytes(b"damaged")
    for kind in ("csv", "json"):
        (finished / f"k2-fair_pca.{kind}").unlink()
    comparisons, failed = tasks.check("toy-table", NAMES[:3], progress=False)
    assert [(one.name, one.ok) for one in comparisons] == [("k2-fair_pca_s_0.5", True)]
    assert set(failed) == {"k2-pca", "k2-fair_pca"}
    assert "its CSV is damaged" in failed["k2-pca"]
    assert "it is not stored" in failed["k2-fair_pca"]


def test_checking_needs_a_result(results):
    with pytest.raises(ResultError, match="no finished result of k2-pca"):
        tasks.check("toy-table", ["k2-pca"], progress=False)


def test_compare_sees_missing_rows_columns_and_numbers():
    row = {"dataset": "d", "method": "m", "k": 1, "split": 0, "protocol": "p", "metric": "x", "value": 1.0}
    one = pd.DataFrame([row, row | {"split": 1}])
    near = one.assign(value=[1.0, 1.0 + 1e-9])
    assert tasks.compare("t", one, near, rtol=1e-6, atol=0).ok
    assert not tasks.compare("t", one, near, rtol=1e-10, atol=0).ok
    assert not tasks.compare("t", one, one.iloc[:1], rtol=1, atol=1).ok
    assert not tasks.compare("t", one, one.assign(d=3), rtol=1, atol=1).ok
    assert not tasks.compare("t", one, one.assign(value=[1.0, np.nan]), rtol=1, atol=1).ok
    lost = one.assign(value=[1.0, np.nan])
    assert tasks.compare("t", lost, lost, rtol=0, atol=0).ok


def test_times_may_differ_where_numbers_may_not():
    stored = pd.DataFrame({"metric": ["seconds", "area"], "value": [1.0, 0.5]})
    loose = {"metrics": {"sec*": {"rtol": 10.0, "atol": 0.0}}, "rtol": 1e-6, "atol": 0.0}
    slower = stored.assign(value=[5.0, 0.5])
    assert tasks.compare("t", stored, slower, **loose).ok
    assert not tasks.compare("t", stored, slower, rtol=1e-6, atol=0.0).ok
    assert not tasks.compare("t", stored, stored.assign(value=[1.0, 0.6]), **loose).ok
    assert recheck.recheck_tolerance("lee2023-images")["metrics"]["*seconds*"]["rtol"] == 10.0
    assert recheck.recheck_tolerance("vu2022-tables") == {"rtol": 1e-6, "atol": 1e-9}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="metric"), "lack the column metric"),
        (lambda f: f.iloc[:0], "there are no rows"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "two rows have the same key"),
        (lambda f: f.assign(split="first"), "split first is neither"),
        (lambda f: f.assign(split=-1, k=range(len(f))), "split -1 is neither"),
        (lambda f: f.assign(value=np.nan, reason=" "), "no finite value and no reason"),
        (lambda f: f.drop(columns="reason").assign(value=np.inf), "no finite value and no reason"),
        (lambda f: [1], "returned list"),
    ],
)
def test_rows_that_are_not_tidy_are_refused(toy_checkout, change, said):
    frame = experiment("toy-table").protocol().run_task(k=2, method="PCA")
    assert records.checked(frame, "toy") is frame
    with pytest.raises(ResultError, match=said):
        records.checked(change(frame), "toy")


def test_the_notebook_saves_what_it_computed(toy_checkout):
    frame = experiment("toy-table").protocol().run_task(k=2, method="PCA")
    path = tasks.save("toy-table", {"k": 2, "quick": True, "profile": "embedded"}, frame, seconds=0.1)
    assert path == toy_checkout / "_build" / "results" / "embedded" / "toy-table" / "k2-quicktrue.csv"
    assert records.read(path.with_suffix(".json"))["command"] == "evenspan run toy-table -p k 2 -p quick True"
    assert len(tasks.read_results("toy-table", "embedded")) == 9
    assert tasks.read_results("toy-table").empty


def test_names_of_tasks():
    assert task_id({"dataset": "adult", "k": 10, "method": "MbF-PCA (10^-3)"}) == "adult-k10-mbf_pca_10_3"
    assert task_id({"fair": True, "tau": 1e-6}) == "fairtrue-tau1e_06"
    with pytest.raises(RegistryError, match="without letters or digits"):
        task_id({"method": "((("})


def test_two_tasks_of_one_name_are_an_error(toy_checkout):
    protocol = toy_checkout / "toy_project" / "protocol.py"
    protocol.write_text(protocol.read_text().replace('"Fair PCA-S (0.5)")', '"fair-pca")'))
    with pytest.raises(RegistryError, match="same name 'k2-fair_pca'"):
        experiment("toy-table").tasks()


def test_the_commit_is_stated_with_what_differs_from_it(toy_checkout):
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=toy_checkout, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    assert records.commit() == (git("rev-parse", "HEAD"), False)
    (toy_checkout / "requirements.lock").write_text("numpy==2.5\n")
    assert records.commit()[1] is True


def test_a_folder_of_another_checkout_does_not_take_its_commit(toy_checkout, tmp_path_factory, monkeypatch):
    outer = tmp_path_factory.mktemp("outer")
    shutil.copytree(toy_checkout, outer / "inner")
    for command in (
        ["init", "-q"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=outer, check=True)
    monkeypatch.setattr(records, "root", lambda: outer / "inner")
    assert records.commit() == ("unknown: not a git repository of its own", None)
