"""Links of the ledger: to cells, claims, files and cards; that they exist is asked of the built book (test_site)."""

from compendium.catalogue import experiment
from compendium.ledger import links as ledger_links


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
