"""The engine and the store against a small experiment, with real processes and real interruptions."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from compendium import edits, protocol, provenance, records, states, store
from compendium.catalogue import experiment
from compendium.data.fetch import fetch_file
from evenspan.core.errors import ConfigurationError, ExecutionError, FetchError, RegistryError, ResultError

NAMES = [f"k{k}-{method}" for k in (10, 2) for method in ("pca", "fair_pca", "fair_pca_s_0.5")]
FILES = ["toy-k10.csv", "toy-k10.json", "toy-k2.csv", "toy-k2.json"]


def contents(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def units() -> dict[str, dict]:
    """The records without the fields that two equal runs may differ in, but for the environment's own."""
    made = store.read_records("toy-table")
    return {
        name: {key: one[key] for key in ("parameters", "sha256", "versions", "data", "rows")}
        for name, one in made.items()
    }


def by_name() -> dict[str, tuple[str, str]]:
    return {one.name: (one.state, one.reason) for one in states.inspect("toy-table")}


def edit(record: Path, change) -> None:
    whole = json.loads(record.read_text())
    change(whole)
    record.write_bytes(records.to_json(whole))


def judged(k: int, method: str) -> pd.DataFrame:
    """The rows of one unit, without the engine."""
    return records.whole(importlib.import_module("toy_project.protocol").judged(k, method))


# -- what is stored -----------------------------------------------------------------------------------------------


def test_a_run_computes_every_unit_once_and_records_what_it_was_made_from(finished, run_toy):
    assert list(contents(finished)) == FILES
    assert states.summary("toy-table") == "6 units"
    assert by_name() == dict.fromkeys(NAMES, ("current", ""))
    before = contents(finished)
    assert run_toy() == ([], {})
    assert contents(finished) == before
    record = store.read_records("toy-table")["k2-pca"]
    assert record["parameters"] == {"k": 2, "method": "PCA"}
    assert (record["experiment"], record["unit"], record["seed"]) == ("toy-table", "k2-pca", 7)
    assert record["command"] == "python -m compendium run toy-table --profile full --task k2-pca"
    assert (record["data"], record["versions"]) == ({}, {"protocol": 1})
    assert record["commit"].startswith("unknown: "), "the small checkout is in no repository"
    assert record["packages"]["numpy"] == np.__version__
    assert {"toy_project/protocol.py", "notebooks/toy/table.ipynb"} <= set(record["code"])
    assert not any(name.startswith(("evenspan/auditing", "compendium/store")) for name in record["code"])
    assert record["seconds"] >= 0
    assert record["peak_memory_mib"] > 20


def test_confirming_a_unit_leaves_rows_that_no_record_describes(finished, tmp_path):
    record, again = finished / "toy-k2.json", tmp_path / "again.json"
    again.write_bytes(record.read_bytes())
    edit(record, lambda whole: whole["units"].pop("k2-fair_pca"))
    before = by_name()["k2-fair_pca"]
    assert before[0] == "damaged"
    store.confirm("toy-table", "k2-pca", again)
    assert by_name()["k2-fair_pca"] == before


def test_results_read_back_as_they_were(finished):
    frame = store.read_results("toy-table")
    frame.loc[0, "value"] = -77.0
    frame = store.read_results("toy-table")  # whoever changes what was read changes nothing for others
    assert frame.loc[0, "value"] != -77.0
    assert list(frame.columns) == [*records.TIDY, "reason", "task"]
    assert len(frame) == 6 * 9
    want = judged(10, "PCA").sort_values(["metric", "protocol", "split"])
    got = frame[frame["task"] == "k10-pca"].sort_values(["metric", "protocol", "split"])
    assert (got["value"].to_numpy() == want["value"].to_numpy()).all()
    assert got["split"].map(type).eq(int).all()
    assert frame["k"].dtype == "Int64"
    some = store.read_results("toy-table", method=["PCA", "Fair PCA"], k=10, metric="%Var")
    assert set(some["task"]) == {"k10-pca", "k10-fair_pca"}
    for path in finished.iterdir():
        path.unlink()
    nothing = store.read_results("toy-table")
    assert (len(nothing), list(nothing.columns)) == (0, [*records.TIDY, "task"])
    assert nothing.dtypes[["k", "value"]].tolist() == ["Int64", float]
    assert states.summary("toy-table") == "0 units"


