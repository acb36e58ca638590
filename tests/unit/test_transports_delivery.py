"""From a reply to commands: decoders, problems and their precedence, hops, tool calls."""

import json

import pytest

from crosspath.errors import ConfigError
from crosspath.transports import Path, assemble, express, preset
from crosspath.types import Contract, Reply, Shape, ToolCall, ToolSpec

SHELL = ToolSpec(
    name="run_shell",
    description="",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["command"],
        "additionalProperties": False,
    },
    argument="command",
)
WRITE = ToolSpec(name="write_file", description="", parameters={"type": "object"}, write=("path", "content"))


def contract(shape: Shape, *tools: ToolSpec) -> Contract:
    """A contract of that shape."""
    return Contract(name="c", shape=shape, reference="c", tools=tools, text="x")


def path(shape: Shape = "text", name: str = "raw") -> Path:
    """A shipped path for replies of that shape."""
    return assemble(preset(name), contract(shape, *((SHELL, WRITE) if shape == "tools" else ())))


def call(name: str, arguments: str, id_: str = "1") -> ToolCall:
    """A tool call as received."""
    return ToolCall(id=id_, name=name, arguments=arguments)


def run(command: str, id_: str = "1") -> ToolCall:
    """A right call of run_shell."""
    return call("run_shell", json.dumps({"command": command}), id_)


def test_raw_text_is_the_one_argument_of_bash() -> None:
    """On the raw path the reply's bytes are the argument of bash -c, white space included."""
    delivery = path().deliver(Reply(text=" echo ä \n"))
    assert [action.command.argv for action in delivery.actions] == [(b"bash", b"-c", " echo ä \n".encode())]
    assert delivery.problem is None


def test_hops_show_what_each_step_made_of_the_text() -> None:
    """Every step leaves a hop: the reply, the clean-up, the decoder, the encoding, and each layer."""
    delivered = assemble(preset("nested-shell"), contract("json"), "strip").deliver(
        Reply(text=' {"command": "echo $x"}\n'), encoded=True
    )
    assert [(hop.layer, hop.text.decode()) for hop in delivered.actions[0].hops] == [
        ("reply", ' {"command": "echo $x"}\n'),
        ("clean-up:strip", '{"command": "echo $x"}'),
        ("decode:json", "echo $x"),
        ("encode", "echo \\$x"),
        ("double-quoted-shell", 'bash -c "echo \\$x"'),
        ("shell", 'bash -c "echo \\$x"'),
    ]


@pytest.mark.parametrize("shape", ["text", "json", "tools"])
@pytest.mark.parametrize("text", [None, "", " \n\t"])
def test_blank_replies_are_empty(shape: Shape, text: str | None) -> None:
    """No tool call and nothing but white space is `empty` in every shape."""
    delivery = path(shape).deliver(Reply(text=text, finish_reason="stop"))
    assert (delivery.problem, delivery.actions) == ("empty", ())


@pytest.mark.parametrize("shape", ["text", "json", "tools"])
def test_a_budget_spent_on_reasoning_is_truncated_not_empty(shape: Shape) -> None:
    """Empty content with finish reason length is `truncated`."""
    delivery = path(shape).deliver(Reply(text=None, finish_reason="length"))
    assert (delivery.problem, delivery.actions) == ("truncated", ())


def test_cut_text_is_executed_and_remembered_as_cut() -> None:
    """A harness executes what came; the problem says truncated in case the state is wrong."""
    delivery = path().deliver(Reply(text="echo a; ec", finish_reason="length"))
    assert (delivery.problem, len(delivery.actions)) == ("truncated", 1)


def test_cut_json_is_truncated_not_a_broken_contract() -> None:
    """JSON that ends in the middle because the budget ended is blamed on the budget, with both reasons told."""
    delivery = path("json").deliver(Reply(text='{"command": "ec', finish_reason="length"))
    assert (delivery.problem, delivery.actions) == ("truncated", ())
    assert "not one JSON value" in delivery.reason


def test_a_filtered_reply_is_a_refusal() -> None:
    """The provider's own word counts, not the wording of the text."""
    assert path().deliver(Reply(text=None, finish_reason="content_filter")).problem == "refusal"
    assert path().deliver(Reply(text="echo I cannot do that", finish_reason="stop")).problem is None


