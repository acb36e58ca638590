"""What commands print: one JSON document, or text for a person. Progress and remarks go to standard error.

rich is imported only where something is drawn: help must be quick.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosspath.errors import BoundaryError, ConfigError
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.pipeline.evaluate import Progress

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else there.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="Directory of the ledger (default: $CROSSPATH_STORE or .crosspath).")
]
PathsOption = Annotated[Path | None, typer.Option("--paths", help="YAML file with own paths by name (no more than that).")]
SpecOption = Annotated[Path | None, typer.Option("--spec", help="A spec whose own paths, contracts and styles count, too.")]
WIDTH_OF_TEXT = 120
"""Columns of a report for terminals where there is none."""
WIDTH_OF_A_FILE = 200
"""Columns of a table where standard output is no terminal."""


class Interrupted(Exception):
    """Ctrl-C in a command that keeps nothing, with the words for it."""


class OutputClosed(Exception):
    """Whoever read standard output has stopped reading."""


class OutputFailed(BoundaryError):
    """Standard output can't be written: a full disk, or none at all."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output can't be written: {error.strerror or error}")


def open_missing_streams() -> None:
    """Give a process that was started without standard output or error (``>&-``) one.

    Otherwise the next file that is opened takes the number of the missing one, and what is printed lands in it. Standard output
    is opened for reading: whoever writes to it is told; what goes to standard error is dropped.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - None where the process has none
        _occupy(1, os.O_RDONLY)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process lives
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        _occupy(2, os.O_WRONLY)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _occupy(number: int, flags: int) -> None:
    handle = os.open(os.devnull, flags)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)


def output_failure() -> OutputFailed | None:
    """Why a line can't be written to standard output; None: it can, and an empty one was."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        return OutputFailed(error)
    return None


def discard_output() -> None:
    """Let what is still buffered for standard output go nowhere: the interpreter would complain when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(document: Any) -> None:
    """One strict JSON document on standard output."""
    say(json_text(document))


def json_text(document: Any) -> str:
    """A strict JSON document: ASCII, no NaN."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)


def terminal_width() -> int:
    """Columns of the terminal, as the variable COLUMNS says it or the terminal itself; where there is none, of a wide one."""
    return shutil.get_terminal_size((WIDTH_OF_TEXT, 24)).columns


def print_json_lines(documents: Sequence[Any]) -> None:
    """One strict JSON document a line on standard output."""
    say("\n".join(json.dumps(document, ensure_ascii=True, allow_nan=False) for document in documents))


def say(text: str) -> None:
    """Text for a person on standard output; control and format characters of a hostile reply are shown, not obeyed.

    Raises:
        OutputClosed: nobody reads it.
        OutputFailed: it can't be written.
    """
    _write(one_line(text, keep="\n\t"))


def _write(text: str) -> None:
    with _to_output():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@contextmanager
def _to_output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as error:
        raise OutputFailed(error) from None


def chosen_format(form: str | None, as_json: bool, formats: Sequence[str]) -> str:
    """What a command prints: ``--format``, or ``--json``, or else the first of ``formats``.

    Raises:
        ConfigError: no such format, or two at once.
    """
    if form is not None and form not in formats:
        raise ConfigError(f"{form!r} has to be one of {', '.join(formats)}", field="--format")
    if as_json and form not in (None, "json"):
        raise ConfigError(f"give --json or --format {form}, not both")
    return "json" if as_json else form or formats[0]


def remark(text: str) -> None:
    """A sentence on standard error."""
    with suppress(BrokenPipeError):
        sys.stderr.write(one_line(text, keep="\n\t") + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on standard output; cells are taken literally, never as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else one_line(str(cell))) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_A_FILE)
    with _to_output(), console.capture() as captured:  # what is captured is not written, but the file is flushed
        console.print(table)
    lines = [line.rstrip() for line in captured.get().split("\n")]
    _write("\n".join(line for line in lines if line))


@contextmanager
def live_progress(*, quiet: bool) -> "Iterator[Progress]":
    """Live counts of trials, replays, retries and faults on standard error; where that is no terminal, a line per stage."""
    from crosspath.pipeline.evaluate import Progress

    if quiet or not sys.stderr.isatty():
        yield Progress(began=remark)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    words, counts = (TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[counts]}"))
    columns = (words, BarColumn(), MofNCompleteColumn(), counts)
    with Bar(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("trials", total=None, counts="starting workers")
        yield Progress(
            changed=lambda p: bar.update(task, total=p.trials, completed=p.trials_done, counts=progress_counts(p)),
            began=lambda stage: bar.update(task, description=stage.partition(":")[0].removesuffix(" ...")),
        )


def progress_counts(progress: "Progress") -> str:
    """``12 replays, 2 retries, 1 rate_limit``."""
    parts = [f"{progress.replays_done} replays"]
    if progress.retries:
        parts.append(f"{progress.retries} retries")
    parts += [f"{count} {kind}" for kind, count in sorted(progress.faults.items())]
    return ", ".join(parts)


@contextmanager
def counted_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error while it lasts; nothing where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _what, _done, _of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    with Progress(
        words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of)
