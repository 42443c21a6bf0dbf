"""The command ``evenspan audit``: a table in, a report and fitted transformers out."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ConfigurationError, FairError

MISSING = ("error", "drop", "mean", "indicator")
CONCERNS = ("losses", "errors", "means")


def audit(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, Arrow, Feather or Excel.")],
    sensitive: Annotated[
        list[str],
        typer.Option("--sensitive", "-s", metavar="COL", help="Column whose groups are compared; may be repeated."),
    ],
    target: Annotated[str | None, typer.Option(metavar="COL", help="Column that is to be predicted later.")] = None,
    k: Annotated[
        str | None, typer.Option("-k", metavar="RANGE", help="Numbers of components: 3, or 2,5, or 1..10.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "-m", metavar="NAME", help="A method, may be repeated; 'all' adds the slow ones."),
    ] = None,
    concern: Annotated[
        str,
        typer.Option(help=f"What is to be alike between groups: {', '.join(CONCERNS)}. Decides what is recommended."),
    ] = "losses",
    missing: Annotated[str, typer.Option(help=f"Missing values: {', '.join(MISSING)}.")] = "error",
    intersections: Annotated[
        bool, typer.Option("--intersections", help="Also the groups of all sensitive columns together.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Numbers to use although they look like row numbers; may be repeated."),
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of the rows that no method sees.")] = 0.3,
    bootstrap: Annotated[int, typer.Option(help="Draws behind each interval.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    no_standardize: Annotated[
        bool, typer.Option("--no-standardize", help="Keep the columns' units; otherwise all get variance 1.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where everything goes.")] = Path(
        "report"
    ),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier audit in that folder.")] = False,
) -> None:
    """What principal components do to the groups of a table, what can be done, and what is possible at all.

    Writes report.html, the executed notebook, tables, figures and fitted transformers to a folder.
    """
    if not table.exists():
        raise ConfigurationError(f"There is no {table} in {Path.cwd()}. Give the path of a table.")
    for option, given, known in (("--missing", missing, MISSING), ("--concern", concern, CONCERNS)):
        if given not in known:
            raise ConfigurationError(f"{option} {given!r} is not known. Choose one of {', '.join(known)}.")
    folder = Path(os.path.normpath(Path.cwd() / output))
    parameters = {
        "table": _seen_from(folder, table),
        "sensitive": list(sensitive),
        "target": target,
        "k": None if k is None else sizes(k),
        "methods": _methods(methods),
        "concern": concern,
        "missing": missing,
        "intersections": intersections,
        "exclude": list(exclude or ()),
        "keep": list(keep or ()),
        "standardize": not no_standardize,
        "holdout": holdout,
        "n_boot": bootstrap,
        "random_state": seed,
    }
    from . import notebook

    try:
        with _shown() as follow:
            notebook.run(parameters, folder, overwrite=overwrite, follow=follow)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. Nothing was written to {output}.", err=True)
        raise typer.Exit(130) from None
    except FairError as error:
        # The notebook sees the table from the folder of the report; the user sees both from here.
        said = str(error).replace(parameters["table"], str(table)).replace(str(folder), str(output))
        raise type(error)(said) from None
    _tell(folder, output)


def sizes(text: str) -> list[int]:
    """Numbers of components from ``3``, ``2,5``, ``1..10`` or a mixture of these."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise ConfigurationError(
                f"-k {text!r} cannot be read. Give a number, a list or a range: 3, or 2,5, or 1..10."
            )
        found += range(first, last + 1)
    return sorted(set(found))


def _methods(given: list[str] | None) -> list[str] | str | None:
    if given and "all" in given:
        if len(given) > 1:
            raise ConfigurationError("--methods all goes with no other --methods.")
        return "all"
    return list(given) if given else None


def _seen_from(folder: Path, table: Path) -> str:
    """The table's path relative to the report, so that the notebook there can be run again where both have moved."""
    try:
        return Path(os.path.relpath(table.resolve(), folder.parent.resolve() / folder.name)).as_posix()
    except ValueError:  # on another drive
        return str(table.resolve())


@contextlib.contextmanager
def _shown() -> Iterator[Callable[[list[dict]], None]]:
    """Progress in the terminal: a bar, or a line for each stage where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console, stage = Console(stderr=True, highlight=False, markup=False), ""
    if not console.is_terminal:

        def lines(news: list[dict]) -> None:
            nonlocal stage
            for step in news:
                if step["stage"] != stage:
                    print(step["stage"], file=sys.stderr, flush=True)
                stage = step["stage"]

        yield lines
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting the notebook", total=None)

        def moves(news: list[dict]) -> None:
            for step in news:
                bar.update(task, description=step["stage"], total=step["total"], completed=step["done"])

        yield moves


def _tell(folder: Path, output: Path) -> None:
    """Say where everything is, and the recommendation in one line for each attribute."""
    typer.echo(f"Report: {output / 'report.html'}")
    parts = [f"{output / 'audit.ipynb'} (open, change, run again)"]
    for name, what in (("tables", "CSV files"), ("figures", "figures"), ("transformers", "fitted transformers")):
        parts.append(f"{output / name} ({sum(1 for _ in (folder / name).iterdir())} {what})")
    typer.echo("Beside it: " + ", ".join(parts))
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    for line in [*settings["answers"], *settings["warnings"]]:
        typer.echo(line)