@pytest.mark.parametrize(
    "text",
    [
        "echo hi",
        '["command"]',
        "null",
        '"echo"',
        "{}",
        '{"cmd": "x"}',
        '{"command": 1}',
        '{"command": ["echo"]}',
        '{"command": null}',
        '{"command": "a"}{"command": "b"}',
        '{"command": "a"}\n{"command": "b"}',
        '{"command": "a", "command": "b"}',
        '{"command": "a", "more": {"k": 1, "k": 2}}',
        '```json\n{"command": "a"}\n```',
        '{"command": "a"} done',
        '{"command": "a\nb"}',
        '{"command": "a", "n": NaN}',
        '{"command": "a", "n": -Infinity}',
        '{"command": "a", "n": ' + "9" * 5000 + "}",
        '{"command": "a", "n": ' + "[" * 100_000 + "}",
        "[" * 100_000,
        "{'command': 'a'}",
        '\ufeff{"command": "a"}',
        '{"command": "\\x"}',
    ],
    ids=range(24),
)
def test_json_that_a_strict_harness_refuses(text: str) -> None:
    """Everything but one JSON object with a string in the field is a contract_error with a reason, never a crash."""
    delivery = path("json").deliver(Reply(text=text, finish_reason="stop"))
    assert (delivery.problem, delivery.actions) == ("contract_error", ())
    assert delivery.reason


@pytest.mark.parametrize("text", ['{"command": "a"}', ' \n{"command":"a"}\t\n', '{"thought": "hm", "command": "\\u0061"}'])
def test_json_that_is_fine(text: str) -> None:
    """White space around the object and further fields are no breach."""
    delivery = path("json").deliver(Reply(text=text))
    assert (delivery.problem, delivery.actions[0].command.argv[2]) == (None, b"a")


def test_fenced_json_needs_the_clean_up() -> None:
    """A fenced object is a contract_error as it is, and fine under the clean-up fenced-block."""
    reply = Reply(text='Here:\n```json\n{"command": "a"}\n```\n')
    assert path("json").deliver(reply).problem == "contract_error"
    assert assemble(preset("raw"), contract("json"), "fenced-block").deliver(reply).problem is None


@pytest.mark.parametrize(
    "text", ["echo \0", "echo \ud800", "x" * 131_072, "é" * 65_536], ids=["nul", "surrogate", "long", "long-in-bytes"]
)
@pytest.mark.parametrize("encoded", [False, True])
def test_text_that_no_argument_carries_is_undeliverable(text: str, encoded: bool) -> None:
    """NUL, lone surrogates and more bytes than one argument holds are `undeliverable`, in the control too."""
    for name in ("raw", "nested-shell", "single-quoted-shell"):
        delivery = path(name=name).deliver(Reply(text=text), encoded=encoded)
        assert (delivery.problem, delivery.actions) == ("undeliverable", ())


def test_encoding_that_can_not_exist_raises() -> None:
    """What bash -c itself can't carry has no encoding on any path."""
    for name in ("nested-shell", "script-file"):
        with pytest.raises(ValueError, match="NUL"):
            path(name=name).encode("a\0")
        with pytest.raises(ValueError, match="131071"):
            path(name=name).encode("a" * 200_000)


