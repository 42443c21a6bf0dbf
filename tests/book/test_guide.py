"""What the guide tells a reader to type runs: commands and blocks of its pages and of the README's section.

Cells of the chapters are executed by the build. Everything else that is set as code is found here, and must be known.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import typer

from compendium import paths
from evenspan.auditing import command

from ..conftest import TURN

ROOT = paths.root()
GUIDE = ("index", "choose", "coming-from", "meaning", "troubleshooting", "faq")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Commands that set a machine up; what they install is looked up instead.
SET_UP = ("python3 -m venv .venv && source .venv/bin/activate", "pip install -e '.[audit]'")


def section(page: str, title: str) -> str:
    """The part of a page from one heading of the second level to the next."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return next(part for part in parts if part.splitlines()[0] == title)


def texts() -> dict[str, str]:
    found = {f"yours/{name}": (ROOT / "book" / "yours" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDE}
    found["README"] = section((ROOT / "README.md").read_text(encoding="utf-8"), "Your own data")
    return found


def blocks(language: str) -> list[tuple[str, str]]:
    return [(page, body) for page, text in texts().items() for kind, body in FENCE.findall(text) if kind == language]


def commands() -> list[tuple[str, str]]:
    return [
        (page, line.removeprefix("$ ").partition("  #")[0].strip())
        for page, body in blocks("console")
        for line in body.splitlines()
        if line.strip()
    ]


AUDITS = sorted({line for _, line in commands() if line.startswith("evenspan audit ")})
#: The one that is run; each is parsed.
CHOSEN = AUDITS[TURN % len(AUDITS)]
PYTHON = [pytest.param(body, id=f"{page}-{place}") for place, (page, body) in enumerate(blocks("python"))]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """A table with the columns that the guide names: three kinds of column, groups of unequal size and spread."""
    rng, n = np.random.default_rng(5), 260
    sex = np.where(rng.random(n) < 0.35, "female", "male")
    table = pd.DataFrame(rng.normal(size=(n, 4)) * [3.0, 2.0, 1.0, 0.5], columns=["age", "hours", "visits", "height"])
    table["visits"] += 2.0 * (sex == "female")
    table["town"] = rng.choice(["A", "B", "C"], n)
    return table.assign(sex=sex, outcome=rng.normal(size=n), target=rng.normal(size=n))


def test_every_block_is_accounted_for():
    kinds = {kind for text in texts().values() for kind, _ in FENCE.findall(text)}
    assert kinds <= {"console", "python"}, "a block that this test does not run"
    for page, line in commands():
        assert line in SET_UP or line in AUDITS, f"{page}: {line}"
    for line in AUDITS:
        typer.main.get_command(command.app).commands["audit"].make_context("audit", shlex.split(line)[2:])
    assert len(AUDITS) > 1
    assert PYTHON
    assert {page for page, line in commands() if line in SET_UP} >= {"README", "yours/index"}


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[] if line == CHOSEN else pytest.mark.exhaustive) for line in AUDITS]
)
def test_a_command_of_the_guide_leaves_what_it_says(line, people, tmp_path):
    program, *arguments = shlex.split(line)
    table = next(word for word in arguments if word.endswith(".csv"))
    people.to_csv(tmp_path / table, index=False)
    evenspan = Path(sys.executable).parent / program
    done = subprocess.run(
        [str(evenspan), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = tmp_path / arguments[arguments.index("-o") + 1]
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert list(folder.glob("*.ipynb"))
    for part, ending in (("tables", "csv"), ("figures", "svg"), ("transformers", "npz")):
        assert list((folder / part).glob(f"*.{ending}")), part
    shutil.rmtree(folder)


@pytest.mark.parametrize("block", PYTHON)
def test_a_block_of_python_runs(block, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    frame = people.drop(columns="target")
    X = people[["age", "hours", "visits", "height"]]
    names = {"frame": frame, "X": X, "groups": people["sex"]}
    exec(compile(block, "a block of the guide", "exec"), names)
    if "report.html" in block:
        assert (tmp_path / "report.html").stat().st_size > 10_000
    if "transformer.npz" in block:
        assert (tmp_path / "transformer.npz").is_file()
