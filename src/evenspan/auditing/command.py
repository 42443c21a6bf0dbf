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

from ..core.errors import ConfigurationError, LimitError, told
from .limits import TABLE
from .places import target as place_of

MISSING = ("error", "drop", "mean", "indicator")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
CONCERNS = ("losses", "errors", "means")


def audit(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, Arrow, Feather or Excel (also FILE::SHEET).")
    ],
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
    decimal: Annotated[str | None, typer.Option(metavar="MARK", help="How decimals are written: . or ,")] = None,
    thousands: Annotated[
        str | None, typer.Option(metavar="MARK", help="What stands between thousands: , or . or ' or a blank.")
    ] = None,
    skip_rows: Annotated[int, typer.Option(metavar="N", help="Lines of the file above the names of the columns.")] = 0,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the file names its columns.")
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
    folder = place_of(output)
    parameters = {
        "table": _seen_from(folder, table, output),
        "sensitive": list(sensitive),
        "target": target,
        "k": None if k is None else sizes(k),
        "methods": _methods(methods),
        "concern": concern,
        "missing": missing,
        "intersections": intersections,
        "exclude": list(exclude or ()),
        "keep": list(keep or ()),
        "decimal": decimal,
        "thousands": thousands,
        "skip_rows": skip_rows,
        "header": header,
        "standardize": not no_standardize,
        "holdout": holdout,
        "n_boot": bootstrap,
        "random_state": seed,
    }
    _require_named(parameters)
    from . import notebook
    from .run import require_arguments

    require_arguments(**{name: parameters[name] for name in parameters if name not in ("table", "standardize")})
    with _shown() as follow:
        notebook.run(parameters, folder, overwrite=overwrite, shown=output, table=table, follow=follow)
    _tell(folder, output)


def sizes(text: str) -> list[int]:
    """Numbers of components from ``3``, ``2,5``, ``1..10`` or a mixture of these."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)\s*(?:\.\.\s*([0-9]+)\s*)?", part)
        first, last = (_number(match[1]), _number(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise ConfigurationError(
                f"-k {text[:40]!r} cannot be read. Give a number, a list or a range: 3, or 2,5, or 1..10."
            )
        if last > (most := TABLE["features"][0]):
            raise LimitError(
                f"-k {text[:40]} asks for more than {most:,} components; an audit takes at most {most:,} features. "
                "Ask for fewer."
            )
        found += range(first, last + 1)
    return sorted(set(found))


def _number(digits: str) -> int:
    """The number; of one that is far too large, its first digits are enough."""
    return int(digits.lstrip("0")[:9] or 0)


def _methods(given: list[str] | None) -> list[str] | str | None:
    if given and "all" in given:
        if len(given) > 1:
            raise ConfigurationError("--methods all goes with no other --methods.")
        return "all"
    return list(given) if given else None


def _require_named(parameters: dict) -> None:
    """Every name has a character, and is text: a notebook holds no bytes that are none."""
    for argument, given in parameters.items():
        for name in given if isinstance(given, list) else [given]:
            if isinstance(name, str) and (not name or _NO_TEXT.search(name)):
                raise ConfigurationError(
                    f"{argument} has {name!r}; needed is at least one character, all of UTF-8. Rename it, or leave the "
                    "option out."
                )


def _seen_from(folder: Path, table: str, output: Path) -> str:
    """The table as the notebook in the folder of the report names it, so that both can move together and run again."""
    from .read import split_path

    name, sheet = split_path(table)
    place = place_of(name)
    if not os.path.exists(place):  # also one whose name is too long
        raise ConfigurationError(f"There is no {name} in {Path.cwd()}. Give the path of a table.")
    if folder in place.parents:
        raise ConfigurationError(
            f"The table {table} is in {output}, where the report goes. Name another folder with -o."
        )
    try:
        seen = Path(os.path.relpath(place, folder)).as_posix()
    except ValueError:  # on another drive
        seen = str(place)
    return f"{seen}::{sheet}" if sheet else seen


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
                    print(told(step["stage"]), file=sys.stderr, flush=True)
                stage = step["stage"]

        yield lines
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting the notebook", total=None)

        def moves(news: list[dict]) -> None:
            for step in news:
                bar.update(task, description=told(step["stage"]), total=step["total"], completed=step["done"])

        yield moves


def _tell(folder: Path, output: Path) -> None:
    """Say where everything is, and the recommendation in one line for each attribute."""
    typer.echo(told(f"Report: {output / 'report.html'}"))
    parts = [f"{output / 'audit.ipynb'} (open, change, run again)"]
    for name, what in (("tables", "CSV files"), ("figures", "figures"), ("transformers", "fitted transformers")):
        parts.append(f"{output / name} ({sum(1 for _ in (folder / name).iterdir())} {what})")
    typer.echo(told("Beside it: " + ", ".join(parts)))
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    for line in [*settings["answers"], *settings["warnings"]]:
        typer.echo(told(line))