def test_several_calls_run_in_their_order() -> None:
    """Each call becomes an action with its id: shell text through the path, files without it."""
    calls = (run("echo a", "A"), call("write_file", '{"path": "d/f", "content": "$x\\u0000"}', "B"), run("echo b", "C"))
    delivery = path("tools", "nested-shell").deliver(Reply(tool_calls=calls, text="I will do that."))
    assert [action.call_id for action in delivery.actions] == ["A", "B", "C"]
    assert [action.command.argv[-1] for action in delivery.actions] == [b'bash -c "echo a"', b"d/f", b'bash -c "echo b"']
    assert delivery.actions[1].command.stdin == b"$x\0"
    assert [hop.layer for hop in delivery.actions[0].hops] == ["reply", "decode:tools", "double-quoted-shell", "shell"]
    assert delivery.actions[0].hops[0].text == b'{"command": "echo a"}'
    assert delivery.problem is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (call("rum_shell", '{"command": "x"}'), "did you mean run_shell"),
        (call("run_shell", ""), "not one JSON value"),
        (call("run_shell", '{"command": \\n"x"}'), "not one JSON value"),
        (call("run_shell", '{"command": "\\u00'), "not one JSON value"),
        (call("run_shell", '["x"]'), "array"),
        (call("run_shell", "{}"), "required"),
        (call("run_shell", '{"command": 1}'), "string"),
        (call("run_shell", '{"command": "x", "command": "y"}'), "twice"),
        (call("run_shell", '{"command": "x", "why": ""}'), "why"),
        (call("run_shell", '{"command": "x", "n": "1"}'), "integer"),
        (call("write_file", '{"path": "f"}'), "content"),
        (call("write_file", '{"path": "f", "content": 1}'), "content"),
    ],
)
def test_a_bad_call_spoils_only_itself(bad: ToolCall, reason: str) -> None:
    """A call that breaks the contract is named with its number; the calls before and after it are carried out."""
    delivery = path("tools").deliver(Reply(tool_calls=(run("a", "A"), bad, run("b", "B"))))
    assert [action.call_id for action in delivery.actions] == ["A", "B"]
    assert delivery.problem == "contract_error"
    assert "call 2" in delivery.reason
    assert reason in delivery.reason


def test_an_undeliverable_call_spoils_only_itself() -> None:
    """A path with a NUL, and content that is no UTF-8, can't be written; the rest is done."""
    bad = [call("write_file", '{"path": "a\\u0000", "content": ""}'), call("write_file", '{"path": "a", "content": "\\ud800"}')]
    delivery = path("tools").deliver(Reply(tool_calls=(*bad, run("a", "A"))))
    assert [action.call_id for action in delivery.actions] == ["A"]
    assert delivery.problem == "undeliverable"


def test_a_broken_contract_outranks_an_undeliverable_call() -> None:
    """Of several problems the one that comes first in the precedence names the delivery; every reason is kept."""
    calls = (run("\0"), call("nope", "{}"))
    delivery = path("tools").deliver(Reply(tool_calls=calls))
    assert delivery.problem == "contract_error"
    assert "NUL" in delivery.reason


def test_the_wrong_shape_is_a_broken_contract() -> None:
    """Plain text where a call was asked, and a call where text was asked, are contract errors."""
    assert path("tools").deliver(Reply(text="echo hi")).problem == "contract_error"
    assert path("text").deliver(Reply(tool_calls=(run("a"),))).problem == "contract_error"
    assert path("json").deliver(Reply(tool_calls=(run("a"),))).problem == "contract_error"


def test_a_tool_may_have_a_path_of_its_own() -> None:
    """Shell text of a tool with a path travels there; encoding and digest follow."""
    own = SHELL.model_copy(update={"path": "single-quoted-shell"})
    special, usual = (assemble(preset("raw"), contract("tools", tool)) for tool in (own, SHELL))
    delivery = special.deliver(Reply(tool_calls=(run("echo 'a'"),)), encoded=True)
    assert delivery.actions[0].command.argv[2] == b"bash -c 'echo '\\''a'\\'''"
    assert special.digest != usual.digest
    with pytest.raises(ConfigError, match="unknown path"):
        assemble(preset("raw"), contract("tools", SHELL.model_copy(update={"path": "nope"})))


@pytest.mark.parametrize("shape", ["text", "json", "tools"])
def test_a_right_reply_travels_in_every_shape(shape: Shape) -> None:
    """`express` gives a reply that the decoder of its contract reads back, whatever characters it holds."""
    text = 'printf "%s\\n" \'ä\u2028"\\\' ; echo `x` $y'
    delivery = path(shape).deliver(express(path(shape).contract or contract("text"), text))
    assert (delivery.problem, delivery.actions[0].command.argv[2].decode()) == (None, text)


def test_express_needs_a_tool_for_shell_text() -> None:
    """A contract with only a file tool can't carry a shell command."""
    with pytest.raises(ConfigError, match="no tool that takes shell text"):
        express(contract("tools", WRITE), "echo")
