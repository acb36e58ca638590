"""``crosspath transports diagnose``: what a path does to commands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from crosspath.cli.output import Interrupted, JsonFlag, PathsOption, SpecOption, print_json, remark, say


def diagnose_transport(
    source: Annotated[str, typer.Argument(metavar="FILE|NAME", help="YAML file with own paths (or a spec), or a path's name.")],
    name: Annotated[str | None, typer.Argument(help="Which path of the file, where it has several.")] = None,
    contract: Annotated[str, typer.Option("--contract", help="Contract that says which shape the replies have.")] = "raw",
    quick: Annotated[bool, typer.Option("--quick", help="A short battery, and no search for an encoding.")] = False,
    spec: SpecOption = None,
    paths: PathsOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Send a battery of small commands through a path: what survives, what is changed and how, what is lost, and how to survive.

    Nothing is called but the sandbox. The exit code is 0 whatever was found.
    """
    from crosspath.app.diagnosing import diagnose
    from crosspath.app.diagnosis_words import document, text
    from crosspath.app.resolve import named_path

    chosen, own = named_path(source, name, paths, spec)
    try:
        with _progress(quiet=as_json) as notify:
            found = diagnose(chosen, own, contract=contract, quick=quick, notify=notify)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing is kept") from None
    if as_json:
        print_json(document(found, own.path_specs()))
    else:
        say(text(found, own.path_specs()))


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error while it lasts; where that is no terminal, a line for each stage that begins."""
    if quiet or not sys.stderr.isatty():
        yield _stages(quiet=quiet)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("probes", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of)


def _stages(*, quiet: bool) -> Callable[[str, int, int], None]:
    told: set[str] = set()

    def notify(what: str, _done: int, _of: int) -> None:
        if what not in told and not quiet:
            remark(f"{what} ...")
        told.add(what)

    return notify
