"""The pages of the book from what was executed: assembled, and written by Sphinx as Jupyter Book sets it up.

Jupyter Book's own command writes with one process. What did not change is not read again: a build that had a warning
leaves nothing behind that could be kept, so that a kept page is one without.
"""

import argparse
import gc
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import nbformat
from jupyter_book.sphinx import build_sphinx

from compendium import paths, records
from evenspan.core.errors import FairError

from ..catalogue import catalogue
from . import addresses, stage
from .engine import redirected
from .experiment_page import stub

SETTINGS = "settings.sha256"
#: What the theme loads on every page, two megabytes, and no page needs: icons as programs beside those of its font; and
#: the index of the search, but for the page of answers.
_ICONS = re.compile(r"\s*<script[^>]*\bfontawesome\.js[^>]*></script>")
_INDEX = re.compile(r"\s*<script[^>]*\b(?:searchtools|language_data|searchindex)\.js[^>]*></script>")
_IMAGE = re.compile(r'<img (?![^>]*\bloading=)(?=[^>]*\bsrc="([^"]*_images/[^"]+\.svg)")')
_SIZE = re.compile(rb'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', re.DOTALL)
#: Long lists of like pages in the contents beside every page, of data sets, of the reference, of the experiments of a
#: paper, are there beside these pages alone. A list that is open is that of the page.
_LIKE = re.compile(
    r'(<a class="reference internal" href="[^"#]*(?:data/index|reference/api)\.html">[^<]*</a>'
    r'|<li class="toctree-l2 has-children"><a class="reference internal" [^>]*>[^<]*</a>)<details>.*?</details>',
    re.DOTALL,
)
#: What was generated into a source: its rows can be had as a file.
_GENERATED = re.compile(r"(?<=```\{raw\} html\n)(?:(?!\n```).){10000,}", re.DOTALL)
_TROUBLE = re.compile(r"WARNING|ERROR|CRITICAL|[a-z]rror:")


def build(jobs: int) -> bool:
    """Write the book into ``_build/html``; whether it is without warnings. What Sphinx says goes to standard output."""
    root, html, doctrees = paths.root(), paths.build("html"), paths.build(".doctrees")
    settings = doctrees / SETTINGS
    # Where pages came or went, every page shows other contents.
    if stage.stage() or not settings.is_file() or settings.read_bytes() != _settings():
        shutil.rmtree(doctrees, ignore_errors=True)
        shutil.rmtree(html, ignore_errors=True)
    failed = build_sphinx(
        paths.build("stage"),
        html,
        noconfig=True,
        path_config=root / "_config.yml",
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False, "nitpicky": True},
        doctreedir=doctrees,
        warningiserror=True,
        keep_going=True,
        quiet=True,
        jobs=jobs,
    )
    if failed:
        shutil.rmtree(doctrees, ignore_errors=True)
        return False
    records.write(settings, _settings())
    _lighten(html)
    _lead_on(html)
    addresses.add(html)
    return True


def _lead_on(html: Path) -> None:
    """Pages at the addresses that executions had, which lead to their tabs; and notebooks that run, to download."""
    for entry in catalogue().values():
        for execution in entry.executions:
            records.write(html / "experiments" / entry.id / f"{execution}.html", stub(entry, execution).encode())
        shutil.copyfile(paths.root() / entry.notebook, html / "_sources" / "experiments" / f"{entry.id}.ipynb")


def _settings() -> bytes:
    """A digest of what decides how pages are read and written, beside the pages."""
    root = paths.root()
    files = [root / "_config.yml", root / "requirements.lock", *sorted((root / "book" / "_ext").glob("*.py"))]
    return records.digest(b"".join(file.read_bytes() for file in files)).encode()


def _lighten(html: Path) -> None:
    """Keep what a page shows once, and what it needs: the notebooks to download are to be run."""
    for path in sorted((html / "_sources").rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if any(cell.get("outputs") for cell in notebook.cells):
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    cell.outputs, cell.execution_count = [], None
            nbformat.write(notebook, path)
    for path in (html / "_sources").rglob("*.md"):
        source = path.read_text(encoding="utf-8")
        if (less := _GENERATED.sub("<!-- generated -->", source)) != source:
            path.write_text(less, encoding="utf-8")
    shown, results = set(), html / "_static" / "results"
    for path in html.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        shown.update(re.findall(r'(?:_images|_static/results)/([^"]+)"', page))
        less = _LIKE.sub(r"\1", _IMAGE.sub(partial(_lazy, path), _ICONS.sub("", page)))
        if path != html / "search.html":
            less = _INDEX.sub("", less)
        if less != page:
            path.write_text(less, encoding="utf-8")
    for path in (html / "_images").glob("*"):
        if path.name not in shown:  # by a page that was made again since
            path.unlink()
    for path in results.rglob("*.*"):
        if path.relative_to(results).as_posix() not in shown:  # it is in the archive of all results
            path.unlink()
    static = html / "_static"
    # Maps of the theme's programs are for its makers; every browser of today reads woff2.
    for path in {*static.rglob("*.map"), *static.rglob("fontawesome.js*"), *static.glob("vendor/**/*.ttf")}:
        path.unlink()
    shutil.rmtree(html / "_static" / "locales", ignore_errors=True)  # texts for books in other languages


def _lazy(page: Path, image: re.Match) -> str:
    """The beginning of a drawing's element: loaded when it is near, with its size, so that nothing moves then."""
    width, height = (
        round(float(points) / 0.75) for points in _SIZE.search((page.parent / image[1]).read_bytes()[:2000]).groups()
    )
    return f'<img loading="lazy" width="{width}" height="{height}" '


def main() -> int:
    """Entry point of ``python -m compendium.book.build --jobs N``; all that was said stands in ``_build/book.log``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.build", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    jobs, log = parser.parse_args().jobs, paths.build("book.log")
    gc.set_threshold(100_000, 50, 100)  # trees of nodes, read and dropped whole: a fifth of the time went into looking
    with redirected(log):
        try:
            well, said = build(jobs), ""
        except FairError as error:
            well, said = False, str(error)
    if well:
        return 0
    trouble = [line for line in log.read_text(encoding="utf-8").splitlines() if _TROUBLE.search(line)]
    print(*([said] if said else trouble), f"The book was not built; the whole log is {log}", sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
