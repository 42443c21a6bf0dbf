"""The results as an RO-Crate: a folder whose ``ro-crate-metadata.json`` says what every file is and how it was made.

One folder for each experiment with its results (CSV) and their records (JSON), one of each for an execution; one action
for each experiment, with the protocol as its instrument, the data sets with checksum and licence as its objects, and
the papers as citations. Seeds, commits and digests of the code are those that the records state for the tasks. The
same results give the same bytes.
"""

import importlib.metadata
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from evenspan.core.errors import ConfigurationError, ResultError

from .. import paths, records, states, store
from ..catalogue import Experiment, catalogue, experiment
from . import crate_entities as entities
from .crate_entities import Entity, ref, several

METADATA = "ro-crate-metadata.json"
#: The version of the format; its vocabulary comes with the package rocrate, so that it can be checked offline.
VERSION = "1.3"


def write(folder: Path, only: Collection[str] | None = None) -> Path:
    """Write the results and their description into an empty folder, or into one that holds an earlier crate.

    Parameters
    ----------
    folder : Path
        Where; what an earlier crate left there is removed.
    only : collection of str, optional
        Experiments to describe; all by default.

    Returns
    -------
    Path
        The file that describes the folder.
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
    described = _described(only)
    shutil.rmtree(folder, ignore_errors=True)
    crate = ROCrate(version=VERSION, gen_preview=False)
    for entity, source in described:
        own = {key: value for key, value in entity.items() if key != "@id"}
        if source is not None:
            crate.add_file(source, entity["@id"], properties=own)
        elif entity["@id"].endswith("/") and entity["@id"] != "./" and "://" not in entity["@id"]:
            crate.add_dataset(dest_path=entity["@id"], properties=own)
        elif entity["@id"] != "./":
            crate.add(_context(crate, entity))
    for key, value in described[0][0].items():  # last: adding files extends hasPart
        if not key.startswith("@"):
            crate.root_dataset[key] = value
    crate.metadata["name"] = "Description of this crate"
    crate.write(folder)
    return folder / METADATA


def _context(crate: Any, entity: Entity) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return ContextEntity(crate, entity["@id"], properties={k: v for k, v in entity.items() if k != "@id"})


def _described(only: Collection[str] | None) -> list[tuple[Entity, Path | None]]:
    """Every entity, the root first, with the file that it describes."""
    folders = {one.name for one in paths.results().iterdir() if one.is_dir()}
    known = catalogue()
    for name in only or ():
        experiment(name)
    if unknown := sorted(folders - known.keys()):
        raise ResultError(f"There are results of {', '.join(unknown)}, which experiments.yml does not name. Add it.")
    version = importlib.metadata.version("evenspan")
    papers = entities.papers()
    program = entities.software(version)
    about: list[Entity] = list(program)
    used: set[str] = set()
    files: list[tuple[Entity, Path | None]] = []
    parts, actions, protocols, finished = [], [], [], []
    for entry in (known[name] for name in known if name in folders and name in (only or folders)):
        found = _of_experiment(entry, papers, version)
        if found is None:
            continue
        part, action, its_files, its_context, last = found
        parts.append(part)
        protocols.append(its_files[0][0])
        if entry.paper in papers:
            used.add(entry.paper)
            about += papers[entry.paper]
        actions.append(action)
        files += its_files
        about += its_context
        finished.append(last)
    if not parts:
        raise ResultError(f"{paths.results('full')} holds no results. Restore it from the repository, or: make full")
    programs = {
        "@id": "protocols/",
        "@type": "Dataset",
        "name": "Protocols",
        "description": "The program of each experiment, without the library that it calls.",
        "hasPart": several([ref(one) for one in entities.unique(protocols)]),
        "dateModified": max(finished),
        "license": ref(program[-1]),
    }
    parts.append(programs)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": "Results of evenspan, the reproducible compendium of fair PCA and fair clustering",
        "description": "Tidy tables of every full run, one folder for each experiment; beside each table its record "
        "with parameters, seed, commit, versions and digests of every task in it.",
        # The last run, not the day on which somebody writes this folder.
        "datePublished": max(finished),
        "version": version,
        "license": ref(program[-1]),
        "creator": ref("#developers"),
        "publisher": ref("#developers"),
        # The papers. The format wants an absolute address in 'citation', and none of them is known here.
        "isBasedOn": several([ref(f"#paper-{key}") for key in papers if key in used]),
        "hasPart": several([ref(part) for part in parts]),
        "mentions": several([ref(action) for action in actions]),
    }
    plain = entities.unique([*about, *actions])
    files = [(one, next(path for file, path in files if file is one)) for one in entities.unique(f for f, _ in files)]
    return [(root, None), *((part, None) for part in parts), *files, *((one, None) for one in plain)]


def _of_experiment(entry: Experiment, papers: dict[str, list[Entity]], version: str):
    units: dict[str, list[dict]] = {}
    for unit in store.read_records(entry.id).values():
        units.setdefault(unit["file"], []).append(unit)
    if not units:
        return None
    store.read_results(entry.id)  # a unit whose rows are not those of its record is an error that names it
    files, results, columns, data, context = [], [], {}, {}, []
    for name, inside in sorted(units.items()):
        table = store.folder_of(entry.id) / f"{name}.csv"
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
        if others := set(rows["task"]) - {unit["unit"] for unit in inside}:
            raise ResultError(
                f"{table} has rows of {', '.join(sorted(others))}, which its record does not describe. Restore it from "
                f"the repository, or: python -m compendium run {entry.id} --profile full"
            )
        columns |= dict.fromkeys(rows.columns)
        finished = max(unit["finished"] for unit in inside)
        made = entities.unique(one for unit in inside for one in _made_of(unit))
        inputs = [found for unit in inside for one in unit["data"].items() if (found := entities.made_from(*one))]
        data |= {found[0]["@id"]: found[0] for found in inputs}
        context += [*made, *(one for found in inputs for one in found)]
        result = _file(entry, table, "text/csv", f"Rows of {len(inside)} tasks of {entry.id}", finished)
        result["additionalProperty"] = several([ref(one) for one in made])
        if inputs:
            result["isBasedOn"] = several([ref(one) for one in sorted({found[0]["@id"] for found in inputs})])
        record = table.with_suffix(".json")
        own = _file(entry, record, "application/json", f"Record of every task in {table.name}", finished)
        own["about"] = ref(result)
        files += [(result, table), (own, record)]
        results.append(result)
    last = max(result["dateModified"] for result in results)
    script = paths.root() / entry.notebook
    name = "-".join(Path(entry.notebook).parts[1:])
    protocol = {
        "@id": f"protocols/{name}",
        "@type": ["File", "SoftwareSourceCode"],
        "name": name,
        "description": "A protocol: what is computed, on which data, with which settings. As it is now; the records "
        "name the digest of the code that ran.",
        "encodingFormat": "application/x-ipynb+json",
        "contentSize": str(script.stat().st_size),
        "sha256": records.digest(script.read_bytes()),
        "programmingLanguage": ref("#python"),
        "version": version,
        "isPartOf": ref("#evenspan"),
    }
    described = [entities.column(name) for name in columns]
    paper = {"isBasedOn": ref(f"#paper-{entry.paper}")} if entry.paper in papers else {}
    part = {
        "@id": f"{entry.id}/",
        "@type": "Dataset",
        "name": entry.title,
        "description": f"Results of the experiment {entry.id}, one table for each execution; "
        f"{states.summary(entry.id)} when this was written.",
        "hasPart": [ref(file) for file, _ in files],
        "variableMeasured": [ref(one) for one in described],
        "dateModified": last,
        "license": ref(entities.licence("BSD-3-Clause")),
        **paper,
    }
    action = {
        "@id": f"#run-{entry.id}",
        "@type": "CreateAction",
        "name": f"Full run of {entry.id}",
        "description": f"python -m compendium run {entry.id} --profile full; {entry.notebook} shows the results.",
        "instrument": ref(protocol),
        "agent": ref("#developers"),
        "endTime": last,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "result": several([ref(one) for one in results]),
        **({"object": several([ref(data[name]) for name in sorted(data)])} if data else {}),
    }
    return part, action, [(protocol, script), *files], [*described, *context], last


def _file(entry: Experiment, path: Path, kind: str, description: str, finished: str) -> Entity:
    content = path.read_bytes()
    return {
        "@id": f"{entry.id}/{path.name}",
        "@type": "File",
        "name": path.name,
        "description": description,
        "encodingFormat": kind,
        "contentSize": str(len(content)),
        "sha256": records.digest(content),
        "dateModified": finished,
    }


def _made_of(unit: dict[str, Any]) -> list[Entity]:
    """With what a task was computed; a file has that of all its tasks."""
    code = unit["code"] and records.digest(records.to_json(unit["code"]))
    said: Iterable[tuple[str, object, str]] = (
        ("seed", unit["seed"], "Seed of every random choice, as the record states it."),
        ("commit", unit["commit"], "Commit of the sources that computed the result."),
        ("code", code, "SHA-256 of the list of loaded sources with their digests that the record holds."),
        ("lock", unit["lock_sha256"], "SHA-256 of requirements.lock when the result was computed."),
    )
    return [entities.property_value(*one) for one in said if one[1] is not None or one[0] == "seed"]
