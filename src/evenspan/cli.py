"""The command ``evenspan``: ``evenspan audit TABLE --sensitive COLUMN`` (:mod:`evenspan.auditing.command`)."""

from typing import Annotated

import typer
from typer.core import TyperGroup

from . import __version__
from .auditing.command import audit
from .auditing.progress import told
from .core.errors import FairError

#: With this code the command ends after telling an error in its own words, without a traceback.
TOLD = 2


class Group(TyperGroup):
    """Errors that evenspan raises on purpose are told in plain words: no traceback, exit code 2."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except FairError as error:
            typer.echo(f"Error: {told(error)}", err=True)
            raise typer.Exit(TOLD) from None
        except BrokenPipeError:  # who reads has seen enough: not told
            raise
        except OSError as error:
            typer.echo(
                f"Error: the system refused: {error}. Make room, or see to it that this can be read and written, and "
                "run the command again; what was there before is whole.",
                err=True,
            )
            raise typer.Exit(TOLD) from None


def command(about: str) -> typer.Typer:
    """An empty command with the option ``--version``, whose errors are told in plain words."""
    app = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=about,
    )

    @app.callback()
    def _main(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
        ] = False,
    ) -> None:
        pass

    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenspan {__version__}")
        raise typer.Exit


app = command("Fair principal components for a table of your own.")
app.command("audit")(audit)
