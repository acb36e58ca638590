"""Which lines of a configuration's texts changed."""

import pytest

import builders
import series
from crosspath.pipeline.text_changes import SHOWN_LETTERS, SHOWN_LINES, changed_kinds, text_changes
from crosspath.types import Facts, Text, digest
from crosspath.types.drift import SeriesEntry


def evaluation(content: str, name: str = "ours") -> tuple[SeriesEntry, Facts]:
    """An evaluation that was told this contract."""
    facts, _ = builders.evaluation()
    text = Text(name=name, content=content, digest=digest(content))
    entry = series.entry(0, configuration=series.configured(contract=name, contract__digest=digest(content)))
    return entry, facts.model_copy(update={"contracts": (text,)})


def test_the_fields_that_name_a_text() -> None:
    """Those whose digest or version changed; a temperature has no lines."""
    assert changed_kinds(["contract.digest", "op.temperature"]) == ("contract",)
    assert changed_kinds(["transport.version", "request_style"]) == ("transport", "request_style")
    assert changed_kinds(["tools", "transports"]) == ()


def test_an_edit_is_shown_line_by_line() -> None:
    """What went and what came, with the line before, as in a diff."""
    before, after = (
        evaluation("Reply with one command.\nNo quotes.\nDone.\n"),
        evaluation("Reply with one command.\nQuote it.\nDone.\n"),
    )
    (found,) = text_changes(before, after, ["contract"])
    assert (found.kind, found.name, found.left_out) == ("contract", "ours", 0)
    assert found.lines[1:] == (" Reply with one command.", "-No quotes.", "+Quote it.", " Done.")


def test_texts_that_are_equal_or_missing_are_left_out() -> None:
    """Also where only a schema beside the text changed, or one evaluation did not keep it."""
    one, other = evaluation("same\n"), evaluation("same\n", name="renamed")
    assert text_changes(one, other, ["contract", "validator"]) == ()
    entry, facts = other
    assert text_changes(one, (entry, facts.model_copy(update={"contracts": ()})), ["contract"]) == ()


@pytest.mark.parametrize(("old", "new"), [("a\r\nb\r\n", "a\nb\n"), ("a\nb\n", "a\nb"), ("a\nb\n", "a\u2028b\n")])
def test_the_same_lines_with_other_ends(old: str, new: str) -> None:
    """A text whose lines are the same is said to differ in what can't be seen: a heading alone would look like a fault."""
    (found,) = text_changes(evaluation(old), evaluation(new), ["contract"])
    assert found.lines == (" only line ends or invisible characters changed",)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("Quote it.", "Don't quote it.", ("Quote it.", "Don't quote it.")),
        ("Quote it.", "", ("Quote it.", "")),
        ("Quote it." + "z" * 300, "Do.", ("Quote it." + "z" * 127, "Do.")),
    ],
)
def test_an_edit_far_behind_in_a_long_line(old: str, new: str, lines: tuple[str, str]) -> None:
    """A prompt in one line is shown where it was edited, not twice with the same beginning."""
    (found,) = text_changes(evaluation("y" * 999 + old), evaluation("y" * 999 + new), ["contract"])
    assert found.lines[1:] == tuple(f"{mark}...{'y' * 60}{line}" for mark, line in zip("-+", lines, strict=True))


def test_a_new_text_is_cut() -> None:
    """Hundreds of long lines don't bury the look; the number of those that are left out is said."""
    (found,) = text_changes(evaluation("x\n"), evaluation("".join(f"{n}{'y' * 999}\n" for n in range(300))), ["contract"])
    assert len(found.lines) == SHOWN_LINES
    assert max(map(len, found.lines)) == SHOWN_LETTERS
    assert found.left_out > 200
