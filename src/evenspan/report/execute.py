"""Execute one notebook or text chapter through papermill, in a clean room and with deterministic output.

Every cell of the book passes through :func:`execute`: experiment notebooks (``.ipynb``) with their parameters, and
MyST text chapters (``.md`` with a ``kernelspec``), which Jupytext converts first. Two runs with the same inputs give
byte-identical files.
"""

import argparse
import ast
import contextlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenspan import paths
from evenspan.errors import ConfigurationError, ExecutionError, FairError, RegistryError
from evenspan.experiments.records import numeric_environment

_ADDRESS = re.compile(r"(?<=at )0x[0-9a-f]{6,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
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


def defaults(notebook) -> dict[str, Any]:
    """Names and default values in the notebook's cell tagged ``parameters``."""
    tagged = [c for c in notebook.cells if c.cell_type == "code" and "parameters" in c.metadata.get("tags", [])]
    if len(tagged) > 1:
        raise ConfigurationError(f"{len(tagged)} cells are tagged 'parameters'; papermill uses one. Merge them.")
    found: dict[str, Any] = {}
    for statement in ast.parse(tagged[0].source).body if tagged else []:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                try:
                    found[name] = ast.literal_eval(value)
                except ValueError as error:
                    raise ConfigurationError(
                        f"The parameter {name!r} has a default that is not a plain value: {ast.unparse(value)}. "
                        "Write a number, a string, True, False, None or a list of these."
                    ) from error
    return found


def check(parameters: Mapping[str, Any], known: Mapping[str, Any], source: Path) -> None:
    """Refuse parameters that the notebook does not have or whose type is not that of the default."""
    for name, value in parameters.items():
        if name not in known:
            names = ", ".join(map(repr, known)) or "none: it has no cell tagged 'parameters'"
            raise RegistryError(f"{source.name} has no parameter {name!r}. Its parameters are {names}.")
        default = known[name]
        if default is None or value is None or type(value) is type(default):
            continue
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            continue
        if isinstance(default, list | tuple) and isinstance(value, list | tuple):
            continue
        raise ConfigurationError(
            f"{source.name}: the parameter {name!r} is {value!r} ({type(value).__name__}), but its default {default!r} "
            f"is of type {type(default).__name__}. Give a value of that type."
        )


def normalise(notebook) -> None:
    """Remove from an executed notebook, in place, whatever differs between two equal runs."""
    spec = notebook.metadata.get("kernelspec", {})
    kept = {key: notebook.metadata[key] for key in ("mystnb", "html_theme.sidebar_secondary.remove") if
            key in notebook.metadata}  # fmt: skip
    notebook.metadata.clear()
    notebook.metadata.update(
        kernelspec={"name": spec.get("name", "python3"), "display_name": "Python 3", "language": "python"},
        language_info={"name": "python", "file_extension": ".py", "mimetype": "text/x-python",
                       "pygments_lexer": "ipython3"},
        **kept,
    )  # fmt: skip
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, start=1):
        cell["id"] = f"cell-{number:03d}"
        for noise in ("papermill", "execution", "collapsed", "scrolled"):
            cell.metadata.pop(noise, None)
        tags = list(cell.metadata.get("tags", []))
        if "injected-parameters" in tags and "hide-input" not in tags:
            tags.append("hide-input")
            cell.metadata["mystnb"] = {"code_prompt_show": "Parameters of this run"}
        if tags:
            cell.metadata["tags"] = tags
        else:
            cell.metadata.pop("tags", None)
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = _ADDRESS.sub("0x…", output["text"])
            if "text/plain" in output.get("data", {}):
                output["data"]["text/plain"] = _ADDRESS.sub("0x…", output["data"]["text/plain"])


