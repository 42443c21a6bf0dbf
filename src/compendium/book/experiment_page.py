"""One page for each experiment, assembled from the notebooks that its executions wrote.

After the question come the results, then data, methods and protocol with their code folded, and what would change.
Text, methods and protocol stand once, with the parameters of the first execution. What differs from execution to
execution stands in tabs: a section for each, with its takeaway, its parameters and all that it showed. A tab is found
under the name of its execution, ``experiments/vu2022-tables.html#biodeg``, and so is everything in it that has a name.
Style sheets hide the others; without them, and on paper, the tabs follow each other. An experiment with one execution
is a page without tabs. One that has no page of its own is a section at the end of another one, under its name, and the
names of its tabs begin with that.
"""

import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy

from nbformat import NotebookNode, v4

from .. import data as datasets
from .. import store
from ..catalogue import Experiment, Scalar
from ..edits import RUNS_UNITS
from ..ledger.claims import SIDES, badge, claims, registered
from ..ledger.page import raw, slug
from ..ledger.table import ledger, tally
from ..ledger.verdicts import Result

#: The section that a page needs once, and the cell whose output says the result where no number is printed.
SHARED, TAKEAWAY = "## With other parameters\n", "takeaway"
#: Characters of parameters from which on the name of their execution stands in their place.
LONG = 80
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_HEADING = re.compile(r"^(#{2,4}) (.+)$", re.MULTILINE)
_LOWER = re.compile(r"^(?=#+ )", re.MULTILINE)
_NAMES = re.compile(r'\b(?:id="|href="#)')


def page(entry: Experiment, executed: Mapping[str, NotebookNode]) -> NotebookNode:
    """The page of an experiment, or its section, from the executed notebooks of its executions, in their order."""
    parts = {name: _part(entry, name, notebook) for name, notebook in executed.items()}
    whole = next(iter(parts.values()))
    opening = whole.cells[0]
    text = opening.source.partition("\n")[2]
    notebook = f'<a href="{_up(entry)}_static/{entry.notebook}" download>Get the notebook</a>'
    opened = entry.execution_for(entry.parameters)  # what the command runs unless it is told more
    which = "" if opened in entry.executions else f" --execution {next(iter(entry.executions))}"
    again = f"[Cite this page](ch-cite) · Run it again: `python -m compendium run {entry.id}{which}`"
    name = f"({entry.id})=\n" + f"{{.experiment .at-{entry.id}}}\n" * bool(entry.stands_on)
    opening.source = f"{name}# {entry.title}\n\n:::{{div}} provenance\n{notebook} · {again}\n:::\n{text}"
    whole.cells = [opening, *_below(entry, {name: part.cells[1:] for name, part in parts.items()})]
    for number, cell in enumerate(whole.cells, start=1):  # the same parts give the same page
        cell["id"] = f"{entry.id}-{number:03d}"
        if entry.stands_on and cell.cell_type == "markdown":
            cell.source = _LOWER.sub("#", cell.source)
    return whole


