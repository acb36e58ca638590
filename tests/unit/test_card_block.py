"""The machine-readable block of a card: one form, any change of it is found, what editors do by themselves is not."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.errors import ConfigError
from crosspath.reports.card_block import block, laid_out, read_block
from crosspath.reports.card_outcomes import (
    Answered,
    Outcome,
    answered,
    declining_code,
    outcome,
    outcome_code,
    repeats,
)
from crosspath.types import ReplayKey, Score, TrialKey

TEXTS = st.text(st.characters(codec=None), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(TEXTS, VALUES, max_size=5)
VALUE: dict[str, Any] = {
    "name": "a `fence` --> <b>&amp;</b> \u202e \ud800",
    "numbers": [1, 2.5, -0.0, 1e-17, True, None],
    "cells": [{"name": "RR", "outcomes": ["p"] * 60}, {"name": "RN", "outcomes": ["s:wrong_state"] * 30}],
}
PAGE = "# Card\n\nWords.\n\n"


def read(text: str) -> Any:
    return read_block(text, "card.md")


@given(DOCUMENTS)
def test_any_document_comes_back(value: dict[str, Any]) -> None:
    """Page and document are told apart again, the digest is the stated one, and the text is in the form that is written."""
    found = read(PAGE + block(value))
    assert found.value == value
    assert (found.page, found.after, found.changed_line) == ("# Card\n\nWords.", "", None)
    assert found.stated == found.digest


@given(DOCUMENTS)
def test_no_text_ends_the_comment(value: dict[str, Any]) -> None:
    """Nothing in a document can close the comment, open a fence or become markup: the block is plain ASCII without such signs."""
    first, *inner, last = block(value).rstrip("\n").split("\n")
    assert first.startswith("<!-- crosspath-card sha256:")
    assert last == "-->"
    assert not set("<>&`") & set("".join(inner))
    assert "".join(inner).isascii()


def test_every_changed_byte_is_found() -> None:
    """Whichever single byte of the block becomes another one, or is lost, or is doubled: the text can't be read any more, or its
    digest or its form is not as stated."""
    whole = block(VALUE)
    for place in range(len(whole) - 1):  # the last one is the line end of the file
        for changed in (whole[:place] + whole[place + 1 :], whole[: place + 1] + whole[place:], *_replaced(whole, place)):
            assert changed == whole or _found(changed) or _only_white_space(whole, changed), (
                place,
                changed[place - 5 : place + 5],
            )


def _replaced(whole: str, place: int) -> list[str]:
    return [whole[:place] + other + whole[place + 1 :] for other in '\n\r\t 0a"}' if other != whole[place]]


def _found(text: str) -> bool:
    try:
        found = read(text)
    except ConfigError:
        return True
    return found.stated != found.digest or found.changed_line is not None or bool(found.after) or bool(found.page)


def _only_white_space(whole: str, changed: str) -> bool:
    """Blanks at the end of lines, and nothing else."""
    return [line.rstrip(" \t") for line in changed.split("\n")] == whole.split("\n")


@settings(max_examples=150)
@given(st.data())
def test_every_replaced_byte_is_found(data: st.DataObject) -> None:
    """The same with any byte in place of any other, in a block of any document."""
    whole = block(data.draw(DOCUMENTS)).encode("ascii")
    place = data.draw(st.integers(0, len(whole) - 2))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    changed = whole[:place] + bytes([other]) + whole[place + 1 :]
    try:
        text = changed.decode("utf-8")
    except UnicodeDecodeError:
        return  # a file that is no UTF-8 is refused before
    assert _found(text)


@pytest.mark.parametrize(
    "edited",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " \t\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n",
        lambda text: text.rstrip("\n"),
    ],
    ids=["CR LF", "blanks at line ends", "byte order mark", "blank lines at the end", "no final line end"],
)
def test_what_editors_do_is_no_change(edited: Any) -> None:
    """Line ends, white space at the end of lines and of the file, and a byte order mark are tolerated; nothing else is."""
    found, same = read(edited(PAGE + block(VALUE))), read(PAGE + block(VALUE))
    assert found == same


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# only words\n", "has no line that begins with <!-- crosspath-card"),
        (PAGE + block(VALUE) + block(VALUE), "holds 2 blocks"),
        (PAGE + block(VALUE)[:-5], "the block is cut off"),
        (PAGE + block(VALUE)[:200], "the block is cut off"),
        ("<!-- crosspath-card\n{}\n-->\n", "line 1 states no SHA-256"),
        (block(VALUE).replace('{\n "cells"', '{"name":1,\n "cells"'), "the key 'name' stands twice"),
        (block(VALUE).replace("2.5", "NaN"), "NaN is no number"),
        (block(VALUE).replace("2.5", "1e999"), "1e999 is no number"),
        (block(VALUE).replace("2.5", "9" * 5000), "no JSON document"),
        (block({"a": 1}).replace('{"a":1}', "[1]"), "no JSON object"),
        (block({"a": 1}).replace('{"a":1}', '{"a":' + "[" * 900 + "]" * 900 + "}"), "no JSON object that a card could have"),
        (block({"a": 1}).replace('{"a":1}', '{"a":' + "[" * 90_000 + "]" * 90_000 + "}"), "nested too deeply"),
    ],
)
def test_what_is_no_card_is_one_line(text: str, words: str) -> None:
    """A file without a block, with several, cut off, with a key that stands twice, or with no JSON is refused with its name."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value).startswith("card.md: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_form_is_for_people_who_compare_versions() -> None:
    """Short values stand on one line and long ones item by item, so that a changed outcome is one changed line."""
    text = laid_out(VALUE)
    assert json.loads(text) == VALUE
    assert max(map(len, text.split("\n"))) <= 120
    assert [line for line in text.split("\n") if "numbers" in line] == [' "numbers":[1,2.5,-0.0,1e-17,true,null]']


