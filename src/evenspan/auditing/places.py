"""A folder that gets its name when it is whole, in one step, and never at the cost of what somebody else put there.

What is written is made in a hidden folder beside its place. Then the place is looked at again: anything in it that was
not there at the first look, or is no longer what it was, is a refusal. The two folders change names at once
(``renameat2``), so that a process that is killed leaves the old one or the new one. The hidden folder is locked as long
as its process lives; one that a killed process left is removed by the next that works in the same place.
"""

import contextlib
import ctypes
import errno
import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ..core.errors import ConfigurationError, FairError, LimitError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing that was left is removed
    fcntl = None

SETTINGS, REPORT = "settings.json", "report.html"
#: The executed notebook of the command line lies beside the report.
NOTEBOOK = "audit.ipynb"
#: What may lie beside a report without being in its list: it stays, unless the new report has its like.
_BESIDE = {NOTEBOOK, f".ipynb_checkpoints/{Path(NOTEBOOK).stem}-checkpoint.ipynb"}
_FOLDERS = {"tables", "figures", "transformers", ".ipynb_checkpoints"}
#: What an audit writes; nothing else is its own, whatever a list says.
_WRITTEN = re.compile(r"report\.html|settings\.json|tables/[^/]+\.csv|figures/[^/]+\.svg|transformers/[^/]+\.npz")
_HIDDEN = re.compile(r"\.evenspan-[0-9a-f]{16}")
#: Bytes that have to be free where a report goes.
LEAST_FREE = 2**24
#: Seconds that a folder's lock, which is held for a moment, is waited for.
PATIENCE = 10.0


# -- a folder to work in -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def scratch(parent: Path, mode: int = 0o777) -> Iterator[Path]:
    """A new hidden folder in ``parent``, gone afterwards; what killed processes left there goes at the beginning."""
    made, lock = parent / f".evenspan-{secrets.token_hex(8)}", None
    try:
        with _locked(parent):
            for path in parent.iterdir():
                if _HIDDEN.fullmatch(path.name) and _abandoned(path):
                    shutil.rmtree(path, ignore_errors=True)
            made.mkdir(mode)
            lock = _lock(made)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """The lock of a folder, None where folders cannot be locked; ``BlockingIOError`` if another process has it."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return handle


def _abandoned(folder: Path) -> bool:
    """Whether no process works in it any more: it can be locked."""
    try:
        lock = _lock(folder)
    except OSError:  # in use, of somebody else, or no folder
        return False
    if lock is not None:
        os.close(lock)
    return lock is not None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Inside, no other audit makes, removes or renames anything in the folder."""
    until, lock = time.monotonic() + PATIENCE, None
    while True:
        try:
            lock = _lock(folder.resolve())
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise ConfigurationError(
                    f"{folder} has been locked by another process for {PATIENCE:.0f} s; needed is a moment without. "
                    "Wait for the other audit, or name another folder."
                ) from None
            time.sleep(0.01)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


# -- the place of a report ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def placed(folder: Path, *, replace: bool, shown: Path | None = None) -> Iterator[Path]:
    """A folder to be filled, which takes the name ``folder`` when the body has ended well.

    The name may be new, or of an empty folder, or with ``replace`` of an earlier audit; a link is followed. Otherwise,
    or where the place cannot be written, a ``FairError`` says so at once. One at the end says what came there in the
    meantime. Whenever something is raised, ``folder`` is what it was. Messages call it ``shown``.
    """
    shown = folder if shown is None else shown
    made = []
    try:
        folder = target(folder, shown)
        before = look(folder)
        _require_free(folder, before, replace, shown)
        made = _missing(folder.parent)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < LEAST_FREE:
            raise LimitError(
                f"{shown} would be on a disk with {shutil.disk_usage(folder.parent).free / 2**20:.1f} MiB free; needed "
                f"are {LEAST_FREE / 2**20:.0f} MiB. Free some, or name a folder elsewhere."
            )
        with scratch(folder.parent) as stage:
            yield stage
            with _locked(folder.parent):
                _swap(stage, folder, before, shown)
                made = []
    except OSError as error:
        if isinstance(error, FairError):
            raise
        raise ConfigurationError(
            f"The report cannot be written to {shown}: {error}. Needed is a place that can be written, with room for "
            "it; nothing was changed there. Name another folder."
        ) from error
    finally:
        for parent in made:
            with contextlib.suppress(OSError):  # somebody else uses it
                parent.rmdir()


def target(folder: Path, shown: Path | None = None) -> Path:
    """The place itself, absolute and with links followed; ``ConfigurationError`` if there can be none of that name."""
    text = os.fspath(folder)
    try:
        os.fsencode(text)
        if "\0" in text:
            raise ValueError("a name holds the character 0")
        return Path(os.path.realpath(text))
    except ValueError as error:
        raise ConfigurationError(
            f"{str(shown or folder)!r} cannot be the name of a folder ({error}). Name another one."
        ) from None


