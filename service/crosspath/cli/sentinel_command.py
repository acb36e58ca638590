"""``crosspath sentinel``: choose tasks for a daily watch, and write the spec that runs them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.output import JsonFlag, StoreOption, print_json, remark, say
from crosspath.errors import ConfigError
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.app.sentinel import Written


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(sentinel)


def sentinel(
    spec: Annotated[Path, typer.Argument(help="The spec of the deployed candidate, a YAML file.")],
    source: Annotated[
        str, typer.Option("--from", metavar="EVALUATION[:CANDIDATE]", help="On whose outcomes the tasks are chosen.")
    ],
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="How many tasks are watched.")] = 24,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials of each task a day.")] = 1,
    reference_trials: Annotated[
        int, typer.Option("--reference-trials", min=10, help="Trials of each task of the reference, measured once.")
    ] = 20,
    deployment: Annotated[
        str | None, typer.Option("--deployment", help="Its name (default: the deployment of the spec).")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The watch spec to write.")] = Path("watch.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Choose tasks that show a drop and are like the others, and write a spec for a daily watch of them. Nothing is sent."""
    from crosspath.app import api
    from crosspath.app.sentinel import Asked, watch_spec, write

    if output.exists() and not force:
        raise ConfigError("exists; name another file, or give --force to replace it", source=str(output), field="--output")
    evaluation, _, candidate = source.partition(":")
    asked = Asked(tasks, trials, reference_trials, deployment)
    written = watch_spec(spec, api.load(evaluation, store=store), candidate or None, output, asked)
    write(written, force)
    for sentence in written.remarks:
        remark(sentence)
    if as_json:
        print_json({"file": str(output), "tasks": [task.task for task in written.chosen], "watch": written.watch})
    else:
        _tell(written)


def _tell(written: "Written") -> None:
    from crosspath.app.plan_watch import watch_lines
    from crosspath.app.sentinel import commands

    file = one_line(str(written.file))
    first, *rest = written.lines
    lines = [f"{file}: {first}", *(f"  {line}" for line in rest)]
    lines += [f"  {one_line(task.task)}  passed {task.passed} of {task.trials}" for task in written.chosen]
    run, drift = commands(str(written.file), written.watch["deployment"])
    lines += [*watch_lines(written.watch), f"next: {run} --reference", f"then every day: {run}; {drift}"]
    say("\n".join(lines))