def test_what_rests_on_missing_numbers_waits(finished):
    some, more = {"method": ["PCA", "Fair PCA"]}, {"method": ["PCA", "nobody's"]}
    assert store.full("toy-table", "method", **some).equals(store.read_results("toy-table", **some))
    assert set(store.full("toy-table", **more)["method"]) == {"PCA"}
    for missing in (partial(store.full, "toy-table", "method", **more), partial(store.full, "toy-table", k=1)):
        with pytest.raises(ResultError, match="Not all is stored of toy-table"):
            missing()
        assert states.watched(missing, {})[0] is None


def test_the_bytes_do_not_depend_on_the_order_of_runs_or_the_number_of_cores(finished, run_toy, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    before = contents(finished, "*.csv")
    (finished / "toy-k2.json").unlink()
    run_toy("k2-fair_pca", jobs=1)
    assert run_toy(jobs=1)[0] == ["k2-pca", "k2-fair_pca_s_0.5"]
    assert contents(finished, "*.csv") == before
    frame = judged(2, "PCA")
    shuffled = frame.sample(frac=1, random_state=3)[list(reversed(frame.columns))]
    assert records.lines(shuffled) == records.lines(frame)


def test_results_may_be_kept_apart_by_a_parameter(results, toy_checkout, run_toy):
    listed = toy_checkout / "experiments.yml"
    listed.write_text(listed.read_text() + "  files: method\n")
    run_toy("k2-pca", "k2-fair_pca", "k10-pca")
    assert sorted(contents(results, "*.csv")) == ["toy-k10-pca.csv", "toy-k2-fair_pca.csv", "toy-k2-pca.csv"]
    assert len(store.read_results("toy-table")) == 27
    assert states.summary("toy-table") == "3 units"
    listed.write_text(listed.read_text().replace("files: method", "files: methods"))
    with pytest.raises(RegistryError, match=r"kept apart by 'methods' .* Name one that every unit has"):
        run_toy("k10-fair_pca")


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
    frame = judged(2, "PCA")
    assert records.checked(frame, "toy") is frame
    with pytest.raises(ResultError, match=said):
        records.checked(change(frame), "toy")


# -- what of it counts --------------------------------------------------------------------------------------------


def one_unit(name, change):
    """A change of one unit in a record."""
    return lambda csv, record: edit(record, lambda whole: change(whole["units"][name]))


DAMAGES = {
    "k2-pca": (
        lambda csv, record: csv.write_bytes(csv.read_bytes().replace(b"k2-pca,toy,PCA,2,0", b"k2-pca,toy,PCA,2,7", 1)),
        ("damaged", "its rows have not the digest"),
    ),
    "k2-fair_pca": (
        lambda csv, record: edit(record, lambda whole: whole["units"].pop("k2-fair_pca")),
        ("damaged", "has rows without a record"),
    ),
    "k2-fair_pca_s_0.5": (
        lambda csv, record: csv.write_bytes(re.sub(rb"k2-fair_pca_s_0.5,.*\n", b"", csv.read_bytes())),
        ("damaged", "has a record without rows"),
    ),
    "k10-pca": (one_unit("k10-pca", lambda unit: unit["parameters"].update(k=11)), ("changed", "other parameters")),
    "k10-fair_pca": (one_unit("k10-fair_pca", lambda unit: unit.pop("versions")), ("changed", "versions of protocol")),
    "k10-fair_pca_s_0.5": (
        one_unit("k10-fair_pca_s_0.5", lambda unit: unit["data"].update({"data/moments/lost.npz": "0" * 64})),
        ("changed", "its data changed since: data/moments/lost.npz"),
    ),
}


def test_every_damage_has_a_state_and_a_reason_and_is_computed_again(finished, run_toy):
    before, described = contents(finished, "*.csv"), units()
    for name, (damage, _) in DAMAGES.items():
        place = finished / f"toy-{name.partition('-')[0]}.csv"
        damage(place, place.with_suffix(".json"))
    found = by_name()
    for name, (_, (state, reason)) in DAMAGES.items():
        assert found[name][0] == state
        assert reason in found[name][1]
    assert states.summary("toy-table") == "6 units, 3 changed, 3 damaged"
    said = r"k2-fair_pca_s_0.5 has a record without rows. Compute it again: python -m compendium run"
    with pytest.raises(ResultError, match=said):
        store.read_results("toy-table")
    shown = store.read_results("toy-table", damaged=True)
    assert shown["task"].value_counts().to_dict() == dict.fromkeys(set(NAMES) - {"k2-fair_pca_s_0.5"}, 9)
    assert len(run_toy()[0]) == 6
    assert (contents(finished, "*.csv"), units()) == (before, described)
    assert states.summary("toy-table") == "6 units"


def test_files_that_cannot_be_read_vouch_for_nothing(finished, run_toy):
    before = contents(finished, "*.csv")
    for damage in (b"{", b"[]", b"\xff"):
        (finished / "toy-k2.json").write_bytes(damage)
        assert states.summary("toy-table") == "6 units, 3 damaged"
        with pytest.raises(ResultError, match=r"toy-k2.json"):
            store.read_results("toy-table")
    assert len(run_toy()[0]) == 3
    assert contents(finished, "*.csv") == before
    (finished / "toy-k10.csv").unlink()
    assert states.summary("toy-table") == "6 units, 3 damaged"
    table = finished / "toy-k2.csv"
    table.write_bytes(table.read_bytes().replace(b"k2-pca,toy,PCA", b'k2-pca,toy,"PCA', 1) + b"x" * 200_000)
    assert {state for name, (state, _) in by_name().items() if name.startswith("k2-")} == {"current", "damaged"}
    assert by_name()["k2-pca"][0] == "damaged", "the quotation mark that is lost is in its rows"


def test_an_edit_touches_and_a_version_changes(finished, toy_checkout, run_toy):
    before = contents(finished)
    with (toy_checkout / "toy_project" / "protocol.py").open("a") as source:
        source.write("\n# edited\n")
    assert set(by_name().values()) == {("touched", "edited since: toy_project/protocol.py")}
    assert states.summary("toy-table") == "6 units, 6 touched"
    assert run_toy() == ([], {})
    assert contents(finished) == before
    versions = toy_checkout / "data" / "versions.yml"
    versions.write_text("methods: {Fair PCA: 2}\n")
    assert by_name()["k2-fair_pca"] == ("changed", "another version of method Fair PCA was declared since")
    assert by_name()["k2-pca"][0] == "touched"
    versions.write_text("protocols: {toy-table: 2}\nmethods:\n")
    assert {state for state, _ in by_name().values()} == {"changed"}
    for wrong in ("protocols: {toy-table: first}", "other: {}", "methods: {PCA: 0}", "- 1", "a: b: c"):
        versions.write_text(wrong)
        with pytest.raises(ResultError, match=r"versions.yml: (.|\n)*Correct it"):
            states.inspect("toy-table")


def test_words_of_a_notebook_do_not_touch_its_numbers_and_its_code_does(finished, toy_checkout):
    path = toy_checkout / "notebooks" / "toy" / "table.ipynb"
    whole = json.loads(path.read_text())
    words = {"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["Seen, and not run."]}
    after = whole["cells"][-1] | {"id": "after", "source": ["print('after the units')"]}
    path.write_text(json.dumps(whole | {"cells": [words, *whole["cells"], after]}))
    assert set(by_name().values()) == {("current", "")}
    before = whole["cells"][-1] | {"id": "before", "source": ["scale = 2 * scale"]}
    path.write_text(json.dumps(whole | {"cells": [*whole["cells"][:-1], before, whole["cells"][-1]]}))
    assert set(by_name().values()) == {("touched", "edited since: notebooks/toy/table.ipynb")}


def test_an_edit_during_a_run_is_not_recorded_as_what_ran(results, toy_checkout, run_toy):
    source = toy_checkout / "toy_project" / "protocol.py"
    run = "    time.sleep(float("
    swap = f"    open({str(source)!r}, 'a').write('# edited while it ran')\n"
    source.write_text(source.read_text().replace(run, swap + run, 1))
    run_toy("k2-pca")
    assert by_name()["k2-pca"] == ("touched", "edited since: toy_project/protocol.py")


def test_other_packages_than_the_lock_has_touch(finished, toy_checkout):
    (toy_checkout / "requirements.lock").write_text(f"numpy=={np.__version__} \\\n    --hash=x\npandas==0.1\n")
    assert {reason for _, reason in by_name().values()} == {f"edited since: pandas {pd.__version__}"}


def test_data_that_are_opened_are_recorded(toy_checkout):
    entry, moments = experiment("toy-table"), toy_checkout / "data" / "moments" / "toy"
    moments.mkdir(parents=True)
    (moments / "whole.npz").write_bytes(b"moments")
    with provenance.Provenance() as made:
        (moments / "whole.npz").read_bytes()
        (toy_checkout / "data" / "tolerances.yml").read_bytes()
    task = {"k": 2, "method": "PCA"}
    rows = records.whole(protocol.tidy({"%Var": 1.0}, dataset="toy", protocol="released", **task))
    store.store(entry, task, rows, made=made, seconds=1.0, path=store.home(entry, task))
    assert list(store.read_records("toy-table")["k2-pca"]["data"]) == ["data/moments/toy/whole.npz"]
    assert by_name()["k2-pca"][0] == "current"
    (moments / "whole.npz").write_bytes(b"other moments")
    assert by_name()["k2-pca"] == ("changed", "its data changed since: data/moments/toy/whole.npz")


def test_the_commit_is_that_of_this_checkout_with_what_differs_from_it(git, toy_checkout, monkeypatch):
    def run(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=toy_checkout, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q")
    run("add", ".")
    run("commit", "-qm", "first")
    assert records.commit() == (run("rev-parse", "HEAD"), False)
    (toy_checkout / "requirements.lock").write_text("numpy==2.5\n")
    assert records.commit()[1] is True
    monkeypatch.setattr(records, "root", lambda: toy_checkout / "data")  # an archive unpacked in another checkout
    assert records.commit() == ("unknown: not a git repository of its own", None)


# -- runs that are ended ------------------------------------------------------------------------------------------


def start(jobs: int, seconds: float = 0.0, first: str = "pass", hangs: str = "") -> subprocess.Popen:
    code = f"{first}; "
    code += "from compendium import catalogue, protocol; entry = catalogue.experiment('toy-table'); "
    code += f"[protocol.replay(entry, entry.execution(one), jobs={jobs}) for one in entry.executions]"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"FAKE_SECONDS": str(seconds), "FAKE_HANG": hangs},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # A shell without job control starts background processes deaf to Ctrl-C, and their children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def until(condition, seconds: float = 120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    # An ended process that nobody has waited for yet is listed as a zombie.
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_killed_run_continues_and_ends_with_the_same_bytes(finished, run_toy):
    whole, described = contents(finished, "*.csv"), units()

    def done() -> dict[str, dict]:
        return {name: one for name, one in store.read_records("toy-table").items() if one["finished"]}

    for path in finished.glob("*"):
        path.unlink()
    # The last unit never ends by itself.
    process = start(jobs=2, seconds=0.1, hangs="k2 Fair PCA-S (0.5)")
    until(lambda: len(done()) >= 2)
    process.kill()
    process.wait(timeout=120)
    half = done()
    assert 2 <= len(half) < len(NAMES)
    assert len(run_toy()[0]) == len(NAMES) - len(half)
    assert half.items() <= done().items()
    assert (contents(finished, "*.csv"), units()) == (whole, described)


def test_workers_end_with_a_killed_parent(results):
    process = start(jobs=1, seconds=20)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    log = results.parents[3] / "_build" / "failed" / "toy-table" / "k10-pca.txt"
    # The log is opened a moment before its worker is started.
    until(lambda: log.exists() and children.read_text())
    workers = [int(pid) for pid in children.read_text().split()]
    process.kill()
    process.wait()
    assert workers
    until(lambda: not any(alive(pid) for pid in workers))
    assert contents(results, "*") == {}


def test_a_failure_does_not_stop_the_others_and_is_told(results, monkeypatch, run_toy, capsys):
    monkeypatch.setenv("FAKE_FAIL", "Fair PCA")
    done, failed = run_toy(jobs=3)
    assert failed == {f"k{k}-fair_pca": "ValueError: Fair PCA was told to fail" for k in (10, 2)}
    assert len(done) == 4
    text = (results.parents[3] / "_build" / "failed" / "toy-table" / "k2-fair_pca.txt").read_text()
    assert "Traceback" in text
    assert "in judged" in text
    assert "k2-fair_pca failed: ValueError" in capsys.readouterr().out
    with pytest.raises(ExecutionError, match=r"1 of 3 units failed(.|\n)*k2-fair_pca: ValueError: Fair PCA was told"):
        protocol.cells(experiment("toy-table"), {"k": 2}, "full")
    assert "toy-table: 2 of 3 units are stored already" in capsys.readouterr().out
    monkeypatch.delenv("FAKE_FAIL")
    monkeypatch.setenv("FAKE_REFUSE", "1")  # raised on purpose: the whole of it, without a traceback
    assert run_toy("k2-fair_pca")[1] == {"k2-fair_pca": "points.csv: not there.\n  to do: fetch it"}
    monkeypatch.delenv("FAKE_REFUSE")
    assert run_toy()[0] == ["k10-fair_pca", "k2-fair_pca"]


def test_what_cannot_be_run_is_refused(results, run_toy):
    with pytest.raises(ConfigurationError, match="jobs is -1"):
        run_toy("k2-pca", jobs=-1)
    with pytest.raises(ConfigurationError, match="profile='quick'"):
        protocol.study("toy-table", profile="quick")
    with pytest.raises(ConfigurationError, match="'k' needs a whole number, but got 'ten'"):
        protocol.study("toy-table", k="ten")
    with pytest.raises(ConfigurationError, match="same name 'k2-fair_pca'"):
        protocol.study("toy-table").run(judged, [{"k": 2, "method": "Fair PCA"}, {"k": 2, "method": "fair pca"}])
    with pytest.raises(ExecutionError, match=r"no unit gave a number \(ZeroDivisionError: division by zero\)"):
        protocol.study("toy-table", k=2).run(lambda k: 1 / 0, [{"k": 2}])


# -- what a run computes, and what it reads -----------------------------------------------------------------------


def sources(results: pd.DataFrame) -> dict[str, set[str]]:
    """By unit, where its rows come from."""
    return results.groupby("task")["source"].agg(set).to_dict()


def test_a_run_as_published_compares_what_it_computes_with_what_is_stored(finished, shift, monkeypatch):
    entry = experiment("toy-table")
    space = protocol.cells(entry, {"k": 2})
    assert space["study"].note() == "Computed now: 24 of 24 numbers (0 s). Of 24 that are stored as well all are equal."
    assert set(space["results"]["source"]) == {"computed"}
    shift(finished / "toy-k2.json", "k2-pca", 1 + 1e-4)
    space = protocol.cells(entry, {"k": 2})
    assert "1 DIFFER by more than is allowed, most at toy PCA 2" in space["study"].note()
    shown = space["results"].query("method == 'PCA'")["value"]
    assert sorted(shown) == sorted(judged(2, "PCA")["value"]), "what was computed is shown, whatever is stored"
    monkeypatch.setenv(records.BUDGET, "-1")
    monkeypatch.setattr(protocol, "CHEAP", -1)  # nothing fits in
    space = protocol.cells(entry, {"k": 2})
    assert set(space["results"]["source"]) == {"published"}
    assert space["study"].note().startswith("Computed now: 0 of 24 numbers (0 s). The others were stored on 20")


def test_what_a_full_run_finds_stored_is_read_and_what_fails_as_published_is_no_silence(finished, monkeypatch):
    entry = experiment("toy-table")
    space = protocol.cells(entry, {"k": 2}, "full")
    assert set(space["results"]["source"]) == {"published"}, "nothing was fitted in this run"
    monkeypatch.setenv("FAKE_FAIL", "PCA")
    with pytest.raises(ValueError, match="PCA was told to fail"):
        protocol.cells(entry, {"k": 2})


def test_a_program_is_no_committed_notebook(finished):
    rows = protocol.study("toy-table", k=2).run(lambda k, method: judged(k, method)[:2], [{"k": 2, "method": "PCA"}])
    assert (len(rows), set(rows["source"])) == (2, {"computed"})


def test_a_part_of_a_unit_is_filled_with_stored_rows(finished, monkeypatch):
    monkeypatch.setenv(records.BUDGET, "-1")
    monkeypatch.setattr(edits, "executed", list)
    study = protocol.study("toy-table", k=2)
    one = {"k": 2, "method": "PCA"}
    rows = study.run(lambda k, method: judged(k, method).iloc[:2], [one], quick=[one])
    assert rows["source"].value_counts().to_dict() == {"computed": 2, "published": 7}


def test_edited_cells_and_other_settings_are_computed_and_nothing_stored_is_shown(finished, toy_checkout, shift):
    entry, before = experiment("toy-table"), contents(finished)
    path = toy_checkout / "notebooks" / "toy" / "table.ipynb"
    real, whole = path.read_text(), json.loads(path.read_text())
    run = next(cell for cell in whole["cells"] if "study.run" in "".join(cell["source"]))
    source = "".join(run["source"])

    def edited(change, profile: str = "embedded", left_out=()) -> dict:
        kept = [cell for place, cell in enumerate(whole["cells"][:-1]) if place not in left_out]
        path.write_text(json.dumps(whole | {"cells": [*kept, run | {"source": change(source)}]}))
        try:
            return protocol.cells(entry, {"k": 2}, profile)
        finally:
            path.write_text(real)

    for layout in (lambda s: f"# a remark\n\n{s}  # and another\n", lambda s: s.replace("over=[", "over=[\n    ")):
        assert edited(layout)["study"].own == ""
    space = edited(lambda s: s.replace("study.run(judged", "study.run(lambda k, method: judged(k, method)[:3]"))
    assert space["study"].own == "cell 3 was edited (it begins with 'from compendium import protocol')"
    assert sources(space["results"]) == {f"k2-{name}": {"computed"} for name in ("pca", "fair_pca", "fair_pca_s_0.5")}
    assert len(space["results"]) == 9, "not one stored row"
    space = edited(lambda s: s.replace("for method in METHODS]", "for method in ['PCA', 'My method']]"))
    assert sources(space["results"]) == {"k2-pca": {"computed"}}
    assert re.search(r"Missing: k2-my_method \(\w+Error: ", space["study"].note())
    space = edited(lambda s: s, left_out=[1])
    assert space["study"].own == "cells of the notebook were left out, or ran in another order"
    assert sources(space["results"])["k2-pca"] == {"computed"}
    full = edited(lambda s: s.replace("study.run(judged", "study.run(lambda k, method: judged(k, method)[:3]"), "full")
    assert (len(full["results"]), set(full["results"]["source"])) == (9, {"computed"})
    (folder,) = (toy_checkout / "_build" / "results" / "toy-table").glob("*.csv")
    folder.unlink()
    folder.with_suffix(".json").unlink()
    assert contents(finished) == before
    space = protocol.cells(entry, {"k": 3})
    assert space["study"].own == "the setting is another one (k = 3)"
    assert len(space["results"]) == 27
    full = protocol.cells(entry, {"k": 3}, "full")
    assert sorted(full["results"]["value"].dropna()) == sorted(space["results"]["value"].dropna())
    assert list((toy_checkout / "_build" / "results" / "toy-table").glob("*.csv"))
    assert contents(finished) == before


def test_a_limit_ends_a_run_and_what_is_left_is_missing(finished):
    study = protocol.study("toy-table", k=5)

    def unit(k, method):
        if method == "Fair PCA":
            time.sleep(60)
        return judged(k, method)

    begun = time.monotonic()
    rows = study.run(unit, [{"k": 5, "method": name} for name in ("PCA", "Fair PCA", "Fair PCA-S (0.5)")], seconds=2)
    assert time.monotonic() - begun < 30
    assert set(rows["method"]) == {"PCA"}
    assert "Missing: k5-fair_pca, k5-fair_pca_s_0.5 (not computed within 2 s)." in study.note()
    assert 'Set profile = "full"' in study.note()


def test_data_that_are_not_at_hand_are_told_and_never_downloaded(finished, cache, make_entry, monkeypatch):
    entry = make_entry({"rows.csv": b"1,2"}, lambda name: f"http://127.0.0.1:9/{name}")
    study = protocol.study("toy-table", k=5)

    def unit(k, method):
        if method == "PCA":
            fetch_file(entry, "rows.csv")
        return judged(k, method)

    rows = study.run(unit, [{"k": 5, "method": name} for name in ("PCA", "Fair PCA")])
    assert set(rows["method"]) == {"Fair PCA"}
    assert "Missing: k5-pca (toy: rows.csv is missing or unreadable" in study.note()
    assert not cache.exists()
    protocol.study("toy-table", k=5, profile="full")
    with pytest.raises(FetchError, match=r"could not be downloaded"):
        fetch_file(entry, "rows.csv")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = f(1, 2)", "x = f(\n    1, 2\n)  # why", True),
        ("for i in a:\n    b\nc", "for i in a:\n  b\n\nc\n", True),
        ("for i in a:\n    b\nc", "for i in a:\n    b\n    c", False),
        ('f"{x} and {{y}}"', 'f"{x} and {{y}}"  # text', True),
        ("k = 2", "k = 3", False),
        ("%matplotlib inline", "%matplotlib inline\n", True),
    ],
)
def test_layout_is_no_edit(one, other, same):
    assert (edits.digest_of(one) == edits.digest_of(other)) == same
