"""For every test: no window, nothing written to the home folder. And a small checkout with one quick experiment.

A test needs no more than Python, the locked packages and this checkout. One that needs more is skipped where that is
missing, and the last lines of the run say how many were and what to do; in CI (the variable ``CI``) it fails.
"""

import hashlib
import importlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from compendium import data as datasets
from compendium import edits, paths, provenance, store
from compendium.catalogue import experiment
from compendium.data import Entry, RawFile
from compendium.data.fetch import place

from . import chromium

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MPLCONFIGDIR", str(Path(__file__).resolve().parents[1] / "_build" / "cache" / "matplotlib"))

# What is drawn is drawn again with the next run, so that a change alone turns a test red; --exhaustive looks elsewhere.
hypothesis.settings.register_profile("default", max_examples=40, deadline=None, derandomize=True)
hypothesis.settings.register_profile("exhaustive", max_examples=1000, deadline=None)

PROTOCOL = """
import os, time
import numpy as np
from compendium.errors import FetchError
from compendium.study import tidy

SEED = 7
METHODS = ("PCA", "Fair PCA", "Fair PCA-S (0.5)")

def judged(k, method):
    if os.environ.get("FAKE_FAIL") == method:
        raise ValueError(f"{method} was told to fail")
    if "FAKE_REFUSE" in os.environ:
        raise FetchError("points.csv: not there.\\n  to do: fetch it")
    if os.environ.get("FAKE_HANG") == f"k{k} {method}":
        time.sleep(600)
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    rng = np.random.default_rng([SEED, k, METHODS.index(method)])
    base = {"PCA": 20.0, "Fair PCA": 15.0, "Fair PCA-S (0.5)": 10.0}[method]
    rows = []
    for split in range(3):
        key = {"dataset": "toy", "method": method, "k": k, "split": split}
        off = rng.normal() / 3 if k == 2 else (split - 1) / 8
        rows += tidy({"%Var": base + off}, protocol="released", **key)
        rows += tidy({"%Var": rng.normal()}, protocol="held-out", **key)
        kept = None if method == "Fair PCA-S (0.5)" else rng.random()
        rows += tidy({"MMD^2": kept}, "no kernel width, said the test", protocol="released", **key)
    return rows
"""

CLAIMS = """
from compendium.claim_rules import Answer
from compendium.store import MissingNumbersError

def one_holds(rows):
    return Answer("holds", "1 < 2, computed")

def one_waits(rows):
    raise MissingNumbersError("nothing is stored")

CLAIMS = {"toy-table": {"K01": one_holds, "K02": one_waits}}
"""

EXPERIMENTS = """
toy-table:
  title: A table to test with
  paper: kleindessner2023
  notebook: notebooks/toy/table.ipynb
  published: toy_k10
  published_datasets: {toy: Toy Income}
  parameters: {dataset: toy, k: 10, scale: 1.5, quick: true}
  choices: {dataset: [toy, other]}
  executions: {toy-k10: {k: 10}, toy-k2: {k: 2}}
"""

PUBLISHED = """paper,table,dataset,method,metric,k,split,value,std,bold,unit,note
kleindessner2023,Toy table,Toy Income,PCA,%Var,10,,20,1.5,,%,
kleindessner2023,Toy table,Toy Income,Fair PCA,%Var,10,,15.2,,,%,
kleindessner2023,Toy table,Toy Income,Fair PCA-S (0.5),%Var,10,,14,0.1,,%,
kleindessner2023,Toy table,Toy Income,INLP,%Var,10,,9,0.1,,%,
kleindessner2023,Toy table,Toy Income,PCA,MMD^2,10,,77.777,0.006,,,
kleindessner2023,Toy table,Toy Income,Fair PCA-S (0.5),MMD^2,10,,0.01,0.0,,,
kleindessner2023,Toy table,Toy Income,INLP,MMD^2,10,,,,,,n/a
"""


#: Parameters, one cell that prints them, and one that runs three units.
CELLS = {
    "parameters": 'dataset = "toy"\nk = 10\nscale = 1.5\nquick = True\nprofile = "embedded"',
    "work": "print(dataset, k, scale, quick, profile)",
    "run": """from compendium.study import Study
from toy_project.protocol import METHODS, SEED, judged
study = Study("toy-table", dataset=dataset, k=k, scale=scale, quick=quick, profile=profile)
results = study.run(judged, over=[{"k": k, "method": method} for method in METHODS], seed=SEED)
study""",
}


def toy_notebook() -> dict:
    """The notebook of these cells."""
    made = [new_code_cell(source, id=f"cell-{tag}", metadata={"tags": [tag]}) for tag, source in CELLS.items()]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=made, metadata={"kernelspec": kernel})


