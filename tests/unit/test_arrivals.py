"""What became of a text that was sent: the same, other quotes, or a change of a kind, with a diff that a person can read."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.arrivals import HOWS, LONGEST_DIFF, Change, change, differences, same, same_words
from crosspath.analysis.shell_words import plain_words
from crosspath.transports import assemble, parse_path, preset
from crosspath.transports.arrivals import measured_wrapper, not_looked_at, starts_a_shell, trouble, wrapper_of
from crosspath.transports.chain import Chain

PLANTED = [
    ("ls $HOME/x", "ls /root/x", ("expanded",), "ls [-$HOME-]{+/root+}/x"),
    ("echo $X", "echo ", ("expanded",), "echo [-$X-]"),
    ("echo $(date) x", "echo Mon x", ("expanded",), "echo [-$(date)-]{+Mon+} x"),
    ("echo 'a' > x", "echo a > x", ("quotes lost",), "echo [-'-]a[-'-] > x"),
    ('echo "a b" > x', "echo a", ("cut off", "quotes lost"), 'echo [-"-]a[- b" > x-]'),
    ("cat <<E\nhi\nE", "cat <<E", ("cut off",), "cat <<E[-↵hi↵E-]"),
    ("echo a\necho b", "echo a echo b", ("line ends",), "echo a[-↵-]{+ +}echo b"),
    ("ls\npwd", "ls\r\npwd\r", ("line ends",), "ls{+␍+}↵pwd{+␍+}"),
    ("a \\\n b", "a  b", ("line ends",), "a [-\\↵-] b"),
    ("echo 'a  b'", "echo 'a b'", ("white space",), "echo 'a [- -]b'"),
    ("grep \\d x", "grep d x", ("backslashes lost",), "grep [-\\d-]{+d+} x"),
    ("echo hi!", "echo hi\\!", ("backslashes added",), "echo hi{+\\+}!"),
    ("printf 'a\\n'", "printf 'a\n'", ("escapes resolved",), "printf 'a[-\\n-]{+↵+}'"),
    ("a\nb", "a\\nb", ("escapes added",), "a[-↵-]{+\\n+}b"),
    ("a &lt; b", "a < b", ("entities decoded",), "a [-&lt;-]{+<+} b"),
    ("a & b", "a &amp; b", ("entities encoded",), "a [-&-]{+&amp;+} b"),
    ("echo a%20b", "echo a b", ("percent signs decoded",), "echo a[-%20-]{+ +}b"),
    ("echo é", "echo Ã©", ("encoding",), "echo [-é-]{+Ã©+}"),
    ("echo a", "\ufeffecho a", ("encoding",), "{+\\ufeff+}echo a"),
    ("echo a,b", "echo a;b", ("replaced",), "echo a[-,-]{+;+}b"),
    ("a | b", "a < /dev/null | b", ("added",), "a {+< /dev/null +}| b"),
]


@pytest.mark.parametrize(("sent", "arrived", "hows", "diff"), PLANTED)
def test_changes_are_told_by_kind(sent: str, arrived: str, hows: tuple[str, ...], diff: str) -> None:
    """Each planted change is named, worst first, and shown where it is."""
    found = change(sent, [arrived])
    assert found is not None
    assert (found.hows, found.diff) == (hows, diff)


def changed(sent: str, arrived: list[str], **told: Any) -> Change:
    found = change(sent, arrived, **told)
    assert found is not None
    return found


def test_what_never_arrives() -> None:
    """Nothing, a parser's refusal and an outer shell that runs on are three things; each repeats what was said."""
    assert changed("a", [], said="\nbash: unexpected EOF\nmore").said == "bash: unexpected EOF"
    assert changed("a", [], refused="JSON: no").hows == ("refused by a parser",)
    assert changed("a", [], ended=False).hows == ("runs on",)
    traceback = "Traceback (most recent call last):\n  File x\nValueError: embedded null byte\n"
    assert changed("a", [], said=traceback).said == "ValueError: embedded null byte"


def test_several_programs() -> None:
    """A text that reaches several programs in pieces is a change though nothing of it is lost."""
    found = change("a\nb", ["a", "b"])
    assert found is not None
    assert (found.hows, found.characters, found.diff) == (("several programs",), 0, "{+1:+} a {+2:+} b")


def test_line_ends_at_the_end() -> None:
    """They don't count, except behind a backslash, which a line end takes away."""
    assert same("ls\n", "ls")
    assert same("ls", "ls\n\n")
    assert same("echo \\\\\n", "echo \\\\")
    assert not same("echo \\\n", "echo \\")
    assert not same("ls ", "ls")


