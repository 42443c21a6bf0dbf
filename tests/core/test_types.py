"""What a type checker says of ordinary and of wrong calls of the public names."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evenspan

HERE = Path(__file__).parent / "typed"


@pytest.fixture(scope="module")
def said():
    run = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(HERE)]
    found = json.loads(subprocess.run(run, capture_output=True, text=True, check=False).stdout)["generalDiagnostics"]
    return [(Path(one["file"]).name, one["range"]["start"]["line"], one["severity"], one["message"]) for one in found]


def test_ordinary_calls_are_accepted_and_what_they_give_is_known(said):
    text = (HERE / "right.py").read_text()
    assert [one for one in said if one[0] == "right.py" and one[2] == "error"] == []
    types = [message for file, _, severity, message in said if file == "right.py" and severity == "information"]
    assert len(types) == text.count("\nreveal_type(") >= 80
    assert [one for one in types if re.search(r'is "(Any|Unknown|None \| Any)"|Unknown', one)] == []
    unnamed = {name for name in evenspan.__all__ if not re.search(rf"\b{name}\b", text)}
    assert unnamed == {"Audit", "Certificate", "FairError", "FairSubspace"}  # made or raised by others


def test_wrong_calls_are_rejected(said):
    lines = (HERE / "wrong.py").read_text().splitlines()
    calls = range(lines.index('FairPCA("2")'), len(lines))
    rejected = {line for file, line, severity, _ in said if file == "wrong.py" and severity == "error"}
    assert [lines[number] for number in calls if number not in rejected] == []
    assert len(calls) >= 20
