"""The command ``evenspan audit TABLE --sensitive COLUMN``: a table in, a report and fitted transformers out."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from .. import __version__
from ..core.errors import ConfigurationError, FairError
from .output_folder import SETTINGS

Text, Texts = str | None, list[str] | None
#: With this code the command ends after an error that it says in one line.
ERROR = 2
#: What a terminal obeys or cannot show: control characters but the end of a line, signs that turn the direction of
#: writing, halves of characters (bytes that are no text).
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """The text as it may go to a terminal: what that would obey is written out, such as ``\\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


class Group(TyperGroup):
    """Errors that evenspan raises on purpose, and an interruption, are one line: no traceback."""

    def invoke(self, ctx):
        for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character gets its code
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            typer.echo(printable(f"Interrupted. {error}").strip(), err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # who reads has seen enough
            raise
        except (FairError, OSError) as error:
            typer.echo(f"Error: {printable(error)}", err=True)
            raise typer.Exit(ERROR) from None


def command(about: str) -> typer.Typer:
    """An empty command with the option ``--version``, whose errors are told in plain words."""
    quiet = {"add_completion": False, "pretty_exceptions_enable": False}
    names = {"help_option_names": ["-h", "--help"]}
    app = typer.Typer(cls=Group, no_args_is_help=True, context_settings=names, help=about, **quiet)

    @app.callback()
    def _main(
        version: Annotated[
            bool, Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
        ] = False,
    ) -> None:
        pass

    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenspan {__version__}")
        raise typer.Exit


app = command("Fair principal components for a table of your own.")


@app.command()
def audit(
    table: Annotated[
        str, Argument(metavar="TABLE", help="CSV, TSV, Parquet, Arrow, Feather or Excel (also FILE::SHEET).")
    ] = "",
    sensitive: Annotated[
        Texts, Option("--sensitive", "-s", metavar="COL", help="Column whose groups are compared; may be repeated.")
    ] = None,
    target: Annotated[Text, Option(metavar="COL", help="Column that is to be predicted later.")] = None,
    weights: Annotated[
        Text, Option(metavar="COL", help="Column of weights: how many people each row stands for; no feature.")
    ] = None,
    k: Annotated[Text, Option("-k", metavar="RANGE", help="Numbers of components: 3, or 2,5, or 1..10.")] = None,
    methods: Annotated[
        Texts, Option("--methods", "-m", metavar="NAME", help="A method, may be repeated; 'all' adds the slow ones.")
    ] = None,
    concern: Annotated[str, Option(help="Which questions are answered: means, errors, classification, all.")] = "all",
    missing: Annotated[str, Option(help="Missing values: error, drop, mean, indicator.")] = "error",
    intersections: Annotated[
        bool, Option("--intersections", help="Also the groups of all sensitive columns together.")
    ] = False,
    exclude: Annotated[Texts, Option(metavar="COL", help="Column to leave out; may be repeated.")] = None,
    keep: Annotated[
        Texts, Option(metavar="COL", help="Numbers to use although they look like row numbers; may be repeated.")
    ] = None,
    missing_codes: Annotated[
        str, Option(metavar="CODES", help="What stands for no answer: -999,99, or by column 'income=-999; trust=8,9'.")
    ] = "",
    clusters: Annotated[Text, Option(metavar="COL", help="Column of clusters that are to be audited too.")] = None,
    representation: Annotated[Text, Option(metavar="FILE", help="A .npy or .parquet file to audit too.")] = None,
    decimal: Annotated[Text, Option(metavar="MARK", help="How decimals are written: . or ,")] = None,
    thousands: Annotated[Text, Option(metavar="MARK", help="What stands between thousands: , . ' or a blank.")] = None,
    skip_rows: Annotated[int, Option(metavar="N", help="Lines of the file above the names of the columns.")] = 0,
    header: Annotated[bool | None, Option("--header/--no-header", help="Whether the file names its columns.")] = None,
    holdout: Annotated[float, Option(help="Share of the rows that no method sees; as many choose the method.")] = 0.33,
    n_boot: Annotated[int, Option("--bootstrap", help="Samples behind each interval.")] = 1000,
    random_state: Annotated[int, Option("--seed", help="Seed of everything random.")] = 0,
    standardize: Annotated[bool, Option(help="Whether all columns get variance 1, or keep their units.")] = True,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FOLDER", help="Where it all goes.")] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Also write to a folder that holds other files, which stay.")
    ] = False,
    example: Annotated[bool, Option("--example", help="Audit a small table of invented people.")] = False,
) -> None:
    """What principal components do to the groups of a table, what can be done, and what is possible at all.

    Writes report.html, the executed notebook, tables, figures and fitted transformers to a folder.
    """
    parameters = {name: value for name, value in locals().items() if name not in ("output", "overwrite", "example")}
    output = output or Path("example" if example else "report")
    folder = output.resolve()
    if example == bool(table) or example == bool(sensitive):
        raise ConfigurationError("Needed are a TABLE and --sensitive COLUMN, or --example alone. See audit --help.")
    parameters |= {"table": table and _seen_from(folder, table, output), "k": None if k is None else sizes(k)}
    parameters |= {"representation": representation and _seen_from(folder, representation, output)}
    parameters |= {"methods": "all" if methods == ["all"] else methods or None}
    parameters |= {"exclude": exclude or [], "keep": keep or [], "missing_codes": codes_by_column(missing_codes)}
    from . import notebook

    if example:
        from .run import EXAMPLE, PEOPLE

        parameters |= EXAMPLE | {"table": PEOPLE.name}
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        notebook.run(parameters, folder, overwrite=overwrite, table=table, beside=PEOPLE if example else None)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Nothing was written to {output}.") from None
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    head = f"Report: {output / 'report.html'}; beside it audit.ipynb (change, run again), tables, figures, transformers"
    for line in [head, *settings["answers"], *settings["warnings"]]:
        typer.echo(printable(line))


