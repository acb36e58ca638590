"""``crosspath scan``: what logged commands become on a path; no model, no tasks, nothing is judged."""

import os
from typing import Annotated, Any, cast

import typer

from crosspath.cli.exits import EXIT_DONE, EXIT_FAIL
from crosspath.cli.output import (
    Interrupted,
    JsonFlag,
    PathsOption,
    SpecOption,
    StoreOption,
    counted_progress,
    print_json,
    print_table,
    say,
)
from crosspath.errors import ConfigError

_CLEAN_UPS = ("none", "strip", "fenced-block")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command("scan")(scan_file)


def scan_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Recorded replies, JSON lines, a log, or a command a line.")],
    transport: Annotated[list[str] | None, typer.Option("--transport", "-t", help="Path to follow; may be repeated.")] = None,
    all_transports: Annotated[bool, typer.Option("--all-transports", help="Every path that ships, and own ones.")] = False,
    kind: Annotated[
        str | None,
        typer.Option("--from", help="mlflow, inspect, openai, langfuse, recorded, fields, lines or nul. Default: seen from it."),
    ] = None,
    field: Annotated[str | None, typer.Option("--field", help="Field of JSON lines. Default: command or reply.")] = None,
    contract: Annotated[
        str | None, typer.Option("--contract", help="Contract that says which shape the replies have. Default: the log's own.")
    ] = None,
    argument: Annotated[
        str | None, typer.Option("--argument", help="Argument of a tool call that is shell text. Default: command, cmd.")
    ] = None,
    clean_up: Annotated[
        str, typer.Option("--clean-up", help="What is done to a text first: none, strip or fenced-block.")
    ] = "none",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many different commands, evenly spread over the file.")
    ] = None,
    worst: Annotated[int, typer.Option("--worst", min=0, help="How many of the worst to show for each path.")] = 10,
    fail_on_change: Annotated[
        bool, typer.Option("--fail-on-change", help="Exit code 1 where a command arrives changed, or not at all.")
    ] = False,
    tracking_uri: Annotated[
        str | None, typer.Option("--tracking-uri", help="MLflow's store (default: $MLFLOW_TRACKING_URI, else the embedded one).")
    ] = None,
    store: StoreOption = None,
    paths: PathsOption = None,
    spec: SpecOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Which logged commands a path changes, how, and the worst of them: each goes to a recorder in place of the last program."""
    from crosspath.app.adapters import store_directory
    from crosspath.app.adapters import tracking_uri as usual_uri
    from crosspath.app.resolve import read_own
    from crosspath.app.scan_report import scan_document
    from crosspath.app.scan_sources import Reading, read_commands
    from crosspath.app.scanning import scan

    if clean_up not in _CLEAN_UPS:
        raise ConfigError(f"{clean_up!r} is no clean-up; known: {', '.join(_CLEAN_UPS)}", field="--clean-up")
    own = read_own(paths, spec)
    names = _names(transport, list(own.paths), everything=all_transports)
    uri = tracking_uri or (usual_uri(store_directory(store)) if kind == "mlflow" else None)
    reading = Reading(kind, field, contract, argument, cast(Any, clean_up), uri)
    commands = read_commands(file, reading, own)
    with counted_progress(quiet=as_json) as notify:
        found = scan(commands, names, own, limit=limit, notify=notify)
    options = [word for name, given in (("--paths", paths), ("--spec", spec)) if given for word in (name, os.fspath(given))]
    document = scan_document(found, file, worst=worst, options=options)
    print_json(document) if as_json else _print(document)
    if found.interrupted:
        raise Interrupted("interrupted: what is told is what was done by then; the same command begins anew")
    return _exit_code(document, fail_on_change=fail_on_change)


def _names(given: list[str] | None, own: list[str], *, everything: bool) -> list[str]:
    from crosspath.transports import preset_names

    if everything == bool(given):
        raise ConfigError("give -t NAME (crosspath transports list), or --all-transports", field="--transport")
    return [*own, *preset_names()] if everything else list(dict.fromkeys(given or ()))


def _print(document: dict[str, Any]) -> None:
    from crosspath.app.scan_report import head_lines, scan_text, table_rows

    if len(document["paths"]) == 1:
        for line in scan_text(document):
            say(line)
        return
    for line in head_lines(document):
        say(line)
    print_table(("path", "changed", "", "how (a command may count twice)", "for instance"), list(table_rows(document)))
    say("-t with one path shows its worst commands; --json has all of it")


def _exit_code(document: dict[str, Any], *, fail_on_change: bool) -> int:
    scanned = [path for path in document["paths"] if not path["not_scanned"]]
    if not scanned and document["paths"]:
        raise ConfigError("; ".join(f"{path['transport']} can't be scanned" for path in document["paths"]), field="--transport")
    if fail_on_change and any(
        path["changed"] or path["undeliverable"] or path["unknown"] or path["not_scanned"] for path in document["paths"]
    ):
        return EXIT_FAIL
    return EXIT_DONE
