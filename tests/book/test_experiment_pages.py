"""The page of an experiment: shared text once, a tab for each execution, true parameters, addresses that lead there."""

import re

import pandas as pd
import pytest
from nbformat import v4

from compendium.book import experiment_page
from compendium.catalogue import experiment

SEVERAL, ALONE = experiment("vu2022-pareto"), experiment("kleindessner2023-illustration")


def code(source, *tags, shown="", name=""):
    outputs = [v4.new_output("display_data", {"text/html": shown})] if shown else []
    metadata = {"tags": list(tags)} | ({"mystnb": {"figure": {"name": name}}} if name else {})
    return v4.new_code_cell(source, metadata=metadata, outputs=outputs)


def executed(entry, execution):
    """What an execution writes, made small: one output is the same everywhere, the others name the execution."""
    defaults = "".join(f"{name} = {value!r}  # meant so\n" for name, value in entry.parameters.items())
    cells = [
        v4.new_markdown_cell("# A title\n\nA question, with a [card](../../data/index)."),
        code(f'{defaults}profile = "embedded"', "parameters"),
        code("# Parameters\nk = 1", "injected-parameters"),
        v4.new_markdown_cell("## Data\n\nSome."),
        code("load()", shown="<p>21 methods</p>"),
        code("results = study.run(unit)", shown=f"<p>computed for {execution}</p>"),
        v4.new_markdown_cell("Read on in {numref}`fig-gap`.\n\n## Result"),
        code("draw()", shown='<a href="../../_static/numbers.csv">CSV</a>', name="fig-gap"),
        code("said()", "remove-input", "takeaway", shown=f"<p>{execution} came out.</p>"),
        v4.new_markdown_cell("## Verdicts"),
        code("judge()", "hide-input", shown='<td><span id="t-001">exact</span><a href="#t-001">x</a></td>'),
        v4.new_markdown_cell("## With other parameters\n\n- `k = 5`\n\n## Where these numbers come from"),
        code("trail()", "remove-input", shown="<ul></ul>"),
    ]
    return v4.new_notebook(cells=cells)


def page(entry):
    return experiment_page.page(entry, {name: executed(entry, name) for name in entry.executions})


def text_of(cells):
    cells = list(cells)
    outputs = [output.data["text/html"] for cell in cells for output in cell.get("outputs", ())]
    return "\n".join([*(cell.source for cell in cells), *outputs])


@pytest.fixture(autouse=True)
def nothing_published(monkeypatch):
    monkeypatch.setattr(experiment_page, "takeaway", lambda entry, execution: "")


def tabs(cells):
    """The cells of each tab by its name."""
    found, name = {}, None
    for cell in cells:
        if opened := re.search(r"^\{\.tab \.at-(.*)\}$", cell.source, re.MULTILINE):
            name = opened[1]
        elif cell.source.startswith("## "):
            name = None
        if name:
            found.setdefault(name, []).append(cell)
    return found