def look(folder: Path) -> dict[str, tuple] | None:
    """What is in a folder: for every name what tells of a change; None if there is no such folder. Links are names."""
    try:
        found = {".": _mark(folder.lstat())}
    except FileNotFoundError:
        return None
    for place, folders, files in os.walk(folder):
        here = [(Path(place, name).relative_to(folder).as_posix(), Path(place, name)) for name in (*folders, *files)]
        found |= {name: _mark(path.lstat()) for name, path in here}
        folders[:] = [name for name in folders if Path(place) == folder and name in _FOLDERS]
    return found


def _mark(found: os.stat_result) -> tuple:
    kind = stat.S_IFMT(found.st_mode)
    return (kind, found.st_ino, *((found.st_size, found.st_mtime_ns) if kind == stat.S_IFREG else ()))


def _require_free(folder: Path, found: dict[str, tuple] | None, replace: bool, shown: Path) -> None:
    """Refuse a place that holds anything but an earlier audit, also a hidden file, and one that cannot be replaced."""
    if found is None:
        return
    if found["."][0] != stat.S_IFDIR:
        raise ConfigurationError(f"{shown} is a file; needed is the name of a folder for the report. Name another one.")
    if os.path.ismount(folder):
        raise ConfigurationError(
            f"{shown} is where a file system begins, which no folder can take the place of. Name a folder inside it."
        )
    earlier = listed(folder)
    foreign = []
    for name, (kind, *_) in sorted(found.items()):
        a_folder = kind == stat.S_IFDIR and (name == "." or name in _FOLDERS)
        if not a_folder and not (kind == stat.S_IFREG and (name in earlier or name in _BESIDE)):
            foreign.append(name)
    if foreign:
        raise ConfigurationError(
            f"{shown} holds {len(foreign)} file(s) or folder(s) that are not from an audit ({', '.join(foreign[:5])}"
            f"{', ...' if len(foreign) > 5 else ''}). Nothing was written; name another folder, or move them away."
        )
    if len(found) > 1 and not replace:
        raise ConfigurationError(
            f"{shown} holds an earlier audit. Name another folder with -o, or add --overwrite to replace it."
        )


def listed(folder: Path) -> set[str]:
    """The files that an earlier audit says it has written, as far as an audit can have written them."""
    try:
        names = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["files"]
        return {name for name in names if isinstance(name, str) and _WRITTEN.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _missing(folder: Path) -> list[Path]:
    """The folder and those above it that are not there, the deepest first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


# -- in one step -------------------------------------------------------------------------------------------------------


def _swap(stage: Path, folder: Path, before: dict[str, tuple] | None, shown: Path) -> None:
    """Give the stage its name; what was there, if it is as ``before``, is then where the stage was.

    A folder in which this process works stays, and each of the five things in it is exchanged instead: a notebook that
    is run again writes where it, its server and a shell are.
    """
    _require_unchanged(before, look(folder), shown)
    if before is None:
        _rename(stage, folder, exchange=False)
        return
    if os.path.samefile(folder, "."):
        names = sorted((path.name for path in stage.iterdir()), key=lambda name: name == SETTINGS)
        steps = [(stage / name, folder / name, name in before) for name in names]
        before = {name: mark for name, mark in before.items() if name.split("/")[0] in names}
    else:
        for name in before.keys() & _BESIDE:
            if not (stage / name).exists():
                (stage / name).parent.mkdir(exist_ok=True)
                os.link(folder / name, stage / name)
        stage.chmod(stat.S_IMODE(folder.stat().st_mode))
        steps = [(stage, folder, True)]
    done = []
    try:
        for step in steps:
            _rename(step[0], step[1], exchange=step[2])
            done.append(step)
        now = look(stage)
        _require_unchanged(before, {name: now[name] for name in now if name != "." or name in before}, shown)
    except BaseException:  # what came between the look and the step goes back to its place
        for here, there, both in reversed(done):
            _rename(there, here, exchange=both)
        raise


def _require_unchanged(before: dict[str, tuple] | None, now: dict[str, tuple] | None, shown: Path) -> None:
    if before == now:
        return
    old, new = before or {}, now or {}
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    raise ConfigurationError(
        f"{shown} has changed while the audit ran ({', '.join(changed[:5])}{', ...' if len(changed) > 5 else ''}): "
        "another audit or somebody else writes there. Nothing was written; name another folder."
    )


_AT_CWD, _EXCLUSIVE, _EXCHANGE = -100, 1, 2


def _rename(stage: Path, folder: Path, *, exchange: bool) -> None:
    """Rename to a name that is free, or exchange two names, in one step that cannot be seen half done.

    Where the system or the file system has no such step, a folder goes aside first and comes back if the second fails.
    """
    step = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if step is not None:
        names = os.fsencode(stage), os.fsencode(folder)
        if step(_AT_CWD, names[0], _AT_CWD, names[1], _EXCHANGE if exchange else _EXCLUSIVE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise OSError(code, os.strerror(code), str(folder))
    if not exchange:
        stage.rename(folder)  # fails where something is
        return
    aside = stage.with_name(f"{stage.name}.old")
    folder.rename(aside)
    try:
        stage.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    aside.rename(stage)
