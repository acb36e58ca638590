"""Recorded replies as JSON lines."""

import json

import pytest

from crosspath.errors import ConfigError
from crosspath.tasks import RecordedReply, parse_recorded
from crosspath.types import ToolCall


def one(**fields: object) -> RecordedReply:
    """The recorded reply of one line with these fields."""
    return parse_recorded(json.dumps({"model": "m", "task": "t", **fields}), "replies.jsonl")[0]


def complaint(**fields: object) -> str:
    """What is said about such a line."""
    with pytest.raises(ConfigError) as caught:
        one(**fields)
    return str(caught.value)


def test_defaults() -> None:
    """The shortest line is the first trial under the raw contract, exactly as received, usage unknown."""
    recorded = one(reply="ls")
    assert (recorded.contract, recorded.request_style, recorded.trial, recorded.turn) == ("raw", "plain", 0, None)
    assert (recorded.reply.text, recorded.reply.fidelity, recorded.reply.usage) == ("ls", "raw", None)


def test_all_that_may_be_known() -> None:
    """Messages, turn, fidelity, reason of the end, usage, latency and served model are kept."""
    recorded = one(
        reply="ls", contract="json-object", request_style="terse", trial=2, turn=1,
        messages=[{"role": "tool", "content": "x", "tool_call_id": "1"}],
        fidelity="reserialised", finish_reason="stop", usage={"prompt_tokens": 3}, latency_s=0.5, served_model="m-2",
    )  # fmt: skip
    assert (recorded.contract, recorded.trial, recorded.turn, recorded.messages[0]["role"]) == ("json-object", 2, 1, "tool")
    assert recorded.request_style == "terse"
    assert recorded.reply.usage is not None
    assert (recorded.reply.usage.prompt_tokens, recorded.reply.usage.completion_tokens) == (3, None)
    assert (recorded.reply.finish_reason, recorded.reply.latency_s, recorded.reply.served_model) == ("stop", 0.5, "m-2")


def test_tool_calls_keep_their_argument_text() -> None:
    """Arguments are kept as received, broken JSON included, in the plain form and in that of OpenAI's API."""
    plain = {"id": "1", "name": "run_shell", "arguments": '{"command": '}
    openai = {"id": "2", "type": "function", "function": {"name": "run_shell", "arguments": '{ "command":"ls" }'}}
    assert one(tool_calls=[plain, openai]).reply.tool_calls == (
        ToolCall(id="1", name="run_shell", arguments='{"command": '),
        ToolCall(id="2", name="run_shell", arguments='{ "command":"ls" }'),
    )


def test_parsed_arguments_are_no_fact() -> None:
    """Arguments as an object were written anew by someone: only a line that says so may hold them."""
    call = {"name": "run_shell", "arguments": {"command": "é"}}
    assert "only with fidelity 'reserialised'" in complaint(tool_calls=[call])
    assert one(tool_calls=[call], fidelity="reserialised").reply.tool_calls[0].arguments == '{"command": "é"}'


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "a\r\nb "])
def test_any_reply_text_is_a_fact(text: str) -> None:
    """An empty reply, a NUL, half a surrogate pair and blanks at the end are kept and survive a round trip."""
    recorded = one(reply=text)
    assert recorded.reply.text == text
    assert RecordedReply.from_json(recorded.to_json()) == recorded


def test_nothing_at_all_needs_a_reason() -> None:
    """Without reply and tool calls a line is refused, unless it says null and why the model ended."""
    assert "neither 'reply' nor 'tool_calls'" in complaint()
    assert "neither 'reply' nor 'tool_calls'" in complaint(reply=None)
    assert one(reply=None, finish_reason="length").reply.text is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reply": 3}, "replies.jsonl:1: reply: 3 is not a text"),
        ({"reply": "x", "model": None}, "replies.jsonl:1: model: missing"),
        ({"reply": "x", "task": ""}, "task: must not be empty"),
        ({"reply": "x", "trial": -1}, "trial: -1 is not a whole number"),
        ({"reply": "x", "trials": 1}, "unknown field \"trials\"; did you mean 'trial'?"),
        ({"reply": "x", "fidelity": "exact"}, "unknown fidelity 'exact'; known: raw, reserialised"),
        ({"reply": "x", "usage": {"tokens": 1}}, "usage: unknown field"),
        ({"reply": "x", "usage": {"prompt_tokens": 1.5}}, "usage.prompt_tokens: 1.5"),
        ({"reply": "x", "latency_s": -1}, "latency_s: -1"),
        ({"tool_calls": {}}, "tool_calls: {} is not a list"),
        ({"tool_calls": [{"name": "a", "arguments": "", "id": "1"}] * 2}, "two calls have the same id"),
        ({"tool_calls": [{"arguments": ""}]}, "tool_calls[0].name: null is not a text"),
    ],
)
def test_complaints(fields: dict[str, object], said: str) -> None:
    """Each mistake names file, line, field, value and what would be right."""
    assert said in complaint(**fields)


def test_the_same_trial_twice_is_refused() -> None:
    """Two replies for one model, task, contract, trial and turn can't both be the trial's reply; the earlier line is named."""
    lines = [
        json.dumps({"model": "m", "task": "t", "reply": text, "trial": trial}) for text, trial in (("a", 0), ("b", 1), ("c", 1))
    ]
    assert len(parse_recorded("\n".join(lines[:2]), "r.jsonl")) == 2
    with pytest.raises(
        ConfigError, match=r"r\.jsonl:3: the same model, task, contract, request style, trial and turn as r\.jsonl:2"
    ):
        parse_recorded("\n".join(lines), "r.jsonl")
