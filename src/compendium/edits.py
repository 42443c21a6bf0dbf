"""Which cells a kernel has executed, and whether they are those that the stored results of a notebook belong to."""

import ast
import contextlib
import io
import re
import sys
import sysconfig
import tokenize
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from textwrap import shorten

import nbformat
from IPython import get_ipython

from . import paths, records, store
from .catalogue import Experiment

#: What the cell of a notebook calls that runs its units.
RUNS_UNITS = "study.run("
#: From how much on, from 0 to 1, an unknown cell counts as an edit of one of the notebook.
ALIKE = 0.6


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


def accept_current_cells(entry: Experiment) -> None:
    """From now on the stored results belong to the code cells that the notebook has."""
    digests = dict.fromkeys(map(digest_of, _code_cells(entry)))
    records.write(store.cells_of(entry.id), "".join(f"{digest}\n" for digest in digests).encode())


def _code_cells(entry: Experiment) -> list[str]:
    """The code cells of the notebook, but for the one of parameters."""
    found = nbformat.read(paths.root() / entry.notebook, as_version=4).cells
    return [
        cell.source for cell in found if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ())
    ]


def differences_from_committed(entry: Experiment) -> list[str]:
    """How the executed cells differ from the committed ones, which run in their order; parameters do not count."""
    known = {digest: place for place, digest in enumerate(committed_cells(entry))}
    ran = {digest_of(source): source for source in _executed_cells(entry)}
    here = {digest_of(source): source for source in _code_cells(entry)}
    waiting, found = {digest: source for digest, source in here.items() if digest not in ran}, []
    for digest, source in ran.items():
        if digest in known:
            continue
        # A cell may have run as it was before it was edited; of two that are as like, one that did not run is meant.
        closest = max(here, key=lambda one: (_likeness(source, here[one]), one in waiting), default="")
        if digest in here or (closest and _likeness(source, here[closest]) >= ALIKE):
            waiting.pop(closest, None)
            found.append(f"a cell was edited: {_first_line(source)}")
        else:
            found.append(f"an extra cell ran: {_first_line(source)}")
    places = [known[digest] for digest in ran if digest in known]
    before = max((place for place, source in enumerate(here.values()) if RUNS_UNITS in source), default=0)
    needed = [digest for digest in list(here)[:before] if digest in known and digest in waiting]
    found += [f"a cell was left out: {_first_line(here[digest])}" for digest in needed]
    if not found and places != [*range(len(places))]:
        found.append("cells of the notebook were left out, or ran in another order")
    return found


def _likeness(one: str, other: str) -> float:
    """How much two cells have in common, from 0 to 1."""
    matcher = SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False)
    return max(matcher.ratio(), SequenceMatcher(None, one, other, autojunk=False).ratio() * 0.8)


def _first_line(source: str) -> str:
    lines = [line.strip() for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return shorten(lines[0] if lines else source, 60, placeholder=" ...")


def digests(entry: Experiment) -> list[str]:
    """Digests of the cells that were executed; those of parameters do not count."""
    return list(map(digest_of, _executed_cells(entry)))


def _executed_cells(entry: Experiment) -> list[str]:
    names = {*entry.parameters, "profile"}
    return [source for source in executed() if source.strip() and not _sets(source, names)]


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
    """The sources of the cells that this kernel has executed, in their order."""
    shell = get_ipython()
    return ["a program, and no notebook"] if shell is None else shell.history_manager.input_hist_raw[1:]


def namespace() -> Mapping[str, object]:
    """The variables of the notebook."""
    shell = get_ipython()
    return {} if shell is None else shell.user_ns


def reader_modules() -> dict[str, str]:
    """Digests of the modules that this process imported from neither an installation nor ``src``."""
    installed = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())}
    installed.add(paths.root().resolve() / "src")
    found = {}
    for name, module in sorted(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if place and not installed & {*(file := Path(place).resolve()).parents} and file.is_file():
            found[name] = records.digest(file.read_bytes())
    return found
