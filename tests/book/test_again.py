"""A book that is built again is the one that is built from nothing; one process builds, until Ctrl-C."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings

import pandas as pd
import pytest
from sphinx.builders.html import StandaloneHTMLBuilder

from compendium import paths, workers
from compendium.book import build

PAGES = {
    "index": "# The start\n\nSee {doc}`second/index` and {eq}`eq-two`.",
    "first": "# Zebra questions\n\n(at-stripes)=\n## Stripes\n\n$$\nx = 1\n$$ (eq-one)",
    "second/index": "# Second\n\n{ref}`at-stripes`, {eq}`eq-one`, {term}`zebra` and {doc}`/third`.",
    "second/below": "# Below\n\n{doc}`index`",
    "third": "# Third\n\n```{math}\n:label: eq-two\ny = 2\n```",
    "words": "# Words\n\n```{glossary}\nzebra\n  An animal.\n```",
}
TOC = """format: jb-book
root: index
parts:
  - caption: One
    chapters:
      - file: first
      - file: second/index
        sections:
          - file: second/below
  - caption: Two
    chapters:
      - file: third
      - file: words
"""
#: What is changed in a file, by what it is called.
CHANGES = {
    "title": ("book/first.md", "# Zebra questions", "# Yak questions"),
    "label": ("book/first.md", "(at-stripes)=\n## Stripes", "(at-stripes)=\n## Bands"),
    "term": ("book/words.md", "zebra\n", "Zebra\n"),
    "ended": ("book/first.md", "# Yak questions", "# Gnu questions"),
    "order": ("_toc.yml", "      - file: third\n      - file: words\n", "      - file: words\n      - file: third\n"),
}


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A checkout with a book of six pages, and no results."""
    for name in ("experiments.yml", "_config.yml", "CITATION.cff", "data", "src", "book/_ext", "book/_templates"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(paths.root() / name)
    for name in ("book/_static", "book/references.bib"):
        (tmp_path / name).symlink_to(paths.root() / name)
    (tmp_path / "_toc.yml").write_text(TOC)
    for name, text in PAGES.items():
        (tmp_path / "book" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "book" / f"{name}.md").write_text(text + "\n")
    none = pd.DataFrame(columns=["paper", "table", "dataset", "cell", "experiment"])
    monkeypatch.setattr("compendium.ledger.table.ledger", lambda: none)
    monkeypatch.setattr(build, "_contents", contents)
    monkeypatch.setenv("EVENSPAN_ROOT", str(tmp_path))
    paths.root.cache_clear()
    yield tmp_path
    paths.root.cache_clear()


def contents(root):
    """The files of the source folder, of which none comes from an experiment."""
    book = root / "book"
    for file in ("references.bib", *(f"{name}.md" for name in PAGES)):
        yield file, (book / file).read_bytes()
    for file in (book / "_static").iterdir():
        if file.is_file():
            yield f"_static/{file.name}", file.read_bytes()
    yield from build._tree(book / "_templates", "_templates", "rst")
    yield "_toc.yml", (root / "_toc.yml").read_bytes()


def built(target, monkeypatch, ended=False) -> dict[str, str]:
    """The pages of the book as they are built there, by a process of its own, which may be ended as it writes them."""

    def work(_):
        warnings.resetwarnings()  # those of Sphinx's packages are no errors
        if ended:
            StandaloneHTMLBuilder.write = lambda *given: os._exit(9)
        return build.build(2)

    monkeypatch.setenv("EVENSPAN_BUILD", str(target))
    ((_, well),) = workers.each(work, [""], 1)
    assert isinstance(well, workers.Failed) if ended else well is True
    html = target / "html"
    pages = {path.relative_to(html).as_posix(): path.read_text("utf-8") for path in html.rglob("*.html")}
    # A file that an extension copies when all is written has its checksum in the pages of the next build.
    return {name: re.sub(r"[?]v=[0-9a-f]+", "", text) for name, text in pages.items()}


def test_a_change_gives_the_same_pages_as_a_build_from_nothing(book, tmp_path, monkeypatch):
    built(book / "_build", monkeypatch)
    (book / "book" / "third.md").write_text(PAGES["third"].replace("y = 2", "y = 3"))
    other = book / "_build" / "html" / "first.html"
    before = other.stat().st_mtime_ns
    assert "y = 3" in built(book / "_build", monkeypatch)["third.html"]
    assert other.stat().st_mtime_ns == before  # which says nothing of the equation
    wrong = {}
    for what, (name, old, new) in CHANGES.items():
        text = (book / name).read_text()
        assert old in text
        (book / name).write_text(text.replace(old, new))
        if what == "ended":
            built(book / "_build", monkeypatch, ended=True)
        again, anew = built(book / "_build", monkeypatch), built(book / what, monkeypatch)
        assert {f"{name}.html" for name in PAGES} < anew.keys()
        wrong[what] = [name for name in anew | again if again.get(name) != anew.get(name)]
    assert {what: names for what, names in wrong.items() if names} == {}


@pytest.mark.exhaustive
def test_another_title_in_the_whole_book(tmp_path, monkeypatch, absent):
    if not paths.build("html", "index.html").is_file():
        absent("of the built book (not built: make book)")
    for file in paths.root().iterdir():
        if file.name not in ("book", "_build"):
            (tmp_path / file.name).symlink_to(file)
    shutil.copytree(paths.root() / "book", tmp_path / "book")
    for target in (tmp_path / "again", tmp_path / "anew"):
        target.mkdir()
        for name in ("executed", "numbers", "examples", "once", "cache"):
            (target / name).symlink_to(paths.build(name))
    monkeypatch.setenv("EVENSPAN_ROOT", str(tmp_path))
    paths.root.cache_clear()
    try:
        built(tmp_path / "again", monkeypatch)
        page = tmp_path / "book" / "yours" / "bring-your-method.md"  # no cell of it runs
        page.write_text(re.sub("^# .*", "# Yak questions", page.read_text(), count=1, flags=re.MULTILINE))
        again, anew = built(tmp_path / "again", monkeypatch), built(tmp_path / "anew", monkeypatch)
    finally:
        paths.root.cache_clear()
    assert [name for name in anew | again if again.get(name) != anew.get(name)] == []


@pytest.mark.parametrize(("module", "work"), [("build", "build"), ("pages", "make")])
def test_only_one_process_builds_and_ctrl_c_says_one_line(tmp_path, module, work):
    program = f"""import sys, time
from compendium import workers
from compendium.book import {module}
def work(*given):
    print("working", flush=True)
    [*workers.each(time.sleep, [600], 1)]
{module}.{work} = work
sys.argv = [""]
{module}.main()"""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    given |= {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # as at a terminal
    environment = os.environ | {"EVENSPAN_BUILD": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, **given)
    assert process.stdout.readline() == "working\n"
    with (tmp_path / "locks" / "make-book.lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (said.count("\n"), said[:12], process.returncode) == (1, "Interrupted.", 130)
