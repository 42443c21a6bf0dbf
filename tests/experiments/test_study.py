"""The engine and the store against a small experiment: what is stored, what of it counts, what a run computes."""

import importlib
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from compendium import edits, engine, provenance, records, store, study, verify
from compendium.catalogue import PLAN, experiment
from compendium.data.fetch import raw_file
from compendium.engine import execute_cells, inspect_study
from compendium.errors import FetchError
from compendium.ledger import table
from compendium.study import Study
from evenspan.core.errors import ConfigurationError, ExecutionError, ResultError

from ..conftest import CELLS

FILES = ["toy-k10.csv", "toy-k10.json", "toy-k2.csv", "toy-k2.json"]


def contents(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def judged(k: int, method: str) -> pd.DataFrame:
    """The rows of one unit, without the engine."""
    return records.whole(importlib.import_module("toy_project.protocol").judged(k, method))


# -- what is stored -----------------------------------------------------------------------------------------------


def test_a_run_computes_every_unit_once_and_records_what_it_was_made_from(finished, run_toy, monkeypatch):
    before = contents(finished)
    assert (list(before), run_toy(), contents(finished), store.summary("toy-table")) == (FILES, [], before, "6 units")
    unit = store.units_of("toy-table")["k2-pca"]
    made = unit.record["parameters"], unit.record["seed"], unit.record["data"], unit.record["versions"]
    assert (unit.path.name, *made) == ("toy-k2.json", {"k": 2, "method": "PCA"}, 7, {}, {"protocol": 1})
    assert unit.record["command"] == "python -m compendium run toy-table --profile full --task k2-pca"
    assert unit.record["commit"] == "unknown", "the small checkout is in no repository"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # neither cores nor the order of runs change a byte
    (finished / "toy-k2.json").unlink()
    run_toy("k2-fair_pca", jobs=1)
    assert run_toy(jobs=1) == ["k2-pca", "k2-fair_pca_s_0.5"]
    assert contents(finished, "*.csv") == {name: before[name] for name in FILES[::2]}
    frame = judged(2, "PCA")
    assert records.lines(frame.sample(frac=1, random_state=3)[list(reversed(frame.columns))]) == records.lines(frame)


def test_results_read_back_as_they_were_and_what_rests_on_missing_ones_waits(finished):
    frame = store.read_results("toy-table")
    frame.loc[0, "value"] = -77.0  # whoever changes what was read changes nothing for others
    frame = store.read_results("toy-table")
    assert (len(frame), list(frame.columns)) == (6 * 9, [*records.TIDY, "reason", "task"])
    by = ["metric", "protocol", "split"]
    want, got = judged(10, "PCA").sort_values(by), frame[frame["task"] == "k10-pca"].sort_values(by)
    assert (got["value"].to_numpy() == want["value"].to_numpy()).all()
    assert (got["split"].map(type).eq(int).all(), frame["k"].dtype) == (True, "Int64")
    some = store.read_results("toy-table", method=["PCA", "Fair PCA"], k=10, metric="%Var")
    assert set(some["task"]) == {"k10-pca", "k10-fair_pca"}
    more = {"method": ["PCA", "nobody's"]}
    assert set(store.full("toy-table", **more)["method"]) == {"PCA"}
    for missing in (partial(store.full, "toy-table", "method", **more), partial(store.full, "toy-table", k=1)):
        with pytest.raises(store.MissingNumbersError, match=r"no rows of toy-table with (method nobody's|k 1)"):
            missing()
    for path in finished.iterdir():
        path.unlink()
    nothing = store.read_results("toy-table")
    assert nothing.dtypes[["k", "value"]].tolist() == ["Int64", float]
    assert (len(nothing), list(nothing.columns)) == (0, [*records.TIDY, "reason", "task"])


def test_rows_that_are_not_tidy_are_refused(toy_checkout):
    frame = judged(2, "PCA")
    assert records.checked(frame, "toy") is frame
    for changed, said in (
        (frame.drop(columns="metric"), "lack the column metric"),
        (frame.iloc[:0], "there are no rows"),
        (pd.concat([frame, frame.iloc[:1]]), "two rows have the same key"),
        (frame.drop(columns="reason").assign(value=np.inf), "no finite value and no reason"),
    ):
        with pytest.raises(ResultError, match=said):
            records.checked(changed, "toy")


# -- what of it counts --------------------------------------------------------------------------------------------


def test_rows_that_are_not_those_of_the_record_are_refused(finished, run_toy):
    before = contents(finished, "*.csv")
    table = finished / "toy-k2.csv"
    for damage in (before["toy-k2.csv"].replace(b"PCA,2,0", b"PCA,2,7", 1), b""):
        table.write_bytes(damage)
        for read in (partial(store.read_results, "toy-table"), run_toy):
            with pytest.raises(ResultError, match=r"toy-k2.csv .* its checksum differs"):
                read()
    (finished / "toy-k2.json").unlink()
    assert len(run_toy()) == 3
    assert contents(finished, "*.csv") == before


def test_what_was_made_under_another_version_does_not_count_and_an_edit_does(finished, toy_checkout, run_toy):
    before = contents(finished)
    with (toy_checkout / "toy_project" / "protocol.py").open("a") as source:
        source.write("\n# edited\n")
    assert run_toy() == []
    assert contents(finished) == before
    versions = toy_checkout / "data" / "versions.yml"
    versions.write_text("methods: {Fair PCA: 2}\n")
    assert store.units_of("toy-table")["k2-fair_pca"].changed == "another version of method Fair PCA was declared since"
    assert set(store.read_results("toy-table")["method"]) == {"PCA", "Fair PCA-S (0.5)"}
    assert store.summary("toy-table") == "6 units, 2 of other data or versions"
    assert run_toy() == ["k10-fair_pca", "k2-fair_pca"]
    versions.write_text("protocols: {toy-table: 2}\nmethods:\n")
    assert store.summary("toy-table") == "6 units, 6 of other data or versions"


def test_what_was_made_of_other_data_does_not_count(toy_checkout):
    table = toy_checkout / "mine.csv"
    table.write_text("a,b\n1,2\n")
    entry, task = experiment("toy-table"), {"dataset": str(table), "k": 2, "method": "PCA"}
    rows = records.whole(records.tidy({"%Var": 1.0}, protocol="released", **task))
    path = store.record_path(entry, task)
    store.save(entry, task, rows, path, seconds=1.0)
    assert len(store.read_results("toy-table")) == 1
    table.write_text("a,b\n1,3\n")
    assert store.read_results("toy-table").empty
    [unit] = store.units_at(path).values()
    assert unit.changed == f"its data changed since: {table}"


def test_the_commit_is_that_of_this_checkout_with_what_differs_from_it(git, toy_checkout, monkeypatch):
    def run(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=toy_checkout, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q")
    run("add", ".")
    run("commit", "-qm", "first")
    assert provenance.commit() == (run("rev-parse", "HEAD"), False)
    (toy_checkout / "requirements.lock").write_text("numpy==2.5\n")
    assert provenance.commit()[1] is True
    there = SimpleNamespace(root=lambda: toy_checkout / "data")  # an archive unpacked in another checkout
    monkeypatch.setattr(provenance, "paths", there)
    assert provenance.commit() == ("unknown", None)


# -- runs that are ended ------------------------------------------------------------------------------------------


def test_a_failure_does_not_stop_the_others_and_is_told(results, monkeypatch, run_toy, capfd):
    monkeypatch.setenv("FAKE_FAIL", "Fair PCA")
    told = r"1 of 3 units failed(.|\n)*k10-fair_pca: ValueError: Fair PCA was told to fail"
    with pytest.raises(ExecutionError, match=told):
        run_toy(jobs=3)
    assert sorted(store.units_of("toy-table")) == ["k10-fair_pca_s_0.5", "k10-pca"]
    assert "in judged" in capfd.readouterr().err, "the traceback"
    monkeypatch.delenv("FAKE_FAIL")
    monkeypatch.setenv("FAKE_REFUSE", "1")  # raised on purpose: the whole of it, without a traceback
    with pytest.raises(ExecutionError, match=r"k10-fair_pca: points.csv: not there.\n  to do: fetch it"):
        run_toy("k10-fair_pca")
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.delenv("FAKE_REFUSE")
    assert len(run_toy()) == 4


def test_what_cannot_be_run_is_refused(results):
    with pytest.raises(ConfigurationError, match="no profile 'quick'"):
        Study("toy-table", profile="quick")
    with pytest.raises(ConfigurationError, match="same name 'k2-fair_pca'"):
        Study("toy-table").run(judged, [{"k": 2, "method": "Fair PCA"}, {"k": 2, "method": "fair pca"}])
    with pytest.raises(ExecutionError, match=r"no unit gave a number \(ZeroDivisionError: division by zero\)"):
        Study("toy-table", k=2).run(lambda k: 1 / 0, [{"k": 2}])


# -- what a run computes, and what it reads -----------------------------------------------------------------------


def test_a_run_as_published_compares_what_it_computes_with_what_is_stored(finished, shift, monkeypatch):
    entry = experiment("toy-table")
    space = execute_cells(entry, {"k": 2})
    assert space["study"].note().startswith("Computed now: 24 of 24 numbers (")
    assert space["study"].note().endswith(" s). Of 24 that are stored as well all agree.")
    assert set(space["results"]["source"]) == {"computed"}
    shift(finished / "toy-k2.json", "k2-pca", 1 + 1e-4)
    space = execute_cells(entry, {"k": 2})
    assert "1 DIFFER by more than is allowed, most at toy PCA 2" in space["study"].note()
    shown = space["results"].query("method == 'PCA'")["value"]
    assert sorted(shown) == sorted(judged(2, "PCA")["value"]), "what was computed is shown, whatever is stored"
    monkeypatch.setenv(records.BUDGET, "-1")
    monkeypatch.setattr(study, "CHEAP", -1)  # nothing fits in
    space = execute_cells(entry, {"k": 2})
    assert set(space["results"]["source"]) == {"published"}
    said = r'The others were stored by the full run: 3 units need about \d s \(set profile = "full"\)\.'
    assert re.search(f"{said}$", space["study"].note())
    space = execute_cells(entry, {"k": 2}, "full")
    assert set(space["results"]["source"]) == {"published"}, "nothing was fitted in this run"
    monkeypatch.delenv(records.BUDGET)
    monkeypatch.setenv("FAKE_FAIL", "PCA")
    with pytest.raises(ValueError, match="PCA was told to fail"):
        execute_cells(entry, {"k": 2})


def test_edited_cells_and_other_settings_are_computed_and_nothing_stored_is_shown(finished, toy_checkout):
    entry, before = experiment("toy-table"), contents(finished)
    path = toy_checkout / "notebooks" / "toy" / "table.ipynb"
    real, whole = path.read_text(), json.loads(path.read_text())
    *others, run = whole["cells"]
    source = "".join(run["source"])

    def edited(change, profile: str = "embedded", cells=others) -> dict:
        path.write_text(json.dumps(whole | {"cells": [*cells, run | {"source": change(source)}]}))
        try:
            return execute_cells(entry, {"k": 2}, profile)
        finally:
            path.write_text(real)

    def fewer(source):
        return source.replace("study.run(judged", "study.run(lambda k, method: judged(k, method)[:3]")

    for layout in (lambda s: f"# a remark\n\n{s}  # and another\n", lambda s: s.replace("over=[", "over=[\n    ")):
        assert edited(layout)["study"].edited_reason == ""
    for profile in ("full", "embedded"):
        space = edited(fewer, profile)
        assert space["study"].compared == [], "what these cells have stored is no published result"
        assert space["study"].edited_reason == "a cell was edited: from compendium.study import Study"
        assert set(space["results"]["source"]) == {"computed"}
        assert len(space["results"]) == 9, "not one stored row"
    space = edited(lambda s: s.replace("for method in METHODS]", "for method in ['PCA', 'My method']]"))
    assert set(space["results"]["task"]) == {"k2-pca"}
    assert re.search(r"Missing: k2-my_method \(\w+Error: ", space["study"].note())
    space = edited(lambda s: s, cells=others[:1])
    assert space["study"].edited_reason == "cells of the notebook were left out, or ran in another order"
    assert set(space["results"]["source"]) == {"computed"}
    space, full = (execute_cells(entry, {"k": 3}, profile) for profile in ("embedded", "full"))
    assert space["study"].edited_reason == "the setting is another one (k = 3)"
    assert sorted(full["results"]["value"].dropna()) == sorted(space["results"]["value"].dropna())
    assert len(list((toy_checkout / "_build" / "results" / "toy-table").glob("*.csv"))) == 2
    assert contents(finished) == before


def test_data_that_are_not_at_hand_are_told_and_never_downloaded(finished, cache, make_entry, monkeypatch):
    entry = make_entry({"rows.csv": b"1,2"}, lambda name: f"http://127.0.0.1:9/{name}")

    def unit(k, method):
        if method == "PCA":
            raw_file(entry, "rows.csv")
        return judged(k, method)

    run = Study("toy-table", k=5)
    rows = run.run(unit, [{"k": 5, "method": name} for name in ("PCA", "Fair PCA")])
    assert set(rows["method"]) == {"Fair PCA"}
    assert "Missing: k5-pca (Data not at hand: toy. python -m compendium data fetch toy)." in run.note()
    assert not cache.exists()
    monkeypatch.setattr(edits, "executed", lambda: [CELLS["work"], CELLS["run"]])
    run = Study("toy-table", k=2)
    run.run(unit, [{"k": 2, "method": name} for name in ("PCA", "Fair PCA")])
    why = "Data not at hand: toy. python -m compendium data fetch toy (1 units)"
    assert f"The others were stored by the full run: {why}." in run.note()


def test_a_full_run_downloads_what_raw_data_it_names(cache, make_entry, monkeypatch, toy_checkout):
    entry = make_entry({"rows.csv": b"1,2"}, lambda name: f"http://127.0.0.1:9/{name}")
    fetching = sys.modules["compendium.data.fetch"]
    monkeypatch.setattr(fetching, "names", lambda: ("toy",))
    monkeypatch.setattr(fetching, "entry", lambda name: entry)
    with pytest.raises(FetchError, match=r"could not be downloaded from http\S+ \(\w+\);") as refused:
        Study("toy-table", profile="full")
    assert len(str(refused.value)) < 400, "no dump of a network library"
    Study("toy-table"), Study("toy-table", profile=PLAN)


# -- what a kernel may have changed -------------------------------------------------------------------------------


def test_parameters_that_changed_since_the_study_was_made_are_an_error(finished, monkeypatch):
    kernel = {"dataset": "toy", "k": 2, "profile": "embedded", "scale": 1.5}
    monkeypatch.setattr(edits, "namespace", lambda: kernel)
    run = Study("toy-table", dataset="toy", k=2, profile="embedded")
    units = [{"k": 2, "method": "PCA"}]
    assert len(run.run(judged, units)) == 9
    kernel["scale"] = 7.0  # the study was not made with it
    run.run(judged, units)
    kernel["k"] = 3
    with pytest.raises(ConfigurationError, match=r"k = 3 in this kernel, but .* with k = 2\. Run the cell with Study"):
        run.run(judged, units)


def test_an_edited_module_of_the_readers_is_another_run(finished, toy_checkout, monkeypatch):
    (toy_checkout / "mine.py").write_text("SHIFT = 0.0\n")
    monkeypatch.setattr(edits, "executed", lambda: ["import mine"])
    monkeypatch.setitem(sys.modules, "mine", importlib.import_module("mine"))

    def sources() -> set[str]:
        return set(Study("toy-table", k=2, profile="full").run(judged, [{"k": 2, "method": "PCA"}])["source"])

    assert [sources(), sources()] == [{"computed"}, {"stored"}]
    (toy_checkout / "mine.py").write_text("SHIFT = 9.0\n")
    assert sources() == {"computed"}


def test_files_that_differ_from_the_commit_are_named_beside_stored_numbers(finished, monkeypatch):
    monkeypatch.setattr(provenance, "changed_files", lambda: ("src/evenspan/representation/fair_pca.py",))
    text = "These files differ from the commit, and stored numbers may not be theirs: src/evenspan/representation/fair"
    entry = experiment("toy-table")
    assert text not in execute_cells(entry, {"k": 2})["study"].note(), "everything was computed"
    monkeypatch.setenv(records.BUDGET, "-1")
    assert text in execute_cells(entry, {"k": 2})["study"].note()


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (["a = 1", "study.run(a)"], []),
        (["a = 1", "a = 1", "study.run(a)", "print(a)", "study.run(a)"], []),
        (["a = 1", "results.head()", "study.run(a)"], ["an extra cell ran: results.head()"]),
        (["a = 1", "study.run(a)", "print(study.note())", "study.run(a)"], ["an extra cell ran: print(study.note())"]),
        (["a = 12", "study.run(a)"], ["a cell was edited: a = 12"]),
        (["a = 1", "study.run(a)", "a = 12", "study.run(a)"], ["a cell was edited: a = 12"]),
        (["a = 1", "study.run(a + 1)"], ["a cell was edited: study.run(a + 1)"]),
        (["study.run(a)"], ["a cell was left out: a = 1"]),
    ],
)
def test_what_ran_is_named_by_its_first_line(ran, said, monkeypatch):
    entry, cells = experiment("rathore2025-tables"), ["a = 1", "study.run(a)", "print(a)"]
    monkeypatch.setattr(edits, "_code_cells", lambda entry: cells)
    monkeypatch.setattr(edits, "committed_cells", lambda entry: list(map(edits.digest_of, cells)))
    monkeypatch.setattr(edits, "executed", lambda: ran)
    assert edits.differences_from_committed(entry) == said


