"""The command tree, and the one place where errors become exit codes."""

import gc
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from crosspath import __version__
from crosspath.app.interruption import interruptible
from crosspath.cli.exits import EXIT_INFRASTRUCTURE, EXIT_INTERRUPTED, EXIT_OUTPUT_CLOSED, EXIT_USAGE
from crosspath.cli.output import Interrupted, OutputClosed, OutputFailed, discard_output, open_missing_streams, output_failure
from crosspath.errors import BoundaryError, ConfigError
from crosspath.escaping import one_line

app = typer.Typer(
    name="crosspath",
    help="Which stage broke: replays a model's commands through other paths, checks exact final states, logs to MLflow.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is twice as fast, and brackets in it stay brackets
    context_settings={"help_option_names": ["-h", "--help"]},
)
_UsageError: Any = typer.BadParameter.__base__
"""Base of all complaints about arguments; typer gives it no public name."""


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
    """The program ``crosspath``."""
    gc.set_threshold(50_000)  # what is imported all stays: looking for garbage in it was a tenth of a start
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # pyright: ignore - a terminal that can't show it gets an escape
    try:
        code = run()
    except Exception:  # noqa: BLE001 - Python's own exit code for what nobody expected is 1, which says FAIL or drift
        traceback.print_exc()
        code = _complain("this is a fault of crosspath itself; nothing was decided", EXIT_INFRASTRUCTURE)
    sys.exit(code)


@cache
def _tree() -> typer.Typer:
    from crosspath.cli import (
        audit_command,
        card_commands,
        catalogue_commands,
        compare_command,
        drift_command,
        evaluation_commands,
        gate_command,
        house_commands,
        import_command,
        noise_command,
        published_command,
        recommend_command,
        registry_commands,
        scan_command,
        sentinel_command,
        style_commands,
    )

    evaluation_commands.register(app)
    catalogue_commands.register(app)
    style_commands.register(app)
    import_command.register(app)
    published_command.register(app)
    recommend_command.register(app)
    compare_command.register(app)
    noise_command.register(app)
    scan_command.register(app)
    sentinel_command.register(app)
    card_commands.register(app)
    gate_command.register(app)
    drift_command.register(app)
    registry_commands.register(app)
    audit_command.register(app)
    house_commands.register(app)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line (default: this process's) and return its exit code, as in the documentation's table."""
    try:
        with interruptible():
            code = _tree()(arguments, prog_name="crosspath", standalone_mode=False) or 0
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Interrupted as stop:
        return _complain(str(stop), EXIT_INTERRUPTED)
    except _UsageError as error:
        return _usage(error)
    except ConfigError as error:
        return _complain(str(error), EXIT_USAGE)
    except OutputFailed as error:
        discard_output()
        return _complain(str(error), EXIT_INFRASTRUCTURE)
    except BoundaryError as error:
        return _complain(str(error), EXIT_INFRASTRUCTURE)
    except OSError:  # of help or version, which typer prints; whatever else it is stays as it is
        if not (failure := output_failure()):
            raise
        discard_output()
        return _complain(str(failure), EXIT_INFRASTRUCTURE)
    except OutputClosed:
        discard_output()
        return EXIT_OUTPUT_CLOSED
    if code == EXIT_INTERRUPTED:
        return _complain("interrupted; the same command goes on where it stopped", EXIT_INTERRUPTED)
    return code


def _usage(error: Any) -> int:
    """One line in place of three; help as such where nothing was asked."""
    context, message = error.ctx, error.format_message()
    if message.startswith("Usage:"):
        print(message)
        return EXIT_USAGE
    command = context.command_path if context else "crosspath"
    return _complain(f"{message} (see: {command} --help)", EXIT_USAGE)


def _complain(message: str, code: int) -> int:
    print(f"crosspath: {one_line(' '.join(message.split()))}", file=sys.stderr)
    return code
