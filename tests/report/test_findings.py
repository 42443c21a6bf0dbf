"""Findings: list, overview and sections agree; a section computes its evidence itself and can fail."""

import re

import pytest

from compendium import paths
from compendium.book import findings
from evenspan.core.errors import ResultError

BOOK = paths.root() / "book"
SECTION = re.compile(r"^\(finding-([a-z-]+)\)=\n###? (.+)$", re.MULTILINE)
PAPERS = sorted({one.paper for one in findings.FINDINGS})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_finding_has_one_section_on_the_page_of_its_paper(paper):
    text = (BOOK / "papers" / paper / "findings.md").read_text(encoding="utf-8")
    listed = {one.key: one.title for one in findings.FINDINGS if one.paper == paper}
    assert dict(SECTION.findall(text)) == listed
    for part in re.split(r"^\(finding-(?=[a-z-]+\)=)", text, flags=re.MULTILINE)[1:]:
        assert re.findall(r'findings\.(?:show|about)\("([a-z-]+)"\)', part) == [part.partition(")=")[0]]
        assert "findings.show(" in part or "assert " in part, "nothing in the section could be false"


def test_the_overview_types_no_result():
    """Prose may name theorem numbers, but no decimal fraction and no share."""
    text = (BOOK / "findings" / "index.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+|\d+ ?%", prose) == []


def test_the_overview_links_every_finding():
    keys = [one.key for one in findings.FINDINGS]
    assert len(keys) == len(set(keys))
    assert {kind for one in findings.FINDINGS for kind in one.kinds} == set(findings.KINDS)
    markup = findings.overview().data
    for one in findings.FINDINGS:
        assert f'href="../{one.page}.html#finding-{one.key}"' in markup
    with pytest.raises(ResultError, match="no finding 'luck'"):
        findings.about("luck")
