"""The archive: the same bytes each time, refused when it would be wrong, checked file by file, enough to go on from."""

import io
import lzma
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from pypdf import PdfWriter

from compendium import paths
from compendium.keep import archive, built, crate, pdf
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

    monkeypatch.setattr(crate, "write", small_crate)
    return toy_checkout


def build_book(root: Path) -> None:
    html = root / "_build" / "html"
    (html / "_static").mkdir(parents=True, exist_ok=True)
    (html / "index.html").write_text("<html><head></head><body>book</body></html>")
    (html / built.MADE_OF).write_text(built.made_of())


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {member.name: member for member in tar}


def rewrite(source: Path, target: Path, changes: dict[str, bytes | None], added: list[str]) -> Path:
    """A copy of an archive with other content for some names, None to leave one out, and with members added."""
    with tarfile.open(source) as old, lzma.open(target, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as new:
        parts = [(member.name, old.extractfile(member).read()) for member in old]
        for name, content in [*parts, *((name, b"x") for name in added)]:
            content = changes.get(name.partition("/")[2], content)
            if content is not None:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return target


def test_two_runs_give_the_same_bytes_and_both_are_verified(checkout, out):
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
    assert archive.verify(second.path) == (second.files - 1, second.sha256)
    # ... also by the tool that everybody has.
    with tarfile.open(second.path) as tar:
        tar.extractall(out / "out", filter="data")
    (top,) = (out / "out").iterdir()
    assert subprocess.run(["sha256sum", "--quiet", "-c", archive.SUMS], cwd=top, check=False).returncode == 0


def test_what_was_changed_is_named(checkout, out):
    made = archive.write(out / "a").path
    top = next(iter(members(made))).partition("/")[0]
    with tarfile.open(made) as tar:
        listed = tar.extractfile(f"{top}/{archive.SUMS}").read()
    damages = [
        ("book/index.html was altered", {"book/index.html": b"other"}, []),
        ("source/run.sh is missing", {"source/run.sh": None}, []),
        ("SHA256SUMS is missing", {archive.SUMS: None}, []),
        ("SHA256SUMS was altered", {archive.SUMS: listed + b"\n"}, []),  # all digests are still right
        ("source/new.py was added", {}, [f"{top}/source/new.py"]),
        ("../x is outside of the archive's folder", {}, ["../x"]),
        ("other/x is outside of the archive's folder", {}, ["other/x"]),
        ("book/index.html is there twice", {}, [f"{top}/book/index.html"]),
    ]
    for said, changes, added in damages:
        with pytest.raises(ResultError, match="Fetch it again") as error:
            archive.verify(rewrite(made, out / "changed.tar.xz", changes, added))
        assert said in str(error.value)
    made.with_name(made.name + ".sha256").write_text("0" * 64 + f"  {made.name}\n")
    with pytest.raises(ResultError, match=r"not the one that .*sha256 describes"):
        archive.verify(made)
    for share in (0, 0.5, 0.99):
        (out / "cut.tar.xz").write_bytes(made.read_bytes()[: int(share * made.stat().st_size)])
        with pytest.raises(ResultError, match="damaged"):
            archive.verify(out / "cut.tar.xz")
    with pytest.raises(ConfigurationError, match="no file"):
        archive.verify(out / "none.tar.xz")


@pytest.mark.parametrize("name", ["new.txt", "experiments.yml"])
def test_sources_that_differ_from_the_commit_are_refused_or_marked(checkout, out, name):
    with (checkout / name).open("a") as stream:
        stream.write("# changed\n")
    build_book(checkout)
    with pytest.raises(ResultError, match=rf"{name}.*Commit them, or give --allow-dirty"):
        archive.write(out / "a")
    made = archive.write(out / "a", allow_dirty=True)
    assert made.path.name.endswith("-dirty.tar.xz")
    archive.verify(made.path)
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
    (checkout / "_build" / "html" / built.MADE_OF).unlink()
    with pytest.raises(ResultError, match="does not say what it was made from"):
        archive.write(out / "a", allow_dirty=True)
    (checkout / "_build" / "html" / "index.html").unlink()
    with pytest.raises(ResultError, match="no book"):
        archive.write(out / "a", allow_dirty=True)


def test_a_pdf_of_another_book_is_refused(checkout, out):
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    pdf.target().parent.mkdir(parents=True)
    writer.write(pdf.target())
    with pytest.raises(ResultError, match="python -m compendium pdf"):
        archive.write(out / "a")


def test_without_git_there_is_no_archive_to_make_but_one_to_check(checkout, out):
    made = archive.write(out / "a").path
    (checkout / ".git").rename(out / "git")
    with pytest.raises(ResultError, match=r"is unknown: .*a clone of the repository"):
        archive.write(out / "b")
    assert archive.verify(made)[0] > 5


@pytest.mark.slow
def test_the_source_part_is_enough_to_judge_every_number_again(out, request):
    """Unpack the sources of this very checkout elsewhere; they check all checksums, and exhaustively their ledger."""
    found = archive.sources()
    names = {f"source/{path.relative_to(paths.root()).as_posix()}": path for path in found.files}
    made = archive._write(out / "restored.tar.xz", "evenspan", names, found, 0)
    assert archive.verify(made.path)[0] == len(names) + 1
    with tarfile.open(made.path) as tar:
        tar.extractall(out / "out", filter="data")
    root = out / "out" / "evenspan" / "source"
    environment = os.environ | {"EVENSPAN_ROOT": str(root), "PYTHONPATH": str(root / "src")}
    commands = [["ledger", "--check"]] if request.config.getoption("exhaustive") else []
    for command in (["verify", "--files"], *commands):
        run = [sys.executable, "-m", "compendium", *command]
        done = subprocess.run(run, env=environment, cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if command == ["ledger", "--check"]:
            assert str(root) in done.stdout
    (root / "data" / "tolerances.yml").write_text("altered: true\n")
    done = subprocess.run([*run[:3], "verify", "--files"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "data/tolerances.yml was altered" in done.stderr
