"""One page for each experiment, assembled from the notebooks that its executions wrote.

Text, methods and protocol stand once, with the parameters of the first execution. What differs from execution to
execution stands in tabs: a section for each, with its takeaway, its parameters and all that it showed. A tab is found
under the name of its execution, ``experiments/vu2022-tables.html#biodeg``, and so is everything in it that has a name.
Style sheets hide the others; without them, and on paper, the tabs follow each other. An experiment with one execution
is a page without tabs.
"""

import ast
import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy

from nbformat import NotebookNode, v4

from evenspan.core.errors import ExecutionError

from .. import data as datasets
from .. import store
from ..catalogue import Experiment, Scalar
from ..ledger.claims import claims, registered
from ..ledger.links import slug
from ..ledger.page import raw
from ..ledger.table import ledger, tally
from ..ledger.verdicts import Result
from ..protocol import RUNS_UNITS

#: The section that a page needs once, and the cell whose output says the result where no number is printed.
SHARED, TAKEAWAY = "With other parameters", "takeaway"
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_HEADING = re.compile(r"^(#{2,4}) (.+)$", re.MULTILINE)
_NAMES = re.compile(r'\b(?:id="|href="#)')


#: Of an executed notebook the cells up to and with the one that runs its units, and the others.
Parts = Mapping[str, tuple[list[NotebookNode], list[NotebookNode]]]


def page(entry: Experiment, executed: Mapping[str, NotebookNode]) -> NotebookNode:
    """The page of an experiment, from the executed notebook of each of its executions, in their order."""
    notebooks = {name: as_part(entry, name, notebook) for name, notebook in executed.items()}
    whole = next(iter(notebooks.values()))
    opening = whole.cells[0]
    if opening.cell_type != "markdown" or not opening.source.startswith("# "):
        raise ExecutionError(f"{entry.notebook} must begin with a markdown cell that opens with a '# ' title.")
    opening.source = _opening(entry, opening.source)
    runs = (cell.cell_type == "code" and RUNS_UNITS in cell.source for cell in whole.cells)
    place = list(runs).index(True) + 1
    parts = {name: (notebook.cells[1:place], notebook.cells[place:]) for name, notebook in notebooks.items()}
    whole.cells = [opening, *(_with_tabs(entry, parts) if len(parts) > 1 else _alone(entry, parts))]
    for number, cell in enumerate(whole.cells, start=1):  # the same parts give the same page
        cell["id"] = f"cell-{number:03d}"
    return whole


def _alone(entry: Experiment, parts: Parts) -> Iterator[NotebookNode]:
    """The cells of a page below its opening: those of the only execution, in their order."""
    ((name, (head, rest)),) = parts.items()
    yield v4.new_markdown_cell(raw(_paragraph(_said(entry, name, rest)) + _parameters(entry, name)))
    yield from head
    yield from filter(_in_place, rest)


def _with_tabs(entry: Experiment, parts: Parts) -> Iterator[NotebookNode]:
    """The cells of a page below its opening: those that executions share, and a tab for what each has of its own."""
    after = next(iter(parts.values()))[1]
    yield v4.new_markdown_cell(_executions(entry, parts))
    own = {name: [] for name in parts}  # outputs that differ
    for same in zip(*(head for head, _ in parts.values()), strict=True):
        if len({json.dumps(cell.get("outputs", [])) for cell in same}) == 1:
            yield same[0]
        else:
            yield NotebookNode(same[0] | {"outputs": []})
            for name, cell in zip(parts, same, strict=True):
                own[name].append(cell)
    yield v4.new_markdown_cell(f"{{.tabs}}\n## Results\n\n{_selector(entry)}")
    for name, (_, rest) in parts.items():
        yield from _tab(entry, name, own[name], rest)
    pieces = (piece for cell in after for piece in _pieces(cell))
    yield from (v4.new_markdown_cell(piece) for piece in pieces if _titled(piece) == SHARED)
    yield v4.new_markdown_cell("## Code of the figures and tables")
    code = "\n\n".join(cell.source for cell in after if cell.cell_type == "code")
    yield v4.new_code_cell(code, metadata={"tags": ["hide-input", "cell-rest"]})


def as_part(entry: Experiment, execution: str, notebook: NotebookNode) -> NotebookNode:
    """An executed notebook as a part of its page: true parameters, and names that are unique on the page."""
    notebook = deepcopy(notebook)
    tagged = {tag: cell for cell in notebook.cells for tag in cell.metadata.get("tags", ())}
    tagged["parameters"].source = with_values(tagged["parameters"].source, entry.arguments(execution))
    notebook.cells.remove(tagged["injected-parameters"])
    number_cells(notebook)
    _rename_figures(notebook, execution)
    before = f"{execution}-" if len(entry.executions) > 1 else ""
    for cell in notebook.cells:
        # The page lies one folder above the executed notebook.
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("](../../", "](../")
        for output in cell.get("outputs", ()):
            if text := output.get("data", {}).get("text/html"):
                output.data["text/html"] = _NAMES.sub(rf"\g<0>{before}", text).replace('"../../', '"../')
    return notebook


