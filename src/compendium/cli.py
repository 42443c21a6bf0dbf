"""The reproduction's commands: ``python -m compendium list | run | verify | data | ledger | book | live``.

Everything is imported where it is needed, so that help appears at once.
"""

import sys
from collections.abc import Iterable
from typing import Annotated

import typer
from typer.core import TyperCommand

from evenspan.auditing.command import command
from evenspan.core.errors import ConfigurationError, ResultError

app = command("The reproducible compendium of fair PCA: experiments, data, and the ledger of verdicts.")
_Jobs = Annotated[int | None, typer.Option(min=1, help="Processes at once; default one per core.")]


@app.command("list")
def list_experiments() -> None:
    """Experiments, their executions, and how much of the full run is stored."""
    from . import store
    from .catalogue import catalogue

    rows = [(one.id, one.title, ", ".join(one.executions), store.summary(one.id)) for one in catalogue().values()]
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
        list[str] | None, typer.Option("-p", "--parameter", metavar="NAME VALUE", help="A parameter; may be repeated.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="embedded: minutes. full: the paper's protocol on raw data.")
    ] = "embedded",
    execution: Annotated[str | None, typer.Option(help="One of the book's executions.")] = None,
    task: Annotated[str | None, typer.Option(help="Full profile: only this unit, without the notebook.")] = None,
    jobs: _Jobs = None,
) -> None:
    """Run the notebook of an experiment; in the full profile after the units that are not stored yet.

    Without parameters the full profile runs all executions of the book. Of a committed notebook with other cells every
    unit is computed anew, and the notebook runs when all of them are.
    """
    from . import edits, provenance, store
    from .catalogue import experiment
    from .protocol import asked

    entry = experiment(experiment_id)
    if bare := [text for text in parameter or () if "=" not in text]:
        raise ConfigurationError(f"-p needs a name and a value, but got only {bare[0]!r}.")
    given = dict(text.split("=", 1) for text in parameter or ())
    setting = entry.arguments(execution, profile, given)
    del setting["profile"]
    if profile == "embedded":
        _run_notebook(entry, setting, profile)
        return
    settings = [setting] if execution or given else [entry.execution(name) for name in entry.runs]
    known, computed = [], 0
    try:
        for setting in settings:
            study, unit, seed = asked(entry, setting)
            known += study.units
            computed += len(study.compute(unit, None if task is None else [task], seed=seed, jobs=jobs))
        made = {unit.record["commit"] for unit in store.units_of(entry.id).values()}
        if edits.new_cells(entry) and made == {provenance.commit()[0]}:
            edits.adopt(entry)
        for setting in settings if task is None and not edits.new_cells(entry) else ():
            _run_notebook(entry, setting, profile)
    except KeyboardInterrupt:
        typer.echo("Interrupted. What is finished is stored; the same command continues.", err=True)
        raise typer.Exit(130) from None
    if task is not None and task not in known:
        raise ConfigurationError(f"{entry.id} has no unit {task}; its units are {', '.join(known)}.")
    typer.echo(f"{entry.id}: {computed} computed, {(len(known) if task is None else 1) - computed} stored already")


def _run_notebook(entry, setting: dict, profile: str) -> None:
    from .book.pages import execute
    from .catalogue import task_id
    from .paths import build, root

    target = build("runs", entry.id, f"{entry.execution_for(setting) or task_id(setting)}.ipynb")
    execute(root() / entry.notebook, target, setting | {"profile": profile})
    typer.echo(f"Executed notebook: {target}")


@app.command()
def verify(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID ...]", help="Experiments; default all.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that is stored; takes hours.")] = False,
    sample: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Units of so many seconds, drawn by the commit.")
    ] = None,
    jobs: _Jobs = None,
) -> None:
    """Compute stored results again and compare; where all of an experiment agree, they belong to the cells it has now.

    Of an experiment that is named a sample has two units of each method at least.
    """
    from . import verify as report
    from .compare import Comparison
    from .provenance import commit

    if bool(ids or sample is not None) == everything:
        raise ConfigurationError("Give experiments, --sample SECONDS, or both; or --all.")
    chosen = report.chosen(ids or (), sample, commit()[0])
    typer.echo(f"{len(chosen)} units: {', '.join(f'{name} {task}' for name, task in chosen)}")
    found, rows, absent = report.verify(chosen, jobs=jobs), [], 0
    for one in found:
        if isinstance(one.found, Comparison):
            verdict = f"agrees {one.found.where}" if one.ok else f"DIFFERS at {one.found.where}"
            said = f"{one.found.rows}", f"{one.found.largest:.3g}", verdict
        else:
            absent += one.found.no_data
            said = "", "", f"{'no data here' if one.found.no_data else 'NOT COMPUTED'}: {one.found.reason}"
        rows.append((one.experiment, one.task, *said))
    show(("experiment", "unit", "numbers", "largest difference", "verdict"), rows)
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


@app.command()
def data(
    action: Annotated[str, typer.Argument(metavar="list | fetch | verify | card | ship")],
    name: Annotated[str, typer.Argument(help="A data set: one of those that 'data list' shows.")] = "",
) -> None:
    """Data sets: show them all, or of one get the raw files, check them, show its card, or write data/tables."""
    from . import data as datasets

    if action == "list":
        entries = [datasets.entry(one) for one in datasets.names()]
        here = [f"{datasets.present(one)} of {len(one.files)}" if one.files else "all" for one in entries]
        show(("data set", "title", "files here"), [(e.name, e.title, h) for e, h in zip(entries, here, strict=True)])
    elif action == "card":
        typer.echo(datasets.card(name))
    elif action == "ship":
        moments = name in datasets.moments.SHIPPED
        for path in datasets.make_moments(name) if moments else [datasets.ship(name)]:
            typer.echo(f"Written: {path}, {path.stat().st_size} bytes")
    elif action in ("fetch", "verify"):
        files = datasets.fetch(name) if action == "fetch" else datasets.verify(name)
        typer.echo(f"{name}: {len(files)} files are here and have their recorded checksums.")
    else:
        raise ConfigurationError(f"There is no data {action!r}; there are list, fetch, verify, card and ship.")


@app.command()
def book(jobs: _Jobs = None) -> None:
    """Make what is missing or out of date of the book below _build/html, and count the results."""
    import os
    import subprocess

    from .paths import build
    from .records import ONCE
    from .workers import cores

    given = ["--jobs", str(jobs or cores())]
    steps = (
        ["compendium.book.pages", *given],
        ["compendium.book.build", *given],
        ["compendium", "ledger", "--summary"],
    )
    for step in steps:
        if subprocess.run([sys.executable, "-m", *step], env=os.environ | {ONCE: str(build("once"))}).returncode:
            typer.echo("Not everything was made: what failed is said above, what succeeded is kept.")
            raise typer.Exit(1)
    typer.echo(f"The book: {build('html', 'index.html')}   (with search summaries: make serve)")


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


def show(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    # In a pipe or a file nothing is wrapped to a screen that is not there.
    Console(highlight=False, width=None if sys.stdout.isatty() else 400).print(table)
