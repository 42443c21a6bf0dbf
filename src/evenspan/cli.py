"""The command line: ``evenspan list | run | data | ledger | build``.

Everything is imported where it is needed, so that help appears at once. Numbers are computed in processes of their own,
whose numerical libraries use one thread, so that they do not depend on the number of cores.
"""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .errors import TOLD, ConfigurationError, FairError


class _Group(TyperGroup):
    """Errors that evenspan raises on purpose are told in plain words: no traceback, exit code 2."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except FairError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(TOLD) from None


class _Run(TyperCommand):
    """Accepts ``-p NAME VALUE``, which Typer's repeatable options cannot: the pair becomes one ``NAME=VALUE``."""

    def parse_args(self, ctx, args):
        joined, rest = [], list(args)
        while rest:
            word = rest.pop(0)
            joined.append(word)
            if word == "--":
                joined, rest = joined + rest, []
            elif word in ("-p", "--parameter") and rest:
                if "=" in rest[0]:
                    joined.append(rest.pop(0))
                elif len(rest) > 1:
                    joined.append(f"{rest.pop(0)}={rest.pop(0)}")
                else:
                    ctx.fail(f"-p needs a name and a value, but only {rest[0]!r} follows it.")
        return super().parse_args(ctx, joined)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The reproducible compendium of fair PCA: experiments, data, and the ledger of verdicts.",
)
data_app = typer.Typer(cls=_Group, no_args_is_help=True, help="Data sets: list, fetch, verify, describe.")
app.add_typer(data_app, name="data")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set (evenspan data list).")]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"evenspan {version('evenspan')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    pass


@app.command("list")
def list_experiments() -> None:
    """Experiments, their executions, and how much of the full run is stored."""
    from .experiments.catalogue import catalogue
    from .experiments.store import state

    table = _table("experiment", "what", "executions", "stored")
    for entry in catalogue().values():
        table.add_row(entry.id, f"{entry.title} ({entry.paper})", ", ".join(entry.executions), state(entry.id))
    _print(table)


@app.command(cls=_Run)
def run(
    experiment_id: Annotated[str, typer.Argument(metavar="ID", help="Experiment (evenspan list).")],
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME VALUE", help="Set a parameter; may be repeated."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="embedded: the notebook, offline. full: the paper's protocol.")
    ] = "embedded",
    execution: Annotated[str | None, typer.Option(help="One of the book's executions.")] = None,
    task: Annotated[str | None, typer.Option(help="Full profile: only this task.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Full profile: tasks at once; default one per core.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Full profile: recompute and compare, store nothing.")] = False,
) -> None:
    """Run an experiment: its notebook (embedded), or the tasks of the full run that are not stored yet."""
    from .experiments.catalogue import experiment

    entry = experiment(experiment_id)
    given = [_pair(text) for text in parameter or ()]
    arguments = entry.arguments(execution, profile, given)
    if profile == "embedded":
        if task is not None or jobs is not None or check:
            raise ConfigurationError("--task, --jobs and --check belong to the full profile; add --profile full.")
        _run_notebook(entry, execution, arguments)
        return
    # An execution fixes all parameters of the notebook; those that the tasks do not have choose nothing.
    shared = set().union(*entry.tasks().values())
    fixed = {name: value for name, value in entry.execution(execution).items() if name in shared} if execution else {}
    fixed |= entry.converted(given)
    _run_tasks(entry.id, fixed, task, jobs, check)


def _run_notebook(entry: Any, execution: str | None, arguments: dict[str, Any]) -> None:
    from .experiments.catalogue import task_id
    from .paths import build, root
    from .report.execute import execute

    own = {name: value for name, value in arguments.items() if name != "profile"}
    target = build("runs", entry.id, f"{entry.execution_for(own) or task_id(own)}.ipynb")
    execute(root() / entry.notebook, target, arguments)
    typer.echo(f"Executed notebook: {target}")


def _run_tasks(experiment_id: str, fixed: dict[str, Any], task: str | None, jobs: int | None, check: bool) -> None:
    from .experiments import tasks

    names = tasks.select(experiment_id, fixed, None if task is None else [task])
    try:
        if check:
            _report_check(*tasks.check(experiment_id, names, jobs))
            return
        summary = tasks.run(experiment_id, only=names, jobs=jobs)
    except KeyboardInterrupt:
        typer.echo("Interrupted. What is finished is stored; the same command continues.", err=True)
        raise typer.Exit(130) from None
    numbers = f"{len(summary.done)} computed, {len(summary.kept)} stored already, {len(summary.failed)} failed"
    typer.echo(f"{experiment_id}: {numbers}")
    _fail(summary.failed)


