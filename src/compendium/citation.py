"""How to cite: BibTeX made from ``CITATION.cff``, so that there is one place to correct."""

from collections.abc import Mapping
from typing import Any

import yaml

from . import paths

_ENTRY = {"conference-paper": "inproceedings", "article": "article", "unpublished": "unpublished", "book": "book"}
_TEXT = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}


def citation() -> dict[str, Any]:
    """``CITATION.cff`` as it was read."""
    return yaml.safe_load((paths.root() / "CITATION.cff").read_text(encoding="utf-8"))


def bibtex(cited: Mapping[str, Any], key: str = "evenspan", *, commit: str = "", changed: bool = False) -> str:
    """A BibTeX entry of what a citation file says of the software, or of one of its references.

    ``commit`` is empty where there is none; ``changed`` says whether the sources differ from it.
    """
    kind = cited.get("type", "software")
    software = kind in {"software", "dataset"}
    venue = {"conference-paper": "booktitle", "article": "journal"}.get(kind, "howpublished")
    if software:
        note = ["" if cited.get("date-released") else "Unreleased"]
        note += [f"commit {commit}" + (" with changes" if changed else "")] if commit else []
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


def part(cited: Mapping[str, Any], key: str, title: str, place: str, commit: str = "", changed: bool = False) -> str:
    """A BibTeX entry of a page, a figure or a number of the compendium, with its place in the book of this version."""
    whole = f"{cited['title']}, version {cited['version']}"
    own = {key: cited[key] for key in ("authors", "date-released", "doi", "url", "repository-code") if key in cited}
    at = state(cited, commit, changed).partition(", ")[2]
    status = ", ".join(filter(None, ["" if "date-released" in cited else "unreleased", at, place]))
    return bibtex(own | {"type": "part", "title": title, "collection-title": whole, "status": status}, key)


def state(cited: Mapping[str, Any], commit: str = "", changed: bool = False) -> str:
    """Version and, where there is one, commit, as they stand in a reference in words."""
    at = f", commit {commit[:12]}{' with changes' if changed else ''}" if commit else ""
    return f"evenspan {cited['version']}{at}"


def number(row: Mapping[str, Any], cited: Mapping[str, Any], commit: str = "", changed: bool = False) -> str:
    """How to cite one number of the ledger: what it is, both values, where it is found and which result it rests on."""
    what = ", ".join(str(row[name]) for name in ("paper", "table", "dataset", "method", "metric") if row[name])
    size = f", k = {row['k']}" if row["k"] else ""
    ours = f"ours {row['ours']}" if row["ours"] else "no number of ours"
    found = [("experiment", row["experiment"]), ("execution", row["execution"]), ("result", row["tasks"])]
    trail = "".join(f", {name} {value}" for name, value in found if value)
    said = f"published {row['published']}, {ours} ({row['verdict']})"
    return f"{what}{size}: {said}. {state(cited, commit, changed)}, ledger {row['cell']}{trail}."


def _name(author: Mapping[str, str]) -> str:
    if "name" in author:
        return f"{{{_escaped(author['name'])}}}"
    family = " ".join(author[part] for part in ("name-particle", "family-names") if part in author)
    return ", ".join(_escaped(part) for part in (family, author.get("name-suffix"), author.get("given-names")) if part)


def _escaped(text: object) -> str:
    return "".join(_TEXT.get(sign, sign) for sign in str(text))
