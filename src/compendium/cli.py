"""The reproduction's commands: ``python -m compendium list | run | reproduce | full | verify | submit | data | ...``.

Everything is imported where it is needed, so that help appears at once.
"""

import contextlib
from pathlib import Path
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
    show(("experiment", "what", "executions", "stored"), *rows)


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

    Without parameters the full profile runs all executions of the book."""
    from . import edits, store
    from .catalogue import experiment
    from .engine import inspect_study

    entry = experiment(experiment_id)
    if bare := [text for text in parameter or () if "=" not in text]:
        raise ConfigurationError(f"-p needs a name and a value, but got only {bare[0]!r}.")
    given = dict(text.split("=", 1) for text in parameter or ())
    setting = entry.arguments(execution, profile, given)
    if profile == "embedded":
        _run_notebook(entry, setting)
        return
    settings = [setting] if execution or given else [entry.arguments(name, profile) for name in entry.runs]
    if all(unit.changed for unit in store.units_of(entry.id).values()):
        edits.accept_current_cells(entry)  # the results will belong to the cells that the notebook has now
    known, computed = [], 0
    with _interruptible():
        for setting in settings:
            study = inspect_study(entry, setting)
            known += study.units
            computed += len(study.compute(None if task is None else [task], jobs=jobs))
        for setting in settings if task is None else ():
            _run_notebook(entry, setting)
    if task is not None and task not in known:
        raise ConfigurationError(f"{entry.id} has no unit {task}; its units are {', '.join(known)}.")
    typer.echo(f"{entry.id}: {computed} computed, {(len(known) if task is None else 1) - computed} stored already")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="A paper's key, such as zhou2024; all is every paper.")] = "all",
    jobs: _Jobs = None,
) -> None:
    """Compute every unit of a paper again, compare and judge it, beside what is stored; nothing below data/ is written.

    Exits with 1 if anything differs or fails, with 3 if nothing was compared, and else with 0."""
    from . import reproduce as report

    with _interruptible():
        rows, code = report.reproduce(paper, jobs, typer.echo)
    show(*rows)
    raise typer.Exit(code)


@app.command()
def full(jobs: _Jobs = None) -> None:
    """Compute and store every unit of every experiment that is not stored or is outdated."""
    from . import reproduce as report
    from . import verify, workers

    with _interruptible(), workers.exclusive_lock("full run"):
        entries = report.experiments(report.ALL)
        stored = {entry.id: verify.known(entry.id) for entry in entries}
        _, failed = report.compute_missing(entries, stored, jobs, typer.echo)
    raise typer.Exit(1 if failed else 0)


@contextlib.contextmanager
def _interruptible():
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("Interrupted. What is finished is stored; the same command continues.", err=True)
        raise typer.Exit(130) from None


def _run_notebook(entry, setting: dict) -> None:
    from .book.pages import execute
    from .catalogue import task_id
    from .paths import build, root

    shown = {name: value for name, value in setting.items() if name != "profile"}
    target = build("runs", entry.id, f"{entry.execution_for(setting) or task_id(shown)}.ipynb")
    execute(root() / entry.notebook, target, setting)
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

    Of an experiment that is named a sample has two units of each method at least. Exits with 1 if anything differs or
    fails, with 3 if nothing was compared, and else with 0."""
    from . import verify as report
    from .compare import Comparison
    from .provenance import commit

    if bool(ids or sample is not None) == everything:
        raise ConfigurationError("Give experiments, --sample SECONDS, or both; or --all.")
    chosen = report.chosen(ids or (), sample, commit()[0])
    typer.echo(f"{len(chosen)} units: {', '.join(f'{name} {task}' for name, task in chosen)}")
    found, rows, absent = report.verify(chosen, jobs=jobs), [("experiment", "unit", "verdict")], 0
    for unit, one in found.items():
        if isinstance(one, Comparison):
            said = f"agrees {one.where}" if one.ok else f"DIFFERS at {one.where}"
        else:
            absent += one.no_data
            said = f"{'no data here' if one.no_data else 'NOT COMPUTED'}: {one.reason}"
        rows.append((*unit, said))
    show(*rows)
    agree = sum(one.ok for one in found.values())
    typer.echo(f"{agree} of {len(found)} units agree; the data of {absent} are not at hand.")
    if accepted := report.accepted(ids or (), found):
        typer.echo(f"The stored results belong to the cells of {', '.join(accepted)} as they are now.")
    if agree + absent < len(found):
        raise typer.Exit(1)
    if not agree:
        typer.echo("Nothing was compared.", err=True)
        raise typer.Exit(3)


