"""The notebook of an audit: executed in a folder of its own, whose name is given only to what is complete."""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import resources, util
from pathlib import Path
from typing import Any

from ..core import errors
from ..core.errors import ConfigurationError, ExecutionError, FairError
from .progress import VARIABLE, Follower
from .writing import NOTEBOOK, require_free

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
    follow: Callable[[list[dict]], None] | None = None,
) -> Path:
    """Execute the notebook with parameters and leave everything it writes in ``folder``.

    The work is done in a hidden folder beside it and renamed at the end: until then, also when the run is interrupted
    or fails, ``folder`` is what it was. Paths among the parameters are relative to ``folder``.

    An earlier audit is only replaced with ``overwrite``; ``follow`` gets the steps of the progress as they come, from
    another thread. What evenspan raises in the notebook is raised here in its own words; after anything else
    (``ExecutionError``) the notebook up to that cell is kept beside ``folder``.
    """
    if missing := [name for name in NEEDED if util.find_spec(name) is None]:
        raise ConfigurationError(
            f"An audit needs {', '.join(missing)}, which is not installed. Run: pip install 'evenspan[audit]'"
        )
    require_free(folder)
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise ConfigurationError(
            f"{folder} holds an earlier audit. Name another folder with -o, or add --overwrite to replace it."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    failed = folder.with_name(f"{folder.name}.failed.ipynb")
    failed.unlink(missing_ok=True)
    # Beside the folder, not in the system's temporary place: relative paths mean the same, and a rename is enough.
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        partial.chmod(0o755)  # mkdtemp makes it private
        _execute(dict(parameters), partial, failed, follow)
        _give_name(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _execute(parameters: dict[str, Any], folder: Path, failed: Path, follow: Callable | None) -> None:
    import nbformat
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    from . import execution

    notebook = nbformat.read(source(), as_version=4)
    execution.check(parameters, execution.defaults(notebook), source())
    with tempfile.TemporaryDirectory(prefix="evenspan-") as notes:
        steps = Path(notes) / "steps.jsonl"
        with execution.clean_room({VARIABLE: str(steps)}) as room, _followed(steps, follow):
            prepared, executed = room / "in.ipynb", room / "out.ipynb"
            nbformat.write(notebook, prepared)
            try:
                result = execution.run_kernel(prepared, executed, parameters, folder, room)
            except PapermillExecutionError as error:
                said = execution.COLOUR.sub("", error.evalue)
                if own := _own_error(error.ename):
                    raise own(said) from None
                shutil.copyfile(executed, failed)
                raise ExecutionError(
                    f"The notebook failed with {error.ename}: {said}\nThe notebook up to there: {failed}"
                ) from None
            except DeadKernelError:
                raise ExecutionError(
                    "The process that computes the audit ended without a word, most often because the memory of this "
                    "machine was used up. Leave columns out (--exclude), or audit fewer methods."
                ) from None
    execution.normalise(result)
    nbformat.write(result, folder / NOTEBOOK)


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


def _give_name(partial: Path, folder: Path) -> None:
    """Rename the finished folder; an earlier audit of that name goes only when the new one is in its place."""
    if not folder.exists():
        partial.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    folder.rename(old / "audit")
    try:
        partial.rename(folder)
    except OSError:
        (old / "audit").rename(folder)
        raise
    finally:
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