def _below(entry: Experiment, parts: Mapping[str, list[NotebookNode]]) -> Iterator[NotebookNode]:
    """The cells below the opening: results, in tabs where there are several executions, and then what gave them."""
    cells, several = next(iter(parts.values())), len(parts) > 1
    place = next(i for i, cell in enumerate(cells) if cell.cell_type == "code" and RUNS_UNITS in cell.source) + 1
    # Up to the cell that runs the units, what all show alike stands once.
    alike = [len({json.dumps(cell.get("outputs")) for cell in same}) == 1 for same in zip(*parts.values(), strict=True)]
    alike[place - 1] = True  # what it says of the run stands again below the results
    links = "".join(f'<a href="#{entry.place(name)}">{html.escape(label(entry, name))}</a>\n' for name in parts)
    navigation = raw(f'<nav class="tab-links" aria-label="Executions: {html.escape(entry.title)}">\n{links}</nav>')
    yield v4.new_markdown_cell(f"{{.tabs}}\n## Results\n\n{navigation}" if several else "## Results")
    for name, part in parts.items():
        own = [cell for i, cell in enumerate(part[:place]) if not alike[i]]
        yield from _results(entry, name, [*part[place:], *own])
    yield v4.new_markdown_cell("## Parameters")
    for cell, same in zip(cells[:place], alike, strict=False):
        if cell.cell_type == "code":
            tags = list(cell.metadata["tags"])  # the last is the number
            tags[-1:-1] = [] if "parameters" in tags else ["hide-input"]
            outputs = cell.outputs if same and RUNS_UNITS not in cell.source else []
            cell = cell | {"metadata": NotebookNode(cell.metadata | {"tags": tags}), "outputs": outputs}
        yield NotebookNode(cell)
    pieces = (piece for cell in cells[place:] if cell.cell_type == "markdown" for piece in _SECTION.split(cell.source))
    yield from (v4.new_markdown_cell(piece) for piece in pieces if piece.startswith(SHARED))
    yield v4.new_markdown_cell("## Code of the figures and tables")
    code = "\n\n".join(cell.source for cell in cells[place:] if cell.cell_type == "code")
    yield v4.new_code_cell(code, metadata={"tags": ["hide-input", "cell-rest"]})


def _results(entry: Experiment, execution: str, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """What an execution showed, in a tab if it is one of several: takeaway, parameters, outputs, text between."""
    several, place = len(entry.executions) > 1, entry.place(execution)
    tab = f"({entry.id}-{execution})=\n{{.tab .at-{place}}}\n### {label(entry, execution)}\n\n"
    yield v4.new_markdown_cell(f"{tab if several else ''}{_said(entry, execution, cells)}")
    for cell in filter(_in_place, cells):
        if cell.cell_type == "markdown":
            pieces = (re.sub(r"^## Result(\n|$)", "", piece) for piece in _SECTION.split(cell.source))
            text = "".join(piece for piece in pieces if not piece.startswith(SHARED))
            if several:
                text = _HEADING.sub(lambda found: f"{{.at-{place}-{slug(found[2])}}}\n#{found[0]}", text)
            yield v4.new_markdown_cell(_HEADING.sub(r"#\g<0>", text).strip())
        elif cell.outputs:
            tags = ["remove-input", cell.metadata["tags"][-1]]  # its number
            yield NotebookNode(cell | {"metadata": NotebookNode(cell.metadata | {"tags": tags})})


def _part(entry: Experiment, execution: str, notebook: NotebookNode) -> NotebookNode:
    """An executed notebook as a part of its page: true parameters, and names that are unique on the page."""
    notebook = deepcopy(notebook)
    tagged = {tag: cell for cell in notebook.cells for tag in cell.metadata.get("tags", ())}
    tagged["parameters"].source = with_values(tagged["parameters"].source, entry.arguments(execution))
    notebook.cells.remove(tagged["injected-parameters"])
    number_cells(notebook)
    _rename_figures(notebook, execution)
    before = f"{place}-" if (place := entry.place(execution)) else ""
    for cell in notebook.cells:
        # The executed notebook lies two folders below the top.
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("](../../", f"]({_up(entry)}")
        for output in cell.get("outputs", ()):
            if text := output.get("data", {}).get("text/html"):
                output.data["text/html"] = _NAMES.sub(rf"\g<0>{before}", text).replace('"../../', f'"{_up(entry)}')
    return notebook


def _up(entry: Experiment) -> str:
    """The way from the page of an experiment to the top of the book."""
    return "../" * entry.page.count("/")


def number_cells(notebook: NotebookNode) -> None:
    """Give each code cell its number as the tag ``cell-7``, by which the page is run here (:mod:`compendium.live`)."""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), f"cell-{number}"]


def with_values(source: str, values: Mapping[str, Scalar]) -> str:
    """The cell of the parameters with the values of a run in the place of the defaults; its comments stay."""
    for name, value in values.items():
        line = f"{name} = {json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)}"
        source = re.sub(rf"^{name} = .*?(?=  #|$)", line.replace("\\", r"\\"), source, flags=re.MULTILINE)
    return source