#: A number for each commit: of many cases of one rule others are tried with it, and all of them with --exhaustive.
TURN = int.from_bytes(provenance.commit()[0].encode(), "big")
#: Fixtures of the tests that are skipped where a machine lacks something.
NEEDS = {"absent", "raw"}


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="also the tests that repeat a rule on further cases")
    parser.addoption("--machine", action="store_true", help="only tests that need more than Python and the packages")


def pytest_configure(config):
    hypothesis.settings.load_profile("exhaustive" if config.getoption("exhaustive") else "default")


def pytest_collection_modifyitems(config, items):
    def wanted(item) -> bool:
        if item.get_closest_marker("exhaustive") and not config.getoption("exhaustive"):
            return False
        needs = bool(NEEDS & {*item.fixturenames}) or item.get_closest_marker("machine") is not None
        return needs or not config.getoption("machine")

    left = [item for item in items if not wanted(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if wanted(item)]


def left_out(reasons: Iterable[str]) -> str:
    """How many tests were skipped for what; a reason is ``in a browser (no Chromium: ...)``, or that ``; more``."""
    counts = Counter(reason.removeprefix("Skipped: ").partition(";")[0].rstrip(".") for reason in reasons)
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.stats.get("skipped", ())
    if reports:
        terminalreporter.write_line(f"Skipped: {left_out(report.longrepr[2] for report in reports)}.")


@pytest.fixture
def toy_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A checkout in a temporary folder: the rules and claims of the real one, and one experiment with its own table."""
    files = {
        "experiments.yml": EXPERIMENTS,
        "toy_project/__init__.py": "",
        "toy_project/protocol.py": PROTOCOL,
        "toy_project/claims.py": CLAIMS,
        "notebooks/toy/table.ipynb": json.dumps(toy_notebook()),
        "data/paper/toy_k10.csv": PUBLISHED,
        "data/registry.toml": (paths.root() / "data" / "registry.toml").read_text("utf-8"),
        "requirements.lock": f"numpy=={np.__version__}\n",
    }
    same = ("data/tolerances.yml", "data/paper/claims.csv", "CITATION.cff", "README.md")
    for name, text in (files | {name: (paths.root() / name).read_text("utf-8") for name in same}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setenv("EVENSPAN_ROOT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    paths.root.cache_clear()
    edits.accept_current_cells(experiment("toy-table"))
    monkeypatch.setitem(sys.modules, "compendium.papers.toy.claims", importlib.import_module("toy_project.claims"))
    yield tmp_path
    paths.root.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_project"]:
        del sys.modules[name]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no mirror."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("EVENSPAN_DATA", raising=False)
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def make_entry():
    """A function that makes a registry entry for made-up files."""

    def make(files: dict[str, bytes], url, name: str = "toy", **changes) -> Entry:
        raw = tuple(
            RawFile(file, len(body), hashlib.sha256(body).hexdigest(), url(file)) for file, body in files.items()
        )
        facts = dict.fromkeys(("licence", "origin", "sensitive", "preprocessing", "notes"), "none")
        facts |= {"title": "Toy", "folder": name, "rows": 1, "features": 1, "splits": 0, "matches_paper": False}
        return Entry(name=name, files=raw, **(facts | {"groups": {}, "group_names": {}, "papers": ()} | changes))

    return make


@pytest.fixture
def raw():
    """Skips a test whose raw data are not complete: call it with the names of the data sets."""

    def need(*names: str) -> None:
        for entry in map(datasets.entry, names):
            if datasets.present(entry) < len(entry.files):
                pytest.skip(f"with raw data (see Reproduce in the book); {entry.name} is not in {place(entry.folder)}")

    return need


@pytest.fixture(scope="session")
def absent():
    """Skip where something is missing; in CI that is a failure."""

    def leave(what: str) -> None:
        if os.environ.get("CI"):
            pytest.fail(f"{what}: this may not be skipped in CI.")
        pytest.skip(what)

    return leave


@pytest.fixture(scope="session")
def git(absent) -> None:
    """The program is there."""
    if shutil.which("git") is None:
        absent("with git (no git: apt-get install git)")


@pytest.fixture(scope="session")
def browser(absent):
    """A running browser."""
    if chromium.program() is None:
        absent("in a browser (no Chromium: apt-get install chromium)")
    with chromium.chromium() as instance:
        yield instance


@pytest.fixture
def given_rows():
    """A function that makes what a claim asks for rows of a frame, or of one frame for each experiment."""

    def make(frames):
        def rows(experiment, *every, **where):
            found = frames[experiment] if isinstance(frames, dict) else frames
            return store.complete(found, experiment, *every, **where)

        return rows

    return make
