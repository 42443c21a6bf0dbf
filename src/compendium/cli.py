"""The reproduction's commands: ``python -m compendium list | run | verify | data | ledger | book | live``.

Everything is imported where it is needed, so that help appears at once. Numbers are computed in processes of their own,
whose numerical libraries use one thread, so that they do not depend on the number of cores.
"""

import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from evenspan.cli import Group, command
from evenspan.core.ending import Ended
from evenspan.core.errors import ConfigurationError, ResultError

app = command("The reproducible compendium of fair PCA: experiments, data, and the ledger of verdicts.")
data_app = typer.Typer(cls=Group, no_args_is_help=True, help="Data sets: list, fetch, verify, describe.")
app.add_typer(data_app, name="data")


#: As many processes at once as one may ask for: more than any machine has cores.
MOST_JOBS = 1024
_Jobs = Annotated[int | None, typer.Option(min=1, max=MOST_JOBS, help="Processes at once; default one per core.")]
# -- experiments ------------------------------------------------------------------------------------------------------


@app.command("list")
def list_experiments() -> None:
    """Experiments, their executions, and how much of the full run is stored."""
    from . import store
    from .catalogue import catalogue

    rows = (
        (entry.id, f"{entry.title} ({entry.paper})", ", ".join(entry.executions), store.summary(entry.id))
        for entry in catalogue().values()
    )
    show(("experiment", "what", "executions", "stored"), rows)


class _Run(TyperCommand):
    """Accepts ``-p NAME VALUE``, as papermill does: the pair becomes one ``NAME=VALUE`` of a repeatable option."""

    def parse_args(self, ctx, args):
        rest = list(args)
        for at in [i for i, word in enumerate(rest) if word in ("-p", "--parameter")][::-1]:
            if len(rest) > at + 2 and "=" not in rest[at + 1]:
                rest[at + 1 : at + 3] = [f"{rest[at + 1]}={rest[at + 2]}"]
        return super().parse_args(ctx, rest)


@app.command(cls=_Run)
def run(
    experiment_id: Annotated[str, typer.Argument(metavar="ID", help="Experiment (python -m compendium list).")],
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME VALUE", help="Set a parameter; may be repeated."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="embedded: offline, minutes. full: the paper's protocol on the raw data.")
    ] = "embedded",
    execution: Annotated[str | None, typer.Option(help="One of the book's executions.")] = None,
    task: Annotated[str | None, typer.Option(help="Full profile: only this unit, without the notebook.")] = None,
    jobs: _Jobs = None,
) -> None:
    """Run the notebook of an experiment; in the full profile after the units that are not stored yet.

    Without parameters the full profile runs all executions of the book. Of a committed notebook with other cells every
    unit is computed anew, and the notebook runs when all of them are.
    """
    from . import edits
    from .catalogue import experiment
    from .protocol import asked
    from .provenance import commit
    from .store import units_of

    entry = experiment(experiment_id)
    if bare := [text for text in parameter or () if "=" not in text]:
        raise ConfigurationError(f"-p needs a name and a value, but got only {bare[0]!r}.")
    given = [tuple(text.split("=", 1)) for text in parameter or ()]
    arguments = entry.arguments(execution, profile, given)
    if profile == "embedded":
        if task is not None or jobs is not None:
            raise ConfigurationError("--task and --jobs belong to the full profile; add --profile full.")
        _run_notebook(entry, arguments)
        return
    own = {name: value for name, value in arguments.items() if name != "profile"}
    settings = [own] if execution or given else [entry.execution(name) for name in entry.runs]
    known, computed = [], 0
    try:
        for setting in settings:
            study, unit, seed = asked(entry, setting)
            known += study.units
            computed += len(study.compute(unit, None if task is None else [task], seed=seed, jobs=jobs))
        if edits.new_cells(entry) and {unit.record["commit"] for unit in units_of(entry.id).values()} == {commit()[0]}:
            edits.adopt(entry)
        for setting in settings if task is None and not edits.new_cells(entry) else ():
            _run_notebook(entry, setting | {"profile": "full"})
    except Ended as ended:
        ended.what = "What is finished is stored; the same command continues."
        raise
    if task is not None and task not in known:
        raise ConfigurationError(f"{entry.id} has no unit {task}; its units are {', '.join(known)}.")
    kept = len(known if task is None else [task]) - computed
    typer.echo(f"{entry.id}: {computed} computed, {kept} stored already")


def _run_notebook(entry: Any, arguments: dict[str, Any]) -> None:
    from .book.pages import execute
    from .catalogue import task_id
    from .paths import build, root

    own = {name: value for name, value in arguments.items() if name != "profile"}
    target = build("runs", entry.id, f"{entry.execution_for(own) or task_id(own)}.ipynb")
    execute(root() / entry.notebook, target, arguments)
    typer.echo(f"Executed notebook: {target}")


