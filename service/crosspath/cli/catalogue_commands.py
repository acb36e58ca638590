"""Commands about what ships and what users add: tasks, contracts and paths."""

from pathlib import Path
from typing import Annotated

import typer

from crosspath.cli.check_command import check_tasks
from crosspath.cli.diagnose_command import diagnose_transport
from crosspath.cli.new_task_command import new_task
from crosspath.cli.output import JsonFlag, PathsOption, SpecOption, print_json, print_table, say

FilesArgument = Annotated[
    list[Path] | None, typer.Option("--file", help="A task file of your own (YAML family or JSON lines); default: the catalogue.")
]
SeedOption = Annotated[
    str | None,
    typer.Option("--heldout-seed-env", help="Variable with a seed: the tasks drawn from it in place of the public ones."),
]


def register(app: typer.Typer) -> None:
    """Add the command groups to the tree."""
    tasks = typer.Typer(help="The task catalogue, and your own tasks.", no_args_is_help=True)
    for command in (list_tasks, show_task, check_tasks, new_task):
        tasks.command(command.__name__.partition("_")[0])(command)
    transports = typer.Typer(help="Paths that replies can travel.", no_args_is_help=True)
    for command in (list_transports, show_transport, try_transport, diagnose_transport):
        transports.command(command.__name__.partition("_")[0])(command)
    contracts = typer.Typer(help="What models are told about their path.", no_args_is_help=True)
    for command in (list_contracts, show_contract):
        contracts.command(command.__name__.partition("_")[0])(command)
    app.add_typer(tasks, name="tasks")
    app.add_typer(contracts, name="contracts")
    app.add_typer(transports, name="transports")


def list_tasks(file: FilesArgument = None, heldout_seed_env: SeedOption = None, as_json: JsonFlag = False) -> None:
    """One line per task: family, tier, hazards."""
    from crosspath.app.heldout import seed_named
    from crosspath.app.task_checks import known_tasks

    tasks = known_tasks(file or (), seed_named(heldout_seed_env))
    if as_json:
        keys = {"id", "family", "tier", "hazards", "partition", "twin"}
        print_json([task.model_dump(mode="json", include=keys) for task in tasks])
        return
    print_table(("task", "tier", "hazards"), [(t.id, t.tier, ", ".join(t.hazards)) for t in tasks])


def show_task(
    task: Annotated[str, typer.Argument(help="Task id.")],
    file: FilesArgument = None,
    heldout_seed_env: SeedOption = None,
    as_json: JsonFlag = False,
) -> None:
    """One task: instruction, fixture, expected state, right and tempting command."""
    from crosspath.app.heldout import seed_named
    from crosspath.app.task_checks import known_task, task_text

    found = known_task(task, file or (), seed_named(heldout_seed_env))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        say(task_text(found))


def list_contracts(spec: SpecOption = None, as_json: JsonFlag = False) -> None:
    """The contracts that ship, and a spec's own: reply shape, the path they describe, their tools; then the generated ones."""
    from crosspath.app.prompts import contract_rows
    from crosspath.app.resolve import read_own

    rows = contract_rows(read_own(None, spec))
    if as_json:
        print_json(rows)
        return
    fields = ("name", "shape", "discloses", "reference", "tools")
    by_hand = [[row[field] for field in fields] for row in rows if not row["wordings"]]
    print_table(("contract", "reply shape", "discloses", "reference", "tools"), by_hand)
    say("Generated from what a path's layers say. For JSON objects and tool calls: tell:json:PATH, tell:tools:PATH.")
    print_table(("contract", "in other words", ""), [row["wordings"] for row in rows if row["wordings"]])


def show_contract(
    name: Annotated[
        str, typer.Argument(help="Name of a contract (tell:PATH: generated from that path), or a Markdown file of your own.")
    ],
    spec: SpecOption = None,
    as_json: JsonFlag = False,
) -> None:
    """One contract, word for word: the system prompt, the tools, and what it discloses."""
    from crosspath.app.prompts import contract_document, contract_text
    from crosspath.app.resolve import read_own

    document = contract_document(name, read_own(None, spec))
    if as_json:
        print_json(document)
    else:
        say(contract_text(document))


def list_transports(spec: SpecOption = None, paths: PathsOption = None, as_json: JsonFlag = False) -> None:
    """The paths that ship, and those of --spec or --paths: one sentence each, real or imitated, the public report behind it."""
    from crosspath.app.path_list import path_rows
    from crosspath.app.resolve import read_own

    rows = path_rows(read_own(paths, spec).path_specs())
    if as_json:
        print_json([row.as_document() for row in rows])
        return
    for row in rows:
        say(row.as_text())


def show_transport(
    name: Annotated[str, typer.Argument(help="Name of a path.")],
    spec: SpecOption = None,
    paths: PathsOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The whole chain of one path."""
    from crosspath.app.resolve import read_own
    from crosspath.transports import assemble, find_path

    found = find_path(name, read_own(paths, spec).path_specs())
    if as_json:
        print_json(found.model_dump(mode="json") | {"digest": found.digest})
    else:
        say(assemble(found, None, "none").describe().rstrip())


def try_transport(
    name: Annotated[str, typer.Argument(help="Name of a path.")],
    reply: Annotated[str, typer.Argument(help="The reply's text, as the model would send it.")],
    contract: Annotated[str, typer.Option("--contract", help="Contract that says which shape the reply has.")] = "raw",
    encoded: Annotated[bool, typer.Option("--encoded", help="Encode the text for the path first (the control).")] = False,
    spec: SpecOption = None,
    paths: PathsOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Send one reply through a path in the sandbox: each hop of the text, then the final state."""
    from crosspath.app.resolve import read_own
    from crosspath.app.trying import try_path, try_text

    document = try_path(name, reply, contract=contract, encoded=encoded, own=read_own(paths, spec))
    if as_json:
        print_json(document)
    else:
        say(try_text(document))