@contextlib.contextmanager
def clean_room(more: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A folder for everything that Jupyter writes, and the kernel environment; both are gone afterwards.

    ``more`` are variables of the kernel's environment beside those that every kernel gets.
    """
    # Sockets have a path limit of about 100 characters, so the folder is made in the system's short temporary place.
    room = Path(tempfile.mkdtemp(prefix="evenspan-"))
    changes = {
        **numeric_environment(),
        "IPYTHONDIR": str(room / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(room / "runtime"),
        "JUPYTER_CONFIG_DIR": str(room / "config"),
        "JUPYTER_DATA_DIR": str(room / "data"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # the interpreter's own kernel, not one that the user once installed
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **(more or {}),
    }
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield room
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(room, ignore_errors=True)


def _failed_path(target: Path) -> Path:
    with contextlib.suppress(ValueError):
        return paths.build("failed", *target.resolve().relative_to(paths.build("executed")).parts).with_suffix(".ipynb")
    return paths.build("failed", target.name).with_suffix(".ipynb")


def execute(source: Path, target: Path, parameters: Mapping[str, Any], cwd: Path | None = None) -> None:
    """Execute ``source`` with ``parameters`` and write the executed notebook to ``target``.

    Parameters
    ----------
    source : Path
        An ``.ipynb`` notebook, or a MyST text chapter (``.md``).
    target : Path
        The executed ``.ipynb``; written only when every cell succeeded.
    parameters : mapping
        Values for names in the cell tagged ``parameters``. An unknown name or another type is an error.
    cwd : Path, optional
        Working directory of the kernel; the checkout by default.

    Raises
    ------
    ExecutionError
        A cell raised, or wrote to standard error (in the book a warning is an error). The notebook up to that cell is
        kept under ``_build/failed/``.
    """
    import nbformat
    from papermill.exceptions import PapermillExecutionError

    source, target = Path(source), Path(target)
    notebook = read(source)
    check(parameters, defaults(notebook), source)
    failed = _failed_path(target)
    failed.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    own = {"MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(paths.build("cache", "matplotlib")))}
    with clean_room(own) as room:
        prepared, executed = room / "in.ipynb", room / "out.ipynb"
        nbformat.write(notebook, prepared)
        try:
            result = run_kernel(prepared, executed, dict(parameters), cwd or paths.root(), room)
        except PapermillExecutionError as error:
            _keep(executed, failed)
            what = f"{error.ename}: {_COLOUR.sub('', error.evalue)}"
            raise ExecutionError(_report(source, failed, error.source, what)) from None
        normalise(result)
        for cell in result.cells:
            noise = "".join(_HARMLESS.sub("", o["text"]) for o in cell.get("outputs", []) if o.get("name") == "stderr")
            if noise.strip():
                _keep(executed, failed)
                last = f"it wrote to standard error: {_COLOUR.sub('', noise).strip()}"
                raise ExecutionError(_report(source, failed, cell.source, last))
            if "outputs" in cell:
                cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        text = nbformat.writes(result)
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(target)


def run_kernel(prepared: Path, executed: Path, parameters: dict[str, Any], cwd: Path, room: Path):
    """Execute a notebook through papermill, with its kernel's connection files and sockets in the room."""
    import papermill
    from traitlets.config import Config

    # Sockets in a private folder: no port is opened, and two kernels can never meet on a shared default path.
    config = Config({"ConnectionFileMixin": {"transport": "ipc", "ip": str(room / "kernel")}})
    logging.getLogger("papermill").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        # zmq and jupyter_client announce their own future changes; nothing a reader could act on.
        warnings.simplefilter("ignore", DeprecationWarning)
        return papermill.execute_notebook(
            str(prepared),
            str(executed),
            parameters,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=str(cwd),
            config=config,
            extra_arguments=["--log-level=CRITICAL"],  # the kernel reports its own orderly shutdown as an error
            start_timeout=180,
        )


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
    """Entry point of ``python -m evenspan.report.execute SOURCE TARGET [--parameters JSON]``."""
    parser = argparse.ArgumentParser(prog="python -m evenspan.report.execute", description=main.__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--parameters", type=json.loads, default={}, metavar="JSON")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        execute(given.source, given.target, given.parameters)
    except FairError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    name = _failed_path(given.target).relative_to(paths.build("failed")).with_suffix("")
    print(f"{time.perf_counter() - start:6.1f} s  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
