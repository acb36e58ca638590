"""Paths against a real bash: encodings are exact, and unencoded replies break where theory says they must."""

import json
import shlex

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crosspath.transports import assemble, express, preset, preset_names, survivable_presets
from crosspath.types import Contract, Reply, ToolCall, ToolSpec
from real_shell import Outcome, execute

SURVIVABLE = survivable_presets()
INSIDE = {n for n in SURVIVABLE if any(a.command.packages for a in assemble(preset(n)).deliver(Reply(text="true")).actions)}
"""Paths that need our own program: twenty times as long to start as a shell."""
PLAIN = [name for name in SURVIVABLE if name not in INSIDE]
HOSTILE = "\\\"'`$!\n\t #~*?{}()[];&|<>=%^-+\r\x01\x7f"

payloads = st.text(st.one_of(st.sampled_from(HOSTILE), st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
ALL_ASCII = "".join(map(chr, range(1, 128)))
nonsense = st.text(st.sampled_from("\\\"'`$!\n #(){};&|<>=-+ab"), max_size=30)
real_shell = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def some(name: str) -> settings:
    """How often a property is tried on one of many paths."""
    return settings(real_shell, max_examples=2 if name in INSIDE else 8)


def through(name: str, text: str, *, encoded: bool = False) -> Outcome:
    """What the path makes of a reply of plain text."""
    delivery = assemble(preset(name)).deliver(Reply(text=text), encoded=encoded)
    return execute(*(action.command for action in delivery.actions))


@pytest.mark.parametrize("name", SURVIVABLE)
def test_encoded_text_arrives_byte_for_byte(name: str) -> None:
    """Any text that a raw command writes is written by the encoded command, byte for byte, on every survivable path."""

    @some(name)
    @given(payload=payloads)
    @example(payload="a\\\nb")
    @example(payload="$HOME `id` \"q\" 'q' \\ !x")
    @example(payload=" \t{{ x }} {% y %} %d \\% &lt; &#x41; $$ ${A} \\n \ufeff\u2028 日本\r\n```\nEOF\n")
    @example(payload=ALL_ASCII)
    def arrives(payload: str) -> None:
        exit_code, _, files = through(name, f"printf %s {shlex.quote(payload)} > out", encoded=True)
        assert (exit_code, files) == (0, {"out": payload.encode()})

    arrives()


@pytest.mark.parametrize("name", SURVIVABLE)
def test_encoded_nonsense_does_what_raw_nonsense_does(name: str) -> None:
    """Even text that is no right command does the same: exit code, output and files equal those of the raw execution."""

    @some(name)
    @given(text=nonsense)
    @example(text="- a\necho b > f")
    @example(text="+e")
    @example(text="echo $0 $# $-")
    @example(text="cat <<'A' > f\n\"$x\" `y` \\\nA")
    @example(text="printf '%s\\n' \"a\nb\" >f; exit 7")
    @example(text="echo 'unterminated")
    @example(text="kill -9 $$")
    @example(text="cat; false | true; echo $?; echo x # comment")
    def does_the_same(text: str) -> None:
        if not text.strip():
            return
        code, output, files = through(name, text, encoded=True)
        raw = through("raw", text)
        assert (_as_told(code), output, files) == (_as_told(raw[0]), *raw[1:])

    does_the_same()


def _as_told(code: int) -> int:
    """A process's end as a shell tells it: 128 + N for signal N."""
    return code if code >= 0 else 128 - code


@real_shell
@given(payload=payloads)
def test_escaping_path_is_the_control_of_the_nested_shell(payload: str) -> None:
    """The path with escaping built in makes the very command that encoding makes on the unescaped path."""
    text = f"printf %s {shlex.quote(payload)}"
    control = assemble(preset("nested-shell")).deliver(Reply(text=text), encoded=True)
    escaped = assemble(preset("nested-shell-escaped")).deliver(Reply(text=text))
    assert [action.command for action in control.actions] == [action.command for action in escaped.actions]


def test_unescaped_paths_damage_hostile_text() -> None:
    """Without encoding, a nested shell expands what was quoted, and quotes of the wrong kind end the text early."""
    assert through("nested-shell", "printf %s '$HOME' > out")[2]["out"].startswith(b"/")
    assert through("single-quoted-shell", "printf %s 'a  b' > out") == (0, b"a", {})
    assert through("nested-shell", 'printf %s "a  b" > out') == (0, b"a", {})


HARMS_ALL = {"one-word", "byte-order-mark", "unquoted-shell", "crlf"}
"""Paths that not even the plainest command comes through as it is."""
NO_REDIRECTIONS = {"operators-escaped", "entities-encoded", "words-requoted", "pipes-without-shell", "program", "utf16-redirect"}


@pytest.mark.parametrize("name", [n for n in preset_names() if preset(n).accepts == "text" and n not in HARMS_ALL])
def test_benign_text_comes_through_nearly_every_path(name: str) -> None:
    """A command without special characters does the same on every path that does not harm redirections as such, unencoded."""
    command = "cp /etc/hostname out" if name in NO_REDIRECTIONS else "echo hello > out"
    code, _, files = through(name, command)
    assert (code, list(files)) == (0, ["out"])


def test_long_replies_reach_a_script_but_no_argument() -> None:
    """A reply of 200 KiB runs from a script file, and is undeliverable as one argument."""
    text = f"echo done > out # {'x' * 200_000}"
    assert through("script-file", text)[2] == {"out": b"done\n"}
    assert assemble(preset("raw")).deliver(Reply(text=text)).problem == "undeliverable"


@pytest.mark.parametrize(("size", "problem"), [(131_071, None), (131_072, "undeliverable")])
def test_the_longest_argument_is_the_one_that_linux_takes(size: int, problem: str | None) -> None:
    """An argument of exactly the longest length runs; one byte more is not tried."""
    delivery = assemble(preset("raw")).deliver(Reply(text="echo ok #".ljust(size, "x")))
    assert delivery.problem == problem
    assert [execute(action.command)[1] for action in delivery.actions] == ([b"ok\n"] if problem is None else [])


def _written(path: str, content: str) -> Outcome:
    write = ToolSpec(name="write_file", description="", parameters={}, write=("p", "c"))
    contract = Contract(name="t", shape="tools", reference="t", tools=(write,), text="x")
    call = ToolCall(id="1", name="write_file", arguments=json.dumps({"p": path, "c": content}))
    delivery = assemble(preset("nested-shell"), contract).deliver(Reply(tool_calls=(call,)))
    return execute(*(action.command for action in delivery.actions))


@real_shell
@given(content=st.text(st.characters(exclude_categories=["Cs"])), name=st.text(st.sampled_from(HOSTILE + "ab"), min_size=1))
def test_files_of_tool_calls_are_written_byte_for_byte(content: str, name: str) -> None:
    """Any content, NUL included, lands under any name, directories included; no path and no shell reads either."""
    code, _, files = _written(f"d {name}/{name}", content)
    assert (code, files) == (0, {f"d {name}/{name}": content.encode()})


def test_a_file_that_cannot_be_written_is_an_error_of_the_call() -> None:
    """An empty path, or one below a file, gives an exit code other than 0 and no file."""
    assert _written("", "x")[0] != 0
    assert _written("/dev/null/x", "x")[0] != 0


@pytest.mark.parametrize("prefix", ["", "json:", "tools:"])
@pytest.mark.parametrize("name", SURVIVABLE)
def test_encoded_replies_survive_in_every_shape(prefix: str, name: str) -> None:
    """A right reply in each shape, encoded, does what the raw command does."""
    shell = ToolSpec(name="run_shell", description="", parameters={"type": "object"}, argument="command")
    shape = {"": "text", "json:": "json", "tools:": "tools"}[prefix]
    contract = Contract.model_validate({"name": "c", "shape": shape, "reference": "c", "tools": (shell,), "text": "x"})
    path = assemble(preset(prefix + name), contract)
    reply = express(contract, path.encode("printf '%s' '\"$HOME\" \\ `x`' > out"))
    assert execute(*(a.command for a in path.deliver(reply).actions))[2] == {"out": b'"$HOME" \\ `x`'}


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("cat > f%hello%x", b"hello\nx\n"),
        ("cat > f%hello%", b"hello\n"),
        (r"printf %%s a\%b > f", None),
        (r"echo a\%b > f", b"a%b\n"),
        ("cat > f\necho second > g", b""),
    ],
)
def test_crontab_lines(line: str, left: bytes | None) -> None:
    """What follows an unescaped percent sign is input whose lines all end, an escaped one is itself, and one line is all."""
    _, _, files = through("crontab", line)
    assert files.get("f") == left
    assert "g" not in files


def test_a_session_answers_though_something_runs_on() -> None:
    """The marker with the status is what is waited for, not the end of what the command left in the background."""
    assert through("session", "sleep 25 2> /dev/null & echo x > f; (exit 3)") == (3, b"", {"f": b"x\n"})
