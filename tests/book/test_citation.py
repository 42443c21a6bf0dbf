"""The citation file says what the rest of the repository says, and gives the BibTeX of the book."""

import datetime
import re

import pytest
from pybtex.database import parse_string

from compendium import citation, paths


@pytest.fixture
def cited() -> dict:
    return citation.citation()


def test_it_has_what_is_required_and_invents_nothing(cited):
    assert {"authors", "cff-version", "message", "title", "version", "license"} <= set(cited)
    assert (cited["cff-version"], cited["license"]) == ("1.2.0", "BSD-3-Clause")
    # There is no release, no archive with an identifier and no public address: none may be claimed.
    released = f"## [{cited['version']}]" in (paths.root() / "CHANGELOG.md").read_text(encoding="utf-8")
    assert ("date-released" in cited) == released
    assert not {"doi", "identifiers", "repository-code", "url", "preferred-citation"} & set(cited)


def test_its_references_are_those_of_the_bibliography(cited):
    entries = parse_string((paths.root() / "book" / "references.bib").read_text(encoding="utf-8"), "bibtex").entries
    papers = ["kleindessner2023", "vu2022", "lee2023", "rathore2025", "zhou2024"]
    assert [reference["notes"] for reference in cited["references"]] == papers
    for reference in cited["references"]:
        entry = entries[reference["notes"]]
        assert re.sub("[{}]", "", entry.fields["title"]) == reference["title"]
        assert entry.fields["year"] == str(reference["year"])
        assert entry.fields.get("booktitle") == reference.get("collection-title")
        people = [(" ".join(p.last_names), " ".join(p.first_names + p.middle_names)) for p in entry.persons["author"]]
        assert people == [(author["family-names"], author["given-names"]) for author in reference["authors"]]
        made = parse_string(citation.bibtex(reference, "one"), "bibtex").entries["one"]
        assert made.type == ("unpublished" if reference["type"] == "unpublished" else "inproceedings")
        assert (len(made.persons["author"]), made.fields["year"]) == (len(people), str(reference["year"]))


def test_bibtex_can_be_read(cited):
    released = cited | {"date-released": datetime.date(2027, 3, 1)}
    for given, year, note in ((cited, None, "Unreleased, commit ab12"), (released, "2027", "commit ab12")):
        entry = parse_string(citation.bibtex(given, at="commit ab12"), "bibtex").entries["evenspan"]
        assert (entry.type, entry.fields["version"]) == ("software", str(cited["version"]))
        assert (entry.fields.get("year"), entry.fields.get("note")) == (year, note)
    part = parse_string(citation.part(cited, "p", "A page", "a.html", "commit ab12"), "bibtex").entries["p"]
    assert part.fields["note"] == "Unreleased, commit ab12, a.html"
    text = citation.bibtex({"authors": [{"family-names": "O_1", "given-names": "A & B"}], "title": "5 % {x}"})
    assert r"author = {O\_1, A \& B}" in text
    assert r"title = {{5 \% \{x\}}}" in text
