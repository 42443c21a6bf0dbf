"""The Citation File Format 1.2.0 as rules: which keys there are, what each holds, and which are required.

Written from the format's guide, without the lists of countries and of SPDX licences: of licences only those that this
repository may name are known, so that a new one is a decision and not a typing error.
"""

import datetime
from functools import cache
from typing import Any

import jsonschema

LICENCES = ["BSD-3-Clause", "CC-BY-4.0"]
TEXT = {"type": "string", "minLength": 1}
NUMBERED = {"anyOf": [TEXT, {"type": "number"}]}
WHOLE = {"anyOf": [TEXT, {"type": "integer"}]}
URL = {"type": "string", "pattern": r"^(https?|s?ftp)://.+"}
DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "format": "date"}
DOI = {"type": "string", "pattern": r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+$"}
ORCID = {"type": "string", "pattern": r"^https://orcid\.org/(\d{4}-){3}\d{3}[\dX]$"}
EMAIL = {"type": "string", "pattern": r"^\S+@\S+\.\S{2,}$"}
LICENCE = {"anyOf": [{"enum": LICENCES}, {"type": "array", "items": {"enum": LICENCES}, "minItems": 1}]}
SWH = {"type": "string", "pattern": "^swh:1:(snp|rel|rev|dir|cnt):[0-9a-fA-F]{40}$"}
IDENTIFIER = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"type": {"const": name}, "value": kind, "description": TEXT},
            "required": ["type", "value"],
            "additionalProperties": False,
        }
        for name, kind in (("doi", DOI), ("url", URL), ("swh", SWH), ("other", TEXT))
    ]
}


def mapping(required: list[str], **kinds: Any) -> dict:
    """A mapping that holds these keys and no others."""
    properties = {key: kind for keys, kind in kinds.values() for key in keys.split()}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def several(kind: dict) -> dict:
    """A list of at least one, none twice."""
    return {"type": "array", "items": kind, "minItems": 1, "uniqueItems": True}


ADDRESS = "address alias city fax region tel"
PERSON = mapping(
    [],
    text=(ADDRESS + " affiliation family-names given-names name-particle name-suffix", TEXT),
    country=("country", {"type": "string", "pattern": "^[A-Z]{2}$"}),
    email=("email", EMAIL),
    orcid=("orcid", ORCID),
    code=("post-code", NUMBERED),
    url=("website", URL),
)
ENTITY = mapping(
    ["name"],
    text=(ADDRESS + " location name", TEXT),
    country=("country", {"type": "string", "pattern": "^[A-Z]{2}$"}),
    date=("date-start date-end", DATE),
    email=("email", EMAIL),
    orcid=("orcid", ORCID),
    code=("post-code", NUMBERED),
    url=("website", URL),
)
PEOPLE = several({"anyOf": [PERSON, ENTITY]})
_TYPES = (
    "art article audiovisual bill blog book catalogue conference conference-paper data database dictionary edited-work "
    "encyclopedia film-broadcast generic government-document grant hearing historical-work legal-case legal-rule "
    "magazine-article manual map multimedia music newspaper-article pamphlet patent personal-communication proceedings "
    "report serial slides software software-code software-container software-executable software-virtual-machine "
    "sound-recording standard statute thesis unpublished video website"
)
REFERENCE = mapping(
    ["authors", "title", "type"],
    type=("type", {"enum": _TYPES.split(" ")}),
    status=("status", {"enum": ["abstract", "advance-online", "in-preparation", "in-press", "preprint", "submitted"]}),
    text=(
        "abbreviation abstract collection-title collection-type commit copyright data-type database department edition "
        "entry filename format issue-date issue-title journal medium nihmsid notes scope term thesis-type title "
        "volume-title",
        TEXT,
    ),
    people=("authors contact editors editors-series recipients senders translators", PEOPLE),
    entity=("conference database-provider institution location publisher", ENTITY),
    doi=("doi collection-doi", DOI),
    date=("date-accessed date-downloaded date-published date-released", DATE),
    number=("issue number section version", NUMBERED),
    whole=("end loc-end loc-start number-volumes pages start volume year year-original", WHOLE),
    month=("month", {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 12}, {"enum": [*map(str, range(1, 13))]}]}),
    url=("license-url repository repository-artifact repository-code url", URL),
    licence=("license", LICENCE),
    identifiers=("identifiers", several(IDENTIFIER)),
    words=("keywords patent-states", several(TEXT)),
    languages=("languages", several({"type": "string", "pattern": "^[a-z]{2,3}$"})),
    isbn=("isbn", {"type": "string", "pattern": r"^[0-9\- ]{10,17}X?$"}),
    issn=("issn", {"type": "string", "pattern": r"^\d{4}-\d{3}[\dxX]$"}),
    pmcid=("pmcid", {"type": "string", "pattern": r"^PMC[0-9]{7}$"}),
)
FILE = mapping(
    ["authors", "cff-version", "message", "title"],
    version_of_format=("cff-version", {"const": "1.2.0"}),
    type=("type", {"enum": ["software", "dataset"]}),
    text=("abstract commit message title", TEXT),
    people=("authors contact", PEOPLE),
    date=("date-released", DATE),
    doi=("doi", DOI),
    identifiers=("identifiers", several(IDENTIFIER)),
    words=("keywords", several(TEXT)),
    licence=("license", LICENCE),
    url=("license-url repository repository-artifact repository-code url", URL),
    version=("version", NUMBERED),
    reference=("preferred-citation", REFERENCE),
    references=("references", several(REFERENCE)),
)


@cache
def _validator() -> jsonschema.Draft7Validator:
    jsonschema.Draft7Validator.check_schema(FILE)
    return jsonschema.Draft7Validator(FILE, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


def faults(citation: Any) -> list[str]:
    """What is wrong with a citation file that has been read, as sentences; nothing if it is valid."""
    found = _validator().iter_errors(_plain(citation))
    return sorted(f"{'/'.join(map(str, one.absolute_path)) or 'the file'}: {one.message[:200]}" for one in found)


def _plain(value: Any) -> Any:
    # YAML reads a date as a date; the format speaks of its text.
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value
