"""Which cells a kernel has executed, and whether they are those that the stored results of a notebook belong to."""

import ast
import contextlib
import io
import re
import tokenize
from collections.abc import Collection
from functools import lru_cache

import nbformat

from . import paths, records, store
from .catalogue import Experiment

#: Sources of the cells that ran without a kernel (:func:`compendium.protocol.cells`).
running: list[list[str]] = []


@lru_cache(maxsize=512)
def digest_of(source: str) -> str:
    """The digest of a cell's code, which comments, blank lines and layout do not change."""
    marks = {tokenize.INDENT: ">", tokenize.DEDENT: "<", tokenize.NEWLINE: "\n"}
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(f"{source}\n").readline)]
        words = [
            marks.get(token.type) or re.sub(r"\s+", "", token.string)
            for token in tokens
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER)
        ]
    except (tokenize.TokenError, SyntaxError):  # no Python
        words = [source]
    # A literal with names in it is one token or many, by the version of Python; braces are doubled in the one alone.
    return records.digest("".join(words).replace("{{", "{").replace("}}", "}").encode())[:16]


def committed_cells(entry: Experiment) -> list[str]:
    """Digests of the code cells that the stored results of an experiment belong to, but for the one of parameters."""
    path = store.cells_of(entry.id)
    return path.read_text(encoding="utf-8").split() if path.is_file() else []


def adopt(entry: Experiment) -> None:
    """The stored results belong to the code cells that the notebook has now."""
    found = nbformat.read(paths.root() / entry.notebook, as_version=4).cells
    code = (cell for cell in found if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ()))
    digests = dict.fromkeys(digest_of(cell.source) for cell in code)
    records.write(store.cells_of(entry.id), "".join(f"{digest}\n" for digest in digests).encode())


def departures(entry: Experiment) -> list[str]:
    """How executed cells depart from the committed ones, which run in their order; those of parameters do not count."""
    known, names = committed_cells(entry), {*entry.parameters, "profile"}
    found, ran = [], []
    for place, source in enumerate(executed(), 1):
        if _sets(source, names):
            continue
        if (digest := digest_of(source)) in known:
            ran += [digest] if digest not in ran else []
            continue
        lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        found.append(f"cell {place} was edited (it begins with {lines[0][:60]!r})")
    if not found and ran != known[: len(ran)]:
        found.append("cells of the notebook were left out, or ran in another order")
    return found


def digests(entry: Experiment) -> list[str]:
    """Digests of the cells that were executed; those of parameters do not count."""
    return [digest_of(source) for source in executed() if not _sets(source, {*entry.parameters, "profile"})]


def _sets(source: str, names: Collection[str]) -> bool:
    """Whether a cell does nothing but give values to some names."""
    with contextlib.suppress(SyntaxError, ValueError):
        for line in ast.parse(source).body:
            target = line.targets[0] if isinstance(line, ast.Assign) else None
            if not isinstance(target, ast.Name) or target.id not in names:
                return False
            ast.literal_eval(line.value)
        return True
    return False


def executed() -> list[str]:
    """The sources of the cells that this kernel has executed, in their order, or those of :func:`cells`."""
    if running:
        return running[-1]
    from IPython import get_ipython  # a kernel has it loaded

    shell = get_ipython()
    return ["a program, and no notebook"] if shell is None else shell.history_manager.input_hist_raw[1:]
