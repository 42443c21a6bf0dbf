"""A papermill engine without a kernel: cells run in this process, and leave the output that a kernel would have sent.

A page then costs its own work and no start of a kernel. Isolation comes from the process: each is used for one notebook
(:mod:`compendium.book.pages` forks one for each page).
"""

import contextlib
import io

from ipykernel.jsonutil import encode_images, json_clean
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import activate_matplotlib
from matplotlib import pyplot
from matplotlib_inline.backend_inline import configure_inline_support
from nbformat.v4 import new_output
from papermill.engines import Engine, papermill_engines
from traitlets import Type
from traitlets.config import Config

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


class _Shell(InteractiveShell):
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

    def run(self, source: str) -> tuple[list, bool]:
        """Outputs of a cell, and whether it ended well."""
        self.outputs.clear()
        streams = _Stream("stdout", self.outputs), _Stream("stderr", self.outputs)
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            done = self.run_cell(source, store_history=True)
        return list(self.outputs), done.success


class InThisProcess(Engine):
    """The engine ``"in this process"``: to be used once in a process."""

    name = "in this process"

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **_):
        """Run all cells up to the first that fails."""
        shell = _Shell.instance()  # display() and the figures ask for this one
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
            cell.outputs, well = shell.run(cell.source)
            if not well:
                nb_man.cell_exception(cell, index)
            nb_man.cell_complete(cell, index)
            if not well:
                break


papermill_engines.register(InThisProcess.name, InThisProcess)
