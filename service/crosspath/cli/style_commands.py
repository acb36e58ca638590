"""Commands about request styles: in whose words an instruction is put."""

from typing import Annotated

import typer

from crosspath.cli.output import JsonFlag, SpecOption, print_json, print_table, say


def register(app: typer.Typer) -> None:
    """Add the command group to the tree."""
    styles = typer.Typer(help="In whose words instructions are put.", no_args_is_help=True)
    for command in (list_styles, show_style):
        styles.command(command.__name__.partition("_")[0])(command)
    app.add_typer(styles, name="styles")


def list_styles(spec: SpecOption = None, as_json: JsonFlag = False) -> None:
    """The request styles that ship, and a spec's own, with one line each."""
    from crosspath.app.resolve import read_own, styles_named

    own = read_own(None, spec)
    rows = [(s.name, s.version, s.pair, s.summary) for s in styles_named(own.styles, own.base).values()]
    if as_json:
        print_json([dict(zip(("name", "version", "pair", "summary"), row, strict=True)) for row in rows])
    else:
        print_table(("style", "version", "pair", "how it is put"), rows)


def show_style(
    name: Annotated[str, typer.Argument(help="Name of a request style, or a Markdown file of your own.")],
    spec: SpecOption = None,
    as_json: JsonFlag = False,
) -> None:
    """One request style, word for word; the line `{instruction}` is where the instruction stands."""
    from crosspath.app.prompts import style_document, style_text
    from crosspath.app.resolve import read_own

    document = style_document(name, read_own(None, spec))
    if as_json:
        print_json(document)
    else:
        say(style_text(document))
