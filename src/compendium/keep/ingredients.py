"""What a built book was made from, so that anybody can tell whether it is still the book of the sources beside it."""

import re
from pathlib import Path

from evenspan.core.errors import ResultError

from .. import paths
from ..records import digest

#: Where the list is in the book, relative to its first page.
NAME = "_static/made-of.txt"
_HEAD = "# SHA-256 of every file that this book was made from"
#: As in the rule 'html' of the Snakefile, with the notebooks.
_PATTERNS = ("src/**/*.py", "book/**/*", "data/**/*", "notebooks/**/*.ipynb")
_FILES = ("_config.yml", "_toc.yml", "experiments.yml", "CITATION.cff")


def listing() -> str:
    """The list for the sources as they are now, in the format of ``sha256sum``."""
    return "".join(f"{line}\n" for line in (_HEAD, *(f"{value}  {name}" for name, value in sorted(_now().items()))))


def changed(html: Path) -> list[str]:
    """Files that differ from those that the book in a folder was made from, in a word each; none if it is current."""
    listed = Path(html) / NAME
    if not listed.is_file():
        raise ResultError(
            f"The book in {html} does not say what it was made from ({NAME} is missing): run 'make book'."
        )
    text = listed.read_text(encoding="utf-8")
    then = {name: value for value, name in re.findall(r"^([0-9a-f]{64})  (.+)$", text, flags=re.MULTILINE)}
    now = _now()
    words = {True: "changed", False: "new"}
    found = [f"{name} ({words[name in then]})" for name in now if then.get(name) != now[name]]
    return sorted(found + [f"{name} (gone)" for name in then.keys() - now.keys()])


def _now() -> dict[str, str]:
    root = paths.root()
    files = {path for pattern in _PATTERNS for path in root.glob(pattern)} | {root / name for name in _FILES}
    return {
        path.relative_to(root).as_posix(): digest(path.read_bytes())
        for path in files
        if path.is_file() and not path.name.startswith(".") and "__pycache__" not in path.parts
    }
