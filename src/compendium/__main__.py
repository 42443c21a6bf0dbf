"""``python -m compendium``: what is stored, run, verified, written and kept; signals are listened to before all."""

import sys

from evenspan.core.ending import guarded


def _work() -> None:
    from .cli import app

    sys.stdout.reconfigure(errors="backslashreplace")  # a name need not be text
    app(prog_name="python -m compendium")


guarded(_work)
