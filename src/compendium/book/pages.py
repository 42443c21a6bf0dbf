"""Notebooks and text chapters executed through papermill, each in a process of its own, with deterministic output.

``python -m compendium.book.pages`` makes what is missing or out of date below ``_build/executed``: experiment notebooks
(``.ipynb``) with the parameters of their executions, and MyST text chapters (``.md`` with a ``kernelspec``). A page is
out of date when one of its declared inputs is another one (:func:`digest`). Pages are forked from this process, in
which the libraries are imported once, and their cells run without a kernel. Two runs give byte-identical files.
"""

import argparse
import gc
import importlib
import json
import logging
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import jupytext
import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from compendium import engine, paths, provenance, records, store, workers
from compendium.catalogue import catalogue
from compendium.execution import COLOUR, normalise, numeric_environment
from evenspan.core.errors import ExecutionError, FairError

#: What many pages show and the build computes once, and the function behind each: pages read the value
#: (:func:`compendium.records.computed_once`); everywhere else it is computed when it is asked for.
ONCE = {
    "ledger": "compendium.ledger.table:ledger",
    "claims": "compendium.ledger.claims:claims",
    "contradictions": "compendium.ledger.contradictions:resolved",
}
#: Seconds of the full run that a build computes of each page; one that is run alone has more (:mod:`compendium.study`).
SECONDS = "1"
#: What is imported before pages are forked. Whatever else a page needs it imports itself.
LIBRARIES = (
    "cvxpy", "matplotlib.pyplot", "matplotlib_inline.backend_inline", "numpy", "pandas", "pooch", "scipy.linalg",
    "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "sklearn.cluster",
    "sklearn.datasets", "sklearn.linear_model", "sklearn.metrics", "sklearn.pipeline", "sklearn.preprocessing",
    "sklearn.svm", "threadpoolctl",
)  # fmt: skip
#: And of this checkout, in a build.
SHARED = ("compendium.book.tables", "compendium.figures", "compendium.own", "evenspan.auditing", "evenspan.methods")
#: Code that only assembles pages.
_ASSEMBLES = {f"src/compendium/book/{name}.py" for name in ("build", "engine", "experiment_page", "pages")}
# Written once per machine by Matplotlib; it says nothing about the notebook.
_HARMLESS = re.compile(r"^Matplotlib is building the font cache.*\n?", re.MULTILINE)


def is_executable(source: Path) -> bool:
    """Whether the build has to execute this source: a notebook, or a text chapter with a ``kernelspec`` at its head."""
    text = source.read_text(encoding="utf-8")
    return source.suffix == ".ipynb" or (text.startswith("---\n") and "\nkernelspec:" in text.partition("\n---\n")[0])


def read(source: Path):
    """Read a notebook or a MyST text chapter as a notebook node without outputs."""
    notebook = nbformat.read(source, 4) if source.suffix == ".ipynb" else jupytext.read(source, fmt="md:myst")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.setdefault("kernelspec", {"name": "python3", "display_name": "Python 3", "language": "python"})
    return notebook


def execute(source: Path, target: Path, parameters: Mapping[str, Any]) -> None:
    """Execute a notebook or chapter with ``parameters`` in an interpreter of its own and write the executed notebook.

    A cell that wrote to standard error is an error, as one that raised."""
    command = [sys.executable, "-m", "compendium.book.pages", str(source), str(target)]
    command += ["--parameters", json.dumps(dict(parameters))]
    ended = subprocess.run(command, env=os.environ | environment(), capture_output=True, text=True)
    if ended.returncode:
        raise ExecutionError(ended.stderr.strip() or f"{source}: its process ended with code {ended.returncode}.")


