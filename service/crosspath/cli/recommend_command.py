"""``crosspath recommend``: which path to take, and which contract, from replies that were replayed already."""

from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.evaluation_commands import EvaluationId
from crosspath.cli.exits import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_INVALID
from crosspath.cli.output import JsonFlag, StoreOption, print_json, print_table, say
from crosspath.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crosspath.types import Recommendation


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(recommend)


def recommend(
    evaluation: EvaluationId = "latest",
    everything: Annotated[bool, typer.Option("--all", help="Show every path of a long ranking.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Rank the paths (and contracts) of an evaluation, and say which to take, with the evidence. No model, no sandbox."""
    from crosspath.app import api
    from crosspath.app.recommending import recommendation_markdown, recommendations

    if as_markdown and as_json:
        raise ConfigError("give --markdown or --json, not both")
    loaded = api.load(evaluation, store=store)
    found = recommendations(loaded)
    if as_json:
        print_json({"evaluation": loaded.id, "recommendations": [one.model_dump(mode="json") for one in found]})
    elif as_markdown:
        say(recommendation_markdown(loaded, found))
    else:
        _print(loaded.id, found, everything=everything)
    if code := exit_code(found):
        raise typer.Exit(code)


def exit_code(found: "Sequence[Recommendation]") -> int:
    """0 an advice for each model; 4 no control holds, so that nothing may be said; 3 otherwise not enough evidence."""
    if all(one.conclusive for one in found):
        return EXIT_DONE
    paths = [choice.path for one in found for choice in one.choices if not choice.path.reference]
    return EXIT_INVALID if paths and all(path.apart == "broken_control" for path in paths) else EXIT_INCONCLUSIVE


FIRST, LAST = 12, 8
"""So many rows of a long ranking are shown from each end."""


def _ends(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return rows if len(rows) <= FIRST + LAST + 2 else [*rows[:FIRST], *rows[-LAST:]]


def _print(evaluation: str, found: "Sequence[Recommendation]", *, everything: bool) -> None:
    from crosspath.analysis.recommendation import LIMITS
    from crosspath.app.recommending import columns_and_rows, notes, title

    for one in found:
        say(f"{title(one, found)}: {one.advice}")
    for one in found:
        say(f"\n{title(one, found)}")
        columns, rows = columns_and_rows(one)
        print_table(columns, rows if everything else _ends(rows))
        if not everything and len(rows) > len(_ends(rows)):
            say(f"({len(rows) - len(_ends(rows))} paths between the first {FIRST} and the last {LAST} are left out: --all)")
        for line in notes(one):
            say(line)
    say("")
    for line in LIMITS:
        say(f"- {line}")
    if not all(one.conclusive for one in found):
        say(f"more paths for the same replies, without a model call: crosspath replay {evaluation} --all-transports")
