"""What commands print: one JSON document, or text for a person. Progress and remarks go to standard error."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from crosspath.pipeline.evaluate import Progress

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else there.")]
StoreOption = Annotated[
    str | None, typer.Option("--store", help="Directory of the ledger (default: $CROSSPATH_STORE or .crosspath).")
]


def print_json(document: Any) -> None:
    """One strict JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def say(text: str) -> None:
    """Text for a person on standard output; what can't be encoded there is escaped, never a crash."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def remark(text: str) -> None:
    """A sentence on standard error."""
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> None:
    """A table on standard output; cells are taken literally, never as markup."""
    table = Table(title=title, title_justify="left", header_style="bold", show_lines=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def _plain(cell: object) -> Any:
    from rich.text import Text

    return Text("" if cell is None else str(cell).encode("utf-8", "backslashreplace").decode("utf-8"))


@contextmanager
def live_progress(*, quiet: bool) -> Iterator[Progress]:
    """Live counts of trials, replays, retries and faults on standard error; nothing when it is not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Progress()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[counts]}"))
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("trials", total=None, counts="starting workers")
        yield Progress(
            changed=lambda p: bar.update(task, total=p.trials, completed=p.trials_done, counts=_counts(p.replays_done, p))
        )


def _counts(replays: int, progress: Progress) -> str:
    parts = [f"{replays} replays"]
    if progress.retries:
        parts.append(f"{progress.retries} retries")
    parts += [f"{count} {kind}" for kind, count in sorted(progress.faults.items())]
    return ", ".join(parts)
