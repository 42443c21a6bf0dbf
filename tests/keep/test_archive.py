"""The archive: the same bytes each time, refused when it would be wrong, checked file by file, enough to go on from."""

import io
import lzma
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from compendium import paths
from compendium.keep import archive, archive_check, book_pdf, ingredients
from compendium.keep import crate as crate_module
from evenspan.core.errors import ConfigurationError, ResultError


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@b.cd", "-c", "commit.gpgsign=false"]
    when = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True, env=os.environ | when)


@pytest.fixture
def out(tmp_path_factory) -> Path:
    """A folder outside of the checkout."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture
def checkout(toy_checkout, monkeypatch):
    """A committed checkout with a small book, and a crate of one file in place of the real one."""
    (toy_checkout / ".gitignore").write_text("_build/\n__pycache__/\n")
    for name in ("_config.yml", "_toc.yml", "CITATION.cff"):
        (toy_checkout / name).write_text(f"# {name}\n")
    (toy_checkout / "run.sh").write_text("#!/bin/sh\n")
    (toy_checkout / "run.sh").chmod(0o755)
    git(toy_checkout, "init", "-q")
    git(toy_checkout, "add", "-A")
    git(toy_checkout, "commit", "-q", "-m", "all")
    build_book(toy_checkout)

    def small_crate(folder):
        folder.mkdir(parents=True)
        (folder / "ro-crate-metadata.json").write_text("{}\n")
        return folder / "ro-crate-metadata.json"

    monkeypatch.setattr(crate_module, "write", small_crate)
    return toy_checkout


def build_book(root: Path) -> None:
    html = root / "_build" / "html"
    (html / "_static").mkdir(parents=True, exist_ok=True)
    (html / "index.html").write_text("<html><head></head><body>book</body></html>")
    (html / ingredients.NAME).write_text(ingredients.listing())


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {member.name: member for member in tar}


def rewrite(source: Path, target: Path, change) -> Path:
    """A copy of an archive whose files went through ``change(name, content)``; None leaves a file out."""
    with tarfile.open(source) as old, lzma.open(target, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as new:
        for member in old:
            content = change(member.name, old.extractfile(member).read())
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
        for name in getattr(change, "extra", ()):
            member = tarfile.TarInfo(name)
            member.size = 1
            new.addfile(member, io.BytesIO(b"x"))
    return target


def test_two_runs_give_the_same_bytes(checkout, out):
    first = archive.write(out / "a")
    os.utime(checkout / "experiments.yml", (1, 1))
    second = archive.write(out / "b")
    assert first.sha256 == second.sha256
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.path.with_name(first.path.name + ".sha256").read_text() == f"{first.sha256}  {first.path.name}\n"
    found = members(first.path)
    assert {"source/experiments.yml", "source/run.sh", "book/index.html", "results/ro-crate-metadata.json"} <= {
        name.partition("/")[2] for name in found
    }
    assert {member.mtime for member in found.values()} == {1767323045}
    assert {(member.uid, member.uname) for member in found.values()} == {(0, "")}
    (executable,) = [name for name, member in found.items() if member.mode == 0o755]
    assert executable.endswith("source/run.sh")


def test_an_archive_that_was_not_touched_is_verified(checkout, out):
    made = archive.write(out / "a")
    files, digest = archive_check.verify(made.path)
    assert (files, digest) == (made.files - 1, made.sha256)
    # ... also by the tool that everybody has.
    with tarfile.open(made.path) as tar:
        tar.extractall(out / "out", filter="data")
    (top,) = (out / "out").iterdir()
    assert subprocess.run(["sha256sum", "--quiet", "-c", archive.SUMS], cwd=top, check=False).returncode == 0


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("book/index.html", "book/index.html was altered"),
        ("source/run.sh", "source/run.sh is missing"),
        ("extra", "source/new.py was added"),
        ("outside", "is outside of the archive's folder"),
        ("twice", "book/index.html is there twice"),
        ("list", "SHA256SUMS is missing"),
        ("listing", "SHA256SUMS was altered"),
    ],
)
def test_what_was_changed_is_named(checkout, out, where, what):
    made = archive.write(out / "a").path
    top = next(iter(members(made))).partition("/")[0]

    def change(name, content):
        if where == "list" and name.endswith(archive.SUMS):
            return None
        if where == "listing" and name.endswith(archive.SUMS):
            return content + b"\n"
        if name.endswith(where):
            return content + b" " if "altered" in what else None
        return content

    extra = {"extra": f"{top}/source/new.py", "outside": "../x", "twice": f"{top}/book/index.html"}
    change.extra = [extra[where]] if where in extra else []
    with pytest.raises(ResultError) as error:
        archive_check.verify(rewrite(made, out / "changed.tar.xz", change))
    assert what in str(error.value)
    assert "Fetch it again" in str(error.value)


def test_the_checksum_beside_the_archive_counts(checkout, out):
    made = archive.write(out / "a").path
    beside = made.with_name(made.name + ".sha256")
    beside.write_text("0" * 64 + f"  {made.name}\n")
    with pytest.raises(ResultError, match=r"not the one that .*sha256 describes"):
        archive_check.verify(made)


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_an_archive_that_ends_too_early_is_damaged(checkout, out, share):
    made = archive.write(out / "a").path
    content = made.read_bytes()
    (out / "cut.tar.xz").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ResultError, match="damaged"):
        archive_check.verify(out / "cut.tar.xz")
    with pytest.raises(ConfigurationError, match="no file"):
        archive_check.verify(out / "none.tar.xz")


@pytest.mark.parametrize("name", ["new.txt", "experiments.yml"])
def test_sources_that_differ_from_the_commit_are_refused_or_marked(checkout, out, name):
    with (checkout / name).open("a") as stream:
        stream.write("# changed\n")
    build_book(checkout)
    with pytest.raises(ResultError, match=rf"{name}.*Commit them, or give --allow-dirty"):
        archive.write(out / "a")
    made = archive.write(out / "a", allow_dirty=True)
    assert made.path.name.endswith("-dirty.tar.xz")
    archive_check.verify(made.path)
    with tarfile.open(made.path) as tar:
        assert b"1 files differ from it" in tar.extractfile(next(iter(tar))).read()


def test_a_book_that_is_missing_or_old_is_refused(checkout, out):
    (checkout / "notebooks" / "toy" / "table.ipynb").write_text("{}")
    (checkout / "data" / "new.csv").write_text("a\n")
    (checkout / "data" / "paper" / "toy_k10.csv").unlink()
    with pytest.raises(ResultError) as error:
        archive.write(out / "a", allow_dirty=True)
    for said in ("notebooks/toy/table.ipynb (changed)", "data/new.csv (new)", "toy_k10.csv (gone)", "Run 'make book'"):
        assert said in str(error.value)
    (checkout / "_build" / "html" / ingredients.NAME).unlink()
    with pytest.raises(ResultError, match="does not say what it was made from"):
        archive.write(out / "a", allow_dirty=True)
    (checkout / "_build" / "html" / "index.html").unlink()
    with pytest.raises(ResultError, match="no book"):
        archive.write(out / "a", allow_dirty=True)


def test_a_pdf_of_another_book_is_refused(checkout, out):
    from pypdf import PdfWriter

    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    book_pdf.target().parent.mkdir(parents=True)
    writer.write(book_pdf.target())
    with pytest.raises(ResultError, match="python -m compendium pdf"):
        archive.write(out / "a")


def test_without_git_the_files_are_those_that_are_there(checkout, out):
    (checkout / ".git").rename(out / "git")
    (checkout / "__pycache__").mkdir()
    (checkout / "__pycache__" / "x.pyc").write_text("x")
    found = archive.sources()
    names = {path.relative_to(checkout).as_posix() for path in found.files}
    assert {"experiments.yml", "run.sh", "data/paper/toy_k10.csv"} <= names
    assert not any("__pycache__" in name or name.startswith("_build") for name in names)
    assert found.commit.startswith("unknown")


@pytest.mark.slow
def test_the_source_part_is_enough_to_judge_every_number_again(out, monkeypatch):
    """Unpack the sources of this very checkout elsewhere and let them check their ledger and all checksums."""
    found = archive.sources()
    names = {f"source/{path.relative_to(paths.root()).as_posix()}": path for path in found.files}
    made = archive._write(out, "restored", "evenspan", names, found, 0)
    assert archive_check.verify(made.path)[0] == len(names) + 1
    with tarfile.open(made.path) as tar:
        tar.extractall(out / "out", filter="data")
    root = out / "out" / "evenspan" / "source"
    environment = os.environ | {"EVENSPAN_ROOT": str(root), "PYTHONPATH": str(root / "src")}
    for command in (["verify", "--files"], ["ledger", "--check"]):
        run = [sys.executable, "-m", "compendium", *command]
        done = subprocess.run(run, env=environment, cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if command == ["ledger", "--check"]:
            assert str(root) in done.stdout
    (root / "data" / "tolerances.yml").write_text("altered: true\n")
    done = subprocess.run([*run[:3], "verify", "--files"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "data/tolerances.yml was altered" in done.stderr
