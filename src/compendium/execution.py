"""What every executed page shares: its environment, its parameters, and output that is the same on every run."""

import ast
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenspan.core.errors import ConfigurationError, RegistryError

_ADDRESS = re.compile(r"(?<=at )0x[0-9a-f]{6,}")
_NOISE = ("papermill", "execution")


def numeric_environment() -> dict[str, str]:
    """Environment in which machines differ in last bits at most: one thread, on whose number the order of sums depends,
    and on x86-64 with AVX2 the Haswell routines of OpenBLAS, which otherwise picks them by processor.
    """
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    wanted = dict.fromkeys((*threads, "NUMEXPR_NUM_THREADS"), "1") | {"PYTHONHASHSEED": "0"}
    cpu = Path("/proc/cpuinfo")
    if platform.machine().lower() in {"x86_64", "amd64"} and cpu.is_file() and " avx2 " in cpu.read_text():
        wanted["OPENBLAS_CORETYPE"] = "Haswell"
    return wanted


def defaults(notebook) -> dict[str, Any]:
    """Names and default values, which are literals, in the notebook's cell tagged ``parameters``."""
    tagged = [cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    return {line.targets[0].id: ast.literal_eval(line.value) for line in ast.parse("\n".join(tagged)).body}


def check(parameters: Mapping[str, Any], known: Mapping[str, Any], source: Path) -> None:
    """Refuse parameters that the notebook does not have or whose type is not that of the default."""
    for name, value in parameters.items():
        if name not in known:
            raise RegistryError(f"{source.name} has no parameter {name!r}; it has {', '.join(map(repr, known))}.")
        kind, default = type(value), known[name]
        if kind is not type(default) and None not in (value, default) and (kind, type(default)) != (int, float):
            told = f"{name!r} is {value!r} ({kind.__name__}); needed is a value of type {type(default).__name__}."
            raise ConfigurationError(f"{source.name}: {told}")


def normalise(notebook) -> None:
    """Remove from an executed notebook, in place, whatever differs between two equal runs."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}
    kept = {key: value for key, value in notebook.metadata.items() if key.startswith(("mystnb", "html_theme"))}
    notebook.metadata = {"kernelspec": kernel, "language_info": language} | kept
    for number, cell in enumerate(notebook.cells, start=1):
        cell["id"] = f"cell-{number:03d}"
        cell.metadata = {key: value for key, value in cell.metadata.items() if value and key not in _NOISE}
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
            cell.metadata["mystnb"] = {"code_prompt_show": "Parameters of this run"}
        for output in cell.get("outputs", []):
            for texts in (output, output.get("data", {})):
                for name in {"text", "text/plain"} & texts.keys():
                    texts[name] = _ADDRESS.sub("0x…", texts[name])
