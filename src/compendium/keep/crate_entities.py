"""What the results of the crate refer to: columns, licences, papers, data sets, and the programs that ran."""

import importlib.metadata
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from evenspan.core.errors import RegistryError, ResultError

from .. import data as datasets
from .. import provenance
from . import citation

Entity = dict[str, Any]

#: What each column of a result holds. A column that is not described here stops the crate.
COLUMNS = {
    "task": "Name of the task that computed the row; its record is under this name.",
    "dataset": "Name of the data set in the registry, or of the generated data.",
    "method": "Name of the method, as in the table of the paper where it is one of the paper's.",
    "k": "Number of components or clusters; empty where the row has none.",
    "split": "Number of the train and test split, from 0, or 'all' where the row is about all of them.",
    "protocol": "Which sample was measured and how: for instance released, held-out, in-sample.",
    "metric": "What was measured, with its unit: a leading % means per cent.",
    "value": "The measured number, as the shortest decimals that read back to the same float; empty with a reason.",
    "reason": "Why there is no value.",
    "alpha": "Radius or step of the method, as the paper calls it.",
    "block": "Rows in one block of a stream.",
    "blocks": "Number of blocks of a stream.",
    "chunks": "Number of chunks that the table was cut into.",
    "counts": "Rows of each group in each cluster, as text.",
    "d": "Number of features.",
    "lambda": "Weight of the penalty.",
    "m": "Number of directions removed.",
    "n": "Number of rows.",
    "parameter": "Setting of the method that the row belongs to.",
    "pixel": "Number of the pixel, from 0, row by row.",
    "point": "Number of the point on the curve, from 0.",
    "size": "Rows in one block.",
    "variant": "Which reading of the paper the row follows.",
    "weight": "Weight of the fairness term.",
    "workers": "Number of processes.",
}
_LICENCES = {
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY-SA 3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
    "CC0 1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "BSD-3-Clause": "https://spdx.org/licenses/BSD-3-Clause",
}


def ref(entity: Mapping[str, Any] | str) -> dict[str, str]:
    """A reference to an entity."""
    return {"@id": entity if isinstance(entity, str) else entity["@id"]}


def several(refs: list[Any]) -> Any:
    """A list, or its only member: the format writes one value without a list."""
    return refs[0] if len(refs) == 1 else refs


