"""``crosspath tasks new``: a family from an incident."""

from pathlib import Path
from typing import Annotated

import typer

from crosspath.cli.output import JsonFlag, StoreOption, print_json, say
from crosspath.errors import ConfigError


def new_task(
    source: Annotated[
        str,
        typer.Option(
            "--from", help="File with the incident (JSON, JSON lines or YAML), or an evaluation: its id, latest, a run."
        ),
    ],
    pick: Annotated[str | None, typer.Option("--pick", help="Which incident of the file: its id, or its number from 1.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="Of an evaluation: the task whose reply was wrong.")] = None,
    candidate: Annotated[
        str | None, typer.Option("--candidate", help="Of an evaluation: whose reply. Default: the first.")
    ] = None,
    trial: Annotated[int, typer.Option("--trial", min=0, help="Of an evaluation: which trial, from 0.")] = 0,
    name: Annotated[str | None, typer.Option("--name", help="Name of the family. Default: from the incident.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File or directory to write to. Default: NAME.yaml here.")] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a task family from one recorded incident: the reply that went wrong becomes the tempting command."""
    from crosspath.app import api
    from crosspath.app.new_tasks import family_from_evaluation, family_from_file, is_file, write_family

    if is_file(source):
        if task or candidate:
            raise ConfigError(f"belongs to an evaluation, and {source} is a file", field="--task" if task else "--candidate")
        family = family_from_file(Path(source), pick, name)
    elif task is None:
        raise ConfigError("missing; name the task whose reply was wrong", field="--task")
    else:
        family = family_from_evaluation(api.load(source, store=store).facts, task, candidate, trial, name)
    path = write_family(family, out)
    if as_json:
        print_json({"family": family.name, "file": str(path), "remarks": list(family.remarks)})
        return
    say(f"wrote {path}")
    for remark in family.remarks:
        say(f"  to do: {remark}")
    say(f"prove it: crosspath tasks check --file {path}")
