"""What the layers that parse a reply make of it: as the real programs do, or give up as they do."""

import subprocess
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crosspath.inside.readings import READINGS, UnreadableError
from crosspath.transports import layer_kinds

BASH_BLOCK = "```bash\necho hi > f\n```\n"


def read(name: str, text: str, **options: Any) -> str:
    """What the layer of that name reads, with its defaults and these options."""
    return READINGS[name](text, {**layer_kinds()[name].options, **options})


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        (BASH_BLOCK, "echo hi > f"),
        (f"Sure:\n{BASH_BLOCK}Done.", "echo hi > f"),
        (f"Sure:\r\n{BASH_BLOCK}Done.".replace("\n", "\r\n"), "echo hi > f\r"),
        (f"{BASH_BLOCK}and then\n{BASH_BLOCK}", "echo hi > f"),
        ("echo hi > f", "echo hi > f"),
        ("cat > a <<'E'\n```\nx\n```\nE", "cat > a <<'E'"),
        ("```c++\nint x;\n```", "int x;"),
    ],
)
def test_fenced_blocks(reply: str, command: str) -> None:
    """The first block is taken, with or without prose around; a bare command is put into one, and its own fence ends that."""
    assert read("fenced-block", reply) == command


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("a $$HOME $HOME ${X} ${X:-d} z", "a $HOME   d z"),
        ("echo $(date)", None),
        ("cut $1", None),
        ("50$", None),
        ("${X:?no}", None),
    ],
)
def test_compose(text: str, read_as: str | None) -> None:
    """Names become nothing, $$ one $, and any other $ is an invalid format, as in a compose file."""
    if read_as is None:
        with pytest.raises(UnreadableError):
            read("compose", text)
    else:
        assert read("compose", text) == read_as


@given(st.text(st.sampled_from("\\nt0x17aceuE é")))
@example("a\\0101\\x41\\u00e9\\e[0m\\cz")
@example("\\\\c\\c")
def test_backslash_escapes_are_those_of_echo(text: str) -> None:
    """The same bytes as bash's ``echo -e``, for texts that hold no NUL."""
    done = subprocess.run(
        ["bash", "-c", 'echo -en "$1"', "bash", text], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True
    )
    if b"\0" not in done.stdout and "\\x" not in text and "\\0" not in text:  # those may make bytes that are no text
        assert read("backslash-escapes", text).encode() == done.stdout


@pytest.mark.parametrize(
    ("text", "read_as"),
    [("a^&b", "a&b"), ('echo "a^b"', 'echo "a^b"'), ("%PATH%x", "x"), ("100%%", "100%"), ("^^", "^")],
)
def test_cmd_escapes(text: str, read_as: str) -> None:
    """A caret counts outside of double quotes only; a name between percent signs becomes nothing."""
    assert read("cmd-escapes", text) == read_as


@pytest.mark.parametrize("name", sorted(READINGS))
@given(text=st.text())
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    """No text makes a layer fail in another way than by refusing it."""
    with suppress(UnreadableError):
        assert isinstance(read(name, text), str)
