"""``python -m compendium``: what is stored, run, verified, written and kept."""

from .cli import main

main()
