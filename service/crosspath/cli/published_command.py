"""``crosspath import-published`` and ``crosspath published``: counts that others published, beside what was measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.output import JsonFlag, StoreOption, print_json, print_table, say

if TYPE_CHECKING:
    from crosspath.types import Published

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a published table.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    app.command("import-published")(import_table)
    group = typer.Typer(help="Published tables that were imported: list, show, remove.", no_args_is_help=True)
    group.command("list")(list_tables)
    group.command("show")(show_table)
    group.command("remove")(remove_table)
    app.add_typer(group, name="published")


def import_table(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON: source, rows of model, n and passed by cell.")],
    name: Annotated[str | None, typer.Option("--name", help="How it is called. Default: the file's name.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of another table of that name.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep published counts with their citation, to be shown beside measured cells and never pooled with them."""
    from crosspath.app.published import import_published

    published = import_published(file, name=name, replace=replace, store=store)
    _print(published, as_json=as_json)
    if not as_json:
        say(f"\nkept as published {published.name!r}; beside an evaluation: crosspath report --published {published.name}")


def list_tables(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """The published tables of the store."""
    from crosspath.app.published import all_published

    found = all_published(store=store)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif found:
        print_table(("name", "models", "source"), [(one.name, len(one.models), one.citation) for one in found])
    else:
        say("no published table; crosspath import-published FILE adds one")


def show_table(name: NameArgument, store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """One published table, and what follows from its counts."""
    from crosspath.app.published import find_published

    _print(find_published(name, store=store), as_json=as_json)


def remove_table(name: NameArgument, store: StoreOption = None) -> None:
    """Forget a published table."""
    from crosspath.app.published import forget_published

    forget_published(name, store=store)
    say(f"removed {name}")


def _print(published: "Published", *, as_json: bool) -> None:
    from crosspath.app.published import published_document
    from crosspath.reports.published_tables import COLUMNS, published_lines, published_rows

    if as_json:
        print_json(published_document(published))
        return
    say(f"published: {published.citation}")
    print_table(COLUMNS, published_rows(published))
    say("passed of tasks in each cell, told R/N x done R/N; effects in points of pass rate, from the counts")
    for line in published_lines(published):
        say(line)
