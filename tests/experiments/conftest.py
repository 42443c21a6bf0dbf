"""One complete run of the toy experiment (``toy_checkout`` of the conftest above), made once and copied."""

import shutil

import pytest

from evenspan.experiments import tasks


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
