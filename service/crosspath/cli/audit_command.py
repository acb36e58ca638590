"""``crosspath audit``: whether a gate's verdict follows from what is kept beside it."""

from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.exits import EXIT_FAIL, EXIT_INVALID
from crosspath.cli.output import JsonFlag, StoreOption, print_json, remark, say
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.app.auditing import Audit


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(audit)


def audit(
    verdict: Annotated[str, typer.Argument(help="Directory of a verdict, its verdict.json, or its MLflow run.")],
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw a verdict again, offline, from the artifacts alone: it holds (0), differs (1), or can't be read (4)."""
    from crosspath.app import auditing, auditing_files

    try:
        found = auditing.audit(verdict, store=store)
    except auditing_files.UnreadableError as error:
        remark(f"crosspath: {one_line(' '.join(str(error).split()))}")
        raise typer.Exit(EXIT_INVALID) from None
    if as_json:
        print_json(
            {
                "verdict": found.verdict.id,
                "status": found.verdict.status,
                "holds": found.holds,
                "differences": found.differences,
                "unchecked": found.unchecked,
            }
        )
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(EXIT_FAIL)


def _print(found: "Audit") -> None:
    from crosspath.app.auditing import NOT_PROVEN

    verdict = found.verdict
    if found.holds:
        say(f"audit holds: {verdict.status} of {one_line(verdict.id)} follows from its evidence, with every number of it")
    else:
        say(f"the audit of {one_line(verdict.id)} ({verdict.status}) does not hold:")
        for difference in found.differences:
            say(f"  {one_line(difference)}")
    if found.unchecked:
        say(f"Not checked: {one_line(found.unchecked)}.")
    say(NOT_PROVEN)
