"""Clean-ups: what is taken out of a reply, and what is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.transports import clean

TICKS = "```"
README = f"cat > README.md <<'EOF'\nRun:\n{TICKS}\nmake\n{TICKS}\nEOF"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"{TICKS}\necho a\n{TICKS}", "echo a"),
        (f"Here:\n\n{TICKS}bash\necho a\necho b\n{TICKS}\nDone.", "echo a\necho b"),
        (f"{TICKS}bash\r\necho a\r\n{TICKS}\r\n", "echo a\r"),
        ("~~~~ sh\necho a\n~~~\n~~~~~", "echo a\n~~~"),
        (f"````\n{README}\n````", README),
        (f"~~~\n{README}\n~~~", README),
        (f"   {TICKS}\n   echo a\n  b\n     c\n {TICKS}", "echo a\nb\n  c"),
        (f"{TICKS}\n{TICKS}", ""),
        (f"{TICKS}\n\n{TICKS}", ""),
        (f"Use {TICKS}x{TICKS}:\n{TICKS}\necho a\n{TICKS}", "echo a"),
        (f"{TICKS} {TICKS} no fence\n{TICKS}\necho a\n{TICKS}", "echo a"),
        (f"cat <<<EOF\n{TICKS}\necho a\n{TICKS}\nEOF", "echo a"),
    ],
)
def test_the_one_block_is_taken(text: str, content: str) -> None:
    """The content of the only fenced block, without its fences and their indentation."""
    assert clean(text, "fenced-block") == content


@pytest.mark.parametrize(
    "text",
    [
        "echo a",
        README,
        README.replace("<<'EOF'", "<<-EOF").replace("\nEOF", "\n\tEOF"),
        f"{TICKS}\n{README}\n{TICKS}",
        f"{TICKS}\na\n{TICKS}\n{TICKS}\nb\n{TICKS}",
        f"{TICKS}\nnever closed",
        f"{TICKS}\na\n{TICKS}\n{TICKS}\nnever closed",
        f"    {TICKS}\n    a\n    {TICKS}",
        f"{TICKS}\na\n{TICKS} b",
        f"echo '{TICKS}\na\n{TICKS}'",
    ],
)
def test_everything_else_stays_as_it_is(text: str) -> None:
    """No block, several, an open one, or fences that are content of a here-document: nothing is cut."""
    assert clean(text, "fenced-block") == text


@given(st.text(st.sampled_from("`~ \n\r<-A'x")))
def test_the_result_is_always_a_part_of_the_text(text: str) -> None:
    """A clean-up never invents or reorders: what remains are lines of the reply, in order, perhaps outdented."""
    kept = iter(text.split("\n"))
    assert all(any(line.endswith(part) for line in kept) for part in clean(text, "fenced-block").split("\n"))


def test_strip_removes_white_space_around() -> None:
    """`strip` takes white space off both ends; `none` takes nothing."""
    assert clean(" \n echo a \t\n", "strip") == "echo a"
    assert clean(" \n echo a \t\n", "none") == " \n echo a \t\n"