def environment() -> dict[str, str]:
    """The environment of a process that executes pages: numbers as on every machine, nothing outside of ``_build``."""
    places = {"MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(paths.build("cache", "matplotlib")))}
    return numeric_environment() | places


def page(source: Path, target: Path, parameters: Mapping[str, Any]) -> None:
    """Execute ``source`` in this process, which serves for nothing else afterwards; see :func:`execute`."""
    logging.getLogger("papermill").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as room:
        os.environ["IPYTHONDIR"] = room
        prepared = Path(room) / "in.ipynb"
        nbformat.write(read(source), prepared)
        try:
            result = papermill.execute_notebook(
                str(prepared),
                None,
                dict(parameters),
                engine_name=engine.InThisProcess.name,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                cwd=str(paths.root()),
            )
        except PapermillExecutionError as error:
            raise _failed(source, error.source, f"{error.ename}: {error.evalue}") from None
    normalise(result)
    for cell in result.cells:
        noise = "".join(_HARMLESS.sub("", o["text"]) for o in cell.get("outputs", []) if o.get("name") == "stderr")
        if noise.strip():
            raise _failed(source, cell.source, f"it wrote to standard error: {noise}")
        if "outputs" in cell:
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    records.write(target, f"{nbformat.writes(result)}\n".encode())


def _failed(source: Path, cell: str, what: str) -> ExecutionError:
    first = next((line.strip() for line in cell.splitlines() if line.strip()), "")
    what = shorten(COLOUR.sub("", what), 600, placeholder=" ...")
    return ExecutionError(f"{source}: the cell that begins with\n  {first}\nfailed: {what}")


class Page(NamedTuple):
    """A page to be made, or a value that many pages show, which has no source."""

    name: str
    source: Path | None
    target: Path
    parameters: Mapping[str, Any]


def values() -> list[Page]:
    """What is computed once for all pages."""
    return [Page(name, None, paths.build("once", f"{name}.json"), {}) for name in ONCE]


def write_value(name: str, target: Path) -> None:
    """Compute one of them anew and write it: tables as their columns and rows."""
    os.environ.pop(records.ONCE, None)
    module, _, function = ONCE[name].partition(":")
    value = getattr(importlib.import_module(module), function)()
    table = {"columns": list(value), "data": value.to_numpy(dtype=object).tolist()}
    records.write(target, json.dumps(table, ensure_ascii=False).encode())


def chapters() -> list[str]:
    """Text chapters that the build executes, as page names relative to ``book/``."""
    book = paths.root() / "book"
    return [p.relative_to(book).with_suffix("").as_posix() for p in sorted(book.rglob("*.md")) if is_executable(p)]


def pages() -> Iterator[Page]:
    """Every execution of every experiment, and every chapter."""
    for entry in catalogue().values():
        for execution in entry.executions:
            target = paths.build("executed", "experiments", entry.id, f"{execution}.ipynb")
            name = f"experiments/{entry.id}/{execution}"
            yield Page(name, paths.root() / entry.notebook, target, entry.arguments(execution))
    for name in chapters():
        target = paths.build("executed", "chapters", f"{name}.ipynb")
        yield Page(name, paths.root() / "book" / f"{name}.md", target, {})


def digest(one: Page) -> str:
    """A digest of the declared inputs of a page: source, parameters, library, shared modules and data, and of the
    experiments that its source or room names rooms and results; and of what is computed once for all pages."""
    inputs = _files()
    if one.source is not None:
        text = one.source.read_text(encoding="utf-8")
        rooms = {entry.room for entry in catalogue().values()}
        rooms = {room for room in rooms if room in text or room in one.source.parts}
        files = [path for room in rooms for path in (paths.root() / "src/compendium/papers" / room).glob("*.py")]
        text += "".join(path.read_text(encoding="utf-8") for path in files)
        inputs = {name: found for name, found in inputs.items() if _owner(name) in text}
        inputs |= {page.name: _digest(page.target) for page in values()}
        inputs["files that differ from the commit"] = " ".join(provenance.changed_files())
    whole = [one.source and _digest(one.source), one.parameters, platform.python_version(), sorted(inputs.items())]
    return records.digest(json.dumps(whole, sort_keys=True).encode())


@cache
def _files() -> dict[str, str]:
    """All code and data that a page may read, by name, with their digests."""
    root = paths.root()
    found = [root / "requirements.lock", root / "experiments.yml"]
    found += [*root.glob("src/**/*.py"), *root.glob("src/**/*.yml")]
    found += [path for path in paths.data().rglob("*") if path.is_file()]
    names = {path.relative_to(root).as_posix(): path for path in found}
    return {name: _digest(path) for name, path in sorted(names.items()) if name not in _ASSEMBLES}


def _owner(name: str) -> str:
    """The room or experiment to which a file belongs, empty for a shared one."""
    found = re.match(r"(?:src/compendium/papers|data/results/full)/([^/]+)/", name)
    return found[1] if found else ""


@cache
def _digest(path: Path) -> str:
    return records.digest(path.read_bytes()) if path.is_file() else ""


def make(wanted: list[Page], jobs: int, read: Iterable[str] = ()) -> bool:
    """Make those that are missing or out of date, ``jobs`` at once; whether all are there.

    Where these are many, the stored results of the experiments in ``read`` are read before, once for all."""
    stale = {}
    for one in wanted:
        noted = one.target.with_suffix(".inputs")
        now = digest(one)
        if not one.target.is_file() or not noted.is_file() or noted.read_text() != now:
            noted.unlink(missing_ok=True)
            stale[one.name] = one, now
    if len(stale) > jobs:
        for name in read:
            store.read_results(name)
        gc.freeze()

    def work(name: str) -> float:
        one, start = stale[name][0], time.perf_counter()
        if one.source is None:
            write_value(one.name, one.target)
        else:
            page(one.source, one.target, one.parameters)
        return time.perf_counter() - start

    well = True
    for name, answer in workers.each(work, list(stale), jobs):
        if isinstance(answer, workers.Failed):
            well = False
            print(f"{name} was not made: {answer.reason}", file=sys.stderr, flush=True)
        else:
            one, now = stale[name]
            records.write(one.target.with_suffix(".inputs"), now.encode())
            print(f"{answer:6.1f} s  {name}", flush=True)
    return well


def main() -> int:
    """Entry point of ``python -m compendium.book.pages [SOURCE TARGET --parameters JSON | --jobs N]``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.pages", description=main.__doc__)
    parser.add_argument("source", nargs="?", type=Path, help="one notebook or text chapter")
    parser.add_argument("target", nargs="?", type=Path)
    parser.add_argument("--parameters", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    try:
        if given.source:
            page(given.source, given.target, given.parameters)
            return 0
        workers.end_at_interrupt()
        for name in (*LIBRARIES, *SHARED):
            importlib.import_module(name)
        with workers.exclusive_lock("make book"):
            os.environ[records.ONCE] = str(paths.build("once"))
            os.environ.setdefault(records.BUDGET, SECONDS)
            well = make(values(), given.jobs, catalogue())
            _digest.cache_clear()
            return 0 if well and make(list(pages()), given.jobs, catalogue()) else 1
    except (FairError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    wanted = environment()
    if any(os.environ.get(name) != value for name, value in wanted.items()):  # it must be there before numpy is
        os.execve(sys.executable, [sys.executable, "-m", "compendium.book.pages", *sys.argv[1:]], os.environ | wanted)
    sys.exit(main())
