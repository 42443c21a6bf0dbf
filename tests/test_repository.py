"""The repository itself: one environment, one version, nothing of the machine it was written on."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import evenspan
from compendium import paths

from .conftest import left_out

pytestmark = pytest.mark.machine
ROOT = paths.root()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MADE = {".git", ".venv", "_build", ".snakemake", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis"}


def tracked() -> list[Path]:
    """Files under version control; in a copy without git, everything that is not made."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
        return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    found = (p for p in ROOT.rglob("*") if p.is_file())
    return [p for p in found if not any(x in MADE or x.endswith(".egg-info") for x in p.relative_to(ROOT).parts)]


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower().replace("_", "-")


def test_environment_file_and_lock_agree_with_the_package():
    extras = PROJECT["optional-dependencies"]  # a cluster's is apart
    needed = {*PROJECT["dependencies"], *(one for extra in extras if extra != "cluster" for one in extras[extra])}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = {name.lower() for name in re.findall(r"^([A-Za-z0-9_.-]+)==", lock, re.MULTILINE)}
    assert {name_of(requirement) for requirement in needed} <= pinned
    assert not {name_of(requirement) for requirement in extras["cluster"]} & pinned
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, *channel, last = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert channel[:2] == ["pip", "make"]
    assert PROJECT["requires-python"] == python.replace("python=", ">=")
    assert set(channel[2:]) <= needed  # with their bounds, letter by letter
    installed = re.fullmatch(r"-e \.\[([a-z,]+)\]", last["pip"][0]).group(1).split(",")
    assert set(installed) == set(extras) - {"cluster"}


@pytest.mark.parametrize("name", ["requirements.lock", "benchmarks/rivals/requirements.lock"])
def test_lock_has_a_hash_for_every_package_and_no_address(name):
    lock = (ROOT / name).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[A-Za-z0-9_.-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(entries) > 50
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|^--|index-url|find-links", lock, re.MULTILINE)


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == evenspan.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == [{"name": author["name"]} for author in PROJECT["authors"]]
    deposit = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert [deposit[name] for name in ("version", "license", "title", "creators", "keywords")] == [
        citation[name] for name in ("version", "license", "title", "authors", "keywords")
    ]
    assert not {"doi", "contributors", "related_identifiers"} & set(deposit)
    name, _, what = citation["title"].partition(": ")
    assert (name, what) == (PROJECT["name"], PROJECT["description"].partition(":")[0].lower().replace("pca", "PCA"))
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    version = re.search('{% set version = "(.*?)" %}\n', text)
    recipe = yaml.safe_load(text.replace(version[0], "").replace("{{ version }}", version[1]))
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (PROJECT["license"], citation["title"])
    needed = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [one.replace(" ", "") for one in recipe["requirements"]["run"]] == needed
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changelog or f"## [{PROJECT['version']}]" in changelog


def test_every_make_target_is_in_the_readme_or_for_contributors():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE).group(1).split()) - {"help"}
    told = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    assert {target for target in targets if f"make {target}" not in told} == set()
    assert targets <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


# Written in parts, so that this file does not hold what it looks for.
MACHINE = re.compile(
    r"(?<![\w.])/" + r"(?:root|home|Users|work|private|tmp/bash_jobs)" + r"/[A-Za-z0-9_.]"
    r"|python" + r"hosted\.org|/simple" + r"/|(?:arti" + r"factory|nex" + r"us)\.[a-z]",
)


def test_no_machine_path_no_package_registry_and_no_large_file():
    for line in ("see /" + "home/someone/x", "url = https://files.python" + "hosted.org/x", "(/" + "root/x)"):
        assert MACHINE.search(line), "the search finds what it should"
    found, large = [], []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in MACHINE.finditer(text)]
        large += [str(path.relative_to(ROOT))] if path.stat().st_size > 2_000_000 else []
    assert (found, large) == ([], [])


def test_what_was_skipped_is_said_in_one_line():
    reasons = ["Skipped: in a browser (no Chromium)", "Skipped: with raw data (see Reproduce); lsac is not complete"]
    assert left_out([*reasons, *reasons[:1]]) == "2 in a browser (no Chromium), 1 with raw data (see Reproduce)"
