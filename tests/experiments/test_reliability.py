"""The measurement of reliability (``benchmarks/reliability*.py``) on the small experiment, and the numbers it gave."""

import importlib
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from compendium import paths, records
from compendium.ledger import reliability as report
from compendium.store import units_of

BENCHMARKS = paths.root() / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """The modules of the measurement by name."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return lambda name: importlib.import_module(f"reliability_{name}")


@pytest.mark.exhaustive  # runs survive a kill in test_protocol.py; this is the programme that counts kills
def test_killed_while_writing_and_resumed_the_results_are_those_of_the_whole_run(bench, results, toy_checkout):
    kills, runs = bench("kills"), bench("runs")
    listed = toy_checkout / "experiments.yml"
    listed.write_text(listed.read_text().replace("{toy-k10: {k: 10}, toy-k2", "{toy-k2"))
    checkout, whole = runs.Checkout(toy_checkout), toy_checkout / "whole"
    checkout.say("run", "toy-table", "--profile", "full")
    shutil.move(results, whole)
    slow = toy_checkout / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(kills.SLOW)
    rng = np.random.default_rng(5)
    how = {"who": "all while writing", "draw": kills.while_writing(rng), "rng": rng, "slow": slow}
    [row], [complete] = kills.killed_runs(checkout, "toy-table", whole, wanted=1, **how)
    assert (row["sound"], row["code"]) == (True, -9)
    assert row["processes"] >= 2
    assert complete.items() >= {"tasks": 3, "same_csv": 3, "other_files": 0, "again": 0}.items()
    assert set(complete["fields"].split()) <= records.VARYING
    assert not list(results.glob("*"))


def edit(path, name, **fields):
    record = json.loads(path.read_text())
    record["units"][name] |= fields
    path.write_bytes(records.to_json(record))


def test_the_comparison_sees_what_differs(bench, finished, tmp_path):
    compare = bench("runs").compare
    other = tmp_path / "other"
    shutil.copytree(finished, other)
    assert compare(finished, other) == {"tasks": 6, "same_csv": 6, "same_record": 6, "fields": "", "other_files": 0}
    edit(other / "toy-k2.json", "k2-pca", seconds=99.0)
    assert compare(finished, other)["same_record"] == 6
    edit(other / "toy-k2.json", "k2-pca", seed=8)
    table = other / "toy-k10.csv"
    table.write_text(re.sub(r"(\nk10-pca,.*)\n", r"\1 \n", table.read_text(), count=1))
    lines = (other / "toy-k2.csv").read_text().splitlines(keepends=True)
    (other / "toy-k2.csv").write_text("".join(line for line in lines if not line.startswith("k2-fair_pca,")))
    (other / ".toy-k2.csv.part").write_bytes(b"data")
    found = compare(finished, other)
    assert found == {"tasks": 6, "same_csv": 4, "same_record": 5, "fields": "seconds seed", "other_files": 1}


def test_only_whole_results_are_believed_and_states_are_named(bench, finished):
    names = list(units_of("toy-table"))
    kills, runs = bench("kills"), bench("runs")
    assert set(runs.believed(finished)) == set(names)
    assert kills.states(finished, names) == {"CSV + record": 6}
    two = json.loads((finished / "toy-k2.json").read_text())
    (finished / ".toy-k2.json.part").write_bytes(records.to_json(two))
    del two["units"]["k2-pca"]
    (finished / "toy-k2.json").write_bytes(records.to_json(two))
    edit(finished / "toy-k2.json", "k2-fair_pca", sha256="0" * 64)
    for kind in ("csv", "json"):
        (finished / f"toy-k10.{kind}").unlink()
    assert set(runs.believed(finished)) == {"k2-fair_pca_s_0.5"}
    expected = {"CSV + record in part + record": 2, "CSV + record in part": 1, "nothing": 3}
    assert kills.states(finished, names) == expected


def test_one_byte_is_altered_told_and_put_back(bench, finished, toy_checkout):
    alterations = bench("alterations")
    rng = np.random.default_rng(3)
    for kind, pattern in (("results of full runs", "*.csv"), ("records of full runs", "*.json")):
        for path in sorted(finished.glob(pattern)):
            before = path.read_bytes()
            for how in alterations.HOWS * 3:
                with alterations.altered(path, how, rng) as (place, old, new):
                    now = path.read_bytes()
                    assert [i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b] == [place]
                    assert (before[place], now[place]) == (old, new)
                    state, text = alterations.outcome(alterations.reading(kind, path))
                assert path.read_bytes() == before
                if path.suffix == ".csv":
                    assert state == "told"
                    assert path.relative_to(toy_checkout).as_posix() in text
    assert alterations.outcome(alterations.reading("results of full runs", path)) == ("unseen", "")
    assert alterations.outcome(lambda: {}["x"])[0] == "crashed", "an error in other words than the package's"


# ---- what was measured, and the tables that the book shows ----


def test_measured_tables_are_those_of_their_records(refuses_what_its_record_does_not_describe):
    for name, part in report.PARTS.items():
        made = report.record(part)
        assert len(report.read(name)) > 0
        assert made["command"].startswith(f"python benchmarks/reliability.py {part} ")
        assert len(made["commit"]) == 40
        assert made["dirty"] is False
    refuses_what_its_record_does_not_describe(
        lambda: report.read("kills"), "reliability/kills.csv", r"reliability.py kills --work FOLDER"
    )


def test_no_kill_left_anything_that_was_not_whole():
    assert len(report.read("kills")) >= 50
    kills, runs = report.all_kills()
    assert kills["sound"].all()
    assert (kills["killed"] == "all at random").sum() >= 50
    assert (runs["same_csv"] == runs["tasks"]).all()
    assert (runs["same_record"] == runs["tasks"]).all()
    assert not runs[["other_files", "again"]].any(axis=None)
    assert {field for row in runs["fields"].dropna() for field in row.split()} <= records.VARYING
    assert kills.loc[kills["killed"] == "workers only", "told"].all()
    # The moments that matter were hit: rows without a record, and files in part.
    left = set(report.caught(kills)["left behind"])
    assert {"CSV", "CSV in part"} <= left
    assert "CSV + record" not in left


def test_the_same_run_is_the_same_elsewhere():
    places = report.read("places")
    elsewhere = places[places["what"].isin(["full run", "notebook"])]
    assert set(elsewhere["place"]) == {"first", "second", "third"}
    assert (elsewhere["same_csv"] == elsewhere["tasks"]).all()
    assert (elsewhere["same_record"] == elsewhere["tasks"]).all()
    assert (elsewhere.loc[elsewhere["what"] == "notebook", "same_notebook"].astype(str) == "True").all()


def test_every_altered_byte_is_noticed_and_its_file_named():
    rows = report.read("alterations")
    seals = report.ASKED[0]
    assert len(rows) >= 100
    assert (rows[seals] == "told").all()
    # A byte in the list of seals shows as an alteration of the file in whose line it stands.
    assert rows.loc[rows["kind"] != "seals", f"{seals}: named"].all()


def test_tables_count_what_was_measured():
    by = {"killed": ["all", "all", "workers"], "experiment": ["x", "x", "y"]}
    states = ["1 CSV; 2 nothing", "2 CSV", "3 nothing"]
    kills = pd.DataFrame(by | {"sound": [True, False, True], "states": states})
    runs = pd.DataFrame(
        by
        | {"tasks": [3, 3, 3], "same_csv": [3, 2, 3], "same_record": [3, 3, 3]}
        | {"other_files": [0, 1, 0], "again": [0, 0, 0]}
    )
    found = report.killed(kills, runs).set_index("killed").loc["all"]
    assert found.to_dict() == {
        "experiment": "x", "kills": 2, "sound": 1, "runs": 2, "tasks": 6, "same_csv": 5, "same_record": 6,
        "other_files": 1, "again": 0,
    }  # fmt: skip
    left = report.caught(kills).set_index("left behind")
    assert left["all"].to_dict() == {"CSV": 3, "nothing": 2}
    assert left["workers"].to_dict() == {"CSV": 0, "nothing": 3}
    altered = pd.DataFrame({"kind": ["rules", "rules"], report.ASKED[0]: ["told", "unseen"]})
    altered[f"{report.ASKED[0]}: named"] = [True, False]
    for asked, state in zip(report.ASKED[1:], ("not asked", "crashed"), strict=True):
        altered[asked], altered[f"{asked}: named"] = state, False
    [row] = report.noticed(altered).to_dict("records")
    assert [row[asked] for asked in report.ASKED] == ["1 of 2, 1 by name", "–", "2 of 2, 0 by name"]
    assert (row["altered"], row["noticed by one of them"]) == (2, 2)