def test_a_notebook_is_inspected_without_computing(finished, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "PCA")
    found = inspect_study(experiment("toy-table"), {"k": 2})
    assert (list(found.units), found.seed) == (["k2-pca", "k2-fair_pca", "k2-fair_pca_s_0.5"], 7)
    assert found.note() == "3 units; nothing was computed."


def test_layout_is_no_edit_and_what_a_loop_repeats_is_one():
    once, more = "for i in a:\n    b\nc", "for i in a:\n    b\n    c"
    assert edits.digest_of(once) == edits.digest_of("for i in a:\n  b\n\nc\n") != edits.digest_of(more)
    assert edits.digest_of("k = 2") != edits.digest_of("k = 3")


def test_a_cell_may_inspect_another_notebook(finished):
    with engine._own_shell() as shell:
        _, error = shell.run(
            "from compendium.catalogue import experiment\nfrom compendium.engine import inspect_study\n"
            "there = inspect_study(experiment('toy-table'), {'k': 2})\nhere = get_ipython()"
        )
    assert error is None
    assert shell.user_ns["there"].edited_reason == "", "the cells of the page are not those of the notebook"
    assert shell.user_ns["here"] is shell


def test_a_small_execution_is_stored_apart_and_stands_alone(finished, toy_checkout):
    listed = toy_checkout / "experiments.yml"
    listed.write_text(listed.read_text() + "  small: {tiny: {k: 2, scale: 9.0}}\n")
    entry, before = experiment("toy-table"), store.read_results("toy-table")
    ledger = table.ledger().to_csv()
    assert len(inspect_study(entry, entry.execution("tiny")).compute()) == 3, "units of the same names are others"
    assert sorted(path.name for path in (finished / "small").iterdir()) == ["tiny.csv", "tiny.json"]
    pd.testing.assert_frame_equal(store.read_results("toy-table"), before)
    assert table.ledger().to_csv() == ledger
    assert {name for name in verify.known("toy-table") if "/" in name} == {
        f"small/k2-{name}" for name in ("pca", "fair_pca", "fair_pca_s_0.5")
    }
    tiny, page = (execute_cells(entry, entry.execution(name))["study"] for name in ("tiny", "toy-k2"))
    assert (tiny.alone, page.alone) == (True, False)
    assert (tiny.edited_reason, page.edited_reason) == ("", "")
    assert tiny.compared, "it is compared with what is stored of it"
    found = verify.verify([("toy-table", "small/k2-pca"), ("toy-table", "k2-pca")], jobs=1)
    assert all(one.ok for one in found.values())
    assert [*map(len, (found, {one.rows for one in found.values()}))] == [2, 1]
