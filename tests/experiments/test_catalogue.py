"""The list of experiments: what is read, and which mistakes are named."""

import re

import pytest
import yaml

from compendium import paths, store
from compendium.catalogue import catalogue, experiment
from evenspan.core.errors import ConfigurationError, RegistryError


def test_the_real_list_is_valid_and_complete():
    entries = catalogue()
    table = entries["kleindessner2023-table"]
    assert list(table.executions) == [
        *("adult-k10", "adult-k2", "compas-k2", "compas-k10", "german-k2", "german-k10", "sklearn_diabetes-k3")
    ]
    assert table.published_datasets == {"adult": ("Adult Income",)}
    assert table.published_protocols == {"": "released"}
    for entry in entries.values():
        assert (paths.root() / entry.notebook).is_file()
        assert store.units_of(entry.id)
        for table in entry.published:
            assert paths.data("paper", f"{table}.csv").is_file()


def test_arguments_come_from_defaults_execution_and_command_line(toy_checkout):
    entry = experiment("toy-table")
    assert entry.arguments() == {"dataset": "toy", "k": 10, "scale": 1.5, "quick": True, "profile": "embedded"}
    given = {"k": "7", "scale": 2, "quick": "false", "dataset": "other"}
    assert entry.arguments("toy-k2", given=given) == {
        "dataset": "other", "k": 7, "scale": 2.0, "quick": False, "profile": "embedded",
    }  # fmt: skip
    assert entry.execution("toy-k2") == {"dataset": "toy", "k": 2, "scale": 1.5, "quick": True}
    assert entry.execution_for({**entry.execution("toy-k2"), "method": "PCA"}) == "toy-k2"
    assert entry.execution_for({"dataset": "toy"}) is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q", "1", r"no parameter 'q'; its parameters are dataset \(default toy\), k \(default 10\)"),
        ("k", "ten", "'k' is 'ten'. Input should be a valid integer"),
        ("scale", "nan", "'scale' is 'nan'. Input should be a finite number"),
        ("dataset", "adults", "'dataset' cannot be 'adults'; it can be toy, other"),
        ("profile", "full", "no parameter 'profile'"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_those_that_do(toy_checkout, name, text, said):
    with pytest.raises((ConfigurationError, RegistryError), match=said):
        experiment("toy-table").complete({name: text})


def test_what_does_not_exist_is_named_with_what_does(toy_checkout):
    with pytest.raises(RegistryError, match=r"no experiment 'toy'; the experiments are toy-table"):
        experiment("toy")
    with pytest.raises(RegistryError, match=r"no execution 'k3'; its executions are toy-k10, toy-k2"):
        experiment("toy-table").arguments("k3")
    with pytest.raises(ConfigurationError, match=r"no profile 'quick'; the profiles are embedded, full"):
        experiment("toy-table").arguments(profile="quick")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("not_a_test", [{"because": "timing"}], "toy-table.not_a_test.0.reason\n  Field required"),
        ("colour", "red", "toy-table.colour\n  Extra inputs are not permitted"),
    ],
)
def test_a_mistake_in_the_list_names_entry_and_field(toy_checkout, field, value, said):
    path = toy_checkout / "experiments.yml"
    entries = yaml.safe_load(path.read_text())
    entries["toy-table"][field] = value
    path.write_text(yaml.safe_dump(entries))
    with pytest.raises(ValueError, match=re.escape(said)):
        catalogue()