def number_cells(notebook: NotebookNode) -> None:
    """Give each code cell its number as the tag ``cell-7``, by which the page is run here (:mod:`compendium.live`)."""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), f"cell-{number}"]


def with_values(source: str, values: Mapping[str, Scalar]) -> str:
    """The cell of the parameters with the values of a run in the place of the defaults; its comments stay."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        name = node.targets[0].id
        if ast.literal_eval(node.value) != values[name]:
            value = values[name]
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
            line = lines[node.lineno - 1].encode()
            lines[node.lineno - 1] = (
                line[: node.value.col_offset].decode() + text + line[node.value.end_col_offset :].decode()
            )
    return "\n".join(lines)


def _rename_figures(notebook: NotebookNode, execution: str) -> None:
    """Make figure names unique: one notebook has several executions, and a name may be given once in the book."""
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if old := figure.get("name"):
            figure["name"] = f"{old}-{execution}"
            for other in notebook.cells:
                if other.cell_type == "markdown":
                    other.source = re.sub(rf"(?<=[`<]){re.escape(old)}(?=[`>])", figure["name"], other.source)


def _opening(entry: Experiment, source: str) -> str:
    """The title and, below it, how to get the notebook, to cite the page and to run it again."""
    title, _, text = source.partition("\n")
    notebook = f'<a href="../_static/{entry.notebook}" download>Get the notebook</a>'
    return (
        f"{title.rstrip()}\n\n:::{{div}} provenance\n{notebook} · [Cite this page](ch-cite) · "
        f"Run it again: `python -m compendium run {entry.id}`\n:::\n{text}"
    )


def label(entry: Experiment, execution: str) -> str:
    """What an execution is called on its page: its data set and the parameters in which executions differ."""
    words = []
    for key, value in entry.executions[execution].items():
        if key == "dataset":
            title = datasets.entry(value).title.partition(",")[0].partition(" (")[0]
            name = entry.published_datasets.get(value, (title,))[0]
            words.append(f"{name} (stand-in)" if value in entry.stand_ins else name)
        else:
            words.append(f"{key} = {value}")
    return ", ".join(words)


def _executions(entry: Experiment, parts: Parts) -> str:
    """The table of executions: what each is, the result, and what its full run took."""
    said = {name: _said(entry, name, rest) for name, (_, rest) in parts.items()}
    alike = len(set(said.values())) == 1
    varying = [key for key in entry.parameters if len({entry.execution(name)[key] for name in parts}) > 1]
    shown = list(dict.fromkeys([*(key for key in ("k", "splits") if key in entry.parameters), *varying]))
    shown = [key for key in shown if key != "dataset"]
    head = [*shown, *([] if alike else ["Result"]), "Full run"]
    rows = ""
    for name in parts:
        values = entry.execution(name)
        cells = [html.escape(str(values[key])) for key in shown]
        cells += [] if alike else [said[name]]
        link = f'<a href="#{name}">{html.escape(label(entry, name))}</a>'
        cells.append(cost(entry, name))
        row = "".join(f'<td data-name="{key}">{cell}</td>' for key, cell in zip(head, cells, strict=True))
        rows += f'<tr><th scope="row">{link}</th>{row}</tr>\n'
    columns = "".join(f'<th scope="col">{one}</th>' for one in head)
    table = (
        '<div class="table-scroll" role="region" tabindex="0" aria-label="Executions">'
        f'<table class="executions"><thead><tr><td></td>{columns}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>'
    )
    above = _paragraph(next(iter(said.values()))) if alike else ""
    return raw(f"{above}{table}\n{_allowed(entry)}")


def _allowed(entry: Experiment) -> str:
    """The values that parameters are limited to."""
    limited = "; ".join(
        f"<code>{html.escape(key)}</code>: {html.escape(', '.join(map(str, values)))}"
        for key, values in entry.choices.items()
    )
    return f"<p>Allowed values: {limited}. All other parameters take any value of their type.</p>" if limited else ""


def _selector(entry: Experiment) -> str:
    """Links to the tabs, of which that to the one that is shown is marked."""
    links = "".join(f'<a href="#{name}">{html.escape(label(entry, name))}</a>\n' for name in entry.executions)
    chosen = ",\n".join(
        f'.tabs:has([id="{name}"]:target, [id="{name}"] :target) > .tab-links a[href="#{name}"]'
        for name in entry.executions
    )
    style = f"<style>{chosen} {{ border-color: var(--pst-color-primary); font-weight: 600; }}</style>"
    return raw(f'<nav class="tab-links" aria-label="Executions">\n{links}</nav>\n{style}')


def _tab(
    entry: Experiment, execution: str, differing: list[NotebookNode], rest: list[NotebookNode]
) -> Iterator[NotebookNode]:
    """The cells of a tab: heading, takeaway, parameters, and all outputs with the text between them."""
    heading = f"({entry.id}-{execution})=\n{{.tab .at-{execution}}}\n### {label(entry, execution)}"
    said = _paragraph(_said(entry, execution, rest))
    yield v4.new_markdown_cell(f"{heading}\n\n{raw(said + _parameters(entry, execution))}")
    for cell in filter(_in_place, [*differing, *rest]):
        if cell.cell_type == "code":
            if cell.get("outputs"):
                cell = deepcopy(cell)
                cell.metadata["tags"] = ["remove-input", cell.metadata["tags"][-1]]  # its number
                yield cell
        elif text := "".join(piece for piece in _pieces(cell) if _titled(piece) != SHARED).strip():
            yield v4.new_markdown_cell(
                _HEADING.sub(lambda found: f"{{.at-{execution}-{slug(found[2])}}}\n##{found[0]}", text)
            )


def _pieces(cell: NotebookNode) -> list[str]:
    """The text of a cell cut before each of its sections."""
    return _SECTION.split(cell.source) if cell.cell_type == "markdown" else []


def _titled(piece: str) -> str:
    return piece.partition("\n")[0].removeprefix("## ").strip() if piece.startswith("## ") else ""


def _parameters(entry: Experiment, execution: str) -> str:
    """The true parameters of an execution in a line that unfolds, and the command that runs it again."""
    values = entry.execution(execution)
    own = entry.executions[execution]
    shown = own | {key: values[key] for key in ("k", "splits") if key in values} if own else values
    line = ", ".join(f"{key} = {value}" for key, value in shown.items())
    items = "".join(
        f"<li><code>{html.escape(key)} = {html.escape(json.dumps(value, ensure_ascii=False))}</code></li>"
        for key, value in values.items()
    )
    options = "".join(f" -p {key} {shlex.quote(str(value))}" for key, value in own.items())
    again = html.escape(f"python -m compendium run {entry.id}{options}")
    took = f"<p>The full run took {text}.</p>" if (text := cost(entry, execution)) != "–" else ""
    return (
        f'<details class="parameters"><summary>Parameters: {html.escape(line)}</summary>\n'
        f"<ul>{items}</ul>\n<p>Run it again: <code>{again}</code></p>{took}</details>"
    )


def cost(entry: Experiment, execution: str) -> str:
    """What the stored units of an execution took together; a dash where none is stored."""
    units = store.units_of(entry.id).values()
    alone = len(entry.runs) == 1
    took = [unit.record["seconds"] for unit in units if alone or unit.path.stem == execution]
    if not took:
        return "–"
    seconds = sum(took)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def takeaway(entry: Experiment, execution: str) -> str:
    """The result of an execution: counts of its printed numbers, or else the answers to the claims that it bears on.

    Empty if there are neither.
    """
    rows = ledger()
    rows = rows[(rows["experiment"] == entry.id) & (rows["execution"] == execution)]
    if len(rows):
        row = tally(rows, ["experiment"]).iloc[0]
        counted = ", ".join(f"{row[one.value]:.0f} {one.value}" for one in Result if row[one.value])
        chance = f" (chance agreement {row['chance agreement']:.0%})".replace("%", " %") if row["tested"] else ""
        return f"Of {len(rows)} printed numbers {counted}{chance}."
    if entry.published or entry.paper == "compendium":
        return ""
    mine = claims(sorted(claim for claim, (where, _) in registered().items() if where == entry.id))
    return " ".join(f"Claim {row['id']}: {row['answer']}." for row in mine.to_dict("records"))


def _said(entry: Experiment, execution: str, cells: list[NotebookNode]) -> str:
    """The takeaway as HTML: what cells of the notebook say that are tagged for it, and the sentence on the numbers."""
    own = [output["data"]["text/html"] for cell in cells if not _in_place(cell) for output in cell.outputs]
    texts = [re.sub(r"</?p[^>]*>", "", one) for one in own]
    return " ".join(filter(None, [*texts, html.escape(takeaway(entry, execution))]))


def _in_place(cell: NotebookNode) -> bool:
    """Whether a cell stays where it is: what it says of the takeaway stands at the top."""
    return TAKEAWAY not in cell.metadata.get("tags", ())


def _paragraph(text: str) -> str:
    return f'<p class="takeaway">{text}</p>\n' if text else ""
