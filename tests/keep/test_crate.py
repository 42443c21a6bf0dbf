"""The crate: valid for the format, true to the files, and the same bytes each time."""

import functools
import hashlib
import io
import json
import logging
import os
import shutil
import warnings
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from compendium import data as datasets
from compendium import paths, records, store
from compendium.keep import crate
from evenspan.core.errors import ConfigurationError, RegistryError, ResultError

CONTEXT = "https://w3id.org/ro/crate/1.3/context"
SOME = ("vu2022-toy", "rathore2025-times", "kleindessner2023-runtime")
# What the format recommends and cannot be said without inventing it.
NOT_KNOWN = {
    "ro-crate-1.2_75.1": "that files can be downloaded is not tried: there is no network",
    "ro-crate-1.2_80.2": "affiliations of the papers' authors",
    "ro-crate-1.2_80.3": "affiliations of the papers' authors",
    "ro-crate-1.2_85.0": "an address of a licence that a publisher does not state",
    "ro-crate-1.2_86.2": "a public address of the developers",
    "ro-crate-1.2_89.0": "an identifier of the developers as an organisation",
    "ro-crate-1.2_90.1": "a point of contact",
    "ro-crate-1.2_91.0": "identifiers of the papers' authors",
    "ro-crate-1.2_93.0": "a point of contact",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return crate.write(tmp_path_factory.mktemp("crate") / "results", SOME).parent


@pytest.fixture(scope="module")
def graph(folder) -> dict[str, dict]:
    entities = json.loads((folder / crate.METADATA).read_text(encoding="utf-8"))["@graph"]
    assert len({entity["@id"] for entity in entities}) == len(entities)
    return {entity["@id"]: entity for entity in entities}


def listed(value) -> list[str]:
    return [one["@id"] for one in (value if isinstance(value, list) else [value])]


@pytest.fixture(scope="module")
def prepared():
    """The validator asks a few questions of every entity: each is parsed once, which takes longer than to answer it."""
    from rdflib.plugins.sparql import prepareQuery
    from rdflib.plugins.sparql.processor import SPARQLProcessor

    answer = SPARQLProcessor.query

    @functools.cache
    def parsed(text: str, names: frozenset, base: str | None):
        return prepareQuery(text, dict(names), base)

    def query(self, asked, bindings=None, names=None, base=None, **options):
        if isinstance(asked, str):
            asked = parsed(asked, frozenset((names or {}).items()), base)
        return answer(self, asked, bindings, names, base, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SPARQLProcessor, "query", query)
        yield


def faults(folder: Path, cache: Path, severity: str) -> list[str]:
    """What the validator finds in a crate at a severity and above, without any network; the cache is one's own."""
    os.environ["ROCRATE_VALIDATOR_AUTO_WARM"] = "0"
    from requests import Request
    from requests.adapters import HTTPAdapter
    from requests_cache import CachedSession
    from rocrate_validator.models import Severity, ValidationSettings
    from rocrate_validator.services import validate
    from urllib3 import HTTPResponse

    # The vocabulary comes with the package rocrate, and is put where the validator looks before it asks the network.
    content = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
    assert CONTEXT.encode() in content[:100], "rocrate comes with another version of the vocabulary"
    session = CachedSession(cache_name=str(cache / "http"), backend="sqlite", expire_after=-1)
    kind = {"Content-Type": "application/ld+json"}
    raw = HTTPResponse(io.BytesIO(content), kind, 200, preload_content=False, request_url=CONTEXT)
    session.cache.save_response(HTTPAdapter().build_response(session.prepare_request(Request("GET", CONTEXT)), raw))
    session.close()
    settings = ValidationSettings(
        rocrate_uri=str(folder),
        profile_identifier="ro-crate-1.3",
        requirement_severity=Severity[severity],
        cache_path=cache / "http",
        offline=True,
    )
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        # The validator uses parts of rdflib that are going to be replaced; that is not our concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        issues = validate(settings).get_issues()
    logging.disable(logging.NOTSET)
    return [f"{one.check.identifier} {one.severity.name} {one.violatingEntity}: {one.message}" for one in issues]


@pytest.mark.slow
def test_the_crate_is_valid(folder, tmp_path, prepared):
    found = faults(folder, tmp_path, "RECOMMENDED")
    assert [one for one in found if one.split(" ")[0] not in NOT_KNOWN or " REQUIRED " in one] == []


@pytest.mark.slow
def test_the_validator_finds_what_is_wrong(folder, tmp_path, prepared):
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    described = json.loads((damaged / crate.METADATA).read_text(encoding="utf-8"))
    root = next(entity for entity in described["@graph"] if entity["@id"] == "./")
    del root["datePublished"]
    (damaged / crate.METADATA).write_text(json.dumps(described))
    next((damaged / SOME[0]).glob("*.csv")).unlink()
    found = faults(damaged, tmp_path, "REQUIRED")
    assert any("datePublished" in one for one in found)
    assert any(".csv" in one for one in found)


def test_every_file_is_described_as_it_is(folder, graph):
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {crate.METADATA}
    assert files == {name for name, entity in graph.items() if "File" in entity["@type"]}
    assert len(files) > 2 * len(SOME)
    for name in files:
        content = (folder / name).read_bytes()
        assert graph[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert graph[name]["contentSize"] == str(len(content))
    reached, todo = set(), ["./"]
    while todo:
        name = todo.pop()
        reached.add(name)
        todo += listed(graph[name].get("hasPart", []))
    assert files <= reached


def test_results_name_their_record_seeds_commits_and_data(folder, graph):
    for name in SOME:
        for unit in store.read_records(name).values():
            file = f"{name}/{unit['file']}"
            assert listed(graph[f"{file}.json"]["about"]) == [f"{file}.csv"]
            result = graph[f"{file}.csv"]
            made = [graph[one] for one in listed(result["additionalProperty"])]
            said = {kind: {one["value"] for one in made if one["name"] == kind} for kind in ("seed", "commit", "code")}
            assert ("none" if unit["seed"] is None else unit["seed"]) in said["seed"]
            assert unit["commit"] in said["commit"]
            assert unit["code"] is None or records.digest(records.to_json(unit["code"])) in said["code"]
            used = {graph[one]["identifier"]: graph[one] for one in listed(result.get("isBasedOn", []))}
            for source, checksum in unit["data"].items():
                data = datasets.entry(source.removeprefix("data set "))
                assert data.licence in used[f"sha256:{checksum}"]["description"]
                assert used[f"sha256:{checksum}"]["license"]["@id"] in graph


def test_data_are_named_as_the_record_names_them():
    adult = datasets.entry("adult")
    raw, moments = adult.files[0], "data/moments/adult/protocol.npz"
    whole = crate.made_from("data set adult", adult.checksum())
    assert crate.made_from(f"{adult.folder}/{raw.name}", raw.sha256) == whole
    (own,) = crate.made_from(f"{adult.folder}/{raw.name}", "0" * 64)
    assert (own["name"], own["sha256"]) == (f"{adult.folder}/{raw.name}", "0" * 64)
    assert crate.made_from(moments, "1" * 64)[0]["name"] == moments
    assert crate.made_from("data set made up", "0" * 64) == []
    bare = crate._made_of({"seed": None, "commit": "ab12", "code": None, "lock_sha256": None})
    assert [(one["name"], one["value"]) for one in bare] == [("seed", "none"), ("commit", "ab12")]


def test_every_column_and_every_run_is_described(folder, graph):
    for name in SOME:
        columns = {one for path in (folder / name).glob("*.csv") for one in pd.read_csv(path, nrows=0).columns}
        measured = [graph[one] for one in listed(graph[f"{name}/"]["variableMeasured"])]
        described = {one["name"]: one["description"] for one in measured}
        assert columns == set(described)
        assert all(described.values())
        run = graph[f"#run-{name}"]
        assert {f"{name}/{path.name}" for path in (folder / name).glob("*.csv")} == set(listed(run["result"]))
        assert graph[listed(run["instrument"])[0]]["@type"] == ["File", "SoftwareSourceCode"]
        (paper,) = listed(graph[f"{name}/"]["isBasedOn"])
        assert graph[paper]["@type"] == "ScholarlyArticle"
        assert all(graph[one]["@type"] == "Person" for one in listed(graph[paper]["author"]))


def test_columns_of_all_results_have_a_description():
    stored = paths.results().rglob("*.csv")
    columns = {name for path in stored for name in path.read_text(encoding="utf-8").splitlines()[0].split(",")}
    assert {"task", "dataset", "value", "workers"} <= columns <= crate.COLUMNS.keys()
    with pytest.raises(ResultError, match="'colour' of the results has no description"):
        crate.column("colour")


def test_two_runs_give_the_same_bytes(folder, tmp_path):
    again = crate.write(tmp_path / "again", SOME[::-1])
    assert again.read_bytes() == (folder / crate.METADATA).read_bytes()
    assert crate.write(again.parent, SOME[:1]).is_file()  # an earlier crate is replaced
    assert not (again.parent / SOME[1]).exists()


def test_wrong_folders_and_names_are_refused(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigurationError, match="holds other files"):
        crate.write(tmp_path, SOME[:1])
    with pytest.raises(ConfigurationError, match="is a file"):
        crate.write(tmp_path / "notes.txt", SOME[:1])
    with pytest.raises(RegistryError, match="no experiment 'none'"):
        crate.write(tmp_path / "new", ["none"])
    assert (tmp_path / "notes.txt").is_file()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("1", "2", 1), "was altered: its rows have not the digest"),
        (lambda text: text + "x\n", "has rows of x, which its record does not describe"),
        (lambda text: text.partition("\n")[0] + "\n", "has a record without rows"),
    ],
)
def test_a_result_that_was_altered_is_not_described(tmp_path, monkeypatch, change, said):
    stored = tmp_path / "full" / SOME[0]
    shutil.copytree(paths.results() / SOME[0], stored)
    table = next(stored.glob("*.csv"))
    table.write_text(change(table.read_text()))
    monkeypatch.setattr(paths, "results", lambda *parts: (tmp_path / "full").joinpath(*parts))
    with pytest.raises(ResultError, match=said):
        crate.write(tmp_path / "new", SOME[:1])


def test_licences_are_known_by_address_or_quoted():
    assert crate.licence("CC BY 4.0 (UCI)")["@id"] == "https://creativecommons.org/licenses/by/4.0/"
    assert crate.licence("unstated (MNIST: CC BY-SA 3.0)")["name"] == "unstated (MNIST: CC BY-SA 3.0)"
    earlier = crate.data_set("adult", "0" * 64)[0]
    assert earlier["name"].endswith("an earlier state")
    assert "distribution" not in earlier
    one = {"@id": "#x", "name": "a"}
    with pytest.raises(ResultError, match="#x"):
        crate.unique([one, one, {"@id": "#x", "name": "b"}])
