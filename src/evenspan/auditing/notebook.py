"""The notebook of an audit, executed once by papermill in a kernel of the interpreter that runs the command."""

import json
import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from importlib import resources, util
from pathlib import Path
from typing import Any
from unittest import mock

from ..core import errors
from ..core.errors import ConfigurationError, ExecutionError
from .output_folder import NOTEBOOK, atomic_output

#: Packages of the extra ``audit`` without which no report can be made.
NEEDED = ("fairlearn", "ipykernel", "jinja2", "matplotlib", "nbformat", "papermill")
#: The kernel: this interpreter, under a name that no other one has.
KERNEL = "evenspan"
ARGV = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]


def run(parameters: Mapping[str, Any], folder: Path, *, overwrite=False, table: str = "", beside: Path | None = None):
    """Execute the notebook with parameters and leave everything it writes in ``folder``, or nothing.

    What it raises is raised here. The table, relative to ``folder``, is called ``table``; ``beside`` is copied there.
    """
    if missing := [name for name in NEEDED if util.find_spec(name) is None]:
        how = "which is not installed. Run: pip install 'evenspan[audit]'"
        raise ConfigurationError(f"An audit needs {', '.join(missing)}, {how}")
    sys.modules.setdefault("rfc3987_syntax", None)  # a grammar of addresses, which takes a second, for nothing here
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would tell that an interrupted kernel is gone
    with atomic_output(folder, overwrite=overwrite) as stage, tempfile.TemporaryDirectory() as room:
        if beside:
            shutil.copy(beside, stage)
        spec = Path(room) / "kernels" / KERNEL / "kernel.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"argv": ARGV, "display_name": "Python 3", "language": "python"}))
        places = dict.fromkeys(("JUPYTER_PATH", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"), room)
        places |= {"OMP_NUM_THREADS": "1"}  # attackers have threads of their own
        with mock.patch.dict(os.environ, places, PYDEVD_DISABLE_FILE_VALIDATION="1"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of zmq and jupyter_client, about themselves
            try:
                notebook = papermill.execute_notebook(
                    str(resources.files(__package__).joinpath(NOTEBOOK)), None, dict(parameters), kernel_name=KERNEL,
                    language="python", progress_bar=False, cwd=str(stage), stderr_file=sys.stderr,
                )  # fmt: skip
            except PapermillExecutionError as error:
                own = vars(errors).get(error.ename)
                told = error.evalue.replace(parameters["table"], table) if own else f"The notebook failed: {error}"
                raise (own or ExecutionError)(told) from None
            except DeadKernelError as error:
                why = "the audit's process ended, most often for want of memory. Leave columns out (--exclude)."
                raise ExecutionError(f"{error}: {why}") from None
        # Paths and times of this run, and the lines of progress, are left out; any Jupyter can open it again.
        notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        for cell in notebook.cells:
            cell.metadata = {"tags": cell.metadata.get("tags", [])}
            if cell.cell_type == "code":
                cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        nbformat.write(notebook, stage / NOTEBOOK)
