"""The changelog counts the numbers that changed, and the counter counts what it should."""

import math
import os
import re
import subprocess

import pytest

from compendium import paths
from compendium.catalogue import catalogue
from compendium.keep.changed_numbers import _difference, changed
from evenspan.core.errors import ConfigurationError

HEAD = "dataset,method,k,split,protocol,metric,value,reason\n"


def row(split: int, value: str, metric: str = "ARE") -> str:
    return f"toy,PCA,2,{split},released,{metric},{value},\n"


@pytest.fixture
def results(toy_checkout):
    """A committed result of three numbers, and the rule by which numbers are compared."""
    path = toy_checkout / "data" / "results" / "full" / "toy-table" / "one.csv"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + row(0, "1.0") + row(1, "2.0") + row(2, ""))
    who = ["-c", "user.name=A", "-c", "user.email=a@b.cd", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *who, "-C", str(toy_checkout), *words], check=True, env=os.environ)
    return path


def test_nothing_changed(results):
    assert changed("HEAD") == []
    with pytest.raises(ConfigurationError, match="no such commit"):
        changed("nowhere")
    results.write_text(HEAD + row(2, "") + row(0, "1.0000000001") + row(1, "2.0"))  # order, and the last digits
    assert changed("HEAD") == []


def test_what_changed_is_counted(results):
    results.write_text(HEAD + row(0, "1.5") + row(2, "3.0") + row(3, "4.0"))
    (results.parent / "two.csv").write_text(HEAD + row(4, "9.0"))
    (one,) = changed("HEAD")
    assert one == ("toy-table", 2, 2, 2, 1, math.inf)  # a number in place of none
    results.write_text(HEAD + row(0, "1.5") + row(1, "2.0") + row(2, ""))
    assert next(iter(changed("HEAD"))).largest == pytest.approx(1 / 3)
    assert _difference(1e9, 1e9 + 1, rtol=1e-8, atol=1e-8) == 0 < _difference(1e9, 1e9 + 1, rtol=0, atol=1e-8)


def test_numbers_are_the_same_ones_in_other_files(results):
    """Files of several tasks with a column that names them and columns that only some need, against one file a task."""
    results.unlink()
    table = results.with_name("k2.csv")
    lines = [
        f"{name},{row(*one).strip()},\n" for name, one in zip("bab", ((0, "1.0"), (1, "2.0"), (2, "")), strict=True)
    ]
    table.write_text("task," + HEAD.strip() + ",weight\n" + "".join(lines))
    assert changed("HEAD") == []
    table.write_text(table.read_text().replace("2.0", "2.5"))
    (one,) = changed("HEAD")
    assert (one.both, one.differing, one.new, one.gone) == (3, 1, 0, 0)


def sections(changelog: str) -> dict[str, str]:
    _, *parts = re.split(r"^## \[(.+?)\].*$", changelog, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_release_says_which_numbers_changed():
    known = catalogue()
    for name, text in sections((paths.root() / "CHANGELOG.md").read_text(encoding="utf-8")).items():
        _, mark, rest = text.partition("### Numbers changed\n")
        assert mark, f"{name} has no section 'Numbers changed'; write 'None.' if there are none"
        entries = [" ".join(one.split()) for one in re.split(r"^- ", rest.partition("\n### ")[0], flags=re.MULTILINE)]
        entries = [one for one in entries if one]
        if entries == ["None."]:
            continue
        assert entries
        for entry in entries:
            said = re.match(r"`([a-z0-9-]+)`: (\d+) of (\d+) numbers, .+\.$", entry)
            assert said, entry
            experiment, differing, total = said[1], int(said[2]), int(said[3])
            assert experiment in known
            assert 0 < differing <= total
            if name == "Unreleased":  # the total is what is stored now
                stored = paths.results(experiment).glob("*.csv")
                assert total == sum(path.read_bytes().count(b"\n") - 1 for path in stored)