def _rename_figures(notebook: NotebookNode, execution: str) -> None:
    """Make figure names unique: one notebook has several executions, and a name may be given once in the book."""
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if old := figure.get("name"):
            figure["name"] = f"{old}-{execution}"
            for other in notebook.cells:
                if other.cell_type == "markdown":
                    other.source = re.sub(rf"(?<=[`<]){re.escape(old)}(?=[`>])", figure["name"], other.source)


def label(entry: Experiment, execution: str) -> str:
    """What an execution is called on its page: its data set and the parameters in which executions differ."""
    words, others = [], [entry.execution(name) for name in entry.executions if name != execution]
    for key, value in entry.executions[execution].items():
        if all(other[key] == value for other in others):
            continue
        if key == "dataset":
            title = datasets.entry(value).title.partition(",")[0].partition(" (")[0]
            name = entry.published_datasets.get(value, (title,))[0]
            words.append(f"{name} (stand-in)" if value in entry.stand_ins else name)
        else:
            words.append(f"{key} = {value}")
    return ", ".join(words)


def cost(entry: Experiment) -> str:
    """What the stored units of an experiment took together."""
    return f"{sum(unit.record['seconds'] for unit in store.units_of(entry.id).values()) / 60:.1f} min"


def takeaway(entry: Experiment, execution: str) -> str:
    """The result of an execution: counts of its printed numbers, or else the claims that it bears on, each answered."""
    rows = ledger()
    rows = rows[(rows["experiment"] == entry.id) & (rows["execution"] == execution)]
    if len(rows):
        row = tally(rows, ["experiment"]).iloc[0]
        counted = ", ".join(f"{row[one.value]:.0f} {one.value}" for one in Result if row[one.value])
        chance = f" (chance agreement {100 * row['chance agreement']:.0f} %)" if row["tested"] else ""
        return f'<p class="takeaway">Of {len(rows)} printed numbers {counted}{chance}.</p>\n'
    if entry.published or entry.paper == "compendium":
        return ""
    mine = claims(sorted(claim for claim, (where, _) in registered().items() if where == entry.id))
    answers = []
    for row in mine.to_dict("records"):
        given = (f"{name} {badge(row[side])}" for side, name in SIDES.items() if row[side])
        answers.append(f"<li>{html.escape(row['claim'])} ({row['id']}) {', '.join(given)}</li>")
    return f'<ul class="takeaway">{"".join(answers)}</ul>\n' if answers else ""


def _said(entry: Experiment, execution: str, cells: list[NotebookNode]) -> str:
    """The takeaway, from cells of the notebook that are tagged for it and from the ledger, and the true parameters."""
    own = [output["data"]["text/html"] for cell in cells if not _in_place(cell) for output in cell.outputs]
    said = " ".join(re.sub(r"</?p[^>]*>", "", one) for one in own)
    values, given = entry.execution(execution), entry.executions[execution]
    line = ", ".join(f"{key} = {value}" for key, value in (given or values).items() if value != "")
    command = f"python -m compendium run {entry.id}"
    again = command + "".join(f" -p {key} {shlex.quote(str(value))}" for key, value in given.items())
    if len(line) > LONG:  # they stand below, one on a line
        line, again = f"those of the execution {execution}", f"{command} --execution {execution}"
    below = f"<p>In a minute, with fewer or smaller: <code>{command}</code></p>" if entry.small else ""
    items = "".join(f"<li><code>{html.escape(f'{key} = {value!r}')}</code></li>" for key, value in values.items())
    return raw(
        (f'<p class="takeaway">{said}</p>\n' if said else "")
        + takeaway(entry, execution)
        + f'<details class="parameters"><summary>Parameters: {html.escape(line)}</summary>\n<ul>{items}</ul>\n'
        f"<p>Run it again: <code>{html.escape(again)}</code></p>{below}<p>Full run of all: {cost(entry)}</p></details>"
    )


def _in_place(cell: NotebookNode) -> bool:
    """Whether a cell stays where it is: what it says of the takeaway stands at the top."""
    return TAKEAWAY not in cell.metadata.get("tags", ())
