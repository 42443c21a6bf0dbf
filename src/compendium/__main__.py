"""``python -m compendium``: what is stored, run, verified, written and kept."""

from .cli import app

app(prog_name="python -m compendium")
