"""The Citation File Format 1.2.0 as rules, as far as this repository's file goes, now and once it is released.

Written from the format's guide. Of its keys, types and licences those are known that the file may need, so that another
one is a decision and not a typing error.
"""

import datetime
from typing import Any

import jsonschema

TEXT = {"type": "string", "minLength": 1}
VERSION = {"anyOf": [TEXT, {"type": "number"}]}
YEAR = {"type": "integer"}
URL = {"type": "string", "pattern": r"^(https?|s?ftp)://.+"}
DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "format": "date"}
DOI = {"type": "string", "pattern": r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+$"}
ORCID = {"type": "string", "pattern": r"^https://orcid\.org/(\d{4}-){3}\d{3}[\dX]$"}
LICENCE = {"enum": ["BSD-3-Clause", "CC-BY-4.0"]}


def mapping(required: str, **kinds: dict) -> dict:
    """A mapping that holds these keys, with hyphens for underscores, and no others."""
    properties = {key.replace("_", "-"): kind for key, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def several(kind: dict) -> dict:
    """A list of at least one, none twice."""
    return {"type": "array", "items": kind, "minItems": 1, "uniqueItems": True}


NAMES = {"given_names": TEXT, "family_names": TEXT, "name_particle": TEXT, "name_suffix": TEXT}
PEOPLE = several({"anyOf": [mapping("", **NAMES, orcid=ORCID), mapping("name", name=TEXT, website=URL)]})
IDENTIFIERS = several(
    {"anyOf": [mapping("type value", type={"const": k}, value=v) for k, v in {"doi": DOI, "url": URL}.items()]}
)
SHARED = {"authors": PEOPLE, "title": TEXT, "doi": DOI, "url": URL, "license": LICENCE, "repository_code": URL}
REFERENCE = mapping(
    "authors title type",
    **SHARED,
    type={"enum": ["article", "book", "conference-paper", "software", "unpublished"]},
    status={"enum": ["abstract", "advance-online", "in-preparation", "in-press", "preprint", "submitted"]},
    collection_title=TEXT,
    journal=TEXT,
    notes=TEXT,
    year=YEAR,
)
FILE = mapping(
    "authors cff-version message title",
    **SHARED,
    cff_version={"const": "1.2.0"},
    type={"enum": ["software", "dataset"]},
    abstract=TEXT,
    commit=TEXT,
    message=TEXT,
    date_released=DATE,
    identifiers=IDENTIFIERS,
    keywords=several(TEXT),
    version=VERSION,
    references=several(REFERENCE),
)


def faults(citation: Any) -> list[str]:
    """What is wrong with a citation file that has been read, as sentences; nothing if it is valid."""
    jsonschema.Draft7Validator.check_schema(FILE)
    validator = jsonschema.Draft7Validator(FILE, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    found = validator.iter_errors(_plain(citation))
    return sorted(f"{'/'.join(map(str, one.absolute_path)) or 'the file'}: {one.message[:200]}" for one in found)


def _plain(value: Any) -> Any:
    # YAML reads a date as a date; the format speaks of its text.
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value
