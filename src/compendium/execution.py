"""What every executed page shares: its environment, and output that is the same on every run."""

import platform
import re
from pathlib import Path

#: What a terminal shows as colour, in messages of a kernel.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"(?<=at )0x[0-9a-f]{6,}")


def numeric_environment() -> dict[str, str]:
    """Environment in which two machines differ by no more than their processors' last bits.

    The order of sums depends on the threads, and OpenBLAS picks its routines by processor; Haswell's need AVX2."""
    libraries = ("OPENBLAS", "OMP", "MKL", "NUMEXPR")
    wanted = {f"{name}_NUM_THREADS": "1" for name in libraries} | {"VECLIB_MAXIMUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    cpu = Path("/proc/cpuinfo")
    if platform.machine().lower() in {"x86_64", "amd64"} and cpu.is_file() and " avx2 " in cpu.read_text():
        wanted["OPENBLAS_CORETYPE"] = "Haswell"
    return wanted


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
        tags = cell.metadata.pop("tags", [])
        if "injected-parameters" in tags and "hide-input" not in tags:
            tags.append("hide-input")
            cell.metadata["mystnb"] = {"code_prompt_show": "Parameters of this run"}
        if tags:
            cell.metadata["tags"] = tags
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = _ADDRESS.sub("0x…", output["text"])
            if "text/plain" in output.get("data", {}):
                output["data"]["text/plain"] = _ADDRESS.sub("0x…", output["data"]["text/plain"])
