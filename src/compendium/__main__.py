"""``python -m compendium``, with the linear algebra that the stored numbers were made with."""

import os
import sys

from compendium.execution import numeric_environment

wanted = numeric_environment()
if not wanted.items() <= os.environ.items():  # it must be there before numpy is
    os.execve(sys.executable, [sys.executable, "-m", "compendium", *sys.argv[1:]], os.environ | wanted)

from .cli import app  # noqa: E402

sys.stdout.reconfigure(errors="backslashreplace")  # a name need not be text
app(prog_name="python -m compendium")
