"""One complete run of the toy experiment (``toy_checkout`` of the conftest above), made once and copied."""

import json
import shutil
from pathlib import Path

import pytest

from compendium.experiments import records, store, tasks


@pytest.fixture
def results(toy_checkout):
    """Where the toy experiment's results of the full profile are; nothing is there yet."""
    return toy_checkout / "data" / "results" / "full" / "toy-table"


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The files of one complete run; empty until :func:`finished` has made it."""
    return tmp_path_factory.mktemp("template")


@pytest.fixture
def finished(results, template):
    """A complete run: made once, copied for every other test."""
    if not list(template.iterdir()):
        assert tasks.run("toy-table", jobs=2, progress=False).ok
        shutil.copytree(results, template, dirs_exist_ok=True)
    else:
        shutil.copytree(template, results)
    return results


@pytest.fixture
def shift():
    """A function that alters the first number of a unit by a factor, with a record that fits."""

    def shift(record: Path, name: str, factor: float) -> None:
        whole, table = json.loads(record.read_text()), record.with_suffix(".csv")
        rows = store._split(table.read_bytes())
        rows[name][0]["value"] = repr(float(rows[name][0]["value"]) * factor)
        whole["units"][name]["sha256"] = records.rows_digest(rows[name])
        table.write_bytes(records.to_csv(rows))
        record.write_bytes(records.to_json(whole))

    return shift
