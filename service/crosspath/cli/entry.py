"""The command tree, and the one place where errors become exit codes."""

import sys
from typing import Annotated

import typer

from crosspath import __version__
from crosspath.cli.exits import EXIT_INFRASTRUCTURE, EXIT_USAGE
from crosspath.errors import BoundaryError, ConfigError

app = typer.Typer(
    name="crosspath",
    help="Which stage broke: replays a model's commands through other paths, checks exact final states, logs to MLflow.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Which stage broke."""


def main() -> None:
    """Run the command line; exit codes are those of the documentation's table."""
    from crosspath.cli import catalogue_commands, evaluation_commands, house_commands

    evaluation_commands.register(app)
    catalogue_commands.register(app)
    house_commands.register(app)
    try:
        app()
    except ConfigError as error:
        _complain(error, EXIT_USAGE)
    except BoundaryError as error:
        _complain(error, EXIT_INFRASTRUCTURE)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_INFRASTRUCTURE)


def _complain(error: Exception, code: int) -> None:
    line = " ".join(str(error).split())
    print(f"crosspath: {line}", file=sys.stderr)
    sys.exit(code)
