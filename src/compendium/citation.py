"""How to cite: BibTeX made from ``CITATION.cff``, so that there is one place to correct."""

from collections.abc import Mapping
from typing import Any

import yaml

from . import paths, provenance

_ENTRY = {"conference-paper": "inproceedings", "article": "article", "unpublished": "unpublished", "book": "book"}
_TEXT = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}


def citation() -> dict[str, Any]:
    """``CITATION.cff`` as it was read."""
    return yaml.safe_load((paths.root() / "CITATION.cff").read_text(encoding="utf-8"))


def bibtex(cited: Mapping[str, Any], key: str = "evenspan", at: str = "") -> str:
    """A BibTeX entry of what a citation file says of the software ``at`` a commit, or of one of its references."""
    kind = cited.get("type", "software")
    software = kind in {"software", "dataset"}
    venue = {"conference-paper": "booktitle", "article": "journal"}.get(kind, "howpublished")
    if software:
        note = ["" if cited.get("date-released") else "Unreleased", at]
    else:
        status = str(cited.get("status", ""))
        note = [_escaped(status[:1].upper() + status[1:])]
    fields = {
        "author": " and ".join(_name(author) for author in cited["authors"]),
        # Double braces keep the capitals as they are written.
        "title": f"{{{_escaped(cited['title'])}}}",
        venue: _escaped(cited.get("collection-title") or cited.get("journal") or ""),
        "year": str(cited.get("year") or cited.get("date-released") or "")[:4],
        "version": _escaped(cited.get("version", "")) if software else "",
        "doi": cited.get("doi", ""),
        "url": cited.get("url") or cited.get("repository-code") or "",
        "note": ", ".join(filter(None, note)),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{'software' if software else _ENTRY.get(kind, 'misc')}{{{key},\n" + ",\n".join(lines) + "\n}"


def part(cited: Mapping[str, Any], key: str, title: str, place: str, at: str) -> str:
    """A BibTeX entry of a page of the compendium, with its place in the book of this version."""
    own = {key: cited[key] for key in ("authors", "date-released", "doi", "url", "repository-code") if key in cited}
    whole = f"{cited['title']}, version {cited['version']}"
    status = ", ".join(["" if "date-released" in cited else "unreleased", at, place]).lstrip(", ")
    return bibtex(own | {"type": "part", "title": title, "collection-title": whole, "status": status}, key)


def state() -> str:
    """The commit that is checked out, and whether the sources differ from it; empty outside of git."""
    commit, changed = provenance.commit()
    return "" if changed is None else f"commit {commit[:12]}{' with changes' if changed else ''}"


def _name(author: Mapping[str, str]) -> str:
    if "name" in author:
        return f"{{{_escaped(author['name'])}}}"
    family = " ".join(author[part] for part in ("name-particle", "family-names") if part in author)
    return ", ".join(_escaped(part) for part in (family, author.get("name-suffix"), author.get("given-names")) if part)


def _escaped(text: object) -> str:
    return "".join(_TEXT.get(sign, sign) for sign in str(text))
