"""Untrusted text as one line: nothing in it ends a line, moves the cursor or turns the direction."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.app.trying import try_text
from crosspath.cli.entry import run
from crosspath.cli.output import print_table, remark, say
from crosspath.escaping import escape, one_line, unescape
from crosspath.scoring import score
from crosspath.scoring.state_diff import state_rows
from crosspath.types import CheckResult, FinalState
from scoring_builders import file, replay, rich_task

FORGED = b"zz\nfinal state: empty directory\npassed\n\x1b[2J\xe2\x80\xae"
SHOWN = "zz\\nfinal state: empty directory\\npassed\\n\\x1b[2J\\u202e"


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    """Whatever the text, the result is one line without control, format and surrogate characters, and is stable."""
    line = one_line(text)
    assert {unicodedata.category(each) for each in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
    assert one_line(line) == line
    assert len(line.splitlines()) <= 1


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_two_names_never_look_the_same(first: bytes, second: bytes) -> None:
    """Of an escaped name nothing is lost: two names that are shown alike are one name."""
    assert (one_line(escape(first)) == one_line(escape(second))) == (first == second)
    assert unescape(escape(first)) == first


def test_plain_text_stays() -> None:
    """Letters of any language, backslashes and kept characters are not touched."""
    assert one_line("é\u4e2d\\n\u00a0x") == "é\u4e2d\\n\u00a0x"
    assert one_line("a\tb\nc", keep="\t") == "a\tb\\nc"
    assert one_line("\U000e0041\x85\u2028") == "\\U000e0041\\u0085\\u2028"


def test_a_name_forges_no_verdict() -> None:
    """A file's name can add no line to a reason, nor to what `transports try` shows."""
    task = rich_task()
    check = CheckResult(expectation="surplus", cause="extra_files", subject=FORGED, expected="no", actual="new")
    verdict = score(replay(task, FinalState(entries=(file(FORGED, b"passed\n"),))), task, [check])
    assert verdict.reason == f"unexpected: {SHOWN}"
    entry = {"path": escape(FORGED), "kind": "file", "content": "passed\nx\u202ey"}
    shown = try_text({"imitated": [], "problem": None, "reason": "", "actions": [], "final_state": [entry]})
    assert shown.split("\n") == [
        "final state:", f"  {SHOWN}  (file, 12 bytes, no newline at the end)", "      | passed", "      | x\\u202ey",
    ]  # fmt: skip
    assert [
        row["path"] for row in state_rows(task, replay(task, FinalState(entries=(file(FORGED),))), verdict) if not row["equal"]
    ] == [escape(FORGED)]


def test_every_output_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, tables, remarks and complaints: what turns the direction of text is shown, and a cell stays one line."""
    say("a\u202eb\tc\nd")
    remark("a\u202eb\x1bc")
    print_table(("what",), [("x\npassed\u2066",)])
    out, err = capsys.readouterr()
    assert out.startswith("a\\u202eb\tc\nd\n")
    assert "x\\npassed\\u2066" in out
    assert err == "a\\u202eb\\x1bc\n"
    assert run(["report", "no\u202esuch\x1b[31m"]) == 2
    said = capsys.readouterr().err
    assert "no\\u202esuch" in said
    assert not {"\u202e", "\x1b"} & set(said)