def sizes(text: str) -> list[int]:
    """Numbers of components from ``3``, ``2,5``, ``1..10`` or a mixture of these."""
    parts = [re.fullmatch(r"\s*([0-9]{1,4})\s*(?:\.\.\s*([0-9]{1,4})\s*)?", part) for part in text.split(",")]
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) if part else range(0) for part in parts]
    if not all(one and one[0] > 0 for one in ranges):
        how = "Give a number, a list or a range: 3, or 2,5, or 1..10."
        raise ConfigurationError(f"-k {text[:40]!r} cannot be read. {how}")
    return sorted(set().union(*ranges))


def codes_by_column(text: str) -> list[str] | dict[str, list[str]]:
    """Codes of all columns, ``-999,99``, or of those that are named, ``income=-999; trust=8,9``."""
    named = [part.rpartition("=") for part in text.split(";") if part.strip()]
    found = {name.strip(): [code.strip() for code in codes.split(",")] for name, _, codes in named}
    if ("" in found and len(named) > 1) or not all(map(all, found.values())):
        how = "Give codes of all columns, or of each: -999,99, or 'income=-999; trust=8,9'."
        raise ConfigurationError(f"--missing-codes {text[:60]!r} cannot be read. {how}")
    return found.get("", found)


def _seen_from(folder: Path, table: str, output: Path) -> str:
    """The table as the notebook in the folder of the report names it, so that both can move together and run again."""
    from .read import split_path

    name, sheet = split_path(table)
    place = Path(name).resolve()
    if not place.exists():
        raise ConfigurationError(f"There is no {table} in {Path.cwd()}. Give the path of a table.")
    if folder in place.parents:
        why = f"is in {output}, where the report goes. Name another folder with -o."
        raise ConfigurationError(f"The table {table} {why}")
    try:
        seen = Path(os.path.relpath(place, folder)).as_posix()
    except ValueError:  # on another drive
        seen = str(place)
    return f"{seen}::{sheet}" if sheet else seen
