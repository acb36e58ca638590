"""``crosspath noise``: how much the replies to one and the same request differ, alone and under load."""

from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.evaluation_commands import SpecFile
from crosspath.cli.exits import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_INFRASTRUCTURE
from crosspath.cli.output import JsonFlag, StoreOption, counted_progress, print_json, print_table, remark, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from crosspath.types.noise import NoiseReport


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(noise)


def noise(
    spec: SpecFile,
    repeats: Annotated[int, typer.Option("--repeats", help="How often each request is sent under each of the two loads.")] = 30,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency", help="Requests in flight at once (default: executor.model_concurrency of the spec, else 8)."
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task's id; repeat for several (default: the first).")
    ] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", help="A candidate; repeat for several (default: all that ask an endpoint).")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Send the same request again and again, alone and many at once: how many replies differ? The same command goes on."""
    from crosspath.app import noise as probing

    with counted_progress(quiet=as_json) as progress:
        report = probing.noise(
            spec,
            repeats=repeats,
            concurrency=concurrency,
            tasks=task or (),
            candidates=candidate or (),
            store=store,
            notify=remark,
            began=lambda owed: _ticking(progress, owed),
        )
    print_json(report.model_dump(mode="json")) if as_json else _print(report)
    if code := exit_code(report):
        raise typer.Exit(code)


def _ticking(progress: "Callable[[str, int, int], None]", owed: int) -> "Callable[[], None]":
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        progress("replies", done, owed)

    return tick


def exit_code(report: "NoiseReport") -> int:
    """0 measured, whatever it found; 3 a limit was reached; 5 replies are missing for another reason."""
    if report.stopped_by is not None:
        return EXIT_INCONCLUSIVE
    return EXIT_DONE if report.status == "finished" else EXIT_INFRASTRUCTURE


def _print(report: "NoiseReport") -> None:
    from crosspath.reports.noise_words import COLUMNS, floor_lines, floor_rows, floor_title, taken

    for floor in report.floors:
        say(floor_title(floor))
        print_table(COLUMNS, floor_rows(floor))
        for line in floor_lines(floor):
            say(f"  {line}")
        say("")
    if report.status == "stopped":
        say(f"stopped{f' ({report.stopped_by})' if report.stopped_by else ''}: the same command asks for what is missing")
    say(taken(report))
    say(f"rows: {report.file}")
