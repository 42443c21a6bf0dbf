"""Files of the checkout that were cut, emptied, flipped or are of another version, and runs killed while they write."""

import itertools
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from compendium import compare, provenance, records, store
from compendium.book import rivals
from compendium.catalogue import catalogue
from compendium.claim_rules import rule_file
from compendium.data import moments, registry
from compendium.ledger import history, table
from evenspan.core.errors import ResultError

ROOT = Path(__file__).parents[2]
RESULTS = "data/results/full/toy-table"


def units() -> list:
    return [(unit.changed, len(unit.frame)) for unit in store.units_of("toy-table").values()]


def names() -> tuple:
    registry.read.cache_clear()
    return registry.names()


#: What reads each file, whole; those that the small checkout lacks are copied there.
READ = {
    "experiments.yml": catalogue,
    "data/registry.toml": names,
    "data/tolerances.yml": lambda: (rule_file(), compare.tolerances("toy-table")),
    "data/versions.yml": lambda: provenance.versions("toy-table", ["PCA"]),
    "data/rules.yml": history.history,
    "data/paper/toy_k10.csv": table.published,
    "data/paper/claims.csv": lambda: records.paper_table("claims", words=True),
    "data/paper/findings.csv": lambda: records.paper_table("findings", words=True),
    "data/paper/quoted/lee2023.csv": lambda: records.paper_table("quoted", "lee2023"),
    "data/results/rivals/tasks.json": rivals.read,
    "data/results/rivals/tasks.csv": rivals.read,
    "data/moments/compas/record.json": lambda: moments.group_moments("compas"),
    "data/moments/compas/whole.npz": lambda: moments.group_moments("compas"),
    f"{RESULTS}/toy-k2.json": units,
    f"{RESULTS}/toy-k2.csv": units,
}


@pytest.mark.parametrize("name", READ)
def test_damage_is_one_sentence_that_names_the_file(name, toy_checkout, finished):
    for other in ("data/moments/compas", "data/results/rivals", "data/paper/quoted"):
        shutil.copytree(ROOT / other, toy_checkout / other)
    for other in READ:
        if not (toy_checkout / other).exists():
            shutil.copy(ROOT / other, toy_checkout / other)
    path, read = toy_checkout / name, READ[name]
    content = path.read_bytes()
    read()
    # Of a record and its CSV either may be named, and of moments the checksum that their record lost.
    says = rf"{re.escape(str(path.with_suffix('')))}\.\w+ .*(Restore|[Cc]orrect|Make it again)|made from raw data"
    cut = content[: len(content) // 2] if name != "data/versions.yml" else b"protocols: [1"  # its half is whole
    for damage in (cut, b"", b"[]", b"[[1]]\n", b"[" * 3000, b"\xff\xfe"):
        path.write_bytes(damage)
        with pytest.raises(ResultError, match=f"(?s){says}"):
            read()
    for at in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            read()  # a letter of a word may be any
        except ResultError as error:
            said = str(error)
            assert re.search(f"(?s){says}", said) or "two rows for" in said


def test_a_run_that_is_killed_at_any_point_of_a_write_loses_no_unit_but_its_own(finished, toy_checkout):
    path = finished / "toy-k2.json"
    every = dict(store.units_at(path))
    earlier = dict(list(every.items())[:-1])
    wanted = {one.name: one.read_bytes() for one in finished.iterdir()}
    for point in itertools.count():
        store.write("toy-table", earlier, path)
        if not (child := os.fork()):
            left = iter(range(point))

            def hook(event: str, given: tuple, left=left) -> None:
                there = event in ("open", "os.rename", "os.remove") and str(finished) in str(given[0])
                if there and next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            store.write("toy-table", every, path)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert earlier.keys() <= store.units_of("toy-table").keys() >= store.units_at(finished / "toy-k10.json").keys()
        store.write("toy-table", every, path)
        kept = {one.name: one.read_bytes() for one in finished.iterdir() if one.suffix != ".part"}
        assert kept == wanted
        if status == 0:
            break
    assert point > 4