def test_what_executions_share_stands_once_and_what_differs_in_tabs():
    cells = page(SEVERAL).cells
    seen, found = text_of(cell for cell in cells if "remove-input" not in cell.metadata.get("tags", ())), tabs(cells)
    assert list(found) == list(SEVERAL.executions)
    once = ("## Results", "## Parameters", "## Data", "study.run(unit)", "## With other parameters")
    assert sorted(once, key=seen.index) == list(once), "what came out stands before how"
    for text in (*once, "21 methods"):
        assert seen.count(text) == 1, text
    for name, own in found.items():
        said = text_of(own)
        assert f'<p class="takeaway">{name} came out.</p>' in said
        assert not any(other in said for other in found if other != name)
        tags = [cell.metadata["tags"] for cell in own if cell.cell_type == "code"]
        assert tags == [["remove-input", f"cell-{number}"] for number in (6, 9, 11)]  # as in the notebook
    assert "draw()" in cells[-1].source
    assert cells[-1].metadata["tags"] == ["hide-input", "cell-rest"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert page(SEVERAL) == page(SEVERAL)
    assert "../../" not in seen, "links are those of a page one folder up"
    assert "[card](../data/index)" in seen


def test_names_are_unique_on_a_page_and_begin_with_the_execution():
    cells = page(SEVERAL).cells
    whole = text_of(cells)
    names = re.findall(r'id="([^"]+)"', "\n".join(o.data["text/html"] for c in cells for o in c.get("outputs", ())))
    assert names == [f"{name}-t-001" for name in SEVERAL.executions]
    assert all(whole.count(f'href="#{name}"') == 1 for name in names)
    figures = [cell.metadata["mystnb"]["figure"]["name"] for cell in cells if "mystnb" in cell.metadata]
    assert figures == [f"fig-gap-{name}" for name in SEVERAL.executions]
    for name, own in tabs(cells).items():
        assert f"{{numref}}`fig-gap-{name}`" in text_of(own)
        assert f"{{.at-{name}-verdicts}}\n#### Verdicts" in text_of(own)


def test_parameters_are_those_of_the_run_never_the_defaults():
    first, *others = SEVERAL.executions
    cells = page(SEVERAL).cells
    shown = next(cell.source for cell in cells if cell.source.startswith("dataset = "))
    assert shown.startswith(f'dataset = "{first}"  # meant so\n')
    assert first != SEVERAL.parameters["dataset"]
    assert not any("# Parameters\nk = 1" in cell.source for cell in cells)
    for name in others:
        assert f"<code>dataset = &#x27;{name}&#x27;</code>" in text_of(tabs(cells)[name])
        assert f"run {SEVERAL.id} -p dataset {name}" in text_of(tabs(cells)[name])


def test_an_experiment_with_one_execution_has_no_tabs():
    cells = page(ALONE).cells
    whole, name = text_of(cells), next(iter(ALONE.executions))
    assert not tabs(cells)
    assert f'<p class="takeaway">{name} came out.</p>' in cells[2].source
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    assert sources[:3] == ["draw()", "judge()", "trail()"]
    assert sources[4:6] == ["load()", "results = study.run(unit)"]
    assert 'id="t-001"' in whole
    assert "injected" not in str(cells)


def test_an_experiment_without_a_page_is_a_section_whose_names_begin_with_its_own():
    entry = experiment("zhou2024-kernels")
    cells = page(entry).cells
    whole, found = text_of(cells), tabs(cells)
    assert cells[0].source.startswith(f"({entry.id})=\n{{.experiment .at-{entry.id}}}\n## {entry.title}\n")
    assert list(found) == [f"{entry.id}-{name}" for name in entry.executions]
    assert re.findall(r"^#{1,2} .*", whole, re.MULTILINE) == [f"## {entry.title}"]
    assert all(f'id="{entry.place(name, "t-001")}"' in whole for name in entry.executions)
    assert "[card](../../data/index)" in whole, "links are those of a page two folders down"


def test_the_takeaway_counts_results_with_the_chance_agreement(monkeypatch):
    monkeypatch.undo()
    row = {"experiment": "vu2022-tables", "execution": "biodeg", "chance": "0"}
    rows = [
        row | {"result": "as described"},
        row | {"result": "not reproduced", "chance": "1"},
        row | {"result": "not a test", "chance": ""},
        row | {"result": "as described", "execution": "ecoli"},
    ]
    monkeypatch.setattr(experiment_page, "ledger", lambda: pd.DataFrame(rows))
    assert experiment_page.takeaway(experiment("vu2022-tables"), "biodeg") == (
        '<p class="takeaway">Of 3 printed numbers 1 as described, 1 not reproduced, 1 not a test'
        " (chance agreement 50 %).</p>\n"
    )
    assert experiment_page.takeaway(experiment("vu2022-tables"), "letter") == ""


def test_tabs_are_called_by_what_differs_and_the_command_runs_the_page():
    entry = experiment("zhou2024-multiple")  # which opens with a small execution, and its pages share two parameters
    assert [experiment_page.label(entry, name) for name in entry.executions][:2] == ["Jaffe", "MNIST-USPS"]
    assert "`python -m compendium run zhou2024-multiple --execution jaffe`" in text_of(page(entry).cells)
    assert f"`python -m compendium run {SEVERAL.id}`" in text_of(page(SEVERAL).cells)


def test_many_parameters_are_called_by_their_execution_and_one_that_takes_a_minute_has_its_command():
    entry = experiment("rathore2025-times")
    said, command = text_of(page(entry).cells), "python -m compendium run rathore2025-times"
    assert "<summary>Parameters: those of the execution table1</summary>" in said
    assert f"Run it again: <code>{command} --execution table1</code>" in said
    assert f"In a minute, with fewer or smaller: <code>{command}</code>" in said
    assert "In a minute" not in text_of(page(SEVERAL).cells)
