"""What is written into finished pages so that they can be cited, and what is not written twice."""

import re

import pytest

from compendium.book import addresses, citation

PAGE = """<article class="bd-article"><section id="gaps"><h1>Gaps \\(d\\)<a class="headerlink" href="#gaps">#</a></h1>
<figure class="align-default" id="fig-gap"><img src="x.svg"/><figcaption>
<p><span class="caption-number">Figure 16.1 </span><span class="caption-text">The gap. More.</span><a class="headerlink"
href="#fig-gap">#</a></p></figcaption></figure>
<table class="a"><caption>Numbers</caption><tr><td>1</td></tr></table><table><tr><td>2</td></tr></table>
<section id="errors"><table id="mine"><tr><td>3</td></tr></table></section></section>
</article><footer><p class="copyright">\xa9 x</p></footer>"""
NAME = "papers/vu2022/gaps.html"


@pytest.fixture
def cited():
    return addresses.Cited(citation.citation(), "0123456789abcdef", False)


def test_a_page_says_how_to_cite_it_its_paper_and_its_figures(cited):
    page = addresses.addressed(PAGE, NAME, cited, 18)
    entries = re.findall(r"@\w+\{([^,]+),", page)
    assert entries == ["evenspan-papers-vu2022-gaps", "vu2022", "evenspan-papers-vu2022-gaps-fig-gap"]
    assert "title = {{Gaps d}}" in page
    assert "title = {{Figure 16.1 The gap. In: Gaps d}}" in page
    assert "Chapter 18" in page
    assert page.count("commit 0123456789ab") == 4, "in the footer, in words, and in our two entries"
    assert '<a class="cite-link" href="#cite-fig-gap">' in page
    assert '<pre class="cite-entry" id="cite-fig-gap">' in page


def test_a_caption_leads_to_the_script_and_the_drawing_of_its_figure(cited):
    drawn = PAGE.replace("x.svg", "../../_images/x.svg")
    page = addresses.addressed(drawn, NAME, cited, 18, {"fig-gap", "fig-other"})
    links = re.findall(r'href="([^"]+)"', page.partition('class="figure-links">')[2].partition("</span>")[0])
    assert links == ["../../_static/figures/fig-gap.py", "../../_images/x.svg", "#cite-fig-gap"]
    assert addresses.addressed(page, NAME, cited, 18, {"fig-gap"}) == page
    assert ".py" not in addresses.addressed(drawn, NAME, cited, 18, {"fig-other"})


def test_every_table_has_a_name_and_one_with_a_caption_a_link(cited):
    page = addresses.addressed(PAGE, NAME, cited, 18)
    assert re.findall(r'<table[^>]* id="([^"]+)"', page) == ["gaps-table", "gaps-table-2", "mine"]
    assert re.search(r'<caption>Numbers.*href="#gaps-table".*</caption>', page)
    assert page.count('title="Link to this table"') == 1


def test_a_later_commit_changes_what_the_first_wrote_and_nothing_else(cited):
    first = addresses.addressed(PAGE, NAME, cited, 18)
    assert addresses.addressed(first, NAME, cited, 18) == first
    second = addresses.addressed(first, NAME, cited._replace(commit="fedcba9876543210"), 18)
    assert second == first.replace("0123456789ab", "fedcba987654")


def test_a_page_outside_of_the_contents_has_the_footer_alone(cited):
    page = addresses.addressed(PAGE, "genindex.html", cited, None)
    assert "made-of" in page
    assert "Cite this page" not in page


def test_without_a_repository_there_is_no_commit(cited):
    page = addresses.addressed(PAGE, NAME, cited._replace(commit=""), 18)
    assert "commit" not in page
    assert "Unreleased, papers/vu2022/gaps.html" in page
