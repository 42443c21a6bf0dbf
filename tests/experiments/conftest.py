"""One complete run of the toy experiment (``toy_checkout`` of the conftest above), made once and copied."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from sklearn.base import clone

from compendium import store
from compendium.catalogue import experiment
from compendium.engine import execute_cells, inspect_study
from compendium.papers.kleindessner2023 import protocol
from compendium.papers.lee2023 import images
from compendium.study import Study
from evenspan import RLACE, MMDFairPCA


@pytest.fixture(scope="session")
def cells_of():
    """What a notebook defines up to its results, in the embedded profile, by experiment and setting; each run once.

    What a build computes again of a page of the book is compared there; without ``again`` it is left to the build.
    """
    known = {}

    def cells_of(experiment_id: str, *, again: bool = True, **setting) -> dict:
        key = experiment_id, again, tuple(sorted(setting.items()))
        if key not in known:
            entry = experiment(experiment_id)
            with pytest.MonkeyPatch.context() as patch:
                if not again:
                    patch.setattr(Study, "_computed", lambda *given: {})
                known[key] = execute_cells(entry, entry.complete(setting))
        return known[key]

    return cells_of


@contextmanager
def put(module, name, value):
    """A block in which a module has another value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, value)
        yield


@pytest.fixture(scope="session")
def few_portraits():
    """A block in which probes are trained on 300 portraits and evaluated on as many; a page has some thousands."""
    made, few = images.stream, {images.PROBED, images.EVALUATED}

    def stream(size, seed, rows, **options):
        return made(size, seed, min(rows, 300) if seed in few else rows, **options)

    return lambda: put(images, "stream", stream)


@pytest.fixture(scope="session")
def short_games():
    """A block in which games and penalty methods end after few steps: who is judged, and on what, shows before."""
    few, fit = {RLACE: {"max_iter": 200}, MMDFairPCA: {"max_iter": 2, "max_inner": 20}}, protocol.fit

    def short(estimator, *given, **options):
        return fit(clone(estimator).set_params(**few.get(type(estimator), {})), *given, **options)

    return lambda: put(protocol, "fit", short)


@pytest.fixture(autouse=True)
def drawn_apart():
    """What a notebook sets for its figures, and the figures, end with the test."""
    with plt.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def results(toy_checkout):
    """Where the toy experiment's results of the full profile are; nothing is there yet."""
    return toy_checkout / "data" / "results" / "full" / "toy-table"


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The files of one complete run; empty until :func:`finished` has made it."""
    return tmp_path_factory.mktemp("template")


@pytest.fixture
def run_toy():
    """A function that runs units of the toy experiment that are not stored yet: what it computed."""

    def run_toy(*names: str, jobs: int = 2) -> list[str]:
        entry, done = experiment("toy-table"), []
        for execution in entry.executions:
            done += inspect_study(entry, entry.execution(execution)).compute(names or None, jobs=jobs)
        return done

    return run_toy


@pytest.fixture
def finished(results, template, run_toy):
    """A complete run: made once, copied for every other test."""
    if not list(template.iterdir()):
        run_toy()
        shutil.copytree(results, template, dirs_exist_ok=True)
    else:
        shutil.copytree(template, results)
    return results


@pytest.fixture
def shift():
    """A function that alters the first number of a unit by a factor, with a record that fits."""

    def shift(record: Path, name: str, factor: float) -> None:
        units = store.units_at(record)
        row = units[name].rows[0]
        row["value"] = repr(float(row["value"]) * factor)
        store.write("toy-table", units, record)

    return shift