def test_worst_first() -> None:
    """What does not arrive ranks before what is cut off, that before other changes, and those by their share."""
    cut, lost, small, large = changed("a b", ["a"]), changed("a", []), changed("x" * 50 + "'", ["x" * 50]), changed("'a'", ["a"])
    assert sorted([small, cut, large, lost], key=lambda one: one.rank) == [lost, cut, large, small]


def test_same_words() -> None:
    """Plain words in other quotes are the same words; an operator, an expansion or another word is not."""
    assert same_words('echo "a b"', ["echo 'a b'"])
    assert same_words("echo a\\ b", ['echo "a b"'])
    assert not same_words('echo "a b" > x', ["echo 'a b' '>' x"])
    assert not same_words('echo "$a"', ["echo '$a'"])
    assert not same_words("echo 'a b'", ["echo a b"])
    assert plain_words('ls --x=y \'\' "\\""') == ["ls", "--x=y", "", '"']
    assert [plain_words(text) for text in ("A=b ls", "ls *", "a;b", "a\nb", "echo 'a", 'echo "a', "a #b")] == [None] * 7


def test_long_and_repetitive_texts_are_quick() -> None:
    """A diff of hostile texts takes no more than a moment, and what is shown is bounded."""
    began = time.monotonic()
    for sent, arrived in (("x y " * 50_000, "x  y" * 50_000), ("  " * 4000, "\t\t " * 2600), ("${" * 50_000, "$(" * 50_000)):
        found = change(sent, [arrived])
        assert found is not None
        assert len(found.diff) <= LONGEST_DIFF
    assert time.monotonic() - began < 20


@given(st.text(), st.text())
def test_differences_put_both_texts_together(sent: str, arrived: str) -> None:
    """The pieces that differ are in both texts, in order, and each has a known kind."""
    at, to = 0, 0
    for piece in differences(sent, arrived):
        assert piece.how in HOWS
        at, to = sent.index(piece.sent, at) + len(piece.sent), arrived.index(piece.arrived, to) + len(piece.arrived)


def chain(name: str) -> Chain:
    carrier = assemble(preset(name)).carrier
    assert isinstance(carrier, Chain)
    return carrier


def test_the_wrapper_of_a_path() -> None:
    """Wrapper text that reaches the innermost program is known; what an outer shell meets is not part of it."""
    found = wrapper_of(chain("brace-wrapper"))
    assert found is not None
    assert found.words == "{ <command>; }; code=$?; exit $code"
    redirected = wrapper_of(chain("input-redirected"))
    assert redirected is not None
    assert redirected.words == "<command> < /dev/null"
    assert wrapper_of(chain("nested-shell")) is None
    layers = [{"layer": "double-quoted-shell"}, {"layer": "suffix", "text": "; echo done"}, "shell"]
    carrier = assemble(parse_path("outer", {"layers": layers}, "test")).carrier
    assert isinstance(carrier, Chain)
    assert wrapper_of(carrier) is None


def test_the_wrapper_of_a_harness() -> None:
    """It is what stands around the probe, if it can be seen; a byte order mark or a carriage return is a change."""
    found = measured_wrapper("probe", "cd x && probe\necho done")
    assert found is not None
    assert found.words == "cd x && <command>\necho done"
    assert found.ends == ("\n}",)
    assert measured_wrapper("probe", "\ufeffprobe\r") is None
    assert starts_a_shell("probe", "ssh -x h bash -lc 'probe'")
    assert not starts_a_shell("probe", "cd bash; probe")


def answers(*statuses_and_words: tuple[int, str]) -> bytes:
    return b"".join(b"%d\0%s\0" % (status, said.encode()) for status, said in statuses_and_words)


def test_trouble_with_a_wrapper() -> None:
    """A wrapper that takes no effect behind a complete command is inside it; one that only makes it wrong breaks it."""
    wrapper = wrapper_of(chain("status-suffix"))
    assert wrapper is not None
    live = (2, "syntax error near unexpected token `}'")
    assert trouble(wrapper, "ls", answers((0, ""), (0, ""), live)) is None
    assert trouble(wrapper, "ls #", answers((0, ""), (0, ""), (0, ""))) == ("wrapper inside it", "")
    assert trouble(wrapper, "ls &", answers((0, ""), (2, "/in/001: line 1: near `;'"), live)) == ("wrapper breaks it", "near `;'")
    assert trouble(wrapper, "ls '", answers((2, "EOF"), (2, "EOF"), (2, "EOF"))) is None
    assert trouble(wrapper, "ls", b"") is None


def test_what_no_text_shows() -> None:
    """Every last layer but bash -c itself says what it does to a run."""
    assert not_looked_at(chain("raw")) == ()
    assert not_looked_at(chain("dash")) == ("The text is the one argument of dash -c.",)
    assert "time limit" in not_looked_at(chain("open-input"))[0]
