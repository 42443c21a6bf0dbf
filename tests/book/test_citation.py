"""The citation file is valid, says what the rest of the repository says, and gives the BibTeX of the book."""

import datetime
import re

import pytest
from pybtex.database import parse_string

from compendium import citation, paths

from .citation_format import faults

REQUIRED = {"authors", "cff-version", "message", "title"}
PAPERS = ("kleindessner2023", "vu2022", "lee2023", "rathore2025", "zhou2024")


@pytest.fixture
def cited() -> dict:
    return citation.citation()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"title": ""}, "title"),
        ({"message": None}, "message"),
        ({"cff-version": "1.1.0"}, "cff-version"),
        ({"colour": "red"}, "colour"),
        ({"authors": []}, "authors"),
        ({"authors": [{"nickname": "x"}]}, "authors/0"),
        ({"date-released": "2026-13-01"}, "date-released"),
        ({"date-released": datetime.date(2026, 11, 22)}, ""),
        ({"doi": "doi.org/10.1234/x"}, "doi"),
        ({"license": "BSD"}, "license"),
        ({"repository-code": "somewhere"}, "repository-code"),
        ({"identifiers": [{"type": "doi", "value": "x"}]}, "identifiers/0"),
        ({"references": [{"title": "x", "type": "article"}]}, "authors"),
        ({"references": [{"title": "x", "type": "paper", "authors": [{"name": "y"}]}]}, "references/0/type"),
    ],
)
def test_the_check_finds_what_is_wrong(cited, change, named):
    found = faults(cited | change)
    assert bool(found) == bool(named)
    assert named in " ".join(found)
    # A required key that is missing is told, and no other is.
    missing = {key: value for key, value in cited.items() if key not in change}
    assert any(repr(key) in fault for key in change for fault in faults(missing)) == (set(change) <= REQUIRED)


def test_it_is_valid_names_both_fields_and_invents_nothing(cited):
    assert faults(cited) == []
    assert "fair PCA" in cited["title"]
    assert "fair clustering" in cited["title"]
    # There is no release, no archive with an identifier and no public address: none may be claimed.
    changelog = (paths.root() / "CHANGELOG.md").read_text(encoding="utf-8")
    released = f"## [{cited['version']}]" in changelog
    assert ("date-released" in cited) == released
    assert not {"doi", "identifiers", "repository-code", "url", "preferred-citation"} & set(cited)


def test_its_references_are_those_of_the_bibliography(cited):
    entries = parse_string((paths.root() / "book" / "references.bib").read_text(encoding="utf-8"), "bibtex").entries
    assert [reference["notes"] for reference in cited["references"]] == list(PAPERS)
    for reference in cited["references"]:
        entry = entries[reference["notes"]]
        assert re.sub("[{}]", "", entry.fields["title"]) == reference["title"]
        assert entry.fields["year"] == str(reference["year"])
        assert entry.fields.get("booktitle") == reference.get("collection-title")
        assert entry.fields.get("note", "") == {"preprint": "Preprint"}.get(reference.get("status"), "")
        people = [(" ".join(p.last_names), " ".join(p.first_names + p.middle_names)) for p in entry.persons["author"]]
        assert people == [(author["family-names"], author["given-names"]) for author in reference["authors"]]
        assert not {"doi", "url"} & (set(reference) ^ set(entry.fields))


def test_bibtex_can_be_read(cited):
    text = citation.bibtex(cited, commit="ab12", changed=True)
    entry = parse_string(text, "bibtex").entries["evenspan"]
    assert entry.type == "software"
    assert entry.fields["version"] == str(cited["version"])
    assert entry.fields["title"].strip("{}") == cited["title"]
    assert entry.fields["note"] == "Unreleased, commit ab12 with changes"
    assert "year" not in entry.fields
    assert [" ".join(person.last_names) for person in entry.persons["author"]] == ["{The evenspan developers}"]
    for day in (datetime.date(2027, 3, 1), "2027-03-01"):
        entry = parse_string(citation.bibtex(cited | {"date-released": day}), "bibtex").entries["evenspan"]
        assert entry.fields["year"] == "2027"
        assert "note" not in entry.fields
    for reference in cited["references"]:
        entry = parse_string(citation.bibtex(reference, reference["notes"]), "bibtex").entries[reference["notes"]]
        assert entry.type == ("unpublished" if reference["type"] == "unpublished" else "inproceedings")
        assert len(entry.persons["author"]) == len(reference["authors"])
        assert entry.fields["year"] == str(reference["year"])
    text = citation.bibtex({"authors": [{"family-names": "O_1", "given-names": "A & B"}], "title": "5 % {x}"})
    assert r"author = {O\_1, A \& B}" in text
    assert r"title = {{5 \% \{x\}}}" in text


ROW = {"paper": "vu2022", "table": "Table 1", "dataset": "Image", "method": "PCA", "metric": "ARE", "k": "3"}
ROW |= {"cell": "t/007", "published": "8.2", "ours": "8.25", "verdict": "close"}
ROW |= {"experiment": "vu2022-tables", "execution": "image", "tasks": "image-pca"}


def test_a_number_is_cited_with_both_values_and_its_trail():
    assert citation.number(ROW, {"version": "0.1.0"}, "0123456789abcdef", True) == (
        "vu2022, Table 1, Image, PCA, ARE, k = 3: published 8.2, ours 8.25 (close). evenspan 0.1.0, commit 0123456789"
        "ab with changes, ledger t/007, experiment vu2022-tables, execution image, result image-pca."
    )
    bare = ROW | {"k": "", "ours": "", "verdict": "not computable", "experiment": "", "execution": "", "tasks": ""}
    assert citation.number(bare, {"version": "0.1.0"}) == (
        "vu2022, Table 1, Image, PCA, ARE: published 8.2, no number of ours (not computable). evenspan 0.1.0, "
        "ledger t/007."
    )
