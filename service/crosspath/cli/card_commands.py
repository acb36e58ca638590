"""``crosspath card`` and ``crosspath verify``: one page with all it takes to compare or repeat a candidate, and its check."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosspath.cli.evaluation_commands import EvaluationId
from crosspath.cli.exits import EXIT_FAIL
from crosspath.cli.output import JsonFlag, StoreOption, print_json, say
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.types import CardCheck, CardVerification

STATUS_WORDS = {"holds": "holds", "differs": "DIFFERS", "unavailable": "can't be checked here"}
SHOWN = 20
"""Differences of one check that are printed for a person; `--json` has more."""


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (card, verify):
        app.command()(command)


def card(
    evaluation: EvaluationId = "latest",
    candidate: Annotated[str | None, typer.Option("--candidate", help="Of this candidate.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file, or a directory: one file a candidate. Default: standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is no card.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the harness card of a candidate: its configuration, the outcome of every trial, how to repeat it."""
    from crosspath.app.cards import card as one_card
    from crosspath.app.cards import card_document, write_cards

    if output is None:
        text = one_card(evaluation, candidate, store=store)
        if as_json:
            print_json(card_document(text))
        else:
            say(text.rstrip("\n"))
        return
    files = write_cards(evaluation, candidate, output, store=store, force=force)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    for file in () if as_json else files:
        say(f"wrote {file}")


def verify(
    file: Annotated[Path, typer.Argument(metavar="CARD", help="A card, as crosspath card writes it.")],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Directory of the evaluation's bundle: its final states are judged again.")
    ] = None,
    tasks: Annotated[
        list[Path] | None, typer.Option("--tasks", help="File with tasks of your own that the card names; repeat for several.")
    ] = None,
    heldout_seed_env: Annotated[
        str | None, typer.Option("--heldout-seed-env", help="Variable with the seed of the card's held-out tasks.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a harness card offline: that it is as it was written, and that its numbers follow from its outcomes.

    Exit code 0: all that can be checked holds; 1: something differs; 2: this is no card.
    """
    from crosspath.app.heldout import seed_named
    from crosspath.app.verifying import verify_card

    found = verify_card(file, bundle=bundle, task_files=tasks or (), seed=seed_named(heldout_seed_env))
    if as_json:
        print_json(document(found))
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(EXIT_FAIL)


def document(found: "CardVerification") -> dict[str, Any]:
    """A verification as one JSON document."""
    from crosspath.app.verifying import NOT_PROVEN

    return found.model_dump(mode="json") | {"holds": found.holds, "not_proven": NOT_PROVEN}


def _print(found: "CardVerification") -> None:
    """One line per check. A card is foreign text: nothing in it makes a line of its own."""
    from crosspath.app.verifying import NOT_PROVEN

    counted = {status: sum(check.status == status for check in found.checks) for status in STATUS_WORDS}
    lines = [
        f"card of {found.candidate}, evaluation {found.evaluation}",
        *(line for check in found.checks for line in _lines(check)),
        f"{counted['holds']} hold, {counted['differs']} differ, {counted['unavailable']} can't be checked here",
        f"sha256 {found.card}",
        NOT_PROVEN,
    ]
    say("\n".join(map(one_line, lines)))


def _lines(check: "CardCheck") -> list[str]:
    lines = [f"{STATUS_WORDS[check.status]}  {check.about}: {check.detail}"]
    for one in check.differences[:SHOWN]:
        lines += [f"    {one.field}", f"        the card  {one.card}", f"        found     {one.found}"]
    more = len(check.differences) - SHOWN
    return [*lines, f"    and {more} more (--json)"] if more > 0 else lines
