"""``crosspath report``: one evaluation for a terminal, as Markdown, as one HTML file, or as JSON."""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from crosspath.cli.evaluation_commands import EvaluationId
from crosspath.cli.finishing import document_of
from crosspath.cli.output import JsonFlag, StoreOption, json_text, print_json, say, terminal_width
from crosspath.errors import ConfigError, StoreError, boundary

if TYPE_CHECKING:
    from crosspath.app.evaluation import Evaluation
    from crosspath.types import Published

Format = Literal["terminal", "markdown", "html", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_ENDINGS: dict[str, Format] = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".txt": "terminal"}
MARK = "<!-- crosspath report -->"
"""First line of a Markdown report in a file."""
_OURS = re.compile(
    rb"<!-- crosspath report -->\n"
    rb"|crosspath report of\s\S+\n"
    rb'|\{\n  "document": "crosspath report",\n  "format": \d'
    rb'|<!doctype html>\n<html lang="en">\n<head>\n(?:<meta [^\n]*>\n){0,4}'
    rb'<meta name="generator" content="crosspath report [^"\n]*">\n'
)
"""How each of the four forms begins: what the command may write over."""
_HEAD = 1000
"""Bytes of an existing file that are looked at; the policy of the HTML form stands before its generator."""


def report(
    evaluation: EvaluationId = "latest",
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"{', '.join(FORMATS)} (default: terminal on a terminal, else markdown)."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write, in place of standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is no report.")] = False,
    published: Annotated[
        list[str] | None, typer.Option("--published", help="Published table to show beside it; repeat for several.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print an evaluation's report, or write it to a file: what broke, how sure that is, what to do, and everything behind it."""
    from crosspath.app import api

    chosen = chosen_form(form, as_json, output)
    if output:
        require_writable(output, force=force)
    loaded = api.load(evaluation, store=store)
    beside = [_published(name, store) for name in published or ()]
    if output:
        write(output, marked(_text(loaded, chosen, beside), chosen))
        say(f"{output}  ({chosen}: {loaded.id})")
    elif chosen == "json":
        print_json(_document(loaded, beside))
    else:
        say(_text(loaded, chosen, beside))


def chosen_form(asked: str | None, as_json: bool, output: Path | None) -> Format:
    """What was asked for; else by the file's ending; else for a terminal where there is one.

    Raises:
        ConfigError: there is no such form, or --json and another one.
    """
    known: dict[str, Format] = {one: one for one in FORMATS}
    if asked is not None and asked not in known:
        raise ConfigError(f"--format is {asked!r}, and has to be one of {', '.join(FORMATS)}")
    if as_json and asked not in (None, "json"):
        raise ConfigError(f"give --json or --format {asked}, not both")
    if asked or as_json:
        return known[asked or "json"]
    if output:
        return _ENDINGS.get(output.suffix.lower(), "markdown")
    return "terminal" if sys.stdout.isatty() else "markdown"


def _text(loaded: "Evaluation", form: Format, published: "list[Published]") -> str:
    if form == "json":
        return json_text(_document(loaded, published)) + "\n"
    if form == "html":
        return loaded.html(published)
    return loaded.terminal(terminal_width(), published) if form == "terminal" else loaded.report(published)


def _document(loaded: "Evaluation", published: "list[Published]") -> dict[str, Any]:
    return document_of(loaded) | {"published": [one.model_dump(mode="json") for one in published]}


def _published(name: str, store: str | None) -> "Published":
    from crosspath.app.published import find_published

    return find_published(name, store=store)


# -- files -----------------------------------------------------------------------------------------------------------------


def marked(text: str, form: Format) -> str:
    """The text with the mark; Markdown is the only form that does not begin with one anyhow."""
    return f"{MARK}\n\n{text}" if form == "markdown" else text


def require_writable(output: Path, *, force: bool) -> None:
    """Refuse a place that is no file, and a file that is somebody else's.

    Raises:
        ConfigError: a directory, link or device, no directory to write to, or a file that is no report and no ``--force``.
    """
    if output.is_dir():
        raise ConfigError(f"--output {output} is a directory: name a file in it")
    if output.is_symlink() or (output.exists() and not output.is_file()):
        raise ConfigError(f"--output {output} is no regular file (a link, pipe or device): name a file")
    if not output.parent.is_dir():
        raise ConfigError(f"--output {output}: there is no directory {output.parent}")
    if output.exists() and not force and not _is_ours(output):
        raise ConfigError(f"--output {output} exists and is no report of Crosspath: name another file, or give --force")


def _is_ours(output: Path) -> bool:
    with boundary(StoreError, f"reading {output}"), output.open("rb") as file:
        return _OURS.match(file.read(_HEAD)) is not None


def write(output: Path, text: str) -> None:
    """Write the file as a whole or not at all.

    Raises:
        StoreError: it can't be written.
    """
    with boundary(StoreError, f"writing {output}"):
        handle, name = tempfile.mkstemp(prefix=f".{output.name}-", dir=output.parent)
        fresh = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            fresh.chmod(0o666 & ~_umask())
            fresh.replace(output)
        finally:
            fresh.unlink(missing_ok=True)


def _umask() -> int:
    """The process's mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