# -- outcomes ------------------------------------------------------------------------------------------------------------------

PASSES = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=5)


@given(
    passes=PASSES,
    state=st.booleans(),
    cause=st.sampled_from([None, "wrong_state", "timeout"]),
    alarm=st.sampled_from([None, "timeout", "masked"]),
    fault=st.text(max_size=8),
)
def test_an_outcome_comes_back(passes: list[bool | None], state: bool, cause: Any, alarm: Any, fault: str) -> None:
    """Verdict, cause, false alarm and every repeat can be read from a code again; a fault's type can hold no sign of its own."""
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    first = passes[0]
    score = None
    if first is not None:
        score = Score(key=key, state_ok=state, reported_ok=True, passed=first, cause=cause, false_alarm=alarm)
    found = outcome(outcome_code(score, fault, passes))
    assert (found.passed, found.passes) == (first, tuple(passes))
    assert found.silent == (score is not None and score.silent_wrong and not first)
    assert found.cause == (cause if score else fault.replace("!", "_").replace("~", "_"))
    assert found.alarm == (alarm if score else None)


@pytest.mark.parametrize("code", ["", "q", "p~", "p~2", "f:wrong_state!", "pp", "p\n", "x~1 "])
def test_what_is_no_outcome_is_refused(code: str) -> None:
    """A code that nothing could have written is an error, not a guess."""
    with pytest.raises(ValueError, match=r"is no outcome|no mark"):
        outcome(code)


@pytest.mark.parametrize(
    "found", [Answered("form"), Answered("acted", True), Answered(None), Answered("form", False, (True, None))]
)
def test_how_a_reply_answered_comes_back(found: Answered) -> None:
    """Declined in the form, otherwise or not, with a state that was touched, and every repeat."""
    assert answered(declining_code(found)) == found
    with pytest.raises(ValueError, match="says not how"):
        answered("maybe")
    with pytest.raises(ValueError, match="no mark"):
        repeats("1x")


def test_an_outcome_s_passes_start_with_its_own() -> None:
    """Without repeats there is one pass."""
    assert Outcome(True).passes == (True,)
