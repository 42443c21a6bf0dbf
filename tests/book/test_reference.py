"""The pages of the reference: every public name on one of them, with an example and with the way to its derivation."""

import inspect

import pytest

from compendium import paths
from compendium.book import api, stage

PAGES = api.pages()
PLACES = stage.toc_pages(paths.root() / "_toc.yml")
METHODS = [page for page in PAGES if api.methods_of(page)]


def test_every_public_name_stands_on_one_page():
    listed = [one.full for some in PAGES.values() for one in some]
    assert sorted(listed) == sorted({one.full for one in api.names()})
    assert PAGES["FairPCA"][0].full == "evenspan.FairPCA"
    assert [one.name for one in PAGES["Audit"]] == ["Audit", "audit"]


def test_the_overview_shows_every_page():
    text = (paths.root() / "book" / "reference" / "api.md").read_text(encoding="utf-8")
    parts = [line.partition(":: ")[2].split() for line in text.splitlines() if line.startswith(".. public-names::")]
    shown = [page for part in parts for page, _ in api.overview(part)]
    assert sorted(shown) == sorted(PAGES)


#: Their examples would need raw data, or a whole experiment.
WITHOUT_EXAMPLE = {
    "compendium.data.celeba",
    "compendium.data.clustering_files",
    "compendium.data.fetch",
    "compendium.data.raw",
    "compendium.data.splits",
}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_has_an_example(page):
    docs = [inspect.getdoc(one.value) or "" for one in PAGES[page] if one.kind != "data"]
    assert any(">>> " in doc for doc in docs) == (page not in WITHOUT_EXAMPLE)


@pytest.mark.parametrize("page", METHODS)
def test_a_method_says_problem_guarantee_cost_and_source(page):
    doc = inspect.getdoc(PAGES[page][0].value)
    for part in ("Parameters", "Attributes", "Guarantees", "Complexity", "References", "Examples"):
        assert f"\n{part}\n---" in doc, part


@pytest.mark.parametrize("page", METHODS)
def test_a_method_leads_to_its_chapter_and_its_experiments(page):
    written = api.markdown(page, PLACES)
    # Standard PCA is derived nowhere.
    assert ("Derived in" in written) == (page != "StandardPCA")
    assert "Run by" in written
