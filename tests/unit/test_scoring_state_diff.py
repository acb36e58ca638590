"""Expected beside actual, as people read it."""

from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables, score
from crosspath.scoring.mutations import mutations
from crosspath.scoring.state_diff import content_diff, readable, state_rows
from crosspath.testing.validator import FakeValidator
from crosspath.types import Replay, Score, Task
from scoring_builders import replay, rich_task


def scored(of: Task, what: Replay) -> Score:
    checks = FakeValidator().validate(suite_text("exact"), build_tables({of.id: of}, [what]))
    return score(what, of, checks[0])


def test_right_state_has_no_difference() -> None:
    """Where everything is as declared, every row is equal and has no diff."""
    rows = state_rows(rich_task(), replay(rich_task()), scored(rich_task(), replay(rich_task())))
    assert [row for row in rows if not row["equal"] or "diff" in row] == []
    assert [row["path"] for row in rows][:2] == ["a.txt", "dir/tool"]


def test_every_mutation_is_one_difference() -> None:
    """Whatever the validator rejects is shown: exactly the rows it names, each with what is too much or lacks."""
    for name, mutant in ((each.name, each.replay) for each in mutations(rich_task(), replay(rich_task()))):
        verdict = scored(rich_task(), mutant)
        rows = [row for row in state_rows(rich_task(), mutant, verdict) if not row["equal"]]
        assert len(rows) == len({check.subject for check in verdict.checks}), name
        assert all({line[0] for line in row["diff"]} & {"-", "+"} for row in rows), name


def test_lines_as_in_a_diff() -> None:
    """Changed lines stand below each other, equal ones around them, and a missing final newline is said."""
    assert content_diff(b"a\nb\nc\n", b"a\nx\nc") == [
        "@@ -1,3 +1,3 @@",
        "  a",
        "- b",
        "- c",
        "+ x",
        "+ c",
        "\\ no newline at the end",
    ]


def test_carriage_returns_are_seen() -> None:
    """A line end of Windows is a difference that can be read."""
    assert content_diff(b"a\n", b"a\r\n") == ["@@ -1 +1 @@", "- a", "+ a\\r"]


def test_blanks_at_the_end_are_said() -> None:
    """Nobody sees them, and they are often the whole difference."""
    assert content_diff(b"costs $5", b"costs ") == [
        "@@ -1 +1 @@", "- costs $5", "\\ no newline at the end", "+ costs ", "\\ 1 blank at the end", "\\ no newline at the end",
    ]  # fmt: skip


def test_tabs_are_seen_where_white_space_alone_differs() -> None:
    """Elsewhere they stay tabs: a changed line of a Makefile is to be read."""
    assert content_diff(b"a\tb\n", b"a b\n") == ["@@ -1 +1 @@", "- a\\tb", "+ a b"]
    assert content_diff(b"a\tb\n", b"a\tc\n") == ["@@ -1 +1 @@", "- a\tb", "+ a\tc"]


def test_texts_are_literal_and_bytes_are_escaped() -> None:
    """A backslash stays one where the content is text; what is not UTF-8 has the reversible form."""
    assert readable("a\\n é".encode()) == "a\\n é"
    assert readable(b"a\\\xff") == "a\\\\\\xff"


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_diff_exists_exactly_where_contents_differ(expected: bytes, actual: bytes) -> None:
    """Two contents differ if and only if their diff says something."""
    shown_alike = [readable(part) for part in expected.split(b"\n")] == [readable(part) for part in actual.split(b"\n")]
    assert shown_alike or content_diff(expected, actual) != []
    assert expected != actual or content_diff(expected, actual) == []
