"""The workflow and the pages: parsed, complete, and consistent with the list of experiments."""

import json
import re
import subprocess
import sys

import pytest

from compendium import paths
from compendium.book import pages
from compendium.catalogue import catalogue

ROOT = paths.root()
CHAPTERS = [path for path in sorted((ROOT / "book").rglob("*.md")) if pages.is_executable(path)]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def test_the_full_workflow_parses_and_knows_every_run():
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--nolock", "--cores", "1", "--forceall", "full"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for name, entry in catalogue().items():
        for execution in entry.runs:
            assert f"_build/full/{name}/{execution}.done" in run.stdout


def test_every_page_is_in_the_contents_once():
    named = re.findall(
        r"\b(?:root|file): ([^\s}]+?)(?:\.md|\.ipynb)?[\s}]", (ROOT / "_toc.yml").read_text(encoding="utf-8")
    )
    assert len(named) == len(set(named))
    shown = {entry.page for entry in catalogue().values()}
    assert shown <= set(named)
    assert {page for page in named if page.startswith("experiments/")} <= shown
    book = ROOT / "book"
    assert {p.relative_to(book).with_suffix("").as_posix() for p in book.rglob("*.md")} <= set(named)


def test_every_figure_has_caption_name_and_alternative_text():
    found = [cell for path in (*CHAPTERS, *NOTEBOOKS) for cell in pages.read(path).cells]
    figures = [(cell.source, cell.metadata.mystnb) for cell in found if "figure" in cell.metadata.get("mystnb", {})]
    assert len(figures) > 50
    for source, shown in figures:
        assert shown["figure"].get("caption"), source
        assert shown["figure"].get("name"), source
        slider = "slider(" in source and 'alt="' in source  # drawn in the page, with its text
        assert slider or shown.get("image", {}).get("alt"), source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_shows_its_experiment(path):
    raw = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in raw["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), "committed with outputs"
    notebook = pages.read(path)
    space = {}
    exec(next(c.source for c in notebook.cells if "parameters" in c.metadata.get("tags", ())), {}, space)
    (entry,) = (one for one in catalogue().values() if ROOT / one.notebook == path)
    assert space == entry.parameters | {"profile": "embedded"}
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert sum("study.run(" in source for source in sources) == 1
    assert sum("Study(" in source for source in sources) == 1