def _report_check(comparisons: list, failed: dict[str, str]) -> None:
    table = _table("task", "rows", "largest difference", "relative", "where", "verdict")
    for one in comparisons:
        numbers = (str(one.rows), f"{one.largest_absolute:.3g}", f"{one.largest_relative:.3g}")
        table.add_row(one.name, *numbers, one.where, "agrees" if one.ok else "DIFFERS")
    _print(table)
    wrong = {one.name: "the stored result differs by more than the tolerance" for one in comparisons if not one.ok}
    _fail(failed | wrong)


def _fail(failed: dict[str, str]) -> None:
    # Tasks often fail for one reason, which is then said once.
    for why in dict.fromkeys(failed.values()):
        typer.echo(f"{', '.join(name for name in failed if failed[name] == why)}: {why}", err=True)
    if failed:
        raise typer.Exit(1)


@app.command()
def ledger(
    summary: Annotated[bool, typer.Option("--summary", help="One line per paper; write nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Fail if the committed ledger is out of date.")] = False,
) -> None:
    """Judge every published number: write data/results/ledger.csv and show the counts."""
    from .report import ledger as report
    from .report import ledger_page
    from .report.verdicts import Kind

    if summary and check:
        raise ConfigurationError("Give --summary or --check, not both.")
    frame = report.ledger()
    table = report.counts(frame)
    if summary:
        typer.echo("\n".join(ledger_page.summary(table)))
        return
    if check:
        report.check(frame)
        typer.echo(f"{report.path()} is what the results give.")
        return
    typer.echo(f"Written: {report.write(frame)}")
    shown = _table("paper", *(kind.value for kind in Kind), "numbers")
    for paper, row in table.iterrows():
        shown.add_row(str(paper), *(str(row[kind.value]) for kind in Kind), str(row["numbers"]))
    _print(shown)


@app.command()
def build(
    cores: Annotated[int | None, typer.Option(min=1, help="Jobs at once; default one per core.")] = None,
) -> None:
    """Make the book: the same as 'make book', in the environment that is there."""
    import shutil
    import subprocess

    from .paths import root

    make = shutil.which("make")
    if make is None:
        raise ConfigurationError("The program 'make' was not found; install it, or call snakemake as Makefile does.")
    command = [make, "--no-print-directory", "-C", str(root()), "book", *([f"JOBS={cores}"] if cores else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


@data_app.command("list")
def data_list() -> None:
    """Data sets: where they are used, and which of their raw files are here."""
    from . import datasets

    table = _table("data set", "title", "files here", "where")
    for one in datasets.status():
        here = f"{one.present} of {one.files}" if one.files else "all"
        table.add_row(one.name, one.title, here, f"{one.place}: {one.folder}" if one.folder else one.place)
    _print(table)


@data_app.command("fetch")
def data_fetch(name: Name) -> None:
    """Download the raw files that are missing, and verify them."""
    from . import datasets

    files = datasets.fetch(name)
    typer.echo(f"{name}: {len(files)} files are here and have their recorded checksums.")


@data_app.command("verify")
def data_verify(name: Name) -> None:
    """Compare the raw files with their recorded checksums."""
    from . import datasets

    files = datasets.verify(name)
    typer.echo(f"{name}: {len(files)} files have their recorded checksums.")


@data_app.command("card")
def data_card(name: Name) -> None:
    """Show the data card."""
    from . import datasets

    typer.echo(datasets.card(name))


@data_app.command("moments")
def data_moments(name: Name) -> None:
    """Compute the moments that the embedded profile uses from the verified raw files."""
    import subprocess

    from . import datasets
    from .experiments.records import numeric_environment

    wanted = numeric_environment()
    if not wanted.items() <= os.environ.items():
        # The numerical libraries are loaded by now and read these settings once: a new process starts with them.
        command = [sys.executable, "-m", "evenspan.cli", "data", "moments", name]
        raise typer.Exit(subprocess.run(command, env=os.environ | wanted, check=False).returncode)
    for path in datasets.make_moments(name):
        typer.echo(f"Written: {path}")


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise ConfigurationError(f"-p needs a name and a value, but got only {text!r}.")
    return name, value


def _table(*columns: str):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    return table


def _print(table) -> None:
    from rich.console import Console

    # In a pipe or a file nothing is wrapped to a screen that is not there.
    Console(highlight=False, width=None if sys.stdout.isatty() else 400).print(table)


def main() -> None:
    """Entry point of the command ``evenspan``."""
    app()


if __name__ == "__main__":
    sys.exit(main())
