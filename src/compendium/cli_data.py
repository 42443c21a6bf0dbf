"""The commands ``python -m compendium data ...``, and what all commands share: tables."""

import os
import sys
from typing import Annotated

import typer

from evenspan.cli import Group

data_app = typer.Typer(cls=Group, no_args_is_help=True, help="Data sets: list, fetch, verify, describe.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set (python -m compendium data list).")]


@data_app.command("list")
def data_list() -> None:
    """Data sets: where they are used, and which of their raw files are here."""
    from . import data as datasets

    table = rows_of("data set", "title", "files here", "where")
    for one in datasets.status():
        here = f"{one.present} of {one.files}" if one.files else "all"
        table.add_row(one.name, one.title, here, f"{one.place}: {one.folder}" if one.folder else one.place)
    show(table)


@data_app.command("fetch")
def data_fetch(name: Name) -> None:
    """Download the raw files that are missing, and verify them."""
    from . import data as datasets

    files = datasets.fetch(name)
    typer.echo(f"{name}: {len(files)} files are here and have their recorded checksums.")


@data_app.command("verify")
def data_verify(name: Name) -> None:
    """Compare the raw files with their recorded checksums."""
    from . import data as datasets

    files = datasets.verify(name)
    typer.echo(f"{name}: {len(files)} files have their recorded checksums.")


@data_app.command("card")
def data_card(name: Name) -> None:
    """Show the data card."""
    from . import data as datasets

    typer.echo(datasets.card(name))


@data_app.command("moments")
def data_moments(name: Name) -> None:
    """Compute the moments that the embedded profile uses from the verified raw files."""
    import subprocess

    from evenspan.auditing.execution import numeric_environment

    from . import data as datasets

    wanted = numeric_environment()
    if not wanted.items() <= os.environ.items():
        # The numerical libraries are loaded by now and read these settings once: a new process starts with them.
        command = [sys.executable, "-m", "compendium", "data", "moments", name]
        raise typer.Exit(subprocess.run(command, env=os.environ | wanted, check=False).returncode)
    for path in datasets.make_moments(name):
        typer.echo(f"Written: {path}")


def rows_of(*columns: str):
    """An empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    return table


def show(rows) -> None:
    """Print a table."""
    from rich.console import Console

    # In a pipe or a file nothing is wrapped to a screen that is not there.
    Console(highlight=False, width=None if sys.stdout.isatty() else 400).print(rows)
