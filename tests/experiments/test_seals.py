"""Every file below data/ is sealed: an altered byte, a missing file and a new one are named."""

import os
import subprocess

import pytest

from compendium import seals
from evenspan.core.errors import ResultError


@pytest.fixture
def sealed(toy_checkout):
    seals.write()
    return toy_checkout / "data"


def test_what_is_sealed_agrees(sealed):
    files = [path for path in sealed.rglob("*") if path.is_file() and path != seals.path()]
    assert seals.check() == len(files)
    assert seals.write().read_bytes() == seals.path().read_bytes()


def test_altered_missing_and_new_files_are_named(sealed):
    table, other = sealed / "paper" / "toy_k10.csv", sealed / "paper" / "other.csv"
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    with pytest.raises(ResultError, match=r"file data/paper/toy_k10.csv was altered") as caught:
        seals.check()
    assert str(caught.value).count("\n  file ") == 1
    table.rename(other)
    with pytest.raises(ResultError, match=r"file data/paper/other.csv is not sealed(.|\n)*toy_k10.csv is missing"):
        seals.check()


def test_what_is_no_file_is_named_and_not_opened(sealed, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other.csv").write_text("a")
    (sealed / "linked").symlink_to(elsewhere)
    (sealed / "lost").symlink_to(sealed / "nowhere")
    os.mkfifo(sealed / "paper" / "pipe")
    table = sealed / "paper" / "toy_k10.csv"
    (elsewhere / table.name).write_bytes(table.read_bytes())
    table.unlink()
    table.symlink_to(elsewhere / table.name)
    with pytest.raises(ResultError, match=r"checksums.txt seals \d+ files") as caught:
        seals.check()
    for name in ("linked", "lost", "paper/pipe", "paper/toy_k10.csv"):
        assert f"file data/{name} is a link or no file" in str(caught.value)
    assert "other.csv" not in str(caught.value)
    with pytest.raises(ResultError, match="data/paper/pipe"):
        seals.write()


def test_an_altered_list_is_found(sealed):
    content = seals.path().read_bytes()
    for place in (0, 70):
        altered = bytearray(content)
        altered[place] ^= 1
        seals.path().write_bytes(altered)
        with pytest.raises(ResultError, match=r"checksums.txt seals \d+ files, but"):
            seals.check()
    seals.path().unlink()
    with pytest.raises(ResultError, match=r"checksums.txt is missing"):
        seals.check()


def test_others_can_read_the_list(sealed):
    check = ["sha256sum", "--check", "--strict", "--quiet", "data/checksums.txt"]
    assert subprocess.run(check, cwd=sealed.parent, capture_output=True, text=True).returncode == 0
    (sealed / "tolerances.yml").write_text("other")
    found = subprocess.run(check, cwd=sealed.parent, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, "data/tolerances.yml: FAILED\n")


def test_the_committed_files_are_sealed():
    assert seals.check() > 300
