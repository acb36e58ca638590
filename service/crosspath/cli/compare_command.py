"""``crosspath compare``: two configurations, what differs, and what each difference explains. No model, no sandbox."""

from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.exits import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_INVALID
from crosspath.cli.output import JsonFlag, StoreOption, print_json, print_table, say
from crosspath.errors import ConfigError

if TYPE_CHECKING:
    from crosspath.types import Explanation

_SIDE = "EVALUATION, EVALUATION:CANDIDATE, an MLflow run, models:/NAME/VERSION or models:/NAME@ALIAS."
_EXITS = {"comparable": EXIT_DONE, "not_enough_evidence": EXIT_INCONCLUSIVE, "not_comparable": EXIT_INVALID}
FORMATS = ("text", "markdown")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(compare)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same; what is said is B - A.")],
    further: Annotated[
        list[str] | None, typer.Option("--with", help="An evaluation whose cells may lie between the two; repeat for several.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="model: refuse where anything but the model differs (default: what both say).")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="text or markdown.")] = "text",
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what differs between two candidates, whether they are comparable, and how many points each difference explains.

    Exit code 0: comparable; 3: not enough evidence; 4: not comparable.
    """
    from crosspath.app.explaining import explain
    from crosspath.reports.explanation import explanation_markdown

    if form not in FORMATS:
        raise ConfigError(f"{form!r} is not a format; known: {', '.join(FORMATS)}", field="--format")
    if as_json and form != "text":
        raise ConfigError("give --json or --format, not both")
    found = explain(a, b, further=further or (), kind=kind, store=store)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif form == "markdown":
        say(explanation_markdown(found))
    else:
        _print(found)
    if code := _EXITS[found.status]:
        raise typer.Exit(code)


def _print(found: "Explanation") -> None:
    from crosspath.reports.explanation import blocks

    for block in blocks(found):
        if block.heading:
            say(f"\n{block.heading}")
        for line in block.lines:
            say(line)
        if block.rows:
            print_table(block.columns, block.rows)
