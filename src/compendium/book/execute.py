"""Execute one notebook or text chapter through papermill, in a clean room and with deterministic output.

Every cell of the book passes through :func:`execute`: experiment notebooks (``.ipynb``) with their parameters, and
MyST text chapters (``.md`` with a ``kernelspec``), which Jupytext converts first. Two runs with the same inputs give
byte-identical files.
"""

import argparse
import contextlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compendium import paths, processes, records
from evenspan.auditing.execution import COLOUR, check, clean_room, defaults, normalise, numeric_environment
from evenspan.core.errors import ConfigurationError, ExecutionError, FairError

from . import made_of, once

#: Seconds of the full run that a build computes of each page (:data:`compendium.protocol.BUDGET`).
SECONDS = "4"
# Written once per machine by Matplotlib; it says nothing about the notebook.
_HARMLESS = re.compile(r"^Matplotlib is building the font cache.*\n?", re.MULTILINE)


def is_executable(source: Path) -> bool:
    """Whether the build has to execute this source: a notebook, or a text chapter with a ``kernelspec``."""
    return source.suffix == ".ipynb" or (source.suffix == ".md" and "kernelspec" in front_matter(source))


def front_matter(source: Path) -> dict[str, Any]:
    """The YAML block at the head of a MyST text file; empty if there is none."""
    import yaml

    text = source.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        return {}
    head, mark, _ = text[4:].partition("\n---")
    if not mark:
        raise ConfigurationError(f"{source}: the front matter opens with '---' and is never closed. Add a line '---'.")
    return yaml.safe_load(head) or {}


def read(source: Path):
    """Read a notebook or a MyST text chapter as a notebook node without outputs."""
    import jupytext
    import nbformat

    if not source.is_file():
        raise ExecutionError(f"{source} does not exist. Give the path of an .ipynb notebook or an .md text chapter.")
    if source.suffix == ".ipynb":
        notebook = nbformat.read(source, as_version=4)
    elif source.suffix == ".md":
        notebook = jupytext.read(source, fmt="md:myst")
    else:
        raise ExecutionError(f"{source} is neither an .ipynb notebook nor an .md text chapter.")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.setdefault("kernelspec", {"name": "python3", "display_name": "Python 3", "language": "python"})
    return notebook


def _failed_path(target: Path) -> Path:
    with contextlib.suppress(ValueError):
        return paths.build("failed", *target.resolve().relative_to(paths.build("executed")).parts).with_suffix(".ipynb")
    return paths.build("failed", target.name).with_suffix(".ipynb")


def execute(source: Path, target: Path, parameters: Mapping[str, Any]) -> None:
    """Execute ``source`` with ``parameters`` in an interpreter of its own and write the executed notebook.

    Parameters
    ----------
    source : Path
        An ``.ipynb`` notebook, or a MyST text chapter (``.md``).
    target : Path
        The executed ``.ipynb``; written only when every cell succeeded.
    parameters : mapping
        Values for names in the cell tagged ``parameters``. An unknown name or another type is an error.

    Raises
    ------
    ExecutionError
        A cell raised, or wrote to standard error (in the book a warning is an error), or the limits of a page were
        reached. The notebook up to that cell is kept under ``_build/failed/``.
    """
    check(parameters, defaults(read(Path(source))), Path(source))
    asked = [str(source), str(target), "--parameters", json.dumps(dict(parameters))]
    ended = processes.run(
        [sys.executable, "-m", "compendium.book.execute", *asked],
        os.environ | environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if ended.returncode:
        raise ExecutionError(ended.stderr.strip() or f"{source}: its process ended with code {ended.returncode}.")


def environment() -> dict[str, str]:
    """The environment of a process that executes pages: numbers as on every machine, nothing outside of ``_build``."""
    return numeric_environment() | {
        records.BUDGET: os.environ.get(records.BUDGET, SECONDS),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(paths.build("cache", "matplotlib"))),
    }


def page(source: Path, target: Path, parameters: Mapping[str, Any]) -> float:
    """Execute ``source`` in this process, which serves for nothing else afterwards; see :func:`execute`.

    Returns the seconds that its cells took.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError

    from . import engine, warm

    notebook = read(source)
    check(parameters, defaults(notebook), source)
    failed = _failed_path(target)
    failed.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    with clean_room() as room, engine.redirected(room / "said"):
        prepared, executed = room / "in.ipynb", room / "out.ipynb"
        nbformat.write(notebook, prepared)
        try:
            with engine.limits(warm.SECONDS, warm.MEMORY):
                result = papermill.execute_notebook(
                    str(prepared),
                    str(executed),
                    dict(parameters),
                    engine_name=engine.InThisProcess.name,
                    kernel_name="python3",
                    language="python",
                    progress_bar=False,
                    request_save_on_cell_execute=False,
                    cwd=str(paths.root()),
                )
        except PapermillExecutionError as error:
            _keep(executed, failed)
            what = f"{error.ename}: {COLOUR.sub('', error.evalue)}"
            raise ExecutionError(_report(source, failed, error.source, what)) from None
        seconds = sum(cell.metadata.papermill.duration or 0.0 for cell in result.cells)
        normalise(result)
        for cell in result.cells:
            noise = "".join(_HARMLESS.sub("", o["text"]) for o in cell.get("outputs", []) if o.get("name") == "stderr")
            if noise.strip():
                _keep(executed, failed)
                last = f"it wrote to standard error: {COLOUR.sub('', noise).strip()}"
                raise ExecutionError(_report(source, failed, cell.source, last))
            if "outputs" in cell:
                cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        if said := (room / "said").read_text(encoding="utf-8", errors="replace").strip():
            _keep(executed, failed)
            raise ExecutionError(f"{source}: compiled code or another program wrote: {said}\nThe notebook: {failed}")
        text = nbformat.writes(result)
    records.write(target, f"{text}\n".encode())
    return seconds


def _keep(executed: Path, failed: Path) -> None:
    failed.parent.mkdir(parents=True, exist_ok=True)
    if executed.is_file():
        shutil.copyfile(executed, failed)


def _report(source: Path, failed: Path, cell: str, what: str) -> str:
    first = next((line.strip() for line in cell.splitlines() if line.strip()), "")
    lines = what.strip().splitlines()
    what = "\n".join(lines if len(lines) <= 8 else [*lines[:4], "...", *lines[-3:]])
    return f"{source}: the cell that begins with\n  {first}\nfailed: {what}\nThe notebook up to there: {failed}"


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m compendium.book.execute SOURCE TARGET [--parameters JSON] [--key KEY]``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.execute", description=main.__doc__)
    parser.add_argument("source", help="a notebook, a text chapter, or the name of what is computed once")
    parser.add_argument("target", type=Path)
    parser.add_argument("--parameters", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--key", help="note with it what the target is made of")
    given = parser.parse_args(arguments)
    start, watch = time.perf_counter(), made_of.Watch()
    try:
        if given.source in once.COMPUTED:
            once.write(given.source, given.target)
            seconds = time.perf_counter() - start
        else:
            seconds = page(Path(given.source), given.target, given.parameters)
        if given.key:
            watch.note(given.target, given.key, seconds)
    except (FairError, OSError) as error:
        failed = f"{given.target} was not made: {error}" if isinstance(error, OSError) else error
        print(failed, file=sys.stderr, flush=True)
        return 1
    name = (
        given.source
        if given.source in once.COMPUTED
        else _failed_path(given.target).relative_to(paths.build("failed")).with_suffix("")
    )
    print(f"{time.perf_counter() - start:6.1f} s  {name}", flush=True)
    return 0


if __name__ == "__main__":
    processes.attend()
    sys.exit(main())