@app.command()
def submit(
    method: Annotated[str, typer.Argument(metavar="FILE:CLASS", help="A class with fit; the file is run.")],
    splits: Annotated[int, typer.Option(min=1, max=10, help="Splits of each table; of a clustering seeds.")] = 10,
    sizes: Annotated[str, typer.Option(help="Numbers of components.")] = "2, 5, 10",
    table: Annotated[list[str] | None, typer.Option(help="A table; may be repeated. Default all.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder; default _build/submissions.")] = None,
) -> None:
    """Evaluate a class of your own on all shipped tables, and rank it among all stored methods: a CSV and a page."""
    from . import paths
    from .book import submission

    try:
        page = submission.submit(method, out or paths.build("submissions"), table or (), sizes, splits, typer.echo)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Finished tables are stored; the same command continues.") from None
    typer.echo(f"Page: {page}, and beside it its rows and their record")


@app.command()
def ledger(
    check: Annotated[bool, typer.Option("--check", help="Fail if the committed ledger is out of date.")] = False,
    history: Annotated[bool, typer.Option("--history", help="Also what earlier ledgers counted; needs git.")] = False,
) -> None:
    """Judge every published number: write the ledger and the counts of README.md, and say them in one sentence."""
    from . import paths, records
    from .ledger import history as earlier
    from .ledger import state, table

    frame = table.ledger()
    counts = table.counts(frame)
    made = {table.path(): table.to_csv(frame), paths.root() / "README.md": state.readme(counts, state.distances(frame))}
    for name, counted in (earlier.from_git() if history else {}).items():
        made[earlier.folder() / f"{name}.csv"] = counted.to_csv(index=False, lineterminator="\n").encode()
    for path, content in made.items():
        if check and (not path.is_file() or path.read_bytes() != content):
            raise ResultError(
                f"{path} is not what the results give: a result, a rule or a published table changed, or the file was "
                "edited by hand. Write it again (python -m compendium ledger) and read the change."
            )
        if not check:
            records.write(path, content)
    typer.echo(f"{', '.join(map(str, made))} {'are what the results give' if check else 'were written'}.")
    typer.echo(state.sentence(counts))


@app.command()
def score(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS.csv", help="Columns cell, value, and at will std, n.")],
    out: Annotated[Path | None, typer.Option(help="A CSV file for the word of each cell.")] = None,
) -> None:
    """Judge your answers to the printed numbers by the rules of the ledger: agrees, differs, not a test, missing."""
    from . import records
    from .ledger import score as scoring

    if out and not out.resolve().parent.is_dir():
        raise ConfigurationError(f"--out {out}: there is no folder {out.parent}. Make it first.")
    frame = scoring.judged(scoring.answers(answers))
    if out:
        words = frame[[*scoring.GIVEN, "published", "answer", "result", "chance"]].rename(columns={"result": "word"})
        records.write(out, words.to_csv(index=False, lineterminator="\n").encode())
    counted = scoring.counts(frame)
    show(tuple(counted), *counted.itertuples(index=False, name=None))
    typer.echo(scoring.LIMIT)


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
        show(("data set", "title", "files here"), *((e.name, e.title, h) for e, h in zip(entries, here, strict=True)))
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
def live(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")] = 8890,
    any_address: Annotated[
        bool, typer.Option("--any-address", help="Listen at all addresses of the machine; in a container alone.")
    ] = False,
) -> None:
    """Serve the book with a kernel behind it: its cells can be changed and run in the page."""
    from .live import server

    server.serve(port, server.EVERYWHERE if any_address else server.LOOPBACK)


def show(*rows: tuple[str, ...]) -> None:
    """Print a table, whose first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
