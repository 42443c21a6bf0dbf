"""The notebook of an audit: executed in a folder of its own, whose name is given only to what is complete."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import resources, util
from pathlib import Path
from typing import Any

from ..core import errors
from ..core.errors import ConfigurationError, ExecutionError, FairError
from .places import NOTEBOOK, placed, target
from .progress import Follower
from .writing import STAGE

#: Packages of the extra ``audit`` without which no report can be made.
NEEDED = ("ipykernel", "jinja2", "matplotlib", "nbformat", "papermill")


def source() -> Path:
    """The notebook as it is installed, without outputs."""
    return Path(str(resources.files(__package__).joinpath(NOTEBOOK)))


def run(
    parameters: Mapping[str, Any],
    folder: Path,
    *,
    overwrite: bool = False,
    shown: Path | None = None,
    table: str | None = None,
    follow: Callable[[list[dict]], None] | None = None,
) -> Path:
    """Execute the notebook with parameters and leave everything it writes in ``folder``.

    The work is done in a hidden folder beside it (``places.placed``): until it is complete, also when the run is
    interrupted or fails, ``folder`` is what it was. Paths among the parameters are relative to ``folder``; messages
    call it ``shown``, and what the parameter "table" names ``table``.

    An earlier audit is only replaced with ``overwrite``; ``follow`` gets the steps of the progress as they come, from
    another thread. What evenspan raises in the notebook is raised here in its own words; after anything else
    (``ExecutionError``) the notebook up to that cell is kept beside ``folder``.
    """
    if missing := [name for name in NEEDED if util.find_spec(name) is None]:
        raise ConfigurationError(
            f"An audit needs {', '.join(missing)}, which is not installed. Run: pip install 'evenspan[audit]'"
        )
    import nbformat

    with placed(folder, replace=overwrite, shown=shown) as stage:
        result = _execute(dict(parameters), stage, target(folder, shown), table, follow)
        nbformat.write(result, stage / NOTEBOOK)
    return folder


def _execute(parameters: dict[str, Any], stage: Path, folder: Path, table: str | None, follow: Callable | None):
    import nbformat
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    from . import execution

    notebook = nbformat.read(source(), as_version=4)
    execution.check(parameters, execution.defaults(notebook), source())
    with execution.clean_room({STAGE: str(stage)}) as room, _followed(room / execution.STEPS, follow):
        prepared, executed = room / "in.ipynb", room / "out.ipynb"
        nbformat.write(notebook, prepared)
        try:
            result = execution.run_kernel(prepared, executed, parameters, stage, room)
        except PapermillExecutionError as error:
            said = execution.COLOUR.sub("", error.evalue)
            if table is not None:  # which the notebook sees from its folder, as ../ or from the root
                said = said.replace(parameters["table"], table)
            if own := _own_error(error.ename):
                raise own(said) from None
            raise ExecutionError(
                f"The notebook failed with {error.ename}: {said}\n"
                f"The notebook up to there: {_kept(executed.read_bytes(), folder)}"
            ) from None
        except DeadKernelError:
            raise ExecutionError(
                "The process that computes the audit ended without a word, most often because the memory of this "
                "machine was used up. Leave columns out (--exclude), or audit fewer methods."
            ) from None
    execution.normalise(result)
    return result


def _kept(content: bytes, folder: Path) -> Path:
    """A notebook that failed, beside the folder, under the first name that is free."""
    for number in itertools.count(1):
        path = folder.with_name(f"{folder.name[:50]}.failed{f'-{number}' if number > 1 else ''}.ipynb")
        with contextlib.suppress(FileExistsError), path.open("xb") as file:
            file.write(content)
            return path


def _own_error(name: str) -> type[FairError] | None:
    """The class of that name in evenspan's family of errors."""
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, FairError) else None


@contextlib.contextmanager
def _followed(steps: Path, follow: Callable | None) -> Iterator[None]:
    """Inside, the steps of a progress file are passed on from a thread of its own."""
    follower, over = Follower(steps), threading.Event()

    def pass_on() -> None:
        if follow and (news := follower.news()):
            follow(news)

    def look() -> None:
        while not over.wait(0.2):
            pass_on()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        pass_on()
