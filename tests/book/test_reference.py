"""The reference: every public name in its overview, with an example and the way to its derivation."""

import importlib
import inspect
import re

import pytest

import evenspan
from compendium import paths
from compendium.book import api

METHODS = sorted(api.methods_of())
PUBLIC = (
    evenspan,
    *(importlib.import_module(f"evenspan.{room}") for room in ("reconstruction", "representation", "clustering")),
)


def test_every_public_name_is_in_the_overview_once():
    text = (paths.root() / "book" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ~(evenspan\.\S+)$", text, re.MULTILINE)
    values = [
        importlib.import_module(name) if name.endswith((".metrics", ".errors")) else _value(name) for name in listed
    ]
    shown = {id(value) for value in values} | {id(value) for value in vars(evenspan.core.errors).values()}
    public = [getattr(module, name) for module in PUBLIC for name in module.__all__]
    assert [value for value in public if id(value) not in shown] == []
    assert len({id(value) for value in values}) == len(values)


def _value(name: str):
    module, _, name = name.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_guarantee_cost_and_source_and_leads_to_its_chapter_and_experiments(name):
    doc = inspect.getdoc(getattr(evenspan, name))
    for part in ("Parameters", "Attributes", "Guarantees", "Complexity", "References", "Examples"):
        assert f"\n{part}\n---" in doc, part

    assert ("Derived in" in api.used(name)) == (name != "KernelKMeans")  # which is derived nowhere
    younger = {"FairAlignmentClustering", "SparseFairPCA", "OutlierRobustFairPCA"}  # than the experiments
    assert ("Run by" in api.used(name)) == (name not in younger)
