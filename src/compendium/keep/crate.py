"""The results as an RO-Crate: a folder whose ``ro-crate-metadata.json`` says what every file is and how it was made.

One folder for each experiment with its results (CSV) and their records (JSON), one of each for an execution; one action
for each experiment, with the protocol as its instrument, the data sets with checksum and licence as its objects, and
the papers as citations. Seeds, commits and digests of the code are those that the records state for the tasks. The
same results give the same bytes.
"""

import importlib.metadata
import re
import shutil
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from evenspan.core.errors import ConfigurationError, RegistryError, ResultError

from .. import data as datasets
from .. import paths, provenance, records, states, store
from ..catalogue import Experiment, catalogue, experiment
from .citation import citation

Entity = dict[str, Any]
#: The version of this program.
PROGRAM_VERSION = importlib.metadata.version("evenspan")
METADATA = "ro-crate-metadata.json"
#: The version of the format; its vocabulary comes with the package rocrate, so that it can be checked offline.
VERSION = "1.3"
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


def entity(identifier: str, kind: str | list[str], /, **properties: Any) -> Entity:
    """What the crate says of one thing, under an identifier; a property that is None is left out."""
    return {"@id": identifier, "@type": kind} | {key: value for key, value in properties.items() if value is not None}


def ref(one: Mapping[str, Any] | str) -> dict[str, str]:
    """A reference to an entity."""
    return {"@id": one if isinstance(one, str) else one["@id"]}


def refs(some: Iterable[Mapping[str, Any] | str]) -> Any:
    """References as a list, or the only one: the format writes one value without a list; None where there is none."""
    found = [ref(one) for one in some]
    return found[0] if len(found) == 1 else found or None


