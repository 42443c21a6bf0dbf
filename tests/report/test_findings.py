"""Findings: list and sections agree; a section computes its evidence itself and can fail."""

import re

import pytest

from compendium import paths
from compendium.book import findings

BOOK = paths.root() / "book"
LISTED = findings.listed()
SECTION = re.compile(r"^\(finding-([a-z-]+)\)=\n###? (.+)$", re.MULTILINE)
PAPERS = sorted(set(LISTED["paper"]))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_finding_has_one_section_on_the_page_of_its_paper(paper):
    text = (BOOK / "papers" / paper / "findings.md").read_text(encoding="utf-8")
    assert dict(SECTION.findall(text)) == LISTED.loc[LISTED["paper"] == paper, "title"].to_dict()
    for part in re.split(r"^\(finding-(?=[a-z-]+\)=)", text, flags=re.MULTILINE)[1:]:
        assert re.findall(r'findings\.(?:show|about)\("([a-z-]+)"\)', part) == [part.partition(")=")[0]]
        assert "findings.show(" in part or "assert " in part, "nothing in the section could be false"
