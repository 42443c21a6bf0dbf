"""Files: written beside their place and then renamed, and read with one sentence for whatever is damaged."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from .errors import ResultError


@contextlib.contextmanager
def replacing(path) -> Iterator:
    """A file to write to, which takes the place of ``path`` at the end; after an error what was there is as it was."""
    target = Path(os.path.realpath(path))  # a link stays one
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            yield file
        shutil.copymode(target if target.exists() else partial, partial)
        partial.replace(target)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror or error}; nothing was written to", str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path, what: str, remedy: str) -> Iterator:
    """A file to read; whatever it makes its readers raise is one ``ResultError``, which says what it should be."""
    try:
        with Path(path).open("rb") as file:
            yield file
    except ResultError:
        raise
    except Exception as error:  # damaged bytes make readers raise almost anything
        seen = f"{type(error).__name__}: {str(error)[:1000]}"
        raise ResultError(f"{path} is not {what}, or not whole ({seen}). {remedy}") from error
