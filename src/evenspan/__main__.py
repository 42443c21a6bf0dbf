"""``python -m evenspan``: the command of the library."""

from .cli import main

main()
