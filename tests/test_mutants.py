"""Do the tests find faults? Each of a list is put into a copy of ``src``, and a test of its area must fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .mutants import AREAS, mutants

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: f"{Path(one.file).stem}: {one.line[:40]}")
def test_the_line_stands_once(mutant):
    assert (ROOT / "src" / mutant.file).read_text(encoding="utf-8").count(mutant.line) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: f"{Path(one.file).stem}: {one.line[:40]}")
def test_a_fault_is_found(mutant, tmp_path):
    for one in ROOT.iterdir():
        if one.name not in ("src", "_build", ".git"):
            (tmp_path / one.name).symlink_to(one)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "src" / mutant.file
    file.write_text(file.read_text(encoding="utf-8").replace(mutant.line, mutant.fault), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += [f"tests/{name}" for name in AREAS[mutant.file]]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout[-2000:]
