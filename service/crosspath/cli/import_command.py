"""``crosspath import``: a recording from the logs of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosspath.cli.catalogue_commands import FilesArgument
from crosspath.cli.exits import EXIT_USAGE
from crosspath.cli.output import JsonFlag, StoreOption, print_json, remark, say

if TYPE_CHECKING:
    from crosspath.app.importing import Imported


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command("import")(import_logs)


def import_logs(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Files or directories; of MLflow also an experiment's name or id, or a run's id."
        ),
    ],
    kind: Annotated[str, typer.Option("--from", help="What wrote the log: mlflow, inspect, openai or langfuse.")],
    task_key: Annotated[
        str | None, typer.Option("--task-key", metavar="EXPR", help="Where a call names its task (JMESPath): metadata.task")
    ] = None,
    match_instruction: Annotated[
        bool, typer.Option("--match-instruction", help="Or: the task whose instruction stands word for word in the messages.")
    ] = False,
    file: FilesArgument = None,
    contract: Annotated[
        str | None,
        typer.Option("--contract", help="Contract that the model was told. Default: as its text in the messages says, else raw."),
    ] = None,
    contract_key: Annotated[str | None, typer.Option("--contract-key", metavar="EXPR", help="Or: where a call names it.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Name of the model. Default: as it was asked for.")] = None,
    model_key: Annotated[str | None, typer.Option("--model-key", metavar="EXPR", help="Or: where a call names it.")] = None,
    no_messages: Annotated[bool, typer.Option("--no-messages", help="Leave out the messages that were sent.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="File for the recording. Default: standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    tracking_uri: Annotated[
        str | None, typer.Option("--tracking-uri", help="MLflow's store (default: $MLFLOW_TRACKING_URI, else the embedded one).")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make recorded replies of logged model calls, and count what matched, what did not, and what is lossy.

    With --json the counts are printed, and no recording without --out.
    """
    from crosspath.app.importing import import_replies, naming

    names = naming(
        task_key=task_key,
        match_instruction=match_instruction,
        contract=contract,
        contract_key=contract_key,
        model=model,
        model_key=model_key,
        messages=not no_messages,
    )
    options: dict[str, Any] = {"files": file or (), "out": out, "force": force, "tracking_uri": tracking_uri, "store": store}
    with import_replies(sources, kind, names, **options) as done:
        _print(done, out is not None, as_json)
    if not done.counts.matched:
        raise typer.Exit(EXIT_USAGE)


def _print(done: "Imported", to_file: bool, as_json: bool) -> None:
    from crosspath.app.import_counts import counts_text

    if as_json:
        print_json(done.counts.document() | {"file": done.file})
    elif to_file:
        say(counts_text(done.counts))
        say(f"wrote {done.file}" if done.file else "nothing was written")
    else:
        for line in done.lines():
            say(line)
        remark(counts_text(done.counts))
