"""Links of the ledger: to sections that exist, and a build that stops where something is missing."""

import nbformat
import pytest

from compendium.book import stage
from compendium.catalogue import experiment
from compendium.ledger import links as ledger_links
from compendium.ledger import table as ledger
from evenspan.core.errors import ResultError


def page(rows: str) -> str:
    return f"# The ledger\n\n## All numbers\n\n```{{raw}} html\n<table><tbody>{rows}</tbody></table>\n```\n"


def row(*addresses: str) -> str:
    return '<tr id="t-001"><td>' + " ".join(f'<a href="{a}">x</a>' for a in addresses) + "</td></tr>"


TARGETS = {
    "experiments/toy.html#k2-verdicts": "experiments/toy.ipynb",
    "experiments/toy.html#k2-t-001": "experiments/toy.ipynb",
    "data/cards/toy.html": "data/cards/toy.md",
    "_static/results/full/toy/k2.csv": "_static/results/full/toy/k2.csv",
    "papers/one/verdicts.html#what-differs": "papers/one/verdicts.md",
}


@pytest.fixture
def folder(tmp_path):
    for file in TARGETS.values():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("# Title\n\n## What differs\n", encoding="utf-8")
    shown = nbformat.v4.new_output("display_data", {"text/html": '<td><span id="k2-t-001">exact</span></td>'})
    text = nbformat.v4.new_markdown_cell("# T\n\n{.at-k2-verdicts}\n#### Verdicts\n\ntext")
    notebook = nbformat.v4.new_notebook(cells=[text, nbformat.v4.new_code_cell(outputs=[shown])])
    nbformat.write(notebook, tmp_path / "experiments/toy.ipynb")
    return tmp_path


def test_links_that_lead_somewhere_pass(folder):
    ledger_links.check(page(row(*TARGETS, "#t-001", "#all-numbers", "?paper=a&amp;k=2#all-numbers")), folder)


@pytest.mark.parametrize("address", TARGETS)
def test_a_missing_page_stops_the_build_and_is_named(folder, address):
    (folder / TARGETS[address]).unlink()
    name = address.partition("#")[0]
    with pytest.raises(ResultError, match=rf"t-001 links to {name};? ?.*Add the page") as error:
        ledger_links.check(page(row(*TARGETS)), folder)
    assert {target.partition("#")[0] for target in TARGETS if target.partition("#")[0] in str(error.value)} == {name}


@pytest.mark.parametrize(
    "address",
    [
        "experiments/toy.html#k2-verdict",
        "experiments/toy.html#k2-t-002",
        "papers/one/verdicts.html#title",
        "#t-002",
        "?k=2#all-rows",
    ],
)
def test_a_missing_section_stops_the_build(folder, address):
    with pytest.raises(ResultError, match=f"t-001 links to .*{address.partition('#')[2]}"):
        ledger_links.check(page(row(*TARGETS, address)), folder)


def test_the_stage_looks_up_the_links_of_the_ledger_it_wrote(folder, monkeypatch):
    made = {"ledger.md": page(row(*TARGETS, "_static/ledger.csv")), "_static/ledger.csv": "cell,ours\nt/001,2\n"}
    monkeypatch.setattr(ledger, "pages", lambda: dict(made))
    stage._write_ledger(folder)
    assert '"t/001": "t/001,2\\n"' in (folder / "_static/ledger-rows.mjs").read_text(encoding="utf-8")
    for name in (*made, "_static/ledger-rows.mjs", "data/cards/toy.md"):
        (folder / name).unlink()
    with pytest.raises(ResultError, match=r"t-001 links to data/cards/toy\.html"):
        stage._write_ledger(folder)


def test_many_missing_pages_are_counted(folder):
    with pytest.raises(ResultError, match="; and 2 more"):
        ledger_links.check(page(row(*(f"data/cards/{i}.html" for i in range(7)))), folder)


def test_rows_without_a_page_or_data_link_to_themselves_alone():
    blank = {"experiment": "", "execution": "", "tasks": "", "data_card": ""}
    assert ledger_links.of_number({"cell": "toy_k2/001"} | blank) == '<a href="#toy_k2-001">toy_k2/001</a>'


def test_a_number_leads_to_its_cell_on_the_page():
    given = {"cell": "t/001", "experiment": "vu2022-tables", "execution": "biodeg", "data_card": "biodeg"}
    given |= {"tasks": "biodeg-k3-rfpca biodeg-k3-fairpca", "ours": "0.1"}
    links = ledger_links.of_number(given)
    assert 'href="experiments/vu2022-tables.html#biodeg-t-001"' in links
    missing = ledger_links.of_number(given | {"ours": ""})
    assert 'href="experiments/vu2022-tables.html#biodeg"' in missing, "its table shows no number there"
    alone = given | {"experiment": "rathore2025-times", "execution": "table1", "tasks": ""}
    assert 'href="experiments/rathore2025-times.html#t-001"' in ledger_links.of_number(alone)
    unmarked = given | {"experiment": "vu2022-data", "execution": "table2", "tasks": ""}
    assert 'href="experiments/vu2022-data.html"' in ledger_links.of_number(unmarked), "its notebook marks no verdicts"
    assert links.count(">CSV<") == links.count(">record<") == 1, "both tasks stand in the files of one execution"
    assert 'href="_static/results/full/vu2022-tables/biodeg.json"' in links
    both = ledger_links.of_number(given | {"tasks": "biodeg-k3-rfpca ecoli-k3-rfpca"})
    assert both.count(">CSV<") == both.count(">record<") == 2


def test_a_claim_leads_to_the_page_that_answers_it_and_to_the_chapter():
    first = next(iter(experiment("vu2022-pareto").executions))
    shown = ledger_links.of_claim({"id": "V26", "paper": "vu2022", "experiment": "vu2022-pareto"})
    assert f'href="experiments/vu2022-pareto.html#{first}-claim-V26"' in shown
    assert 'href="papers/vu2022/verdicts.html#claim-V26"' in shown
    other = ledger_links.of_claim({"id": "V99", "paper": "vu2022", "experiment": "vu2022-pareto"})
    assert 'href="experiments/vu2022-pareto.html"' in other, "its notebook does not show it: no place"
    assert "experiments/" not in ledger_links.of_claim({"id": "V99", "paper": "vu2022", "experiment": ""})
