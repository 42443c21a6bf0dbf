"""The workflow and the pages: parsed, complete, and consistent with the list of experiments."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from compendium import paths
from compendium.book import pages
from compendium.catalogue import catalogue

ROOT = paths.root()


def toc_pages(toc: Path) -> list[str]:
    """Every page that the table of contents names, in its order; patterns are left out."""
    return re.findall(r"\b(?:root|file): ([^\s}]+?)(?:\.md|\.ipynb)?[\s}]", toc.read_text(encoding="utf-8"))


def dry_run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--nolock", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_the_full_workflow_parses_and_knows_every_run():
    run = dry_run("--cores", "1", "--forceall", "full")
    assert run.returncode == 0, run.stderr
    for name, entry in catalogue().items():
        for execution in entry.runs:
            assert f"_build/full/{name}/{execution}.done" in run.stdout


def test_every_execution_and_chapter_is_a_page():
    names = [page.name for page in pages.pages()]
    assert len(names) == len(set(names))
    for name, entry in catalogue().items():
        assert {f"experiments/{name}/{execution}" for execution in entry.executions} <= set(names)
    assert set(pages.chapters()) < set(names)


def test_workflow_parses_for_slurm():
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("snakemake-executor-plugin-slurm is not installed (extra 'cluster').")
    run = dry_run("--executor", "slurm", "--jobs", "2", "--forceall", "full")
    assert run.returncode == 0, run.stderr


def test_every_experiment_has_its_page_in_the_contents():
    pages = toc_pages(ROOT / "_toc.yml")
    assert len(pages) == len(set(pages)), "a page is named twice"
    wanted = {f"experiments/{name}" for name in catalogue()}
    assert {page for page in pages if page.startswith("experiments/")} == wanted


def test_every_chapter_is_in_the_contents():
    book = ROOT / "book"
    written = {p.relative_to(book).with_suffix("").as_posix() for p in book.rglob("*.md")}
    assert written <= set(toc_pages(ROOT / "_toc.yml"))


CHAPTER = """---
kernelspec: {name: python3, display_name: Python 3}
---
# Two sums

As {cite:t}`kleindessner2023` say, $a + b = c$.

```{code-cell} python
print(sum([20, 22]))
```
"""


@pytest.mark.slow
def test_jupyter_books_own_command_builds_executed_pages(tmp_path):
    staged = tmp_path / "_build" / "stage"
    (tmp_path / "book").symlink_to(ROOT / "book")
    shutil.copyfile(ROOT / "_config.yml", tmp_path / "_config.yml")
    shutil.copytree(ROOT / "book" / "_static", staged / "_static")
    shutil.copyfile(ROOT / "book" / "references.bib", staged / "references.bib")
    index = "# A small book\n\nIt has [a chapter](sums.ipynb).\n\n```{bibliography}\n```\n"
    (staged / "index.md").write_text(index, encoding="utf-8")
    (tmp_path / "sums.md").write_text(CHAPTER, encoding="utf-8")
    pages.execute(tmp_path / "sums.md", staged / "sums.ipynb", {})
    toc = tmp_path / "_toc.yml"
    toc.write_text("format: jb-book\nroot: index\nchapters: [{file: sums}]\n", encoding="utf-8")
    shutil.copyfile(toc, staged / "_toc.yml")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--keep-going", staged]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    page = (tmp_path / "_build" / "html" / "sums.html").read_text(encoding="utf-8")
    assert "<span></span>42" in page
    assert "Kleindessner" in page


@pytest.mark.parametrize("page", sorted((ROOT / "book").rglob("*.md")), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_figure_of_a_chapter_has_caption_name_and_alternative_text(page):
    if not pages.is_executable(page):
        return
    for cell in pages.read(page).cells:
        _check_figure(cell)


NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_shows_its_experiment(path):
    import json

    raw = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in raw["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), "committed with outputs"
    notebook = pages.read(path)
    assert "profile" in pages.defaults(notebook)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert sum("study.run(" in source for source in sources) == 1
    assert sum("protocol.study(" in source for source in sources) == 1
    for cell in notebook.cells:
        _check_figure(cell)


def _check_figure(cell):
    shown = cell.metadata.get("mystnb", {})
    if "figure" in shown:
        assert shown["figure"].get("caption"), cell.source
        assert shown["figure"].get("name"), cell.source
        slider = "slider(" in cell.source and 'alt="' in cell.source  # drawn in the page, with its text
        assert slider or shown.get("image", {}).get("alt"), cell.source


def test_book_settings_load_no_part_that_needs_a_network():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    extensions = config["sphinx"]["config"]["extensions"]
    assert not {"sphinx_thebe", "sphinx.ext.intersphinx", "sphinx.ext.graphviz"} & set(extensions)
    assert config["execute"]["execute_notebooks"] == "off"
