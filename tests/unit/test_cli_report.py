"""Where `crosspath report` writes, and in which form."""

import os
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.cli.output import json_text
from crosspath.cli.report_command import chosen_form, marked, require_writable, write
from crosspath.errors import ConfigError
from crosspath.reports.document import evaluation_document
from crosspath.reports.html import report_html
from crosspath.reports.terminal import report_terminal


@pytest.mark.parametrize(
    ("asked", "output", "expected"),
    [
        (None, "a.html", "html"),
        (None, "a.HTM", "html"),
        (None, "a.json", "json"),
        (None, "a.md", "markdown"),
        (None, "a.txt", "terminal"),
        (None, "a", "markdown"),
        ("terminal", "a.html", "terminal"),
        ("html", None, "html"),
        (None, None, "markdown"),
    ],
)
def test_the_form_is_what_was_asked_for_or_what_the_file_is_called(asked: str | None, output: str | None, expected: str) -> None:
    """--format decides, then the file's ending, then whether there is a terminal."""
    assert chosen_form(asked, False, Path(output) if output else None) == expected


def test_json_is_one_of_the_forms() -> None:
    """--json means --format json, and nothing else beside it."""
    assert chosen_form(None, True, None) == chosen_form("json", True, None) == chosen_form(None, True, Path("a.html")) == "json"
    with pytest.raises(ConfigError, match=r"--json or --format html, not both"):
        chosen_form("html", True, None)
    with pytest.raises(ConfigError, match=r"'pdf', and has to be one of terminal, markdown, html, json"):
        chosen_form("pdf", False, None)


def test_only_reports_are_written_over(tmp_path: Path) -> None:
    """A file of somebody else stays as it is without --force; an earlier report may be replaced."""
    mine, theirs = tmp_path / "report.md", tmp_path / "notes.md"
    theirs.write_text("notes\n")
    write(mine, marked("# x\n", "markdown"))
    require_writable(mine, force=False)
    require_writable(tmp_path / "new.md", force=False)
    require_writable(theirs, force=True)
    with pytest.raises(ConfigError, match=r"notes\.md exists and is no report of Crosspath: name another file, or give --force"):
        require_writable(theirs, force=False)
    assert theirs.read_text() == "notes\n"


def test_places_that_cant_be_written_are_said_before_anything_is_read(tmp_path: Path) -> None:
    """A directory, and a directory that is not there."""
    with pytest.raises(ConfigError, match="is a directory"):
        require_writable(tmp_path, force=True)
    with pytest.raises(ConfigError, match="there is no directory"):
        require_writable(tmp_path / "no" / "a.html", force=True)


def test_a_file_appears_as_a_whole(tmp_path: Path) -> None:
    """What was there is replaced in one step, nothing is left beside it, and lone surrogates don't stop it."""
    target = tmp_path / "report.html"
    write(target, "crosspath report\n\ud800")
    write(target, "crosspath report 2\n\udcff")
    assert target.read_text("utf-8") == "crosspath report 2\n\\udcff"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.stat().st_mode & 0o444 == 0o444


def test_each_form_is_known_again_by_how_it_begins(tmp_path: Path) -> None:
    """An earlier report of any of the four forms may be written over."""
    facts, judgement = evaluation()
    texts = {
        "markdown": marked("# x\n", "markdown"),
        "terminal": report_terminal(facts, judgement, 120),
        "json": json_text(evaluation_document(facts, judgement)),
        "html": report_html(facts, judgement, {}),
    }
    for form, text in texts.items():
        write(tmp_path / form, text)
        require_writable(tmp_path / form, force=False)


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\ncrosspath report latest --output report.html\n",
        "crosspath report latest\n",
        "notes\n<!-- crosspath report -->\n",
        '{"note": "crosspath report"}\n',
        '<!doctype html>\n<p>crosspath report</p>\n<meta name="generator" content="crosspath report 1">\n',
    ],
)
def test_a_file_that_only_mentions_the_command_is_not_written_over(tmp_path: Path, text: str) -> None:
    """The mark counts at its own place alone."""
    theirs = tmp_path / "nightly.sh"
    theirs.write_text(text)
    with pytest.raises(ConfigError, match="is no report of Crosspath"):
        require_writable(theirs, force=False)


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, force: bool) -> None:
    """A pipe, a link, a dangling link and a device are not replaced, with --force neither."""
    pipe, link, dangling, target = (tmp_path / name for name in ("pipe", "link", "dangling", "target.md"))
    os.mkfifo(pipe)
    target.write_text(marked("# x\n", "markdown"))
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "nothing")
    for place in (pipe, link, dangling, Path("/dev/null")):
        with pytest.raises(ConfigError, match="is no regular file"):
            require_writable(place, force=force)
