"""Notebooks without a kernel: cells run in this process, and leave the output that a kernel would have sent.

A page then costs its own work and no start of a kernel. The engine of papermill is used once in a process
(:mod:`compendium.book.pages` forks one for each page). :func:`inspect_study` runs a notebook up to the cell that runs
its units and computes none of them: what the full run, ``verify`` and ``reproduce`` compute.
"""

import atexit
import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping

from ipykernel.jsonutil import encode_images, json_clean
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import activate_matplotlib
from matplotlib import pyplot
from matplotlib_inline.backend_inline import configure_inline_support
from nbformat.v4 import new_output
from papermill.engines import Engine, papermill_engines
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from traitlets import Type
from traitlets.config import Config

from evenspan.core.errors import ConfigurationError

from . import paths
from .catalogue import PLAN, Experiment

#: The backend of matplotlib that shows a figure at the end of its cell.
INLINE = "module://matplotlib_inline.backend_inline"


class _Shown(DisplayPublisher):
    """What a cell displays."""

    def publish(self, data, metadata=None, **_):
        self.shell.keep("display_data", data, metadata)

    def clear_output(self, wait=False):
        self.shell.outputs.clear()


class _Result(DisplayHook):
    """The value of a cell's last line."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.shell.keep("execute_result", format_dict, md_dict, execution_count=self.prompt_count)

    def finish_displayhook(self):
        pass


class _Stream(io.StringIO):
    """Standard output or error of a cell."""

    encoding = "utf-8"

    def __init__(self, name: str, outputs: list) -> None:
        super().__init__()
        self._name, self._outputs = name, outputs

    def write(self, text: str) -> int:
        if self._outputs and self._outputs[-1].get("name") == self._name:
            self._outputs[-1]["text"] += text
        elif text:
            self._outputs.append(new_output("stream", name=self._name, text=text))
        return len(text)


class Shell(InteractiveShell):
    """Runs cells one after the other and keeps what each put out, in its order."""

    display_pub_class, displayhook_class = Type(_Shown), Type(_Result)

    def __init__(self, **given) -> None:
        self.outputs: list = []
        super().__init__(config=Config({"HistoryManager": {"enabled": False}}), **given)

    def keep(self, kind: str, data: dict, metadata: dict | None, **more) -> None:
        """Keep an output as a kernel would send it."""
        shown = {"data": json_clean(encode_images(data)), "metadata": json_clean(metadata or {})}
        self.outputs.append(new_output(kind, **shown, **more))

    def _showtraceback(self, etype, evalue, stb):
        self.outputs.append(new_output("error", ename=etype.__name__, evalue=str(evalue), traceback=stb))

    def run(self, source: str) -> tuple[list, BaseException | None]:
        """Outputs of a cell, and the exception that ended it, if one did."""
        self.outputs.clear()
        streams = _Stream("stdout", self.outputs), _Stream("stderr", self.outputs)
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            done = self.run_cell(source, store_history=True)
        return list(self.outputs), done.error_before_exec or done.error_in_exec


class InThisProcess(Engine):
    """The engine ``"in this process"``: to be used once in a process."""

    name = "in this process"

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **_):
        """Run all cells up to the first that fails."""
        shell = Shell.instance()  # display() and the figures ask for this one
        activate_matplotlib(INLINE)
        configure_inline_support(shell, INLINE)
        # A kernel also draws each figure before it is shown, a tenth of the time of a page: a constrained layout is
        # then computed twice, and its places differ a little.
        shell.events.unregister("post_execute", pyplot._draw_all_if_interactive)
        for index, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type != "code" or not cell.source.strip():
                continue
            nb_man.cell_start(cell, index)
            cell.execution_count = shell.execution_count
            cell.outputs, error = shell.run(cell.source)
            if error:
                nb_man.cell_exception(cell, index)
            nb_man.cell_complete(cell, index)
            if error:
                break


papermill_engines.register(InThisProcess.name, InThisProcess)


@contextlib.contextmanager
def _own_shell() -> Iterator[Shell]:
    """A shell for the cells of one notebook, of which there may be several in a process, one after the other."""
    main = sys.modules["__main__"]
    if before := InteractiveShell.instance() if InteractiveShell.initialized() else None:
        type(before).clear_instance()  # a cell of a page asks for this one
    with tempfile.TemporaryDirectory() as room:  # a home folder may be missing, or not to be written to
        shell = Shell.instance(ipython_dir=room)
        atexit.unregister(shell.atexit_operations)  # it would empty what the cells defined
        try:
            yield shell
        finally:
            shell.restore_sys_module_state()
            Shell.clear_instance()
            for kind in type(before)._walk_mro() if before else ():
                kind._instance = before
            sys.modules["__main__"] = main


def execute_cells(
    entry: Experiment, setting: Mapping[str, object], profile: str = "embedded", *, to_the_end: bool = False
) -> dict[str, object]:
    """What a notebook defines with these parameters up to and with the cell that runs its units, or to its end."""
    notebook = load_notebook_node(str(paths.root() / entry.notebook))
    given = dict(setting) | {"profile": profile}
    notebook = parameterize_notebook(notebook, given, kernel_name="python3", language="python")
    with _own_shell() as shell, contextlib.chdir(paths.root()):
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.source.strip():
                cell.outputs, error = shell.run(cell.source)
                if error:
                    raise error
                if not to_the_end and getattr(shell.user_ns.get("study"), "units", None):
                    break
        shell.user_ns["page"] = notebook
        return shell.user_ns


def inspect_study(entry: Experiment, setting: Mapping[str, object]):
    """The study of a notebook with its units and the function that computes them; nothing is computed."""
    study = execute_cells(entry, setting, PLAN).get("study")
    if getattr(study, "unit", None) is None:
        raise ConfigurationError(f"{entry.notebook} has no study that runs units; add study.run(...) to it.")
    return study
