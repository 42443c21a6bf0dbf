"""Array API inputs. SciPy reads its switch when it is imported, so that the cases run in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_tensors_are_taken_as_scikit_learn_takes_them():
    cases = Path(__file__).with_name("array_api_cases.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", str(cases)]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=cases.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40