def slug(text: str) -> str:
    """Letters, digits, dots and hyphens only, for use in an identifier.

    >>> slug("Matthäus Kleindessner (2023)")
    'matthaus-kleindessner-2023'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-.")


def property_value(kind: str, value: object, description: str) -> Entity:
    """A named value that many results share: a seed, a commit, the digest of the code."""
    return {
        "@id": f"#{kind}-{slug(str(value))}",
        "@type": "PropertyValue",
        "name": kind,
        "value": "none" if value is None else value,
        "description": description,
    }


def column(name: str) -> Entity:
    """The description of one column."""
    if name not in COLUMNS:
        raise ResultError(
            f"The column {name!r} of the results has no description. Add it to COLUMNS in report/crate_entities.py."
        )
    return {"@id": f"#column-{slug(name)}", "@type": "PropertyValue", "name": name, "description": COLUMNS[name]}


def licence(text: str) -> Entity:
    """The licence that a registry entry states: a known one by its address, any other in the words of the entry."""
    for name, address in _LICENCES.items():
        if text.startswith(name):
            return {
                "@id": address,
                "@type": "CreativeWork",
                "name": name,
                "description": f"The whole text is at {address}",
            }
    return {
        "@id": f"#licence-{slug(text)}",
        "@type": "CreativeWork",
        "name": text,
        "description": "As generally stated by the publisher; not checked legally.",
    }


def papers() -> dict[str, list[Entity]]:
    """By key: the paper itself and, after it, its authors."""
    found = {}
    for cited in citation.citation()["references"]:
        people = [
            {
                "@id": f"#person-{slug(author['given-names'] + ' ' + author['family-names'])}",
                "@type": "Person",
                "name": f"{author['given-names']} {author['family-names']}",
                "givenName": author["given-names"],
                "familyName": author["family-names"],
            }
            for author in cited["authors"]
        ]
        paper = {
            "@id": f"#paper-{cited['notes']}",
            "@type": "ScholarlyArticle",
            "name": cited["title"],
            "author": several([ref(person) for person in people]),
            "datePublished": str(cited["year"]),
        }
        if "collection-title" in cited:
            paper["isPartOf"] = ref(f"#venue-{slug(cited['collection-title'])}")
            venue = {"@type": "PublicationVolume", "name": cited["collection-title"]}
            people.append({"@id": paper["isPartOf"]["@id"], **venue})
        found[cited["notes"]] = [paper, *people]
    return found


def made_from(name: str, checksum: str) -> list[Entity]:
    """What a record names under ``data``: a data set, one of its raw files, or a file of this repository."""
    if name.startswith(f"{provenance.SET} "):
        return data_set(name.removeprefix(f"{provenance.SET} "), checksum)
    folder, _, file = name.rpartition("/")
    if provenance.data_now(name) == checksum:
        for entry in map(datasets.entry, datasets.names()):
            if entry.folder == folder and any(one.name == file for one in entry.files):
                return data_set(entry.name, entry.checksum())
    own = {"@type": "DataDownload", "name": name, "sha256": checksum}
    return [{"@id": f"#file-{slug(name)}-{checksum[:12]}", **own}]


def data_set(name: str, checksum: str) -> list[Entity]:
    """A data set as it was when results were made from it, its licence, and where its files come from."""
    try:
        entry = datasets.entry(name)
    except RegistryError:
        return []  # generated data have no file and no licence
    now = checksum == entry.checksum()
    terms = licence(entry.licence)
    files = [
        {
            "@id": f"#file-{slug(name)}-{slug(file.name)}",
            "@type": "DataDownload",
            "name": file.name,
            "contentSize": str(file.bytes),
            "sha256": file.sha256,
            **({"contentUrl": file.url} if file.url else {}),
        }
        for file in (entry.files if now else ())
    ]
    described = {
        "@id": f"#data-{slug(name)}" + ("" if now else f"-{checksum[:12]}"),
        "@type": "Dataset",
        "name": entry.title if now else f"{entry.title}, an earlier state",
        "description": f"{entry.rows} rows, {entry.features} features. Sensitive attribute: {entry.sensitive}. "
        f"Licence as stated: {entry.licence}.",
        "identifier": f"sha256:{checksum}",
        "license": ref(terms),
        **({"distribution": several([ref(file) for file in files])} if files else {}),
        **({"url": entry.origin} if entry.origin.startswith("http") else {}),
    }
    return [described, terms, *files]


def software(version: str) -> list[Entity]:
    """The program, and those who publish it."""
    cited = citation.citation()
    makers = {"@id": "#developers", "@type": "Organization", "name": cited["authors"][0]["name"]}
    program = {
        "@id": "#evenspan",
        # Not a SoftwareApplication, which must have a public address.
        "@type": "CreativeWork",
        "name": "evenspan",
        "description": cited["abstract"].strip(),
        "version": version,
        "license": ref(licence(cited["license"])),
        "author": ref(makers),
    }
    language = {
        "@id": "#python",
        "@type": "ComputerLanguage",
        "name": "Python",
        "url": "https://www.python.org/",
        "version": importlib.metadata.metadata("evenspan")["Requires-Python"],
    }
    return [program, makers, language, licence(cited["license"])]


def unique(entities: Iterable[Entity]) -> list[Entity]:
    """Each identifier once; two different entities under one identifier are an error."""
    found: dict[str, Entity] = {}
    for entity in entities:
        if found.setdefault(entity["@id"], entity) != entity:
            raise ResultError(f"Two entities of the crate are called {entity['@id']}; give one another name.")
    return list(found.values())
