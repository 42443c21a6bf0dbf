"""Links of the ledger: to cells, claims, files and cards; that they exist is asked of the built book (test_site)."""

from compendium.ledger import page


def test_rows_without_a_page_or_data_link_to_themselves_alone():
    blank = {"experiment": "", "execution": "", "tasks": "", "data_card": ""}
    assert page.of_number({"cell": "toy_k2/001"} | blank) == '<a href="#toy_k2-001">toy_k2/001</a>'


def test_a_number_leads_to_its_page_and_files_and_a_claim_to_its_experiment_and_chapter():
    given = {"cell": "t/001", "experiment": "vu2022-tables", "execution": "biodeg", "data_card": "biodeg"}
    links = page.of_number(given | {"tasks": "biodeg-k3-rfpca biodeg-k3-fairpca"})
    assert 'href="experiments/vu2022-tables.html#biodeg"' in links
    assert links.count(">CSV<") == links.count(">record<") == 1, "both tasks stand in the files of one execution"
    assert 'href="_static/results/full/vu2022-tables/biodeg.json"' in links
    both = page.of_number(given | {"tasks": "biodeg-k3-rfpca ecoli-k3-rfpca"})
    assert both.count(">CSV<") == both.count(">record<") == 2
    claim = page.of_claim({"id": "V26", "paper": "vu2022", "experiment": "vu2022-pareto"})
    assert 'href="experiments/vu2022-pareto.html"' in claim
    assert 'href="papers/vu2022/verdicts.html#claim-V26"' in claim