def slug(text: str) -> str:
    """Letters, digits, dots and hyphens only, for use in an identifier.

    >>> slug("Matthäus Kleindessner (2023)")
    'matthaus-kleindessner-2023'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-.")


def unique(entities: Iterable[Entity]) -> list[Entity]:
    """Each identifier once; two different entities under one identifier are an error."""
    found: dict[str, Entity] = {}
    for one in entities:
        if found.setdefault(one["@id"], one) != one:
            raise ResultError(f"Two entities of the crate are called {one['@id']}; give one another name.")
    return list(found.values())


def write(folder: Path, only: Collection[str] | None = None) -> Path:
    """Write the results, or those of some experiments, and their description into a folder; returns the description.

    The folder is new, empty or holds an earlier crate, which is replaced.
    """
    try:
        from rocrate.rocrate import ROCrate
    except ModuleNotFoundError:
        raise ConfigurationError(
            "The package rocrate is not installed, and a crate is made with it: pip install 'evenspan[book]'"
        ) from None
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file; a crate needs a folder: name another.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / METADATA).is_file():
        raise ConfigurationError(f"{folder} holds other files and no {METADATA}; name an empty or a new folder.")
    root, described, sources = _described(only)
    shutil.rmtree(folder, ignore_errors=True)
    crate = ROCrate(version=VERSION, gen_preview=False)
    for one in described:
        name, properties = one["@id"], {key: value for key, value in one.items() if key != "@id"}
        if name in sources:
            crate.add_file(sources[name], name, properties=properties)
        elif name.endswith("/") and "://" not in name:
            crate.add_dataset(dest_path=name, properties=properties)
        else:
            crate.add_jsonld(dict(one))
    for key, value in root.items():  # last: adding files extends hasPart
        if not key.startswith("@"):
            crate.root_dataset[key] = value
    crate.metadata["name"] = "Description of this crate"
    crate.write(folder)
    return folder / METADATA


class _Part(NamedTuple):
    """What the crate says of one experiment; the first of the files is its protocol."""

    paper: str
    folder: Entity
    action: Entity
    files: list[tuple[Entity, Path]]
    about: list[Entity]


def _described(only: Collection[str] | None) -> tuple[Entity, list[Entity], dict[str, Path]]:
    """The root, every other entity once, and the files by the identifier under which they are described."""
    folders = {one.name for one in paths.results().iterdir() if one.is_dir()}
    known = catalogue()
    for name in only or ():
        experiment(name)
    if unknown := sorted(folders - known.keys()):
        raise ResultError(f"There are results of {', '.join(unknown)}, which experiments.yml does not name. Add it.")
    cited = papers()
    wanted = [known[name] for name in known if name in folders and name in (only or folders)]
    parts = [part for entry in wanted if (part := _of_experiment(entry, cited))]
    if not parts:
        raise ResultError(f"{paths.results('full')} holds no results. Restore it from the repository, or: make full")
    finished = max(part.folder["dateModified"] for part in parts)
    own = licence("BSD-3-Clause")
    protocols = entity(
        "protocols/",
        "Dataset",
        name="Protocols",
        description="The program of each experiment, without the library that it calls.",
        hasPart=refs(unique(part.files[0][0] for part in parts)),
        dateModified=finished,
        license=ref(own),
    )
    used = {part.paper for part in parts}
    root = entity(
        "./",
        "Dataset",
        name="Results of evenspan, the reproducible compendium of fair PCA and fair clustering",
        description="Tidy tables of every full run, one folder for each experiment; beside each table its record with "
        "parameters, seed, commit, versions and digests of every task in it.",
        # The last run, not the day on which somebody writes this folder.
        datePublished=finished,
        version=PROGRAM_VERSION,
        license=ref(own),
        creator=ref("#developers"),
        publisher=ref("#developers"),
        # The papers. The format wants an absolute address in 'citation', and none of them is known here.
        isBasedOn=refs(cited[key][0] for key in cited if key in used) or [],
        hasPart=refs([*(part.folder for part in parts), protocols]),
        mentions=refs(part.action for part in parts),
    )
    files = [file for part in parts for file in part.files]
    about = [*software(), *(one for part in parts for one in [*cited.get(part.paper, ()), *part.about])]
    described = [*(part.folder for part in parts), protocols, *unique(one for one, _ in files)]
    return (
        root,
        described + unique([*about, *(part.action for part in parts)]),
        {one["@id"]: path for one, path in files},
    )


def _of_experiment(entry: Experiment, cited: Mapping[str, list[Entity]]) -> _Part | None:
    units: dict[str, list[dict]] = {}
    for unit in store.read_records(entry.id).values():
        units.setdefault(unit["file"], []).append(unit)
    if not units:
        return None
    store.read_results(entry.id)  # a unit whose rows are not those of its record is an error that names it
    files, results, columns, data, about = [], [], {}, {}, []
    for name, inside in sorted(units.items()):
        table = store.folder_of(entry.id) / f"{name}.csv"
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
        if others := set(rows["task"]) - {unit["unit"] for unit in inside}:
            raise ResultError(
                f"{table} has rows of {', '.join(sorted(others))}, which its record does not describe. Restore it from "
                f"the repository, or: python -m compendium run {entry.id} --profile full"
            )
        columns |= dict.fromkeys(rows.columns)
        made = unique(one for unit in inside for one in _made_of(unit))
        inputs = [found for unit in inside for one in unit["data"].items() if (found := made_from(*one))]
        data |= {found[0]["@id"]: found[0] for found in inputs}
        about += [*made, *(one for found in inputs for one in found)]
        finished = {"dateModified": max(unit["finished"] for unit in inside)}
        said = f"Rows of {len(inside)} tasks of {entry.id}"
        result = _file(f"{entry.id}/{table.name}", table, "text/csv", said, **finished)
        result["additionalProperty"] = refs(made)
        if inputs:
            result["isBasedOn"] = refs(sorted({found[0]["@id"] for found in inputs}))
        record = table.with_suffix(".json")
        said = f"Record of every task in {table.name}"
        own = _file(f"{entry.id}/{record.name}", record, "application/json", said, **finished, about=ref(result))
        files += [(result, table), (own, record)]
        results.append(result)
    last = max(result["dateModified"] for result in results)
    script = paths.root() / entry.notebook
    name = "-".join(Path(entry.notebook).parts[1:])
    protocol = _file(
        f"protocols/{name}",
        script,
        "application/x-ipynb+json",
        "A protocol: what is computed, on which data, with which settings. As it is now; the records name the digest "
        "of the code that ran.",
        programmingLanguage=ref("#python"),
        version=PROGRAM_VERSION,
        isPartOf=ref("#evenspan"),
    )
    protocol["@type"], protocol["name"] = ["File", "SoftwareSourceCode"], name
    described = [column(name) for name in columns]
    folder = entity(
        f"{entry.id}/",
        "Dataset",
        name=entry.title,
        description=f"Results of the experiment {entry.id}, one table for each execution; "
        f"{states.summary(entry.id)} when this was written.",
        hasPart=[ref(file) for file, _ in files],
        variableMeasured=[ref(one) for one in described],
        dateModified=last,
        license=ref(licence("BSD-3-Clause")),
        isBasedOn=ref(cited[entry.paper][0]) if entry.paper in cited else None,
    )
    action = entity(
        f"#run-{entry.id}",
        "CreateAction",
        name=f"Full run of {entry.id}",
        description=f"python -m compendium run {entry.id} --profile full; {entry.notebook} shows the results.",
        instrument=ref(protocol),
        agent=ref("#developers"),
        endTime=last,
        actionStatus="http://schema.org/CompletedActionStatus",
        result=refs(results),
        object=refs(sorted(data)),
    )
    return _Part(entry.paper, folder, action, [(protocol, script), *files], [*described, *about])


def _file(name: str, path: Path, kind: str, description: str, **properties: Any) -> Entity:
    content = path.read_bytes()
    return entity(
        name,
        "File",
        name=path.name,
        description=description,
        encodingFormat=kind,
        contentSize=str(len(content)),
        sha256=records.digest(content),
        **properties,
    )


def _made_of(unit: Mapping[str, Any]) -> list[Entity]:
    """Named values that many results share: with what a task was computed; a file has those of all its tasks."""
    code = unit["code"] and records.digest(records.to_json(unit["code"]))
    seed = "none" if unit["seed"] is None else unit["seed"]
    said = (
        ("seed", seed, "Seed of every random choice, as the record states it."),
        ("commit", unit["commit"], "Commit of the sources that computed the result."),
        ("code", code, "SHA-256 of the list of loaded sources with their digests that the record holds."),
        ("lock", unit["lock_sha256"], "SHA-256 of requirements.lock when the result was computed."),
    )
    return [
        entity(f"#{kind}-{slug(str(value))}", "PropertyValue", name=kind, value=value, description=description)
        for kind, value, description in said
        if value is not None
    ]


def column(name: str) -> Entity:
    """The description of one column."""
    if name not in COLUMNS:
        raise ResultError(f"The column {name!r} of the results has no description. Add it to COLUMNS in keep/crate.py.")
    return entity(f"#column-{slug(name)}", "PropertyValue", name=name, description=COLUMNS[name])


def licence(text: str) -> Entity:
    """The licence that a registry entry states: a known one by its address, any other in the words of the entry."""
    for name, address in _LICENCES.items():
        if text.startswith(name):
            return entity(address, "CreativeWork", name=name, description=f"The whole text is at {address}")
    said = "As generally stated by the publisher; not checked legally."
    return entity(f"#licence-{slug(text)}", "CreativeWork", name=text, description=said)


def papers() -> dict[str, list[Entity]]:
    """By key: the paper itself and, after it, its authors and where it was published."""
    found = {}
    for cited in citation()["references"]:
        about = []
        for author in cited["authors"]:
            given, family = author["given-names"], author["family-names"]
            name = f"{given} {family}"
            about.append(entity(f"#person-{slug(name)}", "Person", name=name, givenName=given, familyName=family))
        authors = refs(about)
        venue = None
        if "collection-title" in cited:
            name = cited["collection-title"]
            venue = entity(f"#venue-{slug(name)}", "PublicationVolume", name=name)
            about.append(venue)
        paper = entity(
            f"#paper-{cited['notes']}",
            "ScholarlyArticle",
            name=cited["title"],
            author=authors,
            datePublished=str(cited["year"]),
            isPartOf=venue and ref(venue),
        )
        found[cited["notes"]] = [paper, *about]
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
    return [entity(f"#file-{slug(name)}-{checksum[:12]}", "DataDownload", name=name, sha256=checksum)]


def data_set(name: str, checksum: str) -> list[Entity]:
    """A data set as it was when results were made from it, its licence, and where its files come from."""
    try:
        entry = datasets.entry(name)
    except RegistryError:
        return []  # generated data have no file and no licence
    now = checksum == entry.checksum()
    terms = licence(entry.licence)
    files = [
        entity(
            f"#file-{slug(name)}-{slug(file.name)}",
            "DataDownload",
            name=file.name,
            contentSize=str(file.bytes),
            sha256=file.sha256,
            contentUrl=file.url or None,
        )
        for file in (entry.files if now else ())
    ]
    described = entity(
        f"#data-{slug(name)}" + ("" if now else f"-{checksum[:12]}"),
        "Dataset",
        name=entry.title if now else f"{entry.title}, an earlier state",
        description=f"{entry.rows} rows, {entry.features} features. Sensitive attribute: {entry.sensitive}. "
        f"Licence as stated: {entry.licence}.",
        identifier=f"sha256:{checksum}",
        license=ref(terms),
        distribution=refs(files),
        url=entry.origin if entry.origin.startswith("http") else None,
    )
    return [described, terms, *files]


def software() -> list[Entity]:
    """The program, those who publish it, its language and its licence."""
    cited = citation()
    makers = entity("#developers", "Organization", name=cited["authors"][0]["name"])
    terms = licence(cited["license"])
    program = entity(
        "#evenspan",
        "CreativeWork",  # not a SoftwareApplication, which must have a public address
        name="evenspan",
        description=cited["abstract"].strip(),
        version=PROGRAM_VERSION,
        license=ref(terms),
        author=ref(makers),
    )
    language = entity(
        "#python",
        "ComputerLanguage",
        name="Python",
        url="https://www.python.org/",
        version=importlib.metadata.metadata("evenspan")["Requires-Python"],
    )
    return [program, makers, language, terms]