@app.command()
def verify(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID ...]", help="Experiments; default all.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that is stored; takes hours.")] = False,
    sample: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Units of so many seconds, drawn by the commit."),
    ] = None,
    jobs: _Jobs = None,
) -> None:
    """Compute stored results again and compare; where all of an experiment agree, they belong to the cells it has now.

    Of an experiment that is named a sample has two units of each method at least.
    """
    from . import verify as report
    from .provenance import commit

    if bool(ids or sample is not None) == everything:
        raise ConfigurationError("Give experiments, --sample SECONDS, or both; or --all.")
    chosen = report.chosen(ids or (), sample, commit()[0])
    typer.echo(f"{len(chosen)} units: {', '.join(f'{name} {task}' for name, task in chosen)}")
    found = report.verify(chosen, jobs=jobs)
    rows = []
    for one in found:
        said, shown = one.comparison, ("", "", "", "")
        if said is not None:
            shown = str(said.rows), f"{said.largest_absolute:.3g}", f"{said.largest_relative:.3g}", said.metric
            verdict = "agrees" if one.ok else f"DIFFERS at {said.where}"
        else:
            verdict = f"{'no data here' if one.failure.no_data else 'NOT COMPUTED'}: {one.failure.reason}"
        rows.append((one.experiment, one.task, *shown, verdict))
    show(("experiment", "unit", "numbers", "largest difference", "relative", "of", "verdict"), rows)
    absent = sum(one.failure is not None and one.failure.no_data for one in found)
    agree = sum(one.ok for one in found)
    typer.echo(f"{agree} of {len(found)} units agree; the data of {absent} are not at hand.")
    if adopted := report.adopted(ids or (), found):
        typer.echo(f"The stored results belong to the cells of {', '.join(adopted)} as they are now.")
    if agree + absent < len(found):
        raise typer.Exit(1)


@app.command()
def ledger(
    summary: Annotated[bool, typer.Option("--summary", help="The counts in one sentence; write nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if the committed ledger is out of date.")] = False,
) -> None:
    """Judge every published number: write the ledger and the counts of README.md; show the counts."""
    from . import paths, records
    from .ledger import state as ledger_state
    from .ledger import table as report

    frame = report.ledger()
    table, page = report.counts(frame), paths.root() / "README.md"
    if summary:
        typer.echo(ledger_state.sentence(table))
        return
    text = ledger_state.readme(table)
    if check:
        report.check(frame)
        if page.read_bytes() != text:
            raise ResultError(f"{page} states other counts than the ledger. Write it: python -m compendium ledger")
        typer.echo(f"{report.path()} and the counts of README.md are what the results give.")
        return
    for path, content in ((report.path(), report.to_csv(frame)), (page, text)):
        records.write(path, content)
        typer.echo(f"Written: {path}")
    counted = ledger_state.shown(table)
    show(counted, counted.itertuples(index=False))


# -- data sets ---------------------------------------------------------------------------------------------------------

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set (python -m compendium data list).")]


@data_app.command("list")
def data_list() -> None:
    """Data sets: where they are used, and which of their raw files are here."""
    from . import data as datasets

    rows = []
    for one in map(datasets.entry, datasets.names()):
        here = f"{datasets.present(one)} of {len(one.files)}" if one.files else "all"
        rows.append((one.name, one.title, here))
    show(("data set", "title", "files here"), rows)


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


@data_app.command("ship")
def data_ship(name: Name) -> None:
    """Write what the repository holds of a data set, rows or moments, from the raw files."""
    from . import data as datasets
    from .data.fetch import sha256
    from .data.moments import SHIPPED

    made = datasets.make_moments(name) if name in SHIPPED else (datasets.ship(name),)
    for path in made:
        typer.echo(f"Written: {path}, {path.stat().st_size} bytes, SHA-256 {sha256(path)}")


# -- the book ----------------------------------------------------------------------------------------------------------


@app.command()
def book(jobs: _Jobs = None) -> None:
    """Make what is missing or out of date of the book below _build/html, and count the results."""
    import os
    import subprocess

    from .paths import build
    from .records import ONCE
    from .workers import cores

    given = ["--jobs", str(jobs or cores())]
    for step in (["book.pages", *given], ["book.build", *given], ["", "ledger", "--summary"]):
        module = ".".join(filter(None, ("compendium", step[0])))
        done = subprocess.run([sys.executable, "-m", module, *step[1:]], env=os.environ | {ONCE: str(build("once"))})
        if done.returncode:
            typer.echo("Not everything was made: what failed is said above, what succeeded is kept.")
            raise typer.Exit(1)
    typer.echo(f"The book: {build('html', 'index.html')}   (with search summaries: make serve)")


# -- the book with a kernel behind it ---------------------------------------------------------------------------------


@app.command()
def live(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")] = 8890,
    any_address: Annotated[
        bool, typer.Option("--any-address", help="Listen at all addresses of the machine; in a container alone.")
    ] = False,
) -> None:
    """Serve the book with a kernel behind it: its cells can be changed and run in the page."""
    from .live import server

    server.serve(port, server.EVERYWHERE if any_address else server.LOOPBACK)


# -- what is printed ---------------------------------------------------------------------------------------------------


def show(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    # In a pipe or a file nothing is wrapped to a screen that is not there.
    Console(highlight=False, width=None if sys.stdout.isatty() else 400).print(table)
