"""What every executed page shares: its environment, its parameters, and output that is the same on every run."""

import ast
import contextlib
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenspan.core.errors import ConfigurationError, RegistryError

#: What a terminal shows as colour, in messages of a kernel.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"(?<=at )0x[0-9a-f]{6,}")


def numeric_environment() -> dict[str, str]:
    """Environment in which two machines, with any number of cores, differ by no more than their processors' last bits.

    One thread, because the order of sums depends on their number; on x86-64 one fixed family of OpenBLAS routines,
    because OpenBLAS otherwise picks them by processor. The Haswell routines need AVX2 and are asked for only with it.
    """
    wanted = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
        "1",
    )
    wanted["PYTHONHASHSEED"] = "0"
    cpu = Path("/proc/cpuinfo")
    if platform.machine().lower() in {"x86_64", "amd64"} and cpu.is_file() and " avx2 " in cpu.read_text():
        wanted["OPENBLAS_CORETYPE"] = "Haswell"
    return wanted


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
        if "outputs" in cell:
            cell["outputs"] = _joined(cell["outputs"])
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = _ADDRESS.sub("0x…", output["text"])
            if "text/plain" in output.get("data", {}):
                output["data"]["text/plain"] = _ADDRESS.sub("0x…", output["data"]["text/plain"])


def _joined(outputs: list) -> list:
    """What was written to one stream with nothing between is one output, however often the kernel flushed it."""
    found = []
    for output in outputs:
        last = found[-1] if found else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            found.append(output)
    return found


@contextlib.contextmanager
def clean_room() -> Iterator[Path]:
    """A folder for everything that Jupyter writes, and the environment of a kernel; both are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        changes = numeric_environment() | {
            "IPYTHONDIR": str(room / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(room / "runtime"),
            "JUPYTER_CONFIG_DIR": str(room / "config"),
            "JUPYTER_DATA_DIR": str(room / "data"),
            "JUPYTER_PATH": "",
            "JUPYTER_PREFER_ENV_PATH": "1",  # the interpreter's own kernel, not one that the user once installed
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
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
